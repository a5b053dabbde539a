package capture

import (
	"net/http"
	"strings"

	"github.com/toolwire/toolwire/internal/redact"
)

// policy says how a value is written. It is about strings; plain, words and ident also write
// numbers.
type policy int

const (
	content policy = iota // the shape, or with Options.Content the value
	opaque                // always the shape: a header that is not known
	plain                 // as it is, if it is printable ASCII; in bodies numbers and booleans too
	ident                 // an id that the documents call safe to log
	label                 // another id: a placeholder
	named                 // the name of a tool record: a placeholder
	token                 // a credential: a placeholder
	link                  // a URL: a placeholder
	pattern               // a label of a sub-agent or a time: its pattern
	words                 // a word of the protocol: as it is, if it looks like one
	tool                  // the name of a tool
	script                // source code, or a mask in its place
)

// layout says how the members of an object are written, or of each object in an array. Unknown
// members are written as content, or counted if open is false.
type layout struct {
	as      policy
	members map[string]*layout
	open    bool
	only    []string // the words that are written, others are content; nil if all are
}

var (
	contentLayout = &layout{}
	plainLayout   = &layout{as: plain}
	identLayout   = &layout{as: ident}
	labelLayout   = &layout{as: label}
	wordLayout    = &layout{as: words}
	toolLayout    = &layout{as: tool}
	patternLayout = &layout{as: pattern}
)

func object(members map[string]*layout) *layout { return &layout{members: members, open: true} }

// The layouts of messages, after the documents.
var (
	rows = object(map[string]*layout{
		"role": wordLayout, "content": contentLayout, "tool_call_id": labelLayout, "thinking": contentLayout,
		"tool_calls": object(map[string]*layout{
			"id": labelLayout, "type": wordLayout, "name": toolLayout, "arguments": contentLayout,
			"function": object(map[string]*layout{"name": toolLayout, "arguments": contentLayout}),
		}),
	})

	dispatchRequest = object(map[string]*layout{
		"ping": plainLayout, "task_id": identLayout, "run_id": identLayout, "agent_id": identLayout,
		"odyssey_proxy_url": {as: link}, "run_token": {as: token}, "run_token_jti": identLayout,
		"messages": rows, "session_id": labelLayout, "turn_id": labelLayout,
		"input": object(map[string]*layout{
			"task_id": identLayout, "session_id": labelLayout, "turn_id": labelLayout, "messages": rows,
			"user_instruction": contentLayout, "latest_user_prompt": contentLayout, "input": contentLayout,
		}),
	})

	dispatchResponse = object(map[string]*layout{
		"ok": plainLayout, "error": wordLayout, "message": contentLayout, "final_response": contentLayout,
		"messages": rows, "metadata": object(map[string]*layout{
			"total_input_tokens": plainLayout, "total_output_tokens": plainLayout, "agent_runtime_ms": plainLayout,
		}),
	})

	callResponse = object(map[string]*layout{
		"tool_name": toolLayout, "response": contentLayout, "source": wordLayout, "latency_ms": plainLayout,
		"matched_rule_index": plainLayout, "validation": contentLayout,
	})

	problems = object(map[string]*layout{
		"error_class": wordLayout, "loc": wordLayout, "type": wordLayout, "msg": contentLayout,
		"retry_after": plainLayout, "retry_after_s": plainLayout,
	})
	// toolProblems are those of a tool call, where loc may name members of the arguments.
	toolProblems = object(map[string]*layout{
		"error_class": wordLayout, "loc": {as: words, only: []string{"body", "path", "query", "header"}},
		"type": wordLayout, "msg": contentLayout, "retry_after": plainLayout, "retry_after_s": plainLayout,
	})
	toolErrorResponse = object(map[string]*layout{
		"detail": toolProblems, "error_class": wordLayout, "error": wordLayout, "code": wordLayout,
	})
	errorResponse = object(map[string]*layout{
		"detail": problems, "error_class": wordLayout, "error": wordLayout, "code": wordLayout,
	})

	traceRequest = &layout{members: map[string]*layout{ // other members are the agent's own
		"__occurred_at": patternLayout, "from_sub_agent": patternLayout, "to_sub_agent": patternLayout,
		"from": patternLayout, "to": patternLayout, "reason": contentLayout,
		"text": contentLayout, "content": contentLayout,
	}}
	traceResponse = object(map[string]*layout{
		"accepted": plainLayout, "sequence": plainLayout, "event_type": wordLayout, "kind": wordLayout,
		"detail": problems, "error_class": wordLayout,
	})
	telemetryRequest = object(map[string]*layout{
		"kind": wordLayout, "payload": contentLayout, "occurred_at": patternLayout, "step_ref": plainLayout,
		"actor_id": patternLayout,
	})

	webhookRequest = webhookLayout()
	webhookResult  = &layout{members: map[string]*layout{ // a tool's result may have these members too
		"error": {as: words, only: webhookErrors}, "message": contentLayout,
	}}
	webhookErrors = []string{
		"method_not_allowed", "unauthorized", "invalid_identity", "body_too_large", "unreadable_body", "invalid_json",
		"invalid_envelope", "unknown_tool", "invalid_arguments", "tool_failed", "timeout", "internal",
	}

	restLayout = restObject()
)

