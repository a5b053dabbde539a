// Package publicaddr keeps connections to URLs that somebody else chose away from hosts that only this machine's network
// can reach.
package publicaddr

import (
	"errors"
	"net/netip"
	"syscall"
)

// ErrNotPublic is the cause when a connection is refused. It does not hold the address.
var ErrNotPublic = errors.New("the address is not public")

// special are ranges that are routed to nobody, to this network, or to an IPv4 address hidden in an IPv6 one; beside
// those that netip knows.
var special = func() (list []netip.Prefix) {
	for _, p := range []string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24",
		"203.0.113.0/24", "240.0.0.0/4",
		"::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "5f00::/16", "fec0::/10",
	} {
		list = append(list, netip.MustParsePrefix(p))
	}
	return list
}()

var nat64 = netip.MustParsePrefix("64:ff9b::/96")

// Is reports whether addr is a unicast address of the public internet. An IPv4 address within an IPv6 one is judged as
// what it is.
func Is(addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	if nat64.Contains(addr) {
		b := addr.As16()
		addr = netip.AddrFrom4([4]byte(b[12:]))
	}
	if !addr.IsGlobalUnicast() || addr.IsPrivate() {
		return false
	}
	for _, p := range special {
		if p.Contains(addr) {
			return false
		}
	}
	return true
}

// Control is for net.Dialer: it is asked with the address that a name has been resolved to, right before connecting, so
// that no answer of a name server can get around it.
func Control(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil || !Is(to.Addr()) {
		return ErrNotPublic
	}
	return nil
}
