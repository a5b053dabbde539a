package pagecmd

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/examples/toolwire/internal/showcmd"
	"github.com/toolwire/toolwire/internal/redact"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// local is a server on loopback.
type local struct {
	*server
	t *testing.T
}

func start(t *testing.T, keep int) *local {
	t.Helper()
	o := options{keep: keep}
	if err := o.load(""); err != nil {
		t.Fatal(err)
	}
	return startWith(t, o)
}

func startWorld(t *testing.T, world proxytest.World) *local {
	t.Helper()
	return startWith(t, options{world: world, keep: 10})
}

func startWith(t *testing.T, o options) *local {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	s, err := newServer(baseURL(server.Listener.Addr()), o)
	if err != nil {
		t.Fatal(err)
	}
	server.Config.Handler = s.handler()
	server.Start()
	t.Cleanup(func() {
		s.runs.stop()
		server.Close()
	})
	return &local{s, t}
}

// do sends a request and follows no redirect.
func (l *local) do(req *http.Request) (*http.Response, string) {
	l.t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 5 * time.Minute,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		l.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		l.t.Fatal(err)
	}
	return resp, string(body)
}

func (l *local) request(method, path, body string) *http.Request {
	req, err := http.NewRequest(method, l.base+path, strings.NewReader(body))
	if err != nil {
		l.t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return req
}

// get returns a page, checked.
func (l *local) get(path string) *node {
	l.t.Helper()
	resp, body := l.do(l.request("GET", path, ""))
	if resp.StatusCode != 200 {
		l.t.Fatalf("GET %s: %d\n%s", path, resp.StatusCode, body)
	}
	return checkPage(l.t, body)
}

// post sends the form; "" values are left out.
func (l *local) post(path string, fields map[string]string) (*http.Response, string) {
	l.t.Helper()
	values := url.Values{"page_token": {l.token}}
	for name, value := range fields {
		values.Set(name, value)
	}
	return l.do(l.request("POST", path, values.Encode()+"&"))
}

// dispatchTo posts a task for an agent and returns the path of the run.
func (l *local) dispatchTo(agent http.Handler, fields map[string]string) string {
	l.t.Helper()
	server := httptest.NewServer(agent)
	l.t.Cleanup(func() {
		l.runs.stop() // or Close would wait for a run in progress
		server.Close()
	})
	all := map[string]string{"url": server.URL + "/dispatch", "auth_header": "Authorization",
		"instruction": "Do something.", "timeout": "300"}
	for name, value := range fields {
		all[name] = value
	}
	resp, body := l.post("/dispatch", all)
	if resp.StatusCode != http.StatusSeeOther {
		l.t.Fatalf("POST /runs: %d\n%s", resp.StatusCode, body)
	}
	return resp.Header.Get("Location")
}

// serveAgent is an agent without authentication.
func serveAgent(t *testing.T, agent dispatch.Agent) http.Handler {
	h, err := dispatch.New(agent, &dispatch.Options{InsecureNoAuth: true})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func has(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		at := strings.Index(text, part)
		if at < 0 {
			t.Errorf("%q is missing, or stands before what should come first, in\n%s", part, text)
			return
		}
		text = text[at+len(part):]
	}
}

func hasNot(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if strings.Contains(text, part) {
			t.Errorf("%q should not be in\n%s", part, text)
		}
	}
}

func TestSample(t *testing.T) {
	t.Parallel()
	l := start(t, 10)
	has(t, l.get("/").say(), "Run the sample agent", "Nothing has run yet")
	resp, _ := l.post("/runs/sample", nil)
	if resp.StatusCode != http.StatusSeeOther || resp.Header.Get("Location") != "/runs/1" {
		t.Fatalf("%d %s", resp.StatusCode, resp.Header)
	}
	l.runs.wait()
	page := l.get("/runs/1")
	main := page.named("main")[0]
	if _, live := main.attr["data-live"]; live {
		t.Error("a run that is over is not live")
	}
	has(t, page.id("now").say(), "completed", "after")
	has(t, page.id("facts").say(), "built-in sample agent", "Tool calls 4 + 1 refused", "Trace events 6", "60 s",
		"required", "Authorization")
	has(t, page.id("final").say(), "Order #4521 is refunded: $79.50, and the customer has been told.")
	has(t, page.id("events").say(),
		"Ping answered 200",
		"Dispatch", "Order #4521 arrived broken", `{"customer_id":"cust_99","order_id":"4521"}`,
		"supervisor 4 calls, 1 failure, 2.", "system_prompt", "You look after the customers",
		"Handoff supervisor", "supervisor/orders",
		"supervisor/orders 2 calls", "get_order odyssey", "ms", "arguments", `{"order_id":"4521"}`, "response", `"amount": 79.50`,
		"track_parcel passthrough", "Ledger: 2 updates, by the policy adapter", "update parcel/pk_7", "changed", "set_flag",
		"What the adapter decided",
		"subagent_message", "Raw payload", `"to": "supervisor"`,
		"thinking",
		"Handoff",
		"supervisor/refunds 2 calls, 1 failure, 2.", "refund_order odyssey", "2 attempts", "Attempt 1", "503 lock_contention by failure rule 0",
		"Attempt 2", "answered",
		`"reason":`, "Ledger: 1 update",
		"send_message odyssey", "failure rule 1", `{"sent":true}`,
		"subagent_final", "Refunded and told the customer.",
		"Answer answered 200", "Metadata: no-model")
	if text := page.id("events").say(); !regexp.MustCompile(`send_message odyssey ?[1-9][0-9.]* s`).MatchString(text) {
		t.Errorf("the latency of send_message is missing in\n%s", text)
	}
	has(t, page.id("changes").say(), "added", "/message/message_1", "changed", "/order/4521/status", `"delivered"`,
		`"refunded"`, "added", "flag tracked:pk_7")
	has(t, page.id("before").say(), `"in transit"`)
	has(t, page.id("after").say(), `"refunded"`, `"box damaged"`, "tracked:pk_7")
	has(t, page.id("messages").say(), "user", "Order #4521", "assistant", "get_order call_1", `{"order_id":"4521"}`,
		"tool answers call_1", "Thinking", "assistant", "is refunded")
	has(t, page.id("contract").say(), "gradeable: an assistant message with text arrives", "requires a gradeable one", "No problems and no soft warnings")
	has(t, page.id("failures").say(), "lock_contention", "refund_order", "1", "Transient")
	has(t, page.id("raw").say(), "Ping answered 200", `{"ping":true}`, `{"ok":true}`, "Dispatch answered 200",
		`"run_id": 1`, `"odyssey_proxy_url": "`+l.base+`/api/odyssey-proxy/runs/1"`, `"no-model"`)

	list := l.get("/")
	has(t, list.named("main")[0].say(), "built-in sample agent 1 run", "#1", "completed", "Order #4521 arrived broken", "4 calls")
}

