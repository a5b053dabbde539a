package eval

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolwire/toolwire/internal/text"
)

// The known columns, the columns of coding tasks, and the axes whose columns have another name.
var (
	datasetColumns = []string{
		"user", "behavior", "state", "failure_rules", "expected_outcome", "current_state",
		"turn_mode", "max_turns", "memory_mode", "simulator_mode", "user_simulator_persona", "scripted_user_turns",
		"tracked_constraints", "termination_keyword",
	}
	codingColumns = []string{"scenario_ref", "workspace_seed", "setup_command"}
	datasetAxes   = [][2]string{{"user_instruction", "user"}, {"behavior_instructions", "behavior"}, {"initial_state", "state"}}
)

// readHeader finds out what the columns are. It reports whether rows can be read.
func (d *reader) readHeader(header []string) bool {
	d.set.Columns = header
	d.known, d.set.places = make([]string, len(header)), d.first
	if d.first == nil {
		d.set.places = slices.Repeat([]int{d.row}, len(header))
	}
	if len(header) == 1 && d.separated(header[0]) {
		return false
	}
	found := map[string]bool{}
	for i, name := range header {
		d.locate(i)
		switch {
		case !utf8.ValidString(name):
			d.problem(invalidHeader, i, "the name is not in UTF-8: save the file in UTF-8")
		case strings.TrimSpace(name) == "": // its cells must be empty, see other
		case len(name) > 256:
			d.set.Columns[i] = text.Line(name, 32)
			d.problem(invalidHeader, i, "the name has %d bytes, at most 256 are allowed: is the header missing?", len(name))
		case slices.Index(header, name) < i:
			d.problem(invalidHeader, i, "is a duplicate: columns %d and %d", slices.Index(header, name)+1, i+1)
		case slices.Contains(datasetColumns, name) || slices.Contains(codingColumns, name):
			d.known[i] = name
			found[name] = true
		}
	}
	for i, name := range header {
		if d.known[i] != "" || slices.Index(header, name) < i {
			continue
		}
		d.locate(i)
		meant, why := didYouMean(name, found)
		if meant == "" {
			continue
		}
		d.problem(invalidHeader, i, "did you mean %s? %s", meant, why)
		if !found[meant] {
			d.known[i], found[meant] = meant, true // so that its cells are checked too
		}
	}
	if !found["user"] {
		d.locate(-1)
		coding := slices.ContainsFunc(codingColumns, func(name string) bool { return found[name] })
		switch {
		case coding:
			d.problem(invalidHeader, -1, "the column user is missing: this appears to be a dataset of coding tasks, which need the platform")
		case d.first != nil:
			d.problem(invalidHeader, -1, "the member user is missing in all lines; it is what the user asks for. %s", meant("members", header))
		default:
			d.problem(invalidHeader, -1, "the column user is missing; the first row is the header, such as "+
				"user,behavior,state,failure_rules,expected_outcome. %s", meant("columns", header))
		}
	}
	return len(found) > 0
}

// foreign are names that other tools have for what a column is. They are squashed.
var foreign = map[string][]string{
	"user": {"question", "input", "inputs", "prompt", "query", "instruction", "instructions", "problem", "problemstatement", "goal", "task",
		"ticket", "userscenario", "vars", "messages", "request", "utterance", "intent"},
	"says": {"target", "targets", "ideal", "gold", "reference", "output", "outputs", "solution", "label", "communicateinfo",
		"requiredoutputs"},
	"calls":                    {"actions", "toolcalls", "possibleanswer", "trajectory"},
	"says or calls":            {"groundtruth", "assert", "asserts", "assertions"},
	"calls and says":           {"evaluationcriteria"},
	"state":                    {"initialconfig", "initialstate", "database", "db"},
	"id":                       {"taskid", "questionid", "sampleid", "instanceid", "testid", "uid", "uuid", "key", "idx", "index"},
	"name":                     {"description", "title"},
	"the world's tools_schema": {"function", "functions", "tools"},
}

// standsFor returns the column that a name of other tools would be; "" if none is known.
func standsFor(name string) string {
	for column, others := range foreign {
		if slices.Contains(others, name) {
			return column
		}
	}
	return expectedIn(name)
}

// meant says which members or columns there are, and which column each would be.
func meant(what string, names []string) string {
	var list []string
	for _, name := range names {
		shown := text.Line(name, 40)
		if column := standsFor(squashed(name)); column != "" && column != name {
			shown += " (would be " + column + ")"
		}
		list = append(list, shown)
	}
	return "The " + what + " are " + listed(list, maxListed)
}

// separated reports a problem, and true, if the columns are not separated by commas. The header is one cell.
func (d *reader) separated(header string) bool {
	for _, separator := range [][2]string{{";", "semicolons"}, {"\t", "tabs"}, {"|", "vertical bars"}} {
		names := strings.Split(strings.TrimRight(header, "\r"), separator[0])
		isKnown := func(name string) bool {
			name = strings.Trim(name, `"`)
			meant, _ := didYouMean(name, nil)
			return meant != "" || separator[0] == "\t" || standsFor(squashed(name)) != ""
		}
		if len(names) > 1 && slices.ContainsFunc(names[:min(len(names), 100)], isKnown) {
			d.whole(unreadable, "the columns are separated by %s: save the file with commas", separator[1])
			return true
		}
	}
	return false
}

// didYouMean returns the known column that a name is probably meant to be, and why. It does not
// suggest a column that the file has, except for other spellings of its exact name.
func didYouMean(name string, found map[string]bool) (meant, why string) {
	normal := normalName(name)
	for _, axis := range datasetAxes {
		if axis[0] == normal {
			return axis[1], normal + " is the name of the axis, in a CSV file its column is " + axis[1]
		}
	}
	if own := []string{"id", "group"}; slices.Contains(own, normal) && !slices.Contains(own, name) {
		return normal, "names are in lower case, with underscores and without spaces"
	}
	known := slices.Concat(datasetColumns, codingColumns)
	if slices.Contains(known, normal) {
		return normal, "names are in lower case, with underscores and without spaces"
	}
	if len(normal) > 64 {
		return "", ""
	}
	for _, k := range known {
		if !found[k] && text.Misspelt(normal, k) {
			return k, "rename the column if it is something else"
		}
	}
	for _, axis := range datasetAxes {
		if !found[axis[1]] && text.Misspelt(normal, axis[0]) {
			return axis[1], "that is the column of the axis " + axis[0]
		}
	}
	return "", ""
}

// separators are what normalName replaces.
var separators = strings.NewReplacer(" ", "_", "-", "_", "\u00A0", "_")

// normalName returns a name in lower case with underscores.
func normalName(name string) string {
	return strings.ToLower(separators.Replace(strings.TrimSpace(name)))
}
