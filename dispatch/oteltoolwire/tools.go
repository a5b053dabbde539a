package oteltoolwire

import (
	"context"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/proxy"
)

// ToolCall reports a call of a tool that has just ended and was not sent to a run's proxy: it is for
// OnCall of packages toolbox and webhook, and for Audit of package manifest. code is the code of
// the failure, or "". The span execute_tool is below the span of ctx, which Audit does not have.
//
//	OnCall: func(ctx context.Context, end toolbox.CallEnd) {
//		tel.ToolCall(ctx, end.Tool, toolwire.CodeOf(end.Err), end.Duration)
//	},
//
// The tool must be declared, not a name that a model chose: each name is a time series.
func (t *Telemetry) ToolCall(ctx context.Context, tool string, code toolwire.Code, took time.Duration) {
	if t.opts.NoToolSpans {
		return
	}
	call := proxy.CallInfo{Tool: tool}
	op := &operation{start: time.Now().Add(-took)}
	_, op.span = t.tracer.Start(ctx, spanName(operationTool, nameOrOther(tool)), trace.WithTimestamp(op.start),
		trace.WithAttributes(t.callAttributes(call).add(attrOperation, operationTool)...))
	op.end(string(code), nil)
	t.toolDuration.Record(ctx, took.Seconds(), t.callAttributes(call).add(attrError, string(code)).set())
}

// Request reports a request that a server has answered, as http.server.request.duration: it is for
// OnRequest of package catalog. route must be a pattern, because each one is a time series.
//
//	OnRequest: func(ctx context.Context, end catalog.RequestEnd) {
//		tel.Request(ctx, end.Method, end.Route, end.Status, end.Duration)
//	},
func (t *Telemetry) Request(ctx context.Context, method, route string, status int, took time.Duration) {
	switch method {
	case "GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "CONNECT", "TRACE":
	default:
		method = other
	}
	attrs := attributes{}.add(attrMethod, method).add(attrRoute, route).number(attrStatus, int64(status))
	if status >= 500 {
		attrs = attrs.add(attrError, strconv.Itoa(status))
	}
	t.requests.Record(ctx, took.Seconds(), attrs.set())
}
