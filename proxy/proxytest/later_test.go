package proxytest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/internal/hook"
	"github.com/toolwire/toolwire/internal/text"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
	"github.com/toolwire/toolwire/schema"
)

func bearer(run *proxytest.Run) http.Header {
	return http.Header{"Authorization": {"Bearer " + run.Token}, "Content-Type": {"application/json"}}
}

// Later releases take telemetry beside trace events. The bodies come from public ports.
func TestTelemetry(t *testing.T) {
	p := proxytest.NewPlatform(t, world(), nil)
	run := p.NewRun()
	for i, body := range []string{
		`{"kind":"note","payload":{"text":"hm","phase":"plan"},"occurred_at":"2026-08-12T10:00:00.123456+00:00"}`,
		`{"kind":"guardrail_decision","payload":{"decision":"block","rule_name":"pii","reason":"a card number"},` +
			`"occurred_at":"2026-08-12T10:00:00Z","step_ref":0,"actor_id":"triage"}`,
		`{"kind":"state_snapshot","payload":{"snapshot":{"seat":"12A"},"label":"after"},"occurred_at":"2026-08-12T10:00:00Z"}`,
		`{"kind":"handoff_traversal","payload":{"from_sub_agent":"a","to_sub_agent":"b"},"occurred_at":"2026-08-12T10:00:00Z"}`,
		`{"kind":"of a later release","payload":{}}`,
	} {
		status, answer := send(t, p, run.Path+"/telemetry", bearer(run), body)
		if want := fmt.Sprintf(`{"accepted":true,"sequence":%d}`, i+1); status != 200 || answer != want {
			t.Errorf("%d %s, want %s", status, answer, want)
		}
		got := run.Log().Telemetry
		if len(got) != i+1 || string(got[i].Payload) != body || got[i].Sequence != int64(i+1) {
			t.Fatalf("%+v", got)
		}
	}
	log := run.Log()
	if got := log.Telemetry[1]; got.Event != "guardrail_decision" || got.Actor != "triage" || got.Order == 0 ||
		got.At.IsZero() {
		t.Errorf("%+v", got)
	}
	for _, part := range []string{"telemetry  note {", "telemetry  triage: guardrail_decision {"} {
		if !strings.Contains(log.String(), part) {
			t.Errorf("%q is not in\n%s", part, log)
		}
	}
	for body, want := range map[string]string{
		`{"payload":{}}`:              "kind must be a string that is not empty",
		`{"kind":"","payload":{}}`:    "kind must be a string that is not empty",
		`{"kind":1,"payload":{}}`:     "kind must be a string that is not empty",
		`{"kind":"note"}`:             "payload must be an object",
		`{"kind":"note","payload":1}`: "payload must be an object",
		`[]`:                          "not a JSON object",
	} {
		status, answer := send(t, p, run.Path+"/telemetry", bearer(run), body)
		if status != 422 || !strings.Contains(answer, want) {
			t.Errorf("%s: %d %s", body, status, answer)
		}
	}
	log = run.Log()
	if len(log.Telemetry) != 5 || len(log.Refused) != 6 || log.Refused[0].Tool != "telemetry" || !log.Refused[0].Trace {
		t.Errorf("%d accepted, refused %+v", len(log.Telemetry), log.Refused)
	}
	hook.Of[*text.Declared](log).Tools = nil // telemetry is not a tool
	log.AssertNotCalled(t, "telemetry", "")
	run.End("")
	if status, answer := send(t, p, run.Path+"/telemetry", bearer(run), `{"kind":"note","payload":{}}`); status != 401 {
		t.Errorf("%d %s", status, answer)
	}
	run.Log().AssertNoCallAfterEnd(t)
	if status, _ := send(t, p, run.Path+"/telemetry", nil, `{}`); status != 401 {
		t.Errorf("%d", status)
	}
	if text, err := json.Marshal(log); err != nil || !strings.Contains(string(text), `"telemetry":[{"event":"note"`) {
		t.Errorf("%s %v", text, err)
	}
}

