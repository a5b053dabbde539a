package dispatch_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/internal/cost"
	"github.com/toolwire/toolwire/internal/testkit"
)

func TestCheckResponse(t *testing.T) {
	for _, tt := range []struct {
		name, body string
		problems   string // codes and pointers; a fatal one with "!"
		gradeable  bool
	}{
		{"minimal", `{"final_response":"x"}`, "", false},
		{"null members", `{"final_response":"x","messages":null,"metadata":null}`, "", false},
		{"no messages", `{"final_response":"x","messages":[]}`, "", false},
		{"unknown members", `{"final_response":"x","soft":1}`, "", false},
		{
			"the documented example",
			`{"final_response":"The refund of $79.50 has been issued.","messages":[{"role":"user","content":"Refund order #4521..."},{"role":"assistant","tool_calls":[{"id":"c1","name":"get_order","arguments":{"order_id":"4521"}}]},{"role":"tool","tool_call_id":"c1","content":"{\"status\":\"shipped\"}"},{"role":"assistant","content":"The refund of $79.50 has been issued."}],"metadata":{"model":"claude-sonnet-4-5","total_input_tokens":1842,"total_output_tokens":217,"agent_runtime_ms":4815}}`,
			"", true,
		},
		{
			"nested tool calls", `{"final_response":"x","messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]},{"role":"tool","tool_call_id":"c","content":null}]}`,
			"", false,
		},
		{"parts", `{"final_response":"x","messages":[{"role":"assistant","content":[{"type":"text","text":"hi"}]}]}`, "", true},
		{"blank assistant text", `{"final_response":"x","messages":[{"role":"assistant","content":"  "}]}`, "", false},
		{"thinking", `{"final_response":"x","messages":[{"role":"assistant","content":"a","thinking":[{"anything":[1]},"s"]}]}`, "", true},
		{"no JSON", `oops`, "!not_json ", false},
		{"list", `[]`, "!not_json ", false},
		{"final response twice", `{"final_response":"x","final_response":"y"}`, "!not_json ", false},
		{"no final response", `{}`, "!final_response_missing /final_response", false},
		{"final response is null", `{"final_response":null}`, "!final_response_missing /final_response", false},
		{"final response is a number", `{"final_response":1}`, "!final_response_missing /final_response", false},
		{"final response is empty", `{"final_response":""}`, "!final_response_missing /final_response", false},
		{"final response is white space", `{"final_response":" \n"}`, "!final_response_missing /final_response", false},
		{"long", `{"final_response":"` + strings.Repeat("é", 50_001) + `"}`, "final_response_long /final_response", false},
		{"not too long", `{"final_response":"` + strings.Repeat("é", 50_000) + `"}`, "", false},
		{"messages is an object", `{"final_response":"x","messages":{}}`, "messages_malformed /messages", false},
		{"message is a string", `{"final_response":"x","messages":["hi",null]}`, "messages_malformed /messages/0,messages_malformed /messages/1", false},
		{"thinking is an object", `{"final_response":"x","messages":[{"role":"user"},{"role":"assistant","thinking":{}}]}`, "messages_malformed /messages/1", false},
		{"function is a string", `{"final_response":"x","messages":[{"role":"assistant","tool_calls":[{"id":"1","function":"f"}]}]}`, "messages_malformed /messages/0", false},
		{
			"names of another case", `{"final_response":"x","Final_Response":1,"Messages":5,"Metadata":5,"messages":[{"role":"assistant","content":"a","Role":5,"Content":5,"Tool_Calls":5,"tool_calls":[{"id":"1","name":"f","arguments":{},"Function":5}]}]}`,
			"", true,
		},
		{"final response of another case", `{"Final_Response":"x"}`, "!final_response_missing /final_response", false},
		{
			"members of another case", `{"final_response":"x","messages":[{"Role":"assistant"},{"role":"assistant","tool_calls":[{"ID":"1","Name":"f"},{"id":"2","Function":{"name":"f"}},{"id":"3","function":{"Name":"f"}}]},{"role":"tool","Tool_Call_ID":"1"}]}`,
			"messages_malformed /messages/0/role,messages_malformed /messages/1/tool_calls/0/id,messages_malformed /messages/1/tool_calls/0/name," +
				"messages_malformed /messages/1/tool_calls/1/name,messages_malformed /messages/1/tool_calls/2/name,messages_malformed /messages/2/tool_call_id",
			false,
		},
		{"text of another case", `{"final_response":"x","messages":[{"role":"assistant","content":[{"Text":"a"}]}]}`, "", false},
		{
			"the agent's data repeats names", `{"final_response":"x","metadata":{"a":1,"a":2},"messages":[{"role":"assistant","content":[{"text":"a","x":1,"x":2}],"tool_calls":[{"id":"1","name":"f","arguments":{"a":1,"a":2}}]}]}`,
			"", true,
		},
		{"half of a surrogate pair", `{"final_response":"\ud83d","messages":[{"role":"assistant","content":"\ud83d"}]}`, "", true},
		{"nesting", `{"final_response":"x","x":` + strings.Repeat("[", 899) + strings.Repeat("]", 899) + `}`, "", false},
		{"too much nesting", `{"final_response":"x","x":` + strings.Repeat("[", 900) + strings.Repeat("]", 900) + `}`, "!not_json ", false},
		{
			"metadata of other types",
			`{"final_response":"x","metadata":{"model":5,"system_prompt_id":null,"total_input_tokens":"many","total_output_tokens":1.5,"agent_runtime_ms":-1,"own":[]}}`,
			"metadata_malformed /metadata/model,metadata_malformed /metadata/total_input_tokens,metadata_malformed /metadata/total_output_tokens," +
				"metadata_malformed /metadata/agent_runtime_ms", false,
		},
		{"metadata in other spellings", `{"final_response":"x","metadata":{"total_input_tokens":1.0,"total_output_tokens":1e3,"agent_runtime_ms":0}}`, "", false},
		{"metadata is a list", `{"final_response":"x","metadata":[]}`, "metadata_malformed /metadata", false},
		{
			"every fault of a message",
			`{"final_response":"x","messages":[{"content":"a"},{"role":"function","content":1},{"role":"user","content":{},"tool_calls":[{}]},{"role":"assistant","tool_calls":[{"id":"","name":"","arguments":[1]},{"id":"c","name":"f","arguments":"no"}]},{"role":"tool"},{"role":"tool","tool_call_id":"nobody"}]}`,
			"messages_malformed /messages/0/role,messages_malformed /messages/1/role,messages_malformed /messages/1/content,messages_malformed /messages/2/content," +
				"messages_malformed /messages/2/tool_calls,messages_malformed /messages/2/tool_calls/0/id,messages_malformed /messages/2/tool_calls/0/name," +
				"messages_malformed /messages/3/tool_calls/0/id,messages_malformed /messages/3/tool_calls/0/name,messages_malformed /messages/3/tool_calls/0/arguments," +
				"messages_malformed /messages/4/tool_call_id,messages_malformed /messages/5/tool_call_id",
			false,
		},
		{
			"arguments are a string of any text", `{"final_response":"x","messages":[{"role":"assistant","tool_calls":[{"id":"1","name":"f","arguments":"[1]"},{"id":"2","name":"f","arguments":"null"},{"id":"3","name":"f","arguments":""},{"id":"4","name":"f","arguments":"{\"order_id\":"}]}]}`,
			"", false,
		},
		{
			"arguments are neither", `{"final_response":"x","messages":[{"role":"assistant","tool_calls":[{"id":"1","name":"f","arguments":null},{"id":"2","name":"f","arguments":5}]}]}`,
			"messages_malformed /messages/0/tool_calls/0/arguments,messages_malformed /messages/0/tool_calls/1/arguments", false,
		},
		{"a part is a number", `{"final_response":"x","messages":[{"role":"user","content":["a",5]}]}`, "messages_malformed /messages/0/content", false},
		{"one bad message drops all", `{"final_response":"x","messages":[{"role":"assistant","content":"a"},{"role":"bot"}]}`, "messages_malformed /messages/1/role", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			verdict := dispatch.CheckResponse([]byte(tt.body))
			var got []string
			for _, p := range verdict.Problems {
				mark := ""
				if p.Fatal {
					mark = "!"
				}
				got = append(got, mark+p.Code+" "+p.Pointer)
				if p.Message == "" {
					t.Errorf("%s says nothing", p.Code)
				}
			}
			if s := strings.Join(got, ","); s != tt.problems {
				t.Errorf("problems\n%s\nwant\n%s", s, tt.problems)
			}
			if whole := strings.Contains(tt.body, `"messages":[`) && !strings.Contains(tt.problems, "messages") && verdict.OK(); whole != (verdict.Messages != nil) {
				t.Errorf("messages %v", verdict.Messages)
			}
			if verdict.Gradeable != tt.gradeable || verdict.OK() == strings.HasPrefix(tt.problems, "!") {
				t.Errorf("gradeable %t, ok %t", verdict.Gradeable, verdict.OK())
			}
		})
	}
}

