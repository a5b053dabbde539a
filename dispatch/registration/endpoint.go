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

// checkEndpoint checks the rules of Register an external HTTP agent: https on a public host.
// Messages do not repeat the URL, because it may contain credentials.
func checkEndpoint(ps *problems, raw string) {
	if raw == "" {
		ps.Add("missing", endpointPointer, "is required; give the https URL that runs are posted to")
		return
	}
	if !utf8.ValidString(raw) { // it would change in JSON
		ps.Add("not_utf8", endpointPointer, "is not valid UTF-8; percent-encode other bytes")
	}
	u, err := url.Parse(raw)
	if err != nil {
		ps.Add("endpoint_url_invalid", endpointPointer, "is not a URL")
		return
	}
	if u.Scheme != "https" {
		ps.Add("endpoint_url_invalid", endpointPointer, "must begin with https://")
	}
	if u.User != nil {
		ps.Add("endpoint_url_invalid", endpointPointer, "must not have a user name or password; use the auth header")
	}
	if strings.Contains(raw, "#") {
		ps.Add("endpoint_url_invalid", endpointPointer, "must not have a fragment, because a fragment is not sent")
	}
	if port := u.Port(); port != "" || strings.HasSuffix(u.Host, ":") {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			ps.Add("endpoint_url_invalid", endpointPointer,
				"has a port that is not valid; use 1 to 65535, or leave it out")
		}
	}
	switch host := strings.ToLower(u.Hostname()); {
	case host == "":
		ps.Add("endpoint_url_invalid", endpointPointer, "must have a host")
	default:
		checkHost(ps, strings.TrimSuffix(host, "."))
	}
}

func checkHost(ps *problems, host string) {
	if addr, err := netip.ParseAddr(host); err == nil {
		if addr.Zone() != "" {
			ps.Add("endpoint_not_public", endpointPointer,
				"has an address with a zone, which is valid on one machine only")
		} else if what := publicaddr.Why(addr); what != "" {
			ps.Add("endpoint_not_public", endpointPointer, "has a %s address; the platform needs a public one", what)
		}
		return
	}
	labels := strings.Split(host, ".")
	last := labels[len(labels)-1]
	switch {
	case last != "" && strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x"):
		// Resolvers take 127.1, 0x7f000001 and 2130706433 for addresses.
		ps.Add("endpoint_not_public", endpointPointer,
			"has a host that ends in a number but is not an IP address in standard form")
	case last == "localhost" || host == "localhost.localdomain":
		ps.Add("endpoint_not_public", endpointPointer,
			"is on localhost, which the platform cannot reach; use a tunnel with a public name")
	case host == "metadata.google.internal" || host == "metadata.goog" || host == "metadata":
		ps.Add("endpoint_not_public", endpointPointer, "is a cloud metadata host")
	case last == "local" || last == "internal" || last == "localdomain" || strings.HasSuffix("."+host, ".home.arpa"):
		ps.Add("endpoint_not_public", endpointPointer,
			"has the host name of a private network; the platform needs a public one")
	case !hostName(labels):
		ps.Add("endpoint_not_public", endpointPointer,
			"has a host name that is not valid; use letters, digits, '-' and '.', or the xn-- form")
	case len(labels) == 1:
		ps.Add("endpoint_not_public", endpointPointer,
			"has a host name without a domain; the platform needs a public one")
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
