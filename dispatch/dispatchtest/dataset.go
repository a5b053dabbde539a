package dispatchtest

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/toolwire/toolwire/internal/terminal"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// Dataset is the rows of a CSV file of tasks, as the platform takes them. [ReadDataset] reads one, [Dataset.Cases] makes
// runnable tasks of it.
type Dataset struct {
	Columns []string // the header, as in the file
	Rows    []Row    // in the order of the file
}

// Row is one task of a [Dataset]. The names in parentheses are those of the columns; a cell without text is the zero
// value.
type Row struct {
	Number int // as a spreadsheet shows it: the header is row 1
	Line   int // of the file, where the row begins: another number when cells have line breaks

	User     string // (user) what the user asks for: the axis user_instruction
	Behavior string // (behavior) rules of the simulated backend: the axis behavior_instructions. Never sent to the agent

	// State (state) is the world at the start, {"type":{"id":{…}}}: the axis initial_state. nil is that of the base world.
	State json.RawMessage

	// FailureRules (failure_rules), as [proxytest.ParseRules] reads them.
	FailureRules []proxytest.FailureRule

	// ExpectedOutcome (expected_outcome) is for a judge: nothing in this package decides by it.
	ExpectedOutcome Outcome

	// Input (current_state) is what the agent finds in input.input: any JSON object. The name is the one that "Porting
	// without the SDK" gives that member; nil is the Input of the base task.
	Input json.RawMessage

	// Conversation is set for a session with a script: turn_mode model_as_user and simulator_mode scripted, with
	// scripted_user_turns, max_turns, memory_mode and termination_keyword.
	Conversation *Conversation

	// TrackedConstraints (tracked_constraints) is a JSON list for a judge.
	TrackedConstraints json.RawMessage

	// Skip says why the row, which is a good one, cannot be run without the platform: a model would have to play the user
	// (simulator_mode persona), or it is a coding task. "" is a row that can.
	Skip string

	// Extra are the cells of all other columns that have a name and text, by column. The platform does not read them.
	Extra map[string]string
}

// Outcome is what is expected of a run: its expected_outcome.
type Outcome string

// The outcomes.
const (
	Completion Outcome = "completion" // the agent does what it is asked for; the default
	Refusal    Outcome = "refusal"    // the agent declines
)

// DatasetOptions configures [ReadDataset]. The zero value of every field is its default.
type DatasetOptions struct {
	// MaxBytes bounds the file. Default 64 MiB.
	MaxBytes int64

	// MaxCell bounds a cell, in bytes. Default 4 MiB.
	MaxCell int

	// MaxRows bounds the rows, without the header. Default 100,000.
	MaxRows int

	// MaxColumns bounds the columns, MaxCells the cells of all rows. Defaults 1,000 and 2,000,000.
	MaxColumns int
	MaxCells   int

	// MaxProblems is how many problems the error lists; the rest is counted. Default 100.
	MaxProblems int
}

func (o *DatasetOptions) orDefault() DatasetOptions {
	filled := DatasetOptions{MaxBytes: 64 << 20, MaxCell: 4 << 20, MaxRows: 100_000, MaxColumns: 1000, MaxCells: 2_000_000, MaxProblems: 100}
	if o == nil {
		return filled
	}
	if o.MaxBytes > 0 {
		filled.MaxBytes = min(o.MaxBytes, math.MaxInt64-1) // one byte more is read, to see whether the file is longer
	}
	if o.MaxCell > 0 {
		filled.MaxCell = o.MaxCell
	}
	if o.MaxRows > 0 {
		filled.MaxRows = o.MaxRows
	}
	if o.MaxColumns > 0 {
		filled.MaxColumns = o.MaxColumns
	}
	if o.MaxCells > 0 {
		filled.MaxCells = o.MaxCells
	}
	if o.MaxProblems > 0 {
		filled.MaxProblems = o.MaxProblems
	}
	return filled
}

