package cost_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/cassette"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/eval"
	"github.com/toolwire/toolwire/dispatch/llm/llmtest"
	"github.com/toolwire/toolwire/internal/redact"
	"github.com/toolwire/toolwire/internal/text"
	"github.com/toolwire/toolwire/internal/toolcall"
	"github.com/toolwire/toolwire/internal/toolresult"
	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/manifest/catalog"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
	"github.com/toolwire/toolwire/schema"
)

// must returns the value of a call that these rows never make fail.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// validating returns a reader of documents against a schema.
func validating(of, document func(n int) string) func(n int) func() {
	return func(n int) func() {
		validator, doc := must(schema.Compile([]byte(of(n)), nil)), []byte(document(n))
		return func() { _ = validator.Validate(doc) }
	}
}

func fixed(text string) func(int) string { return func(int) string { return text } }

// exporting returns a writer of n tools in a format.
func exporting(f schema.Format) func(n int) func() {
	return func(n int) func() {
		tools, _, err := schema.Import([]byte("["+list(n, numbered(`{"name":"t%d",`+object+`}`))+"]"), schema.Platform)
		must(tools, err)
		return func() { _, _, _ = schema.Export(tools, f) }
	}
}

var toolRows = []row{
	{"schema.Validator.Validate", "one list", 10000, validating(fixed(`{"items":{"type":"string"}}`), between("[", numbered(`"v%d"`), "]"))},
	{"schema.Validator.Validate", "unmatched", 10000, validating(fixed(`{"items":{"type":"string"}}`), between("[", numbered(`%d`), "]"))},
	{"schema.Validator.Validate", "distinct", 500, validating(fixed(`{"uniqueItems":true}`), between("[", numbered(`"v%d"`), "]"))},
	{"schema.Validator.Validate", "two lists", 200, validating(between(`{"properties":{`, numbered(`"p%d":{"type":"integer"}`), "}}"),
		func(n int) string { return "{" + reversed(n, numbered(`"p%d":%d`)) + "}" })},
	{"schema.Validator.Validate", "closed", 200, validating(between(`{"additionalProperties":false,"properties":{`, numbered(`"p%d":{}`), "}}"),
		between("{", numbered(`"x%d":1`), "}"))},
	{"schema.Validator.Validate", "required", 200, validating(between(`{"required":[`, numbered(`"p%d"`), "]}"),
		func(n int) string { return "{" + reversed(n, numbered(`"p%d":%d`)) + "}" })},
	{"schema.Export openai", "one list", 500, exporting(schema.OpenAIChat)},
	{"schema.Export anthropic", "one list", 500, exporting(schema.Anthropic)},
	{"toolcall.WithReasoning", "distinct", 1000, over(between(`{"type":"object","properties":{`, numbered(`"p%d":{}`), "}}"),
		func(doc []byte) { toolcall.WithReasoning(doc) })},
	{"toolcall.Tool.Arguments", "two lists", 1000, func(n int) func() {
		parameters := `{"type":"object","properties":{` + list(n, numbered(`"p%d":{"default":1}`)) + "}}"
		tool := toolcall.New("t", []byte(parameters), func([]byte) error { return nil })
		doc := []byte("{" + reversed(n/2, numbered(`"p%d":2`)) + "}")
		return func() { tool.Arguments(doc).Filled() }
	}},
	{"toolresult.ForModel", "distinct", 4000, over(objectOf, func(doc []byte) { toolresult.ForModel(doc, false); toolresult.Failed(doc) })},
	{"text.Line", "one list", 80000, over(func(n int) string { return strings.Repeat("a\x1b\u202e\n", n) },
		func(doc []byte) {
			text.Line(string(doc), 1000)
			text.Lines(string(doc), 1000)
			_ = text.Clean(string(doc))
		})},
	{"proxy.Client", "one list", 4000, func(n int) func() { return calling(n, between("[", numbered(`{"a":%d}`), "]")) }},
	{"proxy.Client", "distinct", 4000, func(n int) func() { return calling(n, objectOf) }},
	{"catalog.Client", "distinct", 500, func(n int) func() {
		items := "[" + list(n, numbered(`{"id":"%d","name":"t%d","type":"custom","tags":["a"]}`)) + "]"
		client := must(catalog.NewClient("https://api.example.com", "key", &catalog.ClientOptions{Transport: answers(items)}))
		return func() { _, _ = client.List(context.Background(), "") }
	}},
	{"catalog.CheckPlugin", "fields", 20000, checking(`f"{`)},
	{"catalog.CheckPlugin", "brackets", 20000, checking("(")},
	{"catalog.CheckPlugin", "names", 20000, checking(`'\N{`)},
	{"catalog.CheckPlugin", "blocks", 5000, checking("class A(B):pass\n")},
	{"catalog.CheckPlugin", "spaces", 50000, checking("\\\n ")},
	{"redact.Set.Redact", "itself", 50000, hiding(strings.Repeat("/~", 2000) + "b")},
	{"redact.Set.Redact", "half escapes", 50000, hiding(strings.Repeat("u00", 1300) + "b")},
	{"redact.Set.Redact", "percents", 50000, hiding(strings.Repeat("%4", 2000) + "b")},
	{"redact.Set.Redact", "letters", 50000, hiding(strings.Repeat("a", 4000) + "b")},
	{"catalog.AddEntryPoint", "one list", 1000, over(func(n int) string { return strings.Repeat("class A(B):\n    name = 'a'\n", n) },
		func(doc []byte) { _, _ = catalog.AddEntryPoint(doc) })},
	{"ledger.NewState", "distinct", 2000, func(n int) func() { return func() { state(n, `"m%d":{"a":1}`) } }},
	{"ledger.State.Apply", "distinct", 2000, applying(`"id%d"`)},
	{"ledger.State.Apply", "one list", 2000, applying(`"id"`)},
}

