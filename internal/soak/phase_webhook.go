package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/toolwire/toolwire/dispatch/webhook"
	"github.com/toolwire/toolwire/manifest/toolbox"
)

const agentID = "6f1c1a5e-3c1b-4a53-9d7e-0c5f2b8a9e11"

// webhooks calls external tools over the wire, with faults between both sides, functions that fail
// and panic, callers that hang up, and a secret that changes.
func (s *soak) webhooks() {
	w := s.newWorld()
	turning := newRotation(s.runs/4 + 4)
	tools := []webhook.Tool{
		webhook.Define(single, "", w.hook), webhook.Define(repeatable, "", w.hook),
	}
	h, err := webhook.New(tools, &webhook.Options{
		SecretFunc: turning.accepted, Timeout: safety, BodyTimeout: safety, Logger: s.log,
		OnCall: func(_ context.Context, end webhook.CallEnd) {
			s.log.Info("webhook", "code", end.Code, "tool", end.Tool)
		},
	})
	if err != nil {
		panic(err)
	}
	outgoing := http2.transport()
	defer outgoing.CloseIdleConnections()
	site := s.serve(http2, w.unreliable(h))
	var boxes []*toolbox.Toolbox
	for _, secret := range turning.secrets {
		document := fmt.Sprintf(`[{"name":%q,"url":"%s/a"},{"name":%q,"url":"%s/b"}]`, single, site.URL, repeatable, site.URL)
		box, err := toolbox.Parse([]byte(document), &toolbox.Options{
			Secret: secret, Transport: outgoing, Timeout: safety, Agent: toolbox.Agent{ID: agentID}, Logger: s.log,
		})
		if err != nil {
			panic(err)
		}
		boxes = append(boxes, box)
	}
	runs := s.plan(w, s.runs/2, func() ending { return done }, 3)
	s.each(runs, 32, func(r *run) {
		if r.number%4 == 0 {
			turning.turn()
		}
		for _, c := range r.calls {
			n := turning.pick(r.number + c.number)
			if len(c.faults) > 0 {
				c.callHook(s, r, boxes[n]) // a fault may be a 401, too
				continue
			}
			turning.use(s, r.name, n, func(string) (accepted, known bool) {
				e := c.callHook(s, r, boxes[n])
				return e == nil || e.Status != http.StatusUnauthorized, e == nil || e.Status != 0
			})
		}
	})
	site.stop()
	s.runawayHook()
}

// callHook makes one call and accounts for it.
func (c *call) callHook(s *soak, r *run, box *toolbox.Toolbox) *toolbox.Error {
	ctx, giveUp := c.untilStalled(context.Background())
	defer giveUp()
	s.counts.calls.Add(1)
	got, err := box.Call(ctx, c.tool, arguments{r.number, c.number, newArgument()})
	s.inspectError(r.name, err)
	executed := c.executed.Load()
	s.counts.executed.Add(executed)
	var value result
	if err == nil && json.Unmarshal(got, &value) != nil {
		s.violate(r.name, "call %d has the result %.100s", c.number, got)
	}
	s.inspect(answers, "an answer of the webhook", r.name, string(got))
	e, typed := errors.AsType[*toolbox.Error](err)
	if err != nil && !typed {
		s.violate(r.name, "call %d has an error of type %T: %v", c.number, err, err)
		return nil
	}
	what := fmt.Sprintf("call %d of %s (faults %v, executed %d, %v)", c.number, c.tool, c.faults, executed, err)
	switch {
	case executed > 1:
		s.violate(r.name, "%s: executed too often", what)
	case value == result{r.number, c.number} && executed == 0:
		s.violate(r.name, "%s: succeeded and was not executed", what)
	case value != result{r.number, c.number} && value != result{}:
		s.violate(r.name, "%s: the result is of another call: %s", what, got)
	case executed > 0 && e != nil && (e.Status == http.StatusUnauthorized || strings.Contains(e.Message, "did not run")):
		s.violate(r.name, "%s: executed, and the agent was told that it was not", what)
	}
	return e
}

// hook is the function of the webhook. It ends in one of several ways.
func (w *world) hook(ctx context.Context, in arguments) (result, error) {
	r, c := w.find([]byte(marshal(in)))
	if r == nil {
		w.soak.violate("", "a webhook has a call of an unknown run")
		return result{}, errors.New("unknown")
	}
	c.executed.Add(1)
	switch (r.number + c.number) % 6 {
	case 0:
		return result{}, errors.New(r.private)
	case 1:
		panic(r.private)
	case 2:
		return result{}, webhook.Errorf("the day is not free")
	case 3:
		c.stall() // the caller hangs up
		<-ctx.Done()
		return result{}, ctx.Err()
	}
	return result{r.number, c.number}, nil
}

// unreliable puts faults before a webhook.
func (w *world) unreliable(next http.Handler) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		if err != nil {
			panic(http.ErrAbortHandler) // the caller is gone
		}
		q.Body = io.NopCloser(bytes.NewReader(body))
		var envelope struct {
			Arguments json.RawMessage `json:"arguments"`
		}
		if err := json.Unmarshal(body, &envelope); err != nil {
			w.soak.violate("", "a webhook has the body %.200s", body)
		}
		r, c := w.find(envelope.Arguments)
		if r == nil {
			w.soak.violate("", "a webhook has a call of an unknown run")
			panic(http.ErrAbortHandler)
		}
		what := none
		if n := int(c.arrived.Add(1)); n <= len(c.faults) {
			what = c.faults[n-1]
			w.soak.counts.faults.Add(1)
		}
		v := &victim{w: out, r: q, next: next, onStall: c.stall}
		v.suffer(what)
	})
}

// runawayHook calls a function that ignores its context. The caller must have an answer in the
// meantime, and the function may panic later.
func (s *soak) runawayHook() {
	release, began := make(chan struct{}), make(chan struct{}, 8)
	ended := make(chan struct{}, 8)
	tool := webhook.Define("stay", "", func(context.Context, struct{}) (string, error) {
		began <- struct{}{}
		defer func() { ended <- struct{}{} }()
		<-release
		panic(newPrivate())
	})
	secret := newSecret()
	h, err := webhook.New([]webhook.Tool{tool}, &webhook.Options{
		Secrets: []string{secret}, Timeout: 20 * time.Millisecond, Logger: s.log,
	})
	if err != nil {
		panic(err)
	}
	outgoing := http1.transport()
	defer outgoing.CloseIdleConnections()
	site := s.serve(http1, h)
	box, err := toolbox.Parse(fmt.Appendf(nil, `{"name":"stay","url":%q}`, site.URL), &toolbox.Options{
		Secret: secret, Transport: outgoing, Timeout: safety, Agent: toolbox.Agent{ID: agentID},
	})
	if err != nil {
		panic(err)
	}
	runs := []*run{s.newRun(done, 0), s.newRun(done, 0), s.newRun(done, 0), s.newRun(done, 0)}
	s.each(runs, len(runs), func(r *run) {
		s.counts.calls.Add(1)
		got, err := box.CallForModel(context.Background(), "stay", struct{}{})
		s.inspectError(r.name, err)
		text := got.Text + fmt.Sprint(err)
		s.inspect(answers, "an answer of the webhook", r.name, text)
		if !strings.Contains(text, "transport") && !strings.Contains(text, "timeout") {
			s.violate(r.name, "the answer is %.200s, want a timeout", text)
		}
	})
	close(release)
	for range len(began) {
		<-began
		<-ended
	}
	site.stop()
}
