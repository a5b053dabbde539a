package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/llm"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// An agentOf makes requests to a model and calls tools. Its final response is "Done.".
type agentOf func(ctx context.Context, run *dispatch.Run, model *llm.Transport) error

// dispatched is what a handler has sent for a run, and what it has reported.
type dispatched struct {
	messages []dispatch.Message
	problems []dispatch.Problem
	asked    int // requests that reached the model
}

// codes returns the codes of the problems.
func (d dispatched) codes() string {
	var codes []string
	for _, p := range d.problems {
		codes = append(codes, p.Code)
	}
	return strings.Join(codes, " ")
}

// dispatchTo sends a task input to a handler. The model answers with what it was sent last, and tools
// with their arguments.
func dispatchTo(t testing.TB, input string, agent agentOf, opts ...func(*dispatch.Options)) (d dispatched) {
	t.Helper()
	var asked atomic.Int64
	model := &llm.Transport{Base: roundTrip(func(r *http.Request) (*http.Response, error) {
		asked.Add(1)
		body, err := io.ReadAll(r.Body)
		var request struct{ Messages []struct{ Content string } }
		if err == nil {
			err = json.Unmarshal(body, &request)
		}
		if err != nil {
			return nil, err
		}
		re := "re " + request.Messages[len(request.Messages)-1].Content
		if strings.HasSuffix(r.URL.Path, "/messages") {
			return response(exch(fmt.Sprintf(`{"type":"message","role":"assistant","model":"m","stop_reason":"end_turn","content":[{"type":"text","text":%q}]}`, re))), nil
		}
		return response(says(re)), nil
	})}
	o := &dispatch.Options{
		InsecureNoAuth: true, MaxBodyBytes: 16 << 20, RunTimeout: 1800 * time.Second,
		Proxy: &proxy.Options{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			body, err := io.ReadAll(r.Body)
			return response(exch(`{"response":` + string(body) + `,"source":"odyssey"}`)), err
		})},
		Observer: &dispatch.Observer{RunEnd: func(_ context.Context, end dispatch.RunEnd) { d.problems = end.Problems }},
	}
	for _, set := range opts {
		set(o)
	}
	h, err := dispatch.New(func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		return &dispatch.Response{FinalResponse: "Done."}, agent(ctx, run, model)
	}, o)
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("POST", "/", strings.NewReader(
		`{"odyssey_proxy_url":"https://api.example.com/runs/1","run_token":"token","input":`+input+`}`)))
	if w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	check := dispatch.CheckResponse(w.Body.Bytes())
	if len(check.Problems) > 0 {
		t.Errorf("the platform drops messages: %v", check.Problems)
	}
	d.messages, d.asked = check.Messages, int(asked.Load())
	return d
}

// ask returns an agent that sends these conversations to its model, one after the other. Each
// message is "role text", and the messages are separated by "; ".
func ask(conversations ...string) agentOf {
	return func(ctx context.Context, _ *dispatch.Run, model *llm.Transport) error {
		for _, c := range conversations {
			if _, err := send(ctx, model, chatPath, chat(strings.Split(c, "; ")...)); err != nil {
				return err
			}
		}
		return nil
	}
}

