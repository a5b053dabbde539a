package proxy_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/httpcall/faulttest"
	"github.com/toolwire/toolwire/proxy"
)

// Every fault of the table ends a call with the right code and with the right claim about the tool,
// and what may have run is sent once.
func TestFaults(t *testing.T) {
	codes := map[faulttest.Outcome]toolwire.Code{
		faulttest.TooLarge: toolwire.CodeResponseTooLarge, faulttest.Broken: toolwire.CodeTransport,
		faulttest.Canceled: toolwire.CodeCanceled,
		faulttest.BadBody:  toolwire.CodeBadResponse,
	}
	statuses := map[int]toolwire.Code{408: toolwire.CodeRefused, 429: toolwire.CodeRateLimited, 500: toolwire.CodeServerError}
	rows := faulttest.Rows()
	if sentinels := faulttest.Sentinels(); len(rows) < 60 || len(sentinels) < 12 {
		t.Fatalf("%d rows, %d sentinels", len(rows), len(sentinels))
	}
	for _, row := range rows {
		t.Run(row.Name, func(t *testing.T) {
			row.Run(t, seedAnswer, func(ctx context.Context, p faulttest.Peer) {
				opts := &proxy.Options{Transport: p.Transport}
				if p.Want.Delivery != faulttest.MayHaveRun || p.Want.Status == 429 {
					opts.MaxAttempts = 1 // these are repeated, after waits
				}
				c, err := proxy.New(p.URL, runToken, opts)
				if err != nil {
					t.Fatal(err)
				}
				result, err := c.Do(ctx, "refund_order", map[string]string{"id": "hunter2"})
				if p.Want.Outcome == faulttest.Success {
					if err != nil || result.Attempts != 1 {
						t.Errorf("%+v, %v", result, err)
					}
					return
				}
				e, ok := errors.AsType[*proxy.Error](err)
				if !ok || result != nil {
					t.Fatalf("%v, %v", result, err)
				}
				want, known := codes[p.Want.Outcome]
				if !known {
					want = toolwire.CodeUnexpectedStatus
					if code, ok := statuses[p.Want.Status]; ok {
						want = code
					}
				}
				delivery := proxy.Unknown
				switch {
				case p.Want.Delivery == faulttest.NotSent:
					delivery = proxy.NotSent
				case p.Want.Delivery == faulttest.Either && e.Delivery == proxy.NotSent:
					delivery = proxy.NotSent
				case p.Want.Status == 429:
					delivery = proxy.Refused
				}
				if e.Code != want || e.Delivery != delivery || e.Attempts != 1 {
					t.Errorf("%v\ncode %q, delivery %q, %d attempts; want %q, %q", err, e.Code, e.Delivery, e.Attempts,
						want, delivery)
				}
				if p.Want.Outcome == faulttest.Status && e.Status != p.Want.Status || e.Status != 0 &&
					e.Status != p.Want.Status {
					t.Errorf("status %d, want %d", e.Status, p.Want.Status)
				}
				if p.Want.Outcome == faulttest.Canceled &&
					(!errors.Is(err, faulttest.ErrStalled) || !errors.Is(err, context.Canceled)) {
					t.Errorf("%v lost the cause of its context", err)
				}
				if w := p.Want.RetryAfter; e.RetryAfter > w || !p.Want.Dated && e.RetryAfter != w || p.Want.Dated &&
					e.RetryAfter == 0 {
					t.Errorf("Retry-After %s, want %s", e.RetryAfter, w)
				}
				wantNoSecret(t, err.Error())
				if strings.Contains(err.Error(), strings.TrimPrefix(p.URL, "http://")) {
					t.Errorf("%v contains the address", err)
				}
			})
		})
	}
}
