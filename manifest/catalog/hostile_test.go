package catalog_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/toolwire/toolwire/internal/httpserve/hostiletest"
	"github.com/toolwire/toolwire/manifest/catalog"
)

// countingStore takes any tool any number of times.
type countingStore struct {
	catalog.Store
	created atomic.Int64
}

func (s *countingStore) Create(context.Context, catalog.Record) error { s.created.Add(1); return nil }

func TestHostileRequests(t *testing.T) {
	hostiletest.Run(t, func(t testing.TB) hostiletest.Subject {
		store := &countingStore{}
		h, err := catalog.NewHandler(store, &catalog.HandlerOptions{Authenticate: authenticate, MaxBodyBytes: 1000})
		if err != nil {
			t.Fatal(err)
		}
		return hostiletest.Subject{
			Handler: h, Path: "/tools/", Credential: "Authorization: Bearer key-one",
			Header: []string{"Content-Type: application/json"}, Body: minimal, MaxBody: 1000,
			Ran: func() int { return int(store.created.Load()) },
		}
	}, hostiletest.Sentinels())
}

func TestRefusalsAreLoggedWithTheirAddress(t *testing.T) {
	var log bytes.Buffer
	h, err := catalog.NewHandler(catalog.NewMemoryStore(), &catalog.HandlerOptions{Authenticate: authenticate,
		Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	for method, want := range map[string]string{"GET": "status=401", "PATCH": "status=405"} {
		log.Reset()
		r := httptest.NewRequestWithContext(t.Context(), method, "/tools/", http.NoBody)
		r.RemoteAddr = "192.0.2.7:4711"
		h.ServeHTTP(httptest.NewRecorder(), r)
		if !strings.Contains(log.String(), want) || !strings.Contains(log.String(), "remote=192.0.2.7:4711") {
			t.Errorf("%s: the log is %s", method, log.String())
		}
	}
}
