package doctor

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/internal/httpcall/faulttest"
)

// Faults of an agent end a probe of the doctor, which keeps what it has seen of them.
func TestFaultsOfProbes(t *testing.T) {
	for _, row := range faulttest.Sentinels() {
		t.Run(row.Name, func(t *testing.T) {
			row.Run(t, `{"ok":true}`, func(ctx context.Context, p faulttest.Peer) {
				c, err := newCheckup(dispatchtest.Target{URL: p.URL}, &Options{Transport: p.Transport, Timeout: time.Hour})
				if err != nil {
					t.Fatal(err)
				}
				defer c.close()
				a := c.send(ctx, probe{body: aPing})
				if a.timeout {
					t.Error("a time limit was reported")
				}
				switch p.Want.Outcome {
				case faulttest.Success:
					if a.err != nil || string(a.body) != `{"ok":true}` {
						t.Errorf("%+v", a)
					}
				case faulttest.Status:
					if a.status != p.Want.Status {
						t.Errorf("%+v", a)
					}
				case faulttest.TooLarge: // the rest of a body does not matter
					if a.err != nil || a.status != 200 || len(a.body) > maxProbeBody {
						t.Errorf("%+v", a)
					}
				case faulttest.Canceled:
					if !errors.Is(a.err, faulttest.ErrStalled) || a.status != 0 && a.status != p.Want.Status {
						t.Errorf("%+v", a)
					}
				default:
					if a.err == nil || a.status != 0 && a.status != p.Want.Status || strings.Contains(a.err.Error(), p.URL) {
						t.Errorf("%+v", a)
					}
				}
				if p.Want.Delivery == faulttest.NotSent && a.conn.sent {
					t.Error("a request counts as sent")
				}
			})
		})
	}
}

// An agent that switches protocols and then sends nothing does not make the examination hang.
func TestSwitchingProtocolsEndsAProbe(t *testing.T) {
	url := faulttest.SwitchingServer(t)
	report, err := Check(t.Context(), dispatchtest.Target{URL: url}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range report.Findings {
		if f.Name == "ping" && (f.Status != StatusFailed || !strings.Contains(f.Seen, "101")) {
			t.Errorf("%s", report)
		}
	}
}
