package cassette_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/dispatch/cassette"
	"github.com/toolwire/toolwire/internal/testkit"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// What the agent sends and gets is what it would send and get without a cassette, in all three
// forms.
func TestForwardingChangesNothing(t *testing.T) {
	const body = "{\n \"tool_name\" : \"get_order\", \"response\":{\"b\":1.50,\"a\":\"\\u003c\"}, \"source\":\"odyssey\",\"latency_ms\":1}\n"
	const arguments = "{ \"order_id\" : \"4521\" }"
	var got *http.Request
	var sent string
	behind := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		got, sent = r, string(text)
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.Header()["X-Request-Id"] = []string{"a", "b"}
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, body)
	})
	url := serveHTTP(t, behind)
	forms := map[string]func(c *cassette.Cassette) (http.RoundTripper, string){
		"handler": func(c *cassette.Cassette) (http.RoundTripper, string) {
			return http.DefaultTransport, serveHTTP(t, c) + "/any/base"
		},
		"wrap": func(c *cassette.Cassette) (http.RoundTripper, string) {
			return proxytest.NewTransport(c.Wrap(behind)), "http://proxy.test/api/runs/abc"
		},
		"transport": func(c *cassette.Cassette) (http.RoundTripper, string) {
			return c.Transport(nil), url + "/api/runs/abc"
		},
	}
	for name, form := range forms {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "run.jsonl")
			c := newCassette(t, path, &cassette.Options{Mode: cassette.Record, Upstream: url + "/api/runs/abc/"})
			transport, base := form(c)
			r := request(t, http.MethodPost, base+"/tools/get_order?x=1", strings.NewReader(arguments))
			r.Header.Set("X-Pipelines-Actor-Id", "supervisor")
			resp, err := transport.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if err != nil || string(text) != body || resp.StatusCode != http.StatusAccepted ||
				len(resp.Header["X-Request-Id"]) != 2 ||
				resp.Header.Get("Content-Type") != "application/json; charset=utf-8" {
				t.Errorf("%v %v %v %q", err, resp.Status, resp.Header, text)
			}
			if sent != arguments || got.URL.Path != "/api/runs/abc/tools/get_order" || got.URL.RawQuery != "x=1" ||
				got.Header.Get("Authorization") != "Bearer "+token ||
				got.Header.Get("X-Pipelines-Actor-Id") != "supervisor" {
				t.Errorf("the proxy got %s %v %q", got.URL, got.Header, sent)
			}
			if encoding := got.Header.Get("Accept-Encoding"); name != "transport" && encoding != "identity" {
				t.Errorf("the proxy may answer in %s", encoding)
			}
			finish(t, c)
			mustContain(t, readFile(t, path), `"name":"get_order?x=1"`, `"arguments":{"order_id":"4521"}`,
				`"status":202`,
				`"answer":{"tool_name":"get_order","response":{"b":1.50,"a":"\u003c"},"source":"odyssey","latency_ms":1}`,
				`"content_type":"application/json; charset=utf-8"`, `"actor":"supervisor"`)
			if text := readFile(t, path); strings.Contains(text, "run-token") ||
				strings.Contains(text, "X-Request-Id") {
				t.Errorf("too much in\n%s", text)
			}
		})
	}
}

