package eval

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/text"
	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// rowReader reads the cells of one row. Mistakes go to the reader.
type rowReader struct {
	*reader
	row  *row
	turn struct{ mode, simulator, persona string }
	talk dispatchtest.Conversation
}

// readRow makes a row of a record and reports what is wrong with it.
func (d *reader) readRow(record []string) row {
	row := row{Number: d.row, Line: d.line, ExpectedOutcome: completion}
	if blank(record) {
		d.problem(invalidRow, -1, "the row is empty: delete it")
		return row
	}
	if len(record) != len(d.known) {
		advice := "a comma is missing; empty cells need one too"
		if len(record) > len(d.known) {
			advice = "put cells that contain a comma in quotes"
		}
		d.problem(invalidRow, -1, "the row has %s and the header has %d: %s",
			text.Plural(len(record), "cell"), len(d.known), advice)
		return row
	}
	r := &rowReader{reader: d, row: &row}
	for i, cell := range record {
		if len(cell) > d.limits.cell {
			d.problem(tooLarge, i, "the cell has %d bytes; the limit is %d", len(cell), d.limits.cell)
			continue
		}
		if !utf8.ValidString(cell) {
			d.problem(invalidCell, i, "the cell is not in UTF-8, first at %s: save the file in UTF-8", position(cell, firstInvalid(cell)))
			continue
		}
		r.cell(i, cell)
	}
	r.session()
	return row
}

// cell reads one cell.
func (r *rowReader) cell(i int, cell string) {
	row, text := r.row, strings.TrimSpace(cell)
	name := r.known[i]
	if text == "" {
		if name == "user" && !r.coding() {
			r.problem(invalidCell, i, "the cell is empty, and every task needs an instruction")
		}
		return
	}
	if name != "" && !slices.Contains(notSliced, name) {
		if row.cells == nil {
			row.cells = map[string]string{}
		}
		row.cells[r.set.Columns[i]] = text
	}
	kind := byte('"')
	if i < len(r.kinds) {
		kind = r.kinds[i]
	}
	if kind != '"' && slices.Contains(textColumns, name) {
		r.problem(invalidCell, i, "the value is %s and not a text, which this column has: put it into quotes, or say it in words", rawjson.KindName(kind))
		return
	}
	switch name {
	case "user":
		row.User = cell
	case "behavior":
		row.Behavior = cell
	case "state":
		row.State = r.state(i, cell)
	case "failure_rules":
		row.FailureRules, row.rules = r.rules(i, cell), text
	case "current_state":
		if r.json(i, cell, '{', "an object") {
			row.Input = json.RawMessage(text)
		}
	case "tracked_constraints":
		if r.json(i, cell, '[', "a list") {
			row.TrackedConstraints = json.RawMessage(text)
		}
	case "expected_outcome":
		row.ExpectedOutcome = r.choice(i, cell, completion, refusal)
	case "turn_mode":
		r.turn.mode = r.choice(i, cell, "single_shot", "model_as_user")
	case "simulator_mode":
		r.turn.simulator = r.choice(i, cell, "persona", "scripted")
	case "memory_mode":
		r.talk.Stateful = r.choice(i, cell, "replay", "stateful") == "stateful"
	case "max_turns":
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 50 {
			r.problem(invalidCell, i, "%s is not a number from 1 to 50", shown(cell))
		}
		r.talk.MaxTurns = n
	case "scripted_user_turns":
		r.talk.UserTurns, row.script = r.turns(i, cell), text
	case "termination_keyword":
		r.talk.TerminationKeyword = cell
	case "user_simulator_persona":
		r.turn.persona = text
	case "scenario_ref", "workspace_seed", "setup_command":
		row.Skip = "it is a coding task (" + name + "), which needs the platform's sandbox"
	default:
		r.other(i, cell)
		if kind == '0' || kind == 't' || kind == 'f' {
			if row.bare == nil {
				row.bare = map[string]byte{}
			}
			row.bare[r.set.Columns[i]] = kind
		}
	}
}

// textColumns are the columns whose cells go to a model, a user or the agent as they are.
var textColumns = []string{"user", "behavior", "termination_keyword", "user_simulator_persona"}

// other keeps the cell of a column that the platform does not read.
func (r *rowReader) other(i int, cell string) {
	switch name := r.set.Columns[i]; {
	case strings.TrimSpace(name) == "":
		r.problem(invalidCell, i, "column %d has text but no name", i+1)
	case r.row.Extra == nil:
		r.row.Extra = map[string]string{name: cell}
	default:
		r.row.Extra[name] = cell
	}
}

// coding reports whether the file contains coding tasks. Their instruction may come from the
// scenario.
func (r *rowReader) coding() bool {
	return slices.ContainsFunc(r.known, func(name string) bool { return slices.Contains(codingColumns, name) })
}

// session makes a conversation of the cells that describe turns.
func (r *rowReader) session() {
	if r.turn.mode != "model_as_user" {
		return
	}
	if r.turn.simulator == "scripted" {
		r.row.Conversation = &r.talk
		return
	}
	if r.turn.persona == "" && r.turn.simulator != invalidChoice {
		at := slices.Index(r.known, "user_simulator_persona")
		r.problem(invalidCell, at, "turn_mode is model_as_user and simulator_mode is persona, the default, so "+
			"user_simulator_persona must say who the user is; a session with scripted_user_turns needs the simulator_mode scripted")
		return
	}
	r.talk.UserTurns = nil // a script is for the simulator_mode scripted
	r.row.Conversation, r.row.Persona = &r.talk, r.turn.persona
}

