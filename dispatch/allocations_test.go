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
		{"an agent without calls", answering("done"), 28}, // eleven of them for two contexts that can end, and their values
		{"an agent that derives a context", func(ctx context.Context, _ *dispatch.Run) (*dispatch.Response, error) {
			_, cancel := context.WithCancel(ctx)
			cancel()
			return &dispatch.Response{FinalResponse: "done"}, nil
		}, 32},
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

var _ http.Handler = (*dispatch.Handler)(nil)
