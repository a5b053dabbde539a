package ledger_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/ledger"
)

// A state, and each value that is written to one, has at most ten million values and names.
func TestValuesOfAState(t *testing.T) {
	const most = 10_000_000
	list := func(values int) string { return "[" + strings.Repeat("1,", values-2) + "1]" } // the list is a value
	const refused = "has more than 10000000 values"
	for _, beyond := range []int{0, 1} {
		// Six of the values and names are around the list.
		_, err := ledger.NewState(json.RawMessage(`{"order":{"1":{"lines":`+list(most-6+beyond)+`}}}`), nil)
		if (err != nil) != (beyond > 0) || err != nil && !strings.Contains(err.Error(), refused) {
			t.Errorf("a state with %d values more than the limit: %v", beyond, err)
		}
		state, err := ledger.NewState(nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		lines := map[string]json.RawMessage{"lines": json.RawMessage(list(most + beyond))}
		got := state.Apply(ledger.Update{Op: ledger.OpAdd, EntityType: "order", ID: "1", Fields: lines})[0].Violations
		if len(got) != beyond || beyond > 0 && !strings.Contains(got[0].Message, refused) {
			t.Errorf("a field with %d values more than the limit: %v", beyond, got)
		}
	}
}
