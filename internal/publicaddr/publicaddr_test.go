package publicaddr_test

import (
	"net"
	"net/netip"
	"testing"

	"github.com/toolwire/toolwire/internal/publicaddr"
)

func TestIs(t *testing.T) {
	for address, want := range map[string]bool{
		"93.184.216.34": true, "1.1.1.1": true, "2606:4700:4700::1111": true, "::ffff:1.1.1.1": true, "64:ff9b::1.1.1.1": true,
		"127.0.0.1": false, "127.9.9.9": false, "10.1.2.3": false, "172.16.0.1": false, "172.31.255.255": false, "192.168.1.1": false,
		"169.254.169.254": false, "0.0.0.0": false, "0.1.2.3": false, "100.64.0.1": false, "198.18.0.1": false, "192.0.0.8": false,
		"224.0.0.1": false, "255.255.255.255": false, "240.0.0.1": false, "172.32.0.1": true, "100.128.0.1": true,
		"::1": false, "::": false, "fe80::1": false, "fe80::1%eth0": false, "fc00::1": false, "fd12:3456::1": false, "fec0::1": false,
		"ff02::1": false, "::ffff:127.0.0.1": false, "::ffff:10.0.0.1": false, "::127.0.0.1": false, "64:ff9b::10.0.0.1": false,
		"64:ff9b::7f00:1": false, "64:ff9b:1::1": false, "2002:7f00:1::": false, "2001:0:1::": false, "2001:db8::1": false,
		"168.63.129.16": false, "168.63.129.17": true, "64:ff9b::168.63.129.16": false, "::ffff:0:127.0.0.1": false,
		"::ffff:0:169.254.169.254": false, "100:0:0:1::1": false, "1fff::1": false, "4000::1": false, "2a00:1450:4001::1": true,
	} {
		if publicaddr.Is(netip.MustParseAddr(address)) != want {
			t.Errorf("Is(%s) = %t", address, !want)
		}
	}
	if publicaddr.Is(netip.Addr{}) {
		t.Error("the zero address is public")
	}
}

func TestWhy(t *testing.T) {
	for address, want := range map[string]string{
		"1.1.1.1": "", "64:ff9b::1.1.1.1": "", "127.0.0.1": "loopback", "::1": "loopback", "::ffff:127.0.0.1": "loopback",
		"169.254.169.254": "cloud metadata (link-local)", "169.254.0.1": "link-local", "fe80::1%eth0": "link-local",
		"168.63.129.16": "cloud metadata", "64:ff9b::a9fe:a9fe": "cloud metadata (link-local)", "10.0.0.1": "private",
		"fd00:ec2::254": "cloud metadata", "fd00::1": "private", "ff02::1": "multicast", "::": "reserved", "4000::1": "reserved",
	} {
		if why := publicaddr.Why(netip.MustParseAddr(address)); why != want {
			t.Errorf("Why(%s) = %q, want %q", address, why, want)
		}
	}
	if publicaddr.Why(netip.Addr{}) == "" {
		t.Error("the zero address is public")
	}
}

func TestControl(t *testing.T) {
	if err := publicaddr.Control("tcp4", "1.1.1.1:443", nil); err != nil {
		t.Error(err)
	}
	for _, address := range []string{"127.0.0.1:80", "[::1]:80", "localhost:80", ""} {
		if publicaddr.Control("tcp", address, nil) == nil {
			t.Errorf("%q is accepted", address)
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	dialer := net.Dialer{Control: publicaddr.Control}
	if conn, err := dialer.Dial("tcp", listener.Addr().String()); err == nil {
		_ = conn.Close()
		t.Error("a dialer connects to loopback")
	}
}

// Unicode folds some letters into ASCII ones, in other ways than IDNA.
func TestKey(t *testing.T) {
	for host, want := range map[string]string{
		"API.Example.com:8443": "api.example.com:8443", "[2001:DB8::1]": "[2001:db8::1]", "XN--BCHER-KVA.example": "xn--bcher-kva.example",
		"": "", "BÜCHER.Example": "BÜCHER.Example", "AP\u0130.example": "AP\u0130.example", "\u212Aelvin": "\u212Aelvin",
		"\u017Fame": "\u017Fame", "A\xff": "A\xff",
	} {
		if got := publicaddr.Key(host); got != want {
			t.Errorf("%q: %q, want %q", host, got, want)
		}
	}
}

func TestLoopback(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "LocalHost": true, "127.0.0.1": true, "127.9.9.9": true, "::1": true, "::ffff:127.0.0.1": true,
		"": false, "localhost.evil.example": false, "a.localhost": false, "10.0.0.1": false, "0.0.0.0": false, "::": false,
		"127.1": false, "64:ff9b::7f00:1": false, "localho\u017Ft": false,
	} {
		if got := publicaddr.Loopback(host); got != want {
			t.Errorf("%q: %t", host, got)
		}
	}
}
