package eval

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// Call is a tool call of a [Trajectory].
type Call struct {
	Tool string `json:"tool"`

	// Arguments is a JSON object. If it is nil in a trajectory that is wanted, it matches any
	// arguments.
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

// String returns the call as tool(arguments).
func (c Call) String() string { return c.Tool + "(" + string(c.Arguments) + ")" }

// Trajectory is the tool calls of a run in their order. In JSON it is a list of objects such as
//
//	[{"tool": "get_order", "arguments": {"order_id": "4521"}}, {"tool": "refund_order"}]
type Trajectory []Call

// TrajectoryOf returns the calls of a run that have results, in the order in which the agent made
// them. It has no ids. Attempts that a client repeated count once.
func TrajectoryOf(result *dispatchtest.Result) Trajectory {
	calls := slices.Clone(result.Calls)
	slices.SortStableFunc(calls, func(a, b proxytest.Call) int { return cmp.Compare(a.Order, b.Order) })
	t := make(Trajectory, len(calls))
	for i, c := range calls {
		t[i] = Call{c.Tool, c.Arguments}
	}
	return t
}

// ParseTrajectory reads a trajectory from JSON, such as the cell of a dataset.
func ParseTrajectory(data []byte) (Trajectory, error) {
	if err := rawjson.Check(data, rawjson.Limits{}); err != nil {
		return nil, fmt.Errorf("eval: the trajectory is not valid JSON: %w", err)
	}
	if rawjson.Kind(data) != '[' {
		return nil, errors.New("eval: a trajectory is a list of calls")
	}
	t := Trajectory{}
	n := 0
	for element := range rawjson.Elements(data) {
		var c Call
		n++
		for name, value := range rawjson.Members(element) {
			switch {
			case name == "tool" && rawjson.Kind(value) == '"':
				c.Tool = rawjson.Unquote(value)
			case name == "arguments" && rawjson.Kind(value) == '{':
				c.Arguments = value
			default:
				return nil, fmt.Errorf("eval: call %d of the trajectory: the member %s is not known, or has another type", n, shown(name))
			}
		}
		if c.Tool == "" {
			return nil, fmt.Errorf("eval: call %d of the trajectory: the member tool is missing", n)
		}
		t = append(t, c)
	}
	return t, nil
}

// Match defines when the trajectory of a run matches a wanted one. The zero value requires the same
// calls in the same order with equal arguments. Numbers are equal by value, members of objects in
// any order.
type Match struct {
	Mode MatchMode // defaults to Strict

	// Partial allows objects in the arguments of the run to have more members than are wanted.
	Partial bool

	// Ignore lists arguments that are not compared, and may be absent: JSON Pointers such as "/note",
	// for every tool, or "refund_order/note", for one.
	Ignore []string
}

// A MatchMode says which calls a run must and may have.
type MatchMode string

const (
	Strict    MatchMode = "strict"    // the wanted calls in their order, and no others
	Unordered MatchMode = "unordered" // the wanted calls in any order, and no others
	Subset    MatchMode = "subset"    // no calls but wanted ones, in any order
	Superset  MatchMode = "superset"  // the wanted calls in any order, and possibly others
)

// Check returns nil if got is as wanted, or an error that lists the calls that are missing and those
// that are not wanted, without the arguments of got. The calls are paired such that as many as
// possible match: a call that could match several is not spent on the wrong one. Check panics if
// Mode is not one of the four.
func (m Match) Check(got, want Trajectory) error {
	var pairs []int // for each call of want, the call of got, or -1
	var missing, extra bool
	switch m.Mode {
	case Strict, "":
		return m.strict(got, want)
	case Unordered:
		missing, extra = true, true
	case Subset:
		extra = true
	case Superset:
		missing = true
	default:
		panic("eval: Match.Mode " + string(m.Mode) + " is not known")
	}
	pairs = m.pair(got, want)
	var wrong []string
	paired := make([]bool, len(got))
	for i, g := range pairs {
		if g >= 0 {
			paired[g] = true
		} else if missing {
			wrong = append(wrong, fmt.Sprintf("call %d of the wanted trajectory is missing: %s", i+1, want[i]))
		}
	}
	for g, is := range paired {
		if !is && extra {
			wrong = append(wrong, fmt.Sprintf("call %d is not wanted: %s", g+1, got[g].Tool))
		}
	}
	return mismatch(wrong)
}

func mismatch(wrong []string) error {
	if len(wrong) == 0 {
		return nil
	}
	return errors.New("the trajectory does not match: " + strings.Join(wrong, "; "))
}

// strict compares call by call.
func (m Match) strict(got, want Trajectory) error {
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			return mismatch([]string{fmt.Sprintf("call %d is missing: %s", i+1, want[i])})
		case i >= len(want):
			return mismatch([]string{fmt.Sprintf("call %d is not wanted: %s", i+1, got[i].Tool)})
		case got[i].Tool != want[i].Tool:
			return mismatch([]string{fmt.Sprintf("call %d is %s and not %s", i+1, got[i].Tool, want[i])})
		case !m.same(got[i], want[i]):
			return mismatch([]string{fmt.Sprintf("call %d of %s has other arguments than %s", i+1, got[i].Tool, want[i].Arguments)})
		}
	}
	return nil
}

