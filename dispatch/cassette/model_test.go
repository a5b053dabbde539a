package cassette_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/cassette"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/llm"
	"github.com/toolwire/toolwire/internal/testkit"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

const modelURL = "https://secret-project.example.com/accounts/secret-project/v1/chat/completions?key=query-key-0001&trace=secret-project"

// ask sends a request to a model through a transport.
func ask(t *testing.T, transport http.RoundTripper, body string) (status int, answer string) {
	t.Helper()
	return askAt(t, transport, modelURL, body)
}

func askAt(t *testing.T, transport http.RoundTripper, url, body string) (status int, answer string) {
	t.Helper()
	r := request(t, http.MethodPost, url, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer model-key-0001")
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("OpenAI-Project", "secret-project")
	got := send(t, transport, r)
	return got.status, got.body
}

// model answers as a model: with the number of the request, the last message and the answer's type.
type model struct {
	mu    sync.Mutex
	asked int
	types string
	body  func(n int, request string) string
}

func (m *model) RoundTrip(r *http.Request) (*http.Response, error) {
	request, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	m.asked++
	n := m.asked
	m.mu.Unlock()
	body := fmt.Sprintf(`{"choices":[{"message":{"role":"assistant","content":"answer %d"}}]}`, n)
	if m.body != nil {
		body = m.body(n, string(request))
	}
	contentType := m.types
	if contentType == "" {
		contentType = "application/json"
	}
	return &http.Response{
		StatusCode: 200, Header: http.Header{"Content-Type": {contentType}, "Set-Cookie": {"session=secret-project"}},
		Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)), Request: r,
	}, nil
}

// A replayed error has the headers by which SDKs choose what it is and whether to repeat the request. Others are not
// on the tape.
func TestModelHeaders(t *testing.T) {
	const url = "https://bedrock.example.com/model/m/converse"
	path := recordModel(t, testkit.RoundTrip(func(r *http.Request) (*http.Response, error) {
		resp, err := (&model{}).RoundTrip(r)
		resp.StatusCode = 429
		resp.Header.Set("X-Amzn-Errortype", "ThrottlingException:http://internal.example.com/")
		resp.Header.Set("X-Should-Retry", "false")
		resp.Header.Set("X-Amzn-Requestid", "secret-project")
		return resp, err
	}), func(m http.RoundTripper) { askAt(t, m, url, chat()) })
	if text := readFile(t, path); strings.Contains(text, "secret-project") || strings.Contains(text, "Set-Cookie") {
		t.Error(text)
	}
	r := request(t, http.MethodPost, url, strings.NewReader(chat()))
	resp, err := newCassette(t, path, nil).Model(unreachable{t}).RoundTrip(r)
	if err != nil || resp.StatusCode != 429 || len(resp.Header) != 3 || resp.Header.Get("X-Amzn-Errortype") != "ThrottlingException:http://internal.example.com/" ||
		resp.Header.Get("X-Should-Retry") != "false" {
		t.Errorf("%v %v", resp, err)
	}
}

// unreachable is the model in a replay.
type unreachable struct{ t *testing.T }

func (u unreachable) RoundTrip(r *http.Request) (*http.Response, error) {
	u.t.Errorf("a request was sent to %s", r.URL.Path)
	return nil, errors.New("there is no model")
}

// recordModel makes a tape of what use asks a model.
func recordModel(t *testing.T, behind http.RoundTripper, use func(http.RoundTripper)) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "run.jsonl")
	c := newCassette(t, path, &cassette.Options{Mode: cassette.Record})
	use(c.Model(behind))
	finish(t, c)
	return path
}

func chat(messages ...string) string {
	return `{"model":"m-1","messages":[` + strings.Join(messages, ",") + `]}`
}

func say(role, text string) string {
	quoted, _ := json.Marshal(text)
	return fmt.Sprintf(`{"role":%q,"content":%s}`, role, quoted)
}

// Requests are equal if they are the same JSON values, but for ids of calls and what a mask matches.
func TestModelMatching(t *testing.T) {
	system, user := say("system", "You refund orders. Today is 2026-11-27."), say("user", "Refund #4521.")
	calls := func(a, b string) string {
		return fmt.Sprintf(`{"role":"assistant","tool_calls":[{"id":%q,"type":"function","function":{"name":"get","arguments":"{}"}},`+
			`{"id":%q,"type":"function","function":{"name":"get","arguments":"{}"}}]}`, a, b)
	}
	result := func(id, text string) string {
		return fmt.Sprintf(`{"role":"tool","tool_call_id":%q,"content":%q}`, id, text)
	}
	whole := chat(system, user, calls("a1", "b1"), result("a1", "one"), result("b1", "two"))
	date := []*regexp.Regexp{regexp.MustCompile(`\d{4}-\d\d-\d\d`)}
	for name, tt := range map[string]struct {
		run    string
		mask   []*regexp.Regexp
		differ string // "" if the requests are equal
	}{
		"the same":        {whole, nil, ""},
		"members":         {`{"messages":` + strings.TrimSuffix(whole[strings.Index(whole, "["):], "}") + ` , "model":"m-1" }`, nil, ""},
		"other ids":       {chat(system, user, calls("x", "y"), result("x", "one"), result("y", "two")), nil, ""},
		"swapped ids":     {chat(system, user, calls("a1", "b1"), result("b1", "one"), result("a1", "two")), nil, "/messages/3/tool_call_id, /messages/4/tool_call_id"},
		"an unknown id":   {chat(system, user, calls("a1", "b1"), result("c1", "one"), result("b1", "two")), nil, "/messages/3/tool_call_id"},
		"another date":    {strings.ReplaceAll(whole, "2026-11-27", "2027-01-02"), date, ""},
		"a short member":  {strings.Replace(whole, "m-1", "m-2", 1), []*regexp.Regexp{regexp.MustCompile(`m-\d`)}, ""},
		"without a mask":  {strings.ReplaceAll(whole, "2026-11-27", "2027-01-02"), nil, "/messages/0/content"},
		"another model":   {strings.Replace(whole, "m-1", "m-2", 1), nil, "/model"},
		"another result":  {strings.Replace(whole, `"two"`, `"three"`, 1), nil, "/messages/4/content"},
		"a message less":  {chat(user, calls("a1", "b1"), result("a1", "one"), result("b1", "two")), nil, "/messages/0"},
		"a message more":  {chat(system, user, calls("a1", "b1"), result("a1", "one"), result("b1", "two"), user), nil, "/messages/5"},
		"another option":  {strings.Replace(whole, `"model"`, `"temperature":0,"model"`, 1), nil, "/temperature"},
		"an empty list":   {`{"model":"m-1","messages":[]}`, nil, "/messages, /messages/0, /messages/1, /messages/2, /messages/3, …"},
		"no JSON":         {`x`, nil, "the whole"},
		"two ids are one": {chat(system, user, calls("x", "x"), result("x", "one"), result("x", "two")), nil, "/messages/2/tool_calls/1/id, /messages/4/tool_call_id"},
	} {
		t.Run(name, func(t *testing.T) {
			path := recordModel(t, &model{}, func(m http.RoundTripper) { ask(t, m, whole) })
			c := newCassette(t, path, &cassette.Options{Mask: tt.mask})
			status, answer := ask(t, c.Model(unreachable{t}), tt.run)
			if tt.differ == "" {
				if status != 200 || !strings.Contains(answer, "answer 1") || !c.Report().OK() {
					t.Errorf("%d %s\n%s", status, answer, c.Report())
				}
				return
			}
			wantKinds(t, c.Report(), "changed")
			if d := c.Report().Deviations[0]; status != 400 || len(d.Diff) == 0 || !strings.HasSuffix(d.Message, " at "+tt.differ) {
				t.Errorf("%d %s\n%s", status, answer, c.Report())
			}
		})
	}
}

