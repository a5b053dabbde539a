package dispatch_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/internal/testkit"
	"github.com/toolwire/toolwire/proxy"
)

const (
	agentToken = "agent-token-hunter2"
	runToken   = "secret-run-token"
	jti        = "2105977b27b84f12920087320921f1a5"
)

// seedBody is the example of "Porting without the SDK", with the nested task input in its place.
const seedBody = `{
  "task_id": 42,
  "run_id": 17,
  "agent_id": 8,
  "input": {
    "task_id": 42,
    "user_instruction": "Refund order #4521 if it shipped more than 30 days ago.",
    "input": {
      "customer_id": "cust_99",
      "order_id": "4521"
    }
  },
  "odyssey_proxy_url": "https://api.example.com/api/odyssey-proxy/runs/abc",
  "run_token_jti": "2105977b27b84f12920087320921f1a5"
}`

func seedHeaders() http.Header {
	return http.Header{
		"Content-Type":                  {"application/json"},
		"Authorization":                 {"Bearer " + agentToken},
		"X-Pipelines-Run-Token":         {runToken},
		"X-Pipelines-Odyssey-Proxy-Url": {"https://api.example.com/api/odyssey-proxy/runs/abc"},
		"X-Pipelines-Run-Id":            {"17"},
		"X-Pipelines-Task-Id":           {"42"},
		"X-Pipelines-Run-Token-Jti":     {jti},
	}
}

func newHandler(t testing.TB, agent dispatch.Agent, opts ...func(*dispatch.Options)) *dispatch.Handler {
	t.Helper()
	o := &dispatch.Options{Tokens: []string{agentToken}}
	for _, set := range opts {
		set(o)
	}
	h, err := dispatch.New(agent, o)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func answering(text string) dispatch.Agent {
	return func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
		return &dispatch.Response{FinalResponse: text}, nil
	}
}

// post sends a request straight to the handler. change may be nil.
func post(h http.Handler, body string, change func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", "/dispatch", strings.NewReader(body))
	r.Header = seedHeaders()
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func wantAnswer(t testing.TB, w *httptest.ResponseRecorder, status int, body string) {
	t.Helper()
	if w.Code != status || w.Body.String() != body {
		t.Errorf("got %d %s\nwant %d %s", w.Code, w.Body, status, body)
	}
	if got := w.Header().Get("Content-Type"); got != "application/json" {
		t.Errorf("Content-Type %q", got)
	}
}

// wantError asserts an error answer whose message contains text, and that nothing secret is in it.
func wantError(t testing.TB, w *httptest.ResponseRecorder, status int, code toolwire.Code, text string) {
	t.Helper()
	var e struct{ Error, Message string }
	if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil {
		t.Fatalf("%d %q: %v", w.Code, w.Body, err)
	}
	if w.Code != status || e.Error != string(code) || !strings.Contains(e.Message, text) {
		t.Errorf("got %d %s\nwant %d %s with %q", w.Code, w.Body, status, code, text)
	}
	for _, secret := range []string{agentToken, runToken, "hunter2"} {
		if strings.Contains(w.Body.String(), secret) {
			t.Errorf("%s holds the secret %q", w.Body, secret)
		}
	}
}

func TestSeedExampleReachesTheAgent(t *testing.T) {
	var sent []string
	transport := testkit.RoundTrip(func(r *http.Request) (*http.Response, error) {
		body, _ := io.ReadAll(r.Body)
		sent = append(sent, r.URL.String()+" "+r.Header.Get("Authorization")+" "+string(body))
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(
			`{"tool_name":"get_order","response":{"status":"shipped","shipped_at":"2026-04-01"},"source":"odyssey","latency_ms":412,"matched_rule_index":null}`))}, nil
	})
	var run *dispatch.Run
	var result json.RawMessage
	h := newHandler(t, func(ctx context.Context, r *dispatch.Run) (_ *dispatch.Response, err error) {
		run = r
		result, err = proxy.Call[json.RawMessage](ctx, r.Proxy, "get_order", map[string]string{"order_id": "4521"})
		return &dispatch.Response{FinalResponse: "The refund of $79.50 has been issued for order #4521."}, err
	}, func(o *dispatch.Options) { o.Proxy = &proxy.Options{Transport: transport} })

	w := post(h, seedBody, nil)
	wantAnswer(t, w, 200, `{"final_response":"The refund of $79.50 has been issued for order #4521."}`)
	if run.TaskID != "42" || run.RunID != "17" || run.AgentID != "8" || run.TokenJTI != jti ||
		run.Instruction != "Refund order #4521 if it shipped more than 30 days ago." || string(run.Envelope) != seedBody {
		t.Errorf("run = %+v", run)
	}
	var input struct {
		Customer string `json:"customer_id"`
		Order    string `json:"order_id"`
	}
	if err := run.DecodeInput(&input); err != nil || input.Customer != "cust_99" || input.Order != "4521" {
		t.Errorf("input = %+v, %v", input, err)
	}
	if want := `https://api.example.com/api/odyssey-proxy/runs/abc/tools/get_order Bearer secret-run-token {"order_id":"4521"}`; len(sent) != 1 || sent[0] != want {
		t.Errorf("the tool call was %q", sent)
	}
	// The envelope must never reach the agent as a tool's result.
	if string(result) != `{"status":"shipped","shipped_at":"2026-04-01"}` {
		t.Errorf("the tool's result is %s", result)
	}
}

func TestMethods(t *testing.T) {
	h := newHandler(t, answering("x"))
	for _, method := range []string{"GET", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH"} {
		w := post(h, seedBody, func(r *http.Request) { r.Method = method })
		if w.Code != 405 || w.Header().Get("Allow") != "POST" {
			t.Errorf("%s: %d, Allow %q", method, w.Code, w.Header().Get("Allow"))
		}
	}
}

