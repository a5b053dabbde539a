package toolbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/manifest/toolbox"
)

func TestCallForModel(t *testing.T) {
	for _, tt := range []struct {
		name, tool string
		args       any
		status     int
		answer     string // of the webhook
		want       string // all, or a part after "~"
		failed     bool
	}{
		{"text of a model", "create_contact", `{"name":"Ada"}`, 0, "", `~Created contact: Ada`, false},
		{"bytes of a model", "create_contact", []byte(`{"name":"Ada"}`), 0, "", `~Created contact: Ada`, false},
		{"a Go value", "create_contact", contact{Name: "Ada"}, 0, "", `~Created contact: Ada`, false},
		{"no arguments", "ping", "", 0, "", `pong <{}>`, false},
		{"nil", "ping", nil, 0, "", `pong <{}>`, false},
		{"null", "ping", "null", 0, "", `pong <{}>`, false},
		{"a list", "ping", `[1]`, 0, "", `~must be an object, not an array; send the arguments as one JSON object`, true},
		{"broken off", "ping", `{"a":`, 0, "", `~not a JSON object: invalid JSON`, true},
		{"no JSON", "ping", `call it`, 0, "", `~{"error":"invalid_arguments","detail":"the arguments are not a JSON object`,
			true},
		{"twice", "ping", `{"a":1,"a":2}`, 0, "", `~twice`, true},
		{"a mismatch", "create_contact", `{}`, 0, "", `~missing the required property \"name\"`, true},
		{"an invented tool", "ping ", `{}`, 0, "",
			`{"error":"unknown_tool","detail":"there is no tool \"ping \"; names are case-sensitive","tools":["create_contact","check_schedule","ping"]}`, true},
		{"a failure of the tool", "create_contact", `{"name":"nobody"}`, 0, "", `~nobody is not a name; ask the user`, true},
		{"a webhook", "check_schedule", `{}`, 200, `{"free": ["2pm"], "error": null}`, `{"free": ["2pm"], "error": null}`,
			false},
		{"a failure of a webhook", "check_schedule", `{}`, 200, `{"error":"tool_failed","message":"ask for a day"}`,
			`{"error":"tool_failed","message":"ask for a day"}`, true},
		{"a status", "check_schedule", `{}`, 503, `{"detail":"later"}`, `~HTTP status 503: {\"detail\":\"later\"}`, true},
		{"no connection", "check_schedule", `{}`, 0, "reset", `~may or may not have run`, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			box := parse(t, document, options(func(*http.Request) (int, string) { return tt.status, tt.answer }))
			result, err := box.CallForModel(t.Context(), tt.tool, tt.args)
			part, isPart := strings.CutPrefix(tt.want, "~")
			if err != nil || result.Failed != tt.failed || !json.Valid(result.JSON) || result.Text != tt.want &&
				!(isPart && strings.Contains(result.Text, part)) {
				t.Errorf("%s, %t, %v; want %s, %t", result.Text, result.Failed, err, tt.want, tt.failed)
			}
		})
	}
}

func TestCallForModelStops(t *testing.T) {
	cause := errors.New("the user left")
	for _, tt := range []struct {
		name string
		box  func(*toolbox.Options)
		ctx  func(context.Context) context.Context
		args any
		want toolwire.Code
	}{
		{"ended before", nil, func(ctx context.Context) context.Context {
			ctx, cancel := context.WithCancelCause(ctx)
			cancel(cause)
			return ctx
		}, `{}`, toolwire.CodeCanceled},
		{"ends", nil, func(ctx context.Context) context.Context {
			ctx, cancel := context.WithCancelCause(ctx)
			time.AfterFunc(time.Second, func() { cancel(cause) })
			return ctx
		}, `{}`, toolwire.CodeCanceled},
		{"ends, and the model wrote nonsense", nil, func(ctx context.Context) context.Context {
			ctx, cancel := context.WithCancelCause(ctx)
			cancel(cause)
			return ctx
		}, `nonsense`, toolwire.CodeInvalidArguments},
		{"no agent", func(o *toolbox.Options) { o.Agent = toolbox.Agent{} }, nil, `{}`, "no_agent"},
		{"a Go value that is not an object", nil, nil, []int{1}, toolwire.CodeInvalidArguments},
		{"a Go value that JSON cannot represent", nil, nil, map[string]any{"a": make(chan int)}, toolwire.CodeInvalidArguments},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				opts := options(func(r *http.Request) (int, string) { <-r.Context().Done(); return 0, "" })
				if tt.box != nil {
					tt.box(opts)
				}
				ctx := t.Context()
				if tt.ctx != nil {
					ctx = tt.ctx(ctx)
				}
				result, err := parse(t, document, opts).CallForModel(ctx, "check_schedule", tt.args)
				if result.JSON != nil || result.Failed || toolwire.CodeOf(err) != tt.want {
					t.Errorf("%s, %t, %v; want %s", result.Text, result.Failed, err, tt.want)
				}
				if tt.want == toolwire.CodeCanceled && !errors.Is(err, cause) {
					t.Errorf("the cause is lost: %v", err)
				}
			})
		})
	}
}

