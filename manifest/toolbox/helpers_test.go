package toolbox_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/manifest/toolbox"
)

const (
	agentUUID  = "6f1c1a5e-3c1b-4a53-9d7e-0c5f2b8a9e11"
	toolSecret = "tool-call-secret-1"
)

// The tools of the page Bedrock tools.
const document = `{
	"adapters": [
		{"id": "a-1", "name": "contacts", "description": "The contact book",
		 "config_schema": {"type": "object", "properties": {"api_key": {"type": "string"}}, "required": ["api_key"]},
		 "tools": [{
			"name": "create_contact", "description": "Create a new contact in your contact book",
			"handler": "defaults.contacts.handlers.create_contact",
			"parameters": {"type": "object", "properties": {
				"name": {"type": "string", "description": "Contact's full name"},
				"phone": {"type": "string", "description": "Phone in E.164 format"},
				"email": {"type": "string", "description": "Email address"}}, "required": ["name"], "additionalProperties": false}}]},
		{"id": "a-2", "name": "calendar"}
	],
	"tools": [
		{"name": "check_schedule", "description": "Check availability on the calendar", "adapter": "a-2",
		 "url": "https://api.example.com/calendar/check", "detail_url": "https://api.example.com/calendar/tool-detail"},
		{"name": "ping", "handler": "ping", "parameters": null, "unknown": 1}
	]}`

type contact struct {
	Name  string `json:"name"`
	Phone string `json:"phone"`
	Email string `json:"email"`
}

func createContact(_ context.Context, args contact, agent toolbox.Agent, tool toolbox.Tool) (string, error) {
	if args.Name == "nobody" {
		return "", toolbox.Errorf("nobody is no name; ask the user")
	}
	return "Created contact: " + args.Name + " (by " + tool.Name + " for " + agent.ID + ")", nil
}

func handlers() map[string]toolbox.Handler {
	return map[string]toolbox.Handler{
		"defaults.contacts.handlers.create_contact": toolbox.Typed(createContact),
		"ping": func(_ context.Context, args json.RawMessage, _ toolbox.Agent, _ toolbox.Tool) (string, error) {
			return "pong <" + string(args) + ">", nil
		},
	}
}

// options are good for document; the network is what serve says.
func options(serve func(*http.Request) (int, string)) *toolbox.Options {
	o := &toolbox.Options{Handlers: handlers(), Agent: toolbox.Agent{ID: agentUUID}, Secret: toolSecret}
	if serve != nil {
		o.Transport, o.InsecurePrivateDetails = transport(serve), true
	}
	return o
}

func parse(t testing.TB, doc string, opts *toolbox.Options) *toolbox.Toolbox {
	t.Helper()
	box, err := toolbox.Parse([]byte(doc), opts)
	if err != nil {
		t.Fatal(err)
	}
	return box
}

// shown is what a model reads: of a result that is a string, its text.
func shown(result json.RawMessage, err error) string {
	if e, ok := errors.AsType[*toolbox.Error](err); ok {
		return string(e.ToolResult())
	}
	var s string
	if !bytes.HasPrefix(result, []byte(`"`)) || json.Unmarshal(result, &s) != nil {
		return string(result)
	}
	return s
}

type transport func(*http.Request) (int, string)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) {
	type answer struct {
		status int
		body   string
	}
	done := make(chan answer, 1)
	go func() {
		status, body := f(r)
		done <- answer{status, body}
	}()
	select {
	case a := <-done:
		if a.status == 0 {
			return nil, errors.New(a.body)
		}
		response := &http.Response{StatusCode: a.status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(a.body)), ContentLength: -1, Request: r}
		if a.status >= 300 && a.status < 400 {
			response.Header.Set("Location", a.body)
		}
		return response, nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}
