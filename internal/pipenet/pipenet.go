// Package pipenet connects net/http's client and server in memory, for tests. In a bubble of testing/synctest their
// time-outs take no time, and hold on a busy machine too.
package pipenet

import (
	"context"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"
)

// Server is a server whose connections are pipes. A write waits until the other side reads.
type Server struct {
	dialled chan net.Conn
	closed  chan struct{}
	once    sync.Once
}

// Serve starts a server that stops when the test ends. Call it within the bubble.
func Serve(t testing.TB, handler http.Handler) *Server {
	s := &Server{dialled: make(chan net.Conn), closed: make(chan struct{})}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Hour}
	go func() { _ = server.Serve(listener{s}) }()
	t.Cleanup(func() { _ = server.Close() })
	return s
}

// Dial connects to the server, whatever the network and the address.
func (s *Server) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case s.dialled <- far:
		return near, nil
	case <-s.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type listener struct{ s *Server }

func (l listener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.s.dialled:
		return conn, nil
	case <-l.s.closed:
		return nil, net.ErrClosed
	}
}

func (l listener) Close() error {
	l.s.once.Do(func() { close(l.s.closed) })
	return nil
}

func (l listener) Addr() net.Addr { return &net.UnixAddr{} }
