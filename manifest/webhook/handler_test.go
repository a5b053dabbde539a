package webhook_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/manifest/toolbox"
	"github.com/toolwire/toolwire/manifest/webhook"
)

const (
	toolSecret = "tool-call-secret-1"
	agentUUID  = "6f1c1a5e-3c1b-4a53-9d7e-0c5f2b8a9e11"
	goodBody   = `{"tool":{"name":"check_schedule","parameters":{"type":"object"}},"agent":{"id":"` + agentUUID + `"},` +
		`"arguments":{"day":"monday","reasoning":"the user asked"}}`
)

type query struct {
	Day   string `json:"day" jsonschema:"enum=monday,enum=friday"`
	Hours int8   `json:"hours,omitempty"`
}

type slots struct {
	Slots []string `json:"slots"`
}

func checkSchedule(_ context.Context, in query) (slots, error) {
	return slots{[]string{in.Day + " <2pm>"}}, nil
}

func schedule() webhook.Tool {
	return webhook.Define("check_schedule", "Check availability on the calendar", checkSchedule)
}

func newHandler(t testing.TB, opts *webhook.Options, tools ...webhook.Tool) http.Handler {
	t.Helper()
	if opts == nil {
		opts = &webhook.Options{}
	}
	if opts.Secrets == nil && opts.SecretFunc == nil {
		opts.Secrets = []string{toolSecret}
	}
	h, err := webhook.New(tools, opts)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func request(body string, change ...func(*http.Request)) *http.Request {
	r := httptest.NewRequest("POST", "/tools", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Agent-Secret", toolSecret)
	r.Header.Set("X-Agent-Identity", agentUUID)
	for _, f := range change {
		f(r)
	}
	return r
}

func header(name string, values ...string) func(*http.Request) {
	return func(r *http.Request) {
		r.Header.Del(name)
		for _, v := range values {
			r.Header.Add(name, v)
		}
	}
}

func serve(h http.Handler, r *http.Request) (int, string, http.Header) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String(), w.Header()
}

// The rows are the documented requests, and the requests whose response the comment of New defines.
func TestReceiver(t *testing.T) {
	calls := 0
	count := func(_ context.Context, in query) (slots, error) {
		calls++
		return checkSchedule(context.Background(), in)
	}
	strict := webhook.Tool{Name: "strict", Func: func(_ context.Context, args json.RawMessage) (any, error) {
		return args, nil
	},
		Parameters: json.RawMessage(`{"type":"object","properties":{"a":{"type":"number"}},"additionalProperties":false}`)}
	own := webhook.Tool{Name: "own", Func: func(_ context.Context, args json.RawMessage) (any, error) { return args, nil },
		Parameters: json.RawMessage(`{"type":"object","properties":{"reasoning":{"type":"string"}},"required":["reasoning"]}`)}
	failing := webhook.Define("failing", "Fail.", func(_ context.Context, _ struct{}) (string, error) {
		return "", fmt.Errorf("outer: %w", webhook.Errorf("there is no free slot; ask for another day"))
	})
	private := webhook.Define("private", "Fail.", func(_ context.Context, _ struct{}) (string, error) {
		return "", errors.New("password=hunter2")
	})
	panicking := webhook.Define("panicking", "Panic.", func(_ context.Context, _ struct{}) (string, error) {
		panic("hunter2")
	})
	exiting := webhook.Define("unwritable", "Answer with a channel.", func(_ context.Context, _ struct{}) (any, error) {
		return make(chan int), nil
	})
	h := newHandler(t, &webhook.Options{Secrets: []string{"older-secret", toolSecret}, MaxBodyBytes: 4096},
		webhook.Define("check_schedule", "", count), strict, own, failing, private, panicking, exiting)
	to := func(tool, args string) string { return `{"tool_name":"` + tool + `","arguments":` + args + `}` }

	for _, tt := range []struct {
		name    string
		request *http.Request
		status  int
		want    string // all of the answer, or a part of it after "~"
	}{
		{"right secret, known tool, valid arguments", request(goodBody), 200, `{"slots":["monday <2pm>"]}`},
		{"header missing", request(goodBody, header("X-Agent-Secret")), 401, `{"error":"unauthorized","message":"the header X-Agent-Secret is missing"}`},
		{"secret wrong, same length", request(goodBody, header("X-Agent-Secret", "tool-call-secret-2")), 401, `{"error":"unauthorized","message":"the secret in the header X-Agent-Secret is not accepted"}`},
		{"secret wrong, other length", request(goodBody, header("X-Agent-Secret", "tool")), 401, `{"error":"unauthorized","message":"the secret in the header X-Agent-Secret is not accepted"}`},
		{"secret empty", request(goodBody, header("X-Agent-Secret", "")), 401, `{"error":"unauthorized","message":"the header X-Agent-Secret has no secret"}`},
		{"secret with a scheme", request(goodBody, header("X-Agent-Secret", "Bearer "+toolSecret)), 401, `{"error":"unauthorized","message":"the secret in the header X-Agent-Secret is not accepted"}`},
		{"secret twice", request(goodBody, header("X-Agent-Secret", toolSecret, toolSecret)), 401, `{"error":"unauthorized","message":"the header X-Agent-Secret is given 2 times"}`},
		{"secret as bearer", request(goodBody, header("X-Agent-Secret"), header("Authorization", "Bearer "+toolSecret)), 401,
			`{"error":"unauthorized","message":"the header X-Agent-Secret is missing"}`},
		{"the other secret", request(goodBody, header("X-Agent-Secret", "older-secret")), 200, `~slots`},
		{"header in other letter case", request(goodBody, header("X-Agent-Secret"), header("x-aGENT-sEcret", toolSecret)),
			200, `~slots`},
		{"identity missing", request(goodBody, header("X-Agent-Identity")), 400, `~"invalid_identity"`},
		{"identity without hyphens", request(goodBody, header("X-Agent-Identity", strings.ReplaceAll(agentUUID, "-", ""))), 200, `~slots`},
		{"identity not a UUID", request(goodBody, header("X-Agent-Identity", "agent-7")), 400, `~"invalid_identity"`},
		{"identity twice", request(goodBody, header("X-Agent-Identity", agentUUID, agentUUID)), 400, `~"invalid_identity"`},
		{"no secret and no identity", request(goodBody, header("X-Agent-Secret"), header("X-Agent-Identity")), 401, `{"error":"unauthorized","message":"the header X-Agent-Secret is missing"}`},
		{"body empty", request(``), 400, `~"invalid_json"`},
		{"body not JSON", request(`hello`), 400, `~"invalid_json"`},
		{"body not an object", request(`[1]`), 400, `~must be an object, not an array`},
		{"duplicate member", request(`{"arguments":{"day":"monday"},"arguments":{}}`), 400, `~"invalid_json"`},
		{"wrong case", request(`{"Arguments":{}}`), 400, `~it must be \"arguments\"`},
		{"arguments missing", request(`{"tool_name":"strict"}`), 400, `~one of arguments, args, input, params is expected`},
		{"arguments a list", request(to("strict", `[]`)), 400, `~must be an object, not an array`},
		{"arguments a number", request(to("strict", `-1`)), 400, `~"message":"the arguments must be an object, not a number`},
		{"arguments null", request(to("strict", `null`)), 200, `{}`},
		{"arguments a string with an object", request(to("strict", `"{\"a\": 1.50}"`)), 200, `{"a":1.50}`},
		{"arguments an empty string", request(to("strict", `""`)), 200, `{}`},
		{"arguments another string", request(to("strict", `"a=1"`)), 400, `~"error":"invalid_envelope","message":"the arguments are a string, and its text is not usable: `},
		{"arguments a string with a duplicate", request(to("strict", `"{\"a\":1,\"a\":2}"`)), 200, `~twice`},
		{"reasoning where the schema is closed", request(to("strict", `{"a":1e2,"reasoning":"why not"}`)), 200, `{"a":1e2}`},
		{"reasoning of another type", request(to("strict", `{"reasoning":{"x":1},"a":12345678901234567890.10}`)), 200,
			`{"a":12345678901234567890.10}`},
		{"reasoning that the tool declares", request(to("own", `{"reasoning":"mine"}`)), 200, `{"reasoning":"mine"}`},
		{"reasoning that the tool requires", request(to("own", `{}`)), 200, `~"invalid_arguments"`},
		{"arguments that do not match", request(to("strict", `{"a":"hunter2","b":1}`)), 200, `~"error":"invalid_arguments"`},
		{"arguments that the Go type refuses", request(to("check_schedule", `{"day":"friday","hours":300}`)), 200,
			`{"error":"invalid_arguments","message":"/hours must be a whole number between -128 and 127; correct them and call the tool again"}`},
		{"unknown tool", request(to("Strict", `{}`)), 404, `~there is no tool \"Strict\" here`},
		{"no tool named", request(`{"arguments":{}}`), 400, `~names no tool, and there are 7 here`},
		{"handler error for the agent", request(to("failing", `{}`)), 200,
			`{"error":"tool_failed","message":"there is no free slot; ask for another day"}`},
		{"handler error of another kind", request(to("private", `{}`)), 200, `~"error":"tool_failed"`},
		{"handler panic", request(to("panicking", `{}`)), 500,
			`{"error":"internal","message":"the tool is broken; do not call it again"}`},
		{"result that cannot be JSON", request(to("unwritable", `{}`)), 500, `~"error":"internal"`},
		{"body too large", request(`{"arguments":{"a":"` + strings.Repeat("x", 5000) + `"}}`), 413, `~4096 bytes`},
		{"body too large, not announced", request(`{"arguments":{"a":"`+strings.Repeat("x", 5000)+`"}}`,
			func(r *http.Request) { r.ContentLength = -1 }), 413, `~4096 bytes`},
		{"method GET", request(``, func(r *http.Request) { r.Method = "GET" }), 405, `~"method_not_allowed"`},
		{"method GET without secret", request(``, func(r *http.Request) { r.Method = "GET" }, header("X-Agent-Secret")), 405,
			`~"method_not_allowed"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			calls = 0
			status, body, headers := serve(h, tt.request)
			part, isPart := strings.CutPrefix(tt.want, "~")
			if status != tt.status || isPart && !strings.Contains(body, part) || !isPart && body != tt.want {
				t.Errorf("got %d %s\nwant %d %s", status, body, tt.status, tt.want)
			}
			if strings.Contains(body, "hunter2") || strings.Contains(body, toolSecret) {
				t.Errorf("the response has a secret: %s", body)
			}
			if status != 401 && (!json.Valid([]byte(body)) || headers.Get("Content-Type") != "application/json") {
				t.Errorf("not JSON: %q %s", headers.Get("Content-Type"), body)
			}
			if status != 200 && calls > 0 {
				t.Error("the tool was called")
			}
			if allow := headers.Get("Allow"); (status == 405) != (allow == "POST") {
				t.Errorf("Allow: %q", allow)
			}
		})
	}
}

func TestPlacesOfToolAndArguments(t *testing.T) {
	echo := func(name string) webhook.Tool {
		return webhook.Tool{Name: name, Func: func(ctx context.Context, args json.RawMessage) (any, error) {
			return webhook.FromContext(ctx).Tool + " " + string(args), nil
		}}
	}
	many, one := newHandler(t, nil, echo("one"), echo("two")), newHandler(t, nil, echo("one"))
	for _, tt := range []struct {
		body string
		many string // "" is a 400
		one  string // "" is a 404
	}{
		{`{"tool":{"name":"two"},"arguments":{"a":1}}`, `"two {\"a\":1}"`, ``},
		{`{"tool":"two","args":{"a":1}}`, `"two {\"a\":1}"`, ``},
		{`{"function":{"name":"one","arguments":"{\"a\":1}"}}`, `"one {\"a\":1}"`, `"one {\"a\":1}"`},
		{`{"tool":{"type":"function","function":{"name":"one","parameters":{}}},"input":{}}`, `"one {}"`, `"one {}"`},
		{`{"tool_call":{"id":"1","function":{"name":"one","arguments":{"a":1}}}}`, `"one {\"a\":1}"`, `"one {\"a\":1}"`},
		{`{"tool_call":{"name":"one","args":{"a":1}}}`, `"one {\"a\":1}"`, `"one {\"a\":1}"`},
		{`{"name":"one","params":{"a":1}}`, `"one {\"a\":1}"`, `"one {\"a\":1}"`},
		{`{"tool":"one","tool_name":"two","arguments":{}}`, `"two {}"`, ``},
		{`{"tool_name":"two","tool":"one","function":"one","arguments":{}}`, `"two {}"`, ``},
		{`{"name":"an agent","tool_name":"one","arguments":{}}`, `"one {}"`, `"one {}"`},
		{`{"tool":{"name":"one","input":{"b":1}},"arguments":{"a":1}}`, `"one {\"a\":1}"`, `"one {\"a\":1}"`},
		{`{"args":{"b":1},"arguments":{"a":1},"tool":"one"}`, `"one {\"a\":1}"`, `"one {\"a\":1}"`},
		{`{"arguments":null,"args":{"b":1},"tool":"one"}`, `"one {\"b\":1}"`, `"one {\"b\":1}"`},
		{`{"args":{"a":1},"agent_id":"x","run_id":"y"}`, ``, `"one {\"a\":1}"`},
		{`{"tool":{"parameters":{"name":1}},"agent":{"name":"two","arguments":{"no":1}},"arguments":{}}`, ``, `"one {}"`},
	} {
		status, body, _ := serve(many, request(tt.body))
		if tt.many == "" && status != 400 || tt.many != "" && body != tt.many {
			t.Errorf("of two tools, %s: %d %s", tt.body, status, body)
		}
		status, body, _ = serve(one, request(tt.body))
		if tt.one == "" && status != 404 || tt.one != "" && body != tt.one {
			t.Errorf("of one tool, %s: %d %s", tt.body, status, body)
		}
	}

	mux := http.NewServeMux()
	mux.Handle("/tools/{tool}", many)
	for _, tt := range []struct {
		path, body string
		status     int
	}{
		{"/tools/two", `{"arguments":{}}`, 200},
		{"/tools/two", `{"tool":{"name":"two"},"arguments":{}}`, 200},
		{"/tools/two", `{"tool":{"name":"one"},"arguments":{}}`, 400},
		{"/tools/two", `{"name":"an agent","arguments":{}}`, 200},
		{"/tools/three", `{"arguments":{}}`, 404},
	} {
		status, body, _ := serve(mux, request(tt.body, func(r *http.Request) { r.URL.Path = tt.path }))
		if status != tt.status || status == 200 && body != `"two {}"` {
			t.Errorf("%s %s: %d %s", tt.path, tt.body, status, body)
		}
	}

	custom := newHandler(t, &webhook.Options{ArgumentKeys: []string{"llm_args"}}, echo("one"))
	if status, body, _ := serve(custom, request(`{"arguments":{"no":1},"llm_args":{"a":1}}`)); body != `"one {\"a\":1}"` {
		t.Errorf("own key: %d %s", status, body)
	}
	if status, _, _ := serve(custom, request(`{"arguments":{}}`)); status != 400 {
		t.Errorf("own key missing: %d", status)
	}
}

func TestFromContext(t *testing.T) {
	var got *webhook.Call
	tool := webhook.Define("check_schedule", "", func(ctx context.Context, _ query) (string, error) {
		got = webhook.FromContext(ctx)
		return "ok", nil
	})
	h := newHandler(t, nil, tool)
	if status, body, _ := serve(h, request(goodBody)); status != 200 || body != `"ok"` {
		t.Fatal(status, body)
	}
	if got.AgentID != agentUUID || got.Tool != "check_schedule" || got.Reasoning != "the user asked" ||
		string(got.Body) != goodBody {
		t.Errorf("%+v", got)
	}
	if empty := webhook.FromContext(context.Background()); empty == nil || empty.AgentID != "" {
		t.Errorf("outside of a call: %+v", empty)
	}
	if own := webhook.FromContext(webhook.NewContext(context.Background(),
		&webhook.Call{AgentID: "a"})); own.AgentID != "a" {
		t.Errorf("from NewContext: %+v", own)
	}
}

func TestOnCall(t *testing.T) {
	var records []webhook.CallEnd
	own := webhook.Tool{Name: "own", Parameters: json.RawMessage(`{"properties":{"reasoning":{}}}`),
		Func: func(context.Context, json.RawMessage) (any, error) { return nil, errors.New("broken") }}
	h := newHandler(t, &webhook.Options{OnCall: func(_ context.Context, r webhook.CallEnd) {
		records = append(records, r)
	}}, schedule(), own)
	serve(h, request(goodBody))
	serve(h, request(`{"tool":"check_schedule","arguments":{"day":"sunday","reasoning":["a",1]}}`))
	serve(h, request(`{"tool":"own","arguments":{"reasoning":"mine"}}`))
	serve(h, request(`{"tool":"other","arguments":{}}`))
	serve(h, request(goodBody, header("X-Agent-Secret", "wrong")))
	if len(records) != 3 {
		t.Fatalf("%d records: %+v", len(records), records)
	}
	for i, want := range []struct {
		tool, reasoning string
		code            toolwire.Code
	}{{"check_schedule", "the user asked", ""}, {"check_schedule", `["a",1]`, toolwire.CodeInvalidArguments},
		{"own", "", toolwire.CodeToolFailed}} {
		r := records[i]
		if r.Tool != want.tool || r.AgentID != agentUUID || r.Reasoning != want.reasoning ||
			toolwire.CodeOf(r.Err) != want.code {
			t.Errorf("record %d: %+v", i, r)
		}
	}
	if err := records[2].Err; !strings.Contains(err.Error(), "broken") {
		t.Errorf("the record has no cause: %v", err)
	}
}

func TestSecretsRotateWithoutARestart(t *testing.T) {
	accepted := []string{"old", ""}
	h := newHandler(t, &webhook.Options{SecretFunc: func() []string { return accepted }}, schedule())
	for _, tt := range []struct {
		accepted []string
		old, new int
	}{{[]string{"old", ""}, 200, 401}, {[]string{"old", "new"}, 200, 200}, {[]string{"new"}, 401, 200}, {nil, 401, 401}} {
		accepted = tt.accepted
		o, _, _ := serve(h, request(goodBody, header("X-Agent-Secret", "old")))
		n, _, _ := serve(h, request(goodBody, header("X-Agent-Secret", "new")))
		empty, _, _ := serve(h, request(goodBody, header("X-Agent-Secret", "")))
		if o != tt.old || n != tt.new || empty != 401 {
			t.Errorf("accepting %q: old %d, new %d, empty %d", tt.accepted, o, n, empty)
		}
	}
}

// The standalone harness sends a bearer token and {"args", "agent_id", "run_id"}. It reads text and
// images.
func TestStandaloneHarness(t *testing.T) {
	var id string
	results := map[string]any{"text": "hello", "object": slots{[]string{"<a>"}}, "null": nil,
		"raw":     json.RawMessage(`"a\"b"`),
		"image":   webhook.ImageResult{Text: "a plot", Images: [][]byte{[]byte("\x89PNG")}},
		"pointer": &webhook.ImageResult{Text: "p"}}
	tool := webhook.Define("get", "", func(ctx context.Context, in struct {
		What string `json:"what"`
	}) (any, error) {
		id = webhook.FromContext(ctx).AgentID
		if in.What == "failure" {
			return nil, webhook.Errorf("try another")
		}
		return results[in.What], nil
	})
	h := newHandler(t, &webhook.Options{StandaloneHarness: true}, tool)
	ask := func(what string, change ...func(*http.Request)) (int, string) {
		change = append([]func(*http.Request){
			header("X-Agent-Secret"), header("X-Agent-Identity"), header("Authorization", "bearer "+toolSecret)}, change...)
		status, body, _ := serve(h, request(`{"args":{"what":"`+what+
			`"},"agent_id":"agent-7","run_id":"run-1","trace_id":null}`, change...))
		return status, body
	}
	for what, want := range map[string]string{
		"text": `{"text":"hello"}`, "object": `{"text":"{\"slots\":[\"<a>\"]}"}`, "null": `{"text":"null"}`,
		"raw":   `{"text":"a\"b"}`,
		"image": `{"text":"a plot","images":["iVBORw=="]}`, "pointer": `{"text":"p"}`,
		"failure": `{"error":"tool_failed","message":"try another","text":"Error: try another"}`,
	} {
		if status, body := ask(what); status != 200 || body != want {
			t.Errorf("%s: %d %s, want %s", what, status, body, want)
		}
	}
	if id != "agent-7" {
		t.Errorf("agent id %q", id)
	}
	if status, _ := ask("text", header("Authorization", toolSecret)); status != 401 {
		t.Errorf("without the scheme: %d", status)
	}
	if status, _ := ask("text", header("Authorization", "Bearer")); status != 401 {
		t.Errorf("without a token: %d", status)
	}
	plain := newHandler(t, nil, tool)
	if _, body,
		_ := serve(plain, request(`{"args":{"what":"image"}}`)); body != `{"text":"a plot","images":["iVBORw=="]}` {
		t.Errorf("images in plain JSON: %s", body)
	}
	if _, body, _ := serve(plain, request(`{"args":{"what":"object"}}`)); body != `{"slots":["<a>"]}` {
		t.Errorf("an object in plain JSON: %s", body)
	}
}

// What the model left out has its default. The body stays as it was sent.
func TestDefaults(t *testing.T) {
	type search struct {
		Query string `json:"query"`
		Limit int    `json:"limit,omitempty" jsonschema:"default=50"`
	}
	body := ""
	typed := webhook.Define("typed", "", func(ctx context.Context, in search) (search, error) {
		body = string(webhook.FromContext(ctx).Body)
		return in, nil
	})
	raw := webhook.Tool{
		Name: "raw", Func: func(_ context.Context, args json.RawMessage) (any, error) { return args, nil },
		Parameters: json.RawMessage(`{"type":"object","additionalProperties":false,"properties":{
			"limit":{"type":"integer","description":"Max results (default 50)","default":50},"page":{"type":"object","properties":{"size":{"default":1.50}}}}}`),
	}
	h := newHandler(t, nil, typed, raw)
	for _, tt := range []struct{ body, want string }{
		{`{"name":"typed","arguments":{"query":"a"}}`, `{"query":"a","limit":50}`},
		{`{"name":"typed","arguments":{"query":"a","limit":7}}`, `{"query":"a","limit":7}`},
		{`{"name":"raw","arguments":{"reasoning":"all","page":{}}}`, `{"page":{"size":1.50},"limit":50}`},
		{`{"name":"raw","arguments":null}`, `{"limit":50}`},
	} {
		if status, got, _ := serve(h, request(tt.body)); status != 200 || got != tt.want {
			t.Errorf("%s: %d %s, want %s", tt.body, status, got, tt.want)
		}
	}
	if body != `{"name":"typed","arguments":{"query":"a","limit":7}}` {
		t.Errorf("the body is %s", body)
	}
}

func TestRawResultsAreChecked(t *testing.T) {
	for raw, status := range map[string]int{`{"a":1.00}`: 200, `{"a":1`: 500, `{} {}`: 500, `{"a":1,"a":2}`: 500,
		``: 500} {
		h := newHandler(t, nil, webhook.Tool{Name: "raw", Func: func(context.Context, json.RawMessage) (any, error) {
			return json.RawMessage(raw), nil
		}})
		if got, body, _ := serve(h, request(`{"arguments":{}}`)); got != status || status == 200 && body != raw {
			t.Errorf("%q: %d %s", raw, got, body)
		}
	}
	for harness, want := range map[bool]string{false: `null`, true: `{"text":"null"}`} {
		h := newHandler(t, &webhook.Options{StandaloneHarness: harness},
			webhook.Tool{Name: "raw", Func: func(context.Context, json.RawMessage) (any, error) {
				return json.RawMessage(nil), nil
			}})
		r := request(`{"arguments":{}}`, header("Authorization", "Bearer "+toolSecret))
		if got, body, _ := serve(h, r); got != 200 || body != want {
			t.Errorf("nil: %d %s, want %s", got, body, want)
		}
	}
}

func TestNewReportsEverything(t *testing.T) {
	type recursive struct{ Next *recursive }
	_, err := webhook.New([]webhook.Tool{
		schedule(), schedule(),
		{Name: "a b", Parameters: json.RawMessage(`{"type":"array"}`)},
		webhook.Define("recursive", "", func(context.Context, recursive) (string, error) { return "", nil }),
		webhook.Define[query, string]("nil_func", "", nil),
		{Name: "bad_schema", Parameters: json.RawMessage(`{"type":`), Func: schedule().Func},
		{Name: "bad_links", URL: "/tools/bad_links", DetailURL: "https://user:hunter2@example.com/", Func: schedule().Func},
		webhook.Define("a name", "", func(context.Context, query) (string, error) { return "", nil }),
	}, &webhook.Options{
		Secrets: []string{"", " hunter2"}, Timeout: -1, MaxBodyBytes: -1, ArgumentKeys: []string{"args", "args", "name"},
	})
	if toolwire.CodeOf(err) != toolwire.CodeInvalidOptions {
		t.Fatal(err)
	}
	if e, _ := errors.AsType[*toolwire.Error](err); len(e.Problems) != 16 || e.Problems[0].Code != "invalid_option" ||
		e.Problems[0].Pointer != "" {
		t.Errorf("problems %+v", e.Problems)
	}
	for _, part := range []string{
		`tool "check_schedule": /1/name is taken by tool[0]`, `tool "a b": /2/name`, `tool "a b": /2/parameters`,
		`tool "a b": /2 Func is nil`,
		`tool "recursive": /3/parameters`, `tool "nil_func": /4 Func is nil`, `tool "bad_schema": /5/parameters`,
		`tool "bad_links": /6/url must be an absolute http or https URL`, `tool "bad_links": /6/detail_url must be`,
		"Options.Secrets[0] is empty", "Options.Secrets[1] contains control characters, or",
		"Options.Timeout", "Options.MaxBodyBytes", `"args" twice`, `"name", which has another meaning`,
	} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is missing in:\n%v", part, err)
		}
	}
	if strings.Contains(err.Error(), "hunter2") {
		t.Error("the error has a secret")
	}
	if n := strings.Count(err.Error(), `tool "a name": /7`); n != 1 {
		t.Errorf("the name is reported %d times", n)
	}
	if _, again := webhook.New(nil, nil); again == nil || !strings.Contains(again.Error(), "Secrets is empty") ||
		!strings.Contains(again.Error(), "no tools") {
		t.Errorf("without anything: %v", again)
	}
}

