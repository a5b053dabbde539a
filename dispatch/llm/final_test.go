package llm_test

import (
	"testing"

	"github.com/toolwire/toolwire/dispatch/llm"
)

// A final response is never empty, and says why an answer is not complete.
func TestFinalResponse(t *testing.T) {
	for _, tt := range []struct{ text, reason, want string }{
		{"Done.", "stop", "Done."}, {"Done.", "end_turn", "Done."}, {"Done.", "stop_sequence", "Done."},
		{"Done.", "STOP", "Done."}, {"Done.", "completed", "Done."}, {" Done.\n", "", " Done.\n"},
		{"I refund", "length", "I refund\n\n[The model's answer ended early: length.]"},
		{"I refund", "max_tokens", "I refund\n\n[The model's answer ended early: max_tokens.]"},
		{"I refund", "MAX_TOKENS", "I refund\n\n[The model's answer ended early: MAX_TOKENS.]"},
		{"No.", "refusal", "No.\n\n[The model's answer ended early: refusal.]"},
		{"", "refusal", "The model gave no answer: refusal."},
		{" \n", "SAFETY", "The model gave no answer: SAFETY."},
		{"", "stop", "The model gave no answer: stop."},
		{"", "", "The model gave no answer: it gave no reason."},
	} {
		if got := llm.FinalResponse(tt.text, tt.reason); got != tt.want {
			t.Errorf("%q, %q: %q, want %q", tt.text, tt.reason, got, tt.want)
		}
	}
}