// A run that is over can be saved, without secrets, as a file that toolwire show opens.
func TestSave(t *testing.T) {
	l := start(t, 3)
	path := l.dispatchTo(serveAgent(t, func(_ context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		return &dispatch.Response{FinalResponse: "The password is hunter2-hunter2."}, nil
	}), map[string]string{"auth_value": "Bearer hunter2-hunter2"})
	l.runs.wait()
	resp, body := l.do(l.request(http.MethodGet, path+"/run.json", ""))
	if resp.StatusCode != http.StatusOK || strings.Contains(body, "hunter2") || !strings.Contains(resp.Header.Get("Content-Disposition"), "run-1.json") {
		t.Errorf("%d, %v\n%s", resp.StatusCode, resp.Header, body)
	}
	file := filepath.Join(t.TempDir(), "run-1.json")
	if err := os.WriteFile(file, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	if status := showcmd.Run(t.Context(), []string{"-o", file + ".html", file}, io.Discard, &stderr); status != 0 {
		t.Fatal(stderr.String())
	}
	html, err := os.ReadFile(file + ".html")
	if err != nil {
		t.Fatal(err)
	}
	has(t, string(html), "Saved run", "The password is [redacted]", "Timeline")
	if resp, _ := l.do(l.request(http.MethodGet, "/runs/9/run.json", "")); resp.StatusCode != http.StatusNotFound {
		t.Error(resp.Status)
	}
}

// Two runs of the sample differ in their times and ids only, and in whether an event arrived late.
func TestSampleIsDeterministic(t *testing.T) {
	t.Parallel()
	l := start(t, 10)
	for range 2 {
		l.post("/runs/sample", nil)
	}
	l.runs.wait()
	// To the agent they have numbers of their own.
	has(t, l.get("/runs/2").id("raw").say(), `"task_id": 2`, `"run_id": 2`, l.base+`/api/odyssey-proxy/runs/2"`)
	varying := regexp.MustCompile(`[0-9.]+ (ms|s)\b|\d\d:\d\d:\d\d|runs/\d+|Runs / #\d|"(run_id|task_id)": ?\d+|"run_token_jti": ?"[0-9a-f]+"|20\d\d-[^"]*Z`)
	late := regexp.MustCompile(` sent [0-9.]+ (ms|s) after it occurred`)
	clean := func(path string) string {
		return varying.ReplaceAllString(late.ReplaceAllString(l.get(path).named("main")[0].say(), ""), "…")
	}
	if one, two := clean("/runs/1"), clean("/runs/2"); one != two {
		t.Errorf("the first run shows\n%s\n\nthe second\n%s", one, two)
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	answer := func(status int, contentType, body string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", contentType)
			w.WriteHeader(status)
			fmt.Fprint(w, body)
		})
	}
	wait := func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body) // only then is it seen that the platform has closed the connection
		<-r.Context().Done()
	}
	for _, tt := range []struct {
		name     string
		agent    http.Handler
		fields   map[string]string
		class    string
		severity string
		said     []string
	}{
		{"down", http.NotFoundHandler(), map[string]string{"url": "http://127.0.0.1:1"}, "agent_unreachable", "danger",
			[]string{"cannot be reached", "Start the agent on this host and port"}},
		{"slow", http.HandlerFunc(wait), map[string]string{"timeout": "1"}, "agent_timeout", "warning",
			[]string{"within 1s", "raise the run timeout"}},
		{"HTML", answer(200, "text/html", "<!doctype html><title>Login</title><p>Hello"), nil, "agent_bad_response",
			"warning", []string{"HTML page is often a login page"}},
		{"redirect", http.RedirectHandler("/elsewhere", http.StatusFound), nil, "agent_bad_response", "warning",
			[]string{"answered 302", "not followed"}},
		{"wrong token", answer(401, "text/plain", ""), nil, "auth_failed", "danger",
			[]string{"answered 401", "Send the header and the value"}},
		{"broken", answer(500, "application/json", `{"error":"agent_failed","message":"out of <tokens>"}`), nil, "agent_5xx",
			"danger", []string{"out of <tokens>", "Read the reason in the log of the agent"}},
		{"wrong path", http.NotFoundHandler(), nil, "agent_4xx", "amber",
			[]string{"answered 404", "Check the URL and its path"}},
		{"strict", serveAgent(t, func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
			return &dispatch.Response{FinalResponse: "ok"}, nil
		}), map[string]string{"strict": "yes"}, "response_contract_violation", "danger",
			[]string{"registration requires one", "demands a gradeable transcript"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := start(t, 10)
			l.t = t
			path := l.dispatchTo(tt.agent, tt.fields)
			l.runs.wait()
			page := l.get(path)
			has(t, page.id("now").say(), "failed", tt.class)
			has(t, page.id("failure").say(), append(append([]string{tt.class}, tt.said...), "The platform shows this class as "+tt.severity+": ")...)
			text := page.named("main")[0].say()
			if n := strings.Count(text, "What to do. "); n != 1 {
				t.Errorf("the page says %d times what to do:\n%s", n, text)
			}
			// A ping that failed has no dispatch: there is one section beside what to do.
			pinged := tt.name == "HTML" || tt.name == "strict"
			for _, id := range []string{"timeline", "ledger", "contract", "sections"} {
				if there := page.id(id).name != ""; there != pinged {
					t.Errorf("#%s is there: %t", id, there)
				}
			}
			has(t, page.id("raw").say(), "Ping")
			run := l.get("/").id("run-1")
			if has(t, run.say(), "failed", tt.class); len(run.class(tt.severity)) != 1 {
				t.Errorf("the list does not show the severity %s", tt.severity)
			}
			if banner := page.id("failure").attr["class"]; banner != "banner "+tt.severity {
				t.Errorf("the banner is %q", banner)
			}
		})
	}
}

