package eval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/internal/hook"
	"github.com/toolwire/toolwire/internal/redact"
	"github.com/toolwire/toolwire/internal/runctx"
	"github.com/toolwire/toolwire/internal/text"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// work runs a trial, or grades a stored one again.
type work struct {
	*Trial
	target  dispatchtest.Target // not of a stored trial
	opts    *Options
	answers *answers // of judges
}

// run runs the trial.
func (w work) run(ctx context.Context) {
	if reason := w.opts.skip(w.Case); reason != "" {
		w.end(Skipped, "", reason)
		return
	}
	own := *w.Case // it gets the task of the trial
	w.Case = &own
	w.began = time.Now()
	defer func() { w.Took = time.Since(w.began) }()
	w.guard(func() {
		w.vary()
		w.seat()
		result, err := dispatchtest.Dispatch(ctx, w.target, w.Task)
		w.Result = result
		if result == nil {
			w.end(Errored, causeNotStaged, err.Error())
			return
		}
		defer func() { w.measure(result) }()
		w.decide(ctx, result, err)
	})
}

// guard calls do, which calls functions of the caller. They may panic, or end the goroutine.
func (w work) guard(do func()) {
	w.end(Errored, causePanic, "a function of the caller ended the goroutine of the trial")
	defer func() {
		if p := recover(); p != nil {
			w.end(Errored, causePanic, fmt.Sprintf("panic: %v\n%s", p, debug.Stack()))
		}
	}()
	do()
}

// decide sets the verdict about a result. userErr is the error of the user, if it failed. What the agent
// did wrong before counts as the agent's.
func (w work) decide(ctx context.Context, result *dispatchtest.Result, userErr error) {
	w.differ, w.status = []mismatch{}, 0
	grade := w.opts.grader(w.Case)
	switch {
	case !result.WouldBeGraded() && givenUp(ctx, result):
		w.end(Cancelled, "", fmt.Sprintf("it was in progress when the experiment was cancelled: %v", context.Cause(ctx)))
	case !result.OK():
		cause := cmp.Or(string(result.ErrorClass), string(result.StandIn))
		w.end(Failed, cause, strings.Join(append(slices.Clone(result.Faults), result.Error), "; "))
		if status := cmp.Or(result.Dispatch.Status, result.Ping.Status); len(result.Faults) == 0 && slices.Contains(w.opts.FaultStatuses, status) {
			w.status = status
		}
	case len(result.Faults) > 0:
		w.end(Failed, causeFault, strings.Join(result.Faults, "; "))
	case userErr != nil && ctx.Err() != nil:
		w.end(Cancelled, "", fmt.Sprintf("it was in progress when the experiment was cancelled: %v", context.Cause(ctx)))
	case userErr != nil:
		w.end(Errored, causeUser, "the user failed: "+textOf(errors.Unwrap(userErr)))
	case grade == nil:
		w.end(Passed, "", "")
	default:
		c := *w.Case
		c.recorder = &recorder{answers: w.answers}
		err := grade(ctx, c, result)
		c.recorder.mu.Lock()
		defer c.recorder.mu.Unlock()
		w.judged = maps.Clone(c.recorder.judged)
		w.Scores, err = maps.Clone(c.recorder.scores), cmp.Or(c.recorder.err, err)
		w.differ = mismatches(err)
		switch {
		case err == nil:
			w.end(Passed, "", "")
		case ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx)) || errors.Is(err, ErrNotGraded)):
			w.end(Cancelled, "", fmt.Sprintf("it was being graded when the experiment was cancelled: %v", context.Cause(ctx)))
		case errors.Is(err, ErrNotGraded):
			w.end(Errored, causeNotGraded, textOf(err))
		default:
			w.end(Failed, causeGrader, textOf(err))
		}
	}
}

// textOf returns the text of an error of the caller's, without what may be secret in the URL of a request:
// some APIs of models take their key there.
func textOf(err error) string {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return redact.New(redact.URL(failed.URL)...).Redact(err.Error())
	}
	return err.Error()
}

// vary gives the task the world of the trial. A world that is not valid stays for Dispatch to report.
func (w work) vary() {
	if w.Task.ProxyURL != "" {
		return
	}
	platform := w.Task.Platform
	if platform == nil {
		var err error
		if platform, err = proxytest.New(w.Task.World, nil); err != nil {
			return
		}
		w.Task.World = proxytest.World{}
	}
	w.Task.Platform = variant(platform, fmt.Sprintf("%s/%d", w.ID, w.Number))
	*hook.Of[*runctx.CallLimit](w.Task.Platform) = runctx.CallLimit(w.opts.TrialBudget.Calls)
}

