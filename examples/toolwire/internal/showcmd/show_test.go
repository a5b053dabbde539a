package showcmd_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/cassette"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/eval"
	"github.com/toolwire/toolwire/dispatch/llm"
	"github.com/toolwire/toolwire/dispatch/llm/llmtest"
	"github.com/toolwire/toolwire/examples/toolwire/internal/showcmd"
	"github.com/toolwire/toolwire/internal/testkit"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

const hostile = "<script>alert(1)</script>\u202e"

// record makes a tape of an agent that asks a model, calls a tool through a sub-agent and answers.
func record(t *testing.T, name, final string) (path string, result *dispatchtest.Result) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	tape := cassette.Open(t, path, &cassette.Options{Mode: cassette.Record})
	model := llmtest.New(t,
		llmtest.Turn(llmtest.Text(hostile), llmtest.Call("call_1", "get_order", `{"order_id":"4521"}`)).Usage(210, 40),
		llmtest.Text(final).Usage(320, 5),
	)
	client := &http.Client{Transport: &llm.Transport{Base: tape.Model(model.Client().Transport)}}
	result = dispatchtest.Run(t, dispatchtest.Target{Agent: func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		messages := []any{map[string]any{"role": "system", "content": "You refund orders."}, map[string]any{"role": "user", "content": run.Instruction}}
		for range 2 {
			body, _ := json.Marshal(map[string]any{"model": "fake-1", "messages": messages})
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, model.URL+"/v1/chat/completions", bytes.NewReader(body))
			if err != nil {
				return nil, err
			}
			r.Header.Set("Authorization", "Bearer key-of-the-model")
			r.Header.Set("Content-Type", "application/json")
			resp, err := client.Do(r)
			if err != nil {
				return nil, err
			}
			var answer struct {
				Choices []struct{ Message json.RawMessage }
			}
			err = json.NewDecoder(resp.Body).Decode(&answer)
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			if err != nil || len(answer.Choices) == 0 {
				return nil, fmt.Errorf("no answer: %w", err)
			}
			if len(messages) > 2 {
				return &dispatch.Response{FinalResponse: final}, nil
			}
			got, err := run.Proxy.CallForModel(proxy.WithActor(ctx, "supervisor/orders"), "get_order", map[string]string{"order_id": "4521"})
			if err != nil {
				return nil, err
			}
			messages = append(messages, answer.Choices[0].Message, map[string]any{"role": "tool", "tool_call_id": "call_1", "content": got.Text})
		}
		return nil, nil
	}}, dispatchtest.Task{
		Instruction: "Refund #4521. " + hostile, WrapProxy: tape.Wrap,
		World: proxytest.World{
			InitialState: `{"order":{"4521":{"status":"shipped"}}}`,
			Behaviors:    map[string]proxytest.Behavior{"get_order": proxytest.Update("order", "order_id", &proxytest.WriteOptions{Set: `{"status":"seen"}`})},
			FailureRules: []proxytest.FailureRule{{Nth: []int{1}, Status: 503, ErrorClass: "lock_contention"}},
		},
	})
	if err := tape.Close(); err != nil {
		t.Fatal(err)
	}
	return path, result
}

