package proxytest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/toolwire/toolwire/internal/bounded"
	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/httpserve"
	"github.com/toolwire/toolwire/internal/memhttp"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/redact"
	"github.com/toolwire/toolwire/internal/toolresult"
	"github.com/toolwire/toolwire/proxy"
)

// runRequest is one request with a run's token.
type runRequest struct {
	platform *Platform
	run      *Run
	to       route
	w        http.ResponseWriter
	ctx      context.Context
	damage   string // done to the answer
	key      string // equal for the attempts of one call
	call     Call
}

func (v *runRequest) serve(r *http.Request) {
	// The body is read first, so that the record of a refused request has the arguments.
	timeout := bodyTimeout
	if v.run.isOver() {
		timeout = httpserve.RefusalTime
	}
	body, readErr := httpserve.ReadBody(v.w, r, int64(v.platform.maxBytes), time.Now().Add(timeout))
	var jsonErr error
	if readErr == nil {
		if jsonErr = checkObject(body); jsonErr == nil {
			v.call.Arguments = body
		}
	}
	v.key = v.call.Tool + "\x00" + v.call.Actor + "\x00" + string(v.call.Arguments)
	v.run.arrive(&v.call, v.key)
	memhttp.Arrived(v.w)
	if answer := memhttp.ReplayedFrom(v.ctx); answer != nil {
		v.replay(*answer)
		return
	}
	if status, class, message := v.run.admit(v.platform.rate, v.call.At); status != 0 {
		v.refuse(status, class, message, "")
		return
	}
	if id := v.to.run; id != "" && id != v.run.ID {
		v.refuse(http.StatusUnauthorized, "run_token_invalid", "the path belongs to another run",
			fmt.Sprintf("the agent called %q with the token of run %s at the proxy URL of run %q: "+
				"use the odyssey_proxy_url of each dispatch", v.call.Tool, v.run.ID, id))
		return
	}
	if values := r.Header.Values("X-Pipelines-Actor-Id"); len(values) > 1 || len(values) == 1 && !validActor(values[0]) {
		v.refuse(http.StatusBadRequest, "actor_id_invalid", "the actor label is malformed", "")
		return
	}
	switch {
	case readErr == httpserve.ErrTooLarge:
		v.refuse(http.StatusRequestEntityTooLarge, "", fmt.Sprintf("the body has more than %d bytes", v.platform.maxBytes),
			"")
	case readErr == httpserve.ErrTimeout:
		v.refuse(http.StatusBadRequest, "", fmt.Sprintf("the body did not arrive within %s", timeout), "")
	case readErr != nil:
		v.refuse(http.StatusBadRequest, "", "the body broke off", "")
	case v.to.unknown():
		v.refuse(http.StatusNotFound, "",
			fmt.Sprintf("the path /%s is of a later release of the platform and is not served here; "+
				"in a test of a whole run, Task.WrapProxy of package dispatchtest can answer it", v.to.name), "")
	case jsonErr != nil:
		v.refuse(http.StatusUnprocessableEntity, "", "the body is not a JSON object: "+jsonErr.Error(), "")
	case v.to.plane == "telemetry":
		v.serveTelemetry()
	case v.call.Trace:
		v.serveTrace()
	default:
		v.serveTool()
	}
}

// bodyTimeout is how long the body of a request may take to arrive.
const bodyTimeout = 30 * time.Second

func checkObject(body []byte) error {
	return rawjson.Read(body, rawjson.Limits{}, func(read *rawjson.Reader) error {
		return read.Object(nil, func(string) error { _, err := read.Value(); return err })
	})
}

func (v *runRequest) serveTool() {
	name, w := v.call.Tool, v.platform.world
	tool := w.tools[name]
	if tool == nil {
		fault := fmt.Sprintf("the agent called %s, which is not declared (%s)", bounded.Name(name), bounded.Meant(name, w.names.Tools))
		if v.platform.lenient {
			fault = ""
		}
		v.refuse(http.StatusNotFound, "tool_not_executable", bounded.Undeclared(name, w.names.Tools), fault)
		return
	}
	if tool.executed {
		v.refuse(http.StatusConflict, "tool_executes_in_sandbox",
			fmt.Sprintf("the tool %q executes where the agent runs: it is not called through the proxy", name), "")
		return
	}
	if w.set != nil {
		if err := w.set.ValidateArguments(name, v.call.Arguments); err != nil {
			v.refuse(http.StatusUnprocessableEntity, "invalid_arguments", err.Error(), "")
			return
		}
	}
	if v.fail(tool.live) {
		return
	}
	v.call.Notes = slices.Clone(tool.notes)
	request := &Request{
		Tool: name, Arguments: v.call.Arguments, Actor: v.call.Actor, Number: v.run.count(name),
		Declared: tool.declared, Instructions: w.instructions, ctx: v.ctx, world: w, generator: tool.generator,
	}
	if tool.live {
		v.forward(tool, request)
	} else {
		v.simulate(tool, request)
	}
}

// maxAttempts is how often a behavior is called for a result that matches the output_schema.
const maxAttempts = 3

