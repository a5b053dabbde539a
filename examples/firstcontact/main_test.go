package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/capture"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/manifest/catalog"
	"github.com/toolwire/toolwire/manifest/toolbox"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
	"github.com/toolwire/toolwire/schema"
)

// A platform is the emulated one, with one difference.
type platform struct {
	want string // the id of the fact that the difference contradicts; "" for none

	dispatch *strings.Replacer // changes the bodies of dispatches
	label    string            // of the sub-agent; defaults to supervisor/refunds
	// proxy, catalog and toolbox change a response. They return the status, and change header and
	// body.
	proxy, catalog, toolbox func(path string, status int, header http.Header, body *string) int
	// forbid answers a request to the catalog in place of it.
	forbid func(r *http.Request) (status int, body string)
}

var tools = []schema.Tool{{Name: "get_order", Description: "Look up an order.", InputSchema: []byte(`{"type":"object"}`)}}

// agent makes a handoff and two calls, of which the first fails and is not repeated.
func (p *platform) agent(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
	_, _ = run.Proxy.Handoff(ctx, "supervisor", "supervisor/refunds")
	label := p.label
	if label == "" {
		label = "supervisor/refunds"
	}
	client := run.Proxy.As(label)
	_, _ = client.Call(ctx, "get_order", map[string]string{"order_id": "4521"})
	_, _ = client.Call(ctx, "get_order", map[string]string{"order_id": "4521"})
	return run.Transcript().Response("It was shipped."), nil
}

// changed returns a handler whose responses change alters.
func changed(next http.Handler, change func(string, int, http.Header, *string) int) http.Handler {
	if change == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got := httptest.NewRecorder()
		next.ServeHTTP(got, r)
		text := got.Body.String()
		header := got.Header().Clone()
		status := change(r.URL.Path, got.Code, header, &text)
		header.Del("Content-Length")
		maps.Copy(w.Header(), header)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	})
}

