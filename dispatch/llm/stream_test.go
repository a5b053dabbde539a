package llm_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/llm"
	"github.com/toolwire/toolwire/internal/memhttp"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
	"github.com/toolwire/toolwire/schema"
)

// runContext returns the context of a run that goes on until the test ends.
func runContext(t testing.TB) context.Context {
	t.Helper()
	started, done, over := make(chan context.Context), make(chan struct{}), make(chan struct{})
	ctx := context.WithoutCancel(t.Context())
	go func() {
		defer close(over)
		_, err := dispatchtest.Dispatch(ctx, dispatchtest.Target{Agent: func(ctx context.Context, _ *dispatch.Run) (*dispatch.Response, error) {
			started <- ctx
			<-done
			return &dispatch.Response{FinalResponse: "done"}, nil
		}}, dispatchtest.Task{Instruction: instruction})
		if err != nil {
			t.Error(err)
		}
	}()
	t.Cleanup(func() { close(done); <-over })
	return <-started
}

// Over a connection, each event that the server flushes reaches the SDK before the server writes
// the next one, in every format, byte for byte.
func TestStreamsAreNotHeldBack(t *testing.T) {
	for _, w := range wires {
		synctest.Test(t, func(t *testing.T) {
			seen := make(chan struct{})
			l := memhttp.Serve(t, http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
				rw.Header().Set("Content-Type", "text/event-stream")
				for _, event := range eventsOf(w.calls[1]) {
					_, _ = io.WriteString(rw, event)
					rw.(http.Flusher).Flush()
					<-seen // a stream that is held back never ends, which the bubble reports
				}
			}))
			base := &http.Transport{DialContext: l.Dial}
			defer base.CloseIdleConnections()
			r, err := http.NewRequestWithContext(runContext(t), "POST", "http://model.example.com"+w.path, strings.NewReader(w.ask))
			if err != nil {
				t.Fatal(err)
			}
			resp, err := (&llm.Transport{Base: base}).RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = resp.Body.Close() }()
			for _, event := range eventsOf(w.calls[1]) {
				got := make([]byte, len(event))
				if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != event {
					t.Fatalf("%s: arrived %q, %v", w.name, got, err)
				}
				seen <- struct{}{}
			}
			if rest, err := io.ReadAll(resp.Body); err != nil || len(rest) > 0 {
				t.Errorf("%s: then %q, %v", w.name, rest, err)
			}
		})
	}
}

// The response of a stream counts once its last event has come, even if the agent reads no further
// and does not close the body.
func TestStreamEndsWithItsLastEvent(t *testing.T) {
	for _, w := range wires[:3] {
		transport := &llm.Transport{Base: roundTrip(func(r *http.Request) (*http.Response, error) {
			_, err := io.Copy(io.Discard, r.Body)
			resp := response(w.calls[1])
			resp.Body = io.NopCloser(io.MultiReader(resp.Body, failing{}))
			return resp, err
		})}
		result := inRun(t, func(ctx context.Context, _ *dispatch.Run) error {
			r, err := http.NewRequestWithContext(ctx, "POST", "https://model.example.com"+w.path, strings.NewReader(w.ask))
			if err != nil {
				return err
			}
			resp, err := transport.RoundTrip(r)
			if err != nil {
				return err
			}
			_, err = io.ReadFull(resp.Body, make([]byte, len(w.calls[1])))
			return err
		})
		if got := rows(t, result.Messages); !strings.Contains(got, `"id":"b"`) || metadata(t, result).Input != 100 {
			t.Errorf("%s: got\n%s", w.name, got)
		}
	}
}

func TestCompressedResponses(t *testing.T) {
	for _, w := range wires {
		for i, kind := range kinds {
			for _, explicit := range []bool{true, false} { // whether the SDK asks for it, or net/http
				t.Run(fmt.Sprintf("%s/%s/%t", w.name, kind, explicit), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						bodies := []exch{w.calls[i], w.final[i]}
						l := memhttp.Serve(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
							if r.Header.Get("Accept-Encoding") != "gzip" {
								t.Errorf("Accept-Encoding is %q", r.Header.Get("Accept-Encoding"))
							}
							rw.Header().Set("Content-Type", response(bodies[0]).Header.Get("Content-Type"))
							rw.Header().Set("Content-Encoding", "gzip")
							_, _ = rw.Write(zipped(t, string(bodies[0])))
							bodies = bodies[1:]
						}))
						base := &http.Transport{DialContext: l.Dial}
						defer base.CloseIdleConnections()
						transport := &llm.Transport{Base: base}
						result := inRun(t, func(ctx context.Context, _ *dispatch.Run) error {
							for n, ask := range []string{w.ask, w.again} {
								r, err := http.NewRequestWithContext(ctx, "POST", "http://model.example.com"+w.path, strings.NewReader(ask))
								if err != nil {
									return err
								}
								want := []byte([]exch{w.calls[i], w.final[i]}[n])
								if explicit {
									r.Header.Set("Accept-Encoding", "gzip")
									want = zipped(t, string(want))
								}
								resp, err := transport.RoundTrip(r)
								if err != nil {
									return err
								}
								got, err := io.ReadAll(resp.Body)
								if err != nil || !bytes.Equal(got, want) {
									t.Errorf("arrived %q, %v", got, err)
								}
								if err := resp.Body.Close(); err != nil {
									return err
								}
							}
							return nil
						})
						if got := rows(t, result.Messages); got != w.messages || len(result.Problems) > 0 {
							t.Errorf("%v, got\n%swant\n%s", result.Problems, got, w.messages)
						}
					})
				})
			}
		}
	}
}

