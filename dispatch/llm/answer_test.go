package llm_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/llm"
)

// What a response adds to the conversation, where servers differ from the documentation, or a
// stream from what is usual.
func TestAnswers(t *testing.T) {
	const none = ""
	chatStream := func(choices ...string) exch {
		for i, choice := range choices {
			choices[i] = `{"model":"m","choices":[` + choice + `]}`
		}
		return sse(append(choices, "[DONE]")...)
	}
	gemini := func(parts, more string) string {
		return `{"candidates":[{"content":{"role":"model","parts":[` + parts + `]}` + more + `}]}`
	}
	const finish = `,"finishReason":"STOP"`
	chat, anthropic, responses, google := wires[0], wires[1], wires[2], wires[3]
	for _, tt := range []struct {
		name string
		wire wire
		body exch
		want string // the messages after the user's
	}{
		{"calls with one index", chat, chatStream(
			`{"index":0,"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":"{}"}}]}}`,
			`{"index":0,"delta":{"tool_calls":[{"index":0,"id":"y","function":{"name":"g","arguments":"{\"a\""}}]}}`,
			`{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]},"finish_reason":"tool_calls"}`,
		), `{"role":"assistant","tool_calls":[{"id":"x","name":"f","arguments":{}},{"id":"y","name":"g","arguments":{"a":1}}]}`},
		{"a repeated name", chat, chatStream(
			`{"index":0,"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":"{"}}]}}`,
			`{"index":0,"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":"}"}}]},"finish_reason":"tool_calls"}`,
		), `{"role":"assistant","tool_calls":[{"id":"x","name":"f","arguments":{}}]}`},
		{"the old form of a call", chat, chatStream(
			`{"index":0,"delta":{"function_call":{"name":"f","arguments":""}}}`, `{"index":0,"delta":{"function_call":{"arguments":"{}"}},"finish_reason":"function_call"}`,
		), `{"role":"assistant","tool_calls":[{"id":"call_1","name":"f","arguments":{}}]}`},
		{"a refusal", chat, chatStream(`{"index":0,"delta":{"refusal":"I ca"}}`, `{"index":0,"delta":{"refusal":"nnot."},"finish_reason":"stop"}`),
			`{"role":"assistant","content":"I cannot."}`},
		{"several choices", chat, chatStream(`{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}`, `{"index":1,"delta":{"content":"b"},"finish_reason":"stop"}`), none},
		{"no end", chat, chatStream(`{"index":0,"delta":{"content":"a"}}`), none},
		{"comments and data of two lines", chat, exch(": wait\n\nretry: 3\ndata: {\"choices\":[{\"index\":0,\r\ndata:\"delta\":{\"content\":\"a\"},\r\ndata: \"finish_reason\":\"stop\"}]}\r\n\r\n"),
			`{"role":"assistant","content":"a"}`},
		{"an event that is not JSON", chat, "data: {\n\n" + chatStream(`{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}`), `{"role":"assistant","content":"a"}`},

		{"an error in the stream", anthropic, sse(`{"type":"message_start","message":{"model":"m"}}`, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"a"}}`,
			`{"type":"error","error":{"type":"overloaded_error"}}`), none},
		{"tools of the provider", anthropic, sse(
			`{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"s","name":"web_search","input":{}}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"query\":\"q\"}"}}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"web_search_tool_result","tool_use_id":"s","content":[]}}`,
			`{"type":"content_block_start","index":2,"content_block":{"type":"text","text":"a","citations":[]}}`,
			`{"type":"content_block_delta","index":2,"delta":{"type":"citations_delta","citation":{}}}`,
			`{"type":"message_stop"}`,
		), `{"role":"assistant","tool_calls":[{"id":"s","name":"web_search","arguments":{"query":"q"}}]}
{"role":"tool","content":"[]","tool_call_id":"s"}
{"role":"assistant","content":"a"}`},

		{"items but no output", responses, sse(`{"type":"response.output_item.done","item":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]}}`,
			`{"type":"response.completed","response":{"id":"r","status":"completed"}}`), `{"role":"assistant","content":"a"}`},
		{"cut by the limit of tokens", responses, `{"id":"r","status":"incomplete","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]}]}`,
			`{"role":"assistant","content":"a"}`},
		{"failed", responses, sse(`{"type":"response.failed","response":{"id":"r","status":"failed","output":[{"type":"message","role":"assistant","content":[]}]}}`), none},
		{"in the background", responses, `{"id":"r","status":"queued","output":[]}`, none},

		{"a list", google, exch("[" + gemini(`{"text":"a"}`, "") + ",\n" + gemini(`{"text":"b"}`, finish) + "]"), `{"role":"assistant","content":"ab"}`},
		{"several candidates", google, `{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"},{"index":1,"content":{"parts":[{"text":"b"}]}}]}`, none},
		{"an event without an end", google, exch("data: " + gemini(`{"text":"a"}`, finish)), `{"role":"assistant","content":"a"}`},
		{"blocked", google, `{"promptFeedback":{"blockReason":"SAFETY"}}`, none},
	} {
		t.Run(tt.wire.name+"/"+tt.name, func(t *testing.T) {
			transport := &llm.Transport{Base: model(tt.body)}
			result := inRun(t, func(ctx context.Context, _ *dispatch.Run) error {
				got, err := send(ctx, transport, tt.wire.path, tt.wire.ask)
				if got != string(tt.body) {
					t.Errorf("arrived %q", got)
				}
				return err
			})
			want := "{\"role\":\"system\",\"content\":\"Be brief.\"}\n{\"role\":\"user\",\"content\":\"Both orders.\"}\n"
			if tt.want != none {
				want += tt.want + "\n"
			}
			want += "{\"role\":\"assistant\",\"content\":\"Order 1 is shipped.\"}\n"
			if got := rows(t, result.Messages); got != want || len(result.Problems) > 0 {
				t.Errorf("%v, got\n%swant\n%s", result.Problems, got, want)
			}
		})
	}
}

