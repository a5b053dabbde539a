package proxytest_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/hook"
	"github.com/toolwire/toolwire/internal/testkit"
	"github.com/toolwire/toolwire/internal/text"
	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// failures returns what body reports, its cleanups included.
func failures(t *testing.T, body func(t testing.TB)) string { return testkit.Failures(t, body) }

// testRun returns the failures of body and its output, both with its cleanups.
func testRun(t *testing.T, body func(t testing.TB)) (failed, output string) {
	return testkit.Run(t, body)
}

// played is a run in which get_order, refund_order and get_order were called and an order was
// refunded.
func played(t testing.TB) *proxytest.Run {
	t.Helper()
	run := proxytest.NewPlatform(t, proxytest.World{
		InitialState: `{"order":{"1":{"status":"paid","to":{"city":"Oulu"}},"2":{"status":"paid"}}}`,
		Behaviors: map[string]proxytest.Behavior{
			"get_order":    proxytest.Get("order", "id", nil),
			"refund_order": proxytest.Update("order", "id", &proxytest.WriteOptions{Set: `{"status":"refunded"}`}),
			"cancel_order": proxytest.Remove("order", "id", nil),
		},
		FailureRules: []proxytest.FailureRule{{Tool: "cancel_order", Status: 500}},
	}, nil).NewRun()
	client := run.Client(nil)
	for _, call := range []struct{ tool, arguments string }{
		{"get_order", `{"id":"1","deep":{"a":[1,{"b":2.0,"c":3}]}}`}, {"refund_order", `{"id":"1"}`},
		{"cancel_order", `{"id":"2"}`}, {"get_order", `{"id":"1"}`},
	} {
		_, _ = client.As("sub").Do(t.Context(), call.tool, []byte(call.arguments))
	}
	return run
}

