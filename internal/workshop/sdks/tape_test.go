package sdks

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/cassette"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/llm"
	"github.com/toolwire/toolwire/dispatch/llm/llmtest"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// A run of an agent with each SDK is recorded once, with its tools and its model, and replayed in a
// bubble when the server of the model is gone.
func TestTape(t *testing.T) {
	variants(t, func(t *testing.T, s sdk, stream bool) {
		path, url := filepath.Join(t.TempDir(), "run.jsonl"), ""
		dispatched := func(t *testing.T, mode cassette.Mode, base http.RoundTripper) *dispatchtest.Result {
			tape := cassette.Open(t, path, &cassette.Options{Mode: mode})
			client := &http.Client{Transport: &llm.Transport{Base: tape.Model(base)}}
			agent := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
				c := s.talk(t, url, client, stream)
				c.user(run.Instruction)
				for {
					r, err := c.ask(ctx)
					if err != nil {
						return nil, err
					}
					if len(r.calls) == 0 {
						return &dispatch.Response{FinalResponse: r.text}, nil
					}
					for _, call := range r.calls {
						got, err := run.Proxy.CallForModel(ctx, call.name, json.RawMessage(call.arguments))
						if err != nil {
							return nil, err
						}
						c.result(call, got.Text)
					}
				}
			}
			return dispatchtest.Run(t, dispatchtest.Target{Agent: agent}, dispatchtest.Task{
				Instruction: "Refund #4521 and #77.", WrapProxy: tape.Wrap,
				World: proxytest.World{Behaviors: map[string]proxytest.Behavior{
					"get_order": proxytest.Lookup("order_id", map[string]string{"4521": `{"status":"shipped"}`, "*": `{"error":"not found"}`}),
				}},
			})
		}
		var recorded, replayed *dispatchtest.Result
		t.Run("record", func(t *testing.T) {
			steps := []llmtest.Step{
				llmtest.Turn(llmtest.Thinking("Two orders."), llmtest.Text("I look."),
					llmtest.Call("call_1", "get_order", `{"order_id":"4521"}`), llmtest.Call("call_2", "get_order", `{"order_id":"77"}`)),
				llmtest.Text(long),
			}
			if s.attempts > 1 {
				steps = append([]llmtest.Step{llmtest.Error(503)}, steps...)
			}
			model := llmtest.NewServer(t, steps...)
			url = model.URL
			recorded = dispatched(t, cassette.Record, model.Client().Transport)
		})
		recording, err := os.ReadFile(path)
		if text := string(recording); err != nil || strings.Contains(text, "123456789012") || strings.Contains(text, "AKIDMADEUP") || strings.Contains(text, key) {
			t.Errorf("%v, the tape shows an account or a key", err)
		}
		t.Run("replay", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { replayed = dispatched(t, cassette.Replay, nil) })
		})
		for _, r := range []*dispatchtest.Result{recorded, replayed} {
			r.AssertOK(t)
			r.AssertFinalResponse(t, long)
			r.AssertCalledTimes(t, "get_order", 2)
		}
		if !reflect.DeepEqual(recorded.Messages, replayed.Messages) || len(replayed.Messages) < 5 || len(recorded.ModelRequests) != len(replayed.ModelRequests) {
			t.Errorf("%v\n%v", recorded, replayed)
		}
	})
}

// An error of the model is the same in a replay, and the error of a request that is not on the tape says so in plain words.
func TestErrorsOfTapes(t *testing.T) {
	variants(t, func(t *testing.T, s sdk, stream bool) {
		path, url := filepath.Join(t.TempDir(), "run.jsonl"), ""
		fail := func(t *testing.T, mode cassette.Mode, base http.RoundTripper, prompt string) error {
			tape, err := cassette.New(path, &cassette.Options{Mode: mode})
			if err != nil {
				t.Fatal(err)
			}
			defer tape.Close()
			c := s.talk(t, url, &http.Client{Transport: tape.Model(base)}, stream)
			c.user(prompt)
			_, err = c.ask(t.Context())
			return err
		}
		var recorded, replayed, refused error
		t.Run("record", func(t *testing.T) {
			model := llmtest.NewServer(t, llmtest.Error(403))
			url = model.URL
			recorded = fail(t, cassette.Record, model.Client().Transport, "hi")
		})
		synctest.Test(t, func(t *testing.T) {
			replayed = fail(t, cassette.Replay, nil, "hi")
			refused = fail(t, cassette.Replay, nil, "ho")
		})
		// The id of a request is not on the tape.
		plain := func(err error) string {
			return regexp.MustCompile(` \(Request-ID: [^)]*\)|RequestID: [^,]*`).ReplaceAllString(said(err), "")
		}
		if status(recorded) != 403 || plain(replayed) != plain(recorded) {
			t.Errorf("recorded %v\nreplayed %v", recorded, replayed)
		}
		if text := said(refused); status(refused) != 400 || !strings.Contains(text, "cassette: the request") || strings.Contains(text, "UnknownError") ||
			s.name == "ollama" && strings.Contains(text, "{") {
			t.Errorf("refused %v", refused)
		}
	})
}
