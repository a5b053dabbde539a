package proxytest_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
	"github.com/toolwire/toolwire/schema"
)

const orderID = `{"type":"object","properties":{"order_id":{"type":"string"}},"required":["order_id"]}`

// declare makes a tool; output "" is none.
func declare(name, input, output string) schema.Tool {
	tool := schema.Tool{Name: name, InputSchema: json.RawMessage(input)}
	if output != "" {
		tool.OutputSchema = json.RawMessage(output)
	}
	return tool
}

func live(tool schema.Tool, policy schema.WritePolicy, adapter *ledger.Adapter) schema.Tool {
	tool.DefaultExecutionMode, tool.LedgerWritePolicy, tool.LedgerAdapter = schema.Passthrough, policy, adapter
	tool.PassthroughBinding = &schema.Binding{EndpointName: "orders-api", ToolName: tool.Name}
	return tool
}

func orders() *ledger.Schema {
	return &ledger.Schema{Entities: []ledger.Entity{{
		Type: "order", IDField: "order_id",
		Fields: []ledger.Field{{Name: "status", Type: "string", Enum: []any{"paid", "shipped", "refunded"}},
			{Name: "total", Type: "number"}},
	}}}
}

// call makes a call without a network and returns what came back.
func call(t *testing.T, run *proxytest.Run, tool, arguments string) *proxy.Result {
	t.Helper()
	result, err := run.Client(nil).Do(t.Context(), tool, json.RawMessage(arguments))
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// wantResult compares a call's response and source.
func wantResult(t *testing.T, got *proxy.Result, source proxy.Source, response string) {
	t.Helper()
	if got.Source != source || string(got.Response) != response {
		t.Errorf("got %s %s\nwant %s %s", got.Source, got.Response, source, response)
	}
}

func TestDeclaredTools(t *testing.T) {
	p := proxytest.NewPlatform(t, proxytest.World{
		Tools:     []schema.Tool{declare("get_order", orderID, ""), declare("ping", `{"type":"object"}`, "")},
		Behaviors: map[string]proxytest.Behavior{"get_order": proxytest.Canned(`{"status":"paid"}`)},
	}, &proxytest.Options{AllowUndeclared: true})
	if got := p.Tools(); len(got) != 2 || got[0] != "get_order" || got[1] != "ping" {
		t.Errorf("tools %q", got)
	}
	run := p.NewRun()
	header := http.Header{"Authorization": {"Bearer " + run.Token}}
	for _, tt := range []struct {
		tool, arguments string
		status          int
		part            string
	}{
		{"get_order", `{"order_id":"4521"}`, 200, `{"status":"paid"}`},
		{"get_order", `{"order_id":4521}`, 422, `"error_class":"invalid_arguments"`},
		{"get_order", `{"order_id":null}`, 422, `/order_id`},
		{"get_order", `{}`, 422, `order_id`},
		{"ping", `{}`, 200, `"response":{}`},
		{"refund_order", `{}`, 404, `tool_not_executable`},
		{"Get_order", `{}`, 404, `tool_not_executable`},
	} {
		if status, body := send(t, p, "/tools/"+tt.tool, header, tt.arguments); status != tt.status ||
			!strings.Contains(body, tt.part) {
			t.Errorf("%s %s: %d %s, want %d with %s", tt.tool, tt.arguments, status, body, tt.status, tt.part)
		}
	}
	record := run.Log()
	if len(record.Calls) != 2 || len(record.Refused) != 5 || len(record.Faults) != 0 {
		t.Errorf("%d calls, %d refused, faults %q", len(record.Calls), len(record.Refused), record.Faults)
	}
	_, err := run.Client(nil).Do(t.Context(), "get_order", nil)
	if toolwire.CodeOf(err) != toolwire.CodeInvalidArguments {
		t.Errorf("the client says %v", err)
	}
}

func TestMistakesInAWorld(t *testing.T) {
	_, err := proxytest.New(proxytest.World{
		Tools:        []schema.Tool{live(declare("get_order", orderID, ""), "", nil), declare("2nd", `{"type":"strin"}`, "")},
		InitialState: `{"order":[]}`,
		Behaviors:    map[string]proxytest.Behavior{"get_order": nil, "other": proxytest.Canned("1")},
		FailureRules: []proxytest.FailureRule{
			{}, {Tool: "nope", Status: 503}, {Tool: "get_order", Response: json.RawMessage("1")}, {Trace: "nope", Status: 503},
			{Status: 200, Break: "explode", Nth: []int{0}, Every: -1, Probability: 2, RetryAfter: -1, Delay: -1,
				Arguments: json.RawMessage("[]")},
			{Tool: "get_order", Trace: "*", Response: json.RawMessage("{"), ErrorClass: "x"},
		},
	}, nil)
	e, ok := errors.AsType[*toolwire.Error](err)
	if !ok || e.Code != "invalid_world" {
		t.Fatalf("%v", err)
	}
	for _, part := range []string{
		"/order", "2nd", `/behaviors/get_order the behavior of "get_order" is nil`,
		`/behaviors/other the tool "other" is not declared`, "/failure_rules/0 has no effect",
		`/failure_rules/1 the tool "nope"`,
		"/failure_rules/2 \"get_order\" is in passthrough mode", `/failure_rules/3 "nope" is not a type`,
		"/failure_rules/4 has more than one", "/failure_rules/4 status must",
		"/failure_rules/4 nth", "/failure_rules/4 every", "/failure_rules/4 probability",
		"/failure_rules/4 retry_after and", "/failure_rules/4 break must", "/failure_rules/4 arguments",
		"/failure_rules/5 names both", "/failure_rules/5 has a response", "/failure_rules/5 response is not JSON",
		"/failure_rules/5 error_class",
	} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is missing in\n%v", part, err)
		}
	}
	for _, p := range e.Problems {
		tool, _ := strings.CutPrefix(p.Pointer, "/behaviors/")
		if p.Code != "behavior" {
			tool = ""
		}
		if p.Tool != tool {
			t.Errorf("the problem %+v is of the tool %q", p, p.Tool)
		}
	}
	if _, ok := errors.AsType[*toolwire.Error](err); !ok {
		t.Error("the error of package schema cannot be found")
	}
	if _, ok := errors.AsType[*toolwire.Error](err); !ok {
		t.Error("the error of package ledger cannot be found")
	}
}

