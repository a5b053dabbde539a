package cost_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/eval"
	"github.com/toolwire/toolwire/dispatch/llm"
	"github.com/toolwire/toolwire/dispatch/llm/llmtest"
	"github.com/toolwire/toolwire/dispatch/registration"
	"github.com/toolwire/toolwire/internal/cost"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/redact"
	"github.com/toolwire/toolwire/internal/runctx"
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

// A row is a reader of foreign input and a shape of that input: one list, two lists that are matched,
// reversed, distinct names, nested, or unmatched.
type row struct {
	reader, shape string
	n             int // pieces at which processor time is measured
	read          func(n int) func()
}

// rows are every reader of foreign input. A new reader gets a row for each shape that its input has.
var rows = slices.Concat(jsonRows, declarationRows, toolRows, conversationRows, dispatchRows, modelRows, runRows, fileRows)

// known are the rows that grow faster than their input. Each is to be mended, and leaves the list then.
var known = map[string]bool{}

// list joins n pieces.
func list(n int, piece func(i int) string) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(piece(i))
	}
	return b.String()
}

func same(piece string) func(int) string { return func(int) string { return piece } }

// numbered puts the number of the piece at each %d.
func numbered(format string) func(int) string {
	return func(i int) string { return strings.ReplaceAll(format, "%d", fmt.Sprint(i)) }
}

func reversed(n int, piece func(i int) string) string {
	return list(n, func(i int) string { return piece(n - 1 - i) })
}

// over returns a reader of documents.
func over(document func(n int) string, read func(doc []byte)) func(n int) func() {
	return func(n int) func() {
		doc := []byte(document(n))
		return func() { read(doc) }
	}
}

// between returns a document with n pieces between open and end.
func between(open string, piece func(i int) string, end string) func(n int) string {
	return func(n int) string { return open + list(n, piece) + end }
}

func key(doc []byte) { rawjson.Key(doc) }

func readAll(doc []byte) { _ = rawjson.Read(doc, rawjson.Limits{Mode: rawjson.Unique}, value) }

func value(r *rawjson.Reader) error {
	if r.Kind() == '{' {
		return r.Object(nil, func(string) error { return value(r) })
	}
	_, err := r.Value()
	return err
}

var secrets = redact.New("hunter22-hunter22", "a-run-token-that-is-long", "aaaaaaaaaaaaaaaa")

// twoLists returns a reader of the differences between two documents.
func twoLists(first, second func(n int) string) func(n int) func() {
	return func(n int) func() {
		x, y := json.RawMessage(first(n)), json.RawMessage(second(n))
		return func() { rawjson.Diff(x, y) }
	}
}

var (
	objectOf = between("{", numbered(`"m%d":%d`), "}")
	deep     = strings.Repeat(`{"a":[`, 20) + strings.Repeat(`]}`, 20)
)

