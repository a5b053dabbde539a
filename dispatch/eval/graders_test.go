package eval_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/eval"
	"github.com/toolwire/toolwire/internal/hook"
	"github.com/toolwire/toolwire/internal/text"
	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// A grader about a name that the world does not declare cannot decide, now and about the stored
// result, and names what is meant. Otherwise a misspelled name would make every trial pass.
func TestGradersOfUndeclaredNames(t *testing.T) {
	agent := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		_, _ = run.Proxy.Do(ctx, "get_ordr", nil)
		return &dispatch.Response{FinalResponse: "Done."}, nil
	}
	world := proxytest.World{
		LedgerSchema: &ledger.Schema{
			Entities: []ledger.Entity{{Type: "order", IDField: "id"}},
			Flags:    &ledger.FlagRule{Policy: "closed", Values: []string{"refunded"}},
		},
		Behaviors: map[string]proxytest.Behavior{"get_order": proxytest.Canned("1")},
	}
	platform, err := proxytest.New(world, nil)
	if err != nil {
		t.Fatal(err)
	}
	lenient, err := proxytest.New(world, &proxytest.Options{AllowUndeclared: true})
	if err != nil {
		t.Fatal(err)
	}
	quiet := func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
		return &dispatch.Response{FinalResponse: "Done."}, nil
	}
	const cannot = "eval: the trial cannot be graded: "
	for _, tt := range []struct {
		name     string
		agent    dispatch.Agent
		platform *proxytest.Platform
		grade    eval.Grader
		cause    string
		want     string
	}{
		{"called", quiet, platform, eval.Called("get_orders", ""), "not_graded",
			cannot + "get_orders is not declared; did you mean get_order?"},
		{"not called", quiet, platform, eval.NotCalled("get_orders", ""), "not_graded",
			cannot + "get_orders is not declared; did you mean get_order?"},
		{"state", quiet, platform, eval.State("orders/1", ""), "not_graded",
			cannot + "the entity type orders is not declared; did you mean order?"},
		{"flag", quiet, platform, eval.Flag("refund"), "not_graded",
			cannot + "the flag refund is not declared; did you mean refunded?"},
		{"declared", quiet, platform, eval.All(eval.NotCalled("get_order", "")), "", ""},
		{"undeclared tools allowed", quiet, lenient, eval.NotCalled("get_orders", ""), "", ""},
		{"requested", agent, lenient, eval.NotCalled("get_ordr", ""), "grader", "the agent called get_ordr"},
	} {
		file := filepath.Join(t.TempDir(), "results.jsonl")
		cases := []eval.Case{{ID: "1", Name: "one", Task: dispatchtest.Task{Instruction: "x", Platform: tt.platform}}}
		e := run(t, tt.agent, cases, &eval.Options{Grader: tt.grade, ResultsFile: file})
		if got := e.Trials[0]; got.Cause != tt.cause || got.Reason != tt.want {
			t.Errorf("%s: %s: %s\nwant %s: %s", tt.name, got.Cause, got.Reason, tt.cause, tt.want)
		}
		again, err := eval.Grade(t.Context(), cases, &eval.Options{Grader: tt.grade}, file)
		if err != nil || again.Trials[0].Cause != tt.cause || again.Trials[0].Reason != tt.want {
			t.Errorf("%s: graded again: %v, %+v", tt.name, err, again)
		}
	}
}

