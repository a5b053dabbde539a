package cassette_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/cassette"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/internal/testkit"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

func newRecorder(t *testing.T, dir string, opts *cassette.RecorderOptions) *cassette.Recorder {
	t.Helper()
	r, err := cassette.NewRecorder(dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() }) // Windows does not remove a folder with an open file
	return r
}

// An agent in production has a recorder for a transport; every run is on a tape of its own, however
// many there are at once.
func TestRecorderKeepsRunsApart(t *testing.T) {
	const runs, calls = 8, 12
	platform := proxytest.NewPlatform(t, proxytest.World{Behaviors: map[string]proxytest.Behavior{
		"echo": func(r *proxytest.Request) (any, error) { return json.RawMessage(r.Arguments), nil },
	}}, nil)
	server := httptest.NewServer(platform)
	defer server.Close()
	dir := t.TempDir()
	recorder := newRecorder(t, dir, nil)
	agent := func(ctx context.Context, run *dispatch.Run) (_ *dispatch.Response, err error) {
		ctx, end, err := recorder.Begin(ctx, cassette.Task{Name: "run-" + run.RunID, Instruction: run.Instruction,
			Input: run.Input})
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, end()) }()
		var wait sync.WaitGroup
		for n := range calls {
			wait.Go(func() {
				mustCall(t, run.Proxy, ctx, "echo", map[string]any{"run": run.RunID, "n": n})
			})
		}
		wait.Wait()
		return &dispatch.Response{FinalResponse: "done"}, nil
	}
	handler, err := dispatch.New(agent, &dispatch.Options{Tokens: []string{"secret"},
		Proxy: &proxy.Options{Transport: recorder}})
	if err != nil {
		t.Fatal(err)
	}
	var ids, tokens []string
	var mu sync.Mutex
	var wait sync.WaitGroup
	for n := range runs {
		wait.Go(func() {
			dispatchtest.Run(t, dispatchtest.Target{Handler: handler, AuthValue: "Bearer secret"}, dispatchtest.Task{
				Instruction: fmt.Sprintf("Task %d", n), Platform: platform, ProxyURL: server.URL,
				OnRun: func(r *proxytest.Run) {
					mu.Lock()
					defer mu.Unlock()
					ids, tokens = append(ids, r.ID), append(tokens, r.Token)
				},
			}).AssertOK(t)
		})
	}
	wait.Wait()
	finish(t, recorder)
	for i, id := range ids {
		path := filepath.Join(dir, "run-"+id+".jsonl")
		tape, err := cassette.Load(path)
		if err != nil || len(tape.Interactions) != calls || !strings.HasPrefix(tape.Task.Instruction, "Task ") {
			t.Fatalf("%v", err)
		}
		text := readFile(t, path)
		if n := strings.Count(text, `"arguments":{"n":`); n != calls ||
			strings.Count(text, fmt.Sprintf(`"run":%q}`, id)) != 2*calls {
			t.Errorf("the tape of run %s has calls of others:\n%s", id, text)
		}
		for _, token := range tokens {
			if strings.Contains(text, token) {
				t.Errorf("a token is on the tape of run %d", i)
			}
		}
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != runs {
		t.Errorf("%d files, %v", len(files), err)
	}
}

// Without Begin the run token alone tells runs apart.
func TestRecorderWithoutBegin(t *testing.T) {
	dir := t.TempDir()
	recorder := newRecorder(t, dir, &cassette.RecorderOptions{
		Transport: proxytest.NewTransport(answering("next", `{"pin":"1234"}`)),
		Redact:    func(_, name string) bool { return name == "pin" },
	})
	probe := clientOf(t, "probe-run-token", recorder)
	if _, err := probe.Do(t.Context(), "__reachability_probe__", nil); err != nil { // belongs to no run, and gets no tape
		t.Error(err)
	}
	for _, token := range []string{"first-run-token", "other-run-token", "first-run-token"} {
		p := clientOf(t, token, recorder)
		if got, err := proxy.Call[json.RawMessage](t.Context(), p, "next", nil); err != nil || string(got) != `{"pin":"1234"}` {
			t.Errorf("%s, %v", got, err)
		}
		mustCall(t, p, t.Context(), "__reachability_probe__", nil)
	}
	for range 2 {
		finish(t, recorder)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil || len(files) != 2 {
		t.Fatalf("%v, %v", files, err)
	}
	total := 0
	for _, file := range files {
		tape := loaded(t, file)
		total += len(tape.Interactions)
		mustContain(t, readFile(t, file), `{"pin":"[redacted]"}`)
	}
	if total != 3 {
		t.Errorf("%d interactions, want 3", total)
	}
	p := clientOf(t, "later-run-token", recorder)
	if _, err := p.Do(t.Context(), "next", nil); err != nil {
		t.Errorf("after Close: %v", err)
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "*")); len(files) != 2 {
		t.Errorf("after Close: %v", files)
	}
}

