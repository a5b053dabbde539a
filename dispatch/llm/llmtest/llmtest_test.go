package llmtest_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/toolwire/toolwire/dispatch/llm/llmtest"
	"github.com/toolwire/toolwire/internal/testkit"
)

const (
	chatPath      = "/v1/chat/completions"
	anthropicPath = "/v1/messages"
	geminiPath    = "/v1beta/models/m:generateContent"
	secret        = "sk-do-not-show-this-key"
)

// post sends a body and returns the response, whose body is read.
func post(t testing.TB, m *llmtest.Model, path, body string) (status int, header http.Header, answer string, err error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, m.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+secret)
	r.Header.Set("X-Api-Key", secret)
	response, err := m.Client().Do(r)
	if err != nil {
		return 0, nil, "", err
	}
	defer func() { _ = response.Body.Close() }()
	b, err := io.ReadAll(response.Body)
	return response.StatusCode, response.Header, string(b), err
}

func chatBody(user string) string {
	return `{"model":"m","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"` + user + `"}]}`
}

// called is the conversation of chatBody after the calls of the model and their results.
func called(user string, results ...string) string {
	calls, messages := "", ""
	for i, r := range results {
		id := string(rune('a' + i))
		calls += `,{"id":"` + id + `","type":"function","function":{"name":"get_order","arguments":"{}"}}`
		messages += `,{"role":"tool","tool_call_id":"` + id + `","content":"` + r + `"}`
	}
	return `{"model":"m","messages":[{"role":"user","content":"` + user + `"},{"role":"assistant","content":null,"tool_calls":[` + calls[1:] + `]}` + messages + `]}`
}

// withoutIDs is a conversation of Gemini's after calls without ids and their results.
func withoutIDs(results ...string) string {
	calls, responses := "", ""
	for _, r := range results {
		calls += `,{"functionCall":{"name":"get_weather"}}`
		responses += `,{"functionResponse":{"name":"get_weather","response":{"output":"` + r + `"}}}`
	}
	return `{"contents":[{"parts":[{"text":"x"}]},{"role":"model","parts":[` + calls[1:] + `]},{"parts":[` + responses[1:] + `]}]}`
}

// A request that comes after the end of the test is refused, and fails nothing.
func TestAfterTheTest(t *testing.T) {
	var m *llmtest.Model
	t.Run("test", func(t *testing.T) { m = llmtest.New(t) })
	refused(t, m, chatPath, chatBody("late"))
}

