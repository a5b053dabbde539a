package waits_test

import (
	"testing"
	"time"

	"github.com/toolwire/toolwire/internal/waits"
)

func TestWaitsFollowTheTable(t *testing.T) {
	const most = 100
	spread := map[time.Duration]bool{}
	for range most {
		series := waits.NewSeries()
		for k, middle := range []time.Duration{500, 1000, 2000, 4000, 4000} {
			middle *= time.Millisecond
			wait := series.Next()
			if low, high := middle*3/4, min(middle*5/4, waits.Longest); wait < low || wait > high {
				t.Fatalf("wait %d is %s, want %s to %s", k, wait, low, high)
			}
			if k == 0 {
				spread[wait] = true
			}
		}
		series.Reset()
		if wait := series.Next(); wait > 625*time.Millisecond {
			t.Fatalf("after Reset the first wait is %s", wait)
		}
	}
	if len(spread) < most/2 {
		t.Errorf("%d different first waits in %d series: there is no jitter", len(spread), most)
	}
}
