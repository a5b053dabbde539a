package pagecmd

import (
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/toolwire/toolwire/internal/httpserve"
	"github.com/toolwire/toolwire/internal/httpserve/hostiletest"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// The run token is read as the proxy reads it. Without it a request is not one of the run's.
func TestTheRunTokenOfARequest(t *testing.T) {
	for _, tt := range []struct {
		header http.Header
		class  string
	}{
		{http.Header{"Authorization": {"Bearer run-1"}}, "run_token_expired"},
		{http.Header{"Authorization": {"bearer run-1"}}, "run_token_expired"},
		{http.Header{"X-Pipelines-Run-Token": {"run-1"}}, "run_token_expired"},
		{http.Header{"Authorization": {"run-1"}}, "run_token_invalid"},
		{http.Header{"Authorization": {"Basic run-1"}}, "run_token_invalid"},
		{http.Header{"Authorization": {"Bearer run-12"}}, "run_token_invalid"},
		{http.Header{"Authorization": {"Bearer "}}, "run_token_invalid"},
		{http.Header{"X-Pipelines-Run-Token": {""}}, "run_token_invalid"},
		{nil, "run_token_invalid"},
	} {
		over := &record{token: httpserve.NewSecrets([]string{"run-1"}, nil)}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/tools/get_order", strings.NewReader("{}"))
		r.Header = tt.header
		w := httptest.NewRecorder()
		over.serveProxy(w, r)
		if w.Code != http.StatusUnauthorized || !strings.Contains(w.Body.String(), `"`+tt.class+`"`) {
			t.Errorf("%v: %d %s, want %s", tt.header, w.Code, w.Body, tt.class)
		}
		if late := tt.class == "run_token_expired"; late != (over.late == 1) {
			t.Errorf("%v: %d late requests", tt.header, over.late)
		}
	}
}

// A refused client that withholds its body is answered, and loses its connection.
func TestARefusedClientLosesItsConnectionInTime(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"over":    (&record{}).serveProxy,
		"unknown": (&server{runs: &runs{}}).proxy,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hostiletest.Withhold(t, handler, "POST /tools/a HTTP/1.1\r\nHost: x\r\nContent-Length: 13\r\n\r\n{", 401)
			})
		})
	}
}

// A length of 2^63-1 counts as what the proxy would read of it, so the bound of a run holds afterwards.
func TestAnAnnouncedLengthIsBounded(t *testing.T) {
	var over *record
	subject := func(t testing.TB) hostiletest.Subject {
		p := proxytest.NewPlatform(t, proxytest.World{Behaviors: map[string]proxytest.Behavior{"a": proxytest.Canned(`{}`)}}, nil)
		run := p.NewRun()
		over = &record{
			facts: facts{bounds: bounds{requests: 100, bytes: 3 << 20}}, platform: p,
			token: httpserve.NewSecrets([]string{run.Token}, nil),
		}
		return hostiletest.Subject{
			Handler: http.HandlerFunc(over.serveProxy), Path: run.Path + "/tools/a", Credential: "Authorization: Bearer " + run.Token,
			Body: "{}", MaxBody: 1 << 20, Ran: func() int { return len(run.Log().Calls) },
		}
	}
	const row = "2^63-1 bytes are announced"
	hostiletest.Run(t, subject, hostiletest.Select(hostiletest.Rows, "a good request", "no credential, "+row, row))

	s := subject(t)
	for i, want := range []int{413, 200, 200, 429} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, s.Path, strings.NewReader(`{"a":"`+strings.Repeat("x", 1<<20-8)+`"}`))
		r.Header.Set("Authorization", strings.TrimPrefix(s.Credential, "Authorization: "))
		if i == 0 {
			r.ContentLength = math.MaxInt64
		}
		w := httptest.NewRecorder()
		if over.serveProxy(w, r); w.Code != want {
			t.Errorf("request %d: %d %s, want %d", i, w.Code, w.Body, want)
		}
	}
}
