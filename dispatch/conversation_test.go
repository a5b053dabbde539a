package dispatch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/proxy"
)

func says(role dispatch.Role, text string) dispatch.Message {
	return dispatch.Message{Role: role, Content: dispatch.Text(text)}
}

// thinks is a message with a reasoning block.
func thinks(text string) dispatch.Message {
	block, err := json.Marshal(struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}{"text", text})
	if err != nil {
		panic(err)
	}
	return dispatch.Message{Role: dispatch.RoleAssistant, Thinking: []json.RawMessage{block}}
}

// brief writes messages in a short form: role, text, calls and what a tool message answers.
func brief(messages []dispatch.Message) string {
	var b strings.Builder
	for _, m := range messages {
		fmt.Fprintf(&b, "%s", m.Role)
		if m.ToolCallID != "" {
			fmt.Fprintf(&b, "(%s)", m.ToolCallID)
		}
		if text := m.Content.String(); text != "" {
			fmt.Fprintf(&b, " %s", text)
		}
		for _, c := range m.ToolCalls {
			fmt.Fprintf(&b, " [%s %s %s]", c.ID, c.Name, c.Arguments)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// answered runs an agent, and returns what was sent and how many messages were not.
func answered(
	t testing.TB, agent func(context.Context, *dispatch.Run, *dispatch.Transcript), opts ...func(*dispatch.Options),
) (sent []dispatch.Message, removed int) {
	t.Helper()
	h := newHandler(t, func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		agent(ctx, run, run.Transcript())
		return &dispatch.Response{FinalResponse: "Done."}, nil
	}, append(opts, func(o *dispatch.Options) {
		o.Observer = &dispatch.Observer{RunEnd: func(_ context.Context, end dispatch.RunEnd) { removed = notSent(t, end.Problems) }}
	})...)
	return dispatch.CheckResponse(post(h, seedBody, nil).Body.Bytes()).Messages, removed
}

// notSent returns the number in the problem messages_removed, or 0.
func notSent(t testing.TB, problems []dispatch.Problem) (n int) {
	t.Helper()
	for _, p := range problems {
		if p.Pointer != "/messages" {
			continue
		}
		const text = "has more than 1 MiB of JSON or 1,000 messages: %d are not sent"
		if _, err := fmt.Sscanf(p.Message, text, &n); err != nil || p.Code != "messages_removed" {
			t.Errorf("problem %v", p)
		}
	}
	return n
}

func TestSetConversation(t *testing.T) {
	const a, b = "get_order", "get_customer"
	do := func(ctx context.Context, run *dispatch.Run, id, tool, arguments string) {
		t.Helper()
		if id != "" {
			ctx = proxy.WithCallID(ctx, id)
		}
		if _, err := run.Proxy.Do(ctx, tool, json.RawMessage(arguments)); err != nil {
			t.Error(err)
		}
	}
	for _, tt := range []struct {
		name  string
		agent func(context.Context, *dispatch.Run, *dispatch.Transcript)
		want  string
	}{
		{"whole", func(ctx context.Context, run *dispatch.Run, tr *dispatch.Transcript) {
			m := []dispatch.Message{says("system", "Be brief."), says("user", "Refund order 4521.")}
			dispatch.RecorderOf(tr).SetConversation(ctx, m)
			m = append(m, calling(call("m1", a, `{"n":1}`), call("m2", b, `{"n":2}`)))
			dispatch.RecorderOf(tr).SetConversation(ctx, m)
			do(ctx, run, "m1", a, `{"n":1}`)
			do(ctx, run, "m2", b, `{"n":2}`)
			m = append(m, result("m1", `"one"`), result("m2", `"two"`), says("assistant", "Done."))
			dispatch.RecorderOf(tr).SetConversation(ctx, m)
		}, `
system Be brief.
user Refund order 4521.
assistant [m1 get_order {"n":1}] [m2 get_customer {"n":2}]
tool(m1) one
tool(m2) two
assistant Done.
`},
		{"results that the model has not read yet", func(ctx context.Context, run *dispatch.Run, tr *dispatch.Transcript) {
			dispatch.RecorderOf(tr).SetConversation(ctx, []dispatch.Message{
				says("user", "Refund order 4521."), calling(call("m1", a, `{"n":1}`), call("m2", b, `{"n":2}`)),
				result("m1", `"one"`),
			})
			do(ctx, run, "m1", a, `{"n":1}`)
			do(ctx, run, "m2", b, `{"n":2}`)
		}, `
user Refund order 4521.
assistant [m1 get_order {"n":1}] [m2 get_customer {"n":2}]
tool(m2) {"n":2}
tool(m1) one
assistant Done.
`},
		{"calls without the model's id", func(ctx context.Context, run *dispatch.Run, tr *dispatch.Transcript) {
			do(ctx, run, "", a, `{"n":0}`)
			do(ctx, run, "", a, `{"n":1}`)
			dispatch.RecorderOf(tr).SetConversation(ctx, []dispatch.Message{
				says("user", "Refund order 4521."), calling(call("call_1", a, `"{ \"n\":1}"`)),
				result("call_1", `"one"`),
			})
		}, `
user Refund order 4521.
assistant [call_1 get_order "{ \"n\":1}"]
tool(call_1) one
assistant [call_3 get_order {"n":0}]
tool(call_3) {"n":0}
assistant Done.
`},
		{"the last one counts", func(ctx context.Context, run *dispatch.Run, tr *dispatch.Transcript) {
			dispatch.RecorderOf(tr).SetConversation(ctx, []dispatch.Message{
				says("user", "Refund order 4521."), calling(call("m1", a, `{"n":1}`)), result("m1", `"one"`),
			})
			do(ctx, run, "m1", a, `{"n":1}`)
			dispatch.RecorderOf(tr).SetConversation(ctx, []dispatch.Message{says("user", "Summary of Refund order 4521.: done")})
		}, `
user Summary of Refund order 4521.: done
assistant [m1 get_order {"n":1}]
tool(m1) {"n":1}
assistant Done.
`},
		{"none", func(ctx context.Context, run *dispatch.Run, tr *dispatch.Transcript) {
			dispatch.RecorderOf(tr).SetConversation(ctx, []dispatch.Message{
				says("user", "Refund order 4521."), calling(call("m1", a, `{"n":1}`)), result("m1", `"one"`),
			})
			do(ctx, run, "m1", a, `{"n":1}`)
			dispatch.RecorderOf(tr).SetConversation(ctx, nil)
		}, `
user Refund order 4521.
assistant [m1 get_order {"n":1}]
tool(m1) {"n":1}
assistant Done.
`},
		{"two labels with equal ids", func(ctx context.Context, run *dispatch.Run, tr *dispatch.Transcript) {
			dispatch.RecorderOf(tr).SetConversation(ctx, []dispatch.Message{says("user", "Refund order 4521.")})
			for _, actor := range []string{"refunds", "orders"} {
				sub := proxy.WithActor(ctx, actor)
				dispatch.RecorderOf(tr).SetConversation(proxy.WithActor(ctx, actor), []dispatch.Message{
					says("user", actor), calling(call("c0", a, `{"of":"`+actor+`"}`)),
				})
				do(sub, run, "c0", a, `{"of":"`+actor+`"}`)
			}
			dispatch.RecorderOf(tr).SetConversation(proxy.WithActor(ctx, "refunds"), []dispatch.Message{
				says("user", "refunds"), calling(call("c0", a, `{"of":"refunds"}`)), result("c0", `"of refunds"`),
			})
			dispatch.RecorderOf(tr).SetConversation(ctx, []dispatch.Message{
				says("user", "Refund order 4521."), says("assistant", "I have asked both."),
			})
		}, `
user Refund order 4521.
assistant I have asked both.
user refunds
assistant [c0 get_order {"of":"refunds"}]
tool(c0) of refunds
user orders
assistant [c0 get_order {"of":"orders"}]
tool(c0) {"of":"orders"}
assistant Done.
`},
		{"two labels with equal ids, called in another order", func(ctx context.Context, run *dispatch.Run, tr *dispatch.Transcript) {
			for _, actor := range []string{"refunds", "orders"} {
				dispatch.RecorderOf(tr).SetConversation(proxy.WithActor(ctx, actor), []dispatch.Message{says("user", actor), calling(call("c0", a, `{}`))})
			}
			for _, actor := range []string{"orders", "refunds"} {
				do(proxy.WithActor(ctx, actor), run, "c0", a, `{"of":"`+actor+`"}`)
			}
			dispatch.RecorderOf(tr).SetConversation(ctx, []dispatch.Message{says("user", "Refund order 4521.")})
		}, `
user Refund order 4521.
user refunds
assistant [c0 get_order {}]
tool(c0) {"of":"refunds"}
user orders
assistant [c0 get_order {}]
tool(c0) {"of":"orders"}
assistant Done.
`},
		{"a result belongs to the last message with its id", func(ctx context.Context, run *dispatch.Run, tr *dispatch.Transcript) {
			do(ctx, run, "c0", a, `{"n":1}`)
			do(ctx, run, "c0", a, `{"n":2}`)
			dispatch.RecorderOf(tr).SetConversation(ctx, []dispatch.Message{
				says("user", "Refund order 4521."), calling(call("c0", a, `{"n":1}`)), says("user", "The other."),
				calling(call("c0", a, `{"n":2}`)), result("c0", `"two"`),
			})
		}, `
user Refund order 4521.
assistant [c0 get_order {"n":1}]
tool(c0) {"n":1}
user The other.
assistant [c0 get_order {"n":2}]
tool(c0) two
assistant Done.
`},
		{"and there to the first call", func(ctx context.Context, run *dispatch.Run, tr *dispatch.Transcript) {
			do(ctx, run, "c0", a, `{"n":1}`)
			do(ctx, run, "c0", a, `{"n":2}`)
			dispatch.RecorderOf(tr).SetConversation(ctx, []dispatch.Message{
				says("user", "Refund order 4521."), calling(call("c0", a, `{"n":1}`), call("c0", a, `{"n":2}`)),
				result("c0", `"one"`),
			})
		}, `
user Refund order 4521.
assistant [c0 get_order {"n":1}] [c0 get_order {"n":2}]
tool(c0) {"n":2}
tool(c0) one
assistant Done.
`},
		{"a second result belongs to the message before", func(ctx context.Context, run *dispatch.Run, tr *dispatch.Transcript) {
			do(ctx, run, "c0", a, `{"n":1}`)
			do(ctx, run, "c0", a, `{"n":2}`)
			dispatch.RecorderOf(tr).SetConversation(ctx, []dispatch.Message{
				says("user", "Refund order 4521."), calling(call("c0", a, `{"n":1}`)), calling(call("c0", a, `{"n":2}`)),
				result("c0", `"two"`), result("c0", `"one"`),
			})
		}, `
user Refund order 4521.
assistant [c0 get_order {"n":1}]
assistant [c0 get_order {"n":2}]
tool(c0) two
tool(c0) one
assistant Done.
`},
		{"the agent answers after its sub-agent", func(ctx context.Context, _ *dispatch.Run, tr *dispatch.Transcript) {
			dispatch.RecorderOf(tr).SetConversation(ctx, []dispatch.Message{says("user", "Refund order 4521.")})
			dispatch.RecorderOf(tr).SetConversation(proxy.WithActor(ctx, "refunds"), []dispatch.Message{says("user", "4521"), says("assistant", "Refunded.")})
			dispatch.RecorderOf(tr).SetConversation(ctx, []dispatch.Message{says("user", "Refund order 4521."), says("assistant", "Done.")})
		}, `
user Refund order 4521.
user 4521
assistant Refunded.
assistant Done.
`},
		{"the prompt among other text", func(ctx context.Context, _ *dispatch.Run, tr *dispatch.Transcript) {
			dispatch.RecorderOf(tr).SetConversation(ctx, []dispatch.Message{
				says("user", "The customer writes: Refund order 4521. Answer politely."),
			})
		}, `
user The customer writes: Refund order 4521. Answer politely.
assistant Done.
`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHandler(t, func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
				tt.agent(ctx, run, run.Transcript())
				return &dispatch.Response{FinalResponse: "Done."}, nil
			}, slow)
			const instruction = "Refund order #4521 if it shipped more than 30 days ago."
			body := strings.Replace(seedBody, instruction, "Refund order 4521.", 1)
			sent := dispatch.CheckResponse(post(h, body, nil).Body.Bytes())
			if len(sent.Problems) > 0 {
				t.Error(sent.Problems)
			}
			if got := "\n" + brief(sent.Messages); got != tt.want {
				t.Errorf("got%swant%s", got, tt.want)
			}
		})
	}
}

