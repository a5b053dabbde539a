package runner

import (
	"errors"
	"fmt"
	"time"
)

// Texts for a model about a tool that has no words of its own.
const (
	TextFailed = "the tool failed for a reason of its own; trying again may help, other arguments will not"
	TextBroken = "the tool is broken; do not call it again"
)

// TimeoutText tells a model that a tool ran out of time.
func TimeoutText(limit time.Duration) string {
	return fmt.Sprintf(
		"the tool did not finish within %s and may or may not have had an effect; check that before you call it again", limit)
}

// A Text is an error whose text was made for a model. The text of any other error of a user's function may hold anything,
// so it reaches the log but neither a model nor a peer.
type Text struct{ err error }

// Errorf makes a [Text]. An operand of %w stays findable.
func Errorf(format string, args ...any) *Text { return &Text{fmt.Errorf(format, args...)} }

// Error implements error.
func (t *Text) Error() string { return t.err.Error() }

// Unwrap returns the error with the operands of %w.
func (t *Text) Unwrap() error { return t.err }

// TextOf returns the text of the first [Text] in err's chain. It calls methods of err, which may panic.
func TextOf(err error) (text string, ok bool) {
	t, ok := errors.AsType[*Text](err)
	if !ok {
		return "", false
	}
	return t.Error(), true
}