var jsonRows = []row{
	{"rawjson.Read", "one list", 20000, over(between("[", same("1.5"), "]"), readAll)},
	{"rawjson.Read", "distinct", 20000, over(objectOf, readAll)},
	{"rawjson.Read", "nested", 1000, over(between("[", same(deep), "]"), readAll)},
	{"rawjson.Key", "one list", 20000, over(between("[", numbered("%d.5e1"), "]"), key)},
	{"rawjson.Key", "sorted", 20000, over(objectOf, key)},
	{"rawjson.Key", "reversed", 20000, over(func(n int) string { return "{" + reversed(n, numbered(`"m%d":%d`)) + "}" }, key)},
	{"rawjson.Key", "repeated", 20000, over(between("{", same(`"m":1`), "}"), key)},
	{"rawjson.Key", "nested", 1000, over(between("[", same(deep), "]"), key)},
	{"rawjson.Diff", "two lists", 8000, twoLists(between("[", numbered("%d"), "]"), between("[", numbered("%d1"), "]"))},
	{"rawjson.Diff", "reversed", 8000, twoLists(objectOf, func(n int) string { return "{" + reversed(n, numbered(`"m%d":%d`)) + "}" })},
	{"rawjson.Diff", "unmatched", 8000, twoLists(objectOf, between("{", numbered(`"x%d":1`), "}"))},
	{"redact.Set.Redact", "one list", 5000, over(between("", same(`aaaaaaaaaaaaaaa \u0068unter22 %68`), ""), func(doc []byte) { secrets.Redact(string(doc)) })},
	{"redact.Has", "one list", 5000, over(between("", same(`aaaaaaaaaaaaaaa \u0068unter22 %68`), ""), func(doc []byte) { redact.Has(doc, "aaaaaaaaaaaaaaaa") })},
	{"redact.Has", "letters", 50000, over(between("", same("aaaaa"), ""), func(doc []byte) { redact.Has(doc, strings.Repeat("a", 4000)+"b") })},
	{"redact.Has", "percents", 50000, over(between("", same("%2561"), ""), func(doc []byte) { redact.Has(doc, strings.Repeat("a", 4000)+"b") })},
}

const object = `"input_schema":{"type":"object"}`

// checkTools reads, validates and lints the declarations of a tools_schema.
func checkTools(s *ledger.Schema) func(doc []byte) {
	return func(doc []byte) {
		if tools, _, err := schema.Import(doc, schema.Platform); err == nil {
			_, _ = schema.Validate(context.Background(), tools, &schema.ValidateOptions{LedgerSchema: s})
			_ = schema.Lint(tools, &schema.ValidateOptions{LedgerSchema: s})
		}
	}
}

func ledgerSchema(text string) *ledger.Schema {
	var s ledger.Schema
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		panic(err)
	}
	return &s
}

func ofFields(n int, piece string) *ledger.Schema {
	return ledgerSchema(`{"entities":[{"type":"order","id_field":"id","fields":[` + list(n, numbered(piece)) + `]}]}`)
}

const adapterTool = `[{"name":"t",` + object + `,"ledger_write_policy":"auto","ledger_adapter":{"entity_type":"order","id_from":"$.id","op":"add",`

// adapter returns a reader of one adapter with n entries, against a schema with n entries.
func adapter(entries func(n int) string, against func(n int) *ledger.Schema) func(n int) func() {
	return func(n int) func() {
		doc, s := []byte(adapterTool+entries(n)+"}}]"), against(n)
		return func() { checkTools(s)(doc) }
	}
}

// refusing is a transport that answers every request with 422 and this body.
type refusing string

func (body refusing) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusUnprocessableEntity, Body: io.NopCloser(strings.NewReader(string(body)))}, nil
}

func compile(doc []byte) { _, _ = schema.Compile(doc, nil) }

var box = &toolbox.Options{Secret: "a-secret"}

