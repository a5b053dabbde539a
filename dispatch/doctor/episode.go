package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf16"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/internal/testrun"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// episode is one more dispatch of the sample, for a scenario.
type episode struct {
	// alter answers a request to the proxy instead of the proxy, or replaces the result. nil leaves
	// both as they are.
	alter func(r *request) *reply

	edit         func(body map[string]json.RawMessage, header http.Header) // of the dispatch
	sending      func()                                                    // called when the agent is connected, before the body is sent
	answered     func()                                                    // called at the end of the run, before its proxy closes
	conversation *dispatchtest.Conversation
	aside        string // follows the instruction

	run     *proxytest.Run
	result  *dispatchtest.Result
	toFirst int // tool calls to the proxy of the sample, before this dispatch

	clock *atomic.Int64 // of the checkup

	mu         sync.Mutex
	open, most int // tool calls that wait for an answer, now and at most
	requests   []*request
}

// request is one request to the proxy of an episode.
type request struct {
	path      string // below the proxy URL, such as tools/get_order
	tool      string // "" if it is not a tool call
	arguments string
	own       bool            // it has the URL and the token of the run
	attempt   int             // with the same path and arguments, from 1
	number    int             // among the tool calls of the episode, from 1
	status    int             // 0 until it is answered
	response  json.RawMessage // nil unless the status is 200

	at, answeredAt    time.Time
	arrived, answered int64 // on the clock of the checkup
}

// reply is what a scenario answers: an error, or the result of a successful call, made of the one
// that the world has.
type reply struct {
	status int
	class  string
	result func(q *request, result json.RawMessage) json.RawMessage
}

// patience is how long a scenario lets a request wait for an event. It is shorter than the 5 s after
// which HTTP clients give up, and does not decide anything: what is judged is the order of events.
const patience = 3 * time.Second

// A gate lets requests wait until it opens, but not longer than patience after the first of them.
type gate struct {
	opened       chan struct{}
	open         func()
	startWaiting func()
}

func newGate() *gate {
	g := &gate{opened: make(chan struct{})}
	g.open = sync.OnceFunc(func() { close(g.opened) })
	g.startWaiting = sync.OnceFunc(func() { time.AfterFunc(patience, g.open) })
	return g
}

func (g *gate) wait(ctx context.Context) {
	g.startWaiting()
	select {
	case <-g.opened:
	case <-ctx.Done():
	}
}

// dispatchAgain dispatches the sample once more.
func (c *checkup) dispatchAgain(ctx context.Context, e *episode) *episode {
	task := c.given
	task.Instruction += e.aside
	task.Platform, task.World = c.setup.Platform, proxytest.World{}
	if e.conversation != nil {
		task.Conversation = e.conversation
	}
	task.WrapProxy = func(next http.Handler) http.Handler {
		if c.given.WrapProxy != nil {
			next = c.given.WrapProxy(next)
		}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { e.serve(w, r, next) })
	}
	turns := 0
	if task.Conversation != nil {
		turns = task.Conversation.MaxTurns
	}
	s, err := testrun.New(testrun.Target(c.target), testrun.Task{
		ID: task.ID, AgentID: task.AgentID, Input: task.Input, Platform: task.Platform, MaxTurns: turns, WrapProxy: task.WrapProxy,
	}, nil)
	answered := e.answered
	if answered == nil {
		answered = func() {}
	}
	if err != nil {
		answered()
		panic(err) // a fault of the doctor
	}
	defer s.Close()
	defer answered()
	e.run = s.Run
	if c.url != nil && c.opts.Transport != nil {
		s.Caller.Transport = c.opts.Transport
	}
	if e.edit != nil || e.sending != nil {
		s.Caller.Transport = editing{s.Caller.Transport, e}
	}
	c.mu.Lock()
	c.secrets = append(c.secrets, s.Secrets())
	c.mu.Unlock()
	e.clock, e.toFirst = &c.events, len(toolCalls(c.setup.Run.Log()))
	result, err := dispatchtest.Dispatch(testrun.With(ctx, s), c.target, task)
	e.result = result
	if err != nil {
		panic(userError{err}) // the setup is made
	}
	return e
}

// userError is an error of the Conversation.User of the caller's task, which ends a check.
type userError struct{ error }

// toolCalls returns all calls of tools in a log, including refused ones.
func toolCalls(log *proxytest.Log) (list []proxytest.Call) {
	for _, call := range append(slices.Clone(log.Calls), log.Refused...) {
		if !call.Trace {
			list = append(list, call)
		}
	}
	return list
}

// editing changes dispatches on their way to the agent, but not pings.
type editing struct {
	http.RoundTripper
	episode *episode
}

// lateReader calls a function before the first byte is read.
type lateReader struct {
	io.Reader
	first func()
}

func (r *lateReader) Read(b []byte) (int, error) {
	r.first()
	return r.Reader.Read(b)
}

func (t editing) RoundTrip(r *http.Request) (*http.Response, error) {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	_ = r.Body.Close()
	r = r.Clone(r.Context())
	first := func() {}
	if body, ok := object(text); ok && body["odyssey_proxy_url"] != nil {
		if t.episode.edit != nil {
			t.episode.edit(body, r.Header)
			if text, err = json.Marshal(body); err != nil {
				return nil, err
			}
		}
		if t.episode.sending != nil {
			first = sync.OnceFunc(t.episode.sending)
		}
	}
	r.Body, r.ContentLength = io.NopCloser(&lateReader{bytes.NewReader(text), first}), int64(len(text))
	r.GetBody = nil
	return t.RoundTripper.RoundTrip(r)
}

