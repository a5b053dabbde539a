package proxytest

import (
	"errors"
	"fmt"
	"strings"
)

// A Code classifies an [Error]. Codes are stable; texts are not.
type Code string

// Codes of this package.
const (
	CodeWorld Code = "invalid_world" // [New] or [ParseWorld] was given something unusable
	CodeRules Code = "invalid_rules" // [ParseRules] was
)

// Error is the one error type of this package. It says everything that is wrong at once.
type Error struct {
	Code     Code
	Problems []string // in the order of the declaration
	errs     []error
}

// Error lists all problems, one per line when there are several.
func (e *Error) Error() string {
	if len(e.Problems) == 1 {
		return fmt.Sprintf("proxytest: %s: %s", e.Code, e.Problems[0])
	}
	return fmt.Sprintf("proxytest: %s: %d problems:\n  %s", e.Code, len(e.Problems), strings.Join(e.Problems, "\n  "))
}

// Unwrap returns the errors of packages schema and ledger among the problems.
func (e *Error) Unwrap() []error { return e.errs }

// problems collects an [Error].
type problems struct {
	code  Code
	found []string
	errs  []error
}

func (p *problems) add(err error, format string, args ...any) {
	p.found = append(p.found, fmt.Sprintf(format, args...))
	if err != nil {
		p.errs = append(p.errs, err)
	}
}

// nest takes the problems of another Error over.
func (p *problems) nest(err error) {
	if e, ok := errors.AsType[*Error](err); ok {
		p.found, p.errs = append(p.found, e.Problems...), append(p.errs, e.errs...)
	}
}

func (p *problems) err() error {
	if len(p.found) == 0 {
		return nil
	}
	return &Error{Code: p.code, Problems: p.found, errs: p.errs}
}