// Ids of calls count by their order in a conversation, in every format, whatever is beside it on the tape.
func TestModelIDs(t *testing.T) {
	for name, format := range map[string]string{
		"Chat Completions": `{"messages":[%s,{"role":"assistant","tool_calls":[{"id":%q,"function":{"name":"get"}}]},{"role":"tool","tool_call_id":%[2]q}]}`,
		"Messages":         `{"messages":[%s,{"role":"assistant","content":[{"type":"tool_use","id":%q,"name":"get"}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":%[2]q}]}]}`,
		"Responses":        `{"input":[%s,{"type":"function_call","call_id":%q,"name":"get"},{"type":"function_call_output","call_id":%[2]q}]}`,
		"Converse":         `{"messages":[%s,{"content":[{"toolUse":{"toolUseId":%q,"name":"get"}}]},{"content":[{"toolResult":{"toolUseId":%[2]q}}]}]}`,
	} {
		use := func(m http.RoundTripper, ids ...string) {
			for n, id := range ids {
				ask(t, m, fmt.Sprintf(format, say("user", fmt.Sprint(n)), id))
			}
		}
		path := recordModel(t, &model{}, func(m http.RoundTripper) { use(m, "a", "b") })
		c := newCassette(t, path, nil)
		if use(c.Model(unreachable{t}), "c", "c"); !c.Report().OK() {
			t.Errorf("%s: %s", name, c.Report())
		}
	}
}

