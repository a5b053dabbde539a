package oteltoolwire

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/proxy"
)

// RunObserver returns the observer of a handler, for [dispatch.Options.Observer].
//
// In code mode it flushes both providers at the end of the run if they have the method ForceFlush,
// like the SDK's, because the program exits then.
func (t *Telemetry) RunObserver() *dispatch.Observer {
	return &dispatch.Observer{RunStart: t.runStart, RunEnd: t.runEnd, Refused: t.refused}
}

// operation is a span that has begun, in the context that its start returns.
type operation struct {
	span     trace.Span
	start    time.Time
	run      *dispatch.Run // nil for other operations
	codeMode bool          // of a run
}

type operationKey struct {
	of   *Telemetry // because several may observe the same run
	kind kind
}

type kind int

const (
	aRun kind = iota
	aCall
	anAttempt
)

// begin starts a span.
func (t *Telemetry) begin(
	ctx context.Context, k kind, name string, spanKind trace.SpanKind, attrs attributes,
) (context.Context, *operation) {
	op := &operation{start: time.Now()}
	ctx, op.span = t.tracer.Start(ctx, name, trace.WithSpanKind(spanKind), trace.WithTimestamp(op.start),
		trace.WithAttributes(attrs...))
	return context.WithValue(ctx, operationKey{t, k}, op), op
}

// from returns the operation that began with this context, or nil.
func (t *Telemetry) from(ctx context.Context, k kind) *operation {
	op, _ := ctx.Value(operationKey{t, k}).(*operation)
	return op
}

// end ends the span and returns its duration in seconds, so that metrics have the same. failure is
// the value of error.type, or "".
func (op *operation) end(failure string, attrs attributes) float64 {
	now := time.Now()
	op.span.SetAttributes(attrs.add(attrError, failure)...)
	if failure != "" {
		op.span.SetStatus(codes.Error, failure)
	}
	op.span.End(trace.WithTimestamp(now))
	return now.Sub(op.start).Seconds()
}

// attributes is a list that grows.
type attributes []attribute.KeyValue

// add adds an attribute, unless the value is "".
func (a attributes) add(key, value string) attributes {
	if value == "" {
		return a
	}
	return append(a, attribute.String(key, strings.ToValidUTF8(value, "\uFFFD")))
}

func (a attributes) number(key string, value int64) attributes {
	return append(a, attribute.Int64(key, value))
}

func (a attributes) set() metric.MeasurementOption { return metric.WithAttributes(a...) }

func (t *Telemetry) runStart(ctx context.Context, start dispatch.RunStart) context.Context {
	if !trace.SpanContextFromContext(ctx).IsValid() { // no instrumentation of the server
		carrier := headers(start.Header)
		if start.Header == nil {
			carrier = variable
		}
		ctx = t.propagator.Extract(ctx, carrier)
	}
	run := start.Run
	attrs := attributes{}.add(attrOperation, operationRun).add(attrAgentName, t.opts.AgentName).
		add(attrProvider, t.opts.Provider).add(attrAgentID, run.AgentID).add(attrConversation, run.SessionID).
		add(attrRunID, run.RunID).add(attrTaskID, run.TaskID).add(attrTurnID, run.TurnID)
	ctx, op := t.begin(ctx, aRun, spanName(operationRun, t.opts.AgentName), trace.SpanKindInternal, attrs)
	op.run, op.codeMode = run, start.Header == nil
	return ctx
}

