package doctor_test

import (
	"bytes"
	"cmp"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/doctor"
	"github.com/toolwire/toolwire/internal/testkit"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

const (
	handToken     = "a-token-written-by-hand"
	redirectState = "state-of-a-login" // in the query of a redirect, where logins keep secrets
)

// hand is an endpoint written by hand, as a port without this module would be. Its zero value is in
// order; each field breaks one thing.
type hand struct {
	auth      func(value string) bool
	refusal   int // of a wrong bearer
	first     func(w http.ResponseWriter, r *http.Request) bool
	ping      func(w http.ResponseWriter, body []byte) bool
	pingFirst bool
	limit     int64
	methods   bool // any is taken
	media     string
	malformed func(w http.ResponseWriter)
	run       func(w http.ResponseWriter, r *http.Request, e *handEnvelope)
}

type handEnvelope struct {
	Input struct {
		Instruction string `json:"user_instruction"`
	} `json:"input"`
	ProxyURL string `json:"odyssey_proxy_url"`
	JTI      string `json:"run_token_jti"`
}

func (h hand) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h.first != nil && h.first(w, r) {
		return
	}
	if h.media == "" {
		h.media = "application/json"
	}
	w.Header().Set("Content-Type", h.media)
	if r.Method != http.MethodPost && !h.methods {
		say(w, 405, `{"error":"use POST"}`)
		return
	}
	if h.limit == 0 {
		h.limit = 1 << 20
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, h.limit))
	body = bytes.Trim(body, " ") // the many spaces of a large body
	if h.ping == nil {
		h.ping = func(w http.ResponseWriter, body []byte) bool {
			var got map[string]any
			if json.Unmarshal(body, &got) != nil || len(got) != 1 || got["ping"] != true {
				return false
			}
			say(w, 200, `{"ok":true}`)
			return true
		}
	}
	if h.pingFirst && h.ping(w, body) {
		return
	}
	if h.auth == nil {
		h.auth = func(value string) bool { return value == "Bearer "+handToken }
	}
	if h.refusal == 0 {
		h.refusal = 401
	}
	if !h.auth(r.Header.Get("Authorization")) {
		say(w, h.refusal, `{"error":"no"}`)
		return
	}
	if err != nil {
		say(w, 413, `{"error":"too large"}`)
		return
	}
	if h.ping(w, body) {
		return
	}
	var e handEnvelope
	if json.Unmarshal(body, &e) != nil || e.ProxyURL == "" {
		if h.malformed == nil {
			h.malformed = func(w http.ResponseWriter) { say(w, 400, `{"error":"no JSON, or no envelope"}`) }
		}
		h.malformed(w)
		return
	}
	if h.run == nil {
		h.run = func(w http.ResponseWriter, _ *http.Request, _ *handEnvelope) {
			say(w, 200, `{"final_response":"I am ready."}`)
		}
	}
	h.run(w, r, &e)
}

func say(w http.ResponseWriter, status int, body string) {
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

// always answers everything, or every dispatch, in one way.
func always(status int, media, body string) (first func(http.ResponseWriter, *http.Request) bool, run func(http.ResponseWriter, *http.Request, *handEnvelope)) {
	run = func(w http.ResponseWriter, _ *http.Request, _ *handEnvelope) {
		w.Header().Set("Content-Type", media)
		w.Header().Set("Location", "/elsewhere?state="+redirectState)
		say(w, status, body)
	}
	return func(w http.ResponseWriter, r *http.Request) bool { run(w, r, nil); return true }, run
}

func first(status int, media, body string) func(http.ResponseWriter, *http.Request) bool {
	f, _ := always(status, media, body)
	return f
}

func answers(status int, media, body string) func(http.ResponseWriter, *http.Request, *handEnvelope) {
	_, run := always(status, media, body)
	return run
}

func drop(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) }

// call posts a tool call to the proxy of a run.
func call(e *handEnvelope, tool, token string) (status int) {
	return post(e.ProxyURL+"/tools/"+tool, token)
}

func post(url, token string) (status int) {
	status, _, _ = exchange(url, map[string]string{"Authorization": "Bearer " + token}, "{}")
	return status
}