func zipped(t testing.TB, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// exactly returns a document of n bytes: doc, and white space.
func exactly(n int, doc string) string { return doc + strings.Repeat(" ", n-len(doc)) }

// What is too large passes whole, and is reported.
func TestLimits(t *testing.T) {
	const mib = 1 << 20
	w := wires[0]
	large := strings.Repeat("x", 9*mib)
	delta := `{"model":"m","choices":[{"index":0,"delta":{"content":"` + large[:mib] + `"}}],"usage":{"prompt_tokens":3,"completion_tokens":4}}`
	events := []string{delta}
	for range 8 {
		events = append(events, strings.Replace(delta, `"usage"`, `"not"`, 1))
	}
	for _, tt := range []struct {
		name     string
		ask      string
		response exch
		zip      bool
		problem  string
		input    int64
	}{
		{"a request", chat("user "+large, "user "+large), says("yes"), false, "a request of more than 16 MiB", 1},
		{"a response", w.ask, says(large), false, "it has more than 8 MiB", 0},
		{"a stream", w.ask, sse(append(events, "[DONE]")...), false, "it has more than 8 MiB", 3},
		{"an event", w.ask, sse(`{"x":"`+large+`"}`, delta), false, "it has more than 8 MiB", 3},
		{"a request of 16 MiB", exactly(16*mib, chat("user a")), says("yes"), false, "", 1},
		{"a request of 16 MiB and a byte", exactly(16*mib+1, chat("user a")), says("yes"), false, "a request of more than 16 MiB", 1},
		{"a response of 8 MiB", w.ask, exch(exactly(8*mib, string(says("yes")))), false, "", 1},
		{"a response of 8 MiB and a byte", w.ask, exch(exactly(8*mib+1, string(says("yes")))), false, "it has more than 8 MiB", 0},
		{"a compressed response of 8 MiB", w.ask, exch(exactly(8*mib, string(says("yes")))), true, "", 1},
		{"a line without an end", w.ask, sse(delta) + exch("data: "+large), false, "it has more than 8 MiB", 3},
		{"a compressed response", w.ask, says(large), true, "it has more than 8 MiB", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			body := string(tt.response)
			transport := &llm.Transport{Base: roundTrip(func(r *http.Request) (*http.Response, error) {
				_, err := io.Copy(io.Discard, r.Body)
				resp := response(tt.response)
				if tt.zip {
					body = string(zipped(t, body))
					resp.Header.Set("Content-Encoding", "gzip")
					resp.Body = io.NopCloser(strings.NewReader(body))
				}
				return resp, err
			})}
			result := inRun(t, func(ctx context.Context, _ *dispatch.Run) error {
				got, err := send(ctx, transport, w.path, tt.ask)
				if got != body {
					t.Errorf("%d bytes arrived", len(got))
				}
				return err
			})
			if problem := fmt.Sprint(result.Problems); len(result.Problems) > 1 || !strings.Contains(problem, tt.problem) || (problem == "[]") != (tt.problem == "") {
				t.Errorf("problems %v", result.Problems)
			}
			if m := metadata(t, result); m.Input != tt.input {
				t.Errorf("metadata %+v", m)
			}
		})
	}
}

// repeated is a text again and again, up to a number of bytes.
type repeated struct {
	text string
	at   int
	left int
}

func (r *repeated) Read(p []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), r.left)], r.text[r.at:])
	r.at, r.left = (r.at+n)%len(r.text), r.left-n
	return n, nil
}

