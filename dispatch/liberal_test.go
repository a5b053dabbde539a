package dispatch_test

import (
	"context"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/dispatch"
)

// TestUnusualDispatchesRun posts dispatches whose JSON careful writers avoid, but which say clearly
// what to do.
func TestUnusualDispatchesRun(t *testing.T) {
	digits := strings.Repeat("1234567890", 10)
	const prompt, customer = `"user_instruction": "`, `"customer_id": "cust_99"`
	for _, tt := range []struct{ name, from, to, instruction, input string }{
		{"a prompt cut inside an emoji", prompt, prompt + `\ud83d`, "\ufffdRefund", ""},
		{"half of a surrogate pair in the input", customer, `"customer_id":"\ude00"`, "", `"\ude00"`},
		{"an integer of 100 digits", customer, `"n":` + digits, "", digits},
		{"many values", customer, `"n":[1` + strings.Repeat(",1", 1<<19-1024) + `]`, "", "1,1]"},
		{"a name twice in the input", customer, `"a":1,"a":2`, "", `"a":1,"a":2`},
		{"later members that differ by case", prompt, `"Input":{"x":1},"MESSAGES":[1],` + prompt, "Refund", `"4521"`},
		{"a later member twice", prompt, `"new":1,"new":2,` + prompt, "Refund", `"4521"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var run *dispatch.Run
			h := newHandler(t, func(_ context.Context, r *dispatch.Run) (*dispatch.Response, error) {
				run = r
				return &dispatch.Response{FinalResponse: "x"}, nil
			})
			wantAnswer(t, post(h, strings.Replace(seedBody, tt.from, tt.to, 1), nil), 200, `{"final_response":"x"}`)
			if run == nil || !strings.HasPrefix(run.Instruction, tt.instruction) || !strings.Contains(string(run.Input), tt.input) {
				t.Errorf("the run is %+v", run)
			}
		})
	}
}

// A byte order mark before the JSON is ignored, and UTF-16 is named.
func TestByteOrderMarks(t *testing.T) {
	var run *dispatch.Run
	h := newHandler(t, func(_ context.Context, r *dispatch.Run) (*dispatch.Response, error) {
		run = r
		return &dispatch.Response{FinalResponse: "x"}, nil
	})
	wantAnswer(t, post(h, "\ufeff"+seedBody, nil), 200, `{"final_response":"x"}`)
	if run == nil || !strings.HasPrefix(run.Instruction, "Refund") || !strings.HasPrefix(string(run.Envelope), "{") {
		t.Errorf("the run is %+v", run)
	}
	if w := post(h, "\ufeff {\"ping\": true}\n", nil); w.Code != 200 {
		t.Errorf("a ping: %d %s", w.Code, w.Body)
	}
	if w := post(h, "\xff\xfe{\x00}\x00", nil); w.Code != 400 || !strings.Contains(w.Body.String(), "UTF-16; send it in UTF-8") {
		t.Errorf("UTF-16: %d %s", w.Code, w.Body)
	}
}
