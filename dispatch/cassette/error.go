package cassette

import (
	"fmt"

	"github.com/toolwire/toolwire/internal/problem"
)

// A Code classifies an [Error]. Codes are stable; messages are not.
type Code string

// Codes of this package.
const (
	CodeOptions   Code = "invalid_options"     // an argument of New, NewRecorder or Recorder.Begin is not valid
	CodeMissing   Code = "no_tape"             // the file does not exist
	CodeRead      Code = "unreadable_tape"     // the file cannot be read
	CodeTape      Code = "invalid_tape"        // the file is not a tape, or is damaged
	CodeVersion   Code = "unsupported_version" // a later release wrote the tape
	CodeTruncated Code = "truncated_tape"      // the tape ends early; Load returns the complete lines
	CodeWrite     Code = "unwritable_tape"     // the tape on disk lacks some or all of the recording
)

// A Problem is one mistake in options or in a tape.
//
// Code is one of these:
//
//	option     an option or argument is not valid
//	header     line 1 is not the header of a tape
//	version    a later release wrote the tape
//	line       a line is not valid JSON, or not an interaction
//	sequence   a line is missing, repeated or out of order
//	truncated  the tape ends early
//	limit      the tape is too large
//	file       the system cannot read or write a file
//	lost       a request or a response is not on the new tape
type Problem struct {
	Line    int    `json:"line,omitempty"` // line of the file, from 1; 0 if the problem is not about a line
	Code    string `json:"code"`
	Message string `json:"message"` // what is wrong and what to do; quotes no value of a call
}

// String returns the line, if there is one, the message and the code on one line.
func (p Problem) String() string {
	text := problem.Problem{Code: p.Code, Message: p.Message}.String()
	if p.Line > 0 {
		text = fmt.Sprintf("line %d: %s", p.Line, text)
	}
	return text
}

// Error is the error type of this package. It reports all problems at once: it lists 100 and counts the others. It contains
// neither values of calls nor secrets.
type Error struct {
	Code     Code
	Path     string // path of the tape; "" if there is none
	Problems []Problem
	More     int   // problems that are not listed
	Err      error // the cause; nil if the package found the problem
}

// Error returns all problems, one per line if there are several.
func (e *Error) Error() string {
	text := string(e.Code) + ": " + problem.Lines(e.Problems, e.More)
	if e.Path != "" {
		text = e.Path + ": " + text
	}
	return "cassette: " + text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

func newError(code Code, rule, path string, cause error, format string, args ...any) *Error {
	return &Error{Code: code, Path: path, Err: cause,
		Problems: []Problem{{Code: rule, Message: fmt.Sprintf(format, args...)}}}
}

// The codes of a [Problem].
const (
	ruleOption    = "option"
	ruleHeader    = "header"
	ruleVersion   = "version"
	ruleLine      = "line"
	ruleSequence  = "sequence"
	ruleTruncated = "truncated"
	ruleLimit     = "limit"
	ruleFile      = "file"
	ruleLost      = "lost"
)

// CodeOf returns the code of the first [*Error] in err's tree, or "" if it contains none.
func CodeOf(err error) Code {
	return problem.CodeOf(err, func(e *Error) Code { return e.Code })
}
