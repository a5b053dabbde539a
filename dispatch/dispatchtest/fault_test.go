package dispatchtest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/toolwire/toolwire/dispatch/internal/testrun"
	"github.com/toolwire/toolwire/internal/httpcall/faulttest"
)

// Faults of an agent end a dispatch with the error class of the platform. The test replaces the
// transport of a setup, for which the API has no option.
func TestFaultsOfAgents(t *testing.T) {
	for _, row := range faulttest.Sentinels() {
		t.Run(row.Name, func(t *testing.T) {
			row.Run(t, `{"final_response":"Done."}`, func(ctx context.Context, p faulttest.Peer) {
				s, err := newPlayer(nil, Target{URL: p.URL, AuthValue: "Bearer hunter2", RunTimeout: 30 * time.Minute}, Task{}, nil)
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				s.Caller.Transport, s.Caller.MaxBytes = p.Transport, 1<<20
				var result Result
				turn := &Turn{Exchange: Exchange{Request: s.Envelope(testrun.Payload{})}}
				result.take(s, turn, s.exchange(ctx, &result, turn))
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
				if result.ErrorClass != want || result.FinalResponse != "" || strings.Contains(result.Error, "hunter2") ||
					strings.Contains(result.Error, p.URL) {
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

// An agent that switches protocols and then says nothing does not make a run hang.
func TestSwitchingProtocolsEndsADispatch(t *testing.T) {
	url := faulttest.SwitchingServer(t)
	result, err := Dispatch(t.Context(), Target{URL: url}, Task{})
	if err != nil || result.ErrorClass != AgentBadResponse || !strings.Contains(result.Error, "101") {
		t.Errorf("%+v, %v", result, err)
	}
}
