package eval

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/toolwire/toolwire/internal/rawjson"
)

// reader reads one file: first as text, then its header, then row by row.
type reader struct {
	limits   limits
	problems problems
	set      Dataset

	data   []byte
	csv    *csv.Reader
	known  []string // the known column that each column is or was probably meant to be; "" for any other
	first  []int    // of JSON Lines: the line in which each column is first
	kinds  []byte   // of JSON Lines: of the values of the row that is being read, up to the last that it has
	offset int64    // of the first byte that has not been read as CSV

	row, line int // of the record last read
}

func (d *reader) read(r io.Reader) {
	if !d.readText(r) {
		return
	}
	if begins := uncommented(d.data); len(begins) > 0 && begins[0] == '{' {
		d.readLines()
		return
	}
	d.csv = csv.NewReader(bytes.NewReader(d.data))
	d.csv.FieldsPerRecord = -1
	header, ok := d.next()
	if !ok || !d.readHeader(header) {
		return
	}
	for {
		record, ok := d.next()
		if !ok {
			break
		}
		if len(d.set.rows) == d.limits.rows {
			d.whole(tooLarge, "the file has more than %d rows", d.limits.rows)
			return
		}
		if why := d.isHeader(record); why != "" {
			d.problem(invalidRow, -1, "%s: were two files put together? Each row has the columns of the first line", why)
			continue
		}
		d.set.rows = append(d.set.rows, d.readRow(record))
	}
	if len(d.set.rows) == 0 && len(d.problems.Found) == 0 {
		d.whole(invalidRow, "the file has a header and no rows")
	}
}

// readText reads the file and reports whether it can be CSV or JSON Lines in UTF-8.
func (d *reader) readText(r io.Reader) bool {
	data, err := io.ReadAll(io.LimitReader(r, d.limits.bytes+1))
	d.data = bytes.TrimPrefix(data, []byte(mark))
	first, _, _ := bytes.Cut(uncommented(d.data), []byte("\n"))
	first = bytes.TrimSpace(first)
	begins := func(with ...byte) bool { return bytes.HasPrefix(data, with) }
	format := ""
	for _, f := range binaryFormats {
		if strings.HasPrefix(string(data[:min(len(data), 8)]), f[0]) {
			format = f[1]
		}
	}
	switch {
	case err != nil:
		d.whole(unreadable, "the file cannot be read: %v", err)
		d.problems.cause = err
	case int64(len(data)) > d.limits.bytes:
		d.whole(tooLarge, "the file has more than %d bytes", d.limits.bytes)
	case format != "":
		d.whole(unreadable, "the file is %s", format)
	case begins(0xFF, 0xFE, 0, 0), begins(0, 0, 0xFE, 0xFF):
		d.whole(unreadable, "the file is in UTF-32: save it as CSV in UTF-8")
	case begins(0xFF, 0xFE), begins(0xFE, 0xFF):
		d.whole(unreadable, "the file is in UTF-16: save it as CSV in UTF-8")
	case bytes.IndexByte(data, 0) >= 0:
		d.whole(unreadable, "the file has NUL characters, so it is in UTF-16 or is no text: save it as CSV or JSON Lines in UTF-8")
	case len(first) == 0:
		d.whole(unreadable, "the file is empty: it begins with a header such as user,behavior,state,failure_rules,expected_outcome")
	case first[0] == '[' && rawjson.IsForeign(uncommented(d.data)):
		language := "in another language than JSON, such as Python"
		if toml.Match(first) {
			language = "TOML"
		}
		d.whole(unreadable, "the file seems to be %s: write JSON Lines, one object per line, or CSV", language)
	case first[0] == '[':
		d.whole(unreadable, "the file is a JSON array: write JSON Lines, one object per line, or CSV; jq -c '.[]' does it%s", membersOf(d.data))
	case string(first) == "{":
		d.whole(unreadable, "an object takes several lines: write JSON Lines, each object on one line, or CSV; jq -c . does it%s", membersOf(d.data))
	case first[0] == '{':
		return true
	case yaml.Match(first):
		d.whole(unreadable, "the file seems to be YAML: write JSON Lines, one object per line, or CSV")
	case bytes.HasPrefix(first, []byte("sep=")):
		d.whole(unreadable, "the first line is for a spreadsheet and not the header: remove %s", shown(string(first)))
	case !bytes.Contains(d.data, []byte("\n")) && bytes.Contains(d.data, []byte("\r")):
		d.whole(unreadable, "the lines end in CR alone: save the file with LF or CRLF")
	default:
		widest, cells := measure(d.data)
		if widest > d.limits.columns {
			d.whole(tooLarge, "the file has more than %d columns", d.limits.columns)
		} else if cells > d.limits.cells {
			d.whole(tooLarge, "the file has more than %d cells", d.limits.cells)
		}
		return len(d.problems.Found) == 0
	}
	return false
}

// mark is the byte order mark of UTF-8.
const mark = "\uFEFF"

// binaryFormats are beginnings of files, and what to do with them.
var binaryFormats = [][2]string{
	{"PK\x03\x04", "a spreadsheet or an archive, not CSV: save the sheet as CSV in UTF-8"},
	{"PK\x05\x06", "an empty archive, not CSV"},
	{"\xD0\xCF\x11\xE0", "an old spreadsheet, not CSV: save the sheet as CSV in UTF-8"},
	{"\x1F\x8B", "packed by gzip: unpack it with gunzip"},
	{"BZh", "packed by bzip2: unpack it with bunzip2"},
	{"\xFD7zXZ\x00", "packed by xz: unpack it with unxz"},
	{"\x28\xB5\x2F\xFD", "packed by zstd: unpack it with unzstd"},
	{"PAR1", "in Parquet: write its rows as JSON Lines or CSV"},
	{"ARROW1", "in Arrow: write its rows as JSON Lines or CSV"},
	{"SQLite ", "a database of SQLite: write its rows as JSON Lines or CSV"},
}

