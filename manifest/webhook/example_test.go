package webhook_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/manifest/webhook"
)

// Host an external tool. The requests stand in for a platform.
func Example() {
	type Query struct {
		Day string `json:"day" jsonschema:"enum=monday,enum=friday"`
	}
	type Slots struct {
		Free []string `json:"free"`
	}
	check := func(ctx context.Context, q Query) (Slots, error) {
		if q.Day == "friday" {
			return Slots{}, webhook.Errorf("nothing is free on friday; try monday")
		}
		return Slots{Free: []string{"2pm"}}, nil
	}
	handler, err := webhook.New([]webhook.Tool{
		webhook.Define("check_schedule", "Check availability on the calendar", check),
	}, &webhook.Options{
		Secrets: []string{"a-secret-for-this-example"}, // read a real one from the environment
		OnCall:  func(_ context.Context, end webhook.CallEnd) { fmt.Printf("%s because %q\n", end.Tool, end.Reasoning) },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	mux := http.NewServeMux()
	mux.Handle("POST /tools/{tool}", handler)

	for _, arguments := range []string{
		`{"reasoning":"The user asked for Monday.","day":"monday"}`,
		`{"reasoning":"Monday is too early.","day":"friday"}`,
		`{"reasoning":"Any other day?","day":"sunday"}`,
	} {
		r := httptest.NewRequest("POST", "/tools/check_schedule", strings.NewReader(`{"arguments":`+arguments+`}`))
		r.Header.Set("X-Agent-Secret", "a-secret-for-this-example")
		r.Header.Set("X-Agent-Identity", "6f1c1a5e-3c1b-4a53-9d7e-0c5f2b8a9e11")
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		fmt.Println(w.Code, w.Body)
	}
	// Output:
	// check_schedule because "The user asked for Monday."
	// 200 {"free":["2pm"]}
	// check_schedule because "Monday is too early."
	// 200 {"error":"tool_failed","message":"nothing is free on friday; try monday"}
	// check_schedule because "Any other day?"
	// 200 {"error":"invalid_arguments","message":"arguments: /day must be one of \"monday\", \"friday\"; correct them and call the tool again"}
}

// A test can call the function of a tool directly.
func ExampleNewContext() {
	whoami := func(ctx context.Context, _ struct{}) (string, error) {
		return "agent " + webhook.FromContext(ctx).AgentID, nil
	}
	ctx := webhook.NewContext(context.Background(), &webhook.Call{AgentID: "6f1c1a5e"})
	fmt.Println(whoami(ctx, struct{}{}))
	// Output: agent 6f1c1a5e <nil>
}

// New reports all mistakes at once.
func ExampleNew() {
	_, err := webhook.New([]webhook.Tool{
		{Name: "check schedule"},
	}, &webhook.Options{Secrets: []string{os.Getenv("SECRET_THAT_IS_NOT_SET")}})
	if e, ok := errors.AsType[*toolwire.Error](err); ok {
		for _, p := range e.Problems {
			fmt.Println(p)
		}
	}
	// Output:
	// Options.Secrets[0] is empty; is its environment variable set? [invalid_option]
	// tool "check schedule": /0 Func is nil [func_missing]
	// tool "check schedule": /0/name must be 1 to 128 ASCII letters, digits, _ and -, beginning with a letter or _; " " at byte 5 is not allowed there [name_invalid]
}

// Define infers the parameters of a tool from a struct.
func ExampleDefine() {
	type Query struct {
		Day   string `json:"day" jsonschema:"enum=monday,enum=friday"`
		Hours int    `json:"hours,omitempty"`
	}
	tool := webhook.Define("check_schedule", "Check availability on the calendar",
		func(ctx context.Context, q Query) (string, error) { return q.Day + " is free", nil })
	fmt.Println(string(tool.Parameters))
	result, err := tool.Func(context.Background(), []byte(`{"day":"monday"}`))
	fmt.Println(result, err)
	// Output:
	// {"properties":{"day":{"type":"string","enum":["monday","friday"]},"hours":{"type":"integer"}},"additionalProperties":false,"type":"object","required":["day"]}
	// monday is free <nil>
}

// The JSON of the tools is what the platform registers.
func ExampleTool() {
	type Query struct {
		Day string `json:"day" jsonschema:"enum=monday,enum=friday"`
	}
	check := webhook.Define("check_schedule", "Check availability on the calendar",
		func(ctx context.Context, q Query) (string, error) { return q.Day + " is free", nil })
	check.Adapter = "calendar"
	check.URL = "https://api.yourcompany.com/calendar/check"
	check.DetailURL = "https://api.yourcompany.com/calendar/tool-detail"
	text, err := json.MarshalIndent(check, "", "  ")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(text))
	// Output:
	// {
	//   "name": "check_schedule",
	//   "description": "Check availability on the calendar",
	//   "parameters": {
	//     "properties": {
	//       "day": {
	//         "type": "string",
	//         "enum": [
	//           "monday",
	//           "friday"
	//         ]
	//       }
	//     },
	//     "additionalProperties": false,
	//     "type": "object",
	//     "required": [
	//       "day"
	//     ]
	//   },
	//   "adapter": "calendar",
	//   "url": "https://api.yourcompany.com/calendar/check",
	//   "detail_url": "https://api.yourcompany.com/calendar/tool-detail"
	// }
}

// The text of Errorf reaches the agent. The texts of other errors are only logged.
func ExampleErrorf() {
	err := webhook.Errorf("nothing is free on %s; try another day", "friday")
	fmt.Println(toolwire.CodeOf(err))
	fmt.Println(err)
	// Output:
	// tool_failed
	// webhook: tool_failed: nothing is free on friday; try another day
}

func ExampleDetail() {
	detail := webhook.Detail(func(context.Context) (string, error) {
		return "Available slots this week: Monday 2pm, Wednesday 10am", nil
	}, nil)
	w := httptest.NewRecorder()
	detail.ServeHTTP(w, httptest.NewRequest("GET", "/calendar/tool-detail", nil))
	fmt.Println(w.Body)
	// Output: {"detail":"Available slots this week: Monday 2pm, Wednesday 10am"}
}