func TestWhatFailsATest(t *testing.T) {
	for _, tt := range []struct {
		name  string
		steps []llmtest.Step
		use   func(t testing.TB, m *llmtest.Model)
		want  []string // parts of the failures, in order; none if it passes
	}{
		{"as scripted", []llmtest.Step{llmtest.Text("hi")}, func(t testing.TB, m *llmtest.Model) { say(t, m, "hello") }, nil},
		{
			"a step is left", []llmtest.Step{llmtest.Text("hi"), llmtest.Turn(llmtest.Text("x"), llmtest.Call("", "get_order", "{}")), llmtest.Error(429)},
			func(t testing.TB, m *llmtest.Model) { say(t, m, "hello") },
			[]string{"step 2 (text, call get_order) of the conversation has not been used; 2 of 3 steps are left"},
		},
		{
			"the script is over", []llmtest.Step{llmtest.Text("hi")},
			func(t testing.TB, m *llmtest.Model) { say(t, m, "hello"); refused(t, m, chatPath, chatBody("more")) },
			[]string{"/v1/chat/completions: the conversation is over: it had 1 step", `the first user message: "more"`},
		},
		{
			"no conversation matches", nil,
			func(t testing.TB, m *llmtest.Model) {
				m.For("refund", llmtest.Text("done"))
				refused(t, m, chatPath, called("what is the weather?", "rain", "sun"))
			},
			[]string{
				"no conversation of the script matches this request", `"what is the weather?"`, `the result of the tool call "a": "rain"`, `"b": "sun"`,
				`step 1 (text) of the conversation for "refund" has not been used; 1 of 1 steps are left`,
			},
		},
		{
			"an unknown API", nil, func(t testing.TB, m *llmtest.Model) {
				status, header, answer, err := post(t, m, "/v1/"+secret+"/embeddings?key="+secret, `{}`)
				if status != 404 || header.Get("X-Should-Retry") != "false" || strings.Contains(answer, secret) || err != nil {
					t.Errorf("%d %v %s %v", status, header, answer, err)
				}
			},
			[]string{"POST /v1/[redacted]/embeddings: the model does not serve this API"},
		},
		{
			"credentials of Amazon", nil, func(t testing.TB, m *llmtest.Model) {
				r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, m.URL+"/model/arn:aws:bedrock:eu-west-1:123456789012:inference-profile%2Fm/converse",
					strings.NewReader(`{"messages":[{"role":"user","content":[{"text":"in 123456789012: AKIACANARYKEY/20261127/eu-west-1, 5bd1canarysignature, IQoJcanarytoken, see AKIACANARYKEY"}]}]}`))
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=AKIACANARYKEY/20261127/eu-west-1, SignedHeaders=host;x-amz-date, Signature=5bd1canarysignature")
				r.Header.Set("X-Amz-Security-Token", "IQoJcanarytoken")
				resp, err := m.Client().Do(r)
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = resp.Body.Close() }()
				body, err := io.ReadAll(resp.Body)
				if resp.StatusCode != 400 || resp.Header.Get("X-Amzn-Errortype") != "ValidationException" || strings.Contains(string(body), "canary") || strings.Contains(string(body), "123456789012") || err != nil {
					t.Errorf("%d %s %v", resp.StatusCode, body, err)
				}
			},
			[]string{"POST /model/arn:aws:bedrock:eu-west-1:[redacted]:inference-profile/m/converse: no conversation", `"in [redacted]: [redacted], [redacted], [redacted], see [redacted]"`},
		},
		{
			"an account in an escaped id", nil, func(t testing.TB, m *llmtest.Model) {
				refused(t, m, "/model/arn%253Aaws%253Abedrock%253Aeu-west-1%253A123456789012%253Ainference-profile%252Fm/converse", `{}`)
			},
			[]string{"POST /model/arn%3Aaws%3Abedrock%3Aeu-west-1%3A[redacted]%3Ainference-profile%2Fm/converse: "},
		},
		{
			"not JSON", nil, func(t testing.TB, m *llmtest.Model) { refused(t, m, anthropicPath, `{"model":`) },
			[]string{"/v1/messages: the body is not valid: "},
		},
		{
			"no result", []llmtest.Step{llmtest.Text("hi").Expect(llmtest.HasResult("a", "shipped"))}, func(t testing.TB, m *llmtest.Model) { say(t, m, "hello") },
			[]string{`step 1 (text) of the conversation: the model was not sent a result of the tool call "a"; it was sent results of []`},
		},
		{
			"another result", []llmtest.Step{llmtest.Text("hi").Expect(llmtest.HasResult("b", "shipped"), llmtest.HasResult("b", "lost"))},
			func(t testing.TB, m *llmtest.Model) { _, _, _, _ = post(t, m, chatPath, called("x", "1", "lost")) },
			[]string{`the result of the tool call "b" is "lost", want it to contain "shipped"`},
		},
		{
			"results without ids", []llmtest.Step{llmtest.Text("hi").Expect(llmtest.HasResult("", "sun"), llmtest.HasResult("", "rain"))},
			func(t testing.TB, m *llmtest.Model) { _, _, _, _ = post(t, m, geminiPath, withoutIDs("sun", "rain")) },
			nil,
		},
		{
			"an earlier result", []llmtest.Step{llmtest.Text("hi").Expect(llmtest.HasResult("a", "1"))},
			func(t testing.TB, m *llmtest.Model) {
				_, _, _, _ = post(t, m, chatPath, strings.TrimSuffix(called("x", "1"), "]}")+`,{"role":"assistant","content":"it is 1"},{"role":"user","content":"y"}]}`)
			},
			[]string{`was not sent a result of the tool call "a"; it was sent results of []`},
		},
		{
			"a result of another tool", []llmtest.Step{llmtest.Text("hi")},
			func(t testing.TB, m *llmtest.Model) {
				refused(t, m, geminiPath, strings.Replace(withoutIDs("sun"), `"functionResponse":{"name":"get_weather"`, `"functionResponse":{"name":"get_time"`, 1))
			},
			[]string{`the function response for "get_time" does not belong to a function call of the turn before it`, "has not been used"},
		},
		{
			"instructions of an earlier response", []llmtest.Step{llmtest.Text("hi"), llmtest.Text("hi").Expect(llmtest.HasSystem("Be brief."))},
			func(t testing.TB, m *llmtest.Model) {
				_, _, _, _ = post(t, m, "/v1/responses", `{"model":"m","input":"a","instructions":"Be brief."}`)
				_, _, _, _ = post(t, m, "/v1/responses", `{"model":"m","input":"b","previous_response_id":"resp_1"}`)
			},
			[]string{`the system prompt is "", want it to contain "Be brief."`},
		},
		{
			"the contents of a stream", []llmtest.Step{llmtest.Text("hi").Expect(llmtest.HasResult("", "sun"), llmtest.HasResult("", "rain"))},
			func(t testing.TB, m *llmtest.Model) {
				_, _, _, _ = post(t, m, geminiPath, strings.Replace(withoutIDs("sun", "rain"), `,{"functionCall"`, `]},{"role":"model","parts":[{"functionCall"`, 1))
			},
			nil,
		},
		{
			"no result of several", []llmtest.Step{llmtest.Text("hi").Expect(llmtest.HasResult("", "snow"))},
			func(t testing.TB, m *llmtest.Model) { _, _, _, _ = post(t, m, geminiPath, withoutIDs("sun", "rain")) },
			[]string{`the result of the tool call "" is "{\"output\":\"sun\"}", want it to contain "snow"`},
		},
		{
			"tools and system", []llmtest.Step{llmtest.Text("hi").Expect(llmtest.HasTools("get_order"), llmtest.HasSystem("verbose"), llmtest.HasSystem("brief"))},
			func(t testing.TB, m *llmtest.Model) { say(t, m, "hello") },
			[]string{`the model was offered the tools [], want ["get_order"]`, `the system prompt is "Be brief.", want it to contain "verbose"`},
		},
		{
			"a check of its own", []llmtest.Step{llmtest.Text("hi").Expect(func(r *llmtest.Request) error {
				return errors.New(string(r.Format) + " " + r.Model + " " + string(r.Body[:8]))
			})},
			func(t testing.TB, m *llmtest.Model) { say(t, m, "hello") }, []string{`openai_chat m {"model"`},
		},
		{
			"mistakes in a script", []llmtest.Step{
				llmtest.Error(200), llmtest.Turn(), llmtest.Turn(llmtest.Error(429), llmtest.Text("x")), llmtest.Turn(llmtest.Drop(), llmtest.Text("x")),
				llmtest.Turn(llmtest.Refusal("x"), llmtest.Text("x")), llmtest.Text("x").Fail(1), llmtest.Error(500).EndEarly(), llmtest.Text("x").RetryAfter(1), llmtest.Call("a", "", "{}"),
				llmtest.Raw("[]"), llmtest.Text("x").Usage(5, 1).Cached(6), llmtest.Choices(), llmtest.Choices(llmtest.Text("x"), llmtest.Drop(), llmtest.Call("a", "", "{}")),
			},
			func(testing.TB, *llmtest.Model) {},
			[]string{
				"step 1 (error 200) of the conversation: the status 200 is not an error; use 400 to 599", `step 2 () of the conversation: the step has no content; Text("") is an empty response`,
				"step 3", "Error cannot be joined", "step 4", "Drop cannot be joined", "step 5", "Refusal cannot be joined",
				"step 6", "the status 1 of Fail", "step 7", "only a response with content", "step 8", "RetryAfter is for Error", "step 9", "a call has no tool name",
				"step 10", "the argument of Raw is not a JSON object", "step 11", "6 tokens are cached of 5", "step 12", "the step has no content",
				"step 13 (text, or drop, or call )", "a choice after the first has content only", "step 13", "a call has no tool name",
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := testkit.Failures(t, func(t testing.TB) { tt.use(t, llmtest.New(t, tt.steps...)) })
			if len(tt.want) == 0 && got != "" {
				t.Errorf("it fails: %s", got)
			}
			rest := got
			for _, want := range tt.want {
				_, after, found := strings.Cut(rest, want)
				if !found {
					t.Fatalf("the failures are\n%s\nwant %q", got, want)
				}
				rest = after
			}
			if strings.Contains(got, secret) {
				t.Errorf("a failure shows the key: %s", got)
			}
		})
	}
}

