package proxy

import (
	"net"
	"net/http"
	"sync"
	"time"
)

// sharedTransport is the one transport of all clients that are made without their own. A client is made for every run,
// and connections must outlive runs. It is never closed: idle connections end after 90 seconds, and no more than
// maxIdle are kept. http.DefaultTransport keeps two idle connections per host, which makes concurrent runs dial anew
// for nearly every call.
var sharedTransport = sync.OnceValue(func() http.RoundTripper {
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
})