var declarationRows = []row{
	{"schema.Import", "one list", 500, over(between("[", numbered(`{"name":"t%d",`+object+`}`), "]"), checkTools(nil))},
	{"schema.Import", "nested", 200, over(between(`[{"name":"t","input_schema":{"type":"object","properties":{`, numbered(`"p%d":{"type":"object","properties":{"a":{"items":{"type":"string"}}}}`),
		"}}}]"), checkTools(nil))},
	{"schema.Compile", "one list", 300, over(between(`{"enum":[`, numbered(`"v%d"`), "]}"), compile)},
	{"schema.Compile", "old forms", 100, over(between(`{"properties":{`, numbered(`"p%d":{"$id":"#p%d","items":[{"minimum":0,"exclusiveMinimum":true,"title":1}],"required":true}`), "}}"), compile)},
	{"schema.Compile", "two lists", 60, over(func(n int) string {
		return `{"allOf":[` + list(n, numbered(`{"$ref":"#/definitions/p%d/items/0"},{"$ref":"#p%d"}`)) + `],"definitions":{` + list(n, numbered(`"p%d":{"id":"#p%d","items":[{}]}`)) + `}}`
	}, compile)},
	{"schema.Compile", "unmatched", 100, over(between(`{"allOf":[`, numbered(`{"$ref":"#/components/p%d/items/0","pattern":"^(?!a)(?=%d)","$id":"%d"}`), `]}`), compile)},
	{"schema.Compile", "long references", 2000, over(func(n int) string { return `{"items":[{"$ref":"#` + strings.Repeat("/items/0", n) + `"}]}` }, compile)},
	{"schema.Compile", "nested", 7, over(func(n int) string {
		return strings.Repeat(`{"items":[`, n) + `{"$ref":"#` + strings.Repeat("/items/0", n-1) + `"}` + strings.Repeat(`]}`, n)
	}, compile)},
	{"schema.Compile", "distinct", 200, over(between(`{"properties":{`, numbered(`"p%d":{"type":"string"}`), "}}"), compile)},
	{"schema.Lint", "unmatched", 4000, adapter(func(n int) string { return `"field_map":{` + list(n, numbered(`"f%d":"$.["`)) + "}" },
		func(int) *ledger.Schema {
			return ledgerSchema(`{"field_policy":"closed","entities":[{"type":"order","id_field":"id"}]}`)
		})},
	{"schema.Lint", "two lists", 4000, adapter(func(n int) string { return `"field_map":{` + list(n, numbered(`"f%d":"$.a"`)) + "}" },
		func(n int) *ledger.Schema { return ofFields(n, `{"name":"g%d","type":"string"}`) })},
	{"ledger.Adapter.Validate", "two lists", 2000, func(n int) func() {
		var a ledger.Adapter
		if err := json.Unmarshal([]byte(`{"entity_type":"order","id_from":"$.id","op":"add","flags":[`+list(n, numbered(`"f%d"`))+`]}`), &a); err != nil {
			panic(err)
		}
		s := ledgerSchema(`{"entities":[{"type":"order","id_field":"id"}],"flags":{"policy":"closed","values":[` + reversed(n, numbered(`"f%d"`)) + `]}}`)
		return func() { _, _ = a.Validate(s) }
	}},
	{"ledger.Adapter.Validate", "unmatched", 2000, func(n int) func() {
		var a ledger.Adapter
		if err := json.Unmarshal([]byte(`{"entity_type":"order","id_from":"$.id","op":"add","field_map":{`+list(n, numbered(`"f%d":"$.a"`))+`}}`), &a); err != nil {
			panic(err)
		}
		s := ofFields(n, `{"name":"g%d","type":"string"}`)
		return func() { _, _ = a.Validate(s) }
	}},
	{"ledger.Schema.Validate", "distinct", 1000, over(between(`{"entities":[{"type":"a","id_field":"id","fields":[`, numbered(`{"name":"f%d","type":"string"}`), "]}]}"), func(doc []byte) {
		var s ledger.Schema
		if json.Unmarshal(doc, &s) == nil {
			_ = s.Validate()
		}
	})},
	{"registration.Validate", "two lists", 1000, func(n int) func() {
		r := registration.Registration{SubAgents: []registration.SubAgent{{ActorID: "a"}}}
		for i := range n {
			r.Tools = append(r.Tools, schema.Tool{Name: fmt.Sprint("t", i), Description: "d", InputSchema: []byte(`{"type":"object"}`)})
			r.SubAgents[0].Tools = append(r.SubAgents[0].Tools, fmt.Sprint("t", n-1-i))
		}
		return func() { _, _ = r.Validate(context.Background(), nil) }
	}},
	{"registration.Validate", "unmatched", 1000, func(n int) func() {
		r := registration.Registration{SubAgents: []registration.SubAgent{{ActorID: "a"}}}
		for i := range n {
			r.SubAgents[0].Tools = append(r.SubAgents[0].Tools, fmt.Sprint("t", i))
			r.Extra = append(r.Extra, ledger.Member{Name: fmt.Sprint("x", i), Value: []byte("1")})
		}
		return func() { _, _ = r.Validate(context.Background(), nil) }
	}},
	{"registration.Client", "two lists", 2500, func(n int) func() {
		r := registration.Registration{Name: "a", EndpointURL: "https://agents.example.com"}
		for i := range n {
			r.Tools = append(r.Tools, schema.Tool{Name: fmt.Sprint("t", i), Description: "d", InputSchema: []byte(`{"type":"object"}`)})
		}
		refusal := refusing("{" + reversed(n, numbered(`"t%d":0`)) + "}")
		client, err := registration.NewClient("https://api.example.com", "key", &registration.Options{Transport: refusal})
		if err != nil {
			panic(err)
		}
		return func() { _, _ = client.Create(context.Background(), &r) }
	}},
	{"manifest.Parse", "one list", 300, over(between(`{"tools":[`, numbered(`{"name":"t%d","command":["/a"],"schema":{"type":"object"}}`), "]}"), parseManifest)},
	{"manifest.Parse", "distinct", 2000, over(between(`{"tools":[{"name":"t","command":["/a"],"envPassthrough":[`, numbered(`"V%d"`), "]}]}"), parseManifest)},
	{"toolbox.Parse", "one list", 300, over(between("[", numbered(`{"name":"t%d","url":"https://a.example/%d","parameters":{"type":"object"}}`), "]"),
		func(doc []byte) { _, _ = toolbox.Parse(doc, box) })},
	{"catalog.Tool", "distinct", 2000, over(between(`{"name":"a","tags":[`, numbered(`"t%d"`), "]}"), func(doc []byte) {
		var tool catalog.Tool
		_ = tool.UnmarshalJSON(doc)
	})},
	{"catalog.CheckPlugin", "one list", 2000, over(func(n int) string { return strings.Repeat("class A(B):\n    name = 'a'\n", n) },
		func(doc []byte) { _, _ = catalog.CheckPlugin("a.py", doc, nil) })},
	{"catalog.CheckPlugin", "unmatched", 2000, over(func(n int) string { return strings.Repeat("(", n) },
		func(doc []byte) { _, _ = catalog.CheckPlugin("a.py", doc, nil) })},
	{"proxytest.ParseWorld", "distinct", 300, over(between(`{"behaviors":{`, numbered(`"t%d":{"add":"order","set":{"a":1}}`), "}}"),
		func(doc []byte) { _, _ = proxytest.ParseWorld(doc) })},
}