// saved writes a result as toolwire page saves it.
func saved(t *testing.T, name string, result *dispatchtest.Result) (path string) {
	t.Helper()
	text, err := json.Marshal(map[string]any{"result": result})
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), name)
	write(t, path, `{"format":"toolwire run 1",`+string(text[1:]))
	return path
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// page runs the command and returns the page that it writes. It checks what holds for every page.
func page(t *testing.T, files ...string) string {
	t.Helper()
	before := map[string]string{}
	for _, file := range files {
		before[file] = read(t, file)
	}
	out := filepath.Join(t.TempDir(), "run.html")
	var stderr bytes.Buffer
	if status := showcmd.Run(t.Context(), append([]string{"-o", out}, files...), io.Discard, &stderr); status != 0 {
		t.Fatalf("status %d: %s", status, &stderr)
	}
	for file, text := range before {
		if entries, _ := os.ReadDir(filepath.Dir(file)); read(t, file) != text || len(entries) != 1 {
			t.Errorf("opening %s has changed it, or made a file", file)
		}
	}
	testkit.OwnerOnly(t, out)
	html := read(t, out)
	for _, bad := range []string{"<script>alert", "\u202e", "key-of-the-model", `src="http`, ` style="`, " onclick"} {
		if strings.Contains(html, bad) {
			t.Errorf("the page contains %q", bad)
		}
	}
	if !strings.Contains(html, `http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-`) {
		t.Error("the page has no policy")
	}
	ids := map[string]int{}
	for _, m := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(html, -1) {
		if ids[m[1]]++; ids[m[1]] > 1 {
			t.Errorf("the id %s occurs twice", m[1])
		}
	}
	for _, m := range regexp.MustCompile(` href="#([^"]*)"`).FindAllStringSubmatch(html, -1) {
		if ids[m[1]] == 0 {
			t.Errorf("the link #%s leads nowhere", m[1])
		}
	}
	level := byte('1')
	for _, m := range regexp.MustCompile(`<h([1-6])`).FindAllStringSubmatch(html, -1) {
		if m[1][0] > level+1 {
			t.Errorf("a heading jumps from level %c to %s", level, m[1])
		}
		level = m[1][0]
	}
	return html
}

// in checks that a page shows texts in this order.
func in(t *testing.T, html string, texts ...string) {
	t.Helper()
	plain := regexp.MustCompile(`<[^>]*>`).ReplaceAllString(html[strings.Index(html, "</style>"):], "")
	plain = strings.NewReplacer("&#34;", `"`, "&#39;", "'", "&lt;", "<", "&gt;", ">", "&#43;", "+").Replace(plain)
	at := 0
	for _, text := range texts {
		i := strings.Index(plain[at:], text)
		if i < 0 {
			t.Errorf("the page does not show %q after what is before it:\n%s", text, plain)
			return
		}
		at += i + len(text)
	}
}

// A tape is shown with its models, tokens, waits and the transcript as the platform would show it.
func TestTape(t *testing.T) {
	path, result := record(t, "run.jsonl", "It has been refunded.")
	html := page(t, path)
	in(t, html, "Tape run.jsonl", "Refund #4521.", "Tool calls1", "Refused1", "Requests to models2", "Modelsfake-1", "Tokens530 in, 45 out", "Waits",
		"Timeline", "fake-1, 210 tokens in, 40 out", "supervisor/orders", "get_order", "2 attempts", "503", "lock_contention", "Wait before", "fake-1, 320 tokens in, 5 out",
		"A tape does not record the ledger", fmt.Sprintf("Transcript, %d messages", len(result.Messages)), "You refund orders.", "get_order", "call_1", `"seen"`, "It has been refunded.")
}

// The end of a path is enough to read the conversations of every format.
func TestFormats(t *testing.T) {
	for _, tt := range []struct{ name, list, message, answer, want string }{
		{"…:generateContent", "contents", `{"role":"user","parts":[{"text":"Refund."}]}`,
			`{"candidates":[{"content":{"role":"model","parts":[{"text":"It is done."}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":7,"candidatesTokenCount":3},"modelVersion":"g-1"}`, "g-1, 7 tokens in, 3 out"},
		{"…:rawPredict", "messages", `{"role":"user","content":"Refund."}`,
			`{"id":"m","type":"message","role":"assistant","model":"c-1","content":[{"type":"text","text":"It is done."}],"stop_reason":"end_turn","usage":{"input_tokens":7,"output_tokens":3}}`, "c-1, 7 tokens in, 3 out"},
		{"…/converse", "messages", `{"role":"user","content":[{"text":"Refund."}]}`,
			`{"output":{"message":{"role":"assistant","content":[{"text":"It is done."}]}},"stopReason":"end_turn","usage":{"inputTokens":7,"outputTokens":3}}`, "…/converse, 7 tokens in, 3 out"},
		{"…/model/amazon.m-1:0/converse", "messages", `{"role":"user","content":[{"text":"Refund."}]}`,
			`{"output":{"message":{"role":"assistant","content":[{"text":"It is done."}]}},"stopReason":"end_turn","usage":{"inputTokens":7,"outputTokens":3}}`, "amazon.m-1:0, 7 tokens in, 3 out"},
		{"…/responses", "input", `{"role":"user","content":"Refund."}`,
			`{"id":"r","object":"response","status":"completed","model":"o-1","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"It is done."}]}],"usage":{"input_tokens":7,"output_tokens":3}}`, "o-1, 7 tokens in, 3 out"},
		{"…/embeddings", "input", `{"text":"x"}`, `{"data":"It is done."}`, "…/embeddings"},
	} {
		html := page(t, temp(t, fmt.Sprintf(`{"cassette":2,"created":"2026-11-21T20:15:00Z"}
{"part":1,"value":%s}
{"n":1,"kind":"model","name":%q,"arguments":{},"status":200,"answer":%s,"lists":{%q:1}}
{"end":true,"count":1}
`, tt.message, tt.name, tt.answer, tt.list)))
		if in(t, html, "Timeline", tt.want, "Transcript"); tt.name != "…/embeddings" {
			in(t, html, "Transcript, 2 messages", "Refund.", "It is done.")
		}
	}
}

