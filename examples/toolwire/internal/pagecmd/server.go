package pagecmd

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/examples/toolwire/internal/commandline"
	"github.com/toolwire/toolwire/internal/publicaddr"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/runhtml"
	"github.com/toolwire/toolwire/internal/text"
	"github.com/toolwire/toolwire/internal/timeline"
	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/proxy/proxytest"
	"github.com/toolwire/toolwire/schema"
)

//go:embed static
var static embed.FS

//go:embed templates
var templateFiles embed.FS

var templates = template.Must(runhtml.Templates().Funcs(template.FuncMap{
	"seconds": func(d time.Duration) string { return fmt.Sprintf("%d s", int(d.Seconds())) },
	"when":    func(t time.Time) string { return t.Local().Format("2 Jan 2006, 15:04:05 MST") },
	"date":    func(t time.Time) string { return t.Format(time.RFC3339) },
	"symbol": func(status string) string {
		return map[string]string{inProgress: "◔", completed: "✓", failed: "✕"}[status]
	},
	"class": func(status string) string { return strings.ReplaceAll(status, " ", "-") },
	"join":  strings.Join,
}).ParseFS(templateFiles, "templates/*.html"))

// server serves the pages, the proxy and the sample agent.
type server struct {
	base     string // its URL
	token    string // in every form of its pages
	tools    []shownTool
	insecure bool // others may reach it
	rules    []proxytest.FailureRule
	schema   *ledger.Schema // of the world
	runs     *runs
	sample   *sample // nil in a world that is not its own
	agent    commandline.Agent
}

func newServer(base string, o options) (*server, error) {
	platform, err := proxytest.New(o.world, nil)
	if err != nil {
		return nil, err
	}
	s := &server{
		base: base, token: rand.Text(), tools: showTools(platform.Tools(), o.world.Tools), insecure: o.insecure, agent: o.agent,
		rules: o.world.FailureRules, schema: o.world.LedgerSchema,
	}
	if o.sample {
		if s.sample, err = newSample(rand.Text()); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.runs = &runs{
		ctx: ctx, cancel: cancel, base: base, platform: platform, state: o.world.InitialState, keep: o.keep, folder: o.folder, problem: o.problem,
		bounds: bounds{requests: 2000, bytes: 64 << 20, kept: 512 << 20},
	}
	if o.folder != "" {
		err = s.runs.load()
	}
	return s, err
}

// handler returns the handler of all paths.
func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.list)
	mux.HandleFunc("GET /dispatch", s.showForm)
	mux.HandleFunc("POST /dispatch", s.dispatch) // not /runs: a form with a mistake keeps its address
	mux.HandleFunc("GET /runs/{id}", s.ofRun(s.show))
	mux.HandleFunc("GET /runs/{id}/run.json", s.ofRun(s.save))
	mux.HandleFunc("GET /runs/{id}/text/{key}", s.ofRun(s.whole))
	files, _ := static.ReadDir("static") // embedded
	for _, file := range files {
		mux.Handle("GET /static/"+file.Name(), http.FileServerFS(static))
	}
	mux.HandleFunc("GET /static/run.css", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/css; charset=utf-8")
		_, _ = io.WriteString(w, runhtml.Style)
	})
	mux.HandleFunc("/api/odyssey-proxy/runs/{id}/", s.proxy)
	mux.HandleFunc("/api/odyssey-proxy/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, r, http.StatusUnauthorized, "run_token_invalid", "the proxy of a run is at the URL that its dispatch names")
	})
	if s.sample != nil {
		mux.HandleFunc("POST /runs/sample", s.dispatchSample)
		mux.Handle("/sample/dispatch", s.sample.handler)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		s.message(w, http.StatusNotFound, "There is no such page",
			"The page drops the oldest runs, and without -runs all of them when it stops.")
	})
	guarded := http.NewCrossOriginProtection()
	guarded.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		s.message(w, http.StatusForbidden, "Refused", "The request came from another site. Use the form on this page.")
	}))
	return s.secure(guarded.Handler(mux))
}

