package toolbox_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/toolwire/toolwire/manifest/toolbox"
	"github.com/toolwire/toolwire/schema"
)

// A server that validates the arguments of a call by the parameters in the same body accepts them.
func TestTheBodyAgreesWithItself(t *testing.T) {
	const strict = `{"type":"object","properties":{"day":{"type":"string"}},"additionalProperties":false}`
	const declared = `{"type":"object","properties":{"reasoning":{"type":"integer"}},"required":["reasoning"],"additionalProperties":false}`
	for _, tt := range []struct {
		name, parameters, arguments string
		sent                        string // the arguments
	}{
		{"with reasoning", strict, `{"reasoning":"asked","day":"monday"}`, `{"reasoning":"asked","day":"monday"}`},
		{"reasoning alone", strict, `{"reasoning":""}`, `{"reasoning":""}`},
		{"without reasoning", strict, `{"day":"monday"}`, `{"day":"monday"}`},
		{"reasoning of another type", strict, `{"day":"monday","reasoning":7}`, `{"day":"monday"}`},
		{"null reasoning", strict, `{"reasoning":null}`, `{}`},
		{"nothing", strict, ``, `{}`},
		{"no parameters", "null", `{"reasoning":"asked","a":1}`, `{"reasoning":"asked","a":1}`},
		{"no parameters and no reasoning", "null", `{"a":1}`, `{"a":1}`},
		{"declared reasoning", declared, `{"reasoning":7}`, `{"reasoning":7}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var body struct {
				Tool      struct{ Parameters json.RawMessage }
				Arguments json.RawMessage
			}
			box := parse(t, `[{"name":"check","url":"https://api.example.com/check","parameters":`+tt.parameters+`}]`,
				options(func(r *http.Request) (int, string) {
					raw, _ := io.ReadAll(r.Body)
					if err := json.Unmarshal(raw, &body); err != nil {
						t.Errorf("%s: %v", raw, err)
					}
					return 200, `{}`
				}))
			if _, err := box.Call(t.Context(), "check", json.RawMessage(tt.arguments)); err != nil {
				t.Fatal(err)
			}
			if string(body.Arguments) != tt.sent {
				t.Errorf("sent %s, want %s", body.Arguments, tt.sent)
			}
			if body.Tool.Parameters == nil {
				body.Tool.Parameters = json.RawMessage(`{"type":"object"}`)
			}
			validator, err := schema.Compile(body.Tool.Parameters, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := validator.Validate(body.Arguments); err != nil {
				t.Errorf("the arguments do not match the parameters %s: %v", body.Tool.Parameters, err)
			}
		})
	}
}

// The page's example: a handler gets the default of a property that the model left out. A webhook
// gets the arguments of the model.
func TestDefaults(t *testing.T) {
	const parameters = `{"type": "object", "properties": {
		"limit": {"type": "integer", "description": "Max results (default 50)", "default": 50}}}`
	sent := ""
	opts := options(func(r *http.Request) (int, string) {
		raw, _ := io.ReadAll(r.Body)
		sent = string(raw[len(raw)-len(`"arguments":{}}`):])
		return 200, `{}`
	})
	opts.Handlers["list"] = func(_ context.Context, args json.RawMessage, _ toolbox.Agent, _ toolbox.Tool) (string, error) {
		return string(args), nil
	}
	box := parse(t, `[{"name":"list","handler":"list","parameters":`+parameters+`},
		{"name":"far","url":"https://api.example.com/list","parameters":`+parameters+`}]`, opts)
	for args, want := range map[string]string{
		``: `{"limit":50}`, `{"limit":7}`: `{"limit":7}`, `{"reasoning":"all","q":1.50}`: `{"q":1.50,"limit":50}`,
	} {
		if got := shown(box.Call(t.Context(), "list", json.RawMessage(args))); got != want {
			t.Errorf("%s: the handler got %s, want %s", args, got, want)
		}
	}
	if _, err := box.Call(t.Context(), "far", nil); err != nil || sent != `"arguments":{}}` {
		t.Errorf("%v, the webhook got %s", err, sent)
	}
}
