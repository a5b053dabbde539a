package hostiletest_test

import (
	"testing"

	"github.com/toolwire/toolwire/internal/httpserve/hostiletest"
)

func TestRowsHaveNamesOfTheirOwn(t *testing.T) {
	seen := map[string]bool{}
	for _, row := range append(hostiletest.Bearers, hostiletest.Rows...) {
		if seen[row.Name] {
			t.Errorf("two rows are named %q", row.Name)
		}
		seen[row.Name] = true
	}
	for _, row := range hostiletest.HTTP2Rows {
		if seen[row.Name] {
			t.Errorf("two rows are named %q", row.Name)
		}
		seen[row.Name] = true
	}
	t.Logf("%d rows, %d of them sentinels", len(seen), len(hostiletest.Sentinels()))
}
