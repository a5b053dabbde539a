package cassette_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/dispatch/cassette"
	"github.com/toolwire/toolwire/internal/cost"
)

func TestTapesThatCannotBeRead(t *testing.T) {
	a, b := call(1, "a", `{}`, `1`), call(2, "b", `{}`, `2`)
	more := func(line, members string) string { return strings.Replace(line, `{"n"`, `{`+members+`,"n"`, 1) }
	tests := map[string]struct {
		lines []string
		code  toolwire.Code
		rule  string // code of the first problem
		want  []string
	}{
		"empty": {nil, "invalid_tape", "header", []string{"the tape is empty"}},
		"no tape": {[]string{"# Notes", "", "text"}, "invalid_tape", "header",
			[]string{"line 1: this is not the header of a tape"}},
		"another JSON": {[]string{`{"id":1}`, a}, "invalid_tape", "header",
			[]string{`line 1`, `the member "cassette" with the version of the format is missing`}},
		"later version": {[]string{`{"tracks":[],"cassette":3}`, `{"x":1}`}, "unsupported_version", "version",
			[]string{"line 1: the tape has version 3", "later release"}},
		"version 0": {[]string{`{"cassette":0}`}, "invalid_tape", "header", []string{"line 1"}},
		"version in words": {[]string{`{"cassette":"1"}`}, "invalid_tape", "header",
			[]string{"line 1", "/cassette"}},
		"unknown in header": {[]string{`{"cassette":1,"colour":"red"}`, tail(0)}, "invalid_tape", "header",
			[]string{"line 1", "colour is not a member"}},
		"wrong case": {[]string{`{"Cassette":1}`}, "invalid_tape", "header", []string{"line 1"}},
		"header twice": {[]string{head, head, a, tail(1)}, "invalid_tape", "line",
			[]string{"line 2", "cassette is not a member"}},
		"bad time": {[]string{`{"cassette":1,"created":"yesterday"}`}, "invalid_tape", "header",
			[]string{"line 1", "/created"}},
		"broken in the midst": {[]string{head, `{"n":1,"kind":`, b, tail(2)}, "invalid_tape", "line",
			[]string{"line 2: invalid JSON"}},
		"twice": {[]string{head, a, a, tail(2)}, "invalid_tape", "sequence",
			[]string{"line 3: /n is 1 after 1: the interaction repeats"}},
		"once more": {[]string{head, a, b, a, call(3, "c", `{}`, `3`), tail(3)}, "invalid_tape", "sequence",
			[]string{"invalid_tape: line 4: /n is 1 after 2: the interaction repeats"}}, // and nothing else
		"gap": {[]string{head, a, call(4, "d", `{}`, `4`), tail(2)}, "invalid_tape", "sequence",
			[]string{"line 3: /n is 4 after 1: lines are missing"}},
		"count": {[]string{head, a, b, tail(3)}, "invalid_tape", "sequence",
			[]string{"line 4: the tape ends with the count 3 and has 2"}},
		"after the end": {[]string{head, tail(0), a}, "invalid_tape", "sequence",
			[]string{"line 3: a line follows the end of the tape"}},
		"no end": {[]string{head, a, b}, "truncated_tape", "truncated",
			[]string{"ends after line 3", "Load returns the 2 complete interactions"}},
		"broken and cut off": {[]string{head, `{"n":1,"kind":`, b}, "invalid_tape", "line",
			[]string{"2 problems", "line 2: invalid JSON", "ends after line 3 without"}},
		"member twice": {[]string{head, more(a, `"kind":"tool"`), tail(1)}, "invalid_tape", "line",
			[]string{"line 2", "kind"}},
		"unknown member": {[]string{head, more(a, `"colour":1`), tail(1)}, "invalid_tape", "line",
			[]string{"line 2", "colour is not a member"}},
		"all at once": {
			[]string{head, strings.NewReplacer(`"tool"`, `"toll"`, `"a"`, `""`, "200", "20").Replace(a),
				more(b, `"after":2,"broken":"melted"`), "", tail(2)},
			"invalid_tape", "line",
			[]string{"line 2: /kind must be tool, trace, other or model; /name is missing; /status", "line 3: /after",
				"/broken must be", "line 4: the line is empty"},
		},
		"two bodies": {[]string{head, more(a, `"answer_text":"x","arguments_text":"y"`), tail(1)}, "invalid_tape",
			"line", []string{"line 2: only one of /answer", "only one of /arguments"}},
		"base64": {[]string{head, more(a, `"answer_base64":"*"`), tail(1)}, "invalid_tape", "line",
			[]string{"line 2: /answer_base64 must be base64"}},
		"status 0": {[]string{head, strings.Replace(a, `"status":200,`, "", 1), tail(1)}, "invalid_tape", "line",
			[]string{"line 2: /status"}},
		"headers": {[]string{head, more(a, `"headers":{"X-Should-Retry":"true"}`), tail(1)}, "invalid_tape", "line",
			[]string{"line 2", "/headers"}},
		"retry after": {[]string{head, more(a, `"retry_after":-1`), tail(1)}, "invalid_tape", "line",
			[]string{"line 2", "/retry_after"}},
		"invalid text": {[]string{head, strings.Replace(a, `"a"`, "\"\xff\"", 1), tail(1)}, "invalid_tape", "line",
			[]string{"line 2", "UTF-8"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			text := ""
			for _, line := range test.lines {
				text += line + "\n"
			}
			path := filepath.Join(t.TempDir(), "run.jsonl")
			write(t, path, text)
			_, err := cassette.Load(path)
			if toolwire.CodeOf(err) != test.code {
				t.Fatalf("error %v, want code %s", err, test.code)
			}
			mustContain(t, err.Error(), append(test.want, path)...)
			if e, ok := errors.AsType[*cassette.Error](err); !ok || e.Path != path || e.Problems[0].Code != test.rule {
				t.Errorf("the problems are %+v, want the code %s", e.Problems, test.rule)
			}
		})
	}
}

