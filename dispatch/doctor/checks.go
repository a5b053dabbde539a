package doctor

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
)

// A check is one line of the report. Its function sends what it needs, judges the answers, and says what
// to do.
type check struct {
	name     Name
	needs    []Name // the checks that must not have failed
	endpoint bool   // it is about requests that a program in code mode does not receive
	sends    string // the dispatches of a scenario; "" for other checks
	calls    bool   // the sample must have called a tool
	rule     string // document, heading and sentence
	warning  string // the Severity of its warnings
	look     func(*checkup, context.Context) Finding
}

// Values of Finding.Severity.
const (
	demanded = "demanded"
	advised  = "advised"
	inferred = "inferred"
)

// Rules and parts of rules that are cited in several places.
const (
	porting   = `"Porting without the SDK", `
	stepProxy = porting + `Step 2, Proxy contract: `
	stepRetry = porting + `Step 2, Retryable errors: `
	stepWrap  = porting + `Step 3, What your wrapper must do: `
	stepBody  = porting + `Step 3, Body: `
	stepAuth  = porting + `Step 4: `

	pingRule = porting + `Step 5: "Handle the {"ping": true} body explicitly." … "short-circuit the ping body to a 2xx."`
	turnRule = stepWrap + `"Return a response object with a non-empty final_response value", for each dispatch.`
	apart    = stepWrap + `"Build the agent inside the request handler so tools close over request-scoped values, because each run has ` +
		`its own bearer token."`
	unwrapRule = porting + `Step 2: "Your tool body must return body["response"], not the full envelope." ` +
		`"Do not keep original tool bodies as a fallback path."`
	callsRule = porting + `"The platform evaluates tool calls only when they are sent to: {odyssey_proxy_url}/tools/{tool_name}".`
	namesRule = porting + `"Keep tool names, signatures, model selection, and prompt content unchanged."`
	actorRule = porting + `Step 2, Multi-agent attribution: "A malformed label is rejected with 400 actor_id_invalid".`
	manyRuns  = `No document says how many runs the platform dispatches at the same time.`
)

// checks are all checks but the scenarios, in the order in which they are made and reported.
var checks = []check{
	{
		name: "reachable", endpoint: true, look: reachable, warning: inferred,
		rule: porting + `Step 3: "Pipelines opens one HTTP POST per dispatch to your endpoint."`,
	}, {
		name: "tls", needs: []Name{"reachable"}, endpoint: true, look: ofFirst((*checkup).tls), warning: advised,
		rule: `"Register an external HTTP agent": the endpoint URL is publicly reachable HTTPS.`,
	}, {
		name: "clock", needs: []Name{"tls"}, endpoint: true, look: ofFirst((*checkup).clock), warning: inferred,
		rule: `"Trace events": the trace is sorted by __occurred_at, the agent's clock.`,
	}, {
		name: "ping", needs: []Name{"tls"}, endpoint: true, look: ofFirst((*checkup).ping), warning: advised, rule: pingRule,
	}, {
		name: "method", needs: []Name{"ping"}, endpoint: true, look: (*checkup).method, warning: inferred,
		rule: porting + `Step 3: "Pipelines opens one HTTP POST per dispatch". No document says what to do with another method.`,
	}, {
		name: "auth_before_ping", needs: []Name{"tls"}, endpoint: true, look: authBeforePing, warning: advised,
		rule: porting + `Step 5: "Run inbound auth first, then short-circuit the ping body to a 2xx." ` +
			stepAuth + `"By default, any caller that can reach the endpoint can dispatch. Configure a static bearer token".`,
	}, {
		name: "wrong_bearer", needs: []Name{"tls"}, endpoint: true, look: wrongBearer, warning: advised,
		rule: stepAuth + `"secrets.compare_digest(authorization, expected)", otherwise status_code=401.`,
	}, {
		name: "ping_spacing", needs: []Name{"ping"}, endpoint: true, look: (*checkup).pingSpacing, warning: inferred,
		rule: porting + `Step 5: the body is compared as JSON: body == {"ping": True}. The text says "exactly this body".`,
	}, {
		name: "body_limit", needs: []Name{"ping"}, endpoint: true, look: (*checkup).bodyLimit, warning: inferred,
		rule: `No document names a limit for the body of a dispatch.`,
	}, {
		name: "dispatch", needs: []Name{"ping"}, look: sampleDispatch, warning: advised,
		rule: stepWrap + `"Return a response object with a non-empty final_response value." ` + stepProxy +
			`"POST to the odyssey proxy base URL, then append /tools/ followed by the tool name" with "Authorization: Bearer <run_token>"; ` +
			`the arguments are "validated against input_schema".`,
	}, {
		name: "content_type", needs: []Name{"ping"}, endpoint: true, look: contentType, warning: advised,
		rule: `"Troubleshooting", agent_bad_response: answer with Content-Type: application/json.`,
	}, {
		name: "malformed_body", needs: []Name{"ping"}, endpoint: true, look: (*checkup).malformedBody, warning: inferred,
		rule: `"Troubleshooting": a 4xx and the first 500 characters of a 5xx are shown. No document says how to answer malformed JSON.`,
	}, {
		name: "late_calls", needs: []Name{"dispatch"}, look: (*checkup).lateCalls, warning: inferred,
		rule: `No document allows or forbids calls after the response; the run token is for the run.`,
	}, {
		name: "proxy", look: (*checkup).proxy, warning: advised,
		rule: porting + `Porting into code mode: "HTTP 401 is the expected success signal for this probe".`,
	}, {
		name: "tools_schema", look: (*checkup).toolsSchema, warning: advised,
		rule: `"Tools schema": the platform validates each tool at registration.`,
	},
}