func TestRunsHaveLedgersOfTheirOwn(t *testing.T) {
	p := proxytest.NewPlatform(t, proxytest.World{
		InitialState: `{"order":{"1":{"status":"paid"}}}`,
		Behaviors: map[string]proxytest.Behavior{"ship": proxytest.Update("order", "order_id",
			&proxytest.WriteOptions{Set: `{"status":"shipped"}`})},
	}, nil)
	first, second := p.NewRun(), p.NewRun()
	call(t, first, "ship", `{"order_id":"1"}`)
	first.Log().AssertState(t, "order/1", `{"status":"shipped"}`)
	second.Log().AssertState(t, "order/1", `{"status":"paid"}`)
	second.Log().AssertOnlyChanged(t)
}

func TestCanonicalWorldOfThePlatform(t *testing.T) {
	if _, err := proxytest.New(proxytest.World{}, nil); err != nil {
		t.Errorf("the zero world: %v", err)
	}
	p := proxytest.NewPlatform(t, proxytest.World{Behaviors: world().Behaviors}, nil)
	p.Limit(100)
	header := http.Header{"Authorization": {"Bearer " + p.NewRun().Token}}
	if status, body := send(t, p, "/tools/count", header, `{"a":"`+strings.Repeat("x", 100)+`"}`); status != 413 {
		t.Errorf("%d %s", status, body)
	}
}
