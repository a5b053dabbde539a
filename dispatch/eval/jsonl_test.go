package eval_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/eval"
	"github.com/toolwire/toolwire/internal/rawjson"
)

// JSON Lines and CSV with the same cells are the same dataset: results of one go on with the other.
func TestReadJSONLines(t *testing.T) {
	const csv = "user,id,state,max_turns,turn_mode,scripted_user_turns,simulator_mode,note\n" +
		"Refund it.,a,\"{\"\"order\"\":{\"\"1\"\":{\"\"total\"\":1.50}}}\",,,,,\n" +
		"\"Talk,\nplease.\",b,,2,model_as_user,\"[\"\"more\"\"]\",scripted,true\n"
	const lines = "\uFEFF" + `{"user":"Refund it.","id":"a","state":{"order":{"1":{"total":1.50}}},"note":null}` + "\r\n\r\n" +
		"\uFEFF" + `{"id":"b","user":"Talk,\nplease.","note":true,"max_turns":2,"turn_mode":"model_as_user","scripted_user_turns":["more"],"simulator_mode":"scripted"}`
	want, got := readDataset(t, csv), readDataset(t, lines)
	if !slices.Equal(got.Columns, []string{"user", "id", "state", "note", "max_turns", "turn_mode", "scripted_user_turns", "simulator_mode"}) ||
		got.Rows != 2 || got.RowsRead()[0].Number != 1 || got.RowsRead()[1].Number != 3 || got.RowsRead()[1].Line != 3 {
		t.Fatalf("%q, %+v", got.Columns, got.Rows)
	}
	var prints []string
	for _, d := range []*eval.Dataset{want, got} {
		cases, err := d.Cases(dispatchtest.Task{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		prints = append(prints, run(t, obedient, cases, nil).Fingerprint().Dataset)
	}
	if prints[0] != prints[1] {
		for i := range got.RowsRead() {
			a, _ := rawjson.Encode(want.RowsRead()[i])
			b, _ := rawjson.Encode(got.RowsRead()[i])
			t.Errorf("%s\n%s", a, b)
		}
	}
}

// The mistakes of CSV have the same texts in JSON Lines. A line that is not valid does not hide others.
func TestBadJSONLines(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		code       string
		want       []string // beginnings of the problems
	}{
		{"an array", "[\n{\"user\":\"a\"}]", "unreadable", []string{"the file is a JSON array: write JSON Lines, one object per line, or CSV"}},
		{"TOML", "# rows\n[[rows]]\nuser = \"a\"\n", "unreadable", []string{"the file seems to be TOML: write JSON Lines, one object per line, or CSV"}},
		{"TOML", "[rows.one] # the first\nuser = \"a\"\n", "unreadable", []string{"the file seems to be TOML: "}},
		{"Python", "[{'user': 'a'}, {'user': 'b'}]\n", "unreadable", []string{"the file seems to be in another language than JSON, such as Python: write JSON Lines, one object per line, or CSV"}},
		{"Python", "['user', 'says']\n", "unreadable", []string{"the file seems to be in another language than JSON, such as Python: "}},
		{"Python", "[\n  {'user': None},\n]\n", "unreadable", []string{"the file seems to be in another language than JSON, such as Python: "}},
		{"an array with a fault", "[\n{\"user\":\"a\",}]", "unreadable", []string{"the file is a JSON array: "}},
		{"an object in several lines", "{\n\"user\":\"a\"\n}\n", "unreadable", []string{"an object takes several lines: write JSON Lines, each object on one line, or CSV"}},
		{"no user", `{"id":"a"}`, "invalid_header", []string{"the member user is missing in all lines"}},
		{"empty object", "{\"user\":\"a\"}\n{}\n", "invalid_row", []string{"row 2: the row is empty: delete it"}},
		{"of GAIA", `{"task_id":"1","Question":"a?","Level":1,"Final answer":"17","file_name":""}`, "invalid_header", []string{
			"the member user is missing in all lines; it is what the user asks for. The members are task_id (would be id), Question (would be user), Level, Final answer (would be says), file_name"}},
		{"of tau2", "[\n{\"id\":\"7\",\"user_scenario\":{},\n\"evaluation_criteria\":{}}]", "unreadable", []string{
			"the file is a JSON array: write JSON Lines, one object per line, or CSV; jq -c '.[]' does it. The members are id, user_scenario (would be user), evaluation_criteria (would be calls and says)"}},
		{"of Inspect", `{"input":"a","target":"b","metadata":{}}`, "invalid_header", []string{
			"the member user is missing in all lines; it is what the user asks for. The members are input (would be user), target (would be says), metadata"}},
		{"of BFCL", `{"id":"1","question":[[{"role":"user","content":"a"}]],"function":[],"ground_truth":[]}`, "invalid_header", []string{
			"the member user is missing in all lines; it is what the user asks for. The members are id, question (would be user), function (would be the world's tools_schema), ground_truth (would be says or calls)"}},
		{"of ADK and deepeval", `{"query":"a","expected_tool_use":[],"tools_called":[],"Expected Response":"b","expected_outcome":"completion"}`, "invalid_header", []string{
			"the member user is missing in all lines; it is what the user asks for. The members are query (would be user), expected_tool_use (would be calls), tools_called, Expected Response (would be says), expected_outcome"}},
		{"other values than texts", "{\"user\":[{\"role\":\"user\"}]}\n{\"user\":{}}\n{\"user\":7}\n{\"user\":true,\"behavior\":[],\"termination_keyword\":1}\n{\"user\":null}\n", "invalid_cell", []string{
			"row 1, column user: the value is an array and not a text", "row 2, column user: the value is an object and not a text", "row 3, column user: the value is a number and not a text",
			"row 4, column user: the value is a boolean", "row 4, column behavior: the value is an array", "row 4, column termination_keyword: the value is a number", "row 5: the row is empty: delete it"}},
		{"comments", "// smoke\n# more\n{\"user\":\"a\"}\n", "invalid_row", []string{
			"row 1: the line is not valid JSON at character 1: invalid character '/' where a value should begin: JSON has no comments: remove the line", "row 2: the line is not valid JSON"}},
		{"no lines of rows", "{}", "invalid_header", []string{"the member user is missing", "row 1: the row is empty"}},
		{"not JSON", "{\"user\":\"a\"}\n{\"user\":'b'}\nuser\n[1]\n{\"user\":\"c\",\"user\":\"d\"}\n{\"user\":1} x\n", "invalid_row", []string{
			`row 2: the line is not valid JSON at character 9, in "/user": `, "row 3: the line is not valid JSON at character 1: ",
			"row 4: the line is JSON, but an array and not an object", `row 5: the line is not valid JSON at character `, "row 6: the line is not valid JSON at character 12"}},
		{"only broken lines", "{\"user\n{'user':1}\n", "invalid_row", []string{"row 1: the line is not valid JSON", "row 2: the line is not valid JSON"}},
		{"misspelt later", "{\"user\":\"a\",\"max_turns\":0}\n{\"user\":\"b\",\"stat\":{}}\n{\"user\":\"c\",\"user_instruction\":1}", "invalid_cell", []string{
			"row 1, column max_turns: ", "row 2, column stat: did you mean state? ", "row 3, column user_instruction: did you mean user? "}},
		{"cells", "{\"user\":\"\",\"state\":[],\"max_turns\":51,\"expected_outcome\":\"refused\"}\n{\"user\":\"b\",\"state\":{\"order\":1}}\n", "invalid_cell", []string{
			"row 1, column user: the cell is empty", "row 1, column state: the cell is JSON, but an array and not an object",
			"row 1, column max_turns: \"51\" is not a number from 1 to 50", "row 1, column expected_outcome: \"refused\" is not completion or refusal",
			"row 2, column state: /order"}},
		{"UTF-32", "\xFF\xFE\x00\x00u\x00\x00\x00", "unreadable", []string{"the file is in UTF-32: save it as CSV in UTF-8"}},
		{"a late NUL", "user\n" + strings.Repeat("a", 2000) + "\x00\n", "unreadable", []string{"the file has NUL characters"}},
		{"for a spreadsheet", "sep=,\r\nuser\r\na\r\n", "unreadable", []string{`the first line is for a spreadsheet and not the header: remove "sep=,"`}},
	} {
		_, err := eval.Read(strings.NewReader(tt.text))
		bad, _ := err.(*eval.Error)
		if bad == nil || len(bad.Problems) != len(tt.want) || bad.Problems[0].Code != tt.code {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		for i, p := range bad.Problems {
			if !strings.HasPrefix(p.String(), tt.want[i]) {
				t.Errorf("%s: %s, want %s", tt.name, p, tt.want[i])
			}
		}
	}
	lines := strings.Repeat("{\"user\":\"a\",\"b\":1}\n", 4)
	for want, limits := range map[string]eval.Limits{
		"the file has more than 3 rows": {Rows: 3}, "the file has more than 7 cells": {Cells: 7}, "the lines have more than 1 different members": {Columns: 1},
	} {
		if _, err := eval.ReadWithin(strings.NewReader(lines), limits); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
