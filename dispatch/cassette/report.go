package cassette

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/text"
)

// A Deviation is one difference between a run and its tape. It contains arguments and results, in
// which secrets are redacted.
//
// Code is one of these:
//
//	changed      a call on the tape was made with other arguments, or by another sub-agent
//	not_on_tape  a call is not on the tape, or not as often
//	never_made   a call on the tape was not made
//	order        a call was made after one that follows it on the tape
//	response     the proxy sent another response, in the mode Compare
//	failed       a request could not be answered, forwarded or recorded; Message says why
type Deviation struct {
	Code    string `json:"code"`
	Message string `json:"message"` // one sentence, without values

	// Run is the request of the run. Its Number counts the requests of the run. Run is nil if the
	// deviation has no request.
	Run *Interaction `json:"run,omitempty"`

	// Tape is the interaction on the tape, or for not_on_tape the one that is most like the
	// request. It may be nil.
	Tape *Interaction `json:"tape,omitempty"`

	// Diff lists where the arguments differ, or for the code response where the responses differ.
	Diff []Difference `json:"diff,omitempty"`
}

// The codes of a [Deviation].
const (
	deviationChanged   = "changed"
	deviationNotOnTape = "not_on_tape"
	deviationNeverMade = "never_made"
	deviationOrder     = "order"
	deviationResponse  = "response"
	deviationFailed    = "failed"
)

// A Report lists how a run deviates from its tape. In the mode [Record] only the code failed
// occurs.
type Report struct {
	Path       string      `json:"path"`
	Mode       Mode        `json:"mode"`
	Matched    int         `json:"matched"` // requests that are on the tape
	Deviations []Deviation `json:"deviations,omitempty"`
}

// OK reports whether there are no deviations.
func (r *Report) OK() bool { return len(r.Deviations) == 0 }