// A conversation of a later turn begins with what the session replays or the agent remembers.
func TestSetConversationInASession(t *testing.T) {
	for name, input := range map[string]string{
		"replay": `{"turn_id":"2","user_instruction":"And order 4522?",` +
			`"messages":[{"role":"user","content":"Refund order 4521."},{"role":"assistant","content":"Done."}]}`,
		"stateful": `{"session_id":"s1","turn_id":"2","user_instruction":"And order 4522?"}`,
	} {
		t.Run(name, func(t *testing.T) {
			h := newHandler(t, func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
				dispatch.RecorderOf(run.Transcript()).SetConversation(ctx, []dispatch.Message{
					says("system", "Be brief."), says("user", "Refund order 4521."), calling(call("m1", "refund", `{}`)),
					result("m1", `"ok"`),
					says("assistant", "Done."), says("user", "And order 4522?"), calling(call("m2", "refund", `{}`)),
					result("m2", `"no"`),
				})
				return &dispatch.Response{FinalResponse: "That one not."}, nil
			})
			body := `{"odyssey_proxy_url":"https://api.example.com/runs/abc","input":` + input + `}`
			sent := dispatch.CheckResponse(post(h, body, nil).Body.Bytes())
			want := `system Be brief.
user And order 4522?
assistant [m2 refund {}]
tool(m2) no
assistant That one not.
`
			if got := brief(sent.Messages); got != want || len(sent.Problems) > 0 {
				t.Errorf("got\n%s%v", got, sent.Problems)
			}
		})
	}
}