// toml is a line that begins a table of TOML. A list of another language contains commas, braces or
// colons, or takes several lines.
var toml = regexp.MustCompile(`^\[\[?[^][{},:]+\]\]?\s*(#.*)?$`)

// yaml is a first line of YAML that is not a header of CSV.
var yaml = regexp.MustCompile(`^(---$|- |[A-Za-z_]+:( [^,]*)?$)`)

// uncommented returns the text without white space around it and, if it seems to be JSON, YAML or TOML, without
// the comments at its beginning. JSON has no comments: their lines are problems.
func uncommented(data []byte) []byte {
	rest := bytes.TrimSpace(data)
	for bytes.HasPrefix(rest, []byte("#")) || bytes.HasPrefix(rest, []byte("//")) {
		_, below, _ := bytes.Cut(rest, []byte("\n"))
		rest = bytes.TrimSpace(below)
	}
	first, _, _ := bytes.Cut(rest, []byte("\n"))
	if bytes.HasPrefix(rest, []byte("{")) || bytes.HasPrefix(rest, []byte("[")) || yaml.Match(bytes.TrimSpace(first)) {
		return rest
	}
	return bytes.TrimSpace(data)
}

// membersOf says which members the first object has in a text of JSON; "" if it cannot be read.
func membersOf(data []byte) string {
	if rawjson.Check(data, rawjson.Limits{}) != nil {
		return ""
	}
	object := json.RawMessage(data)
	for element := range rawjson.Elements(object) {
		object = element
		break
	}
	var names []string
	for name := range rawjson.Members(object) {
		names = append(names, name)
	}
	if len(names) == 0 || slices.Contains(names, "user") {
		return ""
	}
	return ". " + meant("members", names)
}

// isHeader says why a row seems to be the header of another file; "" if it does not.
func (d *reader) isHeader(record []string) string {
	first := strings.TrimPrefix(record[0], mark)
	names := append([]string{first}, record[1:]...)
	known := slices.Concat(datasetColumns, codingColumns, ownColumns())
	switch {
	case slices.Equal(names, d.set.Columns):
		return "the row is the header again"
	case slices.Contains(names, "user") && !slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(known, name) }):
		return "the row is a header"
	case first != record[0]:
		return "the row begins with a byte order mark"
	}
	return ""
}

// measure counts the cells of the longest row and of all rows. It runs before the file is read as
// CSV, because a cell takes much more memory than a comma.
func measure(data []byte) (widest, total int) {
	cells, quoted := 1, false
	data = bytes.TrimSuffix(data, []byte("\n"))
	for _, c := range data {
		switch {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == ',':
			cells++
		case c == '\n':
			widest, total, cells = max(widest, cells), total+cells, 1
		}
	}
	return max(widest, cells), total + cells
}

// next reads a record and its position. ok is false after the last record and after an error, which
// next reports.
func (d *reader) next() (record []string, ok bool) {
	record, err := d.csv.Read()
	start := d.offset
	d.offset = d.csv.InputOffset()
	if errors.Is(err, io.EOF) {
		return nil, false
	}
	for rest := d.data[start:]; ; d.row++ { // empty lines are rows of a spreadsheet too
		trimmed, found := bytes.CutPrefix(rest, []byte("\n"))
		if !found {
			trimmed, found = bytes.CutPrefix(rest, []byte("\r\n"))
		}
		if !found {
			break
		}
		rest = trimmed
	}
	d.row++
	if err != nil {
		d.broken(err, d.data[start:])
		return nil, false
	}
	d.line, _ = d.csv.FieldPos(0)
	return record, true
}

// broken reports what makes the rest of the file unreadable.
func (d *reader) broken(err error, rest []byte) {
	parse, ok := errors.AsType[*csv.ParseError](err)
	if !ok {
		d.whole(unreadable, "%v", err)
		return
	}
	d.line = parse.StartLine
	if first, _, _ := strings.Cut(string(rest), "\n"); len(d.known) == 0 && d.separated(first) {
		return
	}
	switch {
	case errors.Is(err, csv.ErrBareQuote):
		err = fmt.Errorf(`a quote (") at byte %d of line %d is in a cell that does not begin with one: `+
			`put the whole cell into quotes, without a space before them, and double the quotes inside`, parse.Column, parse.Line)
	case d.offset == int64(len(d.data)) && bytes.Count(rest, []byte(`"`))%2 == 1:
		err = errors.New(`a cell begins with a quote (") that is never closed, or a quote inside a cell is not doubled`)
	default:
		err = fmt.Errorf(`the quote (") at byte %d of line %d ends a cell, but more follows: `+
			`double the quotes inside a cell`, parse.Column, parse.Line)
	}
	d.problem(unreadable, -1, "%v; nothing from here on can be read", err)
}

// whole reports a problem of the file.
func (d *reader) whole(code string, format string, args ...any) {
	d.problems.Put(Problem{Code: code, Message: fmt.Sprintf(format, args...)})
}

// problem reports a problem of the row that is being read, in the column with this index, or of the
// whole row (-1).
func (d *reader) problem(code string, index int, format string, args ...any) {
	p := Problem{Code: code, Row: d.row, Line: d.line, column: index, Message: fmt.Sprintf(format, args...)}
	if index >= 0 {
		p.Column = d.set.Columns[index]
	}
	d.problems.Put(p)
}

// blank reports whether all cells are empty or white space.
func blank(record []string) bool {
	return !slices.ContainsFunc(record, func(cell string) bool { return strings.TrimSpace(cell) != "" })
}