// checking returns a reader of sources in Python.
func checking(piece string) func(n int) func() {
	return over(func(n int) string { return strings.Repeat(piece, n) }, func(doc []byte) { _, _ = catalog.CheckPlugin("a.py", doc, nil) })
}

// hiding returns a reader of texts that nearly are the secret, again and again.
func hiding(secret string) func(n int) func() {
	return func(n int) func() {
		set, text := redact.New(secret), strings.Repeat(strings.TrimSuffix(secret, "b")[:6], n)
		return func() { set.Redact(text) }
	}
}

// answers is a transport that answers every request with 200 and this body.
type answers string

func (body answers) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(string(body)))}, nil
}

// calling returns a call whose result is the document.
func calling(n int, document func(n int) string) func() {
	answer := answers(`{"tool_name":"t","response":` + document(n) + `,"source":"odyssey","latency_ms":1,"matched_rule_index":null}`)
	client := must(proxy.New("https://proxy.example.com", "a-run-token", &proxy.Options{Transport: answer, Pacer: proxy.NewPacer(0, 0)}))
	return func() { _, _ = client.CallForModel(context.Background(), "t", json.RawMessage("{}")) }
}

// applying returns a reader of n updates by one adapter.
func applying(id string) func(n int) func() {
	var a ledger.Adapter
	if err := json.Unmarshal([]byte(`{"entity_type":"order","id_from":"$.id","op":"add","field_map":{"a":"$.a"},"flags":["{id}"]}`), &a); err != nil {
		panic(err)
	}
	rule := must(ledger.Compile(&a))
	return func(n int) func() {
		results := make([]json.RawMessage, n)
		for i := range results {
			results[i] = json.RawMessage(`{"id":` + numbered(id)(i) + `,"a":` + fmt.Sprint(i) + "}")
		}
		return func() {
			s := must(ledger.NewState(nil, nil))
			for _, result := range results {
				s.Apply(rule.Eval(nil, result).Updates...)
			}
		}
	}
}

// inFile returns a reader of a file with the text.
func inFile(text func(n int) string, read func(path string)) func(n int) func() {
	return func(n int) func() {
		dir := must(os.MkdirTemp("", "cost"))
		path := filepath.Join(dir, fmt.Sprint(n))
		if err := os.WriteFile(path, []byte(text(n)), 0o600); err != nil {
			panic(err)
		}
		return func() { read(path) }
	}
}

func tapeOf(line string) func(n int) string {
	return func(n int) string {
		var b strings.Builder
		b.WriteString(`{"cassette":1,"created":"2026-11-21T20:15:00Z"}` + "\n")
		for i := range n {
			fmt.Fprintf(&b, `{"n":%d,"kind":"tool","name":"get","arguments":%s,"status":200,"answer":{"tool_name":"get","response":1,`+
				`"source":"odyssey","latency_ms":1,"matched_rule_index":null},"at_ms":0,"latency_ms":1}`+"\n", i+1, numbered(line)(i))
		}
		fmt.Fprintf(&b, `{"end":true,"count":%d}`+"\n", n)
		return b.String()
	}
}

// conversationOf returns a tape with a conversation of n messages, and a request for each.
func conversationOf(n int) string {
	var b strings.Builder
	b.WriteString(`{"cassette":2,"created":"2026-11-21T20:15:00Z"}` + "\n")
	for i := range n {
		fmt.Fprintf(&b, `{"part":%d,"after":%d,"value":{"role":"assistant","id":"c%d","name":"f"}}`+"\n", i+1, i, i)
		fmt.Fprintf(&b, `{"n":%d,"kind":"model","name":"…/messages","arguments":{},"status":200,"answer":1,"lists":{"messages":%d}}`+"\n",
			i+1, i+1)
	}
	fmt.Fprintf(&b, `{"end":true,"count":%d}`+"\n", n)
	return b.String()
}

