package proxytest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
	"github.com/toolwire/toolwire/schema"
)

func TestBehaviors(t *testing.T) {
	p := proxytest.NewPlatform(t, proxytest.World{
		LedgerSchema: orders(),
		InitialState: `{"order":{"1":{"status":"paid","total":9},"2":{"status":"paid","total":10.5},"3":{"status":"shipped"}}}`,
		Behaviors: map[string]proxytest.Behavior{
			"lookup":      proxytest.Lookup("id", map[string]string{"a": `1`, "7": `"seven"`, "true": `[]`, "*": `null`}),
			"lookup_only": proxytest.Lookup("id", map[string]string{"a": `1`}),
			"get":         proxytest.Get("order", "id", nil),
			"get_some": proxytest.Get("order", "id", &proxytest.ReadOptions{Fields: []string{"status"},
				NotFound: `{"found":false}`}),
			"list": proxytest.List("order", nil),
			"list_by": proxytest.List("order", &proxytest.ReadOptions{
				Fields: []string{"order_id"}, Where: map[string]string{"status": "status"}, Wrap: "orders",
			}),
			"list_ids": proxytest.List("order", &proxytest.ReadOptions{Fields: []string{"order_id"}}),
			"add":      proxytest.Add("order", "id", nil),
			"add_new":  proxytest.Add("order", "", &proxytest.WriteOptions{Set: `{"status":"paid"}`, Copy: []string{"total"}}),
			"update":   proxytest.Update("order", "id", nil),
			"update_set": proxytest.Update("order", "id", &proxytest.WriteOptions{Set: `{"status":"refunded"}`,
				Result: `{"ok":true}`, NotFound: `"none"`}),
			"remove": proxytest.Remove("order", "id", nil),
		},
	}, nil)
	for _, tt := range []struct {
		tool, arguments string
		source          proxy.Source
		response        string
		changes         string // what has changed after the call
	}{
		{"lookup", `{"id":"a"}`, "odyssey", `1`, ""},
		{"lookup", `{"id":7}`, "odyssey", `"seven"`, ""},
		{"lookup", `{"id":true}`, "odyssey", `[]`, ""},
		{"lookup", `{"id":"b"}`, "odyssey", `null`, ""},
		{"lookup", `{"id":{}}`, "odyssey", `null`, ""},
		{"lookup", `{}`, "odyssey", `null`, ""},
		{"lookup_only", `{"id":"b"}`, "error", `{"error":"no answer is declared for this id or for \"*\""}`, ""},
		{"get", `{"id":"1"}`, "odyssey", `{"order_id":"1","status":"paid","total":9}`, ""},
		{"get", `{"id":1}`, "odyssey", `{"order_id":"1","status":"paid","total":9}`, ""},
		{"get", `{"id":"9"}`, "odyssey", `{"error":"order not found"}`, ""},
		{"get", `{}`, "odyssey", `{"error":"order not found"}`, ""},
		{"get_some", `{"id":"1"}`, "odyssey", `{"status":"paid"}`, ""},
		{"get_some", `{"id":"9"}`, "odyssey", `{"found":false}`, ""},
		{"list", `{}`, "odyssey",
			`[{"order_id":"1","status":"paid","total":9},{"order_id":"2","status":"paid","total":10.5},{"order_id":"3","status":"shipped"}]`, ""},
		{"list_by", `{}`, "odyssey", `{"orders":[{"order_id":"1"},{"order_id":"2"},{"order_id":"3"}]}`, ""},
		{"list_by", `{"status":"shipped"}`, "odyssey", `{"orders":[{"order_id":"3"}]}`, ""},
		{"list_by", `{"status":"lost"}`, "odyssey", `{"orders":[]}`, ""},
		{"list_ids", `{}`, "odyssey", `[{"order_id":"1"},{"order_id":"2"},{"order_id":"3"}]`, ""},
		{"add", `{"id":"4","status":"paid"}`, "odyssey", `{"order_id":"4","status":"paid"}`,
			`added /order/4: {"status":"paid"}`},
		{"add", `{"id":"1","status":"shipped"}`, "odyssey", `{"error":"order exists already"}`, ""},
		{"add", `{"id":"4","status":"lost"}`, "error",
			`{"error":"/order/4/status: must be one of the values in the ledger schema"}`, ""},
		{"add", `{}`, "error", ``, ""},
		{"add_new", `{"total":3,"note":"x"}`, "odyssey", `{"order_id":"order_1","status":"paid","total":3}`,
			`added /order/order_1: {"status":"paid","total":3}`},
		{"update", `{"id":"1","total":20}`, "odyssey", `{"order_id":"1","status":"paid","total":20}`,
			`changed /order/1/total: 9 -> 20`},
		{"update", `{"id":"9","total":20}`, "odyssey", `{"error":"order not found"}`, ""},
		{"update_set", `{"id":"2","total":20}`, "odyssey", `{"ok":true}`, `changed /order/2/status: "paid" -> "refunded"`},
		{"update_set", `{"id":"9"}`, "odyssey", `"none"`, ""},
		{"remove", `{"id":"3"}`, "odyssey", `{"order_id":"3","status":"shipped"}`, `removed /order/3: {"status":"shipped"}`},
		{"remove", `{"id":"9"}`, "odyssey", `{"error":"order not found"}`, ""},
	} {
		t.Run(tt.tool+tt.arguments, func(t *testing.T) {
			run := p.NewRun()
			got := call(t, run, tt.tool, tt.arguments)
			if got.Source != tt.source || tt.source != "error" && string(got.Response) != tt.response {
				t.Errorf("got %s %s\nwant %s %s", got.Source, got.Response, tt.source, tt.response)
			}
			record := run.Log()
			if changes := strings.TrimSpace(record.Changes.String()); changes != tt.changes {
				t.Errorf("changed %q, want %q", changes, tt.changes)
			}
			if wrote := len(record.Calls[0].Writes) > 0; wrote != (tt.changes != "") && tt.source != "error" {
				t.Errorf("writes %v", record.Calls[0].Writes)
			}
		})
	}
	run := p.NewRun()
	call(t, run, "add_new", `{}`)
	wantResult(t, call(t, run, "add_new", `{}`), "odyssey", `{"order_id":"order_2","status":"paid"}`)
}