// say sends the first request of a conversation and expects a response.
func say(t testing.TB, m *llmtest.Model, user string) {
	t.Helper()
	if status, _, answer, err := post(t, m, chatPath, chatBody(user)); status != 200 || err != nil {
		t.Errorf("%d %s %v", status, answer, err)
	}
}

// refused sends a request that has no step.
func refused(t testing.TB, m *llmtest.Model, path, body string) {
	t.Helper()
	status, header, answer, err := post(t, m, path, body)
	if status != 400 || header.Get("X-Should-Retry") != "false" || !strings.Contains(answer, `":"llmtest: `) || strings.Contains(answer, secret) || err != nil {
		t.Errorf("%d %v %s %v", status, header, answer, err)
	}
}

// A failure that quotes the request shows no credential, wherever the request has one.
func TestNoSecretInFailures(t *testing.T) {
	got := testkit.Failures(t, func(t testing.TB) {
		m := llmtest.New(t, llmtest.Text("x").Expect(func(r *llmtest.Request) error { return errors.New(r.Users[0]) }, llmtest.HasSystem(secret)))
		say(t, m, "my key is "+secret)
		refused(t, m, chatPath, called(secret, secret))
	})
	if strings.Count(got, "[redacted]") < 4 || strings.Contains(got, secret[:8]) {
		t.Errorf("%s", got)
	}
}