// replaying returns a run of n calls against a tape of n calls, and the report about it.
func replaying(arguments string) func(n int) func() {
	return inFile(tapeOf(`{"id":%d}`), func(path string) {
		c := must(cassette.New(path, nil))
		client := must(proxy.New("https://proxy.example.com", "a-run-token", &proxy.Options{Transport: proxytest.NewTransport(c), Pacer: proxy.NewPacer(0, 0)}))
		n := 0
		_, _ = fmt.Sscan(filepath.Base(path), &n)
		for i := range n {
			_, _ = client.Do(context.Background(), "get", json.RawMessage(numbered(arguments)(n-1-i)))
		}
		_ = c.Report().String()
	})
}

// running returns a run with n calls of a tool, and its timeline.
func running(n int) func() {
	world := proxytest.World{Behaviors: map[string]proxytest.Behavior{"get": proxytest.Canned(`{"a":1}`)}}
	agent := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		for i := range n {
			if _, err := run.Proxy.CallForModel(ctx, "get", map[string]int{"id": i}); err != nil {
				return nil, err
			}
		}
		return run.Transcript().Response("done"), nil
	}
	return func() {
		platform := must(proxytest.New(world, &proxytest.Options{RatePerMinute: -1}))
		result := must(dispatchtest.Dispatch(context.Background(), dispatchtest.Target{Agent: agent}, dispatchtest.Task{Platform: platform}))
		_ = result.String()
	}
}

// asked returns a scripted model that reads a request with n calls and their results.
func asked(path, begin string, d dialect, results func(n int, piece func(i int) string) string) func(n int) func() {
	return func(n int) func() {
		text := results(n, numbered(d.result))
		if d.resultsInOne != "" {
			text = strings.Replace(d.resultsInOne, "%s", text, 1)
		}
		body := begin + "," + strings.Replace(d.calls, "%s", list(n, numbered(d.call)), 1) + "," + text + "]}"
		model := llmtest.NewModel(slices.Repeat([]llmtest.Step{llmtest.Text("done")}, 20)...)
		return func() {
			w := httptest.NewRecorder()
			r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			if model.ServeHTTP(w, r); w.Code != http.StatusOK {
				panic(w.Body.String())
			}
		}
	}
}

var modelRows = func() (rows []row) {
	for i, d := range []struct{ path, begin string }{
		{"/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"a"}`},
		{"/v1/responses", `{"model":"m","input":[{"role":"user","content":"a"}`},
		{"/v1/messages", `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"a"}`},
		{"/v1beta/models/m:generateContent", `{"contents":[{"role":"user","parts":[{"text":"a"}]}`},
		{"/model/m/converse", `{"toolConfig":{"tools":[{"toolSpec":{"name":"f","inputSchema":{"json":{"type":"object"}}}}]},"messages":[{"role":"user","content":[{"text":"a"}]}`},
		{"/api/chat", `{"model":"m","messages":[{"role":"user","content":"a"}`},
	} {
		name := "llmtest.Model " + string(dialects[i].format)
		rows = append(rows, row{name, "two lists", 4000, asked(d.path, d.begin, dialects[i], list)},
			row{name, "reversed", 4000, asked(d.path, d.begin, dialects[i], reversed)})
	}
	return rows
}()

func trajectory(n int, piece func(n int, piece func(i int) string) string, text string) eval.Trajectory {
	return must(eval.ParseTrajectory([]byte("[" + piece(n, numbered(text)) + "]")))
}

// evaluated returns an experiment of n cases, and reports about it.
func evaluated(n int) func() {
	cases := make([]eval.Case, n)
	for i := range cases {
		cases[i] = eval.Case{ID: fmt.Sprint("case ", i), Task: dispatchtest.Task{Instruction: "a"}}
	}
	agent := func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
		return &dispatch.Response{FinalResponse: "done"}, nil
	}
	dir := must(os.MkdirTemp("", "cost"))
	return func() {
		file := filepath.Join(dir, fmt.Sprint(n, time.Now().UnixNano()))
		e := must(eval.Run(context.Background(), dispatchtest.Target{Agent: agent}, cases, &eval.Options{ResultsFile: file}))
		again := must(eval.Load(file))
		for _, write := range []func(io.Writer) error{e.WriteJSON, e.WriteJUnit, func(w io.Writer) error { return again.WriteHTML(w, e) }} {
			if err := write(io.Discard); err != nil {
				panic(err)
			}
		}
	}
}