// A run that was saved, and one in a file of results, has its changes of the ledger and its final response too.
func TestRunsAndResults(t *testing.T) {
	_, result := record(t, "run.jsonl", "It has been refunded.")
	html := page(t, saved(t, "run-7.json", result))
	in(t, html, "Saved run run-7.json", "Final response", "It has been refunded.", "Timeline", "Dispatch", "get_order", "Ledger", "/order/4521/status", `"seen"`, "Transcript")

	file := filepath.Join(t.TempDir(), "results.jsonl")
	agent := func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
		return &dispatch.Response{FinalResponse: "Done: " + hostile}, nil
	}
	cases := []eval.Case{{ID: "a", Task: dispatchtest.Task{Instruction: "One"}}, {ID: "b", Task: dispatchtest.Task{Instruction: "Two"}}}
	if _, err := eval.Run(t.Context(), dispatchtest.Target{Agent: agent}, cases, &eval.Options{ResultsFile: file}); err != nil {
		t.Fatal(err)
	}
	in(t, strings.ReplaceAll(page(t, file), "<script>", ""), "Evaluation", "results", "2 passed", "Done:")
	// One that is not complete has its first runs, and why it is not.
	whole := read(t, file)
	cut := filepath.Join(t.TempDir(), "cut.jsonl")
	write(t, cut, whole[:len(whole)-20])
	in(t, page(t, cut), "File of results cut.jsonl", "trial 1", "not complete", "Verdictpassed", "Done:")
	// Two files are compared as eval compares them.
	other := filepath.Join(t.TempDir(), "again.jsonl")
	write(t, other, whole)
	in(t, page(t, file, other), "again", "results")
}

// A tape without an instruction shows what the requests to models have, and no other message.
func TestNoInstruction(t *testing.T) {
	for _, user := range []string{"Hello.", "…"} {
		tape := temp(t, `{"cassette":2,"created":"2026-11-21T20:15:00Z"}
{"part":1,"value":{"role":"system","content":"Be brief."}}
{"part":2,"after":1,"value":{"role":"user","content":"`+user+`"}}
{"n":1,"kind":"model","name":"…/chat/completions","arguments":{"model":"m"},"status":200,`+
			`"answer":{"choices":[{"message":{"role":"assistant","content":"Yes."},"finish_reason":"stop"}]},"lists":{"messages":2}}
{"end":true,"count":1}
`)
		in(t, page(t, tape), "Transcript, 3 messages", "system", "Be brief.", "user", user, "assistant", "Yes.")
	}
}

// Of two recordings the first difference is on top: of messages, events and the ledger.
func TestTwo(t *testing.T) {
	one, a := record(t, "one.jsonl", "It has been refunded.")
	two, b := record(t, "two.jsonl", "It could not be refunded.")
	in(t, page(t, one, two), "one.jsonl and two.jsonl", "First difference", "Message 5", "It has been refunded.", "It could not be refunded.", "Tape one.jsonl", "Timeline", "Tape two.jsonl", "Timeline")
	in(t, page(t, saved(t, "a.json", a), two), "First difference", "Saved run a.json", "Tape two.jsonl")
	in(t, page(t, saved(t, "a.json", a), saved(t, "b.json", b)), "First difference", "Message 5", "It has been", "It could not be", "Final response")
	same, _ := record(t, "same.jsonl", "It has been refunded.")
	in(t, page(t, one, same), "No difference")
}