// A recording that died in the middle of a line is usable up to there, wherever that was.
func TestTruncatedTape(t *testing.T) {
	whole := head + "\n" + call(1, "a", `{}`, `1`) + "\n" + call(2, "b", `{}`, `2`) + "\n" + tail(2) + "\n"
	lines := strings.SplitAfter(whole, "\n")
	for cut := len(lines[0]) + 1; cut < len(whole)-1; cut++ {
		text := whole[:cut]
		got, err := load(t, text)
		if toolwire.CodeOf(err) != "truncated_tape" || got == nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		want := 0
		for _, at := range []int{len(lines[0]) + len(lines[1]), len(lines[0]) + len(lines[1]) + len(lines[2])} {
			if cut >= at-1 { // only the line break may be missing
				want++
			}
		}
		if len(got.Interactions) != want {
			t.Errorf("cut at %d: %d interactions, want %d", cut, len(got.Interactions), want)
		}
	}
	for _, text := range []string{whole, strings.TrimSuffix(whole, "\n"),
		"\uFEFF" + strings.ReplaceAll(whole, "\n", "\r\n"), whole + "\n\n"} {
		if got, err := load(t, text); err != nil || len(got.Interactions) != 2 {
			t.Errorf("%v of\n%s", err, text)
		}
	}
	got, err := load(t, whole[:len(whole)-40])
	mustContain(t, err.Error(),
		"line 3: the tape breaks off in the middle of this line; Load returns the 1 complete interaction before that")
	// What is complete can be replayed.
	encoded, err := got.Encode()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "run.jsonl")
	write(t, path, string(encoded))
	mustCall(t, client(t, newCassette(t, path, nil), nil), t.Context(), "a", nil)
}

