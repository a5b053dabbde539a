package problem_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/internal/problem"
)

type said struct{ Text string }

func (s said) Error() string { return s.Text }

// No verb shows the cause, wherever the error stands.
func TestQuiet(t *testing.T) {
	cause := said{"hunter2"}
	err := problem.Quiet("a text", cause)
	if got, ok := errors.AsType[said](err); !ok || got != cause || err.Error() != "a text" {
		t.Errorf("%v unwraps to %v", err, errors.Unwrap(err))
	}
	inside := struct{ Err error }{err}
	for _, verb := range "vsqxXdtTbcoOUeEfFgGp" {
		for _, flags := range []string{"", "+", "#", " ", "-20", "020.9"} {
			format := "%" + flags + string(verb)
			for _, v := range []any{err, inside, &inside, []error{err}, map[string]error{"a": err}} {
				if got := fmt.Sprintf(format, v); strings.Contains(got, "hunter2") || strings.Contains(got, fmt.Sprintf("%x", "hunter2")) {
					t.Errorf("%s: %s", format, got)
				}
			}
		}
	}
	if doc, _ := json.Marshal(inside); strings.Contains(string(doc), "hunter2") {
		t.Errorf("%s", doc)
	}
}
