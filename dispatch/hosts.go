package dispatch

import (
	"errors"
	"net"
	"net/url"
	"strings"

	"github.com/toolwire/toolwire/internal/publicaddr"
)

// hosts are the proxies of Options.ProxyHosts. The keys have the form "https://host:port". The key
// "host" stands for every scheme and port of a loopback host. If hosts is nil, every proxy is
// allowed.
type hosts map[string]bool

// add adds an entry of Options.ProxyHosts. Its error does not repeat the entry, which may be a URL
// with credentials.
func (h hosts) add(entry string) error {
	scheme, rest, explicit := strings.Cut(entry, "://")
	if !explicit {
		scheme, rest = "https", entry
	}
	scheme = strings.ToLower(scheme)
	u, err := url.Parse("//" + rest)
	if err != nil || rest == "" || u.Host != rest || u.Hostname() == "" || defaultPorts[scheme] == "" {
		return errors.New("is not a host such as api.example.com, api.example.com:8443 or http://proxy.internal:8080")
	}
	name := publicaddr.Key(u.Hostname())
	switch local := publicaddr.Loopback(name); {
	case local && !explicit && u.Port() == "":
		h[name] = true
	case local && !explicit:
		h[origin("http", name, u.Port())] = true
		fallthrough
	default:
		h[origin(scheme, name, u.Port())] = true
	}
	return nil
}

var defaultPorts = map[string]string{"https": "443", "http": "80"}

func origin(scheme, host, port string) string {
	if port == "" {
		port = defaultPorts[scheme]
	}
	return scheme + "://" + net.JoinHostPort(host, port)
}

// check refuses the URL of a proxy that is not allowed. It compares scheme, host and port as they are
// dialled, see [publicaddr.Key]. The proxy client finds what else is wrong with the URL.
func (h hosts) check(proxyURL string) error {
	if h == nil {
		return nil
	}
	if u, err := url.Parse(proxyURL); err == nil {
		host := publicaddr.Key(u.Hostname())
		if h[host] || h[origin(u.Scheme, host, u.Port())] {
			return nil
		}
	}
	return errors.New("names a proxy that is not in Options.ProxyHosts; " +
		"a host there means https, on port 443 unless the entry names another")
}