// The turn begins with the prompt that the conversation had first: a later message may repeat it.
func TestSetConversationWithReminders(t *testing.T) {
	for name, earlier := range map[string][]dispatch.Message{
		"first turn": {says("system", "Be brief.")},
		"later turn": {says("system", "Be brief."), says("user", "Hello."), says("assistant", "Hello.")},
	} {
		h := newHandler(t, func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			tr := run.Transcript()
			m := append(earlier, says("user", run.Instruction))
			dispatch.RecorderOf(tr).SetConversation(ctx, m)
			m = append(m, calling(call("m1", "refund", `{}`)), result("m1", `"ok"`), says("user", "Remember the task: "+run.Instruction))
			dispatch.RecorderOf(tr).SetConversation(ctx, m)
			dispatch.RecorderOf(tr).SetConversation(ctx, append(m, says("assistant", "Yes.")))
			return &dispatch.Response{FinalResponse: "Done."}, nil
		})
		body := `{"odyssey_proxy_url":"https://api.example.com/runs/abc","input":` +
			`{"session_id":"s1","turn_id":"2","user_instruction":"And order 4522?"}}`
		sent := dispatch.CheckResponse(post(h, body, nil).Body.Bytes())
		want := `system Be brief.
user And order 4522?
assistant [m1 refund {}]
tool(m1) ok
user Remember the task: And order 4522?
assistant Yes.
assistant Done.
`
		if got := brief(sent.Messages); got != want || len(sent.Problems) > 0 {
			t.Errorf("%s: got\n%s%v", name, got, sent.Problems)
		}
	}
}

