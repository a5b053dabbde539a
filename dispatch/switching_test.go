package dispatch_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/internal/httpcall/faulttest"
)

// A proxy that switches protocols and then says nothing does not keep the places of the runs that
// call it.
func TestSwitchingProtocolsGivesPlacesBack(t *testing.T) {
	url := faulttest.SwitchingServer(t)
	var refused atomic.Int32
	h := newHandler(t, func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		_, err := run.Proxy.Do(ctx, "get_order", map[string]string{"order_id": "4521"})
		if toolwire.CodeOf(err) == toolwire.CodeUnexpectedStatus {
			refused.Add(1)
		}
		return &dispatch.Response{FinalResponse: "done"}, nil
	}, func(o *dispatch.Options) { o.MaxRuns = 2 })
	for round := range 2 {
		var group sync.WaitGroup
		for range 2 {
			group.Go(func() {
				const seedURL = "https://api.example.com/api/odyssey-proxy"
				w := post(h, strings.ReplaceAll(seedBody, seedURL, url), func(r *http.Request) {
					r.Header.Set("X-Pipelines-Odyssey-Proxy-URL", strings.ReplaceAll(r.Header.Get("X-Pipelines-Odyssey-Proxy-URL"), seedURL, url))
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
