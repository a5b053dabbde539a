package testrun

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/runctx"
)

// A Host serves many runs on one port of loopback, each below a path of its own, and reuses the
// connections to their agents: what a run would make for itself costs more than the run of a fast agent.
// It listens when it is first needed.
type Host struct {
	transport *http.Transport

	mu     sync.Mutex
	served map[string]http.Handler // by the first element of their paths
	last   int
	base   string // "" until it listens
	server *http.Server
}

// NewHost returns a host. The caller closes it.
func NewHost() *Host {
	return &Host{transport: httpcall.NewTransport(), served: map[string]http.Handler{}}
}

// With returns a context that makes dispatchtest.Dispatch use the host.
func (h *Host) With(ctx context.Context) context.Context { return runctx.With(ctx, h) }

// HostFrom returns the host of [Host.With], or nil.
func HostFrom(ctx context.Context) *Host { return runctx.From[*Host](ctx) }

// Close stops serving.
func (h *Host) Close() {
	h.transport.CloseIdleConnections()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.server != nil {
		_ = h.server.Close()
	}
}

// serve serves a handler until end is called, which also ends the contexts of its requests.
func (h *Host) serve(handler http.Handler) (base string, end func(), err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.base == "" {
		if h.base, h.server, err = listen(h); err != nil {
			return "", nil, err
		}
	}
	h.last++
	key := strconv.Itoa(h.last)
	ctx, cancel := context.WithCancel(context.Background())
	h.served[key] = http.StripPrefix("/"+key, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		of, stop := context.WithCancel(r.Context())
		defer stop()
		defer context.AfterFunc(ctx, stop)()
		handler.ServeHTTP(w, r.WithContext(of))
	}))
	return h.base + "/" + key, func() {
		cancel()
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.served, key)
	}, nil
}

// ServeHTTP implements [http.Handler].
func (h *Host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	h.mu.Lock()
	handler := h.served[key]
	h.mu.Unlock()
	if handler == nil {
		http.Error(w, "the run is over, or the URL does not begin with odyssey_proxy_url", http.StatusNotFound)
		return
	}
	handler.ServeHTTP(w, r)
}

// listen serves a handler on a free port of loopback.
func listen(handler http.Handler) (base string, server *http.Server, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, fmt.Errorf("dispatchtest: %w", err)
	}
	server = &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }() // ends with Close
	return "http://" + listener.Addr().String(), server, nil
}
