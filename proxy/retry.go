package proxy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/toolwire/toolwire/internal/report"
	"github.com/toolwire/toolwire/internal/waits"
)

// send carries one request through: run over? -> pacing -> attempt -> classify -> wait -> pacing -> attempt …
func (r *run) send(ctx context.Context, req *request) (*answer, *Error) {
	if len(req.body) > r.maxRequest {
		return nil, localError(CodeTooLarge, req.name, fmt.Sprintf("the body has %d bytes, the limit is %d", len(req.body), r.maxRequest))
	}
	ans, failure := r.paced(ctx, req, 1)
	if failure == nil || !r.mayRepeat(req, failure) {
		return ans, failure
	}
	return r.repeat(ctx, req, failure)
}

// repeat goes on after a first failed attempt. The good path pays nothing for it.
func (r *run) repeat(ctx context.Context, req *request, failure *Error) (*answer, *Error) {
	var ans *answer
	w := &policy{ctx: ctx, run: r, req: req, failure: failure, series: waits.NewSeries()}
	uncertain := failure.Outcome == Unknown // once the tool may have run, no later answer takes that back
	operation := func() error {
		if w.made == 0 {
			return failure // the first attempt has been made already
		}
		if ctx.Err() != nil {
			failure = stopped(failure, CodeCanceled, contextError(ctx))
			return backoff.Permanent(failure)
		}
		next, err := r.paced(ctx, req, failure.Attempts+1)
		if err == nil {
			ans, failure = next, nil
			return nil
		}
		if err.Attempts == 0 { // stopped before it was sent: what is known is the last answer
			err = stopped(failure, err.Code, err.Err)
		}
		if uncertain = uncertain || err.Outcome == Unknown; uncertain {
			err.Outcome = Unknown
		}
		failure, w.failure = err, err
		if !r.mayRepeat(req, err) {
			return backoff.Permanent(err)
		}
		return err
	}
	if err := backoff.Retry(operation, w); err == nil {
		return ans, nil
	}
	if w.stop != nil {
		return nil, w.stop
	}
	if r.mayRepeat(req, failure) { // so the wait was cut short
		return nil, stopped(failure, CodeCanceled, contextError(ctx))
	}
	return nil, failure
}

// stopped is the last failure with the reason why no further attempt was made.
func stopped(last *Error, code Code, reason error) *Error {
	e := *last
	e.Code = code
	e.Err = reason
	if last.Err != nil {
		e.Err = fmt.Errorf("%w; before that: %w", reason, last.Err)
	}
	return &e
}

// paced makes one attempt when it is its turn. number is the attempt's, from 1.
func (r *run) paced(ctx context.Context, req *request, number int) (*answer, *Error) {
	if over := r.overError(req, number); over != nil {
		return nil, over
	}
	if ctx.Err() != nil {
		return nil, &Error{Code: CodeCanceled, Outcome: NotSent, Tool: req.name, Err: contextError(ctx)}
	}
	place, w, err := r.pacer.enqueue(ctx)
	if w != nil {
		r.log.LogAttrs(ctx, slog.LevelInfo, report.WaitsForPace, slog.String(report.Tool, req.name),
			slog.Duration(report.Wait, w.due.Round(time.Millisecond)), slog.Int(report.Limit, r.pacer.limit), slog.Duration(report.Window, r.pacer.window))
		place, err = r.pacer.wait(ctx, r.over.done(), w)
	}
	if over := r.overError(req, number); over != nil {
		if place != nil {
			place.release()
		}
		return nil, over
	}
	if err != nil {
		code := CodeCanceled
		if errors.Is(err, errWaitTooLong) {
			code = CodeDeadline
		}
		return nil, &Error{Code: code, Outcome: NotSent, Tool: req.name, Err: err}
	}
	start := time.Now()
	ans, failure := r.attempt(ctx, req, place)
	r.logAttempt(ctx, req, number, ans, failure, time.Since(start))
	if failure == nil {
		ans.attempts = number
		return ans, nil
	}
	failure.Attempts = number
	switch failure.Code {
	case CodeRunOver:
		r.end(failure)
	case CodeRateLimited: // whether or not this call goes on
		r.pacer.hold(min(failure.RetryAfter, r.maxRetryAfter))
	}
	return nil, failure
}

func (r *run) logAttempt(ctx context.Context, req *request, number int, ans *answer, e *Error, took time.Duration) {
	if !r.log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	attrs := []slog.Attr{slog.String("tool", req.name), slog.Int("attempt", number), slog.Duration("took", took)}
	if e == nil {
		attrs = append(attrs, slog.Int("status", ans.status))
	} else {
		attrs = append(attrs, slog.Int("status", e.Status), slog.String("code", string(e.Code)), slog.String("class", e.Class))
	}
	r.log.LogAttrs(ctx, slog.LevelDebug, "proxy attempt", attrs...)
}

// policy is the backoff policy of one call. It is stateful, so every call has its own.
type policy struct {
	ctx     context.Context
	run     *run
	req     *request
	failure *Error // the last one, whose Retry-After counts
	series  waits.Series
	made    int
	stop    *Error // why no further attempt is made, if that was decided here
}

// Context makes backoff.Retry end its wait with the call.
func (w *policy) Context() context.Context { return w.ctx }

// Reset is called by backoff.Retry before the first attempt.
func (w *policy) Reset() { w.series.Reset() }

// NextBackOff returns the wait before the next attempt, or backoff.Stop. No wait is begun that the deadline forbids.
func (w *policy) NextBackOff() time.Duration {
	last := w.failure
	if last.Attempts >= w.run.maxAttempts {
		w.stop = last
		return backoff.Stop
	}
	wait := w.series.Next()
	if last.RetryAfter > w.run.maxRetryAfter {
		w.stop = stopped(last, last.Code, fmt.Errorf("the proxy asks to wait %s, more than the limit of %s", last.RetryAfter, w.run.maxRetryAfter))
		return backoff.Stop
	}
	wait = max(wait, last.RetryAfter)
	if deadline, ok := w.ctx.Deadline(); ok && time.Until(deadline) <= wait {
		w.stop = stopped(last, CodeDeadline, fmt.Errorf("the next attempt is due in %s, after the call's deadline", wait.Round(time.Millisecond)))
		return backoff.Stop
	}
	if last.Code == CodeRateLimited {
		w.run.pacer.hold(wait)
	}
	w.made++
	w.run.log.LogAttrs(w.ctx, slog.LevelInfo, report.WaitsToRepeat, slog.String(report.Tool, w.req.name),
		slog.Int("attempt", last.Attempts), slog.Int(report.Status, last.Status), slog.String(report.Class, last.Class), slog.Duration(report.Wait, wait))
	return wait
}
