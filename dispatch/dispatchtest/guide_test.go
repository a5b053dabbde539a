package dispatchtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/cassette"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/doctor"
	"github.com/toolwire/toolwire/dispatch/eval"
	"github.com/toolwire/toolwire/internal/testkit"
	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
	"github.com/toolwire/toolwire/schema"
)

// The code of docs/testing.md.

type (
	OrderArgs struct {
		OrderID string `json:"order_id"`
	}
	Order struct {
		Status string  `json:"status"`
		Total  float64 `json:"total"`
	}
)

func agent(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
	args := OrderArgs{OrderID: "4521"} // a model would find it in run.Instruction
	order, err := proxy.Call[Order](ctx, run.Proxy, "get_order", args)
	if toolwire.CodeOf(err) == toolwire.CodeToolFailed {
		return &dispatch.Response{FinalResponse: "I could not find the order."}, nil
	}
	if err != nil {
		return nil, err
	}
	if order.Status != "shipped" {
		return &dispatch.Response{FinalResponse: "The order is " + order.Status + "."}, nil
	}
	_, err = proxy.Call[any](ctx, run.Proxy, "refund_order", args)
	if toolwire.CodeOf(err) == toolwire.CodeToolFailed {
		return &dispatch.Response{FinalResponse: "The refund was turned down."}, nil
	}
	if err != nil {
		return nil, err
	}
	return &dispatch.Response{FinalResponse: "The refund has been issued."}, nil
}

func TestStatus(t *testing.T) {
	got := dispatchtest.Run(t, dispatchtest.Target{Agent: agent}, dispatchtest.Task{
		Instruction: "Refund order #4521.",
		World: proxytest.World{Behaviors: map[string]proxytest.Behavior{
			"get_order":    proxytest.Canned(`{"status":"processing"}`),
			"refund_order": proxytest.Canned(`{"refunded":true}`),
		}},
	})
	got.AssertFinalResponse(t, "processing")
	got.AssertNotCalled(t, "refund_order", "")
}

func TestRefundTurnedDown(t *testing.T) {
	got := dispatchtest.Run(t, dispatchtest.Target{Agent: agent}, dispatchtest.Task{
		Instruction: "Refund order #4521.",
		World: proxytest.World{Behaviors: map[string]proxytest.Behavior{
			"get_order":    proxytest.Canned(`{"status":"shipped"}`),
			"refund_order": proxytest.Canned(`{"error":"the payment provider refused"}`),
		}},
	})
	got.AssertFinalResponse(t, "turned down")
}

func shop(t *testing.T) proxytest.World {
	get, err := schema.Define[OrderArgs, any]("get_order", "Look up an order.", nil)
	if err != nil {
		t.Fatal(err)
	}
	refund, err := schema.Define[OrderArgs, any]("refund_order", "Refund an order.", nil)
	if err != nil {
		t.Fatal(err)
	}
	return proxytest.World{
		Tools:        []schema.Tool{get, refund},
		InitialState: `{"order":{"4521":{"status":"shipped","total":79.5}}}`,
		Behaviors: map[string]proxytest.Behavior{
			"get_order":    proxytest.Get("order", "order_id", nil),
			"refund_order": proxytest.Update("order", "order_id", &proxytest.WriteOptions{Set: `{"status":"refunded"}`}),
		},
	}
}

func TestRefund(t *testing.T) {
	got := dispatchtest.Run(t, dispatchtest.Target{Agent: agent}, dispatchtest.Task{
		Instruction: "Refund order #4521.",
		World:       shop(t),
	})
	got.AssertOK(t)
	got.AssertOrder(t, "get_order", "refund_order")
	got.AssertCalled(t, "refund_order", `{"order_id":"4521"}`)
	got.AssertState(t, "order/4521", `{"status":"refunded"}`)
	got.AssertOnlyChanged(t, "order/4521/status")
}

func refundOnce(r *proxytest.Request) (any, error) {
	var args OrderArgs
	if err := r.Decode(&args); err != nil {
		return nil, err
	}
	entity, ok := r.Get("order", args.OrderID)
	if !ok || strings.Contains(string(entity), "refunded") {
		return map[string]string{"error": "nothing to refund"}, nil
	}
	err := r.Apply(ledger.Update{
		Op: ledger.OpUpdate, EntityType: "order", ID: args.OrderID,
		Fields: map[string]json.RawMessage{"status": json.RawMessage(`"refunded"`)},
	})
	return map[string]bool{"ok": true}, err
}

func TestRefundOnce(t *testing.T) {
	world := shop(t)
	world.InitialState = `{"order":{"4521":{"status":"shipped"}}}`
	world.Behaviors["refund_order"] = refundOnce
	twice := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		first, err := run.Proxy.CallForModel(ctx, "refund_order", OrderArgs{OrderID: "4521"})
		if err != nil {
			return nil, err
		}
		second, err := run.Proxy.CallForModel(ctx, "refund_order", OrderArgs{OrderID: "4521"})
		return &dispatch.Response{FinalResponse: first.Text + second.Text}, err
	}
	got := dispatchtest.Run(t, dispatchtest.Target{Agent: twice}, dispatchtest.Task{World: world})
	got.AssertFinalResponse(t, `{"ok":true}{"error":"nothing to refund"}`)
}

