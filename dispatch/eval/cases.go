package eval

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/text"
	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// Case is a task with a name. [Run] runs it.
type Case struct {
	// ID identifies the case within an experiment, and across experiments. If ID is "", [Run] uses
	// Name, with a number if several cases have it.
	ID   string
	Name string // for reports

	// Group is the same for cases that belong together, such as paraphrases of one task. If it is "",
	// the case stands alone. See [Figure]. Without groups, and with five paraphrases of each task,
	// a 95 % interval contains the truth in about 70 %.
	Group string

	// Trials is how often the case runs, at most 10,000. If it is 0, Options.Trials says so.
	Trials int

	// Columns contains the cells with text in the columns that the platform does not read, such as says.
	// Graders, a [User], [Dataset.Expect] and [Experiment].SliceBy see what the caller changes in it. In a
	// case without a row it may contain any columns, expected_outcome and user_simulator_persona too. It is
	// nil in an experiment of [Load], where the caller may add columns, such as verdicts for
	// [Experiment.Agreement].
	Columns map[string]string

	Task dispatchtest.Task

	row      *row      // of a dataset or of a file of results; nil for others
	world    string    // a hash of the base world; "" if Task has it
	baseSeed uint64    // of that world
	recorder *recorder // of scores, while a trial is graded

	expects []expectation // of its row; nil without Dataset.Expect
	ignored []string      // columns of the row that reports do not mention
}

// Cases makes a case of each row. Its task is a copy of base with the row's instruction, input,
// conversation and world. The world is base's, with the row's failure rules before its own. If the
// row has a state, it replaces the world's. The ids of task and run are the number of the row. Of
// base.Conversation only ReplayTools is used, for rows that are sessions.
//
// The id of a case is the row's cell in the column id. A row without one gets an id made of its
// content, which stays the same when other rows are added, moved or removed. The name of a case begins
// with the id, or with the number of the row, which changes with the rows before it. The group of a case
// is the cell in the column group, and the cell in the column trials is how often it runs.
//
// The agent does not see the state of a row. To send the state as the input of rows without a
// current_state, set Task.Input of each case to its cell in the column state.
//
// opts configures the proxy of the cases. It may be nil. Cases compiles each distinct world once.
// The error is an [*Error] with everything in the rows that does not fit the ledger schema and the
// tools of base, or with the error of [proxytest.New] for the base world. If base has a Platform,
// rows cannot have worlds of their own.
//
// Rows that need the platform, or a [User] if there is none, are cases too; [Run] skips them. The
// column behavior becomes the BehaviorInstructions of the row's world, for its Simulator.
func (d *Dataset) Cases(base dispatchtest.Task, opts *proxytest.Options) ([]Case, error) {
	cases := make([]Case, len(d.rows))
	problems := problems{}
	worlds := d.worlds(base, opts, &problems)
	ids, trials := d.ids(&problems), d.trials(&problems)
	slices.SortStableFunc(problems.Found, func(a, b Problem) int { return cmp.Compare(a.Row, b.Row) })
	if err := problems.err(); err != nil {
		return nil, err
	}
	world := ""
	if base.Platform == nil {
		world = worldDigest(base.World)
	}
	for i := range d.rows {
		row := &d.rows[i]
		task := base
		task.ID, task.Instruction, task.Conversation = int64(row.Number), row.User, nil
		if row.Conversation != nil {
			talk := *row.Conversation
			talk.ReplayTools = base.Conversation != nil && base.Conversation.ReplayTools
			task.Conversation = &talk
		}
		if row.Input != nil {
			task.Input = row.Input
		}
		if base.Platform == nil {
			task.World, task.Platform = proxytest.World{}, worlds[i]
		}
		cases[i] = Case{
			ID: ids[i], Name: row.name(), Group: strings.TrimSpace(row.Extra["group"]), Trials: trials[i], Columns: maps.Clone(row.Extra), Task: task,
			row: row, world: world, baseSeed: base.World.Seed,
		}
	}
	return cases, nil
}

