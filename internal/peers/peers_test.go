// Package peers measures package proxy beside hashicorp/go-retryablehttp doing the same call.
// Compare within one run:
//
//	go test -bench . -count 6
package peers

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/toolwire/toolwire/proxy"
)

const (
	baseURL  = "https://api.example.com/api/odyssey-proxy/runs/abc"
	runToken = "secret-run-token"
)

// canned answers in memory.
type canned struct{ answer []byte }

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	return &http.Response{StatusCode: 200, Header: http.Header{}, ContentLength: int64(len(c.answer)), Body: io.NopCloser(bytes.NewReader(c.answer))}, nil
}

// retryable makes the call with go-retryablehttp: four attempts, a deadline by context, the result
// unwrapped.
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

func BenchmarkPeers(b *testing.B) {
	args := map[string]string{"order_id": "4521"}
	row := `{"sku":"A-1","price":12.5,"tags":["new","red"],"stock":{"helsinki":3,"turku":0}}`
	for _, size := range []struct {
		name string
		rows int
	}{{"example", 0}, {"1KB", 12}, {"64KB", 800}, {"1MB", 12_000}} {
		answer := []byte(`{"tool_name":"list_orders","response":[` + strings.Repeat(row+",", size.rows) + row + `],"source":"odyssey","latency_ms":412,"matched_rule_index":null}`)
		b.Run(size.name+"/retryablehttp", func(b *testing.B) {
			client := retryablehttp.NewClient()
			client.HTTPClient = &http.Client{Transport: canned{answer}}
			client.RetryMax, client.Logger = 3, nil
			b.ReportAllocs()
			for b.Loop() {
				if _, err := retryable(client, "list_orders", args); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(size.name+"/toolwire", func(b *testing.B) {
			b.ReportAllocs()
			var client *proxy.Client
			for i := 0; b.Loop(); i++ {
				if i%50 == 0 { // a run, below its pace
					var err error
					if client, err = proxy.New(baseURL, runToken, &proxy.Options{Transport: canned{answer}}); err != nil {
						b.Fatal(err)
					}
				}
				if _, err := client.Call(context.Background(), "list_orders", args); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestSameResult makes sure that the two do the same work.
func TestSameResult(t *testing.T) {
	answer := canned{[]byte(`{"tool_name":"x","response":{"status":"shipped"},"source":"odyssey"}`)}
	peer := retryablehttp.NewClient()
	peer.HTTPClient, peer.Logger = &http.Client{Transport: answer}, nil
	want, err := retryable(peer, "x", nil)
	if err != nil {
		t.Fatal(err)
	}
	client, err := proxy.New(baseURL, runToken, &proxy.Options{Transport: answer})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := client.Call(t.Context(), "x", nil); err != nil || string(got) != string(want) {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
}
