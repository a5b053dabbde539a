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
	"testing/synctest"

	"github.com/toolwire/toolwire/internal/httpserve/hostiletest"
	"github.com/toolwire/toolwire/manifest/catalog"
)

// countingStore accepts every tool and counts them.
type countingStore struct {
	catalog.Store
	created atomic.Int64
}

func (s *countingStore) Create(context.Context, catalog.StoredTool) error {
	s.created.Add(1)
	return nil
}

func TestHostileRequests(t *testing.T) {
	hostiletest.Run(t, func(t testing.TB) hostiletest.Subject {
		store := &countingStore{}
		h, err := catalog.NewHandler(store, &catalog.HandlerOptions{Authenticate: authenticate})
		if err != nil {
			t.Fatal(err)
		}
		catalog.SetLimits(h, 1000, 1000)
		return hostiletest.Subject{
			Handler: h, Path: "/tools/", Credential: "Authorization: Bearer key-one",
			Header: []string{"Content-Type: application/json"}, Body: minimal, MaxBody: 1000,
			Ran: func() int { return int(store.created.Load()) },
		}
	}, hostiletest.Sentinels())
}

// Failures before authentication or reading also end the connection of a peer that withholds its
// body.
func TestARefusedPeerLosesItsConnectionInTime(t *testing.T) {
	const rest = " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer key-one\r\nContent-Length: 1000\r\n"
	const form = "Content-Type: multipart/form-data; boundary=b\r\n\r\n"
	for name, tt := range map[string]struct {
		sent   string
		status int
	}{
		"no path":       {"POST /nowhere" + rest + "\r\n", 404},
		"a redirect":    {"POST /tools" + rest + "\r\n", 307},
		"no id":         {"PUT /tools/x" + rest + "\r\n", 422},
		"no JSON":       {"POST /tools/" + rest + "\r\n", 422},
		"no form":       {"POST /tools/upload" + rest + "\r\n", 422},
		"a broken form": {"POST /tools/upload" + rest + form + "--b\r\nno header\r\n\r\n", 422},
		"a long form": {"POST /tools/upload HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer key-one\r\n" +
			"Content-Length: 9223372036854775807\r\n" + form, 413},
		"too many parts": {"POST /tools/upload" + rest + form + strings.Repeat("--b\r\nA: b\r\n\r\n\r\n", 20), 413},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, err := catalog.NewHandler(&countingStore{}, &catalog.HandlerOptions{Authenticate: authenticate})
				if err != nil {
					t.Fatal(err)
				}
				hostiletest.Withhold(t, h, tt.sent, tt.status)
			})
		})
	}
}

func TestRefusalsAreLoggedWithTheirAddress(t *testing.T) {
	var log bytes.Buffer
	h, err := catalog.NewHandler(catalog.NewMemoryStore(), &catalog.HandlerOptions{Authenticate: authenticate,
		Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ method, path, key, want string }{
		{"GET", "/tools/", "", "level=WARN route=/tools/ status=401"},
		{"DELETE", "/tools/" + unknown, "key-viewer", "level=WARN route=/tools/{id} status=403"},
		{"PATCH", "/tools/", "", "level=INFO route=/tools/ status=405"},
		{"GET", "/tools/" + unknown + "/secret", "", "level=INFO route=unknown status=404"},
		{"GET", "/tools/" + unknown + "/source", "key-error", "level=ERROR route=/tools/{id}/source status=500"},
		{"GET", "/tools/", "key-one", "level=DEBUG route=/tools/ status=200"},
	} {
		log.Reset()
		r := httptest.NewRequestWithContext(t.Context(), tt.method, tt.path, http.NoBody)
		r.Header.Set("X-Api-Key", tt.key)
		r.RemoteAddr = "192.0.2.7:4711"
		h.ServeHTTP(httptest.NewRecorder(), r)
		for _, want := range strings.Fields(tt.want + " remote=192.0.2.7:4711") {
			if !strings.Contains(log.String(), want) || strings.Contains(log.String(), "secret") {
				t.Errorf("%s %s: the log is %s, want %s", tt.method, tt.path, log.String(), want)
			}
		}
		if strings.Contains(log.String(), `=""`) {
			t.Errorf("%s %s: the log has a value that is not known: %s", tt.method, tt.path, log.String())
		}
	}
}