// Cell returns the text of the cell in a column of the row or in Columns, without white space around it. It
// is "" if there is none. An empty cell of a row in expected_outcome means completion. In an experiment of
// [Load] a cell has at most 200 bytes, and the cells of columns without slices, see [Experiment].SliceBy,
// are "".
func (c Case) Cell(column string) string {
	r := c.data()
	if r == nil {
		return ""
	}
	switch cell := strings.TrimSpace(r.Extra[column]); {
	case cell != "":
		return cell
	case column == "user":
		return strings.TrimSpace(r.User)
	case column == "behavior":
		return strings.TrimSpace(r.Behavior)
	case column == "state":
		return string(r.State)
	case column == "failure_rules":
		return r.rules
	case column == "scripted_user_turns":
		return r.script
	case column == "current_state":
		return string(r.Input)
	case column == "tracked_constraints":
		return string(r.TrackedConstraints)
	case column == "user_simulator_persona" && r.Persona != "":
		return r.Persona
	}
	return r.cell(column)
}

// data returns the cells of the case: the row's, if there is a row, with Columns as the caller has set it. It
// returns nil if no cell is known.
func (c *Case) data() *row {
	if c.row == nil && len(c.Columns) == 0 {
		return nil
	}
	var r row
	if c.row != nil {
		r = *c.row
	}
	r.Extra = c.Columns
	r.ExpectedOutcome = cmp.Or(r.ExpectedOutcome, strings.TrimSpace(r.Extra["expected_outcome"]))
	r.Persona = cmp.Or(r.Persona, strings.TrimSpace(r.Extra["user_simulator_persona"]))
	return &r
}

// name returns the row's id, or its number if it has none, with its column name or else its
// instruction. So the name of a row with an id stays the same when other rows are added or moved.
func (r *row) name() string {
	label := fmt.Sprintf("row %d", r.Number)
	if id := text.Line(r.Extra["id"], 40); id != "" {
		label = id
	}
	name := text.Line(cmp.Or(r.Extra["name"], r.User), 60)
	if name == "" {
		return label
	}
	return label + ": " + name
}

// trials returns how often each row runs; 0 if it does not say so.
func (d *Dataset) trials(problems *problems) []int {
	list := make([]int, len(d.rows))
	for i := range d.rows {
		row := &d.rows[i]
		cell := strings.TrimSpace(row.Extra["trials"])
		if cell == "" {
			continue
		}
		n, err := strconv.Atoi(cell)
		if err != nil || n < 1 || n > maxTrials {
			problems.Put(row.problem(invalidCell, "trials", "%s is not a number of trials, from 1 to %d", shown(cell), maxTrials))
		}
		list[i] = n
	}
	return list
}

// maxID is the limit of the cells id and group in bytes: they are in addresses, and in each result.
const maxID = 200

// ids returns the id of each row.
func (d *Dataset) ids(problems *problems) []string {
	ids, rows := make([]string, len(d.rows)), map[string]int{}
	for i := range d.rows {
		row := &d.rows[i]
		for _, column := range []string{"id", "group"} {
			if n := len(row.Extra[column]); n > maxID {
				problems.Put(row.problem(invalidCell, column, "the cell has %d bytes, at most %d are allowed in this column", n, maxID))
			}
		}
		if ids[i] = strings.TrimSpace(row.Extra["id"]); ids[i] == "" {
			continue
		}
		if other := rows[ids[i]]; other > 0 {
			problems.Put(row.problem(invalidCell, "id", "row %d has the same id %s: ids are unique", other, shown(ids[i])))
		} else {
			rows[ids[i]] = row.Number
		}
	}
	unique := uniqueNames(ids)
	for i := range d.rows {
		if ids[i] == "" {
			ids[i] = unique(digest(d.rows[i].content()))
		}
	}
	return ids
}

// digest returns a short hash of a value as JSON.
func digest(value any) string { return hash(value)[:12] }

