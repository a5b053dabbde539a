package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/toolwire/toolwire/dispatch/capture"
	"github.com/toolwire/toolwire/internal/rawjson"
)

// What the documents name.
var (
	documentedHeaders = []string{
		"X-Pipelines-Run-Token", "X-Pipelines-Odyssey-Proxy-Url", "X-Pipelines-Run-Id", "X-Pipelines-Task-Id",
		"X-Pipelines-Run-Token-Jti", "X-Agent-Secret", "X-Agent-Identity", "Authorization", "Retry-After",
		// of HTTP
		"Accept", "Accept-Encoding", "Accept-Language", "Allow", "Cache-Control", "Connection", "Content-Encoding",
		"Content-Length", "Content-Type", "Date", "Host", "Server", "Transfer-Encoding", "User-Agent", "Vary",
	}
	documentedMembers = map[string][]string{
		"dispatch": {
			"task_id", "run_id", "agent_id", "input", "odyssey_proxy_url", "run_token", "run_token_jti", "ping",
		},
		"input":   append([]string{"task_id", "user_instruction", "input"}, turnMembers...),
		"message": {"role", "content", "tool_call_id", "tool_calls", "thinking"},
		"answer":  {"tool_name", "response", "source", "latency_ms", "matched_rule_index", "validation"},
		"refusal": {"detail"},
		"detail":  {"error_class"},
		"receipt": {"accepted", "sequence", "event_type"},
	}
	documentedSources = []string{"odyssey", "injected", "passthrough", "error", "transport_error", "ledger_read"}
	documentedRoles   = []string{"system", "user", "assistant", "tool"}
	documentedClasses = append([]string{
		"run_token_expired", "run_token_invalid", "run_token_rejected", "actor_id_invalid", "trace_event_type_invalid",
		"tool_executes_in_sandbox", "tool_not_executable",
	}, transient...)
	documentedStatuses = []int{200, 400, 401, 404, 409, 413, 422, 429, 500, 502, 503}
)

// collector collects surprises, each with its first place.
type collector struct {
	order []string
	first map[string]string
	more  map[string]int
}

func (c *collector) add(r *capture.Record, format string, args ...any) {
	what := fmt.Sprintf(format, args...)
	if _, known := c.first[what]; known {
		c.more[what]++
		return
	}
	c.order = append(c.order, what)
	c.first[what] = place(r)
}

// members adds the members of an object that its documents do not name.
func (c *collector) members(r *capture.Record, object json.RawMessage, of, where string) {
	for name, value := range rawjson.Members(object) {
		if !slices.Contains(documentedMembers[of], name) {
			shown := rawjson.Text(value)
			if !isShape(shown) {
				shown = kind(value)
			}
			c.add(r, "the member %s of %s: %s", name, where, shown)
		}
	}
}

// word adds a word that the documents do not name.
func (c *collector) word(r *capture.Record, v json.RawMessage, known []string, what string) {
	if word := rawjson.Text(v); word != "" && !slices.Contains(known, word) {
		c.add(r, "%s %s", what, word)
	}
}

// surprises lists what no document names, in the order of the capture.
func surprises(e *evidence) []string {
	c := &collector{first: map[string]string{}, more: map[string]int{}}
	for _, x := range e.exchanges {
		switch x.request.Side {
		case "dispatch":
			c.headers(&x.request, "a dispatch")
			c.dispatch(x)
		case "webhook":
			c.headers(&x.request, "a webhook's request")
			c.webhook(&x.request)
		case "call":
			c.headers(&x.response, "a response of the proxy")
			c.answer(x)
		}
	}
	var list []string
	for _, what := range c.order {
		more := ""
		if n := c.more[what]; n > 0 {
			more = fmt.Sprintf(", and %d more", n)
		}
		list = append(list, fmt.Sprintf("%s (%s%s)", what, c.first[what], more))
	}
	return list
}

func (c *collector) headers(r *capture.Record, where string) {
	for _, name := range slices.Sorted(maps.Keys(r.Headers)) {
		if !slices.Contains(documentedHeaders, http.CanonicalHeaderKey(name)) {
			c.add(r, "the header %s of %s: %s", name, where, strings.Join(r.Headers[name], ", "))
		}
	}
}

