package pagecmd

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/examples/toolwire/internal/commandline"
)

func TestFormProblems(t *testing.T) {
	l := start(t, 10)
	good := map[string]string{
		"url": "http://127.0.0.1:1/dispatch", "auth_header": "Authorization", "auth_value": "Bearer x",
		"instruction": "Do it.", "input": `{"a":1}`,
		"user_turns": "More.", "timeout": "30", "strict": "yes",
	}
	for _, tt := range []struct {
		field, value, problem string
	}{
		{"url", "", "Enter the address"},
		{"url", "agent", "http:// or https://"},
		{"url", "ftp://127.0.0.1/", "http:// or https://"},
		{"url", "http://", "host is missing"},
		{"url", "http://[::1", "not a URL"},
		{"url", "http://user:pw@127.0.0.1/", "user and password"},
		{"url", "http://127.0.0.1/#x", "from # on"},
		{"url", "http://127.0.0.1/" + strings.Repeat("x", 3000), "Shorten it"},
		{"auth_header", "X Key", "letters, digits"},
		{"auth_header", "X-Pipelines-Run-Token", "sets this header itself"},
		{"auth_header", "content-type", "sets this header itself"},
		{"auth_header", "", "Name the header"},
		{"auth_value", "Bearer a\nX-Evil: 1", "printable ASCII"},
		{"auth_value", "Bearer ä", "printable ASCII"},
		{"auth_value", strings.Repeat("x", 9000), "at most 8192"},
		{"instruction", " \n ", "Describe what"},
		{"instruction", strings.Repeat("x", 100_001), "Shorten it"},
		{"input", "[1]", "an array, not an object"},
		{"input", `{"a":1,"a":2}`, "not a JSON object"},
		{"input", `{"a":`, "not a JSON object"},
		{"input", "hello", "not a JSON object"},
		{"user_turns", strings.Repeat("again\n", 50), "at most 50 turns"},
		{"state", `{"ordre":{"1":{}},"order":{"1":null}}`, `state of the world: /order/1 must be an object, not null; /ordre/1 "ordre" is not an entity type of the ledger schema.`},
		{"state", `{"order":`, "state of the world: /order is not strict JSON: "},
		{"timeout", "0", "from 1 to 1800"},
		{"timeout", "1801", "from 1 to 1800"},
		{"timeout", "5m", "from 1 to 1800"},
	} {
		fields := map[string]string{}
		for name, value := range good {
			fields[name] = value
		}
		fields[tt.field] = tt.value
		resp, body := l.post("/dispatch", fields)
		if resp.StatusCode != http.StatusUnprocessableEntity {
			t.Errorf("%s=%.40q: %d", tt.field, tt.value, resp.StatusCode)
			continue
		}
		page := checkPage(t, body)
		beside := page.id(tt.field + "-problem").say()
		if !strings.Contains(beside, tt.problem) || strings.Count(body, `class="problem"`) != 1 {
			t.Errorf("%s=%.40q: beside the field stands %q", tt.field, tt.value, beside)
		}
		has(t, page.id("problems").say(), "Nothing was dispatched", labels[tt.field], tt.problem)
		field := page.id(tt.field)
		if field.attr["aria-invalid"] != "true" || !slices.Contains(strings.Fields(field.attr["aria-describedby"]), tt.field+
			"-problem") {
			t.Errorf("%s is not marked: %v", tt.field, field.attr)
		}
		if page.id("auth_value").attr["value"] != "" || strings.Contains(body, "pw@") {
			t.Error("a secret is shown again")
		}
		for name, value := range good { // what was typed is kept
			if name == tt.field || name == "auth_value" || name == "strict" {
				continue
			}
			kept := page.id(name)
			if got := kept.attr["value"] + kept.say(); got != value {
				t.Errorf("%s=%.40q: the field %s has become %q", tt.field, tt.value, name, got)
			}
		}
		if _, checked := page.id("strict").attr["checked"]; !checked {
			t.Error("the box is not kept")
		}
	}
	if len(l.runs.all()) != 0 {
		t.Error("something was dispatched")
	}

	resp, body := l.post("/dispatch", map[string]string{"url": "x", "timeout": "x", "input": "x", "auth_header": "(",
		"auth_value": "\x01"})
	page := checkPage(t, body)
	if n := len(page.class("problem")); n != 6 || resp.StatusCode != 422 {
		t.Errorf("%d problems at once, want all 6", n)
	}
	if page.id("problems").attr["role"] != "alert" {
		t.Error("the list of problems is not an alert")
	}
}