// A prompt that changed is shown as one reads it, beside the request of the same conversation.
func TestModelPromptChanged(t *testing.T) {
	prompt := "You refund orders.\nLook at the order first.\nAnswer in one sentence, and name the amount that was refunded."
	path := recordModel(t, &model{}, func(m http.RoundTripper) {
		ask(t, m, chat(say("system", "You write a title of at most five words for a conversation."), say("user", "Title?")))
		ask(t, m, chat(say("system", prompt), say("user", "Refund #4521.")))
		ask(t, m, chat(say("system", prompt), say("user", "Refund #4521."), say("assistant", "answer 2"), say("user", "Thanks.")))
	})
	c := newCassette(t, path, nil)
	ask(t, c.Model(nil), chat(say("system", strings.Replace(prompt, "one sentence", "two sentences", 1)), say("user", "Refund #4521.")))
	want := `cassette ` + path + `, replay: 0 requests on the tape, 3 deviations
1. changed: the request to the model differs from the tape at /messages/0/content
     run   model …/chat/completions {"model":"m-1"}
     tape  model …/chat/completions {"model":"m-1"}, line 7
       /messages/0/content, - on the tape, + in the run:
         - Answer in one sentence, and name the amount that was refunded.
         + Answer in two sentences, and name the amount that was refunded.
2. never made: 2 requests of the tape to …/chat/completions were not made
     tape  model …/chat/completions {"model":"m-1"}, line 4`
	if got := c.Report().String(); got != strings.Replace(want, "3 deviations", "2 deviations", 1) {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	_, block, _ := strings.Cut(strings.ReplaceAll(readFile(t, "../../docs/testing.md"), "\r\n", "\n"), "```text\n1. changed")
	if block, _, _ = strings.Cut(block, "```"); block == "" || !strings.Contains(want, block) {
		t.Errorf("docs/testing.md shows\n%s", block)
	}
}

// Requests that differ are shown beside different ones of the tape, and without what a mask matches.
func TestModelDeviations(t *testing.T) {
	ask2 := func(m http.RoundTripper, date, one, two string) {
		for _, text := range []string{one, two} {
			ask(t, m, `{"date":"`+date+`","messages":[`+say("system", "You refund orders.")+`,`+say("user", text)+`]}`)
		}
	}
	path := recordModel(t, &model{}, func(m http.RoundTripper) { ask2(m, "2026-11-27", "One", "Two") })
	c := newCassette(t, path, &cassette.Options{Mask: []*regexp.Regexp{regexp.MustCompile(`\d{4}-\d\d-\d\d`)}})
	ask2(c.Model(unreachable{t}), "2027-01-02", "Three", "Four")
	wantKinds(t, c.Report(), "changed", "changed")
	for i, d := range c.Report().Deviations {
		if d.Tape.Number != i+1 || len(d.Diff) != 1 || d.Diff[0].Pointer != "/messages/1/content" {
			t.Error(c.Report())
		}
	}
}

// A text is shown where it differs, however long it is and whatever differs.
func TestModelTextsThatDiffer(t *testing.T) {
	long, lines := strings.Repeat("Look at the order. ", 100), strings.Repeat("A line.\n", 20)
	for name, tt := range map[string]struct {
		tape, run string
		want      []string
	}{
		"short":       {"Refund #1.", "Refund #2.", []string{`/messages/0/content: "Refund #1." on the tape, "Refund #2." in the run`}},
		"far":         {long + "Then refund it.", long + "Then cancel it.", []string{"- …", "Then refund it.\n", "+ …", "Then cancel it."}},
		"white space": {"You refund the orders that have been shipped.\t", "You refund the orders that have been shipped.", []string{`- "You refund the orders that have been shipped.\t"`, `+ "You refund the orders that have been shipped."`}},
		"a line more": {lines + "End.", lines + "Another.\nEnd.", []string{"- End.", "+ Another.\n", "+ End."}},
		"many lines":  {"x" + lines, "y" + lines + strings.Repeat("More.\n", 9), []string{"- xA line.", "- and", "+ yA line.", "+ and"}},
		"runes":       {long + "é", long + "è", []string{"- …", "é\n", "+ …", "è"}},
		"a command":   {long, "::error::" + long, []string{"- Look", "+ | ::error::Look"}},
	} {
		path := recordModel(t, &model{}, func(m http.RoundTripper) { ask(t, m, chat(say("user", tt.tape))) })
		c := newCassette(t, path, nil)
		ask(t, c.Model(nil), chat(say("user", tt.run)))
		report, at := c.Report().String(), 0
		for _, want := range tt.want {
			i := strings.Index(report[at:], want)
			if i < 0 {
				t.Errorf("%s: want %q in:\n%s", name, want, report)
				break
			}
			at += i + len(want)
		}
		if len(report) > 3000 {
			t.Errorf("%s: the report has %d bytes", name, len(report))
		}
	}
}

// Requests that are sent at once get their own answers, whatever their order. Equal ones get them in turn.
func TestModelParallelRequests(t *testing.T) {
	const agents, turns = 8, 5
	conversation := func(t *testing.T, m http.RoundTripper, agent int) (answers []string) {
		messages := []string{say("system", "You are one of several agents that have the same prompt."), say("user", fmt.Sprintf("Task %d", agent/2))}
		for range turns {
			_, answer := ask(t, m, chat(messages...))
			answers = append(answers, answer)
			messages = append(messages, answer, say("user", "Go on."))
		}
		return answers
	}
	all := func(t *testing.T, m http.RoundTripper) (answers [agents]string) {
		var wait sync.WaitGroup
		for agent := range agents {
			wait.Go(func() { answers[agent] = strings.Join(conversation(t, m, agent), "") })
		}
		wait.Wait()
		return answers
	}
	path := recordModel(t, &model{body: func(n int, _ string) string {
		return fmt.Sprintf(`{"role":"assistant","content":"answer %d"}`, n)
	}}, func(m http.RoundTripper) { all(t, m) })
	c := newCassette(t, path, nil)
	m := c.Model(unreachable{t})
	seen := map[string]bool{}
	for _, answers := range all(t, m) {
		if seen[answers] {
			t.Errorf("two agents got %s", answers)
		}
		seen[answers] = true
	}
	if r := c.Report(); !r.OK() || r.Matched != agents*turns {
		t.Error(r)
	}
}

// Each message is on the tape once, so the tape of a conversation is as long as the conversation.
func TestModelTapeIsLinear(t *testing.T) {
	sizes := map[int]int{}
	for _, turns := range []int{40, 80} {
		messages := []string{say("system", strings.Repeat("You refund orders. ", 100))}
		tools := `,"tools":[{"type":"function","function":{"name":"get_order","description":"` + strings.Repeat("Look. ", 200) + `"}}],"instructions":"` + strings.Repeat("Look. ", 200) + `"}`
		path := recordModel(t, &model{}, func(m http.RoundTripper) {
			for turn := range turns {
				messages = append(messages, say("user", fmt.Sprintf("%d %s", turn, strings.Repeat("Question. ", 50))))
				_, answer := ask(t, m, strings.TrimSuffix(chat(messages...), "}")+tools)
				messages = append(messages, say("assistant", answer))
			}
		})
		sizes[turns] = len(readFile(t, path))
		t.Logf("%d turns: a conversation of %d bytes, a tape of %d bytes", turns, len(chat(messages...))+len(tools), sizes[turns])
		if limit := 2 * (len(chat(messages...)) + len(tools)); sizes[turns] > limit {
			t.Errorf("the tape of %d turns has %d bytes, want at most %d", turns, sizes[turns], limit)
		}
	}
	if sizes[80] > 2*sizes[40] {
		t.Errorf("%d turns have %d bytes, and %d have %d", 40, sizes[40], 80, sizes[80])
	}
}

// Of a request only its method, the kind of its path and its body are on the tape, without the
// credentials of the request; of a response the status, the type and the body.
func TestModelSecrets(t *testing.T) {
	behind := &model{body: func(int, string) string {
		return `{"text":"you sent model-key-0001 and query-key-0001 and bW9kZWwta2V5LTAwMDE="}`
	}}
	stream := &model{types: "text/event-stream", body: func(int, string) string {
		return "data: {\"text\": \"model-key-0001\", \"password\": \"hunter22\"}\n\ndata: {\"text\": \"plain\"}\n\ndata: [DONE]\n\n"
	}}
	c, path := recording(t)
	_, sent := ask(t, c.Model(behind), chat(say("user", "My key is model-key-0001, and api_key=query-key-0001")))
	ask(t, c.Model(stream), chat(say("user", "Again")))
	// A text, the model, the label and the headers of the answer may repeat it.
	r := request(t, http.MethodPost, "https://a.example/models/model-key-0001:embedContent", strings.NewReader("My key is model-key-0001."))
	r.Header.Set("Authorization", "Bearer model-key-0001")
	send(t, c.Model(testkit.RoundTrip(func(r *http.Request) (*http.Response, error) {
		resp, err := behind.RoundTrip(r)
		resp.Header.Set("X-Amzn-Errortype", "model-key-0001")
		return resp, err
	})), r.WithContext(proxy.WithActor(r.Context(), "model-key-0001")))
	if !strings.Contains(sent, "model-key-0001") {
		t.Errorf("the agent got %s", sent)
	}
	// The key of the model is hidden in calls of tools, too.
	_, _ = client(t, c.Wrap(answering("a", `1`)), nil).
		Do(t.Context(), "a", map[string]string{"note": "model-key-0001"})
	finish(t, c)
	text := readFile(t, path)
	for _, secret := range []string{"model-key-0001", "query-key-0001", "secret-project", "bW9kZWw", "hunter22", "example.com", "Bearer"} {
		if strings.Contains(text, secret) {
			t.Errorf("%s is on the tape:\n%s", secret, text)
		}
	}
	replay := newCassette(t, path, nil)
	if status, answer := ask(t, replay.Model(nil), chat(say("user", "My key is model-key-0001, and api_key=query-key-0001"))); status != 200 {
		t.Error(answer, replay.Report())
	}
	want := "data: {\"text\":\"[redacted]\",\"password\":\"[redacted]\"}\n\ndata: {\"text\": \"plain\"}\n\ndata: [DONE]\n\n"
	if _, answer := ask(t, replay.Model(nil), chat(say("user", "Again"))); answer != want {
		t.Errorf("%q, want %q", answer, want)
	}
}

// Providers take keys in many places.
func TestModelCredentials(t *testing.T) {
	for _, tt := range []struct{ header, value, query, secret string }{
		{"X-Api-Key", "sk-ant-0001", "", "sk-ant-0001"},
		{"Api-Key", "azure-key-0001", "", "azure-key-0001"},
		{"X-Goog-Api-Key", "google-key-0001", "", "google-key-0001"},
		{"Ocp-Apim-Subscription-Key", "gateway-key-0001", "", "gateway-key-0001"},
		{"Authorization", "Basic dXNlcjpwYXNzd29yZA==", "", "dXNlcjpwYXNzd29yZA"},
		{"Authorization", "Basic dXNlcjpwYXNzd29yZDAwMQ==", "", "password001"},
		{"Authorization", "Bearer c2stYmFzZTY0LTAwMDE==", "", "c2stYmFzZTY0LTAwMDE"},
		{"Authorization", "AWS4-HMAC-SHA256 Credential=AKIAEXAMPLE01/20261127/us-east-1/bedrock/aws4_request, SignedHeaders=host, Signature=0123456789abcdef", "", "AKIAEXAMPLE01"},
		{"Authorization", "AWS4-HMAC-SHA256 Credential=AKIAEXAMPLE01/20261127/us-east-1/bedrock/aws4_request, SignedHeaders=host, Signature=0123456789abcdef", "", "0123456789abcdef"},
		{"X-Amz-Security-Token", "aws-session-0001", "", "aws-session-0001"},
		{"Cookie", "session=cookie-0001", "", "cookie-0001"},
		{"Accept", "*/*", "?key=query-key-0001", "query-key-0001"},
		{"Accept", "*/*", "?access_token=query-token-0001&alt=sse", "query-token-0001"},
		{"Accept", "*/*", "", "url-password-1"},
		{"Accept", "*/*", "?X-Amz-Signature=0123456789abcdef", "0123456789abcdef"},
	} {
		path := recordModel(t, &model{body: func(int, string) string { return `{"echo":"` + tt.secret + `"}` }}, func(m http.RoundTripper) {
			r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://user:url-password-1@a.example/v1/messages"+tt.query,
				strings.NewReader(chat(say("user", "My key is "+tt.secret))))
			r.Header.Set(tt.header, tt.value)
			send(t, m, r)
		})
		if text := readFile(t, path); strings.Contains(text, tt.secret) || strings.Count(text, "[redacted]") < 2 {
			t.Errorf("%s, %s: the tape is\n%s", tt.header, tt.secret, text)
		}
	}
}