func (c *collector) dispatch(x *exchange) {
	r := &x.request
	doc := body(r)
	if r.Body != nil && !r.Body.Cut && len(doc) == 0 {
		c.add(r, "a dispatch that is not JSON: %s", r.Body.Text)
	}
	c.members(r, doc, "dispatch", "a dispatch")
	c.members(r, at(doc, "/input"), "input", "a dispatch's input")
	for row := range rawjson.Elements(at(doc, "/input/messages")) {
		c.members(r, row, "message", "a message of a session")
		c.word(r, at(row, "/role"), documentedRoles, "the role")
	}
	for _, both := range [][2]string{
		{"/run_token", "X-Pipelines-Run-Token"}, {"/run_token_jti", "X-Pipelines-Run-Token-Jti"},
		{"/run_id", "X-Pipelines-Run-Id"}, {"/task_id", "X-Pipelines-Task-Id"},
		{"/odyssey_proxy_url", "X-Pipelines-Odyssey-Proxy-Url"},
	} {
		pointer, header := both[0], both[1]
		v, values := at(doc, pointer), r.Headers[header]
		if v == nil || len(values) == 0 {
			continue
		}
		if given := strings.Trim(string(v), `"`); given != values[0] {
			c.add(r, "%s of a dispatch differs from the header %s", pointer, header)
		}
	}
}

// webhook lists all members, because no document has those of a webhook's request.
func (c *collector) webhook(r *capture.Record) {
	for name, value := range rawjson.Members(body(r)) {
		c.add(r, "the member %s of a webhook's request: %s", name, kind(value))
		for inner, value := range rawjson.Members(value) {
			c.add(r, "the member %s/%s of a webhook's request: %s", name, inner, kind(value))
		}
	}
}

func (c *collector) answer(x *exchange) {
	r := &x.response
	doc := body(r)
	switch {
	case r.Line == 0 || r.Status == 0:
	case !slices.Contains(documentedStatuses, r.Status):
		c.add(r, "the status %d of a response of the proxy", r.Status)
	case x.ok() && x.isTool():
		c.members(r, doc, "answer", "a response to a tool call")
		c.word(r, at(doc, "/source"), documentedSources, "the source")
	case x.ok() && x.isTrace():
		c.members(r, doc, "receipt", "a response to a trace event")
	case !x.ok():
		c.members(r, doc, "refusal", "a refusal")
		c.members(r, at(doc, "/detail"), "detail", "the detail of a refusal")
		if class := x.errorClass(); class != "" && !slices.Contains(documentedClasses, class) {
			c.add(r, "the error class %s", class)
		}
	}
}

// connections says how connections behaved.
func (e *evidence) connections() []string {
	counts := map[string]int{}
	var failures []string
	for _, x := range e.exchanges {
		r := &x.request
		if r.Line == 0 {
			continue
		}
		protocol := r.Protocol
		if r.Side == "call" || r.Side == "client" {
			protocol = x.response.Protocol
		}
		if protocol == "" {
			protocol = "no response"
		}
		if r.TLS != "" {
			protocol += " over " + r.TLS
		} else if protocol != "no response" {
			protocol += " without TLS"
		}
		counts[r.Side+": "+protocol]++
		if r.Reused {
			counts[r.Side+": on a connection that was used before"]++
		}
		if r.Connections > 1 {
			counts[r.Side+": on another connection, because the platform had closed an idle one"]++
		}
		if x.response.Error != "" {
			sent := ""
			if x.response.NotSent {
				sent = ", and the request was not sent"
			}
			failures = append(failures,
				fmt.Sprintf("%s: %s%s (%s)", r.Side, x.response.Error, sent, place(&x.response)))
		}
		if x.response.Line == 0 {
			failures = append(failures, fmt.Sprintf("%s: no response is in the capture (%s)", r.Side, place(r)))
		}
	}
	var list []string
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		list = append(list, fmt.Sprintf("%s: %d", what, counts[what]))
	}
	return append(list, failures...)
}