// A damaged line costs what it has. What follows stays, also the messages of requests to models.
func TestDamagedLines(t *testing.T) {
	model := func(n int, lists string) string {
		return fmt.Sprintf(`{"n":%d,"kind":"model","name":"…/messages","arguments":{"model":"m"},"status":200,"answer":{"id":%d},"lists":%s}`, n, n, lists)
	}
	lines := []string{
		head, `{"part":1,"value":{"role":"user"}}`, `{"part":2,"value":{"name":"t"}}`, model(1, `{"messages":1,"tools":2}`),
		call(2, "a", `{"x":1}`, `1`), call(3, "b", `{}`, `2`),
		`{"part":3,"after":1,"value":{"role":"assistant"}}`, `{"part":4,"after":3,"value":{"role":"tool"}}`, model(4, `{"messages":4}`),
		call(5, "c", `{}`, `3`), `{"part":5,"after":4,"as":1}`, `{"part":6,"after":2,"value":{"role":"t"}}`, model(6, `{"messages":5,"tools":6}`), tail(6),
	}
	describe := func(tape *cassette.Tape) (all []string) {
		for n := range tape.Interactions {
			i := &tape.Interactions[n]
			if i.Number != n+1 || i.After > n {
				t.Errorf("interaction %d has the number %d after %d", n, i.Number, i.After)
			}
			all = append(all, fmt.Sprintf("%s %s %s", i.Name, tape.RequestBody(i), i.Answer))
		}
		return all
	}
	sound, err := load(t, strings.Join(lines, "\n")+"\n")
	if err != nil {
		t.Fatal(err)
	}
	lostAt := map[int]string{ // the value of a part, with what is before it where the value alone is not unique
		1: `{"role":"user"}`, 2: `{"name":"t"}`, 6: `{"role":"assistant"}`, 7: `{"role":"tool"}`, 10: `,{"role":"user"}`, 11: `{"role":"t"}`,
	}
	unreadable := []string{"cut off", "other bytes", "an unknown member", "nothing", "too long", "a type"} // lines that are there
	whole, blank := describe(sound), strings.Repeat(" ", 16<<20)
	for name, damage := range map[string]func(line string) string{
		"cut off":           func(line string) string { return line[:len(line)/2] },
		"other bytes":       func(line string) string { return "\x00\xff" + line[2:] },
		"an unknown member": func(line string) string { return `{"colour":1,` + line[1:] },
		"nothing":           func(string) string { return "" },
		"too long":          func(line string) string { return line + blank },
		"the number is 9": func(line string) string {
			return strings.NewReplacer(`"n":`, `"n":9`, `"part":`, `"part":9`).Replace(line)
		},
		"the number is 0": func(line string) string { return regexp.MustCompile(`"(n|part)":\d`).ReplaceAllString(line, `"$1":0`) },
		"there is no number": func(line string) string {
			return regexp.MustCompile(`"(n|part)":\d`).ReplaceAllString(line, `"other":1`)
		},
		"missing": func(string) string { return "" },
		"twice":   func(line string) string { return line + "\n" + line },
		"a type": func(line string) string {
			return strings.NewReplacer(`"kind":"`, `"kind":7,"x":"`, `"value":`, `"value":7,"x":`).Replace(line)
		},
	} {
		for at := range lines {
			damaged := slices.Clone(lines)
			if damaged[at] = damage(lines[at]); damaged[at] == lines[at] || at == 0 && name == "missing" || at != 9 && name == "too long" {
				continue
			}
			place := at + 1
			switch name {
			case "twice":
				place++
			case "missing":
				damaged, place = slices.Delete(damaged, at, at+1), 0
			}
			tape, err := load(t, strings.Join(damaged, "\n")+"\n")
			if tape == nil || err == nil {
				t.Errorf("%s in line %d: %v, %v", name, at+1, tape, err)
				continue
			}
			if place > 0 {
				mustContain(t, err.Error(), fmt.Sprintf("line %d: ", place))
			}
			isRemoved := name == "missing" && at > 0 && at < 12
			gap := strings.Contains(err.Error(), "the tape lacks") || strings.Contains(err.Error(), ": lines are missing [")
			if gap != isRemoved && (isRemoved || slices.Contains(unreadable, name)) {
				t.Errorf("%s in line %d: %v", name, at+1, err)
			}
			kept, lost := describe(tape), 0
			for _, one := range whole {
				if !slices.Contains(kept, one) {
					lost++
				}
			}
			allowed, isPart := 0, strings.HasPrefix(lines[at], `{"part"`) // requests have a part several times
			if strings.HasPrefix(lines[at], `{"n"`) {
				allowed = 1
			}
			for n := range kept { // a part that is lost is null in its place
				before, _, _ := strings.Cut(lostAt[at], "{")
				want := strings.ReplaceAll(whole[n], lostAt[at], before+"null")
				if isPart && slices.Contains(unreadable, name) && kept[n] != want {
					t.Errorf("%s in line %d: %s, want %s", name, at+1, kept[n], want)
				}
			}
			if len(kept) < len(whole)-allowed || len(kept) > len(whole) || lost > allowed && !isPart {
				t.Errorf("%s in line %d: %v, kept\n%s", name, at+1, err, strings.Join(kept, "\n"))
			}
			encoded, err := tape.Encode()
			if err != nil {
				t.Fatal(err)
			}
			if again, err := load(t, string(encoded)); err != nil || !slices.Equal(describe(again), kept) {
				t.Errorf("%s in line %d: %v", name, at+1, err)
			}
		}
	}
}

