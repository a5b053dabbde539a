package dispatch_test

import (
	"bytes"
	"context"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/toolwire/toolwire/dispatch"
)

// floor is the handler that one would write by hand with net/http and encoding/json: the documented
// steps, and none of the limits, deadlines, strictness, panic containment or contract checks.
func floor(agent func(ctx context.Context, instruction string, input json.RawMessage, proxyURL, token string) string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+agentToken)) != 1 {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if bytes.Equal(bytes.TrimSpace(body), []byte(`{"ping":true}`)) {
			_, _ = io.WriteString(w, `{"ok":true}`)
			return
		}
		var envelope struct {
			TaskID   int64  `json:"task_id"`
			RunID    int64  `json:"run_id"`
			AgentID  int64  `json:"agent_id"`
			ProxyURL string `json:"odyssey_proxy_url"`
			JTI      string `json:"run_token_jti"`
			Input    struct {
				Instruction string          `json:"user_instruction"`
				Input       json.RawMessage `json:"input"`
			} `json:"input"`
		}
		if err := json.Unmarshal(body, &envelope); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		if envelope.ProxyURL == "" {
			envelope.ProxyURL = r.Header.Get("X-Pipelines-Odyssey-Proxy-Url")
		}
		token := r.Header.Get("X-Pipelines-Run-Token")
		if envelope.ProxyURL == "" || token == "" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		final := agent(r.Context(), envelope.Input.Instruction, envelope.Input.Input, envelope.ProxyURL, token)
		answer, err := json.Marshal(map[string]string{"final_response": final})
		if err != nil {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		_, _ = w.Write(answer)
	})
}

func sizedBody(n int) string {
	row := `{"sku":"A-1","price":12.5,"tags":["new","red"],"stock":{"helsinki":3,"turku":0}}`
	rows := strings.Repeat(row+",", max(0, n-len(seedBody))/(len(row)+1)) + row
	return strings.Replace(seedBody, `"customer_id"`, `"rows":[`+rows+`],"customer_id"`, 1)
}

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

// BenchmarkDispatch prints the handler beside the floor; compare within one run.
func BenchmarkDispatch(b *testing.B) {
	handler := newHandler(b, answering("The refund of $79.50 has been issued for order #4521."))
	hand := floor(func(context.Context, string, json.RawMessage, string, string) string {
		return "The refund of $79.50 has been issued for order #4521."
	})
	for _, body := range []struct{ name, body string }{
		{"ping", `{"ping":true}`}, {"example", seedBody}, {"1KB", sizedBody(1 << 10)}, {"64KB", sizedBody(64 << 10)}, {"1MB", sizedBody(1<<20 - 1<<10)},
	} {
		for _, way := range []struct {
			name    string
			handler http.Handler
		}{{"floor", hand}, {"toolwire", handler}} {
			b.Run(body.name+"/"+way.name, func(b *testing.B) {
				r := request(body.body)
				reader := strings.NewReader(body.body)
				b.ReportAllocs()
				for b.Loop() {
					reader.Reset(body.body)
					r.Body = io.NopCloser(reader)
					way.handler.ServeHTTP(&nopResponse{http.Header{}}, r)
				}
			})
		}
	}
}

// A dispatch costs at most this many allocations, also if the agent derives a context, as every
// client does.
func TestAllocations(t *testing.T) {
	for _, tt := range []struct {
		name  string
		agent dispatch.Agent
		most  float64
	}{
		{"an agent without calls", answering("done"), 23}, // one of them hides the run token when a client is printed
		{"an agent that derives a context", func(ctx context.Context, _ *dispatch.Run) (*dispatch.Response, error) {
			_, cancel := context.WithCancel(ctx)
			cancel()
			return &dispatch.Response{FinalResponse: "done"}, nil
		}, 34},
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

// BenchmarkParked prints the memory of runs that wait, beside the floor.
func BenchmarkParked(b *testing.B) {
	for _, n := range []int{512, 4096} {
		for _, way := range []string{"floor", "toolwire"} {
			b.Run(fmt.Sprintf("%d/%s", n, way), func(b *testing.B) { parked(b, n, way) })
		}
	}
}

var _ http.Handler = (*dispatch.Handler)(nil)
