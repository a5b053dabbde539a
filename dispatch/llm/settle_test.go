package llm_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/llm"
	"github.com/toolwire/toolwire/proxy"
)

// However an agent ends while it reads a stream, the transcript has what came before, and a problem tells that the
// answer is missing. The agent can read the stream to its end afterwards. Then the transcript has the answer.
func TestAgentsThatEndInAStream(t *testing.T) {
	for name, end := range map[string]func(ctx context.Context, hangUp func()) error{
		"timeout": func(ctx context.Context, _ func()) error { <-ctx.Done(); return ctx.Err() },
		"ignored": func(context.Context, func()) error { time.Sleep(time.Hour); return nil },
		"panic":   func(context.Context, func()) error { panic("no") },
		"failure": func(context.Context, func()) error { return io.ErrUnexpectedEOF },
		"cancel":  func(ctx context.Context, hangUp func()) error { hangUp(); <-ctx.Done(); return ctx.Err() },
	} {
		synctest.Test(t, func(t *testing.T) {
			events := eventsOf(wires[0].final[1])
			body, provider := io.Pipe()
			transport := &llm.Transport{Base: roundTrip(func(r *http.Request) (*http.Response, error) {
				sent, err := io.ReadAll(r.Body)
				resp := response(says("yes"))
				if strings.Contains(string(sent), "more") {
					resp.Body = body
				}
				return resp, err
			})}
			ctx, hangUp := context.WithCancel(t.Context())
			defer hangUp()
			open := make(chan *http.Response, 1)
			var ended dispatch.RunEnd
			h, err := dispatch.New(func(ctx context.Context, _ *dispatch.Run) (*dispatch.Response, error) {
				if _, err := send(ctx, transport, chatPath, chat("user "+instruction)); err != nil {
					return nil, err
				}
				resp, err := do(ctx, transport, chatPath, chat("user "+instruction, "assistant yes", "user more"))
				if err != nil {
					return nil, err
				}
				go func() { _, _ = io.WriteString(provider, events[0]) }()
				if _, err := resp.Body.Read(make([]byte, len(events[0]))); err != nil {
					return nil, err
				}
				open <- resp
				return nil, end(ctx, hangUp)
			}, &dispatch.Options{InsecureNoAuth: true, RunTimeout: time.Minute, Observer: &dispatch.Observer{
				RunEnd: func(_ context.Context, end dispatch.RunEnd) { ended = end },
			}})
			if err != nil {
				t.Fatal(err)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest("POST", "/", strings.NewReader(
				`{"odyssey_proxy_url":"https://api.example.com/runs/1","run_token":"token","input":{"user_instruction":"`+instruction+`"}}`)).WithContext(ctx))
			const want = "user " + instruction + "; assistant yes; user more"
			messages := ended.Run.Transcript().Messages()
			if got := brief(append(messages, dispatch.Message{})); got != want {
				t.Errorf("%s: got %s, want %s", name, got, want)
			}
			if answered := name == "timeout" || name == "ignored"; answered != ended.TimedOut ||
				answered && (w.Code != http.StatusOK || strings.Count(fmt.Sprint(ended.Problems), "it has not ended") != 1) {
				t.Errorf("%s: %d %s, %+v", name, w.Code, w.Body, ended)
			}
			go func() {
				_, err := io.WriteString(provider, strings.Join(events[1:], ""))
				_ = provider.CloseWithError(err)
			}()
			if rest, err := io.ReadAll((<-open).Body); err != nil || string(rest) != strings.Join(events[1:], "") {
				t.Errorf("%s: then %q, %v", name, rest, err)
			}
			if got := brief(append(ended.Run.Transcript().Messages(), dispatch.Message{})); got != want+"; assistant Order 1 is shipped." {
				t.Errorf("%s: then %s", name, got)
			}
			time.Sleep(2 * time.Hour) // until each agent has returned
		})
	}
}

// The transcript can be read while the streams of several sub-agents are read. It only grows.
func TestTranscriptWhileStreamsAreRead(t *testing.T) {
	const subAgents, turns = 4, 10
	transport := &llm.Transport{Base: roundTrip(func(r *http.Request) (*http.Response, error) {
		_, err := io.Copy(io.Discard, r.Body)
		resp := response("")
		resp.Body = io.NopCloser(&pieces{string(sse(`{"choices":[{"index":0,"delta":{"content":"ye"}}]}`,
			`{"choices":[{"index":0,"delta":{"content":"s"},"finish_reason":"stop"}]}`, "[DONE]")), 20})
		return resp, err
	})}
	result := inRun(t, func(ctx context.Context, run *dispatch.Run) error {
		var agents sync.WaitGroup
		errs := make(chan error, subAgents)
		for i := range subAgents {
			agents.Go(func() {
				ctx := proxy.WithActor(ctx, fmt.Sprint(i))
				asked := []string{"user a"}
				for range turns {
					if _, err := send(ctx, transport, chatPath, chat(asked...)); err != nil {
						errs <- err
						return
					}
					asked = append(asked, "assistant yes", "user more")
				}
			})
		}
		done := make(chan struct{})
		go func() { agents.Wait(); close(done); close(errs) }()
		for known, over := 0, false; !over; {
			select {
			case <-done:
				over = true
			default:
			}
			now := len(run.Transcript().Messages())
			if now < known {
				t.Errorf("%d messages after %d", now, known)
			}
			known = now
		}
		return <-errs
	})
	if got := strings.Count(brief(result.Messages), "assistant yes"); got != subAgents*turns || len(result.Problems) > 0 {
		t.Errorf("%d answers, want %d; %v", got, subAgents*turns, result.Problems)
	}
}