// invalidChoice stands for a cell that has been reported.
const invalidChoice = "?"

// choice reads a cell with one of a few values.
func (r *rowReader) choice(i int, cell string, values ...string) string {
	if slices.Contains(values, cell) {
		return cell
	}
	hint := ""
	for _, value := range values {
		if normal := normalName(cell); normal == value || text.Misspelt(normal, value) {
			hint = ": did you mean " + value + "?"
		}
	}
	r.problem(invalidCell, i, "%s is not %s%s", shown(cell), strings.Join(values, " or "), hint)
	return invalidChoice
}

// json checks that a cell is strict JSON of a kind.
func (r *rowReader) json(i int, cell string, kind byte, kindName string) bool {
	wrong := notJSON("cell", cell, kind, kindName)
	if wrong != "" {
		r.problem(invalidCell, i, "%s", wrong)
	}
	return wrong == ""
}

// notJSON says why a cell or a line is not strict JSON of a kind; "" if it is.
func notJSON(what, text string, kind byte, kindName string) string {
	data := []byte(text)
	err := rawjson.Check(data, rawjson.Limits{})
	if bad, ok := errors.AsType[*rawjson.Error](err); ok {
		where := position(text, int(bad.Offset))
		if bad.Pointer != "" {
			where += ", in " + shown(bad.Pointer)
		}
		return fmt.Sprintf("the %s is not valid JSON at %s: %s%s", what, where, bad.Problem, jsonHint(text, int(bad.Offset)))
	}
	if got := rawjson.Kind(data); got != kind {
		return fmt.Sprintf("the %s is JSON, but %s and not %s", what, rawjson.KindName(got), kindName)
	}
	return ""
}

// jsonHint returns advice about common mistakes of JSON in cells.
func jsonHint(cell string, offset int) string {
	rest := cell[min(offset, len(cell)):]
	for _, slip := range []struct{ beginnings, hint string }{
		{"“ ” „ ‘ ’", `typographic quotes must become "`},
		{"'", `' must become "`},
		{"True False TRUE FALSE", "true and false are in lower case"},
		{"None NULL", "it is null"},
		{"# //", "JSON has no comments: remove the line"},
	} {
		for beginning := range strings.FieldsSeq(slip.beginnings) {
			if strings.HasPrefix(rest, beginning) {
				return ": " + slip.hint
			}
		}
	}
	return ""
}

// state checks that a cell is a world. It parses a cell with mistakes a second time, for their
// place.
func (r *rowReader) state(i int, cell string) json.RawMessage {
	text := json.RawMessage(strings.TrimSpace(cell))
	_, err := ledger.NewState(text, nil)
	if (err != nil || text[0] != '{') && r.json(i, cell, '{', "an object") {
		for _, text := range problemsOf(err) {
			r.problem(invalidCell, i, `%s (a state is {"type":{"id":{…}}})`, text)
		}
	}
	return text
}

// problemsOf returns the problems of an error of package ledger or proxytest. The cell has the failure rules
// of a world alone.
func problemsOf(err error) []string {
	if bad, ok := errors.AsType[*toolwire.Error](err); ok {
		list := slices.Clone(bad.Problems)
		for i := range list {
			list[i].Pointer = strings.TrimPrefix(list[i].Pointer, "/failure_rules")
		}
		return textsOf(list)
	}
	if err != nil {
		return []string{err.Error()}
	}
	return nil
}

// textsOf returns the texts of problems, without their codes.
func textsOf[P problem.Common](problems []P) []string {
	texts := make([]string, len(problems))
	for i, p := range problems {
		texts[i] = problem.Describe(p)
	}
	return texts
}

// rules reads failure rules.
func (r *rowReader) rules(i int, cell string) []proxytest.FailureRule {
	rules, err := proxytest.ParseRules([]byte(cell))
	if err != nil && r.json(i, cell, '[', "a list") {
		for _, text := range problemsOf(err) {
			r.problem(invalidCell, i, "%s", text)
		}
	}
	return rules
}

// turns reads what the user will say.
func (r *rowReader) turns(i int, cell string) []string {
	if !r.json(i, cell, '[', "a list") {
		return nil
	}
	var turns []string
	n := 0
	for raw := range rawjson.Elements(json.RawMessage(cell)) {
		n++
		if turn := rawjson.Unquote(raw); strings.TrimSpace(turn) != "" {
			turns = append(turns, turn)
		} else {
			r.problem(invalidCell, i, "turn %d of the list is not a text", n)
		}
	}
	return turns
}

// position returns an offset in a cell as line and character.
func position(cell string, offset int) string {
	before := cell[:min(offset, len(cell))]
	line := strings.Count(before, "\n") + 1
	character := utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1
	if !strings.Contains(cell, "\n") {
		return fmt.Sprintf("character %d", character)
	}
	return fmt.Sprintf("line %d, character %d of the cell", line, character)
}

func firstInvalid(s string) int {
	for i, r := range s {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(s[i:]); size == 1 {
				return i
			}
		}
	}
	return len(s)
}

// shown quotes a piece of a cell for a message.
func shown(cell string) string { return text.Quote(cell, 40) }