func TestMessagesRoundTrip(t *testing.T) {
	for _, tt := range []struct{ in, out string }{
		{`{"role":"user","content":"hi"}`, `{"role":"user","content":"hi"}`},
		{`{"role":"assistant","content":null}`, `{"role":"assistant","content":null}`},
		{`{"role":"assistant"}`, `{"role":"assistant"}`},
		{`{"role":"user","content":[{"type":"image","data":"…"}]}`, `{"role":"user","content":[{"type":"image","data":"…"}]}`},
		{
			`{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}`,
			`{"role":"assistant","tool_calls":[{"id":"c","name":"f","arguments":"{}"}]}`,
		},
	} {
		var m dispatch.Message
		if err := json.Unmarshal([]byte(tt.in), &m); err != nil {
			t.Fatal(err)
		}
		if out, err := json.Marshal(m); err != nil || string(out) != tt.out {
			t.Errorf("%s became %s, %v; want %s", tt.in, out, err, tt.out)
		}
	}
	var m dispatch.Message
	if err := json.Unmarshal([]byte(`{"role":"assistant","tool_calls":[{"id":"c","name":"a","function":{"name":"b"}}]}`), &m); err == nil {
		t.Error("a call in both forms was read")
	}
	for content, want := range map[string]string{`"a"`: "a", `[{"text":"a"},"b",{"type":"image"},{"text":"c"}]`: "abc", `null`: "", `5`: "", ``: ""} {
		if got := dispatch.Content(content).String(); got != want {
			t.Errorf("Content(%s).String() = %q, want %q", content, got, want)
		}
	}
}