// secure sets the security headers of every response. It refuses requests for other host names.
func (s *server) secure(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy",
			"default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "+
				"form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin") // with no-referrer the forms of this page have the origin null
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if !s.knows(commandline.HostName(r)) {
			s.message(w, http.StatusForbidden, "Refused", "This server does not serve this host name. Use its address: "+
				s.base+"/")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// knows reports whether a host is this server by an address, or localhost.
func (s *server) knows(host string) bool {
	_, err := netip.ParseAddr(host)
	return publicaddr.Loopback(host) || s.insecure && err == nil
}

func (s *server) list(w http.ResponseWriter, r *http.Request) {
	query, status := r.URL.Query().Get("q"), r.URL.Query().Get("status")
	var agents []agentRuns
	all, busy := s.runs.all(), 0
	for _, run := range all {
		shown := run.summary()
		if shown.Status == inProgress {
			busy++
		}
		if shown.matches(query, status) {
			agents = addRun(agents, shown)
		}
	}
	s.render(w, http.StatusOK, "list.html", struct {
		Agents        []agentRuns
		All           int
		Query, Status string
		Statuses      []string
		Busy          int
		Keep          int
		Folder        string
		Sample        bool
		PageToken     string
	}{agents, len(all), query, status, []string{inProgress, completed, failed}, busy, s.runs.keep, s.runs.folder, s.sample != nil, s.token})
}

// agentRuns has the runs of an agent, the latest first.
type agentRuns struct {
	summary // of the latest
	Runs    []summary
	Failed  int
}

// addRun adds a run that is earlier than all others.
func addRun(agents []agentRuns, run summary) []agentRuns {
	i := slices.IndexFunc(agents, func(a agentRuns) bool { return a.Agent == run.Agent })
	if i < 0 {
		i, agents = len(agents), append(agents, agentRuns{summary: run})
	}
	agents[i].Runs = append(agents[i].Runs, run)
	if run.Failure != nil {
		agents[i].Failed++
	}
	return agents
}

func (s *server) showForm(w http.ResponseWriter, r *http.Request) {
	f := formOfAgent(&s.agent)
	all := s.runs.all()
	last := slices.IndexFunc(all, func(r *record) bool { return !r.task.Sample })
	if f.Program+f.URL == "" && last >= 0 { // the address is typed once
		f.URL, f.AuthHeader = all[last].task.URL, cmp.Or(all[last].task.AuthHeader, f.AuthHeader)
	}
	program := f.Program
	if again := s.find(r.URL.Query().Get("again")); again != nil {
		*f = again.task.form
	}
	more, ok := s.session(w, r.URL.Query().Get("more"))
	if !ok {
		return
	}
	if more != nil {
		*f = more.goOn()
	}
	f.Program = program
	s.form(w, http.StatusOK, f)
}

// shownTool is a tool of the world.
type shownTool struct {
	Name, Description string
	Names             string        // of its arguments; "" if the schema names none
	Arguments         timeline.Text // the schema
}

// showTools returns the tools with these names. Tools that are only behaviors have no declaration.
func showTools(names []string, declared []schema.Tool) (list []shownTool) {
	texts := &runhtml.Texts{}
	for _, name := range names {
		shown := shownTool{Name: texts.Line(name)}
		if i := slices.IndexFunc(declared, func(t schema.Tool) bool { return t.Name == name }); i >= 0 {
			shown.Description = texts.Line(declared[i].Description)
			shown.Arguments = texts.JSON("arguments-"+name, declared[i].InputSchema)
			var names []string
			for name := range rawjson.Members(rawjson.Member(declared[i].InputSchema, "properties")) {
				names = append(names, name)
			}
			shown.Names = texts.Line(strings.Join(names, ", "))
		}
		list = append(list, shown)
	}
	return list
}

// maxState is how many bytes of the state of the world the form has. A longer one cannot be edited.
const maxState = 256 << 10

func (s *server) form(w http.ResponseWriter, status int, f *form) {
	if len(s.runs.state) <= maxState {
		var state bytes.Buffer
		_ = json.Indent(&state, []byte(s.runs.state), "", "  ") // New has read it
		f.State = cmp.Or(strings.TrimSpace(f.State), state.String())
		f.ownState = f.More == 0 && f.State != state.String()
	}
	s.render(w, status, "form.html", struct {
		*form
		Tools     []shownTool
		Token     bool
		PageToken string
	}{f, s.tools, s.agent.AuthValue != "", s.token})
}

func (s *server) dispatch(w http.ResponseWriter, r *http.Request) {
	if !s.parse(w, r) {
		return
	}
	begin := *formOfAgent(&s.agent)
	more, ok := s.session(w, r.PostForm.Get("more"))
	if !ok {
		return
	}
	if more != nil {
		begin = more.goOn()
	}
	task := read(r, begin, &s.agent)
	f := &task.form
	if more != nil {
		page := more.view()
		task.earlier, task.flags = page.turns, page.end.Flags
		if n := len(task.earlier) + len(task.turns) + 1; n > maxTurns {
			f.wrong("instruction", "A session has at most %d turns; this would be turn %d.", maxTurns, n)
		}
	}
	if _, err := ledger.NewState(json.RawMessage(f.State), s.schema); err != nil {
		var texts []string
		if e, ok := errors.AsType[*toolwire.Error](err); ok {
			for _, p := range e.Problems[:min(len(e.Problems), 5)] {
				texts = append(texts, strings.TrimSpace(p.Pointer+" "+p.Message))
			}
		}
		f.wrong("state", "This cannot be the state of the world: %s.", strings.Join(texts, "; "))
	}
	if len(f.Problems) > 0 {
		s.form(w, http.StatusUnprocessableEntity, f)
		return
	}
	run, err := s.runs.start(task, s.rules)
	if err != nil {
		f.Problems = append(f.Problems, fieldProblem{"submit", "Dispatch", sentence(err)})
		s.form(w, http.StatusServiceUnavailable, f)
		return
	}
	http.Redirect(w, r, "/runs/"+strconv.Itoa(run.id), http.StatusSeeOther)
}

func (s *server) dispatchSample(w http.ResponseWriter, r *http.Request) {
	if !s.parse(w, r) {
		return
	}
	run, err := s.runs.start(s.sample.task(s.base), sampleRules())
	if err != nil {
		s.message(w, http.StatusServiceUnavailable, "Not now", sentence(err))
		return
	}
	http.Redirect(w, r, "/runs/"+strconv.Itoa(run.id), http.StatusSeeOther)
}

// parse reads the form. If it returns false, it has answered the request.
func (s *server) parse(w http.ResponseWriter, r *http.Request) bool {
	body := r.Body
	r.Body = http.MaxBytesReader(w, body, maxForm)
	err := r.ParseForm()
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		_, _ = io.CopyN(io.Discard, body, 16*maxForm) // otherwise the connection breaks before the answer arrives
		s.message(w, http.StatusRequestEntityTooLarge, "Too large",
			"A task has at most 1 MiB. Go back, and shorten the input or the instruction.")
		return false
	}
	if err != nil || !strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		s.message(w, http.StatusBadRequest, "Unreadable", "The request is not one of the form of this page.")
		return false
	}
	if subtle.ConstantTimeCompare([]byte(r.PostForm.Get("page_token")), []byte(s.token)) != 1 {
		s.message(w, http.StatusForbidden, "Refused",
			"The form is of another page, or was served before toolwire page started again. Load the page again.")
		return false
	}
	return true
}

