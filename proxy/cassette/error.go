package cassette

import (
	"errors"
	"fmt"
	"strings"
)

// A Code classifies an [Error]. Codes are stable; texts are not.
type Code string

// Codes of this package.
const (
	CodeOptions   Code = "invalid_options"     // [New], [NewRecorder] or [Recorder.Begin] was given something unusable
	CodeMissing   Code = "no_tape"             // there is no such file
	CodeRead      Code = "unreadable_tape"     // the file cannot be read
	CodeTape      Code = "invalid_tape"        // it is no tape, or a damaged one
	CodeVersion   Code = "unsupported_version" // it was made by a later release
	CodeTruncated Code = "truncated_tape"      // it ends early, and [ReadOptions.AllowTruncated] would make the rest usable
	CodeWrite     Code = "unwritable_tape"     // what was recorded is not, or not all of it, on disk
)

// A Problem is one thing that is wrong with a tape.
type Problem struct {
	Line int    `json:"line,omitempty"` // of the file, from 1; 0 if it concerns no line
	Text string `json:"text"`
}

func (p Problem) String() string {
	if p.Line == 0 {
		return p.Text
	}
	return fmt.Sprintf("line %d: %s", p.Line, p.Text)
}

// Error is the one error type of this package. It says everything that is wrong at once, up to 100 problems, and quotes
// no values.
type Error struct {
	Code     Code
	Path     string // of the tape; "" if there is none
	Problems []Problem
	Err      error // the cause, if the system had one
}

// Error lists all problems, one per line when there are several.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("cassette: ")
	if e.Path != "" {
		b.WriteString(e.Path + ": ")
	}
	b.WriteString(string(e.Code) + ": ")
	if len(e.Problems) == 1 {
		return b.String() + e.Problems[0].String()
	}
	fmt.Fprintf(&b, "%d problems:", len(e.Problems))
	for _, p := range e.Problems {
		b.WriteString("\n  " + p.String())
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

func newError(code Code, path string, cause error, format string, args ...any) *Error {
	return &Error{Code: code, Path: path, Problems: []Problem{{Text: fmt.Sprintf(format, args...)}}, Err: cause}
}

// CodeOf returns the code of the *Error in err's chain, or "" if there is none.
func CodeOf(err error) Code {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return ""
}
