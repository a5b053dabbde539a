package registration_test

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/dispatch/registration"
	"github.com/toolwire/toolwire/internal/httpcall/faulttest"
)

// After each fault the error has the right code, and says whether the agent may have been
// registered.
func TestFaults(t *testing.T) {
	codes := map[faulttest.Outcome]toolwire.Code{
		faulttest.BadBody: "bad_response", faulttest.TooLarge: "response_too_large",
		faulttest.Broken: "transport", faulttest.Canceled: "canceled",
	}
	statuses := map[int]toolwire.Code{
		101: "unexpected_status", 204: "bad_response", 302: "unexpected_status",
		429: "rate_limited", 500: "server_error",
	}
	for _, row := range faulttest.Sentinels() {
		t.Run(row.Name, func(t *testing.T) {
			row.Run(t, `{"id":"ag_1"}`, func(ctx context.Context, p faulttest.Peer) {
				c := newClient(t, p.URL, &registration.Options{Transport: p.Transport})
				agent, err := c.Create(ctx, full())
				if p.Want.Outcome == faulttest.Success {
					if err != nil || agent.ID != "ag_1" {
						t.Errorf("%+v, %v", agent, err)
					}
					return
				}
				want, known := codes[p.Want.Outcome]
				if !known {
					want = statuses[p.Want.Status]
				}
				e, ok := errors.AsType[*toolwire.Error](err)
				if !ok || e.Code != want || agent != nil {
					t.Fatalf("%v, %v, want code %q", agent, err, want)
				}
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
				if p.Want.Delivery != faulttest.Either &&
					strings.Contains(err.Error(), "may have been registered") != unsure {
					t.Errorf("%v\nthe agent may have been registered: want %t", err, unsure)
				}
				if leaks(err.Error()) || strings.Contains(err.Error(), p.URL) {
					t.Errorf("%v contains a secret or the address", err)
				}
			})
		})
	}
}
