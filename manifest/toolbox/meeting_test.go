package toolbox_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/toolwire/toolwire/manifest/toolbox"
	"github.com/toolwire/toolwire/manifest/webhook"
)

// caller is what an agent needs: *toolbox.Toolbox and *proxy.Client have the method.
type caller interface {
	Call(ctx context.Context, name string, args any) (json.RawMessage, error)
}

// A toolbox calls tools that package webhook serves, while both sides rotate the secret.
func TestToolboxMeetsWebhook(t *testing.T) {
	type query struct {
		Day string `json:"day" jsonschema:"enum=monday,enum=friday"`
	}
	var mu sync.Mutex
	reasons, identities := map[string]int{}, map[string]int{}
	var accepted atomic.Pointer[[]string]
	accepted.Store(&[]string{"first"})
	handler, err := webhook.New([]webhook.Tool{
		webhook.Define("check_schedule", "", func(_ context.Context, q query) (map[string]string, error) {
			return map[string]string{"free": q.Day + " 2pm"}, nil
		}),
		webhook.Define("book", "", func(_ context.Context, q query) (string, error) {
			return "", webhook.Errorf("%s is full; try another day", q.Day)
		}),
	}, &webhook.Options{SecretFunc: func() []string { return *accepted.Load() },
		OnCall: func(_ context.Context, r webhook.CallEnd) {
			mu.Lock()
			defer mu.Unlock()
			reasons[r.Reasoning]++
			identities[r.AgentID]++
		}})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("POST /tools/{tool}", handler)
	mux.Handle("GET /detail", webhook.Detail(func(context.Context) (string, error) { return "Monday 2pm", nil }, nil))
	server := httptest.NewServer(mux)
	defer server.Close()

	parameters := `{"type":"object","properties":{"day":{"type":"string"}},"required":["day"],"additionalProperties":false}`
	withSecret := func(secret string) caller {
		return parse(t, `[{"name":"check_schedule","url":"`+server.URL+`/tools/check_schedule","parameters":`+parameters+`},
			{"name":"book","url":"`+server.URL+`/tools/book","parameters":`+parameters+`}]`,
			&toolbox.Options{Agent: toolbox.Agent{ID: agentUUID}, Secret: secret})
	}
	first, second := withSecret("first"), withSecret("second")
	var current atomic.Pointer[caller]
	current.Store(&first)

	detailed := parse(t, `[{"name":"check_schedule","description":"Check","url":"`+server.URL+
		`/tools/check_schedule","detail_url":"`+server.URL+`/detail"}]`,
		&toolbox.Options{Secret: "first", InsecurePrivateDetails: true})
	defs, err := detailed.Definitions(t.Context())
	if err != nil || defs[0].Description != "Check\n\nMonday 2pm" {
		t.Errorf("%+v %v", defs, err)
	}
	stop := make(chan struct{})
	var calls atomic.Int32
	var running sync.WaitGroup
	for range 4 {
		running.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				calls.Add(1)
				text := shown((*current.Load()).Call(t.Context(), "check_schedule",
					json.RawMessage(`{"reasoning":"The user asked.","day":"friday"}`)))
				if text != `{"free":"friday 2pm"}` {
					t.Errorf("a call failed: %s", text)
					return
				}
			}
		})
	}
	moreCalls := func() { // of the goroutines and of this one
		for target := calls.Load() + 20; calls.Load() < target && !t.Failed(); {
			_, _ = (*current.Load()).Call(t.Context(), "check_schedule", map[string]string{"day": "monday"})
		}
	}
	moreCalls()
	accepted.Store(&[]string{"first", "second"})
	moreCalls()
	current.Store(&second)
	moreCalls()
	close(stop)
	running.Wait() // no call uses the old secret any more
	accepted.Store(&[]string{"second"})

	for args, want := range map[string]string{
		`{"day":"monday"}`:                  `{"free":"monday 2pm"}`,
		`{"day":"sunday","reasoning":true}`: `"error":"invalid_arguments"`, // the server's schema is stricter
		`{"day":7}`:                         `"detail":"arguments: /day must be`,
	} {
		if text := shown((*current.Load()).Call(t.Context(), "check_schedule",
			json.RawMessage(args))); !strings.Contains(text, want) {
			t.Errorf("%s: %s, want %s", args, text, want)
		}
	}
	if text := shown((*current.Load()).Call(t.Context(), "book",
		query{"monday"})); text != `{"error":"tool_failed","message":"monday is full; try another day"}` {
		t.Error(text)
	}
	current.Store(&first)
	if text := shown((*current.Load()).Call(t.Context(), "book", query{"monday"})); !strings.Contains(text,
		"does not accept the secret") {
		t.Errorf("with the old secret: %s", text)
	}
	if reasons["The user asked."] == 0 || reasons["true"] != 0 || len(identities) != 1 || identities[agentUUID] == 0 {
		t.Errorf("the server received %v of %v", fmt.Sprint(reasons), identities)
	}
}

// What a server prints for the registration of its tools is a document for a toolbox.
func TestToolboxReadsWhatAWebhookRegisters(t *testing.T) {
	type query struct {
		Day   string `json:"day"`
		Limit int    `json:"limit,omitempty" jsonschema:"default=50"`
	}
	check := webhook.Define("check", "Check <all>", func(context.Context, query) (string, error) { return "", nil })
	check.Adapter, check.URL = "calendar", "https://api.example.com/tools/check?a=1&b=2"
	bare := webhook.Tool{Name: "bare", URL: "https://api.example.com/tools/bare", DetailURL: "https://api.example.com/detail"}
	document, err := json.Marshal([]webhook.Tool{check, bare})
	if err != nil {
		t.Fatal(err)
	}
	tools := parse(t, string(document), &toolbox.Options{Secret: toolSecret}).Tools()
	if tools[0].Adapter != check.Adapter || tools[0].URL != check.URL || tools[0].Description != check.Description ||
		string(tools[0].Parameters) != string(check.Parameters) {
		t.Errorf("read %+v from %s", tools[0], document)
	}
	if tools[1].URL != bare.URL || tools[1].DetailURL != bare.DetailURL || tools[1].Parameters != nil || tools[1].Adapter != "" {
		t.Errorf("read %+v from %s", tools[1], document)
	}
}