// The turn of a session begins at the last message that has the prompt, and there again if the agent
// shortens its history.
func TestSetConversationThatGetsShorter(t *testing.T) {
	prompt, before := says("user", "And order 4522?"), says("user", "Refund order 4521.")
	for _, tt := range []struct {
		name          string
		first, second []dispatch.Message
		want          string
	}{
		{"an earlier turn had the same prompt", nil, []dispatch.Message{prompt, says("assistant", "No."), prompt, says("assistant", "Yes.")},
			"user And order 4522?\nassistant Yes.\nassistant Done.\n"},
		{"fewer messages", []dispatch.Message{before, says("assistant", "Done."), before, says("assistant", "Done."), prompt},
			[]dispatch.Message{says("user", "So far: 4521."), prompt, says("assistant", "Yes.")},
			"user And order 4522?\nassistant Yes.\nassistant Done.\n"},
		{"as many messages", []dispatch.Message{before, prompt, says("assistant", "Yes.")},
			[]dispatch.Message{before, says("assistant", "Done."), prompt},
			"user And order 4522?\nassistant Done.\n"},
		{"without the prompt", []dispatch.Message{before, prompt}, []dispatch.Message{says("user", "So far: 4521.")},
			"user And order 4522?\nuser So far: 4521.\nassistant Done.\n"},
	} {
		h := newHandler(t, func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			if tt.first != nil {
				dispatch.RecorderOf(run.Transcript()).SetConversation(ctx, tt.first)
			}
			dispatch.RecorderOf(run.Transcript()).SetConversation(ctx, tt.second)
			return &dispatch.Response{FinalResponse: "Done."}, nil
		})
		body := `{"odyssey_proxy_url":"https://api.example.com/runs/abc","input":` +
			`{"session_id":"s1","turn_id":"2","user_instruction":"And order 4522?"}}`
		if got := brief(dispatch.CheckResponse(post(h, body, nil).Body.Bytes()).Messages); got != tt.want {
			t.Errorf("%s: got\n%swant\n%s", tt.name, got, tt.want)
		}
	}
}

