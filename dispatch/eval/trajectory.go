package eval

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/internal/problem"
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

// lines returns the calls as text, one on each line.
func (t Trajectory) lines() string {
	var b strings.Builder
	for _, c := range t {
		b.WriteString(c.String() + "\n")
	}
	return b.String()
}

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
	t, wrong := trajectory(data)
	if len(wrong) > 0 {
		return nil, errors.New("eval: " + wrong[0])
	}
	return t, nil
}

// trajectory reads a trajectory from valid JSON, and returns what is wrong with its calls.
func trajectory(data json.RawMessage) (Trajectory, []string) {
	if rawjson.Kind(data) != '[' {
		return nil, []string{"a trajectory is a list of calls"}
	}
	t, wrong := Trajectory{}, problem.Bounded[string]{}
	n := 0
	for element := range rawjson.Elements(data) {
		var c Call
		bad := ""
		for name, value := range rawjson.Members(element) {
			switch {
			case name == "tool" && rawjson.Kind(value) == '"':
				c.Tool = rawjson.Unquote(value)
			case name == "arguments" && rawjson.Kind(value) == '{':
				c.Arguments = value
			default:
				bad = cmp.Or(bad, "the member "+shown(name)+" is not known, or has another type")
			}
		}
		n++
		if c.Tool == "" {
			bad = cmp.Or(bad, "the member tool is missing")
		}
		switch {
		case bad == "" && wrong.Found == nil:
			t = append(t, c)
		case wrong.Full():
			return nil, wrong.Found
		case bad != "":
			t = nil
			wrong.Put(fmt.Sprintf(`call %d of the trajectory: %s; a call is {"tool": "…", "arguments": {…}}`, n, bad))
		}
	}
	return t, wrong.Found
}

// Match defines when the trajectory of a run matches a wanted one. The zero value requires the same
// calls in the same order with equal arguments. Numbers are equal by value, members of objects in
// any order.
type Match struct {
	// Mode says which calls a run must and may have. It is one of these, and "" is strict:
	//
	//	strict     the wanted calls in their order, and no others
	//	unordered  the wanted calls in any order, and no others
	//	subset     no calls but wanted ones, in any order
	//	superset   the wanted calls in any order, and possibly others
	Mode string

	// Partial allows objects in the arguments of the run to have further members.
	Partial bool

	// Ignore lists arguments that are not compared, and may be absent: JSON Pointers such as "/note",
	// for every tool, or "refund_order/note", for one.
	Ignore []string
}

const strict, unordered, subset, superset = "strict", "unordered", "subset", "superset" // values of Match.Mode

// Check returns nil if got matches, or an error that lists missing and unwanted calls without the
// arguments of got. It pairs the calls so that as many as possible match. Check panics if Mode is not
// one of the four.
func (m Match) Check(got, want Trajectory) error {
	var missing, extra bool
	switch m.Mode {
	case strict, "":
		return m.strict(got, want)
	case unordered:
		missing, extra = true, true
	case subset:
		extra = true
	case superset:
		missing = true
	default:
		panic("eval: Match.Mode " + m.Mode + " is not known")
	}
	pairs := m.pair(m.compared(got), m.compared(want))
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
	return unlike(wrong)
}

func unlike(wrong []string) error {
	if len(wrong) == 0 {
		return nil
	}
	return errors.New("the trajectory does not match: " + strings.Join(wrong, "; "))
}