// What the messages of a run are, whatever conversations the agent has with its model.
func TestMessagesOfARun(t *testing.T) {
	const left = "request_left_out"
	anthropic := func(ctx context.Context, model *llm.Transport, messages string) error {
		_, err := send(ctx, model, "/v1/messages", `{"model":"m","max_tokens":9,"messages":[`+messages+`]}`)
		return err
	}
	const user, brace = `{"role":"user","content":"Go."}`, `{"role":"assistant","content":"{"}`
	for _, tt := range []struct {
		name     string
		agent    agentOf
		want     string // without the final response
		problems string
	}{
		{"the system prompt has the time", ask("system 10:01; user Go.", "system 10:02; user Go.; assistant re Go.; user b",
			"system 10:03; user Go.; assistant re Go.; user b; assistant re b; user c"),
			"system 10:03; user Go.; assistant re Go.; user b; assistant re b; user c; assistant re c", ""},
		{"the system prompt goes and comes", ask("system A; user Go.", "user Go.; assistant re Go.; user b",
			"system A; system B; user Go.; assistant re Go.; user b; assistant re b; user c"),
			"system A; user Go.; assistant re Go.; user b; assistant re b; system A; system B; user c; assistant re c", ""},

		{"the system prompt comes later", ask("user Go.", "system A; user Go.; assistant re Go.; user b"), "user Go.; assistant re Go.; system A; user b; assistant re b", ""},

		{"a guard first", ask("system G; user Safe? Go.", "system A; user Go."), "system A; user Go.; assistant re Go.", left},
		{"a guard with the prompt", ask("system G; user Go.", "system A; user Go.", "system A; user Go.; assistant re Go.; user b"),
			"system A; user Go.; assistant re Go.; user b; assistant re b", left},
		{"a guard with a system prompt only", ask("system Safe? Go.", "system A; user Go."), "system A; user Go.; assistant re Go.", left},
		{"a guard before a loop", ask("system G; user Safe?", "user a", "user a; assistant re a; user b"),
			"user Go.; user a; assistant re a; user b; assistant re b", left},
		{"a guard at every turn", ask("user Go.", "system G; user 1", "user Go.; assistant re Go.; user b", "system G; user 2",
			"user Go.; assistant re Go.; user b; assistant re b; user c", "system G; user 3"),
			"user Go.; assistant re Go.; user b; assistant re b; user c; assistant re c", left},
		{"a title at last", ask("system A; user Go.", "system A; user Go.; assistant re Go.; user b", "system T; user Go."),
			"system A; user Go.; assistant re Go.; user b; assistant re b", left},
		{"a summary at last", ask("user Go.", "user Go.; assistant re Go.; user b", "system S; user Sum up: Go., b"),
			"user Go.; assistant re Go.; user b; assistant re b", left},
		{"many guards", func(ctx context.Context, run *dispatch.Run, model *llm.Transport) error {
			for i := range 20 {
				if err := ask(fmt.Sprint("system G; user ", i))(ctx, run, model); err != nil {
					return err
				}
			}
			return ask("user Go.", "user Go.; assistant re Go.; user b")(ctx, run, model)
		}, "user Go.; assistant re Go.; user b; assistant re b", left},

		{"the beginning is left out", ask("system A; user Go.", "system A; user Go.; assistant re Go.; user b",
			"system A; user b; assistant re b; user c", "system A; assistant re c; user d"),
			"system A; user Go.; assistant re Go.; user b; assistant re b; user c; assistant re c; user d; assistant re d", ""},
		{"the beginning is summed up", ask("user Go.; assistant x; user b", "user So far: x.; assistant re b; user c",
			"user So far: x.; assistant re b; user c; assistant re c; user d"),
			"user Go.; assistant x; user b; assistant re b; user c; assistant re c; user d; assistant re d", ""},
		{"all but the prompt is summed up", ask("user Go.; assistant x; user b", "user Go.; user So far: x.", "user Go.; user So far: x.; assistant re So far: x.; user c"),
			"user Go.; assistant x; user b; assistant re b; user So far: x.; assistant re So far: x.; user c; assistant re c", ""},
		{"all is summed up", ask("user Go.", "user Go.; assistant re Go.; user b", "user So far", "user So far; assistant re So far; user c"),
			"user Go.; assistant re Go.; user b; assistant re b; user So far; assistant re So far; user c; assistant re c", ""},

		{"two threads that go on", ask("user Go.", "user x", "user Go.; assistant re Go.; user b", "user x; assistant re x; user y"),
			"user Go.; assistant re Go.; user b; assistant re b; user x; assistant re x; user y; assistant re y", ""},
		{"a thread goes on after another", ask("user Go.", "user Go.; assistant re Go.; user b", "user x", "user x; assistant re x; user y",
			"user Go.; assistant re Go.; user b; assistant re b; user c"),
			"user Go.; assistant re Go.; user b; assistant re b; user c; assistant re c; user x; assistant re x; user y; assistant re y", ""},
		{"two threads with one beginning", ask("system A; user Go.", "system A; user Go.; assistant x; user b",
			"system B; user Go.; assistant y; user c", "system A; user Go.; assistant x; user b; assistant re b; user d",
			"system B; user Go.; assistant y; user c; assistant re c; user e"),
			"system A; user Go.; assistant re Go.; user b; assistant re b; user d; assistant re d; " +
				"system B; user Go.; assistant y; user c; assistant re c; user e; assistant re e", ""},
		{"a request that branches off once", ask("user Go.; assistant x; user b", "user Go.; user a title?", "user Go.; assistant x; user b; assistant re b; user c"),
			"user Go.; assistant x; user b; assistant re b; user c; assistant re c", left},

		{"a request again and again", func(ctx context.Context, _ *dispatch.Run, model *llm.Transport) error {
			for _, system := range []string{"A", "B", "C"} { // the model answers with the last message
				if _, err := send(ctx, model, chatPath, chat("system "+system, "user Go.")); err != nil {
					return err
				}
			}
			return nil
		}, "system C; user Go.; assistant re Go.", left},

		{"a request to several models", func(ctx context.Context, _ *dispatch.Run, m *llm.Transport) error {
			_, err := send(ctx, m, chatPath, chat("user Go."))
			_, other := send(ctx, &llm.Transport{Base: model(exch(strings.Replace(string(says("other")), `"m"`, `"n"`, 1)))}, chatPath, chat("user Go."))
			return errors.Join(err, other)
		}, "user Go.; assistant other", left},

		{"a beginning of the answer", func(ctx context.Context, _ *dispatch.Run, model *llm.Transport) error {
			return anthropic(ctx, model, user+","+brace)
		}, "user Go.; assistant {re {", ""},
		{"a beginning of the answer that is sent back", func(ctx context.Context, _ *dispatch.Run, model *llm.Transport) error {
			merged := `{"role":"assistant","content":"{re {"}`
			return errors.Join(anthropic(ctx, model, user+","+brace), anthropic(ctx, model, user+","+merged+`,{"role":"user","content":"b"},`+brace))
		}, "user Go.; assistant {re {; user b; assistant {re {", ""},
		{"an assistant's message at the end", ask("user Go.; assistant a", "user Go.; assistant a; assistant re a; user b"),
			"user Go.; assistant a; assistant re a; user b; assistant re b", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := dispatchTo(t, `{"user_instruction":"Go."}`, tt.agent)
			if text := brief(got.messages); text != tt.want || got.codes() != tt.problems {
				t.Errorf("problems %v, got\n%s\nwant\n%s", got.problems, text, tt.want)
			}
		})
	}
}

