// Package publicaddr keeps connections to URLs that a peer chose away from hosts that only this machine's network
// can reach.
package publicaddr

import (
	"errors"
	"net/netip"
	"syscall"
)

// ErrNotPublic is the cause when a connection is refused. It does not hold the address.
var ErrNotPublic = errors.New("the address is not public")

// Is reports whether addr is a unicast address of the public internet. An IPv4 address within an IPv6 one is judged as
// what it is.
func Is(addr netip.Addr) bool { return Why(addr) == "" }

// Why says in a word or two what keeps addr from being public, such as "loopback"; "" if nothing does.
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
	global = netip.MustParsePrefix("2000::/3") // all of IPv6 that is given out
)

type span struct {
	prefix netip.Prefix
	what   string
}

// special are the ranges that IANA's registries of special-purpose addresses do not give out for the public, and those
// where clouds serve what is meant for their machines alone; the more telling first. IPv6 outside global is reserved
// anyway, and listed only where it has a better name.
var special = func() (list []span) {
	for _, s := range [...][2]string{
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
	} {
		list = append(list, span{netip.MustParsePrefix(s[0]), s[1]})
	}
	return list
}()

// Control is for net.Dialer: it is asked with the address that a name has been resolved to, right before connecting, so
// that no answer of a name server can get around it.
func Control(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil || !Is(to.Addr()) {
		return ErrNotPublic
	}
	return nil
}