func TestAuth(t *testing.T) {
	current := []string{"rotated"}
	plain := newHandler(t, answering("x"))
	two := newHandler(t, answering("x"), func(o *dispatch.Options) { o.Tokens = []string{"old", "new"} })
	custom := newHandler(t, answering("x"), func(o *dispatch.Options) { o.AuthHeader = "x-api-key" })
	byFunc := newHandler(t, answering("x"), func(o *dispatch.Options) {
		o.Tokens, o.TokenFunc = nil, func() []string { return current }
	})
	open := newHandler(t, answering("x"), func(o *dispatch.Options) { o.Tokens, o.InsecureNoAuth = nil, true })
	for _, tt := range []struct {
		name    string
		handler http.Handler
		header  string
		values  []string
		refusal string // "" if the request is accepted
	}{
		{"right", plain, "Authorization", []string{"Bearer " + agentToken}, ""},
		{"scheme in lower case", plain, "Authorization", []string{"bearer " + agentToken}, ""},
		{"none", plain, "Authorization", nil, `the header Authorization is missing`},
		{"empty", plain, "Authorization", []string{""}, `the header Authorization does not begin with \"Bearer \"`},
		{"scheme only", plain, "Authorization", []string{"Bearer "}, `the header Authorization has no secret`},
		{"without scheme", plain, "Authorization", []string{agentToken}, `the header Authorization does not begin with \"Bearer \"`},
		{"other scheme", plain, "Authorization", []string{"Basic " + agentToken}, `the header Authorization does not begin with \"Bearer \"`},
		{"wrong", plain, "Authorization", []string{"Bearer wrong"}, `the secret in the header Authorization is not accepted`},
		{"prefix", plain, "Authorization", []string{"Bearer " + agentToken[:5]}, `the secret in the header Authorization is not accepted`},
		{"longer", plain, "Authorization", []string{"Bearer " + agentToken + "x"}, `the secret in the header Authorization is not accepted`},
		{"two headers, both right", plain, "Authorization", []string{"Bearer " + agentToken, "Bearer " + agentToken}, `the header Authorization is given 2 times`},
		{"two headers, one right", plain, "Authorization", []string{"Bearer wrong", "Bearer " + agentToken}, `the header Authorization is given 2 times`},
		{"two in one header", plain, "Authorization", []string{"Bearer wrong, Bearer " + agentToken}, `the secret in the header Authorization is not accepted`},
		{"in another header", plain, "X-Api-Key", []string{agentToken}, `the header Authorization is missing`},
		{"first of two", two, "Authorization", []string{"Bearer old"}, ""},
		{"second of two", two, "Authorization", []string{"Bearer new"}, ""},
		{"custom header", custom, "X-Api-Key", []string{agentToken}, ""},
		{"custom header with scheme", custom, "X-Api-Key", []string{"Bearer " + agentToken}, ""},
		{"custom header, in Authorization", custom, "Authorization", []string{"Bearer " + agentToken}, `the header X-Api-Key is missing`},
		{"function", byFunc, "Authorization", []string{"Bearer rotated"}, ""},
		{"function, wrong", byFunc, "Authorization", []string{"Bearer stale"}, `the secret in the header Authorization is not accepted`},
		{"open", open, "Authorization", nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, body := range []string{`{"ping":true}`, seedBody, `no JSON`, strings.Repeat("x", 2<<20)} {
				w := post(tt.handler, body, func(r *http.Request) {
					r.Header.Del("Authorization")
					if tt.values != nil {
						r.Header[tt.header] = tt.values
					}
				})
				if (w.Code == 401) != (tt.refusal != "") {
					t.Errorf("status %d for a body of %d bytes", w.Code, len(body))
				}
				if tt.refusal != "" {
					wantAnswer(t, w, 401, `{"error":"unauthorized","message":"`+tt.refusal+`"}`)
				}
			}
		})
	}
	current = nil
	if w := post(byFunc, `{"ping":true}`, func(r *http.Request) { r.Header.Set("Authorization", "Bearer rotated") }); w.Code != 401 {
		t.Errorf("%d for a token that is no longer given", w.Code)
	}
	current = []string{""}
	if w := post(byFunc, `{"ping":true}`, func(r *http.Request) { r.Header.Set("Authorization", "Bearer ") }); w.Code != 401 {
		t.Errorf("%d for an empty token", w.Code)
	}
}

type unreadable struct{ t *testing.T }

func (u unreadable) Read([]byte) (int, error) { u.t.Error("the body was read"); return 0, io.EOF }

func TestTheBodyIsNotReadBeforeAuth(t *testing.T) {
	h := newHandler(t, answering("x"))
	r := httptest.NewRequest("POST", "/", unreadable{t})
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != 401 {
		t.Errorf("status %d", w.Code)
	}
}

func TestPing(t *testing.T) {
	h := newHandler(t, func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
		t.Error("a ping reached the agent")
		return nil, nil
	}, func(o *dispatch.Options) { o.MaxRuns = 1 })
	for _, body := range []string{`{"ping":true}`, `{ "ping": true }`, "\r\n{\t\"ping\"\n:true\n}\n", "{" + strings.Repeat(" ", 5000) + `"ping":true}`} {
		// A ping has no dispatch fields and no dispatch headers.
		w := post(h, body, func(r *http.Request) { r.Header = http.Header{"Authorization": {"Bearer " + agentToken}} })
		wantAnswer(t, w, 200, `{"ok":true}`)
	}
	for _, body := range []string{`{"ping":false}`, `{"ping":"true"}`, `{"ping":1}`, `{"Ping":true}`, `{"ping":true,"x":1}`, `{"ping":true,"ping":true}`, `{"ping":true}{}`, `["ping",true]`,
		`{"ping":true`, `{"ping":truex}`, `{"ping":true}` + strings.Repeat(" ", 64<<10) + "x"} {
		w := post(h, body, func(r *http.Request) { r.Header = http.Header{"Authorization": {"Bearer " + agentToken}} })
		if w.Code != 400 {
			t.Errorf("%.50s: status %d, want 400", body, w.Code)
		}
	}
}

func TestBadBodies(t *testing.T) {
	h := newHandler(t, answering("x"), func(o *dispatch.Options) { o.MaxBodyBytes = 1 << 20 })
	deep := strings.Repeat(`{"a":`, 10_000) + `1` + strings.Repeat(`}`, 10_000)
	for _, tt := range []struct {
		name, body string
		status     int
		code       toolwire.Code
		text       string
	}{
		{"over 1 MiB", `{"x":"` + strings.Repeat("x", 1<<20) + `"}`, 413, toolwire.CodeRequestTooLarge, "1048576 bytes"},
		{"empty", ``, 400, toolwire.CodeInvalidJSON, "ends before"},
		{"no JSON", `hunter2`, 400, toolwire.CodeInvalidJSON, "invalid character 'h'"},
		{"array", `[1]`, 400, toolwire.CodeInvalidJSON, "must be an object, not an array"},
		{"string", `"x"`, 400, toolwire.CodeInvalidJSON, "must be an object, not a string"},
		{"null", `null`, 400, toolwire.CodeInvalidJSON, "must be an object, not null"},
		{"trailing data", seedBody + `{}`, 400, toolwire.CodeInvalidJSON, "after top-level value"},
		{"duplicate", `{"task_id":1,"task_id":2}`, 400, toolwire.CodeInvalidJSON, "/task_id occurs twice"},
		{"duplicate by an escape", `{"run_token":"a","run_t\u006fken":"b"}`, 400, toolwire.CodeInvalidJSON, "/run_token occurs twice"},
		{"duplicate input", `{"input":{"user_instruction":"a"},"input":{"user_instruction":"b"}}`, 400, toolwire.CodeInvalidJSON, "/input occurs twice"},
		{"duplicate task input", `{"input":{"input":1,"input":2}}`, 400, toolwire.CodeInvalidJSON, "/input/input occurs twice"},
		{"duplicate instruction", `{"input":{"user_instruction":"a","user_instruction":"b"}}`, 400, toolwire.CodeInvalidJSON, "/input/user_instruction occurs twice"},
		{"wrong case", `{"Task_ID":1}`, 400, toolwire.CodeInvalidJSON, `it must be "task_id"`},
		{"wrong case inside", `{"input":{"User_instruction":"x"}}`, 400, toolwire.CodeInvalidJSON, `it must be "user_instruction"`},
		{"wrong case in a session", `{"input":{"Session_ID":"x"}}`, 400, toolwire.CodeInvalidJSON, `it must be "session_id"`},
		{"wrong case of a turn", `{"input":{"turn_Id":"x"}}`, 400, toolwire.CodeInvalidJSON, `it must be "turn_id"`},
		{"deep", deep, 400, toolwire.CodeInvalidJSON, "256 levels"},
		{"invalid UTF-8", "{\"input\":{\"user_instruction\":\"\xff\"}}", 400, toolwire.CodeInvalidJSON, "UTF-8"},
		{"NaN", `{"task_id":NaN}`, 400, toolwire.CodeInvalidJSON, "invalid character 'N'"},
		{"input is a string", `{"input":"hunter2"}`, 400, "invalid_envelope", "input must be an object"},
		{"input is a number", `{"input":7}`, 400, "invalid_envelope", "input must be an object"},
		{"input is true", `{"input":true}`, 400, "invalid_envelope", "input must be an object"},
		{"input is a list", `{"input":[{}]}`, 400, "invalid_envelope", "input must be an object"},
		{"instruction is an object", `{"input":{"user_instruction":{"a":1}}}`, 400, toolwire.CodeInvalidJSON, "/input/user_instruction must be a string"},
		{"proxy URL is a number", `{"odyssey_proxy_url":5}`, 400, toolwire.CodeInvalidJSON, "/odyssey_proxy_url must be a string"},
		{"proxy URL relative", `{"odyssey_proxy_url":"/runs/hunter2"}`, 400, "invalid_envelope", "https://"},
		{"proxy URL file", `{"odyssey_proxy_url":"file:///etc/hunter2"}`, 400, "invalid_envelope", "https://"},
		{"proxy URL with password", `{"odyssey_proxy_url":"http://user:hunter2@h/"}`, 400, "invalid_envelope", "user name or password"},
		{"proxy URL with query", `{"odyssey_proxy_url":"http://h/?token=hunter2"}`, 400, "invalid_envelope",
			"the proxy URL or run token cannot be used: the proxy base URL must not have "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			wantError(t, post(h, tt.body, nil), tt.status, tt.code, tt.text)
		})
	}
	t.Run("chunked over 1 MiB", func(t *testing.T) {
		w := post(h, `{"x":"`+strings.Repeat("x", 1<<20)+`"}`, func(r *http.Request) { r.ContentLength = -1 })
		wantError(t, w, 413, toolwire.CodeRequestTooLarge, "bytes")
	})
	t.Run("exactly 1 MiB", func(t *testing.T) {
		body := strings.Replace(seedBody, "cust_99", strings.Repeat("x", 1<<20-len(seedBody)+len("cust_99")), 1)
		wantAnswer(t, post(h, body, nil), 200, `{"final_response":"x"}`)
	})
}

