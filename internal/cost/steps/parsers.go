package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/capture"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/eval"
	"github.com/toolwire/toolwire/dispatch/llm"
	"github.com/toolwire/toolwire/dispatch/registration"
	"github.com/toolwire/toolwire/dispatch/webhook"
	"github.com/toolwire/toolwire/internal/defaults"
	"github.com/toolwire/toolwire/internal/flagtemplate"
	"github.com/toolwire/toolwire/internal/jsonpath"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/reasoning"
	"github.com/toolwire/toolwire/internal/redact"
	"github.com/toolwire/toolwire/internal/strictjson"
	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/manifest"
	"github.com/toolwire/toolwire/manifest/catalog"
	"github.com/toolwire/toolwire/manifest/toolbox"
	"github.com/toolwire/toolwire/proxy/cassette"
	"github.com/toolwire/toolwire/proxy/proxytest"
	"github.com/toolwire/toolwire/schema"
)

var (
	values = []string{`1`, `{"a":[1,2.50,{"b":"\u00e9"}]}`, `"\ud83d\ude00 x"`, `[[[]],{"":null}]`, `-0.1e+10`, `{"a":1,"a":2}`, `"[redacted]"`}

	schemas = []string{
		`{"type":"object","properties":{"a":{"type":"string","pattern":"^a+$"}},"required":["a"],"additionalProperties":false}`,
		`{"$ref":"#"}`, `{"anyOf":[{"const":1},{"items":{"enum":[1,"a"]}}]}`, `{"$defs":{"x":{"$ref":"#"}},"uniqueItems":true}`,
		`{"default":{"a":1},"minLength":2}`, `{"unevaluatedProperties":false,"patternProperties":{"^a":true}}`,
	}

	tools = []string{
		`{"name":"get_order","description":"d","input_schema":{"type":"object","properties":{"id":{"type":"string"}}}}`,
		`{"name":"a","command":["./tools/bin/a"],"schema":{"type":"object"},"envPassthrough":["TZ"]}`,
		`{"name":"a","handler":"ping","parameters":{"type":"object"},"adapter":{"id":"b","name":"c"}}`,
		`{"name":"a","url":"https://a.example/x","detail_url":"https://a.example/d"}`,
		`{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}`, `{"functionDeclarations":[{"name":"f"}]}`,
		`{"name":"t","input_schema":{},"ledger_adapter":{"entity_type":"order","id_from":"$.id","op":"add"},"ledger_write_policy":"auto"}`,
	}

	messages = []string{
		`{"role":"user","content":"a"}`, `{"role":"model","parts":[{"text":"a"},{"functionCall":{"name":"f","args":{}}}]}`,
		`{"role":"assistant","content":"","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}`,
		`{"role":"assistant","content":"b","tool_calls":[{"id":"a","name":"f","arguments":{"x":1}}]}`,
		`{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}},{"type":"thinking","thinking":"t"}]}`,
		`{"type":"reasoning","summary":[{"type":"summary_text","text":"t"}]}`, `{"role":"tool","tool_call_id":"a","content":"x"}`,
		`{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}`, `{"type":"function_call_output","call_id":"a","output":"o"}`,
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x"}]}`,
		`{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":1}}}]}`,
	}

	events = []string{
		`data: {"choices":[{"index":0,"delta":{"content":"a","tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{"}}]}}]}`,
		`data: {"type":"response.output_item.done","item":{"type":"function_call","name":"f","call_id":"c","arguments":"{}"}}`,
		`data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"f","input":{}}}`,
		`data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{"}}`,
		`data: {"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"}]}`, `data: [DONE]`, `: comment`, "event: x\ndata: 1",
	}

	source = []string{
		"class A(B):\n    name = 'a'", "@tool_plugin(version='1')\nclass A(BaseTool): pass", "f'''{a[\"b\"]:{'c'}}'''", "(", "{x:", `'''`, "\\\n",
		"from gllm_plugin import tool_plugin as b", "if x:\n ", "'a'", "def f(a=1): return [a]", "# comment", "\t", "class A(A):pass",
	}

	documents = []shape{list("", ""), object("", ""), text("", "")}
)

