package eval

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/internal/hook"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/text"
	"github.com/toolwire/toolwire/proxy/proxytest"
	"github.com/toolwire/toolwire/schema"
)

// All returns a grader that accepts a run if all of these graders do. Its error joins the errors of
// those that do not. If one of them rejects the run, the run has failed, even if another returns
// [ErrNotGraded].
func All(graders ...Grader) Grader {
	return func(ctx context.Context, c Case, result *dispatchtest.Result) error {
		var errs []error
		rejected := false
		for _, grade := range graders {
			if err := grade(ctx, c, result); err != nil {
				errs = append(errs, err)
				rejected = rejected || !errors.Is(err, ErrNotGraded)
			}
		}
		for i, err := range errs {
			if rejected && errors.Is(err, ErrNotGraded) {
				errs[i] = errors.New(err.Error()) // without ErrNotGraded
			}
		}
		return errors.Join(errs...)
	}
}

// Mismatch returns the error of a [Grader] that knows what it expected and what it got. Its text is the
// reason. The file of results keeps both other texts, at most 20 of a trial with 2 KiB each, and the
// page shows them beside each other. Other reports contain the reason only.
func Mismatch(reason, expected, actual string) error { return &mismatch{reason, expected, actual} }

type mismatch struct {
	Reason   string `json:"reason"`
	Expected string `json:"expected"`
	Actual   string `json:"actual"`
}

func (m *mismatch) Error() string { return m.Reason }

// mismatches returns the mismatches in an error, which may join several. The list is not nil.
func mismatches(err error) []mismatch {
	list := []mismatch{}
	var visit func(error)
	visit = func(err error) {
		switch e := err.(type) {
		case *mismatch:
			if len(list) < maxListed {
				list = append(list, *e)
			}
		case interface{ Unwrap() []error }:
			for _, err := range e.Unwrap() {
				visit(err)
			}
		case interface{ Unwrap() error }:
			visit(e.Unwrap())
		}
	}
	visit(err)
	return list
}

// caused is a mismatch with its cause, which errors.As finds.
type caused struct {
	*mismatch
	cause error
}

func (c caused) Unwrap() []error { return []error{c.mismatch, c.cause} }

// wrongResponse is the error about the final response of a run.
func wrongResponse(result *dispatchtest.Result, expected, format string, args ...any) *mismatch {
	return &mismatch{visible(fmt.Sprintf(format, args...)), visible(expected), visible(result.FinalResponse)}
}

