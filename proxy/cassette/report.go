package cassette

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/toolwire/toolwire/internal/bounded"
	"github.com/toolwire/toolwire/internal/rawjson"
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
func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "cassette %s, %s: %s on the tape, %s\n", bounded.Line(r.Path, maxMessage), r.Mode,
		count(r.Matched, "request"), count(len(r.Deviations), "deviation"))
	for i, d := range r.Deviations {
		fmt.Fprintf(&b, "%d. %s: %s\n", i+1, strings.ReplaceAll(d.Code, "_", " "), bounded.Line(d.Message, maxMessage))
		if d.Run != nil {
			fmt.Fprintf(&b, "     run   %s\n", d.Run.summary())
		}
		if d.Tape != nil {
			fmt.Fprintf(&b, "     tape  %s, line %d\n", d.Tape.summary(), d.Tape.Line)
		}
		for n, change := range d.Diff {
			if n == maxChanges {
				fmt.Fprintf(&b, "       and %s more\n", count(len(d.Diff)-n, "difference"))
				break
			}
			fmt.Fprintf(&b, "       %s\n", change.line())
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

const (
	maxChanges = 12
	maxShown   = 160  // characters of a value
	maxMessage = 1000 // characters of a message
)

// line returns the difference on one line, with values of up to 160 characters.
func (d Difference) line() string {
	return fmt.Sprintf("%s: %s on the tape, %s in the run", bounded.Line(cmp.Or(d.Pointer, "the whole"), maxShown), short(d.Tape), short(d.Run))
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

func short(v json.RawMessage) string {
	if v == nil {
		return "nothing"
	}
	return bounded.Line(string(v), maxShown)
}

// summary returns the request on one line.
func (i *Interaction) summary() string {
	text := bounded.Line(i.Name, maxShown)
	if i.Kind == kindTrace {
		text = "trace event " + text
	}
	if i.method() != http.MethodPost {
		text = bounded.Line(i.Method, maxShown) + " " + text
	}
	if i.Actor != "" {
		text += " by " + bounded.Line(i.Actor, maxShown)
	}
	switch {
	case i.Arguments != nil:
		text += " " + short(i.Arguments)
	case i.ArgumentsText != "":
		text += " " + bounded.Quoted(i.ArgumentsText, maxShown)
	}
	return text
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
	if c.set.Mode == Compare {
		c.playback.pair(c.seen)
	}
	left := newLeftOver(c)
	var strays []*seen
	for _, s := range c.seen {
		if s.answer == nil && !s.local && !s.loose() && c.set.Mode != ReplayOrForward && !s.superseded {
			strays = append(strays, s)
		}
	}
	most := min(maxCompared, maxReported/max(1, len(strays)))
	for _, s := range c.seen {
		switch {
		case s.answer != nil:
			r.Matched++
			if c.set.Mode == Compare {
				r.answer(c.set, s)
			}
		case len(strays) > 0 && s == strays[0]:
			strays = strays[1:]
			r.unexpected(c.playback, left, s, most)
		}
	}
	if c.set.Mode == Replay || c.set.Mode == Compare {
		r.order(c.seen)
	}
	for _, call := range c.playback.calls {
		if left.has[call] {
			r.Deviations = append(r.Deviations, Deviation{
				Code: deviationNeverMade, Tape: call.Interaction,
				Message: fmt.Sprintf("%s was not called as on the tape", call.Name),
			})
		}
	}
	return r
}

// leftOver are the calls on the tape that the run did not make.
type leftOver struct {
	has   map[*taped]bool
	alike map[target][]*taped // the same, in the order of the tape, and some that were taken
	taken map[target]int      // how many of alike were taken
}

func newLeftOver(c *Cassette) *leftOver {
	left := &leftOver{has: map[*taped]bool{}, alike: map[target][]*taped{}, taken: map[target]int{}}
	if c.set.Mode == ReplayOrForward {
		return left
	}
	for _, call := range c.playback.calls {
		if !call.taken && !call.dropped && !call.superseded && call.Broken != brokenAbandoned && !call.loose() {
			left.has[call] = true
			left.alike[call.target()] = append(left.alike[call.target()], call)
		}
	}
	return left
}

// take removes and returns the call that s most likely replaces, and where they differ. best is nil
// if there is none. None is equal to s, which would have had its answer.
func (l *leftOver) take(s *seen, most int) (best *taped, changes []Difference) {
	of := s.target()
	best, changes = mostLike(&s.Interaction, s.id, l.alike[of], most, func(c *taped) bool { return l.has[c] })
	if best == nil {
		return nil, nil
	}
	delete(l.has, best)
	if l.taken[of]++; 2*l.taken[of] > len(l.alike[of]) { // not each time, which would be quadratic
		l.alike[of] = slices.DeleteFunc(l.alike[of], func(c *taped) bool { return !l.has[c] })
		l.taken[of] = 0
	}
	return best, changes
}

// unexpected reports a call that is not on the tape, together with the one that it most likely
// replaces.
func (r *Report) unexpected(d *playback, left *leftOver, s *seen, most int) {
	deviation := Deviation{
		Code: deviationChanged, Run: &s.Interaction, Message: "the arguments are not those on the tape",
	}
	nearest, changes := left.take(s, most)
	if nearest != nil {
		if len(changes) == 1 && changes[0].Pointer == actorHeader {
			deviation.Message = "the sub-agent is not the one on the tape"
		}
	} else {
		deviation.Code = deviationNotOnTape
		nearest, changes = d.nearest(&s.Interaction, s.id, most)
		switch {
		case nearest == nil:
			deviation.Message = fmt.Sprintf("the tape has no call of %s", s.Name)
		case len(changes) == 0:
			deviation.Message = fmt.Sprintf("%s was called once more than on the tape", s.Name)
		default:
			deviation.Message = "the call is one more than on the tape; the nearest differs"
		}
	}
	if nearest != nil {
		deviation.Tape, deviation.Diff = nearest.Interaction, changes
	}
	r.Deviations = append(r.Deviations, deviation)
}

// burst is the time in milliseconds within which calls count as parallel.
const burst = 100

// order reports calls that were made too late. Such a call was made after another one that, on the
// tape, began only when all earlier calls had been answered. Repeated attempts count as one call,
// from the start of the first to the end of the last. Calls that began on the tape within [burst]
// are parallel, because a proxy may answer one before the agent has sent the next.
func (r *Report) order(all []*seen) {
	type call struct {
		*seen
		began int // After of the first attempt
	}
	var calls []call
	last := map[string]call{}
	for _, s := range all {
		this := call{s, s.After}
		if before, ok := last[s.id.key]; ok && before.transient() {
			this.began = before.began
		}
		last[s.id.key] = this
		if s.answer != nil && !s.repeated && !s.answer.superseded {
			calls = append(calls, this)
		}
	}
	byEnd := slices.Clone(calls) // calls are in the order of their numbers already
	slices.SortStableFunc(calls, func(a, b call) int { return cmp.Compare(a.began, b.began) })
	var latest call // the call that began latest on the tape, of those answered before this one
	for _, this := range calls {
		for len(byEnd) > 0 && byEnd[0].Number <= this.began {
			if latest.seen == nil || byEnd[0].answer.began > latest.answer.began ||
				byEnd[0].answer.began == latest.answer.began && byEnd[0].answer.beganMS > latest.answer.beganMS {
				latest = byEnd[0]
			}
			byEnd = byEnd[1:]
		}
		if latest.seen != nil && latest.answer.stage > this.answer.stage &&
			latest.answer.beganMS-this.answer.beganMS > burst {
			r.Deviations = append(r.Deviations, Deviation{
				Code: deviationOrder, Run: &this.Interaction, Tape: this.answer.Interaction,
				Message: fmt.Sprintf("%s came after %s of line %d; on the tape it comes before",
					this.Name, latest.Name, latest.answer.Line),
			})
		}
	}
}

// answer reports an answer that differs from the one on the tape.
func (r *Report) answer(s *settings, got *seen) {
	var changes []Difference
	if a, b := got.answer.outcome(), got.outcome(); a != b {
		changes = append(changes,
			Difference{Pointer: "status", Tape: rawjson.AppendQuote(nil, a), Run: rawjson.AppendQuote(nil, b)})
	}
	changes = append(changes, diff(s.comparedAnswer(got.answer.Interaction), s.comparedAnswer(&got.Interaction))...)
	if len(changes) > 0 {
		r.Deviations = append(r.Deviations, Deviation{
			Code: deviationResponse, Message: fmt.Sprintf("the response to %s is not the one on the tape", got.Name),
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