// A behavior that cannot be made fails the calls of its tool and the test, and leaves the others alone.
func TestBehaviorsThatCannotBeMade(t *testing.T) {
	const quotes = ": invalid character 'x' looking for beginning of value; a JSON string needs quotes of its own: `\"text\"`"
	for want, behavior := range map[string]proxytest.Behavior{
		"proxytest.Canned: the result is not JSON: unexpected end of JSON input; a JSON string needs quotes of its own: `\"text\"`": proxytest.Canned("{"),
		`proxytest.Lookup: the answer for "a" is not JSON` + quotes:                                                                 proxytest.Lookup("id", map[string]string{"a": "x", "b": "1"}),
		"proxytest.Get: NotFound is not JSON" + quotes:                                                                              proxytest.Get("order", "id", &proxytest.ReadOptions{NotFound: "x"}),
		"proxytest.Add: NotFound is not JSON" + quotes:                                                                              proxytest.Add("order", "id", &proxytest.WriteOptions{NotFound: "x"}),
		"proxytest.Update: Set is not a JSON object":                                                                                proxytest.Update("order", "id", &proxytest.WriteOptions{Set: "[]"}),
		"proxytest.Remove: Result is not JSON" + quotes:                                                                             proxytest.Remove("order", "id", &proxytest.WriteOptions{Result: "x"}),
		"proxytest.Forward: the address is not an http or https URL":                                                                proxytest.Forward("ftp://x", nil),
	} {
		p := newPlatform(t, proxytest.World{Behaviors: map[string]proxytest.Behavior{"bad": behavior, "good": proxytest.Canned("1")}}, nil)
		run := p.NewRun()
		if got := call(t, run, "bad", `{"id":"b"}`); got.Source != "error" {
			t.Errorf("%s: the call returns %s of %s", want, got.Response, got.Source)
		}
		wantResult(t, call(t, run, "good", `{}`), "odyssey", `1`)
		if faults := run.Log().Faults; len(faults) != 1 || faults[0] != want {
			t.Errorf("got  %q\nwant %s", faults, want)
		}
	}
}