// visible shows what makes texts differ that look alike as an escape: accents that are characters of their
// own, spaces of other widths, and characters without a width.
func visible(s string) string {
	if !strings.ContainsFunc(s, ambiguous) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if ambiguous(r) {
			b.WriteString(strings.Trim(strconv.QuoteToASCII(string(r)), `"`))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func ambiguous(r rune) bool {
	const accents, end = '\u0300', '\u036F'
	return r > unicode.MaxASCII && (accents <= r && r <= end || unicode.In(r, unicode.Zs, unicode.Cf))
}

// says accepts a run for whose final response is returns true.
func says(is func(response string) bool, expected, format string, args ...any) Grader {
	return func(_ context.Context, _ Case, result *dispatchtest.Result) error {
		if is(result.FinalResponse) {
			return nil
		}
		return wrongResponse(result, expected, format, args...)
	}
}

// Says accepts a run whose final response contains all of these texts, byte by byte: an accent that is
// a character of its own is another text.
func Says(parts ...string) Grader {
	return func(ctx context.Context, c Case, result *dispatchtest.Result) error {
		for _, part := range parts {
			is := func(response string) bool { return strings.Contains(response, part) }
			if err := says(is, part, "the final response does not contain %q", part)(ctx, c, result); err != nil {
				return err
			}
		}
		return nil
	}
}

// SaysExactly accepts a run whose final response is this text, without white space around it.
func SaysExactly(text string) Grader {
	text = strings.TrimSpace(text)
	return says(func(response string) bool { return strings.TrimSpace(response) == text }, text, "the final response is not %q", text)
}

// SaysMatch accepts a run whose final response matches a regular expression, somewhere in it. (?i)
// at its beginning ignores case.
func SaysMatch(pattern *regexp.Regexp) Grader {
	return says(pattern.MatchString, pattern.String(), "the final response does not match %s", pattern)
}

// numbers are decimal numbers in a text, with or without commas between thousands.
var numbers = regexp.MustCompile(`[-−]?(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?`)

// SaysNumber accepts a run whose final response contains a number that differs from want by at most
// tolerance. Numbers are decimal, such as 1234.5, 1,234.50 or $-20. Numbers of more than 1,000 digits
// are not compared.
func SaysNumber(want, tolerance float64) Grader {
	center, finite := decimal(strconv.FormatFloat(want, 'g', -1, 64))
	most, bounded := decimal(strconv.FormatFloat(tolerance, 'g', -1, 64))
	is := func(*big.Rat) bool { return finite && math.IsInf(tolerance, 1) }
	if finite && bounded {
		is = within(center, most)
	}
	return saysNumber(is, fmt.Sprint(want), fmt.Sprint(tolerance))
}

// decimal reads a decimal number exactly: 20.01 differs from 20 by 0.01, and the nearest binary numbers do
// by more.
func decimal(digits string) (*big.Rat, bool) { return new(big.Rat).SetString(digits) }

// within returns a function that reports whether a number differs from center by at most most.
func within(center, most *big.Rat) func(*big.Rat) bool {
	low, high := new(big.Rat).Sub(center, most), new(big.Rat).Add(center, most)
	return func(got *big.Rat) bool { return low.Cmp(got) <= 0 && got.Cmp(high) <= 0 }
}

// maxDigits is how many characters of a number are compared: reading one takes more time than its length.
const maxDigits = 1000

// saysNumber accepts a run whose final response contains a number for which is returns true.
func saysNumber(is func(*big.Rat) bool, want, tolerance string) Grader {
	plain := strings.NewReplacer(",", "", "−", "-")
	return says(func(said string) bool {
		for _, at := range numbers.FindAllStringIndex(said, -1) {
			text := plain.Replace(said[at[0]:at[1]])
			if before, _ := utf8.DecodeLastRuneInString(said[:at[0]]); unicode.IsLetter(before) || unicode.IsDigit(before) {
				text = strings.TrimPrefix(text, "-") // a hyphen, as in 2026-03-01
			}
			if len(text) > maxDigits {
				continue
			}
			if got, ok := decimal(text); ok && is(got) {
				return true
			}
		}
		return false
	}, want+" ± "+tolerance, "the final response contains no number that differs from %s by at most %s", want, tolerance)
}

// SaysJSON accepts a run whose final response is JSON that matches a JSON Schema, alone or as the one
// code block of Markdown that the response consists of. It returns an error if the schema cannot be
// compiled.
func SaysJSON(jsonSchema json.RawMessage) (Grader, error) {
	compiled, err := schema.Compile(jsonSchema, nil)
	if err != nil {
		return nil, err
	}
	return func(_ context.Context, _ Case, result *dispatchtest.Result) error {
		text := result.FinalResponse
		if block := fence.FindStringSubmatch(text); block != nil {
			text = block[1]
		}
		if err := compiled.Validate([]byte(text)); err != nil {
			return caused{wrongResponse(result, string(jsonSchema), "the final response does not match the schema: %v", err), err}
		}
		return nil
	}, nil
}

// fence is a response that is one code block.
var fence = regexp.MustCompile("(?s)^\\s*```[A-Za-z]*[ \\t]*\r?\n(.*)\n[ \\t]*```\\s*$")

// Called accepts a run in which a call of the tool with these arguments has a result. arguments is
// a JSON object; the call's arguments may have more members. "" matches any arguments. Called
// panics if arguments is not JSON.
func Called(tool, arguments string) Grader {
	want := object(arguments)
	return func(_ context.Context, _ Case, result *dispatchtest.Result) error {
		if err := declaredTool(result, tool); err != nil {
			return err
		}
		if slices.ContainsFunc(result.Calls, func(c proxytest.Call) bool { return c.Tool == tool && matches(c.Arguments, want) }) {
			return nil
		}
		return &mismatch{fmt.Sprintf("%s has no result%s", tool, with(want)), Call{tool, want}.String(), TrajectoryOf(result).lines()}
	}
}

// NotCalled accepts a run in which the agent did not request the tool with these arguments, with or
// without a result. The arguments match as in [Called].
func NotCalled(tool, arguments string) Grader {
	want := object(arguments)
	return func(_ context.Context, _ Case, result *dispatchtest.Result) error {
		if err := declaredTool(result, tool); err != nil {
			return err
		}
		for _, c := range slices.Concat(result.Calls, result.Refused) {
			if c.Tool == tool && !c.Trace && matches(c.Arguments, want) {
				return &mismatch{fmt.Sprintf("the agent called %s%s", tool, with(want)), "no " + Call{tool, want}.String(), Call{tool, c.Arguments}.String()}
			}
		}
		return nil
	}
}

// State accepts a run after which the ledger contains the entity, such as "order/4521", with these
// fields. fields is a JSON object; the entity may have more members. State panics if fields is not
// JSON.
func State(entity, fields string) Grader {
	want := object(fields)
	entityType, id, ok := strings.Cut(entity, "/")
	if !ok {
		panic("eval: State: " + entity + ` is not an entity, such as "order/4521"`)
	}
	return func(_ context.Context, _ Case, result *dispatchtest.Result) error {
		names := hook.Of[*text.Declared](&result.Log)
		if err := declared("the entity type ", entityType, names.Entities); err != nil {
			return err
		}
		got := result.State.Entities[rawjson.Name(entityType)][rawjson.Name(id)]
		if got == nil {
			return &mismatch{"the ledger does not have " + entity, entity + with(want), "no " + entity}
		}
		if field := names.IDFields[entityType]; field != "" {
			got = rawjson.With(got, field, rawjson.Quote(id))
		}
		var wrong, expected, actual []string
		for name, value := range rawjson.Members(want) {
			if member := rawjson.Member(got, name); member == nil || !rawjson.Contains(member, value) {
				wrong = append(wrong, fmt.Sprintf("%s is not %s", name, value))
				expected, actual = append(expected, fmt.Sprintf("%s: %s", name, value)), append(actual, name+": "+orNothing(member))
			}
		}
		if len(wrong) > 0 {
			return &mismatch{entity + ": " + strings.Join(wrong, ", "), strings.Join(expected, "\n"), strings.Join(actual, "\n")}
		}
		return nil
	}
}

// Flag accepts a run after which the flag is set in the ledger.
func Flag(flag string) Grader {
	return func(_ context.Context, _ Case, result *dispatchtest.Result) error {
		if slices.Contains(result.State.Flags, flag) {
			return nil
		}
		if err := declared("the flag ", flag, hook.Of[*text.Declared](&result.Log).Flags); err != nil {
			return err
		}
		return &mismatch{fmt.Sprintf("the flag %s is not set", flag), flag, strings.Join(result.State.Flags, "\n")}
	}
}

// refusedWithoutWrite is a grader that rejects a run which changed the ledger although the row's
// expected_outcome is refusal. It accepts all runs of other rows.
func refusedWithoutWrite(_ context.Context, c Case, result *dispatchtest.Result) error {
	if c.Cell("expected_outcome") != refusal || len(result.Changes) == 0 {
		return nil
	}
	return &mismatch{fmt.Sprintf("a refusal is expected, and the run made %s of the ledger",
		text.Plural(len(result.Changes), "change")), refusal, result.Changes.String()}
}

// declared returns an error for a name that the world does not declare. The agent did not cause it.
func declared(what, name string, names []string) error {
	if wrong := text.Undeclared(name, names); wrong != "" {
		return fmt.Errorf("%w: %s%s", ErrNotGraded, what, wrong)
	}
	return nil
}

// declaredTool returns an error for a tool whose calls cannot be graded. A tool that the agent requested
// can be.
func declaredTool(result *dispatchtest.Result, tool string) error {
	if slices.ContainsFunc(result.Refused, func(c proxytest.Call) bool { return c.Tool == tool && !c.Trace }) {
		return nil
	}
	if wrong := ungradable(tool, hook.Of[*text.Declared](&result.Log)); wrong != "" {
		return fmt.Errorf("%w: %s", ErrNotGraded, wrong)
	}
	return nil
}

// ungradable says why the calls of a tool cannot be graded; "" if they can.
func ungradable(tool string, names *text.Declared) string {
	if slices.Contains(names.Executed, tool) {
		return text.Name(tool) + " executes where the agent runs, so its calls are not seen here"
	}
	return text.Undeclared(tool, names.Tools)
}

// object checks a JSON object of the caller. "" is nil.
func object(text string) json.RawMessage {
	if text == "" {
		return nil
	}
	if raw := json.RawMessage(text); json.Valid(raw) && rawjson.Kind(raw) == '{' {
		return raw
	}
	panic("eval: " + text + " is not a JSON object")
}

// matches reports whether arguments have all of want.
func matches(arguments, want json.RawMessage) bool {
	return want == nil || arguments != nil && rawjson.Contains(arguments, want)
}

// with says which arguments were meant.
func with(arguments json.RawMessage) string {
	if arguments == nil {
		return ""
	}
	return " with " + string(arguments)
}