// Runs whose end nobody tells do not keep files open for ever.
func TestRecorderEndsRunsThatAreSilent(t *testing.T) {
	dir := t.TempDir()
	recorder := newRecorder(t, dir, &cassette.RecorderOptions{Transport: proxytest.NewTransport(answering("next", "1"))})
	for n := range 300 {
		p := clientOf(t, fmt.Sprintf("run-token-%d", n), recorder)
		mustCall(t, p, t.Context(), "next", nil)
	}
	open, err := filepath.Glob(filepath.Join(dir, "*.part"))
	if err != nil || len(open) != 256 {
		t.Errorf("%d files are open, %v", len(open), err)
	}
	for n := 1; n <= 300; n++ {
		if ended, _ := filepath.Glob(filepath.Join(dir, fmt.Sprintf("*-%d.jsonl", n))); (len(ended) == 1) != (n <= 44) {
			t.Errorf("tape %d: %v, want the ends of the first 44 runs", n, ended)
		}
	}
	finish(t, recorder)
	if whole, _ := filepath.Glob(filepath.Join(dir, "*.jsonl")); len(whole) != 300 {
		t.Errorf("%d tapes", len(whole))
	}
}

// A request after the end of a run, or under a context without a run, is not recorded in another run.
func TestRecorderBegin(t *testing.T) {
	dir := t.TempDir()
	recorder := newRecorder(t, dir, &cassette.RecorderOptions{Transport: proxytest.NewTransport(answering("next", "1"))})
	p := clientOf(t, token, recorder)
	for turn := 1; turn <= 2; turn++ {
		ctx, end := begin(t, recorder, cassette.Task{Name: fmt.Sprintf("turn-%d", turn), Instruction: token})
		mustCall(t, p, ctx, "inside", nil)
		mustCall(t, p, t.Context(), "detached", nil)
		if err := end(); err != nil {
			t.Error(err)
		}
		mustCall(t, p, ctx, "late", nil)
	}
	finish(t, recorder)
	for turn := 1; turn <= 2; turn++ {
		text := readFile(t, filepath.Join(dir, fmt.Sprintf("turn-%d.jsonl", turn)))
		mustContain(t, text, `"name":"inside"`, `"name":"detached"`, tail(2), `"instruction":"[redacted]"`)
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "*")); len(files) != 2 {
		t.Errorf("%v", files)
	}

	// A tape that is there already is not replaced, and the run goes on.
	recorder = newRecorder(t, dir, &cassette.RecorderOptions{Transport: proxytest.NewTransport(answering("next", "1"))})
	p = clientOf(t, token, recorder)
	ctx, end := begin(t, recorder, cassette.Task{Name: "turn-1"})
	mustCall(t, p, ctx, "again", nil)
	if err := end(); toolwire.CodeOf(err) != "unwritable" ||
		strings.Contains(readFile(t, filepath.Join(dir, "turn-1.jsonl")), "again") {
		t.Errorf("%v", err)
	}

	for _, task := range []cassette.Task{
		{Name: "../elsewhere"}, {Name: "a/../../elsewhere"}, {Name: "a/b"}, {Name: `a\b`}, {Name: "/a"}, {Name: "a:b"}, {Name: ".hidden"}, {Input: json.RawMessage(`{`)},
	} {
		if _, _, err := recorder.Begin(t.Context(), task); toolwire.CodeOf(err) != toolwire.CodeInvalidOptions {
			t.Errorf("%+v: %v", task, err)
		}
	}
	if _, err := cassette.NewRecorder("", nil); toolwire.CodeOf(err) != toolwire.CodeInvalidOptions {
		t.Errorf("%v", err)
	}
}