// The placeholder of a key hides no words.
func TestPlaceholderOfAKey(t *testing.T) {
	m := llmtest.NewModel()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, m.URL+chatPath, strings.NewReader(chatBody("none of it")))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer none")
	response, err := m.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if err := m.Err(); err == nil || !strings.Contains(err.Error(), `"none of it"`) {
		t.Errorf("%v", err)
	}
}

func TestConversations(t *testing.T) {
	m := llmtest.New(t, llmtest.Text("other 1"), llmtest.Text("other 2"))
	m.For("refund", llmtest.Text("refund 1"))
	m.For("refund", llmtest.Text("refund 2"))
	m.When(func(r *llmtest.Request) bool { return len(r.Results) > 0 }, llmtest.Text("results 1"))
	for _, step := range []struct{ body, want string }{
		{chatBody("x"), "other 1"}, {chatBody("a refund"), "refund 1"}, {called("x", "1"), "results 1"}, {chatBody("a refund"), "refund 2"}, {chatBody("x"), "other 2"},
	} {
		if _, _, answer, _ := post(t, m, chatPath, step.body); !strings.Contains(answer, `"content":"`+step.want+`"`) {
			t.Errorf("%s: %s, want %s", step.body, answer, step.want)
		}
	}
	if n := len(m.Requests()); n != 5 {
		t.Errorf("%d requests", n)
	}
}

// The functions of When and Expect may use the model.
func TestFunctionsMayUseTheModel(t *testing.T) {
	m := llmtest.New(t)
	m.When(func(*llmtest.Request) bool { return len(m.Requests()) == 1 }, llmtest.Text("first").Expect(func(*llmtest.Request) error {
		m.For("y", llmtest.Text("second"))
		return nil
	}))
	say(t, m, "x")
	say(t, m, "y")
}

