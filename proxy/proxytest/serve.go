package proxytest

import (
	"net"
	"net/http"
	"testing"
	"time"
)

// A Server is a [Platform] on loopback.
type Server struct {
	*Platform
	URL string // such as http://127.0.0.1:40321; the proxy base URL of a run is URL + run.Path
}

// NewServer serves a [NewPlatform] on a free port of 127.0.0.1 until the test ends. A program
// serves a [Platform] with net/http.
func NewServer(t testing.TB, w World, opts *Options) *Server {
	t.Helper()
	platform := NewPlatform(t, w, opts)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("proxytest: %v", err)
	}
	server := &http.Server{Handler: platform, ReadHeaderTimeout: 10 * time.Second}
	t.Cleanup(func() { _ = server.Close() })
	go func() { _ = server.Serve(listener) }() // returns after Close
	return &Server{Platform: platform, URL: "http://" + listener.Addr().String()}
}
