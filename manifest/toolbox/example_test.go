package toolbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/toolwire/toolwire/manifest/toolbox"
	"github.com/toolwire/toolwire/manifest/webhook"
	"github.com/toolwire/toolwire/schema"
)

// All problems are reported at once.
func ExampleParse() {
	_, err := toolbox.Parse([]byte(`{"tools": [
		{"name": "create_contact", "handler": "contacts.create"},
		{"name": "check_schedule", "url": "/check"}
	]}`), nil)
	fmt.Println(err)
	// Output:
	// toolbox: invalid_toolbox: the toolbox is not valid: 3 problems:
	//   - tool "create_contact": /tools/0/handler names contacts.create, for which Options.Handlers has no function; it has none [handler_unregistered]
	//   - tool "check_schedule": /tools/1/url must be an absolute http or https URL without user and fragment [url_invalid]
	//   - Options.Secret is required: the document has external tools, whose servers verify it [invalid_option]
}

// The tools of an adapter become tools of an agent.
func ExampleNewClient() {
	platform := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprint(w, `{"results": [{"name": "ping", "description": "Ping", "handler": "defaults.ping", "adapter": "a-1"}],
			"pagination": {"total_count": 1, "limit": 50, "offset": 0, "has_more": false}}`)
	}))
	defer platform.Close()
	client, err := toolbox.NewClient("bk_a-key-for-this-example", &toolbox.ClientOptions{BaseURL: platform.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	tools, err := client.Tools(context.Background(), "a-1")
	if err != nil {
		fmt.Println(err)
		return
	}
	document, err := json.Marshal(tools)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(document))
	ping := func(context.Context, json.RawMessage, toolbox.Agent, toolbox.Tool) (string, error) {
		return "pong", nil
	}
	box, err := toolbox.Parse(document, &toolbox.Options{Handlers: map[string]toolbox.Handler{"defaults.ping": ping}})
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := box.Call(context.Background(), "ping", nil)
	fmt.Println(string(result), err)
	// Output:
	// [{"name":"ping","description":"Ping","adapter":"a-1","handler":"defaults.ping"}]
	// "pong" <nil>
}

