package proxy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/proxy"
)

func TestCallUnwrapsTheSeedsEnvelope(t *testing.T) {
	c, s := scripted(t, answer(200, seedAnswer))
	got, err := proxy.Call[json.RawMessage](background, c, "get_order", map[string]string{"order_id": "4521"})
	wantJSON(t, got, err, `{"status":"shipped","shipped_at":"2026-04-01"}`)

	sent := s.requests()[0]
	if sent.method != "POST" || sent.url != baseURL+"/tools/get_order" || sent.body != `{"order_id":"4521"}` {
		t.Errorf("sent %s %s %s", sent.method, sent.url, sent.body)
	}
	want := http.Header{"Authorization": {"Bearer " + runToken}, "Content-Type": {"application/json"}}
	if len(sent.header) != len(want) || sent.header.Get("Authorization") != "Bearer "+runToken ||
		sent.header.Get("Content-Type") != "application/json" {
		t.Errorf("headers = %v, want %v and no others", sent.header, want)
	}
}

func TestResponseComesAsItIs(t *testing.T) {
	for _, response := range []string{
		`{"a":1}`, `[1,{"b":null}]`, `"pong"`, `"{\"json\":\"text\"}"`, `12345678901234567890.10`, `true`, `false`,
		`null`, `""`, `{}`, `[ ]`,
	} {
		c, _ := scripted(t, answer(200, `{"tool_name":"x","response": `+response+` ,"source":"passthrough"}`))
		got, err := proxy.Call[json.RawMessage](background, c, "x", nil)
		wantJSON(t, got, err, response)
	}
}