// calls returns an agent that makes n tool calls without ids of a model.
func calls(n int) agentOf {
	return func(ctx context.Context, run *dispatch.Run, _ *llm.Transport) error {
		run.Transcript()
		for i := range n {
			if _, err := proxy.Call[json.RawMessage](ctx, run.Proxy, "get_order", map[string]int{"n": i}); err != nil {
				return err
			}
		}
		return nil
	}
}

// replay is a task input with n replayed messages, each with the same calls and results.
func replay(n int, message func(i int) string) string {
	var b strings.Builder
	b.WriteString(`{"user_instruction":"Go.","messages":[`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(message(i))
	}
	b.WriteString("]}")
	return b.String()
}

// Made ids differ from the ids of the replayed messages, however these are written, and however many
// there are: with the work of a search per id, the two large sessions take minutes and hours.
func TestIDsOfReplayedMessages(t *testing.T) {
	asks := func(id string) string {
		return `{"role":"assistant","tool_calls":[{"id":"` + id + `","name":"get_order","arguments":{}}]}`
	}
	for _, tt := range []struct {
		name  string
		input string
		calls int
		want  string
	}{
		{"calls", replay(3, func(i int) string { return asks(fmt.Sprint("call_", i+1)) }), 2, "call_4 call_5"},
		{"nested calls", replay(1, func(int) string {
			return `{"role":"assistant","tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":"{}"}}]}`
		}), 1, "call_2"},
		{"results", replay(1, func(int) string { return `{"role":"tool","tool_call_id":"call_1","content":"x"}` }), 1, "call_2"},
		{"escaped", replay(1, func(int) string { return asks(`call\u005f1`) }), 1, "call_2"},
		{"escaped names", replay(1, func(int) string { return `{"role":"tool","tool\u005fcall_id":"call_1","content":"x"}` }), 1, "call_2"},
		{"other ids", replay(1, func(int) string {
			return asks(`call_x`) + `,` + asks(`toolu_1`) + `,{"role":"user","content":"call_1"}`
		}), 1, "call_1"},
		{"60,000 messages, 20 calls", replay(60_000, func(i int) string {
			if i%2 == 0 {
				return asks(fmt.Sprint("call_", i/2+1))
			}
			return fmt.Sprintf(`{"role":"tool","tool_call_id":"call_%d","content":"%s"}`, i/2+1, strings.Repeat("x", 200))
		}), 20, "call_30001 call_30020"},
		{"ids in falling order", replay(80_000, func(i int) string { return asks(fmt.Sprint("call_", 80_000-i)) }), 2, "call_80001 call_80002"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := dispatchTo(t, tt.input, calls(tt.calls))
			var ids []string
			for _, m := range got.messages {
				for _, c := range m.ToolCalls {
					ids = append(ids, c.ID)
				}
			}
			if tt.calls > 2 && len(ids) == tt.calls {
				ids = []string{ids[0], ids[tt.calls-1]}
			}
			if strings.Join(ids, " ") != tt.want || got.problems != nil {
				t.Errorf("ids %s, want %s; problems %v", ids, tt.want, got.problems)
			}
		})
	}
}

