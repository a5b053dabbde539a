package capture_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/capture"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/internal/httpcall/faulttest"
	"github.com/toolwire/toolwire/internal/httpserve/hostiletest"
	"github.com/toolwire/toolwire/internal/pipenet"
	"github.com/toolwire/toolwire/proxy"
)

// The answers to hostile requests are those of the handler without a capture.
func TestHostileRequests(t *testing.T) {
	subject := func(t testing.TB) hostiletest.Subject {
		var runs atomic.Int64
		handler, err := dispatch.New(func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
			runs.Add(1)
			return &dispatch.Response{FinalResponse: "done"}, nil
		}, &dispatch.Options{Tokens: []string{"agent-token"}, MaxBodyBytes: 1000})
		if err != nil {
			t.Fatal(err)
		}
		return hostiletest.Subject{
			Handler: capture.New(io.Discard, nil).Middleware(handler), Path: "/dispatch",
			Credential: "Authorization: Bearer agent-token",
			Header: []string{
				"Content-Type: application/json", "X-Pipelines-Run-Token: tok-1234567890",
				"X-Pipelines-Odyssey-Proxy-Url: https://api.example.com/runs/abc",
			},
			Body: `{"task_id":1,"input":{"user_instruction":"x"}}`, MaxBody: 1000,
			Ran: func() int { return int(runs.Load()) },
		}
	}
	hostiletest.Run(t, subject, append(hostiletest.Bearers, hostiletest.Rows...))
	hostiletest.RunHTTP2(t, subject, hostiletest.HTTP2Rows)
}

// Each fault of a peer ends a call as it does without a capture.
func TestFaults(t *testing.T) {
	const good = `{"tool_name":"refund_order","response":{"ok":true},"source":"odyssey","latency_ms":1}`
	for _, row := range faulttest.Rows() {
		t.Run(row.Name, func(t *testing.T) {
			outcome := func(record *capture.Capture) (ended []string) {
				row.Run(t, good, func(ctx context.Context, p faulttest.Peer) {
					opts := &proxy.Options{Transport: p.Transport, MaxAttempts: 1}
					if record != nil {
						opts.Transport = record.Transport(p.Transport)
					}
					c, err := proxy.New(p.URL, "tok-1234567890", opts)
					if err != nil {
						t.Fatal(err)
					}
					result, err := c.Do(ctx, "refund_order", map[string]string{"id": "hunter2"})
					e, _ := errors.AsType[*proxy.Error](err)
					switch {
					case e == nil:
						ended = append(ended, fmt.Sprintf("%s, %v", result.Response, err))
					case p.Want.Outcome == faulttest.Canceled || p.Want.Delivery == faulttest.Either:
						ended = append(ended, string(e.Code)) // the rest depends on what was noticed first
					default:
						ended = append(ended, fmt.Sprint(e.Code, e.Delivery, e.Status, e.Class))
					}
				})
				return ended
			}
			var out lines
			record := capture.New(&out, nil)
			want, got := outcome(nil), outcome(record)
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("with a capture %q, without %q", got, want)
			}
			records := closed(t, record, &out)
			if n := len(find(records, "request", "call")); n != len(got) {
				t.Errorf("%d requests are in the capture of %d calls:\n%s", n, len(got), out.String())
			}
			if n := len(find(records, "response", "call")); n > len(got) || n < len(got) && row.Want.Outcome != faulttest.Canceled {
				t.Errorf("%d responses are in the capture of %d calls:\n%s", n, len(got), out.String())
			}
			if strings.Contains(out.String(), "hunter2") || strings.Contains(out.String(), "tok-1234567890") {
				t.Errorf("the capture has a secret or content:\n%s", out.String())
			}
		})
	}
}

// failing is a writer that does what a disk may do.
type failing func(p []byte) (int, error)

func (f failing) Write(p []byte) (int, error) { return f(p) }

// A writer that fails affects no run. The lines are counted, and one record is logged.
func TestAWriterThatFails(t *testing.T) {
	disk := errors.New("no space left")
	for name, tt := range map[string]struct {
		write func(n int, p []byte) (int, error)
		want  error
	}{
		"an error":      {func(int, []byte) (int, error) { return 0, disk }, disk},
		"a short write": {func(_ int, p []byte) (int, error) { return len(p) / 2, nil }, io.ErrShortWrite},
		"a panic":       {func(int, []byte) (int, error) { panic("disk") }, nil},
		"a later error": {func(n int, p []byte) (int, error) {
			if n > 2 {
				return 0, disk
			}
			return len(p), nil
		}, disk},
	} {
		t.Run(name, func(t *testing.T) {
			writes := 0
			logged := &logs{}
			record := capture.New(failing(func(p []byte) (int, error) {
				writes++
				return tt.write(writes, p)
			}), &capture.Options{Logger: slog.New(logged)})
			dispatchRun(t, record, refund, dispatchtest.Task{}).AssertOK(t)
			err := record.Close(t.Context())
			e, ok := errors.AsType[*capture.Error](err)
			if !ok || e.Lost < 5 || tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("%v, want the messages of the run and %v", err, tt.want)
			}
			if n := logged.n.Load(); n > 1 {
				t.Errorf("%d records were logged", n)
			}
		})
	}
}