// Keys that change with each request, such as signatures, do not crowd out others, and schemes are no secrets.
func TestModelManyKeys(t *testing.T) {
	c, path := recording(t)
	with := func(key string) {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, modelURL, strings.NewReader(chat(say("user", "Negotiate; my key is "+key))))
		r.Header.Set("Authorization", "Negotiate "+key)
		send(t, c.Model(&model{}), r)
	}
	for n := range 40 {
		with(fmt.Sprintf("signature-%04d", n))
	}
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, modelURL, strings.NewReader(chat(say("user", "signature-100"))))
	for n := range 40 {
		r.Header.Set(fmt.Sprintf("X-%d-Key", n), fmt.Sprintf("signature-10%d", n))
	}
	if _, err := c.Model(&model{}).RoundTrip(r); err != nil {
		t.Fatal(err)
	}
	with("model-key-0001")
	_, _ = client(t, c.Wrap(answering("a", `1`)), nil).
		Do(t.Context(), "a", map[string]string{"note": "model-key-0001"})
	finish(t, c)
	text := readFile(t, path)
	if strings.Contains(text, "signature") || strings.Contains(text, "model-key-0001") || !strings.Contains(text, "Negotiate; my key is [redacted]") {
		t.Errorf("the tape is\n%s", text)
	}
}

// message is one message of a binary stream.
func message(payload string) []byte { return messageOf("delta", payload) }

func messageOf(event, payload string) []byte {
	headers := "\x0b:event-type\x07\x00" + string(rune(len(event))) + event
	b := binary.BigEndian.AppendUint32(nil, uint32(16+len(headers)+len(payload)))
	b = binary.BigEndian.AppendUint32(b, uint32(len(headers)))
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	b = append(b, headers+payload...)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}

// Streams are replayed event by event, and binary ones byte by byte as they were, with valid
// checksums where a secret was hidden.
func TestModelStreams(t *testing.T) {
	for _, tt := range []struct {
		contentType string
		events      []string
		want        []string // nil: the events
	}{
		{"text/event-stream; charset=utf-8", []string{"event: a\ndata: {\"x\": 1}\n\n", ": wait\n\n", "data: [DONE]\n\n"}, nil},
		{"text/event-stream", []string{"data: 1\r\n\r\n", "data: 2\r\n\r\n", "data: broken o"}, nil},
		{"application/x-ndjson", []string{"{\"x\": 1}\n", "{\"done\":true}\n"}, nil},
		{"application/json", []string{`[{"x":1},{"x":2}]`}, nil},
		{"application/json", []string{"\xff\xfe\x00"}, nil},
		{"application/json", []string{`[{"x":1},{"x":"my model-key-0001`}, []string{`[{"x":1},{"x":"my [redacted]`}},
		{
			"application/vnd.amazon.eventstream",
			[]string{string(message(`{"text":"é"}`)), string(message(`{"text":"model-key-0001"}`)), string(message("\x00\xff"))},
			[]string{string(message(`{"text":"é"}`)), string(message(`{"text":"[redacted]"}`)), string(message("\x00\xff"))},
		},
		{"application/vnd.amazon.eventstream", []string{string(message(`{}`)), "\x00\x00\x00"}, nil},
		{"application/vnd.amazon.eventstream", []string{string(message(`{}`)), "\x00\x00model-key-0001"}, []string{string(message(`{}`)), "\x00\x00[redacted]"}},
		{"application/vnd.amazon.eventstream", []string{"\xff\xff\xff\xff\xff\xff\xff\xff1234567890"}, nil},
		{"application/vnd.amazon.eventstream", []string{strings.Repeat("\x00", 20)}, nil},
		{"application/vnd.amazon.eventstream", []string{string(message(`{}`)[:len(message(`{}`))-4]) + "\x00\x01\x02\x03"}, nil}, // not its checksum
		{"text/event-stream", []string{"data: 1\r\r", "data: 2\r\r"}, nil},
	} {
		whole := strings.Join(tt.events, "")
		path := recordModel(t, &model{types: tt.contentType, body: func(int, string) string { return whole }}, func(m http.RoundTripper) {
			if _, got := ask(t, m, chat()); got != whole {
				t.Errorf("the agent got %q", got)
			}
		})
		synctest.Test(t, func(t *testing.T) {
			c := newCassette(t, path, nil)
			r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, modelURL, strings.NewReader(chat()))
			resp, err := c.Model(unreachable{t}).RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = resp.Body.Close() }()
			var got []string
			for buffer := make([]byte, 1000); ; {
				n, err := resp.Body.Read(buffer)
				if n > 0 {
					got = append(got, string(buffer[:n]))
				}
				if err != nil {
					break
				}
			}
			want := tt.want
			if want == nil {
				want = tt.events
			}
			if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) || resp.Header.Get("Content-Type") != tt.contentType || !c.Report().OK() {
				t.Errorf("%q\nwant\n%q\n%s", got, want, c.Report())
			}
		})
	}
}

