package manifest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/manifest"
)

func TestArgumentsReachTheToolAsTheyAre(t *testing.T) {
	m := load(t, nil, tool("echo"))
	for _, tt := range []struct {
		name string
		args any
		want string
	}{
		{"none", nil, `{}`},
		{"blank", json.RawMessage(" \n"), `{}`},
		{"nil raw", json.RawMessage(nil), `{}`},
		{"nil map", map[string]any(nil), `{}`},
		{"raw, byte for byte", json.RawMessage(" {\"b\" : 12345678901234567890, \"a\":\"\\u00e9  x\"}\n"),
			`{"b" : 12345678901234567890, "a":"\u00e9  x"}`},
		{"bytes", []byte(`{"a":1}`), `{"a":1}`},
		{"struct", struct {
			Zone string `json:"zone"`
		}{"UTC"}, `{"zone":"UTC"}`},
		{"map", map[string]int{"b": 1, "a": 2}, `{"a":2,"b":1}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := m.Call(t.Context(), "t", tt.args)
			if err != nil || string(got) != tt.want {
				t.Errorf("the tool read %s, err %v; want %s", got, err, tt.want)
			}
		})
	}
}

func TestArgumentsAreCheckedBeforeTheStart(t *testing.T) {
	ran := filepath.Join(t.TempDir(), "ran")
	free := tool("append", "x", ran, "0s").with("name", "free")
	typed := tool("append", "x", ran, "0s").with("name", "typed").with("schema", json.RawMessage(`{"type":"object",
		"properties":{"zone":{"type":"string"},"n":{"type":"integer","maximum":9007199254740992}},"required":["zone"],"additionalProperties":false}`))
	anything := tool("append", "x", ran, "0s").with("name", "anything").with("schema", json.RawMessage(`{}`))
	records := 0
	m := load(t, &manifest.Options{Audit: func(manifest.AuditRecord) { records++ }}, free, typed, anything)
	const secret = "hunter2"
	for _, tt := range []struct {
		name, tool string
		args       any
		message    string // part of the message for the model
	}{
		{"no JSON", "free", json.RawMessage(`zone=UTC`), "invalid JSON at byte 0"},
		{"an array", "free", json.RawMessage(`[]`), "must be an object, not an array"},
		{"a string of JSON", "free", `{"a":1}`, "must be written as a JSON object; a Go string is not"},
		{"two values", "free", json.RawMessage(`{}{}`), "after top-level value"},
		{"duplicate", "free", json.RawMessage(`{"a":1,"a":2}`), "occurs twice"},
		{"too deep", "free", json.RawMessage(`{"a":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`),
			"more than 64 levels"},
		{"too many for a schema", "typed", json.RawMessage(`{"zone":"x","a":[1` + strings.Repeat(",1", 50_000) + `]}`),
			"more than 50000 values"},
		{"not writable", "free", map[string]any{"a": math.Inf(1)}, "JSON cannot carry"},
		{"not even JSON", "typed", json.RawMessage(`{"zone":`), "ends before"},
		{"an array for any schema", "anything", json.RawMessage(`[]`), "must be an object"},
		{"missing member", "typed", json.RawMessage(`{}`), "zone"},
		{"wrong type", "typed", json.RawMessage(`{"zone":1}`), "/zone"},
		{"unknown member", "typed", json.RawMessage(`{"zone":"` + secret + `","other":"` + secret + `"}`), "other"},
		{"precise numbers", "typed", json.RawMessage(`{"zone":"x","n":9007199254740993}`), "/n"},
		{"every issue", "typed", json.RawMessage(`{"zone":1,"n":"x","more":1}`), "/zone"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := m.Do(t.Context(), tt.tool, tt.args)
			if code(t, r.Err) != toolwire.CodeInvalidArguments || r.ExitCode != -1 || r.Duration != 0 {
				t.Fatalf("result %+v", r)
			}
			message := shown(r)
			if !strings.HasPrefix(message, `{"error":"invalid arguments: `) || !strings.Contains(message, tt.message) {
				t.Errorf("message %s does not say %q", message, tt.message)
			}
			if strings.Contains(message+r.Err.Error(), secret) {
				t.Errorf("an argument's value is in the error: %s", message)
			}
		})
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a program was started with rejected arguments")
	}
	if records != 0 {
		t.Errorf("%d audit records of programs that did not run", records)
	}

	r := m.Do(t.Context(), "typed", json.RawMessage(`{"zone":1,"n":"x","more":1}`))
	if e, ok := errors.AsType[*toolwire.Error](r.Err); !ok || len(e.Problems) != 3 {
		t.Errorf("the cause is not the schema's error with every issue: %v", r.Err)
	}
	if r := m.Do(t.Context(), "typed", map[string]any{"zone": "UTC", "n": 3}); r.Err != nil {
		t.Errorf("valid arguments: %v", r.Err)
	}
}

func TestUnknownTool(t *testing.T) {
	r := load(t, nil, tool("echo")).Do(t.Context(), "T", nil)
	if code(t, r.Err) != toolwire.CodeUnknownTool || shown(r) != `{"error":"unknown tool: T","tools":["t"]}` {
		t.Errorf("%+v", r)
	}
	r = load(t, nil).Do(t.Context(), strings.Repeat("é", 5000)+"\n", nil)
	if n := len(shown(r)); n > 200 {
		t.Errorf("message of %d bytes", n)
	}
}

func TestCodeOf(t *testing.T) {
	m := load(t, nil, tool("say", "not JSON", "", "0"), tool("say", "", "", "1").with("name", "exit"))
	for name, want := range map[string]toolwire.Code{"t": toolwire.CodeBadResponse, "exit": "exit_status",
		"x": toolwire.CodeUnknownTool} {
		_, err := m.Call(t.Context(), name, nil)
		e, ok := errors.AsType[*manifest.Error](err)
		if !ok || e.Tool != name || toolwire.CodeOf(fmt.Errorf("wrapped: %w", err)) != want {
			t.Errorf("%s: %v, code %q, want %q", name, err, toolwire.CodeOf(err), want)
		}
	}
	for _, err := range []error{nil, os.ErrNotExist} {
		if got := toolwire.CodeOf(err); got != "" {
			t.Errorf("%v: code %q", err, got)
		}
	}
}