// Without a test, Err has what fails one.
func TestModelWithoutTest(t *testing.T) {
	m := llmtest.NewModel(llmtest.Text("a"), llmtest.Text("b"))
	refused(t, m, chatPath, `[]`)
	say(t, m, "x")
	if err := m.Err(); err == nil || !strings.Contains(err.Error(), "not an object") || !strings.Contains(err.Error(), "step 2 (text)") {
		t.Errorf("%v", err)
	}
	say(t, m, "x")
	if err := m.Err(); err == nil || strings.Contains(err.Error(), "step 2") {
		t.Errorf("%v", err)
	}
	if err := llmtest.NewModel().Err(); err != nil {
		t.Error(err)
	}
}

// Providers refuse conversations whose calls and results do not belong together.
func TestConversationsThatProvidersRefuse(t *testing.T) {
	const (
		chatCall = `{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"f","arguments":"{}"}}]}`
		claudeUs = `{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}},{"type":"tool_use","id":"b","name":"f","input":{}}]}`
	)
	chatTool := func(id string) string { return `{"role":"tool","tool_call_id":"` + id + `","content":"x"}` }
	claudeTool := func(id string) string {
		return `{"type":"tool_result","tool_use_id":"` + id + `","content":[{"type":"text","text":"x"}]}`
	}
	chatAll := func(messages ...string) string {
		return `{"model":"m","messages":[{"role":"user","content":"hi"},` + strings.Join(messages, ",") + `]}`
	}
	claudeAll := func(messages ...string) string {
		return `{"model":"m","max_tokens":9,"messages":[` + strings.Join(messages, ",") + `]}`
	}
	claudeUser := func(blocks ...string) string { return `{"role":"user","content":[` + strings.Join(blocks, ",") + `]}` }
	for _, tt := range []struct{ name, path, body, want string }{
		{"chat: in order", chatPath, chatAll(chatCall, chatTool("b"), chatTool("a")), ""},
		{"chat: one is missing", chatPath, chatAll(chatCall, chatTool("b")), `the result of the tool call \"a\" is missing`},
		{"chat: another message between", chatPath, chatAll(chatCall, chatTool("b"), `{"role":"user","content":"x"}`, chatTool("a")), `\"a\" is missing`},
		{"chat: twice", chatPath, chatAll(chatCall, chatTool("a"), chatTool("a")), `the result for \"a\" does not belong`},
		{"chat: without a call", chatPath, chatAll(chatTool("a")), `the result for \"a\" does not belong`},
		{"chat: no messages", chatPath, `{"model":"m","messages":[]}`, `messages must be an array`},
		{"chat: a message is not an object", chatPath, `{"model":"m","messages":[1]}`, `messages[0] must be an object`},
		{"chat: the old form", chatPath, chatAll(`{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}}`, `{"role":"function","name":"f","content":"x"}`), ""},
		{"chat: no role", chatPath, chatAll(`{"content":"x"}`), `the role \"\" of a message is not known`},
		{"chat: another role", chatPath, chatAll(`{"role":"robot","content":"x"}`), `the role \"robot\" of a message is not known`},
		{"chat: a long id", chatPath, chatAll(strings.ReplaceAll(`{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}`, `"a"`, `"`+strings.Repeat("a", 100)+`"`), chatTool(strings.Repeat("a", 100))), ""},
		{"responses: a long id", "/v1/responses", `{"input":[{"type":"function_call","call_id":"` + strings.Repeat("a", 65) + `","name":"f","arguments":"{}"}]}`, `the most are 64`},
		{"responses: another role", "/v1/responses", `{"input":[{"role":"robot","content":"x"}]}`, `the role \"robot\" of a message is not known`},
		{"gemini: another role", geminiPath, `{"contents":[{"role":"assistant","parts":[{"text":"x"}]}]}`, `the role \"assistant\" of a content is not known`},
		{"gemini: the names of protocol buffers", geminiPath, `{"contents":[{"parts":[{"text":"x"}]},{"role":"model","parts":[{"function_call":{"name":"f"}}]}]}`, `the function response for \"f\" is missing`},
		{"anthropic: a system message", anthropicPath, claudeAll(`{"role":"user","content":"x"}`, `{"role":"system","content":"y"}`, `{"role":"user","content":"z"}`), ""},
		{"anthropic: another role", anthropicPath, claudeAll(`{"role":"tool","content":"x"}`), `is not one of user, assistant and system`},
		{"anthropic: an empty text", anthropicPath, claudeAll(claudeUser(`{"type":"text","text":""}`)), `messages.0: text content blocks must contain non-whitespace text`},
		{"anthropic: a blank text", anthropicPath, claudeAll(claudeUser(`{"type":"text","text":"x"}`, `{"type":"text","text":" \n"}`)), `messages.0: text content blocks must`},
		{"anthropic: a blank message", anthropicPath, claudeAll(`{"role":"user","content":" "}`), `messages.0: content must contain non-whitespace text`},
		{"anthropic: a blank system prompt", anthropicPath, `{"model":"m","max_tokens":9,"system":[{"type":"text","text":" "}],"messages":[{"role":"user","content":"x"}]}`, `system: text content blocks must`},
		{"anthropic: a prefill", anthropicPath, claudeAll(`{"role":"user","content":"x"}`, `{"role":"assistant","content":"{"}`), ""},
		{"anthropic: an empty prefill", anthropicPath, claudeAll(`{"role":"user","content":"x"}`, `{"role":"assistant","content":""}`), ""},
		{"anthropic: a prefill with a space", anthropicPath, claudeAll(`{"role":"user","content":"x"}`, `{"role":"assistant","content":"a "}`), `cannot end with trailing whitespace`},
		{"anthropic: a repeated id", anthropicPath, claudeAll(claudeUs, claudeUser(claudeTool("a"), claudeTool("b")), claudeUs, claudeUser(claudeTool("a"), claudeTool("b"))), ""},
		{"anthropic: a repeated id in a turn", anthropicPath, claudeAll(strings.Replace(claudeUs, `"b"`, `"a"`, 1), claudeUser(claudeTool("a"), claudeTool("a"))), `tool_use ids must be unique`},
		{"anthropic: a repeated id in two messages of a turn", anthropicPath, claudeAll(claudeUs, `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]}`, claudeUser(claudeTool("a"), claudeTool("b"))), `tool_use ids must be unique`},
		{"anthropic: an odd id", anthropicPath, claudeAll(strings.Replace(claudeUs, `"a"`, `"x.1"`, 1), claudeUser(claudeTool("x.1"), claudeTool("b"))), `messages.1: the tool_use id \"x.1\" should match the pattern ^[a-zA-Z0-9_-]+$`},
		{"anthropic: in order", anthropicPath, claudeAll(claudeUs, claudeUser(claudeTool("b"), claudeTool("a"), `{"type":"text","text":"x"}`)), ""},
		{"anthropic: one is missing", anthropicPath, claudeAll(claudeUs, claudeUser(claudeTool("b"))), `\"a\" is missing`},
		{"anthropic: two messages", anthropicPath, claudeAll(claudeUs, claudeUser(claudeTool("b")), claudeUser(claudeTool("a"))), ""},
		{"anthropic: two messages, and text between", anthropicPath, claudeAll(claudeUs, claudeUser(claudeTool("b"), `{"type":"text","text":"x"}`), claudeUser(claudeTool("a"))), `results of tools must come before other content of a message`},
		{"anthropic: two messages, and one is missing", anthropicPath, claudeAll(claudeUs, claudeUser(claudeTool("b")), claudeUser(`{"type":"text","text":"x"}`)), `\"a\" is missing`},
		{"anthropic: text first", anthropicPath, claudeAll(claudeUs, claudeUser(`{"type":"text","text":"x"}`, claudeTool("b"), claudeTool("a"))), `results of tools must come before other content of a message`},
		{"anthropic: no max_tokens", anthropicPath, `{"model":"m","messages":[{"role":"user","content":"x"}]}`, `max_tokens: Field required`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := llmtest.NewModel(llmtest.Text("fine"))
			status, _, answer, err := post(t, m, tt.path, tt.body)
			if err != nil || tt.want == "" && (status != 200 || m.Err() != nil) || tt.want != "" && (status != 400 || !strings.Contains(answer, tt.want)) {
				t.Errorf("%d %s, want %q; %v", status, answer, tt.want, m.Err())
			}
		})
	}
}

