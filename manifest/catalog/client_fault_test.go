package catalog_test

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/httpcall/faulttest"
	"github.com/toolwire/toolwire/manifest/catalog"
)

// Faults of a catalog end a call with the right code and the right claim about what may have
// happened.
func TestClientFaults(t *testing.T) {
	codes := map[faulttest.Outcome]toolwire.Code{
		faulttest.BadBody: toolwire.CodeBadResponse, faulttest.TooLarge: toolwire.CodeResponseTooLarge,
		faulttest.Broken: toolwire.CodeTransport, faulttest.Canceled: toolwire.CodeCanceled,
	}
	statuses := map[int]toolwire.Code{
		101: toolwire.CodeUnexpectedStatus, 204: toolwire.CodeBadResponse, 302: toolwire.CodeUnexpectedStatus, 429: toolwire.CodeRateLimited,
		500: toolwire.CodeServerError,
	}
	for _, row := range faulttest.Sentinels() {
		t.Run(row.Name, func(t *testing.T) {
			row.Run(t, calculatorItem, func(ctx context.Context, p faulttest.Peer) {
				c := newClient(t, p.URL, &catalog.ClientOptions{Transport: p.Transport, MaxAttempts: 1, MaxResponseBytes: 1<<20 +
					64<<10})
				_, err := c.Create(ctx, calculatorTool())
				if p.Want.Outcome == faulttest.Success {
					if err != nil {
						t.Error(err)
					}
					return
				}
				want, known := codes[p.Want.Outcome]
				if !known {
					want = statuses[p.Want.Status]
				}
				e := failedWith(t, err, want)
				got := cmp.Or(e.Response, &toolwire.Response{})
				if got.Status != p.Want.Status && (got.Status != 0 || p.Want.Outcome == faulttest.Status) ||
					got.RetryAfter != p.Want.RetryAfter {
					t.Errorf("status %d, Retry-After %s: want %+v", got.Status, got.RetryAfter, p.Want)
				}
				if p.Want.Outcome == faulttest.Canceled &&
					(!errors.Is(err, faulttest.ErrStalled) || !errors.Is(err, context.Canceled)) {
					t.Errorf("%v lost the cause of its context", err)
				}
				unsure := p.Want.Delivery == faulttest.MayHaveRun && p.Want.Status != 429
				if p.Want.Delivery != faulttest.Either && strings.Contains(err.Error(), "may have been created") != unsure {
					t.Errorf("%v\nthe tool may have been created: want %t", err, unsure)
				}
			})
		})
	}
}