// The model reads the text of Errorf, and no text of another error.
func ExampleErrorf() {
	ask := func(_ context.Context, args json.RawMessage, _ toolbox.Agent, _ toolbox.Tool) (string, error) {
		if string(args) == "{}" {
			return "", toolbox.Errorf("the number is missing; ask the user for it")
		}
		return "", errors.New("dial tcp 10.0.0.7:5432: connection refused")
	}
	box, err := toolbox.Parse([]byte(`{"name": "ask", "handler": "ask"}`),
		&toolbox.Options{Handlers: map[string]toolbox.Handler{"ask": ask}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, args := range []string{`{}`, `{"number":7}`} {
		result, _ := box.CallForModel(context.Background(), "ask", args)
		fmt.Println(result.Text, result.Failed)
	}
	// Output:
	// {"error":"tool_failed","detail":"the number is missing; ask the user for it"} true
	// {"error":"tool_failed","detail":"the tool failed for a reason of its own; trying again may help, other arguments will not"} true
}

// Typed decodes the arguments of a model.
func ExampleTyped() {
	type query struct {
		Limit int `json:"limit"`
	}
	list := toolbox.Typed(func(_ context.Context, q query, _ toolbox.Agent, tool toolbox.Tool) (string, error) {
		return fmt.Sprintf("%s returns %d contacts", tool.Name, q.Limit), nil
	})
	box, err := toolbox.Parse([]byte(`[{"name": "list_contacts", "handler": "contacts.list"}]`),
		&toolbox.Options{Handlers: map[string]toolbox.Handler{"contacts.list": list}})
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := box.Call(context.Background(), "list_contacts", map[string]int{"limit": 50})
	fmt.Println(string(result), err)
	// Output: "list_contacts returns 50 contacts" <nil>
}

// For returns the tools of another agent.
func ExampleToolbox_For() {
	whoami := func(_ context.Context, _ json.RawMessage, agent toolbox.Agent, _ toolbox.Tool) (string, error) {
		return agent.ID, nil
	}
	box, err := toolbox.Parse([]byte(`[{"name": "whoami", "handler": "whoami"}]`),
		&toolbox.Options{Handlers: map[string]toolbox.Handler{"whoami": whoami}})
	if err != nil {
		fmt.Println(err)
		return
	}
	other, err := box.For(toolbox.Agent{ID: "6f1c1a5e-3c1b-4a53-9d7e-0c5f2b8a9e11"})
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := other.Call(context.Background(), "whoami", nil)
	fmt.Println(string(result), err)
	// Output: "6f1c1a5e-3c1b-4a53-9d7e-0c5f2b8a9e11" <nil>
}

// An agent with an internal tool. Results of failed calls tell the model what to do.
func Example() {
	type Contact struct {
		Name  string `json:"name"`
		Phone string `json:"phone"`
	}
	book := map[string]string{}
	createContact := func(_ context.Context, args Contact, _ toolbox.Agent, _ toolbox.Tool) (string, error) {
		if _, ok := book[args.Name]; ok {
			return "", toolbox.Errorf("a contact has that name; ask for another one")
		}
		book[args.Name] = args.Phone
		return "Created contact: " + args.Name, nil
	}
	box, err := toolbox.Parse([]byte(`{"adapters": [{"name": "contacts", "tools": [{
		"name": "create_contact", "description": "Create a new contact in your contact book",
		"handler": "defaults.contacts.create_contact",
		"parameters": {"type": "object", "properties": {"name": {"type": "string"}, "phone": {"type": "string"}}, "required": ["name"]}
	}]}]}`), &toolbox.Options{
		Handlers: map[string]toolbox.Handler{"defaults.contacts.create_contact": toolbox.Typed(createContact)},
		OnCall: func(_ context.Context, end toolbox.CallEnd) {
			fmt.Printf("%s because %q\n", end.Tool, end.Reasoning)
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	for _, arguments := range []string{
		`{"reasoning": "The user met Ada.", "name": "Ada"}`,
		`{"reasoning": "The user met Ada again.", "name": "Ada"}`,
		`{"reasoning": "The user met a person."}`,
	} {
		result, err := box.CallForModel(ctx, "create_contact", arguments)
		if err != nil {
			fmt.Println(err) // the agent should stop
			return
		}
		fmt.Println(result.Text, result.Failed)
	}
	// Output:
	// create_contact because "The user met Ada."
	// Created contact: Ada false
	// create_contact because "The user met Ada again."
	// {"error":"tool_failed","detail":"a contact has that name; ask for another one"} true
	// create_contact because "The user met a person."
	// {"error":"invalid_arguments","detail":"arguments: is missing the required property \"name\"; correct them and call the tool again"} true
}

// A definition has the parameter reasoning, and the current detail after the description.
func ExampleToolbox_Definitions() {
	mux := http.NewServeMux()
	mux.Handle("GET /detail", webhook.Detail(func(context.Context) (string, error) {
		return "Available slots: Monday 2pm", nil
	}, nil))
	server := httptest.NewServer(mux)
	defer server.Close()

	box, err := toolbox.Parse([]byte(`[{"name": "check_schedule", "description": "Check availability on the calendar",
		"url": "`+server.URL+`/check", "detail_url": "`+server.URL+`/detail",
		"parameters": {"type": "object", "properties": {"day": {"type": "string"}}, "required": ["day"]}}]`),
		&toolbox.Options{Secret: "a-secret-for-this-example", InsecurePrivateDetails: true}) // the server is on this machine
	if err != nil {
		fmt.Println(err)
		return
	}
	tools, err := box.Definitions(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	list, _, err := schema.Export(tools, schema.Anthropic)
	fmt.Println(string(list), err)
	// Output: [{"name":"check_schedule","description":"Check availability on the calendar\n\nAvailable slots: Monday 2pm","input_schema":{"type":"object","properties":{"reasoning":{"type":"string","description":"The reasoning for the tool call."},"day": {"type": "string"}},"required":["reasoning","day"]}}] <nil>
}

// A call of an external tool is a request to its webhook.
func ExampleToolbox_Call() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Println(r.Method, r.Header.Get("X-Agent-Identity"))
		fmt.Fprint(w, `{"free": ["2pm"]}`)
	}))
	defer server.Close()
	box, err := toolbox.Parse([]byte(`[{"name": "check_schedule", "url": "`+server.URL+`/check"}]`), &toolbox.Options{
		Agent:  toolbox.Agent{ID: "6f1c1a5e-3c1b-4a53-9d7e-0c5f2b8a9e11"},
		Secret: "a-secret-for-this-example",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := box.Call(context.Background(), "check_schedule", map[string]string{"day": "monday"})
	fmt.Println(string(result), err)
	// Output:
	// POST 6f1c1a5e-3c1b-4a53-9d7e-0c5f2b8a9e11
	// {"free": ["2pm"]} <nil>
}

// The loop of an agent passes each call of the model on. Results of failed calls tell the model
// what to correct.
func ExampleToolbox_CallForModel() {
	ping := func(context.Context, json.RawMessage, toolbox.Agent, toolbox.Tool) (string, error) {
		return "pong", nil
	}
	box, err := toolbox.Parse([]byte(`[{"name": "ping", "handler": "ping"}]`), &toolbox.Options{
		Handlers: map[string]toolbox.Handler{"ping": ping},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	calls := []struct{ name, arguments string }{ // of the model
		{"ping", ""}, {"pong", "{}"}, {"ping", `{"host": `},
	}
	for _, call := range calls {
		result, err := box.CallForModel(context.Background(), call.name, call.arguments)
		if err != nil {
			fmt.Println("stop:", err)
			return
		}
		fmt.Println(result.Failed, result.Text)
	}
	// Output:
	// false pong
	// true {"error":"unknown_tool","detail":"there is no tool \"pong\"; names are case-sensitive","tools":["ping"]}
	// true {"error":"invalid_arguments","detail":"the arguments are not a JSON object: invalid JSON at byte 8: /host ends before the JSON value is complete; send the arguments as one JSON object and call the tool again"}
}
