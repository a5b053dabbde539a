package manifest_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/manifest"
)

// absProgram is an absolute path on this system. It does not have to exist.
var absProgram = map[bool]string{false: "/usr/bin/env", true: `C:\bin\env.exe`}[runtime.GOOS == "windows"]

// one returns a manifest with one tool that has a valid name, a valid program and the given
// members.
func one(members string) string {
	return `{"tools":[{"name":"n","command":[` + quote(absProgram) + `],` + members + `}]}`
}

func command(program string) string {
	return `{"tools":[{"name":"n","command":[` + quote(program) + `]}]}`
}

func quote(s string) string {
	q, _ := json.Marshal(s)
	return string(q)
}

func parse(doc string) (*manifest.Manifest, error) {
	return manifest.Parse([]byte(doc), &manifest.Options{Dir: "base"})
}

// The messages of the document, word for word, and the messages of further rules.
func TestMessages(t *testing.T) {
	for _, tt := range []struct {
		name, doc string
		want      []string // all lines of the error
	}{
		{"no name", `{"tools":[{"command":["x"]}]}`, []string{
			`tool[0]: name is required`,
			`tool[0]: relative command[0] must start with ./tools/bin/ (got "x"); put the program into that folder, or write its absolute path`}},
		{"empty name", `{"tools":[{"name":"","command":["/x"]}]}`, []string{`tool[0]: name is required`}},
		{"null name", `{"tools":[{"name":null,"command":["/x"]}]}`, []string{`tool[0]: name is required`}},
		{"null tool", `{"tools":[null]}`,
			[]string{`tool[0]: name is required`, `tool[0]: command must have at least program name`}},
		{"second without name", `{"tools":[{"name":"a","command":["/x"]},{"command":["/x"]}]}`,
			[]string{`tool[1]: name is required`}},
		{"duplicate", `{"tools":[{"name":"a","command":["/x"]},{"name":"b","command":["/x"]},{"name":"a","command":["/x"]}]}`,
			[]string{`tool[2] "a": duplicate name`}},
		{"duplicate before command", `{"tools":[{"name":"a","command":["/x"]},{"name":"a","command":[]}]}`,
			[]string{`tool[1] "a": duplicate name`, `tool[1] "a": command must have at least program name`}},
		{"no command", `{"tools":[{"name":"a"}]}`, []string{`tool[0] "a": command must have at least program name`}},
		{"misspelled command", `{"tools":[{"name":"a","comand":["/x"]},{"name":"b","command":["/x"],"note":1}],"more":1}`, []string{
			`tool[0] "a": command must have at least program name`,
			`tool[0] "a": unknown member "comand" is ignored (known: name, description, schema, command, timeoutSec, envPassthrough)`,
			`tool[1] "b": unknown member "note" is ignored (known: name, description, schema, command, timeoutSec, envPassthrough)`}},
		{"misspelled command of the first of two", `{"tools":[{"name":"a","comand":["/x"]},{"name":"b"}]}`, []string{
			`tool[0] "a": command must have at least program name`,
			`tool[0] "a": unknown member "comand" is ignored (known: name, description, schema, command, timeoutSec, envPassthrough)`,
			`tool[1] "b": command must have at least program name`}},
		{"empty command", `{"tools":[{"name":"a","command":[]}]}`,
			[]string{`tool[0] "a": command must have at least program name`}},
		{"null command", `{"tools":[{"name":"a","command":null}]}`,
			[]string{`tool[0] "a": command must have at least program name`}},
		{"name is quoted", `{"tools":[{"name":"a\"b","command":[]}]}`,
			[]string{`tool[0] "a\"b": command must have at least program name`}},

		{"env with white space", one(`"envPassthrough":["TZ"," TZ","TZ\n"]`), []string{
			`tool[0] "n": envPassthrough[1]: invalid name " TZ" (must match [A-Z_][A-Z0-9_]*)`,
			`tool[0] "n": envPassthrough[2]: invalid name "TZ\n" (must match [A-Z_][A-Z0-9_]*)`}},
		{"blank env", one(`"envPassthrough":["TZ","  "]`), []string{`tool[0] "n": envPassthrough[1]: empty name`}},
		{"env", one(`"envPassthrough":["1BAD","GOOD","OAI-API-KEY"]`), []string{
			`tool[0] "n": envPassthrough[0]: invalid name "1BAD" (must match [A-Z_][A-Z0-9_]*)`,
			`tool[0] "n": envPassthrough[2]: invalid name "OAI-API-KEY" (must match [A-Z_][A-Z0-9_]*)`}},
		{"env as written", one(`"envPassthrough":[" a=b "]`), []string{
			`tool[0] "n": envPassthrough[0]: invalid name " a=b " (must match [A-Z_][A-Z0-9_]*)`}},
		{"env is ASCII", one(`"envPassthrough":["ſecret","straße","ÄB"]`), []string{
			`tool[0] "n": envPassthrough[0]: invalid name "ſecret" (must match [A-Z_][A-Z0-9_]*)`,
			`tool[0] "n": envPassthrough[1]: invalid name "straße" (must match [A-Z_][A-Z0-9_]*)`,
			`tool[0] "n": envPassthrough[2]: invalid name "ÄB" (must match [A-Z_][A-Z0-9_]*)`}},

		{"escape", command("./tools/bin/../hack"), []string{
			`tool[0] "n": command[0] escapes ./tools/bin after normalization (got "./tools/bin/../hack" -> "./tools/hack")`}},
		{"the folder", command("./tools/bin"), []string{
			`tool[0] "n": relative command[0] must start with ./tools/bin/ (got "./tools/bin"); put the program into that folder, or write its absolute path`}},
		{"the folder, with more", command("./tools/bin/"), []string{
			`tool[0] "n": command[0] escapes ./tools/bin after normalization (got "./tools/bin/" -> "./tools/bin")`}},
		{"upward", command("../tools/bin/get_time"), []string{
			`tool[0] "n": command[0] must not start with '..' or escape tools/bin (got "../tools/bin/get_time")`}},
		{"outside", command("python3"), []string{
			`tool[0] "n": relative command[0] must start with ./tools/bin/ (got "python3"); put the program into that folder, or write its absolute path`}},

		{"timeout below 0", one(`"timeoutSec":-1`),
			[]string{`tool[0] "n": timeoutSec must not be negative; leave it out, or write 0, for the default`}},
		{"timeout fraction", one(`"timeoutSec":1.5`),
			[]string{`tool[0] "n": timeoutSec must be a whole number of seconds, without fraction or exponent`}},
		{"timeout exponent", one(`"timeoutSec":1e1`),
			[]string{`tool[0] "n": timeoutSec must be a whole number of seconds, without fraction or exponent`}},
		{"timeout string", one(`"timeoutSec":"5"`),
			[]string{`tool[0] "n": timeoutSec must be a whole number of seconds, not a string`}},
		{"timeout overflow", one(`"timeoutSec":9223372037`), []string{`tool[0] "n": timeoutSec must be at most 31536000`}},
		{"timeout huge", one(`"timeoutSec":99999999999999999999`),
			[]string{`tool[0] "n": timeoutSec must be at most 31536000`}},

		{"schema string", one(`"schema":"object"`),
			[]string{`tool[0] "n": schema must be a JSON Schema for an object, not a string`}},
		{"schema array", one(`"schema":[]`),
			[]string{`tool[0] "n": schema must be a JSON Schema for an object, not an array`}},
		{"schema true", one(`"schema":true`),
			[]string{`tool[0] "n": schema must be a JSON Schema for an object, not a boolean`}},

		{"tool is not an object", `{"tools":["a",{"name":"b"}]}`, []string{
			`tool[0]: must be an object, not a string`, `tool[1] "b": command must have at least program name`}},
		{"name is not a string", `{"tools":[{"name":1,"command":["/x"]}]}`,
			[]string{`tool[0]: name must be a string, not a number`}},
		{"description is not a string", one(`"description":[]`),
			[]string{`tool[0] "n": description must be a string, not an array`}},
		{"command is not an array", `{"tools":[{"name":"a","command":"x"}]}`,
			[]string{`tool[0] "a": command must be an array of strings, not a string`}},
		{"command elements", `{"tools":[{"name":"a","command":["/x",1,null,"\u0000"]}]}`, []string{
			`tool[0] "a": command[1] must be a string, not a number`, `tool[0] "a": command[2] must be a string, not null`,
			`tool[0] "a": command[3] must not contain a NUL byte`}},
		{"env is not an array", one(`"envPassthrough":"TZ"`),
			[]string{`tool[0] "n": envPassthrough must be an array of strings, not a string`}},
		{"env elements", one(`"envPassthrough":[{},"1"]`), []string{
			`tool[0] "n": envPassthrough[0] must be a string, not an object`,
			`tool[0] "n": envPassthrough[1]: invalid name "1" (must match [A-Z_][A-Z0-9_]*)`}},
		{"other case", `{"tools":[{"NAME":"a","name":"b","Command":["/x"]}]}`, []string{
			`tool[0]: member "NAME" must be spelled "name"`, `tool[0]: member "Command" must be spelled "command"`,
			`tool[0] "b": command must have at least program name`}},

		{"all at once, in order", `{"tools":[
			{"name":"a","command":["echo"],"envPassthrough":["","9"],"timeoutSec":-5,"schema":[]},
			{"command":["/x"]},
			{"name":"a","command":["../x"],"envPassthrough":["ok"]}]}`, []string{
			`tool[0] "a": envPassthrough[0]: empty name`,
			`tool[0] "a": envPassthrough[1]: invalid name "9" (must match [A-Z_][A-Z0-9_]*)`,
			`tool[0] "a": relative command[0] must start with ./tools/bin/ (got "echo"); put the program into that folder, or write its absolute path`,
			`tool[0] "a": timeoutSec must not be negative; leave it out, or write 0, for the default`,
			`tool[0] "a": schema must be a JSON Schema for an object, not an array`,
			`tool[1]: name is required`,
			`tool[2] "a": duplicate name`,
			`tool[2] "a": command[0] must not start with '..' or escape tools/bin (got "../x")`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			doc := tt.doc
			if runtime.GOOS == "windows" {
				doc = strings.ReplaceAll(doc, `"/x"`, quote(absProgram))
			}
			m, err := parse(doc)
			e, ok := errors.AsType[*manifest.Error](err)
			if !ok || m != nil || e.Code != "invalid_manifest" {
				t.Fatalf("err = %v", err)
			}
			if got := strings.Split(e.Error(), "\n"); !slices.Equal(got, tt.want) {
				t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(tt.want, "\n  "))
			}
			for _, p := range e.Problems {
				index, _, _ := strings.Cut(strings.TrimPrefix(p.Pointer, "/tools/"), "/")
				if p.Code == "" || !strings.HasPrefix(p.Message, "tool["+index+"]") {
					t.Errorf("problem %+v", p)
				}
			}
		})
	}
}

