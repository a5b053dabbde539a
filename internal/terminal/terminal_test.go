package terminal_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/toolwire/toolwire/internal/terminal"
)

func TestTable(t *testing.T) {
	var table terminal.Table
	table.Row(terminal.Cell{Text: "name", Style: terminal.Strong}, terminal.Cell{Text: "ms", Right: true}, terminal.PlainCell("what"))
	table.Row(terminal.PlainCell("é"), terminal.Cell{Text: "7", Right: true}, terminal.Cell{Text: "two\nlines", Style: terminal.Bad})
	table.Row(terminal.PlainCell("longer"), terminal.Cell{Text: "1234", Right: true})
	table.Row(terminal.PlainCell("\x1b[2J\u202E\u2028"), terminal.PlainCell(""), terminal.PlainCell(""))
	want := "name    ms  what\n" +
		"é        7  two lines\n" +
		"longer  1234\n" +
		"\uFFFD[2J\uFFFD \n"
	var plain, coloured bytes.Buffer
	if err := table.Write(&plain, false); err != nil || plain.String() != want {
		t.Errorf("error %v, got\n%q\nwant\n%q", err, plain.String(), want)
	}
	if err := table.Write(&coloured, true); err != nil {
		t.Fatal(err)
	}
	if got := coloured.Bytes(); !bytes.Contains(got, []byte("\x1b[1mname\x1b[0m    ms")) || !bytes.Contains(got, []byte("\x1b[31mtwo lines\x1b[0m\n")) {
		t.Errorf("in colour %q", got)
	}
}

// Columns are aligned for the eye, whatever script the cells are in.
func TestTableOfWideCharacters(t *testing.T) {
	var table terminal.Table
	for _, name := range []string{"plain", "\u6F22\u5B57", "\uD55C\uAD6D", "e\u0301\u200B", "\U0001F680", "\uFF21\u30FC", "\u00E9"} {
		table.Row(terminal.PlainCell(name), terminal.PlainCell("|"))
	}
	var b bytes.Buffer
	if err := table.Write(&b, false); err != nil {
		t.Fatal(err)
	}
	want := "plain  |\n\u6F22\u5B57   |\n\uD55C\uAD6D   |\ne\u0301\u200B      |\n\U0001F680     |\n\uFF21\u30FC   |\n\u00E9      |\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestColourIsForTerminals(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	none := func(string) string { return "" }
	if terminal.Colour(file, none) || terminal.Colour(&bytes.Buffer{}, none) {
		t.Error("colour in a file or buffer")
	}
	device, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = device.Close() }()
	if !terminal.Is(device) {
		t.Skip("the null device is not a character device on this system, so no device can stand for a terminal")
	}
	for variable, value := range map[string]string{"NO_COLOR": "1", "TERM": "dumb"} {
		getenv := func(name string) string {
			if name == variable {
				return value
			}
			return ""
		}
		if terminal.Colour(device, getenv) {
			t.Errorf("colour in spite of %s=%s", variable, value)
		}
	}
	if !terminal.Colour(device, none) {
		t.Error("no colour on a terminal")
	}
}

// Lines break between words below their last column. Commands and long words stay whole, colour has no width, and a
// character of two columns counts as two.
func TestWrap(t *testing.T) {
	for _, tt := range []struct{ line, want string }{
		{"short", "short"},
		{"one two three four five six seven eight nine", "one two three four five six seven eight\nnine"},
		{"  indented two three four five six seven eight", "  indented two three four five six seven\n  eight"},
		{"failed  row 1  one two three four five six seven", "failed  row 1  one two three four five\n               six seven"},
		{"\x1b[31mfailed\x1b[0m  row 1  one two three four five six", "\x1b[31mfailed\x1b[0m  row 1  one two three four five\n               six"},
		{"again: $ toolwire eval -dataset a/long/path/tasks.csv -case x", "again: $ toolwire eval -dataset a/long/path/tasks.csv -case x"},
		{"                           $ curl -i http://127.0.0.1:8080/", "                           $ curl -i http://127.0.0.1:8080/"},
		{"x averyveryveryveryverylongwordthatdoesnotfitanywhere y", "x\naveryveryveryveryverylongwordthatdoesnotfitanywhere\ny"},
		{"\u6F22\u5B57\u6F22\u5B57\u6F22\u5B57\u6F22\u5B57\u6F22\u5B57 \u6F22\u5B57\u6F22\u5B57\u6F22\u5B57\u6F22\u5B57\u6F22\u5B57 x", "\u6F22\u5B57\u6F22\u5B57\u6F22\u5B57\u6F22\u5B57\u6F22\u5B57\n\u6F22\u5B57\u6F22\u5B57\u6F22\u5B57\u6F22\u5B57\u6F22\u5B57 x"},
		{"\r\x1b[K12 of 40 done, 3 failed", "\r\x1b[K12 of 40 done, 3 failed"},
	} {
		var b bytes.Buffer
		text := tt.line + "\n\n" + tt.line
		if n, err := terminal.Wrap(&b, 40).Write([]byte(text)); n != len(text) || err != nil || b.String() != tt.want+"\n\n"+tt.want {
			t.Errorf("%q: %d, %v, got\n%s\nwant\n%s", tt.line, n, err, b.String(), tt.want)
		}
	}
	for _, tt := range []struct {
		variable string
		want     int
	}{{"", 80}, {"120", 120}, {"7", 80}, {"x", 80}} {
		if n := terminal.Columns(func(string) string { return tt.variable }); n != tt.want {
			t.Errorf("COLUMNS=%s: %d", tt.variable, n)
		}
	}
}