// scenarios are the checks that [Options].Scenarios chooses, in order.
var scenarios = []check{
	{
		name: "concurrent_runs", needs: []Name{"dispatch"}, calls: true, look: ofAlone((*checkup).concurrentRuns), warning: advised, rule: apart,
		sends: "a dispatch, and two dispatches at the same time, with their own run tokens and proxy URLs",
	}, {
		name: "unwrap", needs: afterSample, calls: true, look: ofAlone((*checkup).unwrap), warning: advised, rule: unwrapRule,
		sends: "a dispatch; the result of each tool call carries a mark",
	}, {
		name: "result_kinds", needs: afterResults, calls: true, look: ofAlone((*checkup).resultKinds), warning: inferred,
		sends: "dispatches; the tool calls are answered with results of other kinds",
		rule: porting + `Step 2: "response arrives already decoded" … "Non-JSON bodies (plain text, HTML, CSV) pass through as the ` +
			`original string".`,
	}, {
		name: "retry_429", needs: afterSample, calls: true, warning: advised,
		sends: "a dispatch; the first attempt of each tool call is answered 429",
		look:  altered(firstTime(reply{status: 429, class: "rate_limited"}), (*checkup).rateLimited),
		rule:  stepProxy + `"60 requests per minute per token. Retry with backoff on 429 responses."`,
	}, {
		name: "retry_503", needs: afterSample, calls: true, look: altered(transientTwice, (*checkup).transient), warning: inferred,
		sends: "a dispatch; the first two attempts of each tool call are answered 503, with two transient classes, " +
			"and the first trace event with a third",
		rule: stepRetry + `"Some proxy responses represent transient platform conditions rather than tool failures. Retry these responses ` +
			`with backoff." The page does not list the classes.`,
	}, {
		name: "terminal_503", needs: afterSample, calls: true, warning: inferred,
		sends: "a dispatch; each tool call is answered 503 with the class tool_not_executable",
		look:  altered(always(reply{status: 503, class: "tool_not_executable"}), (*checkup).terminal),
		rule:  stepRetry + `only transient conditions are repeated. The page does not list the classes.`,
	}, {
		name: "failing_tools", needs: afterResults, calls: true, warning: inferred,
		sends: "a dispatch; each tool call is answered 422",
		look:  altered(always(reply{status: 422, class: refusedClass}), (*checkup).failing),
		rule: porting + `Step 2: "Do not keep original tool bodies as a fallback path. Doing so can diverge simulator world state from ` +
			`observed behavior and invalidate the trace." That the answer should admit a failure is not said.`,
	}, {
		name: "slow_tool", needs: afterSample, calls: true, look: ofSample((*checkup).slowTool), warning: advised,
		sends: "a dispatch; the first tool call is answered after 22 s",
		rule:  stepProxy + `"Latency: Sandbox mode: 3–20 s per call (LLM-backed)." The document's wrapper waits for 120 s.`,
	}, {
		name: "expired_token", needs: afterSample, calls: true, look: ofSample((*checkup).expiredToken), warning: inferred,
		sends: "a dispatch; from the second tool call on, the answer is 401 run_token_expired",
		rule:  `No document says what to do at 401 run_token_expired; the run is over then.`,
	}, {
		name: "headers_only", needs: afterSample, calls: true, endpoint: true, warning: advised,
		sends: "a dispatch without odyssey_proxy_url, run_id and run_token_jti in its body",
		look: edited("Take the proxy URL from the header X-Pipelines-Odyssey-Proxy-URL if the body does not have it.",
			func(body map[string]json.RawMessage, _ http.Header) {
				for _, name := range []string{"odyssey_proxy_url", "run_id", "run_token_jti"} {
					delete(body, name)
				}
			}),
		rule: stepBody + `"Prefer values from the body when present, and fall back to headers if an edge proxy strips a field."`,
	}, {
		name: "body_only", needs: afterSample, calls: true, endpoint: true, warning: advised,
		sends: "a dispatch whose only header of the platform is X-Pipelines-Run-Token",
		look: edited("Take the proxy URL and the ids from the body if there are no headers with them.",
			func(_ map[string]json.RawMessage, header http.Header) {
				for name := range header {
					if strings.HasPrefix(name, "X-Pipelines-") && name != "X-Pipelines-Run-Token" {
						header.Del(name)
					}
				}
			}),
		rule: stepBody + `"The body and matching X-Pipelines-* headers carry the same correlation identifiers. Prefer values from the ` +
			`body when present".`,
	}, {
		name: "session_replay", needs: afterSample, look: replay.answered, warning: advised, rule: turnRule, sends: replay.sends,
	}, {
		name: "memory_replay", needs: []Name{"dispatch", "concurrent_runs", "session_replay"}, look: replay.remembered, warning: inferred,
		sends: replay.sends,
		rule:  `"Task seeding", memory_mode replay: the transcript is sent with each turn. No document says what an agent makes of it.`,
	}, {
		name: "session_stateful", needs: afterSample, look: stateful.answered, warning: advised, rule: turnRule, sends: stateful.sends,
	}, {
		name: "memory_stateful", needs: []Name{"dispatch", "concurrent_runs", "session_stateful"}, look: stateful.remembered, warning: inferred,
		sends: stateful.sends,
		rule:  `"Task seeding", memory_mode stateful: the agent keeps the memory. No document demands that an agent supports it.`,
	},
}

