package benchmarks

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/toolwire/toolwire/internal/testkit"
	"github.com/toolwire/toolwire/internal/workshop/benchmarks/floor"
	"github.com/toolwire/toolwire/proxy"
)

// answer is the response of the document.
const answer = `{"tool_name":"get_order","response":{"status":"shipped","shipped_at":"2026-04-01"},"source":"odyssey",` +
	`"latency_ms":412,"matched_rule_index":null}`

// callsPerRun is below the pace, so that clients with the default pacer can be measured: a client
// is made for every run.
const callsPerRun = 50

// BenchmarkCall makes one tool call and unwraps its result, over a transport in memory and over a
// connection on loopback: the example of the document, and larger results. The floor has a deadline
// and neither retry, pacing, limits nor strictness. The careful floor has a deadline, pacing and limits.
func BenchmarkCall(b *testing.B) {
	run := func(name string, transport http.RoundTripper, url string) {
		args := map[string]string{"order_id": "4521"}
		b.Run(name+"/floor", func(b *testing.B) {
			hand := &floor.Client{HTTP: &http.Client{Transport: transport}, ProxyURL: url, Token: runToken}
			measure(b)
			for b.Loop() {
				if _, err := hand.Call(context.Background(), "get_order", args); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/careful", func(b *testing.B) {
			measure(b)
			var hand *floor.CarefulClient
			for i := 0; b.Loop(); i++ {
				if i%callsPerRun == 0 {
					var err error
					fresh := floor.NewCareful(agentToken, transport, nil) // whose pace is not used up
					if hand, err = fresh.Client(floor.Run{ProxyURL: url, Token: runToken}, nil); err != nil {
						b.Fatal(err)
					}
				}
				if _, err := hand.Call(context.Background(), "get_order", args); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/toolwire", func(b *testing.B) {
			measure(b)
			var c *proxy.Client
			for i := 0; b.Loop(); i++ {
				if i%callsPerRun == 0 {
					var err error
					if c, err = proxy.New(url, runToken, &proxy.Options{Transport: transport}); err != nil {
						b.Fatal(err)
					}
				}
				if _, err := c.Do(context.Background(), "get_order", args); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	loopback := func(name string, body testkit.Canned) {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Length", fmt.Sprint(len(body)))
			_, _ = w.Write(body)
		}))
		defer server.Close()
		transport := &http.Transport{}
		defer transport.CloseIdleConnections()
		run("loopback/"+name, transport, server.URL)
	}
	run("example", testkit.Canned(answer), proxyURL)
	for _, size := range testkit.Sizes {
		for _, kind := range testkit.Kinds {
			run(size.Name+"/"+kind.Name, testkit.ProxyAnswer(kind.Document(size.Bytes)), proxyURL)
		}
	}
	loopback("example", testkit.Canned(answer))
	for _, size := range testkit.Sizes {
		loopback(size.Name+"/nested", testkit.ProxyAnswer(testkit.Kinds[0].Document(size.Bytes)))
	}
}
