package proxy

import (
	"net/http"
	"sync"

	"github.com/toolwire/toolwire/internal/httpcall"
)

// NewTransport returns a transport for many concurrent calls to one host. Add TLS settings, an HTTP
// proxy or instrumentation to it and use it as [Options.Transport] of all clients. It reads no
// proxy settings from the environment.
//
// It keeps up to 1,024 idle connections; http.DefaultTransport keeps two per host, so that
// concurrent runs dial for nearly every call. It closes a connection that is idle for 4 seconds.
// Common servers (uvicorn, Node.js) do so after 5 seconds, and a call that is sent at that moment
// would fail with [Unknown].
//
// If a server sends more bytes than it announced in Content-Length, net/http writes up to 4 KiB of
// the surplus to the standard logger of package log ("Unsolicited response received on idle HTTP
// channel"), and has no setting that prevents it. If your proxy is not trusted with your log,
// redirect it with log.SetOutput, or set DisableKeepAlives.
func NewTransport() *http.Transport { return httpcall.NewTransport() }

// sharedTransport is the one transport of all clients that are made without their own: a client is
// made for every run, and connections must outlive runs. It is never closed; its idle connections
// are.
var sharedTransport = sync.OnceValue(func() http.RoundTripper { return NewTransport() })