func value(r *strictjson.Reader) error {
	if r.Kind() == '{' {
		return r.Object(nil, func(string) error { return value(r) })
	}
	_, err := r.Value()
	return err
}

// valid reports whether doc is what the parsers of valid JSON accept.
func valid(doc []byte) bool {
	return strictjson.Read(doc, strictjson.Limits{Mode: strictjson.Unique}, value) == nil
}

// allParsers returns the table, and a function that removes its files.
func allParsers() (parsers []parser, tidy func(), err error) {
	dir, err := os.MkdirTemp("", "steps-*")
	if err != nil {
		return nil, nil, err
	}
	tidy = func() { _ = os.RemoveAll(dir) }
	for _, table := range []func() []parser{jsonParsers, schemaParsers, ledgerParsers, toolParsers, dispatchParsers, conversations} {
		parsers = append(parsers, table()...)
	}
	files, err := fileParsers(dir)
	return append(parsers, files...), tidy, err
}

func jsonParsers() (parsers []parser) {
	for name, mode := range map[string]strictjson.Mode{
		"strictjson": strictjson.Strict, "strictjson.Unique": strictjson.Unique, "strictjson.Liberal": strictjson.Liberal,
	} {
		read := func(doc []byte) { _ = strictjson.Read(doc, strictjson.Limits{Mode: mode}, value) }
		parsers = append(parsers, parser{name, documents, values, read})
	}
	for _, path := range []string{"$.m1.a", "$..a", "$[*].a[0]", "$..*", "$[::-1]", "$..[0,'a']", "$[*,*].b"} {
		p, err := jsonpath.Compile(path)
		if err != nil {
			panic(err)
		}
		find := func(doc []byte) {
			if valid(doc) {
				_, _ = p.Find(jsonpath.NewDocument(doc, 1_000_000), 1<<20)
			}
		}
		parsers = append(parsers, parser{"jsonpath " + path, documents[:2], values, find})
	}
	whole := shape{"", "", "", false}
	secrets := redact.New("hunter22-hunter22", "a-run-token-that-is-long", "aaaaaaaaaaaaaaaa")
	return append(parsers,
		parser{"rawjson.Diff", documents, values, func(doc []byte) {
			if valid(doc) {
				rawjson.Diff(doc, doc)
				rawjson.Diff(doc, json.RawMessage(`{"m1":[1],"a":{}}`))
			}
		}},
		parser{"jsonpath.Parse", []shape{whole, {"$", "", "", false}, {"$[", ",", "]", false}, {"$['", "", "']", false}},
			[]string{".a", "[0]", "..*", "'a'", "*", "1:2:3", `\u0061`}, func(doc []byte) { _, _ = jsonpath.Parse(string(doc)) }},
		parser{"flagtemplate", []shape{whole, {"{", "", "}", false}}, []string{"{a}", "x:", "{a}{b}", "}"}, func(doc []byte) {
			if t, err := flagtemplate.Parse(string(doc)); err == nil {
				_, _ = t.Fill(make([]string, len(t.Names)), 1024)
			}
		}},
		parser{"redact", append([]shape{whole, lines("")}, documents...),
			[]string{"hunter22-hunter22", "hunter22", `\u0068unter22`, "%68", "aaaaaaaaaaaaaaa", `\\`, "&#104;", "a"},
			func(doc []byte) { secrets.Text(string(doc)) }},
		parser{"reasoning.Take", documents, []string{`{"reasoning":"x","a":1}`, `"a"`},
			func(doc []byte) {
				if valid(doc) && rawjson.Kind(doc) == '{' {
					reasoning.Take(doc)
				}
			}},
	)
}

