package proxy

import (
	"net"
	"net/http"
	"sync"
	"time"
)

// NewTransport returns a transport tuned for many concurrent calls to one host, to be given TLS settings, an HTTP proxy
// or instrumentation and then used as [Options.Transport] of all clients. It keeps up to 1,024 idle connections for 90
// seconds; http.DefaultTransport keeps two per host, which makes concurrent runs dial anew for nearly every call.
func NewTransport() *http.Transport {
	const maxIdle = 1024
	return &http.Transport{
		DialContext:           (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:     true,
		MaxIdleConns:          maxIdle,
		MaxIdleConnsPerHost:   maxIdle,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
	}
}

// sharedTransport is the one transport of all clients that are made without their own: a client is made for every run,
// and connections must outlive runs. It is never closed; its idle connections end by themselves.
var sharedTransport = sync.OnceValue(func() http.RoundTripper { return NewTransport() })