func TestCompletionWarning(t *testing.T) {
	l := start(t, 10)
	path := l.dispatchTo(serveAgent(t, func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
		return &dispatch.Response{FinalResponse: "done"}, nil
	}), nil)
	l.runs.wait()
	page := l.get(path)
	has(t, page.named("main")[0].say(), "Completion warning", "completed without a tool call", "Final response", "done")
	has(t, page.id("ledger").say(), "The run changed nothing")
	has(t, page.id("missing").say(), "No messages arrived")
	for _, id := range []string{"messages", "failures", "after"} { // nothing is in them
		if page.id(id).name != "" {
			t.Errorf("#%s is there", id)
		}
	}
}

// What is long is folded, and says how much it is.
func TestRawDataIsFolded(t *testing.T) {
	l := start(t, 10)
	_, _ = l.post("/runs/sample", nil)
	l.runs.wait()
	page := l.get("/runs/1")
	for id, summary := range map[string]string{
		"messages": "Messages 11", "contract": "Contract report gradeable, 0 findings", "failures": "Failures by error class 1",
		"raw": "Raw requests and answers 2",
	} {
		folded := page.id(id + "-data")
		if _, open := folded.attr["open"]; folded.name != "details" || open || folded.children[0].say() != summary {
			t.Errorf("#%s is %s %v: %q, want %q", id, folded.name, folded.attr, folded.children[0].say(), summary)
		}
	}
	// Of sub-agents, one with a failure and those above it are open.
	want := map[string]bool{"supervisor": true, "supervisor/orders": false, "supervisor/refunds": true}
	for _, row := range page.id("events").named("details") {
		agent := ""
		if who := row.children[0].class("actor"); len(who) > 0 {
			agent = who[0].say()
		}
		if _, open := row.attr["open"]; open != want[agent] {
			t.Errorf("%s %s is open: %t", agent, row.attr["id"], open)
		}
		delete(want, agent)
	}
	if len(want) > 0 {
		t.Errorf("no rows of %v", want)
	}
}

