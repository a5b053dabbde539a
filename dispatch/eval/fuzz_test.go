package eval_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/eval"
	"github.com/toolwire/toolwire/internal/cost"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// Whatever the file is, there is either a dataset that keeps its promises and agrees with
// encoding/csv, or a typed error in order and within its bound.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"", "\uFEFFuser\r\na\r\n", "user;state\n", "\xFF\xFEu\x00", "user,state,failure_rules\na,{},[]\n\nb,\"{\"\"x\"\":1}\",[{}]\n",
		"user_instruction,stat\na,{\n", "user,user,,\n\"a\nb\",c,d,e\n\"", "user\na\"b\n", "user\n\"a\"b\n",
		"user,turn_mode,simulator_mode,scripted_user_turns,max_turns\na,model_as_user,scripted,\"[\"\"b\"\"]\",3\nc,model_as_user,,,\n",
	} {
		f.Add([]byte(seed))
	}
	f.Add([]byte("{\"user\":\"a\",\"state\":{}}\n\n{\"id\":1,\"user\":\"b\"}\n"))
	f.Add([]byte("{\"user\":\"a\"}\n{\"usr\":\"b\",\"x\":[}\n{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		cost.Linear(t, "Read", data, cost.Lines("user,state,failure_rules", data), func(doc []byte) {
			if _, err := eval.Read(bytes.NewReader(doc)); err != nil {
				_ = err.Error()
			}
		})
		set, err := eval.ReadWithin(bytes.NewReader(data), eval.Limits{Rows: 50, Cell: 1000})
		if err != nil {
			bad, ok := errors.AsType[*eval.Error](err)
			if !ok || set != nil || len(bad.Problems) == 0 || len(bad.Problems) > 100 || bad.Code != codes[bad.Problems[0].Code] {
				t.Fatalf("%v and the error %#v", set, err)
			}
			rows := bad.Problems
			if rows[len(rows)-1].Row == 0 {
				rows = rows[:len(rows)-1]
			}
			if !slices.IsSortedFunc(rows, func(a, b eval.Problem) int { return a.Row - b.Row }) {
				t.Fatalf("not in order: %v", err)
			}
			return
		}
		if bytes.HasPrefix(bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\uFEFF"))), []byte("{")) {
			checkLines(t, data, set)
			return
		}
		reader := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(data, []byte("\uFEFF"))))
		records, err := reader.ReadAll()
		if err != nil || len(records) != set.Rows+1 || !slices.Equal(records[0], set.Columns) {
			t.Fatalf("encoding/csv reads %q, error %v", records, err)
		}
		last := 1
		for i, row := range set.RowsRead() {
			user := records[i+1][slices.Index(set.Columns, "user")]
			if row.User != user && strings.TrimSpace(user) != "" || row.User == "" && row.Skip == "" && !slices.Contains(set.Columns, "scenario_ref") &&
				!slices.Contains(set.Columns, "workspace_seed") && !slices.Contains(set.Columns, "setup_command") {
				t.Errorf("row %d has the user %q, the file has %q", row.Number, row.User, user)
			}
			if row.Number <= last || row.Line < row.Number || row.State != nil && !json.Valid(row.State) || row.Input != nil && !json.Valid(row.Input) {
				t.Errorf("%+v after row %d", row, last)
			}
			last = row.Number
		}
	})
}

// checkLines checks a dataset that was read from JSON Lines against encoding/json.
func checkLines(t *testing.T, data []byte, set *eval.Dataset) {
	row := 0
	for i, line := range bytes.Split(bytes.TrimPrefix(data, []byte("\uFEFF")), []byte("\n")) {
		if line = bytes.TrimPrefix(line, []byte("\uFEFF")); len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var cells map[string]any
		if err := json.Unmarshal(line, &cells); err != nil || row == set.Rows {
			t.Fatalf("line %d: %v", i+1, err)
		}
		got := set.RowsRead()[row]
		if text, is := cells["user"].(string); is && strings.TrimSpace(text) != "" && got.User != text || got.Number != i+1 || got.Line != i+1 {
			t.Errorf("line %d: %+v", i+1, got)
		}
		row++
	}
	if row != set.Rows {
		t.Errorf("%d rows, want %d", set.Rows, row)
	}
}