// pair finds a largest set of pairs of calls that match. It returns the partner of each wanted call,
// or -1. Equal calls are paired first and wanted calls without arguments last: no pair is lost by
// that, because a call that matches more than another one matches all that the other one does.
func (m Match) pair(got, want Trajectory) []int {
	partner, owner := make([]int, len(want)), make([]int, len(got))
	for i := range partner {
		partner[i] = -1
	}
	for g := range owner {
		owner[g] = -1
	}
	keys, tools := map[int][]int{}, map[string][]int{} // calls of got, in order
	numbers := map[string]int{}
	for g, n := range numbered(got, numbers) {
		keys[n] = append(keys[n], g)
	}
	for i, n := range numbered(want, numbers) {
		if equal := keys[n]; len(equal) > 0 {
			partner[i], owner[equal[0]], keys[n] = equal[0], i, equal[1:]
		}
	}
	for g, c := range got {
		tools[c.Tool] = append(tools[c.Tool], g)
	}
	if m.Partial || len(m.Ignore) > 0 {
		m.augment(got, want, partner, owner)
	}
	for i, c := range want {
		for partner[i] < 0 && c.Arguments == nil && len(tools[c.Tool]) > 0 {
			if g := tools[c.Tool][0]; owner[g] < 0 {
				partner[i], owner[g] = g, i
			}
			tools[c.Tool] = tools[c.Tool][1:]
		}
	}
	return partner
}

// augment finds partners by augmenting paths, for wanted calls with arguments that have none.
func (m Match) augment(got, want Trajectory, partner, owner []int) {
	fits := make(map[int][]int)
	fit := func(i int) []int {
		if _, known := fits[i]; !known {
			fits[i] = []int{}
			for g := range got {
				if m.same(got[g], want[i]) {
					fits[i] = append(fits[i], g)
				}
			}
		}
		return fits[i]
	}
	var tried []bool
	var find func(i int) bool
	find = func(i int) bool {
		for _, g := range fit(i) {
			if tried[g] {
				continue
			}
			tried[g] = true
			if owner[g] < 0 || find(owner[g]) {
				partner[i], owner[g] = g, i
				return true
			}
		}
		return false
	}
	for i, c := range want {
		if partner[i] < 0 && c.Arguments != nil {
			tried = make([]bool, len(got))
			find(i)
		}
	}
}

// same reports whether a call is as wanted.
func (m Match) same(got, want Call) bool {
	return got.Tool == want.Tool && (want.Arguments == nil || m.value(got.Arguments, want.Arguments, got.Tool, ""))
}

func (m Match) value(got, want json.RawMessage, tool, pointer string) bool {
	kind := rawjson.Kind(want)
	switch {
	case m.ignored(tool, pointer):
		return true
	case rawjson.Kind(got) != kind:
		return false
	case kind == '{':
		for name, value := range rawjson.Members(want) {
			at := pointer + rawjson.Token(name)
			if member := rawjson.Member(got, name); member == nil && !m.ignored(tool, at) || member != nil && !m.value(member, value, tool, at) {
				return false
			}
		}
		for name := range rawjson.Members(got) {
			if !m.Partial && rawjson.Member(want, name) == nil && !m.ignored(tool, pointer+rawjson.Token(name)) {
				return false
			}
		}
		return true
	case kind == '[':
		a, b := slices.Collect(rawjson.Elements(got)), slices.Collect(rawjson.Elements(want))
		if len(a) != len(b) {
			return false
		}
		for i := range a {
			if !m.value(a[i], b[i], tool, fmt.Sprintf("%s/%d", pointer, i)) {
				return false
			}
		}
		return true
	}
	return rawjson.Equal(got, want)
}

func (m Match) ignored(tool, pointer string) bool {
	return pointer != "" && (slices.Contains(m.Ignore, pointer) || slices.Contains(m.Ignore, tool+pointer))
}

// Grader returns a grader that checks the trajectory of a run. want returns the wanted trajectory of
// a case, for example from a column of its row, or an error, with which the run fails.
func (m Match) Grader(want func(Case) (Trajectory, error)) Grader {
	return func(_ context.Context, c Case, result *dispatchtest.Result) error {
		wanted, err := want(c)
		if err != nil {
			return err
		}
		return m.Check(TrajectoryOf(result), wanted)
	}
}