// Reading a replayed stream ends with the context of the request, as it does with a connection.
func TestModelStreamEnds(t *testing.T) {
	path := recordModel(t, &model{types: "text/event-stream", body: func(int, string) string { return "data: 1\n\ndata: 2\n\n" }},
		func(m http.RoundTripper) { ask(t, m, chat()) })
	ctx, cancel := context.WithCancel(t.Context())
	r, _ := http.NewRequestWithContext(ctx, http.MethodPost, modelURL, strings.NewReader(chat()))
	resp, err := newCassette(t, path, nil).Model(unreachable{t}).RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if _, err := io.ReadFull(resp.Body, make([]byte, 9)); err != nil {
		t.Error(err)
	}
	cancel()
	if _, err := resp.Body.Read(make([]byte, 9)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A model sends a text in pieces, so that a secret may begin in one event and end in another.
func TestModelSecretsInPieces(t *testing.T) {
	pieces := []string{"Your key is model-k", "ey-", "0001, and model-key", "-0001 again."}
	encoded := func(event string) string {
		return fmt.Sprintf(`{"bytes":%q,"p":"ab"}`, base64.StdEncoding.EncodeToString([]byte(event)))
	}
	for name, tt := range map[string]struct {
		contentType string
		event       func(n int, text string) string
	}{
		"events": {"text/event-stream", func(n int, text string) string {
			return fmt.Sprintf("data: {\"number\":%d,\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\n", n, text)
		}},
		"two blocks": {"text/event-stream", func(n int, text string) string {
			return fmt.Sprintf("data: {\"index\":0,\"delta\":{\"text\":%q}}\n\ndata: {\"index\":1,\"delta\":{\"text\":\"other\"}}\n\n", text)
		}},
		"two elements": {"text/event-stream", func(n int, text string) string {
			return fmt.Sprintf("data: {\"parts\":[{\"text\":%q},{\"text\":\"other\"}]}\n\n", text)
		}},
		"lines": {"application/x-ndjson", func(n int, text string) string { return fmt.Sprintf("{\"message\":{\"content\":%q}}\n", text) }},
		"array": {"application/json", func(n int, text string) string {
			return fmt.Sprintf(`{"candidates":[{"content":{"parts":[{"text":%q}]}}]},`, text)
		}},
		"array that breaks off": {"application/json", func(n int, text string) string {
			return fmt.Sprintf("%c{\n  \"candidates\": [{\"content\": {\n\"parts\": [{\"text\": %q}]}}]}\n", "[,,,"[n], text)
		}},
		"frames": {"application/vnd.amazon.eventstream", func(n int, text string) string {
			return string(message(fmt.Sprintf(`{"contentBlockIndex":0,"delta":{"text":%q}}`, text)))
		}},
		"base64": {"application/vnd.amazon.eventstream", func(n int, text string) string {
			return string(message(encoded(fmt.Sprintf(`{"delta":{"text":%q}}`, text))))
		}},
	} {
		stream := func(pieces []string) (all string) {
			for n, text := range pieces {
				all += tt.event(n, text)
			}
			switch name {
			case "array":
				all = "[" + strings.TrimSuffix(all, ",") + "]"
			case "array that breaks off":
				all += `,{"candidates": [{"content": {"par`
			}
			return all
		}
		path := recordModel(t, &model{types: tt.contentType, body: func(int, string) string { return stream(pieces) }},
			func(m http.RoundTripper) { ask(t, m, chat()) })
		_, got := ask(t, newCassette(t, path, nil).Model(unreachable{t}), chat())
		spaces := strings.NewReplacer(" ", "", "\n", "") // an event that changes is written without
		want := stream([]string{"Your key is [redacted], and [redacted] again.", "", "", ""})
		if spaces.Replace(got) != spaces.Replace(want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		same := stream([]string{"Plain", " text"})
		path = recordModel(t, &model{types: tt.contentType, body: func(int, string) string { return same }},
			func(m http.RoundTripper) { ask(t, m, chat()) })
		if _, got := ask(t, newCassette(t, path, nil).Model(unreachable{t}), chat()); got != same {
			t.Errorf("%s: %q, want %q", name, got, same)
		}
	}
}

// What breaks while it is recorded breaks in the same way in a replay, and a body that the agent has
// not read to its end is on the tape as far as it has read.
func TestModelBrokenAnswers(t *testing.T) {
	c, path := recording(t)
	ctx, cancel := context.WithCancel(t.Context())
	answers := []func() (*http.Response, error){
		func() (*http.Response, error) { return nil, errors.New("reset") },
		func() (*http.Response, error) {
			body := io.MultiReader(strings.NewReader("data: 1\n\n"), reader(func([]byte) (int, error) { return 0, errors.New("broken") }))
			return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(body)}, nil
		},
		func() (*http.Response, error) {
			return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader("data: 1\n\ndata: 2\n\n"))}, nil
		},
		func() (*http.Response, error) {
			return &http.Response{StatusCode: 529, Header: http.Header{"Retry-After": {"7"}}, Body: http.NoBody}, nil
		},
		func() (*http.Response, error) {
			cancel() // the agent stops waiting
			return nil, context.Canceled
		},
	}
	use := func(m http.RoundTripper, close func(*http.Response)) (got []string) {
		for i := range answers {
			r, _ := http.NewRequestWithContext(ctx, http.MethodPost, modelURL, strings.NewReader(chat(say("user", fmt.Sprint(i)))))
			resp, err := m.RoundTrip(r)
			if err != nil {
				got = append(got, "reset")
				continue
			}
			buffer := make([]byte, 9)
			n, err := io.ReadFull(resp.Body, buffer)
			if i == 1 {
				_, err = io.ReadAll(resp.Body)
			}
			got = append(got, fmt.Sprintf("%d %s %t", resp.StatusCode, buffer[:n], err != nil && err != io.EOF))
			close(resp)
		}
		return got
	}
	next := 0
	recorded := use(c.Model(testkit.RoundTrip(func(*http.Request) (*http.Response, error) {
		next++
		return answers[next-1]()
	})), func(*http.Response) {}) // it closes no body
	finish(t, c)
	for _, want := range []string{"reset", "truncate", "abandoned"} {
		if text := readFile(t, path); strings.Count(text, `"broken":"`+want+`"`) != 1 {
			t.Errorf("%s is not on the tape:\n%s", want, text)
		}
	}
	ctx = t.Context()
	replay := newCassette(t, path, nil)
	replayed := use(replay.Model(unreachable{t}), func(r *http.Response) { _ = r.Body.Close() })
	if fmt.Sprintf("%q", recorded) != fmt.Sprintf("%q", replayed) || !replay.Report().OK() {
		t.Errorf("%q, and replayed %q\n%s", recorded, replayed, replay.Report())
	}
}

// What no tape can have is passed on, and the error of Close says that it is missing.
func TestModelLosses(t *testing.T) {
	answers := map[string]func(*http.Response){
		"15728640 bytes":     nil, // the request
		"compressed":         func(r *http.Response) { r.Header.Set("Content-Encoding", "br") },
		"switches protocols": func(r *http.Response) { r.StatusCode = http.StatusSwitchingProtocols },
	}
	for want, change := range answers {
		c, _ := recording(t)
		body := chat(say("user", "x"))
		if change == nil {
			body = chat(say("user", strings.Repeat("x", 15<<20)))
		}
		_, answer := ask(t, c.Model(testkit.RoundTrip(func(r *http.Request) (*http.Response, error) {
			resp, err := (&model{}).RoundTrip(r)
			if change != nil {
				change(resp)
			}
			return resp, err
		})), body)
		if err := c.Close(); toolwire.CodeOf(err) != "unwritable" || !strings.Contains(err.Error(), want) || !strings.Contains(answer, "answer 1") {
			t.Errorf("%s: %v, %s", want, err, answer)
		}
	}
	// Larger responses are passed on, and not on the tape, even if they break.
	large := `"` + strings.Repeat("x", 15<<20) + `"`
	path := recordModel(t, testkit.RoundTrip(func(*http.Request) (*http.Response, error) {
		body := io.MultiReader(strings.NewReader(large), reader(func([]byte) (int, error) { return 0, errors.New("broken") }))
		return &http.Response{StatusCode: 200, Body: io.NopCloser(body)}, nil
	}), func(m http.RoundTripper) {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, modelURL, strings.NewReader(chat()))
		resp, err := m.RoundTrip(r)
		if err != nil || resp.Request != r {
			t.Fatal(err)
		}
		if answer, err := io.ReadAll(resp.Body); string(answer) != large || err == nil {
			t.Errorf("the agent got %d bytes, %v", len(answer), err)
		}
	})
	for _, mode := range []cassette.Mode{cassette.Replay, cassette.Compare} {
		if status, _ := ask(t, newCassette(t, path, &cassette.Options{Mode: mode}).Model(unreachable{t}), large); status != http.StatusRequestEntityTooLarge {
			t.Errorf("%v: %d", mode, status)
		}
	}
	if tape, err := cassette.Load(path); err != nil || tape.Interactions[0].Broken != "oversize" {
		t.Errorf("%v", err)
	}
}

// An agent gets each event of a stream when the model sends it, while it is recorded.
func TestModelStreamIsNotHeldBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := recording(t)
		began, n := time.Now(), 0
		body := reader(func(p []byte) (int, error) {
			if n++; n == 4 {
				return 0, io.EOF
			}
			time.Sleep(time.Second)
			return copy(p, fmt.Sprintf("data: %d\n\n", n)), nil
		})
		m := c.Model(testkit.RoundTrip(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(body)}, nil
		}))
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, modelURL, strings.NewReader(chat()))
		resp, err := m.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		for event := 1; event <= 3; event++ {
			buffer := make([]byte, 100)
			got, _ := resp.Body.Read(buffer)
			if want := fmt.Sprintf("data: %d\n\n", event); string(buffer[:got]) != want || time.Since(began) != time.Duration(event)*time.Second {
				t.Errorf("%q after %s, want %q", buffer[:got], time.Since(began), want)
			}
		}
		_ = resp.Body.Close()
	})
}

