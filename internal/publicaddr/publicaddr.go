// Package publicaddr prevents connections to hosts that are not on the public internet, for URLs
// that another party chose.
package publicaddr

import (
	"errors"
	"net/netip"
	"strings"
	"syscall"
	"unicode/utf8"
)

// ErrNotPublic is the cause of a rejected connection. It does not contain the address.
var ErrNotPublic = errors.New("the address is not public")

// Is reports whether addr is a unicast address of the public internet. It treats an IPv4 address
// within an IPv6 address as the IPv4 address.
func Is(addr netip.Addr) bool { return Why(addr) == "" }

// Key returns the form in which hosts are compared: the letters A to Z of an ASCII host in lower case. Any
// other host stays as it is and equals only itself, because net/http maps it by IDNA before it connects.
// Folding that differs from IDNA would accept a host that leads elsewhere.
func Key(host string) string {
	if strings.ContainsFunc(host, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return host
	}
	return strings.ToLower(host)
}

// Loopback reports whether a host name or an IP address without brackets is this machine: localhost,
// in any case, or a loopback address.
func Loopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return Key(host) == "localhost" || err == nil && addr.Unmap().IsLoopback()
}

// Why returns the kind of an address that is not public, such as "loopback", and "" for a public
// one.
func Why(addr netip.Addr) string {
	addr = addr.Unmap().WithZone("")
	if nat64.Contains(addr) {
		b := addr.As16()
		addr = netip.AddrFrom4([4]byte(b[12:]))
	}
	for i := range special {
		if special[i].prefix.Contains(addr) {
			return special[i].what
		}
	}
	if !addr.Is4() && !global.Contains(addr) {
		return "reserved"
	}
	return ""
}

var (
	nat64  = netip.MustParsePrefix("64:ff9b::/96")
	global = netip.MustParsePrefix("2000::/3") // all IPv6 addresses that IANA assigns
)

type span struct {
	prefix netip.Prefix
	what   string
}

// special lists the ranges of IANA's registries of special-purpose addresses, and the addresses
// where clouds serve metadata to their machines. The more specific ranges come first. IPv6
// addresses outside global are reserved anyway, and are listed only if they have a better name.
var special = func() (list []span) {
	for _, s := range [...][2]string{
		{"169.254.169.254/32", "cloud metadata (link-local)"}, {"168.63.129.16/32", "cloud metadata"},
		{"100.100.100.200/32", "cloud metadata"}, {"fd00:ec2::254/128", "cloud metadata"},
		{"127.0.0.0/8", "loopback"}, {"::1/128", "loopback"},
		{"10.0.0.0/8", "private"}, {"172.16.0.0/12", "private"}, {"192.168.0.0/16", "private"}, {"fc00::/7", "private"},
		{"169.254.0.0/16", "link-local"}, {"fe80::/10", "link-local"},
		{"0.0.0.0/8", "reserved"}, {"100.64.0.0/10", "reserved (shared by a provider)"},
		{"192.0.0.0/24", "reserved"}, {"192.0.2.0/24", "reserved (documentation)"},
		{"192.88.99.0/24", "reserved"}, {"198.18.0.0/15", "reserved (benchmarks)"},
		{"198.51.100.0/24", "reserved (documentation)"}, {"203.0.113.0/24", "reserved (documentation)"},
		{"224.0.0.0/4", "multicast"}, {"240.0.0.0/4", "reserved"}, {"ff00::/8", "multicast"},
		{"2001::/23", "reserved"}, {"2001:db8::/32", "reserved (documentation)"}, {"2002::/16", "reserved (6to4)"},
		{"3fff::/20", "reserved (documentation)"},
	} {
		list = append(list, span{netip.MustParsePrefix(s[0]), s[1]})
	}
	return list
}()

// Control is a net.Dialer.Control. The dialer calls it right before it connects, with the resolved
// address, so the answers of a name server cannot circumvent it.
func Control(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil || !Is(to.Addr()) {
		return ErrNotPublic
	}
	return nil
}
