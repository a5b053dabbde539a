package cassette_test

import (
	"context"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/cassette"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
	"github.com/toolwire/toolwire/schema"
)

// A tape in replay feeds the record of the test kit: the same assertions hold for the run that was
// recorded and for the replay.
func TestReplayFeedsTheRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "run.jsonl")
		check := func(what string, result *dispatchtest.Result) {
			t.Helper()
			result.AssertOK(t)
			result.AssertCalled(t, "get_order", `{"order_id":"4522"}`)
			result.AssertCalledTimes(t, "refund_order", 1)
			result.AssertNotCalled(t, "refund_order", `{"order_id":"4523"}`)
			result.AssertState(t, "order/4521", `{"status":"refunded"}`)
			if len(result.Warnings) != 0 || len(result.Calls) != 4 || len(result.Refused) != 1 ||
				len(result.Traces) != 1 {
				t.Errorf("%s: warnings %q, record\n%s", what, result.Warnings, result.Log.String())
				return
			}
			refused, last := result.Refused[0], result.Calls[3]
			if refused.Status != 503 || refused.ErrorClass != "lock_contention" ||
				result.Traces[0].Event != proxy.EventThinking {
				t.Errorf("%s: %+v", what, refused)
			}
			if last.Actor != "supervisor/refunds" || last.Source != proxy.SourceOdyssey ||
				!strings.Contains(string(last.Response), "refunded") {
				t.Errorf("%s: %+v", what, last)
			}
		}
		for _, mode := range []cassette.Mode{cassette.Record, cassette.Replay, cassette.ReplayOrForward} {
			tape := newCassette(t, path, &cassette.Options{Mode: mode})
			check(string(mode), dispatchtest.Run(t, dispatchtest.Target{Agent: refund}, dispatchtest.Task{
				Instruction: "Refund what was shipped.", World: orders, WrapProxy: tape.Wrap,
			}))
			if err := tape.Close(); err != nil || !tape.Report().OK() {
				t.Errorf("%s: %v\n%s", mode, err, tape.Report())
			}
		}
	})
}

// The tape alone is enough for what was called. Only the ledger needs the world.
func TestReplayWithoutAWorld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tape := cassette.Open(t, recorded, nil)
		result := dispatchtest.Run(t, dispatchtest.Target{Agent: refund}, replayTask(tape))
		result.AssertCalled(t, "refund_order", `{"order_id":"4521"}`)
		result.AssertCalledTimes(t, "get_order", 2)
		if len(result.Faults) != 0 || len(result.Warnings) != 0 {
			t.Errorf("faults %q, warnings %q", result.Faults, result.Warnings)
		}
	})
}

// Over the network it is the same, for agents in any language.
func TestReplayOnLoopbackFeedsTheRecord(t *testing.T) {
	one := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		if _, err := run.Proxy.Do(ctx, "refund_order", map[string]string{"order_id": "4521"}); err != nil {
			return nil, err
		}
		return &dispatch.Response{FinalResponse: "done"}, nil
	}
	handler, err := dispatch.New(one, &dispatch.Options{Tokens: []string{"secret"}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "run.jsonl")
	for _, mode := range []cassette.Mode{cassette.Record, cassette.Replay} {
		tape := newCassette(t, path, &cassette.Options{Mode: mode})
		result := dispatchtest.Run(t, dispatchtest.Target{Handler: handler, AuthValue: "Bearer secret"},
			dispatchtest.Task{
				World: orders, WrapProxy: tape.Wrap,
			})
		result.AssertOK(t)
		result.AssertCalled(t, "refund_order", "")
		result.AssertState(t, "order/4521", `{"status":"refunded"}`)
		finish(t, tape)
	}
}

