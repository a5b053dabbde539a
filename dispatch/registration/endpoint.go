package registration

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/toolwire/toolwire/internal/publicaddr"
)

const endpointPointer = "/endpoint_url"

// checkEndpoint holds the endpoint to the rules of Register an external HTTP agent: publicly reachable https. It never
// repeats the URL in what it says: a URL may hold credentials.
func checkEndpoint(ps *problems, raw string) {
	if raw == "" {
		ps.add(CodeMissing, endpointPointer, "is required: the https URL that runs are posted to")
		return
	}
	if !utf8.ValidString(raw) { // JSON would carry another URL
		ps.add(CodeNotUTF8, endpointPointer, "is not valid UTF-8; percent-encode other bytes")
	}
	u, err := url.Parse(raw)
	if err != nil {
		ps.add(CodeEndpoint, endpointPointer, "is not a URL")
		return
	}
	if u.Scheme != "https" {
		ps.add(CodeEndpoint, endpointPointer, "must begin with https://")
	}
	if u.User != nil {
		ps.add(CodeEndpoint, endpointPointer, "must not hold a user name or password; use the auth header")
	}
	if strings.Contains(raw, "#") {
		ps.add(CodeEndpoint, endpointPointer, "must not have a fragment: it would never be sent")
	}
	if port := u.Port(); port != "" || strings.HasSuffix(u.Host, ":") {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			ps.add(CodeEndpoint, endpointPointer, "has no valid port; give one from 1 to 65535 or none")
		}
	}
	switch host := strings.ToLower(u.Hostname()); {
	case host == "":
		ps.add(CodeEndpoint, endpointPointer, "must name a host")
	default:
		checkHost(ps, strings.TrimSuffix(host, "."))
	}
}

func checkHost(ps *problems, host string) {
	if addr, err := netip.ParseAddr(host); err == nil {
		if addr.Zone() != "" {
			ps.add(CodeEndpointHost, endpointPointer, "has an address with a zone, which only one machine understands")
		} else if what := publicaddr.Why(addr); what != "" {
			ps.add(CodeEndpointHost, endpointPointer, "leads to a %s address; the platform must be able to reach it publicly", what)
		}
		return
	}
	labels := strings.Split(host, ".")
	last := labels[len(labels)-1]
	switch {
	case last != "" && strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x"):
		// Resolvers read 127.1, 0x7f000001 and 2130706433 as addresses.
		ps.add(CodeEndpointHost, endpointPointer, "has a host that ends in a number and is no address in the usual form")
	case last == "localhost" || host == "localhost.localdomain":
		ps.add(CodeEndpointHost, endpointPointer, "is on localhost, which the platform cannot reach; use a tunnel with a public name")
	case host == "metadata.google.internal" || host == "metadata.goog" || host == "metadata":
		ps.add(CodeEndpointHost, endpointPointer, "is a cloud metadata host")
	case last == "local" || last == "internal" || last == "localdomain" || strings.HasSuffix("."+host, ".home.arpa"):
		ps.add(CodeEndpointHost, endpointPointer, "is on a private network by its name; the platform must be able to reach it publicly")
	case !hostName(labels):
		ps.add(CodeEndpointHost, endpointPointer,
			"has no valid host name; write letters, digits, '-' and '.', international names in their xn-- form")
	case len(labels) == 1:
		ps.add(CodeEndpointHost, endpointPointer, "has a host without a domain; the platform must be able to reach it publicly")
	}
}

func hostName(labels []string) bool {
	total := len(labels) - 1
	for _, label := range labels {
		if total += len(label); label == "" || len(label) > 63 || total > 253 {
			return false
		}
		for _, c := range []byte(label) {
			if !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_') {
				return false
			}
		}
	}
	return true
}