func (t *Telemetry) runEnd(ctx context.Context, end dispatch.RunEnd) {
	op := t.from(ctx, aRun)
	if op == nil || op.run != end.Run { // the start of this run was not in time
		return
	}
	failure := runFailure(end)
	attrs := attributes{}.number(attrCalls, int64(end.Calls))
	var model string
	if m := end.Metadata; m != nil {
		model = m.Model
		attrs = attrs.add(attrModel, model)
		if m.TotalInputTokens != 0 || m.TotalOutputTokens != 0 {
			attrs = attrs.number(attrInputTokens, m.TotalInputTokens).number(attrOutputTokens, m.TotalOutputTokens)
		}
	}
	if end.TimedOut {
		op.span.AddEvent(eventTimeout)
	}
	for _, p := range end.Problems {
		op.span.AddEvent(eventProblem,
			trace.WithAttributes(attributes{}.add(attrProblem, p.Code).add(attrPointer, p.Pointer)...))
	}
	took := op.end(failure, attrs)
	agent := attributes{}.add(attrAgentName, t.opts.AgentName)
	t.toolCalls.Record(ctx, int64(end.Calls), agent.set())
	t.runDuration.Record(ctx, took, agent.add(attrError, failure).set())
	if m := end.Metadata; m != nil {
		model = t.models.name(model)
		t.recordTokens(ctx, tokenInput, m.TotalInputTokens, model)
		t.recordTokens(ctx, tokenOutput, m.TotalOutputTokens, model)
	}
	if op.codeMode {
		t.flush(ctx)
	}
}

func (t *Telemetry) recordTokens(ctx context.Context, kind string, n int64, model string) {
	if n > 0 {
		t.tokens.Record(ctx, n, attributes{}.add(attrOperation, operationRun).add(attrAgentName, t.opts.AgentName).
			add(attrProvider, t.opts.Provider).add(attrModel, model).add(attrTokenType, kind).set())
	}
}

// models are the names of models in metrics. Each is a time series, and the peer writes them.
type models struct {
	mu    sync.Mutex
	known map[string]bool
}

const maxModels = 100

// name returns the first name of a list as llm.Transport writes it, or "_OTHER" if it is new and
// there are maxModels already.
func (m *models) name(listed string) string {
	first, _, _ := strings.Cut(listed, ", ")
	m.mu.Lock()
	defer m.mu.Unlock()
	if first == "" || m.known[first] {
		return first
	}
	if len(m.known) == maxModels {
		return other
	}
	if m.known == nil {
		m.known = make(map[string]bool)
	}
	m.known[first] = true
	return first
}

// runFailure returns the value of error.type: "timeout", the code of the tool call that the agent's
// error came from, or the code of the failure.
func runFailure(end dispatch.RunEnd) string {
	call, isCall := errors.AsType[*proxy.Error](end.Err)
	switch code := toolwire.CodeOf(end.Err); {
	case end.TimedOut:
		return errorTimeout
	case code == toolwire.CodeAgentFailed && isCall:
		return string(call.Code)
	default:
		return string(code)
	}
}

// refused adds an event to the span of the server's instrumentation, if there is one. A request that
// was not authenticated can choose its headers, so it does not begin a span.
func (t *Telemetry) refused(ctx context.Context, refusal dispatch.Refusal) {
	attrs := attributes{}.add(attrError, string(toolwire.CodeOf(refusal.Err))).number(attrStatus, int64(refusal.Status))
	trace.SpanFromContext(ctx).AddEvent(eventRefusal, trace.WithAttributes(attrs...))
	t.refusals.Add(ctx, 1, attrs.set())
}

// flushTime bounds the flush of a program in code mode, which waits for it.
const flushTime = 5 * time.Second

func (t *Telemetry) flush(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTime)
	defer cancel()
	for _, provider := range []any{t.tracerProvider(), t.meterProvider()} {
		if f, ok := provider.(interface{ ForceFlush(context.Context) error }); ok {
			_ = f.ForceFlush(ctx) // the SDK reports failures of exporters to otel.Handle
		}
	}
}

// headers reads trace contexts from headers.
type headers func(name string) string

// Get implements [propagation.TextMapCarrier].
func (h headers) Get(key string) string { return h(key) }

// Set implements [propagation.TextMapCarrier].
func (headers) Set(string, string) {}

// Keys implements [propagation.TextMapCarrier].
func (headers) Keys() []string { return nil }

// variable returns the environment variable for a header, as OpenTelemetry names them: TRACEPARENT.
func variable(header string) string {
	return os.Getenv(strings.ToUpper(strings.ReplaceAll(header, "-", "_")))
}

func spanName(operation, of string) string {
	if of == "" {
		return operation
	}
	return operation + " " + of
}
