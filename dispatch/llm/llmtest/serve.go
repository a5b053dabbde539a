package llmtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolwire/toolwire/dispatch/llm"
	"github.com/toolwire/toolwire/internal/httpserve"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/redact"
	"github.com/toolwire/toolwire/internal/text"
)

// maxRequests is how many requests a model keeps.
const maxRequests = 10_000

// route returns the format for a path, or nil.
func route(path string) format {
	switch {
	case strings.HasSuffix(path, "/chat/completions"):
		return chat{}
	case strings.HasSuffix(path, "/responses"):
		return responses{}
	case strings.HasSuffix(path, "/messages"), strings.Contains(path, "/publishers/anthropic/") &&
		(strings.HasSuffix(path, ":rawPredict") || strings.HasSuffix(path, ":streamRawPredict")):
		return anthropic{}
	case strings.Contains(path, "/model/") && (strings.HasSuffix(path, "/converse") || strings.HasSuffix(path, "/converse-stream")):
		return converse{}
	case strings.Contains(path, "/model/") && (strings.HasSuffix(path, "/invoke") || strings.HasSuffix(path, "/invoke-with-response-stream")):
		return invoke{}
	case strings.HasSuffix(path, "/api/chat"):
		return ollama{}
	case strings.HasSuffix(path, ":generateContent"), strings.HasSuffix(path, ":streamGenerateContent"):
		return gemini{}
	}
	return nil
}

// ServeHTTP answers a request as the script says.
func (m *Model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f := route(r.URL.Path)
	switch {
	case f == nil:
		m.refuse(w, r, chat{}, http.StatusNotFound, errors.New("the model does not serve this API"))
		return
	case r.Method != http.MethodPost:
		m.refuse(w, r, f, http.StatusMethodNotAllowed, errors.New("the method is not POST"))
		return
	}
	body, err := httpserve.ReadBody(w, r, maxBody, time.Now().Add(time.Minute))
	if err != nil {
		status := http.StatusBadRequest
		if errors.Is(err, httpserve.ErrTooLarge) {
			status = http.StatusRequestEntityTooLarge
		}
		m.refuse(w, r, f, status, err)
		return
	}
	q, err := read(f, r.URL.Path, body, m.previous)
	q.list = q.Stream && f == (gemini{}) && r.URL.Query().Get("alt") != "sse"
	step, where, n, scripted := m.take(q, err)
	if scripted != nil {
		m.refuse(w, r, f, http.StatusBadRequest, fmt.Errorf("%w%s", scripted, q.about(secrets(r))))
		return
	}
	for _, check := range step.expect {
		if err := check(q); err != nil {
			hide := secrets(r)
			m.fail("%s: %s%s", where, hide.Redact(err.Error()), q.about(hide))
		}
	}
	if step.choices != nil && q.Format != llm.OpenAIChat && q.Format != llm.Gemini {
		m.fail("%s: the format %s has one choice; Choices is for Chat Completions and Gemini", where, q.Format)
	}
	m.play(w, r.Context(), f, q, step, n)
}

// take records a request and returns the step that answers it, what to call the step, and the number
// of the response. invalid is what the provider would object to.
func (m *Model) take(q *Request, invalid error) (step Step, where string, n int, err error) {
	m.mu.Lock()
	if len(m.requests) < maxRequests {
		m.requests = append(m.requests, q)
	}
	conversations := slices.Clone(m.conversations)
	m.mu.Unlock()
	if invalid != nil {
		return Step{}, "", 0, invalid
	}
	matching := slices.DeleteFunc(conversations, func(c *conversation) bool { return !c.match(q) }) // may use m
	if len(matching) == 0 {
		matching = append(matching, m.other)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range matching {
		if c.next < len(c.steps) {
			m.answers++
			c.next++
			return c.steps[c.next-1], c.step(c.next - 1), m.answers, nil
		}
	}
	over := matching[len(matching)-1]
	if over == m.other && len(over.steps) == 0 {
		return Step{}, "", 0, errors.New("no conversation of the script matches this request")
	}
	return Step{}, "", 0, fmt.Errorf("the %s is over: it had %s", over.title(), text.Plural(len(over.steps), "step"))
}

// play answers with a step.
func (m *Model) play(w http.ResponseWriter, ctx context.Context, f format, q *Request, s Step, n int) {
	if !pause(ctx, s.after) || s.drop {
		panic(http.ErrAbortHandler)
	}
	if s.end == failed && !q.Stream {
		s.status = s.failure
	}
	f.header(w.Header(), "req_"+strconv.Itoa(n), s.status)
	if s.status != 0 {
		failure := newFailure(s.status, n)
		failure.retryAfter = s.retryAfter
		if d := s.retryAfter; d > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int((d+time.Second-1)/time.Second)))
			if d%time.Second != 0 {
				w.Header().Set("Retry-After-Ms", strconv.FormatInt(d.Milliseconds(), 10))
			}
		}
		httpserve.WriteJSON(w, s.status, f.failure(failure))
		return
	}
	a := newAnswer(q, s, n)
	m.remember(a)
	if !q.Stream {
		body := f.whole(a)
		if s.end == whole {
			httpserve.WriteJSON(w, http.StatusOK, body)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		m.send(w, body[:len(body)/2])
		breakOff(s)
		return
	}
	events := f.events(a)
	w.Header().Set("Content-Type", mediaTypes[events[0].form])
	if q.list {
		w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	}
	w.Header().Set("Cache-Control", "no-cache")
	if s.end != whole {
		events = events[:max(1, len(events)/2)]
	}
	if s.end == failed {
		events = append(events, f.failed(a, newFailure(s.failure, n), len(events))...)
	}
	for i, e := range events {
		if i > 0 && !pause(ctx, s.every) {
			panic(http.ErrAbortHandler)
		}
		switch {
		case !q.list:
			m.send(w, e.bytes())
		case i == 0:
			m.send(w, append([]byte("["), e.data...))
		default:
			m.send(w, append([]byte(",\r\n"), e.data...))
		}
	}
	if q.list && (s.end == whole || s.end == failed) {
		m.send(w, []byte("]"))
	}
	breakOff(s)
}