// String returns the report for people, with the place of each difference. It is safe to print to a
// terminal.
func (r Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "cassette %s, %s: %s on the tape, %s\n", text.Line(r.Path, maxMessage), r.Mode,
		text.Plural(r.Matched, "request"), text.Plural(len(r.Deviations), "deviation"))
	for i, d := range r.Deviations {
		fmt.Fprintf(&b, "%d. %s: %s\n", i+1, strings.ReplaceAll(d.Code, "_", " "), text.Line(d.Message, maxMessage))
		if d.Run != nil {
			fmt.Fprintf(&b, "     run   %s\n", d.Run.summary())
		}
		if d.Tape != nil {
			fmt.Fprintf(&b, "     tape  %s, line %d\n", d.Tape.summary(), d.Tape.Line)
		}
		for n, change := range d.Diff {
			if n == maxChanges {
				fmt.Fprintf(&b, "       and %s more\n", text.Plural(len(d.Diff)-n, "difference"))
				break
			}
			lines := change.textual()
			if lines == nil {
				fmt.Fprintf(&b, "       %s\n", change.line())
				continue
			}
			fmt.Fprintf(&b, "       %s, - on the tape, + in the run:\n", text.Line(change.Pointer, maxShown))
			for _, line := range lines {
				fmt.Fprintf(&b, "         %s\n", line)
			}
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

const (
	maxChanges = 12
	maxLines   = 6    // of a text, of each side
	maxShown   = 160  // characters of a value
	maxMessage = 1000 // characters of a message
)

// textual returns the lines in which two texts differ, as - and + lines, or nil if they are values that are
// shown on one line.
func (d Difference) textual() (lines []string) {
	if rawjson.Kind(d.Tape) != '"' || rawjson.Kind(d.Run) != '"' {
		return nil
	}
	tape, run := rawjson.Unquote(d.Tape), rawjson.Unquote(d.Run)
	if max(len(tape), len(run)) < 40 {
		return nil
	}
	before, after := strings.Split(tape, "\n"), strings.Split(run, "\n")
	for len(before) > 1 && len(after) > 1 && before[0] == after[0] {
		before, after = before[1:], after[1:]
	}
	for len(before) > 1 && len(after) > 1 && before[len(before)-1] == after[len(after)-1] {
		before, after = before[:len(before)-1], after[:len(after)-1]
	}
	from := 0 // where the first lines differ, in bytes
	for from < min(len(before[0]), len(after[0])) && before[0][from] == after[0][from] {
		from++
	}
	show := func(list []string, as func(string, int) string) (shown []string) {
		for i, line := range list[:min(len(list), maxLines)] {
			if i == 0 && from > maxShown/2 {
				line = "…" + strings.ToValidUTF8(line[from-maxShown/4:], "")
			}
			shown = append(shown, as(line, maxShown))
		}
		if more := len(list) - maxLines; more > 0 {
			shown = append(shown, "and "+text.Plural(more, "more line"))
		}
		return shown
	}
	removed, added := show(before, text.Line), show(after, text.Line)
	if slices.Equal(removed, added) { // white space differs
		removed, added = show(before, text.Quote), show(after, text.Quote)
	}
	for _, line := range removed {
		lines = append(lines, "- "+line)
	}
	for _, line := range added {
		lines = append(lines, "+ "+line)
	}
	return lines
}

// line returns the difference on one line, with values of up to 160 characters.
func (d Difference) line() string {
	return fmt.Sprintf("%s: %s on the tape, %s in the run", text.Line(cmp.Or(d.Pointer, "the whole"), maxShown), short(d.Tape), short(d.Run))
}

func short(v json.RawMessage) string {
	if v == nil {
		return "nothing"
	}
	return text.Line(string(v), maxShown)
}

// summary returns the request on one line.
func (i *Interaction) summary() string {
	s := text.Line(i.Name, maxShown)
	switch i.Kind {
	case kindTrace:
		s = "trace event " + s
	case kindModel:
		s = "model " + s
	}
	if i.method() != http.MethodPost {
		s = text.Line(i.Method, maxShown) + " " + s
	}
	if i.Actor != "" {
		s += " by " + text.Line(i.Actor, maxShown)
	}
	switch {
	case i.Arguments != nil:
		s += " " + short(i.Arguments)
	case i.ArgumentsText != "":
		s += " " + text.Quote(i.ArgumentsText, maxShown)
	}
	return s
}

// places returns the pointers of changes, at most five.
func places(changes []Difference) string {
	var names []string
	for i, change := range changes {
		if i == 5 {
			names = append(names, "…")
			break
		}
		names = append(names, cmp.Or(change.Pointer, "the whole"))
	}
	return strings.Join(names, ", ")
}

// Report compares what has happened so far with the tape. It reports calls that have not been made
// yet as never_made. Its deviations are in the order of the run, and after them what the run left
// out.
func (c *Cassette) Report() *Report {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := &Report{Path: c.path, Mode: c.set.Mode}
	for _, problem := range c.problems {
		r.Deviations = append(r.Deviations, Deviation{Code: deviationFailed, Message: problem})
	}
	if c.playback == nil {
		return r
	}
	strays := 0
	for _, s := range c.seen {
		if s.stray() {
			strays++
		}
	}
	limit := min(maxCompared, maxReported/max(1, strays))
	strict := c.set.Mode != ReplayOrForward // which forwards what is not on the tape
	left := c.playback.left()
	for _, s := range c.seen {
		switch {
		case s.answer != nil:
			r.Matched++
			if c.set.Mode == Compare && s.Kind != kindModel {
				r.compare(c.set, s)
			}
		case s.deviation != nil:
			r.Deviations = append(r.Deviations, *s.deviation)
		case strict && s.stray():
			r.unexpected(c.playback, left, s, limit)
		}
	}
	if strict {
		r.order(c.seen, c.answered)
		r.neverMade(left)
		if c.models {
			r.neverAsked(c.playback)
		}
	}
	return r
}

// neverAsked reports the requests to models on the tape that the run did not make, in one deviation for
// each kind.
func (r *Report) neverAsked(d *playback) {
	first, count := map[target]*taped{}, map[target]int{}
	var kinds []target
	for _, c := range d.calls {
		if c.Kind != kindModel || c.taken || c.shown || c.superseded || c.Broken == brokenAbandoned {
			continue
		}
		kind := c.target()
		if count[kind]++; count[kind] == 1 {
			first[kind], kinds = c, append(kinds, kind)
		}
	}
	for _, kind := range kinds {
		were := "were"
		if count[kind] == 1 {
			were = "was"
		}
		r.Deviations = append(r.Deviations, Deviation{
			Code: deviationNeverMade, Tape: first[kind].Interaction,
			Message: fmt.Sprintf("%s of the tape to %s %s not made", text.Plural(count[kind], "request"), kind.name, were),
		})
	}
}

// stray reports whether the request should be on the tape and is not.
func (s *seen) stray() bool {
	return s.answer == nil && !s.local && !s.superseded && !s.loose() && s.Kind != kindModel
}

// left returns the calls that the run should have made and has not, in the order of the tape.
func (d *playback) left() map[target][]*taped {
	left := map[target][]*taped{}
	for _, c := range d.calls {
		if !c.taken && !c.superseded && c.Broken != brokenAbandoned && !c.loose() && c.Kind != kindModel {
			left[c.target()] = append(left[c.target()], c)
		}
	}
	return left
}

// unexpected reports a call that is not on the tape, together with the one of left that it most likely
// replaces, which it removes. None is equal to the call, which would have had its answer.
func (r *Report) unexpected(d *playback, left map[target][]*taped, s *seen, limit int) {
	deviation := Deviation{
		Code: deviationChanged, Run: &s.Interaction, Message: "the arguments differ from the tape",
	}
	var nearest *taped
	if calls := left[s.target()]; len(calls) > 0 {
		var best int
		best, deviation.Diff = mostLike(s, calls, limit)
		nearest = calls[best]
		copy(calls[1:best+1], calls[:best]) // the best is one of the first
		left[s.target()] = calls[1:]
		if len(deviation.Diff) == 1 && deviation.Diff[0].Pointer == actorHeader {
			deviation.Message = "the sub-agent differs from the tape"
		}
	} else {
		deviation.Code = deviationNotOnTape
		nearest, deviation.Diff = d.nearest(s, limit)
		switch {
		case nearest == nil:
			deviation.Message = fmt.Sprintf("the tape has no call of %s", s.Name)
		case len(deviation.Diff) == 0:
			deviation.Message = fmt.Sprintf("%s was called once more than on the tape", s.Name)
		default:
			deviation.Message = "the call is one more than on the tape; the nearest differs"
		}
	}
	if nearest != nil {
		deviation.Tape = nearest.Interaction
	}
	r.Deviations = append(r.Deviations, deviation)
}

// neverMade reports the calls on the tape that the run did not make.
func (r *Report) neverMade(left map[target][]*taped) {
	rest := slices.Concat(slices.Collect(maps.Values(left))...)
	slices.SortFunc(rest, func(a, b *taped) int { return cmp.Compare(a.index, b.index) })
	for _, c := range rest {
		r.Deviations = append(r.Deviations, Deviation{
			Code: deviationNeverMade, Tape: c.Interaction,
			Message: fmt.Sprintf("%s was not called as on the tape", c.Name),
		})
	}
}

// burst is the time in milliseconds within which calls count as parallel.
const burst = 100

// order reports calls that were made too late. Such a call was made after another one that, on the
// tape, began only when all earlier calls had been answered. Repeated attempts count as one call,
// from the start of the first to the end of the last. Calls that began on the tape within [burst]
// are parallel, because a proxy may answer one before the agent has sent the next.
func (r *Report) order(all []*seen, answered int) {
	var calls []*seen
	// Of the first n calls that were answered, latest[n] is the one that began latest on the tape.
	latest := make([]*seen, answered+1)
	for _, s := range all {
		if s.Kind != kindModel && s.answer != nil && !s.repeated && !s.answer.superseded {
			calls = append(calls, s)
			latest[s.Number] = s
		}
	}
	for n := range answered {
		if last := latest[n]; last != nil && !latest[n+1].after(last) {
			latest[n+1] = last
		}
	}
	for _, s := range calls {
		last := latest[s.began]
		if last != nil && last.answer.stage > s.answer.stage && last.answer.beganMS-s.answer.beganMS > burst {
			r.Deviations = append(r.Deviations, Deviation{
				Code: deviationOrder, Run: &s.Interaction, Tape: s.answer.Interaction,
				Message: fmt.Sprintf("%s came after %s of line %d; on the tape it comes before",
					s.Name, last.Name, last.answer.Line),
			})
		}
	}
}

// after reports whether the call began later on the tape than another one.
func (s *seen) after(other *seen) bool {
	if s == nil {
		return false
	}
	return cmp.Or(cmp.Compare(s.answer.began, other.answer.began), cmp.Compare(s.answer.beganMS, other.answer.beganMS)) > 0
}

// compare reports an answer that differs from the one on the tape.
func (r *Report) compare(s *settings, got *seen) {
	changes := diff(s.comparedAnswer(got.answer.Interaction), s.comparedAnswer(&got.Interaction))
	if a, b := got.answer.outcome(), got.outcome(); a != b {
		changes = slices.Insert(changes, 0, Difference{Pointer: "status", Tape: rawjson.Quote(a), Run: rawjson.Quote(b)})
	}
	if len(changes) > 0 {
		r.Deviations = append(r.Deviations, Deviation{
			Code: deviationResponse, Message: fmt.Sprintf("the response to %s differs from the tape", got.Name),
			Run: &got.Interaction, Tape: got.answer.Interaction, Diff: changes,
		})
	}
}

// outcome returns the status of an answer and how it broke off.
func (i *Interaction) outcome() string {
	if i.Broken != "" {
		return strings.TrimPrefix(fmt.Sprintf("%d %s", i.Status, i.Broken), "0 ")
	}
	return strconv.Itoa(i.Status)
}

// comparedAnswer returns the parts of an answer that are compared: all but the latency, the
// simulator's report on itself, the sequence of a trace event and the text of an error.
func (s *settings) comparedAnswer(i *Interaction) json.RawMessage {
	if i.Answer != nil {
		// It is redacted again, because the recording may have had other settings.
		if v, _, _ := s.redact.Body(i.Answer); v != nil {
			without(v, []pointer{{"latency_ms"}, {"validation"}, {"detail", "message"}})
			if i.Kind != kindTool {
				without(v, []pointer{{"sequence"}})
			}
			without(v, s.ignore)
			return v.Append(nil)
		}
	}
	if body := i.body(); len(body) > 0 {
		return rawjson.Quote(string(body))
	}
	return nil
}
