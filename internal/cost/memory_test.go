package cost_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/cassette"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/eval"
	"github.com/toolwire/toolwire/dispatch/llm"
	"github.com/toolwire/toolwire/dispatch/llm/llmtest"
	"github.com/toolwire/toolwire/dispatch/registration"
	"github.com/toolwire/toolwire/internal/cost"
	"github.com/toolwire/toolwire/internal/testkit"
	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/manifest"
	"github.com/toolwire/toolwire/manifest/catalog"
	"github.com/toolwire/toolwire/manifest/toolbox"
	"github.com/toolwire/toolwire/manifest/webhook"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
	"github.com/toolwire/toolwire/schema"
)

// An element is what a document is full of. What takes the fewest bytes as text takes the most memory for each of them.
type element struct {
	name  string
	piece func(i int) string
}

var elements = []element{
	{"{}", same(`{}`)}, {"1", same(`1`)}, {"null", same(`null`)}, {"[]", same(`[]`)}, {`""`, same(`""`)},
	{`{"a":1}`, same(`{"a":1}`)}, {"names", numbered(`{"name":"n%d"}`)}, {"numbers", numbered("%d")}, {"texts", numbered(`"t%d"`)},
}

// A place is where a reader takes elements: between open and end, separated by sep. In an object, each element has a
// name of its own.
type place struct {
	name      string
	open, end string
	sep       string // "," if empty
	members   bool
	perByte   uint64 // live bytes for a byte of the document; 0 is flat
	read      func(doc []byte) any
}

// Without a map, a reader keeps at most flat bytes for a byte of its document, and with one at most mapped. These
// cannot:
//
//   - rows: a row of a dataset has two maps, and may have two bytes. A dataset has at most 100,000 rows.
//   - doubled: elements of two bytes are decoded into a slice, which doubles as it grows.
//   - decoded: the library for JSONPath selects from decoded values, of a response of at most 1 MiB. The tool calls of
//     a response are decoded too, for which encoding/json of Go 1.27 needs more than before.
//   - messages: FromConversation makes a message of an element of three bytes, of a conversation that the agent has.
const (
	flat    = 40
	mapped  = 64
	ofRows  = 320
	doubled = 64

	constant = 4 << 20 // of all readers: what does not depend on the size, such as a list of bounded length
	decoded  = 96
	messages = 128
)

// document returns about size bytes of elements at the place.
func (p *place) document(e element, size int) []byte {
	b := []byte(p.open)
	for i := 0; len(b)+len(p.end) < size; i++ {
		if i > 0 {
			b = append(b, cmp.Or(p.sep, ",")...)
		}
		if p.members {
			b = fmt.Appendf(b, `"k%d":`, i)
		}
		b = append(b, e.piece(i)...)
	}
	return append(b, p.end...)
}

// holding keeps everything that a reader returns.
func holding(values ...any) any { return values }

func imported(f schema.Format) func(doc []byte) any {
	return func(doc []byte) any {
		tools, _, err := schema.Import(doc, f)
		unchecked, invalid := schema.Validate(context.Background(), tools, nil)
		list, losses, unwritable := schema.Export(tools, schema.OpenAIChat)
		return holding(tools, err, unchecked, invalid, schema.Lint(tools, nil), list, losses, unwritable)
	}
}

func readLedger(doc []byte) any {
	var s ledger.Schema
	err := json.Unmarshal(doc, &s)
	return holding(&s, err, s.Validate())
}

func readAdapter(doc []byte) any {
	var a ledger.Adapter
	err := json.Unmarshal(doc, &a)
	unchecked, invalid := a.Validate(nil)
	rule, malformed := ledger.Compile(&a)
	return holding(&a, err, unchecked, invalid, rule, malformed)
}

func readManifest(doc []byte) any {
	m, err := manifest.Parse(doc, &manifest.Options{Dir: "/"})
	return holding(m, err)
}

func readToolbox(doc []byte) any { b, err := toolbox.Parse(doc, nil); return holding(b, err) }

func readWorld(doc []byte) any { w, err := proxytest.ParseWorld(doc); return holding(w, err) }

func readResponse(doc []byte) any { return dispatch.CheckResponse(doc) }

