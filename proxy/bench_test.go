package proxy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/toolwire/toolwire/proxy"
)

// floor is the client that one would write by hand: net/http and encoding/json, with a deadline,
// and without pacing, retry, limits, strictness or typed errors.
type floor struct {
	client *http.Client
	url    string
	token  string
}

func (f *floor) call(ctx context.Context, tool string, args any) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, 120*time.Second)
	defer cancel()
	body, err := json.Marshal(args)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, "POST", strings.TrimRight(f.url, "/")+"/tools/"+tool,
		bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+f.token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := f.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != 200 {
		return nil, fmt.Errorf("status %d", resp.StatusCode)
	}
	var envelope struct {
		Response json.RawMessage `json:"response"`
	}
	err = json.Unmarshal(answer, &envelope)
	return envelope.Response, err
}

// sizedAnswer is an envelope of about n bytes with a nested result.
func sizedAnswer(n int) string {
	if n == 0 {
		return seedAnswer
	}
	row := `{"sku":"A-1","price":12.5,"tags":["new","red"],"stock":{"helsinki":3,"turku":0}}`
	return `{"tool_name":"list_orders","response":{"rows":[` + strings.Repeat(row+",", n/(len(row)+1)) + row +
		`]},"source":"odyssey","latency_ms":412,"matched_rule_index":null}`
}

type cannedTransport struct{ answer []byte }

func (c cannedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	return &http.Response{StatusCode: 200, Header: http.Header{}, ContentLength: int64(len(c.answer)),
		Body: io.NopCloser(bytes.NewReader(c.answer))}, nil
}

// callsPerRun is below the pace, so that clients with the default pacer can be measured: a client
// is made for every run.
const callsPerRun = 50

// BenchmarkCall prints the client beside the floor; compare within one run.
func BenchmarkCall(b *testing.B) {
	args := map[string]string{"order_id": "4521"}
	for _, size := range []struct {
		name  string
		bytes int
	}{{"example", 0}, {"1KB", 1 << 10}, {"64KB", 64 << 10}, {"1MB", 1<<20 - 8<<10}} {
		body := []byte(sizedAnswer(size.bytes))
		canned := cannedTransport{body}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Length", fmt.Sprint(len(body)))
			_, _ = w.Write(body)
		}))
		loopback := &http.Transport{}
		for _, way := range []struct {
			name      string
			transport http.RoundTripper
			url       string
		}{{"memory", canned, baseURL}, {"loopback", loopback, server.URL}} {
			hand := &floor{&http.Client{Transport: way.transport}, way.url, runToken}
			b.Run(size.name+"/"+way.name+"/floor", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := hand.call(background, "get_order", args); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run(size.name+"/"+way.name+"/toolwire", func(b *testing.B) {
				b.ReportAllocs()
				var c *proxy.Client
				for i := 0; b.Loop(); i++ {
					if i%callsPerRun == 0 {
						var err error
						if c, err = proxy.New(way.url, runToken, &proxy.Options{Transport: way.transport}); err != nil {
							b.Fatal(err)
						}
					}
					if _, err := c.Call(background, "get_order", args); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		loopback.CloseIdleConnections()
		server.Close()
	}
}

func TestAllocations(t *testing.T) {
	args := map[string]string{"order_id": "4521"}
	c, err := proxy.New(baseURL, runToken, &proxy.Options{Transport: cannedTransport{[]byte(seedAnswer)},
		Pacer: proxy.NewPacer(0, 0)})
	if err != nil {
		t.Fatal(err)
	}
	got := testing.AllocsPerRun(200, func() {
		if _, err := c.Call(background, "get_order", args); err != nil {
			t.Fatal(err)
		}
	})
	if got > 36 {
		t.Errorf("a call makes %.0f allocations, the ceiling is 36", got)
	}
}
