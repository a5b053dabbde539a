package eval

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolwire/toolwire/internal/terminal"
	"github.com/toolwire/toolwire/internal/text"
)

// fact is a line of a report, about an experiment or a comparison as a whole: of the summary, the page and
// Markdown, and a property of JUnit.
type fact struct {
	Name, Text string
	Property   string  // its name in JUnit; "" if a figure says the same
	Change     Verdict // of Name
}

// String returns the line.
func (f fact) String() string {
	if f.Name == "" {
		return f.Text
	}
	return f.Name + ": " + f.Text
}

func writeFacts(b *bytes.Buffer, colour bool, facts []fact) {
	for _, f := range facts {
		line := text.Line(f.String(), maxText)
		if f.Change != "" {
			line = strings.Replace(line, string(f.Change), terminal.Paint(colour, f.Change.style(), string(f.Change)), 1)
		}
		b.WriteString(line + "\n")
	}
}

// facts returns what all trials tell together.
func (e *Experiment) facts() (list []fact) {
	add := func(property, name, format string, args ...any) {
		list = append(list, fact{Name: name, Text: fmt.Sprintf(format, args...), Property: property})
	}
	figures, s := e.whole(), e.stats()
	if f := figureOf(figures, "always", ""); e.trialsPerCase() > 1 && f.Cases > 0 {
		add("", "cases that always passed", "%s", f)
	}
	how := ""
	if s.Faults > 0 {
		how = ", " + text.Plural(s.Faults, "fault")
		if s.UserFaults > 0 {
			how += fmt.Sprintf(" (%d of the user)", s.UserFaults)
		}
		how += " counted as failed"
	}
	for _, treated := range [][2]string{{counted, how}, {dropped, ", faults dropped"}} {
		if rate := passed(figures, treated[0]); rate != "" {
			add("", "trials that passed"+treated[1], "%s", rate)
		}
	}
	if e.MinRate > 0 {
		list = append(list, e.bar())
	}
	if line := e.untried(); line != "" {
		add("not_tried", "", "%s", line)
	}
	if e.added > 0 {
		looks := min(e.added+1, len(falsePasses))
		add("looks", "trials were added after others had ended", "at look %d a gate has passed up to %g %% of the candidates that are worse by the margin, and at the first look up to %g %%",
			e.added+1, falsePasses[looks-1], falsePasses[0])
	}
	if len(s.Statuses) > 0 {
		var counts []string
		for _, status := range slices.Sorted(maps.Keys(s.Statuses)) {
			counts = append(counts, fmt.Sprintf("%d in %s", status, text.Plural(s.Statuses[status], "trial")))
		}
		add("fault_statuses", "faults by the status of the endpoint", "%s", strings.Join(counts, ", "))
	}
	if s.Retries > 0 {
		list = append(list, e.retried(s.Retries, figureOf(figures, "rate", counted)))
	}
	list = append(list, e.checked()...)
	if ended := e.ended(); ended != "" {
		add("sessions_ended_by", "sessions ended by", "%s", ended)
	}
	return list
}

// passed returns the rate, and what the most trials of a case do together; "" if there is no rate.
func passed(figures []Figure, faults string) string {
	first := slices.IndexFunc(figures, func(f Figure) bool { return f.Name == "rate" && f.Faults == faults })
	if first < 0 || figures[first].Cases == 0 {
		return ""
	}
	line, last := figures[first].String(), first
	for last+2 < len(figures) && strings.HasPrefix(figures[last+1].Name, "all_of_") {
		last += 2
	}
	if k, is := strings.CutPrefix(figures[last].Name, "any_of_"); is {
		line += fmt.Sprintf("; all of %s: %s, any of %s: %s", k, figures[last-1], k, figures[last])
		if figures[last].Cases < figures[first].Cases {
			line += fmt.Sprintf(" in %s with %s trials", text.Plural(figures[last].Cases, "case"), k)
		}
	}
	return line
}

// falsePasses is how many of 100 candidates that are worse by the margin pass a gate at one of so many
// looks, with a trial of each case more at each. It is the most of 36 settings that a test simulates.
// There are no more looks in it than that.
var falsePasses = []float64{2.9, 4, 4.6, 5, 5.4}

// retried says what trials that ran again change: an agent that causes faults of its own gets another chance by them.
func (e *Experiment) retried(runs int, rate Figure) fact {
	f := fact{Name: text.Plural(runs, "run") + " that ended in a fault ran again"}
	if rate.Cases == 0 {
		return fact{Text: f.Name}
	}
	first, others := *e, *e
	first.Trials, others.Trials = slices.Clone(e.Trials), nil
	for i := range first.Trials {
		if t := &first.Trials[i]; t.retries == 0 {
			others.Trials = append(others.Trials, *t)
		} else if t.counts() {
			t.Verdict = Failed
		}
	}
	without, failed := others.Figure("rate"), first.Figure("rate")
	if f.Text = "with their trials as failed, the rate is " + failed.String(); without.Cases > 0 {
		f.Text += "; without them " + without.String()
	}
	if rate.Value-failed.Value >= 0.01 {
		f.Text += "; if the agent caused these faults, the rate is too high"
	}
	return f
}

// ended counts who ended the sessions; "" if there are none.
func (e *Experiment) ended() string {
	counts := map[string]int{}
	for i := range e.Trials {
		who, _, _ := strings.Cut(e.Trials[i].whoEnded(), ":")
		counts[who]++
	}
	var list []string
	for _, who := range []string{"user", "agent", "limit"} {
		if counts[who] > 0 {
			list = append(list, fmt.Sprintf("%s %d", who, counts[who]))
		}
	}
	return strings.Join(list, ", ")
}

// facts returns how the rates differ, then the decisions of the gates, and then what both say together.
func (c *Comparisons) facts() (list []fact) {
	if n := len(c.missing); n > 0 {
		list = append(list, fact{Name: text.Plural(n, "case") + " ran in one experiment only", Text: listed(c.missing, maxListed)})
	}
	list = append(list, fact{Text: c.changes()})
	if without := c.withoutFaults(); c.faulty() && without != nil {
		list = append(list, fact{Name: "faults dropped", Text: without.String()})
	}
	name := string(c.verdict)
	if c.reason != "" {
		name += " (" + c.reason + ")"
	}
	list = append(list, fact{Name: name, Text: c.rates[0].String(), Change: c.verdict})
	for i := range c.Gates {
		list = append(list, fact{Name: "gate, " + c.Gates[i].bar(), Text: c.Gates[i].decision(), Property: "gate", Change: c.Gates[i].Verdict})
	}
	return append(list, fact{Name: "together", Text: c.conclusion(), Property: "conclusion"})
}
