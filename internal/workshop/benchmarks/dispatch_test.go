// Package benchmarks measures the library beside what one would write by hand.
package benchmarks

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/internal/testkit"
	"github.com/toolwire/toolwire/internal/workshop/benchmarks/floor"
)

const (
	agentToken = "agent-token-hunter2"
	runToken   = "secret-run-token"
	proxyURL   = "https://api.example.com/api/odyssey-proxy/runs/abc"
)

// example is the dispatch of the document.
const example = `{
  "task_id": 42,
  "run_id": 17,
  "agent_id": 8,
  "input": {
    "task_id": 42,
    "user_instruction": "Refund order #4521 if it shipped more than 30 days ago.",
    "input": {
      "customer_id": "cust_99",
      "order_id": "4521"
    }
  },
  "odyssey_proxy_url": "https://api.example.com/api/odyssey-proxy/runs/abc",
  "run_token_jti": "2105977b27b84f12920087320921f1a5"
}`

var headers = http.Header{
	"Content-Type":                  {"application/json"},
	"Authorization":                 {"Bearer " + agentToken},
	"X-Pipelines-Run-Token":         {runToken},
	"X-Pipelines-Odyssey-Proxy-Url": {proxyURL},
	"X-Pipelines-Run-Id":            {"17"},
	"X-Pipelines-Task-Id":           {"42"},
	"X-Pipelines-Run-Token-Jti":     {"2105977b27b84f12920087320921f1a5"},
}

type nopResponse struct{ header http.Header }

func (n *nopResponse) Header() http.Header         { return n.header }
func (n *nopResponse) Write(b []byte) (int, error) { return len(b), nil }
func (n *nopResponse) WriteHeader(int)             {}

// SetReadDeadline is there because the servers of net/http have it.
func (n *nopResponse) SetReadDeadline(time.Time) error { return nil }

// measure reports allocations, and the processor time of an operation with what the collector does for
// it. A machine with other work makes the time longer, not the processor time.
func measure(b *testing.B) {
	b.ReportAllocs()
	before := processor()
	b.Cleanup(func() {
		if used := processor() - before; used > 0 {
			b.ReportMetric(float64(used)/float64(b.N), "cpu-ns/op")
		}
	})
}

// BenchmarkDispatch serves requests without a network: the ping, the example of the document, and
// larger task inputs. The agent answers at once. The floor has the documented steps only, and the
// careful floor the promises of the library about them. On two cores, the agent's goroutine begins on
// the other core.
func BenchmarkDispatch(b *testing.B) {
	const final = "The refund of $79.50 has been issued for order #4521."
	handler, err := dispatch.New(func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
		return &dispatch.Response{FinalResponse: final}, nil
	}, &dispatch.Options{Tokens: []string{agentToken}})
	if err != nil {
		b.Fatal(err)
	}
	ways := []struct {
		name    string
		handler http.Handler
	}{
		{"floor", floor.Handler(agentToken, func(context.Context, floor.Run) string { return final })},
		{"careful", floor.NewCareful(agentToken, nil, func(context.Context, floor.Run, *floor.CarefulClient) (string, error) {
			return final, nil
		})},
		{"toolwire", handler},
	}
	run := func(name, body string) {
		for _, way := range ways {
			b.Run(name+"/"+way.name, func(b *testing.B) {
				r := httptest.NewRequest("POST", "/dispatch", nil)
				r.Header, r.ContentLength = headers, int64(len(body))
				reader := strings.NewReader(body)
				measure(b)
				for b.Loop() {
					reader.Reset(body)
					r.Body = io.NopCloser(reader)
					way.handler.ServeHTTP(&nopResponse{http.Header{}}, r)
				}
			})
		}
	}
	run("ping", `{"ping":true}`)
	run("example", example)
	cores := runtime.GOMAXPROCS(2)
	run("example/two_cores", example)
	runtime.GOMAXPROCS(cores)
	for _, size := range testkit.Sizes {
		for _, kind := range testkit.Kinds {
			run(size.Name+"/"+kind.Name, strings.Replace(example, `"customer_id"`, `"document":`+kind.Document(size.Bytes)+`,"customer_id"`, 1))
		}
	}
}