func TestAGoFuncOnTheLedger(t *testing.T) {
	run := proxytest.NewPlatform(t, proxytest.World{
		InitialState: `{"counter":{"c":{"n":0}}}`,
		Behaviors: map[string]proxytest.Behavior{
			"count": func(r *proxytest.Request) (any, error) {
				entity, ok := r.Get("counter", "c")
				var counter struct{ N int }
				if err := json.Unmarshal(entity, &counter); err != nil || !ok {
					return nil, err
				}
				n := fmt.Sprint(counter.N + 1)
				err := r.Apply(
					ledger.Update{Op: ledger.OpUpdate, EntityType: "counter", ID: "c",
						Fields: map[string]json.RawMessage{"n": json.RawMessage(n)}},
					ledger.Update{Op: ledger.OpSetFlag, Flag: "counted:" + n},
				)
				return map[string]any{"all": len(r.Snapshot().Entities["counter"]), "flags": len(r.Snapshot().Flags)}, err
			},
			"bad": func(r *proxytest.Request) (any, error) { return 1, r.Apply(ledger.Update{Op: "explode"}) },
		},
	}, nil).NewRun()
	var group sync.WaitGroup
	for i := range 50 { // reads and writes of two behaviors are not mixed
		group.Go(func() { call(t, run, "count", fmt.Sprintf(`{"i":%d}`, i)) })
	}
	group.Wait()
	record := run.Log()
	record.AssertState(t, "counter/c", `{"n":50}`)
	record.AssertFlag(t, "counted:50")
	record.AssertCalledTimes(t, "count", 50)
	if got := call(t, run, "bad", `{}`); got.Source != "error" {
		t.Errorf("%+v", got)
	}
}

func TestABehaviorThatWaitsDoesNotStopTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := proxytest.NewPlatform(t, proxytest.World{Behaviors: map[string]proxytest.Behavior{
			"slow": func(r *proxytest.Request) (any, error) {
				r.Snapshot()
				time.Sleep(time.Second)
				return nil, nil
			},
		}}, nil).NewRun()
		start := time.Now()
		var group sync.WaitGroup
		for range 5 {
			group.Go(func() { call(t, run, "slow", `{}`) })
		}
		group.Wait()
		if took := time.Since(start); took != 5*time.Second {
			t.Errorf("five seconds of ledger took %s", took)
		}
	})
}