// A model reads the text of a handler as it is, even if it is JSON, and the response of a webhook.
func TestModelResult(t *testing.T) {
	for _, tt := range []struct{ handler, webhook, text, json string }{
		{handler: "Created contact: \"Ada\"\nShe lives in Ulm.", text: "Created contact: \"Ada\"\nShe lives in Ulm.",
			json: `"Created contact: \"Ada\"\nShe lives in Ulm."`},
		{handler: `{"status":"shipped"}`, text: `{"status":"shipped"}`, json: `"{\"status\":\"shipped\"}"`},
		{webhook: `"free at \"2pm\""`, text: `free at "2pm"`, json: `"free at \"2pm\""`},
		{webhook: `{ "free": 1.0 }`, text: `{ "free": 1.0 }`, json: `{ "free": 1.0 }`},
		{webhook: `null`, text: `null`, json: `null`},
	} {
		o := options(func(*http.Request) (int, string) { return 200, tt.webhook })
		name := "check_schedule"
		if tt.handler != "" {
			name = "ping"
			handler := func(context.Context, json.RawMessage, toolbox.Agent, toolbox.Tool) (string, error) {
				return tt.handler, nil
			}
			for key := range o.Handlers {
				o.Handlers[key] = handler
			}
		}
		got, err := parse(t, document, o).CallForModel(t.Context(), name, `{}`)
		if err != nil || got.Text != tt.text || string(got.JSON) != tt.json || got.Failed {
			t.Errorf("%+v, %v; want %+v", got, err, tt)
		}
	}
}

// A webhook that reports a failure is a failed call, for the caller and for OnCall.
func TestCallFailsForAFailedWebhook(t *testing.T) {
	const answer = `{"error":"no such day","free":[]}`
	o := options(func(*http.Request) (int, string) { return 200, answer })
	var ends []toolbox.CallEnd
	o.OnCall = func(_ context.Context, end toolbox.CallEnd) { ends = append(ends, end) }
	result, err := parse(t, document, o).Call(t.Context(), "check_schedule", nil)
	e, ok := errors.AsType[*toolbox.Error](err)
	if !ok || result != nil || e.Code != toolwire.CodeToolFailed || string(e.ToolResult()) != answer || strings.Contains(err.Error(), "no such day") {
		t.Errorf("%s, %v; want %s", result, err, toolwire.CodeToolFailed)
	}
	if len(ends) != 1 || toolwire.CodeOf(ends[0].Err) != toolwire.CodeToolFailed {
		t.Errorf("OnCall received %+v", ends)
	}
}

// If only the operator can correct a failure, the model reads no details.
func TestToolResultOfTheOperatorsMistakes(t *testing.T) {
	const want = `{"error":"tool_failed","detail":"the tool failed for a reason of its own; trying again may help, other arguments will not"}`
	for _, code := range []toolwire.Code{"invalid_toolbox", "no_agent", "address_not_public",
		"unknown_adapter"} {
		if got := (&toolbox.Error{Code: code, Message: "for the operator"}).ToolResult(); string(got) != want {
			t.Errorf("%s: %s, want %s", code, got, want)
		}
	}
}