// capture records a session of two turns and the requests of other clients.
func (p *platform) capture(t testing.TB, opts *capture.Options) string {
	t.Helper()
	var out bytes.Buffer
	record := capture.New(&out, opts)
	handler, err := dispatch.New(p.agent, &dispatch.Options{
		Tokens: []string{"agent-token"}, Proxy: &proxy.Options{Transport: record.Transport(nil), MaxAttempts: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	recorded := record.Middleware(handler)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p.dispatch != nil {
			body, _ := io.ReadAll(r.Body)
			text := p.dispatch.Replace(string(body))
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
			r.Header.Set("Content-Length", strconv.Itoa(len(text)))
		}
		recorded.ServeHTTP(w, r)
	}))
	defer server.Close()
	_, err = dispatchtest.Dispatch(t.Context(), dispatchtest.Target{URL: server.URL, AuthValue: "Bearer agent-token"}, dispatchtest.Task{
		Instruction: "Where is order #4521?", Conversation: &dispatchtest.Conversation{UserTurns: []string{"And now?"}},
		World: proxytest.World{
			Tools: tools, Behaviors: map[string]proxytest.Behavior{"get_order": proxytest.Canned(`{"status":"shipped"}`)},
			FailureRules: []proxytest.FailureRule{{Nth: []int{1}, Tool: "get_order", Status: 503, ErrorClass: "lock_contention", RetryAfter: 1}},
		},
		WrapProxy: func(next http.Handler) http.Handler { return changed(next, p.proxy) },
	})
	if err != nil {
		t.Fatal(err)
	}
	p.clients(t, record.Transport(nil))
	if err := record.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// clients uses a catalog and a list of tools.
func (p *platform) clients(t testing.TB, transport http.RoundTripper) {
	t.Helper()
	ctx := t.Context()
	served, err := catalog.NewHandler(catalog.NewMemoryStore(), &catalog.HandlerOptions{
		InsecureAccount: "6f9619ff-8b86-4011-b42d-00c04fc964ff",
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(changed(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p.forbid != nil {
			if status, body := p.forbid(r); status != 0 {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(status)
				_, _ = io.WriteString(w, body)
				return
			}
		}
		served.ServeHTTP(w, r)
	}), p.catalog))
	defer server.Close()
	client, err := catalog.NewClient(server.URL, "api-key", &catalog.ClientOptions{Transport: transport, MaxAttempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	source := []byte("from langchain_core.tools import BaseTool\n\nclass Greeter(BaseTool):\n    name: str = \"greeter\"\n" +
		"    description: str = \"Greets.\"\n\n    def _run(self, who: str) -> str:\n        return who\n")
	greeter, err := client.Upload(ctx, catalog.Tool{Framework: catalog.LangChain, Type: catalog.Custom}, "greeter.py", source)
	if err == nil {
		_, _ = client.Script(ctx, greeter.ID)
	}
	clock := catalog.Tool{Name: "time_tool", Framework: catalog.LangChain, Type: catalog.Native}
	first, err := client.Create(ctx, clock)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = client.List(ctx, "")
	if err := client.Delete(ctx, first.ID); err != nil {
		t.Fatal(err)
	}
	_, _ = client.Create(ctx, clock)
	_ = client.Restore(ctx, first.ID)

	lists := httptest.NewServer(changed(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"results":[{"name":"t","description":"d","url":"https://tools.example.com/t"}],`+
			`"pagination":{"total_count":1,"limit":100,"offset":0,"has_more":false}}`)
	}), p.toolbox))
	defer lists.Close()
	box, err := toolbox.NewClient("api-key", &toolbox.ClientOptions{BaseURL: lists.URL, Transport: transport})
	if err != nil {
		t.Fatal(err)
	}
	_, _ = box.Tools(ctx, "7")
}

// report runs the command on a capture.
func report(t *testing.T, text string) (status int, out string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "capture.jsonl")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	status = run([]string{file}, &stdout, &stderr)
	if stderr.Len() > 0 {
		t.Errorf("%s", stderr.String())
	}
	return status, stdout.String()
}

var verdictLine = regexp.MustCompile(`(?m)^(confirmed|contradicted|not seen) +([a-z0-9-]+): `)

// verdicts returns the ids of a report by verdict.
func verdicts(out string) map[string][]string {
	list := map[string][]string{}
	for _, m := range verdictLine.FindAllStringSubmatch(out, -1) {
		list[m[1]] = append(list[m[1]], m[2])
	}
	return list
}

// inBody returns a change that replaces old by new in the bodies of responses to paths that contain
// path.
func inBody(path, old, new string) func(string, int, http.Header, *string) int {
	return func(at string, status int, _ http.Header, body *string) int {
		if strings.Contains(at, path) {
			*body = strings.ReplaceAll(*body, old, new)
		}
		return status
	}
}

// refusing returns a change that refuses requests to paths that contain path.
func refusing(path string, status int, with string) func(string, int, http.Header, *string) int {
	return func(at string, was int, _ http.Header, body *string) int {
		if strings.Contains(at, path) {
			*body = with
			return status
		}
		return was
	}
}

// withHeader returns a change that sets a header of responses with a status.
func withHeader(status int, name, value string) func(string, int, http.Header, *string) int {
	return func(_ string, was int, header http.Header, _ *string) int {
		if was == status {
			header.Set(name, value)
		}
		return was
	}
}

var platforms = map[string]platform{
	"the emulator": {},

	"labels have no slash":         {want: "actor-labels", proxy: refusing("/tools/", 400, `{"detail":{"error_class":"actor_id_invalid"}}`)},
	"labels may have spaces":       {want: "actor-labels", label: "the refunds", proxy: acceptsAll},
	"labels may be long":           {want: "actor-labels", label: strings.Repeat("refunds", 40), proxy: acceptsAll},
	"labels may be not ASCII":      {want: "actor-labels", label: "rückgabe", proxy: acceptsAll},
	"handoffs have other names":    {want: "handoff-members", proxy: refusing("/traces/", 422, `{"detail":{"error_class":"trace_payload_invalid"}}`)},
	"handoffs are not accepted":    {want: "handoff-members", proxy: inBody("/traces/", `"accepted":true`, `"accepted":false`)},
	"waits are long":               {want: "retry-after", proxy: withHeader(503, "Retry-After", "90")},
	"waits are words":              {want: "retry-after", proxy: withHeader(503, "Retry-After", "soon")},
	"waits are dates":              {want: "retry-after", proxy: withHeader(503, "Retry-After", "Fri, 31 Dec 2100 23:59:59 GMT")},
	"503 has other classes":        {want: "retry-503", proxy: inBody("/tools/", "lock_contention", "simulator_warming_up")},
	"503 has no class":             {want: "retry-503", proxy: refusing("/tools/get_order", 503, `{"detail":"try again"}`)},
	"results without an envelope":  {want: "bare-response", proxy: inBody("/tools/", `"response":`, `"result":`)},
	"results are lists":            {want: "bare-response", proxy: refusing("/tools/", 200, `["shipped"]`)},
	"sessions beside the input":    {want: "multi-turn", dispatch: strings.NewReplacer(`"session_id":`, `"x":`, `"run_id":`, `"session_id":"s1","run_id":`)},
	"sessions in the inner input":  {want: "multi-turn", dispatch: strings.NewReplacer(`"input":{}`, `"input":{"messages":[],"session_id":"s"}`, `"session_id":`, `"sid":`, `"messages":`, `"rows":`)},
	"ids are fractions":            {want: "ids", dispatch: strings.NewReplacer(`"agent_id":1`, `"agent_id":1.5`)},
	"ids are objects":              {want: "ids", dispatch: strings.NewReplacer(`"agent_id":1`, `"agent_id":{"id":1}`)},
	"ids have spaces":              {want: "ids", dispatch: strings.NewReplacer(`"agent_id":1`, `"agent_id":"agent 1"`)},
	"the field is type":            {want: "catalog-type", forbid: refusesToolType},
	"records have neither":         {want: "catalog-type", catalog: inBody("/tools/", `"tool_type"`, `"kind"`)},
	"pages have next":              {want: "toolbox-pages", toolbox: inBody("", `"pagination":{"total_count":1,"limit":100,"offset":0,"has_more":false}`, `"next":"https://x","count":1`)},
	"lists are arrays":             {want: "toolbox-pages", toolbox: refusing("", 200, `[]`)},
	"lists need a limit":           {want: "toolbox-pages", toolbox: refusing("", 422, `{"detail":"limit is required"}`)},
	"the source is at script":      {want: "source-path", forbid: sourceAt("/script")},
	"the source is elsewhere":      {want: "source-path", forbid: sourceAt("/")},
	"lists have the source":        {want: "redacted-script", catalog: inList(`"script_content":"import os\nprint(1)\nprint(2)\nprint(3)\nprint(4)\n"`)},
	"redaction is an object":       {want: "redacted-script", catalog: inList(`"script_content":{"redacted":true}`)},
	"redaction is null":            {catalog: inList(`"script_content":null`)},
	"redaction is empty":           {catalog: inList(`"script_content":""`)},
	"redaction is a mask":          {catalog: inList(`"script_content":"********"`)},
	"redaction is a word":          {catalog: inList(`"script_content":"[REDACTED]"`)},
	"a deleted tool blocks":        {want: "deleted-names", forbid: blocksNames()},
	"restoring a name that is two": {want: "deleted-names", catalog: restoresAnyway},
}

// acceptsAll accepts what the emulator refuses.
func acceptsAll(path string, status int, _ http.Header, body *string) int {
	if status == 400 && strings.Contains(path, "/tools/") {
		*body = `{"tool_name":"get_order","response":{},"source":"odyssey","latency_ms":1,"matched_rule_index":null}`
		return 200
	}
	return status
}

// refusesToolType refuses forms with the field tool_type.
func refusesToolType(r *http.Request) (int, string) {
	if !strings.HasSuffix(r.URL.Path, "/upload") {
		return 0, ""
	}
	return 422, `{"detail":[{"loc":["body","type"],"msg":"Field required","type":"missing"}]}`
}

// sourceAt serves a source at the end of the path only.
func sourceAt(end string) func(r *http.Request) (int, string) {
	return func(r *http.Request) (int, string) {
		switch {
		case !strings.HasSuffix(r.URL.Path, "/source") && !strings.HasSuffix(r.URL.Path, "/script"):
			return 0, ""
		case strings.HasSuffix(r.URL.Path, end):
			return 200, `{"script":"print(1)"}`
		}
		return 404, `{"detail":"Not Found"}`
	}
}

// inList adds a member to the records of a list.
func inList(member string) func(string, int, http.Header, *string) int {
	return func(path string, status int, _ http.Header, body *string) int {
		if strings.HasSuffix(path, "/tools/") && strings.Contains(*body, "[{") {
			*body = strings.ReplaceAll(*body, `"framework":`, member+`,"framework":`)
		}
		return status
	}
}

// blocksNames refuses the second creation of a tool.
func blocksNames() func(r *http.Request) (int, string) {
	var created sync.Map
	return func(r *http.Request) (int, string) {
		if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/tools/") {
			return 0, ""
		}
		if _, again := created.Swap(r.Host, true); again { // each capture has a server of its own
			return 409, `{"detail":"a tool of this name exists"}`
		}
		return 0, ""
	}
}

// restoresAnyway restores a tool whose name is taken.
func restoresAnyway(path string, status int, _ http.Header, body *string) int {
	if strings.HasSuffix(path, "/restore") {
		*body = `{"success":true}`
		return 200
	}
	return status
}

// The emulated platform contradicts nothing, and each difference exactly one fact, in captures
// without and with content.
func TestEachContradiction(t *testing.T) {
	contradictable := map[string]bool{}
	for name, p := range platforms {
		contradictable[p.want] = true
		for _, content := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, content %t", name, content), func(t *testing.T) {
				status, out := report(t, p.capture(t, &capture.Options{Content: content}))
				got := verdicts(out)
				want, wantStatus := []string(nil), 0
				if p.want != "" {
					want, wantStatus = []string{p.want}, 1
				}
				if !slices.Equal(got[contradicted], want) || status != wantStatus {
					t.Errorf("contradicted are %q, want %q; status %d\n%s", got[contradicted], want, status, out)
				}
				if p.want == "" && len(got[confirmed]) != len(facts) {
					t.Errorf("%d facts are confirmed, want all:\n%s", len(got[confirmed]), out)
				}
			})
		}
	}
	for _, f := range facts {
		if !contradictable[f.id] {
			t.Errorf("no platform contradicts %s", f.id)
		}
	}
}

// The rows of docs/design.md are those of the command.
func TestFactsAreThoseOfTheDesign(t *testing.T) {
	design, err := os.ReadFile("../../docs/design.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(design), "\n## Unknown facts of the wire\n")
	section, _, ended := strings.Cut(section, "\n## ")
	if !found || !ended {
		t.Fatal("docs/design.md has no section of unknown facts")
	}
	var rows, want []string
	for line := range strings.Lines(section) {
		if cells := strings.Split(line, " | "); len(cells) == 3 && !strings.HasPrefix(cells[0], "| ---") && cells[0] != "| id" {
			rows = append(rows, strings.TrimPrefix(cells[0], "| ")+": "+cells[1])
		}
	}
	for _, f := range facts {
		want = append(want, f.id+": "+f.name)
	}
	if !slices.Equal(rows, want) {
		t.Errorf("docs/design.md has\n%s\nthe command has\n%s", strings.Join(rows, "\n"), strings.Join(want, "\n"))
	}
}

// A file that ends in the middle of a line counts up to there, and the report says so.
func TestIncompleteFiles(t *testing.T) {
	p := platform{}
	text := p.capture(t, nil)
	end := strings.Index(text, `"side":"client"`)
	status, out := report(t, text[:end])
	got := verdicts(out)
	if status != 0 || len(got[confirmed]) != 7 || len(got[notSeen]) != 5 {
		t.Errorf("status %d, %v", status, got)
	}
	line := strings.Count(text[:end], "\n") + 1
	if want := fmt.Sprintf("line %d is left out: it is incomplete: it is not valid JSON", line); !strings.Contains(out, want) {
		t.Errorf("the report does not say %q:\n%s", want, out)
	}
	if want := "capture 1 has no end: it was not closed, and messages may be missing\n"; !strings.Contains(out, want) {
		t.Errorf("the report does not say %q:\n%s", want, out)
	}
	if _, out := report(t, text); strings.Contains(out, "no end") {
		t.Errorf("the report of a whole capture says that it has no end:\n%s", out)
	}
	if status, out := report(t, text[:end]+text); status != 0 || !strings.Contains(out, ": 2 captures, ") ||
		len(verdicts(out)[confirmed]) != len(facts) {
		t.Errorf("with another capture behind, status %d:\n%s", status, out)
	}
}

// What no document names is listed, with its first place.
func TestSurprises(t *testing.T) {
	p := platform{
		dispatch: strings.NewReplacer(`"agent_id":1`, `"agent_id":1,"priority":"high"`, `"run_token_jti":"`, `"run_token_jti":"x`,
			`"role":"user"`, `"role":"customer","name":"x"`),
		proxy: func(path string, status int, header http.Header, body *string) int {
			header.Set("X-Pipelines-Region", "eu-1")
			*body = strings.NewReplacer(`"source":"odyssey"`, `"source":"replayed","trace_id":7`,
				`"lock_contention"`, `"ledger_busy"`).Replace(*body)
			if strings.Contains(path, "/traces/") {
				return 202
			}
			return status
		},
	}
	_, out := report(t, p.capture(t, nil))
	_, listed, _ := strings.Cut(out, "What no document names:\n")
	for _, want := range []string{
		"the member priority of a dispatch: <string 4> (run-1, line 5, and 1 more)",
		"/run_token_jti of a dispatch differs from the header X-Pipelines-Run-Token-Jti (run-1, line 5, and 1 more)",
		"the header X-Pipelines-Region of a response of the proxy: <string 4> (run-1, line 7, and 5 more)",
		"the status 202 of a response of the proxy (run-1, line 7, and 1 more)",
		"the error class ledger_busy (run-1, line 9)",
		"the member message of the detail of a refusal: <string 34> (run-1, line 9)",
		"the member trace_id of a response to a tool call: <integer 1> (run-1, line 11, and 2 more)",
		"the source replayed (run-1, line 11, and 2 more)",
		"the role customer (run-1, line 13)",
		"the member name of a message of a session: <string 1> (run-1, line 13)",
	} {
		if !strings.Contains(listed, "  "+want+"\n") {
			t.Errorf("the report does not list %q", want)
		}
	}
	if t.Failed() {
		t.Log(out)
	}
}

// A webhook's request has no document, so all its members are listed.
func TestWebhookMembers(t *testing.T) {
	var out bytes.Buffer
	record := capture.New(&out, nil)
	handler := record.Middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, `{"ok":true}`)
	}))
	r := httptest.NewRequest(http.MethodPost, "/hook", strings.NewReader(
		`{"function":{"name":"search_leads","parameters":{"type":"object"}},"args":{"q":"Content"},"template":{"id":"t-1"}}`))
	r.Header.Set("X-Agent-Secret", "secret-1234567890")
	handler.ServeHTTP(httptest.NewRecorder(), r)
	if err := record.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, report := report(t, out.String())
	for _, want := range []string{
		"the member function of a webhook's request: object (line 3)", "the member function/name of a webhook's request: string (line 3)",
		"the member args of a webhook's request: object (line 3)", "the member template/id of a webhook's request: string (line 3)",
		"webhook: HTTP/1.1 without TLS: 1",
	} {
		if !strings.Contains(report, "  "+want+"\n") {
			t.Errorf("the report does not list %q:\n%s", want, report)
		}
	}
}

func TestMistakes(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"usage: firstcontact capture.jsonl": {}, "usage: ": {"-h"},
		"firstcontact: open ": {filepath.Join(t.TempDir(), "missing")},
		" is not a capture":   {empty},
	} {
		var stdout, stderr bytes.Buffer
		if status := run(args, &stdout, &stderr); status != 2 || !strings.Contains(stderr.String(), want) || stdout.Len() > 0 {
			t.Errorf("%q: status %d, %s", args, status, stderr.String())
		}
	}
}

// FuzzReport: a report can be made of every file, and no text in it steers the terminal.
func FuzzReport(f *testing.F) {
	p := platform{}
	f.Add([]byte(p.capture(f, nil)))
	f.Fuzz(func(t *testing.T, file []byte) {
		records, err := capture.Read(bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		e := newEvidence(records)
		findings := judge(e)
		if len(findings) != len(facts) {
			t.Fatalf("%d findings", len(findings))
		}
		if len(e.exchanges) > 0 {
			write(io.Discard, "x", e, findings)
		}
	})
}

var update = flag.Bool("update", false, "record testdata/capture.jsonl anew")

const sample = "examples/firstcontact/testdata/capture.jsonl"

// The page shows the report of the sample. The platform of the sample asks for long waits.
func TestPage(t *testing.T) {
	t.Chdir("../..")
	if *update {
		p := platform{proxy: func(path string, status int, header http.Header, body *string) int {
			*body = strings.Replace(*body, `"source":"odyssey"`, `"source":"odyssey","trace_id":7`, 1)
			return withHeader(503, "Retry-After", "90")(path, status, header, body)
		}}
		if err := os.WriteFile(sample, []byte(p.capture(t, nil)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	page, err := os.ReadFile("docs/first-contact.md")
	if err != nil {
		t.Fatal(err)
	}
	_, shown, found := strings.Cut(string(page), "$ go run ./examples/firstcontact "+sample+"\n")
	shown, _, ended := strings.Cut(shown, "```\n")
	var stdout, stderr bytes.Buffer
	status := run([]string{sample}, &stdout, &stderr)
	if !found || !ended || shown != stdout.String() || status != 1 {
		t.Errorf("status %d, %s; the page shows\n%s\nand the command prints\n%s", status, stderr.String(), shown, stdout.String())
	}
}