type logs struct {
	slog.Handler
	n atomic.Int64
}

func (l *logs) Enabled(context.Context, slog.Level) bool { return true }
func (l *logs) Handle(context.Context, slog.Record) error {
	l.n.Add(1)
	return nil
}

// After a line that was written in part, the next begins on a line of its own.
func TestALineAfterAnIncompleteOne(t *testing.T) {
	var text bytes.Buffer
	n := 0
	record := capture.New(failing(func(p []byte) (int, error) {
		if n++; n == 3 {
			text.Write(p[:len(p)/2])
			return len(p) / 2, io.ErrShortWrite
		}
		return text.Write(p)
	}), nil)
	dispatchRun(t, record, refund, dispatchtest.Task{}).AssertOK(t)
	if err := record.Close(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "capture: 1 messages are not in the capture: ") {
		t.Errorf("%v", err)
	}
	records, err := capture.Read(&text)
	if err != nil {
		t.Fatal(err)
	}
	broken, lost := 0, int64(0)
	for _, r := range records {
		if r.Kind == "broken" {
			broken++
		}
		lost = max(lost, r.Lost)
	}
	if broken != 1 || lost != 1 || len(records) != 12 || len(find(records, "request", "call")) != 3 {
		t.Errorf("%d broken lines, %d lost, %d records", broken, lost, len(records))
	}
}

// A writer that blocks delays no run. Close ends with its context.
func TestAWriterThatBlocks(t *testing.T) {
	release := make(chan struct{})
	record := capture.New(failing(func(p []byte) (int, error) {
		<-release
		return len(p), nil
	}), nil)
	for range 3 {
		dispatchRun(t, record, refund, dispatchtest.Task{}).AssertOK(t)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := record.Close(ctx)
	if e, ok := errors.AsType[*capture.Error](err); !ok || e.Lost < 20 || !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	close(release)
	if err := record.Close(t.Context()); err != nil {
		t.Errorf("all is written after all: %v", err)
	}
}

// The queue of a capture whose writer blocks is bounded.
func TestTheQueueIsBounded(t *testing.T) {
	release := make(chan struct{})
	record := capture.New(failing(func(p []byte) (int, error) {
		<-release
		return len(p), nil
	}), nil)
	record.SetBounds(1000, 1e6, 100, 1e6)
	transport := record.Transport(answering("{}"))
	for range 150 {
		send(t, transport, "{}")
	}
	close(release)
	err := record.Close(t.Context())
	if e, ok := errors.AsType[*capture.Error](err); !ok || e.Lost < 199 || e.Lost > 200 || e.Err != nil {
		t.Errorf("of 300 messages %v", err)
	}
}

// answering is a transport that answers every request with 200 and body.
type answering string

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_, _ = io.Copy(io.Discard, r.Body)
		_ = r.Body.Close()
	}
	return &http.Response{
		StatusCode: 200, Proto: "HTTP/1.1", Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(string(a))), ContentLength: int64(len(a)), Request: r,
	}, nil
}

