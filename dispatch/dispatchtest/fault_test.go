package dispatchtest

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/toolwire/toolwire/internal/httpcall/faulttest"
)

// Faults of an agent end a dispatch with the error class of the platform. The test replaces the transport of a stage, for which
// the API has no option.
func TestFaultsOfAgents(t *testing.T) {
	for _, row := range faulttest.Sentinels() {
		t.Run(row.Name, func(t *testing.T) {
			row.Run(t, `{"final_response":"Done."}`, func(ctx context.Context, p faulttest.Peer) {
				s, err := newStage(Target{URL: p.URL, AuthValue: "Bearer hunter2", RunTimeout: 30 * time.Minute}, Task{}, nil)
				if err != nil {
					t.Fatal(err)
				}
				defer s.close()
				s.caller.Transport, s.caller.MaxBytes = p.Transport, 1<<20
				var result Result
				turn := &Turn{}
				result.take(s, turn, s.exchange(ctx, &turn.Exchange, s.envelope(payload{}), s.header()))
				if p.Want.Outcome == faulttest.Success {
					if !result.OK() || result.FinalResponse != "Done." {
						t.Errorf("%+v", result)
					}
					return
				}
				want := AgentBadResponse
				switch {
				case turn.Status >= 500:
					want = Agent5xx
				case turn.Status >= 400:
					want = Agent4xx
				case turn.Status == 0:
					want = AgentUnreachable
				}
				if result.ErrorClass != want || result.FinalResponse != "" || strings.Contains(result.Error, "hunter2") || strings.Contains(result.Error, p.URL) {
					t.Errorf("%+v, want the class %q", result, want)
				}
				if turn.Status != p.Want.Status && (turn.Status != 0 || p.Want.Outcome == faulttest.Status) {
					t.Errorf("status %d, want %d", turn.Status, p.Want.Status)
				}
				text := map[faulttest.Outcome]string{
					faulttest.TooLarge: "too large", faulttest.Canceled: faulttest.ErrStalled.Error(), faulttest.Broken: "broke",
				}[p.Want.Outcome]
				if p.Want.Outcome == faulttest.Broken && turn.Status == 0 {
					text = "cannot be reached"
				}
				if !strings.Contains(result.Error, text) {
					t.Errorf("%q, want %q", result.Error, text)
				}
			})
		})
	}
}

// Faults of an agent end a probe of the doctor, which keeps what it has seen of them.
func TestFaultsOfProbes(t *testing.T) {
	for _, row := range faulttest.Sentinels() {
		t.Run(row.Name, func(t *testing.T) {
			row.Run(t, `{"ok":true}`, func(ctx context.Context, p faulttest.Peer) {
				c, err := newCheckup(Target{URL: p.URL}, &CheckOptions{Transport: p.Transport, Timeout: time.Hour})
				if err != nil {
					t.Fatal(err)
				}
				defer c.stage.close()
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

// An agent that switches protocols and then says nothing ends no run and no examination by hanging.
func TestSwitchingProtocolsEndsADispatch(t *testing.T) {
	over := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, out, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = conn.Close() }()
		_, _ = out.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
		_ = out.Flush()
		<-over
	}))
	defer server.Close()
	defer close(over)
	result, err := Dispatch(t.Context(), Target{URL: server.URL}, Task{})
	if err != nil || result.ErrorClass != AgentBadResponse || !strings.Contains(result.Error, "101") {
		t.Errorf("%+v, %v", result, err)
	}
	report, err := Check(t.Context(), Target{URL: server.URL}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if f, _ := report.Find(CheckPing); f.Status != StatusFailed || !strings.Contains(f.Seen, "101") {
		t.Errorf("%s", report)
	}
}
