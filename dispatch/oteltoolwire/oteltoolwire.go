// Package oteltoolwire reports the [runs] of an agent to OpenTelemetry, as spans and metrics with the
// names of its semantic conventions.
//
//	tel, err := oteltoolwire.New(&oteltoolwire.Options{AgentName: "refunds", Provider: "openai"})
//	…
//	handler, err := dispatch.New(agent, &dispatch.Options{
//		Tokens:   tokens,
//		Observer: tel.RunObserver(),
//		Proxy:    &proxy.Options{Observer: tel.CallObserver()},
//	})
//
// Each run is a span invoke_agent. Below it each tool call is a span execute_tool, and each request to
// the [proxy] a span of an HTTP client, whose traceparent is sent. Rejected requests, timeouts, problems
// of the [response contract], waits, [handoffs] and trace events are span events. The names
// follow version 1.41.0 of the conventions. The names for generative AI have the status Development, so
// they may change in a later version of this module.
//
// This package is settling, as the README explains.
//
// # Spans
//
// An attribute without a value is left out.
//
//	invoke_agent {agent}        internal: gen_ai.operation.name, gen_ai.agent.name, gen_ai.agent.id,
//	                            gen_ai.provider.name, gen_ai.conversation.id (the session),
//	                            gen_ai.response.model, gen_ai.usage.input_tokens,
//	                            gen_ai.usage.output_tokens, toolwire.run.id, toolwire.task.id,
//	                            toolwire.turn.id, toolwire.run.tool_calls, error.type
//	execute_tool {tool}         internal: gen_ai.operation.name, gen_ai.tool.name, gen_ai.tool.type,
//	                            gen_ai.tool.call.id, gen_ai.agent.name (the label of the sub-agent, or
//	                            the agent), toolwire.call.attempts, toolwire.call.source,
//	                            toolwire.call.delivery, toolwire.error_class, error.type; with
//	                            [Options].Content gen_ai.tool.call.arguments (up to 1 MiB) and
//	                            gen_ai.tool.call.result
//	POST /tools/{name}          client: http.request.method, http.request.resend_count,
//	POST /traces/{type}         http.response.status_code, server.address, server.port, url.full,
//	                            url.template, toolwire.error_class, error.type
//
// Model and tokens come from the response's metadata. In url.full the path of the run's proxy is
// REDACTED. A tool name that does not match the platform's pattern is _OTHER.
//
// The error.type of a run is the code of its toolwire.Error, timeout, or the code of the proxy.Error
// that made the agent fail. The error.type of a call or a request is the code of the proxy.Error, or
// tool_failed if the tool reported a failure.
//
// # Events
//
//	toolwire.timeout            on the run
//	toolwire.contract_problem   on the run: toolwire.problem.code, toolwire.problem.pointer
//	toolwire.refusal            on the server's span: error.type, http.response.status_code
//	toolwire.wait               on the call: toolwire.wait.reason (pacing or backoff),
//	                            toolwire.wait.duration (seconds), toolwire.wait.attempt (the next),
//	                            toolwire.wait.request (the tool, or the type of the trace event),
//	                            error.type (of the attempt before)
//	toolwire.trace              on the span around Trace: toolwire.trace.type,
//	                            toolwire.trace.sequence, gen_ai.agent.name, error.type
//	toolwire.handoff            on the span around Handoff: toolwire.handoff.from,
//	                            toolwire.handoff.to, toolwire.trace.sequence, gen_ai.agent.name,
//	                            error.type
//
// A rejected request begins no span. Its event is on the span of the server, if the server is
// instrumented; the metric and the log contain every rejected request.
//
// # Metrics
//
//	gen_ai.invoke_agent.duration     histogram, s: gen_ai.agent.name, error.type
//	gen_ai.invoke_agent.tool_calls   histogram, {tool_call}: gen_ai.agent.name
//	gen_ai.execute_tool.duration     histogram, s: gen_ai.tool.name, gen_ai.tool.type,
//	                                 gen_ai.agent.name, error.type
//	gen_ai.client.token.usage        histogram, {token}: gen_ai.operation.name, gen_ai.agent.name,
//	                                 gen_ai.provider.name, gen_ai.response.model, gen_ai.token.type
//	toolwire.dispatch.refusals       counter, {request}: error.type, http.response.status_code
//	http.server.request.duration     histogram, s: http.request.method, http.route,
//	                                 http.response.status_code, error.type; of a catalog, by Request
//
// A tool that does not exist, and the tool of a call that failed before anything was sent, are _OTHER
// in metrics, so that a model cannot create any number of time series. Such a call has the agent name of
// the options. Choose labels of sub-agents in code, not by a model. Of several models of a run, metrics
// name the first; after 100 different models, further ones are _OTHER. Spans name all.
//
// gen_ai.client.token.usage has one value for each run, with the operation invoke_agent. An
// instrumentation of the model's client reports the same tokens for each request, with another
// operation: do not add them up.
//
// # Trace context
//
// The parent of a run is the span of the request's context if the server is instrumented, or else the
// header traceparent, which is read after authentication. In code mode it is the environment variable
// TRACEPARENT. Baggage is neither read nor sent, unless [Options].Propagator does.
//
// Requests to a model are not reported. The instrumentation of the model's SDK reports them below the
// span of the run, if the agent passes its context on. If that SDK reports tool calls too, set
// [Options].NoToolSpans; waits are then events of the SDK's spans.
//
// # Shutdown
//
// Call Shutdown of the providers after Handler.Drain, or the last spans are lost. In code mode the
// program exits inside of dispatch.Main, so the observer flushes the providers at the end of the run,
// and Main waits for half of Options.Reserve.
//
// # What is recorded
//
// Spans and metrics contain names, ids, codes, sizes and times. They do not contain tokens, headers,
// the path of the proxy's URL, instructions, inputs, messages, final responses, payloads of trace
// events, or texts of errors, panics and problems. Arguments and results of tools are recorded only
// with [Options.Content], up to 1 MiB each: set AttributeValueLengthLimit in the span limits of the
// tracer provider.
//
// # Errors
//
// [New] returns the errors of the meter provider. Later failures of telemetry never fail a run. A
// [Telemetry] is safe for concurrent use by any number of handlers and clients.
//
// [runs]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#run
// [proxy]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#proxy
// [response contract]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#response-contract
// [handoffs]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#sub-agent
package oteltoolwire

