package eval

import (
	"bytes"
	"fmt"
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
	figures, s := e.whole(), e.Stats()
	if f := figureOf(figures, "always", ""); e.TrialsPerCase > 1 && f.Cases > 0 {
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
	if s.Retries > 0 {
		add("", "", "%s that ended in a fault ran again", text.Plural(s.Retries, "run"))
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

// facts returns how the rates differ, and then the decisions of the gates.
func (c *Comparisons) facts() (list []fact) {
	if n := len(c.Missing); n > 0 {
		list = append(list, fact{Name: text.Plural(n, "case") + " ran in one experiment only", Text: listed(c.Missing, maxListed)})
	}
	list = append(list, fact{Text: c.changes()})
	if without := c.rate(dropped, dropped); c.faulty() && without != nil {
		list = append(list, fact{Name: "faults dropped", Text: without.String()})
	}
	name := string(c.Verdict)
	if c.Reason != "" {
		name += " (" + c.Reason + ")"
	}
	list = append(list, fact{Name: name, Text: c.Rates[0].String(), Change: c.Verdict})
	for i := range c.Gates {
		list = append(list, fact{Name: "gate, " + c.Gates[i].bar(), Text: c.Gates[i].decision(), Property: "gate", Change: c.Gates[i].Verdict})
	}
	return list
}