// Runs are in the group of their agent. Each is a link as a whole, and says the day and the time zone.
func TestRunsAreGroupedByAgent(t *testing.T) {
	l := start(t, 10)
	answers := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"final_response":"done"}`)
	}))
	t.Cleanup(answers.Close)
	refuses := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(refuses.Close)
	for _, agent := range []*httptest.Server{answers, refuses, answers, refuses, refuses} {
		l.dispatchTo(nil, map[string]string{"url": agent.URL})
		l.runs.wait()
	}
	var got []string
	for _, group := range l.get("/").class("group") {
		got = append(got, group.named("h2")[0].say())
		for _, run := range group.named("li") {
			link := run.children[0]
			if link.attr["href"] != "/runs/"+strings.TrimPrefix(run.attr["id"], "run-") || len(run.children) != 1 {
				t.Errorf("%s is not a link: %v", run.attr["id"], link.attr)
			}
			started := link.named("time")[0].say()
			if _, err := time.Parse("2 Jan 2006, 15:04:05 MST", started); err != nil {
				t.Error(err)
			}
			got = append(got, run.attr["id"])
		}
	}
	want := []string{refuses.URL + " 3 runs, 3 failed", "run-5", "run-4", "run-2", answers.URL + " 2 runs", "run-3", "run-1"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// The page says what is known of the requests of an agent to its model, and that they do not pass here.
func TestTheModelOfAnAgentBehindAURL(t *testing.T) {
	for answer, want := range map[string][]string{
		`{"final_response":"done","metadata":{"model":"m-1","total_input_tokens":1842,"total_output_tokens":217}}`: {
			"is in the metadata of the answer", "Answer answered 200", "Metadata: m-1, 1842 tokens in, 217 out"},
		`{"final_response":"done","metadata":{"total_output_tokens":217}}`: {"is in the metadata", "Metadata: 0 tokens in, 217 out"},
		`{"final_response":"done"}`:                                        {"Requests to models do not pass here, and the answer has no metadata about them."},
	} {
		l := start(t, 1)
		path := l.dispatchTo(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, answer)
		}), nil)
		l.runs.wait()
		has(t, l.get(path).id("timeline").say(), want...)
	}
}

// The list shows the runs that have all words of the filter, in whatever place, and a status.
func TestFilterOfRuns(t *testing.T) {
	l := start(t, 10)
	agent := serveAgent(t, func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
		return &dispatch.Response{FinalResponse: "done"}, nil
	})
	l.dispatchTo(agent, map[string]string{"instruction": "Refund the lamp."})
	l.dispatchTo(agent, map[string]string{"instruction": "Find the parcel."})
	l.dispatchTo(http.NotFoundHandler(), map[string]string{"instruction": "Refund the parcel."})
	l.runs.wait()
	for query, want := range map[string]string{
		"": "run-3 run-2 run-1", "?q=PARCEL": "run-3 run-2", "?q=refund+parcel": "run-3", "?q=%233": "run-3",
		"?status=failed": "run-3", "?q=parcel&status=completed": "run-2", "?q=agent_4xx": "run-3", "?q=127.0.0.1": "run-3 run-2 run-1",
		"?q=nothing": "", "?status=x": "",
	} {
		page := l.get("/" + query)
		var ids []string
		for _, row := range page.named("li") {
			if id := row.attr["id"]; id != "" {
				ids = append(ids, id)
			}
		}
		if got := strings.Join(ids, " "); got != want {
			t.Errorf("%q shows %q, want %q", query, got, want)
		}
		if want == "" {
			has(t, page.named("main")[0].say(), "None of the 3 runs", "Show all")
		}
	}
	page := l.get("/?q=" + url.QueryEscape(`"><script>`))
	if got := page.id("q").attr["value"]; got != `"><script>` {
		t.Errorf("the filter has become %q", got)
	}
}

// The form begins with the agent of the run before, so that its address is typed once.
func TestTheAgentIsRemembered(t *testing.T) {
	l := start(t, 10)
	l.dispatchTo(http.NotFoundHandler(), map[string]string{"url": "http://127.0.0.1:1/my/agent", "auth_header": "X-Key"})
	_, _ = l.post("/runs/sample", nil)
	l.runs.wait()
	form := l.get("/dispatch")
	if address, header := form.id("url").attr["value"], form.id("auth_header").attr["value"]; address != "http://127.0.0.1:1/my/agent" || header != "X-Key" {
		t.Errorf("the form begins with %q and %q", address, header)
	}
}

// A run that is under way shows what has happened, without a script, and is marked to be brought up
// to date by one.
func TestInProgress(t *testing.T) {
	l := start(t, 10)
	reached, release := make(chan struct{}), make(chan struct{})
	path := l.dispatchTo(serveAgent(t, func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		_, _ = run.Proxy.Trace(ctx, proxy.EventThinking, map[string]string{"text": "Well."})
		if _, err := run.Proxy.Do(ctx, "get_order", map[string]string{"order_id": "4521"}); err != nil {
			return nil, err
		}
		close(reached)
		<-release
		return &dispatch.Response{FinalResponse: "done"}, nil
	}), nil)
	<-reached
	page := l.get(path)
	if _, live := page.named("main")[0].attr["data-live"]; !live {
		t.Error("a run in progress is live")
	}
	has(t, page.id("doing").say(), "waiting for the agent's answer", "1 call", "1 trace event")
	if page.id("now").attr["role"] != "status" || page.id("refresh").named("a")[0].attr["href"] != path {
		t.Error("no live region, or no link to refresh")
	}
	if said := page.id("now").say(); said != "◔ in progress" { // what changes all the time would be read out all the time
		t.Errorf("the live region says %q", said)
	}
	has(t, page.id("events").say(), "Ping answered 200", "Dispatch", "thinking", "Well.", "get_order odyssey")
	list := l.get("/")
	has(t, list.named("main")[0].say(), "1 run in progress", "Refresh", "in progress")
	if _, live := list.named("main")[0].attr["data-live"]; !live {
		t.Error("a list with a run in progress is live")
	}
	close(release)
	l.runs.wait()
	page = l.get(path)
	has(t, page.id("now").say(), "completed")
	if page.id("refresh").name != "" {
		t.Error("a run that is over needs no refreshing")
	}
}

