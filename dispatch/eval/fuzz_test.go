package eval_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/dispatch/eval"
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
	f.Fuzz(func(t *testing.T, data []byte) {
		set, err := eval.ReadWithin(bytes.NewReader(data), eval.Limits{Problems: 5, Rows: 50, Cell: 1000})
		if err != nil {
			bad, ok := errors.AsType[*eval.Error](err)
			if !ok || set != nil || len(bad.Problems) == 0 || len(bad.Problems) > 5 || bad.Code != codes[bad.Problems[0].Code] {
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
		reader := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(data, []byte("\uFEFF"))))
		records, err := reader.ReadAll()
		if err != nil || len(records) != len(set.Rows)+1 || !slices.Equal(records[0], set.Columns) {
			t.Fatalf("encoding/csv reads %q, error %v", records, err)
		}
		last := 1
		for i, row := range set.Rows {
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