func (w work) end(verdict Verdict, cause string, reason string) {
	w.Verdict, w.Cause, w.Reason = verdict, cause, reason
}

// givenUp reports whether a run failed only because the experiment was cancelled: no complete
// answer arrived.
func givenUp(ctx context.Context, result *dispatchtest.Result) bool {
	classes := []dispatchtest.ErrorClass{dispatchtest.AgentUnreachable, dispatchtest.AgentTimeout, dispatchtest.AgentBadResponse}
	return ctx.Err() != nil && slices.Contains(classes, result.ErrorClass)
}

// seat puts the user into the task of the trial.
func (w work) seat() {
	if !w.opts.played(w.Case) {
		return
	}
	c, number, talk := *w.Case, w.Number, w.talk() // without the talk
	say := talk.User
	if r := c.data(); r != nil && r.Persona != "" && w.opts.User != nil {
		say = func(ctx context.Context, turns []dispatchtest.Turn) (string, error) {
			return w.opts.User(ctx, Trial{Case: &c, Number: number}, turns)
		}
	}
	talk.User = guarded(say, userTimeout, limitOf(talk))
	w.Task.Conversation = &talk
}

// again decides about a stored trial and returns its new line.
func (w work) again(ctx context.Context, f fingerprint) ([]byte, error) {
	result, err := w.result()
	if err != nil {
		return nil, err
	}
	if result != nil && w.Cause != causeUser { // a session that the user broke off is not graded
		c := w.Case
		own := *c
		w.Case = &own
		w.vary()
		if w.Task.Platform != nil {
			*hook.Of[*text.Declared](&result.Log) = hook.Of[text.Declared](w.Task.Platform)
		}
		w.Scores, w.judged = nil, nil
		apart(func() {
			w.guard(func() { w.decide(ctx, result, nil) })
		})
		w.hide(nil) // the file has no secrets
		w.measure(result)
		w.Case = c
		if w.Verdict == Cancelled {
			return nil, context.Cause(ctx)
		}
	}
	return w.line(f, nil)
}

// measure sets the scores of a run that need no grader. What a response does not report is unknown.
func (w work) measure(result *dispatchtest.Result) {
	w.usage = nil
	unreached := []string{string(dispatchtest.AgentUnreachable), string(dispatchtest.AuthFailed), causeUser}
	if slices.Contains(unreached, w.Cause) || w.status > 0 || len(result.Turns) == 0 {
		return
	}
	if w.Scores == nil {
		w.Scores = map[string]float64{}
	}
	w.Scores[scoreCalls] = float64(callsOf(result))
	in, out, took, allIn, allOut := 0.0, 0.0, 0.0, true, true
	for _, turn := range result.Turns {
		u, hasIn, hasOut := usageOf(turn.Body)
		in, out, took = in+float64(u.Input), out+float64(u.Output), took+turn.TookMS/1000
		allIn, allOut = allIn && hasIn, allOut && hasOut
		w.usage = append(w.usage, u)
	}
	if took >= 0 && took <= maxMeasure { // a file may say anything
		w.Scores[scoreSeconds] = took
	}
	if allIn {
		w.Scores[scoreTokensIn] = in
	}
	if allOut {
		w.Scores[scoreTokensOut] = out
	}
	if !allIn || !allOut {
		w.usage = nil
	}
	w.price(w.opts.Prices)
	limits := w.opts.TrialBudget
	if w.Verdict == Passed || w.Verdict == Failed && limits.Calls > 0 && w.Scores[scoreCalls] > float64(limits.Calls) { // it was ended
		w.end(limits.judge(w.Scores))
	}
}

// hide removes secrets from the reason and the mismatches, and then cuts the texts: half of a secret would
// not be found.
func (w work) hide(secrets *redact.Set) {
	w.Reason = secrets.Redact(w.Reason)
	for i, m := range w.differ {
		w.differ[i] = mismatch{secrets.Redact(m.Reason), text.Cut(secrets.Redact(m.Expected), maxText), text.Cut(secrets.Redact(m.Actual), maxText)}
	}
}
