package proxy_test

import (
	"encoding/json"
	"testing"

	"github.com/toolwire/toolwire/internal/testkit"
	"github.com/toolwire/toolwire/proxy"
)

func TestAllocations(t *testing.T) {
	// A Go value would pass encoding/json, whose pool the race detector empties at random.
	args := json.RawMessage(`{"order_id":"4521"}`)
	c, err := proxy.New(baseURL, runToken, &proxy.Options{Transport: testkit.Canned(seedAnswer),
		Pacer: proxy.NewPacer(0, 0)})
	if err != nil {
		t.Fatal(err)
	}
	got := testing.AllocsPerRun(200, func() {
		if _, err := c.Do(background, "get_order", args); err != nil {
			t.Fatal(err)
		}
	})
	if got > 39 {
		t.Errorf("a call makes %.0f allocations, the ceiling is 39", got)
	}
}
