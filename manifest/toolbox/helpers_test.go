package toolbox_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/manifest/toolbox"
)

const (
	agentUUID  = "6f1c1a5e-3c1b-4a53-9d7e-0c5f2b8a9e11"
	toolSecret = "tool-call-secret-1"
)

// document has the tools of the page "Bedrock tools".
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
		return "", toolbox.Errorf("nobody is not a name; ask the user")
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

// options returns the options for document. serve, if not nil, responds to all requests.
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

// shown returns what a model reads: the result of a failure, the text of a string, or the result.
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

// onDetailError calls f with the error of each failed request for details. opts.Logger, if it is
// set, keeps its records.
func onDetailError(opts *toolbox.Options, f func(error)) {
	next := slog.DiscardHandler
	if opts.Logger != nil {
		next = opts.Logger.Handler()
	}
	opts.Logger = slog.New(detailErrors{next, f})
}

type detailErrors struct {
	slog.Handler
	f func(error)
}

func (h detailErrors) Enabled(context.Context, slog.Level) bool { return true }

func (h detailErrors) Handle(ctx context.Context, r slog.Record) error {
	if h.Handler.Enabled(ctx, r.Level) {
		if err := h.Handler.Handle(ctx, r); err != nil {
			return err
		}
	}
	r.Attrs(func(a slog.Attr) bool {
		if err, ok := a.Value.Any().(error); ok && r.Message == "the detail of a tool is missing" {
			h.f(err)
		}
		return true
	})
	return nil
}

func (h detailErrors) WithAttrs(attrs []slog.Attr) slog.Handler {
	return detailErrors{h.Handler.WithAttrs(attrs), h.f}
}

// transport responds with a status and a body; status 0 is an error with the body as its text.
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
		response := &http.Response{StatusCode: a.status, Header: http.Header{},
			Body: io.NopCloser(strings.NewReader(a.body)), ContentLength: -1, Request: r}
		if a.status >= 300 && a.status < 400 {
			response.Header.Set("Location", a.body)
		}
		return response, nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}