// Recording and sending a run takes as much work for a message of a long run as for one of a short
// run, even if nothing that the agent tells is what was recorded.
func TestTranscriptIsLinear(t *testing.T) {
	text := strings.Repeat("x", 1300)
	message := func(i int, note string) dispatch.Message {
		return dispatch.Message{Role: dispatch.RoleAssistant, ToolCalls: []dispatch.ToolCall{{
			ID: fmt.Sprint("m", i), Name: "get_order", Arguments: json.RawMessage(fmt.Sprintf(`{"n":%d,"text":%q,"note":%q}`, i, text, note)),
		}}}
	}
	for name, tell := range map[string]func(context.Context, *dispatch.Transcript, []dispatch.Message){
		"conversation": func(ctx context.Context, _ *dispatch.Transcript, all []dispatch.Message) {
			recorderOf(ctx).SetConversation(ctx, all)
		},
		"added": func(_ context.Context, tr *dispatch.Transcript, all []dispatch.Message) { tr.Add(all[len(all)-1]) },
	} {
		cost := func(turns int, told string, first, step int) (allocations float64) {
			synctest.Test(t, func(t *testing.T) { // because of the rate limit
				allocations = testing.AllocsPerRun(1, func() {
					dispatchTo(t, `{"user_instruction":"Go."}`, func(ctx context.Context, run *dispatch.Run, _ *llm.Transport) error {
						var all []dispatch.Message
						for i := range turns {
							n := first + step*i
							all = append(all, message(n, told))
							tell(ctx, run.Transcript(), all)
							if _, err := proxy.Call[json.RawMessage](ctx, run.Proxy, "get_order", message(i, "as the agent changed it").ToolCalls[0].Arguments); err != nil {
								return err
							}
						}
						return nil
					})
				})
			})
			return allocations
		}
		for _, told := range []string{"as the model wrote it", "as the agent changed it"} {
			short, long := cost(50, told, 0, 1), cost(200, told, 0, 1)
			if long > 5*short {
				t.Errorf("%s, %s: %v allocations for 50 turns, %v for 200", name, told, short, long)
			}
			if reversed := cost(200, told, 199, -1); reversed > long*11/10 {
				t.Errorf("%s, %s: %v allocations for 200 turns, %v in another order", name, told, long, reversed)
			}
		}
	}
}