// A response of 128 MiB passes, and what is kept of it is bounded.
func TestALongResponseTakesLittleMemory(t *testing.T) {
	const size = 128 << 20
	text := strings.Repeat("x", 64<<10)
	for name, tt := range map[string]struct {
		wire  wire
		start exch
		text  string
		zip   bool
	}{
		"body":           {wires[0], `{"x":"`, text, false},
		"line":           {wires[0], "data: ", text, false},
		"event":          {wires[0], "", "data: " + text + "\n", false},
		"compressed":     {wires[0], `{"x":"`, text, true},
		"line of Ollama": {wires[6], `{"x":"`, text, false},
		"frame":          {wires[4], frameOf(size), text, false},
	} {
		t.Run(name, func(t *testing.T) {
			sent := io.MultiReader(strings.NewReader(string(tt.start)), &repeated{text: tt.text, left: size})
			if tt.zip {
				var b bytes.Buffer
				w, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := io.Copy(w, sent); err != nil {
					t.Fatal(err)
				}
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
				sent = &b
			}
			transport := &llm.Transport{Base: roundTrip(func(r *http.Request) (*http.Response, error) {
				_, err := io.Copy(io.Discard, r.Body)
				resp := response(tt.start)
				if tt.zip {
					resp.Header.Set("Content-Encoding", "gzip")
				}
				resp.Body = io.NopCloser(sent)
				return resp, err
			})}
			inRun(t, func(ctx context.Context, _ *dispatch.Run) error {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				r, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://model.example.com"+tt.wire.path,
					strings.NewReader(tt.wire.ask))
				if err != nil {
					return err
				}
				resp, err := transport.RoundTrip(r)
				if err != nil {
					return err
				}
				if _, err := io.Copy(io.Discard, resp.Body); err != nil {
					return err
				}
				_ = resp.Body.Close()
				runtime.ReadMemStats(&after)
				if used := after.TotalAlloc - before.TotalAlloc; used > 100<<20 {
					t.Errorf("allocated %d MiB for a response of 128 MiB", used>>20)
				}
				return nil
			})
		})
	}
}

// Once the proxy says that the run is over, no request reaches the model, whatever a framework
// makes of the errors of its tools.
func TestNoRequestAfterTheRun(t *testing.T) {
	requests := 0
	transport := &llm.Transport{Base: roundTrip(func(r *http.Request) (*http.Response, error) {
		requests++
		_, err := io.Copy(io.Discard, r.Body)
		return response(wires[1].calls[0]), err
	})}
	var errs []error
	result, err := dispatchtest.Dispatch(t.Context(), dispatchtest.Target{Agent: func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		for range 25 {
			r, err := http.NewRequestWithContext(ctx, "POST", "https://model.example.com/v1/messages", closing{strings.NewReader(wires[1].ask), &errs})
			if err != nil {
				return nil, err
			}
			resp, err := transport.RoundTrip(r)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			_, _ = run.Proxy.CallForModel(ctx, "get_order", `{}`)
		}
		return nil, errs[len(errs)-1]
	}}, dispatchtest.Task{World: proxytest.World{
		Tools:        []schema.Tool{{Name: "get_order", Description: "Returns an order.", InputSchema: json.RawMessage(`{"type":"object"}`)}},
		FailureRules: []proxytest.FailureRule{{Tool: "get_order", Nth: []int{1}, Status: 401, ErrorClass: "run_token_expired"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if requests != 1 {
		t.Errorf("the model got %d requests, want 1", requests)
	}
	closed := 0
	for _, err := range errs {
		if errors.Is(err, errClosed) {
			closed++
		} else if toolwire.CodeOf(err) != toolwire.CodeRunOver || !proxy.IsRunOver(err) {
			t.Errorf("the error is %v", err)
		}
	}
	if closed != 24 || len(errs) != 48 {
		t.Errorf("%d bodies of %d requests were closed: %s", closed, len(errs)/2, result)
	}
}

// A transport below may not look at the context of a request.
func TestNoRequestAfterTheEndOfItsContext(t *testing.T) {
	requests, cause := 0, errors.New("the user has gone")
	transport := &llm.Transport{Base: roundTrip(func(*http.Request) (*http.Response, error) {
		requests++
		return response(wires[1].calls[0]), nil
	})}
	inRun(t, func(ctx context.Context, _ *dispatch.Run) error {
		ended, cancel := context.WithCancelCause(ctx)
		cancel(cause)
		_, err := send(ended, transport, wires[1].path, wires[1].ask)
		if toolwire.CodeOf(err) != toolwire.CodeRunOver || !errors.Is(err, cause) || requests != 0 {
			t.Errorf("%d requests: %v", requests, err)
		}
		return nil
	})
}

var errClosed = errors.New("closed")

// closing is a body that notes when it is closed by the transport, which has not read it.
type closing struct {
	*strings.Reader
	errs *[]error
}

func (c closing) Close() error {
	if c.Len() > 0 {
		*c.errs = append(*c.errs, errClosed)
	}
	return nil
}
