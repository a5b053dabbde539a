package eval_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/eval"
	"github.com/toolwire/toolwire/internal/cost"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// path reads a trajectory that is written as calls such as get{"id":1}, separated by blanks.
func path(text string) eval.Trajectory {
	t := eval.Trajectory{}
	for call := range strings.FieldsSeq(text) {
		c := eval.Call{Tool: call}
		if at := strings.IndexByte(call, '{'); at >= 0 {
			c.Tool, c.Arguments = call[:at], json.RawMessage(call[at:])
		}
		t = append(t, c)
	}
	return t
}

func TestMatch(t *testing.T) {
	strict, unordered, subset, superset := eval.Match{}, eval.Match{Mode: "unordered"}, eval.Match{Mode: "subset"}, eval.Match{Mode: "superset"}
	partial := func(m eval.Match) eval.Match { m.Partial = true; return m }
	ignoring := func(m eval.Match, list ...string) eval.Match { m.Ignore = list; return m }
	for _, tt := range []struct {
		match     eval.Match
		got, want string
		err       string // part of it; "" if it matches
	}{
		{strict, ``, ``, ""},
		{strict, `get{"id":1} refund{"id":1}`, `get{"id":1.0} refund{"id":1}`, ""},
		{eval.Match{Mode: "strict"}, `get{"a":1,"b":2}`, `get{"b":2,"a":1}`, ""},
		{strict, `get{"id":1}`, `get`, ""},
		{strict, `get{"id":1} refund{}`, `refund get`, "call 1 is get and not refund()"},
		{strict, `get{"id":1}`, `get get`, "call 2 is missing: get()"},
		{strict, `get{} get{}`, `get`, "call 2 is not wanted: get"},
		{strict, `get{"id":1,"note":"private"}`, `get{"id":1}`, `call 1 of get has other arguments than {"id":1}`},
		{strict, `get{"id":1}`, `get{"id":"1"}`, "other arguments"},
		{strict, `get{"ids":[1,2]}`, `get{"ids":[2,1]}`, "other arguments"},
		{strict, `get{"ids":[1,2]}`, `get{"ids":[1]}`, "other arguments"},
		{strict, `get{}`, `get{"id":1}`, "other arguments"},
		{partial(strict), `get{"id":1,"note":"x","by":{"a":1,"b":2},"l":[{"c":1,"d":2}]}`, `get{"id":1,"by":{"b":2},"l":[{"c":1}]}`, ""},
		{partial(strict), `get{"note":"x"}`, `get{"id":1}`, "other arguments"},
		{ignoring(strict, "/note", "/by/at"), `get{"id":1,"note":"x","by":{"at":3}}`, `get{"id":1,"by":{"at":4}}`, ""},
		{ignoring(strict, "/note"), `get{"id":1}`, `get{"id":1,"note":"x"}`, ""},
		{ignoring(strict, "get/note"), `get{"note":1}`, `get{"note":2}`, ""},
		{ignoring(strict, "get/note"), `set{"note":1}`, `set{"note":2}`, "other arguments"},
		{ignoring(strict, "/l/0/at"), `get{"l":[{"at":1},{"at":5}]}`, `get{"l":[{"at":2},{"at":5}]}`, ""},
		{ignoring(strict, "/a~1b"), `get{"a/b":1}`, `get{}`, ""},
		{unordered, `b{} a{}`, `a b`, ""},
		{unordered, `get{"id":1} get{"id":2}`, `get{"id":2} get{"id":1.0}`, ""},
		{unordered, `get{"id":1}`, `get{"id":1} get{"id":1}`, `call 2 of the wanted trajectory is missing: get({"id":1})`},
		{unordered, `get{"id":1} get{"id":2}`, `get get{"id":1}`, ""},
		{ignoring(unordered, "/note"), `get{"id":1,"note":1} get{"id":2}`, `get{"id":2,"note":3} get{"id":1}`, ""},
		{unordered, `b{} a{} a{}`, `a b`, "call 3 is not wanted: a"},
		{unordered, `a{}`, `a b{"x":1}`, `call 2 of the wanted trajectory is missing: b({"x":1})`},
		{subset, `a{}`, `a b`, ""},
		{subset, `a{} a{}`, `a b`, "call 2 is not wanted: a"},
		{subset, ``, `a`, ""},
		{superset, `c{} b{} a{}`, `a b`, ""},
		{superset, `c{} b{}`, `a b`, "call 1 of the wanted trajectory is missing: a()"},
		// the first wanted call fits both; taking the first that fits would leave the second without a partner
		{partial(unordered), `a{"x":1,"y":2} a{"x":1}`, `a{"x":1} a{"x":1,"y":2}`, ""},
		{partial(superset), `a{"x":1,"y":2} a{"x":1}`, `a{"x":1} a{"y":2}`, ""},
	} {
		err := tt.match.Check(path(tt.got), path(tt.want))
		if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%+v: %s against %s: %v", tt.match, tt.got, tt.want, err)
		}
		if err != nil && strings.Contains(err.Error(), "private") {
			t.Errorf("the error has arguments of the agent: %v", err)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("an unknown mode is accepted")
		}
	}()
	_ = eval.Match{Mode: "any"}.Check(nil, nil)
}