// A call that takes long is shown while it does, and attempts are one entry.
func TestWaitingCall(t *testing.T) {
	reached, release := make(chan struct{}), make(chan struct{})
	world := proxytest.World{Behaviors: map[string]proxytest.Behavior{"slow": func(*proxytest.Request) (any, error) {
		close(reached)
		<-release
		return "ok", nil
	}}}
	l := startWorld(t, world)
	path := l.dispatchTo(serveAgent(t, func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		_, err := run.Proxy.Do(ctx, "slow", nil)
		return &dispatch.Response{FinalResponse: "done"}, err
	}), nil)
	<-reached
	page := l.get(path)
	has(t, page.id("events").say(), "slow no answer yet", "arguments", "{}")
	has(t, page.id("facts").say(), "Tool calls 0 Trace")
	if page.id("failures").name != "" {
		t.Error("a call that waits is a failure")
	}
	close(release)
	l.runs.wait()
	has(t, l.get(path).id("events").say(), "slow odyssey", `"ok"`)
}

func TestSession(t *testing.T) {
	l := start(t, 10)
	path := l.dispatchTo(serveAgent(t, func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		_, err := run.Proxy.Do(ctx, "get_order", map[string]string{"order_id": "turn-" + run.TurnID})
		return &dispatch.Response{FinalResponse: "reply to " + run.Instruction}, err
	}), map[string]string{"instruction": "First.", "user_turns": "Second.\r\n\r\n Third. \r\n"})
	l.runs.wait()
	page := l.get(path)
	has(t, page.id("events").say(), "Ping", "Dispatch, turn 1", "First.", "turn-1", "Answer to turn 1", "reply to First.",
		"Dispatch, turn 2", "Second.", "turn-2", "reply to Second.", "Dispatch, turn 3", "Third.", "turn-3",
		"reply to Third.")
	has(t, page.id("raw").say(), "Dispatch of turn 1", "Dispatch of turn 2", "Dispatch of turn 3")
	again := l.get("/dispatch?again=1")
	has(t, again.id("user_turns").say(), "Second. Third.")
}

// The turns of a session stand apart while it is under way, too.
func TestSessionInProgress(t *testing.T) {
	l := start(t, 10)
	reached, release := make(chan struct{}), make(chan struct{})
	path := l.dispatchTo(serveAgent(t, func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		_, err := run.Proxy.Do(ctx, "get_order", map[string]string{"order_id": "turn-" + run.TurnID})
		if run.TurnID == "2" {
			close(reached)
			<-release
		}
		return &dispatch.Response{FinalResponse: "reply"}, err
	}), map[string]string{"instruction": "First.", "user_turns": "Second.\nThird."})
	<-reached
	page := l.get(path)
	has(t, page.id("doing").say(), "waiting for the agent's answer to turn 2 of 3", "2 calls")
	has(t, page.id("events").say(), "Ping answered 200", "Dispatch, turn 1", "First.", "turn-1",
		"Answer to turn 1 answered 200",
		"Dispatch, turn 2", "Second.", "turn-2")
	hasNot(t, page.id("events").say(), "Third.", "Answer to turn 2")
	close(release)
	l.runs.wait()
	has(t, l.get(path).id("events").say(), "turn-2", "Answer to turn 2", "turn-3", "Answer to turn 3")
}

// What is shown comes from the agent, and may be anything.
func TestHostileAgent(t *testing.T) {
	const attack = `"><script>alert(1)</script><img src=x onerror=alert(1)>`
	long := strings.Repeat("0123456789abcdef", 1<<16) // 1 MiB
	l := start(t, 10)
	path := l.dispatchTo(serveAgent(t, func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		_, _ = run.Proxy.Do(ctx, "get_order", map[string]string{"order_id": attack})
		_, _ = run.Proxy.Trace(ctx, proxy.EventHandoff, map[string]string{"from_sub_agent": attack, "to_sub_agent": attack,
			"text": attack})
		return &dispatch.Response{FinalResponse: attack + "\u202Egnp.exe\u0000\u001b[31m" + long,
			Messages: []dispatch.Message{
				{Role: "user", Content: dispatch.Text(attack)}, {Role: "assistant", Content: dispatch.Text(attack), Thinking: nil},
			}}, nil
	}), map[string]string{"instruction": attack + "\u202E", "input": `{"<b>":"` + strings.Repeat("x", 9000) + `"}`})
	l.runs.wait()
	_, body := l.do(l.request("GET", path, ""))
	page := checkPage(t, body) // no script but ours, no inline handler, every element closed
	hasNot(t, body, "<script>alert", "<img", "\u202e", "\x00", "\x1b", long[:20<<10])
	has(t, page.id("final").say(), attack, "⟨U+202E⟩gnp.exe⟨U+0000⟩⟨U+001B⟩[31m", "Cut here.", "The whole text, 1.0 MiB")
	if len(body) > 200<<10 {
		t.Errorf("the page has %d bytes", len(body))
	}
	has(t, l.get("/").named("main")[0].say(), attack)

	whole := page.id("final").named("a")[0].attr["href"]
	resp, text := l.do(l.request("GET", whole, ""))
	if want := attack + "\u202Egnp.exe\u0000\u001b[31m" + long; text != want {
		t.Errorf("the whole text has %d bytes, want %d", len(text), len(want))
	}
	if got := resp.Header.Get("Content-Type"); got != "text/plain; charset=utf-8" ||
		!strings.Contains(resp.Header.Get("Content-Security-Policy"), "sandbox") {
		t.Errorf("%v", resp.Header)
	}
	for _, path := range []string{"/runs/1/text/nope", "/runs/7/text/final", "/runs/7", "/runs/x", "/nope"} {
		resp, body := l.do(l.request("GET", path, ""))
		checkPage(t, body)
		if resp.StatusCode != 404 {
			t.Errorf("GET %s: %d", path, resp.StatusCode)
		}
	}
}