// exchange posts a body, and returns the response.
func exchange(url string, headers map[string]string, body string) (status int, answer []byte, err error) {
	req, err := http.NewRequest("POST", url, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	for name, value := range headers {
		req.Header.Set(name, value)
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err = io.ReadAll(resp.Body)
	return resp.StatusCode, answer, err
}

// callsLate calls the proxy once the next request shows that the answer has arrived.
func callsLate() http.Handler {
	arrived := make(chan struct{})
	once := sync.OnceFunc(func() { close(arrived) })
	return hand{
		run: func(w http.ResponseWriter, r *http.Request, e *handEnvelope) {
			token := r.Header.Get("X-Pipelines-Run-Token")
			go func() {
				<-arrived
				call(e, "send_mail", token)
			}()
			say(w, 200, `{"final_response":"done"}`)
		},
		malformed: func(w http.ResponseWriter) {
			once()
			say(w, 400, `{"error":"no JSON"}`)
		},
	}
}

// worksOn takes every dispatch, and calls the proxy of the first one again during the next.
func worksOn() http.Handler {
	var first atomic.Pointer[string]
	return hand{auth: func(string) bool { return true }, run: func(w http.ResponseWriter, _ *http.Request, e *handEnvelope) {
		if !first.CompareAndSwap(nil, &e.ProxyURL) {
			post(*first.Load()+"/tools/get_order", "its-token")
		}
		say(w, 200, `{"final_response":"done"}`)
	}}
}

// dying answers nothing any more for a while after a large body.
func dying() func(http.ResponseWriter, *http.Request) bool {
	var left atomic.Int64
	return func(w http.ResponseWriter, r *http.Request) bool {
		if r.ContentLength > 1<<20 {
			left.Store(2)
		}
		return left.Add(-1) >= 0 && drop(w, r)
	}
}

// onDispatchPing breaks the ping that the platform sends before a dispatch: the third one with the
// right bearer.
func onDispatchPing() func(http.ResponseWriter, *http.Request) bool {
	var pings atomic.Int64
	return func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != "POST" || r.Header.Get("Authorization") != "Bearer "+handToken || r.ContentLength > 100 {
			return false
		}
		return pings.Add(1) == 3 && first(500, plain, "busy "+strings.Repeat("x", 480)+handToken)(w, r)
	}
}

const (
	page  = "<!DOCTYPE html><html><title>Sign in</title><body>Welcome</body></html>"
	html  = "text/html; charset=utf-8"
	plain = "text/plain; charset=utf-8"
	js    = "application/json"
)

type names = []doctor.Name

// fixture is an endpoint that is broken in one way.
type fixture struct {
	name    string
	handler http.Handler
	failed  names
	warned  names
	seen    string // a part of what the check says
	do      string // a part of what it advises
	unseen  string // a part of what no check says
	change  func(*dispatchtest.Target, *doctor.Options)
	hangs   bool
}

// Every fixture is broken in one way, which one check names and no other.
func TestCheckNamesWhatIsBroken(t *testing.T) {
	t.Parallel()
	stop := make(chan struct{})
	t.Cleanup(func() { close(stop) })
	hang := func(http.ResponseWriter, *http.Request) bool { <-stop; return true }
	world := task()
	for _, tt := range []fixture{
		{name: "in order", handler: hand{}},
		{name: "refuses with 403", handler: hand{refusal: 403}},
		{name: "answers a ping with 204", handler: hand{ping: func(w http.ResponseWriter, body []byte) bool {
			if ping := bytes.Contains(body, []byte("ping")); !ping {
				return false
			}
			w.WriteHeader(204)
			return true
		}}},
		{name: "answers a ping with text that is called HTML", handler: hand{ping: func(w http.ResponseWriter, body []byte) bool {
			if !bytes.Contains(body, []byte("ping")) {
				return false
			}
			w.Header().Set("Content-Type", html)
			say(w, 200, "pong")
			return true
		}}, warned: names{"content_type"}, seen: "the ping is answered with text/html"},
		{name: "no auth", handler: hand{auth: func(string) bool { return true }}, failed: names{"auth_before_ping"}, seen: "no bearer is asked for at all"},
		{name: "no auth, and a crash", handler: hand{pingFirst: true, first: func(w http.ResponseWriter, r *http.Request) bool {
			dispatch := r.Header.Get("X-Pipelines-Run-Token") != "" && r.Header.Get("Authorization") == ""
			return dispatch && first(500, plain, "oops")(w, r)
		}}, failed: names{"auth_before_ping"}, seen: "no bearer is asked for at all"},
		{name: "any bearer", handler: hand{auth: func(v string) bool { return v != "" }}, failed: names{"wrong_bearer"}, seen: "a ping with a wrong bearer is accepted"},
		{name: "any bearer, after the ping", handler: hand{pingFirst: true, auth: func(v string) bool { return v != "" }},
			failed: names{"auth_before_ping", "wrong_bearer"}}, // two faults
		{name: "refuses with 400", handler: hand{refusal: 400}, warned: names{"auth_before_ping"}, seen: "is answered 400"},
		{name: "refuses with 500", handler: hand{refusal: 500}, warned: names{"auth_before_ping"}, seen: "is answered 500"},
		{name: "closes without the bearer", handler: hand{first: func(w http.ResponseWriter, r *http.Request) bool {
			return r.Header.Get("Authorization") != "Bearer "+handToken && drop(w, r)
		}}, warned: names{"auth_before_ping"}, seen: "is answered nothing"},
		{name: "a wrong bearer makes it crash", handler: hand{first: func(w http.ResponseWriter, r *http.Request) bool {
			v := r.Header.Get("Authorization")
			return v != "" && v != "Bearer "+handToken && first(500, plain, "no such user")(w, r)
		}}, failed: names{"wrong_bearer"}, seen: "no such user"},
		{name: "authenticates pings only", handler: hand{first: func(w http.ResponseWriter, r *http.Request) bool {
			if r.Header.Get("X-Pipelines-Run-Token") == "" {
				return false
			}
			_, run := always(200, js, `{"final_response":"done"}`)
			run(w, r, nil)
			return true
		}}, failed: names{"wrong_bearer"}, seen: "a dispatch with a wrong bearer is accepted"},
		{name: "ping makes the agent work", handler: hand{ping: func(w http.ResponseWriter, body []byte) bool {
			if !bytes.Contains(body, []byte("ping")) {
				return false
			}
			say(w, 200, `{"final_response":"What can I do for you?"}`)
			return true
		}}, warned: names{"ping"}, seen: "every ping makes the agent work"},
		{name: "ping compared as text", handler: hand{ping: func(w http.ResponseWriter, body []byte) bool {
			if string(body) != `{"ping":true}` {
				return false
			}
			say(w, 200, `{"ok":true}`)
			return true
		}}, warned: names{"ping_spacing"}, seen: "other white space"},
		{name: "any method", handler: hand{methods: true}, warned: names{"method"}, seen: "PUT is answered 200"},
		{name: "a page for GET", handler: hand{first: func(w http.ResponseWriter, r *http.Request) bool {
			return r.Method == "GET" && first(200, html, page)(w, r)
		}}, warned: names{"method"}, seen: "GET is answered 200 with an HTML page"},
		{name: "runs for GET", handler: hand{first: func(w http.ResponseWriter, r *http.Request) bool {
			return r.Method == "GET" && first(200, "application/json", `{"final_response":"done"}`)(w, r)
		}}, warned: names{"method"}, seen: "GET is answered 200"},
		{name: "500 for GET", handler: hand{first: func(w http.ResponseWriter, r *http.Request) bool {
			return r.Method == "GET" && first(500, plain, "oops")(w, r)
		}}, warned: names{"method"}, seen: "GET is answered 500"},
		{name: "no body limit", handler: hand{limit: 1 << 30}, warned: names{"body_limit"}, seen: "is read whole"},
		{name: "hangs on a large body", handler: hand{first: func(w http.ResponseWriter, r *http.Request) bool {
			return r.ContentLength > 1<<20 && hang(w, r)
		}}, warned: names{"body_limit"}, seen: "neither read nor refused within", hangs: true},
		{name: "closes on a large body", handler: hand{first: func(w http.ResponseWriter, r *http.Request) bool {
			return r.ContentLength > 1<<20 && drop(w, r)
		}}},
		{name: "dies of a large body", handler: hand{first: dying()}, failed: names{"body_limit"}, seen: "the next ping is answered nothing",
			change: func(_ *dispatchtest.Target, o *doctor.Options) { o.NoDispatch = true }},
		{name: "500 on a large body", handler: hand{first: func(w http.ResponseWriter, r *http.Request) bool {
			return r.ContentLength > 1<<20 && first(500, plain, "out of memory")(w, r)
		}}, warned: names{"body_limit"}, seen: "out of memory"},
		{name: "text/plain", handler: hand{media: plain}, warned: names{"content_type"}, seen: "the ping is answered with text/plain"},
		{name: "text/plain for dispatches", handler: hand{run: answers(200, plain, `{"final_response":"done"}`)}, warned: names{"content_type"},
			seen: "the dispatch is answered with text/plain"},
		{name: "500 on malformed bodies", handler: hand{malformed: func(w http.ResponseWriter) { say(w, 500, `{"error":"EOF"}`) }},
			warned: names{"malformed_body"}, seen: "answered 500"},
		{name: "200 on malformed bodies", handler: hand{malformed: func(w http.ResponseWriter) { say(w, 200, `{"final_response":"?"}`) }},
			warned: names{"malformed_body"}},
		{name: "401 on malformed bodies", handler: hand{malformed: func(w http.ResponseWriter) { say(w, 401, `{}`) }},
			warned: names{"malformed_body"}, seen: "wrong bearer"},
		{name: "408 on malformed bodies", handler: hand{malformed: func(w http.ResponseWriter) { say(w, 408, `{}`) }},
			warned: names{"malformed_body"}, seen: "time-out"},
		{name: "malformed bodies refused in text", handler: hand{malformed: func(w http.ResponseWriter) { say(w, 400, "bad request") }},
			warned: names{"malformed_body"}, seen: "not in JSON"},
		{name: "HTML", handler: hand{first: first(200, html, page)}, failed: names{"ping"}, seen: "200 with an HTML page (Sign in)"},
		{name: "HTML with another type", handler: hand{first: first(200, js, page)}, failed: names{"ping"}, seen: "200 with an HTML page"},
		{name: "another path", handler: hand{first: first(404, plain, "404 page not found")}, failed: names{"ping"}, seen: "404 page not found"},
		{name: "redirects", handler: hand{first: first(307, plain, "")}, failed: names{"ping"}, seen: "redirects: 307 to http://127.0.0.1:"},
		{name: "500 on everything", handler: hand{first: first(500, plain, "oops")}, failed: names{"ping"}, seen: "answers 500: oops"},
		{name: "another bearer", handler: hand{auth: func(v string) bool { return v == "Bearer other" }}, failed: names{"ping"}, seen: "refuses the right bearer"},
		{name: "closes connections", handler: hand{first: drop}, failed: names{"reachable"}, seen: "the connection was closed"},
		{name: "hangs", handler: hand{first: hang}, failed: names{"reachable"}, seen: "has not answered a ping within", hangs: true},
		{name: "answers slowly", handler: hand{first: func(w http.ResponseWriter, r *http.Request) bool {
			w.WriteHeader(200)
			_ = http.NewResponseController(w).Flush()
			return hang(w, r)
		}}, failed: names{"ping"}, seen: "the answer does not end within", hangs: true},
		{name: "breaks off", handler: hand{first: func(w http.ResponseWriter, r *http.Request) bool {
			w.Header().Set("Content-Length", "100")
			w.WriteHeader(200)
			_ = http.NewResponseController(w).Flush()
			return drop(w, r)
		}}, failed: names{"ping"}, seen: "the answer breaks off"},
		{name: "breaks off, and then closes", handler: hand{first: func() func(http.ResponseWriter, *http.Request) bool {
			var requests atomic.Int64
			return func(w http.ResponseWriter, r *http.Request) bool {
				if requests.Add(1) == 1 {
					w.Header().Set("Content-Length", "100")
					w.WriteHeader(200)
					_ = http.NewResponseController(w).Flush()
				}
				return drop(w, r)
			}
		}()}, failed: names{"ping"}, seen: "the answer breaks off"},
		{name: "an hour ahead", handler: hand{first: func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Date", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat))
			return false
		}}, warned: names{"clock"}, seen: "ahead of this machine"},
		{name: "an hour behind", handler: hand{first: func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Date", time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat))
			return false
		}}, warned: names{"clock"}, seen: "1h0m"},
		{name: "empty final response", handler: hand{run: answers(200, js, `{"final_response":" "}`)}, failed: names{"dispatch"}, seen: "final_response_missing"},
		{name: "204", handler: hand{run: answers(204, js, "")}, failed: names{"dispatch"}, seen: "agent_bad_response"},
		{name: "500", handler: hand{run: answers(500, js, `{"error":"the model is away"}`)}, failed: names{"dispatch"}, seen: "the model is away"},
		{name: "504", handler: hand{run: answers(504, js, `{}`)}, failed: names{"dispatch"}, seen: "agent_timeout"},
		{name: "403 for a dispatch", handler: hand{run: answers(403, js, `{}`)}, failed: names{"dispatch"}, seen: "auth_failed"},
		{name: "HTML for a dispatch", handler: hand{run: answers(200, html, page)}, failed: names{"dispatch"}, seen: "not_json"},
		{name: "redirects a dispatch", handler: hand{run: answers(302, plain, "")}, failed: names{"dispatch"}, seen: "redirects are not followed"},
		{name: "closes on a dispatch", handler: hand{run: func(w http.ResponseWriter, r *http.Request, _ *handEnvelope) { drop(w, r) }},
			failed: names{"dispatch"}, seen: "agent_unreachable: the endpoint broke the connection"},
		{name: "hangs on a dispatch", handler: hand{run: func(http.ResponseWriter, *http.Request, *handEnvelope) { <-stop }},
			failed: names{"dispatch"}, seen: "agent_timeout: the agent did not answer within", unseen: "that a run may take", hangs: true},
		{name: "reads another member", handler: hand{run: func(w http.ResponseWriter, _ *http.Request, _ *handEnvelope) {
			say(w, 422, `{"detail":"prompt: field required"}`)
		}}, failed: names{"dispatch"}, seen: "prompt: field required"},
		{name: "takes another token", handler: hand{run: func(w http.ResponseWriter, _ *http.Request, e *handEnvelope) {
			if status := call(e, "get_order", e.JTI); status != 401 {
				say(w, 500, "the call was not refused")
				return
			}
			say(w, 200, `{"final_response":"Something went wrong with a tool."}`)
		}}, failed: names{"dispatch"}, seen: "another token than the run's"},
		{name: "loses the path of the proxy URL", handler: hand{run: func(w http.ResponseWriter, r *http.Request, e *handEnvelope) {
			base, _, _ := strings.Cut(e.ProxyURL, "/api/")
			post(base+"/tools/get_order", r.Header.Get("X-Pipelines-Run-Token"))
			say(w, 200, `{"final_response":"done"}`)
		}}, failed: names{"dispatch"}, seen: "1 request to the proxy's host did not begin with odyssey_proxy_url"},
		{name: "calls in every way that there is", handler: hand{run: func(w http.ResponseWriter, r *http.Request, e *handEnvelope) {
			token := r.Header.Get("X-Pipelines-Run-Token")
			base, _, _ := strings.Cut(e.ProxyURL, "/runs/")
			_, _, _ = exchange(e.ProxyURL+"/tools/get_order", map[string]string{"X-Pipelines-Run-Token": token}, "{}")
			post(e.ProxyURL+"/traces/thinking", token)
			post(base+"/tools/__reachability_probe__", "fake-token")
			say(w, 200, `{"final_response":"done"}`)
		}}},
		{name: "uses what is not served here, and fails", handler: hand{run: func(w http.ResponseWriter, r *http.Request, e *handEnvelope) {
			post(e.ProxyURL+"/telemetry", r.Header.Get("X-Pipelines-Run-Token"))
			say(w, 422, `{}`)
		}}, failed: names{"dispatch"}, seen: "agent_4xx", do: "Compare how the agent reads the envelope"},
		{name: "works on after a dispatch that it should have refused", handler: worksOn(),
			failed: names{"auth_before_ping"}, seen: "no bearer is asked for at all"},
		{name: "has other things beside the proxy", handler: hand{run: func(w http.ResponseWriter, _ *http.Request, e *handEnvelope) {
			base, _, _ := strings.Cut(e.ProxyURL, "/api/")
			say(w, 200, fmt.Sprintf(`{"final_response":"%d"}`, post(base+"/shop", "none")))
		}}, change: func(_ *dispatchtest.Target, o *doctor.Options) {
			o.Task = &dispatchtest.Task{WrapProxy: func(proxy http.Handler) http.Handler {
				mux := http.NewServeMux()
				mux.Handle("/api/", proxy)
				mux.HandleFunc("/shop", func(http.ResponseWriter, *http.Request) {})
				return mux
			}}
		}},
		{name: "forgets /tools", handler: hand{run: func(w http.ResponseWriter, r *http.Request, e *handEnvelope) {
			say(w, 500, http.StatusText(post(e.ProxyURL+"/get_order", r.Header.Get("X-Pipelines-Run-Token"))))
		}}, failed: names{"dispatch"}, seen: "the endpoint answered 500: Not Found", do: "the agent sent POST {odyssey_proxy_url}/get_order"},
		{name: "needs a member of a made-up result", handler: hand{run: func(w http.ResponseWriter, r *http.Request, e *handEnvelope) {
			call(e, "get_order", r.Header.Get("X-Pipelines-Run-Token"))
			say(w, 500, `{"detail":"KeyError: status"}`)
		}}, failed: names{"dispatch"}, warned: names{"tools_schema"}, do: "get_order has no output_schema", change: func(_ *dispatchtest.Target, o *doctor.Options) {
			o.ToolsSchema = []byte(`[{"name":"get_order","input_schema":{"type":"object"}}]`)
		}},
		{name: "has a limit for dispatches", handler: hand{run: answers(429, js, `{"error":"slow down"}`)},
			failed: names{"dispatch"}, seen: "slow down", do: "Raise the limit on requests"},
		{name: "calls late", handler: callsLate(), warned: names{"late_calls"}, seen: "send_mail", change: func(_ *dispatchtest.Target, o *doctor.Options) {
			o.LateCallWait = 10 * time.Second // ends with the first call
		}},
		{name: "the ping before the dispatch", handler: hand{first: onDispatchPing()}, failed: names{"dispatch"}, seen: "agent_5xx: the endpoint answered 500: busy"},
		{name: "ran out of time", handler: hand{run: answers(200, js, `{"final_response":"The agent ran out of time before it had an answer."}`)},
			warned: names{"dispatch"}, seen: "the agent ran out of time; its handler answered in its place"},
		{name: "an empty prompt", handler: hand{run: answers(200, js, `{"final_response":"done","messages":[{"role":"user","content":""},`+
			`{"role":"assistant","content":"done"}]}`)}, warned: names{"dispatch"}, seen: `no user message has the instruction`},
		{name: "a prompt within another text", handler: hand{run: func(w http.ResponseWriter, _ *http.Request, e *handEnvelope) {
			text, _ := json.Marshal("The user says:\n" + strings.ReplaceAll(e.Input.Instruction, " ", "\n"))
			say(w, 200, fmt.Sprintf(`{"final_response":"done","messages":[{"role":"user","content":%s},{"role":"assistant","content":"done"}]}`, text))
		}}},
		{name: "dropped messages", handler: hand{run: answers(200, js, `{"final_response":"done","messages":[{"role":"robot","content":"x"}]}`)},
			warned: names{"dispatch"}, seen: "messages_malformed"},
		{name: "stand-in", handler: hand{run: answers(200, js, `{"final_response":"(no final response)"}`)}, warned: names{"dispatch"}, seen: "no final response; its handler answered in its place"},
		{name: "no rich transcript", handler: hand{}, failed: names{"dispatch"}, seen: "response_contract_violation",
			change: func(target *dispatchtest.Target, _ *doctor.Options) { target.Strict = true }},
		{name: "no rich transcript, for a reason", handler: hand{run: answers(200, js, `{"final_response":"done","messages":[{"role":"robot"}]}`)},
			failed: names{"dispatch"}, seen: "must be system, user, assistant or tool",
			change: func(target *dispatchtest.Target, _ *doctor.Options) { target.Strict = true }},
		{name: "calls no tool", handler: hand{}, warned: names{"dispatch"}, seen: "without a tool call",
			change: func(_ *dispatchtest.Target, o *doctor.Options) { o.Task = &world }},
		{name: "calls tools that nobody told of", handler: hand{run: func(w http.ResponseWriter, r *http.Request, e *handEnvelope) {
			say(w, 500, http.StatusText(call(e, "get_order", r.Header.Get("X-Pipelines-Run-Token"))))
		}}, warned: names{"dispatch"}, seen: "does not have: get_order; agent_5xx: the endpoint answered 500: Not Found"},
		{name: "calls tools that are not declared", handler: hand{run: func(w http.ResponseWriter, r *http.Request, e *handEnvelope) {
			call(e, "get_ordre", r.Header.Get("X-Pipelines-Run-Token"))
			say(w, 200, `{"final_response":"done"}`)
		}}, failed: names{"dispatch"}, seen: `get_ordre, which is not declared (did you mean get_order?)`, do: "Keep the names of the tools",
			change: func(_ *dispatchtest.Target, o *doctor.Options) {
				o.Task = &dispatchtest.Task{World: proxytest.World{Behaviors: world.World.Behaviors}}
			}},
		{name: "wraps its arguments", handler: hand{run: func(w http.ResponseWriter, r *http.Request, e *handEnvelope) {
			call(e, "get_order", r.Header.Get("X-Pipelines-Run-Token")) // without the order_id
			say(w, 200, `{"final_response":"done"}`)
		}}, failed: names{"dispatch"}, seen: "the call of get_order was refused with 422",
			change: func(_ *dispatchtest.Target, o *doctor.Options) {
				o.ToolsSchema = []byte(`[{"name":"get_order","description":"d","input_schema":{"type":"object","required":["order_id"],
					"properties":{"order_id":{"type":"string","description":"d"}}}}]`)
			}},
		{name: "an actor label that is not valid", handler: hand{run: func(w http.ResponseWriter, r *http.Request, e *handEnvelope) {
			headers := map[string]string{"Authorization": "Bearer " + r.Header.Get("X-Pipelines-Run-Token"), "X-Pipelines-Actor-Id": latin1}
			_, _, _ = exchange(e.ProxyURL+"/tools/get_order", headers, "{}")
			call(e, "get_order", r.Header.Get("X-Pipelines-Run-Token"))
			say(w, 200, `{"final_response":"done"}`)
		}}, failed: names{"dispatch"}, seen: "the call of get_order was refused with 400 actor_id_invalid",
			change: func(_ *dispatchtest.Target, o *doctor.Options) { o.Task = &world }},
		{name: "no auth is registered", handler: hand{auth: func(string) bool { return true }}, warned: names{"auth_before_ping"}, seen: "none is registered",
			change: func(target *dispatchtest.Target, _ *doctor.Options) { target.AuthValue = "" }},
		{name: "no auth is given", handler: hand{}, failed: names{"ping"}, seen: "none was given",
			change: func(target *dispatchtest.Target, _ *doctor.Options) { target.AuthValue = "" }},
		{name: "another header", handler: hand{}, failed: names{"ping"}, seen: "refuses the right bearer",
			change: func(target *dispatchtest.Target, _ *doctor.Options) { target.AuthHeader = "X-API-Key" }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.hangs {
				testkit.Patiently(t, func(t testing.TB, limit time.Duration) { check(t, tt, limit) })
			} else {
				check(t, tt, 5*time.Minute)
			}
		})
	}
}