// The planes data and context of later releases have no documented format. They are 404, and the
// log has them.
func TestDataAndContextAreRefusedAndRecorded(t *testing.T) {
	failed, output := testRun(t, func(tb testing.TB) {
		p := proxytest.NewPlatform(tb, world(), nil)
		run := p.NewRun()
		for i, plane := range []string{"data", "context", "data/sql", "context/kb/retrievals"} {
			body := `{"tool":"lookup","kind":"sql","intent":"read","operation":"SELECT 1"}`
			status, answer := send(t, p, run.Path+"/"+plane, bearer(run), body)
			if status != 404 || !strings.Contains(answer, "later release") || !strings.Contains(answer, "WrapProxy") {
				t.Errorf("%s: %d %s", plane, status, answer)
			}
			c := run.Log().Refused[i]
			if c.Tool != plane || !c.Trace || string(c.Arguments) != body || c.Status != 404 || c.Order == 0 {
				t.Errorf("%s: %+v", plane, c)
			}
		}
		for _, plane := range []string{"data", "context"} {
			if status, _ := send(t, p, run.Path+"/"+plane, http.Header{"Authorization": {"Bearer x"}}, `{}`); status != 401 {
				t.Errorf("%s without a token: %d", plane, status)
			}
		}
		get := httptest.NewRequest(http.MethodGet, run.Path+"/data/rows", nil)
		get.Header = bearer(run)
		w := httptest.NewRecorder()
		p.ServeHTTP(w, get)
		if last := run.Log().Refused; w.Code != 404 || len(last) != 5 || last[4].Tool != "data/rows" {
			t.Errorf("GET: %d, %+v", w.Code, last)
		}
		log := run.Log()
		hook.Of[*text.Declared](log).Tools = nil // data is not a tool
		log.AssertNotCalled(t, "data", "")
	})
	if failed != "" || !strings.Contains(output, "proxytest: the proxy refused data: 404: ") {
		t.Errorf("failures %q, output\n%s", failed, output)
	}
}

// The run in the path must be the token's for every plane.
func TestOtherPlanesAtTheURLOfAnotherRun(t *testing.T) {
	for _, plane := range []string{"traces/custom", "telemetry", "data", "data/sql", "context/kb"} {
		failed, _ := testRun(t, func(tb testing.TB) {
			p := proxytest.NewPlatform(tb, world(), nil)
			first, second := p.NewRun(), p.NewRun()
			status, answer := send(t, p, first.Path+"/"+plane, bearer(second), `{"kind":"note","payload":{}}`)
			if log := second.Log(); status != 401 || !strings.Contains(answer, "the path belongs to another run") ||
				len(log.Refused) != 1 {
				t.Errorf("%s: %d %s", plane, status, answer)
			}
		})
		if !strings.Contains(failed, `at the proxy URL of run "1"`) {
			t.Errorf("%s: failures %q", plane, failed)
		}
	}
}

