package proxytest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"time"

	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/httpserve"
	"github.com/toolwire/toolwire/internal/memhttp"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/runctx"
	"github.com/toolwire/toolwire/internal/text"
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

// bodyTimeout is how long the body of a request may take to arrive.
const bodyTimeout = 30 * time.Second

func (v *runRequest) serve(r *http.Request) {
	// The body is read first, so that the record of a refused request contains the arguments.
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
		v.refuse(status, class, message)
		return
	}
	actors := r.Header.Values("X-Pipelines-Actor-Id")
	switch {
	case v.to.plane == "tools" && v.run.exceeds(v.platform.callLimit):
		v.refuse(http.StatusUnauthorized, httpcall.RunTokenExpired, "the run has made as many calls as its limit allows")
	case v.to.run != "" && v.to.run != v.run.ID:
		v.run.addFault(fmt.Sprintf("the agent called %q with the token of run %s at the proxy URL of run %q: "+
			"use the odyssey_proxy_url of each dispatch", v.call.Tool, v.run.ID, v.to.run))
		v.refuse(http.StatusUnauthorized, httpcall.RunTokenInvalid, "the path belongs to another run")
	case len(actors) > 1 || len(actors) == 1 && runctx.CheckActor(actors[0]) != nil:
		v.refuse(http.StatusBadRequest, httpcall.ActorInvalid, "the actor label is malformed")
	case readErr == httpserve.ErrTooLarge:
		v.refuse(http.StatusRequestEntityTooLarge, "", fmt.Sprintf("the body has more than %d bytes", v.platform.maxBytes))
	case readErr == httpserve.ErrTimeout:
		v.refuse(http.StatusBadRequest, "", fmt.Sprintf("the body did not arrive within %s", timeout))
	case readErr != nil:
		v.refuse(http.StatusBadRequest, "", "the body broke off")
	case v.to.unknown():
		v.refuse(http.StatusNotFound, "",
			fmt.Sprintf("the path /%s is of a later release of the platform and is not served here; "+
				"in a test of a whole run, Task.WrapProxy of package dispatchtest can answer it", v.to.name))
	case jsonErr != nil:
		v.refuse(http.StatusUnprocessableEntity, "", "the body is not a JSON object: "+jsonErr.Error())
	case v.to.plane == "telemetry":
		v.serveTelemetry()
	case v.call.Trace:
		v.serveTrace()
	default:
		v.serveTool()
	}
}

func checkObject(body []byte) error {
	if err := rawjson.Check(body, rawjson.Limits{}); err != nil {
		return err
	}
	if kind := rawjson.Kind(body); kind != '{' {
		return fmt.Errorf("must be an object, not %s", rawjson.KindName(kind))
	}
	return nil
}

func (v *runRequest) serveTool() {
	name, w := v.call.Tool, v.platform.world
	tool := w.tools[name]
	if tool == nil {
		shown, meant := text.Name(name), text.Meant(name, w.names.Tools)
		if !v.platform.lenient {
			v.run.addFault(fmt.Sprintf("the agent called %s, which is not declared (%s)", shown, meant))
		}
		v.refuse(http.StatusNotFound, "tool_not_executable", fmt.Sprintf("%s is not declared; %s", shown, meant))
		return
	}
	if tool.executed {
		v.refuse(http.StatusConflict, "tool_executes_in_sandbox",
			fmt.Sprintf("the tool %q executes where the agent runs: it is not called through the proxy", name))
		return
	}
	if w.set != nil {
		if err := w.set.ValidateArguments(name, v.call.Arguments); err != nil {
			v.refuse(http.StatusUnprocessableEntity, "invalid_arguments", err.Error())
			return
		}
	}
	if v.fail(tool.live) {
		return
	}
	v.call.Notes = slices.Clone(tool.notes)
	if doubt := runctx.DoubtfulActor(v.call.Actor); doubt != "" {
		v.call.Notes = append(v.call.Notes, doubt)
	}
	if tool.live {
		v.forward(tool)
	} else {
		v.simulate(tool)
	}
}

// request returns the call for the behavior of its tool.
func (v *runRequest) request(tool *tool) *Request {
	w := v.platform.world
	r := &Request{
		Tool: v.call.Tool, Arguments: v.call.Arguments, Actor: v.call.Actor, Number: v.run.count(v.call.Tool), Attempt: 1,
		Declared: tool.declared, Instructions: w.instructions, ctx: v.ctx, world: w, output: tool.output,
	}
	if !tool.live {
		r.run = v.run
	}
	return r
}

// maxAttempts is how often a behavior is called for a result that matches the output_schema.
const maxAttempts = 3

// simulate answers a tool in sandbox mode.
func (v *runRequest) simulate(tool *tool) {
	request, set := v.request(tool), v.platform.world.set
	defer request.leave()
	var result json.RawMessage
	var err error
	judged := false
	for ; ; request.Attempt++ {
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
		v.answerError(proxy.SourceError, err)
		return
	}
	maps.Copy(v.run.invented, request.invented) // the request has the ledger, or has invented nothing
	var validation any
	if judged || set == nil {
		validation = map[string]any{"ok": true, "attempts": request.Attempt}
	}
	v.answer(proxy.SourceOdyssey, result, validation)
}