// Requests with bodies of other kinds, and requests to APIs that package llm does not read.
func TestModelOtherRequests(t *testing.T) {
	requests := []struct{ method, url, body string }{
		{"POST", "https://a.example/v1/embeddings", `{"input":["a","b"],"model":"e"}`},
		{"POST", "https://a.example/v1/embeddings", `{"input":["a","c"],"model":"e"}`},
		{"GET", "https://a.example/v1/models", ""},
		{"DELETE", "https://a.example/v1/files/file_1234", ""},
		{"POST", "https://a.example/v1/audio/transcriptions", "--x\r\n\xff\xd8\r\n--x--"},
		{"POST", "https://a.example/v1/projects/p-1/models/gemini-9:countTokens", `[1,2]`},
		{"POST", "https://a.example/v1/projects/p-1/models/gemini-9:countTokens", `[1,3]`},
		{"POST", "https://a.example/", `"text"`},
	}
	use := func(m http.RoundTripper) (answers []string) {
		for _, r := range requests {
			sent, _ := http.NewRequestWithContext(t.Context(), r.method, r.url, strings.NewReader(r.body))
			answers = append(answers, send(t, m, sent).body)
		}
		return answers
	}
	var recorded []string
	path := recordModel(t, &model{}, func(m http.RoundTripper) { recorded = use(m) })
	c := newCassette(t, path, nil)
	first := requests[0]
	slices.Reverse(requests)
	replayed := use(c.Model(unreachable{t}))
	if slices.Reverse(replayed); strings.Join(replayed, "") != strings.Join(recorded, "") || !c.Report().OK() {
		t.Errorf("%q, want %q\n%s", replayed, recorded, c.Report())
	}
	askAt(t, c.Model(unreachable{t}), first.url, first.body) // once more
	if d := c.Report().Deviations[0]; d.Code != "not_on_tape" || d.Tape == nil || d.Diff != nil || !strings.Contains(d.Message, "more often than") {
		t.Error(c.Report())
	}
	none := testkit.RoundTrip(func(*http.Request) (*http.Response, error) { return &http.Response{StatusCode: 204}, nil }) // without a body
	recorder, _ := recording(t)
	if status, answer := ask(t, recorder.Model(none), ""); status != 204 || answer != "" {
		t.Errorf("%d %s", status, answer)
	}
	tape := loaded(t, path)
	var names []string
	for _, i := range tape.Interactions {
		names = append(names, i.Method+i.Name)
	}
	want := "…/embeddings …/embeddings GET…/models DELETE…/files …/transcriptions …/models/gemini-9:countTokens …/models/gemini-9:countTokens …/"
	if strings.Join(names, " ") != want {
		t.Errorf("%s, want %s", strings.Join(names, " "), want)
	}
}

// A model that only the path names is compared, and shown; an account or a project is neither.
func TestModelInThePath(t *testing.T) {
	for _, tt := range []struct{ path, other, name string }{
		{"/v1beta/models/gemini-2.5-flash:generateContent", "/v1beta/models/gemini-2.5-pro:generateContent", "…/models/gemini-2.5-flash:generateContent"},
		{"/v1/projects/p-1/locations/eu/publishers/anthropic/models/claude-9@20261127:streamRawPredict", "/v1/projects/p-1/locations/eu/publishers/anthropic/models/claude-8:streamRawPredict",
			"…/publishers/anthropic/models/claude-9@20261127:streamRawPredict"},
		{"/model/anthropic.claude-v2:0/converse", "/model/anthropic.claude-v1:0/converse", "…/model/anthropic.claude-v2:0/converse"},
		{"/model/anthropic.claude-v2%253A0/invoke", "/model/x.y/invoke", "…/model/anthropic.claude-v2:0/invoke"},
		{"/model/arn:aws:bedrock:eu-1:123456789012:inference-profile%2Feu.claude-v2:0/converse", "/model/arn:aws:bedrock:eu-1:123456789012:inference-profile%2Fus.claude-v2:0/converse", "…/model/eu.claude-v2:0/converse"},
		{"/v1/projects/p-1/locations/eu/endpoints/1234567890:generateContent", "", "…:generateContent"},
		{"/v1/projects/p-1/models/1234567890:predict", "", "…:predict"},
		{"/model/acme-123456789012/converse", "", "…/converse"},
		{"/model/model-key-0001/converse", "", "…/model/[redacted]/converse"},
		{"/accounts/secret-project/v1/chat/completions", "", "…/chat/completions"},
	} {
		path := recordModel(t, &model{}, func(m http.RoundTripper) { askAt(t, m, "https://a.example"+tt.path, chat(say("user", "x"))) })
		tape, err := cassette.Load(path)
		if err != nil || tape.Interactions[0].Name != tt.name {
			t.Errorf("%s: %s, %v, want %s", tt.path, tape.Interactions[0].Name, err, tt.name)
		}
		c := newCassette(t, path, nil)
		if tt.other == "" {
			continue
		}
		masked := newCassette(t, path, &cassette.Options{Mask: []*regexp.Regexp{regexp.MustCompile(`[^/]+[/:]\w+$`)}})
		if status, answer := askAt(t, masked.Model(unreachable{t}), "https://a.example"+tt.other, chat(say("user", "x"))); status != 200 {
			t.Error(answer)
		}
		askAt(t, c.Model(unreachable{t}), "https://a.example"+tt.other, chat(say("user", "x")))
		wantKinds(t, c.Report(), "changed")
		if report := c.Report().String(); !strings.Contains(report, "differs from the tape at the path\n") || !strings.Contains(report, tt.name) {
			t.Error(report)
		}
	}
}

// Errors reach the SDK as the provider sends them: Amazon's type is in a header, Ollama's error is a string.
func TestModelErrors(t *testing.T) {
	var answer *http.Response
	failing := testkit.RoundTrip(func(*http.Request) (*http.Response, error) {
		h := http.Header{"Content-Type": {"application/json"}, "X-Amzn-Errortype": {"ThrottlingException"}}
		return &http.Response{StatusCode: 400, Header: h, Body: io.NopCloser(strings.NewReader(`{"message":"no"}`))}, nil
	})
	send := func(m http.RoundTripper, url, body string) (text string) {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
		var err error
		if answer, err = m.RoundTrip(r); err != nil {
			t.Fatal(err)
		}
		all, _ := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		return string(all)
	}
	path := recordModel(t, failing, func(m http.RoundTripper) { send(m, "https://a.example/model/m/converse", chat()) })
	tape := loaded(t, path)
	again, _ := tape.Encode()
	if err := os.WriteFile(path, again, 0o600); err != nil {
		t.Fatal(err)
	}
	m := newCassette(t, path, nil).Model(unreachable{t})
	if send(m, "https://a.example/model/m/converse", chat()); answer.Header.Get("X-Amzn-Errortype") != "ThrottlingException" {
		t.Errorf("%v\n%s", answer.Header, again)
	}
	for url, want := range map[string]string{
		"https://a.example/api/chat":                          `"error":"cassette: the request`,
		"https://a.example/api/embed":                         `"error":"cassette: the request`,
		"https://a.example/v1beta/models/g-1:generateContent": `"error":{"code":400,"message`,
		"https://a.example/v1/chat/completions":               `"error":{"message":"cassette: the request`,
	} {
		if text := send(m, url, chat()); answer.StatusCode != 400 || answer.Header.Get("X-Amzn-Errortype") == "" || !strings.Contains(text, want) {
			t.Errorf("%s: %s, want %s", url, text, want)
		}
	}
}