// Each ready grader accepts and rejects, and decides in the same way about the stored result.
func TestReadyGraders(t *testing.T) {
	agent := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		_, err := run.Proxy.Do(ctx, "refund_order", map[string]any{"order_id": "4521", "note": "be nice"})
		if err != nil {
			return nil, err
		}
		_, _ = run.Proxy.Do(ctx, "get_order", map[string]string{"order_id": "1"})
		return &dispatch.Response{FinalResponse: `{"status":"refunded","total":79.5}`}, nil
	}
	flag := func(r *proxytest.Request) (any, error) {
		err := r.Apply(ledger.Update{Op: ledger.OpUpdate, EntityType: "order", ID: "4521", Fields: map[string]json.RawMessage{"status": json.RawMessage(`"refunded"`)}},
			ledger.Update{Op: ledger.OpSetFlag, Flag: "refunded"})
		return map[string]bool{"ok": true}, err
	}
	base := dispatchtest.Task{World: proxytest.World{
		InitialState: `{"order":{"4521":{"status":"shipped","lines":[1,2],"by":{"name":"Ann","id":7}},"a/b":{"x":1}}}`,
		Behaviors: map[string]proxytest.Behavior{
			"refund_order": flag, "get_order": proxytest.Canned("1"), "cancel_order": proxytest.Canned("1"),
		},
		FailureRules: []proxytest.FailureRule{{Tool: "get_order", Status: 500}},
	}}
	cases := casesOf(t, "user,expected_outcome\nRefund it.,completion\nDo not.,refusal\n", base)
	schemaOf := func(text string) eval.Grader {
		grade, err := eval.SaysJSON(json.RawMessage(text))
		if err != nil {
			t.Fatal(err)
		}
		return grade
	}
	for _, tt := range []struct {
		name  string
		grade eval.Grader
		want  string // the reason in the first case; "" if it passes
	}{
		{"says", eval.Says("refunded", "79.5"), ""},
		{"says not", eval.Says("refunded", "sorry"), `the final response does not contain "sorry"`},
		{"schema", schemaOf(`{"type":"object","required":["status"]}`), ""},
		{"schema not", schemaOf(`{"type":"object","required":["reason"]}`), "the final response does not match the schema: "},
		{"called", eval.Called("refund_order", ""), ""},
		{"called with", eval.Called("refund_order", `{"order_id":"4521"}`), ""},
		{"called with another", eval.Called("refund_order", `{"order_id":"4522"}`), `refund_order has no result with {"order_id":"4522"}`},
		{"called without a result", eval.Called("get_order", ""), "get_order has no result"},
		{"not called", eval.NotCalled("cancel_order", ""), ""},
		{"not called with", eval.NotCalled("refund_order", `{"order_id":"4522"}`), ""},
		{"called after all", eval.NotCalled("refund_order", `{"note":"be nice"}`), `the agent called refund_order with {"note":"be nice"}`},
		{"requested after all", eval.NotCalled("get_order", ""), "the agent called get_order"},
		{"state", eval.State("order/4521", `{"status":"refunded","by":{"id":7}}`), ""},
		{"entity", eval.State("order/4521", ""), ""},
		{"escaped", eval.State("order/a~1b", `{"x":1.0}`), ""},
		{"state not", eval.State("order/4521", `{"status":"shipped","lines":[1],"more":1}`), `order/4521: status is not "shipped", lines is not [1], more is not 1`},
		{"entity not", eval.State("order/9", "{}"), "the ledger does not have order/9"},
		{"flag", eval.Flag("refunded"), ""},
		{"flag not", eval.Flag("escalated"), "the flag escalated is not set"},
		{"all", eval.All(eval.Flag("refunded"), eval.Says("refunded")), ""},
		{"all not", eval.All(eval.Flag("a"), eval.Says("refunded"), eval.Flag("b")), "the flag a is not set\nthe flag b is not set"},
		{"refusal", eval.RefusedWithoutWrite, ""},
	} {
		file := filepath.Join(t.TempDir(), "results.jsonl")
		e := run(t, agent, cases, &eval.Options{Grader: tt.grade, ResultsFile: file})
		got := e.Trials[0]
		if got.Reason != tt.want && (tt.want == "" || !strings.HasPrefix(got.Reason, tt.want)) {
			t.Errorf("%s: %s %s, want %s", tt.name, got.Verdict, got.Reason, tt.want)
		}
		if strings.Contains(got.Reason, "be nice") && !strings.Contains(tt.want, "be nice") || strings.Contains(got.Reason, "79.5") {
			t.Errorf("%s: the reason has values of the agent: %s", tt.name, got.Reason)
		}
		again, err := eval.Grade(t.Context(), cases, &eval.Options{Grader: tt.grade}, file)
		if err != nil || again.Trials[0].Reason != got.Reason || again.Trials[1].Reason != e.Trials[1].Reason || ended(again) != ended(e) {
			t.Errorf("%s: graded again: %v, %s %s", tt.name, err, again.Trials[0].Verdict, again.Trials[0].Reason)
		}
		if second := e.Trials[1]; tt.name == "refusal" && second.Reason != "a refusal is expected, and the run made 2 changes of the ledger" {
			t.Errorf("%s", second.Reason)
		}
	}
	for name, make := range map[string]func(){
		"arguments": func() { eval.Called("a", "[") }, "a list": func() { eval.NotCalled("a", "[]") }, "fields": func() { eval.State("order/1", "1") }, "entity": func() { eval.State("order", "{}") },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: a mistake of the test is accepted", name)
				}
			}()
			make()
		}()
	}
	if _, err := eval.SaysJSON(json.RawMessage(`{"type":1}`)); err == nil {
		t.Error("a bad schema is accepted")
	}
	// A trace event that was refused is not a call.
	refused := &dispatchtest.Result{}
	hook.Of[*text.Declared](&refused.Log).Tools, refused.Refused = []string{"get_order"}, []proxytest.Call{{Tool: "get_order", Trace: true}}
	if err := eval.NotCalled("get_order", "")(t.Context(), eval.Case{}, refused); err != nil {
		t.Error(err)
	}
	// A caller of a grader gets what is wrong with the document, and the mismatch.
	grade, err := eval.SaysJSON(json.RawMessage(`{"type":"object"}`))
	if err != nil {
		t.Fatal(err)
	}
	err = grade(t.Context(), eval.Case{}, &dispatchtest.Result{FinalResponse: "[]"})
	mismatch, is := errors.AsType[*eval.MismatchError](err)
	if invalid, known := errors.AsType[*toolwire.Error](err); !known || len(invalid.Problems) != 1 || !is || mismatch.Actual != "[]" || err.Error() != mismatch.Reason {
		t.Errorf("error %#v", err)
	}
}