// The conversation and the recorded calls that it contains count once. What does not fit is left out
// at the end, and a shorter conversation has room again.
func TestSetConversationIsBounded(t *testing.T) {
	text := strings.Repeat("x", 60<<10)
	for name, more := range map[string]int{"0.7 MiB": 0, "1.5 MiB": 400, "1.5 MiB, then 0.7 MiB": -400} {
		var whole []dispatch.Message
		sent, removed := answered(t, func(ctx context.Context, run *dispatch.Run, tr *dispatch.Transcript) {
			m := []dispatch.Message{says("user", run.Instruction)}
			for i := range 12 {
				id := fmt.Sprintf("m%d", i)
				m = append(m, calling(call(id, "get_order", `{}`)))
				dispatch.RecorderOf(tr).SetConversation(ctx, m)
				got, err := proxy.Call[json.RawMessage](proxy.WithCallID(ctx, id), run.Proxy, "get_order", map[string]string{"text": text})
				if err != nil {
					t.Error(err)
				}
				m = append(m, result(id, strconv.Quote(string(got))))
			}
			long := m
			for range max(more, -more) {
				long = append(long, says("assistant", text[:2<<10]))
			}
			dispatch.RecorderOf(tr).SetConversation(ctx, long)
			if whole = long; more < 0 {
				dispatch.RecorderOf(tr).SetConversation(ctx, m)
				whole = m
			}
		}, slow)
		size := 0
		for _, m := range sent {
			one, err := json.Marshal(m)
			if err != nil {
				t.Error(err)
			}
			size += len(one) + 1
		}
		if (removed > 0) != (more > 0) || len(sent)+removed != len(whole)+1 || size > 1<<20 || more > 0 && size < 1<<20-3<<10 {
			t.Errorf("%s: %d bytes of %d messages; %d were left out of %d", name, size, len(sent), removed, len(whole))
		}
	}
}