func TestProblemsAreMachineReadable(t *testing.T) {
	_, err := parse(`{"tools":[{"name":"a","command":["../x"],"envPassthrough":["TZ","?"]}]}`)
	e, _ := errors.AsType[*manifest.Error](err)
	if e == nil || len(e.Problems) != 2 {
		t.Fatal(err)
	}
	if p := e.Problems[0]; p.Tool != "a" || p.Pointer != "/tools/0/envPassthrough/1" || p.Code != "env_name_invalid" {
		t.Errorf("%+v", p)
	}
	if p := e.Problems[1]; p.Pointer != "/tools/0/command/0" || p.Code != "program_leads_upward" {
		t.Errorf("%+v", p)
	}
}

func TestSchemas(t *testing.T) {
	for _, tt := range []struct{ name, schema, want string }{ // want "" means valid
		{"object", `{"type":"object","properties":{"a":{"type":"string"}}}`, ""},
		{"no type", `{"properties":{"a":{"type":"string"}}}`, ""},
		{"empty", `{}`, ""},
		{"list of one type", `{"type":["object"]}`, ""},
		{"type is a number", `{"type":5}`, `/type`},
		{"array", `{"type":"array"}`, `/type must be "object"`},
		{"several types", `{"type":["object","null"]}`, `/type must be "object"`},
		{"a reference to an object", `{"$ref":"#/$defs/a","$defs":{"a":{"type":"object"}}}`, ""},
		{"a reference to a string", `{"$ref":"#/$defs/a","$defs":{"a":{"type":"string"}}}`, `/$defs/a/type must be "object"`},
		{"a part that is a list", `{"allOf":[{"type":"object"},{"type":"array"}]}`, `/allOf/1/type must be "object"`},
		{"unknown type", `{"type":"object","properties":{"a":{"type":"strin"}}}`, `/properties/a/type`},
		{"broken reference", `{"type":"object","properties":{"a":{"$ref":"#/$defs/none"}}}`, `$ref`},
		{"required is not a list", `{"type":"object","required":"a"}`, `/required`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := parse(one(`"schema":` + tt.schema))
			if tt.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			e, ok := errors.AsType[*manifest.Error](err)
			if !ok || e.Code != "invalid_manifest" {
				t.Fatalf("err = %v", err)
			}
			prefix := `tool[0] "n": schema must be a `
			if !strings.HasPrefix(e.Error(), prefix) || !strings.Contains(e.Error(), tt.want) ||
				e.Problems[0].Code != "invalid_schema" {
				t.Errorf("got %q, want %q with %q", e, prefix, tt.want)
			}
		})
	}
}

