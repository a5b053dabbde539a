package main

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolwire/toolwire/internal/httpcall"
)

// A protocol is how sites are served.
type protocol int

const (
	http1 protocol = iota // plain
	http2                 // with TLS
)

// transport returns a client's transport of this module's settings for the protocol.
func (p protocol) transport() *http.Transport {
	t := httpcall.NewTransport()
	t.Protocols = p.protocols()
	if p == http2 {
		roots := x509.NewCertPool()
		roots.AddCert(certificate().Leaf)
		t.TLSClientConfig = &tls.Config{RootCAs: roots}
	}
	return t
}

func (p protocol) protocols() *http.Protocols {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(p == http1)
	protocols.SetHTTP2(p == http2)
	return protocols
}

// certificate is that of the standard library's test server, for 127.0.0.1.
var certificate = sync.OnceValue(func() tls.Certificate {
	s := httptest.NewUnstartedServer(nil)
	s.StartTLS()
	defer s.Close()
	cert := s.TLS.Certificates[0]
	if cert.Leaf == nil {
		leaf, err := x509.ParseCertificate(cert.Certificate[0])
		if err != nil {
			panic(err)
		}
		cert.Leaf = leaf
	}
	return cert
})

// A site is a handler behind a server on loopback, which can be restarted at the same address.
type site struct {
	URL string

	soak     *soak
	protocol protocol
	address  string
	handler  atomic.Pointer[http.Handler]
	server   *http.Server
	served   chan struct{}
	busy     atomic.Int64 // requests in progress
}

// serve serves handler on a free port.
func (s *soak) serve(p protocol, handler http.Handler) *site {
	x := &site{soak: s, protocol: p, address: "127.0.0.1:0"}
	x.handler.Store(&handler)
	x.start()
	x.URL = "http://" + x.address
	if p == http2 {
		x.URL = "https://" + x.address
	}
	return x
}

// start begins to serve. After a stop it takes the same port again.
func (x *site) start() {
	var listener net.Listener
	x.soak.await("the port of a server", func() (free bool) {
		var err error
		listener, err = net.Listen("tcp", x.address)
		return err == nil
	})
	x.address = listener.Addr().String()
	x.server = &http.Server{
		Handler: http.HandlerFunc(x.answer), ErrorLog: x.soak.errors, Protocols: x.protocol.protocols(),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate()}},
	}
	x.served = make(chan struct{})
	go func(server *http.Server, served chan struct{}) {
		defer close(served)
		if x.protocol == http2 {
			_ = server.ServeTLS(listener, "", "")
		} else {
			_ = server.Serve(listener)
		}
	}(x.server, x.served)
}

func (x *site) answer(w http.ResponseWriter, r *http.Request) {
	x.busy.Add(1)
	defer x.busy.Add(-1)
	(*x.handler.Load()).ServeHTTP(w, r)
}

// cut closes all connections at once.
func (x *site) cut() {
	_ = x.server.Close()
	<-x.served
}

// stop cuts the connections and waits until no handler runs any more.
func (x *site) stop() {
	x.cut()
	x.soak.await("the handlers of a server", func() bool { return x.busy.Load() == 0 })
}

// await waits until done returns true. It is a violation if it does not within the safety limit.
func (s *soak) await(what string, done func() bool) {
	for end := time.Now().Add(safety); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if done() {
			return
		}
	}
	s.violate("", "%s did not end within %s", what, safety)
}