// remember keeps a response of the Responses API for requests that continue it.
func (m *Model) remember(a *answer) {
	if a.Format != llm.OpenAIResponses || a.unstored {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.remembered[a.id("resp_")] = a.conversation()
}

// previous returns the conversation that ends with a response.
func (m *Model) previous(id string) ([]message, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	messages, ok := m.remembered[id]
	return messages, ok
}

func (m *Model) send(w http.ResponseWriter, p []byte) {
	if _, err := w.Write(p); err != nil {
		panic(http.ErrAbortHandler) // the client has gone
	}
	_ = http.NewResponseController(w).Flush()
}

// breakOff breaks the connection if the step asks for it.
func breakOff(s Step) {
	if s.end == reset {
		panic(http.ErrAbortHandler)
	}
}

// pause reports whether the client is still there after d.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// refuse answers a request that has no step, and reports it.
func (m *Model) refuse(w http.ResponseWriter, r *http.Request, f format, status int, reason error) {
	hide := secrets(r)
	s := r.Method + " " + text.Cut(hide.Redact(r.URL.Path), 200) + ": " + hide.Redact(reason.Error())
	m.fail("%s", s)
	httpserve.LeaveBody(w, r)
	f.header(w.Header(), "req_0", status)
	w.Header().Set("X-Should-Retry", "false")
	httpserve.WriteError(w, status, f.failure(failure{status: status, message: "llmtest: " + s}))
}

// account finds the number of an account of Amazon, or of a project of Google.
var account = regexp.MustCompile(`[0-9]{12,}`)

// secrets returns the credentials of a request. Shorter ones than 8 bytes are placeholders of tests,
// such as "none", which would hide ordinary words.
func secrets(r *http.Request) *redact.Set {
	values := account.FindAllString(r.URL.Path, -1)
	for _, name := range []string{"key", "X-Amz-Credential", "X-Amz-Signature", "X-Amz-Security-Token"} {
		values = append(values, r.URL.Query()[name]...)
	}
	for _, name := range []string{"Authorization", "X-Api-Key", "Api-Key", "X-Goog-Api-Key", "X-Amz-Security-Token", "Cookie"} {
		values = append(values, r.Header.Values(name)...)
	}
	for _, part := range strings.Fields(r.Header.Get("Authorization")) { // of Amazon: Credential=…, Signature=…
		_, value, _ := strings.Cut(strings.TrimSuffix(part, ","), "=")
		id, _, _ := strings.Cut(value, "/")
		values = append(values, value, id)
	}
	var found []string
	for _, value := range values {
		if token, _ := httpserve.CutBearer(value); len(token) >= 8 {
			found = append(found, token)
		}
	}
	return redact.New(found...)
}

// fail reports what did not go as scripted. The first 50 reports are kept.
func (m *Model) fail(format string, args ...any) {
	err := fmt.Errorf("llmtest: %s", text.Lines(fmt.Sprintf(format, args...), 8000))
	m.report.Lock()
	defer m.report.Unlock()
	if len(m.problems) == 50 || m.ended {
		return
	}
	m.problems = append(m.problems, err)
	if m.t != nil {
		m.t.Errorf("%v", err)
	}
}

// unused returns an error for each conversation that has steps left.
func (m *Model) unused() (problems []error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range append(slices.Clone(m.conversations), m.other) {
		if left := len(c.steps) - c.next; left > 0 {
			problems = append(problems, fmt.Errorf("llmtest: %s has not been used; %d of %d steps are left", c.step(c.next), left, len(c.steps)))
		}
	}
	return problems
}

func (c *conversation) title() string { return strings.TrimSpace("conversation " + c.name) }

// step names a step for messages, after the place where the script makes it.
func (c *conversation) step(i int) string {
	return fmt.Sprintf("%sstep %d (%s) of the %s", c.steps[i].at, i+1, c.steps[i], c.title())
}

// about describes a request for messages: what distinguishes conversations.
func (q *Request) about(hide *redact.Set) string {
	var b strings.Builder
	quote := func(s string) json.RawMessage { return rawjson.Quote(text.Cut(hide.Redact(s), 200)) }
	if len(q.Users) > 0 {
		fmt.Fprintf(&b, "\n  the first user message: %s", quote(q.Users[0]))
	}
	if len(q.Users) > 1 {
		fmt.Fprintf(&b, "\n  the last user message: %s", quote(q.Users[len(q.Users)-1]))
	}
	for i, result := range q.Results {
		if i == 5 {
			fmt.Fprintf(&b, "\n  and %d more results", len(q.Results)-i)
			break
		}
		fmt.Fprintf(&b, "\n  the result of the tool call %s: %s", quote(result.CallID), quote(result.Content))
	}
	return b.String()
}