// A tool that executes where the agent runs does not make the others unusable.
func TestExecutedTools(t *testing.T) {
	world, err := proxytest.ParseWorld([]byte(`{
		"tools_schema": [
			{"name": "run_sql", "input_schema": {"type": "object"}, "default_execution_mode": "executed"},
			{"name": "old", "input_schema": {"type": "object"}, "default_execution_mode": "code_intercepted"},
			{"name": "get_order", "input_schema": {"type": "object"}, "default_execution_mode": "simulated"},
			{"name": "ping", "input_schema": {"type": "object"}}
		],
		"behaviors": {"get_order": {"canned": 1}}
	}`))
	if err != nil {
		t.Fatal(err)
	}
	run := proxytest.NewPlatform(t, world, nil).NewRun()
	for _, tool := range []string{"run_sql", "old"} {
		_, err := run.Client(nil).Do(t.Context(), tool, nil)
		if e, ok := errors.AsType[*proxy.Error](err); !ok || e.Status != 409 || e.Class != "tool_executes_in_sandbox" {
			t.Errorf("%s: %v", tool, err)
		}
	}
	wantResult(t, call(t, run, "get_order", `{}`), proxy.SourceOdyssey, "1")
	wantResult(t, call(t, run, "ping", `{}`), proxy.SourceOdyssey, "{}")
	log := run.Log()
	if len(log.Refused) != 2 || log.Refused[0].ErrorClass != "tool_executes_in_sandbox" || len(log.Faults) > 0 {
		t.Errorf("%+v", log)
	}
	if got := hook.Of[*text.Declared](log).Executed; !slices.Equal(got, []string{"old", "run_sql"}) {
		t.Errorf("executed: %q", got)
	}
	if world.Tools[0].DefaultExecutionMode != "executed" {
		t.Errorf("the mode is %q", world.Tools[0].DefaultExecutionMode)
	}

	_, err = proxytest.New(proxytest.World{
		Tools:     []schema.Tool{{Name: "a", InputSchema: json.RawMessage(anyObject), DefaultExecutionMode: "executed"}},
		Behaviors: map[string]proxytest.Behavior{"a": proxytest.Canned("1")},
	}, nil)
	if err == nil || !strings.Contains(err.Error(), `/behaviors/a the tool "a" executes where the agent runs`) {
		t.Errorf("%v", err)
	}
	_, err = proxytest.New(proxytest.World{
		Tools: []schema.Tool{{Name: "a", InputSchema: json.RawMessage(anyObject), DefaultExecutionMode: "live"}},
	}, nil)
	if err == nil || !strings.Contains(err.Error(), "default_execution_mode") {
		t.Errorf("%v", err)
	}
}

// Members of later releases are kept and not executed. Each call that they would have changed says
// so.
func TestLaterMembersAreNamedInTheLog(t *testing.T) {
	const ledgerSchema = `{"entities":[{"type":"order","id_field":"order_id"}]}`
	for _, tt := range []struct {
		name, tool string
		behavior   string
		notes      []string
		none       bool
		silent     bool // the adapter writes all that it declares
	}{
		{name: "ledger_read", tool: `"ledger_read":{"op":"get","entity_type":"order","project":{"status":"status"}}`,
			notes: []string{"the tool declares ledger_read, which is of a later release and is not executed here"}},
		{name: "with a behavior", tool: `"ledger_read":{"op":"get"},"preconditions":[{"entity_type":"order"}]`,
			behavior: `{"canned":1}`,
			notes: []string{"the tool declares ledger_read, which is of a later release and is not executed here",
				"the tool declares preconditions, which is of a later release and is not executed here"}},
		{name: "approval", tool: `"requires_human_approval":true,"context_store":"kb"`,
			notes: []string{"the tool declares requires_human_approval, which is of a later release and is not executed here",
				"the tool declares context_store, which is of a later release and is not executed here"}},
		{name: "not set", tool: `"requires_human_approval":false,"preconditions":[],"ledger_read":null`, none: true},
		{name: "beside one that is not set", tool: `"preconditions":[{"entity_type":"order"}],"ledger_read":null`,
			notes: []string{"the tool declares preconditions, which is of a later release and is not executed here"}},
		{name: "others", tool: `"simulator_instructions":"be brief","x":1`, none: true},
		{name: "an adapter in sandbox mode", tool: `"ledger_adapter":{"effects":[{"op":"set_flag","flags":["a"]}]}`,
			notes: []string{"the tool declares ledger_adapter in sandbox mode, which is of a later release and is not executed here"}},
		{name: "effects without a policy", behavior: `{"canned":1}`,
			tool: strings.Replace(passthrough(`{"effects":[{"op":"set_flag","flags":["a"]}]}`),
				`"ledger_write_policy":"adapter",`, "", 1),
			notes: []string{"the tool declares effects without a ledger_write_policy, which is of a later release and is not executed here"}},
		{name: "effects", tool: passthrough(`{"effects":[{"op":"set_flag","flags":["a"]}]}`),
			behavior: `{"canned":{"order_id":"1"}}`,
			notes:    []string{"ledger_adapter: effects belongs to a later release and is not evaluated here: nothing is written"}},
		{name: "when", tool: passthrough(`{"entity_type":"order","id_from":"$.order_id","when":{"field":"ok","eq":true}}`),
			behavior: `{"canned":{"order_id":"1"}}`,
			notes:    []string{"ledger_adapter: when belongs to a later release and is not evaluated here: nothing is written"}},
		{name: "nothing of a later release", tool: passthrough(`{"entity_type":"order","id_from":"$.order_id","flags":["seen"]}`),
			behavior: `{"canned":{"order_id":"1"}}`, silent: true},
		{name: "a new op", tool: passthrough(`{"op":"list_append","entity_type":"order","id_from":"$.order_id"}`),
			behavior: `{"canned":{"order_id":"1"}}`, notes: []string{"ledger_adapter: op "}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			behaviors := `{}`
			if tt.behavior != "" {
				behaviors = `{"t":` + tt.behavior + `}`
			}
			world, err := proxytest.ParseWorld([]byte(`{"ledger_schema":` + ledgerSchema + `,"behaviors":` + behaviors +
				`,"tools_schema":[{"name":"t","input_schema":{"type":"object"},` + tt.tool + `}]}`))
			if err != nil {
				t.Fatal(err)
			}
			var log *proxytest.Log
			_, output := testRun(t, func(tb testing.TB) {
				run := proxytest.NewPlatform(tb, world, nil).NewRun()
				call(t, run, "t", `{}`)
				log = run.Log()
			})
			if tt.silent {
				if len(log.Calls[0].Notes) > 0 || strings.Contains(output, "proxytest: ") {
					t.Errorf("notes %q, output\n%s", log.Calls[0].Notes, output)
				}
				log.AssertFlag(t, "seen")
				return
			}
			log.AssertOnlyChanged(t)
			if shown := strings.Contains(output, "proxytest: not executed: ") ||
				strings.Contains(output, "proxytest: ignored: "); shown == tt.none {
				t.Errorf("output\n%s", output)
			}
			for _, note := range tt.notes {
				has := func(s string) bool { return strings.HasPrefix(s, note) }
				if !slices.ContainsFunc(log.Calls[0].Notes, has) || !strings.Contains(log.String(), note) {
					t.Errorf("the notes are %q\n%s", log.Calls[0].Notes, log)
				}
			}
			if tt.none && strings.Contains(log.String(), "later release") {
				t.Errorf("%s", log)
			}
		})
	}
}

