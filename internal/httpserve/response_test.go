package httpserve_test

import (
	"net/http/httptest"
	"testing"

	"github.com/toolwire/toolwire/internal/httpserve"
)

func TestWriteError(t *testing.T) {
	for _, tt := range []struct {
		status int
		allow  string // set before
		want   string // Allow, Content-Type and body
	}{
		{405, "", `POST application/json {}`},
		{405, "GET, HEAD", `GET, HEAD application/json {}`},
		{401, "", ` application/json {}`},
		{413, "", ` application/json {}`},
		{500, "", ` application/json {}`},
	} {
		w := httptest.NewRecorder()
		if tt.allow != "" {
			w.Header().Set("Allow", tt.allow)
		}
		httpserve.WriteError(w, tt.status, []byte("{}"))
		got := w.Header().Get("Allow") + " " + w.Header().Get("Content-Type") + " " + w.Body.String()
		if w.Code != tt.status || got != tt.want {
			t.Errorf("%d: %d %q, want %q", tt.status, w.Code, got, tt.want)
		}
	}
}
