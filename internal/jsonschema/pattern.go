package jsonschema

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"

	lib "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/toolwire/toolwire/internal/text"
)

const (
	maxPattern      = 1 << 10  // bytes of a regular expression, or of a string with the format "regex"
	maxPatternInput = 16 << 10 // bytes of a string that a regular expression is applied to
	maxInstructions = 20_000   // compiled size of all regular expressions of a schema together
)

// patterns compiles the regular expressions of one schema, each once, and bounds their total size.
// It is used only while compiling. It is not safe for concurrent use.
type patterns struct {
	known        map[string]regex
	instructions int
	counter      *counter // of the validations that use the expressions
}

// regex is a regular expression and its compiled size, or the reason why it does not compile.
type regex struct {
	text         string // as the author wrote it
	rest         *regexp.Regexp
	ahead        []lookAhead // at the beginning
	instructions int
	err          error
}

// lookAhead is a regular expression that must match, or must not.
type lookAhead struct {
	*regexp.Regexp
	not bool
}

// pattern is a regular expression that spends what it costs. It rejects strings that would cost too much.
type pattern struct {
	*regex
	counter *counter
}

// errTooComplex is the error for expressions that are valid but too large together.
var errTooComplex = errors.New("the expressions of the schema are too large when their repetitions are written out")

func (p *patterns) compile(s string) (lib.Regexp, error) {
	e, ok := p.known[s]
	if !ok {
		e = p.compileNew(s)
		p.known[s] = e
	}
	if e.err != nil {
		return nil, e.err
	}
	return &pattern{&e, p.counter}, nil
}

func (p *patterns) compileNew(s string) regex {
	if p.instructions > maxInstructions {
		return regex{err: errTooComplex}
	}
	if len(s) > maxPattern {
		return regex{err: fmt.Errorf("it is longer than %d bytes", maxPattern)}
	}
	ahead, rest := splitLookAheads(translated(s))
	e := regex{text: s}
	for _, one := range ahead {
		e.ahead = append(e.ahead, lookAhead{p.part("^(?:"+one.body+")", &e), one.not})
	}
	e.rest = p.part(rest, &e)
	return e
}

// part compiles one expression of e.
func (p *patterns) part(s string, e *regex) *regexp.Regexp {
	if e.err != nil {
		return nil
	}
	tree, err := syntax.Parse(s, syntax.Perl)
	if err != nil {
		e.err = err
		return nil
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		e.err = err
		return nil
	}
	e.instructions += len(prog.Inst)
	if p.instructions += len(prog.Inst); p.instructions > maxInstructions {
		e.err = errTooComplex
		return nil
	}
	re, err := regexp.Compile(s)
	e.err = err
	return re
}

// unsupported is the message for a regular expression that does not compile. Other engines may
// accept it.
func unsupported(err error) string {
	return "is a regular expression that cannot be checked here: " + regexpProblem(err)
}

func regexpProblem(err error) string {
	if parse, ok := errors.AsType[*syntax.Error](err); ok {
		switch parse.Code {
		case syntax.ErrInvalidPerlOp:
			return "look-ahead is available directly after ^ only, and look-behind is not (RE2 syntax)"
		case syntax.ErrInvalidRepeatSize:
			return "a repetition may count to 1000 at most"
		}
		return parse.Code.String()
	}
	return text.Cut(err.Error(), maxText)
}

// MatchString implements the library's interface. The library accepts only match and no match, and
// both would be wrong for a string that is too long.
func (p *pattern) MatchString(s string) bool {
	if len(s) > maxPatternInput {
		panic(tooLong(maxPatternInput, "a pattern"))
	}
	p.counter.spend(1 + len(s)*p.instructions/instructionsPerStep)
	return p.matches(s)
}

func (e *regex) matches(s string) bool {
	for _, one := range e.ahead {
		if one.MatchString(s) == one.not {
			return false
		}
	}
	return e.rest.MatchString(s)
}

// A Regexp is a regular expression of JavaScript, as schemas have it.
type Regexp struct{ expression regex }

// CompileRegexp compiles an expression as [Compile] does. It returns nil if Go does not support it.
func CompileRegexp(s string) *Regexp {
	e := (&patterns{}).compileNew(s)
	if e.err != nil {
		return nil
	}
	return &Regexp{e}
}

// MatchString reports whether a text matches.
func (e *Regexp) MatchString(s string) bool { return e.expression.matches(s) }

// RE2 returns the expression for package regexp, without the look-aheads at its beginning.
func (e *Regexp) RE2() string { return e.expression.rest.String() }

// String returns the expression as its author wrote it.
func (p *pattern) String() string { return p.text }

// tooLong returns the error with which a validation is stopped. [Schema.Validate] recovers it.
func tooLong(most int, what string) error {
	return limitError("has a string of more than %d bytes where the schema has %s", most, what)
}

// javaScript matches where an expression has what JavaScript knows and Go does not. Such an expression may be valid.
var javaScript = regexp.MustCompile(`^(\(\?<?[=!]|\\[1-9k])`)

// checkRegex reports whether a text is not a regular expression of JavaScript, as far as Go can tell.
func checkRegex(s string) error {
	ahead, rest := splitLookAheads(translated(s))
	for _, one := range append(ahead, aheadBody{body: rest}) {
		_, err := syntax.Parse(one.body, syntax.Perl)
		unknown, ok := errors.AsType[*syntax.Error](err)
		if ok && unknown.Code != syntax.ErrInvalidRepeatSize && !javaScript.MatchString(unknown.Expr) {
			return err
		}
	}
	return nil
}

// regexFormat is the format "regex" without state.
var regexFormat = &lib.Format{Name: "regex", Validate: func(v any) error {
	s, ok := v.(string)
	if !ok {
		return nil
	}
	if len(s) > maxPattern {
		panic(tooLong(maxPattern, `the format "regex"`))
	}
	return checkRegex(s)
}}

// classSteps is about the cost of parsing one Unicode class, such as \pL: its table is merged into
// others.
const classSteps = 512

// regexSteps is the cost of parsing a regular expression.
func regexSteps(s string) int {
	s = translated(s)
	return len(s) + classSteps*(strings.Count(s, `\p`)+strings.Count(s, `\P`))
}
