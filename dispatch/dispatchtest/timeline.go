package dispatchtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// Timeline writes the run for people, a line per event: ping, dispatch, tool calls, answer, verdict. It returns the first
// error of w.
func (r *Result) Timeline(w io.Writer) error {
	var b bytes.Buffer
	line := func(what, format string, args ...any) {
		fmt.Fprintf(&b, "%-10s %s\n", what, fmt.Sprintf(format, args...))
	}
	line("ping", "%s", r.Ping.summary())
	if r.Dispatch.Request != nil {
		line("dispatch", "%s", instruction(r.Dispatch.Request))
	}
	for _, c := range r.Calls {
		name := c.Tool
		if c.Actor != "" {
			name = c.Actor + ": " + name
		}
		line("call", "%s %s", name, cut(string(c.Arguments)))
		line("", "-> %s  (%s, %.2f ms)", cut(string(c.Response)), c.Source, c.LatencyMS)
	}
	for _, t := range r.Traces {
		line("trace", "%s %s", t.Event, cut(string(t.Payload)))
	}
	if r.Dispatch.Request != nil {
		line("answer", "%s", r.Dispatch.summary())
	}
	for _, p := range r.Problems {
		line("contract", "%s", p)
	}
	if r.OK() {
		line("final", "%s", r.FinalResponse)
		line("verdict", "ok: the run would be graded")
	} else {
		line("verdict", "failed: %s: %s", r.ErrorClass, r.Error)
	}
	_, err := w.Write(b.Bytes())
	return err
}

func (ex Exchange) summary() string {
	if ex.Status == 0 {
		return "no answer"
	}
	return fmt.Sprintf("%d %s  (%.1f ms)", ex.Status, cut(strings.TrimSpace(ex.Body)), ex.TookMS)
}

func instruction(envelope json.RawMessage) string {
	var e struct {
		Input struct {
			Instruction string          `json:"user_instruction"`
			Input       json.RawMessage `json:"input"`
		} `json:"input"`
	}
	_ = json.Unmarshal(envelope, &e) // written by Dispatch
	return fmt.Sprintf("%q with input %s", e.Input.Instruction, cut(string(e.Input.Input)))
}

// cut keeps a line on a screen.
func cut(s string) string {
	runes := []rune(s)
	if len(runes) <= 160 {
		return s
	}
	return string(runes[:159]) + "…"
}
