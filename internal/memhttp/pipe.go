package memhttp

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// Listener is a net.Listener whose connections are pipes, for tests of net/http itself: a write waits
// until the other side reads. In a bubble of testing/synctest their time-outs take no time, and hold on
// a busy machine too.
type Listener struct {
	dialled chan net.Conn
	closed  chan struct{}
	once    sync.Once
}

// Listen returns a listener. Call it within the bubble.
func Listen() *Listener { return &Listener{dialled: make(chan net.Conn), closed: make(chan struct{})} }

// Serve starts a server that stops when the test ends, and returns its listener. Call it within the
// bubble.
func Serve(t interface{ Cleanup(func()) }, handler http.Handler) *Listener {
	l := Listen()
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Hour}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() {
		_ = server.Close()
		time.Sleep(time.Second) // net/http keeps a connection for a moment that it closes with unread data
	})
	return l
}

// Dial connects to the listener, whatever the network and the address. It waits until the
// connection is accepted.
func (l *Listener) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case l.dialled <- far:
		return near, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept waits for the next connection.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.dialled:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close ends the listener.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr returns an address without a name.
func (l *Listener) Addr() net.Addr { return &net.UnixAddr{} }
