package proxy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/internal/text"
)

// send makes the attempts of one request. Each attempt passes these stages in order: end of the
// run, pacing, sending, classification.
func (r *run) send(ctx context.Context, req *request) (answer, *Error) {
	var got answer
	var last *Error   // nil after a success
	var waited func() // reports the end of a wait
	stop := r.repeats.Repeat(ctx, func(number int) httpcall.Next {
		if number > 1 {
			waited()
		}
		ans, err := r.paced(ctx, req, number)
		if err == nil {
			got, last = ans, nil
			return httpcall.Next{}
		}
		if last != nil {
			err = after(last, err)
		}
		last = err
		return httpcall.Next{Again: r.mayRepeat(req, err), After: err.RetryAfter}
	}, func(number int, wait time.Duration) { waited = r.waitToRepeat(ctx, req, number, last, wait) })
	switch stop.Reason {
	case httpcall.TooLong:
		last = stopped(last, last.Code, stop.Err)
	case httpcall.TooLate:
		last = stopped(last, toolwire.CodeDeadline, earlyError{stop.Err})
	case httpcall.Stopped:
		waited()
		last = stopped(last, problem.ContextCode[toolwire.Code](stop.Err), stop.Err)
	}
	return got, last
}

func transientClass(class string) bool { return slices.Contains(transientClasses, class) }

// mayRepeat reports whether a failed attempt may be followed by another.
func (r *run) mayRepeat(req *request, e *Error) bool {
	switch e.Code {
	case toolwire.CodeRateLimited:
		return true
	case toolwire.CodeUnavailable:
		return transientClass(e.Class)
	case toolwire.CodeTransport:
		return e.Delivery == NotSent || req.repeatable
	}
	return false
}

// after returns the error of an attempt that follows one that failed with last.
func after(last, err *Error) *Error {
	if err.Attempts < last.Attempts { // it was stopped before it was sent: what is known is the last answer
		return stopped(last, err.Code, err.Err)
	}
	if last.Delivery == Unknown && err.Delivery != Unknown { // no later answer takes back that the tool may have run
		e := *err // others may already read err, as the end of the run
		e.Delivery = Unknown
		return &e
	}
	return err
}

// stopped returns the last failure with the reason why no further attempt was made.
func stopped(last *Error, code toolwire.Code, reason error) *Error {
	e := *last
	e.Code = code
	e.Err = reason
	if last.Err != nil {
		e.Err = fmt.Errorf("%w; before that: %w", reason, last.Err)
	}
	return &e
}

// waitToRepeat is called before each wait for a repeat. number is the number of the attempt that failed
// with last. The function that it returns is called after the wait.
func (r *run) waitToRepeat(
	ctx context.Context, req *request, number int, last *Error, wait time.Duration,
) (waited func()) {
	if last.Code == toolwire.CodeRateLimited { // until now the pacer waits for Retry-After only, which may be shorter
		r.pacer.pause(wait)
	}
	r.log.LogAttrs(ctx, slog.LevelInfo, "proxy waits before repeating", slog.String("tool", req.name),
		slog.Int("attempt", last.Attempts), slog.Int("status", last.Status), slog.String("class", last.Class),
		slog.Duration("wait", wait))
	return req.startWait(ctx, WaitInfo{Name: req.name, Next: number + 1, Expected: wait, Err: last})
}

// paced makes one attempt when the pacer admits it. number is the attempt's, from 1.
func (r *run) paced(ctx context.Context, req *request, number int) (answer, *Error) {
	if over := r.overError(req, number); over != nil {
		return answer{}, over
	}
	if ctx.Err() != nil {
		err := httpcall.ContextError(ctx)
		return answer{}, localError(problem.ContextCode[toolwire.Code](err), req.name, err)
	}
	place, w, err := r.pacer.enqueue(ctx, &r.over)
	if w != nil {
		place, err = r.waitForPace(ctx, req, number, w)
	}
	if over := r.overError(req, number); over != nil {
		if place != nil {
			place.release()
		}
		return answer{}, over
	}
	if err != nil {
		code := problem.ContextCode[toolwire.Code](err)
		if errors.Is(err, errWaitTooLong) {
			code = toolwire.CodeDeadline
		}
		return answer{}, localError(code, req.name, err)
	}
	ans, failure := r.attempt(ctx, req, number, place)
	if failure == nil {
		return ans, nil
	}
	switch failure.Code {
	case toolwire.CodeRunOver:
		r.markOver(failure)
	case toolwire.CodeRateLimited: // whether or not this call is repeated; see waitToRepeat
		r.pacer.pause(min(failure.RetryAfter, httpcall.MaxRetryAfter))
	}
	return answer{}, failure
}

// waitForPace waits until the pacer admits the attempt of this number.
func (r *run) waitForPace(ctx context.Context, req *request, number int, w *waiter) (*place, error) {
	returned := false
	defer func() {
		if !returned { // the logger or an observer panicked
			r.pacer.leave(w)
		}
	}()
	info := WaitInfo{Name: req.name, Next: number, Expected: w.due.Round(time.Millisecond),
		pace: fmt.Sprintf("a run token may make %s in %s", text.Plural(r.pacer.limit, "request"), r.pacer.window)}
	r.log.LogAttrs(ctx, slog.LevelInfo, "proxy waits for its rate limit", slog.String("tool", req.name),
		slog.Duration("wait", info.Expected), slog.Int("limit", r.pacer.limit),
		slog.Duration("window", r.pacer.window))
	waited := req.startWait(ctx, info)
	place, err := r.pacer.wait(ctx, w)
	waited()
	returned = true
	return place, err
}

func (r *run) logAttempt(ctx context.Context, req *request, number int, ans answer, e *Error, took time.Duration) {
	if !r.log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	attrs := []slog.Attr{slog.String("tool", req.name), slog.Int("attempt", number), slog.Duration("took", took)}
	if e == nil {
		attrs = append(attrs, slog.Int("status", ans.status))
	} else {
		attrs = append(attrs, slog.Int("status", e.Status), slog.String("code", string(e.Code)),
			slog.String("class", e.Class))
	}
	r.log.LogAttrs(ctx, slog.LevelDebug, "proxy attempt", attrs...)
}
