package proxytest_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
	"github.com/toolwire/toolwire/schema"
)

// The requests of public ports of agents, and the exact answers: tool calls and trace events share
// one sequence, and either header has the token.
func TestRequestsOfPorts(t *testing.T) {
	p := proxytest.NewPlatform(t, proxytest.World{
		Tools: []schema.Tool{declare("get_flight", `{"type":"object","properties":{"actor_id":{"type":"string"}}}`, "")},
		Behaviors: map[string]proxytest.Behavior{
			"get_flight": func(r *proxytest.Request) (any, error) {
				return map[string]any{"args": r.Arguments, "by": r.Actor}, nil
			},
		},
	}, nil)
	run := p.NewRun()
	authorization := func(more ...string) http.Header {
		header := http.Header{"Authorization": {"Bearer " + run.Token}, "Content-Type": {"application/json"}}
		for i := 0; i+1 < len(more); i += 2 {
			header.Set(more[i], more[i+1])
		}
		return header
	}
	sequence := 0
	for _, tt := range []struct {
		name, path string
		header     http.Header
		body, want string // %d is the sequence number
		status     int
	}{
		{name: "assistant_message", path: "/traces/assistant_message",
			body: `{"text":"I look it up.","__occurred_at":"2026-08-17T09:00:00.5+00:00"}`},
		{name: "thinking", path: "/traces/thinking",
			body: `{"content":[{"type":"text","text":"hm"}],"model":"m","usage":{"in":1}}`},
		{name: "system_prompt", path: "/traces/system_prompt", body: `{"text":"Be kind."}`},
		{name: "custom", path: "/traces/custom", body: `{"type":"retry","n":[1,2.50,null]}`},
		{name: "handoff", path: "/traces/handoff",
			body: `{"from_sub_agent":"triage","to_sub_agent":"billing-specialist","reason":"refund"}`},
		{name: "subagent_message", path: "/traces/subagent_message", body: `{}`},
		{name: "subagent_final", path: "/traces/subagent_final", body: `{"text":"done"}`},
		{name: "the other header", path: "/traces/custom", header: http.Header{"X-Pipelines-Run-Token": {run.Token}},
			body: `{}`},
		{name: "not JSON by its type", path: "/traces/custom", header: authorization("Content-Type", "text/plain"),
			body: `{}`},
		{name: "no time zone", path: "/traces/custom", body: `{"__occurred_at":"2026-08-17T09:00:00"}`},
		{name: "no time", path: "/traces/custom", body: `{"__occurred_at":7}`},
		{name: "not reserved", path: "/traces/tool_call", body: `{}`, status: 400,
			want: `"error_class":"trace_event_type_invalid"`},
		{name: "other case", path: "/traces/Thinking", body: `{}`, status: 400,
			want: `"error_class":"trace_event_type_invalid"`},
		{name: "not an object", path: "/traces/custom", body: `"hm"`, status: 422, want: `"detail":{`},
		{name: "no body", path: "/traces/custom", body: ``, status: 422, want: `"detail":{`},
		{name: "no arguments", path: "/tools/get_flight", body: `{}`,
			want: `"response":{"args":{},"by":""},"source":"odyssey"`},
		{name: "an encoded name", path: "/tools/get%5Fflight", body: `{}`, want: `"tool_name":"get_flight"`},
		{
			name: "the header attributes, the argument is the tool's", path: "/tools/get_flight", body: `{"actor_id":"x"}`,
			header: authorization("X-Pipelines-Actor-Id", "supervisor/refunds"),
			want:   `{"args":{"actor_id":"x"},"by":"supervisor/refunds"}`,
		},
		{name: "a label of a port", path: "/tools/get_flight", body: `{}`, header: authorization("X-Pipelines-Actor-Id",
			"flight_info"),
			want: `"by":"flight_info"`},
		{name: "null for an optional argument", path: "/tools/get_flight", body: `{"actor_id":null}`, status: 422,
			want: `"error_class":"invalid_arguments"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.header == nil {
				tt.header = authorization()
			}
			if tt.status == 0 {
				sequence++
				tt.status = 200
			}
			event, isTrace := strings.CutPrefix(tt.path, "/traces/")
			if tt.want == "" {
				tt.want = fmt.Sprintf(`{"accepted":true,"event_type":"%s","sequence":%d}`, event, sequence)
			}
			status, answer := send(t, p, run.Path+tt.path, tt.header, tt.body)
			if status != tt.status || !strings.Contains(answer, tt.want) {
				t.Errorf("%d %s, want %d with %s", status, answer, tt.status, tt.want)
			}
			log := run.Log()
			if status == 200 && isTrace {
				got := log.Traces[len(log.Traces)-1]
				if got.Event != proxy.Event(event) || string(got.Payload) != tt.body || got.Sequence != int64(sequence) {
					t.Errorf("%+v", got)
				}
			}
			if status != 200 {
				if got := log.Refused[len(log.Refused)-1]; got.Status != status || got.Trace != isTrace || got.Sequence != 0 {
					t.Errorf("%+v", got)
				}
			}
		})
	}
}