// What a row expects is read or refused, and grades any run.
func FuzzExpect(f *testing.F) {
	world, err := proxytest.ParseWorld([]byte(store))
	if err != nil {
		f.Fatal(err)
	}
	columns := []string{"says", "calls", "no_calls", "end_state"}
	for i, cell := range []string{
		`["a",{"not":[{"number":1e3,"tolerance":0.5},{"match":"a+"},{"json":{"type":"object"}}]}]`,
		`{"calls":[{"tool":"get_order","arguments":{"order_id":"1"}}],"mode":"strict","partial":true,"ignore":["/a","get_order/b"]}`,
		`["get_order"]`, `{"order":{"1":{"status":"refunded","to":{"city":null}},"2":null,"*":{}},"flags":["vip"]}`,
		`[{"tool":"add_note","arguments":{"text":"a"}}]`,
	} {
		f.Add(uint8(min(i, 3)), cell)
	}
	f.Fuzz(func(t *testing.T, column uint8, cell string) {
		text := "user," + columns[column%4] + "\na,\"" + strings.ReplaceAll(cell, `"`, `""`) + "\"\n"
		set, err := eval.Read(strings.NewReader(text))
		if err != nil {
			return
		}
		cases, err := set.Cases(dispatchtest.Task{World: world}, nil)
		if err != nil {
			return
		}
		rows, err := set.Expect(cases)
		if bad, ok := errors.AsType[*eval.Error](err); err != nil && (!ok || bad.Problems[0].Row != 2 || bad.Problems[0].Column != columns[column%4]) {
			t.Fatalf("%q: %v", cell, err)
		}
		if err != nil || rows == 0 {
			return
		}
		c := cases[0]
		run := c.Task.Platform.NewRun()
		log := run.Log()
		got := eval.Expectations(t.Context(), c, &dispatchtest.Result{FinalResponse: "a 1000 {}", Log: *log})
		if errors.Is(got, eval.ErrNotGraded) {
			t.Fatalf("%q: %v", cell, got)
		}
	})
}

// FuzzLoad checks that a file of results is read or rejected with a typed error, and that the cost
// is linear in its lines.
func FuzzLoad(f *testing.F) {
	dir := f.TempDir()
	file := filepath.Join(dir, "results.jsonl")
	cases := []eval.Case{{Name: "a", Task: dispatchtest.Task{Instruction: "a"}}, {Name: "b", Task: dispatchtest.Task{Instruction: "b"}}}
	agent := func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
		return &dispatch.Response{FinalResponse: "done"}, nil
	}
	if _, err := eval.Run(f.Context(), dispatchtest.Target{Agent: agent}, cases, &eval.Options{ResultsFile: file}); err != nil {
		f.Fatal(err)
	}
	whole, err := os.ReadFile(file)
	if err != nil {
		f.Fatal(err)
	}
	head, rest, _ := strings.Cut(string(whole), "\n")
	f.Add(whole)
	f.Add([]byte(rest))
	f.Add([]byte(head))
	f.Add([]byte(`{"id":"a"}`))
	load := func(t *testing.T, doc []byte) {
		if err := os.WriteFile(file, doc, 0o600); err != nil {
			t.Fatal(err)
		}
		if e, err := eval.Load(file); err != nil {
			if bad, ok := errors.AsType[*eval.Error](err); !ok || e != nil || bad.Error() == "" {
				t.Fatalf("%v and the error %#v", e, err)
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		load(t, data)
		cost.Linear(t, "Load", data, cost.Lines(head, data), func(doc []byte) { load(t, doc) })
	})
}

// FuzzParsePrices: a file of prices is read in linear time.
func FuzzParsePrices(f *testing.F) {
	f.Add([]byte(`{"m":{"input":1,"output":2.5}}`))
	f.Add([]byte(`{"m":{"input":1,"INPUT":2},"":null,"n":{"output":-1}}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		_, _ = eval.ParsePrices(doc)
		cost.Linear(t, "prices", doc, cost.Members("", doc, ""), func(doc []byte) { _, _ = eval.ParsePrices(doc) })
	})
}