// The pairing is as good as the best of all assignments.
func TestPairingIsOptimal(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 4))
	differs := 0 // from taking the first that fits
	for range 3000 {
		var got, want eval.Trajectory
		for range random.IntN(6) {
			got = append(got, eval.Call{Tool: "t", Arguments: json.RawMessage(fmt.Sprintf(`{"a":%d,"b":%d}`, random.IntN(2), random.IntN(3)))})
		}
		for range random.IntN(6) {
			want = append(want, eval.Call{Tool: "t", Arguments: json.RawMessage([]string{`{"a":0}`, `{"a":1}`, `{"b":0}`, `{"b":1}`, `{}`}[random.IntN(5)])})
		}
		fits := func(g, w int) bool {
			return eval.Match{Partial: true}.Check(got[g:g+1], want[w:w+1]) == nil
		}
		var best func(w int, used int) int
		best = func(w, used int) int {
			if w == len(want) {
				return 0
			}
			most := best(w+1, used)
			for g := range got {
				if used&(1<<g) == 0 && fits(g, w) {
					most = max(most, 1+best(w+1, used|1<<g))
				}
			}
			return most
		}
		pairs := best(0, 0)
		greedy, used := 0, 0
		for w := range want {
			for g := range got {
				if used&(1<<g) == 0 && fits(g, w) {
					greedy, used = greedy+1, used|1<<g
					break
				}
			}
		}
		if greedy < pairs {
			differs++
		}
		for mode, matches := range map[string]bool{
			"superset": pairs == len(want), "subset": pairs == len(got), "unordered": pairs == len(want) && pairs == len(got),
		} {
			err := eval.Match{Mode: mode, Partial: true}.Check(got, want)
			if (err == nil) != matches {
				t.Fatalf("%s: %v against %v: %v, %d pairs are possible", mode, got, want, err, pairs)
			}
			wrong := 0
			if err != nil {
				wrong = strings.Count(err.Error(), "is missing:") + strings.Count(err.Error(), "is not wanted:")
			}
			if want := map[string]int{"superset": len(want) - pairs, "subset": len(got) - pairs, "unordered": len(want) + len(got) - 2*pairs}[mode]; wrong != want {
				t.Fatalf("%s: %v lists %d calls, want %d", mode, err, wrong, want)
			}
		}
	}
	if differs < 50 {
		t.Errorf("a greedy pairing is worse in %d cases only: the test does not tell them apart", differs)
	}
}

