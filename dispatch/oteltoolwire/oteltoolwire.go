// Package oteltoolwire reports the [runs] of an agent to OpenTelemetry, as spans and metrics with the
// names of its semantic conventions.
//
//	tel, err := oteltoolwire.New(&oteltoolwire.Options{AgentName: "refunds", Provider: "openai"})
//	…
//	handler, err := dispatch.New(agent, &dispatch.Options{
//		Tokens:   tokens,
//		Observer: tel.Dispatch(),
//		Proxy:    &proxy.Options{Observer: tel.Proxy()},
//	})
//
// Each run is a span invoke_agent. Its parent is the span of the request's context, or else that of
// the incoming header traceparent. Below it each tool call is a span execute_tool, and each request
// to the [proxy] a span of an HTTP client, whose traceparent is sent. Rejected requests, timeouts,
// problems of the [response contract], waits, [handoffs] and trace events are span events. The page
// docs/observability.md lists all names.
//
// # What is recorded
//
// Spans and metrics have names, ids, codes, sizes and times. They do not contain tokens, texts of
// errors, prompts, responses or the path of the proxy's URL. Arguments and results of tools are
// recorded only with [Options.Content].
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

	// Propagator reads the headers of incoming requests and writes those of requests to the proxy.
	// Defaults to [propagation.TraceContext], which has no baggage, and not to the global
	// propagator. An empty composite propagator switches both off. In code mode it reads the
	// environment variables TRACEPARENT and TRACESTATE.
	Propagator propagation.TextMapPropagator

	// AgentName is gen_ai.agent.name. A tool call that has the label of a sub-agent has the label
	// instead. If it is "", there is none.
	AgentName string

	// Provider is gen_ai.provider.name, such as "openai", "anthropic" or "gcp.gemini". If it is "",
	// there is none, although the convention requires one.
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

	runDuration, toolDuration metric.Float64Histogram
	toolCalls, tokens         metric.Int64Histogram
	refusals                  metric.Int64Counter
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
	t.tracer = t.tracerProvider().Tracer(scope, trace.WithSchemaURL(SchemaURL))
	return t, t.instruments(t.meterProvider().Meter(scope, metric.WithSchemaURL(SchemaURL)))
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
	var errs [5]error
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
	return errors.Join(errs[:]...)
}