// The auth value is on no page, even if the agent repeats it, and not in the form that is shown
// again.
func TestSecret(t *testing.T) {
	const secret = "s3cr3t-\"token\"-0001"
	l := start(t, 10)
	failing := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(500)
		fmt.Fprintf(w, "%v %s", r.Header, r.Header.Get("X-Api-Key"))
	})
	talking := serveAgent(t, nil2agent)
	for i, agent := range []http.Handler{failing, talking} {
		path := l.dispatchTo(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if got := r.Header.Get("X-API-Key"); got != "Bearer "+secret {
				t.Errorf("the agent got %q", got)
			}
			agent.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), headerKey{}, r.Header)))
		}), map[string]string{"auth_header": "X-API-Key", "auth_value": "Bearer " + secret})
		l.runs.wait()
		for _, path := range []string{path, "/", "/dispatch?again=1"} {
			resp, body := l.do(l.request("GET", path, ""))
			hasNot(t, body+fmt.Sprint(resp.Header), "s3cr3t", "run-0", "token-0001")
		}
		if text := l.get(path).named("main")[0].say(); !strings.Contains(text, redact.Placeholder) {
			t.Errorf("agent %d: the secret left no trace in\n%s", i, text)
		}
		if r := l.runs.get(i + 1); r.task.target.AuthValue != "" || r.run != nil {
			t.Error("the secret is kept")
		}
	}
	_, body := l.post("/dispatch", map[string]string{"url": "x", "auth_value": "Bearer " + secret})
	hasNot(t, body, "s3cr3t")
}

type headerKey struct{}

// nil2agent repeats all that it was sent, in every way that it has.
func nil2agent(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
	header, _ := ctx.Value(headerKey{}).(http.Header)
	all := fmt.Sprint(header["X-Api-Key"], header["X-Pipelines-Run-Token"])
	_, _ = run.Proxy.Do(ctx, "get_order", map[string]string{"order_id": all})
	_, _ = run.Proxy.Trace(ctx, proxy.EventThinking, map[string]string{"text": all})
	return &dispatch.Response{FinalResponse: all,
		Messages: []dispatch.Message{{Role: "assistant", Content: dispatch.Text(all)}}}, nil
}

func TestHeaders(t *testing.T) {
	l := start(t, 10)
	for _, path := range []string{"/", "/dispatch", "/nope", "/static/style.css", "/static/live.js", "/static/icon.svg",
		"/static/nope", "/static/"} {
		resp, _ := l.do(l.request("GET", path, ""))
		csp := resp.Header.Get("Content-Security-Policy")
		has(t, csp, "default-src 'none'", "style-src 'self'", "script-src 'self'", "form-action 'self'", "base-uri 'none'",
			"frame-ancestors 'none'")
		hasNot(t, csp, "unsafe", "http:", "*")
		if resp.Header.Get("X-Content-Type-Options") != "nosniff" || resp.Header.Get("Referrer-Policy") != "same-origin" ||
			resp.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %v", path, resp.Header)
		}
	}
	for path, contentType := range map[string]string{"/static/style.css": "text/css",
		"/static/live.js": "text/javascript", "/static/icon.svg": "image/svg+xml"} {
		resp, body := l.do(l.request("GET", path, ""))
		has(t, resp.Header.Get("Content-Type"), contentType)
		hasNot(t, body, "https://", "@import", "url(", "eval(", "innerHTML")
	}
}

// Another site's page must not dispatch, whatever name it gives this address.
func TestOtherSites(t *testing.T) {
	l := start(t, 10)
	for _, header := range []http.Header{
		{"Sec-Fetch-Site": {"cross-site"}}, {"Sec-Fetch-Site": {"same-site"}}, {"Origin": {"http://evil.example"}},
		{"Origin": {"null"}},
	} {
		for _, path := range []string{"/dispatch", "/runs/sample"} {
			req := l.request("POST", path, "page_token="+l.token+"&url=http%3A%2F%2F127.0.0.1%3A1%2F&instruction=x")
			for name, values := range header {
				req.Header[name] = values
			}
			if resp, body := l.do(req); resp.StatusCode != 403 {
				t.Errorf("%v %s: %d\n%s", header, path, resp.StatusCode, body)
			}
		}
	}
	for host, status := range map[string]int{
		"evil.example": 403, "evil.example:8700": 403, "127.0.0.1.evil.example": 403, "192.168.1.5": 403, "": 400,
		"localhost": 200, "localhost:1234": 200, "127.0.0.1": 200, "[::1]:80": 200, "127.0.0.2:80": 200,
	} {
		req := httptest.NewRequest("GET", "/", nil)
		req.Host = host
		w := httptest.NewRecorder()
		l.handler().ServeHTTP(w, req)
		if host != "" && w.Code != status {
			t.Errorf("Host %q: %d, want %d", host, w.Code, status)
		}
	}
	if all := l.runs.all(); len(all) != 0 {
		t.Errorf("%d runs were dispatched", len(all))
	}
	same := l.request("POST", "/runs/sample", "page_token="+l.token)
	same.Header.Set("Sec-Fetch-Site", "same-origin")
	if resp, _ := l.do(same); resp.StatusCode != http.StatusSeeOther {
		t.Errorf("our own form: %d", resp.StatusCode)
	}
}