func TestDoReturnsTheWholeEnvelope(t *testing.T) {
	c, _ := scripted(t, answer(200,
		`{"tool_name":"x","response":1,"source":"injected","latency_ms":12.5,"matched_rule_index":3,"validation":{"ok":true},"new":[]}`))
	got, err := c.Do(background, "x", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got.Source != proxy.SourceInjected || got.LatencyMS != 12.5 || got.MatchedRule == nil || *got.MatchedRule != 3 ||
		string(got.Validation) != `{"ok":true}` || got.Tool != "x" || got.Attempts != 1 {
		t.Errorf("got %+v", got)
	}
	c, _ = scripted(t, answer(200, `{"response":1,"source":"brand_new","matched_rule_index":null}`))
	if got, err = c.Do(background, "x", nil); err != nil || got.Source != "brand_new" || got.MatchedRule != nil {
		t.Errorf("got %+v, %v", got, err)
	}
}

// What the tool returned counts, whatever else is unusual about the answer.
func TestUnusualEnvelopes(t *testing.T) {
	for _, tt := range []struct {
		answer string
		status int
		source proxy.Source
	}{
		{`{"response":1,"source":"odyssey"}`, 201, proxy.SourceOdyssey},
		{`{"response":1}`, 202, ""},
		{`{"response":1}`, 203, ""},
		{`{"response":1}`, 206, ""},
		{`{"response":1,"source":5}`, 200, ""},
		{`{"response":1,"source":null}`, 200, ""},
		{`{"source":{"name":["odyssey"]},"response":1}`, 200, ""},
		{`{"response":1,"source":"passthrough","latency_ms":"fast","matched_rule_index":[],"tool_name":7}`, 200, proxy.SourcePassthrough},
	} {
		c, _ := scripted(t, answer(tt.status, tt.answer))
		got, err := c.Do(background, "x", nil)
		if err != nil || string(got.Response) != "1" || got.Source != tt.source || got.LatencyMS != 0 || got.MatchedRule != nil {
			t.Errorf("%d %s: %+v, %v", tt.status, tt.answer, got, err)
		}
	}
}

func TestTypedCall(t *testing.T) {
	type order struct {
		Status string `json:"status"`
		Items  int8   `json:"items"`
	}
	type withError struct {
		Error string `json:"error"`
	}
	call := func(body string) (order, error) {
		c, _ := scripted(t, answer(200, body))
		return proxy.Call[order](background, c, "get_order", nil)
	}
	if got, err := call(seedAnswer); err != nil || got.Status != "shipped" {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, failure := range []string{
		`{"response":{"error":"no such order"},"source":"odyssey"}`,
		`{"response":{"error":{"code":7}},"source":"injected"}`,
		`{"response":{"\u0065rror":"an escaped name"},"source":"odyssey"}`,
		`{"response":{"status":"half"},"source":"error"}`,
		`{"response":null,"source":"transport_error"}`,
	} {
		_, err := call(failure)
		e := wantError(t, err, toolwire.CodeToolFailed, proxy.Unknown)
		if e.Result == nil || string(proxy.ToolResult(err)) != string(e.Result.Response) {
			t.Errorf("%s: ToolResult = %s", failure, proxy.ToolResult(err))
		}
	}
	for _, fine := range []string{
		`{"response":{"error":null,"status":"ok"},"source":"odyssey"}`,
		`{"response":{"error":false},"source":"odyssey"}`, `{"response":{"error":""},"source":"odyssey"}`,
	} {
		if _, err := call(fine); err != nil {
			t.Errorf("%s: %v", fine, err)
		}
	}
	// This holds even if T could hold the failure.
	for _, failure := range []string{
		`{"response":{"error":"no such order"},"source":"odyssey"}`, `{"response":{},"source":"transport_error"}`,
	} {
		c, _ := scripted(t, answer(200, failure))
		for _, call := range []func() error{
			func() error { _, err := proxy.Call[withError](background, c, "get_order", nil); return err },
			func() error { _, err := proxy.Call[map[string]any](background, c, "get_order", nil); return err },
			func() error { _, err := proxy.Call[any](background, c, "get_order", nil); return err },
			func() error { _, err := proxy.Call[json.RawMessage](background, c, "get_order", nil); return err },
			func() error { _, err := proxy.Call[readsItself](background, c, "get_order", nil); return err },
		} {
			wantError(t, call(), toolwire.CodeToolFailed, proxy.Unknown)
		}
	}

	_, err := call(`{"response":{"status":"hunter2","items":300},"source":"odyssey"}`)
	e := wantError(t, err, toolwire.CodeResultType, proxy.Unknown)
	if strings.Contains(err.Error(), "300") || !strings.Contains(err.Error(), "items") {
		t.Errorf("err = %v, want the member's name and not its value", err)
	}
	if e.Result == nil || string(e.Result.Response) != `{"status":"hunter2","items":300}` {
		t.Errorf("the result is lost: %+v", e.Result)
	}
}

// Whole numbers of a result fit Go integers in every spelling, as they fit the type integer.
func TestCallTakesWholeNumbers(t *testing.T) {
	type stock struct {
		Items int8    `json:"items"`
		Total uint64  `json:"total"`
		Price float64 `json:"price"`
	}
	call := func(response string) (stock, error) {
		c, _ := scripted(t, answer(200, `{"response":`+response+`,"source":"odyssey"}`))
		return proxy.Call[stock](background, c, "get_stock", nil)
	}
	want := stock{3, 9007199254740993, 2.5}
	if got, err := call(`{"items":3.0,"total":9007199254740993.0,"price":2.5}`); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	for _, response := range []string{`{"total":7,"items":300.0}`, `{"total":7,"items":2.5}`, `{"total":7,"items":1e400}`} {
		got, err := call(response)
		wantError(t, err, toolwire.CodeResultType, proxy.Unknown)
		if got != (stock{}) || !strings.Contains(err.Error(), "/items must be a whole number between -128 and 127") {
			t.Errorf("%s: %+v, %v", response, got, err)
		}
	}
}

func TestArguments(t *testing.T) {
	type args struct {
		ID  string  `json:"id"`
		Max *int    `json:"max"`
		X   float64 `json:"x,omitempty"`
	}
	var nilMap map[string]any
	var nilArgs *args
	for _, tt := range []struct {
		name string
		args any
		body string // "" means refused
	}{
		{"nil", nil, `{}`},
		{"nil map", nilMap, `{}`},
		{"nil pointer", nilArgs, `{}`},
		{"nil raw", json.RawMessage(nil), `{}`},
		{"blank raw", []byte(" \n"), `{}`},
		{"struct", args{ID: "1"}, `{"id":"1","max":null}`},
		{"map", map[string]any{"a": 1}, `{"a":1}`},
		{"raw", json.RawMessage(` {"big": 12345678901234567890 }`), `{"big": 12345678901234567890 }`},
		{"bytes", []byte(`{"a":[]}`), `{"a":[]}`},
		{"actor_id is a parameter like any other", map[string]any{"actor_id": "x"}, `{"actor_id":"x"}`},
		{"array", []int{1}, ""},
		{"string", "hunter2", ""},
		{"number", 7, ""},
		{"raw array", json.RawMessage(`[1]`), ""},
		{"raw null", json.RawMessage(`null`), `{}`},
		{"raw duplicate", json.RawMessage(`{"hunter2x":1,"hunter2x":2}`), ""},
		{"raw broken", json.RawMessage(`{"a":`), ""},
		{"raw two values", json.RawMessage(`{} {}`), ""},
		{"raw too deep", json.RawMessage(`{"a":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + `}`), ""},
		{"channel", map[string]any{"c": make(chan int)}, ""},
		{"NaN", args{X: math.NaN()}, ""},
		{"failing marshaler", map[string]any{"m": failingMarshaler{}}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, s := scripted(t, answer(200, seedAnswer))
			_, err := c.Do(background, "get_order", tt.args)
			if tt.body == "" {
				if tt.name == "raw duplicate" { // a member's name may be shown, its value never
					if toolwire.CodeOf(err) != toolwire.CodeInvalidArguments {
						t.Fatal(err)
					}
				} else {
					wantError(t, err, toolwire.CodeInvalidArguments, proxy.NotSent)
				}
				if len(s.requests()) != 0 {
					t.Error("a request was sent")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := s.requests()[0].body; got != tt.body {
				t.Errorf("sent %s, want %s", got, tt.body)
			}
		})
	}
}

type failingMarshaler struct{}

func (failingMarshaler) MarshalJSON() ([]byte, error) { return nil, errors.New("hunter2") }

func TestDropNulls(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":null}`:       `{}`,
		`{"a":1,"b":null}`: `{"a":1}`,
		`{"a":null,"b":[null,{"c":null,"d":2}],"e":{"f":null}}`:   `{"b":[null,{"d":2}],"e":{}}`,
		`{"a":"null","b":12345678901234567890.10,"c":null,"d":3}`: `{"a":"null","b":12345678901234567890.10,"d":3}`,
		`{"x": "<&> null"}`: `{"x":"<&> null"}`,
	} {
		s := &script{steps: []step{answer(200, seedAnswer)}}
		c := newClient(t, s, func(o *proxy.Options) { o.DropNulls = true })
		if _, err := c.Do(background, "get_order", json.RawMessage(in)); err != nil {
			t.Fatal(err)
		}
		if got := s.requests()[0].body; got != want {
			t.Errorf("%s was sent as %s, want %s", in, got, want)
		}
	}
}

func TestCheckArguments(t *testing.T) {
	s := &script{steps: []step{answer(200, seedAnswer)}}
	c := newClient(t, s, func(o *proxy.Options) {
		o.CheckArguments = func(tool string, args json.RawMessage) error {
			if tool == "refund_order" {
				return errors.New("amount: hunter2 is not a number")
			}
			return nil
		}
	})
	if _, err := c.Do(background, "get_order", nil); err != nil {
		t.Fatal(err)
	}
	_, err := c.Do(background, "refund_order", nil)
	wantError(t, err, toolwire.CodeInvalidArguments, proxy.NotSent)
	if got := string(proxy.ToolResult(err)); got != `{"error":"invalid_arguments","detail":"amount: hunter2 is not a number"}` {
		t.Errorf("the model sees %s", got)
	}
	if len(s.requests()) != 1 {
		t.Errorf("%d requests", len(s.requests()))
	}
}

func TestToolNames(t *testing.T) {
	// As schema.Validate words it.
	const rule = "must be 1 to 128 ASCII letters, digits, _ and -, beginning with a letter or _"
	long := strings.Repeat("a", 128)
	for _, name := range []string{"a", "_", "get_order", "Get-Order2", long} {
		c, _ := scripted(t, answer(200, seedAnswer))
		if _, err := c.Do(background, name, nil); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"", "1a", "-a", "a b", "a/b", "../x", "a?b", "a%2fb", "é", "get_оrder", long + "a",
		"a\n"} {
		c, s := scripted(t, answer(200, seedAnswer))
		_, err := c.Do(background, name, nil)
		wantError(t, err, "invalid_tool_name", proxy.NotSent)
		if !strings.Contains(err.Error(), rule) {
			t.Errorf("%q: the error does not state the rule: %v", name, err)
		}
		if len(s.requests()) != 0 {
			t.Errorf("%q was sent", name)
		}
	}
}

func TestNewReportsEverythingAtOnceAndNoSecret(t *testing.T) {
	for _, tt := range []struct {
		base, token string
		opts        *proxy.Options
		want        []string
	}{
		{"", "", nil, []string{"https://", "host", "token"}},
		{"https://example.com/runs/1/tools/", "t", nil, []string{"must end before /tools and /traces"}},
		{"ftp://user:hunter2@/x?y#z", "hunter2 b", nil, []string{"https://", "host", "user name", "query", "token"}},
		{"https://api.example.com/%zz?hunter2", "t", nil, []string{"must be a URL"}},
		{"https://hunter2@h/x", "t", nil, []string{"a user name or password, a query or a fragment"}},
		{"https://h/x?token=hunter2", "t", nil, []string{"a query"}},
		{"https://h/x?", "t", nil, []string{"a query"}},
		{"https://h/x#hunter2", "t", nil, []string{"a fragment"}},
		{"/relative", "t", nil, []string{"https://", "host"}},
		{"file:///etc/passwd", "t", nil, []string{"https://", "host"}},
		{"http://h", "hunter2\nbreak", nil, []string{"token"}},
		{"http://h", "t", &proxy.Options{MaxAttempts: -1, AttemptTimeout: -1},
			[]string{"MaxAttempts", "AttemptTimeout"}},
	} {
		_, err := proxy.New(tt.base, tt.token, tt.opts)
		wantError(t, err, toolwire.CodeInvalidOptions, proxy.NotSent)
		for _, want := range tt.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("New(%q): %v\nmisses %q", tt.base, err, want)
			}
		}
	}
}

func TestBaseURLs(t *testing.T) {
	for base, want := range map[string]string{
		"https://h/runs/abc":     "https://h/runs/abc/tools/x",
		"https://h/runs/abc/":    "https://h/runs/abc/tools/x",
		"https://h/runs/abc///":  "https://h/runs/abc/tools/x",
		"http://h":               "http://h/tools/x",
		"http://h:8080/":         "http://h:8080/tools/x",
		"http://h/a%2Fb/":        "http://h/a%2Fb/tools/x",
		"HTTP://[::1]:80/p%20q/": "http://[::1]:80/p%20q/tools/x",
	} {
		s := &script{steps: []step{answer(200, seedAnswer)}}
		c, err := proxy.New(base, "t", &proxy.Options{Transport: s})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Do(background, "x", nil); err != nil {
			t.Fatal(err)
		}
		if got := s.requests()[0].url; got != want {
			t.Errorf("%s: sent to %s, want %s", base, got, want)
		}
	}
}

func TestOptionsAreCopied(t *testing.T) {
	tools, declared := []string{"get_order"}, []string{"get_order"}
	s := &script{steps: []step{
		failing(errors.New("broken")), answer(200, seedAnswer),
	}}
	opts := &proxy.Options{Transport: s, Repeatable: tools, Tools: declared}
	c, err := proxy.New(baseURL, runToken, opts)
	if err != nil {
		t.Fatal(err)
	}
	tools[0], declared[0] = "changed", "changed"
	opts.Transport = nil
	if _, err := c.Do(background, "get_order", nil); err != nil {
		t.Errorf("a change after New had an effect: %v", err)
	}
}

func TestActors(t *testing.T) {
	c, s := scripted(t, answer(200, seedAnswer))
	calls := []struct {
		client *proxy.Client
		ctx    context.Context
		want   []string
	}{
		{c, background, nil},
		{c.As("supervisor/refunds"), background, []string{"supervisor/refunds"}},
		{c, proxy.WithActor(background, "flight_info"), []string{"flight_info"}},
		{c.As("a"), proxy.WithActor(background, "b"), []string{"a"}},
		{c.As("a").As(""), background, nil},
		{c.As(""), proxy.WithActor(background, "b"), nil},
	}
	for _, call := range calls {
		if _, err := call.client.Do(call.ctx, "get_order", nil); err != nil {
			t.Fatal(err)
		}
	}
	for i, call := range calls {
		if got := s.requests()[i].header.Values("X-Pipelines-Actor-Id"); !slices.Equal(got, call.want) {
			t.Errorf("call %d: actor header %q, want %q", i, got, call.want)
		}
	}
	// The platform judges labels. The client sends what a header carries, byte for byte.
	for _, label := range []string{"/", "a//b", "/a", "a b", "Billing Specialist", "é", "agent#2", "a=b;c,d", "名前",
		strings.Repeat("a", 300)} {
		if _, err := c.As(label).Do(background, "get_order", nil); err != nil {
			t.Errorf("%q: %v", label, err)
			continue
		}
		if got := s.requests()[len(s.requests())-1].header.Values("X-Pipelines-Actor-Id"); !slices.Equal(got,
			[]string{label}) {
			t.Errorf("%q was sent as %q", label, got)
		}
		calls = append(calls, calls[0])
	}
	for _, bad := range []string{" a", "a ", "a\tb", "a\r\nX-Evil: 1", "a\x00", "a\x7f", "a\xff"} {
		_, err := c.As(bad).Do(background, "get_order", nil)
		wantError(t, err, "actor_id_invalid", proxy.NotSent)
		_, err = c.Do(proxy.WithActor(background, bad), "get_order", nil)
		wantError(t, err, "actor_id_invalid", proxy.NotSent)
	}
	if got := len(s.requests()); got != len(calls) {
		t.Errorf("%d requests for %d good calls", got, len(calls))
	}
}

func TestRunOverEndsEverything(t *testing.T) {
	for _, class := range []string{"run_token_expired", "run_token_invalid", "run_token_rejected"} {
		c, s := scripted(t, answer(401, `{"detail":{"error_class":"`+class+`"}}`), answer(200, seedAnswer))
		sub := c.As("sub")
		_, err := c.Do(background, "get_order", nil)
		e := wantError(t, err, toolwire.CodeRunOver, proxy.Refused)
		if e.Class != class || !proxy.IsRunOver(err) || e.Attempts != 1 {
			t.Errorf("err = %+v", e)
		}
		_, err = sub.Do(background, "refund_order", nil)
		if e := wantError(t, err, toolwire.CodeRunOver, proxy.NotSent); e.Tool != "refund_order" || e.Attempts != 0 {
			t.Errorf("later error = %+v", e)
		}
		if _, err = c.Trace(background, proxy.EventCustom, nil); !proxy.IsRunOver(err) {
			t.Errorf("trace: %v", err)
		}
		if len(s.requests()) != 1 {
			t.Errorf("%d requests after the run was over", len(s.requests()))
		}
	}
}

func TestBareResponse(t *testing.T) {
	for _, body := range []string{`{"status":"shipped"}`, `{"Response":"web"}`, `[1]`, `"text"`} {
		c, _ := scripted(t, answer(200, body))
		_, err := c.Do(background, "x", nil)
		wantError(t, err, toolwire.CodeBadResponse, proxy.Unknown)
	}
}

func TestToolResult(t *testing.T) {
	for _, tt := range []struct {
		step step
		want string
	}{
		{answer(409, `{"detail":{"error_class":"tool_executes_in_sandbox"}}`), `{"error":"tool_executes_in_sandbox"}`},
		{answer(500, `oops`), `{"error":"tool_call_failed"}`},
		{answer(422, `{"detail":"None is not of type 'string'"}`),
			`{"error":"invalid_arguments","detail":"None is not of type 'string'"}`},
		{answer(422, `{"detail":[{"loc":["x"]}]}`), `{"error":"invalid_arguments","detail":"{\"detail\":[{\"loc\":[\"x\"]}]}"}`},
		{answer(422, `{"detail":[{"loc":["body","id"],"msg":"missing","input":{}},{"loc":["body","n"],"msg":"too large"}]}`),
			`{"error":"invalid_arguments","detail":"/body/id: missing; /body/n: too large"}`},
		{answer(422, `{"message":"invalid","details":{"n":"too large"}}`),
			`{"error":"invalid_arguments","detail":"{\"message\":\"invalid\",\"details\":{\"n\":\"too large\"}}"}`},
		{answer(404, `{"detail":{"error_class":"tool_not_executable","message":"no"}}`),
			`{"error":"tool_not_executable","detail":"there is no tool \"x\"; names are case-sensitive"}`},
	} {
		c, _ := scripted(t, tt.step)
		_, err := c.Do(background, "x", nil)
		if got := string(proxy.ToolResult(err)); got != tt.want {
			t.Errorf("%v: the model sees %s, want %s", err, got, tt.want)
		}
	}
	if got := string(proxy.ToolResult(errors.New("hunter2"))); got != `{"error":"tool_call_failed"}` {
		t.Errorf("another error: %s", got)
	}
}

func TestObserver(t *testing.T) {
	s := &script{steps: []step{answer(200, `{"response":{"error":"no"},"source":"odyssey"}`), answer(409, `{}`)}}
	type key struct{}
	seen := &spy{start: func(ctx context.Context) context.Context { return context.WithValue(ctx, key{}, "span") }}
	c := newClient(t, s).Observe(seen.observer()).As("sub")
	_, _ = c.Do(background, "one", map[string]int{"n": 1})
	_, _ = c.Do(background, "two", nil)
	_, _ = c.Do(background, "bad name", nil)

	if len(seen.ends) != 3 {
		t.Fatalf("%d ends", len(seen.ends))
	}
	for _, ctx := range seen.contexts {
		if ctx.Value(key{}) != "span" {
			t.Error("the context of CallStart does not reach CallEnd")
		}
	}
	if end := seen.ends[0]; end.Tool != "one" || end.Actor != "sub" || string(end.Arguments) != `{"n":1}` ||
		end.Result == nil || end.Err != nil {
		t.Errorf("first end: %+v", end)
	}
	if end := seen.ends[1]; end.Result != nil || toolwire.CodeOf(end.Err) != toolwire.CodeRefused {
		t.Errorf("second end: %+v", end)
	}
	if end := seen.ends[2]; end.Result != nil || toolwire.CodeOf(end.Err) != "invalid_tool_name" {
		t.Errorf("third end: %+v", end)
	}
}

// told keeps what observers learn of the arguments, at the start and the end of calls.
type told struct{ starts, ends []json.RawMessage }

func (o *told) observer() *proxy.Observer {
	return &proxy.Observer{
		CallStart: func(ctx context.Context, info proxy.CallInfo) context.Context {
			o.starts = append(o.starts, info.Arguments)
			return ctx
		},
		CallEnd: func(_ context.Context, end proxy.CallEnd) { o.ends = append(o.ends, end.Arguments) },
	}
}

// Observers get the arguments as the caller passed them, including refused ones.
func TestArgumentsOfObservers(t *testing.T) {
	for _, tt := range []struct {
		args any
		want string
	}{
		{nil, `{}`},
		{map[string]any{"n": 1, "x": nil}, `{"n":1,"x":null}`},
		{json.RawMessage(` {"n": 1.0, "x": null} `), `{"n": 1.0, "x": null}`},
		{json.RawMessage(`{"order_id":`), `{"order_id":`},
		{[]byte(`[1]`), `[1]`},
		{[]int{1}, ``},
		{func() {}, ``},
	} {
		seen := &told{}
		c := newClient(t, &script{steps: []step{answer(200, `{"response":1,"source":"odyssey"}`)}},
			func(o *proxy.Options) {
				o.Observer, o.DropNulls = seen.observer(), true
			})
		_, err := c.Do(background, "get_order", tt.args)
		if raw, ok := tt.args.(json.RawMessage); ok {
			clear(raw) // it belongs to the caller again
		}
		if len(seen.starts) != 1 || len(seen.ends) != 1 || string(seen.starts[0]) != tt.want ||
			string(seen.ends[0]) != tt.want {
			t.Errorf("%v: at the start %s, at the end %s (%v); want %s", tt.args, seen.starts, seen.ends, err, tt.want)
		}
	}
}

type spy struct {
	start    func(context.Context) context.Context
	contexts []context.Context
	ends     []proxy.CallEnd
}

func (s *spy) observer() *proxy.Observer {
	o := &proxy.Observer{CallEnd: func(ctx context.Context, end proxy.CallEnd) {
		s.contexts, s.ends = append(s.contexts, ctx), append(s.ends, end)
	}}
	if s.start != nil {
		o.CallStart = func(ctx context.Context, _ proxy.CallInfo) context.Context { return s.start(ctx) }
	}
	return o
}

func TestTrace(t *testing.T) {
	c, s := scripted(t, answer(200, `{"accepted":true,"sequence":17,"event_type":"thinking","more":1}`))
	before := time.Now().Add(-time.Second)
	sequence, err := c.As("sub").Trace(background, proxy.EventThinking, map[string]string{"text": "hm"})
	if err != nil || sequence != 17 {
		t.Fatalf("sequence %d, %v", sequence, err)
	}
	sent := s.requests()[0]
	if sent.url != baseURL+"/traces/thinking" || sent.header.Get("X-Pipelines-Actor-Id") != "sub" {
		t.Errorf("sent to %s with %v", sent.url, sent.header)
	}
	var payload struct {
		At   time.Time `json:"__occurred_at"`
		Text string    `json:"text"`
	}
	if err := json.Unmarshal([]byte(sent.body), &payload); err != nil || payload.Text != "hm" ||
		payload.At.Before(before) {
		t.Errorf("payload %s: %v", sent.body, err)
	}
	own := `{"text":"x","__occurred_at":"2026-01-01T00:00:00Z"}`
	for _, tt := range []struct{ in, want string }{
		{own, own}, {`{"text":"__occurred_at"}`, ""}, {` { } `, ""}, {`{"a":{"__occurred_at":1}}`, ""},
	} {
		if _, err := c.Trace(background, proxy.EventCustom, json.RawMessage(tt.in)); err != nil {
			t.Fatal(err)
		}
		got := s.requests()[len(s.requests())-1].body
		if tt.want == "" {
			var m map[string]any
			if err := json.Unmarshal([]byte(got), &m); err != nil || m["__occurred_at"] == nil {
				t.Errorf("%s was sent as %s: %v", tt.in, got, err)
			}
		} else if got != tt.want {
			t.Errorf("%s was sent as %s", tt.in, got)
		}
	}
	if _, err := c.Handoff(background, "supervisor", "supervisor/refunds"); err != nil {
		t.Fatal(err)
	}
	handoff := s.requests()[len(s.requests())-1]
	if !strings.HasSuffix(handoff.url, "/traces/handoff") ||
		!strings.Contains(handoff.body, `"from_sub_agent":"supervisor","to_sub_agent":"supervisor/refunds"`) {
		t.Errorf("handoff: %s %s", handoff.url, handoff.body)
	}
	count := len(s.requests())
	_, err = c.Trace(background, "tool_call", nil)
	wantError(t, err, "invalid_event", proxy.NotSent)
	_, err = c.Trace(background, proxy.EventCustom, "text")
	wantError(t, err, toolwire.CodeInvalidArguments, proxy.NotSent)
	_, err = c.Handoff(background, "a ", "c")
	wantError(t, err, "actor_id_invalid", proxy.NotSent)
	if len(s.requests()) != count {
		t.Error("a bad event was sent")
	}
	later := newClient(t, &script{steps: []step{answer(200,
		`{"accepted":true,"sequence":17,"Sequence":"x","ACCEPTED":1}`)}})
	if sequence, err := later.Trace(background, proxy.EventCustom, nil); err != nil || sequence != 17 {
		t.Errorf("with later members that differ by case: %d, %v", sequence, err)
	}
	refused := newClient(t, &script{steps: []step{answer(200, `{"accepted":false,"sequence":18}`)}})
	_, err = refused.Trace(background, proxy.EventCustom, nil)
	wantError(t, err, toolwire.CodeRefused, proxy.Unknown)
	if plain, err := newClient(t, &script{steps: []step{answer(200, `{}`)}}).Trace(background, proxy.EventCustom,
		nil); err != nil || plain != 0 {
		t.Errorf("an answer without members: %d, %v", plain, err)
	}
	broken := newClient(t, &script{steps: []step{answer(200, `[]`)}})
	_, err = broken.Trace(background, proxy.EventCustom, nil)
	wantError(t, err, toolwire.CodeBadResponse, proxy.Unknown)
	if strings.Contains(err.Error(), "tool") {
		t.Errorf("the error of a trace event speaks of a tool: %v", err)
	}
}

// A program may ignore the error of a trace event, because the logger gets it.
func TestLostTraceEventsAreLogged(t *testing.T) {
	var log bytes.Buffer
	c := newClient(t, &script{steps: []step{answer(500, ``)}}, func(o *proxy.Options) {
		o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	})
	_, _ = c.Trace(background, proxy.EventThinking, map[string]string{"text": "hunter2"})
	_, _ = c.Trace(background, proxy.Event("hunter2 "+runToken), nil)
	for _, want := range []string{`msg="proxy trace event lost" event=thinking code=server_error`,
		`event="" code=invalid_event`} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log misses %s:\n%s", want, log.String())
		}
	}
	wantNoSecret(t, log.String())
}