func passthrough(adapter string) string {
	return `"default_execution_mode":"passthrough","passthrough_binding":{"endpoint_name":"e","tool_name":"t"},` +
		`"ledger_write_policy":"adapter","ledger_adapter":` + adapter
}

// The world takes malformed adapters, as the platform does. The call succeeds, nothing is written,
// and the log says why.
func TestMalformedAdapters(t *testing.T) {
	for _, tt := range []struct{ name, adapter, note string }{
		{"no id_from", `{"entity_type":"order"}`, "ledger_adapter: id_from "},
		{"a path that is none", `{"entity_type":"order","id_from":"$["}`, `ledger_adapter: id_from "$[" `},
		{"an unknown op", `{"op":"upsert","entity_type":"order","id_from":"$.order_id"}`, "ledger_adapter: op "},
		{"set_flag with an entity", `{"op":"set_flag","entity_type":"order","flags":["a"]}`, "ledger_adapter: entity_type "},
		{"set_flag without flags", `{"op":"set_flag"}`, "ledger_adapter: flags "},
		{"a number for an id_from", `{"entity_type":"order","id_from":7}`, "ledger_adapter: id_from "},
		{"not an object", `"order"`, "ledger_adapter: "},
		{"a list", `[]`, "ledger_adapter: "},
		{"no match", `{"entity_type":"order","id_from":"$.nope"}`,
			`ledger_adapter: id_from "$.nope" matched nothing, so there is no id`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			world, err := proxytest.ParseWorld([]byte(`{
				"ledger_schema": {"entities":[{"type":"order","id_field":"order_id"}]}, "behaviors": {"t":{"canned":{"order_id":"1"}}},
				"tools_schema": [{"name":"t","input_schema":{"type":"object"},` + passthrough(tt.adapter) + `}]}`))
			if err != nil {
				t.Fatal(err)
			}
			run := proxytest.NewPlatform(t, world, nil).NewRun()
			wantResult(t, call(t, run, "t", `{}`), proxy.SourcePassthrough, `{"order_id":"1"}`)
			log := run.Log()
			log.AssertOnlyChanged(t)
			c := log.Calls[0]
			if c.Adapter == nil || len(c.Notes) == 0 || !strings.HasPrefix(c.Notes[0], tt.note) {
				t.Errorf("the notes are %q, want one that begins with %q", c.Notes, tt.note)
			}
		})
	}
	// The platform rejects an adapter only for its entity type.
	_, err := proxytest.ParseWorld([]byte(`{
		"ledger_schema": {"entities":[{"type":"order","id_field":"order_id"}]}, "behaviors": {"t":{"canned":1}},
		"tools_schema": [{"name":"t","input_schema":{"type":"object"},` + passthrough(`{"entity_type":"ordr","id_from":"$.a"}`) + `}]}`))
	if err == nil || !strings.Contains(err.Error(), `"ordr"`) {
		t.Errorf("%v", err)
	}
}