// Every assertion passes when it should and fails, in words that help, when it should.
func TestAssertions(t *testing.T) {
	const happened = "what happened:\n  call       sub: get_order {\"id\":\"1\",\"deep\""
	record := played(t).Log()
	for _, tt := range []struct {
		name   string
		assert func(t testing.TB)
		want   []string // parts of the failure; none for a pass
	}{
		{"called", func(t testing.TB) { record.AssertCalled(t, "refund_order", `{"id":"1"}`) }, nil},
		{"called any", func(t testing.TB) { record.AssertCalled(t, "refund_order", "") }, nil},
		{"called deep", func(t testing.TB) { record.AssertCalled(t, "get_order", `{"deep":{"a":[1,{"b":2}]}}`) }, nil},
		{"called otherwise", func(t testing.TB) { record.AssertCalled(t, "refund_order", `{"id":"2"}`) },
			[]string{`refund_order was not called with {"id":"2"}`, happened, `sub: refund_order {"id":"1"}`,
				"-> 500: a failure rule"}},
		{"called shorter list", func(t testing.TB) { record.AssertCalled(t, "get_order", `{"deep":{"a":[1]}}`) },
			[]string{"was not called"}},
		{"called but refused", func(t testing.TB) { record.AssertCalled(t, "cancel_order", "") },
			[]string{"cancel_order was not called\n"}},
		{"called with no JSON", func(t testing.TB) { record.AssertCalled(t, "refund_order", `{`) },
			[]string{"AssertCalled: the expected value is not a JSON object"}},
		{"not called", func(t testing.TB) { record.AssertNotCalled(t, "refund_order", `{"id":"2"}`) }, nil},
		{"not called, but was", func(t testing.TB) { record.AssertNotCalled(t, "refund_order", "") },
			[]string{"refund_order was called", happened}},
		{"not called, but refused", func(t testing.TB) { record.AssertNotCalled(t, "cancel_order", `{"id":"2"}`) },
			[]string{`cancel_order was called with {"id":"2"}`}},
		{"not called with no JSON", func(t testing.TB) {
			record.AssertNotCalled(t, "x", `7`)
		}, []string{"not a JSON object"}},
		{"times", func(t testing.TB) { record.AssertCalledTimes(t, "get_order", 2) }, nil},
		{"times 0", func(t testing.TB) { record.AssertCalledTimes(t, "cancel_order", 0) }, nil},
		{"other times", func(t testing.TB) { record.AssertCalledTimes(t, "get_order", 3) },
			[]string{"get_order was called 2 times, want 3", happened}},
		{"order", func(t testing.TB) { record.AssertOrder(t, "get_order", "refund_order", "get_order") }, nil},
		{"order with gaps", func(t testing.TB) { record.AssertOrder(t, "get_order", "get_order") }, nil},
		{"other order", func(t testing.TB) { record.AssertOrder(t, "refund_order", "get_order", "refund_order") },
			[]string{"but refund_order was not called after refund_order, get_order", happened}},
		{"order without the first", func(t testing.TB) { record.AssertOrder(t, "cancel_order") },
			[]string{"cancel_order was not called at all"}},
		{"state", func(t testing.TB) { record.AssertState(t, "order/1", `{"status":"refunded","to":{"city":"Oulu"}}`) }, nil},
		{"state with a slash", func(t testing.TB) { record.AssertState(t, "/order/1", "") }, nil},
		{"other state", func(t testing.TB) { record.AssertState(t, "order/1", `{"status":"paid"}`) },
			[]string{`order/1 is {"status":"refunded","to":{"city":"Oulu"}}`, `want it to contain {"status":"paid"}`,
				`changed /order/1/status: "paid" -> "refunded"`}},
		{"no such state", func(t testing.TB) { record.AssertState(t, "order/9", `{}`) },
			[]string{"the ledger has no order/9"}},
		{"state of no JSON", func(t testing.TB) { record.AssertState(t, "order/1", `x`) }, []string{"not a JSON object"}},
		{"no entity", func(t testing.TB) { record.AssertNoEntity(t, "order/9") }, nil},
		{"an entity", func(t testing.TB) {
			record.AssertNoEntity(t, "order/2")
		}, []string{`the ledger has order/2: {"status":"paid"}`}},
		{"flag", func(t testing.TB) { record.AssertFlag(t, "x") }, []string{"the flag x is not set; flags that are set: none\n"}},
		{"only changed", func(t testing.TB) { record.AssertOnlyChanged(t, "order/1/status") }, nil},
		{"only changed below", func(t testing.TB) { record.AssertOnlyChanged(t, "/order/1") }, nil},
		{"only changed something else", func(t testing.TB) { record.AssertOnlyChanged(t, "order/1/stat", "flag:x") },
			[]string{`changed, but should not have: changed /order/1/status: "paid" -> "refunded"`,
				"did not change: order/1/stat", "did not change: flag:x", happened}},
		{"nothing changed", func(t testing.TB) { record.AssertOnlyChanged(t) }, []string{"should not have"}},
		{"within rate", func(t testing.TB) { record.AssertWithinRate(t) }, nil},
		{"not after the end", func(t testing.TB) { record.AssertNoCallAfterEnd(t) }, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := failures(t, tt.assert)
			if (got == "") != (tt.want == nil) {
				t.Errorf("failure: %q", got)
			}
			for _, part := range tt.want {
				if !strings.Contains(got, part) {
					t.Errorf("%q is missing in\n%s", part, got)
				}
			}
		})
	}
	empty := &proxytest.Log{}
	if got := failures(t, func(t testing.TB) {
		empty.AssertCalled(t, "get_order", "")
		empty.AssertState(t, "order/1", "")
	}); !strings.Contains(got,
		"no tool was called") ||
		!strings.Contains(got, "the run changed nothing in the ledger") {
		t.Error(got)
	}
}