func schemaParsers() []parser {
	shapes := []shape{list(`{"allOf":`, `}`), object(`{"properties":`, `}`), object(`{"$defs":`, `,"$ref":"#/$defs/m1"}`),
		list(`{"enum":`, `}`), list(`{"required":`, `}`), text(`{"pattern":`, `}`), text(`{"$ref":`, `}`), object(``, ``)}
	checked, err := schema.Compile(json.RawMessage(`{"items":{"type":["object","integer"],"properties":{"a":{"items":{"type":"number"}}},
		"additionalProperties":false,"uniqueItems":true},"additionalProperties":{"anyOf":[{"type":"string"},{"const":{"a":1}}]}}`), nil)
	if err != nil {
		panic(err)
	}
	plan := defaults.Of(json.RawMessage(`{"properties":{"m1":{"default":1}},"additionalProperties":{"properties":{"b":{"default":[]}}},
		"items":{"properties":{"a":{"default":2}}}}`))
	return []parser{
		{"schema.Compile", shapes, schemas, func(doc []byte) { _, _ = schema.Compile(doc, nil) }},
		{"schema.Validator", documents, values, func(doc []byte) { _ = checked.Validate(doc) }},
		{"schema.Import", []shape{list("", ""), list(`{"tools":`, `}`), list(`{"tools_schema":`, `}`), object("", "")}, tools,
			func(doc []byte) {
				list, _, err := schema.Import(doc, "")
				if err != nil {
					return
				}
				_, _ = schema.Validate(context.Background(), list, nil)
				_ = schema.Lint(list, nil)
				for _, to := range []schema.Format{schema.Platform, schema.MCP, schema.OpenAIChat} {
					_, _, _ = schema.Export(list, to)
				}
			}},
		{"reasoning.Inject", shapes, schemas, func(doc []byte) {
			if _, err := schema.Compile(doc, nil); err == nil {
				reasoning.Inject(doc)
			}
		}},
		{"defaults.Of", shapes, schemas, func(doc []byte) {
			if valid(doc) {
				defaults.Of(doc)
			}
		}},
		{"defaults.Fill", documents[1:2], values, func(doc []byte) {
			if valid(doc) {
				plan.Fill(doc, func([]byte) error { return nil })
			}
		}},
	}
}

func ledgerParsers() []parser {
	var adapter ledger.Adapter
	if err := json.Unmarshal([]byte(`{"entity_type":"order","id_from":"$args.x","op":"add","flags":["x:{x}"],
		"field_map":{"a":"$..a","b":"$.*","c":"$[::-1]","d":"$args.x","e":"$.m1.a[0]"}}`), &adapter); err != nil {
		panic(err)
	}
	rule, err := ledger.Compile(&adapter)
	if err != nil {
		panic(err)
	}
	base, err := ledger.NewState(json.RawMessage(`{"order":{"m1":{"a":1}}}`), nil)
	if err != nil {
		panic(err)
	}
	return []parser{
		{"ledger.Adapter", []shape{
			object(`{"entity_type":"o","id_from":"$.id","op":"add","field_map":`, `}`),
			list(`{"entity_type":"o","id_from":"$.id","op":"add","flags":`, `}`),
			text(`{"entity_type":"o","op":"add","id_from":`, `}`), object("", "")}, []string{`"$.a"`, `"{a}"`, `"$..a[*]"`, `1`, `$.a`},
			func(doc []byte) {
				var a ledger.Adapter
				if a.UnmarshalJSON(doc) == nil {
					_, _ = a.Validate(nil)
					_, _ = ledger.Compile(&a)
				}
			}},
		{"ledger.Schema", []shape{list(`{"entities":`, `}`), list(`{"flags":`, `}`), list(`{"entities":[{"type":"a","fields":`, `}]}`)},
			[]string{`{"type":"order","id_field":"id","fields":[{"name":"a","type":"string","enum":["x"]}]}`, `{"name":"a","type":"number"}`, `"f"`},
			func(doc []byte) {
				var s ledger.Schema
				if s.UnmarshalJSON(doc) == nil {
					_ = s.Validate()
				}
			}},
		{"ledger.Rule", documents, values, func(doc []byte) { rule.Eval(json.RawMessage(`{"x":1}`), doc) }},
		{"ledger.State", []shape{object(`{"order":`, `}`), object("", ""), object(`{"order":{"m1":`, `}}`)}, values, func(doc []byte) {
			if state, err := ledger.NewState(doc, nil); err == nil {
				state.Snapshot().Hash()
				ledger.Diff(base.Snapshot(), state.Snapshot())
			}
		}},
	}
}