func TestRootDocument(t *testing.T) {
	for _, tt := range []struct{ name, doc, want string }{ // want "" means valid without tools
		{"null", `null`, ""},
		{"empty object", `{}`, ""},
		{"null tools", `{"tools":null}`, ""},
		{"no tools", `{"tools":[]}`, ""},
		{"comment member", `{"$comment":"x","tools":[]}`, ""},
		{"empty file", ``, "parse manifest: line 1, column 1: ends before the JSON value is complete"},
		{"array", `[]`, "parse manifest: line 1, column 1: must be an object, not an array"},
		{"string", `"tools"`, "parse manifest: line 1, column 1: must be an object, not a string"},
		{"tools is an object", "{\n \"tools\": {}\n}",
			"parse manifest: line 2, column 11: /tools must be an array of tools, not an object"},
		{"trailing text", "{\"tools\":[]}\n x",
			"parse manifest: line 2, column 2: invalid character 'x' after top-level value"},
		{"two documents", `{}{}`, "parse manifest: line 1, column 3: invalid character '{' after top-level value"},
		{"byte order mark", "\ufeff{}",
			"parse manifest: line 1, column 1: the document starts with a byte order mark; save it as UTF-8 without one"},
		{"comma", "{\"tools\":[\n{\"name\":\"a\",}]}", "parse manifest: line 2, column 13: /tools/0 invalid character '}'"},
		{"cut off", `{"tools":[{"name":"a"`,
			"parse manifest: line 1, column 22: /tools/0 ends before the JSON value is complete"},
		{"comment", "{ // x\n}", "parse manifest: line 1, column 3: invalid character '/'"},
		{"another language", "tools:\n  - name: a\n", "parse manifest: line 1, column 2: invalid character 'o' in the literal true; " +
			"convert a document in another form, such as YAML, TOML or JavaScript, to JSON in UTF-8"},
		{"root member in other case", `{"Tools":[]}`,
			`parse manifest: line 1, column 2: /Tools is spelled "Tools" here; names are case-sensitive, it must be "tools"`},
		{"duplicate member", `{"tools":[{"name":"a","name":"b"}]}`,
			"parse manifest: line 1, column 23: /tools/0/name occurs twice in its object"},
		{"duplicate in a schema", `{"tools":[{"schema":{"type":"object","type":"array"}}]}`,
			"parse manifest: line 1, column 38: /tools/0/schema/type occurs twice in its object"},
		{"invalid UTF-8", "{\"tools\":[{\"name\":\"\xff\"}]}",
			"parse manifest: line 1, column 20: /tools/0/name has invalid UTF-8"},
		{"too deep", `{"tools":` + strings.Repeat("[", 5000),
			"parse manifest: line 1, column 265: is nested more than 256 levels deep"},
		{"too large", `{"x":"` + strings.Repeat("x", 4<<20) + `"}`,
			"parse manifest: the document is larger than 4194304 bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, err := parse(tt.doc)
			if tt.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				if list, _ := json.Marshal(m.Tools()); string(list) != "[]" {
					t.Errorf("tools = %s", list)
				}
				if lint := m.Lint(); lint[len(lint)-1].Code != "no_tools" {
					t.Errorf("lint = %v", lint)
				}
				return
			}
			e, ok := errors.AsType[*manifest.Error](err)
			code := toolwire.CodeInvalidJSON
			if tt.name == "too large" {
				code = toolwire.CodeLimit
			}
			if !ok || e.Code != code {
				t.Fatalf("err = %v", err)
			}
			if !strings.HasPrefix(e.Error(), tt.want) {
				t.Errorf("got  %s\nwant %s", e, tt.want)
			}
		})
	}
}

