//go:build unix

package cost_test

import (
	"testing"

	"github.com/toolwire/toolwire/internal/cost"
	"github.com/toolwire/toolwire/internal/testkit"
)

// Quadratic work takes 16 times as long for 4 times the input. Linear work takes 4 times as long, or
// up to 7 times if it no longer fits into a cache, and no load of the machine makes 12 of them.
const (
	tooMuch = 12
	mended  = 8
)

// Reading four times as many pieces takes about four times as much processor time. The nightly runs
// this; TestAllocationsGrow holds the same rows in every run of the tests.
func TestGrowth(t *testing.T) {
	if !testkit.Nightly {
		t.Skip("processor time is measured in the nightly")
	}
	listed := make(map[string]bool)
	for _, r := range rows {
		name := r.reader + "/" + r.shape
		listed[name] = true
		t.Run(name, func(t *testing.T) {
			short, long := r.read(r.n), r.read(4*r.n)
			base, spent := cost.Processor(short), cost.Processor(long)
			growth := float64(spent) / float64(base)
			t.Logf("%8d pieces %12v, %8d pieces %12v: %.1f times", r.n, base, 4*r.n, spent, growth)
			switch {
			case growth > tooMuch && !known[name]:
				t.Errorf("takes %.1f times as long for 4 times the input: mend it, or add it to known", growth)
			case growth < mended && known[name]:
				t.Errorf("takes %.1f times as long for 4 times the input: it is mended, remove it from known", growth)
			}
		})
	}
	for name := range known {
		if !listed[name] {
			t.Errorf("known lists %s, which is no row", name)
		}
	}
}