// A call is on disk before the agent has its answer, and the tape that is replaced stays until the
// new one is whole.
func TestRecordingSurvivesItsProcess(t *testing.T) {
	path := tape(t, head, tail(0))
	old := readFile(t, path)
	c := newCassette(t, path, &cassette.Options{Mode: cassette.Record})
	other := newCassette(t, path, &cassette.Options{Mode: cassette.Record})
	p := client(t, c.Wrap(answering("next", "1")), nil)
	for n := 1; n <= 3; n++ {
		mustCall(t, p, t.Context(), "next", map[string]int{"n": n})
		part, err := cassette.Load(path + ".part")
		if toolwire.CodeOf(err) != "truncated_tape" || len(part.Interactions) != n {
			t.Fatalf("after %d calls: %v", n, err)
		}
		if readFile(t, path) != old {
			t.Fatal("the tape was replaced before it was whole")
		}
	}
	newCassette(t, path, nil) // the old tape can be replayed
	// Somebody else cannot record on the same tape meanwhile, and is told before the run if that
	// can be known.
	if _, err := cassette.New(path,
		&cassette.Options{Mode: cassette.Record}); toolwire.CodeOf(err) != "unwritable" ||
		!strings.Contains(err.Error(), "wait for the recording that writes it") {
		t.Errorf("%v", err)
	}
	if err := other.Close(); toolwire.CodeOf(err) != "unwritable" ||
		!strings.Contains(err.Error(), "wait for the recording that writes it") {
		t.Errorf("%v", err)
	}
	for range 2 {
		finish(t, c)
	}
	whole, err := cassette.Load(path)
	if err != nil || len(whole.Interactions) != 3 {
		t.Errorf("%v", err)
	}
	testkit.OwnerOnly(t, path)
	if _, err := os.Stat(path + ".part"); !errors.Is(err, os.ErrNotExist) {
		t.Error("the part is still there")
	}
	if _, err := p.Do(t.Context(), "next", nil); err != nil {
		t.Errorf("after Close: %v", err)
	}
	wantKinds(t, c.Report(), "failed")
}

// Open records only when it is told to, and says that it has.
func TestOpenRecords(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.jsonl")
	for n, mode := range []cassette.Mode{cassette.Record, cassette.ReplayOrForward, cassette.ReplayOrForward,
		cassette.Replay} {
		f := &failing{TB: t}
		c := cassette.Open(f, path, &cassette.Options{Mode: mode})
		behind := c.Wrap(answering("next", "1"))
		for i := range min(n, 1) + 1 {
			if got := post(t, behind, "/tools/next", fmt.Sprintf(`{"i":%d}`, i), token); got.status != 200 {
				t.Errorf("%s: %+v", mode, got)
			}
		}
		for _, end := range f.cleanup {
			end()
		}
		want := []string{"cassette: recorded 1 interaction on " + path, "cassette: recorded 1 interaction on " + path,
			"", ""}[n]
		if log := strings.Join(f.logs, ""); len(f.errors) != 0 || log != want {
			t.Errorf("%s: errors %q, log %q", mode, f.errors, log)
		}
	}
}

// A cassette that nothing came through has most likely been forgotten on the way.
func TestOpenSaysThatNothingWasRecorded(t *testing.T) {
	f := &failing{TB: t}
	cassette.Open(f, filepath.Join(t.TempDir(), "run.jsonl"), &cassette.Options{Mode: cassette.Record})
	for _, end := range f.cleanup {
		end()
	}
	if len(f.errors) != 0 || len(f.logs) != 1 || !strings.Contains(f.logs[0], "no call came through the cassette") {
		t.Errorf("errors %q, log %q", f.errors, f.logs)
	}
}

// What cannot be put in its place stays where it was written.
func TestTapeThatCannotBeReplaced(t *testing.T) {
	c, path := recording(t)
	post(t, c.Wrap(answering("next", "1")), "/tools/next",
		`{}`, token)
	if err := os.MkdirAll(filepath.Join(path, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); toolwire.CodeOf(err) != "unwritable" ||
		!strings.Contains(err.Error(), "put in its place") {
		t.Errorf("%v", err)
	}
	if tape, err := cassette.Load(path + ".part"); err != nil || len(tape.Interactions) != 1 {
		t.Errorf("%v", err)
	}
}

// Headers that are about one connection are not passed on.
func TestConnectionHeaders(t *testing.T) {
	var got http.Header
	var host string
	url := serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got, host = r.Header, r.Host
		w.Header().Set("Connection", "X-Hop")
		w.Header().Set("X-Hop", "1")
		w.Header().Set("X-End", "1")
	}))
	c := newCassette(t, filepath.Join(t.TempDir(), "run.jsonl"),
		&cassette.Options{Mode: cassette.Record, Upstream: url})
	r := request(t, http.MethodPost, "http://proxy.test/tools/get", strings.NewReader("{}"))
	for name, value := range map[string]string{
		"Authorization": "Bearer " + token, "Connection": "X-Mine, close", "X-Mine": "1",
		"Proxy-Authorization": "Basic eA==", "X-Other": "1",
	} {
		r.Header.Set(name, value)
	}
	resp, err := proxytest.NewTransport(c).RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if got.Get("X-Mine") != "" || got.Get("Proxy-Authorization") != "" || got.Get("X-Other") != "1" ||
		got.Get("Authorization") == "" {
		t.Errorf("the proxy got %v", got)
	}
	if host != strings.TrimPrefix(url, "http://") {
		t.Errorf("the proxy was called %s", host)
	}
	if resp.Header.Get("X-Hop") != "" || resp.Header.Get("X-End") != "1" {
		t.Errorf("the agent got %v", resp.Header)
	}
	finish(t, c)
}