func toolParsers() []parser {
	box := &toolbox.Options{
		Secret: "a-secret", Handlers: map[string]toolbox.Handler{
			"ping": func(context.Context, json.RawMessage, toolbox.Agent, toolbox.Tool) (string, error) { return "", nil },
		},
	}
	return []parser{
		{"manifest", []shape{list(`{"tools":`, `}`), list(`{"tools":[{"name":"a","command":`, `}]}`), object("", ""),
			list(`{"tools":[{"name":"a","command":["/a"],"envPassthrough":`, `}]}`)}, append([]string{`"TZ"`, `"./tools/bin/a"`}, tools...),
			func(doc []byte) {
				if m, err := manifest.Parse(doc, &manifest.Options{Dir: "/"}); err == nil {
					m.Lint()
				} else {
					_ = err.Error()
				}
			}},
		{"toolbox", []shape{list("", ""), list(`{"adapters":[{"name":"a","tools":`, `}]}`), list(`{"adapters":`, `}`)},
			append([]string{`{"name":"a","tools":[{"name":"x","handler":"ping"}]}`}, tools...), func(doc []byte) {
				if _, err := toolbox.Parse(doc, box); err != nil {
					_ = err.Error()
				}
			}},
		{"catalog.Tool", []shape{list(`{"name":"a","tags":`, `}`), text(`{"name":"a","tags":`, `}`), object("", "")},
			[]string{`"a"`, `a,b`, `,`, `null`}, func(doc []byte) {
				var t catalog.Tool
				if t.UnmarshalJSON(doc) == nil {
					_, _ = json.Marshal(t)
				}
			}},
		{"catalog.CheckPlugin", []shape{lines("from gllm_plugin.tools import tool_plugin"), {"", "", "", false}, {"class A(B):\n name=(", "", ")", false},
			{"class A(", ",", "): pass", false}}, source, func(doc []byte) { _, _ = catalog.CheckPlugin("a.py", doc, nil) }},
		{"registration", []shape{list(`{"tools_schema":`, `}`), list(`{"ledger_schema":{"entities":`, `}}`), list(`{"config":{"sub_agents":`, `}}`),
			object("", "")}, append([]string{`{"actor_id":"a"}`}, tools...), func(doc []byte) {
			var r registration.Registration
			if r.UnmarshalJSON(doc) == nil {
				_, _ = r.Body()
			}
		}},
		{"proxytest.ParseWorld", []shape{list(`{"tools":`, `}`), object(`{"behaviors":`, `}`), list(`{"failure_rules":`, `}`),
			object(`{"initial_state":{"order":`, `}}`)}, append([]string{`{"add":"order","set":{"a":1}}`, `{"tool":"a","nth":[1],"status":503}`}, tools...),
			func(doc []byte) { _, _ = proxytest.ParseWorld(doc) }},
		{"eval.ParseTrajectory", documents, []string{`{"tool":"a","arguments":{"x":[1]}}`}, func(doc []byte) { _, _ = eval.ParseTrajectory(doc) }},
		{"eval.Read", []shape{lines("user,state,failure_rules"), lines("user"), {"user,", ",", "\na", false}, {"user\n\"", "", "\"", false}},
			[]string{`a,"{""a"":{}}",[]`, "a", `"`, `""`, `[{""status"":503}]`}, func(doc []byte) {
				if _, err := eval.Read(bytes.NewReader(doc)); err != nil {
					_ = err.Error()
				}
			}},
		{"capture.Read", []shape{lines(`{"kind":"start"}`), {"", "", "", false}}, []string{`{"kind":"request","body":{"a":1}}`, `{`, "\r"},
			func(doc []byte) { _, _ = capture.Read(bytes.NewReader(doc)) }},
	}
}