func parseManifest(doc []byte) {
	if m, err := manifest.Parse(doc, &manifest.Options{Dir: "/"}); err == nil {
		m.Lint()
	}
}

// dialect is how a format writes calls and their results. %d is the number of a call.
type dialect struct {
	format       llm.Format
	calls, call  string // the message that makes the calls, with %s where they stand, and one of them
	result       string
	resultsInOne string // the message around all results, if they share one
}

var dialects = []dialect{
	{llm.OpenAIChat, `{"role":"assistant","tool_calls":[%s]}`, `{"id":"c%d","type":"function","function":{"name":"f","arguments":"{}"}}`,
		`{"role":"tool","tool_call_id":"c%d","content":"x"}`, ""},
	{llm.OpenAIResponses, `%s`, `{"type":"function_call","call_id":"c%d","name":"f","arguments":"{}"}`,
		`{"type":"function_call_output","call_id":"c%d","output":"x"}`, ""},
	{llm.Anthropic, `{"role":"assistant","content":[%s]}`, `{"type":"tool_use","id":"c%d","name":"f","input":{}}`,
		`{"type":"tool_result","tool_use_id":"c%d","content":"x"}`, `{"role":"user","content":[%s]}`},
	{llm.Gemini, `{"role":"model","parts":[%s]}`, `{"functionCall":{"name":"f%d","args":{}}}`,
		`{"functionResponse":{"name":"f%d","response":{"output":1}}}`, `{"role":"user","parts":[%s]}`},
	{llm.Converse, `{"role":"assistant","content":[%s]}`, `{"toolUse":{"toolUseId":"c%d","name":"f","input":{}}}`,
		`{"toolResult":{"toolUseId":"c%d","content":[{"text":"x"}]}}`, `{"role":"user","content":[%s]}`},
	{llm.Ollama, `{"role":"assistant","tool_calls":[%s]}`, `{"function":{"name":"f%d","arguments":{}}}`,
		`{"role":"tool","tool_name":"f%d","content":"x"}`, ""},
}

