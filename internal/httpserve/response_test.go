package httpserve_test

import (
	"net/http/httptest"
	"testing"

	"github.com/toolwire/toolwire/internal/httpserve"
)

func TestWriteError(t *testing.T) {
	for _, tt := range []struct {
		code   string
		allow  string // set before
		status int
		want   string // Allow, Content-Type and body
	}{
		{"method_not_allowed", "", 405, `POST application/json {}`},
		{"method_not_allowed", "GET, HEAD", 405, `GET, HEAD application/json {}`},
		{"unauthorized", "", 401, `  `},
		{"request_too_large", "", 413, ` application/json {}`},
		{"unreadable_body", "", 400, ` application/json {}`},
		{"invalid_json", "", 400, ` application/json {}`},
		{"invalid_envelope", "", 400, ` application/json {}`},
		{"any_other", "", 500, ` application/json {}`},
	} {
		w := httptest.NewRecorder()
		if tt.allow != "" {
			w.Header().Set("Allow", tt.allow)
		}
		httpserve.WriteError(w, httpserve.StatusOf(tt.code), []byte("{}"))
		got := w.Header().Get("Allow") + " " + w.Header().Get("Content-Type") + " " + w.Body.String()
		if w.Code != tt.status || got != tt.want {
			t.Errorf("%s: %d %q, want %d %q", tt.code, w.Code, got, tt.status, tt.want)
		}
	}
}
