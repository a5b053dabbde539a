package dispatchtest

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/toolwire/toolwire/internal/terminal"
	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// Case is a task with a name, one of those that [RunSet] runs.
type Case struct {
	Name string // for reports
	Row  *Row   // the row of the dataset it comes from; nil for a case made by hand
	Task Task
}

// CaseOptions configures [Dataset.Cases]. The zero value of every field is its default.
type CaseOptions struct {
	// StateAsInput makes the row's state the task's input, input.input, where the row has no current_state. Default: the
	// agent does not see the state, and learns about the world from its tools. "Porting without the SDK" calls that member
	// the row's current_state and shows no world in it; whether the platform fills it from the column state is not
	// documented.
	StateAsInput bool

	// Platform configures the proxy of the rows.
	Platform *proxytest.Options
}

// Cases makes a task of every row: a copy of base with the row's instruction, input, conversation, and world. That is the
// base world with the row's state in the place of its own, if the row has one, and with the row's failure rules before its
// own. Task and run have the row's number as their ids. Of base.Conversation only ReplayTools counts, for the rows that
// are sessions. opts may be nil.
//
// Every world is compiled, once for all rows that have the same. So it is here that a row's state has to fit the ledger
// schema and its failure rules the tools: the error is a [*DatasetError] with all that do not, or that of [proxytest.New]
// if the base world is at fault. A base with a Platform has its world already and takes only rows without one.
//
// What needs the platform is not hidden: such rows are cases, too, which [RunSet] skips. The column behavior is for a
// simulating backend, that is for the caller's [proxytest.Behavior] functions, and never sent to the agent.
func (d *Dataset) Cases(base Task, opts *CaseOptions) ([]Case, error) {
	var o CaseOptions
	if opts != nil {
		o = *opts
	}
	cases := make([]Case, len(d.Rows))
	worlds, err := d.worlds(base, o.Platform)
	if err != nil {
		return nil, err
	}
	for i := range d.Rows {
		row := &d.Rows[i]
		task := base
		task.ID, task.Instruction, task.Conversation = int64(row.Number), row.User, nil
		if row.Conversation != nil {
			talk := *row.Conversation
			talk.ReplayTools = base.Conversation != nil && base.Conversation.ReplayTools
			task.Conversation = &talk
		}
		switch {
		case row.Input != nil:
			task.Input = row.Input
		case row.State != nil && o.StateAsInput:
			task.Input = row.State
		}
		if base.Platform == nil {
			task.World, task.Platform = proxytest.World{}, worlds[i]
		}
		cases[i] = Case{Name: row.name(), Row: row, Task: task}
	}
	return cases, nil
}

// name is what a row is called: by its column name, if it has one, or else by its instruction.
func (r *Row) name() string {
	name := r.Extra["name"]
	if name == "" {
		name = r.User
	}
	name = strings.Join(strings.Fields(name), " ")
	if name == "" {
		return fmt.Sprintf("row %d", r.Number)
	}
	return fmt.Sprintf("row %d: %s", r.Number, terminal.Cut(name, 60))
}

// rowWorld is a world that one row or more have.
type rowWorld struct {
	world    proxytest.World
	platform *proxytest.Platform
	err      error
}

// worlds compiles the distinct worlds of the rows and returns the platform of each row.
func (d *Dataset) worlds(base Task, opts *proxytest.Options) ([]*proxytest.Platform, error) {
	problems := datasetProblems{most: (*DatasetOptions)(nil).orDefault().MaxProblems}
	if base.Platform != nil {
		for i := range d.Rows {
			if row := &d.Rows[i]; row.State != nil || len(row.FailureRules) > 0 {
				problems.add(row.problem("", "the row has a world of its own, which does not go with Task.Platform: "+
					"give the base a World instead"))
			}
		}
		return nil, problems.err()
	}
	if base.ProxyURL != "" {
		return nil, errors.New("dispatchtest: Task.ProxyURL does not go with the worlds of a dataset, which are served run by run")
	}
	compiled, err := proxytest.New(base.World, opts)
	if err != nil {
		return nil, fmt.Errorf("dispatchtest: the base world: %w", err)
	}
	distinct, of := map[string]*rowWorld{}, make([]*rowWorld, len(d.Rows))
	var list []*rowWorld
	for i := range d.Rows {
		row := &d.Rows[i]
		key := fmt.Sprintf("%s\x00%#v", row.State, row.FailureRules)
		if distinct[key] == nil {
			w := base.World
			if row.State != nil {
				w.InitialState = string(row.State)
			}
			w.FailureRules = slices.Concat(row.FailureRules, w.FailureRules)
			distinct[key] = &rowWorld{world: w}
			list = append(list, distinct[key])
		}
		of[i] = distinct[key]
	}
	eachInParallel(len(list), runtime.GOMAXPROCS(0), func(i int) {
		list[i].platform, list[i].err = compiled.With(list[i].world.InitialState, list[i].world.FailureRules)
	})
	platforms := make([]*proxytest.Platform, len(d.Rows))
	for i, w := range of {
		platforms[i] = w.platform
		if w.err != nil {
			d.Rows[i].misfit(compiled, base.World.LedgerSchema, w.world.FailureRules, &problems)
		}
	}
	return platforms, problems.err()
}

// misfit reports which cells of a row do not fit the base world.
func (r *Row) misfit(base *proxytest.Platform, schema *ledger.Schema, rules []proxytest.FailureRule, problems *datasetProblems) {
	if _, err := ledger.NewState(r.State, schema); err != nil {
		for _, p := range stateProblems(err) {
			problems.add(r.problem("state", p.String()))
		}
	}
	_, err := base.With("", rules)
	for _, text := range worldProblems(err) {
		problems.add(r.problem("failure_rules", text))
	}
}

func (r *Row) problem(column, message string) DatasetProblem {
	return DatasetProblem{Code: DatasetWorld, Row: r.Number, Line: r.Line, Column: column, Message: message}
}

// eachInParallel calls do for 0 to n-1, at most most at once, each on a goroutine of its own.
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
