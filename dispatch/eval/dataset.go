package eval

import (
	"cmp"
	"encoding/json"
	"io"
	"slices"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// Dataset contains the rows of a file of tasks: CSV, as the platform accepts it, or the same as
// JSON Lines. [Dataset.Cases] makes cases of them.
type Dataset struct {
	Columns []string // the header, as in the file; of JSON Lines the members in the order of their first lines
	Rows    int      // how many

	rows   []row // in the order of the file
	places []int // the row in which each column is first
}

// row is one task of a [Dataset]. The hash of a dataset is made of its exported fields as JSON. Names in
// parentheses are columns. A cell without text is the zero value.
type row struct {
	Number int // as a spreadsheet shows it: the header is row 1; of JSON Lines the line
	Line   int // of the file, where the row begins; it differs from Number if cells have line breaks

	User               string                  // (user)
	Behavior           string                  // (behavior)
	State              json.RawMessage         // (state)
	FailureRules       []proxytest.FailureRule // (failure_rules)
	ExpectedOutcome    string                  // (expected_outcome) is completion or refusal
	Input              json.RawMessage         // (current_state)
	Conversation       *dispatchtest.Conversation
	Persona            string            `json:",omitempty"` // (user_simulator_persona) of a session
	TrackedConstraints json.RawMessage   // (tracked_constraints)
	Skip               string            // why the row needs the platform
	Extra              map[string]string // the cells of all other columns that have a name and text

	// cells are the columns that are shown and not in Extra, or all if the row was stored or has secrets.
	cells map[string]string
	bare  map[string]byte // of JSON Lines: the kinds of the cells in Extra that are numbers, true or false

	rules, script string // the cells of failure_rules and scripted_user_turns
}

// Values of the column expected_outcome.
const (
	completion = "completion"
	refusal    = "refusal"
)

// limits bounds a file. Reading it as CSV takes memory per cell and per row.
type limits struct {
	bytes                      int64
	cell, rows, columns, cells int
}

var defaultLimits = limits{bytes: 64 << 20, cell: 4 << 20, rows: 100_000, columns: 1000, cells: 2_000_000}

// Read reads a dataset from a file of CSV or JSON Lines in UTF-8, with or without a byte order mark.
// Lines end in LF or CRLF. The column user is required; the page Datasets lists the others. A column that
// is named like an axis, or nearly like a known column, is a problem, because the platform would read it
// as an unknown column.
//
// Read is as strict as the platform's upload may be: each row has as many cells as the header, and
// JSON has exact names and no duplicates. A file has at most 64 MiB, 100,000 rows, 1,000 columns
// and 2,000,000 cells, and a cell at most 4 MiB.
//
// A file that begins with { is JSON Lines: one object per line, whose members are the columns. A string
// is the text of a cell, null is an empty cell, and other values are the JSON of a cell. A line that is
// not valid does not keep the others from being read.
//
// The error is an [*Error] with all problems in the file. Read stops early only if the rest of the
// file cannot be read as cells: because of another separator or encoding, a quote that is not
// closed, or a header without a known column.
func Read(r io.Reader) (*Dataset, error) { return read(r, defaultLimits) }

func read(r io.Reader, limits limits) (*Dataset, error) {
	d := &reader{limits: limits}
	d.read(r)
	slices.SortStableFunc(d.problems.Found, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Row, b.Row), cmp.Compare(a.column, b.column))
	})
	if err := d.problems.err(); err != nil {
		return nil, err
	}
	d.set.Rows = len(d.set.rows)
	return &d.set, nil
}