func TestProgramPaths(t *testing.T) {
	const (
		upward  = "program_leads_upward"
		escapes = "program_escapes_bin"
		outside = "program_outside_bin"
	)
	for _, tt := range []struct {
		declared      string
		unix, windows string // the clean path; "" means rejected
		code          string // of the problem
	}{
		{"/usr/bin/env", "/usr/bin/env", "", outside},
		{"./tools/bin/fs_read_file", "./tools/bin/fs_read_file", "./tools/bin/fs_read_file.exe", ""},
		{"./tools/bin/get_time.exe", "./tools/bin/get_time.exe", "./tools/bin/get_time.exe", ""},
		{"./tools/bin/run.cmd", "./tools/bin/run.cmd", "./tools/bin/run.cmd", ""},
		{"tools/bin/x", "", "", outside},
		{"././tools/bin/x", "", "", outside},
		{"x/../tools/bin/x", "", "", outside},
		{`tools\bin\x`, "", "", outside},
		{"./tools/bin/a/../b", "./tools/bin/b", "./tools/bin/b.exe", ""},
		{"./tools/bin/sub/x", "./tools/bin/sub/x", "./tools/bin/sub/x.exe", ""},
		{`.\tools\bin\fs_read_file`, "./tools/bin/fs_read_file", "./tools/bin/fs_read_file.exe", ""},
		{`.\tools/bin\sub\x.exe`, "./tools/bin/sub/x.exe", "./tools/bin/sub/x.exe", ""},
		{`C:\tools\bin\x.exe`, "", `C:\tools\bin\x.exe`, outside},
		{`c:/tools/bin/x.exe`, "", `c:/tools/bin/x.exe`, outside},
		{`\\server\share\x.exe`, "", `\\server\share\x.exe`, outside},
		{`C:tools\bin\x`, "", "", outside},
		{"echo", "", "", outside},
		{"", "", "", outside},
		{".", "", "", outside},
		{"tools", "", "", outside},
		{"tools/bin", "", "", outside},
		{"./TOOLS/BIN/x", "", "", outside},
		{"./tools/binx/y", "", "", outside},
		{"tools/bin/../hack", "", "", outside},
		{"../tools/bin/get_time", "", "", upward},
		{"..", "", "", upward},
		{`..\x`, "", "", upward},
		{"./tools/bin/../../../etc/passwd", "", "", escapes},
		{"./tools/bin/../hack", "", "", escapes},
		{"./tools/bin/../../hack", "", "", escapes},
		{"./tools/bin", "", "", outside},
		{"./tools/bin/", "", "", escapes},
		{`.\tools\bin\..\hack`, "", "", escapes},
	} {
		for _, windows := range []bool{false, true} {
			want := tt.unix
			if windows {
				want = tt.windows
			}
			clean, code, message := manifest.ProgramPath(tt.declared, windows)
			if clean != want || (want == "") != (message != "") || want == "" && code != tt.code {
				t.Errorf("%q (windows %v) = %q, %s %q; want %q, %s", tt.declared, windows, clean, code, message, want, tt.code)
			}
		}
	}
}