// What the documents' wrapper replaces by {} is an empty input here, too.
func TestEmptyInputs(t *testing.T) {
	for _, empty := range []string{"null", "false", "0", "-0.0e1", `""`, "[]", "[ ]", "{}", "{ }"} {
		for body, instruction := range map[string]string{
			`{"input":{"user_instruction":` + empty + `,"latest_user_prompt":` + empty + `},"odyssey_proxy_url":` + empty + `}`: "",
			`{"input":` + empty + `}`: "", `{"input":{"user_instruction":"hi","input":` + empty + `}}`: "hi",
		} {
			var run *dispatch.Run
			h := newHandler(t, func(_ context.Context, r *dispatch.Run) (*dispatch.Response, error) {
				run = r
				return nil, r.DecodeInput(&struct{ Customer string }{})
			})
			w := post(h, body, nil)
			if w.Code != 200 || run == nil || strings.ReplaceAll(string(run.Input), " ", "") != "{}" || run.Instruction != instruction {
				t.Errorf("%s: %d %s", body, w.Code, w.Body)
			}
		}
	}
}

func TestBodyWinsAndHeadersFillGaps(t *testing.T) {
	for _, tt := range []struct {
		name   string
		body   string
		change func(http.Header)
		check  func(*dispatch.Run, *http.Request) bool // the request belongs to a tool call
		text   string                                  // of a 400 instead
	}{
		{
			"everything from headers", `{}`, nil,
			func(run *dispatch.Run, r *http.Request) bool {
				return run.RunID == "17" && run.TaskID == "42" && run.TokenJTI == jti && run.AgentID == "" && run.Instruction == "" &&
					string(run.Input) == "{}" && r.URL.Host == "api.example.com" && r.Header.Get("Authorization") == "Bearer "+runToken
			}, "",
		},
		{
			"everything from the body",
			`{"task_id":"1","run_id":"2","odyssey_proxy_url":"http://body.example/x/","run_token":"body-token","run_token_jti":"j","input":{"user_instruction":"hi"}}`, nil,
			func(run *dispatch.Run, r *http.Request) bool {
				return run.RunID == "2" && run.TaskID == "1" && run.TokenJTI == "j" && r.URL.String() == "http://body.example/x/tools/x" &&
					r.Header.Get("Authorization") == "Bearer body-token"
			}, "",
		},
		{
			"null and empty are gaps", `{"task_id":null,"run_id":"","odyssey_proxy_url":"","run_token":null,"run_token_jti":"","input":null}`, nil,
			func(run *dispatch.Run, r *http.Request) bool {
				return run.RunID == "17" && run.TaskID == "42" && run.TokenJTI == jti
			}, "",
		},
		{
			"task id from the input", `{"input":{"task_id":7,"input":null}}`, func(h http.Header) { h.Del("X-Pipelines-Task-Id") },
			func(run *dispatch.Run, r *http.Request) bool { return run.TaskID == "7" && string(run.Input) == "{}" }, "",
		},
		{
			"large ids keep their digits", `{"task_id":123456789012345678901234567890}`, nil,
			func(run *dispatch.Run, r *http.Request) bool { return run.TaskID == "123456789012345678901234567890" }, "",
		},
		{
			"a turn of a session",
			`{"input":{"session_id":"s-1","turn_id":3,"latest_user_prompt":"and now?","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"get_order","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c1","content":"{}"}]}}`, nil,
			func(run *dispatch.Run, r *http.Request) bool {
				history, err := run.History()
				return err == nil && run.SessionID == "s-1" && run.TurnID == "3" && run.Instruction == "and now?" && len(history) == 4 &&
					history[0].Content.String() == "hi" && history[1].ToolCalls[0].Name == "get_order" && history[2].ToolCallID == "c1"
			}, "",
		},
		{
			"user_instruction wins over latest_user_prompt", `{"input":{"user_instruction":"a","latest_user_prompt":"b"}}`, nil,
			func(run *dispatch.Run, r *http.Request) bool { return run.Instruction == "a" }, "",
		},
		{
			"the last user row is the prompt when there is no other", `{"input":{"messages":[{"role":"assistant","content":"a"},{"role":"user","content":"b"}]}}`, nil,
			func(run *dispatch.Run, r *http.Request) bool { return run.Instruction == "b" }, "",
		},
		{
			"the only row is the prompt", `{"input":{"messages":[{"role":"user","content":"b"}]}}`, nil,
			func(run *dispatch.Run, r *http.Request) bool { return run.Instruction == "b" }, "",
		},
		{
			"rows before the last one do not matter", `{"input":{"messages":[1,{"role":7},{"role":"user","content":"b","tool_calls":1}]}}`, nil,
			func(run *dispatch.Run, r *http.Request) bool { return run.Instruction == "b" }, "",
		},
		{
			"a last row that is not a message", `{"input":{"messages":[{"role":"user","content":"b"},"b"]}}`, nil,
			func(run *dispatch.Run, r *http.Request) bool { return run.Instruction == "" }, "",
		},
		{
			"messages that are not a list", `{"input":{"messages":{"role":"user","content":"b"}}}`, nil,
			func(run *dispatch.Run, r *http.Request) bool { return run.Instruction == "" }, "",
		},
		{
			"messages that are null", `{"input":{"messages":null}}`, nil,
			func(run *dispatch.Run, r *http.Request) bool { return run.Messages == nil }, "",
		},
		{
			"no messages yet", `{"input":{"messages":[]}}`, nil,
			func(run *dispatch.Run, r *http.Request) bool { return string(run.Messages) == "[]" }, "",
		},
		{
			"the last row is not the user's", `{"input":{"messages":[{"role":"user","content":"b"},{"role":"assistant","content":"a"}]}}`, nil,
			func(run *dispatch.Run, r *http.Request) bool { return run.Instruction == "" }, "",
		},
		{"no proxy URL", `{}`, func(h http.Header) { h.Del("X-Pipelines-Odyssey-Proxy-Url") }, nil, "no proxy URL"},
		{"no run token", `{}`, func(h http.Header) { h.Del("X-Pipelines-Run-Token") }, nil, "no run token"},
		{"neither", `{}`, func(h http.Header) { h.Del("X-Pipelines-Odyssey-Proxy-Url"); h.Del("X-Pipelines-Run-Token") }, nil,
			"header X-Pipelines-Odyssey-Proxy-Url is set; no run token: neither the member run_token nor the header X-Pipelines-Run-Token is set"},
		{"two run tokens", `{}`, func(h http.Header) { h.Add("X-Pipelines-Run-Token", "hunter2") }, nil, "X-Pipelines-Run-Token is given 2 times"},
		{"two proxy URLs", `{}`, func(h http.Header) { h.Add("X-Pipelines-Odyssey-Proxy-Url", "http://hunter2/") }, nil, "is given 2 times"},
		{"neither can be used", `{"odyssey_proxy_url":"ftp://example.com","run_token":"hunter2 x"}`, nil, nil, "http://; the run token"},
		{"run token with a space", `{"run_token":"hunter2 x"}`, nil, nil, "visible ASCII"},
		{
			"header ids that cannot be used", `{}`, func(h http.Header) { h.Set("X-Pipelines-Run-Id", "1 2"); h.Add("X-Pipelines-Task-Id", "43") },
			func(run *dispatch.Run, r *http.Request) bool {
				return run.RunID == "" && run.TaskID == "" && run.TokenJTI == jti
			}, "",
		},
		{
			"no header id can be used", `{}`, func(h http.Header) {
				for _, name := range []string{"X-Pipelines-Run-Id", "X-Pipelines-Task-Id", "X-Pipelines-Run-Token-Jti"} {
					h.Set(name, "1 2")
				}
			}, func(run *dispatch.Run, r *http.Request) bool { return run.RunID+run.TaskID+run.TokenJTI == "" }, "",
		},
		{
			"headers that are given twice do not matter beside members", `{"odyssey_proxy_url":"http://body.example/x","run_token":"body-token"}`,
			func(h http.Header) {
				h.Add("X-Pipelines-Run-Token", "hunter2")
				h.Add("X-Pipelines-Odyssey-Proxy-Url", "http://hunter2/")
			},
			func(run *dispatch.Run, r *http.Request) bool {
				return r.URL.Host == "body.example" && r.Header.Get("Authorization") == "Bearer body-token"
			}, "",
		},
		{
			"the dispatch's own task id wins over the input's", `{"task_id":1,"input":{"task_id":7}}`, nil,
			func(run *dispatch.Run, r *http.Request) bool { return run.TaskID == "1" }, "",
		},
		{
			"ids that cannot be used", `{"task_id":1.5,"run_id":[17],"agent_id":{},"run_token_jti":"1\n2","input":{"task_id":true,"session_id":"` +
				strings.Repeat("x", 129) + `","turn_id":false}}`, nil,
			func(run *dispatch.Run, r *http.Request) bool {
				return run.TaskID == "42" && run.RunID == "17" && run.AgentID == "" && run.TokenJTI == jti && run.SessionID == "" && run.TurnID == ""
			}, "",
		},
		{
			"ids at their limits", `{"run_id":"` + strings.Repeat("x", 128) + `","agent_id":"\u007f","input":{"session_id":"!~","turn_id":"é"}}`, nil,
			func(run *dispatch.Run, r *http.Request) bool {
				return run.RunID == strings.Repeat("x", 128) && run.AgentID == "" && run.SessionID == "!~" && run.TurnID == ""
			}, "",
		},
		{
			"numbers at their limits", `{"agent_id":1e127,"run_id":1e128,"run_token_jti":1.5,"input":{"session_id":` + strings.Repeat("1", 129) + `,"turn_id":2E3}}`, nil,
			func(run *dispatch.Run, r *http.Request) bool {
				return run.AgentID == "1"+strings.Repeat("0", 127) && run.RunID == "17" && run.TokenJTI == jti && run.SessionID == "" && run.TurnID == "2000"
			}, "",
		},
		{
			"ids in other spellings", `{"task_id":43.0,"run_id":1e3,"agent_id":-1,"run_token_jti":5}`, nil,
			func(run *dispatch.Run, r *http.Request) bool {
				return run.TaskID == "43" && run.RunID == "1000" && run.AgentID == "-1" && run.TokenJTI == "5"
			}, "",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var run *dispatch.Run
			var request *http.Request
			h := newHandler(t, func(ctx context.Context, r *dispatch.Run) (*dispatch.Response, error) {
				run = r
				_, err := r.Proxy.Do(ctx, "x", nil)
				return &dispatch.Response{FinalResponse: "x"}, err
			}, func(o *dispatch.Options) {
				o.Proxy = &proxy.Options{Transport: testkit.RoundTrip(func(r *http.Request) (*http.Response, error) {
					request = r
					return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(`{"response":1}`))}, nil
				})}
			})
			w := post(h, tt.body, func(r *http.Request) {
				if tt.change != nil {
					tt.change(r.Header)
				}
			})
			if tt.check == nil {
				wantError(t, w, 400, "invalid_envelope", tt.text)
				return
			}
			wantAnswer(t, w, 200, `{"final_response":"x"}`)
			if !tt.check(run, request) {
				t.Errorf("run = %+v\nrequest %s %v", run, request.URL, request.Header)
			}
		})
	}
}

