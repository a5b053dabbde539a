package llm_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/llm"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// model answers requests, one after the other, with these responses.
func model(responses ...exch) http.RoundTripper {
	n := 0
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return nil, err
		}
		if n == len(responses) {
			return nil, errors.New("the model got more requests than it has responses")
		}
		n++
		return response(responses[n-1]), nil
	})
}

func response(body exch) *http.Response {
	contentType := "application/json"
	if !strings.HasPrefix(string(body), "{") && !strings.HasPrefix(string(body), "[") {
		contentType = "text/event-stream; charset=utf-8"
	}
	return &http.Response{
		StatusCode: 200, Header: http.Header{"Content-Type": {contentType}}, Body: io.NopCloser(strings.NewReader(string(body))),
	}
}

// send sends a request and returns what arrives.
func send(ctx context.Context, transport http.RoundTripper, path, body string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://model.example.com"+path, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	r.Header.Set("Authorization", "Bearer sk-canary-model")
	resp, err := transport.RoundTrip(r)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	got, err := io.ReadAll(resp.Body)
	return string(got), err
}

// instruction is the prompt of the runs; the wires have it as the user's message.
const instruction = "Both orders."

// inRun runs an agent and returns what arrives of its response. The final response belongs to the
// wires.
func inRun(t testing.TB, agent func(ctx context.Context, run *dispatch.Run) error) *dispatchtest.Result {
	t.Helper()
	result, err := dispatchtest.Dispatch(t.Context(), dispatchtest.Target{Agent: func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		return &dispatch.Response{FinalResponse: "Order 1 is shipped."}, agent(ctx, run)
	}}, dispatchtest.Task{Instruction: instruction, World: proxytest.World{
		Behaviors: map[string]proxytest.Behavior{"get_order": proxytest.Canned(`{"status":"shipped"}`)},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if result.AgentError != "" || !result.OK() {
		t.Fatalf("%s %s", result.AgentError, result)
	}
	return result
}

// metadata returns the metadata of the response.
func metadata(t testing.TB, result *dispatchtest.Result) (m struct {
	Model  string `json:"model"`
	Input  int64  `json:"total_input_tokens"`
	Output int64  `json:"total_output_tokens"`
}) {
	t.Helper()
	var body struct{ Metadata json.RawMessage }
	err := json.Unmarshal([]byte(result.Dispatch.Body), &body)
	if err == nil && body.Metadata != nil {
		err = json.Unmarshal(body.Metadata, &m)
	}
	if err != nil {
		t.Fatalf("%s: %v", result.Dispatch.Body, err)
	}
	return m
}

// kinds are the two ways to respond.
var kinds = []string{"whole", "streamed"}

// An agent of two requests, in every format: the transcript has the model's ids, grouping and
// thinking, and the metadata has the model and the tokens.
func TestTransport(t *testing.T) {
	for _, w := range wires {
		for i, kind := range kinds {
			t.Run(w.name+"/"+kind, func(t *testing.T) {
				transport := &llm.Transport{Base: model(w.calls[i], w.final[i])}
				result := inRun(t, func(ctx context.Context, run *dispatch.Run) error {
					got, err := send(ctx, transport, w.path, w.ask)
					if err != nil || got != string(w.calls[i]) {
						t.Errorf("arrived %q, %v", got, err)
					}
					for n, id := range w.ids {
						arguments := []string{`{"order_id":"1"}`, `{"order_id":`}[n]
						if n == 1 && id == "" {
							continue
						}
						if _, err := run.Proxy.CallForModel(proxy.WithCallID(ctx, id), "get_order", arguments); err != nil {
							return err
						}
					}
					got, err = send(ctx, transport, w.path, w.again)
					if err != nil || got != string(w.final[i]) {
						t.Errorf("arrived %q, %v", got, err)
					}
					return nil
				})
				if got := rows(t, result.Messages); got != w.messages {
					t.Errorf("got\n%swant\n%s", got, w.messages)
				}
				if len(result.Problems) > 0 {
					t.Error(result.Problems)
				}
				if m := metadata(t, result); m.Model != "m-1-2026" || m.Input != w.tokens[0] || m.Output != w.tokens[1] {
					t.Errorf("metadata %+v", m)
				}
			})
		}
	}
}

// A stream may arrive in pieces of any size, with any line ends.
func TestTransportReadsAnyPieces(t *testing.T) {
	for _, w := range wires {
		for _, size := range []int{1, 2, 7, 1000} {
			for _, end := range []string{"\n", "\r\n", "\r"} {
				if end != "\n" && !strings.Contains(string(w.calls[1]), "data: ") {
					continue
				}
				calls := strings.ReplaceAll(string(w.calls[1]), "\n", end)
				final := strings.ReplaceAll(string(w.final[1]), "\n", end)
				bodies := []string{calls, final}
				transport := &llm.Transport{Base: roundTrip(func(r *http.Request) (*http.Response, error) {
					_, _ = io.Copy(io.Discard, r.Body)
					resp := response("data")
					resp.Body = io.NopCloser(&pieces{bodies[0], size})
					bodies = bodies[1:]
					return resp, nil
				})}
				result := inRun(t, func(ctx context.Context, _ *dispatch.Run) error {
					for i, ask := range []string{w.ask, w.again} {
						got, err := send(ctx, transport, w.path, ask)
						if err != nil || got != []string{calls, final}[i] {
							t.Errorf("arrived %q, %v", got, err)
						}
					}
					return nil
				})
				if got := rows(t, result.Messages); got != w.messages {
					t.Errorf("%s in %d with %q: got\n%swant\n%s", w.name, size, end, got, w.messages)
				}
			}
		}
	}
}

// pieces is a reader that returns so many bytes at a time.
type pieces struct {
	rest string
	size int
}

func (p *pieces) Read(b []byte) (int, error) {
	n := copy(b, p.rest[:min(p.size, len(p.rest))])
	if p.rest = p.rest[n:]; n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

func TestTransportOutsideOfRuns(t *testing.T) {
	var got []*http.Request
	transport := &llm.Transport{Base: roundTrip(func(r *http.Request) (*http.Response, error) {
		got = append(got, r)
		return response(`{}`), nil
	})}
	do := func(ctx context.Context, method, path string, body io.Reader) *http.Response {
		r, err := http.NewRequestWithContext(ctx, method, "https://model.example.com"+path, body)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		if last := got[len(got)-1]; last != r {
			t.Errorf("%s %s: another request was sent", method, path)
		}
		return resp
	}
	do(t.Context(), "POST", "/v1/chat/completions", strings.NewReader(wires[0].ask))
	result := inRun(t, func(ctx context.Context, _ *dispatch.Run) error {
		do(ctx, "GET", "/v1/responses/resp_1", nil)
		do(ctx, "POST", "/v1/embeddings", strings.NewReader(`{}`))
		do(ctx, "POST", "/v1/messages/count_tokens", strings.NewReader(wires[1].ask))
		do(ctx, "POST", "/v1/messages/batches", strings.NewReader(`{"requests":[]}`))
		do(ctx, "POST", "/v1/chat/completions", nil)
		encoded, err := http.NewRequestWithContext(ctx, "POST", "https://model.example.com/v1/messages", strings.NewReader("not read"))
		if err != nil {
			return err
		}
		encoded.Header.Set("Content-Encoding", "zstd")
		if _, err := transport.RoundTrip(encoded); err != nil || got[len(got)-1] != encoded {
			t.Errorf("an encoded request was replaced, %v", err)
		}
		for _, body := range []string{`not JSON`, ``} {
			if _, err := send(ctx, transport, "/v1/threads/t/messages", body); err != nil {
				t.Error(err)
			}
		}
		return nil
	})
	if problems := fmt.Sprint(result.Problems); result.Messages != nil || len(result.Problems) != 1 || !strings.Contains(problems, "requests to …/messages are not read") || metadata(t, result).Model != "" {
		t.Errorf("messages %v, problems %v", result.Messages, result.Problems)
	}
}

// Failed requests and retries add nothing.
func TestTransportRetries(t *testing.T) {
	for _, w := range wires {
		for i, kind := range kinds {
			t.Run(w.name+"/"+kind, func(t *testing.T) {
				cut := w.calls[i][:len(w.calls[i])*2/3]
				replies := []func() (*http.Response, error){
					func() (*http.Response, error) { return nil, errors.New("connection refused") },
					func() (*http.Response, error) {
						resp := response(`{"error":{"message":"overloaded"}}`)
						resp.StatusCode = 529
						return resp, nil
					},
					func() (*http.Response, error) {
						resp := response(cut)
						resp.Body = io.NopCloser(io.MultiReader(strings.NewReader(string(cut)), failing{}))
						return resp, nil
					},
					func() (*http.Response, error) { return response(cut), nil },
					func() (*http.Response, error) { return response(w.calls[i]), nil },
					func() (*http.Response, error) { return response(w.final[i]), nil },
				}
				transport := &llm.Transport{Base: roundTrip(func(r *http.Request) (*http.Response, error) {
					_, _ = io.Copy(io.Discard, r.Body)
					reply := replies[0]
					replies = replies[1:]
					return reply()
				})}
				result := inRun(t, func(ctx context.Context, _ *dispatch.Run) error {
					for n := range 5 {
						if _, err := send(ctx, transport, w.path, w.ask); (err != nil) != (n == 0 || n == 2) {
							t.Errorf("request %d: %v", n, err)
						}
					}
					_, err := send(ctx, transport, w.path, w.again)
					return err
				})
				if got := rows(t, result.Messages); got != w.messages || len(result.Problems) > 0 {
					t.Errorf("problems %v, got\n%swant\n%s", result.Problems, got, w.messages)
				}
			})
		}
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("connection reset") }

// What is cut off is not a message.
func TestTransportCutOff(t *testing.T) {
	w := wires[1]
	stream := string(w.calls[1])
	cut := stream[:strings.Index(stream, "event: message_delta")]
	transport := &llm.Transport{Base: model(exch(cut))}
	result := inRun(t, func(ctx context.Context, _ *dispatch.Run) error {
		_, err := send(ctx, transport, w.path, w.ask)
		return err
	})
	want := `{"role":"system","content":"Be brief."}
{"role":"user","content":"Both orders."}
{"role":"assistant","content":"Order 1 is shipped."}
`
	if got := rows(t, result.Messages); got != want {
		t.Errorf("got\n%s", got)
	}
	if m := metadata(t, result); m.Input != 100 || m.Output != 1 {
		t.Errorf("metadata %+v", m)
	}
}

// GetBody and bodies of unknown length are read as any other.
func TestTransportReadsRequests(t *testing.T) {
	w := wires[0]
	for name, base := range map[string]roundTrip{
		"once": func(r *http.Request) (*http.Response, error) {
			_, err := io.Copy(io.Discard, r.Body)
			return response(w.final[0]), err
		},
		"again with GetBody": func(r *http.Request) (*http.Response, error) {
			if _, err := io.CopyN(io.Discard, r.Body, 10); err != nil {
				return nil, err
			}
			body, err := r.GetBody()
			if err != nil {
				return nil, err
			}
			got, err := io.ReadAll(body)
			if string(got) != w.ask {
				t.Errorf("GetBody has %s", got)
			}
			return response(w.final[0]), err
		},
		"after the response has begun": func(r *http.Request) (*http.Response, error) {
			resp := response(w.final[0])
			resp.Body = io.NopCloser(io.MultiReader(readFirst{r.Body}, resp.Body))
			return resp, nil
		},
	} {
		for _, known := range []bool{true, false} {
			if !known && name == "again with GetBody" {
				continue
			}
			transport := &llm.Transport{Base: base}
			result := inRun(t, func(ctx context.Context, _ *dispatch.Run) error {
				var body io.Reader = strings.NewReader(w.ask)
				if !known {
					body = io.MultiReader(body)
				}
				r, err := http.NewRequestWithContext(ctx, "POST", "https://model.example.com"+w.path, body)
				if err != nil {
					return err
				}
				resp, err := transport.RoundTrip(r)
				if err != nil {
					return err
				}
				_, err = io.Copy(io.Discard, resp.Body)
				return errors.Join(err, resp.Body.Close())
			})
			if got := rows(t, result.Messages); !strings.HasPrefix(got, `{"role":"system","content":"Be brief."}`) {
				t.Errorf("%s: got\n%s", name, got)
			}
		}
	}
}

// readFirst reads all of a body and returns nothing.
type readFirst struct{ body io.Reader }

func (r readFirst) Read([]byte) (int, error) {
	if _, err := io.Copy(io.Discard, r.body); err != nil {
		return 0, err
	}
	return 0, io.EOF
}

// The request that is sent is the SDK's, and so is the response: nothing is added to headers, and
// neither is the length.
func TestTransportChangesNothing(t *testing.T) {
	w := wires[0]
	transport := &llm.Transport{Base: roundTrip(func(r *http.Request) (*http.Response, error) {
		body, err := io.ReadAll(r.Body)
		if string(body) != w.ask || r.ContentLength != int64(len(w.ask)) || len(r.Header) != 1 || r.Header.Get("Authorization") == "" {
			t.Errorf("sent %s with %v", body, r.Header)
		}
		resp := response(w.final[0])
		resp.ContentLength = int64(len(w.final[0]))
		return resp, err
	})}
	inRun(t, func(ctx context.Context, _ *dispatch.Run) error {
		r, err := http.NewRequestWithContext(ctx, "POST", "https://model.example.com"+w.path, strings.NewReader(w.ask))
		if err != nil {
			return err
		}
		r.Header.Set("Authorization", "Bearer sk-canary-model")
		body := r.Body
		resp, err := transport.RoundTrip(r)
		if err != nil {
			return err
		}
		defer func() { _ = resp.Body.Close() }()
		if r.Body != body || resp.ContentLength != int64(len(w.final[0])) || len(resp.Header) != 1 {
			t.Errorf("the request or the response was changed: %v", resp.Header)
		}
		var got bytes.Buffer
		if _, err := got.ReadFrom(resp.Body); err != nil || got.String() != string(w.final[0]) {
			t.Errorf("arrived %s, %v", got.String(), err)
		}
		return nil
	})
}

// Sub-agents that ask their models at the same time each have their own conversation.
func TestRequestsAtOnce(t *testing.T) {
	const labels, turns = 16, 3
	transport := &llm.Transport{Base: roundTrip(func(r *http.Request) (*http.Response, error) {
		_, err := io.Copy(io.Discard, r.Body)
		return response(says("yes")), err
	})}
	result := inRun(t, func(ctx context.Context, _ *dispatch.Run) error {
		errs := make(chan error, labels)
		for label := range labels {
			go func() {
				ctx := proxy.WithActor(ctx, fmt.Sprint("agent/", label))
				var err error
				said := []string{fmt.Sprint("user I am ", label)}
				for turn := range turns {
					_, failed := send(ctx, transport, chatPath, chat(said...))
					err = errors.Join(err, failed)
					said = append(said, "assistant yes", fmt.Sprint("user go on ", turn))
				}
				errs <- err
			}()
		}
		var err error
		for range labels {
			err = errors.Join(err, <-errs)
		}
		return err
	})
	got := brief(result.Messages) + ";"
	for label := range labels {
		if want := fmt.Sprintf("user I am %d; assistant yes; user go on 0; assistant yes; user go on 1; assistant yes;", label); !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
	if m := metadata(t, result); len(result.Problems) > 0 || m.Input != labels*turns || m.Model != "m" {
		t.Errorf("%v, %+v", result.Problems, m)
	}
}

// Only the provider has what a request takes from a cache of Gemini's.
func TestCachedContent(t *testing.T) {
	w := wires[3]
	transport := &llm.Transport{Base: model(w.calls[0], w.final[0])}
	result := inRun(t, func(ctx context.Context, _ *dispatch.Run) error {
		for _, ask := range []string{w.ask, w.again} {
			if _, err := send(ctx, transport, w.path, `{"cachedContent":"cachedContents/1",`+ask[1:]); err != nil {
				return err
			}
		}
		return nil
	})
	if got := rows(t, result.Messages); got != w.messages {
		t.Errorf("got\n%s", got)
	}
	if len(result.Problems) != 1 || !strings.Contains(result.Problems[0].Message, "cachedContent of the agent") {
		t.Errorf("%v", result.Problems)
	}
}
