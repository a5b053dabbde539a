package faulttest

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// listening is how a peer listens.
type listening int

const (
	plain     listening = iota
	secure              // TLS with a certificate that the client trusts
	untrusted           // TLS with a certificate that the client does not trust
	misnamed            // TLS with a trusted certificate for another host
	expired             // TLS with a trusted certificate whose time is over
	lying               // TLS that agrees on HTTP/2, with a peer that speaks HTTP/1
	naked               // the client expects TLS, the peer gets the bare connection
	nowhere             // nothing listens
	h2                  // HTTP/2 without TLS
)

// server stands in for the peer of one row.
type server struct {
	row      Row
	good     string
	url      string
	listener net.Listener
	tls      *tls.Config // nil without TLS
	requests atomic.Int64
	stalled  atomic.Pointer[context.CancelCauseFunc] // of the context of the present call
	over     chan struct{}                           // closed at the end of the row
	group    sync.WaitGroup

	mu    sync.Mutex
	conns []net.Conn
}

func newServer(t testing.TB, row Row, good string) *server {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{row: row, good: good, url: "http://" + listener.Addr().String(), listener: listener,
		over: make(chan struct{})}
	switch row.listen {
	case nowhere:
		s.url = "http://127.0.0.1:1" // the port is never given to a listener
		return s
	case secure, untrusted, misnamed, expired, lying:
		s.tls = &tls.Config{Certificates: certificate()}
		if row.listen == lying {
			s.tls.NextProtos = []string{"h2"}
		}
		s.url = "https://" + listener.Addr().String()
	case naked:
		s.url = "https://" + listener.Addr().String()
	}
	s.group.Go(s.accept)
	return s
}

// certificate returns the certificate of the standard library's test server, for 127.0.0.1.
var certificate = sync.OnceValue(func() []tls.Certificate {
	s := httptest.NewUnstartedServer(nil)
	s.StartTLS()
	defer s.Close()
	return s.TLS.Certificates
})

// configure prepares the client's transport.
func (s *server) configure(t *http.Transport) {
	t.Protocols = new(http.Protocols)
	t.Protocols.SetHTTP1(s.row.listen != h2)
	t.Protocols.SetUnencryptedHTTP2(s.row.listen == h2)
	t.Protocols.SetHTTP2(s.row.listen == lying)
	t.TLSClientConfig = &tls.Config{RootCAs: x509.NewCertPool()}
	if s.row.listen != untrusted {
		leaf, err := x509.ParseCertificate(certificate()[0].Certificate[0])
		if err == nil {
			t.TLSClientConfig.RootCAs.AddCert(leaf)
		}
	}
	switch s.row.listen {
	case misnamed:
		t.TLSClientConfig.ServerName = "other.example"
	case expired:
		t.TLSClientConfig.Time = func() time.Time { return time.Now().AddDate(200, 0, 0) }
	}
}

func (s *server) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.conns = append(s.conns, conn)
		s.mu.Unlock()
		s.group.Go(func() { s.play(conn) })
	}
}

func (s *server) close() {
	close(s.over)
	_ = s.listener.Close()
	s.mu.Lock()
	for _, conn := range s.conns {
		_ = conn.Close()
	}
	s.mu.Unlock()
	s.group.Wait()
}

// session is one connection of the peer.
type session struct {
	server  *server
	tcp     *net.TCPConn
	conn    net.Conn // tcp, or TLS over it
	in      *bufio.Reader
	request *http.Request
	number  int // of the request, from 1, over all connections
	closed  bool
}

func (s *server) play(conn net.Conn) {
	x := &session{server: s, tcp: conn.(*net.TCPConn), conn: conn}
	defer func() { _ = x.conn.Close() }()
	if s.tls != nil {
		x.conn = tls.Server(conn, s.tls)
	}
	x.in = bufio.NewReader(x.conn)
	if s.row.connect != nil {
		s.row.connect(x)
		return
	}
	for !x.closed {
		r, err := http.ReadRequest(x.in)
		if err != nil {
			return
		}
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}
		x.request, x.number = r, int(s.requests.Add(1))
		if s.row.warm && x.number == 1 {
			x.good()
			continue
		}
		s.row.serve(x)
	}
}

// write writes a text; the client may be gone.
func (x *session) write(format string, args ...any) {
	if len(args) > 0 {
		format = fmt.Sprintf(format, args...)
	}
	_, _ = io.WriteString(x.conn, format)
}

// good answers as a good peer does.
func (x *session) good() { x.write("%s%s", x.head(), x.server.good) }

// head is the beginning of a good answer.
func (x *session) head() string {
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n",
		len(x.server.good))
}

// half is the first half of the good body.
func (x *session) half() string { return x.server.good[:len(x.server.good)/2] }

// close ends the connection in order.
func (x *session) close() {
	x.closed = true
	_ = x.conn.Close()
}

// reset ends the connection with a TCP reset.
func (x *session) reset() {
	x.closed = true
	_ = x.tcp.SetLinger(0)
	_ = x.tcp.Close()
}

// stall ends the context of the call and says nothing more.
func (x *session) stall() {
	x.closed = true
	x.server.stall()
}

func (s *server) stall() {
	(*s.stalled.Load())(ErrStalled)
	<-s.over
}

// flood writes text until the client is gone.
func (x *session) flood(text string) {
	x.closed = true
	for {
		if _, err := io.WriteString(x.conn, text); err != nil {
			return
		}
	}
}

// date is a time from now in the form of HTTP.
func date(d time.Duration) string { return time.Now().Add(d).UTC().Format(http.TimeFormat) }