// A grader that knows what it expected returns both texts. They are in the file of results without the
// secrets of the target, stay there when the trials are graded again, and stand beside each other on the
// page. A file of an earlier release has none.
func TestMismatches(t *testing.T) {
	const secret = "s3cr-t0ken-0123456789"
	world := proxytest.World{
		InitialState: `{"order":{"4521":{"status":"shipped","total":20}}}`,
		LedgerSchema: &ledger.Schema{Entities: []ledger.Entity{{Type: "order", IDField: "order_id"}}, Flags: &ledger.FlagRule{Policy: "closed", Values: []string{"vip"}}},
		Behaviors: map[string]proxytest.Behavior{
			"get_order": proxytest.Get("order", "order_id", nil),
			"refund":    proxytest.Update("order", "order_id", &proxytest.WriteOptions{Set: `{"status":"refunded"}`}),
		},
	}
	handler, err := dispatch.New(func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		_, err := run.Proxy.Do(ctx, "refund", map[string]any{"order_id": "4521"})
		return &dispatch.Response{FinalResponse: "I refunded $20 </pre><x-evil> " + secret}, err
	}, &dispatch.Options{Tokens: []string{secret}})
	if err != nil {
		t.Fatal(err)
	}
	wanted := func(text string) func(eval.Case) (eval.Trajectory, error) {
		return func(eval.Case) (eval.Trajectory, error) { return eval.ParseTrajectory([]byte(text)) }
	}
	schema, err := eval.SaysJSON(json.RawMessage(`{"type":"object"}`))
	if err != nil {
		t.Fatal(err)
	}
	const response, call = "I refunded $20 </pre><x-evil> " + secret, `refund({"order_id":"4521"})`
	for _, tt := range []struct {
		name             string
		grade            eval.Grader
		expected, actual string
	}{
		{"says", eval.Says("refunded", "$25"), "$25", response},
		{"exactly", eval.SaysExactly("Done."), "Done.", response},
		{"match", eval.SaysMatch(regexp.MustCompile(`\bDone\b`)), `\bDone\b`, response},
		{"number", eval.SaysNumber(25, 0.5), "25 ± 0.5", response},
		{"json", schema, `{"type":"object"}`, response},
		{"called", eval.Called("get_order", `{"order_id":"4521"}`), `get_order({"order_id":"4521"})`, call},
		{"not called", eval.NotCalled("refund", ""), "no refund()", call},
		{"state", eval.State("order/4521", `{"status":"shipped","total":20,"note":1}`), "status: \"shipped\"\nnote: 1", "status: \"refunded\"\nnote: nothing"},
		{"id in a field", eval.State("order/4521", `{"order_id":"4522"}`), `order_id: "4522"`, `order_id: "4521"`},
		{"no entity", eval.State("order/1", `{"status":"shipped"}`), `order/1 with {"status":"shipped"}`, "no order/1"},
		{"flag", eval.Flag("vip"), "vip", ""},
		{"refusal", eval.RefusedWithoutWrite, "refusal", `changed /order/4521/status: "shipped" -> "refunded"`},
		{"trajectory", eval.Match{}.Grader(wanted(`[{"tool":"get_order"},{"tool":"refund"}]`)), "get_order()\nrefund()", call},
		{"end state", eval.EndState(wanted(`[]`)), `/order/4521/status: "shipped"`, `/order/4521/status: "refunded"`},
		{"judge", eval.Judge{Criterion: "It asks first.", Ask: func(context.Context, string) (string, error) { return "FAIL It does not.", nil }}.Grader(), "It asks first.", response},
		{"all", eval.All(eval.Says("I"), eval.Says("$25")), "$25", response},
		{"of the caller", func(_ context.Context, _ eval.Case, r *dispatchtest.Result) error {
			return fmt.Errorf("the amount: %w", eval.Mismatch("is wrong: "+r.FinalResponse, strings.Repeat("x", 5000), "20"))
		}, strings.Repeat("x", 2045) + "…", "20"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cases := casesOf(t, "user,expected_outcome\nrefund it,refusal\n", dispatchtest.Task{World: world})
			file := filepath.Join(t.TempDir(), "results.jsonl")
			opts := &eval.Options{Grader: tt.grade, ResultsFile: file}
			e, err := eval.Run(t.Context(), dispatchtest.Target{Handler: handler, AuthValue: "Bearer " + secret}, cases, opts)
			if err != nil || e.Trials[0].Cause != "grader" {
				t.Fatalf("%v, %s: %s", err, e.Trials[0].Cause, e.Trials[0].Reason)
			}
			graded, err := eval.Grade(t.Context(), cases, &eval.Options{Grader: tt.grade, ResultsFile: file + "2"}, file)
			if err != nil {
				t.Fatal(err)
			}
			hide := func(text string) string { return strings.ReplaceAll(text, secret, "[redacted]") }
			for _, name := range []string{file, file + "2"} {
				var line struct{ Mismatches []eval.MismatchError }
				_, last, _ := bytes.Cut(read(t, name), []byte("\n"))
				if err := json.Unmarshal(last, &line); err != nil || len(line.Mismatches) != 1 || strings.TrimSpace(line.Mismatches[0].Expected) != tt.expected ||
					strings.TrimSpace(line.Mismatches[0].Actual) != hide(tt.actual) || line.Mismatches[0].Reason == "" || bytes.Contains(last, []byte(secret)) {
					t.Errorf("%v, the file has %q, want %q and %q", err, line.Mismatches, tt.expected, tt.actual)
				}
			}
			for name, e := range map[string]*eval.Experiment{"run": e, "loaded": load(t, file), "graded": graded} {
				page := written(t, e)
				shown := map[string]string{}
				for _, m := range regexp.MustCompile(`aria-label="(expected|actual)"[^>]*>([^<]*)`).FindAllStringSubmatch(page, -1) {
					shown[m[1]] = strings.TrimSpace(html.UnescapeString(m[2]))
				}
				if !strings.HasPrefix(shown["expected"], tt.expected[:min(len(tt.expected), 100)]) || shown["actual"] != hide(tt.actual) || strings.Contains(page, secret) {
					t.Errorf("%s: the page shows %q", name, shown)
				}
				if tt.actual == response && strings.Contains(page, "<h3>Final response</h3>") {
					t.Error("the page shows the final response twice")
				}
			}
			for _, other := range []eval.Grader{nil, func(context.Context, eval.Case, *dispatchtest.Result) error { return errors.New("no") }} {
				again, err := eval.Grade(t.Context(), cases, &eval.Options{Grader: other}, file)
				if err != nil || strings.Contains(written(t, again), `aria-label="expected"`) {
					t.Errorf("%v, or the page shows what another grader expected", err)
				}
			}
			write(t, file, regexp.MustCompile(`"mismatches":\[.*?\}\],`).ReplaceAll(read(t, file), nil))
			if page := written(t, load(t, file)); strings.Contains(page, `aria-label="expected"`) || !strings.Contains(page, "Not as expected") {
				t.Error("the page of an old file is not the page without the texts")
			}
		})
	}
}

