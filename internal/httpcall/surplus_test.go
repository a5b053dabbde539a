package httpcall_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire/internal/httpcall"
)

// A response that nobody asked for ends the connection on which it arrives, with the response before it or
// later, and does not answer the next request.
func TestSurplusAnswers(t *testing.T) {
	log.SetOutput(io.Discard) // net/http tells it to the standard logger
	defer log.SetOutput(os.Stderr)
	response := func(body string) string {
		return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	}
	for _, together := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			connections := 0
			serve := func(conn net.Conn) {
				defer func() { _ = conn.Close() }()
				r, err := http.ReadRequest(bufio.NewReader(conn))
				if err != nil {
					return
				}
				answers := []string{response(r.URL.Path), response("surplus")}
				if together {
					answers = []string{answers[0] + answers[1]}
				}
				for _, answer := range answers {
					_, _ = io.WriteString(conn, answer)
					synctest.Wait() // the client has read it
				}
				_, _ = io.Copy(io.Discard, conn)
			}
			transport := httpcall.NewTransport()
			defer transport.CloseIdleConnections()
			transport.DialContext = func(context.Context, string, string) (net.Conn, error) {
				connections++
				here, there := net.Pipe()
				go serve(there)
				return here, nil
			}
			for i := range 3 {
				path := fmt.Sprint("/", i)
				r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://peer.test"+path, nil)
				if err != nil {
					t.Fatal(err)
				}
				answer, err := transport.RoundTrip(r)
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(answer.Body)
				if _ = answer.Body.Close(); err != nil || string(body) != path {
					t.Errorf("together: %t: %s is answered with %q, %v", together, path, body, err)
				}
				time.Sleep(time.Second)
			}
			if connections != 3 {
				t.Errorf("together: %t: %d connections for 3 requests", together, connections)
			}
		})
	}
}