func TestRunWithoutCalls(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "run.jsonl")
	c := newCassette(t, path, &cassette.Options{Mode: cassette.Record})
	finish(t, c)
	if tape, err := cassette.Load(path); err != nil || len(tape.Interactions) != 0 {
		t.Error(err)
	}
}

// The header contains the task as it was given, whatever becomes of it later.
func TestTaskIsCopied(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "run.jsonl")
	task := cassette.Task{Name: "begun", Input: json.RawMessage(`{"a":1}`), Tools: []string{"next"}}
	c := newCassette(t, path, &cassette.Options{Mode: cassette.Record, Task: task})
	r, err := cassette.NewRecorder(dir, &cassette.RecorderOptions{
		Transport: proxytest.NewTransport(answering("next", "1")),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := begin(t, r, task)
	task.Input[5], task.Tools[0] = '2', "other"
	mustCall(t, client(t, nil, &proxy.Options{Transport: r}), ctx, "next", nil)
	if err := errors.Join(c.Close(), end()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"run", "begun"} {
		tape := loaded(t, filepath.Join(dir, name+".jsonl"))
		if h := tape.Task; string(h.Input) != `{"a":1}` || h.Tools[0] != "next" {
			t.Errorf("%s: %s %v", name, h.Input, h.Tools)
		}
	}
}

// A disk that is full, or a folder that is none, does not disturb the run.
func TestUnwritableTape(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "")
	c := newCassette(t, filepath.Join(file, "run.jsonl"), &cassette.Options{Mode: cassette.Record})
	p := client(t, c.Wrap(answering("next", "1")), nil)
	for range 2 {
		mustCall(t, p, t.Context(), "next", nil)
	}
	for range 2 {
		if err := c.Close(); toolwire.CodeOf(err) != "unwritable" {
			t.Errorf("%v", err)
		}
	}
}

func TestUpstreamDown(t *testing.T) {
	const url = "http://127.0.0.1:1" // the port is never given to a listener
	secure := httptest.NewUnstartedServer(nil)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	for name, upstream := range map[string]string{"down": url, "none": "", "untrusted": secure.URL} {
		path := filepath.Join(t.TempDir(), "run.jsonl")
		c := newCassette(t, path, &cassette.Options{Mode: cassette.Record, Upstream: upstream})
		_, err := client(t, c, nil).Do(t.Context(), "get_order", nil)
		if e, ok := errors.AsType[*proxy.Error](err); !ok || e.Status != http.StatusBadGateway || e.Class != "cassette_unreachable" ||
			e.Attempts != 1 {
			t.Errorf("%s: %v", name, err)
		}
		wantKinds(t, c.Report(), "failed")
		down := "connection refused"
		if runtime.GOOS == "windows" {
			down = "actively refused"
		}
		mustContain(t, c.Report().String(), map[string]string{"down": down,
			"none":      "set Options.Upstream",
			"untrusted": "TLS certificate is not trusted"}[name])
		finish(t, c)
		if text := readFile(t, path); !strings.Contains(text, tail(0)) {
			t.Errorf("what was not sent is on the tape:\n%s", text)
		}
	}
	// As a transport it says what the network says, so that the client may repeat the call.
	c, _ := recording(t)
	p, err := proxy.New(url, token, &proxy.Options{Transport: c.Transport(nil), MaxAttempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	var e *proxy.Error
	if _, err := p.Do(t.Context(), "get_order", nil); !errors.As(err, &e) || e.Code != toolwire.CodeTransport ||
		e.Delivery != proxy.NotSent {
		t.Errorf("%v", err)
	}
	synctest.Test(t, func(t *testing.T) {
		c, _ := recording(t)
		refused := &net.OpError{Op: "dial", Err: errors.New("refused")}
		p := client(t, nil, &proxy.Options{Transport: c.Transport(testkit.RoundTrip(func(*http.Request) (*http.Response, error) {
			return nil, refused
		}))})
		_, err := p.Do(t.Context(), "get_order", nil)
		if e, ok := errors.AsType[*proxy.Error](err); !ok || e.Delivery != proxy.NotSent || e.Attempts != 4 || !errors.Is(err, refused) {
			t.Errorf("%v", err)
		}
	})
}

// What an agent gave up waiting for is on the tape, and need not be asked for again.
func TestSlowUpstream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := record(t, nil, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-r.Context().Done():
			case <-time.After(time.Hour):
			}
		}), func(p *proxy.Client) {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			if _, err := p.Do(ctx, "get_order", nil); toolwire.CodeOf(err) != toolwire.CodeDeadline {
				t.Errorf("%v", err)
			}
			synctest.Wait()
		})
		mustContain(t, readFile(t, path), `"broken":"abandoned"`, `"latency_ms":20000`)
		c := newCassette(t, path, nil)
		if r := c.Report(); !r.OK() {
			t.Errorf("%s", r)
		}
		if _, err := client(t, c, nil).Do(t.Context(), "get_order", nil); toolwire.CodeOf(err) != toolwire.CodeTransport {
			t.Errorf("%v", err)
		}
	})
}

