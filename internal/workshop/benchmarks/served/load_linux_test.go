package served

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const ping = `{"ping":true}`

// envelope is the body of a dispatch.
func envelope(proxyURL, instruction string) string {
	return `{"task_id":42,"run_id":17,"agent_id":8,"input":{"task_id":42,"user_instruction":"` + instruction +
		`","input":{"customer_id":"cust_99","order_id":"4521"}},"odyssey_proxy_url":"` + proxyURL +
		`","run_token_jti":"2105977b27b84f12920087320921f1a5"}`
}

// newProxy returns the URL of a proxy that answers every call after a time.
func newProxy(b *testing.B, after time.Duration) string {
	answer := `{"tool_name":"get_order","response":{"status":"shipped","shipped_at":"2026-04-01"},` +
		`"source":"odyssey","latency_ms":412,"matched_rule_index":null}`
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		time.Sleep(after)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answer)
	}))
	b.Cleanup(s.Close)
	return s.URL + "/runs/abc"
}

// runs numbers the run tokens, because a token has a limit of calls per minute.
var runs atomic.Int64

func (s *server) request(b *testing.B, body string) *http.Request {
	r, err := http.NewRequest("POST", "http://"+s.host+"/dispatch", strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+agentToken)
	r.Header.Set("X-Pipelines-Run-Token", fmt.Sprint("run-", runs.Add(1)))
	return r
}

// load sends the body over so many connections until the time is over and each has sent it once. It
// returns how long each request took.
func (s *server) load(b *testing.B, connections int, lasts time.Duration, body string) (took []time.Duration) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: connections}}
	defer client.CloseIdleConnections()
	var mu sync.Mutex
	var all sync.WaitGroup
	begin := time.Now()
	for range connections {
		all.Go(func() {
			var own []time.Duration
			for first := true; first || time.Since(begin) < lasts; first = false {
				sent := time.Now()
				resp, err := client.Do(s.request(b, body))
				if err != nil {
					b.Error(err)
					return
				}
				answer, err := io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				if err != nil || resp.StatusCode != http.StatusOK {
					b.Errorf("%d %s %v", resp.StatusCode, answer, err)
					return
				}
				own = append(own, time.Since(sent))
			}
			mu.Lock()
			defer mu.Unlock()
			took = append(took, own...)
		})
	}
	all.Wait()
	if b.Failed() {
		b.FailNow()
	}
	return took
}

// park sends dispatches whose agents wait for ever, and returns when all of them do.
func (s *server) park(b *testing.B, n int) {
	for range n {
		conn, err := net.Dial("tcp", s.host)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = conn.Close() })
		if err := s.request(b, envelope("http://127.0.0.1:1/runs/abc", "wait")).Write(conn); err != nil {
			b.Fatal(err)
		}
	}
	for s.waiting(b) < n {
		time.Sleep(10 * time.Millisecond)
	}
}

func (s *server) waiting(b *testing.B) int {
	resp, err := http.Get("http://" + s.host + "/waiting")
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		b.Fatal(err)
	}
	n, err := strconv.Atoi(string(text))
	if err != nil {
		b.Fatal(err)
	}
	return n
}