// The names of Gemini's protocol buffers mean the same as the names of its API.
func TestNamesOfProtocolBuffers(t *testing.T) {
	m := llmtest.New(t, llmtest.Text("hi").Expect(llmtest.HasSystem("Be brief."), llmtest.HasTools("f", "google_search"), llmtest.HasResult("", "sun")))
	_, _, answer, err := post(t, m, geminiPath, `{"system_instruction":{"parts":[{"text":"Be brief."}]},"tools":[{"function_declarations":[{"name":"f"}]},{"google_search":{}}],
		"contents":[{"parts":[{"text":"x"}]},{"role":"model","parts":[{"function_call":{"name":"f"}}]},{"role":"function","parts":[{"function_response":{"name":"f","response":{"output":"sun"}}}]}]}`)
	if err != nil || !strings.Contains(answer, "hi") {
		t.Errorf("%s, %v", answer, err)
	}
}

// The result of a call made by Raw is expected like any other result.
func TestRawCall(t *testing.T) {
	m := llmtest.New(t, llmtest.Raw(`{"type":"custom_tool_call","id":"ct_1","call_id":"c","name":"run","input":"SELECT 1"}`), llmtest.Text("hi").Expect(llmtest.HasResult("c", "one")))
	_, _, _, _ = post(t, m, "/v1/responses", `{"model":"m","input":"a"}`)
	_, _, answer, err := post(t, m, "/v1/responses", `{"model":"m","previous_response_id":"resp_1","input":[{"type":"custom_tool_call_output","call_id":"c","output":"one"}]}`)
	if err != nil || !strings.Contains(answer, "hi") {
		t.Errorf("%s, %v", answer, err)
	}
}

