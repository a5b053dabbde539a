package proxy_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/manifest"
	"github.com/toolwire/toolwire/manifest/toolbox"
	"github.com/toolwire/toolwire/proxy"
)

func TestCallForModel(t *testing.T) {
	good := answer(200, `{"response":{"ok":1},"source":"odyssey"}`)
	for _, tt := range []struct {
		name, tool string
		args       any
		step       step
		want       string // all, or a part after "~"
		failed     bool
		sent       string // the body of the request; "" if nothing may be sent
	}{
		{"text of a model", "get_order", `{"id": 1.0}`, good, `{"ok":1}`, false, `{"id": 1.0}`},
		{"bytes of a model", "get_order", []byte(`{"id":1}`), good, `{"ok":1}`, false, `{"id":1}`},
		{"raw JSON", "get_order", json.RawMessage(`{"id":1}`), good, `{"ok":1}`, false, `{"id":1}`},
		{"a Go value", "get_order", map[string]int{"id": 1}, good, `{"ok":1}`, false, `{"id":1}`},
		{"no arguments", "get_order", "", good, `{"ok":1}`, false, `{}`},
		{"nil", "get_order", nil, good, `{"ok":1}`, false, `{}`},
		{"a list", "get_order", `[1]`, good, `~must be an object, not an array; send the arguments as one JSON object`,
			true, ""},
		{"null", "get_order", `null`, good, `{"ok":1}`, false, `{}`},
		{"broken off", "get_order", `{"id":`, good,
			`~{"error":"invalid_arguments","detail":"the arguments are not a JSON object: invalid JSON`, true, ""},
		{"no JSON", "get_order", `call it`, good, `~send the arguments as one JSON object and call the tool again"}`,
			true, ""},
		{"twice", "get_order", `{"a":1,"a":2}`, good, `~twice`, true, ""},
		{"an invented tool", "get_orders", `{}`, good,
			`{"error":"unknown_tool","detail":"there is no tool \"get_orders\"; names are case-sensitive","tools":["get_order","refund"]}`, true, ""},
		{"a name that cannot be", "get order", `{}`, good, `~"tools":["get_order","refund"]}`, true, ""},
		{"a failure of the tool", "refund", `{}`,
			answer(200, `{"response":{"error":"no such order"},"source":"odyssey"}`),
			`{"error":"no such order"}`, true, `{}`},
		{"a failure of the simulator", "refund", `{}`, answer(200, `{"response":"sorry","source":"error"}`), `sorry`,
			true, `{}`},
		{"a refusal", "refund", `{}`, answer(409, `{"detail":{"error_class":"tool_executes_in_sandbox"}}`),
			`{"error":"tool_executes_in_sandbox"}`, true, `{}`},
		{"a refusal of the arguments", "refund", `{}`, answer(422, `{"detail":"id is missing"}`),
			`{"error":"invalid_arguments","detail":"id is missing"}`, true, `{}`},
		{"a fault of the proxy", "refund", `{}`, answer(500, `oops`), `{"error":"tool_call_failed"}`, true, `{}`},
		{"no envelope", "refund", `{}`, answer(200, `oops`), `{"error":"tool_call_failed"}`, true, `{}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &script{steps: []step{tt.step}}
			c := newClient(t, s, func(o *proxy.Options) { o.Tools = []string{"get_order", "refund"} })
			result, err := c.CallForModel(t.Context(), tt.tool, tt.args)
			part, isPart := strings.CutPrefix(tt.want, "~")
			if err != nil || result.Failed != tt.failed || !json.Valid(result.JSON) || result.Text != tt.want &&
				!(isPart && strings.Contains(result.Text, part)) {
				t.Errorf("%s, %t, %v; want %s, %t", result.Text, result.Failed, err, tt.want, tt.failed)
			}
			sent := s.requests()
			if tt.sent == "" && len(sent) > 0 || tt.sent != "" && (len(sent) != 1 || sent[0].body != tt.sent) {
				t.Errorf("sent %+v, want %q", sent, tt.sent)
			}
			wantNoSecret(t, result.Text)
		})
	}
}

// SDKs that take text get a string without quotes, and SDKs that take values get the JSON as it came.
func TestModelResult(t *testing.T) {
	for response, want := range map[string]string{
		`"Created contact: \"Ada\"\nShe lives in Ulm."`: "Created contact: \"Ada\"\nShe lives in Ulm.",
		`"a,b\n1,\"2\"\n"`:           "a,b\n1,\"2\"\n",
		`"{\"status\":\"shipped\"}"`: `{"status":"shipped"}`,
		`{"n": 1.0}`:                 `{"n": 1.0}`,
		`12345678901234567890`:       `12345678901234567890`,
		`null`:                       `null`,
		`""`:                         `""`, // some models' APIs reject a blank text
		`{"error":"no such order"}`:  `{"error":"no such order"}`,
	} {
		c, _ := scripted(t, answer(200, `{"response":`+response+`,"source":"passthrough"}`))
		got, err := c.CallForModel(t.Context(), "get_order", `{}`)
		if err != nil || got.Text != want || string(got.JSON) != response || got.Failed != strings.Contains(response, "error") {
			t.Errorf("%s: %+v, %v; want %s", response, got, err, want)
		}
	}
}

// Without Options.Tools every name is sent, and the proxy decides.
func TestInventedToolsOfTheProxy(t *testing.T) {
	c, s := scripted(t, answer(404, `{"detail":{"error_class":"tool_not_executable","message":"hunter2"}}`))
	result, err := c.CallForModel(t.Context(), "get_orders", `{}`)
	want := `{"error":"tool_not_executable","detail":"there is no tool \"get_orders\"; names are case-sensitive"}`
	if result.Text != want || !result.Failed || err != nil || len(s.requests()) != 1 {
		t.Errorf("%s, %t, %v after %d requests; want %s", result.Text, result.Failed, err, len(s.requests()), want)
	}
	c = newClient(t, s, func(o *proxy.Options) { o.Tools = []string{"get_order"} })
	_, err = c.Do(t.Context(), "get_orders", nil)
	wantError(t, err, toolwire.CodeUnknownTool, proxy.NotSent)
}

// The loop of an agent: show every result to the model, stop at an error.
func TestTheLoopOfAModelStopsWhenTheRunIsOver(t *testing.T) {
	c, s := scripted(t,
		answer(200, `{"response":{"error":"no such order"},"source":"odyssey"}`), answer(500, ``),
		answer(200, `{"response":{"ok":1},"source":"odyssey"}`),
		answer(401, `{"detail":{"error_class":"run_token_expired"}}`),
		answer(200, `{"response":{"ok":2},"source":"odyssey"}`))
	var seen []string
	for range 10 {
		result, err := c.CallForModel(t.Context(), "get_order", `{"id":1}`)
		if err != nil {
			if result.JSON != nil || result.Failed || !proxy.IsRunOver(err) {
				t.Errorf("%s, %t, %v", result.Text, result.Failed, err)
			}
			break
		}
		seen = append(seen, fmt.Sprintf("%t %s", result.Failed, result.Text))
	}
	want := `[true {"error":"no such order"} true {"error":"tool_call_failed"} false {"ok":1}]`
	if fmt.Sprint(seen) != want || len(s.requests()) != 4 {
		t.Errorf("the model saw %v in %d requests; want %s in 4", seen, len(s.requests()), want)
	}
}

func TestCallForModelStops(t *testing.T) {
	cause := errors.New("the platform hung up")
	for _, tt := range []struct {
		name   string
		client func(*proxy.Client) *proxy.Client
		args   any
		cancel bool
		want   toolwire.Code
	}{
		{"the context ends", nil, `{}`, true, toolwire.CodeCanceled},
		{"a label that cannot be sent", func(c *proxy.Client) *proxy.Client { return c.As("a\nb") }, `{}`, false,
			"actor_id_invalid"},
		{"a Go value that is not an object", nil, []int{1}, false, toolwire.CodeInvalidArguments},
		{"a Go value that JSON cannot carry", nil, map[string]any{"a": make(chan int)}, false, toolwire.CodeInvalidArguments},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				if tt.cancel {
					time.AfterFunc(time.Second, func() { cancel(cause) })
				}
				c, _ := scripted(t, func(r *http.Request) (*http.Response, error) {
					<-r.Context().Done()
					return nil,
						r.Context().Err()
				})
				if tt.client != nil {
					c = tt.client(c)
				}
				result, err := c.CallForModel(ctx, "get_order", tt.args)
				if result.JSON != nil || result.Failed || toolwire.CodeOf(err) != tt.want || tt.cancel && !errors.Is(err, cause) {
					t.Errorf("%s, %t, %v; want %s", result.Text, result.Failed, err, tt.want)
				}
			})
		})
	}
}

// A call that the rate limit delays past the deadline is a result: the model can still answer.
func TestCallForModelWithoutTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		good := answer(200, `{"response":1,"source":"odyssey"}`)
		s := &script{steps: []step{good}}
		c := newClient(t, s, func(o *proxy.Options) { o.Pacer = proxy.NewPacer(1, time.Minute) })
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, _ = c.CallForModel(ctx, "get_order", `{}`)
		result, err := c.CallForModel(ctx, "get_order", `{}`)
		want := `{"error":"deadline","detail":"there is no time left for this call; answer with what you have"}`
		if result.Text != want || !result.Failed || err != nil {
			t.Errorf("%s, %t, %v; want %s", result.Text, result.Failed, err, want)
		}
	})
}

// One function makes results of the errors of all packages that call tools.
func TestToolResultOfOtherPackages(t *testing.T) {
	for want, err := range map[string]error{
		`{"error":"tool timed out"}`: &manifest.Error{Code: toolwire.CodeTimeout,
			Message: "tool timed out"},
		`{"error":"tool_failed","detail":"ask for a day"}`: toolbox.Errorf("ask for a day"),
		`{"error":"tool_call_failed"}`:                     errors.New("hunter2"),
		`{"error":"unknown_tool","detail":"there is no tool \"x\"; names are case-sensitive"}`: fmt.Errorf("x: %w",
			&toolbox.Error{Code: toolwire.CodeUnknownTool, Tool: "x"}),
	} {
		if got := string(proxy.ToolResult(err)); got != want {
			t.Errorf("%v: %s, want %s", err, got, want)
		}
	}
	if got := string(proxy.ToolResult(nil)); got != `{"error":"tool_call_failed"}` {
		t.Errorf("nil: %s", got)
	}
}