// An agent that gives up in the middle of an answer has given up, too.
func TestGivingUpInTheMiddleOfAnAnswer(t *testing.T) {
	c, path := recording(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	half := testkit.RoundTrip(func(r *http.Request) (*http.Response, error) {
		body := io.MultiReader(strings.NewReader(`{"tool_`),
			reader(func([]byte) (int, error) { cancel(); return 0, r.Context().Err() }))
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(body), Request: r}, nil
	})
	p := client(t, nil, &proxy.Options{Transport: c.Transport(half)})
	if _, err := p.Do(ctx, "get_order", nil); toolwire.CodeOf(err) != toolwire.CodeCanceled {
		t.Errorf("%v", err)
	}
	finish(t, c)
	mustContain(t, readFile(t, path), `"broken":"abandoned"`)
	if r := newCassette(t, path, nil).Report(); !r.OK() {
		t.Errorf("%s", r)
	}
}

type reader func([]byte) (int, error)

func (f reader) Read(p []byte) (int, error) { return f(p) }

type closer func() error

func (f closer) Close() error { return f() }

// Answers that are damaged reach the agent as they are, and again when they are replayed.
func TestDamagedAnswers(t *testing.T) {
	big := `{"tool_name":"get_order","response":"` + strings.Repeat("x", 3<<20) + `","source":"odyssey","latency_ms":1}`
	tests := map[string]struct {
		answer http.HandlerFunc
		want   toolwire.Code
		line   string
	}{
		"reset": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, toolwire.CodeTransport,
			`"broken":"reset"`},
		"truncate": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"tool_name":`)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, toolwire.CodeTransport, `"broken":"truncate"`},
		"oversize": {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, big) },
			toolwire.CodeResponseTooLarge, `"broken":"oversize"`},
		"html": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(502)
			_, _ = io.WriteString(w, "<h1>Bad gateway</h1>")
		}, toolwire.CodeServerError, `"answer_text":"<h1>Bad gateway</h1>"`},
		"binary": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte{0xff, 0xfe}) },
			toolwire.CodeBadResponse, `"answer_base64":"//4="`},
		"twice": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"response":1,"response":2}`)
		}, toolwire.CodeBadResponse, `"answer_text":"{\"response\":1,\"response\":2}"`},
	}
	for name, test := range tests {
		url := serveHTTP(t, test.answer)
		for _, form := range []string{"handler", "transport", "wrap"} {
			path := filepath.Join(t.TempDir(), "run.jsonl")
			c := newCassette(t, path, &cassette.Options{Mode: cassette.Record, Upstream: url})
			base, opts := serveHTTP(t, c), &proxy.Options{}
			switch form {
			case "transport":
				base, opts.Transport = url, c.Transport(nil)
			case "wrap":
				opts.Transport = proxytest.NewTransport(c.Wrap(test.answer))
			}
			p, err := proxy.New(base, token, opts)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := p.Do(t.Context(), "get_order", nil); toolwire.CodeOf(err) != test.want {
				t.Errorf("%s as %s: %v, want %s", name, form, err, test.want)
			}
			finish(t, c)
			mustContain(t, readFile(t, path), test.line)
			if _, err := client(t, newCassette(t, path, nil), nil).Do(t.Context(), "get_order", nil); toolwire.CodeOf(err) != test.want {
				t.Errorf("%s as %s, replayed: %v, want %s", name, form, err, test.want)
			}
		}
		// A client with another limit gets all of it.
		if name == "oversize" {
			c := newCassette(t, filepath.Join(t.TempDir(), "run.jsonl"),
				&cassette.Options{Mode: cassette.Record, Upstream: url})
			closed := false
			closing := testkit.RoundTrip(func(r *http.Request) (*http.Response, error) {
				body := struct {
					io.Reader
					closer
				}{strings.NewReader(big), func() error { closed = true; return nil }}
				return &http.Response{StatusCode: 200, Header: http.Header{}, Body: body, Request: r}, nil
			})
			for _, transport := range []http.RoundTripper{c.Transport(nil), c.Transport(closing), proxytest.NewTransport(c),
				proxytest.NewTransport(c.Wrap(test.answer))} {
				r := request(t, http.MethodPost, url+"/tools/get_order", strings.NewReader("{}"))
				if got := send(t, transport, r).body; got != big {
					t.Errorf("%d bytes", len(got))
				}
			}
			if !closed {
				t.Error("the body of the response was not closed")
			}
		}
	}
}

