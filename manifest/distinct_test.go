package manifest

import (
	"encoding/json"
	"slices"
	"testing"
)

func TestNamesOfVariablesAreDistinct(t *testing.T) {
	names, _ := json.Marshal([]string{"b", "A", " a ", "B", "c"})
	c := checker{}
	if got := c.envPassthrough(names); !slices.Equal(got, []string{"B", "A", "C"}) {
		t.Errorf("names = %q", got)
	}
}