// check lets the doctor check a fixture. limit is for the dispatch and for every other request.
func check(t testing.TB, tt fixture, limit time.Duration) {
	t.Helper()
	target := dispatchtest.Target{Handler: tt.handler, AuthValue: "Bearer " + handToken, RunTimeout: limit}
	opts := &doctor.Options{Timeout: limit, LateCallWait: 10 * time.Millisecond}
	if tt.change != nil {
		tt.change(&target, opts)
	}
	report := examineWith(t, target, opts)
	found := expect(t, report, tt.failed, tt.warned, tt.seen)
	if tt.unseen != "" && strings.Contains(found, tt.unseen) {
		t.Errorf("%q is said in\n%s", tt.unseen, report)
	}
	if advice := fmt.Sprint(with(report, doctor.StatusFailed), with(report, doctor.StatusWarning)); !strings.Contains(advice, tt.do) {
		t.Errorf("%q is not advised in\n%s", tt.do, report)
	}
	text, err := json.Marshal(report)
	if err != nil || bytes.Contains(text, []byte(handToken[:10])) || bytes.Contains(text, []byte(redirectState)) {
		t.Errorf("a secret is in the report, or it cannot be written: %v\n%s", err, text)
	}
}

// The wrapper of "Porting without the SDK" as it stands there, translated. What it does not do is
// worth a warning.
func TestCheckPassesTheReferenceWrapper(t *testing.T) {
	t.Parallel()
	detail := func(w http.ResponseWriter, status int, text string) {
		w.Header().Set("Content-Type", js)
		say(w, status, fmt.Sprintf(`{"detail":%q}`, text))
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /dispatch", func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+handToken)) != 1 {
			detail(w, 401, "missing or invalid bearer token")
			return
		}
		var body map[string]any
		text, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal(bytes.TrimSpace(text), &body); err != nil {
			http.Error(w, "Internal Server Error", 500)
			return
		}
		if reflect.DeepEqual(body, map[string]any{"ping": true}) {
			w.Header().Set("Content-Type", js)
			say(w, 200, `{"ok":true}`)
			return
		}
		proxyURL, _ := body["odyssey_proxy_url"].(string)
		if proxyURL = cmp.Or(proxyURL, r.Header.Get("X-Pipelines-Odyssey-Proxy-Url")); proxyURL == "" || r.Header.Get("X-Pipelines-Run-Token") == "" {
			detail(w, 400, "missing proxy URL or run token")
			return
		}
		post(strings.TrimRight(proxyURL, "/")+"/tools/get_order", r.Header.Get("X-Pipelines-Run-Token"))
		w.Header().Set("Content-Type", js)
		say(w, 200, `{"final_response":"(no final response given)"}`)
	})
	opts := quick
	opts.ToolsSchema = []byte(`[{"name":"get_order","description":"Looks an order up.","input_schema":{"type":"object","properties":{"id":{"type":"string","description":"Its id."}}}}]`)
	report := examineWith(t, byHand(mux), &opts)
	expect(t, report, nil, []doctor.Name{"body_limit", "malformed_body"})
	if f := find(t, report, "dispatch"); !strings.Contains(f.Seen, "with 1 tool call") {
		t.Errorf("%+v", f)
	}
}