func TestCompressedAnswersStayOffTheTape(t *testing.T) {
	behind := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = io.WriteString(z, `{"password":"hunter2hunter2"}`)
		_ = z.Close()
	})
	c, path := recording(t)
	if got := post(t, c.Wrap(behind), "/tools/get_order", `{}`, token); got.status != 200 {
		t.Errorf("%+v", got)
	}
	wantKinds(t, c.Report(), "failed")
	mustContain(t, c.Report().String(), "compressed")
	if err := c.Close(); toolwire.CodeOf(err) != "unwritable" || !strings.Contains(readFile(t, path), tail(0)) {
		t.Errorf("%v\n%s", err, readFile(t, path))
	}
}

// A date in Retry-After would be in the past when it is replayed.
func TestRetryAfterIsRelative(t *testing.T) {
	for header, want := range map[string]string{"9": `"retry_after":9`, "-1": `"retry_after":0`, "soon": "",
		"date":        `"retry_after":30`,
		"99999999999": `"retry_after":2147483647`, "Fri, 31 Dec 9999 23:59:59 GMT": `"retry_after":2147483647`} {
		synctest.Test(t, func(t *testing.T) {
			c, path := recording(t)
			post(t, c.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				value := header
				if value == "date" {
					value = time.Now().Add(30 * time.Second).UTC().Format(http.TimeFormat)
				}
				w.Header().Set("Retry-After", value)
				w.WriteHeader(http.StatusTooManyRequests)
			})), "/tools/get_order", `{}`, token)
			finish(t, c)
			if text := readFile(t, path); strings.Contains(text, "retry_after") != (want != "") ||
				!strings.Contains(text, want) {
				t.Errorf("%s: want %q in\n%s", header, want, text)
			}
		})
	}
}

// Whatever was recorded can be read and replayed.
func TestOddRecordingsAreReplayed(t *testing.T) {
	tests := map[string]struct {
		path, body, answer string
		status             int
	}{
		"no path":           {"/", `{}`, `{}`, 200},
		"no UTF-8 anywhere": {"/tools/%ff%00", "\xff\x00", "\x00\xff", 200},
		"null":              {"/tools/a", "null", "null", 200},
		"empty string":      {"/tools/a", `""`, `""`, 200},
		"half a character":  {"/tools/a", `"\ud800"`, `"\ud800"`, 200},
		"byte order mark":   {"/tools/a", "\uFEFF{}", "\uFEFF{}", 200},
		"an odd status":     {"/tools/a", `{}`, "{}", 999},
		"deep": {"/tools/a", strings.Repeat("[", 256) + strings.Repeat("]", 256),
			strings.Repeat("[", 256) + strings.Repeat("]", 256), 200},
		"control codes": {"/tools/a", strings.Repeat("\x01", 1<<20), strings.Repeat("\x01", 1<<20), 200},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c, path := recording(t)
			post(t, c.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(test.status)
				_, _ = io.WriteString(w, test.answer)
			})), test.path, test.body, token)
			finish(t, c)
			replay := newCassette(t, path, nil)
			got := post(t, replay, test.path, test.body, token)
			if got.status != test.status || got.body != test.answer || !replay.Report().OK() {
				t.Errorf("status %d, %d bytes\n%s", got.status, len(got.body), replay.Report())
			}
		})
	}
}

