package dispatch_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/proxy"
)

// A proxy that switches protocols and then says nothing does not keep the places of the runs that
// call it.
func TestSwitchingProtocolsGivesPlacesBack(t *testing.T) {
	over := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, out, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = conn.Close() }()
		_, _ = out.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
		_ = out.Flush()
		<-over
	}))
	defer server.Close()
	defer close(over)
	var refused atomic.Int32
	h := newHandler(t, func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		_, err := run.Proxy.Call(ctx, "get_order", map[string]string{"order_id": "4521"})
		if proxy.CodeOf(err) == proxy.CodeStatus {
			refused.Add(1)
		}
		return &dispatch.Response{FinalResponse: "done"}, nil
	}, func(o *dispatch.Options) { o.MaxRuns = 2 })
	for round := range 2 {
		var group sync.WaitGroup
		for range 2 {
			group.Go(func() {
				const seedURL = "https://api.example.com/api/odyssey-proxy"
				w := post(h, strings.ReplaceAll(seedBody, seedURL, server.URL), func(r *http.Request) {
					r.Header.Set("X-Pipelines-Odyssey-Proxy-URL", strings.ReplaceAll(r.Header.Get("X-Pipelines-Odyssey-Proxy-URL"), seedURL, server.URL))
				})
				if w.Code != 200 {
					t.Errorf("round %d: %d %s", round, w.Code, w.Body)
				}
			})
		}
		group.Wait()
	}
	if refused.Load() != 4 {
		t.Errorf("%d of 4 calls ended with the status", refused.Load())
	}
	if err := h.Drain(t.Context()); err != nil {
		t.Errorf("Drain: %v", err)
	}
}
