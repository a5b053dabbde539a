package catalog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/toolwire/toolwire/internal/httpcall"
)

// do sends r and repeats it if that is allowed.
func (c *Client) do(ctx context.Context, r *request, read func(*response) error) error {
	return c.repeat(ctx, r, func() *failedAttempt { return c.attempt(ctx, r, read) })
}

// repeat calls attempt until it succeeds, r must not be repeated, or no time or attempt is left.
func (c *Client) repeat(ctx context.Context, r *request, attempt func() *failedAttempt) error {
	s := series{client: c, request: r}
	stop := c.repeats.Repeat(ctx, func(number int) httpcall.Next {
		start := time.Now()
		s.made, s.last = number, attempt()
		c.logAttempt(ctx, r, number, s.last, time.Since(start))
		if s.last == nil {
			return httpcall.Next{}
		}
		s.unsure = s.unsure || s.last.unsure
		return httpcall.Next{Again: s.last.repeatable(r), After: s.last.RetryAfter}
	}, func(number int, wait time.Duration) {
		c.log.LogAttrs(ctx, slog.LevelInfo, "catalog waits before repeating", slog.String("operation", r.name),
			slog.String("tool", r.logID()), slog.Int("attempt", number), slog.Int("status", s.last.Status),
			slog.String("code", string(s.last.Code)), slog.Duration("wait", wait))
	})
	if s.last == nil {
		return nil
	}
	return s.failure(stop)
}

// series is the attempts of one call.
type series struct {
	client  *Client
	request *request
	made    int            // attempts
	last    *failedAttempt // nil after a success
	unsure  bool           // the server may have acted on one of the attempts
}

// failure returns the error of a call whose last attempt failed. If the wait after it was cut
// short, the error keeps the attempt's message.
func (s *series) failure(stop httpcall.Stop) error {
	e := *s.last.Error
	switch stop.Reason {
	case httpcall.Stopped:
		cut := contextFailure(s.request, stop.Err)
		e.Code, e.Err = cut.Code, errors.Join(cut.Err, e.Err)
		e.Message = cut.Message + " while waiting to repeat; before that: " + e.Message
	case httpcall.TooLong:
		e.Message = fmt.Sprintf("%s (gave up after %s: %s)", e.Message, attempts(s.made), stop.Err)
	case httpcall.TooLate:
		e.Message = fmt.Sprintf("%s (gave up after %s: %s)", e.Message, attempts(s.made), stop.Err)
	case httpcall.Exhausted:
		if s.made > 1 {
			e.Message = fmt.Sprintf("%s (gave up after %s)", e.Message, attempts(s.made))
		}
	}
	if s.unsure && s.request.unsure != "" {
		e.Message += "; " + s.request.unsure
	}
	return &e
}

func attempts(n int) string {
	if n == 1 {
		return "1 attempt"
	}
	return fmt.Sprintf("%d attempts", n)
}