// conversation returns a reader of n calls and their results.
func (d dialect) conversation(results func(n int) string) func(n int) func() {
	return over(func(n int) string {
		text := strings.Replace(d.calls, "%s", list(n, numbered(d.call)), 1)
		if r := results(n); r != "" && d.resultsInOne != "" {
			text += "," + strings.Replace(d.resultsInOne, "%s", r, 1)
		} else if r != "" {
			text += "," + r
		}
		return "[" + text + "]"
	}, d.read)
}

func (d dialect) read(doc []byte) {
	if messages, err := llm.FromConversation(d.format, json.RawMessage(doc)); err == nil {
		dispatch.CheckMessages(messages)
		_, _ = llm.ToConversation(d.format, messages)
	}
}

var conversationRows = func() (rows []row) {
	for _, d := range dialects {
		name := "llm.FromConversation " + string(d.format)
		rows = append(rows,
			row{name, "two lists", 8000, d.conversation(func(n int) string { return list(n, numbered(d.result)) })},
			row{name, "reversed", 8000, d.conversation(func(n int) string { return reversed(n, numbered(d.result)) })},
			row{name, "unmatched", 8000, d.conversation(func(n int) string { return list(n, numbered(strings.ReplaceAll(d.result, "%d", "-%d"))) })},
			row{name, "one list", 4000, d.conversation(func(int) string { return "" })})
	}
	pieces := between("[", same(`{"role":"model","parts":[{"text":"a piece of an answer"}]}`), "]")
	return append(rows, row{"llm.FromConversation gemini", "pieces", 2000, over(pieces, dialects[3].read)},
		row{"llm.Transport openai_chat", "one list", 1000, stream(`{"index":%d,"id":"c%d","function":{"name":"f","arguments":"{}"}}`)},
		row{"llm.Transport openai_chat", "distinct", 2000, stream(`{"index":0,"id":"c%d","function":{"name":"f","arguments":"{}"}}`)},
		row{"llm.Transport converse", "one list", 1000, answered("/model/m/converse-stream", `{"messages":[{"role":"user","content":[{"text":"a"}]}]}`)},
		row{"llm.Transport ollama", "one list", 1000, answered("/api/chat", `{"model":"m","messages":[{"role":"user","content":"a"}]}`)},
		row{"llm.Transport requests", "two lists", 1000, requests(func(n int) []string {
			return []string{list(n, numbered(said)), list(n, numbered(said)) + "," + said}
		})},
		row{"llm.Transport requests", "reversed", 1000, requests(func(n int) []string { return []string{list(n, numbered(said)), reversed(n, numbered(said))} })},
		row{"llm.Transport requests", "unmatched", 1000, requests(func(n int) []string {
			return []string{list(n, numbered(said)), list(n, numbered(strings.ReplaceAll(said, "%d", "-%d")))}
		})},
		row{"llm.Transport requests", "distinct", 500, requests(func(n int) []string {
			calls := strings.Replace(dialects[0].calls, "%s", list(n, numbered(dialects[0].call)), 1)
			renamed := strings.ReplaceAll(calls, `"c`, `"d`)
			return []string{calls + "," + list(n, numbered(dialects[0].result)), renamed + "," + reversed(n, numbered(strings.ReplaceAll(dialects[0].result, `"c`, `"d`)))}
		})},
		row{"llm.Transport requests", "windows", 250, requests(windows(""))},
		row{"llm.Transport requests", "windows after a message", 250, requests(windows(`{"role":"user","content":"first"},`))},
		row{"llm.Transport requests", "chained", 10000, chained(`,"previous_response_id":"resp_%d"`)},
		row{"llm.Transport requests", "stored", 10000, chained(`,"conversation":"conv_1"`)})
}()

