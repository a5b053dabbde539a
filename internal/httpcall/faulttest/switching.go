package faulttest

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// SwitchingServer returns the URL of a server that answers every request with 101 Switching
// Protocols and then sends nothing until the test ends.
func SwitchingServer(t *testing.T) string {
	t.Helper()
	over := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, out, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = conn.Close() }()
		_, _ = out.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
		_ = out.Flush()
		<-over
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(over) }) // before server.Close, which waits for the handlers
	return server.URL
}
