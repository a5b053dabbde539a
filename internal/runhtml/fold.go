package runhtml

import (
	"strings"

	"github.com/toolwire/toolwire/internal/text"
	"github.com/toolwire/toolwire/internal/timeline"
)

// fold makes the tree of the rows. The rows of a sub-agent are below one row of the kind SubAgent, at the
// place of the first. When an agent acts, the sub-agents below it have ended: if they act again, they have
// another such row. So rows are in the order of time, except for rows of agents that work at once.
func (r *Run) fold() {
	root, labels := &Row{}, map[string]bool{}
	for i := range r.Rows {
		row, agent := &r.Rows[i], root
		if row.Actor != "" {
			agent, labels[row.Actor] = root.find(row), true
		}
		agent.below = nil
		agent.add(row)
	}
	for _, row := range root.Rows {
		r.sum(row, r.Live || len(labels) == 1)
	}
	r.Tree = root.Rows
}

// find returns the sub-agent of a row, below the nearest of those at work whose labels begin its label.
func (r *Row) find(row *Row) *Row {
	for i := range len(row.Actor) + 1 {
		if i < len(row.Actor) && row.Actor[i] != '/' {
			continue
		}
		if next := r.below[row.Actor[:i]]; next != nil {
			r = next
		}
	}
	if r.Actor == row.Actor {
		return r
	}
	id := row.ID + "-agent"
	agent := &Row{Row: timeline.Row{Kind: SubAgent, Actor: row.Actor}, ID: id, Link: "#" + id, Since: row.Since}
	r.add(agent)
	if r.below == nil {
		r.below = map[string]*Row{}
	}
	r.below[row.Actor] = agent
	return agent
}

func (r *Row) add(row *Row) {
	if !row.Exchange() {
		row.Depth = min(r.Depth+1, 5)
	}
	r.Rows = append(r.Rows, row)
}

// sum counts what is below the row of a sub-agent. The rows are shown at first if one of them has failed,
// if sub-agents are among them, or if all is set.
func (r *Run) sum(agent *Row, all bool) {
	agent.Unfolded = all && agent.Kind == SubAgent
	for _, row := range agent.Rows {
		r.sum(row, all)
		agent.Took = max(agent.Took, row.Since+r.took(row)-agent.Since)
		agent.Calls, agent.Failed = agent.Calls+row.Calls, agent.Failed+row.Failed
		agent.InputTokens, agent.OutputTokens = agent.InputTokens+row.InputTokens, agent.OutputTokens+row.OutputTokens
		if row.Kind == timeline.Call {
			agent.Calls++
		}
		if row.failed() {
			agent.Failed++
		}
		agent.Unfolded = agent.Unfolded || row.Kind == SubAgent || agent.Failed > 0
	}
	if agent.Kind == SubAgent {
		agent.Bars = r.bars(agent)
	}
}

// failed reports whether a request of the row failed, or the ledger refused an update.
func (r *Row) failed() bool {
	for _, a := range r.Attempts {
		if !a.OK && !r.Open {
			return true
		}
	}
	return r.Kind == timeline.Model && !r.Open && r.Status/100 != 2 || r.Kind == timeline.Call && r.Result() && r.Reason != "" || r.Violated()
}

// Summary describes what is below the row of a sub-agent.
func (r *Row) Summary() string {
	words := []string{text.Plural(r.Calls, "call")}
	if r.Calls == 0 {
		words[0] = text.Plural(len(r.Rows), "event")
	}
	if r.Failed > 0 {
		words = append(words, text.Plural(r.Failed, "failure"))
	}
	if tokens := r.Tokens(); tokens != "" {
		words = append(words, tokens)
	}
	return strings.Join(append(words, timeline.Length(r.Took)), ", ")
}
