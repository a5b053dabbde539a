package proxy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/proxy"
)

// wire keeps the requests of a client as the bytes that a server receives, and answers them in turn.
type wire struct {
	script
	raw []string
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	clone := r.Clone(context.Background())
	body, err := r.GetBody()
	if err != nil {
		return nil, err
	}
	clone.Body = body
	var b bytes.Buffer
	if err := clone.Write(&b); err != nil {
		return nil, err
	}
	w.raw = append(w.raw, b.String())
	return w.script.RoundTrip(r)
}

// The requests and responses of ports that run on the platform, byte for byte: what they send, this
// client sends, and it reads what they are sent.
func TestShapesOfPorts(t *testing.T) {
	const head = "Host: api.example.com\r\nUser-Agent: Go-http-client/1.1\r\nContent-Length: "
	const auth = "\r\nAuthorization: Bearer " + runToken + "\r\nContent-Type: application/json\r\n"
	const at = `"__occurred_at":"2000-01-01T00:00:00Z"`
	type call func(*proxy.Client) (any, error)
	trace := func(event proxy.Event, payload string) call {
		return func(c *proxy.Client) (any, error) { return c.Trace(background, event, json.RawMessage(payload)) }
	}
	tool := func(name, args string) call {
		return func(c *proxy.Client) (any, error) {
			got, err := proxy.Call[json.RawMessage](background, c, name, json.RawMessage(args))
			return string(got), err
		}
	}
	for _, tt := range []struct {
		name     string
		call     call
		request  string // path, headers and body, shortened: "path|actor|body"
		response string
		want     any
	}{
		{"an assistant message", trace(proxy.EventAssistantMessage, `{"text":"Looking."}`),
			"traces/assistant_message||{" + at + `,"text":"Looking."}`,
			`{"accepted":true,"sequence":17,"event_type":"assistant_message"}`, int64(17)},
		{"thinking", trace(proxy.EventThinking, `{"content":"hm"}`), "traces/thinking||{" + at + `,"content":"hm"}`,
			`{"accepted":true,"sequence":1,"event_type":"thinking"}`, int64(1)},
		{"a system prompt", trace(proxy.EventSystemPrompt, `{"text":"Be kind."}`),
			"traces/system_prompt||{" + at + `,"text":"Be kind."}`, `{"accepted":true,"sequence":2}`, int64(2)},
		{"a custom event without a payload", trace(proxy.EventCustom, ``), "traces/custom||{" + at + "}",
			`{"accepted":true,"sequence":3,"stored_at":"x"}`, int64(3)},
		{"an event with its own time", trace(proxy.EventCustom,
			`{"__occurred_at":"2026-08-17T10:00:00.5+02:00","a":[1.0]}`),
			`traces/custom||{"__occurred_at":"2026-08-17T10:00:00.5+02:00","a":[1.0]}`,
			`{"accepted":true,"sequence":4}`, int64(4)},
		{"a message between sub-agents", func(c *proxy.Client) (any, error) {
			return c.As("flight_info").Trace(background, proxy.EventSubagentMessage,
				json.RawMessage(`{"text":"Gate 4"}`))
		}, "traces/subagent_message|flight_info|{" + at + `,"text":"Gate 4"}`, `{"accepted":true,"sequence":5}`,
			int64(5)},
		{"a sub-agent's final message", func(c *proxy.Client) (any, error) {
			return c.As("billing-specialist").Trace(background, proxy.EventSubagentFinal,
				json.RawMessage(`{"text":"Done."}`))
		}, "traces/subagent_final|billing-specialist|{" + at + `,"text":"Done."}`, `{"accepted":true,"sequence":6}`,
			int64(6)},
		{"a handoff", func(c *proxy.Client) (any, error) {
			return c.As("supervisor").Handoff(background, "supervisor", "supervisor/refunds")
		}, "traces/handoff|supervisor|{" + at +
			`,"from_sub_agent":"supervisor","to_sub_agent":"supervisor/refunds","text":"supervisor → supervisor/refunds"}`,
			`{"accepted":true,"sequence":7,"event_type":"handoff"}`, int64(7)},
		{"a call", tool("get_order", `{"order_id":"4521"}`), `tools/get_order||{"order_id":"4521"}`, seedAnswer,
			`{"status":"shipped","shipped_at":"2026-04-01"}`},
		{"a call without arguments", tool("list_orders", ``), `tools/list_orders||{}`,
			`{"tool_name":"list_orders","response":[],"source":"ledger_read","latency_ms":1.0}`, `[]`},
		{"a field as JSON text", tool("get_cart", `{}`), `tools/get_cart||{}`,
			`{"response":{"items":"[1, 2]"},"source":"ledger_read","latency_ms":0,"trace":{"n":1}}`,
			`{"items":"[1, 2]"}`},
		{"a result with a report", tool("search", `{"q":"é"}`), `tools/search||{"q":"é"}`,
			`{"tool_name":"search","response":"pong","source":"odyssey","latency_ms":3120.25,"matched_rule_index":null,"validation":{"schema_compliance":"First response was malformed; recovered after 1 retry"}}`, `"pong"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // the clock stands at 2000-01-01
				w := &wire{script: script{steps: []step{answer(200, tt.response)}}}
				got, err := tt.call(newClient(t, w))
				if err != nil || got != tt.want {
					t.Errorf("got %v, %v; want %v", got, err, tt.want)
				}
				part := strings.SplitN(tt.request, "|", 3)
				want := "POST /api/odyssey-proxy/runs/abc/" + part[0] + " HTTP/1.1\r\n" + head +
					strconv.Itoa(len(part[2])) + auth
				if part[1] != "" {
					want += "X-Pipelines-Actor-Id: " + part[1] + "\r\n"
				}
				if want += "\r\n" + part[2]; len(w.raw) != 1 || w.raw[0] != want {
					t.Errorf("sent %q\nwant %q", w.raw, want)
				}
			})
		})
	}
}

// The error envelopes that ports handle.
func TestErrorShapesOfPorts(t *testing.T) {
	for _, tt := range []struct {
		status   int
		body     string
		attempts int
		code     toolwire.Code
		class    string
		detail   string
	}{
		{500, `{"detail":{"error_class":"boom"}}`, 1, toolwire.CodeServerError, "boom", `{"error_class":"boom"}`},
		{503, `{"detail":{"error_class":"trace_sequence_contended"}}`, 4, toolwire.CodeUnavailable,
			"trace_sequence_contended", ""},
		{503, `{"detail":{"error_class":"lock_contention","message":"a sibling call holds the lock"}}`, 4,
			toolwire.CodeUnavailable, "lock_contention", "a sibling call holds the lock"},
		{503, `{"detail":"Service Unavailable"}`, 1, toolwire.CodeUnavailable, "", "Service Unavailable"},
		{400, `{"detail":{"error_class":"trace_event_type_invalid"}}`, 1, "invalid_event", "trace_event_type_invalid",
			""},
		{401, `{"detail":{"error_class":"run_token_expired"}}`, 1, toolwire.CodeRunOver, "run_token_expired", ""},
		{409, `{"detail":{"error_class":"tool_executes_in_sandbox"}}`, 1, toolwire.CodeRefused, "tool_executes_in_sandbox",
			""},
		{400, `{"error_class":"actor_id_invalid","detail":{"message":"bad label"}}`, 1, "actor_id_invalid", "actor_id_invalid", "bad label"},
		{400, `{"error":"actor_id_invalid"}`, 1, "actor_id_invalid", "actor_id_invalid", ""},
		{400, `{"detail":"actor_id_invalid"}`, 1, "actor_id_invalid", "actor_id_invalid", ""},
		{400, `{"detail":{"code":"actor_id_invalid","message":"bad label"}}`, 1, "actor_id_invalid", "actor_id_invalid", "bad label"},
		{400, `{"error":{"class":"actor_id_invalid"}}`, 1, "actor_id_invalid", "actor_id_invalid", ""},
		{400, `{"error":{"code":"actor_id_invalid"}}`, 1, "actor_id_invalid", "actor_id_invalid", ""},
		{500, `{"error":"bad_request","code":"E1"}`, 1, toolwire.CodeServerError, "", "bad_request"},
		{503, `{"error":"lock_contention"}`, 4, toolwire.CodeUnavailable, "lock_contention", ""},
		{422, `{"detail":"None is not of type 'string'"}`, 1, toolwire.CodeInvalidArguments, "", "None is not of type 'string'"},
		{422, `{"detail":[{"loc":["body","id"],"msg":"field required","type":"value_error.missing"}]}`, 1,
			toolwire.CodeInvalidArguments, "", "field required"},
		{404, `{"detail":"Not Found"}`, 1, toolwire.CodeNotFound, "", "Not Found"},
		{502, `<html>Bad gateway</html>`, 1, toolwire.CodeServerError, "", "<html>Bad gateway</html>"},
		{429, `Too Many Requests`, 4, toolwire.CodeRateLimited, "", "Too Many Requests"},
	} {
		synctest.Test(t, func(t *testing.T) {
			for _, call := range []func(*proxy.Client) error{
				func(c *proxy.Client) error { _, err := c.Do(background, "get_order", nil); return err },
				func(c *proxy.Client) error { _, err := c.Trace(background, proxy.EventCustom, nil); return err },
			} {
				c, s := scripted(t, answer(tt.status, tt.body))
				e := wantError(t, call(c), tt.code, deliveryOf(tt.code, tt.class))
				if e.Class != tt.class || !strings.Contains(e.Detail, tt.detail) || e.Status != tt.status ||
					len(s.requests()) != tt.attempts {
					t.Errorf("%d %s: class %q, detail %q, %d requests", tt.status, tt.body, e.Class, e.Detail,
						len(s.requests()))
				}
			}
		})
	}
}

// deliveryOf returns what an answer of a port's shapes proves.
func deliveryOf(code toolwire.Code, class string) proxy.Delivery {
	if code == toolwire.CodeServerError || code == toolwire.CodeUnavailable && class == "" {
		return proxy.Unknown
	}
	return proxy.Refused
}
