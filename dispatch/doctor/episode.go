package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
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
	conversation *dispatchtest.Conversation
	aside        string // follows the instruction

	run    *proxytest.Run
	result *dispatchtest.Result

	mu       sync.Mutex
	clock    int // counts arrivals and answers
	requests []*request
}

// request is one request to the proxy of an episode.
type request struct {
	path      string // below the proxy URL, such as tools/get_order
	tool      string // "" if it is not a tool call
	arguments string
	own       bool // it has the URL and the token of the run
	attempt   int  // with the same path and arguments, from 1
	number    int  // among the tool calls of the episode, from 1
	status    int  // 0 until it is answered

	at, answeredAt    time.Time
	arrived, answered int // on the clock of the episode
}

// reply is what a scenario answers: an error, or the response of a successful call.
type reply struct {
	status   int
	class    string
	response json.RawMessage
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
	if err != nil {
		panic(err) // a fault of the doctor
	}
	defer s.Close()
	e.run = s.Run
	if c.url != nil && c.opts.Transport != nil {
		s.Caller.Transport = c.opts.Transport
	}
	if e.edit != nil {
		s.Caller.Transport = editing{s.Caller.Transport, e.edit}
	}
	c.mu.Lock()
	c.secrets = append(c.secrets, s.Secrets())
	c.mu.Unlock()
	result, err := dispatchtest.Dispatch(testrun.With(ctx, s), c.target, task)
	if err != nil {
		panic(err)
	}
	e.result = result
	return e
}

// editing changes dispatches on their way to the agent, but not pings.
type editing struct {
	http.RoundTripper
	edit func(body map[string]json.RawMessage, header http.Header)
}

func (t editing) RoundTrip(r *http.Request) (*http.Response, error) {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	_ = r.Body.Close()
	r = r.Clone(r.Context())
	if body, ok := object(text); ok && body["odyssey_proxy_url"] != nil {
		t.edit(body, r.Header)
		if text, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
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
	switch {
	case answer != nil && answer.status != 0:
		kept.status = answer.status
		kept.header.Set("Content-Type", "application/json")
		fmt.Fprintf(&kept.body, `{"detail":{"error_class":%q,"message":"refused by a scenario of the doctor"}}`, answer.class)
	default:
		next.ServeHTTP(kept, r)
		if answer != nil && kept.status == http.StatusOK {
			kept.body.Reset()
			kept.header.Del("Content-Length")
			fmt.Fprintf(&kept.body, `{"tool_name":%q,"response":%s,"source":"odyssey","latency_ms":412,"matched_rule_index":null}`,
				q.tool, answer.response)
		}
	}
	e.mu.Lock()
	e.clock++
	q.status, q.answered, q.answeredAt = kept.status, e.clock, time.Now()
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
	e.clock++
	q.arrived, q.number = e.clock, 1
	for _, other := range e.requests {
		if other.path == q.path && other.arguments == q.arguments {
			q.attempt++
		}
		if other.tool != "" {
			q.number++
		}
	}
	e.requests = append(e.requests, q)
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

// toolRows returns the contents of the tool messages that the agent returned last. Malformed
// messages count, too.
func (e *episode) toolRows() (rows []string) {
	body, _ := object([]byte(e.result.Dispatch.Body))
	if rawjson.Kind(body["messages"]) != '[' {
		return nil
	}
	for row := range rawjson.Elements(body["messages"]) {
		if rawjson.Kind(row) != '{' || rawjson.Text(rawjson.Member(row, "role")) != "tool" {
			continue
		}
		content := rawjson.Member(row, "content")
		text := dispatch.Content(content).String()
		if text == "" {
			text = string(content)
		}
		rows = append(rows, text)
	}
	return rows
}

// said returns all text of the answer that a result can be in.
func (e *episode) said() string {
	return strings.Join(append(e.toolRows(), e.result.FinalResponse), "\n")
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