// What is left of a tape is numbered anew, and each problem is reported once.
func TestDamagedTapes(t *testing.T) {
	after := func(line string, n int) string { return fmt.Sprintf(`{"after":%d,%s`, n, line[1:]) }
	model := func(n, list int) string {
		return fmt.Sprintf(`{"n":%d,"kind":"model","name":"m","arguments":{},"status":200,"lists":{"messages":%d}}`, n, list)
	}
	a := func(n int) string { return call(n, "a", "{}", "1") }
	for name, tt := range map[string]struct {
		lines    []string
		problems []string
		kept     []string // number, number of the one before, body of the request
	}{
		"one damaged": {[]string{"x", a(2), tail(2)}, []string{"line 2"}, []string{"1 after 0: {}"}},
		"two damaged, one missing": {[]string{a(1), "x", "x", a(4), a(6), tail(6)}, []string{"line 3", "line 4", "line 6: /n is 6 after 4"},
			[]string{"1 after 0: {}", "2 after 1: {}", "3 after 2: {}"}},
		"a part damaged, an interaction missing": {[]string{"x", model(1, 1), a(3), tail(3)}, []string{"line 2", "line 4: /n is 3 after 1"},
			[]string{`1 after 0: {"messages":[null]}`, "2 after 1: {}"}},
		"after one that is lost": {[]string{a(1), "x", a(3), after(a(4), 2), tail(4)}, []string{"line 3"},
			[]string{"1 after 0: {}", "2 after 1: {}", "3 after 1: {}"}},
		"out of order": {[]string{a(3), a(1), after(a(2), 1), tail(3)}, []string{"line 2: /n is 3 after 0", "line 3: /n is 1 after 3"},
			[]string{"1 after 0: {}", "2 after 0: {}", "3 after 1: {}"}},
		"before the one that it follows": {[]string{after(a(2), 1), a(1), tail(2)}, []string{"line 2: /n is 2 after 0", "line 3: /n is 1 after 2"},
			[]string{"1 after 0: {}", "2 after 0: {}"}},
		"a list of several": {[]string{`{"part":1,"value":{"a":1}}`, model(1, 1), `{"part":2,"value":{"b":1}}`, model(2, 2), `{"part":3,"after":2,"value":{"b":2}}`,
			model(3, 3), "x", model(4, 4), tail(4)}, []string{"line 8"}, []string{`1 after 0: {"messages":[{"a":1}]}`, `2 after 1: {"messages":[{"b":1}]}`,
			`3 after 2: {"messages":[{"b":1},{"b":2}]}`, `4 after 3: {"messages":[null]}`}},
	} {
		tape, err := load(t, head+"\n"+strings.Join(tt.lines, "\n")+"\n")
		e, ok := errors.AsType[*cassette.Error](err)
		if !ok || tape == nil || len(e.Problems) != len(tt.problems) {
			t.Errorf("%s: %v, want %d problems", name, err, len(tt.problems))
			continue
		}
		mustContain(t, err.Error(), tt.problems...)
		var kept []string
		for n := range tape.Interactions {
			i := &tape.Interactions[n]
			kept = append(kept, fmt.Sprintf("%d after %d: %s", i.Number, i.After, tape.RequestBody(i)))
		}
		if !slices.Equal(kept, tt.kept) {
			t.Errorf("%s: kept %q, want %q", name, kept, tt.kept)
		}
		encoded, err := tape.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := load(t, string(encoded)); err != nil {
			t.Errorf("%s: written again: %v", name, err)
		}
	}
}

// load reads a tape with this text.
func load(t *testing.T, text string) (*cassette.Tape, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "run.jsonl")
	write(t, path, text)
	return cassette.Load(path)
}

func TestReadLimits(t *testing.T) {
	var many, parts strings.Builder
	many.WriteString(head + "\n")
	parts.WriteString(head + "\n")
	for n := 1; n <= 100_001; n++ {
		fmt.Fprintf(&parts, `{"part":%d,"value":1}`+"\n", n)
		fmt.Fprintf(&many, `{"n":%d,"kind":"trace","name":"x","status":200}`+"\n", n)
	}
	large := head + "\n" + strings.Repeat(strings.Repeat(" ", 15<<20)+"\n", 5)
	for _, tt := range []struct {
		text, want string
		code       toolwire.Code
	}{
		{large, "the tape has more than 67108864 bytes", toolwire.CodeLimit},
		{many.String(), "line 100002: the tape has more than 100000 interactions", "invalid_tape"},
		{parts.String(), "line 100002: the tape has more than 100000 parts", "invalid_tape"},
	} {
		if _, err := load(t, tt.text); toolwire.CodeOf(err) != tt.code || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v, want %s: %s", err, tt.code, tt.want)
		}
	}
	// The number of a part is not a size, however many lines were not read.
	unread, _ := load(t, head+strings.Repeat("\nx", 100_001)+"\n"+`{"part":400000,"value":1}`+"\n")
	if encoded, err := unread.Encode(); err != nil || bytes.Count(encoded, []byte("\n")) > 100_002 {
		t.Errorf("%v, %d lines", err, bytes.Count(encoded, []byte("\n")))
	}
	// An endless line is not read to its end.
	path := filepath.Join(t.TempDir(), "run.jsonl")
	write(t, path, head+"\n"+strings.Repeat("x", 17<<20))
	if _, err := cassette.Load(path); err == nil || !strings.Contains(err.Error(), "16777216 bytes") {
		t.Error(err)
	}
}

