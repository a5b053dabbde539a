package oteltoolwire

import "go.opentelemetry.io/otel/metric"

// schemaURL is the schema of the spans and metrics: version 1.41.0 of OpenTelemetry's semantic
// conventions, the last release with names for generative AI (in OpenTelemetry-Go since 1.44.0 of
// 2026-05-27). Later names come from the conventions' own repository, where the status of all of
// them is Development: open-telemetry/semantic-conventions-genai as of June 2026. These are
// gen_ai.invoke_agent.duration, gen_ai.invoke_agent.tool_calls and gen_ai.execute_tool.duration.
const schemaURL = "https://opentelemetry.io/schemas/1.41.0"

const scope = "github.com/toolwire/toolwire/dispatch/oteltoolwire"

// Names of the semantic conventions.
const (
	attrOperation      = "gen_ai.operation.name"
	attrProvider       = "gen_ai.provider.name"
	attrAgentID        = "gen_ai.agent.id"
	attrAgentName      = "gen_ai.agent.name"
	attrConversation   = "gen_ai.conversation.id"
	attrModel          = "gen_ai.response.model"
	attrInputTokens    = "gen_ai.usage.input_tokens"
	attrOutputTokens   = "gen_ai.usage.output_tokens"
	attrTokenType      = "gen_ai.token.type"
	attrToolName       = "gen_ai.tool.name"
	attrToolType       = "gen_ai.tool.type"
	attrToolCallID     = "gen_ai.tool.call.id"
	attrToolArguments  = "gen_ai.tool.call.arguments"
	attrToolResult     = "gen_ai.tool.call.result"
	attrError          = "error.type"
	attrMethod         = "http.request.method"
	attrResend         = "http.request.resend_count"
	attrStatus         = "http.response.status_code"
	attrRoute          = "http.route"
	attrAddress        = "server.address"
	attrPort           = "server.port"
	attrURL            = "url.full"
	attrTemplate       = "url.template"
	operationRun       = "invoke_agent"
	operationTool      = "execute_tool"
	typeFunction       = "function"
	tokenInput         = "input"
	tokenOutput        = "output"
	other              = "_OTHER"
	metricRunDuration  = "gen_ai.invoke_agent.duration"
	metricToolCalls    = "gen_ai.invoke_agent.tool_calls"
	metricToolDuration = "gen_ai.execute_tool.duration"
	metricTokens       = "gen_ai.client.token.usage"
	metricRequests     = "http.server.request.duration"
)

// Names of this module.
const (
	attrRunID     = "toolwire.run.id"
	attrTaskID    = "toolwire.task.id"
	attrTurnID    = "toolwire.turn.id"
	attrCalls     = "toolwire.run.tool_calls"
	attrAttempts  = "toolwire.call.attempts"
	attrSource    = "toolwire.call.source"
	attrDelivery  = "toolwire.call.delivery"
	attrClass     = "toolwire.error_class"
	attrProblem   = "toolwire.problem.code"
	attrPointer   = "toolwire.problem.pointer"
	attrReason    = "toolwire.wait.reason"
	attrWait      = "toolwire.wait.duration"
	attrNext      = "toolwire.wait.attempt"
	attrRequest   = "toolwire.wait.request"
	attrTraceType = "toolwire.trace.type"
	attrSequence  = "toolwire.trace.sequence"
	attrFrom      = "toolwire.handoff.from"
	attrTo        = "toolwire.handoff.to"

	eventTimeout = "toolwire.timeout"
	eventProblem = "toolwire.contract_problem"
	eventRefusal = "toolwire.refusal"
	eventWait    = "toolwire.wait"
	eventTrace   = "toolwire.trace"
	eventHandoff = "toolwire.handoff"

	metricRefusals = "toolwire.dispatch.refusals"

	errorTimeout    = "timeout"
	errorToolFailed = "tool_failed"
)

// The boundaries that the conventions name.
var (
	runBuckets = metric.WithExplicitBucketBoundaries(
		0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6)
	toolBuckets = metric.WithExplicitBucketBoundaries(
		0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
	requestBuckets = metric.WithExplicitBucketBoundaries(
		0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10)
	callBuckets  = metric.WithExplicitBucketBoundaries(1, 2, 4, 8, 16, 32, 64, 128)
	tokenBuckets = metric.WithExplicitBucketBoundaries(
		1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864)
)