import (
	"errors"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Options configures [New]. The zero value of every field is its default. Options are copied.
type Options struct {
	// TracerProvider and MeterProvider default to the global ones of package otel.
	TracerProvider trace.TracerProvider
	MeterProvider  metric.MeterProvider

	// Propagator reads the headers of incoming requests and writes the headers of requests to the
	// proxy. Defaults to [propagation.TraceContext], which carries no baggage, and not to the
	// global propagator. An empty composite propagator switches both off. In code mode it reads the
	// environment variables TRACEPARENT and TRACESTATE.
	Propagator propagation.TextMapPropagator

	// AgentName is gen_ai.agent.name. A tool call of a sub-agent carries the sub-agent's label
	// instead. If AgentName is "", the attribute is left out.
	AgentName string

	// Provider is gen_ai.provider.name, such as "openai", "anthropic" or "gcp.gemini". If it is "",
	// the attribute is left out, although the convention requires it.
	Provider string

	// Content records the arguments and the result of each tool call in its span, as
	// gen_ai.tool.call.arguments and gen_ai.tool.call.result. They may be confidential, and have up
	// to 1 MiB each.
	Content bool

	// NoToolSpans leaves out the spans execute_tool and the metric gen_ai.execute_tool.duration, for
	// agents on an SDK that reports them. The spans of requests are then below the SDK's span.
	NoToolSpans bool
}

// Telemetry makes the observers. It is safe for concurrent use.
type Telemetry struct {
	opts       Options
	models     models
	propagator propagation.TextMapPropagator
	tracer     trace.Tracer

	runDuration, toolDuration, requests metric.Float64Histogram
	toolCalls, tokens                   metric.Int64Histogram
	refusals                            metric.Int64Counter
}

// New makes the instruments of the meter provider. opts may be nil.
func New(opts *Options) (*Telemetry, error) {
	t := &Telemetry{}
	if opts != nil {
		t.opts = *opts
	}
	if t.propagator = t.opts.Propagator; t.propagator == nil {
		t.propagator = propagation.TraceContext{}
	}
	t.tracer = t.tracerProvider().Tracer(scope, trace.WithSchemaURL(schemaURL))
	return t, t.instruments(t.meterProvider().Meter(scope, metric.WithSchemaURL(schemaURL)))
}

func (t *Telemetry) tracerProvider() trace.TracerProvider {
	if t.opts.TracerProvider != nil {
		return t.opts.TracerProvider
	}
	return otel.GetTracerProvider()
}

func (t *Telemetry) meterProvider() metric.MeterProvider {
	if t.opts.MeterProvider != nil {
		return t.opts.MeterProvider
	}
	return otel.GetMeterProvider()
}

func (t *Telemetry) instruments(m metric.Meter) error {
	var errs [6]error
	t.runDuration, errs[0] = m.Float64Histogram(metricRunDuration, metric.WithUnit("s"),
		metric.WithDescription("The duration of a run of the agent."), runBuckets)
	t.toolCalls, errs[1] = m.Int64Histogram(metricToolCalls, metric.WithUnit("{tool_call}"),
		metric.WithDescription("The number of tool calls of a run."), callBuckets)
	t.tokens, errs[2] = m.Int64Histogram(metricTokens, metric.WithUnit("{token}"),
		metric.WithDescription("The number of input and output tokens of a run."), tokenBuckets)
	t.toolDuration, errs[3] = m.Float64Histogram(metricToolDuration, metric.WithUnit("s"),
		metric.WithDescription("The duration of a tool call, with its attempts and waits."), toolBuckets)
	t.refusals, errs[4] = m.Int64Counter(metricRefusals, metric.WithUnit("{request}"),
		metric.WithDescription("The number of requests that the handler rejected."))
	t.requests, errs[5] = m.Float64Histogram(metricRequests, metric.WithUnit("s"),
		metric.WithDescription("The duration of a request to a catalog."), requestBuckets)
	return errors.Join(errs[:]...)
}