func TestProbe(t *testing.T) {
	for _, tt := range []struct {
		step   step
		code   toolwire.Code // "" is success
		advice string
	}{
		{answer(401, `{"detail":{"error_class":"run_token_invalid"}}`), "", ""},
		{answer(401, `no`), "", ""},
		{answer(200, `{}`), toolwire.CodeUnexpectedStatus, "not the proxy"},
		{answer(302, ``, "Location", "/login"), toolwire.CodeUnexpectedStatus,
			"check that the base URL is the proxy's address without a run"},
		{answer(404, `<html>`), toolwire.CodeNotFound, "check that the base URL is the proxy's address without a run"},
		{answer(422, `{"detail":"x"}`), toolwire.CodeInvalidArguments, "the expected answer is 401"},
		{answer(429, ``), toolwire.CodeRateLimited, "probe again later"},
		{answer(500, ``), toolwire.CodeServerError, "probe again later"},
		{answer(503, ``), toolwire.CodeUnavailable, "probe again later"},
		{failing(errors.New("connection refused")), toolwire.CodeTransport, "DNS, firewall"},
	} {
		s := &script{steps: []step{tt.step}}
		err := proxy.Probe(background, "https://api.example.com/api/odyssey-proxy/", &proxy.Options{Transport: s})
		if toolwire.CodeOf(err) != tt.code || (err == nil) != (tt.code == "") {
			t.Errorf("err = %v, want code %q", err, tt.code)
		}
		sent := s.requests()
		if err != nil && (strings.Contains(err.Error(), "tool") || !strings.Contains(err.Error(), tt.advice)) {
			t.Errorf("%v\nwant %q and nothing about tools", err, tt.advice)
		}
		if len(sent) != 1 || sent[0].url != "https://api.example.com/api/odyssey-proxy/tools/__reachability_probe__" ||
			sent[0].body != "{}" || sent[0].header.Get("Authorization") != "Bearer fake-token" {
			t.Errorf("sent %+v", sent)
		}
	}
}

