package eval

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/hook"
	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/text"
	"github.com/toolwire/toolwire/proxy/proxytest"
	"github.com/toolwire/toolwire/schema"
)

// readCalls reads the column calls: a list of calls that a run must make, or an object of such a list and
// the members of a Match.
func readCalls(c *Case, in *expectedCell) Grader {
	kind := in.json(`a list of calls, such as [{"tool":"refund_order"}]`)
	if kind == 0 {
		return nil
	}
	platform, err := c.platform()
	if err != nil {
		in.wrong("%v", err)
		return nil
	}
	calls, match := json.RawMessage(in.text), Match{Mode: superset}
	if kind == '{' {
		calls = nil
		before := in.problems.Len()
		for _, err := range rawjson.ReadFields(json.RawMessage(in.text), map[string]any{
			"calls": &calls, "mode": &match.Mode, "ignore": &match.Ignore, "partial": &match.Partial,
		}) {
			in.wrong("%v", err)
		}
		if calls == nil && in.problems.Len() == before {
			in.wrong("calls is missing")
		}
	}
	if modes := []string{strict, unordered, subset, superset}; !slices.Contains(modes, match.Mode) {
		in.wrong("the mode %s is not %s, %s, %s or %s", shown(match.Mode), strict, unordered, subset, superset)
	}
	names := hook.Of[text.Declared](platform)
	var want Trajectory
	var tools []string
	if calls != nil {
		want = in.trajectory(platform, calls)
		for i, call := range want {
			tools = append(tools, call.Tool)
			in.arguments(&names, hook.Of[*schema.Set](platform), i+1, call, match.Partial || len(match.Ignore) > 0)
		}
	}
	for _, pointer := range match.Ignore {
		tool, place, isPlace := strings.Cut(pointer, "/")
		argument, _, _ := strings.Cut(place, "/")
		switch {
		case !isPlace:
			in.wrong(`%s in ignore is not the place of an argument: write "/%s", or "tool/%[2]s" for one tool`, shown(pointer), text.Line(pointer, maxShown))
		case tool == "":
			in.misspelt(&names, "ignore", argument, tools...)
		case in.tool(&names, tool):
			in.misspelt(&names, "ignore", argument, tool)
		}
	}
	if calls == nil {
		return nil
	}
	if want != nil && len(want) == 0 && match.Mode == superset {
		in.wrong(`the list of calls is empty, so it expects nothing: {"calls": [], "mode": "strict"} expects that no call is made`)
	}
	return match.Grader(func(Case) (Trajectory, error) { return want, nil })
}

// readNoCalls reads the column no_calls: names of tools that the agent must not request, as a list in JSON,
// or separated by commas or spaces.
func readNoCalls(c *Case, in *expectedCell) Grader {
	platform, err := c.platform()
	if err != nil {
		in.wrong("%v", err)
		return nil
	}
	names := strings.FieldsFunc(in.text, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
	if in.text[0] == '[' || in.text[0] == '{' {
		if in.json("") == 0 {
			return nil
		}
		if names = nil; json.Unmarshal([]byte(in.text), &names) != nil {
			names = nil
		}
	}
	if len(names) == 0 || slices.ContainsFunc(names, func(name string) bool { return strings.TrimSpace(name) == "" }) {
		in.wrong(`the cell is not a list of names of tools, such as ["refund_order"]`)
		return nil
	}
	declared := hook.Of[text.Declared](platform)
	var graders []Grader
	for _, name := range names {
		in.tool(&declared, name)
		graders = append(graders, NotCalled(name, ""))
	}
	return All(graders...)
}

// trajectory reads calls whose tools can be graded.
func (in *expectedCell) trajectory(platform *proxytest.Platform, calls json.RawMessage) Trajectory {
	t, wrong := trajectory(calls)
	for _, why := range wrong {
		in.wrong("%s", why)
	}
	if len(t) > 0 && len(platform.Tools()) == 0 {
		in.problems.Put(in.row.problem(invalidWorld, in.column, "the world declares no tool, so no call has a result"))
		return t
	}
	names := hook.Of[text.Declared](platform)
	for _, call := range t {
		if call.Tool != "" {
			in.tool(&names, call.Tool)
		}
	}
	return t
}

// tool reports a tool whose calls cannot be graded. It returns whether they can.
func (in *expectedCell) tool(names *text.Declared, name string) bool {
	wrong := ungradable(name, names)
	if wrong != "" {
		in.wrong("%s", wrong)
	}
	return wrong == ""
}

// arguments reports a wanted call that no call with a result can match, as far as it is known. A partial one
// may lack arguments. set is nil if no tool has a schema.
func (in *expectedCell) arguments(names *text.Declared, set *schema.Set, n int, call Call, partial bool) {
	before, where := in.problems.Len(), fmt.Sprintf("call %d, %s", n, call.Tool)
	for name := range rawjson.Members(call.Arguments) {
		in.misspelt(names, where, name, call.Tool)
	}
	if set == nil || call.Arguments == nil || partial || in.problems.Len() > before {
		return
	}
	err := set.ValidateArguments(call.Tool, call.Arguments)
	if refused, ok := errors.AsType[*toolwire.Error](err); ok && refused.Code != toolwire.CodeUnknownTool {
		for _, p := range refused.Problems {
			in.wrong("%s, is one that the tool refuses: %s", where, problem.Describe(p))
		}
	}
}

// misspelt reports an argument that none of the tools has, if one has nearly that name.
func (in *expectedCell) misspelt(names *text.Declared, where, name string, tools ...string) {
	var arguments []string
	for _, tool := range tools {
		known := names.Arguments[tool]
		if known == nil {
			return
		}
		arguments = append(arguments, known...)
	}
	if !slices.Contains(arguments, name) && text.Nearest(name, arguments) != "" {
		in.wrong("%s: the argument %s", where, text.Undeclared(name, arguments))
	}
}
