package proxytest

import (
	"errors"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/internal/rawjson"
)

// Codes of errors.
const (
	codeWorld toolwire.Code = "invalid_world"
	codeRules toolwire.Code = "invalid_rules"
)

// Codes of problems.
const (
	problemTools    = "tools"
	problemLedger   = "ledger"
	problemBehavior = "behavior"
	problemRule     = "rule"
	problemSeed     = "seed"
	problemJSON     = "json"
)

// problems collects a toolwire.Error.
type problems struct {
	code  toolwire.Code
	found problem.List[toolwire.Problem]
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
	if e, ok := errors.AsType[*toolwire.Error](err); ok {
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
	return &toolwire.Error{Package: "proxytest", Code: p.code, Problems: p.found.Found, More: p.found.More, Err: errors.Join(p.errs...)}
}
