package proxytest_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// TestNumbersAreComparedExactly compares numbers that are equal as float64 values, and equal
// numbers written differently.
func TestNumbersAreComparedExactly(t *testing.T) {
	for _, tt := range []struct {
		state, want string
		equal       bool
	}{
		{"9007199254740993", "9007199254740992", false},
		{"9007199254740993", "9007199254740992.0", false},
		{"90071992547409930", "9007199254740992e1", false},
		{"18446744073709551617", "18446744073709551616", false},
		{"0.1", "0.10000000000000000001", false},
		{"1e400", "2e400", false},
		{"9007199254740993", "9007199254740993.0", true},
		{"1e2", "100.00", true},
		{"-0", "0", true},
		{"1e400", "10e399", true},
	} {
		run := proxytest.NewPlatform(t, proxytest.World{
			InitialState: `{"order":{"1":{"total":` + tt.state + `}}}`,
			Behaviors: map[string]proxytest.Behavior{
				"list": proxytest.List("order", &proxytest.ReadOptions{Where: map[string]string{"total": "total"}}),
			},
		}, nil).NewRun()
		listed, err := proxy.Call[json.RawMessage](t.Context(), run.Client(nil), "list", []byte(`{"total":`+tt.want+`}`))
		if err != nil {
			t.Fatal(err)
		}
		if found := strings.Contains(string(listed), "total"); found != tt.equal {
			t.Errorf("List with %s where it is %s: %s", tt.want, tt.state, listed)
		}
		record := run.Log()
		failed := failures(t, func(t testing.TB) { record.AssertState(t, "order/1", `{"total":`+tt.want+`}`) })
		if (failed == "") != tt.equal {
			t.Errorf("AssertState of %s where it is %s: %q", tt.want, tt.state, failed)
		}
		failed = failures(t, func(t testing.TB) { record.AssertCalled(t, "list", `{"total":`+tt.state+`}`) })
		if (failed == "") != tt.equal {
			t.Errorf("AssertCalled with %s where it was %s: %q", tt.state, tt.want, failed)
		}
	}
}