// A schema that cannot be checked completely is accepted only on request, and is applied as far as
// it can be checked. A default that its own schema rejects is a problem, and is left out if the tool
// is accepted.
func TestWrongDefaults(t *testing.T) {
	tool := webhook.Tool{Name: "search", Func: func(_ context.Context, args json.RawMessage) (any, error) { return args, nil },
		Parameters: json.RawMessage(`{"type":"object","properties":{"page":{"minimum":1,"default":0},"limit":{"default":50}}}`)}
	_, err := webhook.New([]webhook.Tool{tool}, &webhook.Options{Secrets: []string{toolSecret}})
	e, ok := errors.AsType[*toolwire.Error](err)
	if !ok || len(e.Problems) != 1 || e.Problems[0].Code != "default_invalid" || e.Problems[0].Pointer != "/0/parameters/properties/page/default" {
		t.Errorf("got %v", err)
	}
	h := newHandler(t, &webhook.Options{AllowUnchecked: true}, tool)
	if status, got, _ := serve(h, request(`{"arguments":{}}`)); status != 200 || got != `{"limit":50}` {
		t.Errorf("%d %s", status, got)
	}
}

func TestUncheckedSchemas(t *testing.T) {
	const body = `{"arguments":{"password":"secret","n":%s}}`
	tool := webhook.Tool{Name: "login", Func: func(_ context.Context, args json.RawMessage) (any, error) {
		return args, nil
	},
		Parameters: json.RawMessage(`{"type":"object","properties":{"password":{"pattern":"^.(?=.*[0-9]).{7,}$"},"n":{"type":"integer"}}}`)}
	_, err := webhook.New([]webhook.Tool{tool}, &webhook.Options{Secrets: []string{toolSecret}})
	e, ok := errors.AsType[*toolwire.Error](err)
	if !ok || len(e.Problems) != 1 || e.Problems[0].Pointer != "/0/parameters/properties/password/pattern" ||
		!strings.Contains(err.Error(), "Options.AllowUnchecked") {
		t.Errorf("got %v", err)
	}
	h := newHandler(t, &webhook.Options{AllowUnchecked: true}, tool)
	if status, got, _ := serve(h, request(fmt.Sprintf(body, "7"))); status != 200 || got != `{"password":"secret","n":7}` {
		t.Errorf("%d %s", status, got)
	}
	if _, got, _ := serve(h, request(fmt.Sprintf(body, `"7"`))); !strings.Contains(got, "/n must be an integer") {
		t.Errorf("the rest of the schema is not checked: %s", got)
	}
	tool.Parameters = json.RawMessage(`{"type":"nonsense"}`)
	if _, err := webhook.New([]webhook.Tool{tool}, &webhook.Options{Secrets: []string{toolSecret},
		AllowUnchecked: true}); err == nil {
		t.Error("a schema that is not valid is accepted")
	}
}

