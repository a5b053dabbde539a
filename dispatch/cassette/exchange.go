package cassette

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/httpserve"
	"github.com/toolwire/toolwire/internal/memhttp"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/redact"
	"github.com/toolwire/toolwire/proxy"
)

// Error classes of the responses that the cassette makes itself. Clients of the proxy do not repeat
// such calls.
const (
	classNoMatch     = "cassette_no_match"    // 409: the request is not on the tape, or not as often
	classOtherRun    = "cassette_other_run"   // 409: the run token differs from the token of earlier requests
	classTooLarge    = "cassette_too_large"   // 413: the body has more than 1 MiB
	classUnreachable = "cassette_unreachable" // 502: the proxy behind the cassette cannot be reached or is not set
)

// probe is the tool of the platform's reachability probe. The probe has an invalid token and does
// not belong to a run.
const probe = "__reachability_probe__"

// sender returns the request to forward and the transport for it. The transport is nil if the
// cassette has none.
type sender func(body []byte) (*http.Request, http.RoundTripper)

// serve answers a request to the handler.
func (c *Cassette) serve(w http.ResponseWriter, r *http.Request, to sender) {
	body, err := httpserve.ReadBody(w, r, httpcall.BodyBytes, time.Now().Add(bodyTimeout))
	switch {
	case errors.Is(err, httpserve.ErrTooLarge):
		c.tooLarge(r).write(w)
	case err != nil:
		panic(http.ErrAbortHandler) // the client sent half a request and has gone
	default:
		c.respond(r, body, to).write(w)
	}
}

const bodyTimeout = 30 * time.Second

// respond answers one request, from the tape or from the proxy, and records it.
func (c *Cassette) respond(r *http.Request, body []byte, to sender) *reply {
	kind, name, _ := split(r.URL.EscapedPath())
	if r.URL.RawQuery != "" {
		name += "?" + r.URL.RawQuery
	}
	if kind == kindTool && name == probe {
		if !c.set.Mode.forwards() {
			return refusal(http.StatusUnauthorized, httpcall.RunTokenInvalid, "this is a cassette")
		}
		return send(r, body, to)
	}
	redactor, refused := c.admit(r, name)
	if refused != nil {
		return refused
	}
	s := &seen{Interaction: Interaction{Kind: kind, Name: valid(name), Actor: valid(r.Header.Get(actorHeader))}}
	if r.Method != http.MethodPost {
		s.Method = r.Method
	}
	if rawjson.Check(body, rawjson.Limits{}) == nil {
		s.Arguments = body
	} else {
		s.ArgumentsText = valid(string(body))
	}
	s.id = c.set.identify(&s.Interaction, redactor)

	began := time.Now()
	tapeAfter, answer := c.arrive(s)
	if answer == nil {
		answer = send(r, body, to)
	}
	s.LatencyMS = milliseconds(time.Since(began))
	c.complete(s, answer, tapeAfter, redactor)
	if answer.local {
		memhttp.TellReplay(r, body, memhttp.Replayed{Status: answer.status, Body: answer.body, Broken: answer.broken})
	}
	return answer
}

// valid returns the text as valid UTF-8.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// admit refuses a request that does not belong to the run of this cassette.
func (c *Cassette) admit(r *http.Request, name string) (*redact.Redactor, *reply) {
	c.mu.Lock()
	defer c.mu.Unlock()
	tokens := credentials(r.Header)
	if len(tokens) == 0 {
		c.problem("%s was called without a run token", c.redactor.Redact(name))
		return nil, refusal(http.StatusUnauthorized, httpcall.RunTokenInvalid, "the run token is missing")
	}
	known := c.tokens.Reveal()
	c.start()
	all := slices.Concat(known, tokens)
	if subtle.ConstantTimeCompare([]byte(tokens[0]), []byte(all[0])) != 1 {
		c.problem("%s was called with another run token; a cassette belongs to one run, so make one for each",
			withTokens(c.set.redact, all).Redact(name))
		return nil, refusal(http.StatusConflict, classOtherRun,
			"this cassette belongs to another run; make one cassette for each run")
	}
	if slices.ContainsFunc(tokens, func(token string) bool { return !slices.Contains(known, token) }) {
		c.tokens, c.redactor = redact.Hide(all), withTokens(c.set.redact, slices.Concat(all, c.keys.Reveal()))
	}
	return c.redactor, nil
}

// start notes the time of the first request. The caller must hold c.mu.
func (c *Cassette) start() {
	if !c.started {
		c.started, c.begun = true, time.Now()
	}
}

// minSoughtToken is the length in bytes from which a run token is searched for in bodies. A shorter one
// is not a secret and may be a common word.
const minSoughtToken = 8

// withTokens returns a redactor that removes these run tokens, too.
func withTokens(r *redact.Redactor, tokens []string) *redact.Redactor {
	with := *r
	short := func(token string) bool { return len(token) < minSoughtToken }
	with.Secrets = redact.New(slices.DeleteFunc(slices.Clone(tokens), short)...)
	return &with
}

// problem records a failure for the report. The caller must hold c.mu.
func (c *Cassette) problem(format string, args ...any) {
	if len(c.problems) < maxProblems {
		c.problems = append(c.problems, fmt.Sprintf(format, args...))
	}
}

// lose records a failure that leaves a gap on the new tape. The caller must hold c.mu.
func (c *Cassette) lose(format string, args ...any) {
	c.problem(format, args...)
	if c.set.Mode != Compare {
		c.lost.Put(Problem{Code: ruleLost, Message: fmt.Sprintf(format, args...)})
	}
}