// do sends a request and returns the response, whose body is not read.
func do(ctx context.Context, transport http.RoundTripper, path, body string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, "POST", "https://model.example.com"+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	return transport.RoundTrip(r)
}

// A request that the API rejects does not belong to the conversation: the agent may send another.
func TestRejectedRequests(t *testing.T) {
	transport := &llm.Transport{Base: roundTrip(func(r *http.Request) (*http.Response, error) {
		body, err := io.ReadAll(r.Body)
		resp := response(says("yes"))
		if strings.Contains(string(body), "too long") {
			resp.StatusCode = 400
		}
		return resp, err
	})}
	result := inRun(t, func(ctx context.Context, _ *dispatch.Run) error {
		for _, ask := range []string{chat("user a"), chat("user a", "assistant yes", "user too long"), chat("user a", "assistant yes", "user short")} {
			if _, err := send(ctx, transport, chatPath, ask); err != nil {
				return err
			}
		}
		return nil
	})
	want := "user " + instruction + "; user a; assistant yes; user short; assistant yes"
	if got := brief(result.Messages); got != want || len(result.Problems) > 0 {
		t.Errorf("%v, %s", result.Problems, got)
	}
	if m := metadata(t, result); m.Input != 2 {
		t.Errorf("metadata %+v", m)
	}
}

// A response that comes after the agent has gone on is not the answer to the later request.
func TestLateResponse(t *testing.T) {
	transport := &llm.Transport{Base: model(says("late"), says("yes"))}
	result := inRun(t, func(ctx context.Context, _ *dispatch.Run) error {
		first, err := do(ctx, transport, chatPath, chat("user a"))
		if err != nil {
			return err
		}
		second, err := do(ctx, transport, chatPath, chat("user a", "user b"))
		if err != nil {
			return err
		}
		for _, resp := range []*http.Response{second, first} {
			_, err = io.Copy(io.Discard, resp.Body)
			err = errors.Join(err, resp.Body.Close())
		}
		return err
	})
	if got := brief(result.Messages); got != "user "+instruction+"; user a; user b; assistant yes" || len(result.Problems) > 0 {
		t.Errorf("%v, %s", result.Problems, got)
	}
}

// An event that a broken connection has not ended does not count.
func TestBrokenEvent(t *testing.T) {
	w := wires[3]
	body := strings.TrimSuffix(string(w.final[1]), "\n\n")
	transport := &llm.Transport{Base: roundTrip(func(r *http.Request) (*http.Response, error) {
		_, err := io.Copy(io.Discard, r.Body)
		resp := response("data")
		resp.Body = io.NopCloser(io.MultiReader(strings.NewReader(body), failing{}))
		return resp, err
	})}
	result := inRun(t, func(ctx context.Context, _ *dispatch.Run) error {
		if _, err := send(ctx, transport, w.path, w.ask); err == nil {
			t.Error("the error of the connection is lost")
		}
		return nil
	})
	if m := metadata(t, result); m.Input != 0 || m.Model != "m-1-2026" {
		t.Errorf("metadata %+v", m)
	}
}

// Only 2xx responses are read.
func TestOtherStatuses(t *testing.T) {
	for _, status := range []int{199, 300, 308, 404, 503} {
		transport := &llm.Transport{Base: roundTrip(func(r *http.Request) (*http.Response, error) {
			_, err := io.Copy(io.Discard, r.Body)
			resp := response(says("no"))
			resp.StatusCode = status
			return resp, err
		})}
		result := inRun(t, func(ctx context.Context, _ *dispatch.Run) error {
			_, err := send(ctx, transport, chatPath, chat("user a"))
			return err
		})
		if result.Messages != nil || metadata(t, result).Input != 0 {
			t.Errorf("%d: %s", status, brief(result.Messages))
		}
	}
}