// A host of ProxyHosts means https. Plain http needs its own entry or a loopback host, since it
// would show the run token on the network.
func TestProxyHosts(t *testing.T) {
	for _, tt := range []struct {
		entry string
		url   string
		ok    bool
	}{
		{"API.example.com", "https://api.example.com/runs/1", true},
		{"api.example.com", "HTTPS://API.example.com:443/", true},
		{"api.example.com", "http://api.example.com:22/", false},
		{"api.example.com", "http://api.example.com/", false},
		{"api.example.com", "http://api.example.com:443/", false},
		{"api.example.com", "https://api.example.com:444/", false},
		{"api.example.com", "https://api.example.com.evil.example/", false},
		{"api.example.com", "https://evil.example/api.example.com", false},
		{"api.example.com", "https://api.example.com@evil.example/", false},
		{"api.example.com", "https://user:hunter2@evil.example/", false},
		{"api.example.com", "https://evil.example#api.example.com", false},
		{"api.example.com:443", "https://api.example.com/", true},
		{"api.example.com:8443", "https://api.example.com:8443/", true},
		{"api.example.com:8443", "http://api.example.com:8443/", false},
		{"api.example.com:8443", "https://api.example.com/", false},
		{"https://api.example.com", "https://api.example.com/", true},
		{"https://api.example.com", "http://api.example.com/", false},
		{"HTTP://proxy.internal:8080", "http://proxy.internal:8080/", true},
		{"http://proxy.internal:8080", "https://proxy.internal:8080/", false},
		{"http://proxy.internal:8080", "http://proxy.internal/", false},
		{"http://proxy.internal", "http://proxy.internal:80/", true},
		{"localhost", "http://localhost:1234/", true},
		{"localhost", "https://LOCALHOST/", true},
		{"localhost:1234", "http://localhost:1234/", true},
		{"localhost:1234", "https://localhost:1234/", true},
		{"localhost:1234", "http://localhost:1235/", false},
		{"127.0.0.1", "http://127.0.0.1:1234/", true},
		{"127.0.0.1", "http://127.0.0.2:1234/", false},
		{"[::1]", "http://[::1]:99/", true},
		{"http://localhost", "http://localhost:99/", false},
		{"10.0.0.1", "http://10.0.0.1/", false},
		{"[2001:db8::1]", "https://[2001:db8::1]/", true},
		{"bücher.example", "https://bücher.example/", true},
		{"BÜCHER.example", "https://BÜCHER.example/", true},
		{"BÜCHER.example", "https://bücher.example/", false},
		{"bücher.example", "https://xn--bcher-kva.example/", false},
		{"xn--bcher-kva.example", "https://XN--bcher-kva.example/", true},
	} {
		h := newHandler(t, answering("x"), func(o *dispatch.Options) { o.ProxyHosts = []string{"other.example", tt.entry} })
		if w := post(h, `{"odyssey_proxy_url":"`+tt.url+`"}`, nil); (w.Code == 200) != tt.ok || strings.Contains(w.Body.String(), "hunter2") {
			t.Errorf("%s of %s: %d %s", tt.url, tt.entry, w.Code, w.Body)
		}
	}
	for _, entry := range []string{"", "https://", "https://x/", "ftp://x", "user:hunter2@x", "x/y", "x?y", "x#y", ":443", "x:y", "*://x"} {
		_, err := dispatch.New(answering("x"), &dispatch.Options{Tokens: []string{"a"}, ProxyHosts: []string{entry}})
		if toolwire.CodeOf(err) != toolwire.CodeInvalidOptions || !strings.Contains(err.Error(), "ProxyHosts[0]") || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", entry, err)
		}
	}
}