func TestContention(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		world := shop(t)
		world.FailureRules = []proxytest.FailureRule{
			{Tool: "get_order", Nth: []int{1}, Status: 503, ErrorClass: "lock_contention"},
			{Tool: "refund_order", Delay: 90 * time.Second},
		}
		got := dispatchtest.Run(t, dispatchtest.Target{Agent: agent}, dispatchtest.Task{World: world})
		got.AssertFinalResponse(t, "issued")
		got.AssertCalledTimes(t, "get_order", 1) // in two attempts
	})
}

func TestSession(t *testing.T) {
	got := dispatchtest.Run(t, dispatchtest.Target{Agent: agent}, dispatchtest.Task{
		Instruction:  "Refund order #4521.",
		World:        shop(t),
		Conversation: &dispatchtest.Conversation{UserTurns: []string{"Again, please."}},
	})
	got.AssertFinalResponse(t, "The order is refunded.")
	got.AssertCalledTimes(t, "refund_order", 1)
}

func TestDataset(t *testing.T) {
	csv := strings.NewReader(`user,state,says
Refund order #4521.,,issued
Refund order #4521.,"{""order"":{""4521"":{""status"":""paid""}}}",is paid
Refund order #4521.,{},could not find
`)
	dataset, err := eval.Read(csv) // the error lists all problems, with row and column
	if err != nil {
		t.Fatal(err)
	}
	cases, err := dataset.Cases(dispatchtest.Task{World: shop(t)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	experiment, err := eval.Run(t.Context(), dispatchtest.Target{Agent: agent}, cases, &eval.Options{
		Grader: func(_ context.Context, c eval.Case, got *dispatchtest.Result) error {
			if !strings.Contains(got.FinalResponse, c.Columns["says"]) {
				return errors.New("it says " + got.FinalResponse)
			}
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if !experiment.OK() {
		_ = experiment.WriteSummary(t.Output(), false)
		t.Fail()
	}
}

var record = flag.Bool("record", false, "record the tapes anew")

func TestRecordedRefund(t *testing.T) {
	opts := &cassette.Options{}
	if *record {
		opts.Mode = cassette.Record
	}
	tape := cassette.Open(t, "testdata/refund.jsonl", opts)
	got := dispatchtest.Run(t, dispatchtest.Target{Agent: agent}, dispatchtest.Task{
		Instruction: "Refund order #4521.",
		World:       shop(t), // makes the same writes to the ledger in a replay
		WrapProxy:   tape.Wrap,
	})
	got.AssertFinalResponse(t, "issued")
	got.AssertState(t, "order/4521", `{"status":"refunded"}`)
}

func TestEndpoint(t *testing.T) {
	handler, err := dispatch.New(agent, &dispatch.Options{Tokens: []string{"secret"}})
	if err != nil {
		t.Fatal(err)
	}
	target := dispatchtest.Target{Handler: handler, AuthValue: "Bearer secret"}
	report, err := doctor.Check(t.Context(), target, &doctor.Options{
		Task: &dispatchtest.Task{Instruction: "Refund order #4521.", World: shop(t)},
	})
	if err != nil {
		t.Fatal(err)
	}
	report.AssertOK(t) // warnings are in report.Findings
}

// Every rule in the page can be read, and what it shows of a failure is true. Package internal/workshop
// checks that its code is in this file.
func TestTheGuide(t *testing.T) {
	page, err := os.ReadFile("../../docs/testing.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```(json|text)\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(blocks) != 3 {
		t.Fatalf("%d blocks", len(blocks))
	}
	refund := dispatchtest.Run(t, dispatchtest.Target{Agent: agent}, dispatchtest.Task{World: shop(t)})
	failure := testkit.Failures(t, func(t testing.TB) { refund.AssertState(t, "order/4521", `{"status":"paid"}`) }) +
		"\n" +
		testkit.Failures(t, func(t testing.TB) { refund.AssertCalled(t, "refund_order", `{"order_id":"77"}`) }) + "\n"
	latency := regexp.MustCompile(`[0-9.]+ ms`)
	for _, block := range blocks {
		switch kind, text := block[1], block[2]; kind {
		case "json":
			if _, err := proxytest.ParseRules([]byte(text)); err != nil {
				t.Errorf("%v\n%s", err, text)
			}
		case "text":
			if strings.HasPrefix(text, "1. changed") {
				continue // a test of package cassette compares it
			}
			if got, want := latency.ReplaceAllString(failure, "…"), latency.ReplaceAllString(text, "…"); got != want {
				t.Errorf("the page shows\n%s\nit is\n%s", want, got)
			}
		}
	}
}