func TestResultsAreValidated(t *testing.T) {
	status := `{"type":"object","properties":{"status":{"type":"string"}},"required":["status"],"additionalProperties":false}`
	asked := 0
	run := proxytest.NewPlatform(t, proxytest.World{
		Tools: []schema.Tool{
			declare("recovers", `{"type":"object"}`, status), declare("never", `{"type":"object"}`, status),
			declare("writes", `{"type":"object"}`, status), declare("fails", `{"type":"object"}`, status),
		},
		Behaviors: map[string]proxytest.Behavior{
			"recovers": func(r *proxytest.Request) (any, error) {
				if r.Attempt == 1 {
					return 7, nil
				}
				return map[string]string{"status": fmt.Sprint(r.Number, r.Attempt)}, nil
			},
			"never": func(*proxytest.Request) (any, error) { asked++; return []int{}, nil },
			"writes": func(r *proxytest.Request) (any, error) {
				return 1, r.Apply(ledger.Update{Op: ledger.OpSetFlag, Flag: fmt.Sprint("attempt:", r.Attempt)})
			},
			"fails": proxytest.Canned(`{"error":"order not found"}`),
		},
	}, nil).NewRun()
	got := call(t, run, "recovers", `{}`)
	wantResult(t, got, "odyssey", `{"status":"1 2"}`)
	if string(got.Validation) != `{"attempts":2,"ok":true}` {
		t.Errorf("validation %s", got.Validation)
	}
	if got := call(t, run, "never", `{}`); got.Source != "error" || asked != 3 || !got.Failed() ||
		!strings.Contains(string(got.Response), "no valid response") || got.Validation != nil {
		t.Errorf("asked %d times: %s %s", asked, got.Source, got.Response)
	}
	call(t, run, "writes", `{}`)
	if flags := run.Ledger().Snapshot().Flags; len(flags) != 1 || flags[0] != "attempt:1" {
		t.Errorf("a behavior that writes was asked again: %q", flags)
	}
	// A failure of the tool is not judged by its output_schema.
	got = call(t, run, "fails", `{}`)
	wantResult(t, got, "odyssey", `{"error":"order not found"}`)
	if reason := run.Log().Calls[3].Reason; reason != "" || got.Validation != nil || !got.Failed() {
		t.Errorf("reason %q, validation %s", reason, got.Validation)
	}
}

func TestAPanicIsAFault(t *testing.T) {
	p,
		err := proxytest.New(proxytest.World{Behaviors: map[string]proxytest.Behavior{"boom": func(*proxytest.Request) (any, error) { panic("boom") }}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	run := p.NewRun()
	if got := call(t, run, "boom", `{}`); got.Source != "error" {
		t.Errorf("%+v", got)
	}
	if faults := run.Log().Faults; len(faults) != 1 || !strings.Contains(faults[0], "behavior_test.go") {
		t.Errorf("faults %q", faults)
	}
}

func TestARequestMadeByHand(t *testing.T) {
	r := &proxytest.Request{Arguments: json.RawMessage(`{"id":"a"}`)}
	if got, err := proxytest.Lookup("id", map[string]string{"a": "1"})(r); err != nil ||
		string(got.(json.RawMessage)) != "1" {
		t.Errorf("%v %v", got, err)
	}
	if _, ok := r.Get("order", "1"); ok || r.Snapshot().Entities != nil || r.Snapshot().Flags != nil ||
		r.Context() == nil {
		t.Error("it has a ledger")
	}
	if err := r.Apply(ledger.Update{}); err == nil || errors.Unwrap(err) != nil {
		t.Errorf("%v", err)
	}
}

// An id is the same in any spelling of its number, as for ledger adapters.
func TestIDsThatAreNumbers(t *testing.T) {
	run := proxytest.NewPlatform(t, proxytest.World{
		InitialState: `{"order":{"4521":{"status":"paid"}}}`,
		Behaviors: map[string]proxytest.Behavior{
			"get":    proxytest.Get("order", "id", nil),
			"ship":   proxytest.Update("order", "id", &proxytest.WriteOptions{Set: `{"status":"shipped"}`}),
			"create": proxytest.Add("order", "id", &proxytest.WriteOptions{Set: `{"status":"new"}`}),
		},
	}, nil).NewRun()
	for _, id := range []string{`"4521"`, `4521`, `4521.0`, `4.521e3`} {
		wantResult(t, call(t, run, "get", `{"id":`+id+`}`), "odyssey", `{"status":"paid"}`)
		wantResult(t, call(t, run, "create", `{"id":`+id+`}`), "odyssey", `{"error":"order exists already"}`)
	}
	wantResult(t, call(t, run, "ship", `{"id":4521.0}`), "odyssey", `{"status":"shipped"}`)
	run.Log().AssertOnlyChanged(t, "order/4521/status")
}
