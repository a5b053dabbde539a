package doctor_test

import (
	"strings"
	"testing"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/doctor"
)

func TestDisagreement(t *testing.T) {
	for _, tt := range []struct {
		body     string
		problems []dispatch.Problem
		want     string
	}{
		{`{"final_response":"x"}`, nil, ""},
		{`{"final_response":5}`, nil, "/final_response"},
		{`{"final_response":5}`, []dispatch.Problem{{Code: "final_response_missing"}}, ""},
		{`not JSON`, nil, ""},
		{`{"final_response":"x","x":1,"x":2}`, nil, ""}, // the validator does not judge it
	} {
		if got := doctor.Disagreement([]byte(tt.body), tt.problems); (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.body, got, tt.want)
		}
	}
}
