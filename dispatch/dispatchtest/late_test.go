package dispatchtest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/llm"
	"github.com/toolwire/toolwire/dispatch/llm/llmtest"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// Agents with sub-agents go on after their time, or after their peer has hung up, in the middle of streams and calls.
// Meanwhile the handler, its observer, the test and the next turn read what they write. The race detector sees the rest.
func TestAgentsThatGoOnWhileTheirRunsAreRead(t *testing.T) {
	model := llmtest.NewModel()
	for range 400 {
		model.For("", llmtest.Text("A text that a stream sends in several events.").Every(time.Millisecond))
	}
	sdk := &http.Client{Transport: &llm.Transport{Base: model.Client().Transport}}
	ask := func(ctx context.Context, rows string) {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, model.URL+"/chat/completions",
			strings.NewReader(`{"model":"m","stream":true,"messages":[`+rows+`]}`))
		if err != nil {
			t.Error(err)
		} else if response, err := sdk.Do(r); err == nil {
			defer time.AfterFunc(10*time.Millisecond, func() { _ = response.Body.Close() }).Stop() // perhaps in the middle
			_, _ = io.Copy(io.Discard, response.Body)
		}
	}
	agent := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		over := time.Now().Add(300 * time.Millisecond) // in any case
		var subAgents sync.WaitGroup
		for i, ctx := range []context.Context{ctx, context.WithoutCancel(ctx)} {
			subAgents.Go(func() {
				ctx, rows := proxy.WithActor(ctx, fmt.Sprint(i)), `{"role":"user","content":"a"}`
				for ; time.Now().Before(over); rows += `,{"role":"assistant","content":"b"},{"role":"user","content":"c"}` {
					ask(ctx, rows)
					_, _ = proxy.Each(ctx, []string{"1", "2", "3"}, func(ctx context.Context, id string) (toolwire.ModelResult, error) {
						return run.Proxy.CallForModel(proxy.WithCallID(ctx, id), "slow", `{}`)
					})
				}
			})
		}
		for transcript := run.Transcript(); time.Now().Before(over); time.Sleep(time.Millisecond) {
			transcript.Add(dispatch.Message{Role: dispatch.RoleAssistant, Content: dispatch.Text("d"),
				ToolCalls: []dispatch.ToolCall{{ID: "e", Name: "slow"}}})
			for _, m := range transcript.Messages() {
				clear(m.ToolCalls)
			}
			_ = run.Err()
		}
		subAgents.Wait()
		return run.Transcript().Response("Done."), nil
	}
	read := func(run *dispatch.Run) *dispatch.Response { return run.Transcript().Response("Late.") }
	options := &dispatch.Options{InsecureNoAuth: true, RunTimeout: 100 * time.Millisecond, Reserve: 20 * time.Millisecond, TimeoutResponse: read,
		Observer: &dispatch.Observer{RunEnd: func(_ context.Context, end dispatch.RunEnd) {
			for range 10 {
				_ = fmt.Sprint(read(end.Run), end.Problems, end.Metadata)
			}
		}}}
	for _, hangUp := range []time.Duration{50 * time.Millisecond, time.Minute} {
		platform := proxytest.NewPlatform(t, proxytest.World{
			Behaviors: map[string]proxytest.Behavior{"slow": func(r *proxytest.Request) (any, error) {
				time.Sleep(2 * time.Millisecond)
				return r.Number, r.Apply()
			}},
		}, &proxytest.Options{RatePerMinute: -1})
		h, err := dispatch.New(agent, options)
		if err != nil {
			t.Fatal(err)
		}
		var reader sync.WaitGroup
		ctx, cancel := context.WithTimeout(t.Context(), hangUp)
		result, err := dispatchtest.Dispatch(ctx, dispatchtest.Target{Handler: h}, dispatchtest.Task{Platform: platform, Instruction: "a",
			Conversation: &dispatchtest.Conversation{UserTurns: []string{"b"}},
			OnRun: func(run *proxytest.Run) {
				reader.Go(func() {
					for range 20 {
						_, _ = run.Log().String(), run.Ledger().Snapshot().Hash()
						time.Sleep(5 * time.Millisecond)
					}
				})
			}})
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := json.Marshal(result); err != nil || result.String() == "" || result.OK() {
			t.Errorf("%v: %s", err, result)
		}
		reader.Wait()
		if err := h.Drain(t.Context()); err != nil { // until the agents have returned
			t.Error(err)
		}
	}
}