// A format with one choice cannot have several.
func TestChoicesOfAFormatWithOne(t *testing.T) {
	for path, body := range map[string]string{anthropicPath: `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"x"}]}`, "/v1/responses": `{"model":"m","input":"x"}`} {
		got := testkit.Failures(t, func(t testing.TB) {
			_, _, _, _ = post(t, llmtest.New(t, llmtest.Choices(llmtest.Text("a"), llmtest.Text("b"))), path, body)
		})
		if !strings.Contains(got, "step 1 (text, or text) of the conversation: the format") || !strings.Contains(got, "has one choice") {
			t.Errorf("%s: %s", path, got)
		}
	}
}

// What a model is sent is bounded in a failure, and cannot steer the terminal.
func TestFailuresAreBoundedAndClean(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	got := testkit.Failures(t, func(t testing.TB) {
		m := llmtest.New(t, llmtest.Text("hi").Expect(func(*llmtest.Request) error { return errors.New("\x1b[2J\u009b\u202e" + long) }))
		say(t, m, "hello")
	})
	if len(got) > 40_000 || strings.ContainsAny(got, "\x1b\u009b\u202e") || !strings.Contains(got, "… (1048") {
		t.Errorf("%d bytes: %.300q", len(got), got)
	}
}

// A failure names the line of the script whose step it is about.
func TestFailuresNameTheScript(t *testing.T) {
	_, _, line, _ := runtime.Caller(0)
	for i, step := range []llmtest.Step{
		llmtest.Text("hi"),
		llmtest.Thinking("hm"),
		llmtest.Call("", "get_order", "{}"),
		llmtest.Refusal("no").After(time.Second),
		llmtest.Raw("{}"),
		llmtest.Error(500),
		llmtest.Drop(),
		llmtest.Turn(llmtest.Text("hi")),
		llmtest.Choices(llmtest.Text("hi"), llmtest.Text("ho")),
	} {
		want := fmt.Sprintf("llmtest: llmtest_test.go:%d: step 1 (", line+2+i)
		if err := llmtest.NewModel(step).Err(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
