package jsonpath

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/PaesslerAG/gval"
	library "github.com/PaesslerAG/jsonpath"

	"github.com/toolwire/toolwire/internal/rawjson"
)

// The parts of a filter.
var (
	numberForm   = regexp.MustCompile(`^-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?`)
	constantForm = regexp.MustCompile(`^(true|false|null)`)
	functionForm = regexp.MustCompile(`^[a-z][a-z_\d]*\(`)
	operatorForm = regexp.MustCompile(`^(==|!=|<=|>=|<|>)`)
)

func filterUnsupported(what string) error {
	return &Error{Unsupported: true, problem: "has a filter that " + what + notHere +
		`; write comparisons and tests of members, such as [?@.kind == "main" && @.id]`}
}

// filter reads what follows the question mark of a filter.
func (p *parser) filter() (segment, error) {
	seg := segment{kind: filter}
	text, err := p.alternatives(&seg)
	seg.selectors = []string{"?(" + text + ")"}
	return seg, err
}

// alternatives reads conditions and the operators between them. It writes them as they are: in the
// library's language && comes before ||, as in RFC 9535.
func (p *parser) alternatives(seg *segment) (text string, err error) {
	for {
		condition, err := p.condition(seg)
		if err != nil {
			return "", err
		}
		text += condition
		switch p.next(spaceForm); {
		case p.take("&&"):
			text += " && "
		case p.take("||"):
			text += " || "
		default:
			return text, nil
		}
	}
}

// condition reads a comparison, or what may stand after a not: a test of a query, or a condition in
// parentheses.
func (p *parser) condition(seg *segment) (text string, err error) {
	p.next(spaceForm)
	if p.take("!") {
		text = "!"
		p.next(spaceForm)
	}
	if p.take("(") {
		inner, err := p.alternatives(seg)
		if err == nil && !p.take(")") {
			err = p.malformed("has a filter with a ( that is not closed after a condition")
		}
		return text + "(" + inner + ")", err
	}
	left, err := p.operand(seg)
	if err != nil {
		return "", err
	}
	p.next(spaceForm)
	operator := p.next(operatorForm)
	switch {
	case operator == "" && left.literal:
		return "", p.malformed("has a filter with a value that is not compared")
	case operator == "" && left.many:
		return "", filterUnsupported("asks for any of several values")
	case operator == "":
		return text + "?" + left.text, nil
	case text != "":
		return "", p.malformed("has a filter with ! before a comparison; put the comparison in parentheses")
	}
	p.next(spaceForm)
	right, err := p.operand(seg)
	if err == nil && (left.many || right.many) {
		err = p.malformed("has a filter that compares several values")
	}
	if !left.literal && !right.literal {
		seg.wholes++
	}
	return left.text + operator + right.text, err
}

// An operand of a comparison, as the library reads it.
type operand struct {
	text          string
	literal, many bool
}

func (p *parser) operand(seg *segment) (o operand, err error) {
	seg.work++
	if p.take("@") {
		query := &Syntax{lookups: 1}
		for {
			if rest := strings.TrimLeft(p.rest, " \t\r\n"); rest == "" || rest[0] != '.' && rest[0] != '[' {
				break
			}
			step, err := p.segment()
			switch {
			case err != nil:
				return o, err
			case step.byName:
				return o, filterUnsupported("has a name that looks like a number")
			case step.kind == filter:
				return o, filterUnsupported("contains a filter")
			}
			if err := query.add(step); err != nil {
				return o, err
			}
		}
		seg.work += len(query.segs)
		o = operand{text: query.spelling("@"), many: query.Many()}
		if query.keys > 0 {
			o.text = "%" + o.text
		}
		return o, nil
	}
	switch {
	case strings.HasPrefix(p.rest, "$"):
		return o, filterUnsupported("begins a query with $")
	case functionForm.MatchString(p.rest):
		return o, filterUnsupported("calls a function")
	}
	text := p.next(constantForm)
	if text == "" {
		text = p.next(numberForm)
	}
	if text == "" && p.rest != "" && (p.rest[0] == '"' || p.rest[0] == '\'') {
		literal, err := p.quoted()
		if err != nil {
			return o, err
		}
		encoded, _ := rawjson.Encode(literal)
		text = string(encoded)
	}
	if text == "" {
		return o, p.malformed("has a filter with something that is not a query such as @.id, a text, a number, true, false or null")
	}
	return operand{text: "~" + strconv.QuoteToASCII(text), literal: true}, nil
}

// language is the library's, with operators that compare as RFC 9535 says. The gate writes:
//
//	~"JSON"   a value
//	@["a"]    a query of names
//	%@[0:1]   a query with an index, whose result is a list of at most one value
//	?query    whether the query selects a value
var language = gval.NewLanguage(
	library.PlaceholderExtension(),
	gval.PropositionalLogic(), // its operators get true and false only
	gval.PrefixExtension('~', func(_ context.Context, p *gval.Parser) (gval.Evaluable, error) {
		p.Scan()
		text, err := strconv.Unquote(p.TokenText())
		return p.Const(rawjson.Any(json.RawMessage(text))), err
	}),
	prefix('%', func(found any, err error) (any, error) {
		if list, _ := found.([]any); len(list) > 0 {
			return list[0], nil
		}
		return nil, errors.Join(err, ErrNotFound)
	}),
	prefix('?', func(_ any, err error) (any, error) { return err == nil, nil }),
	comparison("==", equal),
	comparison("!=", func(a, b any) bool { return !equal(a, b) }),
	comparison("<", less),
	comparison("<=", func(a, b any) bool { return less(a, b) || equal(a, b) }),
	comparison(">", func(a, b any) bool { return less(b, a) }),
	comparison(">=", func(a, b any) bool { return less(b, a) || equal(a, b) }),
)

// prefix makes an operator that gets the result of the query after it.
func prefix(name rune, of func(found any, err error) (any, error)) gval.Language {
	return gval.PrefixExtension(name, func(ctx context.Context, p *gval.Parser) (gval.Evaluable, error) {
		query, err := p.ParseNextExpression(ctx)
		return func(ctx context.Context, root any) (any, error) { return of(query(ctx, root)) }, err
	})
}

// nothing is the result of a query that selects no value.
type nothing struct{}

func comparison(operator string, holds func(a, b any) bool) gval.Language {
	return gval.InfixEvalOperator(operator, func(a, b gval.Evaluable) (gval.Evaluable, error) {
		value := func(e gval.Evaluable, ctx context.Context, root any) any {
			v, err := e(ctx, root)
			if err != nil {
				return nothing{}
			}
			return v
		}
		return func(ctx context.Context, root any) (any, error) {
			return holds(value(a, ctx, root), value(b, ctx, root)), nil
		}, nil
	})
}

func equal(a, b any) bool {
	switch a := a.(type) {
	case json.Number:
		b, ok := b.(json.Number)
		return ok && rawjson.ParseNumber(string(a)) == rawjson.ParseNumber(string(b))
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, equal)
	}
	return a == b
}

// less orders numbers by value, and texts by code points.
func less(a, b any) bool {
	if a, ok := a.(json.Number); ok {
		b, ok := b.(json.Number)
		return ok && rawjson.ParseNumber(string(a)).Compare(rawjson.ParseNumber(string(b))) < 0
	}
	x, ok := a.(string)
	y, also := b.(string)
	return ok && also && x < y
}