// The response on the tape, not the live tool's, goes through the adapter of a tool in
// passthrough mode. The live tool is not called.
func TestReplayAppliesAdapters(t *testing.T) {
	called := 0
	world := proxytest.World{
		LedgerSchema: &ledger.Schema{Entities: []ledger.Entity{{Type: "parcel", IDField: "id"}}},
		Tools: []schema.Tool{{
			Name: "ship", InputSchema: []byte(`{"type":"object"}`), DefaultExecutionMode: schema.Passthrough,
			PassthroughBinding: &schema.Binding{EndpointID: "7d3c1a52-6a0e-4c5f-9a53-5a6c1d2e3f40", ToolName: "ship"},
			LedgerWritePolicy:  schema.PolicyAdapter,
			LedgerAdapter: &ledger.Adapter{EntityType: "parcel", IDFrom: "$.id",
				FieldMap: map[string]string{"carrier": "$.carrier"}},
		}},
		Behaviors: map[string]proxytest.Behavior{"ship": func(*proxytest.Request) (any, error) {
			called++
			return map[string]any{"id": "p1", "carrier": "DHL"}, nil
		}},
	}
	agent := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		_, err := run.Proxy.Do(ctx, "ship", nil)
		return &dispatch.Response{FinalResponse: "done"}, err
	}
	path := filepath.Join(t.TempDir(), "run.jsonl")
	for _, mode := range []cassette.Mode{cassette.Record, cassette.Replay} {
		tape := newCassette(t, path, &cassette.Options{Mode: mode})
		result := dispatchtest.Run(t, dispatchtest.Target{Agent: agent},
			dispatchtest.Task{World: world, WrapProxy: tape.Wrap})
		result.AssertState(t, "parcel/p1", `{"carrier":"DHL"}`)
		finish(t, tape)
	}
	if called != 1 {
		t.Errorf("the live tool was called %d times, want once, for the recording", called)
	}
}

// A tool has run if its answer had begun when the connection broke. The world then makes its writes.
func TestReplayOfBrokenAnswersMakesTheirWrites(t *testing.T) {
	world := proxytest.World{
		InitialState: `{"order":{"1":{"status":"new"}}}`,
		Behaviors: map[string]proxytest.Behavior{
			"ship": proxytest.Update("order", "order_id", &proxytest.WriteOptions{Set: `{"status":"sent"}`}),
		},
	}
	agent := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		_, _ = run.Proxy.Do(ctx, "ship", map[string]string{"order_id": "1"})
		return &dispatch.Response{FinalResponse: "done"}, nil
	}
	for broken, status := range map[string]string{`"broken":"reset"`: "new", `"status":200,"broken":"truncate"`: "sent"} {
		line := `{"n":1,"kind":"tool","name":"ship","arguments":{"order_id":"1"},` + broken + `,"at_ms":0,"latency_ms":1}`
		tape := newCassette(t, tape(t, head, line, tail(1)), nil)
		dispatchtest.Run(t, dispatchtest.Target{Agent: agent}, dispatchtest.Task{World: world, WrapProxy: tape.Wrap}).
			AssertState(t, "order/1", `{"status":"`+status+`"}`)
	}
}

// What is not on the tape is a refused call of the record, and a broken answer is, too.
func TestReplayRecordsRefusals(t *testing.T) {
	agent := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		_, _ = run.Proxy.Do(ctx, "get_order", map[string]string{"order_id": "1"})
		_, _ = run.Proxy.Do(ctx, "get_order", map[string]string{"order_id": "2"})
		return &dispatch.Response{FinalResponse: "done"}, nil
	}
	broken := `{"n":1,"kind":"tool","name":"get_order","arguments":{"order_id":"1"},"broken":"reset","at_ms":0,"latency_ms":1}`
	first := newCassette(t, tape(t, head, broken, tail(1)), nil)
	result := dispatchtest.Run(t, dispatchtest.Target{Agent: agent}, dispatchtest.Task{WrapProxy: first.Wrap})
	if len(result.Refused) != 2 || result.Refused[0].Status != 0 ||
		!strings.Contains(result.Refused[0].Reason, "reset") ||
		result.Refused[1].Status != http.StatusConflict || result.Refused[1].ErrorClass != "cassette_no_match" {
		t.Errorf("%s", result.Log.String())
	}
	// A class stands where the client finds it.
	for _, body := range []string{
		`{"detail":{"error_class":"actor_id_invalid","message":"bad label"}}`, `{"error_class":"actor_id_invalid","message":"bad label"}`,
		`{"error":{"class":"actor_id_invalid","message":"bad label"}}`, `{"code":"actor_id_invalid","message":"bad label"}`,
	} {
		refused := `{"n":1,"kind":"tool","name":"get_order","arguments":{"order_id":"1"},"status":400,"answer":` + body + `,"at_ms":0,"latency_ms":1}`
		tape := newCassette(t, tape(t, head, refused, tail(1)), nil)
		result := dispatchtest.Run(t, dispatchtest.Target{Agent: agent}, dispatchtest.Task{WrapProxy: tape.Wrap})
		if call := result.Refused[0]; call.ErrorClass != "actor_id_invalid" || !strings.Contains(call.Reason, "bad label") {
			t.Errorf("%s: %q, %q", body, call.ErrorClass, call.Reason)
		}
	}
}