func TestAssertionsOnTheContract(t *testing.T) {
	p := proxytest.NewPlatform(t, world(), &proxytest.Options{RatePerMinute: 2})
	run := p.NewRun()
	header := http.Header{"Authorization": {"Bearer " + run.Token}}
	for range 3 {
		send(t, p, "/tools/get_order", header, `{}`)
	}
	if got := failures(t, func(t testing.TB) { run.Log().AssertWithinRate(t) }); !strings.Contains(got,
		"over the rate limit with get_order") {
		t.Errorf("%q", got)
	}
	send(t, p, "/traces/thinking", header, `{}`)
	log := run.Log()
	hook.Of[*text.Declared](log).Tools = nil // thinking is not a tool
	log.AssertNotCalled(t, "thinking", "")   // it is refused, but no call
	run.End("")
	send(t, p, "/tools/get_order", header, `{}`)
	run.Log().AssertNoCallAfterEnd(t) // this is how the agent learns of it
	send(t, p, "/traces/thinking", header, `{}`)
	if got := failures(t, func(t testing.TB) { run.Log().AssertNoCallAfterEnd(t) }); !strings.Contains(got,
		"told that the run is over and called thinking") {
		t.Errorf("%q", got)
	}
}

// An assertion about a name that the world does not declare fails, because a misspelled name would
// make it pass. The failure names what was meant.
func TestAssertionsAboutUndeclaredNames(t *testing.T) {
	schema := &ledger.Schema{
		Entities: []ledger.Entity{{Type: "order", IDField: "id"}, {Type: "customer", IDField: "id"}},
		Flags:    &ledger.FlagRule{Policy: "closed", Values: []string{"late", "refunded"}},
	}
	declared := proxytest.World{LedgerSchema: schema, InitialState: `{"order":{"1":{"status":"paid"},"2":{"status":"open"}}}`,
		Behaviors: map[string]proxytest.Behavior{"get_order": proxytest.Get("order", "id", nil), "refund": proxytest.Canned("{}")}}
	open := declared
	open.LedgerSchema, open.InitialState = nil, `{"order":{"1":{},"2":{}},"customer":{"7":{}}}`
	openFlags := declared
	openFlags.LedgerSchema = &ledger.Schema{Entities: schema.Entities, Flags: &ledger.FlagRule{Policy: "open", Values: []string{"late"}}}
	for _, tt := range []struct {
		name   string
		world  proxytest.World
		opts   *proxytest.Options
		assert func(t testing.TB, log *proxytest.Log)
		want   string // the whole failure; "" for a pass
	}{
		{"called", declared, nil, func(t testing.TB, log *proxytest.Log) { log.AssertCalled(t, "get_oder", "") },
			"get_oder is not declared; did you mean get_order?"},
		{"not called", declared, nil, func(t testing.TB, log *proxytest.Log) { log.AssertNotCalled(t, "get_orders", "") },
			"get_orders is not declared; did you mean get_order?"},
		{"not called, nothing near", declared, nil, func(t testing.TB, log *proxytest.Log) { log.AssertNotCalled(t, "delete", "") },
			"delete is not declared; declared: get_order, refund"},
		{"times", declared, nil, func(t testing.TB, log *proxytest.Log) { log.AssertCalledTimes(t, "getOrder", 0) },
			"getOrder is not declared; did you mean get_order?"},
		{"order", declared, nil, func(t testing.TB, log *proxytest.Log) { log.AssertOrder(t, "refund", "get_orde") },
			"get_orde is not declared; did you mean get_order?"},
		{"no entity", declared, nil, func(t testing.TB, log *proxytest.Log) { log.AssertNoEntity(t, "orders/9") },
			"the entity type orders is not declared; did you mean order?"},
		{"state", declared, nil, func(t testing.TB, log *proxytest.Log) { log.AssertState(t, "/order_/1", "") },
			"the entity type order_ is not declared; did you mean order?"},
		{"flag", declared, nil, func(t testing.TB, log *proxytest.Log) { log.AssertFlag(t, "refundet") },
			"the flag refundet is not declared; did you mean refunded?"},
		{"declared names", declared, nil, func(t testing.TB, log *proxytest.Log) {
			log.AssertNotCalled(t, "refund", "")
			log.AssertCalledTimes(t, "refund", 0)
			log.AssertNoEntity(t, "customer/1")
			log.AssertState(t, "order/1", `{"id":"1","status":"paid"}`)
		}, ""},
		{"an entity without an id", open, nil, func(t testing.TB, log *proxytest.Log) { log.AssertNoEntity(t, "order") },
			`AssertNoEntity: "order" is not an entity, such as "order/4521"`},
		{"no such entity", open, nil, func(t testing.TB, log *proxytest.Log) { log.AssertState(t, "orders/1", "") },
			"the ledger has no orders/1; it has customer/7, order/1, order/2\nthe run changed nothing in the ledger"},
		{"no such entity of a type", open, nil, func(t testing.TB, log *proxytest.Log) { log.AssertState(t, "order/9", "") },
			"the ledger has no order/9; it has order/1, order/2\nthe run changed nothing in the ledger"},
		{"no such open flag", openFlags, nil, func(t testing.TB, log *proxytest.Log) { log.AssertFlag(t, "lat") },
			"the flag lat is not set; flags that are set: none\nthe run changed nothing in the ledger"},
		{"no such flag", open, nil, func(t testing.TB, log *proxytest.Log) { log.AssertFlag(t, "late") },
			"the flag late is not set; flags that are set: none\nthe run changed nothing in the ledger"},
		{"no ledger schema", open, nil, func(t testing.TB, log *proxytest.Log) { log.AssertNoEntity(t, "orders/9") }, ""},
		{"no tools", proxytest.World{}, nil, func(t testing.TB, log *proxytest.Log) { log.AssertNotCalled(t, "get_orders", "") }, ""},
		{"undeclared tools allowed", declared, &proxytest.Options{AllowUndeclared: true},
			func(t testing.TB, log *proxytest.Log) { log.AssertNotCalled(t, "get_orders", "") }, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			platform := newPlatform(t, tt.world, tt.opts)
			log := platform.NewRun().Log()
			if got := failures(t, func(t testing.TB) { tt.assert(t, log) }); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// A tool that the agent requested although it is not declared can be asserted about.
func TestAssertionsAboutRequestedTools(t *testing.T) {
	platform := newPlatform(t, world(), nil)
	run := platform.NewRun()
	_, _ = run.Client(nil).Do(t.Context(), "get_orders", nil)
	replayed := &proxytest.Log{Calls: []proxytest.Call{{Tool: "b"}}} // by a tape
	hook.Of[*text.Declared](replayed).Tools = []string{"a"}
	replayed.AssertCalledTimes(t, "b", 1)
	got := failures(t, func(t testing.TB) { run.Log().AssertNotCalled(t, "get_orders", "") })
	want := "get_orders was called\nwhat happened:\n" +
		"  call       get_orders {}\n" +
		"             -> 404 tool_not_executable: get_orders is not declared; did you mean get_order?  ("
	if !strings.HasPrefix(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// What an agent, a tool or a proxy says is bounded in the text of a failure, cannot forge a line and
// cannot steer a terminal.
func TestTextFromOutsideIsBoundedAndClean(t *testing.T) {
	const forged = "x\ncall       forged\x1b[2J\r\u009b\u202e\u2028"
	platform, err := proxytest.New(proxytest.World{
		InitialState: `{"order":{"1":{"status":"paid"}}}`,
		Behaviors: map[string]proxytest.Behavior{
			"say":    func(*proxytest.Request) (any, error) { return forged + strings.Repeat("y", 5000), nil },
			"fail":   func(*proxytest.Request) (any, error) { return nil, errors.New(forged + strings.Repeat("y", 5000)) },
			"update": proxytest.Update("order", "id", nil),
		},
	}, &proxytest.Options{AllowUndeclared: true})
	if err != nil {
		t.Fatal(err)
	}
	run := platform.NewRun()
	client := run.Client(nil)
	for _, tool := range []string{"say", "fail", "update"} {
		_, _ = client.Do(t.Context(), tool, map[string]string{"id": "1", "status": forged + strings.Repeat("z", 5000)})
	}
	_, _ = client.Trace(t.Context(), proxy.EventThinking, map[string]string{"text": forged})
	send(t, platform, run.Path+"/tools/a%0Acall%20%20forged%1B", bearer(run), `{}`)
	header := bearer(run)
	header.Set("X-Pipelines-Actor-Id", strings.Repeat("a", 5000))
	send(t, platform, run.Path+"/tools/"+strings.Repeat("t", 5000), header, `{}`)
	log := run.Log()
	for name, text := range map[string]string{
		"log": log.String(),
		"failures": failures(t, func(t testing.TB) {
			log.AssertCalled(t, "none", "")
			log.AssertState(t, "order/1", `{"status":"paid"}`)
			log.AssertNoEntity(t, "order/1")
			log.AssertFlag(t, "x")
			log.AssertOnlyChanged(t)
		}),
	} {
		if strings.ContainsAny(text, "\x1b\r\u009b\u202e\u2028") {
			t.Errorf("%s steers the terminal: %q", name, text)
		}
		for line := range strings.Lines(text) {
			if len(line) > 3000 {
				t.Errorf("%s has a line of %d bytes", name, len(line))
			}
			if strings.HasPrefix(strings.TrimLeft(line, " "), "call       forged") && !strings.HasPrefix(line, "           ") {
				t.Errorf("%s has a forged line %q", name, line)
			}
		}
		if !strings.Contains(text, "… (5") {
			t.Errorf("%s does not say how long a text is:\n%s", name, text)
		}
	}
}

// The lines of a log are bounded, whatever its texts.
func TestLinesOfALog(t *testing.T) {
	long := strings.Repeat("x", 5000)
	log := proxytest.Log{Refused: []proxytest.Call{
		{Tool: long, Actor: long, Reason: long, Status: 500, ErrorClass: "x", Notes: []string{long}, Order: 1}, {Tool: "a", Reason: long, Order: 2},
	}}
	text := log.String()
	if lines := strings.Split(text, "\n"); len(lines) != 6 || len(text) > 2200 || strings.Count(text, "… (5000 bytes)") != 5 {
		t.Errorf("%d lines of %d bytes:\n%s", len(lines), len(text), text)
	}
}

// A test that calls an undeclared tool fails by itself, unless it says that it means to.
func TestStrictByDefault(t *testing.T) {
	misspell := func(opts *proxytest.Options) func(testing.TB) {
		return func(t testing.TB) {
			run := proxytest.NewPlatform(t, world(), opts).NewRun()
			_, err := run.Client(nil).Do(t.Context(), "get_ordre", nil)
			if toolwire.CodeOf(err) != toolwire.CodeNotFound {
				t.Errorf("unexpected: %v", err)
			}
		}
	}
	if got := failures(t, misspell(nil)); got != `proxytest: the agent called get_ordre, which is not declared (did you mean get_order?)` {
		t.Errorf("%q", got)
	}
	if got := failures(t, misspell(&proxytest.Options{AllowUndeclared: true})); got != "" {
		t.Errorf("%q", got)
	}
	if got := failures(t, func(t testing.TB) {
		proxytest.NewPlatform(t, proxytest.World{InitialState: "x"}, nil)
	}); !strings.Contains(got, "invalid_world") {
		t.Errorf("%q", got)
	}
}

func TestARecordInWords(t *testing.T) {
	run := played(t)
	_, _ = run.Client(nil).Trace(t.Context(), proxy.EventThinking, map[string]string{"text": "hm"})
	_, _ = run.Client(nil).Trace(t.Context(), proxy.EventThinking,
		map[string]string{"text": "where it occurred", "__occurred_at": "2026-01-01T00:00:00Z"})
	text := run.Log().String()
	at := 0
	for _, part := range []string{"trace      thinking", "where it occurred", "sub: get_order", "(odyssey, ", "sub: refund_order",
		"sub: cancel_order", "-> 500: ", "sub: get_order", "trace      thinking", `"hm"`} {
		i := strings.Index(text[at:], part)
		if i < 0 {
			t.Fatalf("%q is missing or out of order in\n%s", part, text)
		}
		at += i
	}
}
