package proxy_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/toolwire/toolwire/internal/floor"
	"github.com/toolwire/toolwire/proxy"
)

// callsPerRun is below the pace, so that clients with the default pacer can be measured: a client
// is made for every run.
const callsPerRun = 50

// BenchmarkCall makes one tool call and unwraps its result, over a transport in memory and over a
// connection on loopback: the example of the document, and larger results. The floor has a deadline
// and neither retry, pacing, limits nor strictness.
func BenchmarkCall(b *testing.B) {
	run := func(name string, transport http.RoundTripper, url string) {
		args := map[string]string{"order_id": "4521"}
		b.Run(name+"/floor", func(b *testing.B) {
			hand := &floor.Client{HTTP: &http.Client{Transport: transport}, ProxyURL: url, Token: runToken}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := hand.Call(background, "get_order", args); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/toolwire", func(b *testing.B) {
			b.ReportAllocs()
			var c *proxy.Client
			for i := 0; b.Loop(); i++ {
				if i%callsPerRun == 0 {
					var err error
					if c, err = proxy.New(url, runToken, &proxy.Options{Transport: transport}); err != nil {
						b.Fatal(err)
					}
				}
				if _, err := c.Do(background, "get_order", args); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	loopback := func(name string, answer floor.Canned) {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Length", fmt.Sprint(len(answer)))
			_, _ = w.Write(answer)
		}))
		defer server.Close()
		transport := &http.Transport{}
		defer transport.CloseIdleConnections()
		run("loopback/"+name, transport, server.URL)
	}
	run("example", floor.Canned(seedAnswer), baseURL)
	for _, size := range floor.Sizes {
		for _, kind := range floor.Kinds {
			run(size.Name+"/"+kind.Name, floor.Answer(kind.Document(size.Bytes)), baseURL)
		}
	}
	loopback("example", floor.Canned(seedAnswer))
	for _, size := range floor.Sizes {
		loopback(size.Name+"/nested", floor.Answer(floor.Kinds[0].Document(size.Bytes)))
	}
}

func TestAllocations(t *testing.T) {
	// A Go value would pass encoding/json, whose pool the race detector empties at random.
	args := json.RawMessage(`{"order_id":"4521"}`)
	c, err := proxy.New(baseURL, runToken, &proxy.Options{Transport: floor.Canned(seedAnswer),
		Pacer: proxy.NewPacer(0, 0)})
	if err != nil {
		t.Fatal(err)
	}
	got := testing.AllocsPerRun(200, func() {
		if _, err := c.Do(background, "get_order", args); err != nil {
			t.Fatal(err)
		}
	})
	if got > 26 {
		t.Errorf("a call makes %.0f allocations, the ceiling is 26", got)
	}
}
