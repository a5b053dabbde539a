package registration

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
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
		} else if what := specialAddr(addr.Unmap()); what != "" {
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

// specialAddr says what keeps an address from being public, "" if nothing does.
func specialAddr(addr netip.Addr) string {
	for _, s := range special {
		if netip.MustParsePrefix(s.prefix).Contains(addr) {
			return s.what
		}
	}
	if addr.Is6() && !netip.MustParsePrefix("2000::/3").Contains(addr) {
		return "reserved"
	}
	return ""
}

// special are the ranges that IANA's registries of special-purpose addresses do not give out for the public, the more
// telling first. Of IPv6 only 2000::/3 is given out at all.
var special = []struct{ prefix, what string }{
	{"169.254.169.254/32", "cloud metadata (link-local)"}, {"168.63.129.16/32", "cloud metadata"},
	{"100.100.100.200/32", "cloud metadata"}, {"fd00:ec2::254/128", "cloud metadata"},
	{"127.0.0.0/8", "loopback"}, {"::1/128", "loopback"},
	{"10.0.0.0/8", "private"}, {"172.16.0.0/12", "private"}, {"192.168.0.0/16", "private"}, {"fc00::/7", "private"},
	{"169.254.0.0/16", "link-local"}, {"fe80::/10", "link-local"},
	{"0.0.0.0/8", "reserved"}, {"100.64.0.0/10", "reserved (shared by a provider)"}, {"192.0.0.0/24", "reserved"},
	{"192.0.2.0/24", "reserved (documentation)"}, {"192.88.99.0/24", "reserved"}, {"198.18.0.0/15", "reserved (benchmarks)"},
	{"198.51.100.0/24", "reserved (documentation)"}, {"203.0.113.0/24", "reserved (documentation)"},
	{"224.0.0.0/4", "multicast"}, {"240.0.0.0/4", "reserved"}, {"ff00::/8", "multicast"},
	{"2001::/23", "reserved"}, {"2001:db8::/32", "reserved (documentation)"}, {"2002::/16", "reserved (6to4)"},
	{"3fff::/20", "reserved (documentation)"},
}