// A world reads what older drafts wrote otherwise, completely.
func TestSchemaOfAnotherDraft(t *testing.T) {
	const point = `{"type":"object","properties":{"at":{"items":[{"type":"number"},{"type":"number"}]}},"required":["at"]}`
	w := proxytest.World{
		Tools:     []schema.Tool{declare("move", point, "")},
		Behaviors: map[string]proxytest.Behavior{"move": proxytest.Canned(`{"ok":true}`)},
	}
	failed, output := testRun(t, func(tb testing.TB) {
		run := proxytest.NewPlatform(tb, w, nil).NewRun()
		wantResult(t, call(t, run, "move", `{"at":[1,2]}`), proxy.SourceOdyssey, `{"ok":true}`)
		if _, err := run.Client(nil).Do(t.Context(), "move", json.RawMessage(`{"at":[1,"2"]}`)); err == nil {
			t.Error("the list of items is not applied")
		}
	})
	if failed != "" || strings.Contains(output, "proxytest: not checked: ") {
		t.Errorf("failures %q, output\n%s", failed, output)
	}
}

// A world takes schemas that can be checked only in part along, and names them.
func TestUncheckedSchemas(t *testing.T) {
	const pin = `{"type":"object","properties":{"pin":{"type":"string","pattern":"^.(?=.*[0-9]).{7,}$"}},"required":["pin"]}`
	w := proxytest.World{
		Tools:     []schema.Tool{declare("set_pin", pin, pin), declare("ping", anyObject, "")},
		Behaviors: map[string]proxytest.Behavior{"set_pin": proxytest.Canned(`{"pin":"x"}`)},
	}
	var calls []proxytest.Call
	failed, output := testRun(t, func(tb testing.TB) {
		run := proxytest.NewPlatform(tb, w, nil).NewRun()
		wantResult(t, call(t, run, "set_pin", `{"pin":"short"}`), proxy.SourceOdyssey, `{"pin":"x"}`)
		call(t, run, "ping", `{}`)
		if _, err := run.Client(nil).Do(t.Context(), "set_pin", map[string]int{"pin": 1}); err == nil {
			t.Error("the rest of the schema is not checked")
		}
		calls = run.Log().Calls
	})
	if failed != "" || strings.Count(output, "proxytest: not checked: ") != 2 ||
		!strings.Contains(output, `"set_pin": /0/input_schema/properties/pin/pattern`) {
		t.Errorf("failures %q, output\n%s", failed, output)
	}
	if notes := calls[0].Notes; len(notes) != 2 ||
		!strings.HasPrefix(notes[0], "not checked: /input_schema/properties/pin/pattern ") {
		t.Errorf("notes %q", notes)
	}
	for _, note := range calls[1].Notes {
		if strings.Contains(note, "not checked") {
			t.Errorf("%q", note)
		}
	}
}