// An agent with 200 turns that changes arguments of 1.3 KB. Every call is there as the model wrote it
// and as it was made.
func TestArgumentsThatTheAgentChanges(t *testing.T) {
	text := strings.Repeat("x", 1300)
	agent := func(ctx context.Context, run *dispatch.Run, _ *llm.Transport) error {
		n := 0
		model := &llm.Transport{Base: roundTrip(func(r *http.Request) (*http.Response, error) {
			_, err := io.Copy(io.Discard, r.Body)
			n++
			return response(exch(fmt.Sprintf(`{"model":"m","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","tool_calls":[`+
				`{"id":"m%d","type":"function","function":{"name":"get_order","arguments":"{\"text\":\"%s\",\"why\":\"because\"}"}}]}}]}`, n, text))), err
		})}
		messages := []json.RawMessage{json.RawMessage(`{"role":"user","content":"Go."}`)}
		for i := range 200 {
			list, err := json.Marshal(messages)
			if err != nil {
				return err
			}
			answer, err := send(ctx, model, chatPath, `{"model":"m","messages":`+string(list)+`}`)
			if err != nil {
				return err
			}
			var reply struct {
				Choices []struct{ Message json.RawMessage }
			}
			if err := json.Unmarshal([]byte(answer), &reply); err != nil {
				return err
			}
			if _, err := proxy.Call[json.RawMessage](ctx, run.Proxy, "get_order", map[string]string{"text": text}); err != nil {
				return err
			}
			messages = append(messages, reply.Choices[0].Message, json.RawMessage(fmt.Sprintf(`{"role":"tool","tool_call_id":"m%d","content":"ok"}`, i+1)))
		}
		return nil
	}
	var got dispatched
	synctest.Test(t, func(t *testing.T) { got = dispatchTo(t, `{"user_instruction":"Go."}`, agent) }) // because of the rate limit
	told, made := 0, 0
	for _, m := range got.messages {
		for _, c := range m.ToolCalls {
			if strings.Contains(string(c.Arguments), "because") {
				told++
			} else {
				made++
			}
		}
	}
	if told != 200 || made != 200 || got.problems != nil {
		t.Errorf("%d calls of the model and %d of the agent; problems %v", told, made, got.problems)
	}
}

// A transcript that is too large is cut and reported, whichever way the agent returns it.
func TestCutTranscript(t *testing.T) {
	for name, response := range map[string]func(*dispatch.Run) *dispatch.Response{
		"Transcript.Response": func(run *dispatch.Run) *dispatch.Response { return run.Transcript().Response("Done.") },
		"Response.Messages": func(run *dispatch.Run) *dispatch.Response {
			return &dispatch.Response{FinalResponse: "Done.", Messages: run.Transcript().Messages()}
		},
		"messages of the agent's own": func(run *dispatch.Run) *dispatch.Response {
			r := &dispatch.Run{Instruction: run.Instruction}
			for _, m := range run.Transcript().Messages() {
				r.Transcript().Add(m)
			}
			return &dispatch.Response{FinalResponse: "Done.", Messages: r.Transcript().Messages()}
		},
		"no Messages": func(run *dispatch.Run) *dispatch.Response {
			run.Transcript()
			return &dispatch.Response{FinalResponse: "Done."}
		},
		"SendTranscript": func(*dispatch.Run) *dispatch.Response { return &dispatch.Response{FinalResponse: "Done."} },
	} {
		for _, size := range []int{60_000, 100} { // more than 1 MiB, and more than 1,000 messages
			t.Run(fmt.Sprintf("%s of %d bytes", name, size), func(t *testing.T) {
				text := strings.Repeat("x", size)
				n := 15
				if size < 1000 {
					n = 600
				}
				agent := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
					for i := range n {
						_, err := proxy.Each(ctx, []string{"a", "b"}, func(ctx context.Context, id string) (json.RawMessage, error) {
							return proxy.Call[json.RawMessage](proxy.WithCallID(ctx, fmt.Sprint(id, i)), run.Proxy, "echo", map[string]string{"text": text})
						})
						if err != nil {
							return nil, err
						}
					}
					return response(run), nil
				}
				o := &dispatch.Options{SendTranscript: name == "SendTranscript"}
				result, err := dispatchtest.Dispatch(t.Context(), dispatchtest.Target{Agent: agent, Options: o}, dispatchtest.Task{
					Instruction: "Go.", Platform: echoes(t),
				})
				if err != nil {
					t.Fatal(err)
				}
				sent, bytes := len(result.Messages), 0
				open := map[string]bool{}
				for _, m := range result.Messages {
					row, err := json.Marshal(m)
					if err != nil {
						t.Error(err)
					}
					bytes += len(row) + 1
					for _, c := range m.ToolCalls {
						open[c.ID] = true
					}
					if m.Role == dispatch.RoleTool && !open[m.ToolCallID] {
						t.Errorf("a result of %s without its call", m.ToolCallID)
					}
					delete(open, m.ToolCallID)
				}
				all := 1 + 3*n
				if name != "Response.Messages" && name != "messages of the agent's own" {
					all++ // the final response
					if last := result.Messages[sent-1]; last.Content.String() != "Done." {
						t.Errorf("the last message is %s", last)
					}
				}
				problem := fmt.Sprintf("/messages has more than 1 MiB of JSON or 1,000 messages: %d are not sent [messages_removed]", all-sent)
				if len(result.Problems) != 1 || result.Problems[0].String() != problem {
					t.Errorf("problems %v, want %s", result.Problems, problem)
				}
				if len(open) > 0 || sent > 1000 || bytes > 1<<20 || sent < 990 && bytes < 1<<20-4*70_000 {
					t.Errorf("%d messages of %d bytes; calls without results: %v", sent, bytes, open)
				}
				var failures failed
				result.AssertOK(&failures)
				if !failures.yes {
					t.Error("AssertOK says nothing")
				}
			})
		}
	}
}