func readDataset(doc []byte) any { d, err := eval.Read(bytes.NewReader(doc)); return holding(d, err) }

// readFile returns a reader of files.
func readFile(read func(path string) any) func(doc []byte) any {
	dir := must(os.MkdirTemp("", "cost"))
	return func(doc []byte) any {
		path := filepath.Join(dir, "file")
		if err := os.WriteFile(path, doc, 0o600); err != nil {
			panic(err)
		}
		return read(path)
	}
}

func loadTape(path string) any { tape, err := cassette.Load(path); return holding(tape, err) }

func loadResults(path string) any { e, err := eval.Load(path); return holding(e, err) }

// dispatched returns a reader of envelopes, whose agent decodes what it got.
func dispatched(decode bool) func(doc []byte) any {
	var got any
	h := must(dispatch.New(func(_ context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		got = holding(run.Input, run.Messages)
		if decode {
			history, err := run.History()
			got = holding(history, err)
		}
		return &dispatch.Response{FinalResponse: "done"}, nil
	}, &dispatch.Options{InsecureNoAuth: true, MaxBodyBytes: 32 << 20}))
	return func(doc []byte) any {
		r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(doc))
		r.Header.Set("X-Pipelines-Run-Token", "a-run-token")
		r.Header.Set("X-Pipelines-Odyssey-Proxy-Url", "https://api.example.com/runs/abc")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return holding(got, w)
	}
}

// replying returns a transport that answers with a document.
func replying(status int, doc []byte, media string) http.RoundTripper {
	return testkit.RoundTrip(func(r *http.Request) (*http.Response, error) {
		if r.Body != nil {
			_, _ = io.Copy(io.Discard, r.Body)
		}
		return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {media}}, Body: io.NopCloser(bytes.NewReader(doc)), Request: r}, nil
	})
}

func fromConversation(f llm.Format) func(doc []byte) any {
	return func(doc []byte) any { m, err := llm.FromConversation(f, doc); return holding(m, err) }
}

// modelled returns a reader of responses of a model, under an agent.
func modelled(path, request, media string) func(doc []byte) any {
	return func(doc []byte) any {
		client := &http.Client{Transport: &llm.Transport{Base: replying(http.StatusOK, doc, media)}}
		return asking(client, path, request)
	}
}

// asking returns the response and the transcript of an agent that sends a request to a model.
func asking(client *http.Client, path, request string) (got any) {
	serve(`{"task_id":1,"input":{"user_instruction":"a"}}`, func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		q := must(http.NewRequestWithContext(ctx, http.MethodPost, "https://model.example"+path, strings.NewReader(request)))
		q.Header.Set("Content-Type", "application/json")
		answer, err := client.Do(q)
		if err != nil {
			return nil, err
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
		response := run.Transcript().Response("done")
		got = response
		return response, nil
	})()
	return got
}

func readRequest(doc []byte) any {
	client := &http.Client{Transport: &llm.Transport{Base: replying(http.StatusOK, []byte(`{"choices":[{"message":{"role":"assistant","content":"a"}}]}`), "application/json")}}
	return asking(client, "/v1/chat/completions", string(doc))
}

func readResult(doc []byte) any {
	client := must(proxy.New("https://proxy.example.com", "a-run-token", &proxy.Options{Transport: replying(http.StatusOK, doc, "application/json")}))
	result, err := client.Do(context.Background(), "t", json.RawMessage("{}"))
	read, failed := client.CallForModel(context.Background(), "t", json.RawMessage("{}"))
	return holding(result, err, read, failed)
}

func refusedBy(call func(transport http.RoundTripper) any) func(doc []byte) any {
	return func(doc []byte) any { return call(replying(http.StatusUnprocessableEntity, doc, "application/json")) }
}

func register(t http.RoundTripper) any {
	client := must(registration.NewClient("https://api.example.com", "a-key", &registration.Options{Transport: t}))
	agent, err := client.Create(context.Background(), &registration.Registration{Name: "a", EndpointURL: "https://agent.example.com/",
		Tools: []schema.Tool{{Name: "t", InputSchema: json.RawMessage(`{"type":"object"}`)}}})
	return holding(agent, err)
}