// chained returns a reader of n requests, of which each has one message and goes on with the response before it.
func chained(with string) func(n int) func() {
	return func(n int) func() {
		var bodies, answers []string
		for i := range n {
			more := ""
			if i > 0 {
				more = numbered(with)(i - 1)
			}
			bodies = append(bodies, numbered(`{"model":"m","input":[{"role":"user","content":"message %d"}]`)(i)+more+"}")
			answers = append(answers, numbered(`{"id":"resp_%d","model":"m","status":"completed","output":[{"type":"message","role":"assistant",`+
				`"content":[{"type":"output_text","text":"a"}]}]}`)(i))
		}
		return exchanges("/v1/responses", bodies, func(i int) string { return answers[i] })
	}
}

// windows returns n requests, of which each has the last four of the messages so far after a first one.
func windows(first string) func(n int) []string {
	return func(n int) (all []string) {
		for i := range n {
			all = append(all, first+list(4, func(k int) string {
				return numbered(said + `,{"role":"assistant","content":"a","tool_calls":[{"id":"c%d","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c%d","content":"x"}`)(i + k)
			}))
		}
		return all
	}
}

const said = `{"role":"user","content":"message %d"}`

// requests returns a reader of requests with n messages, each answered.
func requests(conversations func(n int) []string) func(n int) func() {
	return func(n int) func() {
		var bodies []string
		for _, messages := range conversations(n) {
			bodies = append(bodies, `{"messages":[`+messages+`]}`)
		}
		return exchanges("/v1/chat/completions", bodies, func(int) string { return `{"choices":[{"message":{"role":"assistant","content":"a"}}]}` })
	}
}

// exchanges returns a run whose agent sends these requests, one after another, and reads the answer to each.
func exchanges(path string, bodies []string, answerTo func(i int) string) func() {
	return serve(`{"task_id":1,"input":{"user_instruction":"a"}}`, func(ctx context.Context, _ *dispatch.Run) (*dispatch.Response, error) {
		reply := ""
		model := &http.Client{Transport: &llm.Transport{Base: testkit.RoundTrip(func(r *http.Request) (*http.Response, error) {
			_, err := io.Copy(io.Discard, r.Body)
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(reply))}, err
		})}}
		for i, body := range bodies {
			reply = answerTo(i)
			q, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://model.example"+path, strings.NewReader(body))
			if err != nil {
				return nil, err
			}
			answer, err := model.Do(q)
			if err != nil {
				return nil, err
			}
			_, err = io.Copy(io.Discard, answer.Body)
			if err = errors.Join(err, answer.Body.Close()); err != nil {
				return nil, err
			}
		}
		return &dispatch.Response{FinalResponse: "done"}, nil
	})
}

// stream returns a reader of a streamed answer with n calls.
func stream(call string) func(n int) func() {
	return func(n int) func() {
		var events bytes.Buffer
		for i := range n {
			fmt.Fprintf(&events, "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[%s]}}]}\n\n", numbered(call)(i))
		}
		return read("/v1/chat/completions", `{"model":"m","stream":true,"messages":[{"role":"user","content":"a"}]}`, events.Bytes())
	}
}