func send(t testing.TB, transport http.RoundTripper, body string) string {
	t.Helper()
	r, err := http.NewRequest(http.MethodPost, "https://api.example.com/runs/abc/tools/get_order", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer tok-1234567890")
	resp, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(got)
}

// A large body passes unchanged, and 4 MiB of it are kept.
func TestLargeBodies(t *testing.T) {
	var out lines
	record := capture.New(&out, nil)
	large := strings.Repeat("Content Canary ", 300_000)
	if got := send(t, record.Transport(answering(large)), large); got != large {
		t.Fatalf("%d bytes arrived of %d", len(got), len(large))
	}
	records := closed(t, record, &out)
	for _, r := range append(find(records, "request", "call"), find(records, "response", "call")...) {
		if r.Body.Bytes != int64(len(large)) || !r.Body.Cut || r.Body.Text != "<text 4194304>" {
			t.Errorf("%+v", r.Body)
		}
	}
	if strings.Contains(out.String(), "Canary") {
		t.Error("the capture has content")
	}
}

// The bodies that wait are bounded.
func TestManyBodies(t *testing.T) {
	release := make(chan struct{})
	var out lines
	record := capture.New(failing(func(p []byte) (int, error) {
		<-release
		return out.Write(p)
	}), nil)
	record.SetBounds(4<<10, 64<<10, 1000, 1e6)
	large := strings.Repeat("x", 6<<10)
	transport := record.Transport(answering(large))
	for range 12 {
		if got := send(t, transport, large); got != large {
			t.Fatalf("%d bytes arrived of %d", len(got), len(large))
		}
	}
	close(release)
	records := closed(t, record, &out)
	kept := 0
	for _, r := range append(find(records, "request", "call"), find(records, "response", "call")...) {
		n := -1
		if _, err := fmt.Sscanf(r.Body.Text, "<text %d>", &n); err != nil || n > 4<<10 ||
			r.Body.Bytes != int64(len(large)) || !r.Body.Cut {
			t.Fatalf("%+v", r.Body)
		}
		kept += n
	}
	if kept > 64<<10 || kept < 50<<10 { // 24 bodies of 4 KiB are 96 KiB
		t.Errorf("%d bytes of bodies are kept", kept)
	}
}

// A credential that a cut body ends in is not in the capture, also if a part of it is cut off.
func TestABodyThatIsCutWithinASecret(t *testing.T) {
	for before := range 20 {
		var out lines
		record := capture.New(&out, &capture.Options{Content: true})
		record.SetBounds(4<<10, 1e6, 1000, 1e6)
		large := `"` + strings.Repeat("x", 4<<10-before-1) + "tok-1234567890 and more" + `"`
		if got := send(t, record.Transport(answering(large)), "{}"); got != large {
			t.Fatal("the body has changed")
		}
		closed(t, record, &out)
		if strings.Contains(out.String(), "xtok") {
			t.Fatalf("%d bytes of a credential are in the capture", before)
		}
	}
}

// A body in memory reaches the transport as it is, so that net/http sends it with the headers.
func TestABodyInMemoryIsPassedOn(t *testing.T) {
	body := io.NopCloser(strings.NewReader("{}"))
	r, _ := http.NewRequest(http.MethodPost, "https://api.example.com/tools/x", nil)
	r.Body, r.ContentLength = body, 2
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("{}")), nil }
	_, err := capture.New(io.Discard, nil).Transport(transport(func(sent *http.Request) (*http.Response, error) {
		if sent.Body != body {
			t.Errorf("the transport gets a %T", sent.Body)
		}
		return answering("{}").RoundTrip(sent)
	})).RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
}

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// A part of a streamed response is passed on before the next one comes, on both sides of the wire.
func TestAStreamIsNotHeldBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out lines
		record := capture.New(&out, nil)
		next := make(chan struct{})
		listener := pipenet.Serve(t, record.Middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			for i := range 3 {
				<-next
				_, _ = fmt.Fprintf(w, "part %d", i)
				w.(http.Flusher).Flush()
			}
		})))
		base := &http.Transport{DialContext: listener.Dial}
		defer base.CloseIdleConnections()
		r, _ := http.NewRequest(http.MethodGet, "http://platform/", nil)
		go func() { next <- struct{}{} }()
		resp, err := record.Transport(base).RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			part := make([]byte, 6)
			if _, err := io.ReadFull(resp.Body, part); err != nil || string(part) != fmt.Sprintf("part %d", i) {
				t.Fatalf("%q, %v", part, err)
			}
			if i < 2 {
				next <- struct{}{}
			}
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	})
}

// A panic of a handler breaks the connection as it does without a capture, and is in the capture.
func TestAHandlerThatPanics(t *testing.T) {
	var out lines
	record := capture.New(&out, nil)
	server := httptest.NewServer(record.Middleware(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		panic(http.ErrAbortHandler)
	})))
	defer server.Close()
	if resp, err := http.Post(server.URL, "application/json", strings.NewReader("{}")); err == nil {
		t.Errorf("answered with %d", resp.StatusCode)
	}
	got := find(closed(t, record, &out), "response", "dispatch")
	if len(got) != 1 || got[0].Status != 0 || !strings.Contains(got[0].Error, "panicked") {
		t.Errorf("%+v", got)
	}
}

// The ResponseWriter supports what the server's does.
func TestTheResponseWriter(t *testing.T) {
	var err error
	server := httptest.NewServer(capture.New(io.Discard, nil).Middleware(
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			err = http.NewResponseController(w).SetReadDeadline(time.Now().Add(time.Hour))
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(http.StatusTeapot)
		})))
	defer server.Close()
	resp, failed := http.Get(server.URL)
	if failed != nil || resp.StatusCode != http.StatusTeapot || err != nil {
		t.Errorf("%v, %v, %v", resp, failed, err)
	}
}

