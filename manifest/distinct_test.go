package manifest

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
)

// Reading a list needs one look-up per name, whatever its length.
func TestDistinctNamesTakeLinearWork(t *testing.T) {
	for _, n := range []int{1_000, 64_000} {
		var d distinct
		for i := range n {
			d.add(fmt.Sprintf("NAME_%d", i))
			d.add(fmt.Sprintf("NAME_%d", i/2))
		}
		if len(d.names) != n || d.lookups != 2*n {
			t.Errorf("%d names of %d, %d look-ups", len(d.names), n, d.lookups)
		}
	}
	names, _ := json.Marshal([]string{"b", "A", " a ", "B", "c"})
	c := checker{}
	if got := c.envPassthrough(names); !slices.Equal(got, []string{"B", "A", "C"}) {
		t.Errorf("names = %q", got)
	}
}
