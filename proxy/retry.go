package proxy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/report"
)

// send makes the attempts of one request. Each attempt passes these stages in order: end of the
// run, pacing, sending, classification.
func (r *run) send(ctx context.Context, req *request) (answer, *Error) {
	if len(req.body) > maxBody {
		return answer{}, localError(CodeTooLarge, req.name,
			fmt.Sprintf("the body has %d bytes, the limit is %d", len(req.body), maxBody))
	}
	var got answer
	var last *Error // nil after a success
	var waiting time.Time
	stop := r.repeats.Repeat(ctx, func(number int) httpcall.Next {
		if number > 1 {
			req.endWait(ctx, number, waiting, last)
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
	}, func(_ int, wait time.Duration) {
		r.waits(ctx, req, last, wait)
		waiting = time.Now()
	})
	switch stop.Reason {
	case httpcall.TooLong:
		last = stopped(last, last.Code, stop.Err)
	case httpcall.TooLate:
		last = stopped(last, CodeDeadline, stop.Err)
	case httpcall.Stopped:
		req.endWait(ctx, last.Attempts+1, waiting, last)
		last = stopped(last, CodeCanceled, stop.Err)
	}
	return got, last
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
func stopped(last *Error, code Code, reason error) *Error {
	e := *last
	e.Code = code
	e.Err = reason
	if last.Err != nil {
		e.Err = fmt.Errorf("%w; before that: %w", reason, last.Err)
	}
	return &e
}

// waits is called before each wait for a repeat.
func (r *run) waits(ctx context.Context, req *request, last *Error, wait time.Duration) {
	if last.Code == CodeRateLimited {
		r.pacer.hold(wait)
	}
	r.log.LogAttrs(ctx, slog.LevelInfo, report.WaitsToRepeat, slog.String(report.Tool, req.name),
		slog.Int("attempt", last.Attempts), slog.Int(report.Status, last.Status), slog.String(report.Class, last.Class),
		slog.Duration(report.Wait, wait))
}

// paced makes one attempt when the pacer admits it. number is the attempt's, from 1.
func (r *run) paced(ctx context.Context, req *request, number int) (answer, *Error) {
	if over := r.overError(req, number); over != nil {
		return answer{}, over
	}
	if ctx.Err() != nil {
		return answer{}, &Error{Code: CodeCanceled, Delivery: NotSent, Tool: req.name, Err: httpcall.ContextError(ctx)}
	}
	place, w, err := r.pacer.enqueue(ctx)
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
		code := CodeCanceled
		if errors.Is(err, errWaitTooLong) {
			code = CodeDeadline
		}
		return answer{}, &Error{Code: code, Delivery: NotSent, Tool: req.name, Err: err}
	}
	ans, failure := r.attempt(ctx, req, number, place)
	if failure == nil {
		return ans, nil
	}
	switch failure.Code {
	case CodeRunOver:
		r.end(failure)
	case CodeRateLimited: // whether or not this call goes on
		r.pacer.hold(min(failure.RetryAfter, maxRetryAfter))
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
	r.log.LogAttrs(ctx, slog.LevelInfo, report.WaitsForPace, slog.String(report.Tool, req.name),
		slog.Duration(report.Wait, w.due.Round(time.Millisecond)), slog.Int(report.Limit, r.pacer.limit),
		slog.Duration(report.Window, r.pacer.window))
	began := time.Now()
	place, err := r.pacer.wait(ctx, r.over.done(), w)
	req.endWait(ctx, number, began, nil)
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
