package webhook_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/toolwire/toolwire/dispatch/webhook"
)

// Host an external tool. What a platform would send stands in for it here.
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
		Secrets: []string{"a-secret-for-this-example"}, // a real one comes from the environment
		OnCall:  func(_ context.Context, r webhook.Record) { fmt.Printf("%s because %q\n", r.Tool, r.Reasoning) },
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

// A tool is an ordinary function, so that it can be tested as one.
func ExampleNewContext() {
	whoami := func(ctx context.Context, _ struct{}) (string, error) {
		return "agent " + webhook.FromContext(ctx).AgentID, nil
	}
	ctx := webhook.NewContext(context.Background(), &webhook.Call{AgentID: "6f1c1a5e"})
	fmt.Println(whoami(ctx, struct{}{}))
	// Output: agent 6f1c1a5e <nil>
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