// What older drafts wrote otherwise is read completely, so it is accepted, and so is "nullable", which
// lets nothing through. A schema that says nothing is accepted only on request.
func TestSchemasThatAreReadOtherwise(t *testing.T) {
	move := func(parameters string) webhook.Tool {
		return webhook.Tool{Name: "move", Parameters: json.RawMessage(parameters), Func: func(_ context.Context, args json.RawMessage) (any, error) {
			return args, nil
		}}
	}
	h := newHandler(t, &webhook.Options{}, move(`{"type":"object","required":null,"properties":{"at":{"items":[{"minimum":0,"exclusiveMinimum":true}],
		"title":1},"by":{"type":"string","nullable":true}}}`))
	if status, got, _ := serve(h, request(`{"arguments":{"at":[1]}}`)); status != 200 || got != `{"at":[1]}` {
		t.Errorf("%d %s", status, got)
	}
	for arguments, want := range map[string]string{`{"at":[0]}`: "/at/0 must be more than 0", `{"by":null}`: "/by must be a string"} {
		if _, got, _ := serve(h, request(`{"arguments":`+arguments+`}`)); !strings.Contains(got, want) {
			t.Errorf("%s: %s", arguments, got)
		}
	}
	wrapped := move(`{"schema":{"type":"object","properties":{"at":{"type":"number"}}}}`)
	_, err := webhook.New([]webhook.Tool{wrapped}, &webhook.Options{Secrets: []string{toolSecret}})
	e, ok := errors.AsType[*toolwire.Error](err)
	if !ok || len(e.Problems) != 1 || e.Problems[0].Code != "schema_no_keyword" || e.Problems[0].Pointer != "/0/parameters" ||
		!strings.Contains(err.Error(), "Options.AllowUnchecked") {
		t.Errorf("got %v", err)
	}
	newHandler(t, &webhook.Options{AllowUnchecked: true}, wrapped)
}

