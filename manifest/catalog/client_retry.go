package catalog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/toolwire/toolwire/internal/waits"
)

// do sends r as often as it takes and may be.
func (c *Client) do(ctx context.Context, r *request, read func(*response) error) error {
	return c.repeat(ctx, r, func() *failedAttempt { return c.attempt(ctx, r, read) })
}

// repeat calls attempt until it succeeds, or r may not be repeated, or there is no time or no attempt left.
func (c *Client) repeat(ctx context.Context, r *request, attempt func() *failedAttempt) error {
	w := &policy{ctx: ctx, client: c, request: r, series: waits.NewSeries()}
	err := backoff.Retry(func() error {
		start := time.Now()
		w.made, w.waiting = w.made+1, false
		w.last = attempt()
		c.logAttempt(ctx, r, w.made, w.last, time.Since(start))
		if w.last == nil {
			return nil
		}
		w.unsure = w.unsure || w.last.unsure
		if !w.last.repeatable(r) {
			return backoff.Permanent(w.last.Error)
		}
		return w.last.Error
	}, w)
	if err == nil {
		return nil
	}
	return w.failure()
}

// policy is the backoff policy of one call. It is stateful, so every call has its own.
type policy struct {
	ctx     context.Context
	client  *Client
	request *request
	series  waits.Series
	made    int            // attempts
	last    *failedAttempt // of the last one
	unsure  bool           // one of the attempts may have been carried out; later ones do not take that back
	waiting bool           // a wait has begun and no attempt was made since
	stop    string         // why there is no further attempt, if that was decided here
}

// Context makes backoff.Retry end its wait with the call.
func (w *policy) Context() context.Context { return w.ctx }

// Reset is called by backoff.Retry before the first attempt.
func (w *policy) Reset() { w.series.Reset() }

// NextBackOff returns the wait before the next attempt, or backoff.Stop. No wait is begun that the deadline forbids.
func (w *policy) NextBackOff() time.Duration {
	c, last := w.client, w.last
	wait := max(w.series.Next(), last.RetryAfter)
	deadline, bounded := w.ctx.Deadline()
	switch {
	case w.made >= c.maxAttempts:
		if w.made > 1 {
			w.stop = "gave up"
		}
		return backoff.Stop
	case last.RetryAfter > c.maxRetryAfter:
		w.stop = fmt.Sprintf("gave up, because the server asks to wait %s, and %s is the most (ClientOptions.MaxRetryAfter)",
			last.RetryAfter, c.maxRetryAfter)
		return backoff.Stop
	case bounded && time.Until(deadline) <= wait:
		w.stop = fmt.Sprintf("gave up, because the next attempt is due in %s, after the context's deadline",
			wait.Round(time.Millisecond))
		return backoff.Stop
	}
	c.log.LogAttrs(w.ctx, slog.LevelInfo, "catalog waits before repeating", slog.String("operation", w.request.name),
		slog.String("tool", w.request.logID()), slog.Int("attempt", w.made), slog.Int("status", last.Status),
		slog.String("code", string(last.Code)), slog.Duration("wait", wait))
	w.waiting = true
	return wait
}

// failure is the error of a call whose last attempt failed. What that attempt met is kept when the wait was cut short.
func (w *policy) failure() error {
	e := *w.last.Error
	switch {
	case w.waiting:
		cut := contextFailure(w.ctx, w.request)
		e.Code, e.err = cut.Code, errors.Join(cut.err, e.err)
		e.Message = cut.Message + " while waiting to repeat; before that: " + e.Message
	case w.stop != "":
		e.Message = fmt.Sprintf("%s (%s after %s)", e.Message, w.stop, attempts(w.made))
	}
	if w.unsure && w.request.unsure != "" {
		e.Message += "; " + w.request.unsure
	}
	return &e
}

func attempts(n int) string {
	if n == 1 {
		return "1 attempt"
	}
	return fmt.Sprintf("%d attempts", n)
}
