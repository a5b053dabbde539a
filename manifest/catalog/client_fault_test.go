package catalog_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/internal/httpcall/faulttest"
	"github.com/toolwire/toolwire/manifest/catalog"
)

// Faults of a catalog end a call with the right code and the right claim about what may have
// happened.
func TestClientFaults(t *testing.T) {
	codes := map[faulttest.Outcome]catalog.Code{
		faulttest.BadBody: catalog.CodeBadResponse, faulttest.TooLarge: catalog.CodeResponseTooLarge,
		faulttest.Broken: catalog.CodeTransport, faulttest.Canceled: catalog.CodeCanceled,
	}
	statuses := map[int]catalog.Code{
		101: catalog.CodeStatus, 204: catalog.CodeBadResponse, 302: catalog.CodeStatus, 429: catalog.CodeRateLimited,
		500: catalog.CodeServer,
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
				if e.Status != p.Want.Status && (e.Status != 0 || p.Want.Outcome == faulttest.Status) ||
					e.RetryAfter != p.Want.RetryAfter {
					t.Errorf("status %d, Retry-After %s: want %+v", e.Status, e.RetryAfter, p.Want)
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
