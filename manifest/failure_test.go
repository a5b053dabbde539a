package manifest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/manifest"
)

func TestOutput(t *testing.T) {
	const invalid = `{"error":"tool output is not a single line of JSON"}`
	for _, tt := range []struct {
		name    string
		format  manifest.OutputFormat
		stdout  string
		output  string // "" means toolwire.CodeBadResponse
		message string
	}{
		{"object", manifest.SingleLineJSON, `{"a":1}` + "\n", `{"a":1}`, `{"a":1}`},
		{"no line end", manifest.SingleLineJSON, `{"a":1}`, `{"a":1}`, `{"a":1}`},
		{"Windows line end", manifest.SingleLineJSON, "[1]\r\n", `[1]`, `[1]`},
		{"space is kept inside", manifest.SingleLineJSON, "  {\"a\": \"b\\tc  d\"} \n\n", `{"a": "b\tc  d"}`,
			`{"a": "b\tc  d"}`},
		{"string", manifest.SingleLineJSON, `"x"`, `"x"`, `"x"`},
		{"null", manifest.SingleLineJSON, "null\n", `null`, `null`},
		{"digits are kept", manifest.SingleLineJSON, `12345678901234567890.10`, `12345678901234567890.10`,
			`12345678901234567890.10`},
		{"nothing", manifest.SingleLineJSON, "", `{}`, `{}`},
		{"blank", manifest.SingleLineJSON, " \n\n", `{}`, `{}`},
		{"text", manifest.SingleLineJSON, "done\n", "", invalid},
		{"several lines", manifest.SingleLineJSON, "{\n\"a\":1}\n", "", invalid},
		{"two values", manifest.SingleLineJSON, "{}\n{}\n", "", invalid},
		{"log line first", manifest.SingleLineJSON, "starting\n{}\n", "", invalid},
		{"cut off", manifest.SingleLineJSON, `{"a":`, "", invalid},
		{"duplicate member", manifest.SingleLineJSON, `{"a":1,"a":2}`, `{"a":1,"a":2}`, `{"a":1,"a":2}`},
		{"half of a surrogate pair", manifest.SingleLineJSON, `{"a":"\ud83d"}`, `{"a":"\ud83d"}`, `{"a":"\ud83d"}`},
		{"invalid UTF-8", manifest.SingleLineJSON, "\"\xff\"", "", invalid},
		{"NaN", manifest.SingleLineJSON, "NaN", "", invalid},

		{"any: several lines", manifest.AnyJSON, "{\n  \"a\": 1\n}\n", "{\n  \"a\": 1\n}", "{\n  \"a\": 1\n}"},
		{"any: text", manifest.AnyJSON, "done", "", `{"error":"tool output is not JSON"}`},
		{"any: nothing", manifest.AnyJSON, "", `{}`, `{}`},

		{"text: text", manifest.Text, "two  words\nand \"more\"\n", `"two  words\nand \"more\""`,
			`"two  words\nand \"more\""`},
		{"text: JSON is text too", manifest.Text, `{"a":1}`, `"{\"a\":1}"`, `"{\"a\":1}"`},
		{"text: invalid UTF-8", manifest.Text, "a\xffb", "\"a\ufffdb\"", "\"a\ufffdb\""},
		{"text: nothing", manifest.Text, "\n", `""`, `""`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := run(t, tool("say", printable(tt.stdout), "", "0"), nil, &manifest.Options{Output: tt.format})
			if got := shown(r); got != tt.message {
				t.Errorf("message %s, want %s", got, tt.message)
			}
			if string(r.Stdout) != tt.stdout || r.ExitCode != 0 {
				t.Errorf("stdout %q, exit %d", r.Stdout, r.ExitCode)
			}
			if tt.output == "" {
				if code(t, r.Err) != toolwire.CodeBadResponse || r.Output != nil {
					t.Errorf("output %s, err %v", r.Output, r.Err)
				}
				return
			}
			if r.Err != nil || string(r.Output) != tt.output {
				t.Errorf("output %s, err %v", r.Output, r.Err)
			}
		})
	}
}