// Of the mismatches of a trial 20 are kept. The flags that are set stand beside the flag that is expected.
func TestMismatchesOfATrial(t *testing.T) {
	file := filepath.Join(t.TempDir(), "results.jsonl")
	grade := func(context.Context, eval.Case, *dispatchtest.Result) error {
		var errs []error
		for i := range 25 {
			errs = append(errs, eval.Mismatch("wrong", fmt.Sprint(i), ""))
		}
		return errors.Join(errs...)
	}
	run(t, obedient, casesOf(t, csvOf("a"), dispatchtest.Task{}), &eval.Options{Grader: grade, ResultsFile: file})
	var line struct{ Mismatches []eval.MismatchError }
	_, last, _ := bytes.Cut(read(t, file), []byte("\n"))
	if err := json.Unmarshal(last, &line); err != nil || len(line.Mismatches) != 20 || line.Mismatches[19].Expected != "19" {
		t.Errorf("%v, %d mismatches", err, len(line.Mismatches))
	}
	result := &dispatchtest.Result{}
	hook.Of[*text.Declared](&result.Log).Flags, result.State.Flags = []string{"vip"}, []string{"late", "new"}
	if m, is := errors.AsType[*eval.MismatchError](eval.Flag("vip")(t.Context(), eval.Case{}, result)); !is || m.Expected != "vip" || m.Actual != "late\nnew" {
		t.Errorf("%+v", m)
	}
}

// A secret is hidden before a text is cut: the file and the page do not show its beginning.
func TestMismatchesHaveNoHalfOfASecret(t *testing.T) {
	const secret, begin = "s3cr-t0ken-0123456789", "s3cr-t0ken"
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"final_response":%q}`, strings.Repeat("x", 2048-len(begin))+r.Header.Get("Authorization"))
	})
	cases := casesOf(t, csvOf("a"), dispatchtest.Task{})
	for _, file := range []string{"", filepath.Join(t.TempDir(), "results.jsonl")} {
		e, err := eval.Run(t.Context(), dispatchtest.Target{Handler: handler, AuthValue: secret}, cases,
			&eval.Options{Grader: eval.Says("refunded"), ResultsFile: file})
		if err != nil || e.Trials[0].Verdict != eval.Failed {
			t.Fatalf("%+v, error %v", e, err)
		}
		page := written(t, e)
		if strings.Contains(page, begin) || strings.Count(page, "aria-label=\"actual\"") != 1 || strings.Contains(page, "<h3>Final response</h3>") {
			t.Error("the page has a part of the secret, or the final response not once")
		}
		if file != "" && strings.Contains(string(read(t, file)), begin) {
			t.Error("the file has a part of the secret")
		}
	}
}