// tried is an experiment of cases that all passed. Each is a slice of its own.
func tried(cases, trials int) *eval.Experiment {
	e := &eval.Experiment{SliceBy: []string{"own"}}
	for i := range cases {
		c := &eval.Case{ID: fmt.Sprint("case ", i), Columns: map[string]string{"own": fmt.Sprint(i)}}
		for k := range trials {
			e.Trials = append(e.Trials, eval.Trial{Case: c, Number: k + 1, Verdict: eval.Passed, Scores: map[string]float64{"s": 1, "calls": 2}})
		}
	}
	return e
}

var runRows = []row{
	{"dispatch.Run", "one list", 200, running},
	{"cassette.Load", "one list", 1000, inFile(tapeOf(`{"id":%d}`), func(path string) { _, _ = cassette.Load(path) })},
	{"cassette.Report", "reversed", 300, replaying(`{"id":%d}`)},
	{"cassette.Report", "unmatched", 640, replaying(`{"id":"other %d"}`)},
	{"cassette.Model", "one list", 1000, inFile(conversationOf, func(path string) {
		c := must(cassette.New(path, nil))
		body := strings.NewReader(`{"messages":[{"role":"user","content":"other"}]}`)
		r := must(http.NewRequest(http.MethodPost, "https://model.example.com/v1/messages", body))
		_ = must(c.Model(nil).RoundTrip(r)).Body.Close()
		_ = c.Report().String()
	})},
	// A difference is quadratic up to a bound; these are beyond it.
	{"eval.Trajectory.Diff", "reversed", 16400, func(n int) func() {
		x, y := trajectory(n, list, `{"tool":"t%d"}`), trajectory(n, reversed, `{"tool":"t%d"}`)
		return func() { x.Diff(y) }
	}},
	{"eval.Trajectory.Diff", "unmatched", 16400, func(n int) func() {
		x, y := trajectory(n, list, `{"tool":"t%d"}`), trajectory(n, list, `{"tool":"x%d"}`)
		return func() { x.Diff(y) }
	}},
	{"eval.Match.Check", "reversed", 2000, func(n int) func() {
		got, want := trajectory(n, list, `{"tool":"t","arguments":{"id":%d}}`), trajectory(n, reversed, `{"tool":"t","arguments":{"id":%d}}`)
		return func() { _ = eval.Match{Mode: "unordered"}.Check(got, want) }
	}},
	{"eval.Match.Check", "unmatched", 2000, func(n int) func() {
		got, want := trajectory(n, list, `{"tool":"t","arguments":{"id":1}}`), trajectory(n/2, list, `{"tool":"t","arguments":{"id":1}}`)
		return func() { _ = eval.Match{Mode: "unordered"}.Check(got, want) }
	}},
	{"eval.Match.Check, Partial", "reversed", 1000, func(n int) func() {
		got := trajectory(n, list, `{"tool":"t","arguments":{"by":{"id":%d},"note":1}}`)
		want := trajectory(n, reversed, `{"tool":"t","arguments":{"by":{"id":%d}}}`)
		return func() { _ = eval.Match{Mode: "unordered", Partial: true}.Check(got, want) }
	}},
	{"eval.Match.Check, Partial", "unmatched", 1000, func(n int) func() {
		got, want := trajectory(n/2, list, `{"tool":"t","arguments":{"id":1,"note":%d}}`), trajectory(n, list, `{"tool":"t","arguments":{"id":1}}`)
		return func() { _ = eval.Match{Mode: "unordered", Partial: true}.Check(got, want) }
	}},
	{"eval.Match.Check, Ignore", "reversed", 1000, func(n int) func() {
		got, want := trajectory(n, list, `{"tool":"t","arguments":{"id":%d,"at":1}}`), trajectory(n, reversed, `{"tool":"t","arguments":{"id":%d,"at":2}}`)
		return func() { _ = eval.Match{Mode: "unordered", Ignore: []string{"/at"}}.Check(got, want) }
	}},
	{"eval.Run", "one list", 50, evaluated},
	{"eval.Experiment.Figures", "one case", 2500, func(n int) func() { return func() { tried(1, n).Figures() } }},
	{"eval.Compare", "distinct slices", 1000, func(n int) func() { return func() { must(eval.Compare(tried(n, 1), tried(n, 1))) } }},
	{"eval.Read", "distinct", 4000, over(func(n int) string {
		return "user,state\n" + strings.ReplaceAll(list(n, numbered("a%d,{}")), ",a", "\na")
	},
		func(doc []byte) { _, _ = eval.Read(bytes.NewReader(doc)) })},
	{"eval.Read", "JSON Lines", 4000, over(func(n int) string {
		return strings.ReplaceAll(list(n, numbered(`{"user":"a%d","state":{}}`)), ",{\"user", "\n{\"user")
	},
		func(doc []byte) { _, _ = eval.Read(bytes.NewReader(doc)) })},
}