// An endpoint that ends, is taken away or limits requests after any of them fails one check: the
// others cannot tell anything.
func TestCheckNamesWhatEndsTheEndpoint(t *testing.T) {
	t.Parallel()
	ends := map[string]func(http.ResponseWriter, *http.Request) bool{
		"ends": drop, "is taken away": first(502, html, page), "limits requests": first(429, plain, "Too many requests"),
	}
	for name, end := range ends {
		for most := int64(1); ; most++ {
			var requests atomic.Int64
			handler := hand{first: func(w http.ResponseWriter, r *http.Request) bool { return requests.Add(1) > most && end(w, r) }}
			report := examineWith(t, byHand(handler), &quick)
			if requests.Load() <= most {
				if assertNoWarning(t, report); most < 10 {
					t.Errorf("only %d requests", most)
				}
				break
			}
			failed := with(report, doctor.StatusFailed)
			if len(failed) != 1 || len(with(report, doctor.StatusWarning)) > 0 {
				t.Fatalf("%s after %d requests:\n%s", name, most, report)
			}
			expect(t, report, []doctor.Name{failed[0].Name}, nil)
			limits := strings.Contains(failed[0].Do, "Raise the limit")
			if !strings.Contains(failed[0].Seen, "the next ping is answered ") || limits != (name == "limits requests") {
				t.Errorf("%s after %d requests: %+v", name, most, failed[0])
			}
		}
	}
}