// Files are compared by their bytes, whatever boundary the client chooses, and are not on the tape.
func TestModelUploads(t *testing.T) {
	upload := func(m http.RoundTripper, boundary, file string) string {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://a.example/v1/audio/transcriptions",
			strings.NewReader("--"+boundary+"\r\n\r\n"+file+"\r\n--"+boundary+"--\r\n"))
		r.Header.Set("Content-Type", "multipart/form-data; boundary="+boundary)
		return send(t, m, r).body
	}
	files := []string{"\xff\x01", "\xfe\x01", "\x00", strings.Repeat("\x00", 4<<20), strings.Repeat("a", 2<<20), "text"}
	path := recordModel(t, &model{}, func(m http.RoundTripper) {
		for _, file := range files {
			upload(m, "0123456789", file)
		}
	})
	if text := readFile(t, path); len(text) > 10_000 || !strings.Contains(text, `--boundary\r\n\r\ntext`) {
		t.Errorf("%d bytes:\n%.5000s", len(text), text)
	}
	c := newCassette(t, path, nil)
	for i := len(files) - 1; i >= 0; i-- {
		if answer := upload(c.Model(unreachable{t}), "9876543210", files[i]); !strings.Contains(answer, fmt.Sprintf("answer %d", i+1)) {
			t.Errorf("file %d: %s", i+1, answer)
		}
	}
}

// What is missing goes to the model and is added to the tape, which then has everything.
func TestModelReplayOrForward(t *testing.T) {
	first, second, third := chat(say("user", "One")), chat(say("user", "Two")), chat(say("user", "One"), say("user", "Three"))
	path := recordModel(t, &model{}, func(m http.RoundTripper) { ask(t, m, first); ask(t, m, second) })
	unused := `{"part":3,"value":"no request has it"}` + "\n" // the numbers of new parts come after it
	write(t, path, strings.Replace(readFile(t, path), tail(2), unused+tail(2), 1))
	behind := &model{asked: 10}
	c := newCassette(t, path, &cassette.Options{Mode: cassette.ReplayOrForward})
	m := c.Model(behind)
	_, one := ask(t, m, first)
	_, three := ask(t, m, third)
	if !strings.Contains(one, "answer 1\"") || !strings.Contains(three, "answer 11") || !c.Report().OK() {
		t.Errorf("%s, %s\n%s", one, three, c.Report())
	}
	finish(t, c)
	replay := newCassette(t, path, nil)
	for _, body := range []string{third, second, first} {
		if status, answer := ask(t, replay.Model(unreachable{t}), body); status != 200 {
			t.Error(answer)
		}
	}
	if r := replay.Report(); !r.OK() || behind.asked != 11 {
		t.Errorf("%d requests were sent\n%s", behind.asked-10, r)
	}
	if text := readFile(t, path); strings.Count(text, `"One"`) != 1 || strings.Count(text, `"part"`) != 4 {
		t.Errorf("a message is not on the tape once:\n%s", text)
	}
}

// A model answers from the tape when tools are compared. A tape of tools needs no model, and a tape
// with a model can be replayed for its tools alone.
func TestModelAndTools(t *testing.T) {
	platform := answering("a", `1`)
	path := filepath.Join(t.TempDir(), "run.jsonl")
	run := func(c *cassette.Cassette, m http.RoundTripper) {
		ask(t, m, chat(say("user", "One")))
		mustCall(t, client(t, c.Wrap(platform), nil), t.Context(), "a", nil)
		ask(t, m, chat(say("user", "One"), say("user", "Two")))
	}
	c := newCassette(t, path, &cassette.Options{Mode: cassette.Record})
	run(c, c.Model(&model{}))
	finish(t, c)
	for _, mode := range []cassette.Mode{cassette.Replay, cassette.Compare} {
		c := newCassette(t, path, &cassette.Options{Mode: mode})
		run(c, c.Model(unreachable{t}))
		if r := c.Report(); !r.OK() || r.Matched != 3 {
			t.Error(r)
		}
	}
	tools := newCassette(t, path, nil)
	if _, err := client(t, tools, nil).Do(t.Context(), "a", nil); err != nil || !tools.Report().OK() {
		t.Error(err, tools.Report())
	}
	none := newCassette(t, path, nil)
	none.Model(nil)
	wantKinds(t, none.Report(), "never_made", "never_made")
}

// A recorder records the model of each run that Begin has named.
func TestRecorderModel(t *testing.T) {
	dir := t.TempDir()
	platform := proxytest.NewPlatform(t, proxytest.World{Behaviors: map[string]proxytest.Behavior{
		"a": proxytest.Canned(`"secret model-key-0001"`),
	}}, nil)
	server := httptest.NewServer(platform)
	defer server.Close()
	recorder := newRecorder(t, dir, nil)
	m := &llm.Transport{Base: recorder.Model(&model{})}
	agent := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		ctx, end, err := recorder.Begin(ctx, cassette.Task{Name: "run-" + run.Instruction, Instruction: run.Instruction})
		if err != nil {
			return nil, err
		}
		defer func() {
			if err := end(); err != nil {
				t.Error(err)
			}
		}()
		for range 2 {
			r, _ := http.NewRequestWithContext(ctx, http.MethodPost, modelURL, strings.NewReader(chat(say("user", run.Instruction))))
			r.Header.Set("Api-Key", "model-key-0001")
			resp, err := m.RoundTrip(r)
			if err != nil {
				return nil, err
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			if _, err := run.Proxy.Do(ctx, "a", nil); err != nil {
				return nil, err
			}
		}
		return &dispatch.Response{FinalResponse: "Done."}, nil
	}
	handler, err := dispatch.New(agent, &dispatch.Options{Tokens: []string{"secret"}, Proxy: &proxy.Options{Transport: recorder}})
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	for i := range 4 {
		wait.Go(func() {
			dispatchtest.Run(t, dispatchtest.Target{Handler: handler, AuthValue: "Bearer secret"},
				dispatchtest.Task{Instruction: fmt.Sprint(i), Platform: platform, ProxyURL: server.URL}).AssertOK(t)
		})
	}
	wait.Wait()
	if _, answer := ask(t, recorder.Model(&model{}), chat(say("user", "outside"))); !strings.Contains(answer, "answer 1") {
		t.Error(answer)
	}
	files, _ := os.ReadDir(dir)
	if len(files) != 4 {
		t.Errorf("%d tapes", len(files))
	}
	for i := range 4 {
		text := readFile(t, filepath.Join(dir, fmt.Sprintf("run-%d.jsonl", i)))
		tape := loaded(t, filepath.Join(dir, fmt.Sprintf("run-%d.jsonl", i)))
		if n := len(tape.Interactions); n != 4 || strings.Count(text, `"part"`) != 1 || strings.Contains(text, "model-key-0001") {
			t.Errorf("%d interactions:\n%s", n, text)
		}
	}
}