// answered returns a reader of an answer with n calls, as the model of package llmtest streams it.
func answered(path, ask string) func(n int) func() {
	return func(n int) func() {
		var calls []llmtest.Step
		for i := range n {
			calls = append(calls, llmtest.Call(fmt.Sprint("c", i), "f", `{"a":1}`))
		}
		w := httptest.NewRecorder()
		llmtest.NewModel(llmtest.Turn(calls...)).ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, strings.NewReader(ask)))
		return read(path, ask, w.Body.Bytes())
	}
}

// read returns a run whose agent sends a request and reads this answer.
func read(path, ask string, stream []byte) func() {
	answer := string(stream)
	return exchanges(path, []string{ask}, func(int) string { return answer })
}

// serve returns a dispatch to an agent.
func serve(body string, agent dispatch.Agent) func() {
	h, err := dispatch.New(agent, &dispatch.Options{InsecureNoAuth: true, SendTranscript: true})
	if err != nil {
		panic(err)
	}
	return post(h, body, http.Header{"X-Pipelines-Run-Token": {"a-run-token"}, "X-Pipelines-Odyssey-Proxy-Url": {"https://api.example.com/runs/abc"}})
}

func post(h http.Handler, body string, header http.Header) func() {
	return func() {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
		r.Header = header.Clone()
		r.Header.Set("Content-Type", "application/json")
		h.ServeHTTP(httptest.NewRecorder(), r)
	}
}

const (
	platformCall   = `{"role":"assistant","content":"","tool_calls":[{"id":"c%d","name":"f","arguments":{"x":%d}}]}`
	platformResult = `{"role":"tool","tool_call_id":"c%d","content":"x"}`
)

// told returns an agent that tells a conversation of n calls.
func told(shape func(n int) string) func(n int) func() {
	return func(n int) func() {
		var messages []dispatch.Message
		if err := json.Unmarshal([]byte("["+shape(n)+"]"), &messages); err != nil {
			panic(err)
		}
		return serve(`{"task_id":1,"input":{"user_instruction":"a"}}`, func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			recorderOf(ctx).SetConversation(ctx, messages)
			return run.Transcript().Response("done"), nil
		})
	}
}

// replays dispatches a session with n messages to an agent that returns them.
func replays(shape func(n int) string) func(n int) func() {
	return func(n int) func() {
		return serve(`{"task_id":1,"input":{"user_instruction":"a","messages":[`+shape(n)+`]}}`, func(_ context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			history, err := run.History()
			return &dispatch.Response{FinalResponse: "done", Messages: history}, err
		})
	}
}

var (
	matched = func(n int) string { return list(n, numbered(platformCall+","+platformResult)) }
	crossed = func(n int) string {
		return list(n, numbered(platformCall)) + "," + reversed(n, numbered(platformResult))
	}
	alone = func(n int) string { return list(n, numbered(platformCall)) }
)

