package dispatchtest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
)

// The turns of a session share a run token, and so its rate limit: 120 calls in three turns wait
// for their places instead of being refused. The ids of the calls in the replayed transcripts
// differ.
func TestASessionKeepsTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ids := map[string]int{}
		agent := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			transcript := run.Transcript()
			for i := range 40 {
				if _, err := run.Proxy.Do(ctx, "get_order",
					map[string]string{"order_id": fmt.Sprint(run.TurnID, "-", i)}); err != nil {
					return nil, err
				}
			}
			for _, m := range transcript.Messages() {
				for _, call := range m.ToolCalls {
					ids[call.ID]++
				}
			}
			return transcript.Response("done " + run.Instruction), nil
		}
		task := task()
		task.Conversation = &dispatchtest.Conversation{UserTurns: []string{"two", "three"}, ReplayTools: true}
		got := dispatchtest.Run(t, dispatchtest.Target{Agent: agent}, task)
		got.AssertOK(t)
		got.AssertFinalResponse(t, "done three")
		got.AssertWithinRate(t)
		got.AssertCalledTimes(t, "get_order", 120)
		if len(got.Refused) != 0 || len(ids) != 120 || len(got.Waits) == 0 {
			t.Errorf("%d refused, %d ids, %d waits", len(got.Refused), len(ids), len(got.Waits))
		}
		// What the last turn was sent has the calls of the turns before it, each once.
		var envelope struct {
			Input struct {
				Messages []dispatch.Message `json:"messages"`
			} `json:"input"`
		}
		if err := json.Unmarshal(got.Dispatch.Request, &envelope); err != nil {
			t.Fatal(err)
		}
		replayed := map[string]bool{}
		for _, m := range envelope.Input.Messages {
			for _, call := range m.ToolCalls {
				replayed[call.ID] = true
			}
		}
		if len(replayed) != 80 {
			t.Errorf("%d calls with different ids are replayed, want 80", len(replayed))
		}
	})
}