// The trajectory of a run is the calls with results, and a grader checks it against the row's trajectory.
func TestTrajectoryGrader(t *testing.T) {
	cases := casesOf(t, "user,calls\n"+
		"both,\"[{\"\"tool\"\":\"\"get_order\"\"}]\"\n"+
		"both,[]\n"+
		"call get_order,\"[{\"\"tool\"\":\"\"get_order\"\",\"\"arguments\"\":{\"\"order_id\"\":\"\"4522\"\"}}]\"\n"+
		"call get_order,[1]\n", dispatchtest.Task{World: proxytest.World{
		Behaviors: map[string]proxytest.Behavior{"get_order": proxytest.Canned("1"), "get_ordre": proxytest.Canned("2")},
	}})
	grade := eval.Match{Mode: "superset"}.Grader(func(c eval.Case) (eval.Trajectory, error) {
		return eval.ParseTrajectory([]byte(c.Columns["calls"]))
	})
	e := run(t, obedient, cases, &eval.Options{Grader: grade})
	if got := ended(e); got != ". . x x" || !strings.Contains(e.Trials[3].Reason, "the member tool is missing") {
		t.Error(got, e.Trials[3].Reason)
	}
	if got := fmt.Sprint(eval.TrajectoryOf(e.Trials[0].Result)); got != `[get_ordre({}) get_order({})]` {
		t.Error(got)
	}
	for text, want := range map[string]string{
		"": "not valid JSON", "{}": "is a list of calls", `[{"tool":"a","arguments":[]}]`: `call 1 of the trajectory: the member "arguments" is not known, or has another type`,
		`[{"tool":"a"},{"name":"b"}]`: `call 2 of the trajectory: the member "name"`, `[{"tool":"a","tool":"b"}]`: "not valid JSON",
	} {
		if _, err := eval.ParseTrajectory([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	parsed, err := eval.ParseTrajectory([]byte(`[{"tool":"a","arguments":{"x":1}},{"tool":"b"}]`))
	written, err2 := json.Marshal(parsed)
	if err := errors.Join(err, err2); err != nil || string(written) != `[{"tool":"a","arguments":{"x":1}},{"tool":"b"}]` {
		t.Errorf("%s, error %v", written, err)
	}
}

func TestDiff(t *testing.T) {
	for _, tt := range []struct{ a, b, want string }{
		{``, ``, ""},
		{`a{} b{}`, `a{} b{}`, ""},
		{`a{"x":1}`, `a{"x":1.0}`, ""},
		{`a{} b{} c{}`, `a{} c{}`, "- 2 b({})\n"},
		{`a{} c{}`, `a{} b{} c{}`, "+ 2 b({})\n"},
		{`a{"x":1,"y":2}`, `a{"x":2,"y":2}`, "~ 1 a /x: 1 -> 2\n"},
		{`a{"x":1}`, `a{}`, "~ 1 a /x: 1 -> nothing\n"},
		{`a{} b{"n":1} c{} d{}`, `b{"n":2} c{} d{} e{}`, "- 1 a({})\n~ 2 b /n: 1 -> 2\n+ 5 e({})\n"},
	} {
		a, b := path(tt.a), path(tt.b)
		if d := a.Diff(b); d != tt.want {
			t.Errorf("from %s to %s:\n%swant\n%s", tt.a, tt.b, d, tt.want)
		}
		if got, _, _ := eval.Apply(a, b); (eval.Match{}).Check(got, b) != nil {
			t.Errorf("from %s to %s: %v", tt.a, tt.b, got)
		}
	}
	long := make(eval.Trajectory, 3000)
	other := make(eval.Trajectory, 3000)
	for i := range long {
		long[i] = eval.Call{Tool: fmt.Sprintf("a%d", i)}
		other[i] = eval.Call{Tool: fmt.Sprintf("b%d", i)}
	}
	if got, _, _ := eval.Apply(long, other); (eval.Match{}).Check(got, other) != nil {
		t.Error("a long difference does not fit")
	}
}

// Applying a difference to one trajectory gives the other, and it is not longer than needed.
func FuzzDiff(f *testing.F) {
	f.Add([]byte("abcabba"), []byte("cbabac"))
	f.Add([]byte(""), []byte("aab"))
	f.Add([]byte("aAbB"), []byte("AaBb"))
	trajectory := func(data []byte) eval.Trajectory {
		t := eval.Trajectory{}
		for _, c := range data[:min(len(data), 60)] {
			call := eval.Call{Tool: string('a' + rune(c%4))}
			if n := c / 4 % 4; n > 0 {
				call.Arguments = json.RawMessage(fmt.Sprintf(`{"x":%d}`, n))
			}
			t = append(t, call)
		}
		return t
	}
	f.Fuzz(func(t *testing.T, one, two []byte) {
		a, b := trajectory(one), trajectory(two)
		got, removed, added := eval.Apply(a, b)
		if fmt.Sprint(got) != fmt.Sprint(b) {
			t.Fatalf("%v and %v: %v", a, b, got)
		}
		if common := longestCommon(a, b); len(a)-removed != common || len(b)-added != common {
			t.Fatalf("%v and %v: %d removed, %d added, %d are common", a, b, removed, added, common)
		}
	})
}

// longestCommon is the length of a longest common subsequence.
func longestCommon(a, b eval.Trajectory) int {
	row := make([]int, len(b)+1)
	for i := range a {
		diagonal := 0
		for j := range b {
			above := row[j+1]
			if a[i].String() == b[j].String() {
				row[j+1] = diagonal + 1
			} else {
				row[j+1] = max(row[j], above)
			}
			diagonal = above
		}
	}
	return row[len(b)]
}

// FuzzParseTrajectory checks that what is read is written and read again, and that the cost is linear.
func FuzzParseTrajectory(f *testing.F) {
	f.Add([]byte(`[{"tool":"a","arguments":{"x":[1,"2"]}},{"tool":"b"}]`))
	f.Add([]byte(`{"tool":"a","arguments":{}}`)) // one of a list
	f.Fuzz(func(t *testing.T, doc []byte) {
		cost.Linear(t, "ParseTrajectory", doc, cost.List("[", doc, "]"), func(doc []byte) {
			if _, err := eval.ParseTrajectory(doc); err != nil {
				_ = err.Error()
			}
		})
		calls, err := eval.ParseTrajectory(doc)
		if err != nil {
			return
		}
		text, err := json.Marshal(calls)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := eval.ParseTrajectory(text); err != nil || fmt.Sprint(again) != fmt.Sprint(calls) {
			t.Fatalf("%s was written as %s and read as %v, %v", doc, text, again, err)
		}
	})
}