var dispatchRows = []row{
	{"dispatch.Handler", "one list", 1000, replays(matched)},
	{"dispatch.Handler", "reversed", 1000, replays(crossed)},
	{"dispatch.Handler", "unmatched", 2000, replays(alone)},
	{"dispatch.Handler", "distinct", 2000, func(n int) func() {
		return serve(`{"task_id":1,"input":{"user_instruction":"a","input":`+objectOf(n)+`}}`, func(_ context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			var input any
			return &dispatch.Response{FinalResponse: "done"}, run.DecodeInput(&input)
		})
	}},
	{"dispatch.Transcript", "two lists", 1000, told(matched)},
	{"dispatch.Transcript", "reversed", 1000, told(crossed)},
	{"dispatch.Transcript", "unmatched", 1000, told(alone)},
	{"dispatch.Transcript", "distinct", 4000, func(n int) func() {
		return serve(`{"task_id":1,"input":{"user_instruction":"a"}}`, func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			for i := range n {
				recorderOf(ctx).SetConversation(proxy.WithActor(ctx, fmt.Sprint("sub-agent ", i)), []dispatch.Message{{Role: dispatch.RoleUser, Content: dispatch.Text("a")}})
			}
			return run.Transcript().Response("done"), nil
		})
	}},
	{"dispatch.CheckResponse", "reversed", 1000, over(func(n int) string { return `{"final_response":"a","messages":[` + crossed(n) + "]}" },
		func(doc []byte) { dispatch.CheckResponse(doc) })},
	{"webhook.New", "distinct", 2000, func(n int) func() {
		h, err := webhook.New([]webhook.Tool{{Name: "echo", Func: func(_ context.Context, args json.RawMessage) (any, error) { return args, nil }}},
			&webhook.Options{Secrets: []string{"a-secret"}})
		if err != nil {
			panic(err)
		}
		return post(h, `{"tool":"echo","arguments":`+objectOf(n)+"}", http.Header{"X-Agent-Secret": {"a-secret"}, "X-Agent-Identity": {"6f1c1a5e-3c1b-4a53-9d7e-0c5f2b8a9e11"}})
	}},
	{"ledger.Rule.Eval", "one list", 1000, evaluate(func(n int) string { return `{"id":"1","a":[` + list(n, same(`{"b":1}`)) + "]}" })},
	{"ledger.Rule.Eval", "nested", 200, evaluate(func(n int) string { return `{"id":"1","a":[` + list(n, same(deep)) + "]}" })},
	{"ledger.Diff", "two lists", 1000, func(n int) func() {
		x, y := state(n, `"m%d":{"a":1}`), state(n, `"x%d":{"a":1}`)
		return func() { ledger.Diff(x.Snapshot(), y.Snapshot()) }
	}},
}

func state(n int, piece string) *ledger.State {
	s, err := ledger.NewState(json.RawMessage(`{"order":{`+list(n, numbered(piece))+"}}"), nil)
	if err != nil {
		panic(err)
	}
	return s
}

func evaluate(document func(n int) string) func(n int) func() {
	var a ledger.Adapter
	if err := json.Unmarshal([]byte(`{"entity_type":"order","id_from":"$.id","op":"add","field_map":{"all":"$.a[*]"}}`), &a); err != nil {
		panic(err)
	}
	rule, err := ledger.Compile(&a)
	if err != nil {
		panic(err)
	}
	return over(document, func(doc []byte) { rule.Eval(nil, doc) })
}

var fileRows = []row{
	{"eval.Read", "one list", 2000, over(func(n int) string { return "user,state\n" + strings.Repeat("a,\"{\"\"a\"\":{}}\"\n", n) },
		func(doc []byte) { _, _ = eval.Read(bytes.NewReader(doc)) })},
	{"eval.ParseTrajectory", "one list", 1000, over(between("[", numbered(`{"tool":"t%d","arguments":{"x":[1]}}`), "]"),
		func(doc []byte) { _, _ = eval.ParseTrajectory(doc) })},
}

// Reading four times as many pieces allocates about four times as much.
func TestAllocationsGrow(t *testing.T) {
	for _, r := range rows {
		t.Run(r.reader+"/"+r.shape, func(t *testing.T) {
			n := max(r.n/8, 20)
			short, long := r.read(n), r.read(4*n)
			short() // fills caches and pools
			base, spent := cost.Allocated(short), cost.Allocated(long)
			if spent > 256<<10+6*base && !known[r.reader+"/"+r.shape] {
				t.Errorf("allocates %d bytes for %d pieces, and %d for %d", base, n, spent, 4*n)
			}
		})
	}
}

// recorderOf returns what package llm writes into the transcript of the run with.
func recorderOf(ctx context.Context) runctx.Recorder[dispatch.Message, dispatch.Problem, dispatch.Metadata] {
	kept := runctx.From[*runctx.Kept[dispatch.Run]](ctx)
	return kept.Recorder.(runctx.Recorder[dispatch.Message, dispatch.Problem, dispatch.Metadata])
}
