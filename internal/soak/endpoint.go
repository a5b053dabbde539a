package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/cassette"
)

// options are those of the endpoints of a phase. The time limits are so long that no run reaches
// them.
func (s *soak) options(token string, transport http.RoundTripper) *dispatch.Options {
	return &dispatch.Options{
		Tokens: []string{token}, RunTimeout: 30 * time.Minute, Reserve: 15 * time.Minute, BodyTimeout: safety,
		SendTranscript: true, Logger: s.log,
		Proxy: &proxy.Options{Transport: transport, Repeatable: []string{repeatable}, Logger: s.log, AttemptTimeout: safety},
	}
}

// endpoint makes a handler with the agent of the world's runs.
func (w *world) endpoint(opts *dispatch.Options, recorder *cassette.Recorder) *dispatch.Handler {
	h, err := dispatch.New(func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		return w.agent(ctx, run, recorder)
	}, opts)
	if err != nil {
		panic(err)
	}
	return h
}

// run returns the run with the number that is the task's id.
func (w *world) run(taskID string) *run {
	n, _ := strconv.Atoi(taskID)
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.runs[n]
}

// agent is the agent of all runs. It does what is planned.
func (w *world) agent(ctx context.Context, in *dispatch.Run, recorder *cassette.Recorder) (*dispatch.Response, error) {
	s, r := w.soak, w.run(in.TaskID)
	if r == nil || in.RunID != r.on.ID {
		s.violate("", "an agent runs task %q as run %q", in.TaskID, in.RunID)
		return nil, errors.New("unknown")
	}
	r.started.Add(1)
	defer r.ended.Add(1)
	if recorder != nil {
		var end func() error
		var err error
		ctx, end, err = recorder.Begin(ctx, cassette.Task{Name: r.name[len("run "):], Instruction: in.Instruction})
		if err != nil {
			s.violate(r.name, "the recorder: %v", err)
			return nil, err
		}
		defer func() {
			s.taped(r.name, end())
		}()
	}
	s.leak(r.on.Token)
	w.work(ctx, in, r)
	r.once.Do(func() { close(r.working) })
	switch r.ending {
	case failing:
		return nil, errors.New(r.private)
	case panics:
		panic(r.private)
	case aborts:
		panic(http.ErrAbortHandler)
	case hangsUp:
		<-ctx.Done()
		return nil, ctx.Err()
	}
	final := "done " + r.name
	if s.plant == plantAnswer {
		final += r.on.Token
	}
	return &dispatch.Response{FinalResponse: final}, nil
}

// work makes the calls of a run, some of them in parallel and under a label.
func (w *world) work(ctx context.Context, in *dispatch.Run, r *run) {
	client := in.Proxy
	if r.number%2 == 0 {
		client = client.As("worker/" + strconv.Itoa(r.number))
	}
	if r.number%4 == 0 {
		_, err := client.Trace(ctx, proxy.EventCustom, map[string]int{"run": r.number})
		w.soak.inspectError(r.name, err)
	}
	if r.number%3 != 0 {
		for _, c := range r.calls {
			c.make(ctx, w.soak, r, client)
		}
		return
	}
	_, _ = proxy.Each(ctx, r.calls, func(ctx context.Context, c *call) (struct{}, error) {
		c.make(ctx, w.soak, r, client)
		return struct{}{}, nil
	})
}

// taped checks the error of a recorder. The one thing that a tape cannot hold is an answer 101.
func (s *soak) taped(run string, err error) {
	s.inspectError(run, err)
	if err != nil && !strings.HasSuffix(err.Error(), "it switches protocols") {
		s.violate(run, "the tape: %v", err)
	}
}

// checkTapes reads the tapes of the runs that have one.
func (s *soak) checkTapes(dir string, runs []*run) {
	for _, r := range runs {
		path := filepath.Join(dir, fmt.Sprintf("%d.jsonl", r.number))
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			continue // no request was made
		}
		if _, err := cassette.Load(path); err != nil {
			s.violate(r.name, "its tape cannot be read: %v", err)
		}
	}
}
