// Package proxytest is the platform's per-run proxy, in process: for tests and for runs without the platform. It
// enforces the documented contract ("Porting without the SDK", proxy contract) and records what the agent did.
//
//	platform := proxytest.New(proxytest.World{Behaviors: map[string]proxytest.Behavior{
//		"get_order": proxytest.Canned(`{"status":"shipped"}`),
//	}}, nil)
//	run := platform.NewRun()
//	client, err := proxy.New("http://proxy.test"+run.Path, run.Token, &proxy.Options{Transport: platform.Transport()})
//
// A [Platform] is an http.Handler; [Start] and [NewServer] serve it on loopback, and [Platform.Transport] without any
// network. The formats of failures that the platform does not document are this package's own guess; see the comments.
package proxytest

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// World is what the agent meets behind the proxy.
type World struct {
	// Behaviors answers the tools. A tool that is not in it is not declared, and calling it is answered with 404
	// tool_not_executable.
	Behaviors map[string]Behavior
}

// A Behavior answers the calls of one tool. What it returns is written with encoding/json and is the tool's result,
// with the source odyssey. An error means that the simulator found no valid response: the result is {"error": text}
// with the source error. It is called concurrently for parallel calls.
type Behavior func(*Request) (any, error)

// Request is one tool call as a [Behavior] sees it.
type Request struct {
	Tool      string
	Arguments json.RawMessage // a JSON object
	Actor     string          // the sub-agent's label; "" for none
	Number    int             // 1 for the first call of this tool in the run
}

// Decode decodes the arguments into v with encoding/json.
func (r *Request) Decode(v any) error { return json.Unmarshal(r.Arguments, v) }

// Canned answers every call with the same JSON. It panics if that is not JSON.
func Canned(result string) Behavior {
	if !json.Valid([]byte(result)) {
		panic("proxytest.Canned: the result is not JSON")
	}
	return func(*Request) (any, error) { return json.RawMessage(result), nil }
}

// Options configures a [Platform]. The zero value of every field is its default.
type Options struct {
	// RatePerMinute is how many requests of one run token are accepted in any 60 seconds. Default 60; -1 is no limit.
	RatePerMinute int

	// MaxBytes bounds requests and responses. Default 1 MiB.
	MaxBytes int
}

// Platform is the proxy of any number of runs. It is an http.Handler and safe for concurrent use.
type Platform struct {
	world    World
	rate     int
	maxBytes int

	mu   sync.Mutex
	runs map[string]*Run // by token
	last int             // the last run's number
}

// New returns a platform with no runs. The world is copied, its behaviors are not.
func New(world World, opts *Options) *Platform {
	p := &Platform{world: World{Behaviors: make(map[string]Behavior, len(world.Behaviors))}, runs: make(map[string]*Run), rate: 60, maxBytes: 1 << 20}
	for name, b := range world.Behaviors {
		p.world.Behaviors[name] = b
	}
	if opts != nil && opts.RatePerMinute != 0 {
		p.rate = opts.RatePerMinute
	}
	if opts != nil && opts.MaxBytes > 0 {
		p.maxBytes = opts.MaxBytes
	}
	return p
}

// Run is one run's side of the platform: its credentials and what happened in it. It is safe for concurrent use.
type Run struct {
	ID    string // decimal
	Path  string // of the proxy base URL: /api/odyssey-proxy/runs/{id}
	Token string // the run token, a secret as on the platform
	JTI   string // the token's id

	mu       sync.Mutex
	over     string // the error class that the token is refused with; "" while the run lasts
	calls    []Call
	traces   []Trace
	sequence int64       // of the last call or trace event
	times    []time.Time // of the requests accepted in the last minute
	counts   map[string]int
}

// NewRun begins a run with a token of its own.
func (p *Platform) NewRun() *Run {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last++
	id := strconv.Itoa(p.last)
	run := &Run{ID: id, Path: "/api/odyssey-proxy/runs/" + id, Token: "run-" + random(24), JTI: random(16), counts: map[string]int{}}
	p.runs[run.Token] = run
	return run
}

func random(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// End ends the run: from now on its token is refused with 401 and the class, run_token_expired if class is "".
func (r *Run) End(class string) {
	if class == "" {
		class = "run_token_expired"
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = class
}

// ServeHTTP implements http.Handler for POST {base}/tools/{name} and POST {base}/traces/{type}, where base is the path of
// any run; as on the platform it is the token that identifies the run.
func (p *Platform) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	plane, name := splitPath(r.URL.Path)
	if plane == "" {
		fail(w, http.StatusNotFound, "", "no such path: the base URL is followed by /tools/{name} or /traces/{type}")
		return
	}
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		fail(w, http.StatusMethodNotAllowed, "", "use POST")
		return
	}
	run := p.authenticate(r)
	if run == nil {
		fail(w, http.StatusUnauthorized, "run_token_invalid", "the run token is missing or unknown")
		return
	}
	if class, status := run.admit(p.rate, time.Now()); status != 0 {
		fail(w, status, class, "the request is turned down")
		return
	}
	actor := r.Header.Get("X-Pipelines-Actor-Id")
	if values := r.Header.Values("X-Pipelines-Actor-Id"); len(values) > 1 || len(values) == 1 && !validActor(actor) {
		fail(w, http.StatusBadRequest, "actor_id_invalid", "the actor label is malformed")
		return
	}
	body, ok := p.readObject(w, r)
	if !ok {
		return
	}
	if plane == "traces" {
		run.serveTrace(w, name, actor, body)
		return
	}
	p.serveTool(w, run, name, actor, body)
}

// splitPath cuts the last two segments off; the base before them does not matter.
func splitPath(path string) (plane, name string) {
	rest, name, _ := cutLast(path, "/")
	_, plane, _ = cutLast(rest, "/")
	if name == "" || plane != "tools" && plane != "traces" {
		return "", ""
	}
	return plane, name
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return "", s, false
}

// authenticate accepts both documented headers. Two different tokens in one request are refused.
func (p *Platform) authenticate(r *http.Request) *Run {
	token := r.Header.Get("X-Pipelines-Run-Token")
	if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		if token != "" && token != bearer {
			return nil
		}
		token = bearer
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.runs[token]
}

// admit counts the request against the run's limit: a window that slides.
func (r *Run) admit(rate int, now time.Time) (class string, status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over != "" {
		return r.over, http.StatusUnauthorized
	}
	for len(r.times) > 0 && now.Sub(r.times[0]) >= time.Minute {
		r.times = r.times[1:]
	}
	if rate > 0 && len(r.times) >= rate {
		return "rate_limited", http.StatusTooManyRequests
	}
	r.times = append(r.times, now)
	return "", 0
}

// fail writes the error envelope. Its member error_class is documented by ports of agents; message is this package's.
func fail(w http.ResponseWriter, status int, class, message string) {
	detail := map[string]string{"message": message}
	if class != "" {
		detail["error_class"] = class
	}
	writeJSON(w, status, map[string]any{"detail": detail})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("proxytest: %v", err)) // every v is made here of values that have been marshalled before
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
