package httpcall_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/internal/httpcall"
)

// A peer that sends a second response nobody asked for, with the first or later, does not answer the
// next request with it.
func TestSurplusAnswers(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	response := func(n string) string {
		return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(n), n)
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				for in := bufio.NewReader(conn); ; {
					r, err := http.ReadRequest(in)
					if err != nil {
						return
					}
					_, _ = io.WriteString(conn, response(r.URL.Path)+response("surplus"))
				}
			}()
		}
	}()
	transport := httpcall.NewTransport()
	defer transport.CloseIdleConnections()
	for i := range 200 {
		path := fmt.Sprint("/", i)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+listener.Addr().String()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := transport.RoundTrip(r)
		if err != nil {
			continue // the connection was closed
		}
		body, _ := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if got := string(body); got != path || strings.Contains(got, "surplus") {
			t.Errorf("%s is answered with %q", path, got)
		}
	}
}
