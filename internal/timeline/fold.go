package timeline

import "strings"

// branch is a sub-agent that is at work, with those below it by their labels.
type branch struct {
	row   *Row
	below map[string]*branch
}

// fold makes the tree of the rows. The rows of a sub-agent are below one row of the kind SubAgent, at the
// place of the first. When an agent acts, the sub-agents below it have ended: if they act again, they have
// another such row. So rows are in the order of time, except for those of agents that work at once.
func (r *Run) fold() {
	root := &branch{row: &Row{}}
	labels := map[string]bool{}
	for i := range r.Rows {
		row := &r.Rows[i]
		b := root
		if row.Actor != "" {
			b, labels[row.Actor] = root.find(row), true
		}
		b.below = nil
		b.add(row)
	}
	r.Tree = root.row.Rows
	for _, row := range r.Tree {
		r.sum(row, r.Live || len(labels) == 1)
	}
}

// find returns the branch of the label of a row.
func (b *branch) find(row *Row) *branch {
	for i := 0; i <= len(row.Actor); i++ {
		if i < len(row.Actor) && row.Actor[i] != '/' {
			continue
		}
		if next := b.below[row.Actor[:i]]; next != nil {
			b = next
		}
	}
	if b.row.Actor == row.Actor {
		return b
	}
	agent := &Row{
		Kind: SubAgent, ID: row.ID + "-agent", Link: "#" + row.ID + "-agent", Actor: row.Actor, At: row.At, Since: row.Since,
	}
	b.add(agent)
	if b.below == nil {
		b.below = map[string]*branch{}
	}
	b.below[row.Actor] = &branch{row: agent}
	return b.below[row.Actor]
}

func (b *branch) add(row *Row) {
	if !row.exchange() {
		row.Depth = min(b.row.Depth+1, 5)
	}
	b.row.Rows = append(b.row.Rows, row)
}

// sum sets what the row of a sub-agent says of the rows below it. They are shown at first if a request
// has failed, if sub-agents are among them, or if all is set.
func (r *Run) sum(row *Row, all bool) {
	if row.Kind != SubAgent {
		return
	}
	row.Unfolded = all
	for _, below := range row.Rows {
		r.sum(below, all)
		row.Took = max(row.Took, below.Since+r.took(below)-row.Since)
		row.Calls += below.Calls
		row.Failed += below.Failed
		if below.Kind == Call {
			row.Calls++
		}
		if below.failed() {
			row.Failed++
		}
		if below.Kind == SubAgent || row.Failed > 0 {
			row.Unfolded = true
		}
		row.InputTokens += below.InputTokens
		row.OutputTokens += below.OutputTokens
	}
	row.Bars = r.bars(row)
}

// failed reports whether a request of the row failed, or the ledger refused an update.
func (r *Row) failed() bool {
	if r.Open {
		return false
	}
	for _, a := range r.Attempts {
		if !a.OK {
			return true
		}
	}
	return r.Kind == Model && r.Status/100 != 2 || r.Kind == Call && r.Result() && r.Reason != "" || r.Violated()
}

// Summary describes the rows of a sub-agent.
func (r *Row) Summary() string {
	words := []string{Plural(r.Calls, "call")}
	if r.Calls == 0 {
		words[0] = Plural(len(r.Rows), "event")
	}
	if r.Failed > 0 {
		words = append(words, Plural(r.Failed, "failure"))
	}
	if tokens := r.Tokens(); tokens != "" {
		words = append(words, tokens)
	}
	return strings.Join(append(words, Length(r.Took)), ", ")
}