// serve notes a request to the proxy and answers it, or lets the proxy answer it.
func (e *episode) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	body, _ := io.ReadAll(io.LimitReader(r.Body, 2<<20)) // the proxy rejects what is cut
	r.Body = io.NopCloser(bytes.NewReader(body))
	q := e.note(r, body)
	answer := (*reply)(nil)
	if e.alter != nil {
		answer = e.alter(q)
	}
	kept := &buffer{header: http.Header{}, status: http.StatusOK}
	var response json.RawMessage
	switch {
	case answer != nil && answer.status != 0:
		kept.status = answer.status
		kept.header.Set("Content-Type", "application/json")
		fmt.Fprintf(&kept.body, `{"detail":{"error_class":%q,"message":"refused by a scenario of the doctor"}}`, answer.class)
	default:
		next.ServeHTTP(kept, r)
		if envelope, ok := object(kept.body.Bytes()); ok && q.tool != "" && kept.status == http.StatusOK {
			response = envelope["response"]
			if answer != nil {
				response = answer.result(q, response)
				envelope["response"] = response
				kept.replace(envelope)
			}
		}
	}
	e.mu.Lock()
	q.status, q.response, q.answered, q.answeredAt = kept.status, response, e.clock.Add(1), time.Now()
	if q.tool != "" {
		e.open--
	}
	e.mu.Unlock()
	for name, values := range kept.header {
		w.Header()[name] = values
	}
	w.WriteHeader(kept.status)
	_, _ = w.Write(kept.body.Bytes())
}

func (e *episode) note(r *http.Request, body []byte) *request {
	rest, below := strings.CutPrefix(r.URL.Path, e.run.Path+"/")
	tool, _ := strings.CutPrefix(rest, "tools/")
	if tool == rest || !below {
		tool = ""
	}
	q := &request{path: rest, tool: tool, arguments: string(body), own: below && hasToken(r, e.run.Token), attempt: 1, at: time.Now()}
	e.mu.Lock()
	defer e.mu.Unlock()
	q.arrived, q.number = e.clock.Add(1), 1
	for _, other := range e.requests {
		if other.path == q.path && other.arguments == q.arguments {
			q.attempt++
		}
		if other.tool != "" {
			q.number++
		}
	}
	e.requests = append(e.requests, q)
	if q.tool != "" {
		e.open++
		e.most = max(e.most, e.open)
	}
	return q
}

// seen returns the requests for which is reports true, as they are now.
func (e *episode) seen(is func(*request) bool) (list []request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, q := range e.requests {
		if is(q) {
			list = append(list, *q)
		}
	}
	return list
}

func isTool(q *request) bool { return q.tool != "" }

// buffer holds a response of the proxy.
type buffer struct {
	header http.Header
	status int
	wrote  bool
	body   bytes.Buffer
}

func (b *buffer) Header() http.Header { return b.header }

func (b *buffer) WriteHeader(status int) {
	if !b.wrote {
		b.status, b.wrote = status, true
	}
}

func (b *buffer) Write(p []byte) (int, error) {
	b.wrote = true
	return b.body.Write(p)
}

// replace writes another envelope instead of the response.
func (b *buffer) replace(envelope map[string]json.RawMessage) {
	text, err := rawjson.Encode(envelope)
	if err != nil {
		panic(err) // its values are JSON
	}
	b.body.Reset()
	b.body.Write(text)
	b.header.Del("Content-Length")
}

// toolRows returns the contents of the tool messages that the agent returned last.
func toolRows(r *dispatchtest.Result) []string {
	body, _ := object([]byte(r.Dispatch.Body))
	return rows(body["messages"], dispatch.RoleTool)
}

// rows returns the contents of the messages with a role. Malformed messages count, too.
func rows(messages json.RawMessage, role dispatch.Role) (rows []string) {
	if rawjson.Kind(messages) != '[' {
		return nil
	}
	for row := range rawjson.Elements(messages) {
		if rawjson.Kind(row) != '{' || rawjson.Unquote(rawjson.Member(row, "role")) != string(role) {
			continue
		}
		content := rawjson.Member(row, "content")
		text := dispatch.Content(content).String()
		if text == "" && rawjson.Kind(content) != '"' {
			text = string(content)
		}
		rows = append(rows, text)
	}
	return rows
}

// said returns all text of a run that a result can be in: the answer, and the arguments of calls.
func said(r *dispatchtest.Result) string {
	texts := append(toolRows(r), r.FinalResponse)
	for _, call := range toolCalls(&r.Log) {
		texts = append(texts, string(call.Arguments))
	}
	return strings.Join(texts, "\n")
}

// enveloped reports whether text has the trace envelope of the proxy.
func enveloped(text string) bool {
	return strings.Contains(text, "matched_rule_index") || strings.Contains(text, "latency_ms") && strings.Contains(text, "tool_name")
}

// shows reports whether text has marker, as it is or in escaped JSON.
func shows(text, marker string) bool {
	quoted := string(rawjson.Quote(marker))
	return strings.Contains(text, marker) || strings.Contains(text, quoted[1:len(quoted)-1]) || strings.Contains(text, ascii(marker))
}

// ascii escapes text as JSON encoders do that write ASCII only.
func ascii(text string) string {
	var b strings.Builder
	for _, unit := range utf16.Encode([]rune(text)) {
		if unit < 0x80 {
			b.WriteByte(byte(unit))
		} else {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}