// failed is a test that only notes that it failed.
type failed struct {
	testing.TB
	yes bool
}

func (f *failed) Helper()               {}
func (f *failed) Errorf(string, ...any) { f.yes = true }

// echoes is a platform with a tool that answers with its arguments, as fast as it is called.
func echoes(t testing.TB) *proxytest.Platform {
	p, err := proxytest.New(proxytest.World{Behaviors: map[string]proxytest.Behavior{
		"echo": func(r *proxytest.Request) (any, error) { return r.Arguments, nil },
	}}, &proxytest.Options{RatePerMinute: -1})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// The agent's own conversation comes first, and then its sub-agents' conversations in the order of the
// calls for which they run, whichever of them begins first.
func TestOrderOfSubAgents(t *testing.T) {
	for _, slow := range []string{"orders", "refunds", "stock"} {
		synctest.Test(t, func(t *testing.T) {
			got := dispatchTo(t, `{"user_instruction":"Go."}`, func(ctx context.Context, run *dispatch.Run, model *llm.Transport) error {
				one := func(ctx context.Context, name string) error {
					ctx = proxy.WithActor(ctx, name)
					if name == slow {
						time.Sleep(time.Minute)
					}
					if name == "stock" { // calls a tool before it asks its model
						if _, err := proxy.Call[json.RawMessage](proxy.WithCallID(ctx, "s1"), run.Proxy, "get_stock", nil); err != nil {
							return err
						}
						time.Sleep(2 * time.Minute)
					}
					return ask("user "+name)(ctx, run, model)
				}
				if err := one(ctx, "plan"); err != nil {
					return err
				}
				_, err := proxy.Each(ctx, []string{"orders", "refunds", "stock"}, func(ctx context.Context, name string) (int, error) {
					return 0, one(ctx, name)
				})
				if err != nil {
					return err
				}
				if err := one(ctx, "check"); err != nil {
					return err
				}
				return ask("user Go.")(ctx, run, model)
			})
			want := "user Go.; assistant re Go.; user plan; assistant re plan; user orders; assistant re orders; user refunds; assistant re refunds; " +
				"user stock; assistant re stock; assistant ; tool {}; user check; assistant re check"
			if text := brief(got.messages); text != want {
				t.Errorf("%s is slow:\n%s\nwant\n%s", slow, text, want)
			}
		})
	}
}

// The final response is the last message, even if sub-agents come after the conversation that it
// ends. It stands there once.
func TestFinalResponseAfterSubAgents(t *testing.T) {
	got := dispatchTo(t, `{"user_instruction":"Done."}`, func(ctx context.Context, run *dispatch.Run, _ *llm.Transport) error {
		thought := says2("assistant", "Done.")
		thought.Thinking = []json.RawMessage{json.RawMessage(`{"type":"text","text":"hm"}`)}
		recorderOf(ctx).SetConversation(ctx, []dispatch.Message{says2("user", "Done."), thought})
		recorderOf(ctx).SetConversation(proxy.WithActor(ctx, "sub"), []dispatch.Message{says2("user", "x"), says2("assistant", "y")})
		return nil
	})
	last := got.messages[len(got.messages)-1]
	if text := brief(got.messages); text != "user Done.; user x; assistant y" || last.Content.String() != "Done." || len(last.Thinking) != 1 {
		t.Errorf("%s, and then %s", text, last)
	}
}

func says2(role dispatch.Role, text string) dispatch.Message {
	return dispatch.Message{Role: role, Content: dispatch.Text(text)}
}

// No request reaches the model once the run has ended, whatever context it has.
func TestNoRequestReachesTheModelAfterTheRun(t *testing.T) {
	for name, end := range map[string]func(ctx context.Context, run *dispatch.Run) error{
		"the agent has answered": func(context.Context, *dispatch.Run) error { return nil },
		"the time is over":       func(ctx context.Context, _ *dispatch.Run) error { <-ctx.Done(); return nil },
		"the platform has ended the run": func(ctx context.Context, run *dispatch.Run) error {
			_, _ = proxy.Call[json.RawMessage](ctx, run.Proxy, "get_order", nil)
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ended := make(chan error, 1)
				got := dispatchTo(t, `{"user_instruction":"Go."}`, func(agent context.Context, run *dispatch.Run, model *llm.Transport) error {
					ctx := context.WithoutCancel(agent)
					if err := ask("user Go.")(ctx, run, model); err != nil || run.Err() != nil {
						t.Errorf("%v, %v", err, run.Err())
					}
					go func() {
						time.Sleep(time.Hour)
						late := ask("user Go.; assistant re Go.; user b")(ctx, run, model)
						ended <- late
						if run.Err() == nil || !errors.Is(late, run.Err()) {
							t.Errorf("the run ended with %v", run.Err())
						}
					}()
					return end(agent, run)
				}, func(o *dispatch.Options) {
					if strings.HasPrefix(name, "the platform") {
						o.Proxy.Transport = roundTrip(func(*http.Request) (*http.Response, error) {
							resp := response(`{"detail":{"error_class":"run_token_invalid"}}`)
							resp.StatusCode = 401
							return resp, nil
						})
					}
				})
				late := <-ended
				if code := toolwire.CodeOf(late); code != toolwire.CodeRunOver || !strings.Contains(late.Error(), "the run has ended") {
					t.Errorf("%s: %v", code, late)
				}
				if strings.HasPrefix(name, "the platform") != proxy.IsRunOver(late) || got.asked != 1 {
					t.Errorf("%v; %d requests reached the model", late, got.asked)
				}
			})
		})
	}
}