// A form is accepted only with the token of the page, which other sites cannot read: without it
// nothing is dispatched and no state is changed.
func TestFormsNeedTheTokenOfThePage(t *testing.T) {
	l := start(t, 10)
	for _, token := range []string{"", "page_token=", "page_token=x", "page_token=" + l.token + "x", "page_token=" + l.token[1:]} {
		for _, path := range []string{"/dispatch", "/runs/sample"} {
			resp, body := l.do(l.request("POST", path, token+"&url=http%3A%2F%2F127.0.0.1%3A1%2F&instruction=x&state=%7B%7D"))
			if resp.StatusCode != http.StatusForbidden || strings.Contains(body, l.token) {
				t.Errorf("%q %s: %d", token, path, resp.StatusCode)
			}
		}
	}
	if all := l.runs.all(); len(all) != 0 {
		t.Errorf("%d runs were dispatched", len(all))
	}
	_, _ = l.post("/runs/sample", nil)
	l.runs.wait()
	for _, path := range []string{"/", "/dispatch", "/runs/1"} {
		fields := l.get(path).all(func(n *node) bool { return n.attr["name"] == "page_token" })
		if len(fields) != 1 || fields[0].attr["value"] != l.token {
			t.Errorf("%s has no token of the page in its form", path)
		}
	}
	if other := start(t, 1); other.token == l.token || len(l.token) < 20 {
		t.Error("the token can be guessed")
	}
}

// The form shows the tools with their arguments and the state, which can be edited for a run. The run
// shows what it changed, and is dispatched again with the same state.
func TestTheWorldIsShownAndEdited(t *testing.T) {
	l := start(t, 10)
	form := l.get("/dispatch")
	has(t, form.id("world").say(), "get_order", "Arguments: order_id", "refund_order", "Arguments: order_id, amount, reason")
	if state := form.id("state").children[0].text; !strings.HasPrefix(strings.TrimPrefix(state, "\n"), "{\n  \"order\": {\n    \"4521\": {\n      \"customer_id\"") {
		t.Errorf("the state is %s", state)
	}
	agent := serveAgent(t, func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		order, err := run.Proxy.Do(ctx, "get_order", map[string]string{"order_id": "7"})
		return &dispatch.Response{FinalResponse: string(order.Response)}, err
	})
	edited := `{"order":{"7":{"status":"edited","amount":1}}}`
	path := l.dispatchTo(agent, map[string]string{"state": edited})
	l.runs.wait()
	page := l.get(path)
	has(t, page.id("final").say(), "edited")
	has(t, page.id("before").say(), `"edited"`)
	has(t, l.get("/dispatch?again=1").id("state").say(), edited)
	agent = serveAgent(t, func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		order, err := run.Proxy.Do(ctx, "get_order", map[string]string{"order_id": "4521"})
		return &dispatch.Response{FinalResponse: string(order.Response)}, err
	})
	path = l.dispatchTo(agent, map[string]string{"state": " \n"}) // the state of the world
	l.runs.wait()
	has(t, l.get(path).id("final").say(), "reading lamp")
	has(t, l.get("/dispatch").id("state").say(), "4521") // the world itself has not changed
	for _, state := range []string{"{", `["x"]`, `{"unknown":{"1":{}}}`} {
		resp, body := l.post("/dispatch", map[string]string{"url": "http://127.0.0.1:1/", "auth_header": "X", "instruction": "x", "timeout": "3", "state": state})
		if resp.StatusCode != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d", state, resp.StatusCode)
			continue
		}
		form := checkPage(t, body)
		has(t, form.id("problems").say(), "State of the world")
		has(t, form.id("state").say(), state)
	}
}

// Only so many runs are kept, and one in progress always.
func TestEviction(t *testing.T) {
	l := start(t, 2)
	release, reached := make(chan struct{}), make(chan struct{})
	l.dispatchTo(serveAgent(t, func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
		close(reached)
		<-release
		return &dispatch.Response{FinalResponse: "late"}, nil
	}), nil)
	<-reached
	for range 4 {
		l.dispatchTo(http.NotFoundHandler(), nil)
	}
	for l.ids() != "5 4 1" && time.Since(l.runs.get(1).started) < 5*time.Minute {
		time.Sleep(time.Millisecond) // the others end by themselves
	}
	if got := l.ids(); got != "5 4 1" {
		t.Errorf("kept are %s, want the last two and the one in progress", got)
	}
	resp, body := l.do(l.request("GET", "/runs/2", ""))
	if resp.StatusCode != 404 {
		t.Errorf("%d", resp.StatusCode)
	}
	has(t, checkPage(t, body).say(), "There is no such run", "keeps the last 2 runs")
	close(release)
	l.runs.wait()
	if got := l.ids(); got != "5 4" {
		t.Errorf("kept are %s", got)
	}
	l.dispatchTo(http.NotFoundHandler(), nil)
	l.runs.wait()
	if got := l.ids(); got != "6 5" {
		t.Errorf("kept are %s", got)
	}
	has(t, l.get("/").named("main")[0].say(), "#6", "#5", "The last 2 runs are kept")
}

