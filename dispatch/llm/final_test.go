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
		{"Done.", "eos", "Done."}, {"Done.", "eos_token", "Done."}, {"Done.", "COMPLETE", "Done."}, {"Done.", "unknown", "Done."},
		{"Done.", "FinishReasonStop", "Done."}, {"Done.", "FINISH_REASON_STOP", "Done."}, {"Done.", "1", "Done."},
		{"Done.", "tool_calls", "Done."}, {"Done.", " ", "Done."}, {"Done.", "other", "Done."},
		{"I refund", "FinishReasonMaxTokens", "I refund\n\n[The model's answer ended early: FinishReasonMaxTokens.]"},
		{"I refund", "content-filter", "I refund\n\n[The model's answer ended early: content-filter.]"},
		{"I refund", "model_context_window_exceeded", "I refund\n\n[The model's answer ended early: model_context_window_exceeded.]"},
		{"I refund", "max_new_tokens", "I refund\n\n[The model's answer ended early: max_new_tokens.]"},
		{"I refund", "sensitive", "I refund\n\n[The model's answer ended early: sensitive.]"},
		{"I refund", "FinishReasonProhibitedContent", "I refund\n\n[The model's answer ended early: FinishReasonProhibitedContent.]"},
		{"I refund", "2", "I refund\n\n[The model's answer ended early: 2.]"},
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