// A request without the context of the agent is sent, and the test of the agent shows it.
func TestRequestWithoutARun(t *testing.T) {
	transport := &llm.Transport{Base: model(says("a"), says("b"), says("c"))}
	for _, n := range []int{0, 2} {
		result := inRun(t, func(ctx context.Context, _ *dispatch.Run) error {
			if n == 0 {
				ctx = context.WithoutCancel(ctx)
			} else {
				ctx = context.Background()
			}
			for range max(n, 1) {
				if _, err := send(ctx, transport, chatPath, chat("user a")); err != nil {
					return err
				}
			}
			return nil
		})
		want := "[]"
		if n > 0 {
			want = "[/messages lack what 2 requests to a model sent and received without a run " +
				"in the context: pass the context of the agent to the SDK [request_outside_run]]"
		}
		if got := fmt.Sprint(result.Problems); got != want || fmt.Sprint(result.Turns[0].Problems) != want {
			t.Errorf("problems %s, want %s", got, want)
		}
		result.AssertOK(t)
	}
}

// A test of an agent with a guard passes.
func TestGuardIsOK(t *testing.T) {
	transport := &llm.Transport{Base: model(says("safe"), says("a"))}
	result := inRun(t, func(ctx context.Context, run *dispatch.Run) error {
		return ask("system G; user Safe?", "user "+instruction)(ctx, run, transport)
	})
	if result.AssertOK(t); len(of(result, "request_left_out")) != 1 || brief(result.Messages) != "user "+instruction+"; assistant a" {
		t.Errorf("%v, %s", result.Problems, brief(result.Messages))
	}
}