// Each format has its own counters. A gateway may add those of another format for the same tokens.
// Counts of one response only rise.
func TestTokens(t *testing.T) {
	for _, tt := range []struct {
		wire          wire
		body          exch
		input, output int64
	}{
		{wires[0], `{"model":"m","usage":{"prompt_tokens":50,"completion_tokens":5,"cache_read_input_tokens":40,"input_tokens":50,"output_tokens":5}}`, 50, 5},
		{wires[0], sse(`{"usage":{"prompt_tokens":50,"completion_tokens":5}}`, `{"usage":{"prompt_tokens":0,"completion_tokens":4}}`), 50, 5},
		{wires[0], `{"usage":{"prompt_tokens":99999999999999,"completion_tokens":-5}}`, 0, 0},
		{wires[1], `{"type":"message","usage":{"input_tokens":10,"cache_read_input_tokens":40,"cache_creation_input_tokens":7,"output_tokens":5,"prompt_tokens":57}}`, 57, 5},
		{wires[2], `{"id":"r","usage":{"input_tokens":50,"output_tokens":5,"prompt_tokens":50,"completion_tokens":5}}`, 50, 5},
		{wires[3], `{"usageMetadata":{"promptTokenCount":50,"candidatesTokenCount":5,"thoughtsTokenCount":3,"input_tokens":50}}`, 50, 8},
	} {
		transport := &llm.Transport{Base: model(tt.body)}
		result := inRun(t, func(ctx context.Context, _ *dispatch.Run) error {
			_, err := send(ctx, transport, tt.wire.path, tt.wire.ask)
			return err
		})
		if m := metadata(t, result); m.Input != tt.input || m.Output != tt.output {
			t.Errorf("%s: %d and %d tokens of %s", tt.wire.name, m.Input, m.Output, tt.body)
		}
	}
}

// The framing of a long stream does not count to the limit of what is kept.
func TestLongStream(t *testing.T) {
	padding := strings.Repeat("x", 1<<10)
	events := map[string]string{
		wires[0].name: `{"id":"` + padding + `","choices":[{"index":0,"delta":{"content":"a"}}]}`,
		wires[1].name: `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"},"padding":"` + padding + `"}`,
		wires[2].name: `{"type":"response.output_text.delta","delta":"a","obfuscation":"` + padding + `"}`,
		wires[3].name: `{"candidates":[{"content":{"role":"model","parts":[{"text":"a"}]}}],"responseId":"` + padding + `"}`,
	}
	for _, w := range wires {
		body := exch(strings.Repeat(string(sse(events[w.name])), 9<<10)) + w.final[1]
		transport := &llm.Transport{Base: model(body)}
		result := inRun(t, func(ctx context.Context, _ *dispatch.Run) error {
			got, err := send(ctx, transport, w.path, w.ask)
			if got != string(body) {
				t.Errorf("%d bytes arrived", len(got))
			}
			return err
		})
		if got := brief(result.Messages); len(result.Problems) > 0 || (w.name == wires[0].name || w.name == wires[3].name) && !strings.Contains(got, "assistant aaa") {
			t.Errorf("%s: %v, %.300s", w.name, result.Problems, got)
		}
	}
}

// An id that is made for a call does not repeat one of the conversation.
func TestMadeIDsContinue(t *testing.T) {
	call := func(tool string) exch {
		return exch(`{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"` + tool + `"}}]},"finishReason":"STOP"}]}`)
	}
	transport := &llm.Transport{Base: model(call("f"), call("g"))}
	result := inRun(t, func(ctx context.Context, _ *dispatch.Run) error {
		const first = `{"role":"user","parts":[{"text":"a"}]}`
		for _, contents := range []string{first, first + `,{"role":"model","parts":[{"functionCall":{"name":"f"}}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{}}}]}`} {
			if _, err := send(ctx, transport, "/v1beta/models/m:generateContent", `{"contents":[`+contents+`]}`); err != nil {
				return err
			}
		}
		return nil
	})
	if got := rows(t, result.Messages); strings.Count(got, `"id":"call_1"`) != 1 || strings.Count(got, `"id":"call_2","name":"g"`) != 1 {
		t.Errorf("got\n%s", got)
	}
}

// An SDK may close the body while it reads.
func TestCloseWhileReading(t *testing.T) {
	for range 50 {
		body, server := io.Pipe()
		go func() {
			for {
				if _, err := io.WriteString(server, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n"); err != nil {
					return
				}
			}
		}()
		transport := &llm.Transport{Base: roundTrip(func(r *http.Request) (*http.Response, error) {
			_, err := io.Copy(io.Discard, r.Body)
			resp := response("data")
			resp.Body = body
			return resp, err
		})}
		inRun(t, func(ctx context.Context, _ *dispatch.Run) error {
			resp, err := do(ctx, transport, chatPath, chat("user a"))
			if err != nil {
				return err
			}
			read, done := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(done)
				_, _ = io.ReadFull(resp.Body, make([]byte, 500))
				close(read)
				_, _ = io.Copy(io.Discard, resp.Body)
			}()
			<-read
			err = resp.Body.Close()
			<-done
			return err
		})
	}
}
