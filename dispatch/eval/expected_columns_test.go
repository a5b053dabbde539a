package eval_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/eval"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// store is a world with a ledger schema, tools that write, one that fails and one that executes elsewhere.
const store = `{
	"tools_schema": [
		{"name": "get_order", "input_schema": {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]}},
		{"name": "refund_order", "input_schema": {"type": "object", "properties": {"order_id": {"type": "string"}, "reason": {"type": "string"}}}},
		{"name": "delete_order", "input_schema": {"type": "object"}},
		{"name": "add_note", "input_schema": {"type": "object"}},
		{"name": "run_python", "input_schema": {"type": "object"}, "default_execution_mode": "executed"}
	],
	"ledger_schema": {"flags": {"policy": "closed", "values": ["vip", "late"]}, "entities": [
		{"type": "order", "id_field": "order_id", "fields": [{"name": "status", "type": "string", "enum": ["shipped", "refunded"]},
			{"name": "total", "type": "number"}, {"name": "to", "type": "object"}, {"name": "reason", "type": "string"}]},
		{"type": "note", "id_field": "note_id", "fields": [{"name": "text", "type": "string"}]}
	]},
	"initial_state": {"order": {"1": {"status": "shipped", "total": 12345678901234567890.5, "to": {"city": "Rome", "zip": "1"}}, "2": {"status": "shipped"}}},
	"behaviors": {
		"get_order": {"get": "order", "id": "order_id"},
		"refund_order": {"update": "order", "id": "order_id", "copy": ["reason"], "set": {"status": "refunded"}},
		"delete_order": {"remove": "order", "id": "order_id"},
		"add_note": {"add": "note", "copy": ["text"]}
	}
}`

// stepwise makes the calls of the input and gives its last member as the answer: [["get_order", {…}], …, "answer"].
func stepwise(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
	var steps []json.RawMessage
	if err := json.Unmarshal([]byte(run.Instruction), &steps); err != nil {
		return nil, err
	}
	answer := ""
	for _, step := range steps {
		var call []json.RawMessage
		if json.Unmarshal(step, &answer) == nil {
			continue
		}
		var tool string
		if err := errors.Join(json.Unmarshal(step, &call), json.Unmarshal(call[0], &tool)); err != nil {
			return nil, err
		}
		_, _ = run.Proxy.Do(ctx, tool, call[1])
	}
	return &dispatch.Response{FinalResponse: answer}, nil
}

const (
	refund1 = `["refund_order",{"order_id":"1"}]`
	refund2 = `["refund_order",{"order_id":"2"}]`
	note    = `["add_note",{"text":"a"}]`
	delete1 = `["delete_order",{"order_id":"1"}]`
	look1   = `["get_order",{"order_id":"1"}]`
	look9   = `["get_order",{"order_id":"9"}]`
)