// program returns the resolved program of the tool n.
func program(t *testing.T, m *manifest.Manifest, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	argv, _, _ := m.Resolved("n")
	return argv[0]
}

func TestProgramsResolveAgainstTheManifest(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	const doc = `{"tools":[{"name":"n","command":["./tools/bin/x.exe","fixed"]}]}`
	nested := filepath.Join(root, "a", "b")
	if err := os.MkdirAll(nested, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(nested, "tools.json"), []byte(doc), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Join(root, "a"))
	want := filepath.Join(nested, "tools", "bin", "x.exe")

	m, err := manifest.Load(filepath.Join("b", "tools.json"), nil)
	if got := program(t, m, err); got != want {
		t.Errorf("relative manifest: %s, want %s", got, want)
	}
	t.Chdir(root)
	if got := program(t, m, nil); got != want {
		t.Errorf("after chdir: %s, want %s", got, want)
	}
	if argv, workDir, _ := m.Resolved("n"); workDir != nested || argv[1] != "fixed" {
		t.Errorf("working directory %s, want the manifest's folder; argv %q", workDir, argv)
	}
	m, err = manifest.Load(filepath.Join(nested, "tools.json"), nil)
	if got := program(t, m, err); got != want {
		t.Errorf("absolute manifest: %s, want %s", got, want)
	}
	m, err = manifest.Load(filepath.Join("a", "b", "tools.json"), &manifest.Options{Dir: "elsewhere", WorkDir: "work"})
	if got := program(t, m, err); got != filepath.Join(root, "elsewhere", "tools", "bin", "x.exe") {
		t.Errorf("with Options.Dir: %s", got)
	}
	if _, workDir, _ := m.Resolved("n"); workDir != filepath.Join(root, "work") {
		t.Errorf("working directory %s", workDir)
	}
	m, err = manifest.Parse([]byte(doc), &manifest.Options{Dir: filepath.Join("a", "b")})
	if got := program(t, m, err); got != want {
		t.Errorf("Parse: %s, want %s", got, want)
	}

	_, err = manifest.Parse([]byte(doc), nil)
	if err == nil || !strings.HasPrefix(err.Error(), `tool[0] "n": resolve command[0]: `) ||
		!strings.Contains(err.Error(), "Options.Dir") {
		t.Errorf("without a folder: %v", err)
	}
	m, err = manifest.Parse([]byte(command(absProgram)), nil)
	if got := program(t, m, err); got != absProgram {
		t.Errorf("an absolute program needs no folder: %s", got)
	}
	if _, workDir, _ := m.Resolved("n"); workDir != root {
		t.Errorf("working directory %s, want the working directory of the process, %s", workDir, root)
	}
}

