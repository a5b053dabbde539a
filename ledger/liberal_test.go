package ledger_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/ledger"
)

// TestUnusualLiveResponses evaluates responses that are JSON in unusual forms.
func TestUnusualLiveResponses(t *testing.T) {
	digits := strings.Repeat("1234567890", 10)
	for _, tt := range []struct {
		name, response string
		field          string // "" if nothing is written
		explains       string
	}{
		{"a number of 100 digits", `{"order_id":"7","status":` + digits + `}`, digits, "written"},
		{"a number of 100 digits elsewhere", `{"order_id":"7","status":"paid","n":` + digits + `}`, `"paid"`, "written"},
		{"half of a surrogate pair", `{"order_id":"7","status":"\ud83d"}`, "\"\ufffd\"", "written"},
		{"half of a surrogate pair elsewhere", `{"order_id":"7","status":"paid","n":["\ude00"]}`, `"paid"`, "written"},
		{"the id twice", `{"order_id":"7","order_id":"8","status":"paid"}`, "", "/order_id occurs twice"},
		{"a repeated name elsewhere", `{"order_id":"7","status":"paid","n":[{"x":1,"\u0078":2}]}`, "", "/n/0/x occurs twice"},
		{"names that decode to one text", `{"order_id":"7","status":"paid","\ud83d":1,"\ud83e":2}`, "", "occurs twice"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rule, err := ledger.Compile(mustAdapter(t, order(`,"field_map":{"status":"$.status"}`)))
			if err != nil {
				t.Fatal(err)
			}
			out := rule.Eval(nil, json.RawMessage(tt.response))
			if !strings.Contains(out.Explain(), tt.explains) {
				t.Errorf("the record does not say %q:\n%s", tt.explains, out.Explain())
			}
			if tt.field == "" {
				if len(out.Updates) > 0 || out.Steps[0].Code != "response_unusable" || !strings.Contains(out.Explain(),
					"ambiguous") {
					t.Errorf("an ambiguous response:\n%s", out.Explain())
				}
				return
			}
			if len(out.Updates) != 1 || string(out.Updates[0].Fields["status"]) != tt.field {
				t.Fatalf("updates %v, want the field %s", out.Updates, tt.field)
			}
			state, err := ledger.NewState(nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			if applied := state.Apply(out.Updates[0]); applied[0].Status != "created" {
				t.Errorf("the state: %+v", applied)
			}
			text, err := json.Marshal(state.Snapshot())
			var again ledger.Snapshot
			if err == nil {
				err = json.Unmarshal(text, &again)
			}
			if err != nil || again.Hash() != state.Snapshot().Hash() {
				t.Errorf("the state %s does not survive writing and reading: %v", text, err)
			}
		})
	}
}