// served returns a reader that sends the document to a handler.
func served(h http.Handler, header http.Header, then func(answer []byte)) func(doc []byte) {
	return func(doc []byte) {
		r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(doc))
		r.Header = header.Clone()
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		then(w.Body.Bytes())
	}
}

// endpoint returns a handler with an agent.
func endpoint(agent dispatch.Agent) http.Handler {
	h, err := dispatch.New(agent, &dispatch.Options{InsecureNoAuth: true, SendTranscript: true})
	if err != nil {
		panic(err)
	}
	return h
}

// dispatched are the headers of a dispatch.
var dispatched = http.Header{
	"Content-Type": {"application/json"}, "X-Pipelines-Run-Token": {"a-run-token"},
	"X-Pipelines-Odyssey-Proxy-Url": {"https://api.example.com/runs/abc"},
}

func dispatchParsers() []parser {
	reads := endpoint(func(_ context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		var input any
		_ = run.DecodeInput(&input)
		history, _ := run.History()
		return &dispatch.Response{FinalResponse: "done", Messages: history}, nil
	})
	hook, err := webhook.New([]webhook.Tool{{Name: "echo", Func: func(_ context.Context, args json.RawMessage) (any, error) { return args, nil }}},
		&webhook.Options{Secrets: []string{"a-secret"}})
	if err != nil {
		panic(err)
	}
	called := http.Header{"Content-Type": {"application/json"}, "X-Agent-Secret": {"a-secret"},
		"X-Agent-Identity": {"6f1c1a5e-3c1b-4a53-9d7e-0c5f2b8a9e11"}}
	return []parser{
		{"dispatch", []shape{list(`{"task_id":1,"input":{"user_instruction":"a","messages":`, `}}`),
			object(`{"task_id":1,"input":{"user_instruction":"a","input":`, `}}`), object("", ""), text(`{"input":{"user_instruction":`, `}}`)},
			append(messages, values...), served(reads, dispatched, func(answer []byte) { dispatch.CheckResponse(answer) })},
		{"dispatch.CheckResponse", []shape{list(`{"final_response":"a","messages":`, `}`), object(`{"final_response":"a","metadata":`, `}`),
			text(`{"final_response":`, `}`)}, append(messages, values...), func(doc []byte) { dispatch.CheckResponse(doc) }},
		{"webhook", []shape{object(`{"tool":"echo","arguments":`, `}`), text(`{"tool":"echo","arguments":`, `}`), object("", "")},
			append([]string{`{"function":{"name":"echo"}}`}, values...), served(hook, called, func([]byte) {})},
	}
}

type responses func(*http.Request) (*http.Response, error)