func TestReadErrors(t *testing.T) {
	dir := t.TempDir()
	_, err := manifest.Load(filepath.Join(dir, "none.json"), nil)
	if code(t, err) != toolwire.CodeUnreadable || !errors.Is(err, os.ErrNotExist) ||
		!strings.HasPrefix(err.Error(), "read manifest: open ") {
		t.Errorf("missing: %v", err)
	}
	_, err = manifest.Load(dir, nil)
	if code(t, err) != toolwire.CodeUnreadable || !strings.HasPrefix(err.Error(), "read manifest: ") {
		t.Errorf("a folder: %v", err)
	}
	file := filepath.Join(dir, "tools.json")
	for content, want := range map[string]string{
		`{"tools":[{"name":"a"},{"name":"b"}]}`: file + `: tool[0] "a": command must have at least program name` + "\n" +
			file + `: tool[1] "b": command must have at least program name`,
		`{"tools":`: file + ": ",
	} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := manifest.Load(file, nil); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", content, err, want)
		}
	}
}

func TestOptionsReportAllMistakes(t *testing.T) {
	_, err := manifest.Parse([]byte(`{}`), &manifest.Options{
		Timeout: -1, Grace: -1, MaxStdout: -1, MaxParallel: -1, Output: 7})
	e, ok := errors.AsType[*manifest.Error](err)
	if !ok || e.Code != toolwire.CodeInvalidOptions {
		t.Fatalf("err = %v", err)
	}
	var fields []string
	for _, p := range e.Problems {
		field, _, _ := strings.Cut(p.Message, " ")
		fields = append(fields, field)
		if p.Code != "invalid_option" || p.Pointer != "" || p.Tool != "" {
			t.Errorf("%+v", p)
		}
	}
	if want := []string{"Options.Timeout", "Options.Grace", "Options.MaxStdout", "Options.MaxParallel",
		"Options.Output"}; !slices.Equal(fields, want) {
		t.Errorf("fields %v, want %v:\n%v", fields, want, err)
	}
}