func TestRequestsThatAreTooLarge(t *testing.T) {
	large := json.RawMessage(`{"text":"` + strings.Repeat("x", 1<<20) + `"}`)
	behind := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		envelope(w, "put", fmt.Sprint(n))
	})
	c, _ := recording(t)
	put := func(transport http.RoundTripper) (status int, body string) {
		r := request(t, http.MethodPost, "http://proxy.test/tools/put", bytes.NewReader(large))
		got := send(t, transport, r)
		return got.status, got.body
	}
	if status, body := put(proxytest.NewTransport(c.Wrap(behind))); status != http.StatusRequestEntityTooLarge ||
		!strings.Contains(body, "cassette_too_large") {
		t.Errorf("%d %s", status, body)
	}
	// A transport does not disturb the run.
	if status, body := put(c.Transport(proxytest.NewTransport(behind))); status != http.StatusOK ||
		!strings.Contains(body, fmt.Sprintf(`"response":%d`, len(large))) {
		t.Errorf("%d %s", status, body)
	}
	wantKinds(t, c.Report(), "failed", "failed")
	if err := c.Close(); toolwire.CodeOf(err) != "unwritable" || !strings.Contains(err.Error(), "2 problems") {
		t.Errorf("%v", err)
	}
	replay := newCassette(t, tape(t, head, tail(0)), nil)
	if status, body := put(replay.Transport(nil)); status != http.StatusRequestEntityTooLarge ||
		!strings.Contains(body, "cassette_too_large") {
		t.Errorf("%d %s", status, body)
	}
}

// A path cannot lead out of the base URL.
func TestPathsStayBelowUpstream(t *testing.T) {
	asked := false
	url := serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { asked = true }))
	c := newCassette(t, filepath.Join(t.TempDir(), "run.jsonl"),
		&cassette.Options{Mode: cassette.Record, Upstream: url + "/api/runs/abc"})
	for _, path := range []string{"/tools/%2e%2e", "/tools/x%2f..%2f..%2fadmin", "/context/../../../admin", "/.."} {
		r := request(t, http.MethodPost, "http://proxy.test"+path, nil)
		if got := do(t, c, r); got.status != http.StatusBadGateway || asked {
			t.Errorf("%s: %+v", path, got)
		}
	}
}

// The clock of a tape begins with the first request of the run.
func TestATapeBeginsWithTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, path := recording(t)
		time.Sleep(time.Hour)
		post(t, c.Wrap(answering("a", "1")), "/tools/a", `{}`, token)
		first := time.Now().UTC()
		finish(t, c)
		got, err := cassette.Load(path)
		if err != nil || !got.Created.Equal(first) || got.Interactions[0].AtMS != 0 {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

func TestProbeIsNoPartOfTheRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.jsonl")
	platform := proxytest.NewPlatform(t, orders, nil)
	server := httptest.NewServer(platform)
	defer server.Close()
	run := platform.NewRun()
	c := newCassette(t, path, &cassette.Options{Mode: cassette.Record, Upstream: server.URL + run.Path})
	if got := post(t, c, "/tools/__reachability_probe__", `{}`, "fake-token"); got.status != http.StatusUnauthorized {
		t.Errorf("%+v", got)
	}
	if got := post(t, c, "/tools/get_order", `{"order_id":"4521"}`, run.Token); got.status != http.StatusOK {
		t.Errorf("%+v", got)
	}
	if err := c.Close(); err != nil || !c.Report().OK() || !strings.Contains(readFile(t, path), tail(1)) {
		t.Errorf("%v\n%s", err, readFile(t, path))
	}
}