// simulate answers a tool in sandbox mode.
func (v *runRequest) simulate(tool *tool, request *Request) {
	request.run = redact.Hide(v.run)
	defer request.leave()
	set := v.platform.world.set
	var result json.RawMessage
	var err error
	judged := false
	for request.Attempt = 1; ; request.Attempt++ {
		request.notes, request.invented = nil, nil
		result, err = v.ask(tool.behavior, request)
		// A failure that a behavior returns need not match the output_schema. A made-up result does.
		fails := err != nil || request.invented == nil && toolresult.Failed(result)
		if judged = set != nil && !fails; !judged {
			break
		}
		if err = set.ValidateResult(request.Tool, result); err == nil {
			break
		}
		err = fmt.Errorf("no valid response: %w", err)
		if request.Attempt == maxAttempts || len(request.writes) > 0 {
			break
		}
	}
	v.call.Writes = request.writes
	v.call.Notes = append(v.call.Notes, request.notes...)
	if err != nil {
		v.call.Response, v.call.Source, v.call.Reason = failure(err.Error()), proxy.SourceError, err.Error()
		v.answer(nil)
		return
	}
	v.call.Response, v.call.Source = result, proxy.SourceOdyssey
	maps.Copy(v.run.invented, request.invented) // the request has the ledger, or has invented nothing
	if judged || set == nil {
		v.answer(map[string]any{"ok": true, "attempts": request.Attempt})
	} else {
		v.answer(nil)
	}
}

// forward answers a tool in passthrough mode.
func (v *runRequest) forward(tool *tool, request *Request) {
	request.Attempt = 1
	v.call.Policy = tool.policy
	if tool.behavior == nil {
		const text = "the tool %q is in passthrough mode and has no behavior: add the live tool to World.Behaviors"
		v.run.addFault(fmt.Sprintf(text, request.Tool))
	}
	result, err := v.ask(tool.behavior, request)
	if err != nil {
		v.call.Response, v.call.Source, v.call.Reason = failure(err.Error()), proxy.SourceTransportError, err.Error()
		v.answer(nil)
		return
	}
	v.call.Response, v.call.Source = result, proxy.SourcePassthrough
	v.adapt(tool, result)
	v.answer(nil)
}

// ask runs a behavior. A panic of the behavior is its failure and a fault.
func (v *runRequest) ask(behavior Behavior, request *Request) (result json.RawMessage, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the behavior of %q panicked: %v", request.Tool, p)
			v.run.addFault(fmt.Sprintf("%v\n%s", err, debug.Stack()))
		}
	}()
	if behavior == nil {
		return nil, errors.New("the tool has no live tool behind it")
	}
	value, err := behavior(request)
	if err != nil {
		return nil, err
	}
	return rawjson.Encode(value)
}

// answer sends the envelope of a call that has a result.
func (v *runRequest) answer(validation any) {
	v.call.LatencyMS = float64(time.Since(v.call.At).Microseconds()) / 1000
	envelope := envelope{
		Tool: v.call.Tool, Response: v.call.Response, Source: v.call.Source, LatencyMS: v.call.LatencyMS,
		Validation: validation,
	}
	if v.call.Source == proxy.SourceInjected {
		envelope.Rule = v.call.Rule
	}
	if v.damage != "" {
		v.sendDamaged(envelope)
		return
	}
	body := marshal(envelope)
	if len(v.call.Response) > v.platform.maxBytes {
		v.refuse(http.StatusBadGateway, "", fmt.Sprintf("the tool's result has more than %d bytes", v.platform.maxBytes), "")
		return
	}
	v.call.Status = http.StatusOK
	v.run.accept(v.call, v.key)
	writeBody(v.w, http.StatusOK, body)
}

type envelope struct {
	Tool       string          `json:"tool_name"`
	Response   json.RawMessage `json:"response"`
	Source     proxy.Source    `json:"source"`
	LatencyMS  float64         `json:"latency_ms"`
	Rule       *int            `json:"matched_rule_index"`
	Validation any             `json:"validation,omitempty"`
}

// refuse sends an error response. A fault that is not empty goes to [Log].Faults.
func (v *runRequest) refuse(status int, class, message, fault string) {
	v.call.Status, v.call.ErrorClass, v.call.Reason = status, class, message
	v.call.Response, v.call.Source = nil, "" // of a result that was too large
	v.call.LatencyMS = float64(time.Since(v.call.At).Microseconds()) / 1000
	v.run.refuse(v.call, v.key, fault)
	v.platform.showRefused(v.ctx, v.call)
	fail(v.w, status, class, message)
}

func (v *runRequest) serveTrace() {
	trace := Trace{Event: proxy.Event(v.call.Tool), Actor: v.call.Actor, Payload: v.call.Arguments, At: v.call.At}
	if !trace.Event.Reserved() {
		v.refuse(http.StatusBadRequest, "trace_event_type_invalid", "the event type is not a reserved one", "")
		return
	}
	if v.fail(false) {
		return
	}
	answer := map[string]any{"accepted": true, "sequence": v.run.acceptTrace(v.call, trace, false),
		"event_type": trace.Event}
	if v.damage != "" {
		v.sendDamaged(answer)
		return
	}
	writeJSON(v.w, http.StatusOK, answer)
}

// fail writes the error envelope. Ports of agents document its member error_class. The member
// message is this package's.
func fail(w http.ResponseWriter, status int, class, message string) {
	detail := map[string]string{"message": message}
	if class != "" {
		detail["error_class"] = class
	}
	writeJSON(w, status, map[string]any{"detail": detail})
}

func writeJSON(w http.ResponseWriter, status int, v any) { writeBody(w, status, marshal(v)) }

func writeBody(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// validActor accepts more than package proxy sends, because the platform's pattern is not
// documented.
func validActor(id string) bool {
	return len(id) <= 256 && httpcall.VisibleASCII(id) && !strings.Contains("/"+id+"/", "//")
}
