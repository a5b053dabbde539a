package httpcall

import (
	"net"
	"net/http"
	"time"
)

// NewTransport returns a transport with the settings that all default transports of this module
// share. It reads no proxy settings from the environment.
//
// Connections that are idle for 4 seconds are closed. Common servers (uvicorn, Node.js) close them
// after 5 seconds. A request that is sent at that moment fails, and the client cannot tell whether
// it was carried out. The client therefore closes first.
//
// One weakness of net/http remains. If a server sends more bytes than it announced in
// Content-Length, net/http writes up to 4 KiB of the surplus to the standard logger of package log
// ("Unsolicited response received on idle HTTP channel"). The transport offers no setting for it. A
// program that must not log the words of its peers sets log.SetOutput, or sets DisableKeepAlives.
func NewTransport() *http.Transport {
	const maxIdle = 1024
	return &http.Transport{
		DialContext:            (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           maxIdle,
		MaxIdleConnsPerHost:    maxIdle,
		IdleConnTimeout:        4 * time.Second,
		TLSHandshakeTimeout:    10 * time.Second,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: 256 << 10,
	}
}