// A call and its result count as the two messages that they are.
func TestSetConversationOfManyCalls(t *testing.T) {
	for turns, want := range map[int]int{499: 0, 500: 2, 1000: 1002} {
		_, removed := answered(t, func(ctx context.Context, run *dispatch.Run, tr *dispatch.Transcript) {
			m := []dispatch.Message{says("user", run.Instruction)}
			for i := range turns {
				id := fmt.Sprintf("m%d", i)
				m = append(m, calling(call(id, "get_order", `{}`)), result(id, `"shipped"`))
			}
			dispatch.RecorderOf(tr).SetConversation(ctx, m)
		})
		if removed != want {
			t.Errorf("%d calls: %d messages were left out, want %d", turns, removed, want)
		}
	}
}

// Messages that are added later stand beside the conversation.
func TestSetConversationAndAdd(t *testing.T) {
	h := newHandler(t, func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		tr := run.Transcript()
		conversation := []dispatch.Message{
			says("user", run.Instruction), calling(call("m1", "get_order", `{"n":1}`)), result("m1", `"one"`),
		}
		for range 3 {
			_, err := run.Proxy.Do(proxy.WithCallID(ctx, "m1"), "get_order", json.RawMessage(`{"n":1}`))
			if err != nil {
				return nil, err
			}
			dispatch.RecorderOf(tr).SetConversation(ctx, conversation)
			tr.Add(calling(call("m1", "get_order", `{"n":1}`)), result("m1", `"added"`))
		}
		return &dispatch.Response{FinalResponse: "Done."}, nil
	}, slow)
	sent := dispatch.CheckResponse(post(h, seedBody, nil).Body.Bytes())
	if len(sent.Problems) > 0 {
		t.Error(sent.Problems)
	}
	added := "assistant [m1 get_order {\"n\":1}]\ntool(m1) added\n"
	want := "user Refund order #4521 if it shipped more than 30 days ago.\nassistant [m1 get_order {\"n\":1}]\ntool(m1) one\n" +
		strings.Repeat(added, 3) + "assistant Done.\n"
	if got := brief(sent.Messages); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// The conversation is sent even if the time is over or the agent fails.
func TestSetConversationOfARunThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, agent := range map[string]func(context.Context) error{
			"timeout": func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) },
			"failure": func(context.Context) error { return errors.New("broken") },
		} {
			h := newHandler(t, func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
				dispatch.RecorderOf(run.Transcript()).SetConversation(ctx, []dispatch.Message{
					says("user", run.Instruction), says("assistant", "Let me see."),
				})
				return nil, agent(ctx)
			}, func(o *dispatch.Options) {
				o.FailureResponse = func(*dispatch.Run, *toolwire.Error) *dispatch.Response {
					return &dispatch.Response{FinalResponse: "It failed."}
				}
			})
			sent := dispatch.CheckResponse(post(h, seedBody, nil).Body.Bytes())
			if got := brief(sent.Messages); !strings.Contains(got, "assistant Let me see.\n") {
				t.Errorf("%s: %s", name, got)
			}
		}
	})
}

func TestAddProblem(t *testing.T) {
	problem := dispatch.Problem{
		Code: "conversation_unclear", Pointer: "/messages", Message: "two conversations have one label",
	}
	agent := func(_ context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		for range 1000 { // repetitions take no room
			dispatch.RecorderOf(run.Transcript()).AddProblem(problem)
		}
		for i := range 1000 { // of which 99 are kept
			dispatch.RecorderOf(run.Transcript()).AddProblem(dispatch.Problem{Code: "other", Pointer: fmt.Sprint("/messages/", i)})
		}
		return &dispatch.Response{FinalResponse: "Done."}, nil
	}
	result, err := dispatchtest.Dispatch(t.Context(), dispatchtest.Target{Agent: agent}, dispatchtest.Task{})
	if err != nil || len(result.Problems) != 100 || result.Problems[0] != problem || result.Problems[99].Pointer != "/messages/98" {
		t.Errorf("problems %v, %v", result.Problems, err)
	}
}