func listCatalog(t http.RoundTripper) any {
	client := must(catalog.NewClient("https://api.example.com", "a-key", &catalog.ClientOptions{Transport: t, MaxAttempts: 1}))
	list, err := client.List(context.Background(), "")
	return holding(list, err)
}

func listToolbox(t http.RoundTripper) any {
	client := must(toolbox.NewClient("a-key", &toolbox.ClientOptions{Transport: t}))
	tools, err := client.Tools(context.Background(), "")
	adapters, failed := client.Adapters(context.Background())
	return holding(tools, err, adapters, failed)
}

func answeredBy(call func(transport http.RoundTripper) any) func(doc []byte) any {
	return func(doc []byte) any { return call(replying(http.StatusOK, doc, "application/json")) }
}

// handled returns a reader of requests.
func handled(h http.Handler, path string, header http.Header) func(doc []byte) any {
	return func(doc []byte) any {
		r := httptest.NewRequest(http.MethodPost, path, bytes.NewReader(doc))
		r.Header = header.Clone()
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
}

// validated returns a reader of documents against a schema.
func validated(text string) func(doc []byte) any {
	v := must(schema.Compile([]byte(text), &schema.CompileOptions{AllowUnchecked: true}))
	return func(doc []byte) any { return holding(v.Validate(doc)) }
}

func compiled(doc []byte) any {
	v, err := schema.Compile(doc, &schema.CompileOptions{AllowUnchecked: true})
	return holding(v, err)
}

const tapeHead = `{"cassette":1,"created":"2026-11-21T20:15:00Z"}` + "\n"

var places = func() []place {
	rule := func() *ledger.Rule {
		var a ledger.Adapter
		if err := json.Unmarshal([]byte(`{"entity_type":"order","id_from":"$.id","field_map":{"x":"$.a[*]","y":"$.a[0]"}}`), &a); err != nil {
			panic(err)
		}
		return must(ledger.Compile(&a))
	}()
	jsonHeader := http.Header{"Content-Type": {"application/json"}}
	hook := must(webhook.New([]webhook.Tool{{Name: "echo", Func: func(_ context.Context, args json.RawMessage) (any, error) { return args, nil }}},
		&webhook.Options{Secrets: []string{"a-secret"}, MaxBodyBytes: 8 << 20}))
	hookHeader := http.Header{"X-Agent-Secret": {"a-secret"}, "X-Agent-Identity": {"6f1c1a5e-3c1b-4a53-9d7e-0c5f2b8a9e11"}}
	records := must(catalog.NewHandler(catalog.NewMemoryStore(), &catalog.HandlerOptions{InsecureAccount: "6f1c1a5e-3c1b-4a53-9d7e-0c5f2b8a9e11"}))
	list := []place{
		{name: "schema.Import", open: "[", end: "]", read: imported("")},
		{name: "schema.Import, tools", open: `{"tools":[`, end: "]}", read: imported("")},
		{name: "schema.Import, by name", open: `{"tools":{`, end: "}}", members: true, perByte: mapped, read: imported("")},
		{name: "schema.Import mcp", open: `{"tools":[`, end: "]}", read: imported(schema.MCP)},
		{name: "schema.Import platform", open: `{"tools_schema":[`, end: "]}", read: imported(schema.Platform)},
		{name: "schema.Import, members", open: `[{"name":"a","input_schema":{},`, end: "}]", members: true, perByte: mapped, read: imported(schema.Platform)},
		{name: "schema.Import, flags", open: `[{"name":"a","input_schema":{},"ledger_adapter":{"flags":[`, end: "]}}]", read: imported(schema.Platform)},
		{name: "schema.Compile, enum", open: `{"enum":[`, end: "]}", read: compiled},
		{name: "schema.Compile, allOf", open: `{"allOf":[`, end: "]}", read: compiled},
		{name: "schema.Compile, properties", open: `{"properties":{`, end: "}}", members: true, perByte: mapped, read: compiled},
		{name: "schema.Validator", open: "[", end: "]", read: validated(`{"items":{"type":"boolean"},"uniqueItems":true}`)},
		{name: "schema.Validator, members", open: "{", end: "}", members: true, perByte: mapped, read: validated(`{"additionalProperties":false}`)},
		{name: "ledger.Schema, entities", open: `{"entities":[`, end: "]}", read: readLedger},
		{name: "ledger.Schema, fields", open: `{"entities":[{"type":"a","id_field":"id","fields":[`, end: "]}]}", read: readLedger},
		{name: "ledger.Schema, enum", open: `{"entities":[{"type":"a","id_field":"id","fields":[{"name":"a","type":"string","enum":[`, end: "]}]}]}", perByte: doubled, read: readLedger},
		{name: "ledger.Schema, flags", open: `{"entities":[],"flags":{"policy":"closed","values":[`, end: "]}}", read: readLedger},
		{name: "ledger.Schema, members", open: "{", end: "}", members: true, perByte: mapped, read: readLedger},
		{name: "ledger.Adapter, field_map", open: `{"entity_type":"a","id_from":"$.id","field_map":{`, end: "}}", members: true, perByte: mapped, read: readAdapter},
		{name: "ledger.Adapter, flags", open: `{"op":"set_flag","flags":[`, end: "]}", read: readAdapter},
		{name: "ledger.NewState, types", open: "{", end: "}", members: true, perByte: mapped, read: func(doc []byte) any { s, err := ledger.NewState(doc, nil); return holding(s, err) }},
		{name: "ledger.NewState, entities", open: `{"a":{`, end: "}}", members: true, perByte: mapped, read: func(doc []byte) any { s, err := ledger.NewState(doc, nil); return holding(s, err) }},
		{name: "ledger.NewState, fields", open: `{"a":{"b":{`, end: "}}}", members: true, perByte: mapped, read: func(doc []byte) any { s, err := ledger.NewState(doc, nil); return holding(s, err) }},
		{name: "ledger.Rule.Eval", open: `{"id":"1","a":[`, end: "]}", perByte: decoded, read: func(doc []byte) any { return rule.Eval(nil, doc) }},
		{name: "manifest.Parse, tools", open: `{"tools":[`, end: "]}", perByte: mapped, read: readManifest},
		{name: "manifest.Parse, members", open: `{"tools":[{"name":"a","command":["/bin/true"],`, end: "}]}", members: true, perByte: mapped, read: readManifest},
		{name: "manifest.Parse, command", open: `{"tools":[{"name":"a","command":[`, end: "]}]}", read: readManifest},
		{name: "manifest.Parse, envPassthrough", open: `{"tools":[{"name":"a","command":["/bin/true"],"envPassthrough":[`, end: "]}]}", perByte: mapped, read: readManifest},
		{name: "toolbox.Parse, tools", open: `{"tools":[`, end: "]}", read: readToolbox},
		{name: "toolbox.Parse, adapters", open: `{"adapters":[`, end: "]}", read: readToolbox},
		{name: "toolbox.Parse, tools of an adapter", open: `{"adapters":[{"name":"a","tools":[`, end: "]}]}", read: readToolbox},
		{name: "toolbox.Client", open: `{"results":[`, end: "]}", read: answeredBy(listToolbox)},
		{name: "catalog.Client", open: "[", end: "]", read: answeredBy(listCatalog)},
		{name: "catalog.Client, tags", open: `[{"id":"6f1c1a5e-3c1b-4a53-9d7e-0c5f2b8a9e11","name":"a","tags":[`, end: "]}]", read: answeredBy(listCatalog)},
		{name: "catalog.Client, a refusal", open: `{"detail":[`, end: "]}", read: refusedBy(listCatalog)},
		{name: "registration.Client, a refusal", open: `{"detail":[`, end: "]}", read: refusedBy(register)},
		{name: "registration.Client", open: `{"id":"a","status":"b","x":[`, end: "]}", read: answeredBy(register)},
		{name: "proxytest.ParseWorld, tools", open: `{"tools_schema":[`, end: "]}", read: readWorld},
		{name: "proxytest.ParseWorld, behaviors", open: `{"behaviors":{`, end: "}}", members: true, perByte: mapped, read: readWorld},
		{name: "proxytest.ParseRules", open: "[", end: "]", read: func(doc []byte) any { r, err := proxytest.ParseRules(doc); return holding(r, err) }},
		{name: "proxytest.ParseRules, nth", open: `[{"status":500,"nth":[`, end: "]}]", read: func(doc []byte) any { r, err := proxytest.ParseRules(doc); return holding(r, err) }},
		{name: "eval.ParseTrajectory", open: "[", end: "]", read: func(doc []byte) any { t, err := eval.ParseTrajectory(doc); return holding(t, err) }},
		{name: "eval.ParsePrices", open: "{", end: "}", members: true, perByte: mapped, read: func(doc []byte) any { p, err := eval.ParsePrices(doc); return holding(p, err) }},
		{name: "eval.Read, JSON Lines", open: `{"user":"x"}` + "\n", end: "\n", sep: "\n", perByte: ofRows, read: readDataset},
		{name: "eval.Read, CSV", open: "user\n", end: "\n", sep: "\n", perByte: ofRows, read: readDataset},
		{name: "eval.Read, columns", open: "user,", end: "\nx\n", perByte: mapped, read: readDataset},
		{name: "eval.Load", end: "\n", sep: "\n", read: readFile(loadResults)},
		{name: "cassette.Load, lines", open: tapeHead, end: "\n", sep: "\n", read: readFile(loadTape)},
		{name: "cassette.Load, answer", open: tapeHead + `{"n":1,"kind":"tool","name":"t","arguments":{},"status":200,"answer":[`, end: `],"at_ms":0,"latency_ms":1}` + "\n", read: readFile(loadTape)},
		{name: "dispatch.CheckResponse, messages", open: `{"final_response":"x","messages":[`, end: "]}", read: readResponse},
		{name: "dispatch.CheckResponse, tool calls", open: `{"final_response":"x","messages":[{"role":"assistant","tool_calls":[`, end: "]}]}", perByte: decoded, read: readResponse},
		{name: "dispatch.CheckResponse, content", open: `{"final_response":"x","messages":[{"role":"assistant","content":[`, end: "]}]}", read: readResponse},
		{name: "dispatch.CheckResponse, thinking", open: `{"final_response":"x","messages":[{"role":"assistant","content":"","thinking":[`, end: "]}]}", perByte: doubled, read: readResponse},
		{name: "dispatch.CheckResponse, metadata", open: `{"final_response":"x","metadata":{`, end: "}}", members: true, read: readResponse},
		{name: "dispatch.Handler, messages", open: `{"input":{"messages":[`, end: "]}}", read: dispatched(false)},
		{name: "dispatch.Handler, input", open: `{"input":{"user_instruction":"a","input":[`, end: "]}}", read: dispatched(false)},
		{name: "dispatch.Handler, members", open: `{"input":{"user_instruction":"a","input":{`, end: "}}}", members: true, read: dispatched(false)},
		{name: "dispatch.Run.History", open: `{"input":{"user_instruction":"a","messages":[`, end: "]}}", perByte: doubled, read: dispatched(true)},
		{name: "webhook.New", open: `{"tool":"echo","arguments":{"a":[`, end: "]}}", read: handled(hook, "/", hookHeader)},
		{name: "catalog.NewHandler, tags", open: `{"name":"n","framework":"langchain","tool_type":"native","tags":[`, end: "]}", read: handled(records, "/tools/", jsonHeader)},
		{name: "catalog.CheckPlugin", open: "x = [\n", end: "]\n", sep: ",\n", read: func(doc []byte) any { p, err := catalog.CheckPlugin("a.py", doc, nil); return holding(p, err) }},
		{name: "proxy.Client", open: `{"source":"odyssey","response":[`, end: "]}", read: readResult},
		{name: "proxy.Client, members", open: `{"source":"odyssey","response":{`, end: "}}", members: true, perByte: mapped, read: readResult},
		{name: "llm.Transport, requests", open: `{"model":"m","messages":[`, end: "]}", read: readRequest},
		{name: "llm.Transport, parts", open: `{"model":"m","messages":[{"role":"user","content":[`, end: "]}]}", perByte: mapped, read: readRequest},
		{name: "llm.Transport, choices", open: `{"id":"r","model":"m","choices":[`, end: "]}", read: modelled("/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"a"}]}`, "application/json")},
		{name: "llm.Transport, calls", open: `{"id":"r","model":"m","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","tool_calls":[`, end: "]}}]}", perByte: mapped, read: modelled("/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"a"}]}`, "application/json")},
		{name: "llm.Transport, output", open: `{"id":"r","model":"m","status":"completed","output":[`, end: "]}", read: modelled("/v1/responses", `{"model":"m","input":"a"}`, "application/json")},
		{name: "llm.Transport, content", open: `{"id":"r","model":"m","role":"assistant","stop_reason":"end_turn","content":[`, end: "]}", read: modelled("/v1/messages", `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"a"}]}`, "application/json")},
		{name: "llm.Transport, candidates", open: `{"candidates":[{"finishReason":"STOP","content":{"role":"model","parts":[`, end: "]}}]}", read: modelled("/v1beta/models/m:generateContent", `{"contents":[{"role":"user","parts":[{"text":"a"}]}]}`, "application/json")},
		{name: "llm.Transport, events", open: "data: ", end: "\n\ndata: [DONE]\n\n", sep: "\n\ndata: ", read: modelled("/v1/chat/completions", `{"model":"m","stream":true,"messages":[{"role":"user","content":"a"}]}`, "text/event-stream")},
		{name: "llmtest.Model", open: `{"model":"m","messages":[`, end: "]}", perByte: mapped, read: func(doc []byte) any {
			m := llmtest.NewModel(llmtest.Text("x"))
			return holding(m, handled(m, "/v1/chat/completions", jsonHeader)(doc))
		}},
		{name: "dispatchtest.Dispatch, an answer", open: `{"final_response":"x","messages":[`, end: "]}", read: func(doc []byte) any {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write(doc)
			}))
			defer s.Close()
			r, err := dispatchtest.Dispatch(context.Background(), dispatchtest.Target{URL: s.URL}, dispatchtest.Task{Instruction: "x"})
			return holding(r, err)
		}},
		{name: "proxytest.Platform, arguments", open: `{"a":[`, end: "]}", perByte: mapped, read: func(doc []byte) any {
			p := must(proxytest.New(proxytest.World{Behaviors: map[string]proxytest.Behavior{"t": proxytest.Canned("1")}}, nil))
			r, err := dispatchtest.Dispatch(context.Background(), dispatchtest.Target{Agent: func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
				_, err := run.Proxy.Do(ctx, "t", json.RawMessage(doc))
				return &dispatch.Response{FinalResponse: "x"}, err
			}}, dispatchtest.Task{Instruction: "x", Platform: p})
			return holding(p, r, err)
		}},
	}
	for _, f := range []struct {
		format llm.Format
		member string
	}{{llm.OpenAIChat, "messages"}, {llm.OpenAIResponses, "input"}, {llm.Anthropic, "messages"}, {llm.Gemini, "contents"}} {
		list = append(list, place{name: "llm.FromConversation " + string(f.format), open: `{"model":"m","` + f.member + `":[`, end: "]}", perByte: messages, read: fromConversation(f.format)})
	}
	return list
}()

// A reader keeps, and needs while it reads, a bounded number of bytes for each byte of its document, whatever the
// document is full of, and allocates in proportion to it. The nightly tries all elements; otherwise the two shortest
// are tried.
func TestMemory(t *testing.T) {
	if testkit.Race {
		t.Skip("the race detector allocates for each object, so the bytes that a reader keeps cannot be told")
	}
	size := testkit.Size(160<<10, 640<<10)
	for _, p := range places {
		for _, e := range elements[:testkit.Size(2, len(elements))] {
			t.Run(p.name+"/"+e.name, func(t *testing.T) {
				short, doc := p.document(e, size/4), p.document(e, size)
				base := cost.Allocated(func() { p.read(short) })
				if all := cost.Allocated(func() { p.read(doc) }); all > 1<<20+6*base {
					t.Errorf("allocates %d bytes for %d bytes, and %d for %d", base, len(short), all, len(doc))
				}
				most := max(p.perByte, flat)
				spent := cost.Live(func() any { return p.read(doc) })
				t.Logf("%d bytes, %d live, %.1f for each", len(doc), spent, float64(spent)/float64(len(doc)))
				if spent > constant+most*uint64(len(doc)) {
					t.Errorf("%d live bytes for %d bytes, %d for each; want at most %d", spent, len(doc), spent/uint64(len(doc)), most)
				}
			})
		}
	}
}
