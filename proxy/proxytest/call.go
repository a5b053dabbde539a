package proxytest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/toolwire/toolwire/internal/strictjson"
	"github.com/toolwire/toolwire/proxy"
)

// Call is one accepted tool call, as recorded.
type Call struct {
	Tool      string          `json:"tool"`
	Actor     string          `json:"actor,omitempty"`
	Arguments json.RawMessage `json:"arguments"`
	Response  json.RawMessage `json:"response"`
	Source    proxy.Source    `json:"source"`
	At        time.Time       `json:"at"`
	LatencyMS float64         `json:"latency_ms"`
}

// Trace is one accepted trace event, as recorded.
type Trace struct {
	Event    proxy.Event     `json:"event"`
	Actor    string          `json:"actor,omitempty"`
	Payload  json.RawMessage `json:"payload"`
	Sequence int64           `json:"sequence"`
}

// Calls returns the run's tool calls so far, in the order in which they were answered.
func (r *Run) Calls() []Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.calls)
}

// Traces returns the run's trace events so far, in the order of their sequence numbers.
func (r *Run) Traces() []Trace {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.traces)
}

// readObject reads the request body, which must be a JSON object within the size limit.
func (p *Platform) readObject(w http.ResponseWriter, r *http.Request) (json.RawMessage, bool) {
	body, err := io.ReadAll(io.LimitReader(r.Body, int64(p.maxBytes)+1))
	if err != nil {
		fail(w, http.StatusBadRequest, "", "the body broke off")
		return nil, false
	}
	if len(body) > p.maxBytes {
		fail(w, http.StatusRequestEntityTooLarge, "", fmt.Sprintf("the body has more than %d bytes", p.maxBytes))
		return nil, false
	}
	err = strictjson.Read(body, strictjson.Limits{}, func(read *strictjson.Reader) error {
		return read.Object(nil, func(string) error { _, err := read.Value(); return err })
	})
	if err != nil {
		fail(w, http.StatusUnprocessableEntity, "", "the body is no JSON object: "+err.Error())
		return nil, false
	}
	return body, true
}

func (p *Platform) serveTool(w http.ResponseWriter, run *Run, name, actor string, arguments json.RawMessage) {
	behavior, ok := p.world.Behaviors[name]
	if !ok {
		fail(w, http.StatusNotFound, "tool_not_executable", fmt.Sprintf("the tool %q is not declared", name))
		return
	}
	call := Call{Tool: name, Actor: actor, Arguments: arguments, At: time.Now(), Source: proxy.SourceOdyssey}
	result, err := behavior(&Request{Tool: name, Arguments: arguments, Actor: actor, Number: run.count(name)})
	if err == nil {
		call.Response, err = json.Marshal(result)
	}
	if err != nil {
		call.Source = proxy.SourceError
		call.Response, _ = json.Marshal(map[string]string{"error": err.Error()})
	}
	call.LatencyMS = float64(time.Since(call.At).Microseconds()) / 1000
	envelope := map[string]any{
		"tool_name": name, "response": call.Response, "source": call.Source, "latency_ms": call.LatencyMS, "matched_rule_index": nil,
	}
	if call.Source == proxy.SourceOdyssey {
		envelope["validation"] = map[string]bool{"ok": true}
	}
	run.record(call)
	if len(call.Response) > p.maxBytes {
		fail(w, http.StatusBadGateway, "", fmt.Sprintf("the tool's result has more than %d bytes", p.maxBytes))
		return
	}
	writeJSON(w, http.StatusOK, envelope)
}

func (r *Run) count(tool string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[tool]++
	return r.counts[tool]
}

func (r *Run) record(call Call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sequence++
	r.calls = append(r.calls, call)
}

func (r *Run) serveTrace(w http.ResponseWriter, event, actor string, payload json.RawMessage) {
	trace := Trace{Event: proxy.Event(event), Actor: actor, Payload: payload}
	if !trace.Event.Valid() {
		fail(w, http.StatusBadRequest, "trace_event_type_invalid", "the event type is not a reserved one")
		return
	}
	r.mu.Lock()
	r.sequence++
	trace.Sequence = r.sequence
	r.traces = append(r.traces, trace)
	r.mu.Unlock()
	writeJSON(w, http.StatusOK, map[string]any{"accepted": true, "sequence": trace.Sequence, "event_type": event})
}

// validActor is looser than what package proxy sends: the platform's own pattern is not documented.
func validActor(id string) bool {
	if id == "" || len(id) > 256 || strings.HasPrefix(id, "/") || strings.HasSuffix(id, "/") || strings.Contains(id, "//") {
		return false
	}
	return !strings.ContainsFunc(id, func(c rune) bool { return c <= ' ' || c >= 0x7f })
}
