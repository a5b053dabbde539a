package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
)

// The faults that the tests plant.
const (
	plantGoroutine  plant = "goroutine"  // an agent leaves a goroutine behind
	plantDescriptor plant = "descriptor" // an agent leaves a file open
	plantHeap       plant = "heap"       // an agent's memory stays in use
	plantTwice      plant = "twice"      // the proxy receives a call twice
	plantRefused    plant = "refused"    // a call is executed, and then refused
	plantConfused   plant = "confused"   // a call has the result of another
	plantUnanswered plant = "unanswered" // a dispatch is not answered
	plantRerun      plant = "rerun"      // a dispatch runs its agent twice
	plantLog        plant = "log"        // the run token is logged
	plantAnswer     plant = "answer"     // the run token is in an answer
	plantTape       plant = "tape"       // the run token is in a file
)

// leaks hold what planted leaks keep, until their test ends.
var leaks struct {
	stop  chan struct{}
	files []*os.File
	bytes [][]byte
}

// leak plants the faults of an agent.
func (s *soak) leak(token string) {
	switch s.plant {
	case plantGoroutine:
		go func(stop chan struct{}) { <-stop }(leaks.stop)
	case plantDescriptor:
		if f, err := os.Open(os.DevNull); err == nil {
			s.mu.Lock()
			leaks.files = append(leaks.files, f)
			s.mu.Unlock()
		}
	case plantHeap:
		s.mu.Lock()
		leaks.bytes = append(leaks.bytes, make([]byte, 2<<20))
		s.mu.Unlock()
	case plantLog:
		s.log.Info("a run begins", "token", token)
	case plantTape:
		_ = os.WriteFile(filepath.Join(s.scratch, "tape"), []byte("Bearer "+token), 0o600)
	}
}

// misbehaving returns the proxy with a planted fault.
func (s *soak) misbehaving(proxy http.Handler) http.Handler {
	if s.plant != plantTwice && s.plant != plantRefused {
		return proxy
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(httptest.NewRecorder(), r)
		if s.plant == plantRefused {
			http.Error(w, `{"detail":{"error_class":"not_found"}}`, http.StatusNotFound)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r)
	})
}

// spoiled returns the endpoint with a planted fault.
func (s *soak) spoiled(endpoint http.Handler) http.Handler {
	switch s.plant {
	case plantUnanswered:
		return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			endpoint.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		})
	case plantRerun:
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			for _, to := range []http.ResponseWriter{httptest.NewRecorder(), w} {
				r.Body = io.NopCloser(bytes.NewReader(body))
				endpoint.ServeHTTP(to, r)
			}
		})
	}
	return endpoint
}