// tooLarge refuses a request whose body is not read.
func (c *Cassette) tooLarge(r *http.Request) *reply {
	_, name, _ := split(r.URL.EscapedPath())
	redactor, refused := c.admit(r, name)
	if refused != nil {
		return refused
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lose("%s was called with a body of more than %d bytes", redactor.Redact(name), httpcall.BodyBytes)
	return refusal(http.StatusRequestEntityTooLarge, classTooLarge,
		fmt.Sprintf("the body has more than %d bytes", httpcall.BodyBytes))
}

// arrive records the arrival of a request and returns its answer, or nil if the request must be
// forwarded. tapeAfter is the request's After on the new tape.
func (c *Cassette) arrive(s *seen) (tapeAfter int, answer *reply) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.After, s.AtMS = c.answered, milliseconds(time.Since(c.begun))
	if c.set.Mode == Record || c.set.Mode == Compare && s.Kind != kindModel {
		return c.after, nil
	}
	found, again := c.playback.take(s.id, c.set.RepeatLast)
	switch {
	case found != nil:
		s.answer, s.repeated = found, again
		return 0, fromTape(found.Interaction)
	case c.set.Mode == ReplayOrForward:
		return c.after, nil
	case s.Kind == kindModel:
		return 0, c.noModel(s)
	case s.loose():
		s.local = true
		return 0, c.receipt(&s.Interaction)
	}
	return 0, c.noMatch(s)
}

// receipt accepts a trace event or a span of telemetry that is not on the tape.
func (c *Cassette) receipt(i *Interaction) *reply {
	if i.Kind == kindTrace && !proxy.Event(i.Name).Reserved() {
		return refusal(http.StatusBadRequest, "trace_event_type_invalid", "the event type is not a reserved one")
	}
	answer := map[string]any{"accepted": true, "sequence": c.answered + 1}
	if i.Kind == kindTrace {
		answer["event_type"] = i.Name
	}
	return jsonReply(http.StatusOK, answer)
}

// noMatch refuses a request that is not on the tape. The answer names members and has no values.
func (c *Cassette) noMatch(s *seen) *reply {
	text := fmt.Sprintf("%s is not on the tape with these arguments", s.Name)
	nearest, changes := c.playback.nearest(s, maxCompared)
	switch {
	case nearest == nil:
		text = fmt.Sprintf("%s is not on the tape", s.Name)
	case len(changes) == 0:
		text = fmt.Sprintf("%s has had all responses that the tape has for this call", s.Name)
	default:
		text += fmt.Sprintf("; line %d differs at %s", nearest.Line, places(changes))
	}
	return refusal(http.StatusConflict, classNoMatch, text)
}

// complete records the answer before the agent receives it, so that the agent's next request counts
// as later.
func (c *Cassette) complete(s *seen, answer *reply, tapeAfter int, redactor *redact.Redactor) {
	s.Status, s.Broken = answer.status, answer.broken
	problem := ""
	if !answer.local && answer.unsent == "" { // without the lock, because it may take long
		problem = answer.describe(&s.Interaction, redactor)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if answer.unsent != "" {
		c.problem("%s could not be forwarded: %s", s.Name, answer.unsent)
		return
	}
	c.answered++
	s.Number = c.answered
	if s.answer != nil {
		c.play(s.answer.index)
	}
	if !answer.local {
		if problem != "" {
			c.lose("the answer to %s is not on the tape: %s", s.Name, problem)
			return
		}
		if c.set.Mode != Compare {
			c.record(s.Interaction, s.asked, tapeAfter)
		}
	}
	s.asked, s.keys = nil, nil
	if c.set.Mode.reads() {
		c.see(s)
	}
}

// see keeps a request for the report. The caller must hold c.mu.
func (c *Cassette) see(s *seen) {
	before := c.attempts[s.id.key]
	repeats := before != nil && before.transient()
	s.began = s.After
	if repeats {
		s.began = before.began
	}
	if s.Kind == kindModel {
		c.seen = append(c.seen, s)
		return
	}
	if c.set.Mode == Compare && repeats { // the call has its answer on the tape already
		s.answer, before.answer, before.superseded = before.answer, nil, true
	} else if c.set.Mode == Compare {
		s.answer, _ = c.playback.take(s.id, false)
	}
	c.seen, c.attempts[s.id.key] = append(c.seen, s), s
}

// record writes an interaction. The caller must hold c.mu.
func (c *Cassette) record(i Interaction, a *asked, after int) {
	if c.closed {
		c.problem("%s was answered after the recording had been closed", i.Name)
		return
	}
	if c.begin(); c.writeErr != nil {
		return
	}
	i.Number, i.After = c.writer.count+1, after
	if c.writeErr = c.writer.append(&i, a); c.writeErr == nil {
		c.play(i.Number - 1)
	}
}

// play records that this run has answered an interaction of the tape, and updates c.after. The
// caller must hold c.mu.
func (c *Cassette) play(index int) {
	for len(c.played) <= index {
		c.played = append(c.played, false)
	}
	c.played[index] = true
	for c.after < len(c.played) && c.played[c.after] {
		c.after++
	}
}

// begin opens the new tape. The caller must hold c.mu.
func (c *Cassette) begin() {
	if c.writer != nil || c.writeErr != nil {
		return
	}
	first := header{
		Version: version, Created: c.begun.UTC().Truncate(time.Millisecond), Task: redactTask(c.redactor, c.set.Task),
	}
	have := &Tape{}
	if c.tape != nil {
		first.Created, first.Task, have = c.tape.Created, c.tape.Task, c.tape
	}
	c.writer, c.writeErr = newWriter(c.path, first, have, c.fresh)
}
