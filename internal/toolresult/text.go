package toolresult

import (
	"errors"
	"fmt"
	"time"
)

// Texts for a model about a tool that did not give one.
const (
	TextFailed = "the tool failed for a reason of its own; trying again may help, other arguments will not"
	TextBroken = "the tool is broken; do not call it again"
)

// TimeoutText returns the text for a model about a tool that timed out.
func TimeoutText(limit time.Duration) string {
	return fmt.Sprintf(
		"the tool did not finish within %s and may or may not have had an effect; check that before you call it again", limit)
}

// A TextError is an error whose text a model may read. The text of any other error of a user's function
// may contain anything, so it appears in the log only.
type TextError struct{ err error }

// Errorf makes a [TextError]. errors.Is and errors.As find an operand of %w.
func Errorf(format string, args ...any) *TextError { return &TextError{fmt.Errorf(format, args...)} }

// Error implements error.
func (t *TextError) Error() string { return t.err.Error() }

// Unwrap returns the error with the operands of %w.
func (t *TextError) Unwrap() error { return t.err }

// TextOf returns the text of the first [TextError] in the chain of err. It calls methods of err, which
// may panic.
func TextOf(err error) (text string, ok bool) {
	t, ok := errors.AsType[*TextError](err)
	if !ok {
		return "", false
	}
	return t.Error(), true
}