// forward answers a tool in passthrough mode.
func (v *runRequest) forward(tool *tool) {
	v.call.Policy = tool.declared.WritePolicy()
	if tool.behavior == nil {
		const text = "the tool %q is in passthrough mode and has no behavior: add the live tool to World.Behaviors"
		v.run.addFault(fmt.Sprintf(text, v.call.Tool))
	}
	result, err := v.ask(tool.behavior, v.request(tool))
	if err != nil {
		v.answerError(proxy.SourceTransportError, err)
		return
	}
	v.adapt(tool, result)
	v.answer(proxy.SourcePassthrough, result, nil)
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
	if m, ok := errors.AsType[mistake](err); ok {
		v.run.addFault(m.Error())
	}
	if err != nil {
		return nil, err
	}
	return rawjson.Encode(value)
}

func (v *runRequest) answerError(source proxy.Source, err error) {
	v.call.Reason = err.Error()
	v.answer(source, failure(err.Error()), nil)
}

// answer sends the envelope of a call that has a result.
func (v *runRequest) answer(source proxy.Source, result json.RawMessage, validation any) {
	v.call.Source, v.call.Response = source, result
	if v.damage == "" && len(result) > v.platform.maxBytes {
		v.call.Source, v.call.Response = "", nil
		v.refuse(http.StatusBadGateway, "", fmt.Sprintf("the tool's result has more than %d bytes", v.platform.maxBytes))
		return
	}
	v.measure()
	var rule *int
	if source == proxy.SourceInjected {
		rule = v.call.Rule
	}
	body := marshal(struct {
		Tool       string          `json:"tool_name"`
		Response   json.RawMessage `json:"response"`
		Source     proxy.Source    `json:"source"`
		LatencyMS  float64         `json:"latency_ms"`
		Rule       *int            `json:"matched_rule_index"`
		Validation any             `json:"validation,omitempty"`
	}{v.call.Tool, result, source, v.call.LatencyMS, rule, validation})
	if v.damage != "" {
		v.sendDamaged(body)
		return
	}
	v.call.Status = http.StatusOK
	v.run.finish(v.call, v.key)
	writeBody(v.w, http.StatusOK, body)
}

func (v *runRequest) measure() {
	v.call.LatencyMS = float64(time.Since(v.call.At).Microseconds()) / 1000
}

// refuse sends an error response.
func (v *runRequest) refuse(status int, class, message string) {
	v.call.Status, v.call.ErrorClass = status, class
	v.record(message)
	fail(v.w, status, class, message)
}

// record records a request that has no result, and shows it.
func (v *runRequest) record(reason string) {
	v.call.Reason = reason
	v.measure()
	v.run.finish(v.call, v.key)
	v.platform.showRefused(v.ctx, v.call)
}

// abandon ends a request whose client has gone.
func (v *runRequest) abandon() {
	v.record("the agent cancelled the call")
	panic(http.ErrAbortHandler)
}

// reset closes a network connection with an RST. Without a network it aborts the handler.
func (v *runRequest) reset() {
	v.record(breakReset)
	if conn, _, err := http.NewResponseController(v.w).Hijack(); err == nil {
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = conn.Close()
		return
	}
	panic(http.ErrAbortHandler)
}

// sendDamaged sends an answer with the damage of a failure rule. It does not return if the damage
// ends the connection.
func (v *runRequest) sendDamaged(body []byte) {
	v.record(v.damage)
	if v.damage == breakOversize { // white space keeps it valid JSON
		body = append(body, bytes.Repeat([]byte{' '}, v.platform.maxBytes+httpcall.EnvelopeBytes)...)
	}
	v.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	if v.damage == breakTruncate {
		body = body[:len(body)/2]
	}
	writeBody(v.w, http.StatusOK, body)
	if v.damage == breakTruncate {
		_ = http.NewResponseController(v.w).Flush()
		panic(http.ErrAbortHandler)
	}
}

func (v *runRequest) serveTrace() {
	if !proxy.Event(v.call.Tool).Reserved() {
		v.refuse(http.StatusBadRequest, "trace_event_type_invalid", "the event type is not a reserved one")
		return
	}
	if v.fail(false) {
		return
	}
	sequence := v.run.acceptTrace(v.call, false)
	body := marshal(map[string]any{"accepted": true, "sequence": sequence, "event_type": v.call.Tool})
	if v.damage != "" {
		v.sendDamaged(body)
		return
	}
	writeBody(v.w, http.StatusOK, body)
}

// fail writes the error envelope. Ports of agents document its member error_class. The member
// message is this package's.
func fail(w http.ResponseWriter, status int, class, message string) {
	detail := map[string]string{"message": message}
	if class != "" {
		detail["error_class"] = class
	}
	writeBody(w, status, marshal(map[string]any{"detail": detail}))
}

func writeBody(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
