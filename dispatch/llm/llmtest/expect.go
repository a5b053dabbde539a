package llmtest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toolwire/toolwire/internal/text"
)

// HasResult checks that the model was sent the result of a tool call since its last message, and
// that the result contains part. If several results have the id, one of them must contain it. Gemini's
// calls without an id all have the id "".
func HasResult(callID, part string) func(*Request) error {
	return func(r *Request) error {
		var got []string
		var other error // of the first result that has the id
		for _, result := range r.Results {
			switch {
			case result.CallID != callID:
			case strings.Contains(result.Content, part):
				return nil
			case other == nil:
				other = fmt.Errorf("the result of the tool call %q is %q, want it to contain %q", callID, text.Cut(result.Content, 200), part)
			}
			got = append(got, result.CallID)
		}
		if other != nil {
			return other
		}
		return fmt.Errorf("the model was not sent a result of the tool call %q; it was sent results of %q", callID, got)
	}
}

// HasTools checks that the model was offered exactly these tools, in any order.
func HasTools(names ...string) func(*Request) error {
	return func(r *Request) error {
		if !slices.Equal(slices.Sorted(slices.Values(r.Tools)), slices.Sorted(slices.Values(names))) {
			return fmt.Errorf("the model was offered the tools %q, want %q", r.Tools, names)
		}
		return nil
	}
}

// HasSystem checks that the system prompt contains part.
func HasSystem(part string) func(*Request) error {
	return func(r *Request) error {
		if !strings.Contains(r.System, part) {
			return fmt.Errorf("the system prompt is %q, want it to contain %q", text.Cut(r.System, 200), part)
		}
		return nil
	}
}