// strict compares call by call.
func (m Match) strict(got, want Trajectory) error {
	comparedGot, comparedWant := m.compared(got), m.compared(want)
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			return unlike([]string{fmt.Sprintf("call %d is missing: %s", i+1, want[i])})
		case i >= len(want):
			return unlike([]string{fmt.Sprintf("call %d is not wanted: %s", i+1, got[i].Tool)})
		case got[i].Tool != want[i].Tool:
			return unlike([]string{fmt.Sprintf("call %d is %s and not %s", i+1, got[i].Tool, want[i])})
		case !m.same(comparedGot[i], comparedWant[i]):
			return unlike([]string{fmt.Sprintf("call %d of %s has other arguments than %s", i+1, got[i].Tool, want[i].Arguments)})
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
	if m.Partial {
		p := pairing{got: got, want: want, partner: partner, owner: owner, classes: numbered(want, numbers)}
		p.augment()
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

// pairing finds more pairs if a wanted call matches calls with more arguments. Equal wanted calls are one
// class: what a call of the class matches, and whether it can have a partner, is found once.
type pairing struct {
	got, want      Trajectory
	partner, owner []int // as in pair
	classes        []int // of the wanted calls

	fits     map[int][]int  // of a class: the calls of got that match
	free     map[int]int    // of a class: the calls in fits before this index have an owner
	search   int            // number of the search for a partner
	searched map[int]int    // of a class: the last search that came to it
	places   map[leaf][]int // calls of got
}

// A leaf is a value in the arguments of a call that is neither an object nor a list. The zero pointer
// is for all calls of the tool.
type leaf struct{ tool, pointer, value string }

// augment finds partners by augmenting paths, for wanted calls with arguments that have none.
func (p *pairing) augment() {
	p.fits, p.free, p.searched, p.places = map[int][]int{}, map[int]int{}, map[int]int{}, map[leaf][]int{}
	for g, c := range p.got {
		p.places[leaf{tool: c.Tool}] = append(p.places[leaf{tool: c.Tool}], g)
		for l := range c.leaves() {
			p.places[l] = append(p.places[l], g)
		}
	}
	hopeless := map[int]bool{}
	for i, c := range p.want {
		if class := p.classes[i]; p.partner[i] < 0 && c.Arguments != nil && !hopeless[class] {
			p.search++
			hopeless[class] = !p.find(i) // what has no partner now has none later
		}
	}
}

// find gives a wanted call a partner, if need be by giving others another one.
func (p *pairing) find(i int) bool {
	class := p.classes[i]
	if p.searched[class] == p.search {
		return false
	}
	fits := p.fit(i)
	for ; p.free[class] < len(fits); p.free[class]++ {
		if g := fits[p.free[class]]; p.owner[g] < 0 {
			p.partner[i], p.owner[g] = g, i
			return true
		}
	}
	p.searched[class] = p.search
	for _, g := range fits {
		if p.find(p.owner[g]) {
			p.partner[i], p.owner[g] = g, i
			return true
		}
	}
	return false
}

// fit returns the calls that have all that a wanted one has. It compares those that have its rarest leaf.
func (p *pairing) fit(i int) []int {
	fits, known := p.fits[p.classes[i]]
	if known {
		return fits
	}
	rarest := p.places[leaf{tool: p.want[i].Tool}]
	for l := range p.want[i].leaves() {
		if at := p.places[l]; len(at) < len(rarest) {
			rarest = at
		}
	}
	for _, g := range rarest {
		if (Match{Partial: true}).same(p.got[g], p.want[i]) {
			fits = append(fits, g)
		}
	}
	p.fits[p.classes[i]] = fits
	return fits
}

func (c Call) leaves() iter.Seq[leaf] {
	return func(yield func(leaf) bool) {
		var walk func(n *rawjson.Node, pointer string) bool
		walk = func(n *rawjson.Node, pointer string) bool {
			for i, inner := range n.Nodes {
				if !walk(inner, pointer+token(n, i)) {
					return false
				}
			}
			kind := rawjson.Kind(n.Text)
			return kind == '{' || kind == '[' || yield(leaf{c.Tool, pointer, string(n.Text)})
		}
		if c.Arguments != nil {
			walk(rawjson.Parse(json.RawMessage(rawjson.Key(c.Arguments))), "")
		}
	}
}

// token returns the last token of the pointer to a member or element.
func token(n *rawjson.Node, i int) string {
	if rawjson.Kind(n.Text) == '{' {
		return rawjson.Token(n.Nodes[i].Name)
	}
	return "/" + strconv.Itoa(i)
}

// same reports whether a call is as wanted. Both are without what is ignored.
func (m Match) same(got, want Call) bool {
	switch {
	case got.Tool != want.Tool:
		return false
	case want.Arguments == nil:
		return true
	case m.Partial:
		return rawjson.Contains(got.Arguments, want.Arguments)
	}
	return rawjson.Equal(got.Arguments, want.Arguments)
}

// compared returns the calls without the arguments that are ignored.
func (m Match) compared(calls Trajectory) Trajectory {
	if len(m.Ignore) == 0 {
		return calls
	}
	calls = slices.Clone(calls)
	for i, c := range calls {
		if c.Arguments != nil {
			whole := rawjson.Parse(c.Arguments)
			m.strip(whole, c.Tool, "")
			calls[i].Arguments = whole.Append(nil)
		}
	}
	return calls
}

// strip removes the members that are ignored. An element becomes null: the others keep their places.
func (m Match) strip(n *rawjson.Node, tool, pointer string) {
	kept := make([]*rawjson.Node, 0, len(n.Nodes))
	for i, inner := range n.Nodes {
		at := pointer + token(n, i)
		switch {
		case !slices.Contains(m.Ignore, at) && !slices.Contains(m.Ignore, tool+at):
			m.strip(inner, tool, at)
			kept = append(kept, inner)
		case rawjson.Kind(n.Text) == '[':
			kept = append(kept, &rawjson.Node{Text: json.RawMessage("null")})
		}
	}
	n.Nodes = kept
}

// Grader returns a grader that checks the trajectory of a run. want returns the wanted trajectory of
// a case, for example from a column of its row, or an error, with which the run fails.
func (m Match) Grader(want func(Case) (Trajectory, error)) Grader {
	return func(_ context.Context, c Case, result *dispatchtest.Result) error {
		wanted, err := want(c)
		if err != nil {
			return err
		}
		got := TrajectoryOf(result)
		if err := m.Check(got, wanted); err != nil {
			return &mismatch{err.Error(), wanted.lines(), got.lines()}
		}
		return nil
	}
}