func (f responses) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func conversations() (parsers []parser) {
	for format, member := range map[llm.Format]string{
		llm.OpenAIChat: "messages", llm.OpenAIResponses: "input", llm.Anthropic: "messages", llm.Gemini: "contents",
	} {
		parsers = append(parsers, parser{"llm.Messages " + string(format),
			[]shape{list("", ""), list(`{"`+member+`":`, `}`), list(`{"`+member+`":[{"role":"user","content":`, `}]}`)}, messages,
			func(doc []byte) {
				if list, err := llm.Messages(format, json.RawMessage(doc)); err == nil {
					dispatch.CheckMessages(list)
					_, _ = llm.Conversation(format, list)
				}
			}})
	}
	var stream []byte
	model := &http.Client{Transport: &llm.Transport{Base: responses(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}},
			Body: io.NopCloser(bytes.NewReader(stream))}, nil
	})}}
	for format, call := range map[llm.Format][2]string{
		llm.OpenAIChat:      {"/v1/chat/completions", `{"model":"m","stream":true,"messages":[{"role":"user","content":"a"}]}`},
		llm.OpenAIResponses: {"/v1/responses", `{"model":"m","stream":true,"input":[{"role":"user","content":"a"}]}`},
		llm.Anthropic:       {"/v1/messages", `{"model":"m","stream":true,"max_tokens":9,"messages":[{"role":"user","content":"a"}]}`},
		llm.Gemini: {"/v1beta/models/m:streamGenerateContent?alt=sse",
			`{"contents":[{"role":"user","parts":[{"text":"a"}]}]}`},
	} {
		reads := served(endpoint(func(ctx context.Context, _ *dispatch.Run) (*dispatch.Response, error) {
			q, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://model.example"+call[0], strings.NewReader(call[1]))
			if err != nil {
				return nil, err
			}
			q.Header.Set("Content-Type", "application/json")
			answer, err := model.Do(q)
			if err != nil {
				return nil, err
			}
			_, err = io.Copy(io.Discard, answer.Body)
			_ = answer.Body.Close()
			return &dispatch.Response{FinalResponse: "done"}, err
		}), dispatched, func([]byte) {})
		parsers = append(parsers, parser{"llm.Transport " + string(format), []shape{{"", "\n\n", "\n\n", false}, {"data: [", ",", "]\n\n", false}},
			events, func(doc []byte) {
				stream = doc
				reads([]byte(`{"task_id":1,"input":{"user_instruction":"a"}}`))
			}})
	}
	return parsers
}

// fileParsers are those that read files. They are written before the steps are counted, since writing
// a file takes none of them.
func fileParsers(dir string) ([]parser, error) {
	results := filepath.Join(dir, "results.jsonl")
	agent := func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
		return &dispatch.Response{FinalResponse: "done"}, nil
	}
	cases := []eval.Case{{Name: "a", Task: dispatchtest.Task{Instruction: "a"}}, {Name: "b", Task: dispatchtest.Task{Instruction: "b"}}}
	if _, err := eval.Run(context.Background(), dispatchtest.Target{Agent: agent}, cases, &eval.Options{Results: results}); err != nil {
		return nil, err
	}
	trials, err := os.ReadFile(results)
	if err != nil {
		return nil, err
	}
	head, _, _ := strings.Cut(string(trials), "\n")
	tape := filepath.Join(dir, "tape.jsonl")
	c, err := cassette.New(tape, &cassette.Options{Mode: cassette.Record})
	if err != nil {
		return nil, err
	}
	if err := c.Close(); err != nil {
		return nil, err
	}
	empty, err := os.ReadFile(tape)
	if err != nil {
		return nil, err
	}
	start, _, _ := strings.Cut(string(empty), "\n")
	write := func(name string, doc []byte) {
		if err := os.WriteFile(name, doc, 0o600); err != nil {
			panic(err)
		}
	}
	return []parser{
		{"eval.Load", []shape{lines(head)}, []string{`{"case":"a"}`, `{}`, head[:min(len(head), maxPiece)]}, func(doc []byte) {
			write(results, doc)
			if _, err := eval.Load(results); err != nil {
				_ = err.Error()
			}
		}},
		{"cassette.Load", []shape{lines(start)}, []string{
			`{"n":1,"kind":"tool","name":"a","arguments":{"a":1},"status":200,"answer":{"response":1}}`, `{"kind":"end"}`, `{}`,
		}, func(doc []byte) {
			write(tape, doc)
			if t, err := cassette.Load(tape); err != nil {
				_ = err.Error()
			} else {
				_, _ = t.Encode()
			}
		}},
	}, nil
}
