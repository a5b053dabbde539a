package oteltoolwire

import (
	"context"
	"errors"
	"net/url"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/toolresult"
	"github.com/toolwire/toolwire/proxy"
)

// CallObserver returns the observer of clients, for [proxy.Options.Observer]. Its spans are below the span
// of the call's context, so it also works without a handler.
func (t *Telemetry) CallObserver() *proxy.Observer {
	return &proxy.Observer{
		CallStart: t.callStart, CallEnd: t.callEnd, AttemptStart: t.attemptStart, AttemptEnd: t.attemptEnd,
		WaitEnd: t.waitEnd, TraceEnd: t.traceEnd,
	}
}

func (t *Telemetry) callStart(ctx context.Context, call proxy.CallInfo) context.Context {
	if t.opts.NoToolSpans {
		return ctx
	}
	attrs := t.callAttributes(call).add(attrOperation, operationTool).add(attrToolCallID, call.CallID)
	ctx, _ = t.begin(ctx, aCall, spanName(operationTool, nameOrOther(call.Tool)), trace.SpanKindInternal, attrs)
	return ctx
}

// callAttributes returns the attributes of spans and metrics.
func (t *Telemetry) callAttributes(call proxy.CallInfo) attributes {
	agent := call.Actor
	if agent == "" {
		agent = t.opts.AgentName
	}
	return attributes{}.add(attrToolName, nameOrOther(call.Tool)).add(attrToolType, typeFunction).add(attrAgentName, agent)
}

// nameOrOther returns the name of a tool or an event, or "_OTHER" if a model has written something else in
// its place.
func nameOrOther(name string) string {
	if toolresult.NameFault(name) >= 0 {
		return other
	}
	return name
}

func (t *Telemetry) callEnd(ctx context.Context, end proxy.CallEnd) {
	op := t.from(ctx, aCall)
	if op == nil {
		return
	}
	var attrs attributes
	failure := string(toolwire.CodeOf(end.Err))
	if e, ok := errors.AsType[*proxy.Error](end.Err); ok {
		attrs = attrs.number(attrAttempts, int64(e.Attempts)).add(attrDelivery, string(e.Delivery)).add(attrClass, e.Class)
	} else if r := end.Result; r != nil {
		attrs = attrs.number(attrAttempts, int64(r.Attempts)).add(attrSource, string(r.Source))
		if r.Failed() {
			failure = errorToolFailed
		}
	}
	if t.opts.Content {
		if len(end.Arguments) <= httpcall.BodyBytes { // larger ones are not sent
			attrs = attrs.add(attrToolArguments, string(end.Arguments))
		}
		if end.Result != nil {
			attrs = attrs.add(attrToolResult, string(end.Result.Response))
		}
	}
	took := op.end(failure, attrs)
	measured := end.CallInfo
	switch e, failed := errors.AsType[*proxy.Error](end.Err); {
	case !failed:
	case e.Attempts == 0: // nothing was sent, so a model may have made the names up: each is a time series
		measured.Tool, measured.Actor = "", ""
	case e.Status == 404, e.Class == "tool_not_executable":
		measured.Tool = ""
	}
	t.toolDuration.Record(ctx, took, t.callAttributes(measured).add(attrError, failure).set())
}

func (t *Telemetry) attemptStart(ctx context.Context, attempt proxy.AttemptInfo) context.Context {
	template := "/tools/{name}"
	if strings.HasPrefix(attempt.Path, "/traces/") {
		template = "/traces/{type}"
	}
	// The path of the run's proxy stays out of telemetry: it is long, and differs in every run.
	attrs := attributes{}.add(attrMethod, "POST").add(attrTemplate, template).
		add(attrURL, attempt.Origin+"/REDACTED"+attempt.Path)
	if u, err := url.Parse(attempt.Origin); err == nil {
		attrs = attrs.add(attrAddress, u.Hostname())
		if port := portOf(u); port > 0 {
			attrs = attrs.number(attrPort, port)
		}
	}
	if attempt.Number > 1 {
		attrs = attrs.number(attrResend, int64(attempt.Number-1))
	}
	ctx, _ = t.begin(ctx, anAttempt, "POST "+template, trace.SpanKindClient, attrs)
	t.propagator.Inject(ctx, propagation.HeaderCarrier(attempt.Header))
	return ctx
}

func portOf(u *url.URL) int64 {
	port, err := strconv.ParseInt(u.Port(), 10, 32)
	switch {
	case err == nil:
		return port
	case u.Scheme == "https":
		return 443
	case u.Scheme == "http":
		return 80
	}
	return 0
}

func (t *Telemetry) attemptEnd(ctx context.Context, end proxy.AttemptEnd) {
	op := t.from(ctx, anAttempt)
	if op == nil {
		return
	}
	var attrs attributes
	if end.Status > 0 {
		attrs = attrs.number(attrStatus, int64(end.Status))
	}
	if e, ok := errors.AsType[*proxy.Error](end.Err); ok {
		attrs = attrs.add(attrClass, e.Class)
	}
	op.end(string(toolwire.CodeOf(end.Err)), attrs)
}

func (t *Telemetry) waitEnd(ctx context.Context, end proxy.WaitEnd) {
	reason := "pacing"
	if end.Err != nil {
		reason = "backoff"
	}
	attrs := attributes{}.add(attrReason, reason).add(attrRequest, nameOrOther(end.Name)).number(attrNext, int64(end.Next)).
		add(attrError, string(toolwire.CodeOf(end.Err)))
	attrs = append(attrs, attribute.Float64(attrWait, end.Duration.Seconds()))
	trace.SpanFromContext(ctx).AddEvent(eventWait, trace.WithAttributes(attrs...))
}

func (t *Telemetry) traceEnd(ctx context.Context, end proxy.TraceEnd) {
	name, attrs := eventTrace, attributes{}.add(attrTraceType, nameOrOther(string(end.Event)))
	if end.From != "" || end.To != "" {
		name, attrs = eventHandoff, attributes{}.add(attrFrom, end.From).add(attrTo, end.To)
	}
	attrs = attrs.add(attrAgentName, end.Actor).add(attrError, string(toolwire.CodeOf(end.Err)))
	if end.Err == nil {
		attrs = attrs.number(attrSequence, end.Sequence)
	}
	trace.SpanFromContext(ctx).AddEvent(name, trace.WithAttributes(attrs...))
}
