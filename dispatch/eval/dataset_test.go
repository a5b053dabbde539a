package eval_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/eval"
)

func readDataset(t testing.TB, text string) *eval.Dataset {
	t.Helper()
	set, err := eval.Read(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestRead(t *testing.T) {
	set := readDataset(t, "\uFEFFuser,behavior,state,failure_rules,expected_outcome,current_state,note,\r\n"+
		`"Refund ""#4521"", please",only once,"{""order"":{""4521"":{""status"":""shipped""}}}",`+
		`"[{""tool"":""get_order"",""nth"":1,""status"":503}]",refusal,"{""customer_id"":""c""}",hello,`+"\r\n"+
		"\r\n"+
		"\"two\r\nlines\",,,,,,,\n"+
		"three,,,,completion,,,\n")
	if len(set.Columns) != 8 || set.Rows != 3 {
		t.Fatalf("%d columns, %d rows", len(set.Columns), set.Rows)
	}
	row := set.RowsRead()[0]
	if row.Number != 2 || row.Line != 2 || row.User != `Refund "#4521", please` || row.Behavior != "only once" ||
		string(row.State) != `{"order":{"4521":{"status":"shipped"}}}` || len(row.FailureRules) != 1 || row.FailureRules[0].Status != 503 ||
		row.ExpectedOutcome != "refusal" || string(row.Input) != `{"customer_id":"c"}` ||
		len(row.Extra) != 1 || row.Extra["note"] != "hello" || row.Skip != "" || row.Conversation != nil {
		t.Errorf("%+v", row)
	}
	row = set.RowsRead()[1]
	if row.Number != 4 || row.Line != 4 || row.User != "two\nlines" || row.State != nil || row.FailureRules != nil || row.Input != nil ||
		row.ExpectedOutcome != "completion" || row.Extra != nil {
		t.Errorf("%+v", row)
	}
	if row = set.RowsRead()[2]; row.Number != 5 || row.Line != 6 || row.ExpectedOutcome != "completion" {
		t.Errorf("%+v", row)
	}
}

// Other names are kept, including names that are a little like known ones.
func TestOtherColumns(t *testing.T) {
	set := readDataset(t, "user,stage,used,status,behaviors_seen,scenario,max,id\na,b,c,d,e,f,g,h\n")
	if got, want := fmt.Sprint(set.RowsRead()[0].Extra), "map[behaviors_seen:e id:h max:g scenario:f stage:b status:d used:c]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestDatasetSessions(t *testing.T) {
	set := readDataset(t, "user,turn_mode,max_turns,memory_mode,simulator_mode,user_simulator_persona,scripted_user_turns,tracked_constraints,termination_keyword\n"+
		"a,,,,,,,,\n"+
		"b,single_shot,3,,scripted,,,,\n"+
		`c,model_as_user,3,stateful,scripted,,"[""d"",""e""]","[""f""]",bye`+"\n"+
		"g,model_as_user,,,,a tired clerk,,,\n"+
		"h,model_as_user,,replay,persona,a tired clerk,\"[\"\"unused\"\"]\",,\n"+
		"i,model_as_user,,,scripted,,,,\n")
	for i, row := range set.RowsRead() {
		switch i {
		case 0, 1:
			if row.Conversation != nil || row.Skip != "" {
				t.Errorf("%+v", row)
			}
		case 2:
			c := row.Conversation
			if c == nil || strings.Join(c.UserTurns, " ") != "d e" || c.MaxTurns != 3 || !c.Stateful ||
				c.TerminationKeyword != "bye" || string(row.TrackedConstraints) != `["f"]` || row.Skip != "" {
				t.Errorf("%+v", row)
			}
		case 3, 4:
			if row.Conversation == nil || row.Conversation.UserTurns != nil || row.Persona != "a tired clerk" || row.Skip != "" {
				t.Errorf("%+v", row)
			}
		case 5:
			if row.Conversation == nil || row.Conversation.UserTurns != nil || row.Conversation.MaxTurns != 0 || row.Skip != "" {
				t.Errorf("%+v", row)
			}
		}
	}
	set = readDataset(t, "scenario_ref,user\nfix-it,\nfix-it,now\n,plain\n")
	if !strings.Contains(set.RowsRead()[0].Skip, "coding") || set.RowsRead()[1].Skip == "" || set.RowsRead()[2].Skip != "" {
		t.Errorf("%+v", set.Rows)
	}
}

// A case has the text of each cell of its row.
func TestCell(t *testing.T) {
	columns := []string{"user", "behavior", "state", "failure_rules", "current_state", "tracked_constraints", "expected_outcome",
		"turn_mode", "scripted_user_turns", "user_simulator_persona", "topic"}
	cases := casesOf(t, strings.Join(columns, ",")+"\n"+
		` say a , be kind ,"{""order"": {}}",[],"{""a"": 1.50}","[""b""]",refusal,model_as_user,"[""c""]", a clerk , refunds `+"\n"+
		"say b,,,,,,,,,,\n", dispatchtest.Task{})
	byHand := eval.Case{ID: "by hand", Columns: map[string]string{"topic": " x ", "expected_outcome": " refusal\n", "user_simulator_persona": " a clerk "}}
	for i, want := range []string{
		`say a|be kind|{"order": {}}|[]|{"a": 1.50}|["b"]|refusal|model_as_user|["c"]|a clerk|refunds`,
		`say b||||||completion||||`,
		`||||||refusal|||a clerk|x`,
		`||||||||||`,
	} {
		var cells []string
		for _, column := range columns {
			cells = append(cells, append(cases, byHand, eval.Case{})[i].Cell(column))
		}
		if got := strings.Join(cells, "|"); got != want {
			t.Errorf("case %d: %s, want %s", i, got, want)
		}
	}
}

// The caller may change the columns of a case: everything that reads cells sees what they contain.
func TestColumnsOfTheCaller(t *testing.T) {
	set := readDataset(t, "user,topic\nsay a,x\nsay b,\n")
	both := func() []eval.Case {
		cases, err := set.Cases(dispatchtest.Task{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return cases
	}
	cases := both()
	cases[0].Columns["topic"] = " y "
	cases[1].Columns = map[string]string{"topic": "z", "says": "never"}
	if others := both(); others[0].Cell("topic") != "x" || cases[0].Cell("topic") != "y" || cases[1].Cell("topic") != "z" {
		t.Errorf("%q, %q, %q", others[0].Cell("topic"), cases[0].Cell("topic"), cases[1].Cell("topic"))
	}
	cases = append(cases,
		eval.Case{ID: "refusal", Columns: map[string]string{"expected_outcome": " refusal ", "user_simulator_persona": " "}},
		eval.Case{ID: "misspelt", Columns: map[string]string{"expected_outcome": "Refusal"}},
		eval.Case{ID: "persona", Columns: map[string]string{"user_simulator_persona": "a clerk"}},
		eval.Case{ID: "completion", Columns: map[string]string{"expected_outcome": " completion", "behavior": "kind"}})
	if rows, err := set.Expect(cases); rows != 2 || err == nil || !strings.Contains(err.Error(), `"Refusal" is neither completion nor refusal`) || strings.Count(err.Error(), "neither") != 1 {
		t.Errorf("%d rows, error %v", rows, err)
	}
	cases[3] = eval.Case{ID: "misspelt", Columns: cases[3].Columns} // without what Expect has read
	file := filepath.Join(t.TempDir(), "results.jsonl")
	e := run(t, obedient, cases, &eval.Options{Grader: eval.Expectations, ResultsFile: file})
	if got := ended(e); got != ". x . ! s ." {
		t.Errorf("%s: %+v", got, e.Trials)
	}
	const text = "\nchecked: expected_outcome in 1, says in 1 of 5 rows\nnot checked here: expected_outcome in 1 of 5 rows\n"
	if got := reports(t, e); !strings.Contains(got, text) || !strings.Contains(got, `"expected_outcome": "refusal"`) || !strings.Contains(got, "\ncolumns that nothing uses: behavior, topic\n") {
		t.Error(got)
	}
	e = load(t, file)
	for i, want := range []string{"y completion ", "z completion ", " refusal ", " Refusal ", "  a clerk", " completion "} {
		c := e.Trials[i].Case
		if got := c.Cell("topic") + " " + c.Cell("expected_outcome") + " " + c.Cell("user_simulator_persona"); got != want {
			t.Errorf("case %s: %q, want %q", c.ID, got, want)
		}
		c.Columns = map[string]string{"human": "pass"}
	}
	var parts []string
	e.SliceBy = []string{"topic", "user_simulator_persona", "human"}
	for _, f := range e.Figures() {
		if f.Name == "rate" && f.Slice != "" && f.Faults == "counted" {
			parts = append(parts, f.Slice)
		}
	}
	if got := strings.Join(parts, " "); got != "topic= topic=y topic=z user_simulator_persona= human=pass" {
		t.Error(got)
	}
}

// Everything that can be wrong with a file has its place and its text.
func TestBadDatasets(t *testing.T) {
	const head = "user,state,failure_rules,expected_outcome\n"
	for _, tt := range []struct {
		name, text string
		code       string
		want       []string // the problems, whole or, before an ellipsis, their beginnings
	}{
		{"empty", "", "unreadable", []string{"the file is empty: …"}},
		{"only a BOM and blanks", "\uFEFF \r\n", "unreadable", []string{"the file is empty: …"}},
		{"no rows", head, "invalid_row", []string{"the file has a header and no rows"}},
		{"UTF-16, little endian", "\xFF\xFEu\x00s\x00", "unreadable", []string{"the file is in UTF-16: save it as CSV in UTF-8"}},
		{"UTF-16, big endian", "\xFE\xFF\x00u\x00s", "unreadable", []string{"the file is in UTF-16: …"}},
		{"UTF-16 without a BOM", "u\x00s\x00e\x00r\x00\n\x00", "unreadable", []string{"the file has NUL characters, …"}},
		{"spreadsheet", "PK\x03\x04...", "unreadable", []string{"the file is a spreadsheet …"}},
		{"gzip", "\x1F\x8B\b\x00\x00", "unreadable", []string{"the file is packed by gzip: unpack it with gunzip"}},
		{"Parquet", "PAR1\x15\x04", "unreadable", []string{"the file is in Parquet: …"}},
		{"YAML", "# of promptfoo\ndescription: My tests, and more\nprompts:\n  - a\n", "invalid_header", []string{"row 1: the column user is missing; …"}}, // its comma may be of CSV
		{"YAML", "# of promptfoo\ndescription: My tests\nprompts:\n  - a\n", "unreadable", []string{"the file seems to be YAML: …"}},
		{"a list in YAML", "- vars:\n    a: b\n", "unreadable", []string{"the file seems to be YAML: …"}},
		{"two files", "\uFEFFuser,says\na,b\n\uFEFFuser,says\nc,d\n", "invalid_row", []string{"row 3: the row is the header again: were two files put together? …"}},
		{"two files without marks", "user,says\na,b\nuser,says\nc,d\n", "invalid_row", []string{"row 3: the row is the header again: …"}},
		{"two files with other columns", "user,says\na,b\n\uFEFFid,user,state\n1,c,\n", "invalid_row", []string{"row 3: the row is a header: …", "row 4: the row has 3 cells and the header has 2: …"}},
		{"two files, one without a header", "user,says\na,b\n\uFEFFc,d\n", "invalid_row", []string{"row 3: the row begins with a byte order mark: …"}},
		{"columns of promptfoo", "question,__expected,__metadata:topic\na,b,c\n", "invalid_header", []string{
			"row 1: the column user is missing; the first row is the header, such as user,behavior,state,failure_rules,expected_outcome. " +
				"The columns are question (would be user), __expected (would be says), __metadata:topic"}},
		{"semicolons", "user;state\na;\n", "unreadable", []string{"the columns are separated by semicolons: …"}},
		{"semicolons and quotes", "\"user\";\"state\"\r\na;\n", "unreadable", []string{"the columns are separated by semicolons: …"}},
		{"bars and a quote", "name|\"user\"\na|b\n", "unreadable", []string{"the columns are separated by vertical bars: …"}},
		{"a quote in the header", "user,\"a\"b\n", "unreadable", []string{`row 1: the quote (") at byte 8 of line 1 ends a cell, …`}},
		{"slips in JSON", head + "a,{x:1},[True],\nb,,[None],\n", "invalid_cell", []string{
			"row 2, column state: the cell is not valid JSON at character 2: invalid character 'x' …", "row 2, column failure_rules: …", "row 3, column failure_rules: …"}},
		{"tabs, with an axis", "name\tuser_instruction\na\tb\n", "unreadable", []string{"the columns are separated by tabs: …"}},
		{"tabs, with columns of another tool", "question\tanswer\na\tb\n", "unreadable", []string{"the columns are separated by tabs: …"}},
		{"tabs, with unknown columns", "Text\tClass\na\tb\n", "unreadable", []string{"the columns are separated by tabs: …"}},
		{"semicolons, with columns of another tool", "nr;Expected Output\na;b\n", "unreadable", []string{"the columns are separated by semicolons: …"}},
		{"a text with a bar", "a | b\nc\n", "invalid_header", []string{"row 1: the column user is missing; …"}},
		{"old line ends", "user\ra\r", "unreadable", []string{"the lines end in CR alone: …"}},
		{"no header", "Refund it,\n", "invalid_header", []string{"row 1: the column user is missing; …"}},
		{"axis names", "user_instruction,initial_state,behavior_instructions\na,{,\n", "invalid_header", []string{
			"row 1, column user_instruction: did you mean user? user_instruction is the name of the axis, in a CSV file its column is user",
			"row 1, column initial_state: did you mean state? …", "row 1, column behavior_instructions: did you mean behavior? …",
			"row 2, column initial_state: the cell is not valid JSON at character 2: …",
		}},
		{"an axis beside its column", "user,user_instruction\na,b\n", "invalid_header", []string{"row 1, column user_instruction: did you mean user? …"}},
		{"misspellings", "User,behaviour, state,failure rules,Expected-Outcome,stat,current_stat,TURN_MODE\na,,,,,,,\n", "invalid_header", []string{
			"row 1, column User: did you mean user? names are in lower case, …", "row 1, column behaviour: did you mean behavior? …",
			"row 1, column  state: did you mean state? names …", "row 1, column failure rules: did you mean failure_rules? …",
			"row 1, column Expected-Outcome: did you mean expected_outcome? …", "row 1, column current_stat: did you mean current_state? …",
			"row 1, column TURN_MODE: did you mean turn_mode? …",
		}},
		{"misspelt user", "suer\na\n", "invalid_header", []string{"row 1, column suer: did you mean user? …"}},
		{"coding tasks", "scenario_ref,workspace_seed\na,\n", "invalid_header", []string{"row 1: the column user is missing: this appears to be a dataset of coding tasks, …"}},
		{"duplicate column", "user,note,note,user\na,b,c,d\n", "invalid_header", []string{
			"row 1, column note: is a duplicate: columns 2 and 3", "row 1, column user: is a duplicate: columns 1 and 4"}},
		{"long column name", "user," + strings.Repeat("x", 300) + "\na,\n", "invalid_header", []string{"row 1, column xxx…"}},
		{"ragged", head + "a,,\nb,,,,\nc,,,\n", "invalid_row", []string{"row 2: the row has 3 cells and the header has 4: …", "row 3: the row has 5 cells …"}},
		{"empty row", head + "a,,,\n, ,,\n  \n", "invalid_row", []string{"row 3: the row is empty: delete it", "row 4: the row is empty: delete it"}},
		{"text without a column", "user,,\na,,b\n", "invalid_cell", []string{"row 2: column 3 has text but no name"}},
		{"no instruction", head + " ,{},,\n", "invalid_cell", []string{"row 2, column user: the cell is empty, and every task needs an instruction"}},
		{"quote in a cell", head + "a,,,\na \"b\" c,,,\nd,x,,\n", "unreadable", []string{`row 3: a quote (") at byte 3 of line 3 is in a cell that does not begin with one: …`}},
		{"quote not doubled", head + "\"a \"b\" c\",,,\n", "unreadable", []string{`row 2: the quote (") at byte 4 of line 2 ends a cell, but more follows: …`}},
		{"quote never closed", head + "a,,,x\n\"b,,,\nc,,,\n", "invalid_cell", []string{
			`row 2, column expected_outcome: …`, `row 3: a cell begins with a quote (") that is never closed, …`}},
		{"Latin-1", head + "caf\xE9,,,\n", "invalid_cell", []string{"row 2, column user: the cell is not in UTF-8, first at character 4: save the file in UTF-8"}},
		{"Latin-1 in the header", "user,caf\xE9\na,b\n", "invalid_header", []string{"row 1, column caf\uFFFD: the name is not in UTF-8: …"}},
		{"JSON", head + `a,{'a':1},[1,` + ",\n", "invalid_row", []string{"row 2: the row has 5 cells …"}},
		{"invalid JSON", head + `a,{'a':1},[,` + "\n" + `b,"{""a"":{` + "\n" + ` ""1"":{""x"":“y”}}}","[{""tool"":""t"",}]",` + "\n", "invalid_cell", []string{
			`row 2, column state: the cell is not valid JSON at character 2: …`, `row 2, column failure_rules: the cell is not valid JSON at character 2: …`,
			`row 3, column state: the cell is not valid JSON at line 2, character 11 of the cell, in "/a/1/x": …`, `row 3, column failure_rules: the cell is not valid JSON at character 14…`}},
		{"other JSON", head + "a,[],{},\nb,1,null,\nc,null,,\n", "invalid_cell", []string{
			"row 2, column state: the cell is JSON, but an array and not an object", "row 2, column failure_rules: the cell is JSON, but an object and not a list",
			"row 3, column state: the cell is JSON, but a number and not an object", "row 3, column failure_rules: the cell is JSON, but null and not a list",
			"row 4, column state: the cell is JSON, but null and not an object"}},
		{"no world", head + `a,"{""order"":[]}",,` + "\n" + `a,"{""order"":{""1"":null,""2"":3}}",,` + "\n", "invalid_cell", []string{
			`row 2, column state: /order…`, `row 3, column state: /order/1…`, `row 3, column state: /order/2…`}},
		{"blanks before JSON", head + "a,\"\n\n {x}\",\" [x]\",\n", "invalid_cell", []string{
			"row 2, column state: the cell is not valid JSON at line 3, character 3 of the cell: …", "row 2, column failure_rules: the cell is not valid JSON at character 3, in \"/0\": …"}},
		{"duplicate members", head + `a,"{""order"":{},""order"":{}}",,` + "\n", "invalid_cell", []string{`row 2, column state: the cell is not valid JSON at …`}},
		{"failure rules", head + `a,,"[{""tool"":""t""},{""tol"":""t""}]",` + "\n", "invalid_cell", []string{
			`row 2, column failure_rules: /0 …`, `row 2, column failure_rules: /1 tol is not a member; did you mean tool?`}},
		{"outcome", head + "a,,,Refusal\nb,,,done\n", "invalid_cell", []string{
			`row 2, column expected_outcome: "Refusal" is not completion or refusal: did you mean refusal?`, `row 3, column expected_outcome: "done" is not completion or refusal`}},
		{"sessions", "user,turn_mode,max_turns,memory_mode,simulator_mode,scripted_user_turns,tracked_constraints,user_simulator_persona\n" +
			"a,multi,51,none,script,\"[1,\"\" \"\"]\",{},\nb,model_as_user,,,,,,\nc,model_as_user,x,,robot,,,\n", "invalid_cell", []string{
			`row 2, column turn_mode: "multi" is not single_shot or model_as_user`, `row 2, column max_turns: "51" is not a number from 1 to 50`,
			`row 2, column memory_mode: "none" is not replay or stateful`, `row 2, column simulator_mode: "script" is not persona or scripted: did you mean scripted?`,
			`row 2, column scripted_user_turns: turn 1 of the list is not a text`, `row 2, column scripted_user_turns: turn 2 …`,
			`row 2, column tracked_constraints: the cell is JSON, but an object …`,
			`row 3, column user_simulator_persona: turn_mode is model_as_user and simulator_mode is persona, …`,
			`row 4, column max_turns: …`, `row 4, column simulator_mode: …`}},
		{"hostile names", "user,\"\x1b[2J\nUser \"\na,\n,b\n", "invalid_cell", []string{"row 3 (line 4), column user: the cell is empty, …"}},
		{"a hostile name", "user,\" \x1b[2J\nstate\",\"\nState\"\na,,\n", "invalid_header", []string{"row 1, column  State: did you mean state? …"}},
		{"columns in order", "max_turns,note,turn_mode,user_simulator_persona,memory_mode,initial_state\n99,,model_as_user,,x,\n", "invalid_header", []string{
			"row 1: the column user is missing; …", "row 1, column initial_state: …",
			"row 2, column max_turns: …", "row 2, column user_simulator_persona: …", "row 2, column memory_mode: …"}},
		{"places", "user,state\n\n\"a\nb\",\n\nc,x\n", "invalid_cell", []string{"row 5 (line 6), column state: …"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			set, err := eval.Read(strings.NewReader(tt.text))
			bad, ok := errors.AsType[*eval.Error](err)
			if !ok || set != nil {
				t.Fatalf("%v and the error %v", set, err)
			}
			if bad.Problems[0].Code != tt.code || toolwire.CodeOf(err) != bad.Code || bad.Code != codes[tt.code] {
				t.Errorf("code %s, want %s", bad.Code, tt.code)
			}
			for i := range max(len(bad.Problems), len(tt.want)) {
				got, want := "", ""
				if i < len(bad.Problems) {
					got = bad.Problems[i].String()
				}
				if i < len(tt.want) {
					want = tt.want[i]
				}
				if beginning, open := strings.CutSuffix(want, "…"); got != want && (!open || !strings.HasPrefix(got, beginning)) {
					t.Errorf("problem %d is\n%s\nwant\n%s", i, got, want)
				}
			}
		})
	}
}

// codes maps the code of the first problem to the code of the error.
var codes = map[string]toolwire.Code{
	"unreadable": toolwire.CodeUnreadable, "limit": toolwire.CodeLimit, "invalid_header": "invalid_dataset",
	"invalid_row": "invalid_dataset", "invalid_cell": "invalid_dataset", "invalid_world": "invalid_world",
}

// A cell with ten thousand mistakes does not take the memory for as many texts.
func TestDatasetCountsWhatItDoesNotList(t *testing.T) {
	const n = 10_000
	quoted := func(cell string) string { return `"` + strings.ReplaceAll(cell, `"`, `""`) + `"` }
	turns := quoted("[" + strings.Repeat("1,", n-1) + "1]")
	for name, text := range map[string]string{
		"one cell":          "user,scripted_user_turns\na," + turns + "\n",
		"many rows":         "user,state\n" + strings.Repeat("a,x\n", n),
		"a cell and others": "user,scripted_user_turns,max_turns,turn_mode\na," + turns + ",99,x\n\",,",
	} {
		var bad *eval.Error
		allocs := testing.AllocsPerRun(1, func() {
			_, err := eval.Read(strings.NewReader(text))
			bad, _ = errors.AsType[*eval.Error](err)
		})
		want := n
		if name == "a cell and others" {
			want += 3
		}
		if bad == nil || len(bad.Problems) != 100 || bad.More != want-100 {
			t.Errorf("%s: %.300v", name, bad)
		}
		if name == "one cell" && allocs > 3*n+1000 {
			t.Errorf("%s: %.0f allocations", name, allocs)
		}
	}
}

func TestDatasetLimits(t *testing.T) {
	big := strings.Repeat("x", 10<<20)
	for _, tt := range []struct {
		name, text string
		opts       eval.Limits
		want       string
	}{
		{"a cell of 10 MB", "user,state\n" + big + ",\nb,\n", eval.Limits{}, "row 2, column user: the cell has 10485760 bytes; the limit is 4194304"},
		{"a state of 10 MB", "user,state\na," + big + "\n", eval.Limits{}, "row 2, column state: the cell has 10485760 bytes; the limit is"},
		{"file", "user\n" + big, eval.Limits{Bytes: 1 << 20}, "the file has more than 1048576 bytes"},
		{"columns", "user" + strings.Repeat(",", 1000) + "\na\n", eval.Limits{}, "the file has more than 1000 columns"},
		{"all cells", "user" + strings.Repeat(",x", 900) + "\n" + strings.Repeat("a"+strings.Repeat(",", 900)+"\n", 2300), eval.Limits{},
			"the file has more than 2000000 cells"},
		{"cells within bounds of one's own", "user,a\nb,c\n", eval.Limits{Cells: 3}, "the file has more than 3 cells"},
		{"cells", "user\na" + strings.Repeat(",", 30<<20), eval.Limits{}, "the file has more than 1000 columns"},
		{"rows", "user\na\nb\nc\n", eval.Limits{Rows: 2}, "the file has more than 2 rows"},
		{"problems", "user,state\n" + strings.Repeat("a,x\n", 500), eval.Limits{}, "500 problems:\n  - row 2, column state: the cell is not valid JSON at character 1: invalid character 'x' where a value should begin\n  - row 3"},
	} {
		_, err := eval.ReadWithin(strings.NewReader(tt.text), tt.opts)
		bad, ok := errors.AsType[*eval.Error](err)
		if !ok || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %.300v\nwant %s", tt.name, err, tt.want)
		}
		if ok && tt.name != "problems" && len(bad.Problems) != 1 {
			t.Errorf("%s: %d problems", tt.name, len(bad.Problems))
		}
		if ok && tt.name == "problems" && (len(bad.Problems) != 100 || bad.More != 400 || !strings.HasSuffix(err.Error(), "\n  - and 400 more")) {
			t.Errorf("%d problems and %d more: %v", len(bad.Problems), bad.More, err)
		}
	}
	if set, err := eval.ReadWithin(strings.NewReader("user\n"+big), eval.Limits{Cell: 11 << 20}); err != nil || len(set.RowsRead()[0].User) != len(big) {
		t.Errorf("a cell of 10 MB within the limit: %v", err)
	}
	broken := errors.New("the disk is gone")
	if _, err := eval.Read(iotest.ErrReader(broken)); !errors.Is(err, broken) || !strings.Contains(err.Error(), "the file cannot be read") {
		t.Errorf("%v", err)
	}
	exact := eval.Limits{Cells: 4, Columns: 2, Rows: 1}
	if _, err := eval.ReadWithin(strings.NewReader("user,a\nb,c\n"), exact); err != nil {
		t.Errorf("a file that is as large as it may be: %v", err)
	}
}

// The id of a row is in the name of its case, so that reports of two datasets tell the same row the same.
func TestNamesOfRows(t *testing.T) {
	names := func(csv string) (list []string) {
		for _, c := range casesOf(t, csv, dispatchtest.Task{}) {
			list = append(list, c.Name)
		}
		return list
	}
	long := strings.Repeat("x", 50)
	for csv, want := range map[string][]string{
		"user\nrefund\n":                         {"row 2: refund"},
		"id,user\nlamp,refund\n,refund\n":        {"lamp: refund", "row 3: refund"},
		"id,user\nnew,hello\nlamp,refund\n":      {"new: hello", "lamp: refund"},
		"id,name,user\n a  b ,the lamp,refund\n": {"a  b: the lamp"},
		"id,user\n" + long + ",refund\n":         {long[:39] + "…: refund"},
	} {
		if got := names(csv); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", csv, got, want)
		}
	}
}