// FuzzHandler: whatever the body, the answer is one of the documented ones, and nothing secret is
// in it.
func FuzzHandler(f *testing.F) {
	for _, s := range []string{seedBody, `{"ping":true}`, `{}`, `{"input":{"messages":[{}],"turn_id":1}}`, `{"a":1,"a":1}`, `[[[[`, "\xff", `{"odyssey_proxy_url":"http://u:p@h"}`} {
		f.Add([]byte(s))
	}
	f.Add([]byte(`{"role":"assistant","content":"a","tool_calls":[{"id":"a","name":"f","arguments":{}}]}`)) // one of a list
	h := newHandler(f, answering("ok"))
	reads := newHandler(f, func(_ context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		var input any
		_ = run.DecodeInput(&input)
		messages, _ := run.History()
		return &dispatch.Response{FinalResponse: "ok", Messages: messages}, nil
	})
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, list := range []string{`{"task_id":1,"input":{"user_instruction":"a","messages":[`, `{"task_id":1,"input":{"user_instruction":"a","input":[`} {
			cost.Linear(t, "a dispatch", body, cost.List(list, body, `]}}`), func(doc []byte) {
				dispatch.CheckResponse(post(reads, string(doc), nil).Body.Bytes())
			})
		}
		r := httptest.NewRequest("POST", "/", strings.NewReader(string(body)))
		r.Header = seedHeaders()
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		switch w.Code {
		case 200:
			if got := w.Body.String(); got != `{"ok":true}` && got != `{"final_response":"ok"}` {
				t.Fatalf("200 %s", got)
			}
			if !json.Valid(body) {
				t.Fatal("a body that is not JSON was accepted")
			}
		case 400:
			var e struct{ Error, Message string }
			if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || e.Error == "" || e.Message == "" {
				t.Fatalf("400 %s: %v", w.Body, err)
			}
		default:
			t.Fatal(fmt.Sprint(w.Code, w.Body))
		}
		if strings.Contains(w.Body.String(), runToken) || strings.Contains(w.Body.String(), agentToken) {
			t.Fatalf("a token in %s", w.Body)
		}
	})
}