// hash returns a hash of a value as JSON.
func hash(value any) string {
	text, err := rawjson.Encode(value)
	if err != nil {
		text = fmt.Appendf(nil, "%#v", value) // a value of the caller that is not JSON
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// uniqueNames returns a function that makes a name different from those that are taken and from
// those that it has returned.
func uniqueNames(taken []string) func(name string) string {
	used := map[string]bool{}
	for _, name := range taken {
		used[name] = true
	}
	next := map[string]int{}
	return func(name string) string {
		made := name
		for n := max(next[name], 2); used[made]; n++ {
			made, next[name] = fmt.Sprintf("%s-%d", name, n), n+1
		}
		used[made] = true
		return made
	}
}

// rowWorld is a world that one row or more have.
type rowWorld struct {
	world    proxytest.World
	platform *proxytest.Platform
	err      error
}

// worlds compiles the distinct worlds of the rows and returns the platform of each row.
func (d *Dataset) worlds(base dispatchtest.Task, opts *proxytest.Options, problems *problems) []*proxytest.Platform {
	if base.Platform != nil {
		for i := range d.rows {
			if row := &d.rows[i]; row.State != nil || len(row.FailureRules) > 0 {
				problems.Put(row.problem(invalidWorld, "", "the row has a state or failure rules, which cannot be used with Task.Platform: "+
					"set Task.World instead"))
			}
		}
		return nil
	}
	if base.ProxyURL != "" {
		problems.member(invalidWorld, "Task.ProxyURL", "it cannot be used with the worlds of a dataset: each run serves its own")
		return nil
	}
	compiled, err := proxytest.New(base.World, opts)
	if err != nil {
		problems.cause = err
		problems.member(invalidWorld, "Task.World", "%v", err)
		return nil
	}
	distinct, of := map[string]*rowWorld{}, make([]*rowWorld, len(d.rows))
	var list []*rowWorld
	for i := range d.rows {
		row := &d.rows[i]
		key := fmt.Sprintf("%s\x00%#v\x00%s", row.State, row.FailureRules, row.Behavior)
		if distinct[key] == nil {
			w := base.World
			if row.State != nil {
				w.InitialState = string(row.State)
			}
			w.FailureRules = slices.Concat(row.FailureRules, w.FailureRules)
			if row.Behavior != "" {
				w.BehaviorInstructions = row.Behavior
			}
			distinct[key] = &rowWorld{world: w}
			list = append(list, distinct[key])
		}
		of[i] = distinct[key]
	}
	eachInParallel(len(list), runtime.GOMAXPROCS(0), func(i int) {
		list[i].platform, list[i].err = compiled.With(list[i].world.InitialState, list[i].world.FailureRules,
			list[i].world.BehaviorInstructions)
	})
	platforms := make([]*proxytest.Platform, len(d.rows))
	for i, w := range of {
		platforms[i] = w.platform
		if w.err != nil {
			d.rows[i].misfit(compiled, base.World.LedgerSchema, w, problems)
		}
	}
	return platforms
}

// misfit reports which cells of a row do not fit the base world.
func (r *row) misfit(base *proxytest.Platform, schema *ledger.Schema, w *rowWorld, ps *problems) {
	before := ps.Len()
	if _, err := ledger.NewState(r.State, schema); err != nil {
		for _, text := range problemsOf(err) {
			ps.Put(r.problem(invalidWorld, "state", "%s", text))
		}
	}
	_, err := base.With("", w.world.FailureRules, "")
	for _, text := range problemsOf(err) {
		ps.Put(r.problem(invalidWorld, "failure_rules", "%s", text))
	}
	if ps.Len() == before { // it does not fit as a whole
		for _, text := range problemsOf(w.err) {
			ps.Put(r.problem(invalidWorld, "", "%s", text))
		}
	}
}

func (r *row) problem(code, column, format string, args ...any) Problem {
	return Problem{Code: code, Row: r.Number, Line: r.Line, Column: column, Message: fmt.Sprintf(format, args...)}
}

// apart calls do on a goroutine of its own, because functions of the caller may end it.
func apart(do func()) {
	var group sync.WaitGroup
	group.Go(do)
	group.Wait()
}

// eachInParallel calls do for 0 to n-1, each on its own goroutine, at most most at a time.
func eachInParallel(n, most int, do func(i int)) {
	var group sync.WaitGroup
	places := make(chan struct{}, most)
	for i := range n {
		places <- struct{}{}
		group.Go(func() {
			defer func() { <-places }()
			do(i)
		})
	}
	group.Wait()
}
