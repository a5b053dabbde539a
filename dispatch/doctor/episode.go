package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/internal/testrun"
	"github.com/toolwire/toolwire/internal/httpserve"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// An episode is one dispatch of the sample, or of a scenario.
type episode struct {
	alter        alter
	edit         func(body map[string]json.RawMessage, header http.Header) // if not nil, changes dispatches
	answered     func()                                                    // if not nil, called at the end
	conversation *dispatchtest.Conversation                                // if not nil, in place of the task's
	aside        string                                                    // follows the instruction
	mark         string                                                    // a text that appears nowhere else
	inside       bool                                                      // it is put into strings of results

	run     *proxytest.Run
	result  *dispatchtest.Result
	media   string        // of the last response
	over    int64         // the events of the checkup when it had been answered
	toFirst int           // tool calls to the proxy of the sample, before this dispatch
	events  *atomic.Int64 // of the checkup
	marked  atomic.Bool   // a result carries the mark

	mu       sync.Mutex
	requests []*request
}

// An alter answers a request to the proxy instead of the proxy, or replaces the result. nil leaves both
// as they are. It is called concurrently.
type alter func(*request) *reply

// request is one request to the proxy of an episode.
type request struct {
	method    string
	path      string // below the proxy URL, such as tools/get_order, or the whole
	below     bool
	own       bool   // with the URL and the token of the run
	plane     string // the first part of path, such as tools; "" if it is not below the proxy URL
	tool      string // "" if it is not a tool call
	arguments string
	attempt   int             // with the same path and arguments, from 1
	number    int             // among the requests of its plane, from 1
	status    int             // 0 until it is answered
	result    json.RawMessage // nil unless the status is 200
	canceled  <-chan struct{} // closed when the agent gives the request up

	at, answeredAt    time.Time
	arrived, answered int64 // as events of the checkup
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
	opened chan struct{}
	open   func()
	limit  func()
	here   [2]atomic.Bool
}

func newGate() *gate {
	g := &gate{opened: make(chan struct{})}
	g.open = sync.OnceFunc(func() { close(g.opened) })
	g.limit = sync.OnceFunc(func() { time.AfterFunc(patience, g.open) })
	return g
}

func (g *gate) wait(ctx context.Context) {
	g.limit()
	select {
	case <-g.opened:
	case <-ctx.Done():
	}
}

// arrive opens the gate when both of two runs have arrived.
func (g *gate) arrive(run int) {
	if g.here[run].Store(true); g.here[1-run].Load() {
		g.open()
	}
}

// dispatch dispatches the task of the checkup.
func (c *checkup) dispatch(ctx context.Context, e *episode) *episode {
	if e.answered != nil {
		defer e.answered()
	}
	task := c.task
	task.Instruction += e.aside
	task.Platform, task.World = c.setup.Platform, proxytest.World{}
	if e.conversation != nil {
		task.Conversation = e.conversation
	}
	if task.ProxyURL == "" { // otherwise the caller serves it
		task.WrapProxy = func(next http.Handler) http.Handler {
			if c.task.WrapProxy != nil {
				next = c.task.WrapProxy(next)
			}
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { e.serve(w, r, next) })
		}
	}
	e.events = &c.events
	s, err := c.serve(&task)
	c.mu.Lock()
	c.now.episodes, c.dispatched = append(c.now.episodes, e), append(c.dispatched, e)
	c.mu.Unlock()
	if err != nil {
		e.run, e.result = c.setup.Run, &dispatchtest.Result{ErrorClass: dispatchtest.AgentUnreachable}
		c.replace(skipped("", "a dispatch could not be prepared: %v", err))
		return e
	}
	e.run = s.Run
	if e.edit != nil {
		s.Edit = func(body json.RawMessage, header http.Header) json.RawMessage {
			members := object(body)
			e.edit(members, header)
			edited, _ := rawjson.Encode(members) // its values are JSON
			return edited
		}
	}
	if c.sample != nil {
		e.toFirst = len(toolCalls(c.sample.run.Log()))
	}
	e.result, err = dispatchtest.Dispatch(testrun.With(ctx, s), c.target, task)
	e.media, e.over = s.Media, c.events.Load()
	if err != nil { // of the User of the Conversation, because the setup is made
		c.replace(failed("Correct the function User in the Conversation of the task.", "the task's user failed: %s", c.quote(err.Error())).
			by(`The comment of dispatchtest.Conversation: User returns what the user says next, or ErrDone.`))
	}
	return e
}

// replace replaces the finding of the current check.
func (c *checkup) replace(f Finding) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now.instead = &f
}

// toolCalls returns all calls of tools in a log, including refused ones.
func toolCalls(log *proxytest.Log) (list []proxytest.Call) {
	for _, call := range append(slices.Clone(log.Calls), log.Refused...) {
		if !call.Trace {
			list = append(list, call)
		}
	}
	return list
}

// serve notes a request to the proxy and answers it, or lets the proxy answer it.
func (e *episode) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	body, _ := io.ReadAll(io.LimitReader(r.Body, 2<<20)) // the proxy rejects what is cut
	r.Body = io.NopCloser(bytes.NewReader(body))
	q := e.note(r, body)
	var instead *reply
	if e.alter != nil {
		instead = e.alter(q)
	}
	answer := httptest.NewRecorder()
	if instead != nil && instead.status != 0 {
		answer.Header().Set("Content-Type", "application/json")
		answer.WriteHeader(instead.status)
		fmt.Fprintf(answer, `{"detail":{"error_class":%q,"message":"refused by a scenario of the doctor %s"}}`, instead.class, e.mark)
	} else {
		next.ServeHTTP(answer, r)
	}
	var result json.RawMessage
	if envelope := object(answer.Body.Bytes()); envelope != nil && q.tool != "" && answer.Code == http.StatusOK {
		result = envelope["response"]
		if instead != nil {
			result = instead.result(q, result)
			envelope["response"] = result
			text, _ := rawjson.Encode(envelope) // its values are JSON
			answer.Body = bytes.NewBuffer(text)
			answer.Header().Del("Content-Length")
		}
	}
	e.mu.Lock()
	q.status, q.result, q.answered, q.answeredAt = answer.Code, result, e.events.Add(1), time.Now()
	e.mu.Unlock()
	maps.Copy(w.Header(), answer.Header())
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

func (e *episode) note(r *http.Request, body []byte) *request {
	q := &request{method: r.Method, arguments: string(body), attempt: 1, number: 1, at: time.Now(), canceled: r.Context().Done()}
	if q.path, q.below = strings.CutPrefix(r.URL.Path, e.run.Path+"/"); q.below {
		tokens, _ := httpserve.Tokens(r.Header, "X-Pipelines-Run-Token") // as the proxy reads it
		token, one := httpserve.OneToken(tokens)
		q.own = one && token == e.run.Token
		name := ""
		if q.plane, name, _ = strings.Cut(q.path, "/"); q.plane == "tools" {
			q.tool = name
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	q.arrived = e.events.Add(1)
	for _, other := range e.requests {
		if other.path == q.path && other.arguments == q.arguments {
			q.attempt++
		}
		if other.plane == q.plane {
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