func (s *server) find(id string) *record {
	n, err := strconv.Atoi(id)
	if err != nil {
		return nil
	}
	return s.runs.get(n)
}

// session returns the run whose session goes on, or nil for the id "". If ok is false, no session can go on from the
// run, and the request is answered.
func (s *server) session(w http.ResponseWriter, id string) (run *record, ok bool) {
	if run = s.find(id); id == "" || run != nil && run.summary().Status == completed {
		return run, true
	}
	s.message(w, http.StatusConflict, "The session cannot go on",
		"A session goes on after a run that has completed, while the page keeps that run. Nothing was dispatched.")
	return nil, false
}

// ofRun returns the handler of a path of a run.
func (s *server) ofRun(serve func(http.ResponseWriter, *http.Request, *record)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if run := s.find(r.PathValue("id")); run != nil {
			serve(w, r, run)
			return
		}
		s.message(w, http.StatusNotFound, "There is no such run", fmt.Sprintf("The page keeps the last %s while it is served, "+
			"fewer if they are large; the flag -keep says how many.", text.Plural(s.runs.keep, "run")))
	}
}

func (s *server) show(w http.ResponseWriter, _ *http.Request, run *record) {
	page := run.view()
	page.PageToken = s.token
	own := formOfAgent(&s.agent)
	switch known := run.task.URL == own.URL && strings.EqualFold(page.Auth, own.AuthHeader) && s.agent.AuthValue != ""; {
	case page.Sample && s.sample != nil:
		page.Again = "sample"
	case page.Sample:
	case run.task.Program != "" && own.Program == "": // this page cannot start the program
		page.Again = "form"
	case page.Status == completed && (page.Auth == "" || known):
		page.Again, page.GoesOn = "form", "here"
	case page.Status == completed:
		page.Again, page.GoesOn = "form", "form"
	default:
		page.Again = "form"
	}
	s.render(w, http.StatusOK, "run.html", page)
}

// whole serves a text that is cut on the page of the run, without secrets.
func (s *server) whole(w http.ResponseWriter, r *http.Request, run *record) {
	text, ok := run.view().whole[r.PathValue("key")]
	if !ok {
		s.message(w, http.StatusNotFound, "There is no such text",
			"The page of the run shows all of its text of this name, or the run has none.")
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; sandbox")
	_, _ = io.WriteString(w, text)
}

// save serves the file of a run.
func (s *server) save(w http.ResponseWriter, _ *http.Request, run *record) {
	page := run.view()
	if !page.Saved() {
		s.message(w, http.StatusNotFound, "The run is in progress", "It can be saved when it is over.")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=run-%d.json", page.ID))
	_ = page.writeTo(w) // the reader has gone
}

func (s *server) proxy(w http.ResponseWriter, r *http.Request) {
	run := s.runs.find(func(run *record) bool { return run.runID == r.PathValue("id") })
	if run == nil {
		refuse(w, r, http.StatusUnauthorized, "run_token_invalid", "there is no such run, or not any more")
		return
	}
	run.serveProxy(w, r)
}

// message renders a page with one message.
func (s *server) message(w http.ResponseWriter, status int, title, text string) {
	s.render(w, status, "message.html", struct{ Title, Text string }{title, text})
}

func (s *server) render(w http.ResponseWriter, status int, name string, data any) {
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, name, data); err != nil {
		http.Error(w, "the page cannot be shown: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes())
}

func sentence(err error) string {
	text := err.Error()
	return strings.ToUpper(text[:1]) + text[1:] + "."
}