// Every error of an answer says what to do.
func TestErrorsSayWhatToDo(t *testing.T) {
	class := func(c string) string { return `{"detail":{"error_class":"` + c + `","message":"hunter2"}}` }
	for _, tt := range []struct {
		step        step
		call, event string
	}{
		{answer(401, class("run_token_expired")), "stop the agent", "stop the agent"},
		{answer(401, ``), "stop the agent", "stop the agent"},
		{answer(400, class("actor_id_invalid")), "correct the label", "correct the label"},
		{answer(404, ``), "declared in tools_schema", "check that the base URL is the run's"},
		{answer(409, class("tool_executes_in_sandbox")), "cannot be called through the proxy", "see Error.Detail"},
		{answer(409, class("tool_not_executable")), "declared in tools_schema", "see Error.Detail"},
		{answer(403, ``), "check that the base URL is the run's", "check that the base URL is the run's"},
		{answer(403, `no`), "see Error.Detail", "see Error.Detail"},
		{answer(413, ``), "send less", "send less"},
		{answer(422, class("x")), "show ToolResult to the model", "see Error.Detail"},
		{answer(429, ``), "share one Client", "share one Client"},
		{answer(302, ``), "check that the base URL leads to the proxy", "check that the base URL leads to the proxy"},
		{answer(500, ``), "the tool may have run", ""},
		{answer(503, class("maintenance")), "the tool may have run", ""},
		{failing(&net.OpError{Op: "dial", Err: errors.New("refused")}), "DNS, firewall", "DNS, firewall"},
		{failing(errors.New("broken")), "the tool may have run", ""},
	} {
		s := &script{steps: []step{tt.step}}
		one := func(o *proxy.Options) { o.MaxAttempts = 1 }
		_, err := newClient(t, s, one).Do(background, "get_order", nil)
		if err == nil || !strings.Contains(err.Error(), tt.call) {
			t.Errorf("%v\nwant %q", err, tt.call)
		}
		wantNoSecret(t, err.Error())
		_, err = newClient(t, s, one).Trace(background, proxy.EventCustom, nil)
		if err == nil || !strings.Contains(err.Error(), tt.event) || strings.Contains(err.Error(), "the tool ") {
			t.Errorf("%v\nwant %q", err, tt.event)
		}
	}
}

