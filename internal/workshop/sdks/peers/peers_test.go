// Package peers measures package proxy beside another library that makes the same call.
package peers

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/toolwire/toolwire/internal/testkit"
	"github.com/toolwire/toolwire/proxy"
)

const (
	baseURL  = "https://api.example.com/api/odyssey-proxy/runs/abc"
	runToken = "secret-run-token"

	// callsPerRun is below the pace of a run, so that its client does not wait.
	callsPerRun = 50
)

// newRetryable returns a client of go-retryablehttp with four attempts, as the document wants.
func newRetryable(transport http.RoundTripper) *retryablehttp.Client {
	client := retryablehttp.NewClient()
	client.HTTPClient = &http.Client{Transport: transport}
	client.RetryMax, client.Logger = 3, nil
	return client
}

// retryable makes a call with a deadline and unwraps its result.
func retryable(client *retryablehttp.Client, tool string, args any) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 120*time.Second)
	defer cancel()
	body, err := json.Marshal(args)
	if err != nil {
		return nil, err
	}
	req, err := retryablehttp.NewRequestWithContext(ctx, "POST", baseURL+"/tools/"+tool, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+runToken)
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20+1))
	if err != nil {
		return nil, err
	}
	var envelope struct {
		Response json.RawMessage `json:"response"`
	}
	err = json.Unmarshal(answer, &envelope)
	return envelope.Response, err
}

// BenchmarkPeers makes one tool call over a transport in memory and unwraps its result, beside
// hashicorp/go-retryablehttp with four attempts and a deadline.
func BenchmarkPeers(b *testing.B) {
	run := func(name string, answer testkit.Canned) {
		args := map[string]string{"order_id": "4521"}
		b.Run(name+"/retryablehttp", func(b *testing.B) {
			client := newRetryable(answer)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := retryable(client, "list_orders", args); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/toolwire", func(b *testing.B) {
			b.ReportAllocs()
			var client *proxy.Client
			for i := 0; b.Loop(); i++ {
				if i%callsPerRun == 0 {
					var err error
					if client, err = proxy.New(baseURL, runToken, &proxy.Options{Transport: answer}); err != nil {
						b.Fatal(err)
					}
				}
				if _, err := client.Do(context.Background(), "list_orders", args); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	run("example", testkit.ProxyAnswer(`{"status":"shipped","shipped_at":"2026-04-01"}`))
	for _, size := range testkit.Sizes {
		run(size.Name+"/nested", testkit.ProxyAnswer(testkit.Kinds[0].Document(size.Bytes)))
	}
}

// TestSameResult makes sure that the two do the same work.
func TestSameResult(t *testing.T) {
	answer := testkit.ProxyAnswer(`{"status":"shipped"}`)
	want, err := retryable(newRetryable(answer), "x", nil)
	if err != nil {
		t.Fatal(err)
	}
	client, err := proxy.New(baseURL, runToken, &proxy.Options{Transport: answer})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := proxy.Call[json.RawMessage](t.Context(), client, "x", nil); err != nil || string(got) != string(want) {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
}