// Metadata of the response wins over the transcript's, key by key.
func TestMetadataOfBoth(t *testing.T) {
	h := newHandler(t, func(_ context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		dispatch.RecorderOf(run.Transcript()).UpdateMetadata(func(m *dispatch.Metadata) {
			m.Model, m.TotalInputTokens, m.Extra = "m-1", 12, map[string]any{"a": 1, "b": 1}
		})
		return &dispatch.Response{FinalResponse: "Done.", Messages: []dispatch.Message{}, Metadata: &dispatch.Metadata{
			Model: "m-2", SystemPromptID: "v3", Extra: map[string]any{"b": 2},
		}}, nil
	})
	wantAnswer(t, post(h, seedBody, nil), 200,
		`{"final_response":"Done.","metadata":{"a":1,"b":2,"model":"m-2","system_prompt_id":"v3","total_input_tokens":12}}`)
}

// The calls of one message of a model form one message of the transcript, in the model's order and
// with its ids, however long each takes. Calls of a sub-agent that runs as a tool are its own.
func TestTranscriptOfEach(t *testing.T) {
	type modelCall struct{ id, tool, arguments string }
	each := func(ctx context.Context, run *dispatch.Run, more func(context.Context), calls ...modelCall) error {
		_, err := proxy.Each(ctx, calls, func(ctx context.Context, call modelCall) (toolwire.ModelResult, error) {
			time.Sleep(time.Duration('9'-call.id[1]) * time.Millisecond) // the last one begins first
			result, err := run.Proxy.CallForModel(proxy.WithCallID(ctx, call.id), call.tool, call.arguments)
			if more != nil {
				more(ctx)
			}
			return result, err
		})
		return err
	}
	synctest.Test(t, func(t *testing.T) {
		h := newHandler(t, func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			err := errors.Join(
				each(ctx, run, nil, modelCall{"m1", "get_order", `{"wait":0}`}, modelCall{"m2", "find_order", `{}`},
					modelCall{"m3", "get_order", `{`}),
				each(ctx, run, func(ctx context.Context) {
					_, _ = run.Proxy.CallForModel(proxy.WithCallID(ctx, "s1"), "get_order", `{"n":1}`)
				}, modelCall{"m4", "get_order", `{"wait":0}`}),
			)
			return &dispatch.Response{FinalResponse: "Done."}, err
		}, slow, func(o *dispatch.Options) { o.SendTranscript, o.Proxy.Tools = true, []string{"get_order"} })
		sent := dispatch.CheckResponse(post(h, seedBody, nil).Body.Bytes())
		want := `user Refund order #4521 if it shipped more than 30 days ago.
assistant [m1 get_order {"wait":0}] [m2 find_order {}] [m3 get_order "{"]
tool(m1) {"wait":0}
tool(m2) {"error":"unknown_tool","detail":"there is no tool \"find_order\"; names are case-sensitive","tools":["get_order"]}
tool(m3) {"error":"invalid_arguments","detail":"the arguments are not a JSON object: invalid JSON at byte 1: ends before the JSON value is complete; send the arguments as one JSON object and call the tool again"}
assistant [m4 get_order {"wait":0}]
tool(m4) {"wait":0}
assistant [s1 get_order {"n":1}]
tool(s1) {"n":1}
assistant Done.
`
		if got := brief(sent.Messages); got != want || len(sent.Problems) > 0 {
			t.Errorf("got\n%swant\n%s%v", got, want, sent.Problems)
		}
	})
}
