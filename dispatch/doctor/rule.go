package doctor

import "cmp"

// A Severity says where the rule of a [Finding] comes from.
type Severity string

// The severities. Only a violation of a Demanded rule fails a check.
const (
	Demanded Severity = "demanded" // a document of the platform says that it must be so
	Advised  Severity = "advised"  // a document recommends it
	Inferred Severity = "inferred" // no document says it; experience with ports suggests it
)

// A rule is what a check is about.
type rule struct {
	text    string   // document, heading and sentence
	warning Severity // of a warning; a failure is Demanded
}

const (
	porting    = `"Porting without the SDK", `
	stepProxy  = porting + `Step 2, Proxy contract: `
	stepWrap   = porting + `Step 3, What your wrapper must do: `
	stepHeader = porting + `Step 3, Body: `
	stepAuth   = porting + `Step 4: `
	stepPing   = porting + `Step 5: `
	codeMode   = porting + `Porting into code mode: `
)

const actorRule = porting + `Step 2, Multi-agent attribution: "A malformed label is rejected with 400 actor_id_invalid".`

// rules maps each check to its rule.
var rules = map[Name]rule{
	checkReachable: {porting + `Step 3: "Pipelines opens one HTTP POST per dispatch to your endpoint."`, Inferred},
	checkTLS:       {`"Register an external HTTP agent": the endpoint URL is publicly reachable HTTPS.`, Advised},
	checkClock:     {`"Trace events": the trace is sorted by __occurred_at, the agent's clock.`, Inferred},
	checkMethod:    {porting + `Step 3: "Pipelines opens one HTTP POST per dispatch". No document says what to do with another method.`, Inferred},
	checkAuthBeforePing: {stepPing + `"Run inbound auth first, then short-circuit the ping body to a 2xx." ` +
		stepAuth + `"By default, any caller that can reach the endpoint can dispatch. Configure a static bearer token".`, Advised},
	checkWrongBearer: {stepAuth + `"secrets.compare_digest(authorization, expected)", otherwise status_code=401.`, Advised},
	checkPing:        {stepPing + `"Handle the {"ping": true} body explicitly." … "short-circuit the ping body to a 2xx."`, Advised},
	checkPingSpacing: {stepPing + `the body is compared as JSON: body == {"ping": True}. The text says "exactly this body".`, Inferred},
	checkBodyLimit:   {`No document names a limit for the body of a dispatch.`, Inferred},
	checkContentType: {`"Troubleshooting", agent_bad_response: answer with Content-Type: application/json.`, Advised},
	checkMalformedBody: {`"Troubleshooting": a 4xx and the first 500 characters of a 5xx are shown. No document says how to answer malformed JSON.`,
		Inferred},
	checkDispatch: {stepWrap + `"Return a response object with a non-empty final_response value." ` + stepProxy +
		`"POST to the odyssey proxy base URL, then append /tools/ followed by the tool name" with "Authorization: Bearer <run_token>"; ` +
		`the arguments are "validated against input_schema".`, Advised},
	checkLateCalls: {`No document allows or forbids calls after the response; the run token is for the run.`, Inferred},
	checkProxy:     {codeMode + `"HTTP 401 is the expected success signal for this probe".`, Advised},
	concurrentRuns: {stepWrap + `"Build the agent inside the request handler so tools close over request-scoped values, because each run has ` +
		`its own bearer token."`, Advised},
	unwrap: {porting + `Step 2: "Your tool body must return body["response"], not the full envelope." ` +
		`"Do not keep original tool bodies as a fallback path."`, Advised},
	resultKinds: {porting + `Step 2: "response arrives already decoded" … "Non-JSON bodies (plain text, HTML, CSV) pass through as the ` +
		`original string".`, Inferred},
	retry429: {stepProxy + `"60 requests per minute per token. Retry with backoff on 429 responses."`, Advised},
	retry503: {porting + `Step 2, Retryable errors: "Some proxy responses represent transient platform conditions rather than tool ` +
		`failures. Retry these responses with backoff." The page does not list the classes.`, Inferred},
	terminal503: {porting + `Step 2, Retryable errors: only transient conditions are repeated. The page does not list the classes.`, Inferred},
	failingTools: {porting + `Step 2: "Do not keep original tool bodies as a fallback path. Doing so can diverge simulator world state from ` +
		`observed behavior and invalidate the trace." That the answer should admit a failure is not said.`, Inferred},
	expiredToken: {`No document says what to do at 401 run_token_expired; the run is over then.`, Inferred},
	headersOnly: {stepHeader + `"Prefer values from the body when present, and fall back to headers if an edge proxy strips a field."`,
		Advised},
	bodyOnly: {stepHeader + `"The body and matching X-Pipelines-* headers carry the same correlation identifiers. Prefer values from the ` +
		`body when present".`, Advised},
	sessionReplay: {stepWrap + `"Return a response object with a non-empty final_response value", for each dispatch.`, Advised},
	memoryReplay: {`"Task seeding", memory_mode replay: the transcript is sent with each turn. No document says what an agent makes of it.`,
		Inferred},
	memoryStateful: {`"Task seeding", memory_mode stateful: the agent keeps the memory. No document demands that an agent supports it.`,
		Inferred},
	sessionStateful:  {stepWrap + `"Return a response object with a non-empty final_response value", for each dispatch.`, Advised},
	checkToolsSchema: {`"Tools schema": the platform validates each tool at registration.`, Advised},
}

// cite adds the rule and its severity to a finding that asks for something.
func (f *Finding) cite() {
	r := rules[f.Name]
	switch f.Status {
	case StatusFailed:
		f.Rule, f.Severity = cmp.Or(f.Rule, r.text), Demanded
	case StatusWarning:
		f.Rule, f.Severity = cmp.Or(f.Rule, r.text), cmp.Or(f.Severity, r.warning)
	}
}
