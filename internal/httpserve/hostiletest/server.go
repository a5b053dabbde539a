package hostiletest

import (
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/toolwire/toolwire/internal/memhttp"
)

// Server serves a handler over HTTP/1 and unencrypted HTTP/2 and notes the read deadlines that are
// set on its connections.
type Server struct {
	Address string

	dial func() (net.Conn, error)

	mu        sync.Mutex
	deadlines []time.Duration
}

// NewServer serves handler on loopback until the test ends.
func NewServer(t testing.TB, handler http.Handler) *Server {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Address: listener.Addr().String()}
	s.dial = func() (net.Conn, error) { return net.Dial("tcp", s.Address) }
	s.start(t, listener, handler)
	return s
}

// NewMemoryServer serves handler in memory, for bubbles of testing/synctest.
func NewMemoryServer(t testing.TB, handler http.Handler) *Server {
	t.Helper()
	listener := memhttp.Listen()
	s := &Server{Address: "memory", dial: func() (net.Conn, error) { return listener.Dial(t.Context(), "", "") }}
	s.start(t, listener, handler)
	return s
}

func (s *Server) start(t testing.TB, listener net.Listener, handler http.Handler) {
	server := &http.Server{Handler: handler, Protocols: new(http.Protocols), ErrorLog: log.New(io.Discard, "", 0)}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(&recordingListener{listener, s}) // ends with Close
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-done
	})
}

// ShortestDeadline returns the shortest time that a read was given on any connection, and false if
// every read could take forever. net/http ends a read with a deadline in 1970, which does not
// count.
func (s *Server) ShortestDeadline() (time.Duration, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.deadlines) == 0 {
		return 0, false
	}
	return slices.Min(s.deadlines), true
}

type recordingListener struct {
	net.Listener
	server *Server
}

func (l *recordingListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &recordingConn{conn, l.server}, nil
}

type recordingConn struct {
	net.Conn
	server *Server
}

func (c *recordingConn) SetReadDeadline(at time.Time) error {
	if at.After(time.Unix(1000, 0)) { // however late it is seen
		c.server.mu.Lock()
		c.server.deadlines = append(c.server.deadlines, time.Until(at))
		c.server.mu.Unlock()
	}
	return c.Conn.SetReadDeadline(at)
}

// CloseWrite lets net/http end its half of the connection first, as it does on TCP.
func (c *recordingConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
