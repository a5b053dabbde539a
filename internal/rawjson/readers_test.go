package rawjson_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/llm"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/manifest/toolbox"
	"github.com/toolwire/toolwire/manifest/webhook"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/schema"
)

// echo is a proxy whose tools return their arguments.
type echo struct{}

func (echo) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	answer := `{"response":` + string(body) + `,"source":"odyssey"}`
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(answer))}, err
}

// All packages read the same arguments from what a model wrote, and the tool gets these.
func TestPackagesAgreeOnArguments(t *testing.T) {
	const none = "{}"
	for _, tt := range []struct {
		value   string // as a provider writes it; "" if it leaves it out
		object  string // that all read; "" if there is none
		refused bool   // by those who send it
		invalid bool   // for those who apply a schema
	}{
		{value: "", object: none}, {value: `null`, object: none}, {value: `""`, object: none},
		{value: `" \n"`, object: none},
		{value: `"null"`, object: none}, {value: `" null "`, object: none},
		{value: `{}`, object: none}, {value: `"{}"`, object: none}, {value: ` {"b" : 1, "a":2} `, object: `{"b" : 1, "a":2}`}, {value: `" {\"b\" : 1}\n"`, object: `{"b" : 1}`},
		{value: `"{\"b\":12345678901234567890.10,\"a\":1e400}"`, object: `{"b":12345678901234567890.10,"a":1e400}`},
		{`{"a":1,"a":2}`, `{"a":1,"a":2}`, true, true}, {`"{\"a\":1,\"a\":2}"`, `{"a":1,"a":2}`, true, true}, {`"{\"a\":\"\\ud83d\"}"`, `{"a":"\ud83d"}`, true, false},
		{`[]`, "", true, true}, {`"[]"`, "", true, true}, {`5`, "", true, true}, {`true`, "", true, true}, {`"not json"`, "", true, true}, {`"nullable"`, "", true, true},
		{`"{\"a\":1} x"`, "", true, true}, {`"{\"a\":"`, "", true, true}, {`"\u00a0"`, "", true, true}, {`"\"{\\\"a\\\":1}\""`, "", true, true},
	} {
		text := strings.TrimSpace(tt.value) // that an SDK hands to the tool
		if rawjson.Kind([]byte(text)) == '"' {
			text = rawjson.Unquote([]byte(text))
		}
		check := func(who, got, want string) {
			t.Helper()
			if got != want {
				t.Errorf("%s: %s: %s, want %s", tt.value, who, got, want)
			}
		}
		member := func(name string) string {
			if tt.value == "" {
				return ""
			}
			return `,"` + name + `":` + tt.value
		}
		told := dispatch.Message{Role: dispatch.RoleAssistant,
			ToolCalls: []dispatch.ToolCall{{ID: "1", Name: "f", Arguments: json.RawMessage(tt.value)}}}
		shown, asText, inObject := tt.object, string(rawjson.Quote(tt.object)), tt.object
		if tt.object == "" {
			shown, asText = string(rawjson.Quote(text)), string(rawjson.Quote(text))
			inObject = `{"arguments":` + asText + `}`
		}
		replayed := &dispatch.Run{Messages: json.RawMessage(`[{"role":"assistant","tool_calls":[{"id":"1","name":"f"` + member("arguments") + `}]}]`)}
		history, err := replayed.History()
		if err != nil {
			t.Fatal(err)
		}
		unchanged := tt.object
		if unchanged == "" {
			unchanged = tt.value
		}
		check("History", string(history[0].ToolCalls[0].Arguments), unchanged)
		for format, conversation := range map[llm.Format]string{
			llm.OpenAIChat: `[{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"f"` + member("arguments") + `}}]}]`,
			llm.Anthropic:  `[{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f"` + member("input") + `}]}]`,
		} {
			messages, err := llm.FromConversation(format, json.RawMessage(conversation))
			if err != nil {
				t.Fatal(err)
			}
			arguments := messages[0].ToolCalls[0].Arguments
			if tt.object == "" { // a text keeps its escapes
				arguments = rawjson.Quote(rawjson.Unquote(arguments))
			}
			check("FromConversation", string(arguments), shown)
		}
		chat, err := llm.ToConversation(llm.OpenAIChat, []dispatch.Message{told})
		if err != nil || !strings.Contains(string(chat), `"arguments":`+asText) {
			t.Errorf("%s: for OpenAI it is %s, %v", tt.value, chat, err)
		}
		blocks, err := llm.ToConversation(llm.Anthropic, []dispatch.Message{told})
		if err != nil || !strings.Contains(string(blocks), `"input":`+inObject+`}`) {
			t.Errorf("%s: for Anthropic it is %s, %v", tt.value, blocks, err)
		}

		got := tt.object // by a tool
		if tt.refused {
			got = "invalid_arguments"
		}
		client, err := proxy.New("https://api.example.com", "token", &proxy.Options{Transport: echo{}})
		if err != nil {
			t.Fatal(err)
		}
		box, err := toolbox.Parse([]byte(`[{"name":"f","handler":"h","parameters":{}}]`), &toolbox.Options{Handlers: map[string]toolbox.Handler{
			"h": func(_ context.Context, args json.RawMessage, _ toolbox.Agent, _ toolbox.Tool) (string, error) {
				return string(args), nil
			},
		}})
		if err != nil {
			t.Fatal(err)
		}
		for _, call := range []func() (string, bool, error){
			func() (string, bool, error) {
				r, err := client.CallForModel(t.Context(), "f", text)
				return r.Text, r.Failed, err
			},
			func() (string, bool, error) {
				r, err := box.CallForModel(t.Context(), "f", text)
				return r.Text, r.Failed, err
			},
		} {
			result, failed, err := call()
			if failed {
				result = rawjson.Unquote(rawjson.Member([]byte(result), "error"))
			}
			if err != nil {
				t.Fatal(err)
			}
			check("CallForModel", result, got)
		}
		set, err := schema.NewSet(t.Context(), []schema.Tool{
			{Name: "f", Description: "x", InputSchema: json.RawMessage(`{"type":"object"}`)}, {Name: "any", Description: "x", InputSchema: json.RawMessage(`{}`)},
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		valid := !tt.invalid && strings.TrimSpace(text) != "null"
		for _, tool := range []string{"f", "any"} {
			if err := set.ValidateArguments(tool, []byte(text)); (err == nil) != valid {
				t.Errorf("%s: ValidateArguments: %v", text, err)
			}
		}

		if tt.value != "" { // a webhook must have arguments
			hook, err := webhook.New([]webhook.Tool{{Name: "f", Func: func(_ context.Context, args json.RawMessage) (any, error) { return string(args), nil }}},
				&webhook.Options{Secrets: []string{"tool-call-secret-1"}})
			if err != nil {
				t.Fatal(err)
			}
			r := httptest.NewRequest("POST", "/", strings.NewReader(`{"tool":"f"`+member("arguments")+`}`))
			r.Header = http.Header{"Content-Type": {"application/json"}, "X-Agent-Secret": {"tool-call-secret-1"}, "X-Agent-Identity": {"6f1c1a5e-3c1b-4a53-9d7e-0c5f2b8a9e11"}}
			w := httptest.NewRecorder()
			hook.ServeHTTP(w, r)
			result := rawjson.Unquote(w.Body.Bytes())
			if accepted := result != ""; accepted == tt.invalid || accepted && result != tt.object {
				t.Errorf("%s: the tool of a webhook got %s: %d %s", tt.value, result, w.Code, w.Body)
			}
		}

		// What the model said and what the tool got are one call.
		h, err := dispatch.New(func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			run.Transcript().Add(told)
			_, _ = run.Proxy.CallForModel(ctx, "f", text)
			return run.Transcript().Response("x"), nil
		}, &dispatch.Options{InsecureNoAuth: true, Proxy: &proxy.Options{Transport: echo{}}})
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest("POST", "/", strings.NewReader(`{"run_token":"token","task":{},"odyssey_proxy_url":"https://api.example.com/runs/1"}`))
		r.Header = http.Header{"Content-Type": {"application/json"}, "X-Pipelines-Run-Token": {"token"}}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		response := dispatch.CheckResponse(w.Body.Bytes())
		if len(response.Problems) > 0 || len(response.Messages) != 3 || len(response.Messages[0].ToolCalls) != 1 || response.Messages[1].Role != dispatch.RoleTool {
			t.Errorf("%s: the transcript is %s %v", tt.value, w.Body, response.Problems)
		} else if sent, err := rawjson.ReadArguments(response.Messages[0].ToolCalls[0].Arguments, rawjson.Limits{Mode: rawjson.Liberal}); tt.object != "" {
			check("transcript", rawjson.Key(sent), rawjson.Key([]byte(tt.object)))
		} else if err == nil {
			t.Errorf("%s: the transcript has the object %s", tt.value, sent)
		}
	}
}
