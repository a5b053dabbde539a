package hostiletest

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// patience is how long a peer waits for an event. It only keeps a broken test from hanging.
const patience = 3 * time.Minute

// Conn is a connection of a hostile peer, which writes any bytes.
type Conn struct {
	t    testing.TB
	conn net.Conn
	in   *bufio.Reader
}

// Dial connects to the server. The connection is closed when the test ends.
func (s *Server) Dial(t testing.TB) *Conn {
	t.Helper()
	conn, err := s.dial()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(patience))
	return &Conn{t: t, conn: conn, in: bufio.NewReader(conn)}
}

// Write sends bytes as they are. It is not an error if the peer has closed the connection: what it said
// before is to be read.
func (c *Conn) Write(text string) { _, _ = io.WriteString(c.conn, text) }

// CloseWrite ends the peer's half of the connection.
func (c *Conn) CloseWrite() {
	if half, ok := c.conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}

// Close hangs up.
func (c *Conn) Close() { _ = c.conn.Close() }

// Answer reads one answer to a request with this method and returns its status, header and body; 0
// if the server has closed the connection instead.
func (c *Conn) Answer(method string) (int, http.Header, string) {
	c.t.Helper()
	for {
		response, err := http.ReadResponse(c.in, &http.Request{Method: method})
		if err != nil {
			c.mustBeEnd(err)
			return 0, nil, ""
		}
		body, err := io.ReadAll(response.Body)
		if err != nil && (response.ContentLength >= 0 || errors.Is(err, os.ErrDeadlineExceeded)) {
			c.t.Fatalf("the answer %s broke off: %v", response.Status, err) // without a length a reset may be its end
		}
		if response.StatusCode == http.StatusContinue {
			continue
		}
		return response.StatusCode, response.Header, string(body)
	}
}

// Ended waits until the server hangs up. Bytes before that are an error.
func (c *Conn) Ended() {
	c.t.Helper()
	rest, err := io.ReadAll(c.in)
	if err != nil {
		c.mustBeEnd(err)
	}
	if len(rest) > 0 {
		c.t.Errorf("instead of hanging up the server said %q", rest)
	}
}

// mustBeEnd tells the end of a connection from a server that never answers.
func (c *Conn) mustBeEnd(err error) {
	c.t.Helper()
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.t.Fatalf("no answer and no end of the connection within %s", patience)
	}
	if strings.Contains(err.Error(), "malformed") {
		c.t.Fatalf("the answer is not HTTP: %v", err)
	}
}