// lookalikes returns the code points that some mapping of texts takes for one of ASCII, or for nothing.
func lookalikes() (list []rune) {
	for _, blocks := range [][2]rune{
		{0x01, 0x2FF}, {0x300, 0x36F}, {0x1D2C, 0x1DBF}, {0x2000, 0x20CF}, {0x2100, 0x218F}, {0x2460, 0x24FF}, {0x2C60, 0x2C7F},
		{0x3000, 0x303F}, {0xA720, 0xA7FF}, {0xFE00, 0xFE6F}, {0xFEFF, 0xFFEF}, {0x10780, 0x107BF}, {0x1D400, 0x1D7FF}, {0x1F100, 0x1F1FF},
		{0xE0020, 0xE007F},
	} {
		for r := blocks[0]; r <= blocks[1]; r++ {
			list = append(list, r)
		}
	}
	for r := rune(0x80); r <= unicode.MaxRune; r++ {
		folds := unicode.ToLower(r) < 0x80 || unicode.ToUpper(r) < 0x80 || unicode.ToTitle(r) < 0x80
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			folds = folds || f < 0x80
		}
		if folds {
			list = append(list, r)
		}
	}
	return list
}

// A proxy URL that is accepted leads to a host of ProxyHosts, whatever stands in the place of a character of the host,
// or before every second one.
func TestNoSpellingOfAProxyLeadsElsewhere(t *testing.T) {
	const host = "api.pipelines-k.tech"
	var dialled []string
	transport := proxy.NewTransport()
	transport.DialContext = func(_ context.Context, _, address string) (net.Conn, error) {
		dialled = append(dialled, address)
		return nil, errors.New("no network")
	}
	h := newHandler(t, func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		_, _ = run.Proxy.Do(ctx, "x", nil)
		return nil, nil
	}, func(o *dispatch.Options) {
		o.ProxyHosts, o.RateLimit, o.Proxy = []string{host}, -1, &proxy.Options{Transport: transport, MaxAttempts: 1}
	})
	accepted := 0
	for _, r := range lookalikes() {
		for i := range host {
			for _, spelt := range []string{host[:i] + string(r) + host[i+1:], host[:i] + string(r) + host[i:]}[:1+(i+1)%2] {
				body, err := json.Marshal(map[string]string{"odyssey_proxy_url": "https://" + spelt + "/runs/1"})
				if err != nil {
					t.Fatal(err)
				}
				dialled = nil
				if w := post(h, string(body), nil); w.Code == 400 && len(dialled) == 0 {
					continue
				}
				accepted++
				if len(dialled) != 1 || !strings.EqualFold(dialled[0], host+":443") || !ascii(spelt) {
					t.Errorf("U+%04X: %q leads to %q", r, spelt, dialled)
				}
			}
		}
	}
	if accepted < len(host) {
		t.Errorf("%d spellings are accepted", accepted)
	}
}

func ascii(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= 0x80 })
}

