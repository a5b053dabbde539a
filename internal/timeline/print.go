package timeline

import (
	"fmt"
	"strings"
	"time"

	"github.com/toolwire/toolwire/internal/terminal"
	"github.com/toolwire/toolwire/internal/text"
)

// How many characters of a text from outside are printed: of a value on a line, and of a reason.
const (
	maxValue  = 160
	maxReason = 500
)

// Print returns the rows as text for a terminal: a line for each row, and one for each response. Long
// texts are cut, with their length.
func Print(rows []Row) string {
	var b strings.Builder
	for i := range rows {
		rows[i].print(func(label, format string, args ...any) {
			b.WriteString(terminal.Entry(label, fmt.Sprintf(format, args...)))
		})
	}
	return b.String()
}

func (r *Row) print(line func(label, format string, args ...any)) {
	value := func(t Text) string { return text.Line(t.Shown, maxValue) }
	actor := ""
	if r.Actor != "" {
		actor = text.Line(r.Actor, maxValue) + ": "
	}
	name := actor + text.Line(r.Name, maxValue)
	switch r.Kind {
	case Ping, Answer:
		line(string(r.Kind), "%s", r.answer())
		for _, note := range r.Notes {
			line("contract", "%s", text.Line(note, maxReason))
		}
	case Dispatch:
		line("dispatch", "%s with input %s", text.Quote(r.Request.Shown, maxReason), value(r.Input))
	case Model:
		line("model", "%s%s", actor, r.model())
	case Wait:
		line("wait", "%s waited %s: %s", name, r.Took, text.Line(r.Reason, maxReason))
	case Trace, Telemetry:
		line(string(r.Kind), "%s %s", name, value(r.Request))
	case Call:
		line("call", "%s %s", name, value(r.Request))
		r.printCall(line, value(r.Response))
	default:
		line("trace", "%s %s", name, value(r.Request))
		r.printCall(line, "")
	}
}

// printCall prints what came of the attempts of a call.
func (r *Row) printCall(line func(label, format string, args ...any), response string) {
	for i, a := range r.Attempts {
		begin := "->"
		if i > 0 {
			begin = fmt.Sprintf("-> attempt %d:", a.N)
		}
		switch reason := text.Line(a.Reason, maxReason); {
		case a.OK:
			line("", "%s %s  (%s, %s)", begin, response, text.Line(r.Source, maxValue), milliseconds(a.Took, 2))
		case a.Status == 0:
			line("", "%s no answer: %s  (%s)", begin, reason, milliseconds(a.Took, 2))
		default:
			status := strings.TrimSuffix(fmt.Sprintf("%d %s", a.Status, text.Line(a.Class, maxValue)), " ")
			line("", "%s %s: %s  (%s)", begin, status, reason, milliseconds(a.Took, 2))
		}
	}
	for _, note := range r.Notes {
		line("", "   %s", text.Line(note, maxReason))
	}
	for _, w := range r.Writes {
		if len(w.Violations) > 0 {
			s := strings.Join(append([]string{w.What + " - " + w.Result}, w.Violations...), "\n  ")
			line("", "   ledger: %s", text.Line(s, maxReason))
		}
	}
}

// answer describes a response of the agent. Of a failure whose error is known it has the code.
func (r *Row) answer() string {
	most := maxValue
	if r.Status >= 300 {
		most = maxReason
	}
	s := text.Line(strings.TrimSpace(r.Response.Shown), most)
	switch {
	case r.Status == 0:
		return "no answer"
	case s == "":
		s = "with an empty body"
	case r.Name != "":
		s = text.Name(r.Name)
	}
	return fmt.Sprintf("%d %s  (%s)", r.Status, s, milliseconds(r.Took, 1))
}

// model describes a request to a model.
func (r *Row) model() string {
	s := text.Line(r.Model, maxValue)
	if s == "" {
		s = "a model that is not named"
	}
	switch {
	case r.Status == 0:
		s += " -> no answer"
	case r.Status/100 != 2:
		s += fmt.Sprintf(" -> %d", r.Status)
	}
	if tokens := r.Tokens(); tokens != "" {
		s += ", " + tokens
	}
	return fmt.Sprintf("%s  (%s)", s, milliseconds(r.Took, 1))
}

// Tokens describes the tokens of a row, or is "".
func (r *Row) Tokens() string {
	if r.InputTokens == 0 && r.OutputTokens == 0 {
		return ""
	}
	return fmt.Sprintf("%d tokens in, %d out", r.InputTokens, r.OutputTokens)
}

func milliseconds(d time.Duration, digits int) string {
	return fmt.Sprintf("%.*f ms", digits, float64(d)/float64(time.Millisecond))
}

// Milliseconds returns a duration in milliseconds as a Duration.
func Milliseconds(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }

// Length formats a duration for people.
func Length(d time.Duration) string {
	switch {
	case d < 10*time.Microsecond:
		return "0 ms"
	case d < time.Millisecond:
		return fmt.Sprintf("%.2f ms", float64(d)/float64(time.Millisecond))
	case d < 100*time.Millisecond:
		return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.2f s", d.Seconds())
	}
	return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
}