// ReadDataset reads a dataset from a CSV file in UTF-8, with or without a byte order mark, with lines that end in LF or
// CRLF. opts may be nil. The column user is required; see [Row] for the others. A column that is named after an axis, or
// almost like one that is known, is a problem with a hint, because the platform would take it for something else.
//
// It is strict, as the platform's uploader would be at the worst: every row has as many cells as the header, JSON has
// exact names and no duplicates. The error is a [*DatasetError] with everything that is wrong in the file. Only what keeps
// the rest of the file from being read as cells ends the search: another separator or encoding, a quote that is not
// closed, a header with nothing known in it.
func ReadDataset(r io.Reader, opts *DatasetOptions) (*Dataset, error) {
	o := opts.orDefault()
	d := &datasetReader{opts: o, problems: datasetProblems{most: o.MaxProblems}}
	d.read(r)
	if err := d.problems.err(); err != nil {
		return nil, err
	}
	return &d.set, nil
}

// DatasetError is everything that is wrong with a dataset.
type DatasetError struct {
	Code     DatasetCode      // of the first problem
	Problems []DatasetProblem // by row and column, at most as many as asked for
	More     int              // problems that are not listed

	cause error
}

// DatasetProblem is one thing wrong with a dataset.
type DatasetProblem struct {
	Code    DatasetCode `json:"code"`
	Row     int         `json:"row,omitempty"`    // as a spreadsheet shows it, the header is 1; 0 is the whole file
	Line    int         `json:"line,omitempty"`   // of the file, where the row begins; 0 is the whole file
	Column  string      `json:"column,omitempty"` // as the header has it; "" is the whole row
	Message string      `json:"message"`          // what is wrong and what to do

	column int // for sorting
}

// A DatasetCode classifies a [DatasetProblem]. Codes are stable; texts are not.
type DatasetCode string

// The codes.
const (
	DatasetUnreadable DatasetCode = "unreadable"     // the file, or the rest of it, is no CSV in UTF-8
	DatasetTooLarge   DatasetCode = "too_large"      // a limit of [DatasetOptions]
	DatasetHeader     DatasetCode = "invalid_header" // a column is missing, misnamed or there twice
	DatasetRow        DatasetCode = "invalid_row"    // a row has too many or too few cells
	DatasetCell       DatasetCode = "invalid_cell"   // a cell cannot be what its column holds
	DatasetWorld      DatasetCode = "invalid_world"  // a cell does not fit the world that [Dataset.Cases] puts it into
)

// Error lists the problems, one per line when there are several.
func (e *DatasetError) Error() string {
	if len(e.Problems) == 1 && e.More == 0 {
		return "dispatchtest: dataset: " + e.Problems[0].String()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "dispatchtest: dataset: %d problems:", len(e.Problems)+e.More)
	for _, p := range e.Problems {
		b.WriteString("\n  " + p.String())
	}
	if e.More > 0 {
		fmt.Fprintf(&b, "\n  and %d more", e.More)
	}
	return b.String()
}

// Unwrap returns the reader's error, if there was one.
func (e *DatasetError) Unwrap() error { return e.cause }

// String returns the place and the message, on one line. The line of the file is named where it is not the row's number.
// Names and texts from the file are made harmless for terminals.
func (p DatasetProblem) String() string {
	var place strings.Builder
	if p.Row > 0 {
		fmt.Fprintf(&place, "row %d", p.Row)
		if p.Line != p.Row {
			fmt.Fprintf(&place, " (line %d)", p.Line)
		}
		if p.Column != "" {
			place.WriteString(", column " + p.Column)
		}
		place.WriteString(": ")
	}
	return terminal.Clean(strings.ReplaceAll(place.String()+p.Message, "\n", " "))
}

// datasetProblems collects a [DatasetError]. Problems are added in the order of the rows.
type datasetProblems struct {
	most  int
	found []DatasetProblem
	more  int
	cause error
}

func (ps *datasetProblems) add(p DatasetProblem) {
	if len(ps.found) == ps.most {
		ps.more++
		return
	}
	ps.found = append(ps.found, p)
}

func (ps *datasetProblems) err() error {
	if len(ps.found) == 0 {
		return nil
	}
	return &DatasetError{Code: ps.found[0].Code, Problems: ps.found, More: ps.more, cause: ps.cause}
}
