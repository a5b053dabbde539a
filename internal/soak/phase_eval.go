package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/eval"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// dataset has rows for agents that answer, fail and panic, and for a proxy that fails.
const dataset = `user,failure_rules
answer,
fail,
panic,
answer,"[{""tool"":""look"",""nth"":1,""break"":""reset""}]"
answer,"[{""tool"":""look"",""nth"":1,""break"":""truncate""}]"
answer,"[{""tool"":""look"",""nth"":1,""break"":""oversize""}]"
answer,"[{""tool"":""look"",""nth"":1,""status"":503,""error_class"":""maintenance""}]"
over,"[{""tool"":""look"",""nth"":1,""status"":401,""error_class"":""run_token_expired""}]"
`

// evaluates runs an experiment and reads all that it writes. Each trial must be stored once.
func (s *soak) evaluates() {
	private := newPrivate()
	transport := http1.transport()
	defer transport.CloseIdleConnections()
	token := newSecret()
	opts := s.options(token, transport)
	h, err := dispatch.New(func(ctx context.Context, in *dispatch.Run) (*dispatch.Response, error) {
		_, err := in.Proxy.Do(ctx, repeatable, arguments{APIKey: newArgument()})
		s.inspectError("a trial", err)
		switch in.Instruction {
		case "fail":
			return nil, errors.New(private)
		case "panic":
			panic(private)
		}
		return &dispatch.Response{FinalResponse: "done"}, nil
	}, opts)
	if err != nil {
		panic(err)
	}
	rows, err := eval.Read(strings.NewReader(dataset))
	if err != nil {
		panic(err)
	}
	answer := func(*proxytest.Request) (any, error) { return result{}, nil }
	cases, err := rows.Cases(dispatchtest.Task{
		World: proxytest.World{Behaviors: map[string]proxytest.Behavior{repeatable: answer}},
	}, nil)
	if err != nil {
		panic(err)
	}
	file, trials := filepath.Join(s.scratch, "results.jsonl"), max(1, s.runs/len(cases)/2)
	target := dispatchtest.Target{Handler: h, AuthValue: "Bearer " + token, RunTimeout: 30 * time.Minute}
	done, err := eval.Run(context.Background(), target, cases, &eval.Options{Trials: trials, Parallel: 16, Results: file})
	if err != nil {
		s.violate("", "the experiment: %v", err)
		return
	}
	stored, err := eval.Load(file)
	if err != nil {
		s.violate("", "the results cannot be read: %v", err)
		return
	}
	for _, e := range []*eval.Experiment{done, stored} {
		if len(e.Trials) != trials*len(cases) {
			s.violate("", "%d trials, want %d", len(e.Trials), trials*len(cases))
		}
	}
	for _, trial := range done.Trials {
		s.counts.runs.Add(1)
		s.counts.calls.Add(1)
		want := trial.Case.Row.User == "answer" || trial.Case.Row.User == "over"
		unreachable := trial.Result != nil && trial.Result.ErrorClass == dispatchtest.AgentUnreachable // a very slow machine
		if got := trial.Verdict == eval.Passed; got != want && !unreachable {
			s.violate(trial.Name, "the verdict is %s: %s", trial.Verdict, trial.Reason)
		}
	}
	var out bytes.Buffer
	if err := errors.Join(done.WriteJSON(&out), done.WriteJUnit(&out), done.WriteSummary(&out, false)); err != nil {
		s.violate("", "a report cannot be written: %v", err)
	}
	data, err := os.ReadFile(file)
	if err = errors.Join(err, os.Remove(file)); err != nil {
		s.violate("", "the results cannot be read: %v", err)
	}
	// Reports have the arguments of calls, and the texts of errors.
	s.inspect(reported, "a report", "", out.String()+string(data))
}