// The token of a probe belongs to no run, so its refusal ends no run.
func TestAProbeEndsNoRun(t *testing.T) {
	s := &script{steps: []step{answer(401, `{"detail":{"error_class":"run_token_invalid"}}`), answer(200, seedAnswer)}}
	opts := proxy.Options{Transport: s, Pacer: new(proxy.Pacer),
		OnRunOver: func(err error) { t.Errorf("OnRunOver was called with %v", err) }}
	if err := proxy.Probe(background, "https://api.example.com/api/odyssey-proxy/", &opts); err != nil {
		t.Fatal(err)
	}
	if _, err := newClient(t, s, func(o *proxy.Options) { *o = opts }).Do(background, "get_order", nil); err != nil {
		t.Errorf("a call after the probe: %v", err)
	}
}

// Two clients derived from one must not see each other's observers.
func TestObserversOfSiblings(t *testing.T) {
	c, _ := scripted(t, answer(200, seedAnswer))
	var calls []string
	observer := func(name string) *proxy.Observer {
		return &proxy.Observer{CallStart: func(ctx context.Context, _ proxy.CallInfo) context.Context {
			calls = append(calls, name)
			return ctx
		}}
	}
	parent := c.Observe(observer("a")).Observe(observer("b")).Observe(observer("c"))
	first := parent.Observe(observer("first"))
	parent.Observe(observer("second"))
	if _, err := first.Do(t.Context(), "get_order", nil); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(calls, " "); got != "a b c first" {
		t.Errorf("observers %q", got)
	}
}

// readsItself decodes any value by a method of its own.
type readsItself struct{ text string }

func (r *readsItself) UnmarshalJSON(data []byte) error { r.text = string(data); return nil }