// A row fails if the run is not as one of its columns says, and the reason says where.
func TestExpectedColumns(t *testing.T) {
	world, err := proxytest.ParseWorld([]byte(store))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		column, cell string
		run          string // calls and the answer
		want         string // of the reason; "" if the row passes
	}{
		{"says", "Done", `"it is DONE."`, ""},
		{"says", `["done","$79.50"]`, `"done: $79.50"`, ""},
		{"says", `["done","$79.50"]`, `"done"`, `does not say "$79.50": done`},
		{"says", `["done",{"not":["sorry"]}]`, `"done"`, ""},
		{"says", `["done",{"not":["sorry"]}]`, `"done, sorry"`, `as it must not be, "sorry": done, sorry`},
		{"says", `{"exactly":" Yes "}`, `"Yes"`, ""},
		{"says", `{"exactly":"Yes"}`, `"yes"`, "is not \"Yes\""},
		{"says", `{"match":"^ORD-[0-9]+$"}`, `"ORD-17"`, ""},
		{"says", `{"match":"^ORD-[0-9]+$"}`, `"ORD-x"`, "does not match ^ORD"},
		{"says", `{"number":17}`, `"In 2017?"`, "contains no number that differs from 17 by at most 0"},
		{"says", `{"number":17}`, `"There are 17."`, ""},
		{"says", `{"number":79.5,"tolerance":0.01}`, `"$79.51"`, ""},
		{"says", `{"number":79.5,"tolerance":0.01}`, `"$79.52"`, "79.5 by at most 0.01"},
		{"says", `{"number":9007199254740993}`, `"9007199254740992"`, "contains no number"},
		{"says", `{"number":9007199254740993}`, `"9,007,199,254,740,993.0"`, ""},
		{"says", `{"number":-1.5e2}`, `"-150"`, ""},
		{"says", `{"number":0.1,"tolerance":0.2}`, `"0.3"`, ""},
		{"says", `{"json":{"type":"object","required":["id"]}}`, `"{\"id\":1}"`, ""},
		{"says", `{"json":{"type":"object","required":["id"]}}`, `"{}"`, "does not match the schema"},
		{"says", `{"not":"sorry"}`, `"I am Sorry"`, "must not be"},
		{"says", `{"not":" no "}`, `"a note"`, ""}, // the blanks are a part of it
		{"says", `[" no "]`, `"a note"`, `does not say " no "`},
		{"says", `{"match":"no "}`, `"no"`, "does not match no "},
		{"says", `{"not":[{"number":5},"x"]}`, `"5"`, `must not be, {"number":5}`},
		{"says", `{"not":[{"not":["a"]}]}`, `"a"`, ""},
		{"says", `{"not":[{"not":["a"]}]}`, `"b"`, "must not be"},
		{"says", "Caf\u00e9", "\"Cafe\u0301\"", `does not say "Café": Cafe\u0301`},
		{"says", "1\u202f250", `"1 250"`, `does not say "1\u202f250"`},

		{"calls", `[{"tool":"refund_order"}]`, look1 + `,` + refund1 + `,"x"`, ""},
		{"calls", `[{"tool":"refund_order"}]`, look1 + `,"I refunded it."`, "call 1 of the wanted trajectory is missing: refund_order"},
		{"calls", `[{"tool":"refund_order","arguments":{"order_id":"1"}}]`, refund2 + `,"x"`, "is missing"},
		{"calls", `[{"tool":"refund_order","arguments":{"order_id":"1"}},{"tool":"get_order"}]`, look1 + `,` + refund1 + `,"x"`, ""}, // any order
		{"calls", `{"calls":[{"tool":"refund_order"},{"tool":"get_order"}],"mode":"strict"}`, look1 + `,` + refund1 + `,"x"`, "call 1 is get_order"},
		{"calls", `{"calls":[{"tool":"get_order"}],"mode":"unordered"}`, look1 + `,` + look1 + `,"x"`, "call 2 is not wanted"},
		{"calls", `{"calls":[],"mode":"strict"}`, `"x"`, ""},
		{"calls", `{"calls":[],"mode":"strict"}`, look1 + `,"x"`, "call 1 is not wanted"},
		{"calls", `{"calls":[{"tool":"get_order"}],"mode":"subset"}`, `"x"`, ""},
		{"calls", `{"calls":[{"tool":"add_note","arguments":{}}],"ignore":["/text"]}`, note + `,"x"`, ""},
		{"calls", `{"calls":[{"tool":"add_note","arguments":{}}],"ignore":["add_note/text"]}`, note + `,"x"`, ""},
		{"calls", `{"calls":[{"tool":"add_note","arguments":{}}],"partial":true}`, note + `,"x"`, ""},
		{"calls", `{"calls":[{"tool":"add_note","arguments":{}}]}`, note + `,"x"`, "is missing"},
		{"calls", `{"calls":[{"tool":"refund_order","arguments":{}}],"ignore":["/order_id","/note","add_note/tetx"]}`, refund1 + `,"x"`, ""}, // note may be sent
		{"calls", `[{"tool":"refund_order","arguments":{"order_id":"1","note":"a"}}]`, `["refund_order",{"order_id":"1","note":"a"}],"x"`, ""},
		{"calls", `{"calls":[{"tool":"get_order","arguments":{}}],"partial":true}`, look1 + `,"x"`, ""}, // what is required may be absent
		{"calls", `{"calls":[{"tool":"get_order","arguments":{}}],"ignore":["/order_id"]}`, look1 + `,"x"`, ""},
		{"calls", `[{"tool":"get_order"}]`, look9 + `,"x"`, ""},                            // a failure is a result
		{"calls", `[{"tool":"get_order"}]`, `["get_order",{}],"x"`, "is missing"},          // refused: an argument is missing
		{"calls", `[{"tool":"get_order"},{"tool":"get_order"}]`, look1 + `,"x"`, "call 2"}, // each call once

		{"no_calls", "refund_order", `"x"`, ""},
		{"no_calls", "refund_order, delete_order", delete1 + `,"x"`, "the agent called delete_order"},
		{"no_calls", `["refund_order","get_order"]`, `["get_order",{}],"x"`, "the agent called get_order"}, // refused

		{"end_state", `{}`, look1 + `,"x"`, ""},
		{"end_state", `{}`, refund1 + `,"x"`, `/order/1/status is not "shipped"`},
		{"end_state", `{}`, note + `,"x"`, `is not wanted`},
		{"end_state", `{"order":{"1":{"status":"refunded"}}}`, refund1 + `,"x"`, ""},
		{"end_state", `{"order":{"1":{"status":"refunded"}}}`, `"I refunded it."`, `/order/1/status is not "refunded"`},
		{"end_state", `{"order":{"1":{"status":"refunded"}}}`, refund1 + `,` + refund2 + `,"x"`, `/order/2/status is not "shipped"`},
		{"end_state", `{"order":{"1":{"status":"refunded"}}}`, refund1 + `,` + note + `,"x"`, `/note/`},
		{"end_state", `{"order":{"1":{"status":"refunded"}}}`, `["refund_order",{"order_id":"1","reason":"old"}],"x"`, ""}, // other fields are free
		{"end_state", `{"order":{"1":{"status":"refunded","reason":null}}}`, refund1 + `,"x"`, ""},
		{"end_state", `{"order":{"1":{"status":"refunded","reason":null}}}`, `["refund_order",{"order_id":"1","reason":"old"}],"x"`, "/order/1/reason is not null"},
		{"end_state", `{"order":{"1":{"total":12345678901234567890.50,"to":{"city":"Rome"}}}}`, `"x"`, ""},
		{"end_state", `{"order":{"1":{"total":12345678901234567890}}}`, `"x"`, "/order/1/total is not 12345678901234567890"},
		{"end_state", `{"order":{"1":{"to":{"city":"Oslo"}}}}`, `"x"`, `expected: /order/1/to/city is not "Oslo"`},
		{"end_state", `{"order":{"1":null}}`, delete1 + `,"x"`, ""},
		{"end_state", `{"order":{"1":null}}`, `"x"`, "/order/1 is not wanted"},
		{"end_state", `{"order":{"9":{}}}`, `"x"`, "/order/9 is missing"},
		{"end_state", `{"note":{"*":{"text":"a"}}}`, note + `,"x"`, ""},
		{"end_state", `{"note":{"*":{}}}`, note + `,"x"`, ""},
		{"end_state", `{"note":{"*":{"text":"b"}}}`, note + `,"x"`, `/text is not "b"`},
		{"end_state", `{"note":{"*":{"text":"b"}}}`, `"x"`, "/note/* is missing"},
		{"end_state", `{"note":{"*":{"text":"b"}}}`, note + `,["add_note",{"text":"b"}],"x"`, "is not wanted"}, // one, not two
		{"end_state", `{"order":{"1":{"status":"refunded"}},"note":{"*":{"text":"a"}}}`, refund1 + `,` + note + `,"x"`, ""},
		{"end_state", `{"order":{"1":{"order_id":"1","status":"refunded"}}}`, refund1 + `,"x"`, ""}, // the ledger has the id as a key
		{"end_state", `{"order":{"1":{"order_id":"2"}}}`, `"x"`, `/order/1/order_id is not "2"`},
		{"end_state", `{"order":{"1":{"note_id":"1"}}}`, `"x"`, "/order/1/note_id is missing"},
		{"end_state", `{"order":{"9":{"order_id":"9"}}}`, `"x"`, "/order/9 is missing"},
		{"end_state", `{"note":{"*":{"note_id":"note_1","text":"a"}}}`, note + `,"x"`, ""},
		{"end_state", `{"note":{"*":{"note_id":"note_2"}}}`, note + `,["add_note",{"text":"b"}],"x"`, "/note/note_1 is not wanted"},
		{"end_state", `{"note":{"*":{"note_id":"note_9"}}}`, note + `,"x"`, `/note/note_1/note_id is not "note_9"`},
		{"end_state", `{"flags":["vip"]}`, `"x"`, "the flag vip is missing"},
		{"end_state", `{"flags":[]}`, `"x"`, ""},
		{"end_state", `[{"tool":"refund_order","arguments":{"order_id":"1"}}]`, refund1 + `,"x"`, ""},
		{"end_state", `[{"tool":"refund_order","arguments":{"order_id":"1"}}]`, `"x"`, `after the reference: /order/1/status is not "refunded"`},
		{"end_state", `[]`, refund1 + `,"x"`, "after the reference"},
	} {
		task := "[" + tt.run + "]"
		user, err := json.Marshal(task)
		if err != nil {
			t.Fatal(err)
		}
		value := tt.cell
		if value[0] != '{' && value[0] != '[' {
			text, err := json.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			value = string(text)
		}
		quoted := func(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }
		for _, file := range []string{ // the same as CSV and as JSON Lines
			"user," + tt.column + "\n" + quoted(task) + "," + quoted(tt.cell) + "\n",
			`{"user":` + string(user) + `,"` + tt.column + `":` + value + "}\n",
		} {
			set := readDataset(t, file)
			cases, err := set.Cases(dispatchtest.Task{World: world}, nil)
			if err != nil {
				t.Fatal(err)
			}
			plain := slices.Clone(cases)
			if rows, err := set.Expect(cases); err != nil || rows != 1 {
				t.Errorf("%s: %d rows, %v", file, rows, err)
				continue
			}
			results := filepath.Join(t.TempDir(), "results.jsonl")
			e := run(t, stepwise, cases, &eval.Options{ResultsFile: results})
			got := e.Trials[0]
			if tt.want == "" && got.Verdict != eval.Passed || tt.want != "" && (got.Cause != "grader" || !strings.Contains(got.Reason, tt.want)) {
				t.Errorf("%s%s %s: %s\nwant %q", file, got.Verdict, got.Cause, got.Reason, tt.want)
			}
			// A grader from a row decides in the same way, and so does the one about the stored result.
			if as := run(t, stepwise, plain, &eval.Options{Grader: eval.Expectations}).Trials[0]; as.Verdict != got.Verdict || as.Reason != got.Reason {
				t.Errorf("%sExpectations: %s: %s", file, as.Verdict, as.Reason)
			}
			again, err := eval.Grade(t.Context(), cases, &eval.Options{}, results)
			if err != nil || again.Trials[0].Verdict != got.Verdict || again.Trials[0].Reason != got.Reason {
				t.Errorf("%sgraded again: %v %+v", file, err, again)
			}
		}
	}
}