// A tape that was put in its place while another run of the same name was waiting for its first
// answer is not replaced.
func TestRecorderReplacesNoTape(t *testing.T) {
	dir := t.TempDir()
	slow, answer := make(chan bool), make(chan bool)
	recorder := newRecorder(t, dir, &cassette.RecorderOptions{
		Transport: proxytest.NewTransport(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/slow") {
				slow <- true
				<-answer
			}
			envelope(w, "next", "1")
		}))})
	start := func(token, tool string) (call func(), end func() error) {
		ctx, end := begin(t, recorder, cassette.Task{Name: "same"})
		p := clientOf(t, token, recorder)
		return func() {
			mustCall(t, p, ctx, tool, nil)
		}, end
	}
	first, endFirst := start("first-run-token", "fast")
	second, endSecond := start("other-run-token", "slow")
	var wait sync.WaitGroup
	wait.Go(second)
	<-slow
	first()
	if err := endFirst(); err != nil {
		t.Error(err)
	}
	close(answer)
	wait.Wait()
	if err := endSecond(); toolwire.CodeOf(err) != "unwritable" ||
		!strings.Contains(err.Error(), "the file exists") {
		t.Errorf("%v", err)
	}
	mustContain(t, readFile(t, filepath.Join(dir, "same.jsonl")), `"name":"fast"`)
	if files, _ := filepath.Glob(filepath.Join(dir, "*")); len(files) != 1 {
		t.Errorf("%v", files)
	}
}

// What is sent under a run's context with another run token is recorded, too, as the run that it
// belongs to.
func TestRecorderKeepsOtherTokensApart(t *testing.T) {
	dir := t.TempDir()
	recorder := newRecorder(t, dir, &cassette.RecorderOptions{Transport: proxytest.NewTransport(answering("next", "1"))})
	input := json.RawMessage(`{"a":1}`)
	ctx, end := begin(t, recorder, cassette.Task{Name: "mine", Input: input})
	input[5] = '2' // the task is copied
	for n, token := range []string{"first-run-token", "other-run-token", "first-run-token"} {
		p := clientOf(t, token, recorder)
		mustCall(t, p, ctx, fmt.Sprintf("call-%d", n), nil)
	}
	if err := errors.Join(end(), recorder.Close()); err != nil {
		t.Error(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil || len(files) != 2 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		if filepath.Base(file) == "mine.jsonl" {
			mustContain(t, readFile(t, file), "call-0", "call-2", tail(2), `"input":{"a":1}`)
		} else {
			mustContain(t, readFile(t, file), "call-1", tail(1))
		}
	}
}

// What a run sends before it is announced is on a tape that ends then.
func TestRecorderBeforeBegin(t *testing.T) {
	dir := t.TempDir()
	recorder := newRecorder(t, dir, &cassette.RecorderOptions{Transport: proxytest.NewTransport(answering("next", "1"))})
	p := clientOf(t, token, recorder)
	mustCall(t, p, t.Context(), "early", nil)
	ctx, end := begin(t, recorder, cassette.Task{Name: "mine"})
	mustCall(t, p, ctx, "next", nil)
	if whole, _ := filepath.Glob(filepath.Join(dir, "2*.jsonl")); len(whole) != 1 ||
		!strings.Contains(readFile(t, whole[0]), `"early"`) {
		t.Errorf("%v", whole)
	}
	if err := errors.Join(end(), recorder.Close()); err != nil {
		t.Error(err)
	}
	mustContain(t, readFile(t, filepath.Join(dir, "mine.jsonl")), `"name":"next"`, tail(1))
}

// A folder that cannot be written does not fill the memory with errors.
func TestRecorderErrorsAreBounded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "")
	recorder := newRecorder(t, file, &cassette.RecorderOptions{Transport: proxytest.NewTransport(answering("next", "1"))})
	for n := range 400 {
		post(t, transportHandler(recorder), "/tools/next", `{}`, fmt.Sprintf("run-token-%d", n))
	}
	err := recorder.Close()
	if toolwire.CodeOf(err) != "unwritable" || strings.Count(err.Error(), "\n") != 99 {
		t.Errorf("%v", err)
	}
}

// transportHandler sends through a transport what it is asked.
func transportHandler(transport http.RoundTripper) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		resp, err := transport.RoundTrip(r)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		defer func() { _ = resp.Body.Close() }()
		w.WriteHeader(resp.StatusCode)
		_, _ = io.Copy(w, resp.Body)
	})
}

// The network's own errors come back, and a run without calls leaves no tape.
func TestRecorderIsTransparent(t *testing.T) {
	dir := t.TempDir()
	broken := errors.New("broken")
	recorder := newRecorder(t, dir, &cassette.RecorderOptions{
		Transport: testkit.RoundTrip(func(*http.Request) (*http.Response, error) {
			return nil, &net.OpError{Op: "read", Err: broken}
		})})
	_, end, err := recorder.Begin(t.Context(), cassette.Task{Name: "silent"})
	if err != nil {
		t.Fatal(err)
	}
	if err := end(); err != nil {
		t.Error(err)
	}
	p := clientOf(t, token, recorder)
	if _, err := p.Do(t.Context(), "next", nil); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	finish(t, recorder)
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	mustContain(t, readFile(t, files[0]), `"broken":"reset"`)
}