// expect compares the checks that failed and warned, and returns what they say, which must have each part of seen.
func expect(t testing.TB, report *doctor.Report, failed, warned []doctor.Name, seen ...string) (said string) {
	t.Helper()
	var texts []string
	names := func(findings []doctor.Finding) (list []doctor.Name) {
		for _, f := range findings {
			broken.Store(f.Name, true)
			list = append(list, f.Name)
			texts = append(append(texts, f.Seen), f.Details...)
			for _, detail := range f.Details {
				if strings.Contains(f.Seen, detail) {
					t.Errorf("%s says twice: %s", f.Name, detail)
				}
			}
			if f.Do == "" {
				t.Errorf("%s does not say what to do", f.Name)
			}
			if demanded := f.Severity == "demanded"; f.Rule == "" || f.Severity == "" || demanded != (f.Status == doctor.StatusFailed) {
				t.Errorf("%s is %s by the %s rule %q", f.Name, f.Status, f.Severity, f.Rule)
			}
			if needsRequest := f.Name != "proxy" && f.Name != "tools_schema"; (f.Sent == "" || f.Reproduce == "") && needsRequest {
				t.Errorf("%s does not say what was sent, or how to repeat it: %+v", f.Name, f)
			}
		}
		return list
	}
	if got := names(with(report, doctor.StatusFailed)); !slices.Equal(got, failed) {
		t.Errorf("failed: %q, want %q\n%s", got, failed, report)
	}
	if got := names(with(report, doctor.StatusWarning)); !slices.Equal(got, warned) {
		t.Errorf("warned: %q, want %q\n%s", got, warned, report)
	}
	for _, f := range report.Findings {
		if f.Because != "" && (f.Status != doctor.StatusSkipped || !slices.Contains(failed, f.Because)) {
			t.Errorf("%s is %s because of %s", f.Name, f.Status, f.Because)
		}
	}
	said = strings.Join(texts, "\n")
	for _, part := range seen {
		if !strings.Contains(said, part) {
			t.Errorf("%q is not said in\n%s", part, report)
		}
	}
	return said
}