// Large runs make room sooner, but the last one stays.
func TestEvictionOfLargeRuns(t *testing.T) {
	l := start(t, 10)
	l.runs.bounds.kept = 340_000
	sizes := map[string]int{"1": 20_000, "2": 50_000, "3": 50_000, "4": 300_000}
	agent := serveAgent(t, func(_ context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		return &dispatch.Response{FinalResponse: strings.Repeat("x", sizes[run.RunID])}, nil
	})
	for i, want := range []string{"1", "2 1", "3 2", "4"} {
		l.dispatchTo(agent, nil)
		l.runs.wait()
		if got := l.ids(); got != want {
			t.Errorf("after %d runs, kept are %s, want %s", i+1, got, want)
		}
	}
}

func (l *local) ids() string {
	var ids []string
	for _, r := range l.runs.all() {
		ids = append(ids, fmt.Sprint(r.id))
	}
	return strings.Join(ids, " ")
}

// Runs in progress are bounded too: what is too much is said beside the form, which keeps what was
// typed.
func TestBusy(t *testing.T) {
	agent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		<-r.Context().Done()
	}))
	t.Cleanup(agent.Close)
	l := start(t, 200) // stops before the agent, and with it the runs
	fields := map[string]string{"url": agent.URL, "instruction": "Wait here."}
	for i := range maxAtOnce {
		if resp, _ := l.post("/dispatch", fields); resp.StatusCode != http.StatusSeeOther {
			t.Fatalf("run %d: %d", i, resp.StatusCode)
		}
	}
	resp, body := l.post("/dispatch", fields)
	page := checkPage(t, body)
	if resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("%d", resp.StatusCode)
	}
	has(t, page.id("problems").say(), "Nothing was dispatched", "Too many runs are in progress")
	has(t, page.id("instruction").say(), "Wait here.")
}

// What a run sends to the proxy is kept, so it is bounded; and what it sends after its end is
// counted only.
func TestProxyBounds(t *testing.T) {
	large := `{"order_id":"` + strings.Repeat("x", 1<<20-100) + `"}`
	for _, tt := range []struct {
		bounds bounds
		body   string
		sends  int
		said   string
	}{
		{bounds{requests: 7, bytes: 1 << 20}, `{"order_id":"4521"}`, 7, "7 requests and 1.0 MiB of one run"},
		{bounds{requests: 7, bytes: 3 << 20}, large, 3, "7 requests and 3.0 MiB of one run"},
	} {
		l := start(t, 10)
		l.runs.bounds = tt.bounds
		var base, token string
		send := func(body string) (int, string) {
			req, _ := http.NewRequest("POST", base+"/tools/get_order", strings.NewReader(body))
			req.Header.Set("Authorization", "Bearer "+token)
			resp, text := l.do(req)
			return resp.StatusCode, text
		}
		stranger := func(base string) { // whose requests are none of the run's
			for range 3 {
				req, _ := http.NewRequest("POST", base+"/tools/get_order", strings.NewReader("{}"))
				req.Header.Set("Authorization", "Bearer run-of-somebody-else")
				if resp, text := l.do(req); resp.StatusCode != 401 || !strings.Contains(text, "run_token_invalid") {
					t.Errorf("another token: %d %s", resp.StatusCode, text)
				}
			}
		}
		path := l.dispatchTo(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if token = r.Header.Get("X-Pipelines-Run-Token"); token == "" {
				fmt.Fprint(w, `{"ok":true}`)
				return
			}
			base = r.Header.Get("X-Pipelines-Odyssey-Proxy-Url")
			stranger(base)
			for range tt.sends {
				if status, text := send(tt.body); status != 200 {
					t.Errorf("%d %s", status, text)
				}
			}
			if status, text := send(tt.body); status != 429 || !strings.Contains(text, "than the page keeps") {
				t.Errorf("%d %s", status, text)
			}
			fmt.Fprint(w, `{"final_response":"done"}`)
		}), nil)
		l.runs.wait()
		for range 3 {
			if status, text := send(tt.body); status != 401 || !strings.Contains(text, "run_token_expired") {
				t.Errorf("after the end: %d %s", status, text)
			}
		}
		stranger(base)
		page := l.get(path)
		has(t, page.named("main")[0].say(), "3 requests after the end", "run_token_expired")
		has(t, page.id("contract").say(), "Faults", "refused and not kept", tt.said)
		for _, base = range []string{l.base + "/api/odyssey-proxy/runs/99", l.base + "/api/odyssey-proxy", l.base +
			"/api/odyssey-proxy/runs/x"} {
			if status, text := send("{}"); status != 401 || !strings.Contains(text, "run_token_invalid") {
				t.Errorf("%s: %d %s", base, status, text)
			}
		}
	}
}
