package cassette

import (
	"fmt"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/problem"
)

// Codes of errors that no other package has, or that few programs branch on.
const (
	codeMissing   toolwire.Code = "no_tape"
	codeTape      toolwire.Code = "invalid_tape"
	codeVersion   toolwire.Code = "unsupported_version"
	codeTruncated toolwire.Code = "truncated_tape"
	codeWrite     toolwire.Code = "unwritable"
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

// Error is the error type of this package. It reports all problems at once: it lists 100 and counts the
// others. It contains neither values of calls nor secrets.
type Error struct {
	Code     toolwire.Code
	Path     string // path of the tape; "" if there is none
	Problems []Problem
	More     int   // problems that are not listed
	Err      error `json:"-"` // the cause; nil if the package found the problem
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

// ErrorCode returns Code. [toolwire.CodeOf] calls it.
func (e *Error) ErrorCode() toolwire.Code { return e.Code }

func newError(code toolwire.Code, rule, path string, cause error, format string, args ...any) *Error {
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
