package proxytest

import (
	"net"
	"net/http"
	"testing"
	"time"
)

// Server is a [Platform] on loopback.
type Server struct {
	*Platform
	URL string // of the server, such as http://127.0.0.1:40321; a run's proxy base URL is URL + run.Path

	server *http.Server
}

// Start serves platform on a free port of 127.0.0.1. Close the server after use.
func Start(platform *Platform) (*Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{
		Platform: platform, URL: "http://" + listener.Addr().String(),
		server: &http.Server{Handler: platform, ReadHeaderTimeout: 10 * time.Second},
	}
	go func() { _ = s.server.Serve(listener) }() // ends with Close
	return s, nil
}

// Close stops the server at once.
func (s *Server) Close() { _ = s.server.Close() }

// NewServer is [Start] with a [NewPlatform] for a test; it is closed when the test ends.
func NewServer(t testing.TB, w World, opts *Options) *Server {
	t.Helper()
	s, err := Start(NewPlatform(t, w, opts))
	if err != nil {
		t.Fatalf("proxytest: %v", err)
	}
	t.Cleanup(s.Close)
	return s
}
