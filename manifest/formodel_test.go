package manifest_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/manifest"
)

func TestCallForModel(t *testing.T) {
	typed := map[string]any{"type": "object", "properties": map[string]any{"n": map[string]any{"type": "integer"}}}
	m := load(t, nil, tool("echo").with("name", "echo").with("schema", typed),
		tool("say", "", "disk full", "3").with("name", "fail"),
		tool("say", `{"error":"no such zone"}`, "", "0").with("name", "refuse"),
		entry{"name": "gone", "command": []string{absProgram + "-gone"}})
	for _, tt := range []struct {
		name, tool string
		args       any
		want       string // all, or a part after "~"
		failed     bool
	}{
		{"text of a model", "echo", `{"n": 1}`, `{"n": 1}`, false},
		{"bytes of a model", "echo", []byte(`{"n":1}`), `{"n":1}`, false},
		{"raw JSON", "echo", json.RawMessage(`{"n":1}`), `{"n":1}`, false},
		{"a Go value", "echo", map[string]int{"n": 1}, `{"n":1}`, false},
		{"no arguments", "echo", "", `{}`, false},
		{"nil", "echo", nil, `{}`, false},
		{"a list", "echo", `[1]`, `~must be an object, not an array; send the arguments as one JSON object`, true},
		{"null", "echo", `null`, `{}`, false},
		{"broken off", "echo", `{"n":`, `~not a JSON object: invalid JSON`, true},
		{"no JSON", "echo", `call it`, `~{"error":"invalid arguments: the arguments are not a JSON object`, true},
		{"a mismatch", "echo", `{"n":"one"}`, `{"error":"invalid arguments: /n must be an integer, not a string"}`, true},
		{"an invented tool", "Echo", `{}`, `{"error":"unknown tool: Echo","tools":["echo","fail","refuse","gone"]}`, true},
		{"a failure", "fail", `{}`, `{"error":"disk full"}`, true},
		{"a failure as output", "refuse", `{}`, `{"error":"no such zone"}`, true},
		{"a program that is missing", "gone", `{}`, `{"error":"tool could not be started"}`, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			result, err := m.CallForModel(t.Context(), tt.tool, tt.args)
			part, isPart := strings.CutPrefix(tt.want, "~")
			if err != nil || result.Failed != tt.failed || !json.Valid(result.JSON) || result.Text != tt.want &&
				!(isPart && strings.Contains(result.Text, part)) {
				t.Errorf("%s, %t, %v; want %s, %t", result.Text, result.Failed, err, tt.want, tt.failed)
			}
		})
	}
}

func TestCallForModelStops(t *testing.T) {
	cause := errors.New("the run is over")
	started := filepath.Join(t.TempDir(), "started")
	m := load(t, nil, tool("meet", started, "2", "10m"))
	ctx, cancel := context.WithCancelCause(t.Context())
	var stopping sync.WaitGroup
	stopping.Go(func() {
		await(t, started)
		cancel(cause)
	})
	for _, when := range []string{"during the call", "before the call"} {
		result, err := m.CallForModel(ctx, "t", `{}`)
		if result.JSON != nil || result.Failed || code(t, err) != toolwire.CodeCanceled || !errors.Is(err, cause) {
			t.Errorf("%s: %s, %t, %v", when, result.Text, result.Failed, err)
		}
	}
	stopping.Wait()
	for _, args := range []any{[]int{1}, map[string]any{"a": make(chan int)}} {
		result, err := m.CallForModel(t.Context(), "t", args)
		if result.JSON != nil || result.Failed || code(t, err) != toolwire.CodeInvalidArguments {
			t.Errorf("%T: %s, %t, %v", args, result.Text, result.Failed, err)
		}
	}
}

// A model reads the text that a program prints, and an output that is a JSON string, without quotes.
func TestModelResult(t *testing.T) {
	for _, tt := range []struct {
		stdout     string
		text, json string
	}{
		{`"Created: \"Ada\"\nnext"`, "Created: \"Ada\"\nnext", `"Created: \"Ada\"\nnext"`},
		{`{"n": 1.0}`, `{"n": 1.0}`, `{"n": 1.0}`},
		{`null`, `null`, `null`},
	} {
		m := load(t, nil, tool("say", tt.stdout, "", "0"))
		got, err := m.CallForModel(t.Context(), "t", `{}`)
		if err != nil || got.Text != tt.text || string(got.JSON) != tt.json || got.Failed {
			t.Errorf("%q: %+v, %v", tt.stdout, got, err)
		}
	}
}

// An output that reports a failure fails Call. Do returns it.
func TestCallFailsForAFailedTool(t *testing.T) {
	const output = `{"error":"no such zone"}`
	m := load(t, nil, tool("say", output, "", "0"))
	result, err := m.Call(t.Context(), "t", nil)
	e, ok := errors.AsType[*manifest.Error](err)
	if !ok || result != nil || e.Code != toolwire.CodeToolFailed || string(e.ToolResult()) != output || strings.Contains(err.Error(), "zone") {
		t.Errorf("%s, %v; want %s", result, err, toolwire.CodeToolFailed)
	}
	if r := m.Do(t.Context(), "t", nil); r.Err != nil || string(r.Output) != output {
		t.Errorf("Do: %s, %v", r.Output, r.Err)
	}
}

func TestManyToolsAreNotListed(t *testing.T) {
	var entries []entry
	for i := range 150 {
		entries = append(entries, tool("echo").with("name", strings.Repeat("n", i+1)))
	}
	result, err := load(t, nil, entries...).CallForModel(t.Context(), "x", nil)
	var message struct{ Tools []string }
	if err != nil || json.Unmarshal(result.JSON, &message) != nil || len(message.Tools) != 100 {
		t.Errorf("%d tools, %v", len(message.Tools), err)
	}
}
