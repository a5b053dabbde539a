package proxy_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/proxy"
)

// echo answers every request with the same status, header and body.
type echo struct {
	status int
	header http.Header
	body   string
}

func (e echo) RoundTrip(*http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	for name, values := range e.header {
		w.Header()[name] = values
	}
	w.WriteHeader(e.status)
	_, _ = w.WriteString(e.body)
	return w.Result(), nil
}

// RoundTrip answers 400 with a body that breaks off within the token.
type brokenEcho struct{}

func (brokenEcho) RoundTrip(r *http.Request) (*http.Response, error) {
	said := r.Header.Get("Authorization")
	body := io.MultiReader(strings.NewReader("you sent "+said[:len(said)-3]), iotest.ErrReader(io.ErrUnexpectedEOF))
	return &http.Response{StatusCode: 400, Header: http.Header{}, Body: io.NopCloser(body)}, nil
}

func TestAnswerThatBreaksOffWithinTheToken(t *testing.T) {
	c, err := proxy.New("https://proxy.example.com", "hunter2-swordfish", &proxy.Options{Transport: brokenEcho{}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Do(t.Context(), "t", nil)
	if e, ok := errors.AsType[*proxy.Error](err); !ok || e.Code != toolwire.CodeRefused ||
		strings.Contains(e.Detail, "hunter2") {
		t.Errorf("got %v, detail %q", err, e.Detail)
	}
}

// A proxy that repeats the run token, in whatever place and spelling, puts it into no error, log
// record, journal or text for the model. A result is the agent's data and stays as it is.
func TestProxyThatRepeatsTheToken(t *testing.T) {
	const token = "eyJhbGciOi.J7f3a99c1.x-hunter2_swordfish"
	var percented strings.Builder
	for _, c := range []byte(token) {
		fmt.Fprintf(&percented, "%%%02X", c)
	}
	spellings := []string{token, "Bearer " + token, percented.String(), strings.ReplaceAll(token, "h", `\u0068`),
		url.QueryEscape("Bearer " + token)}
	leaks := func(s string) bool {
		return strings.Contains(s, "hunter2") || strings.Contains(s, "eyJhbGciOi") ||
			strings.Contains(s, "%68%75%6E") || strings.Contains(s, "unter2")
	}
	for _, status := range []int{200, 302, 400, 401, 404, 409, 413, 422, 429, 500, 503} {
		for _, said := range spellings {
			for _, body := range []string{
				said, `{"detail":"` + said + `"}`,
				`{"detail":{"error_class":"` + said + `","message":"no ` + said + `"}}`,
				`{"` + said + `":1,"` + said + `":2}`,
				`{"detail":[{"loc":["` + said + `"],"msg":"` + said + `"}]}`, `{"error_class":"` + said + `"}`,
				`{"detail":"` + strings.Repeat("x", 1016) + said + `"}`,
				`{"tool_name":"t","response":1,"source":"` + said + `"}`, `{"tool_name":"` + said + `","response":{}}`,
				`{"response":` + said + `}`,
			} {
				var log strings.Builder
				seen := &spy{}
				c, err := proxy.New("https://proxy.example.com", token, &proxy.Options{
					MaxAttempts: 1, Logger: slog.New(slog.NewTextHandler(&log,
						&slog.HandlerOptions{Level: slog.LevelDebug})), Observer: seen.observer(),
					Transport: echo{status, http.Header{"Location": {"/" + said}, "X-Request-Id": {said},
						"Retry-After": {said}}, body},
				})
				if err != nil {
					t.Fatal(err)
				}
				_, callErr := c.Do(t.Context(), "get_order", nil)
				_, typedErr := proxy.Call[int](t.Context(), c, "get_order", nil)
				_, traceErr := c.Trace(t.Context(), proxy.EventCustom, nil)
				for i, err := range []error{callErr, typedErr, traceErr} {
					if err == nil {
						continue
					}
					e, ok := errors.AsType[*proxy.Error](err)
					if !ok {
						t.Fatal(err)
					}
					shown := err.Error() + " " + e.Class + " " + e.Detail + " " + fmt.Sprint(e.Err)
					if e.Result == nil {
						shown += string(proxy.ToolResult(err))
					}
					if leaks(shown) {
						t.Errorf("%d %.80s: error %d shows the token: %s", status, body, i, shown)
					}
				}
				shown := log.String()
				for _, end := range seen.ends {
					if end.Result != nil {
						shown += string(end.Result.Source)
					}
				}
				if leaks(shown) {
					t.Errorf("%d %.80s: the log or the source shows the token: %s", status, body, shown)
				}
			}
		}
	}
	result := `{"say":"` + token + `"}`
	c, err := proxy.New("https://proxy.example.com", token, &proxy.Options{
		Transport: echo{200, nil, `{"tool_name":"t","response":` + result + `,"source":"odyssey"}`},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := proxy.Call[json.RawMessage](t.Context(), c, "t", nil); err != nil || string(got) != result {
		t.Errorf("the result is %s, %v", got, err)
	}
}