// The instruction comes first. The agent is folded away if the command line names it, and what few need
// unless it holds a mistake or something that was typed.
func TestFormIsFolded(t *testing.T) {
	open := func(page *node, id string) bool { _, is := page.id(id).attr["open"]; return is }
	l := start(t, 10)
	_, body := l.do(l.request(http.MethodGet, "/dispatch", ""))
	page := checkPage(t, body)
	if first := page.all(func(n *node) bool { return n.name == "textarea" || n.attr["type"] == "url" })[0]; first.attr["id"] != "instruction" {
		t.Errorf("the first field is %v", first.attr)
	}
	if !open(page, "agent") || open(page, "more") {
		t.Errorf("without a URL the agent is open: %t, the rest: %t", open(page, "agent"), open(page, "more"))
	}
	for field, value := range map[string]string{"timeout": "none", "user_turns": "More.", "strict": "yes", "state": `{"order":{}}`} {
		_, body = l.post("/dispatch", map[string]string{"url": "http://127.0.0.1:1/", "instruction": "", field: value})
		if page := checkPage(t, body); open(page, "agent") || !open(page, "more") {
			t.Errorf("%s is %q: the agent is open: %t, the rest: %t", field, value, open(page, "agent"), open(page, "more"))
		}
	}
	_, body = l.post("/dispatch", map[string]string{"url": "http://127.0.0.1:1/", "instruction": "", "input": "{}"})
	if page := checkPage(t, body); open(page, "agent") || open(page, "more") {
		t.Error("what nobody has typed is open")
	}
}

func TestFormBodies(t *testing.T) {
	t.Parallel()
	l := start(t, 10)
	resp, body := l.post("/dispatch", map[string]string{"input": strings.Repeat("x", 5<<20)})
	if resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("%d", resp.StatusCode)
	}
	has(t, checkPage(t, body).say(), "Too large")
	for _, contentType := range []string{"application/json", "multipart/form-data", "text/plain"} {
		req := l.request("POST", "/dispatch", `{"url":"x"}`)
		req.Header.Set("Content-Type", contentType)
		resp, body := l.do(req)
		if resp.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %d", contentType, resp.StatusCode)
		}
		checkPage(t, body)
	}
}

// A run can be dispatched again: the form has everything but the secret.
func TestDispatchAgain(t *testing.T) {
	l := start(t, 10)
	path := l.dispatchTo(http.NotFoundHandler(), map[string]string{
		"instruction": "Once more.", "input": `{ "a": 1.0 }`, "auth_header": "X-API-Key", "auth_value": "hush-hush",
		"timeout": "7", "strict": "on",
	})
	l.runs.wait()
	run := l.get(path)
	links := run.all(func(n *node) bool { return n.attr["href"] == "/dispatch?again=1" })
	if len(links) != 1 {
		t.Fatal("there is no link to dispatch it again")
	}
	form := l.get("/dispatch?again=1")
	for id, want := range map[string]string{"instruction": "Once more.", "input": `{ "a": 1.0 }`,
		"auth_header": "X-API-Key", "auth_value": "", "timeout": "7"} {
		if got := form.id(id).attr["value"] + form.id(id).say(); got != want {
			t.Errorf("%s is %q, want %q", id, got, want)
		}
	}
	if form.id("url").attr["value"] == "" {
		t.Error("the URL is missing")
	}
	if form := l.get("/dispatch?again=99"); form.id("timeout").attr["value"] != "300" {
		t.Error("the form of no run has no defaults")
	}
}

// The form begins with the agent of the command line. Its token goes to this agent only, if the form
// has no value, and is not shown.
func TestAgentOfCommandLine(t *testing.T) {
	const secret = "hunter2-hunter2"
	got := make(chan string, 10)
	answer := func(w http.ResponseWriter, r *http.Request) {
		got <- r.Header.Get("X-API-Key")
		_, _ = io.WriteString(w, `{"ok":true,"final_response":"Done."}`)
	}
	agent, other := httptest.NewServer(http.HandlerFunc(answer)), httptest.NewServer(http.HandlerFunc(answer))
	t.Cleanup(agent.Close)
	t.Cleanup(other.Close)
	target := dispatchtest.Target{URL: agent.URL, AuthHeader: "X-API-Key", AuthValue: secret}
	l := startWith(t, options{keep: 10, agent: commandline.Agent{Target: target}})
	page := l.get("/dispatch")
	if page.id("url").attr["value"] != agent.URL || page.id("auth_header").attr["value"] != "X-API-Key" || page.id("auth_value").attr["value"] != "" {
		t.Error("the form does not begin with the agent, or has its token")
	}
	has(t, page.say(), "Leave it empty to send the token of the command line to the URL of the command line.")
	for _, tt := range []struct{ url, header, value, want string }{
		{agent.URL, "X-API-Key", "", secret},
		{agent.URL, "x-api-key", "", secret},
		{agent.URL, "X-API-Key", "another", "another"},
		{agent.URL, "Authorization", "", ""},
		{agent.URL + "/elsewhere", "X-API-Key", "", ""},
		{other.URL, "X-API-Key", "", ""},
	} {
		resp, body := l.post("/dispatch", map[string]string{"url": tt.url, "auth_header": tt.header, "auth_value": tt.value, "instruction": "Hello."})
		if resp.StatusCode != http.StatusSeeOther {
			t.Fatalf("%d: %s", resp.StatusCode, body)
		}
		l.runs.wait()
		if sent := []string{<-got, <-got}; sent[0] != tt.want || sent[1] != tt.want { // the ping and the dispatch
			t.Errorf("%+v: sent %q", tt, sent)
		}
		if _, body := l.do(l.request("GET", resp.Header.Get("Location"), "")); strings.Contains(body, secret) {
			t.Errorf("%+v: the token is on the page of the run", tt)
		}
	}
	if url := l.get("/dispatch").id("url").attr["value"]; url != agent.URL {
		t.Errorf("after runs of other agents the form begins with %s", url)
	}
}