// The handler sends no key of metadata for which the platform might drop it.
func TestMetadataThatThePlatformMightDrop(t *testing.T) {
	var problems []dispatch.Problem
	h := newHandler(t, func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
		return &dispatch.Response{FinalResponse: "x", Metadata: &dispatch.Metadata{
			Model: "m", TotalInputTokens: -1, AgentRuntimeMS: 5, Extra: map[string]any{"total_output_tokens": "many", "own": -1},
		}}, nil
	}, func(o *dispatch.Options) {
		o.Observer = &dispatch.Observer{RunEnd: func(_ context.Context, end dispatch.RunEnd) { problems = end.Problems }}
	})
	wantAnswer(t, post(h, seedBody, nil), 200, `{"final_response":"x","metadata":{"agent_runtime_ms":5,"model":"m","own":-1}}`)
	want := "/metadata/total_input_tokens must be an integer of 0 or more; it is not sent [metadata_malformed]\n" +
		"/metadata/total_output_tokens must be an integer of 0 or more; it is not sent [metadata_malformed]\n"
	var got strings.Builder
	for _, p := range problems {
		got.WriteString(p.String() + "\n")
	}
	if got.String() != want {
		t.Errorf("problems\n%s\nwant\n%s", got.String(), want)
	}
}

func TestThePrintedProblem(t *testing.T) {
	p := dispatch.Problem{Tool: "get_order", Code: "odd", Message: "is odd"}
	if got, want := p.String(), `tool "get_order": the response is odd [odd]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// The problems of a response are listed up to a bound, and the rest are counted: a response may have one for each few
// bytes.
func TestProblemsOfMessagesAreBounded(t *testing.T) {
	for name, tt := range map[string]struct {
		unit    string
		perByte int
		last    string
	}{
		"numbers":        {`1,`, 100, "has 524188 more problems"},
		"empty messages": {`{},`, 200, "has 349425 more problems"},
		"calls":          {`{"role":"user","tool_calls":[{},{},{}]},`, 100, "more problems"},
		"a role of 7":    {`{"role":7},`, 200, "more problems"},
	} {
		t.Run(name, func(t *testing.T) {
			body := []byte(filled(1<<20, `{"final_response":"x","messages":[`, tt.unit, `]}`))
			var found []dispatch.Problem
			if testkit.Race { // the detector empties pools
				tt.perByte += 50
			}
			cost.Within(t, "a check", len(body), tt.perByte, func() { found = dispatch.CheckResponse(body).Problems })
			if n := len(found); n != 101 || !strings.Contains(found[n-1].Message, tt.last) || found[n-1].Pointer != "/messages" {
				t.Errorf("%d problems, the last is %v", n, found[n-1])
			}
		})
	}
	if found := dispatch.CheckMessages(make([]dispatch.Message, 100)); len(found) != 100 {
		t.Errorf("%d problems of 100 messages without a role", len(found))
	}
}