// What follows gives a check what earlier ones have left, and keeps what it leaves.

func reachable(c *checkup, ctx context.Context) (f Finding) {
	c.first, f = c.reachable(ctx)
	return f
}

func authBeforePing(c *checkup, ctx context.Context) (f Finding) {
	c.access, f = c.authBeforePing(ctx, c.first)
	return f
}

func wrongBearer(c *checkup, ctx context.Context) Finding {
	return c.wrongBearer(ctx, c.first, c.access)
}

func sampleDispatch(c *checkup, ctx context.Context) (f Finding) {
	c.sample, f = c.sampleDispatch(ctx)
	return f
}

func contentType(c *checkup, _ context.Context) Finding { return c.contentType(c.first, c.sample) }

func ofFirst(look func(*checkup, *answer) Finding) func(*checkup, context.Context) Finding {
	return func(c *checkup, _ context.Context) Finding { return look(c, c.first) }
}

func ofSample(look func(*checkup, context.Context, *episode) Finding) func(*checkup, context.Context) Finding {
	return func(c *checkup, ctx context.Context) Finding { return look(c, ctx, c.sample) }
}

func ofAlone(look func(*checkup, context.Context, *lone) Finding) func(*checkup, context.Context) Finding {
	return func(c *checkup, ctx context.Context) Finding { return look(c, ctx, c.runAlone(ctx)) }
}

// What most scenarios need. A scenario that was not chosen cannot have failed.
var (
	afterSample  = []Name{"dispatch", "concurrent_runs"}
	afterResults = append(afterSample, "unwrap")
)