func TestOptionsAreCopied(t *testing.T) {
	o := &manifest.Options{Timeout: 7 * time.Second}
	m, err := manifest.Parse([]byte(command(absProgram)), o)
	if err != nil {
		t.Fatal(err)
	}
	o.Timeout = time.Second
	if _, _, timeout := m.Resolved("n"); timeout != 7*time.Second {
		t.Errorf("timeout %v", timeout)
	}
	if o.MaxStdout != 0 {
		t.Error("the caller's options were changed")
	}
}

func TestTimeouts(t *testing.T) {
	for member, want := range map[string]time.Duration{
		`"timeoutSec":5`: 5 * time.Second, `"timeoutSec":0`: 30 * time.Second, `"timeoutSec":null`: 30 * time.Second,
		`"timeoutSec":-0`: 30 * time.Second, `"timeoutSec":31536000`: 365 * 24 * time.Hour,
		`"description":"none"`: 30 * time.Second,
	} {
		m, err := parse(one(member))
		if err != nil {
			t.Errorf("%s: %v", member, err)
			continue
		}
		if _, _, timeout := m.Resolved("n"); timeout != want {
			t.Errorf("%s: %v, want %v", member, timeout, want)
		}
	}
}

func TestNamesAreCaseSensitiveAndFree(t *testing.T) {
	m, err := manifest.Parse(document(entry{"name": "a", "command": []string{absProgram}},
		entry{"name": "A", "command": []string{absProgram}},
		entry{"name": " a b/c ", "command": []string{absProgram}},
		entry{"name": "0-_" + strings.Repeat("z", 61), "command": []string{absProgram}},
		entry{"name": strings.Repeat("z", 65), "command": []string{absProgram}}), nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range m.Lint() {
		got = append(got, p.Code+" "+p.Pointer)
	}
	if want := []string{"name_refused_by_models /tools/2/name", "name_refused_by_models /tools/4/name"}; !slices.Equal(got, want) {
		t.Errorf("lint = %q", got)
	}
}

// What is wrong inside a schema stands where its author finds it. A tool without a schema has none.
func TestLintOfSchemas(t *testing.T) {
	m, err := manifest.Parse([]byte(`{"tools":[{"name":"a","command":[`+quote(absProgram)+`]},{"name":"b","command":[`+quote(absProgram)+`],"schema":{"type":"object",
		"properties":{"n":{"description":"d","type":"number","minimum":0,"exclusiveMinimum":true,"maximun":5},"p":{"description":"d","pattern":"a(?=b)"}}}}]}`),
		&manifest.Options{AllowUnchecked: true})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range m.Lint() {
		got = append(got, p.Tool+" "+p.Code+" "+p.Pointer)
		if !strings.HasPrefix(p.Message, `tool[1] "b": schema/properties/`) {
			t.Error(p.Message)
		}
	}
	if want := []string{"b schema_pattern_unsupported /tools/1/schema/properties/p/pattern", "b schema_old_form /tools/1/schema/properties/n/exclusiveMinimum",
		"b keyword_misspelt /tools/1/schema/properties/n/maximun"}; !slices.Equal(got, want) {
		t.Errorf("lint = %q", got)
	}
}

func TestLintReportsUnknownMembers(t *testing.T) {
	m, err := parse(`{"version":1,"tools":[{"name":"n","command":[` + quote(absProgram) + `],"timeout":5,"x\n":{"a":1}}]}`)
	if err != nil {
		t.Fatal(err)
	}
	var got, places []string
	for _, p := range m.Lint() {
		got, places = append(got, p.Message), append(places, p.Pointer)
	}
	if want := []string{"/version", "/tools/0/timeout", "/tools/0/x\n"}; !slices.Equal(places, want) {
		t.Errorf("pointers %q, want %q", places, want)
	}
	want := []string{
		`unknown member "version" is ignored (known: tools)`,
		`tool[0] "n": unknown member "timeout" is ignored (known: name, description, schema, command, timeoutSec, envPassthrough)`,
		`tool[0] "n": unknown member "x\n" is ignored (known: name, description, schema, command, timeoutSec, envPassthrough)`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestParseKeepsNothingOfTheDocument(t *testing.T) {
	doc := []byte(one(`"schema":{"type":"object"}`))
	m, err := manifest.Parse(doc, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range doc {
		doc[i] = 'x'
	}
	if got, err := json.Marshal(m.Tools()); err != nil || !strings.Contains(string(got), `{"type":"object"}`) {
		t.Errorf("%s, %v", got, err)
	}
	m.Tools()[0].InputSchema[0] = 'x'
	if _, err := json.Marshal(m.Tools()); err != nil {
		t.Errorf("a caller changed the manifest: %v", err)
	}
}

// What older drafts wrote otherwise is read completely, so it is accepted, and so is "nullable", which
// lets nothing through. A schema that says nothing is accepted only on request.
func TestSchemasThatAreReadOtherwise(t *testing.T) {
	m, err := parse(one(`"schema":{"type":"object","properties":{"at":{"items":[{"type":"number"},{"type":"number"}],"title":1},
		"by":{"type":"string","nullable":true}},"required":null}`))
	if err != nil {
		t.Fatal(err)
	}
	for arguments, wrong := range map[string]bool{`{"at":[1,2]}`: false, `{}`: false, `{"at":[1,"2"]}`: true, `{"by":null}`: true} {
		_, err := m.Call(t.Context(), "n", json.RawMessage(arguments))
		if refused := toolwire.CodeOf(err) == toolwire.CodeInvalidArguments; refused != wrong {
			t.Errorf("%s: %v", arguments, err)
		}
	}
	wrapped := one(`"schema":{"schema":{"type":"object","properties":{"at":{"type":"number"}}}}`)
	_, err = parse(wrapped)
	e, ok := errors.AsType[*manifest.Error](err)
	if !ok || len(e.Problems) != 1 || e.Problems[0].Code != "unchecked_schema" || e.Problems[0].Pointer != "/tools/0/schema" ||
		!strings.Contains(err.Error(), "Options.AllowUnchecked") {
		t.Errorf("got %v", err)
	}
	if _, err := manifest.Parse([]byte(wrapped), &manifest.Options{AllowUnchecked: true}); err != nil {
		t.Error(err)
	}
}

// A schema that cannot be checked completely is accepted only on request. What can be checked still
// is.
func TestUncheckedSchemas(t *testing.T) {
	doc := one(`"schema":{"type":"object","properties":{"password":{"pattern":"^.(?=.*[0-9]).{7,}$"},"n":{"type":"integer"}}}`)
	_, err := parse(doc)
	e, ok := errors.AsType[*manifest.Error](err)
	if !ok || len(e.Problems) != 1 || e.Problems[0].Code != "unchecked_schema" ||
		e.Problems[0].Pointer != "/tools/0/schema/properties/password/pattern" ||
		!strings.Contains(err.Error(), "Options.AllowUnchecked") {
		t.Errorf("got %v", err)
	}
	for _, schema := range []string{`{"properties":{"a":{"$ref":"https://example.com/a"}}}`,
		`{"properties":{"a":{"pattern":"("}}}`} {
		if _, err := parse(one(`"schema":` + schema)); err == nil ||
			!strings.Contains(err.Error(), "cannot be checked completely: /properties/a/") {
			t.Errorf("%s: %v", schema, err)
		}
	}
	m, err := manifest.Parse([]byte(doc), &manifest.Options{AllowUnchecked: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Call(t.Context(), "n",
		json.RawMessage(`{"password":"secret","n":"7"}`)); toolwire.CodeOf(err) != toolwire.CodeInvalidArguments {
		t.Errorf("the rest of the schema is not checked: %v", err)
	}
	if _, err := m.Call(t.Context(), "n",
		json.RawMessage(`{"password":"secret","n":7}`)); toolwire.CodeOf(err) == toolwire.CodeInvalidArguments {
		t.Errorf("the pattern is checked: %v", err)
	}
}
