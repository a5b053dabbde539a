package toolbox_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/httpcall/faulttest"
	"github.com/toolwire/toolwire/manifest/toolbox"
)

var faultCodes = map[faulttest.Outcome]toolwire.Code{
	faulttest.BadBody:  toolwire.CodeBadResponse,
	faulttest.TooLarge: toolwire.CodeResponseTooLarge,
	faulttest.Broken:   toolwire.CodeTransport, faulttest.Canceled: toolwire.CodeCanceled,
}

func faultCode(want faulttest.Want) toolwire.Code {
	if code, known := faultCodes[want.Outcome]; known {
		return code
	}
	return map[int]toolwire.Code{101: "unexpected_status", 204: "unexpected_status", 302: "unexpected_status",
		429: "rate_limited", 500: "server_error"}[want.Status]
}

// maxBody is the limit of bodies that the table of faults expects.
const maxBody = 1<<20 + 64<<10

// A fault of a webhook ends a call with the right code and the right claim about the tool.
func TestFaultsOfWebhooks(t *testing.T) {
	for _, row := range faulttest.Sentinels() {
		t.Run(row.Name, func(t *testing.T) {
			row.Run(t, `{"answer":1}`, func(ctx context.Context, p faulttest.Peer) {
				opts := options(nil)
				opts.Transport = p.Transport
				box := parse(t, `[{"name":"check","url":"`+p.URL+`"}]`, opts)
				box.SetLimits(maxBody, maxBody, time.Hour)
				result, err := box.Call(ctx, "check", nil)
				if p.Want.Outcome == faulttest.Success {
					if err != nil || string(result) != `{"answer":1}` {
						t.Errorf("%s, %v", result, err)
					}
					return
				}
				if p.Want.Status == 204 { // nothing to say is a success
					if err != nil || string(result) != "null" {
						t.Errorf("%s, %v", result, err)
					}
					return
				}
				e, ok := errors.AsType[*toolbox.Error](err)
				want := faultCode(p.Want)
				if !ok || e.Code != want || result != nil {
					t.Fatalf("%s, %v, want code %q", result, err, want)
				}
				if e.Status != p.Want.Status && (e.Status != 0 || p.Want.Outcome == faulttest.Status) {
					t.Errorf("status %d, want %d", e.Status, p.Want.Status)
				}
				if p.Want.Outcome == faulttest.Canceled &&
					(!errors.Is(err, faulttest.ErrStalled) || !errors.Is(err, context.Canceled)) {
					t.Errorf("%v lost the cause of its context", err)
				}
				claim := map[toolwire.Code]string{toolwire.CodeTransport: "may or may not have run",
					toolwire.CodeResponseTooLarge: "the tool ran"}[want]
				if p.Want.Delivery == faulttest.NotSent {
					claim = "did not run"
				}
				if !strings.Contains(err.Error(), claim) || strings.Contains(fmt.Sprint(err, shown(nil, err)), toolSecret) {
					t.Errorf("%v, want the claim %q", err, claim)
				}
			})
		})
	}
}

// After a fault of a server of details, the description has no detail, and the logger receives the
// right code.
func TestFaultsOfDetails(t *testing.T) {
	for _, row := range faulttest.Sentinels() {
		switch {
		case row.Want.Status == 302:
			row.Requests = 4 // a GET follows three redirects to the same host
		case strings.HasPrefix(row.Name, "kept alive"):
			row.Requests = 3 // net/http repeats a GET that a reused connection has lost
		}
		t.Run(row.Name, func(t *testing.T) {
			row.Run(t, `{"detail":"Mind the gap."}`, func(ctx context.Context, p faulttest.Peer) {
				failures := make(chan error, 1)
				opts := options(nil)
				opts.Transport, opts.InsecurePrivateDetails = p.Transport, true
				onDetailError(opts, func(err error) { failures <- err })
				box := parse(t, `[{"name":"check","description":"Check.","url":"`+p.URL+`","detail_url":"`+p.URL+`/detail"}]`, opts)
				limit := time.Hour
				if p.Want.Outcome == faulttest.Canceled {
					limit = time.Second // the request goes on without its caller
				}
				box.SetLimits(maxBody, maxBody, limit)
				defs, err := box.Definitions(ctx)
				switch {
				case p.Want.Outcome == faulttest.Canceled:
					if !errors.Is(err, context.Canceled) {
						t.Errorf("%+v, %v", defs, err)
					}
					return
				case err != nil:
					t.Fatal(err)
				case p.Want.Outcome == faulttest.Success:
					if !strings.Contains(defs[0].Description, "Mind the gap.") {
						t.Errorf("got %q", defs[0].Description)
					}
					return
				case defs[0].Description != "Check.":
					t.Errorf("got %q", defs[0].Description)
				case p.Want.Status == 204: // no detail, which is not a failure
					return
				}
				failure := <-failures
				e, ok := errors.AsType[*toolbox.Error](failure)
				if want := faultCode(p.Want); !ok || e.Code != want || e.Tool != "check" {
					t.Errorf("%v, want code %q", failure, want)
				}
			})
		})
	}
}
