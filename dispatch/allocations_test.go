package dispatch_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/internal/testkit"
)

// bodyWith is the example with a document in the task input.
func bodyWith(document string) string {
	return strings.Replace(seedBody, `"customer_id"`, `"document":`+document+`,"customer_id"`, 1)
}

// sizedBody is a dispatch of at least n bytes.
func sizedBody(n int) string { return bodyWith(testkit.Kinds[0].Document(n)) }

type nopResponse struct{ header http.Header }

func (n *nopResponse) Header() http.Header         { return n.header }
func (n *nopResponse) Write(b []byte) (int, error) { return len(b), nil }
func (n *nopResponse) WriteHeader(int)             {}

// SetReadDeadline is there because the servers of net/http have it.
func (n *nopResponse) SetReadDeadline(time.Time) error { return nil }

func request(body string) *http.Request {
	r := httptest.NewRequest("POST", "/dispatch", strings.NewReader(body))
	r.Header = seedHeaders()
	return r
}

// A dispatch costs at most this many allocations, even if the agent derives a context, as every
// client does.
func TestAllocations(t *testing.T) {
	for _, tt := range []struct {
		name  string
		agent dispatch.Agent
		most  float64
	}{
		{"an agent without calls", answering("done"), 35}, // four of them are of the test
		{"an agent that derives a context", func(ctx context.Context, _ *dispatch.Run) (*dispatch.Response, error) {
			_, cancel := context.WithCancel(ctx)
			cancel()
			return &dispatch.Response{FinalResponse: "done"}, nil
		}, 39},
	} {
		t.Run(tt.name, func(t *testing.T) {
			handler := newHandler(t, tt.agent)
			r := request(seedBody)
			reader := strings.NewReader(seedBody)
			got := testing.AllocsPerRun(200, func() {
				reader.Reset(seedBody)
				r.Body = io.NopCloser(reader)
				w := &nopResponse{http.Header{}}
				handler.ServeHTTP(w, r)
			})
			if got > tt.most {
				t.Errorf("a dispatch makes %.0f allocations, the ceiling is %.0f", got, tt.most)
			}
		})
	}
}

// The replayed messages are read once, however many ids are made.
func TestReplayIsReadOnce(t *testing.T) {
	row := `{"role":"tool","tool_call_id":"call_1","content":"x"}`
	body := `{"input":{"user_instruction":"hi","messages":[` + strings.Repeat(row+",", 2000) + row + `]}}`
	cost := func(calls int) float64 {
		h := newHandler(t, func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			for range calls {
				if _, err := run.Proxy.Do(ctx, "get_order", nil); err != nil {
					return nil, err
				}
			}
			return &dispatch.Response{FinalResponse: "done"}, nil
		}, tools, func(o *dispatch.Options) { o.RateLimit = -1 })
		return testing.AllocsPerRun(1, func() { post(h, body, nil) })
	}
	if one, ten := cost(1), cost(10); ten-one > 2000 {
		t.Errorf("%.0f allocations with one call, %.0f with ten", one, ten)
	}
}

var _ http.Handler = (*dispatch.Handler)(nil)
