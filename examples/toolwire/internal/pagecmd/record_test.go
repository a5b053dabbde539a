package pagecmd

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/toolwire/toolwire/internal/httpserve"
	"github.com/toolwire/toolwire/internal/httpserve/hostiletest"
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