// The error names what other languages print in place of JSON, and where, and fits the format.
func TestOutputOfOtherLanguages(t *testing.T) {
	for _, tt := range []struct {
		format       manifest.OutputFormat
		stdout, want string
	}{
		{manifest.SingleLineJSON, `{"score": NaN}`, "byte 10: NaN, which JSON does not have"},
		{manifest.SingleLineJSON, `[1,-Infinity]`, "byte 4: Infinity, which JSON does not have"},
		{manifest.SingleLineJSON, `{'a': 1}`, "byte 1: a single quote; JSON has double quotes"},
		{manifest.SingleLineJSON, `{"a": True}`, "True of Python"},
		{manifest.SingleLineJSON, "\xef\xbb\xbf{}", "byte 0: a byte order mark"},
		{manifest.SingleLineJSON, "{\"a\":\"\xe9\"}", "not UTF-8"},
		{manifest.SingleLineJSON, "Pattern: secret\n{}", "(byte 0); print exactly one line of JSON to stdout and everything else to stderr"},
		{manifest.AnyJSON, "Pattern: secret\n{}", "(byte 0); print one JSON value to stdout and everything else to stderr"},
	} {
		file := filepath.Join(t.TempDir(), "output")
		if err := os.WriteFile(file, []byte(tt.stdout), 0o600); err != nil {
			t.Fatal(err)
		}
		r := run(t, tool("show", file), nil, &manifest.Options{Output: tt.format})
		if code(t, r.Err) != toolwire.CodeBadResponse || !strings.Contains(r.Err.Error(), tt.want) || strings.Contains(r.Err.Error(), "secret") {
			t.Errorf("%q: %v, want %s", tt.stdout, r.Err, tt.want)
		}
	}
}

// Neither the number of values nor the length of numbers is limited, except by MaxStdout.
func TestLargeOutputIsValid(t *testing.T) {
	options := &manifest.Options{MaxStdout: 2 << 20}
	for name, value := range map[string]string{
		"more than 500,000 values": "[" + strings.Repeat("1,", 600_000) + "1]",
		"a number of 70 digits":    `{"n":` + strings.Repeat("1", 70) + `}`,
	} {
		file := filepath.Join(t.TempDir(), "value")
		if err := os.WriteFile(file, []byte(value), 0o600); err != nil {
			t.Fatal(err)
		}
		if r := run(t, tool("show", file), nil, options); r.Err != nil || string(r.Output) != value {
			t.Errorf("%s: %d bytes, err %v", name, len(r.Output), r.Err)
		}
	}
}

// The nesting of output is limited, and the error does not call deep output invalid.
func TestOutputLimits(t *testing.T) {
	deep := strings.Repeat("[", 300) + strings.Repeat("]", 300)
	r := run(t, tool("say", deep, "", "0"), nil, nil)
	if code(t, r.Err) != toolwire.CodeBadResponse || strings.Contains(r.Err.Error(), "not valid") ||
		!strings.Contains(r.Err.Error(), "nested more than 256 levels deep") {
		t.Errorf("err %v", r.Err)
	}
	if got := shown(r); got != `{"error":"tool output is nested too deeply"}` {
		t.Errorf("message %s", got)
	}
}

