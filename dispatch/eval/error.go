package eval

import (
	"fmt"
	"strings"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/internal/text"
)

// Codes of errors that no other package has, or that few programs branch on.
const (
	codeInvalid toolwire.Code = "invalid_dataset"
	codeWorld   toolwire.Code = "invalid_world"
	codeResults toolwire.Code = "invalid_results"
)

// Error is the error type of this package.
type Error struct {
	Code     toolwire.Code // of the first problem
	Problems []Problem     // by row and column, at most 100
	More     int           // problems that are not listed
	Err      error         `json:"-"` // the cause: of the reader, or of the base world; nil if there is none
}

// A Problem is one mistake in a dataset, in a file of results or in the arguments of a function. A
// mistake in a dataset has a row and column as its place, and a mistake in the dataset as a whole has
// none. Otherwise Message begins with the place: a file and line, or a member of the arguments such as
// Options.Trials. Code is one of these:
//
//	unreadable      the file, or the rest of it, is not CSV in UTF-8
//	limit           a limit of Read
//	invalid_header  a column is missing, misspelt or duplicate, or looks like one that is checked
//	invalid_row     a row is empty, or has too many or too few cells
//	invalid_cell    a cell does not have the value that its column needs
//	invalid_world   a row does not fit the base world of Dataset.Cases
//	invalid_options a case or an option of Run cannot be used
//	invalid_results a file or a line of it is not one of results
//	incomplete      trials are missing in a file of results
//	missing_shard   the file of a shard is missing
//	doubled_shard   two files contain the same shard
//	foreign_shard   a shard is of another experiment
//	doubled_result  a file contains a trial twice
//	foreign_result  a result is of another experiment or shard
type Problem struct {
	Code    string `json:"code"`
	Row     int    `json:"row,omitempty"`    // as a spreadsheet shows it: the header is row 1; 0 is the whole file
	Line    int    `json:"line,omitempty"`   // of the file, where the row begins; 0 is the whole file
	Column  string `json:"column,omitempty"` // as in the header; "" is the whole row
	Message string `json:"message"`          // what is wrong and what to do

	column    int  // for sorting
	ofResults bool // and not of a dataset
}

const (
	unreadable    = "unreadable"
	tooLarge      = "limit"
	invalidHeader = "invalid_header"
	invalidRow    = "invalid_row"
	invalidCell   = "invalid_cell"
	invalidWorld  = "invalid_world"

	invalidOptions = "invalid_options"
	invalidResults = "invalid_results"
	incomplete     = "incomplete"
	missingShard   = "missing_shard"
	doubledShard   = "doubled_shard"
	foreignShard   = "foreign_shard"
	doubledResult  = "doubled_result"
	foreignResult  = "foreign_result"
)

// Error returns the problems, one per line if there are several.
func (e *Error) Error() string {
	return "eval: " + problem.Lines(e.Problems, e.More)
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// ErrorCode returns Code. [toolwire.CodeOf] calls it.
func (e *Error) ErrorCode() toolwire.Code { return e.Code }

// String returns place and message on one line. It names the line of the file if that differs from
// the number of the row. Names and texts from the file are safe to print to a terminal.
func (p Problem) String() string {
	place := ""
	if p.Row > 0 {
		place = fmt.Sprintf("row %d", p.Row)
		if p.Line != p.Row {
			place += fmt.Sprintf(" (line %d)", p.Line)
		}
		if p.Column != "" {
			place += ", column " + p.Column
		}
		place += ": "
	}
	return text.Clean(strings.ReplaceAll(place+p.Message, "\n", " "))
}

// problems collects an [Error]. Problems are added in the order of the rows.
type problems struct {
	problem.Bounded[Problem]
	cause error
}

// member adds a problem with a member of the arguments.
func (ps *problems) member(code, member, format string, args ...any) {
	ps.Put(Problem{Code: code, Message: member + ": " + fmt.Sprintf(format, args...)})
}

// file adds a problem with a line of a file of results.
func (ps *problems) file(code, file string, line int, format string, args ...any) {
	if line > 0 {
		file += fmt.Sprintf(", line %d", line)
	}
	ps.Put(Problem{Code: code, Line: line, Message: file + ": " + fmt.Sprintf(format, args...), ofResults: true})
}

// err returns nil if there are no problems.
func (ps *problems) err() error {
	if len(ps.Found) == 0 {
		return nil
	}
	code := toolwire.Code(ps.Found[0].Code)
	switch code {
	case invalidHeader, invalidRow, invalidCell:
		code = codeInvalid
	case incomplete, missingShard, doubledShard, foreignShard, doubledResult, foreignResult:
		code = codeResults
	}
	if code == unreadable && ps.Found[0].ofResults {
		code = codeResults
	}
	return &Error{Code: code, Problems: ps.Found, More: ps.More, Err: ps.cause}
}