// webhookLayout is that of a request to a webhook, whose members no document lists. Those of the
// definition of the tool and of the agent are written by name.
func webhookLayout() *layout {
	named := object(map[string]*layout{})
	definition := object(map[string]*layout{"name": toolLayout, "type": wordLayout, "arguments": contentLayout})
	return object(map[string]*layout{
		"tool_name": toolLayout, "name": toolLayout,
		"tool": definition, "function": definition, "tool_call": definition,
		"arguments": contentLayout, "args": contentLayout, "parameters": contentLayout, "agent_id": labelLayout,
		"run_id": labelLayout, "agent": named, "template": named, "product": named,
	})
}

// restObject is the layout of requests and responses of other APIs: one tool record or agent, a
// list, or an error, each also inside an envelope.
func restObject() *layout {
	l := object(map[string]*layout{
		"id": labelLayout, "name": {as: named}, "account_id": labelLayout, "adapter": labelLayout,
		"tool_type": wordLayout, "type": wordLayout, "framework": wordLayout, "mode": wordLayout,
		"version": patternLayout, "status": wordLayout, "script_content": {as: script},
		"success": plainLayout, "error": wordLayout, "code": wordLayout, "error_class": wordLayout, "detail": problems,
		"created_at": patternLayout, "updated_at": patternLayout, "deleted_at": patternLayout,
		"total_count": plainLayout, "count": plainLayout, "limit": plainLayout, "offset": plainLayout,
		"has_more": plainLayout, "page": plainLayout, "page_size": plainLayout, "total": plainLayout,
	})
	for _, name := range []string{"data", "results", "pagination", "items"} {
		l.members[name] = l
	}
	return l
}

// layout returns the layout of a body. status is that of a response.
func (x *exchange) layout(kind string, status int) *layout {
	request, failed := kind == kindRequest, status < 200 || status > 299
	switch {
	case x.side == sideWebhook && request:
		return webhookRequest
	case x.side == sideWebhook:
		return webhookResult
	case x.side == sideDispatch && request:
		return dispatchRequest
	case x.side == sideDispatch:
		return dispatchResponse
	case x.side == sideClient:
		return restLayout
	case x.plane == "tools" && request:
		return contentLayout
	case x.plane == "traces" && request:
		return traceRequest
	case request:
		return telemetryRequest
	case failed && x.plane == "tools":
		return toolErrorResponse
	case failed:
		return errorResponse
	case x.plane == "tools":
		return callResponse
	}
	return traceResponse
}

// headerPolicies has the headers whose values are written, in canonical form.
var headerPolicies = map[string]policy{
	"Accept": plain, "Accept-Encoding": plain, "Allow": plain, "Cache-Control": plain, "Connection": plain,
	"Content-Encoding": plain, "Content-Length": plain, "Content-Type": plain, "Date": plain, "Expect": plain,
	"Retry-After": plain, "Server": plain, "Transfer-Encoding": plain, "User-Agent": plain, "Vary": plain,
	"X-Forwarded-Proto": plain, "Strict-Transport-Security": plain, "X-Content-Type-Options": plain,
	"X-Ratelimit-Limit": plain, "X-Ratelimit-Remaining": plain, "X-Ratelimit-Reset": plain,

	"X-Pipelines-Run-Id": ident, "X-Pipelines-Task-Id": ident, "X-Pipelines-Run-Token-Jti": ident,
	"X-Pipelines-Odyssey-Proxy-Url": link, "X-Pipelines-Actor-Id": pattern,
	"X-Pipelines-Run-Token": token, "Authorization": token, "X-Agent-Secret": token, "X-Api-Key": token,
	"X-Agent-Identity": label, "X-Request-Id": label,
}

func headerPolicy(name string) policy {
	if as, ok := headerPolicies[http.CanonicalHeaderKey(name)]; ok {
		return as
	}
	if redact.SecretName(strings.ToLower(name)) {
		return token
	}
	return opaque
}
