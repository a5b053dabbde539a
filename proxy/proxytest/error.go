package proxytest

import (
	"errors"
	"fmt"

	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/internal/rawjson"
)

// A Code classifies an [Error]. Codes are stable; messages are not.
type Code string

// Codes of this package.
const (
	CodeWorld Code = "invalid_world" // a world given to New, Platform.With or ParseWorld is not valid
	CodeRules Code = "invalid_rules" // failure rules given to ParseRules are not valid
)

// A Problem is one mistake in a world or in failure rules.
//
// Code is one of these:
//
//	tools      the tools are not valid
//	ledger     the ledger schema or the initial state is not valid
//	behavior   a behavior is not valid, or belongs to no tool
//	rule       a failure rule is not valid, or names an unknown tool
//	seed       the seed is not valid
//	json       the document is not one strict JSON value, or contains an unknown member
type Problem struct {
	Tool string `json:"tool,omitempty"` // the tool of a behavior, if that is what the problem is about
	Code string `json:"code"`
	// Pointer is a JSON Pointer (RFC 6901) into the document of ParseWorld or ParseRules. "" is the
	// whole document.
	Pointer string `json:"pointer"`
	Message string `json:"message"` // what is wrong and what to do
}

// String returns "pointer: message".
func (p Problem) String() string {
	if p.Pointer == "" {
		return p.Message
	}
	return p.Pointer + ": " + p.Message
}

// Error is the error type of this package. It reports all problems at once. For a [World] that was
// not parsed, the pointers refer to its JSON form.
type Error struct {
	Code     Code
	Problems []Problem // at most 100
	More     int       // problems that are not listed
	Err      error     // the errors of packages schema and ledger among the problems, joined; nil if there are none
}

// Error returns all problems, one per line if there are several.
func (e *Error) Error() string {
	return fmt.Sprintf("proxytest: %s: %s", e.Code, problem.Lines(e.Problems, e.More))
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// CodeOf returns the code of the first [*Error] in err's tree, or "" if it contains none.
func CodeOf(err error) Code {
	return problem.CodeOf(err, func(e *Error) Code { return e.Code })
}

// The codes of a [Problem].
const (
	problemTools    = "tools"
	problemLedger   = "ledger"
	problemBehavior = "behavior"
	problemRule     = "rule"
	problemSeed     = "seed"
	problemJSON     = "json"
)

// problems collects an [Error].
type problems struct {
	code  Code
	found problem.List[Problem]
	errs  []error
}

func (p *problems) add(err error, code, pointer, format string, args ...any) {
	p.found.Add(code, pointer, format, args...)
	if err != nil {
		p.errs = append(p.errs, err)
	}
}

// behavior adds a problem with the behavior of a tool.
func (p *problems) behavior(tool, format string, args ...any) {
	p.found.AddTool(tool, problemBehavior, "/behaviors"+rawjson.Token(tool), format, args...)
}

// nest adds the problems of another Error, whose pointers start at pointer.
func (p *problems) nest(pointer string, err error) {
	if e, ok := errors.AsType[*Error](err); ok {
		problem.Under(&p.found, pointer, e.Problems, e.More)
		if e.Err != nil {
			p.errs = append(p.errs, e.Err)
		}
	}
}

func (p *problems) err() error {
	if p.found.Len() == 0 {
		return nil
	}
	return &Error{Code: p.code, Problems: p.found.Found, More: p.found.More, Err: errors.Join(p.errs...)}
}
