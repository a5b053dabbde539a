package llm

import (
	"cmp"
	"strings"
)

// FinalResponse returns the text for [dispatch.Response].FinalResponse: the text of a model's last
// message, and the reason if the message is empty or ended early. text includes the refusal, if the
// SDK has a field for it. reason is what the provider calls finish_reason, stop_reason, finishReason
// or blockReason. If reason is empty, the message is complete.
func FinalResponse(text, reason string) string {
	complete := false
	switch strings.ToLower(reason) {
	case "", "stop", "end_turn", "stop_sequence", "completed":
		complete = true
	}
	switch {
	case strings.TrimSpace(text) == "":
		return "The model gave no answer: " + cmp.Or(reason, "it gave no reason") + "."
	case complete:
		return text
	}
	return text + "\n\n[The model's answer ended early: " + reason + ".]"
}
