package eval

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"github.com/toolwire/toolwire/internal/hook"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/text"
	"github.com/toolwire/toolwire/proxy/proxytest"
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
		before := in.problems.count()
		for _, err := range rawjson.ReadFields(json.RawMessage(in.text), map[string]any{
			"calls": &calls, "mode": &match.Mode, "ignore": &match.Ignore, "partial": &match.Partial,
		}) {
			in.wrong("%v", err)
		}
		if calls == nil && in.problems.count() == before {
			in.wrong("calls is missing")
		}
	}
	if modes := []string{strict, unordered, subset, superset}; !slices.Contains(modes, match.Mode) {
		in.wrong("the mode %s is not %s, %s, %s or %s", shown(match.Mode), strict, unordered, subset, superset)
	}
	for _, pointer := range match.Ignore {
		if !strings.Contains(pointer, "/") {
			in.wrong(`%s in ignore is not the place of an argument: write "/%s", or "tool/%[2]s" for one tool`, shown(pointer), text.Line(pointer, maxShown))
		} else if tool, _, _ := strings.Cut(pointer, "/"); tool != "" {
			in.tool(platform, tool)
		}
	}
	if calls == nil {
		return nil
	}
	want := in.trajectory(platform, calls)
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
	var graders []Grader
	for _, name := range names {
		in.tool(platform, name)
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
		in.problems.add(in.row.problem(invalidWorld, in.column, "the world declares no tool, so no call has a result"))
		return t
	}
	for _, call := range t {
		if call.Tool != "" {
			in.tool(platform, call.Tool)
		}
	}
	return t
}

// tool reports a tool whose calls cannot be graded.
func (in *expectedCell) tool(platform *proxytest.Platform, name string) {
	names := hook.Of[text.Declared](platform)
	if wrong := ungradable(name, &names); wrong != "" {
		in.wrong("%s", wrong)
	}
}