func TestAnswers(t *testing.T) {
	for _, tt := range []struct {
		name     string
		response *dispatch.Response
		want     string
	}{
		{"nil", nil, `{"final_response":"(no final response)"}`},
		{"empty", &dispatch.Response{}, `{"final_response":"(no final response)"}`},
		{"white space", &dispatch.Response{FinalResponse: " \n"}, `{"final_response":"(no final response)"}`},
		{"escapes", &dispatch.Response{FinalResponse: "a\"\\\n<é>"}, `{"final_response":"a\"\\\n<é>"}`},
		{"invalid UTF-8", &dispatch.Response{FinalResponse: "a\xffb"}, `{"final_response":"a�b"}`},
		{
			"rich", &dispatch.Response{
				FinalResponse: "done",
				Messages: []dispatch.Message{
					{Role: dispatch.RoleUser, Content: dispatch.Text("Refund order #4521...")},
					{
						Role: dispatch.RoleAssistant, Thinking: []json.RawMessage{[]byte(`{"type":"text","text":"hm"}`)},
						ToolCalls: []dispatch.ToolCall{{ID: "c1", Name: "get_order", Arguments: []byte(`{"order_id":"4521"}`)}, {ID: "c2", Name: "x"}},
					},
					{Role: dispatch.RoleTool, ToolCallID: "c1", Content: dispatch.Text(`{"status":"shipped"}`)},
					{Role: dispatch.RoleAssistant, Content: dispatch.Content(`[{"type":"text","text":"done"}]`)},
				},
				Metadata: &dispatch.Metadata{Model: "claude-sonnet-4-5", TotalInputTokens: 1842, TotalOutputTokens: 217, AgentRuntimeMS: 4815, Extra: map[string]any{"b": []int{1}, "model": "x"}},
			},
			`{"final_response":"done","messages":[{"role":"user","content":"Refund order #4521..."},` +
				`{"role":"assistant","tool_calls":[{"id":"c1","name":"get_order","arguments":{"order_id":"4521"}},{"id":"c2","name":"x","arguments":{}}],"thinking":[{"type":"text","text":"hm"}]},` +
				`{"role":"tool","content":"{\"status\":\"shipped\"}","tool_call_id":"c1"},{"role":"assistant","content":[{"type":"text","text":"done"}]}],` +
				`"metadata":{"agent_runtime_ms":4815,"b":[1],"model":"claude-sonnet-4-5","total_input_tokens":1842,"total_output_tokens":217}}`,
		},
		{
			"messages that are not UTF-8 are repaired", &dispatch.Response{FinalResponse: "done", Messages: []dispatch.Message{{Role: "user", Content: dispatch.Content("\"\xff\"")}}},
			`{"final_response":"done","messages":[{"role":"user","content":"�"}]}`,
		},
		{
			"arguments that are not UTF-8 are repaired", &dispatch.Response{FinalResponse: "done", Messages: []dispatch.Message{
				{Role: "assistant", ToolCalls: []dispatch.ToolCall{{ID: "1", Name: "t", Arguments: json.RawMessage("{\"a\":\"\xff\"}")}}},
			}},
			`{"final_response":"done","messages":[{"role":"assistant","tool_calls":[{"id":"1","name":"t","arguments":{"a":"�"}}]}]}`,
		},
		{
			"metadata whose method panics is dropped", &dispatch.Response{FinalResponse: "done", Metadata: &dispatch.Metadata{Extra: map[string]any{"x": panics{}}}},
			`{"final_response":"done"}`,
		},
		{
			"markup is left as it is",
			&dispatch.Response{FinalResponse: "<b>&", Messages: []dispatch.Message{
				{Role: "assistant", Content: dispatch.Text("<b>"), ToolCalls: []dispatch.ToolCall{{ID: "1", Name: "t", Arguments: json.RawMessage(`{"a":"<b>"}`)}}},
			}, Metadata: &dispatch.Metadata{Extra: map[string]any{"x": "<b>&"}}},
			`{"final_response":"<b>&","messages":[{"role":"assistant","content":"<b>","tool_calls":[{"id":"1","name":"t","arguments":{"a":"<b>"}}]}],"metadata":{"x":"<b>&"}}`,
		},
		{
			"malformed messages are dropped", &dispatch.Response{FinalResponse: "done", Messages: []dispatch.Message{{Role: "function"}}},
			`{"final_response":"done"}`,
		},
		{
			"metadata that is not JSON is dropped", &dispatch.Response{FinalResponse: "done", Metadata: &dispatch.Metadata{Extra: map[string]any{"x": func() {}}}},
			`{"final_response":"done"}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHandler(t, func(context.Context, *dispatch.Run) (*dispatch.Response, error) { return tt.response, nil })
			w := post(h, seedBody, nil)
			wantAnswer(t, w, 200, tt.want)
			if verdict := dispatch.CheckResponse(w.Body.Bytes()); !verdict.OK() || len(verdict.Problems) > 0 {
				t.Errorf("the platform would object: %v", verdict.Problems)
			}
		})
	}
}

type panics struct{}

func (panics) MarshalJSON() ([]byte, error) { panic("hunter2") }

func TestAgentFailures(t *testing.T) {
	var log bytes.Buffer
	for _, tt := range []struct {
		name  string
		agent dispatch.Agent
		code  toolwire.Code
		text  string
	}{
		{"any error", func(context.Context, *dispatch.Run) (*dispatch.Response, error) { return nil, errors.New("hunter2") }, toolwire.CodeAgentFailed, "its log says why"},
		{"our error", func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
			return nil, fmt.Errorf("wrapped: %w", &toolwire.Error{Code: toolwire.CodeAgentFailed, Message: "the model is not configured", Err: errors.New("hunter2")})
		}, toolwire.CodeAgentFailed, "the model is not configured"},
		{"tool call", func(ctx context.Context, r *dispatch.Run) (*dispatch.Response, error) {
			_, err := r.Proxy.Do(ctx, "bad name", nil)
			return nil, fmt.Errorf("hunter2: %w", err)
		}, toolwire.CodeAgentFailed, "invalid_tool_name"},
		{"long text", func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
			return nil, &toolwire.Error{Code: toolwire.CodeAgentFailed, Message: strings.Repeat("é", 1000)}
		}, toolwire.CodeAgentFailed, "…"},
		{"panic", func(context.Context, *dispatch.Run) (*dispatch.Response, error) { panic("hunter2") }, toolwire.CodeAgentPanicked, "panicked"},
		{"runtime error", func(_ context.Context, r *dispatch.Run) (*dispatch.Response, error) {
			var none []string
			return &dispatch.Response{FinalResponse: none[len(r.RunID)]}, nil
		}, toolwire.CodeAgentPanicked, "panicked"},
		{"Goexit", func(context.Context, *dispatch.Run) (*dispatch.Response, error) { runtime.Goexit(); return nil, nil }, toolwire.CodeAgentPanicked, "panicked"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			log.Reset()
			h := newHandler(t, tt.agent, func(o *dispatch.Options) { o.Logger = slog.New(slog.NewJSONHandler(&log, nil)) })
			w := post(h, seedBody, nil)
			wantError(t, w, 500, tt.code, tt.text)
			if w.Body.Len() > 500+400 || len([]rune(w.Body.String())) > 500 {
				t.Errorf("the platform keeps 500 characters, the answer has %d", len([]rune(w.Body.String())))
			}
			if tt.name == "our error" && !strings.Contains(log.String(), "hunter2") {
				t.Errorf("the log does not have the cause:\n%s", log.String())
			}
			if !strings.Contains(log.String(), `"level":"ERROR","msg":"run failed"`) || !strings.Contains(log.String(), `"run_token_jti":"`+jti+`"`) {
				t.Errorf("the log is\n%s", log.String())
			}
			for record := range strings.Lines(log.String()) {
				if !strings.Contains(record, `"run_id":"17"`) {
					t.Errorf("the log does not name the run:\n%s", record)
				}
			}
			for _, secret := range []string{agentToken, runToken} {
				if strings.Contains(log.String(), secret) {
					t.Errorf("the log holds %q", secret)
				}
			}
		})
	}
	if !strings.Contains(log.String(), "panicked") {
		t.Errorf("the log misses the panic:\n%s", log.String())
	}
	t.Run("http.ErrAbortHandler passes through", func(t *testing.T) {
		h := newHandler(t, func(context.Context, *dispatch.Run) (*dispatch.Response, error) { panic(http.ErrAbortHandler) })
		defer func() {
			if p := recover(); p != http.ErrAbortHandler {
				t.Errorf("recovered %v", p)
			}
		}()
		post(h, seedBody, nil)
		t.Error("no panic")
	})
}

func TestRunTimeout(t *testing.T) {
	until := func(d time.Duration, err error) dispatch.Agent { // obeys its context unless d comes first
		return func(ctx context.Context, _ *dispatch.Run) (*dispatch.Response, error) {
			select {
			case <-ctx.Done():
				if err == nil {
					return &dispatch.Response{FinalResponse: "what I have so far"}, nil
				}
				return nil, err
			case <-time.After(d):
				return &dispatch.Response{FinalResponse: "done"}, nil
			}
		}
	}
	deaf := func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
		time.Sleep(time.Hour)
		return &dispatch.Response{FinalResponse: "too late"}, nil
	}
	const user = `{"role":"user","content":"Refund order #4521 if it shipped more than 30 days ago."}`
	const timedOut = `{"final_response":"The agent ran out of time before it had an answer.","messages":[` + user +
		`,{"role":"assistant","content":"The agent ran out of time before it had an answer."}]}`
	for _, tt := range []struct {
		name   string
		agent  dispatch.Agent
		took   time.Duration
		status int
		body   string
	}{
		{"in time", until(297*time.Second, nil), 297 * time.Second, 200, `{"final_response":"done"}`},
		{"partial answer", until(time.Hour, nil), 298 * time.Second, 200, `{"final_response":"what I have so far"}`},
		{"returns the context's error", until(time.Hour, context.DeadlineExceeded), 298 * time.Second, 200, timedOut},
		{"returns another error", until(time.Hour, errors.New("x")), 298 * time.Second, 500, `{"error":"agent_failed","message":"the agent failed; its log says why"}`},
		{"ignores its context", deaf, 299 * time.Second, 200, timedOut},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				h := newHandler(t, tt.agent, func(o *dispatch.Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
				start := time.Now()
				w := post(h, seedBody, nil)
				wantAnswer(t, w, tt.status, tt.body)
				if strings.Contains(log.String(), `level=WARN msg="run timed out" timeout=5m0s run_id=17`) != (tt.body == timedOut) {
					t.Errorf("logged %s", log.String())
				}
				if took := time.Since(start); took != tt.took {
					t.Errorf("answered after %s, want %s", took, tt.took)
				}
				time.Sleep(2 * time.Hour) // lets the deaf agent end
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		h := newHandler(t, deaf, func(o *dispatch.Options) {
			o.RunTimeout, o.Reserve = 10*time.Second, 4*time.Second
			o.TimeoutResponse = func(run *dispatch.Run) *dispatch.Response {
				return &dispatch.Response{FinalResponse: "sorry, run " + run.RunID, Messages: []dispatch.Message{}}
			}
		})
		start := time.Now()
		wantAnswer(t, post(h, seedBody, nil), 200, `{"final_response":"sorry, run 17"}`)
		if took := time.Since(start); took != 8*time.Second {
			t.Errorf("answered after %s", took)
		}
		time.Sleep(2 * time.Hour)
	})
}

type slowBody struct {
	io.Reader
	once sync.Once
}

func (s *slowBody) Read(p []byte) (int, error) {
	s.once.Do(func() { time.Sleep(20 * time.Second) })
	return s.Reader.Read(p)
}

// The time for the body counts from the arrival of the request, however long authentication takes.
func TestTheBodyTimeoutCountsFromArrival(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHandler(t, answering("done"), func(o *dispatch.Options) {
			o.TokenFunc = func() []string { time.Sleep(10 * time.Second); return nil }
		})
		w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
		start := time.Now()
		h.ServeHTTP(w, request(seedBody))
		if len(w.set) == 0 || w.set[0].Sub(start) != 30*time.Second {
			t.Errorf("the deadlines are %v, the request arrived at %v", w.set, start)
		}
	})
}

// deadlines keeps the read deadlines that a handler sets.
type deadlines struct {
	*httptest.ResponseRecorder
	set []time.Time
}

func (d *deadlines) SetReadDeadline(t time.Time) error { d.set = append(d.set, t); return nil }

func TestTheRunTimeoutCountsFromArrival(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHandler(t, func(ctx context.Context, _ *dispatch.Run) (*dispatch.Response, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		start := time.Now()
		w := post(h, seedBody, func(r *http.Request) { r.Body = io.NopCloser(&slowBody{Reader: strings.NewReader(seedBody)}) })
		if took := time.Since(start); took != 298*time.Second || w.Code != 200 {
			t.Errorf("status %d after %s", w.Code, took)
		}
	})
}

func TestTheHostsOwnFunctionsMayPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHandler(t, func(ctx context.Context, _ *dispatch.Run) (*dispatch.Response, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
			func(o *dispatch.Options) {
				o.TimeoutResponse = func(*dispatch.Run) *dispatch.Response { panic("hunter2") }
			})
		wantAnswer(t, post(h, seedBody, nil), 200, `{"final_response":"(no final response)","messages":[{"role":"user","content":"Refund order #4521 if it shipped more than 30 days ago."},{"role":"assistant","content":"(no final response)"}]}`)
	})
	h := newHandler(t, func(context.Context, *dispatch.Run) (*dispatch.Response, error) { return nil, errors.New("x") },
		func(o *dispatch.Options) {
			o.FailureResponse = func(*dispatch.Run, *toolwire.Error) *dispatch.Response { panic("hunter2") }
		})
	wantAnswer(t, post(h, seedBody, nil), 200, `{"final_response":"(no final response)","messages":[{"role":"user","content":"Refund order #4521 if it shipped more than 30 days ago."},{"role":"assistant","content":"(no final response)"}]}`)
}

func TestAuthenticationThatPanicsLetsNobodyIn(t *testing.T) {
	var log bytes.Buffer
	h := newHandler(t, answering("x"), func(o *dispatch.Options) {
		o.TokenFunc, o.Logger = func() []string { panic("hunter2") }, slog.New(slog.NewTextHandler(&log, nil))
	})
	for _, body := range []string{seedBody, `{"ping":true}`} {
		wantAnswer(t, post(h, body, nil), 401, `{"error":"unauthorized","message":"the secret cannot be checked"}`)
	}
	if !strings.Contains(log.String(), "TokenFunc panicked") || strings.Contains(log.String(), "hunter2") {
		t.Errorf("the log is %s", &log)
	}
}

func TestOptionsAreCopied(t *testing.T) {
	transport := answers(`{"response":"from the first","source":"odyssey"}`)
	o := &dispatch.Options{Tokens: []string{agentToken}, Proxy: &proxy.Options{Transport: transport}}
	h, err := dispatch.New(func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		got, err := proxy.Call[json.RawMessage](ctx, run.Proxy, "get_order", nil)
		return &dispatch.Response{FinalResponse: string(got)}, err
	}, o)
	if err != nil {
		t.Fatal(err)
	}
	o.Tokens[0] = "another"
	o.Proxy.Transport = answers(`{"response":"from the second","source":"odyssey"}`)
	wantAnswer(t, post(h, seedBody, nil), 200, `{"final_response":"\"from the first\""}`)
}

// A handler that is printed, as by a debugger or a log, shows no token.
func TestAPrintedHandlerHasNoToken(t *testing.T) {
	h := newHandler(t, answering("done"))
	post(h, seedBody, nil)
	for _, verb := range []string{"%v", "%+v", "%#v"} {
		if text := fmt.Sprintf(verb, h); strings.Contains(text, "hunter2") || strings.Contains(text, runToken) {
			t.Errorf("%s shows a token", verb)
		}
	}
}

// answers is a transport that always answers the same.
type answers string

func (a answers) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(string(a)))}, nil
}

func TestARequestWithoutABody(t *testing.T) {
	wantError(t, post(newHandler(t, answering("x")), "", func(r *http.Request) { r.Body = nil }), 400, toolwire.CodeInvalidJSON, "ends before")
}

func TestPlatformHangsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cause error
		h := newHandler(t, func(ctx context.Context, _ *dispatch.Run) (*dispatch.Response, error) {
			<-ctx.Done()
			cause = ctx.Err()
			return nil, ctx.Err()
		})
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(5*time.Second, cancel)
		start := time.Now()
		w := post(h, seedBody, func(r *http.Request) { *r = *r.WithContext(ctx) })
		if took := time.Since(start); took != 5*time.Second || !errors.Is(cause, context.Canceled) || w.Code != 500 {
			t.Errorf("after %s: cause %v, status %d", took, cause, w.Code)
		}
	})
}

// An agent that goes on after the response keeps its place, and Drain waits for it.
func TestAnAgentThatIsLeftBehindKeepsItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHandler(t, func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
			time.Sleep(time.Hour)
			return nil, nil
		}, func(o *dispatch.Options) { o.MaxRuns = 1 })
		start := time.Now()
		if w := post(h, seedBody, nil); w.Code != 200 || time.Since(start) != 299*time.Second {
			t.Errorf("%d after %s", w.Code, time.Since(start))
		}
		wantError(t, post(h, seedBody, nil), 503, toolwire.CodeBusy, "Options.MaxRuns")
		if err := h.Drain(context.Background()); err != nil || time.Since(start) != time.Hour {
			t.Errorf("Drain = %v after %s", err, time.Since(start))
		}
	})
}

func TestAdmissionAndDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHandler(t, func(ctx context.Context, _ *dispatch.Run) (*dispatch.Response, error) {
			time.Sleep(10 * time.Second)
			return &dispatch.Response{FinalResponse: "done"}, nil
		}, func(o *dispatch.Options) { o.MaxRuns = 2 })
		var group sync.WaitGroup
		for range 2 {
			group.Go(func() { wantAnswer(t, post(h, seedBody, nil), 200, `{"final_response":"done"}`) })
			time.Sleep(time.Second) // so that one ends before the other
		}
		w := post(h, seedBody, nil)
		wantError(t, w, 503, toolwire.CodeBusy, "Options.MaxRuns")
		if w.Header().Get("Retry-After") == "" || w.Header().Get("Connection") != "" { // its body was read
			t.Errorf("a 503 with the headers %v", w.Header())
		}
		wantAnswer(t, post(h, `{"ping":true}`, nil), 200, `{"ok":true}`)
		wantError(t, post(h, `{"ping":true}`, func(r *http.Request) { // a body that breaks off is neither
			r.Body, r.ContentLength = io.NopCloser(io.MultiReader(r.Body, broken{})), -1
		}), 400, "unreadable_body", "could not be read")

		ctx, cancel := context.WithTimeoutCause(context.Background(), time.Second, errBroken)
		defer cancel()
		if err := h.Drain(ctx); err != errBroken {
			t.Errorf("Drain = %v while runs are in progress", err)
		}
		start := time.Now()
		for range 2 {
			group.Go(func() {
				if err := h.Drain(context.Background()); err != nil || time.Since(start) != 8*time.Second {
					t.Errorf("Drain = %v after %s", err, time.Since(start))
				}
			})
		}
		group.Wait()
		wantError(t, post(h, seedBody, nil), 503, toolwire.CodeBusy, "shutting down")
		wantAnswer(t, post(h, `{"ping":true}`, nil), 200, `{"ok":true}`)
		patient := httptest.NewRecorder()
		patient.Header().Set("Retry-After", "30") // by a middleware
		h.ServeHTTP(patient, request(seedBody))
		if got := patient.Header().Get("Retry-After"); patient.Code != 503 || got != "30" {
			t.Errorf("a %d with Retry-After: %s", patient.Code, got)
		}
		if err := h.Drain(context.Background()); err != nil {
			t.Errorf("Drain of an idle handler = %v", err)
		}
	})
}

func TestTheGateOpensAgainAfterBadEnvelopesAndPanics(t *testing.T) {
	h := newHandler(t, func(_ context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		if run.Instruction == "panic" {
			panic("x")
		}
		return nil, nil
	}, func(o *dispatch.Options) { o.MaxRuns = 1 })
	for _, body := range []string{`{"task_id":{}}`, `{"input":{"user_instruction":"panic"}}`, `{`, seedBody} {
		if w := post(h, body, nil); w.Code == 503 {
			t.Errorf("%s: busy", body)
		}
	}
}

func TestNewReportsEverythingAtOnce(t *testing.T) {
	agent := answering("x")
	for _, tt := range []struct {
		name  string
		agent dispatch.Agent
		opts  *dispatch.Options
		want  []string
	}{
		{"nothing", nil, nil, []string{"agent must not be nil", "InsecureNoAuth"}},
		{"no token", agent, &dispatch.Options{}, []string{"Tokens is empty"}},
		{"token with its scheme", agent, &dispatch.Options{Tokens: []string{"Bearer hunter2"}}, []string{`Options.Tokens[0] begins with "Bearer "; leave the scheme out`}},
		{"empty token", agent, &dispatch.Options{Tokens: []string{"a", ""}}, []string{"Options.Tokens[1] is empty", "environment variable"}},
		{"token with a line break", agent, &dispatch.Options{Tokens: []string{"hunter2\n"}}, []string{"white space"}},
		{"contradiction", agent, &dispatch.Options{Tokens: []string{"a"}, InsecureNoAuth: true}, []string{"contradicts"}},
		{"numbers", agent, &dispatch.Options{Tokens: []string{"a"}, MaxRuns: -1, RunTimeout: time.Hour}, []string{"MaxRuns", "1800 s", "1h0m0s"}},
		{"reserve", agent, &dispatch.Options{Tokens: []string{"a"}, RunTimeout: time.Second}, []string{"Reserve"}},
		{"no unit", agent, &dispatch.Options{Tokens: []string{"a"}, RunTimeout: 300}, []string{"RunTimeout is 300ns; is a unit missing"}},
		{"reserve that is the whole time", agent, &dispatch.Options{Tokens: []string{"a"}, RunTimeout: time.Second, Reserve: time.Second},
			[]string{"Reserve (1s) must be shorter than RunTimeout (1s)"}},
		{"header", agent, &dispatch.Options{Tokens: []string{"a"}, AuthHeader: "X Key:"}, []string{"header name"}},
		{"header of the connection", agent, &dispatch.Options{Tokens: []string{"a"}, AuthHeader: "host"}, []string{"sets itself"}},
		{"header of the body", agent, &dispatch.Options{Tokens: []string{"a"}, AuthHeader: "Content-Length"}, []string{"sets itself"}},
		{"header of the run", agent, &dispatch.Options{Tokens: []string{"a"}, AuthHeader: "x-pipelines-run-token"}, []string{"sets itself"}},
		{"hosts", agent, &dispatch.Options{Tokens: []string{"a"}, ProxyHosts: []string{"https://x/", "user:hunter2@x"}}, []string{"ProxyHosts[0]", "ProxyHosts[1]"}},
		{"proxy", agent, &dispatch.Options{Tokens: []string{"a"}, Proxy: &proxy.Options{MaxAttempts: -1, Pacer: proxy.NewPacer(1, 1)}}, []string{"MaxAttempts", "Pacer"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h, err := dispatch.New(tt.agent, tt.opts)
			if h != nil || toolwire.CodeOf(err) != toolwire.CodeInvalidOptions {
				t.Fatalf("New = %v, %v", h, err)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v\nmisses %q", err, want)
				}
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%v holds a token", err)
			}
		})
	}
}

func TestConcurrentRunsKeepTheirTokens(t *testing.T) {
	transport := testkit.RoundTrip(func(r *http.Request) (*http.Response, error) {
		body, _ := io.ReadAll(r.Body)
		var args struct{ N string }
		_ = json.Unmarshal(body, &args)
		if r.Header.Get("Authorization") != "Bearer token-"+args.N || r.URL.Path != "/runs/"+args.N+"/tools/x" {
			t.Errorf("run %s called %s with %s", args.N, r.URL.Path, r.Header.Get("Authorization"))
		}
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(`{"response":1}`))}, nil
	})
	h := newHandler(t, func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		for range 3 {
			if _, err := run.Proxy.Do(ctx, "x", map[string]string{"N": run.RunID}); err != nil {
				return nil, err
			}
		}
		return &dispatch.Response{FinalResponse: run.RunID}, nil
	}, func(o *dispatch.Options) { o.Proxy = &proxy.Options{Transport: transport} })
	var group sync.WaitGroup
	for i := range 500 {
		group.Go(func() {
			w := post(h, fmt.Sprintf(`{"run_id":%d,"odyssey_proxy_url":"http://h/runs/%d","run_token":"token-%d"}`, i, i, i), nil)
			wantAnswer(t, w, 200, fmt.Sprintf(`{"final_response":"%d"}`, i))
		})
	}
	group.Wait()
}

// The envelope that an agent sees, and may log, does not have the run token.
func TestTheEnvelopeHasNoRunToken(t *testing.T) {
	const url = `"odyssey_proxy_url":"http://h/runs/1"`
	for _, tt := range []struct{ name, body, want string }{
		{"in a header only", `{` + url + ` }`, `{` + url + ` }`},
		{"in a header and an unknown member", `{` + url + `,"x":"` + runToken + `"}`, `{` + url + `,"x":"[redacted]"}`},
		{
			"in a header and spelt otherwise in an unknown member", `{` + url + `,"x":"s\u0065cret-run-token","y":["secret%2Drun-token"]}`,
			`{` + url + `,"x":"[redacted]","y":["[redacted]"]}`,
		},
		{
			"in a header and in base64", `{` + url + `,"x":"` + base64.StdEncoding.EncodeToString([]byte("Bearer "+runToken)) + `"}`,
			`{` + url + `,"x":"QmVhcmVyIH[redacted]4="}`,
		},
		{"in the body", `{` + url + `, "run_token":"tok/en-1" }`, `{` + url + `, "run_token":"[redacted]" }`},
		{
			"repeated and escaped", `{` + url + `,"run_token":"tok\/en-1","x":{"note":"Bearer tok\u002fen-1, tok%2Fen-1"}}`,
			`{` + url + `,"run_token":"[redacted]","x":{"note":"Bearer [redacted], [redacted]"}}`,
		},
		{"in a number", `{` + url + `,"run_token":"4521","run_id":45210}`, `{"run_token":"[redacted]"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var envelope string
			h := newHandler(t, func(_ context.Context, run *dispatch.Run) (*dispatch.Response, error) {
				envelope = string(run.Envelope)
				return &dispatch.Response{FinalResponse: "done"}, nil
			})
			wantAnswer(t, post(h, tt.body, nil), 200, `{"final_response":"done"}`)
			if envelope != tt.want {
				t.Errorf("the envelope is %s\nwant %s", envelope, tt.want)
			}
		})
	}
}