func TestProblemsAreBounded(t *testing.T) {
	_, err := load(t, head+"\n"+strings.Repeat("x\n", 500))
	if e, ok := errors.AsType[*cassette.Error](err); !ok || len(e.Problems) != 100 {
		t.Errorf("%d problems, want 100", len(e.Problems))
	}
}

func TestLoadErrors(t *testing.T) {
	_, err := cassette.Load(filepath.Join(t.TempDir(), "none.jsonl"))
	if toolwire.CodeOf(err) != "no_tape" || !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	_, err = cassette.Load(t.TempDir())
	if toolwire.CodeOf(err) != toolwire.CodeUnreadable {
		t.Error(err)
	}
}

// What is written can be read, and is the same.
func TestEncode(t *testing.T) {
	text := strings.ReplaceAll(readFile(t, recorded), "\r\n", "\n") // as a checkout may have it
	text = strings.Replace(text, `"cassette":1`, `"cassette":2`, 1) // the version that this release writes
	tape := loaded(t, recorded)
	encoded, err := tape.Encode()
	if err != nil || string(encoded) != text {
		t.Errorf("%v\n%s\nwant\n%s", err, encoded, text)
	}
	if tape.Task.Instruction != "Refund what was shipped." || string(tape.Task.Input) != `{"customer":"Ada"}` ||
		len(tape.Task.Tools) != 3 {
		t.Errorf("header %+v", tape.Task)
	}
	for i, interaction := range tape.Interactions {
		if interaction.Line != i+2 || interaction.Number != i+1 {
			t.Errorf("interaction %d: number %d, line %d", i, interaction.Number, interaction.Line)
		}
	}
	tape.Interactions[1].Arguments = []byte(`{`)
	if _, err := tape.Encode(); toolwire.CodeOf(err) != "unwritable" {
		t.Errorf("%v, want an error about JSON", err)
	}
}

func FuzzLoad(f *testing.F) {
	text, err := os.ReadFile(recorded)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(head + "\n" + tail(0)))
	f.Add([]byte(fmt.Sprintf("%s\n%s\n%s\n", head, call(1, "a", `{"a":[1,2,{"b":1e5}]}`, `"x"`), tail(1))))
	f.Add(text[:len(text)/2])
	f.Add([]byte(call(1, "a", `{"a":[1,2,{"b":1e5}]}`, `"x"`)))
	f.Add([]byte(head + "\n" + `{"part":1,"value":{"role":"user"}}` + "\n" + `{"part":2,"after":1,"as":1}` + "\n" +
		`{"n":1,"kind":"model","name":"…/messages","arguments":{"model":"m"},"status":200,"answer_text":"x","values":{"system":1},` +
		`"lists":{"messages":2}}` + "\n" + tail(1)))
	path := filepath.Join(f.TempDir(), "run.jsonl")
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		cost.Linear(t, "Load", data, cost.Lines(head, data), func(doc []byte) {
			if err := os.WriteFile(path+"-long", doc, 0o600); err != nil {
				t.Fatal(err)
			}
			if tape, err := cassette.Load(path + "-long"); err != nil {
				_ = err.Error()
			} else if _, err := tape.Encode(); err != nil {
				t.Fatal(err)
			}
		})
		tape, err := cassette.Load(path)
		if err != nil {
			if e, ok := errors.AsType[*cassette.Error](err); !ok || len(e.Problems) == 0 || e.Problems[0].Code == "" || err.Error() == "" {
				t.Fatalf("error %#v", err)
			}
			if tape == nil && toolwire.CodeOf(err) == "truncated_tape" {
				t.Fatalf("no tape with the error %v", err)
			}
		}
		if tape == nil {
			return
		}
		encoded, err := tape.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, encoded, 0o600); err != nil {
			t.Fatal(err)
		}
		again, err := cassette.Load(path)
		if err != nil {
			t.Fatalf("%v in\n%s", err, encoded)
		}
		if twice, err := again.Encode(); err != nil || !bytes.Equal(encoded, twice) {
			t.Fatalf("%v\n%s\n%s", err, encoded, twice)
		}
		c, err := cassette.New(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		_ = c.Report().String()
	})
}

func TestThePrintedError(t *testing.T) {
	_, err := cassette.New("", nil)
	if want := "cassette: invalid_options: the path of the tape is empty [option]"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
