package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

func asError(err error, target **proxy.Error) (ok bool) {
	*target, ok = errors.AsType[*proxy.Error](err)
	return ok
}

// A world is the platform's proxy for the runs of a phase, behind faults.
type world struct {
	soak     *soak
	platform *proxytest.Platform

	mu   sync.Mutex
	runs map[int]*run    // by number
	ids  map[string]*run // by the platform's id
}

// newWorld returns a world without runs.
func (s *soak) newWorld() *world {
	w := &world{soak: s, runs: map[int]*run{}, ids: map[string]*run{}}
	platform, err := proxytest.New(proxytest.World{
		Behaviors: map[string]proxytest.Behavior{single: w.execute, repeatable: w.execute},
	}, nil)
	if err != nil {
		panic(err)
	}
	w.platform = platform
	return w
}

// admit gives a run its token.
func (w *world) admit(r *run) {
	r.on = w.platform.NewRun()
	w.register(r)
}

// register makes a run known whose token exists.
func (w *world) register(r *run) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.runs[r.number], w.ids[r.on.ID] = r, r
}

// find returns the call that the arguments name.
func (w *world) find(args []byte) (*run, *call) {
	var a arguments
	if json.Unmarshal(args, &a) != nil {
		return nil, nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.runs[a.Run]
	if r == nil || a.Call < 0 || a.Call >= len(r.calls) {
		return nil, nil
	}
	return r, r.calls[a.Call]
}

// execute is the behavior of the tools.
func (w *world) execute(q *proxytest.Request) (any, error) {
	r, c := w.find(q.Arguments)
	if r == nil {
		return nil, errors.New("unknown")
	}
	c.executed.Add(1)
	if w.soak.plant == plantConfused {
		return result{r.number, c.number + 1}, nil
	}
	return result{r.number, c.number}, nil
}

// ServeHTTP is the proxy with its faults.
func (w *world) ServeHTTP(out http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // the caller is gone
	}
	q.Body = io.NopCloser(bytes.NewReader(body))
	if strings.Contains(q.URL.Path, "/traces/") {
		w.platform.ServeHTTP(out, q)
		return
	}
	r, c := w.find(body)
	if r == nil {
		w.soak.violate("", "the proxy has a request for %s of an unknown run", q.URL.Path)
		panic(http.ErrAbortHandler)
	}
	if !strings.HasPrefix(q.URL.Path, r.on.Path+"/tools/"+c.tool) {
		w.soak.violate(r.name, "call %d of %s came to %s", c.number, c.tool, q.URL.Path)
	}
	what := none
	if n := int(c.arrived.Add(1)); n <= len(c.faults) {
		what = c.faults[n-1]
		w.soak.counts.faults.Add(1)
	}
	var next http.Handler = w.platform
	if c.tool == single {
		next = w.soak.misbehaving(w.platform)
	}
	v := &victim{w: out, r: q, next: next, onStall: c.stall}
	v.suffer(what)
}
