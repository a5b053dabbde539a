package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
)

// A caller is the platform as an endpoint sees it.
type caller struct {
	soak      *soak
	world     *world
	transport *http.Transport
	endpoint  string
	proxy     string
}

// answer is what a dispatch got. status is 0 if there was no whole answer.
type answer struct {
	status int
	body   []byte
	err    error
}

var errHalf = errors.New("the caller sends half of its request")

// dispatch sends a run to the endpoint, once.
func (c *caller) dispatch(r *run, token string) answer {
	ctx, hangUp := context.WithTimeout(context.Background(), safety)
	defer hangUp()
	envelope, err := json.Marshal(map[string]any{
		"task_id": r.number, "run_id": json.Number(r.on.ID), "agent_id": 1, "odyssey_proxy_url": c.proxy + r.on.Path,
		"run_token_jti": r.on.JTI,
		"input": map[string]any{
			"task_id": r.number, "user_instruction": "Do what is planned for " + r.name + ".", "input": struct{}{},
		},
	})
	if err != nil {
		return answer{err: err}
	}
	var body io.Reader = bytes.NewReader(envelope)
	if r.ending == halfSent {
		body = io.MultiReader(bytes.NewReader(envelope[:len(envelope)/2]), broken{})
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint, body)
	if err != nil {
		return answer{err: err}
	}
	q.ContentLength = int64(len(envelope))
	q.Header.Set("X-Pipelines-Run-Token", r.on.Token)
	q.Header.Set("X-Pipelines-Odyssey-Proxy-URL", c.proxy+r.on.Path)
	q.Header.Set("X-Pipelines-Run-Id", r.on.ID)
	q.Header.Set("X-Pipelines-Run-Token-Jti", r.on.JTI)
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("Authorization", "Bearer "+token)
	if r.ending == hangsUp {
		go func() {
			select {
			case <-r.working:
				hangUp()
			case <-ctx.Done():
			}
		}()
	}
	response, err := c.transport.RoundTrip(q)
	if err != nil {
		return answer{err: err}
	}
	defer func() { _ = response.Body.Close() }()
	got, err := io.ReadAll(response.Body)
	if err != nil {
		return answer{err: err}
	}
	c.soak.inspect(answers, "an answer of the endpoint", r.name, string(got))
	return answer{status: response.StatusCode, body: got}
}

// broken is the rest of a request that is never sent.
type broken struct{}

// Read implements io.Reader.
func (broken) Read([]byte) (int, error) { return 0, errHalf }

// deliver dispatches a run until it is answered. A dispatch that was refused for lack of a place must
// not have run. One that was not answered must not have run either, unless the plan is that there is
// no answer: its connection was not made or was closed, for example by one of the time limits that
// net/http has for the beginning of a connection.
func (c *caller) deliver(r *run, token string) answer {
	var got answer
	for end := time.Now().Add(safety); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		got = c.dispatch(r, token)
		if got.status != http.StatusServiceUnavailable && got.err == nil || r.ending == halfSent {
			break
		}
		if n := r.started.Load(); n > 0 {
			if got.err == nil {
				c.soak.violate(r.name, "refused with 503, and its agent has run %d times", n)
			}
			break // judge looks at the error
		}
		c.soak.counts.refused.Add(1)
	}
	return got
}

// judge compares an answer with what is planned for the run.
func (c *caller) judge(r *run, got answer) {
	status, code, started := 0, "", int64(1)
	switch r.ending {
	case done:
		status = http.StatusOK
		if check := dispatch.CheckResponse(got.body); got.status == status && !c.planned(r, check) {
			c.soak.violate(r.name, "the answer is %.300s, with the problems %v", got.body, check.Problems)
		}
	case failing:
		status, code = http.StatusInternalServerError, string(dispatch.CodeAgent)
	case panics:
		status, code = http.StatusInternalServerError, string(dispatch.CodePanicked)
	case halfSent:
		started = 0
	case wrong:
		status, started = http.StatusUnauthorized, 0
	}
	if got.status != status {
		c.soak.violate(r.name, "answered with %d %.200s (%v), want %d", got.status, got.body, got.err, status)
	}
	if code != "" && !bytes.Contains(got.body, []byte(`"`+code+`"`)) {
		c.soak.violate(r.name, "the answer is %.200s, want the code %s", got.body, code)
	}
	if status == 0 {
		c.soak.counts.gone.Add(1)
	}
	if n := r.started.Load(); n != started {
		c.soak.violate(r.name, "its agent has run %d times, want %d (answered with %d)", n, started, got.status)
	}
}

func (c *caller) planned(r *run, check *dispatch.ResponseCheck) bool {
	return check.OK() && check.FinalResponse == "done "+r.name && check.Gradeable
}

// each calls do for every run, with as many at once as parallel.
func (s *soak) each(runs []*run, parallel int, do func(r *run)) {
	var group sync.WaitGroup
	places := make(chan struct{}, parallel)
	for _, r := range runs {
		places <- struct{}{}
		group.Go(func() {
			defer func() { <-places }()
			defer s.guard(r.name)
			do(r)
		})
	}
	group.Wait()
}

// plan makes the runs of a phase.
func (s *soak) plan(w *world, n int, end func() ending, calls int) (runs []*run) {
	for range n {
		r := s.newRun(end(), 1+s.random.IntN(calls))
		w.admit(r)
		runs = append(runs, r)
	}
	return runs
}

// drained waits until all agents of a handler have returned.
func (s *soak) drained(h *dispatch.Handler, runs []*run) {
	ctx, cancel := context.WithTimeout(context.Background(), safety)
	defer cancel()
	if err := h.Drain(ctx); err != nil {
		s.violate("", "Drain: %v", err)
	}
	for _, r := range runs {
		if begun, ended := r.started.Load(), r.ended.Load(); begun != ended {
			s.violate(r.name, "after Drain its agent has begun %d times and ended %d times", begun, ended)
		}
	}
}

// report inspects the report of a run by a test kit.
func (s *soak) report(r *run, result *dispatchtest.Result) {
	s.inspect(reported, "a report", r.name, marshal(result)+result.String())
}
