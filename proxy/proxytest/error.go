package proxytest

import (
	"errors"
	"fmt"
	"strings"

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
//	json       the document is not one strict JSON value, or has an unknown member
type Problem struct {
	Code string `json:"code"`
	// Pointer is a JSON Pointer (RFC 6901) into the document of ParseWorld or ParseRules. "" is all
	// of it.
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
// not parsed, the pointers are those of its JSON form.
type Error struct {
	Code     Code
	Problems []Problem
	Err      error // the errors of packages schema and ledger among the problems, joined; nil if there are none
}

// Error returns all problems, one per line if there are several.
func (e *Error) Error() string {
	if len(e.Problems) == 1 {
		return fmt.Sprintf("proxytest: %s: %s", e.Code, e.Problems[0])
	}
	var b strings.Builder
	fmt.Fprintf(&b, "proxytest: %s: %d problems:", e.Code, len(e.Problems))
	for _, p := range e.Problems {
		b.WriteString("\n  " + p.String())
	}
	return b.String()
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// CodeOf returns the code of the [*Error] in err's chain, or "" if there is none.
func CodeOf(err error) Code {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return ""
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
	found []Problem
	errs  []error
}

func (p *problems) add(err error, code, pointer, format string, args ...any) {
	p.found = append(p.found, Problem{code, pointer, fmt.Sprintf(format, args...)})
	if err != nil {
		p.errs = append(p.errs, err)
	}
}

// nest adds the problems of another Error, whose pointers start at pointer.
func (p *problems) nest(pointer string, err error) {
	if e, ok := errors.AsType[*Error](err); ok {
		for _, problem := range e.Problems {
			problem.Pointer = pointer + problem.Pointer
			p.found = append(p.found, problem)
		}
		if e.Err != nil {
			p.errs = append(p.errs, e.Err)
		}
	}
}

func (p *problems) err() error {
	if len(p.found) == 0 {
		return nil
	}
	return &Error{Code: p.code, Problems: p.found, Err: errors.Join(p.errs...)}
}

// at returns the pointer to a behavior.
func at(tool string) string { return "/behaviors" + rawjson.Token(tool) }