// Damaged files are told with their place, and the lines of a tape that are whole are shown.
func TestDamagedFiles(t *testing.T) {
	path, _ := record(t, "run.jsonl", "Done.")
	whole := read(t, path)
	cut := filepath.Join(t.TempDir(), "cut.jsonl")
	write(t, cut, whole[:len(whole)-30])
	in(t, page(t, cut), "cut.jsonl", "truncated_tape", "Tool calls1")
	in(t, page(t, temp(t, strings.Replace(whole, `"kind":"tool"`, `"kind":"tol"`, 1))), "invalid_tape", "/kind must be", "Refund", "Done.")

	// The tape of a conversation whose requests are much longer than the tape.
	var b strings.Builder
	b.WriteString(`{"cassette":2,"created":"2026-11-21T20:15:00Z"}` + "\n")
	for n := range 200 {
		fmt.Fprintf(&b, `{"part":%d,"after":%d,"value":{"role":"user","content":%q}}`+"\n", n+1, n, strings.Repeat("x", 2000))
	}
	for n := range 2000 {
		fmt.Fprintf(&b, `{"n":%d,"kind":"model","name":"…/messages","arguments":{"model":"m"},"status":200,"answer":{},"lists":{"messages":200}}`+"\n", n+1)
	}
	b.WriteString(`{"end":true,"count":2000}` + "\n")
	large := filepath.Join(t.TempDir(), "large.jsonl")
	write(t, large, b.String())
	in(t, page(t, large), "Requests to models2000", "only the first requests to models")

	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"nothing":   {nil, "one file or two, not 0"},
		"three":     {[]string{path, path, path}, "one file or two, not 3"},
		"no file":   {[]string{path + "x"}, "no such file"},
		"a folder":  {[]string{t.TempDir()}, "directory"},
		"itself":    {[]string{"-o", path, path}, "name the same file"},
		"address":   {[]string{"-addr", "0.0.0.0:0", path}, "-addr is not a loopback address"},
		"a text":    {[]string{temp(t, "hello")}, "is not a tape, a file of results or a saved run"},
		"empty":     {[]string{temp(t, "")}, "is not a tape"},
		"version":   {[]string{temp(t, `{"format":"toolwire run 2","result":{}}`)}, `"toolwire run 2"`},
		"no JSON":   {[]string{temp(t, `{"format":"toolwire run 1","result":{`)}, "JSON"},
		"two kinds": {[]string{path, temp(t, `{"format":"toolwire eval results 2"}`)}, "a tape and a file of results cannot be compared"},
	} {
		var stdout, stderr bytes.Buffer
		if status := showcmd.Run(t.Context(), tt.args, &stdout, &stderr); status != 2 || !strings.Contains(stderr.String(), tt.want) {
			t.Errorf("%s: status %d, %s, want %s", name, status, &stderr, tt.want)
		}
	}
	if read(t, path) != whole {
		t.Error("the tape has changed")
	}
}

func temp(t *testing.T, text string) string {
	path := filepath.Join(t.TempDir(), "file")
	write(t, path, text)
	return path
}

// Without -o the page is served on loopback, to its own host name only.
func TestServe(t *testing.T) {
	path, _ := record(t, "run.jsonl", "Done.")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out, in := io.Pipe()
	ended := make(chan int, 1)
	go func() { ended <- showcmd.Run(ctx, []string{path}, in, io.Discard) }()
	line := make([]byte, 200)
	n, err := out.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	url := regexp.MustCompile(`http://127\.0\.0\.1:\d+/`).FindString(string(line[:n]))
	for _, tt := range []struct {
		method, host, path string
		status             int
	}{{"GET", "", "", 200}, {"GET", "localhost:1", "", 200}, {"GET", "evil.example", "", 403}, {"GET", "", "x", 404}, {"POST", "", "", 405}} {
		r, _ := http.NewRequestWithContext(t.Context(), tt.method, url+tt.path, nil)
		if tt.host != "" {
			r.Host = tt.host
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != tt.status || (tt.status == 200) != bytes.Contains(body, []byte("Refund #4521.")) || resp.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%+v: %d", tt, resp.StatusCode)
		}
	}
	stop()
	if status := <-ended; status != 0 {
		t.Errorf("status %d", status)
	}
}
