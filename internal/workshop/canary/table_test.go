package canary

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/cassette"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/eval"
	"github.com/toolwire/toolwire/dispatch/llm/llmtest"
	"github.com/toolwire/toolwire/dispatch/registration"
	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/manifest"
	"github.com/toolwire/toolwire/manifest/catalog"
	"github.com/toolwire/toolwire/manifest/toolbox"
	"github.com/toolwire/toolwire/manifest/webhook"
	"github.com/toolwire/toolwire/proxy"
)

// row is an exported type that holds or sees a secret, with one in it.
type row struct {
	name  string
	value any
	wire  bool // its JSON has to have the secret, because it is what is sent
	open  bool // an exported field has the secret: fmt shows it where it calls no methods
}

const agentID = "6f1c1a5e-3c1b-4a53-9d7e-0c5f2b8a9e11"

// table has every exported type that holds or sees a secret, as a value and as a pointer where both
// are in use.
func table(t *testing.T) []row {
	t.Helper()
	var rows []row
	add := func(name string, values ...any) {
		for _, v := range values {
			rows = append(rows, row{name: name, value: v})
		}
	}
	addOpen := func(name string, values ...any) {
		for _, v := range values {
			rows = append(rows, row{name: name, value: v, open: true})
		}
	}
	addWire := func(name string, values ...any) {
		for _, v := range values {
			rows = append(rows, row{name: name, value: v, open: true, wire: true})
		}
	}

	client := must(proxy.New("https://proxy.example.com/runs/7", secret, nil))(t)
	add("proxy.Client", client, client.As("a"))
	clientOptions := waiting(t)
	add("proxy.Options", *clientOptions, clientOptions)
	add("proxy.Pacer", clientOptions.Pacer)

	options := dispatch.Options{Tokens: []string{secret}, TokenFunc: func() []string { return []string{secret} }}
	handler := must(dispatch.New(answer, &options))(t)
	addOpen("dispatch.Options", options, &options)
	add("dispatch.Handler", handler)
	run, start, end := dispatched(t)
	add("dispatch.Run", run, *run)
	add("dispatch.RunStart", start, &start)
	add("dispatch.RunEnd", end, &end)
	add("dispatch.Transcript", run.Transcript())
	add("dispatch.Transcript", run.Transcript())

	reg := registration.Registration{
		Name: "a", EndpointURL: "https://agent.example.com/", AuthHeader: "Authorization", AuthValue: "Bearer " + secret,
		Extra: []ledger.Member{{Name: "auth_header_value", Value: json.RawMessage(`"` + secret + `"`)}},
	}
	addOpen("dispatch/registration.Registration", reg, &reg)
	add("dispatch/registration.Client", must(registration.NewClient("https://api.example.com", secret, nil))(t))

	hookOptions := webhook.Options{Secrets: []string{secret}, SecretFunc: func() []string { return []string{secret} }}
	addOpen("manifest/webhook.Options", hookOptions, &hookOptions)
	add("manifest/webhook.New", must(webhook.New([]webhook.Tool{{Name: "a", Func: nothing}}, &hookOptions))(t))

	boxOptions := toolbox.Options{Secret: secret, Agent: toolbox.Agent{ID: agentID}}
	box := must(toolbox.Parse([]byte(`{"adapters":[{"name":"a","tools":[{"name":"t","description":"d","url":"https://tools.example.com/t"}]}]}`), &boxOptions))(t)
	addOpen("manifest/toolbox.Options", boxOptions, &boxOptions)
	add("manifest/toolbox.Client", must(toolbox.NewClient(secret, nil))(t))
	add("manifest/toolbox.Toolbox", box, *box, must(box.For(toolbox.Agent{ID: agentID}))(t))

	target := dispatchtest.Target{URL: "https://agent.example.com/dispatch?key=" + secret, AuthValue: "Bearer " + secret, Options: &options}
	addOpen("dispatch/dispatchtest.Target", target, &target)
	result := echoed(t)
	add("dispatch/dispatchtest.Result", result, *result)
	add("dispatch/eval.Trial", eval.Trial{Result: result})
	add("dispatch/eval.Experiment", &eval.Experiment{Trials: []eval.Trial{{Result: result}}})

	tape := filepath.Join(t.TempDir(), "tape.jsonl")
	played := must(cassette.New(tape, &cassette.Options{Mode: cassette.Record}))(t)
	recorder := must(cassette.NewRecorder(t.TempDir(), &cassette.RecorderOptions{Transport: repeating{}}))(t)
	for _, transport := range []http.RoundTripper{played.Transport(repeating{}), recorder} {
		c := must(proxy.New("http://proxy.example.com", secret, &proxy.Options{Transport: transport, MaxAttempts: 1}))(t)
		_, _ = c.Do(t.Context(), "get_order", map[string]string{"note": "my token is " + secret})
	}
	for _, transport := range []http.RoundTripper{played.Model(repeating{}), recorder.Model(repeating{})} {
		asked := must(http.NewRequestWithContext(t.Context(), http.MethodPost, "https://model.example.com/v1/messages?key="+secret,
			strings.NewReader(`{"messages":[{"role":"user","content":"my key is `+secret+`"}]}`)))(t)
		asked.Header.Set("X-Api-Key", secret)
		_ = must(transport.RoundTrip(asked))(t).Body.Close()
	}
	add("dispatch/cassette.Cassette", played)
	add("dispatch/cassette.Recorder", recorder)
	if err := played.Close(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = recorder.Close() })
	add("dispatch/cassette.Tape", must(cassette.Load(tape))(t))
	add("dispatch/cassette.Report", played.Report())

	item := catalog.ListItem{ID: agentID, Tool: catalog.Tool{Name: "a"}, ScriptContent: "password = '" + secret + "'"}
	stored := catalog.StoredTool{ListItem: item}
	addWire("manifest/catalog.ListItem", item, &item)
	addWire("manifest/catalog.StoredTool", stored, &stored)
	store := catalog.NewMemoryStore()
	if err := store.Create(t.Context(), stored); err != nil {
		t.Fatal(err)
	}
	add("manifest/catalog.NewMemoryStore", store)
	add("manifest/catalog.NewHandler", must(catalog.NewHandler(store, &catalog.HandlerOptions{InsecureAccount: agentID}))(t))
	add("manifest/catalog.Client", must(catalog.NewClient("https://catalog.example.com", secret, nil))(t))

	model := llmtest.NewModel(llmtest.Text("hi"), llmtest.Text("hi"))
	ask := must(http.NewRequestWithContext(t.Context(), http.MethodPost, model.URL+"/chat/completions?key="+secret,
		strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"hi"}]}`)))(t)
	ask.Header.Set("Authorization", "Bearer "+secret)
	_ = must(model.Client().Do(ask))(t).Body.Close()
	ask = must(http.NewRequestWithContext(t.Context(), http.MethodPost, model.URL+"/model/arn:aws:bedrock:eu-west-1:"+url.PathEscape(secret)+":inference-profile%2Fm/converse",
		strings.NewReader(`{"messages":[{"role":"user","content":[{"text":"hi"}]}]}`)))(t)
	ask.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=AKID/20261127, SignedHeaders=host, Signature="+secret)
	ask.Header.Set("X-Amz-Security-Token", secret)
	_ = must(model.Client().Do(ask))(t).Body.Close()
	add("dispatch/llm/llmtest.Model", model)

	env := &manifest.Options{LookupEnv: func(string) (string, bool) { return secret, true }}
	add("manifest.Options", env)

	return rows
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func answer(context.Context, *dispatch.Run) (*dispatch.Response, error) {
	return &dispatch.Response{FinalResponse: "done"}, nil
}

func nothing(context.Context, json.RawMessage) (any, error) { return nil, nil }

// waiting returns the options of a client with a call in the queue of its pacer.
func waiting(t *testing.T) *proxy.Options {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	queued, done := make(chan struct{}), make(chan struct{})
	options := &proxy.Options{Transport: repeating{}, Pacer: proxy.NewPacer(1, time.Hour), MaxAttempts: 1,
		Observer: &proxy.Observer{WaitStart: func(context.Context, proxy.WaitInfo) { close(queued) }}}
	client := must(proxy.New("http://proxy.example.com", secret, options))(t)
	go func() {
		defer close(done)
		for range 2 {
			_, _ = client.Do(ctx, "get_order", nil)
		}
	}()
	<-queued
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return options
}

// dispatched returns a run whose token is in the header and in the body, and what an observer gets.
func dispatched(t *testing.T) (run *dispatch.Run, start dispatch.RunStart, end dispatch.RunEnd) {
	t.Helper()
	handler := must(dispatch.New(func(_ context.Context, r *dispatch.Run) (*dispatch.Response, error) {
		run = r
		return nil, nil
	}, &dispatch.Options{InsecureNoAuth: true, Observer: &dispatch.Observer{
		RunStart: func(ctx context.Context, s dispatch.RunStart) context.Context {
			start = s
			return ctx
		},
		RunEnd: func(_ context.Context, e dispatch.RunEnd) { end = e },
	}}))(t)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(
		`{"run_id":7,"input":{"user_instruction":"Do it."},"odyssey_proxy_url":"https://proxy.example.com/runs/7","run_token":"`+secret+`"}`))
	r.Header.Set("X-Pipelines-Run-Token", secret)
	w := httptest.NewRecorder()
	if handler.ServeHTTP(w, r); run == nil || start.Header == nil || end.Run == nil {
		t.Fatal(w.Body)
	}
	return run, start, end
}

// echoed returns the result of a run of an agent that repeats its auth value.
func echoed(t *testing.T) *dispatchtest.Result {
	t.Helper()
	return must(dispatchtest.Dispatch(t.Context(), dispatchtest.Target{AuthValue: "Bearer " + secret, Handler: http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusTeapot)
			_, _ = w.Write([]byte(r.Header.Get("Authorization")))
		})}, dispatchtest.Task{Instruction: "Do it."}))(t)
}

// repeating answers with what it was sent.
type repeating struct{}

func (repeating) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	w.WriteHeader(http.StatusBadRequest)
	_, _ = w.WriteString(`{"detail":{"error_class":"` + secret + `","message":"` + r.Header.Get("Authorization") + `"}}`)
	return w.Result(), nil
}