func TestFailureText(t *testing.T) {
	long := strings.Repeat("y", 1200)
	for _, tt := range []struct {
		name, stderr string
		want         string
	}{
		{"plain", "boom", `{"error":"boom"}`},
		{"trimmed", "\n boom \n\n", `{"error":"boom"}`},
		{"space inside is kept", "a  b\tc", `{"error":"a  b\tc"}`},
		{"quotes", `say "no" <now> & here`, `{"error":"say \"no\" <now> & here"}`},
		{"none", "", `{"error":"exit status 3"}`},
		{"blank", " \n", `{"error":"exit status 3"}`},
		{"documented form", `{"error":"x"}` + "\n", `{"error":"x"}`},
		{"with hint", `{"error":"no such zone","hint":"use Europe/Helsinki"}`,
			`{"error":"no such zone","hint":"use Europe/Helsinki"}`},
		{"unwrapped only once", `{"error":"{\"error\":\"x\"}"}`, `{"error":"{\"error\":\"x\"}"}`},
		{"structured error", `{"error":{"code":"TIMEOUT", "message":"m"}}`, `{"error":{"code":"TIMEOUT","message":"m"}}`},
		{"object of another form", "{\n\"code\":\"TIMEOUT\",\"message\":\"m\"}",
			`{"error":{"code":"TIMEOUT","message":"m"}}`},
		{"JSON string", `"boom"`, `{"error":"boom"}`},
		{"empty error", `{"error":""}`, `{"error":"exit status 3"}`},
		{"null error", `{"error":null}`, `{"error":"exit status 3"}`},
		{"number", `42`, `{"error":"42"}`},
		{"broken JSON", `{"error":"x"`, `{"error":"{\"error\":\"x\""}`},
		{"log first", "connecting\nretrying\n{\"error\":\"refused\",\"hint\":\"start it\"}\n",
			`{"error":"refused","hint":"start it"}`},
		{"a last line of JSON that is not an error", "failed:\n{\"a\":1}", `{"error":"failed:\n{\"a\":1}"}`},
		{"a last line whose member has another case", "failed:\n{\"Error\":\"x\"}", `{"error":"failed:\n{\"Error\":\"x\"}"}`},
		{"invalid UTF-8", "b\xffm", "{\"error\":\"b\ufffdm\"}"},
		{"large, with a message", `{"error":{"code":7,"message":"disk full","detail":"` + long + `"}}`,
			`{"error":"disk full"}`},
		{"large, with an error", `{"error":{"error":"disk full","detail":"` + long + `"}}`, `{"error":"disk full"}`},
		{"large, with a hint", `{"error":{"message":" ","error":"disk full","detail":"` + long + `"},"hint":"h"}`,
			`{"error":"disk full","hint":"h"}`},
		{"large hint", `{"error":"x","hint":"` + long + `"}`, `{"error":"x","hint":"` + long[:997] + `…"}`},
		{"large, with neither", `{"error":{"code":"X","message":7,"detail":"` + long + `"}}`, `{"error":"exit status 3"}`},
		{"large, of another form", `{"code":"X","message":"disk full","detail":"` + long + `"}`, `{"error":"disk full"}`},
		{"large list", `["` + long + `"]`, `{"error":"exit status 3"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := run(t, tool("say", `{"partial":1}`, printable(tt.stderr), "3"), nil, nil)
			if code(t, r.Err) != "exit_status" || r.ExitCode != 3 || r.Output != nil {
				t.Fatalf("exit %d, output %s, err %v", r.ExitCode, r.Output, r.Err)
			}
			got := shown(r)
			if got != tt.want {
				t.Errorf("message %s, want %s", got, tt.want)
			}
			if !json.Valid([]byte(got)) {
				t.Error("the message is not JSON")
			}
			if string(r.Stderr) != tt.stderr || string(r.Stdout) != `{"partial":1}` {
				t.Errorf("stdout %q, stderr %q", r.Stdout, r.Stderr)
			}
			if !strings.HasPrefix(r.Err.Error(), `manifest: tool "t": exit status 3`) {
				t.Errorf("error %q", r.Err)
			}
		})
	}
}

// What a tool writes to stderr may repeat an argument. The model reads it; the text of the error
// does not contain it.
func TestErrorTextsDoNotQuoteTheTool(t *testing.T) {
	const secret = "sk-live-4242"
	for _, tt := range []struct{ stderr, want string }{
		{"no such key: " + secret, "exit status 3; the tool's own words are in Error.Message"},
		{`{"error":"no such key: ` + secret + `","hint":"not ` + secret + `"}`,
			"exit status 3; the tool's own words are in Error.Message"},
		{`{"error":{"key":"` + secret + `"}}`, "exit status 3; the tool's own words are in Error.Message"},
		{`["` + secret + strings.Repeat("y", 1200) + `"]`, "exit status 3; what it printed is in Result.Stderr"},
		{"", "exit status 3"},
	} {
		r := run(t, tool("say", "", tt.stderr, "3"), map[string]string{"key": secret}, nil)
		if got, want := r.Err.Error(), `manifest: tool "t": `+tt.want; got != want {
			t.Errorf("error %q, want %q", got, want)
		}
		for _, text := range []string{fmt.Sprintf("%v", r.Err), fmt.Sprintf("%s", r.Err), fmt.Sprint(errors.Join(r.Err))} {
			if strings.Contains(text, secret) {
				t.Errorf("the text holds the argument: %s", text)
			}
		}
		e, _ := errors.AsType[*manifest.Error](r.Err)
		if strings.Contains(tt.want, "Message") && !strings.Contains(e.Message, secret) {
			t.Errorf("Message lacks the tool's words: %q", e.Message)
		}
	}
}

func TestMessagesAreCutAtARune(t *testing.T) {
	for _, text := range []string{strings.Repeat("x", 999) + "é" + strings.Repeat("y", 99), strings.Repeat("é", 2000),
		strings.Repeat("日本", 999),
		`{"error":"` + strings.Repeat("é", 2000) + `"}`, `{"error":{"message":"` + strings.Repeat("é", 2000) + `"}}`} {
		r := run(t, tool("say", "", text, "1"), nil, nil)
		var message struct{ Error string }
		if err := json.Unmarshal([]byte(shown(r)), &message); err != nil {
			t.Fatal(err)
		}
		if n := len(message.Error); n > 1000 || n < 995 || !utf8.ValidString(message.Error) ||
			strings.Contains(message.Error, "\ufffd") ||
			!strings.HasSuffix(message.Error, "…") {
			t.Errorf("%d bytes: …%q", n, message.Error[n-20:])
		}
		if len(r.Err.Error()) > 1200 {
			t.Errorf("error of %d bytes", len(r.Err.Error()))
		}
	}
	exact := strings.Repeat("x", 1000)
	if got := shown(run(t, tool("say", "", exact, "1"), nil, nil)); got != `{"error":"`+exact+`"}` {
		t.Errorf("1,000 bytes became %d", len(got))
	}
}

func TestToolResultOfErrorsMadeByHand(t *testing.T) {
	for want, e := range map[string]*manifest.Error{
		`{"error":""}`:  {Code: "exit_status"},
		`{"error":"m"}`: {Code: "exit_status", Message: "m"},
	} {
		if got := string(e.ToolResult()); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