func TestASecretHasNoScheme(t *testing.T) {
	for _, harness := range []bool{true, false} {
		_, err := webhook.New([]webhook.Tool{schedule()}, &webhook.Options{Secrets: []string{"bearer hunter2"},
			StandaloneHarness: harness})
		if refused := err != nil && strings.Contains(err.Error(), "begins with \"Bearer \"") &&
			!strings.Contains(err.Error(), "hunter2"); refused != harness {
			t.Errorf("harness %t: %v", harness, err)
		}
	}
}

func TestErrors(t *testing.T) {
	cause := errors.New("hunter2")
	const private = `{"error":"tool_failed","message":"the tool failed for a reason of its own; trying again may help, other arguments will not"}`
	for name, tt := range map[string]struct {
		err  error
		want string
	}{
		"of Errorf":  {webhook.Errorf("try <another>"), `{"error":"tool_failed","message":"try <another>"}`},
		"of toolbox": {toolbox.Errorf("try another"), `{"error":"tool_failed","message":"try another"}`},
		"an Error": {&toolwire.Error{Code: toolwire.CodeToolFailed, Tool: "check", Message: "hunter2", Err: cause},
			private},
		"with another code":    {&toolwire.Error{Code: "method_not_allowed", Message: "hunter2"}, private},
		"about arguments":      {&toolwire.Error{Code: toolwire.CodeInvalidArguments, Message: "hunter2"}, private},
		"of a call inside":     {&toolbox.Error{Code: toolwire.CodeInvalidArguments, Message: "hunter2"}, private},
		"of a failed handler":  {&toolbox.Error{Code: toolwire.CodeToolFailed, Message: "hunter2"}, private},
		"of the standard kind": {cause, private},
		"a long message": {webhook.Errorf("%s", strings.Repeat("é", 5000)),
			`{"error":"tool_failed","message":"` + strings.Repeat("é", 1022) + `…"}`},
	} {
		tool := webhook.Define("check", "", func(context.Context, struct{}) (string, error) {
			return "", fmt.Errorf("outer: %w", tt.err)
		})
		if status, body, _ := serve(newHandler(t, nil, tool), request(`{"arguments":{}}`)); status != 200 || body != tt.want {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	e := &toolwire.Error{Code: toolwire.CodeToolFailed, Tool: "check", Message: "try <another>", Err: cause}
	if !errors.Is(e, cause) || e.Error() != `tool "check": tool_failed: try <another>` {
		t.Errorf("%v", e)
	}
	if toolwire.CodeOf(cause) != "" || toolwire.CodeOf(fmt.Errorf("outer: %w", e)) != toolwire.CodeToolFailed ||
		!errors.Is(webhook.Errorf("x: %w", cause), cause) {
		t.Error("codes and causes")
	}
}

// Parameters that are set after Define replace the inferred ones, also for a type that has no
// schema.
func TestDefineWithParameters(t *testing.T) {
	type recursive struct {
		Name string     `json:"name"`
		Next *recursive `json:"next"`
	}
	tool := webhook.Define("chain", "", func(_ context.Context, in recursive) (string, error) { return in.Next.Name, nil })
	tool.Parameters = json.RawMessage(`{"type":"object","required":["next"]}`)
	h := newHandler(t, nil, tool)
	if status, body, _ := serve(h, request(`{"arguments":{"next":{"name":"b"}}}`)); status != 200 || body != `"b"` {
		t.Errorf("%d %s", status, body)
	}
	if _, body, _ := serve(h, request(`{"arguments":{}}`)); !strings.Contains(body, `"invalid_arguments"`) {
		t.Errorf("%s", body)
	}
}

func TestDetail(t *testing.T) {
	for _, tt := range []struct {
		name     string
		method   string
		describe func(context.Context) (string, error)
		status   int
		body     string
	}{
		{"text", "GET", func(context.Context) (string, error) { return "Free: <2pm>\n\"now\"", nil }, 200,
			`{"detail":"Free: <2pm>\n\"now\""}`},
		{"empty", "GET", func(context.Context) (string, error) { return "", nil }, 200, `{"detail":""}`},
		{"error", "GET", func(context.Context) (string, error) { return "hunter2", errors.New("hunter2") }, 500,
			`{"error":"internal","message":"there is no detail at the moment"}`},
		{"panic", "GET", func(context.Context) (string, error) {
			panic("hunter2")
		}, 500, `{"error":"internal","message":"there is no detail at the moment"}`},
		{"POST", "POST", func(context.Context) (string, error) {
			panic("called")
		}, 405, `{"error":"method_not_allowed","message":"use GET"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status, body, headers := serve(webhook.Detail(tt.describe, nil), httptest.NewRequest(tt.method, "/detail", nil))
			if status != tt.status || body != tt.body || headers.Get("Content-Type") != "application/json" {
				t.Errorf("%d %s", status, body)
			}
			if keeps := headers.Get("Cache-Control") != "no-store"; keeps && status == 200 {
				t.Error("a cache may keep the detail")
			}
		})
	}
}

// The default limit of a body is 1 MiB.
func TestDefaultLimitOfBodies(t *testing.T) {
	h := newHandler(t, nil, schedule())
	for size, want := range map[int]int{1 << 20: 200, 1<<20 + 1: 413} {
		body := goodBody + strings.Repeat(" ", size-len(goodBody))
		if status, answer, _ := serve(h, request(body)); status != want {
			t.Errorf("%d bytes: %d %s, want %d", size, status, answer, want)
		}
	}
}

func TestAbortReachesTheServer(t *testing.T) {
	tool := webhook.Define("abort", "", func(context.Context, struct{}) (string, error) { panic(http.ErrAbortHandler) })
	server := httptest.NewServer(newHandler(t, nil, tool))
	defer server.Close()
	r, _ := http.NewRequest("POST", server.URL, strings.NewReader(`{"arguments":{}}`))
	r.Header = request("").Header
	if response, err := http.DefaultClient.Do(r); err == nil {
		body, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		t.Errorf("answered %d %s", response.StatusCode, body)
	}
}