// The first request of a run may be to a model, which gives its tape a name. After Close no tape is begun.
func TestRecorderModelNamesTheTape(t *testing.T) {
	dir := t.TempDir()
	recorder := newRecorder(t, dir, nil)
	unnamed, end := begin(t, recorder, cassette.Task{})
	late, _ := begin(t, recorder, cassette.Task{Name: "late"})
	for _, ctx := range []context.Context{unnamed, late} {
		send(t, recorder.Model(&model{}), request(t, http.MethodPost, modelURL, strings.NewReader(chat())).WithContext(ctx))
		if err := errors.Join(end(), recorder.Close()); err != nil {
			t.Error(err)
		}
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "*")); len(files) != 1 || !strings.HasPrefix(filepath.Base(files[0]), "20") {
		t.Errorf("%v", files)
	}
}

// Parts of a tape that do not fit are told with their lines, at any cut of the file it is read as far
// as it goes, and no tape takes more time than its length.
func TestModelTapes(t *testing.T) {
	ask := func(n int, lists string) string {
		return fmt.Sprintf(`{"n":%d,"kind":"model","name":"…/messages","arguments":{},"status":200,"answer":1,%s}`, n, lists)
	}
	for name, tt := range map[string]struct {
		lines []string
		want  string
	}{
		"number":      {[]string{`{"part":2,"value":1}`, tail(0)}, "line 2: the tape lacks 1 part before this line"},
		"far":         {[]string{`{"part":99,"value":1}`, tail(0)}, "line 2: /part must be 1"},
		"after":       {[]string{`{"part":1,"after":1,"value":1}`, tail(0)}, "line 2: /after must be from 0 to 0"},
		"negative":    {[]string{`{"part":1,"after":-1,"value":1}`, tail(0)}, "line 2: /after"},
		"as":          {[]string{`{"part":1,"as":1}`, tail(0)}, "line 2: /as"},
		"as of as":    {[]string{`{"part":1,"value":1}`, `{"part":2,"as":1}`, `{"part":3,"as":2}`, tail(0)}, "line 4: /as"},
		"both":        {[]string{`{"part":1,"value":1}`, `{"part":2,"as":1,"value":2}`, tail(0)}, "line 3: one of /value and /as"},
		"neither":     {[]string{`{"part":1}`, tail(0)}, "line 2: one of /value and /as"},
		"a member":    {[]string{`{"part":1,"value":1,"role":"user"}`, tail(0)}, "line 2: role is not a member"},
		"a list":      {[]string{ask(1, `"lists":{"messages":3}`), tail(1)}, "line 2: the tape lacks 3 parts before this line"},
		"a far list":  {[]string{ask(1, `"lists":{"messages":99}`), tail(1)}, "line 2: /values and /lists"},
		"zero":        {[]string{ask(1, `"values":{"system":0}`), tail(1)}, "line 2: /values and /lists"},
		"no integers": {[]string{ask(1, `"lists":{"messages":"1"}`), tail(1)}, "line 2: /lists must be an object of integers"},
		"a tool": {[]string{`{"part":1,"value":1}`, strings.Replace(call(1, "a", `{}`, `1`), `"n"`, `"lists":{"a":1},"n"`, 1), tail(1)},
			"line 3: only a request to a model"},
		"depth": {[]string{`{"part":1,"value":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + `}`, tail(0)}, "line 2"},
	} {
		_, err := load(t, head+"\n"+strings.Join(tt.lines, "\n")+"\n")
		if toolwire.CodeOf(err) != "invalid_tape" || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", name, err, tt.want)
		}
	}
	large := `{"part":1,"value":"` + strings.Repeat("x", 1<<20) + `"}` + "\n"
	for n := range 64 {
		large += fmt.Sprintf(`{"part":%d,"after":%d,"as":1}`+"\n", n+2, n)
	}
	if _, err := load(t, head+"\n"+large+tail(0)+"\n"); toolwire.CodeOf(err) != "invalid_tape" || !strings.Contains(err.Error(), "line 66: the parts with /as repeat") {
		t.Error(err)
	}
	repeating := recordModel(t, &model{}, func(m http.RoundTripper) {
		for n := range 15 {
			askAt(t, m, modelURL, chat(say("system", fmt.Sprint(n)), say("user", strings.Repeat("x", 5<<20))))
		}
	})
	if _, err := cassette.Load(repeating); err != nil || len(readFile(t, repeating)) > 20<<20 {
		t.Errorf("%d bytes, %v", len(readFile(t, repeating)), err)
	}
	whole := readFile(t, recordModel(t, &model{}, func(m http.RoundTripper) {
		for n := range 3 {
			askAt(t, m, modelURL, `{"tools":[{"name":"a`+fmt.Sprint(n)+`"}],`+chat(say("system", strings.Repeat("x", n)), say("user", "Refund."))[1:])
		}
	}))
	for cut := strings.Index(whole, "\n") + 2; cut < len(whole)-1; cut += testkit.Size(7, 1) {
		got, err := load(t, whole[:cut])
		if toolwire.CodeOf(err) != "truncated_tape" || got == nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		again, err := got.Encode()
		if err == nil {
			_, err = load(t, string(again))
		}
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
	}
	// A list of 100,000 messages that 1,000 requests name, and as many ids of calls that nothing makes.
	var b strings.Builder
	for n := range 100_000 {
		fmt.Fprintf(&b, `{"part":%d,"after":%d,"value":{"id":"c%d","name":"f","tool_call_id":"c%d"}}`+"\n", n+1, n, n, n/2)
	}
	for n := range 1000 {
		b.WriteString(ask(n+1, fmt.Sprintf(`"lists":{"messages":%d}`, 100_000-n)) + "\n")
	}
	c := newCassette(t, tape(t, head, b.String()+tail(1000)), nil)
	if status, _ := askAt(t, c.Model(nil), "https://a.example/v1/messages", chat(say("user", "x"))); status != 400 {
		t.Error(status)
	}
	if text := c.Report().String(); len(text) > 10_000 {
		t.Errorf("the report has %d bytes", len(text))
	}
}

// Recording what was replayed gives the same tape, whatever a model sends: what is hidden stays readable
// for the agent.
func FuzzModelAnswer(f *testing.F) {
	f.Add("text/event-stream", []byte("data: {\"token\": \"abc\"}\n\ndata: password=1\r\n\r\n"))
	f.Add("application/vnd.amazon.eventstream", append(message(`{"text":"model-key-0001"}`), message("")...))
	damaged := message(`{"text":"model-key-00`)
	copy(damaged[len(damaged)-4:], `01"}`) // the key goes on in the checksum
	f.Add("application/vnd.amazon.eventstream", damaged)
	f.Add("application/vnd.amazon.eventstream", messageOf("model-key-0001", "{}"))
	f.Add("application/x-ndjson", []byte("{\"a\":1}\n{"))
	f.Add("application/json", []byte("{\"a\":\"Bearer model-key-0001\"}"))
	f.Fuzz(func(t *testing.T, contentType string, body []byte) {
		through := func(answer string) string {
			path := recordModel(t, &model{types: contentType, body: func(int, string) string { return answer }},
				func(m http.RoundTripper) { ask(t, m, chat()) })
			c := newCassette(t, path, nil)
			_, got := ask(t, c.Model(unreachable{t}), chat())
			if !c.Report().OK() {
				t.Fatal(c.Report())
			}
			return got
		}
		once := through(string(body))
		if twice := through(once); twice != once {
			t.Errorf("%q, then %q", once, twice)
		}
		if bytes.Contains([]byte(once), []byte("model-key-0001")) {
			t.Errorf("%q has the key", once)
		}
	})
}
