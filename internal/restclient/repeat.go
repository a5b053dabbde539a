package restclient

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/toolwire/toolwire/internal/httpcall"
)

// Do sends r and repeats it if that is allowed.
func (c *Client) Do(ctx context.Context, r *Request, read func(*Response) *Failure) *Failure {
	return c.Repeat(ctx, r, func() *Failure { return c.Attempt(ctx, r, read) })
}

// Repeat calls attempt until it returns nil, r must not be repeated, or no time or attempt is left. A
// request is repeated if it was not sent, or if the server is too busy. Only a safe one is repeated
// after a broken connection. The failure is the last one; its Stop says why no attempt followed.
func (c *Client) Repeat(ctx context.Context, r *Request, attempt func() *Failure) *Failure {
	var last *Failure
	made, unsure := 0, false
	stop := c.repeats.Repeat(ctx, func(number int) httpcall.Next {
		start := time.Now()
		made, last = number, attempt()
		if c.log.Enabled(ctx, slog.LevelDebug) {
			took := slog.Duration("took", time.Since(start))
			c.log.LogAttrs(ctx, slog.LevelDebug, c.name+" attempt", r.attrs(number, last, took)...)
		}
		if last == nil {
			return httpcall.Next{}
		}
		unsure = unsure || last.Unsure
		again := last.passing && (last.unsent || last.Status == http.StatusTooManyRequests || r.Safe)
		return httpcall.Next{Again: again, After: last.RetryAfter}
	}, func(number int, wait time.Duration) {
		attrs := r.attrs(number, last, slog.Duration("wait", wait))
		c.log.LogAttrs(ctx, slog.LevelInfo, c.name+" waits before repeating", attrs...)
	})
	if last == nil {
		return nil
	}
	last.Attempts, last.Stop, last.Unsure = made, stop, unsure
	return last
}

// attrs are the attributes of a log record. They contain no key and no text of the server.
func (r *Request) attrs(number int, f *Failure, extra slog.Attr) []slog.Attr {
	attrs := []slog.Attr{
		slog.String("operation", r.Operation), slog.String("tool", r.ID), slog.Int("attempt", number),
	}
	if f != nil {
		attrs = append(attrs, slog.Int("status", f.Status), slog.String("code", f.Code))
	}
	return append(attrs, extra)
}