// What a capture writes is bounded: requests without a token are recorded too.
func TestAFullCapture(t *testing.T) {
	var out lines
	record := capture.New(&out, nil)
	record.SetBounds(1000, 1e6, 1000, 2000)
	transport := record.Transport(answering("{}"))
	for range 20 {
		send(t, transport, "{}")
	}
	err := record.Close(t.Context())
	if e, ok := errors.AsType[*capture.Error](err); !ok || e.Lost < 20 || !strings.HasSuffix(err.Error(), "the capture has 256 MiB") {
		t.Errorf("%v", err)
	}
	if n := len(out.String()); n > 2000 || n < 1000 {
		t.Errorf("%d bytes are written", n)
	}
}

// Headers that wait are bounded.
func TestLargeHeaders(t *testing.T) {
	release := make(chan struct{})
	record := capture.New(failing(func(p []byte) (int, error) {
		<-release
		return len(p), nil
	}), nil)
	record.SetBounds(1000, 64<<10, 1000, 1e6)
	large := http.Header{"X-Large": {strings.Repeat("x", 4<<10)}}
	transport := record.Transport(transport(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: large, Body: http.NoBody}, nil
	}))
	for range 30 {
		send(t, transport, "{}")
	}
	close(release)
	err := record.Close(t.Context())
	if e, ok := errors.AsType[*capture.Error](err); !ok || e.Lost < 15 || e.Lost > 19 {
		t.Errorf("of 30 messages with 4 KiB %v", err)
	}
}

// If an exchange has more credentials than can be searched for, or a huge one, its texts are
// shapes.
func TestSecretsBeyondTheBounds(t *testing.T) {
	huge := strings.Repeat("huge-secret", 2000)
	many := http.Header{}
	for i := range 100 {
		many[fmt.Sprint("X-Other-", i)] = []string{fmt.Sprint("value-of-", i)}
	}
	for name, header := range map[string]http.Header{"huge": {"X-Api-Key": {huge}}, "many": many} {
		var out lines
		record := capture.New(&out, &capture.Options{Content: true})
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(`{"note":"`+huge+`","value-of-99":"value-of-99"}`))
		r.Header = header
		record.Middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(w, r.Body)
		})).ServeHTTP(httptest.NewRecorder(), r)
		closed(t, record, &out)
		if strings.Contains(out.String(), "huge-secret") || strings.Contains(out.String(), "value-of") {
			t.Errorf("%s: the capture has a secret: %.2000s", name, out.String())
		}
	}
}

// A logger that panics does not end the process.
func TestALoggerThatPanics(t *testing.T) {
	called := make(chan struct{})
	record := capture.New(failing(func([]byte) (int, error) { return 0, io.ErrClosedPipe }),
		&capture.Options{Logger: slog.New(panicking(func() { close(called) }))})
	send(t, record.Transport(answering("{}")), "{}")
	<-called
	if err := record.Close(t.Context()); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("%v", err)
	}
}

type panicking func()

func (p panicking) Enabled(context.Context, slog.Level) bool { return true }
func (p panicking) WithAttrs([]slog.Attr) slog.Handler       { return p }
func (p panicking) WithGroup(string) slog.Handler            { return p }
func (p panicking) Handle(context.Context, slog.Record) error {
	p()
	panic("the log is full")
}

// A request that net/http sends on another connection, because the first had been closed, says so.
func TestConnections(t *testing.T) {
	var out lines
	record := capture.New(&out, nil)
	send(t, record.Transport(transport(func(r *http.Request) (*http.Response, error) {
		trace := httptrace.ContextClientTrace(r.Context())
		trace.GotConn(httptrace.GotConnInfo{Reused: true, IdleTime: 5 * time.Second})
		trace.GotConn(httptrace.GotConnInfo{})
		return answering("{}").RoundTrip(r)
	})), "{}")
	if got := find(closed(t, record, &out), "request", "call")[0]; got.Connections != 2 || got.Reused {
		t.Errorf("%+v", got)
	}
}

// After Close nothing is recorded, and everything passes.
func TestAfterClose(t *testing.T) {
	var out lines
	record := capture.New(&out, nil)
	closed(t, record, &out)
	before := out.String()
	dispatchRun(t, record, refund, dispatchtest.Task{}).AssertOK(t)
	closed(t, record, &out)
	if out.String() != before {
		t.Errorf("written after Close: %s", out.String()[len(before):])
	}
}