// A cell that is not valid, or that expects nothing or what cannot be, is a problem of its row and column.
func TestExpectedCellsThatAreNotValid(t *testing.T) {
	world, err := proxytest.ParseWorld([]byte(store))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ column, value, want string }{
		{"says", `"[b]"`, `the cell is not valid JSON at character 2, in "/0": invalid character 'b' where a value should begin: a text that begins with [ is written in a list, as in ["[…"]`},
		{"says", `"{"`, "the cell is not valid JSON at character 2: "},
		{"says", `{"exactly":"a","exactly":"b"}`, ""}, // the line is not valid
		{"says", `80.0`, `80.0 is a number: write "80.0" for the text, or {"number": 80.0}`},
		{"says", `false`, "the value is a boolean, and this column has a text, a list or an object"},
		{"says", `[]`, "the list is empty, so it expects nothing"},
		{"says", `{}`, "an object has one of exactly, match, number, json and not, and this one has 0"},
		{"says", `{"exactly":"a","not":["b"]}`, "and this one has 2: put several objects into a list"},
		{"says", `["a",7]`, `7 is a number: write "7" for the text, or {"number": 7}`},
		{"says", `["a",null]`, `"null" is null and not a text or an object`},
		{"says", `["a",["b"]]`, `is an array and not a text or an object`},
		{"says", `["a"," "]`, "is not a text that a response contains"},
		{"says", `{"exactly":""}`, "is not a text that a response contains"},
		{"says", `{"exactly":7}`, "is not a text that a response contains"},
		{"says", `{"number":"7"}`, "number is a string and not a number"},
		{"says", `{"number":null}`, "number is null and not a number"},
		{"says", `{"number":1e999999999}`, "number: "},
		{"says", `{"number":7,"tolerance":-1}`, "tolerance is less than 0"},
		{"says", `{"tolerance":1}`, "this one has 0"},
		{"says", `{"exactly":"a","tolerance":1}`, "tolerance belongs to number"},
		{"says", `{"json":{"status":"refunded"}}`, "json: "},
		{"says", `{"json":{"type":"objekt"}}`, "json: "},
		{"says", `{"match":"("}`, "match: error parsing regexp"},
		{"says", `{"not":[]}`, "the list is empty"},
		{"says", `{"not":[["a"]]}`, "is an array and not a text"},
		{"says", `{"contains":"a"}`, "contains is not a member; the members are exactly, json, match, not, number, tolerance"},
		{"calls", `"refund_order"`, `"refund_order" is not a list of calls, such as`},
		{"calls", `"null"`, `"null" is not a list of calls`},
		{"calls", `7`, "the value is a number, and this column has"},
		{"calls", `[]`, "the list of calls is empty, so it expects nothing"},
		{"calls", `["refund_order"]`, `call 1 of the trajectory: the member tool is missing; a call is {"tool": "…", "arguments": {…}}`},
		{"calls", `[{"name":"refund_order"}]`, `call 1 of the trajectory: the member "name" is not known`},
		{"calls", `[{"tool":"refund_order","arguments":[]}]`, `the member "arguments" is not known, or has another type`},
		{"calls", `[{"tool":"refund_ordre"}]`, "refund_ordre is not declared; did you mean refund_order?"},
		{"calls", `[{"tool":"run_python"}]`, "run_python executes where the agent runs, so its calls are not seen here"},
		{"calls", `{"mode":"strict"}`, "calls is missing"},
		{"calls", `{"calls":null}`, "a trajectory is a list of calls"},
		{"calls", `{"calls":[{"tool":"get_order"}],"mode":"any"}`, `the mode "any" is not strict, unordered, subset or superset`},
		{"calls", `{"calls":[{"tool":"get_order"}],"mode":""}`, `the mode "" is not strict`},
		{"calls", `{"calls":[{"tool":"get_order"}],"ignore":"/a"}`, "/ignore must be a list of strings"},
		{"calls", `{"calls":[{"tool":"get_order"}],"ignore":["note"]}`, `"note" in ignore is not the place of an argument: write "/note", or "tool/note" for one tool`},
		{"calls", `{"calls":[{"tool":"get_order"}],"ignore":["get_ordre/a"]}`, "get_ordre is not declared"},
		{"calls", `[{"tool":"get_order"},{"tool":"get_order","arguments":{"id":"1"}}]`, "call 2, get_order, is one that the tool refuses: is missing the required property \"order_id\""},
		{"calls", `[{"tool":"get_order","arguments":{"order_id":1}}]`, "call 1, get_order, is one that the tool refuses: /order_id must be a string"},
		{"calls", `[{"tool":"refund_order","arguments":{"order_id":"1","raeson":"x"}}]`, "call 1, refund_order: the argument raeson is not declared; did you mean reason?"},
		{"calls", `{"calls":[{"tool":"refund_order","arguments":{"order-id":"1"}}],"partial":true}`, "call 1, refund_order: the argument order-id is not declared; did you mean order_id?"},
		{"calls", `{"calls":[{"tool":"refund_order","arguments":{"orderId":"1"}}],"ignore":["/reason"]}`, "the argument orderId is not declared; did you mean order_id?"},
		{"calls", `{"calls":[{"tool":"refund_order"}],"ignore":["refund_order/reasn/0"]}`, "ignore: the argument reasn is not declared; did you mean reason?"},
		{"calls", `{"calls":[{"tool":"refund_order"},{"tool":"get_order"}],"ignore":["/resaon"]}`, "ignore: the argument resaon is not declared; did you mean reason?"},
		{"calls", `{"call":[{"tool":"get_order"}]}`, "call is not a member; did you mean calls?"},
		{"no_calls", `"refund"`, "refund is not declared; declared: "},
		{"no_calls", `["refund_order",7]`, `the cell is not a list of names of tools, such as ["refund_order"]`},
		{"no_calls", `["refund_order",null]`, "is not a list of names"},
		{"no_calls", `[]`, "is not a list of names"},
		{"no_calls", `" , "`, "is not a list of names"},
		{"no_calls", `[" "]`, "is not a list of names"},
		{"no_calls", `{"tool":"refund_order"}`, "is not a list of names"},
		{"no_calls", `"run_python"`, "executes where the agent runs"},
		{"no_calls", `true`, "the value is a boolean"},
		{"end_state", `"refunded"`, `"refunded" is not a list of calls, or an object such as {"order"`},
		{"end_state", `{"ordr":{"1":{}}}`, "/ordr"},
		{"end_state", `{"ordr":{"1":null}}`, "/ordr"},
		{"end_state", `{"ordr":{}}`, "/ordr"},
		{"end_state", `{"order":{"1":{"status":"refundd"}}}`, "/order/1/status"},
		{"end_state", `{"order":{"*":{"total":"1"}}}`, "/order/*/total"},
		{"end_state", `{"order":{"1":7}}`, "/order/1"},
		{"end_state", `{"order":null}`, `/order must be an object such as {"4521":{"status":"refunded"}}, not null`},
		{"end_state", `{"order":[]}`, "/order must be an object"},
		{"end_state", `{"order":{"9":null}}`, "/order/9 is null, which means removed, and the ledger does not have it at the start"},
		{"end_state", `{"order":{"*":null}}`, "/order/*: * stands for a new entity, which cannot be removed"},
		{"end_state", `{"flags":["vipp"]}`, "/flags: vipp is not declared; did you mean vip?"},
		{"end_state", `{"flags":[7]}`, "/flags: a flag is a text that is not empty"},
		{"end_state", `[{"tool":"refund_order","arguments":{"order_id":"9"}}]`, `the tool fails, and nothing would be expected of it: call 1, refund_order: {"error":"order not found"}`},
		{"end_state", `[{"tool":"get_order","arguments":{}}]`, "call 1, get_order: "},
		{"end_state", `[{"tool":"nope"}]`, "nope is not declared"},
		{"end_state", `[` + strings.Repeat(`{"tool":"refund_order","arguments":{"order_id":"1"}},`, 60) + `{"tool":"add_note"}]`, "it has 61 calls, and a run makes at most 60 in a minute"},
	} {
		file := `{"user":"a","` + tt.column + `":` + tt.value + "}\n"
		set, err := eval.Read(strings.NewReader(file))
		if tt.want == "" {
			if toolwire.CodeOf(err) != "invalid_dataset" {
				t.Errorf("%s: %v", file, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		cases, err := set.Cases(dispatchtest.Task{World: world}, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = set.Expect(cases)
		bad, _ := errors.AsType[*eval.Error](err)
		if bad == nil || len(bad.Problems) != 1 || bad.Problems[0].Row != 1 || bad.Problems[0].Column != tt.column || bad.Problems[0].Code != "invalid_cell" ||
			!strings.Contains(bad.Problems[0].Message, tt.want) {
			t.Errorf("%s%v\nwant %s", file, err, tt.want)
		}
		if _, err := set.Expect(cases, tt.column); err != nil {
			t.Errorf("%s: it is not ignored: %v", file, err)
		}
		again, err := set.Cases(dispatchtest.Task{World: world}, nil)
		if err != nil {
			t.Fatal(err)
		}
		say := func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
			return &dispatch.Response{FinalResponse: "a"}, nil
		}
		if got := run(t, say, again, &eval.Options{Grader: eval.Expectations}).Trials[0]; got.Cause != "not_graded" || !strings.Contains(got.Reason, tt.want) {
			t.Errorf("%s%s: %s", file, got.Cause, got.Reason)
		}
	}
}

// A name that is nearly one of the arguments is a mistake only if the schema names no others elsewhere.
func TestNearlyDeclaredArguments(t *testing.T) {
	for schema, bad := range map[string]bool{
		`{"properties":{"address1":{}}}`:                                                         true,
		`{"properties":{"address1":{}},"additionalProperties":false}`:                            true,
		`{"properties":{"address1":{}},"additionalProperties":true}`:                             true,
		`{"properties":{"address1":{},"address2":{}}}`:                                           false,
		`{"properties":{"address1":{}},"additionalProperties":{"type":"string"}}`:                false,
		`{"properties":{"address1":{}},"patternProperties":{"^a":{}}}`:                           false,
		`{"properties":{"address1":{}},"allOf":[{"properties":{"address2":{}}}]}`:                false,
		`{"properties":{"address1":{}},"anyOf":[{"properties":{"address2":{}}}]}`:                false,
		`{"properties":{"address1":{}},"$ref":"#/$defs/a","$defs":{"a":{"type":"object"}}}`:      false,
		`{"properties":{"address1":{}},"if":{},"then":{"properties":{"address2":{}}}}`:           false,
		`{"properties":{"address1":{}},"dependentSchemas":{"a":{"properties":{"address2":{}}}}}`: false,
		`{"type":"object"}`: false,
	} {
		world, err := proxytest.ParseWorld([]byte(`{"tools_schema":[{"name":"a","input_schema":` + schema + `}]}`))
		if err != nil {
			t.Fatal(err)
		}
		set := readDataset(t, `{"user":"a","calls":[{"tool":"a","arguments":{"address2":"x"}}]}`)
		cases, err := set.Cases(dispatchtest.Task{World: world}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := set.Expect(cases); (err != nil) != bad {
			t.Errorf("%s: %v", schema, err)
		}
	}
}

// Without tools no call has a result.
func TestExpectedCallsWithoutTools(t *testing.T) {
	for _, tt := range []struct {
		row string
		bad bool
	}{
		{`"calls":[{"tool":"refund_order"}]`, true}, {`"end_state":[{"tool":"refund_order"}]`, true},
		{`"end_state":[]`, false}, {`"end_state":{}`, false}, {`"calls":{"calls":[],"mode":"strict"}`, false}, {`"no_calls":"refund_order"`, false},
	} {
		set := readDataset(t, `{"user":"a",`+tt.row+`}`)
		cases, err := set.Cases(dispatchtest.Task{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := set.Expect(cases); tt.bad != (toolwire.CodeOf(err) == "invalid_world") || !tt.bad && err != nil {
			t.Errorf("%s: %v", tt.row, err)
		}
	}
}
