package dispatch_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/internal/testkit"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// slow answers a tool call with its arguments, after the seconds in the member wait.
func slow(o *dispatch.Options) {
	o.Proxy = &proxy.Options{AttemptTimeout: time.Hour, Transport: testkit.RoundTrip(func(r *http.Request) (*http.Response, error) {
		body, _ := io.ReadAll(r.Body)
		var args struct{ Wait float64 }
		_ = json.Unmarshal(body, &args)
		select {
		case <-time.After(time.Duration(args.Wait * float64(time.Second))):
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(`{"response":` + string(body) + `}`))}, nil
	})}
}

// sentMessages returns the messages of an answer as JSON, without the user's instruction and the
// final response.
func sentMessages(t testing.TB, body []byte) string {
	t.Helper()
	var answer struct{ Messages []json.RawMessage }
	if err := json.Unmarshal(body, &answer); err != nil || len(answer.Messages) < 2 {
		t.Fatalf("%s: %v", body, err)
	}
	if verdict := dispatch.CheckResponse(body); len(verdict.Problems) > 0 {
		t.Errorf("problems %v", verdict.Problems)
	}
	var rows []string
	for _, m := range answer.Messages[1 : len(answer.Messages)-1] {
		rows = append(rows, string(m))
	}
	return strings.Join(rows, "\n")
}

// in runs an agent in a bubble, where calls take the time that they say, and returns the messages
// that were sent.
func in(t *testing.T, agent func(ctx context.Context, run *dispatch.Run)) (rows string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := newHandler(t, func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			agent(ctx, run)
			return run.Transcript().Response("Done."), nil
		}, slow)
		rows = sentMessages(t, post(h, seedBody, nil).Body.Bytes())
		time.Sleep(time.Hour) // calls that the agent has left behind end
	})
	return rows
}

func TestTranscriptGroupsParallelCalls(t *testing.T) {
	got := in(t, func(ctx context.Context, run *dispatch.Run) {
		both := func(c *proxy.Client, id string) {
			var group sync.WaitGroup
			for i, wait := range []string{`{"wait":3}`, `{"wait":1}`} {
				group.Go(func() {
					time.Sleep(time.Duration(i) * time.Millisecond) // so that the order is known
					_, _ = c.Do(proxy.WithCallID(ctx, id), "get_order", json.RawMessage(wait))
				})
			}
			group.Wait()
		}
		both(run.Proxy, "")
		_, _ = run.Proxy.Do(proxy.WithCallID(ctx, "toolu_1"), "refund_order", nil)
		run.Transcript().Add(says("assistant", "Now both."))
		var group sync.WaitGroup
		group.Go(func() { both(run.Proxy.As("a"), "") })
		group.Go(func() { time.Sleep(time.Microsecond); both(run.Proxy.As("b"), "") })
		group.Wait()
	})
	call := func(n int, args string) string {
		return fmt.Sprintf(`{"id":"call_%d","name":"get_order","arguments":%s}`, n, args)
	}
	row := func(calls ...string) string {
		return `{"role":"assistant","tool_calls":[` + strings.Join(calls, ",") + `]}`
	}
	answer := func(id, content string) string {
		return fmt.Sprintf(`{"role":"tool","content":%q,"tool_call_id":%q}`, content, id)
	}
	want := strings.Join([]string{
		row(call(1, `{"wait":3}`), call(2, `{"wait":1}`)), answer("call_1", `{"wait":3}`), answer("call_2", `{"wait":1}`),
		row(`{"id":"toolu_1","name":"refund_order","arguments":{}}`), answer("toolu_1", `{}`),
		`{"role":"assistant","content":"Now both."}`,
		row(call(3, `{"wait":3}`), call(5, `{"wait":1}`)), answer("call_3", `{"wait":3}`), answer("call_5", `{"wait":1}`),
		row(call(4, `{"wait":3}`), call(6, `{"wait":1}`)), answer("call_4", `{"wait":3}`), answer("call_6", `{"wait":1}`),
	}, "\n")
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A conversation of two turns, as a model has it. Whatever of it the agent adds, and when, each
// call is sent once, in the model's grouping.
func TestTranscriptIsNeverDoubled(t *testing.T) {
	for _, ids := range [][]string{{"toolu_1", "toolu_2", "toolu_3"}, {"c", "d", "c"}, {"call_1", "call_2", "call_3"}} {
		first := dispatch.Message{Role: "assistant", Content: dispatch.Text("Both."), ToolCalls: []dispatch.ToolCall{
			call(ids[0], "get_order", `{"wait": 2}`), call(ids[1], "get_order", `"{\"wait\":1}"`),
		}}
		second := dispatch.Message{Role: "assistant", Thinking: []json.RawMessage{[]byte(`{"text":"hm"}`)}, ToolCalls: []dispatch.ToolCall{call(ids[2], "get_order", `{"wait":2}`)}}
		want := `{"role":"assistant","content":"Both.","tool_calls":[{"id":"` + ids[0] + `","name":"get_order","arguments":{"wait":2}},{"id":"` + ids[1] + `","name":"get_order","arguments":"{\"wait\":1}"}]}
{"role":"tool","content":"{\"wait\":2}","tool_call_id":"` + ids[0] + `"}
{"role":"tool","content":"{\"wait\":1}","tool_call_id":"` + ids[1] + `"}
{"role":"assistant","tool_calls":[{"id":"` + ids[2] + `","name":"get_order","arguments":{"wait":2}}],"thinking":[{"text":"hm"}]}
{"role":"tool","content":"{\"wait\":2}","tool_call_id":"` + ids[2] + `"}`
		for _, withIDs := range []bool{true, false} {
			do := func(ctx context.Context, run *dispatch.Run, m dispatch.Message) {
				var group sync.WaitGroup
				for i, c := range m.ToolCalls {
					ctx := ctx
					if withIDs {
						ctx = proxy.WithCallID(ctx, c.ID)
					}
					group.Go(func() {
						time.Sleep(time.Duration(i) * time.Millisecond)
						_, _ = run.Proxy.Do(ctx, c.Name, json.RawMessage([]string{`{"wait":2}`, `{"wait":1}`}[i]))
					})
				}
				group.Wait()
			}
			results := func(m dispatch.Message) (rows []dispatch.Message) {
				for i, c := range m.ToolCalls {
					rows = append(rows, result(c.ID, []string{`"{\"wait\":2}"`, `"{\"wait\":1}"`}[i]))
				}
				return rows
			}
			for name, agent := range map[string]func(context.Context, *dispatch.Run){
				"the messages before the calls": func(ctx context.Context, run *dispatch.Run) {
					run.Transcript().Add(first)
					do(ctx, run, first)
					run.Transcript().Add(second)
					do(ctx, run, second)
				},
				"the messages after the calls": func(ctx context.Context, run *dispatch.Run) {
					do(ctx, run, first)
					run.Transcript().Add(first)
					do(ctx, run, second)
					run.Transcript().Add(second)
				},
				"messages and results, as they come": func(ctx context.Context, run *dispatch.Run) {
					run.Transcript().Add(first)
					do(ctx, run, first)
					run.Transcript().Add(results(first)...)
					run.Transcript().Add(second)
					do(ctx, run, second)
					run.Transcript().Add(results(second)...)
				},
				"the whole conversation at the end": func(ctx context.Context, run *dispatch.Run) {
					do(ctx, run, first)
					do(ctx, run, second)
					t := run.Transcript()
					t.Add(dispatch.Message{Role: "user", Content: dispatch.Text(run.Instruction)}, first)
					t.Add(results(first)...)
					t.Add(second)
					t.Add(results(second)...)
					t.Add(dispatch.Message{Role: "assistant", Content: dispatch.Text("Done.")})
				},
			} {
				t.Run(fmt.Sprintf("%s/%s/ids %t", name, strings.Join(ids, ","), withIDs), func(t *testing.T) {
					if got := in(t, agent); got != want {
						t.Errorf("got\n%s\nwant\n%s", got, want)
					}
				})
			}
		}
	}
}

// A call and the model's message about it are one call, whichever comes first, even if the client
// refuses the arguments or the agent writes them in another way.
func TestTranscriptKnowsTheArgumentsOfTheModel(t *testing.T) {
	large := `{"note":"` + strings.Repeat("x", 70<<10) + `"}`
	for _, tt := range []struct {
		told string // the model's arguments
		args any    // what the agent passes
		sent string // the arguments in the transcript; the model's if ""
		with string // the arguments in the transcript without the model's message; "" if they are cut
	}{
		{`{"order_id":`, json.RawMessage(`{"order_id":`), `"{\"order_id\":"`, `"{\"order_id\":"`},
		{`"{\"order_id\":"`, json.RawMessage(`{"order_id":`), ``, `"{\"order_id\":"`},
		{`[1]`, json.RawMessage(`[1]`), `"[1]"`, `"[1]"`},
		{`{"a":1,"a":2}`, json.RawMessage(`{"a":1,"a":2}`), ``, `{"a":1,"a":2}`},
		{`"{\"wait\":0}"`, json.RawMessage(`"{\"wait\":0}"`), ``, `"{\"wait\":0}"`},
		{`{"a":5.0,"b":"\u0041"}`, map[string]any{"b": "A", "a": 5}, ``, `{"a":5,"b":"A"}`},
		{`""`, json.RawMessage(``), ``, `{}`},
		{`{"a":` + string(deep(300)) + `}`, json.RawMessage(`{"a":` + string(deep(300)) + `}`), ``, `{"a":` + string(deep(300)) + `}`},
		{large, json.RawMessage(large), ``, ``},
	} {
		if tt.sent == "" {
			tt.sent = tt.told
		}
		want := `{"role":"assistant","tool_calls":[{"id":"toolu_1","name":"get_order","arguments":` + tt.sent + `}]}`
		tell := func(run *dispatch.Run) { run.Transcript().Add(calling(call("toolu_1", "get_order", tt.told))) }
		check := func(name, got, want string) {
			if calls, answer, _ := strings.Cut(got, "\n"); calls != want || strings.Count(answer, `"role":"tool"`) != 1 || strings.Contains(answer, "\n") {
				t.Errorf("%s, %s: got\n%.500s\nwant\n%.500s\nand an answer", tt.told, name, got, want)
			}
		}
		check("told before", in(t, func(ctx context.Context, run *dispatch.Run) {
			tell(run)
			_, _ = run.Proxy.Do(ctx, "get_order", tt.args)
		}), want)
		check("told later", in(t, func(ctx context.Context, run *dispatch.Run) {
			_, _ = run.Proxy.Do(ctx, "get_order", tt.args)
			tell(run)
		}), want)
		if tt.with == "" {
			cut := in(t, func(ctx context.Context, run *dispatch.Run) { _, _ = run.Proxy.Do(ctx, "get_order", tt.args) })
			if row, _, _ := strings.Cut(cut, "\n"); len(row) > 65<<10 || !strings.Contains(row, `"arguments":"{`) {
				t.Errorf("the row of a call with large arguments has %d bytes: %.100s", len(row), row)
			}
			continue
		}
		check("not told", in(t, func(ctx context.Context, run *dispatch.Run) { _, _ = run.Proxy.Do(ctx, "get_order", tt.args) }),
			`{"role":"assistant","tool_calls":[{"id":"call_1","name":"get_order","arguments":`+tt.with+`}]}`)
	}
}

// Arguments that the client refuses are recorded so that nothing has to be repaired.
func TestRefusedArgumentsAreNoProblem(t *testing.T) {
	var log bytes.Buffer
	h := newHandler(t, func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		_, _ = run.Proxy.CallForModel(ctx, "get_order", `{"order_id":`)
		_, _ = run.Proxy.CallForModel(ctx, "get_order", strings.Repeat("\x01", 100_000))
		return run.Transcript().Response("x"), nil
	}, tools, func(o *dispatch.Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	rows := sentMessages(t, post(h, seedBody, nil).Body.Bytes())
	if strings.Contains(log.String(), "response contract") || !strings.Contains(rows, `"arguments":"\u0001`) || len(rows) > 70_000 {
		t.Errorf("%d bytes of messages; the log says %s", len(rows), log.String())
	}
}

// A call that has not ended is in the transcript with its arguments, in one piece with what the
// agent adds.
func TestTranscriptOfACallThatHasNotEnded(t *testing.T) {
	const (
		asked = `{"role":"assistant","tool_calls":[{"id":"toolu_1","name":"get_order","arguments":{"wait":5}}]}`
		open  = `{"role":"tool","content":"{\"error\":\"tool_call_failed\",\"detail\":\"the call has not ended\"}","tool_call_id":"toolu_1"}`
		ended = `{"role":"tool","content":"{\"wait\":5}","tool_call_id":"toolu_1"}`
	)
	told, answered := calling(call("toolu_1", "get_order", `{"wait":5}`)), result("toolu_1", `"I gave up"`)
	for _, tt := range []struct {
		name            string
		before, while   []dispatch.Message
		wait            time.Duration // for the call, which takes 5 s
		want            string
		withoutID, late bool // late: the agent also tells of the call at last
	}{
		{"recorded", nil, nil, time.Second, asked + "\n" + open, false, false},
		{"told", []dispatch.Message{told}, nil, time.Second, asked + "\n" + open, false, false},
		{"told, without the id", []dispatch.Message{told}, nil, time.Second, asked + "\n" + open, true, false},
		{"told meanwhile", nil, []dispatch.Message{told}, time.Second, asked + "\n" + open, true, false},
		{"told meanwhile, ended", nil, []dispatch.Message{told}, time.Minute, asked + "\n" + ended, true, false},
		{"answered", nil, []dispatch.Message{answered}, time.Second, asked + "\n" + `{"role":"tool","content":"I gave up","tool_call_id":"toolu_1"}`, false, false},
		{"answered, ended", nil, []dispatch.Message{answered}, time.Minute, asked + "\n" + `{"role":"tool","content":"I gave up","tool_call_id":"toolu_1"}`, false, false},
		{"told later", nil, nil, time.Minute, asked + "\n" + ended, false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := in(t, func(ctx context.Context, run *dispatch.Run) {
				run.Transcript().Add(tt.before...)
				ctx = context.WithoutCancel(ctx)
				if !tt.withoutID {
					ctx = proxy.WithCallID(ctx, "toolu_1")
				}
				go func() { _, _ = run.Proxy.Do(ctx, "get_order", json.RawMessage(`{"wait":5}`)) }()
				synctest.Wait()
				run.Transcript().Add(tt.while...)
				time.Sleep(tt.wait)
				if tt.late {
					run.Transcript().Add(told)
				}
			})
			if got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

// Calls of one actor that overlap are one message, whatever the calls of other actors do.
func TestTranscriptGroupsByActor(t *testing.T) {
	got := in(t, func(ctx context.Context, run *dispatch.Run) {
		var group sync.WaitGroup
		for _, c := range []struct {
			actor string
			after time.Duration
			wait  string
		}{{"a", 0, `{"wait":3}`}, {"b", time.Second, `{"wait":0.5}`}, {"a", 2 * time.Second, `{"wait":4}`}, {"a", 5 * time.Second, `{"wait":0}`}} {
			group.Go(func() {
				time.Sleep(c.after)
				_, _ = run.Proxy.As(c.actor).Do(ctx, "get_order", json.RawMessage(c.wait))
			})
		}
		group.Wait()
	})
	var groups []string
	for row := range strings.Lines(got) {
		if strings.Contains(row, `"tool_calls"`) {
			groups = append(groups, strings.Join(regexp.MustCompile(`call_\d`).FindAllString(row, -1), "+"))
		}
	}
	if want := "call_1+call_3 call_2 call_4"; strings.Join(groups, " ") != want {
		t.Errorf("groups %s, want %s:\n%s", groups, want, got)
	}
}

// Messages of tools that do not go through the proxy stay as they are, beside recorded calls whose
// ids would be the same.
func TestTranscriptOfLocalTools(t *testing.T) {
	got := in(t, func(ctx context.Context, run *dispatch.Run) {
		_, _ = run.Proxy.Do(ctx, "get_order", nil)
		run.Transcript().Add(calling(call("call_1", "local", "{}")), result("call_1", `"here"`))
		_, _ = run.Proxy.Do(ctx, "get_order", nil)
	})
	want := `{"role":"assistant","tool_calls":[{"id":"call_3","name":"get_order","arguments":{}}]}
{"role":"tool","content":"{}","tool_call_id":"call_3"}
{"role":"assistant","tool_calls":[{"id":"call_1","name":"local","arguments":{}}]}
{"role":"tool","content":"here","tool_call_id":"call_1"}
{"role":"assistant","tool_calls":[{"id":"call_2","name":"get_order","arguments":{}}]}
{"role":"tool","content":"{}","tool_call_id":"call_2"}`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// An id that the agent has told is not made again.
func TestMadeIDsDifferFromTheAgents(t *testing.T) {
	got := in(t, func(ctx context.Context, run *dispatch.Run) {
		run.Transcript().Add(calling(call("call_1", "local", "{}")), result("call_1", `"here"`))
		_, _ = run.Proxy.Do(ctx, "get_order", nil)
	})
	want := `{"role":"assistant","tool_calls":[{"id":"call_1","name":"local","arguments":{}}]}
{"role":"tool","content":"here","tool_call_id":"call_1"}
{"role":"assistant","tool_calls":[{"id":"call_2","name":"get_order","arguments":{}}]}
{"role":"tool","content":"{}","tool_call_id":"call_2"}`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Made ids may equal ids of the model, but of other calls. No result goes to another call, and no id
// occurs twice.
func TestTheModelsIDsAreThoseOfOtherCalls(t *testing.T) {
	for _, tt := range []struct {
		name string
		told dispatch.ToolCall
		want string // id, tool and arguments of each call, with its result
	}{
		{"other arguments", call("call_1", "get_order", `{"n":2}`), `call_4 get_order {"n":1} {"n":1}, call_3 refund {} {}, call_1 get_order {"n":2} {"n":2}`},
		{"another tool", call("call_1", "refund", `{}`), `call_4 get_order {"n":1} {"n":1}, call_2 get_order {"n":2} {"n":2}, call_1 refund {} {}`},
		{"its own", call("call_2", "get_order", `{"n":2}`), `call_1 get_order {"n":1} {"n":1}, call_3 refund {} {}, call_2 get_order {"n":2} {"n":2}`},
	} {
		got := in(t, func(ctx context.Context, run *dispatch.Run) {
			_, _ = run.Proxy.Do(ctx, "get_order", json.RawMessage(`{"n":1}`))
			_, _ = run.Proxy.Do(ctx, "get_order", json.RawMessage(`{"n":2}`))
			_, _ = run.Proxy.Do(ctx, "refund", nil)
			run.Transcript().Add(calling(tt.told))
		})
		results := map[string]string{}
		var calls []string
		for line := range strings.Lines(got) {
			var m dispatch.Message
			if err := json.Unmarshal([]byte(line), &m); err != nil {
				t.Fatal(err)
			}
			results[m.ToolCallID] = m.Content.String()
			for _, c := range m.ToolCalls {
				calls = append(calls, fmt.Sprintf("%s %s %s", c.ID, c.Name, c.Arguments))
			}
		}
		for i, c := range calls {
			id, _, _ := strings.Cut(c, " ")
			calls[i] += " " + results[id]
		}
		if strings.Join(calls, ", ") != tt.want {
			t.Errorf("%s: %s\nwant %s", tt.name, strings.Join(calls, ", "), tt.want)
		}
	}
	t.Run("equal calls", func(t *testing.T) {
		got := in(t, func(ctx context.Context, run *dispatch.Run) {
			_, _ = run.Proxy.Do(ctx, "get_order", nil)
			_, _ = run.Proxy.Do(ctx, "get_order", nil)
			run.Transcript().Add(calling(call("call_2", "get_order", "{}")))
		})
		if ids := regexp.MustCompile(`"id":"(\w+)"`).FindAllString(got, -1); strings.Join(ids, " ") != `"id":"call_3" "id":"call_2"` {
			t.Errorf("ids %s:\n%s", ids, got)
		}
	})
}

// An id of a model may be long.
func TestTranscriptWithALongID(t *testing.T) {
	id := strings.Repeat("i", 5000)
	got := in(t, func(ctx context.Context, run *dispatch.Run) {
		_, _ = run.Proxy.Do(proxy.WithCallID(ctx, id), "get_order", map[string]int{"n": 1})
		run.Transcript().Add(calling(call(id, "get_order", `{"n":1,"later":null}`)))
	})
	if strings.Count(got, `"id":"`) != 1 || strings.Count(got, `"tool_call_id":"`+id) != 1 {
		t.Errorf("got %s", got)
	}
}

// Messages that replace what was recorded do not count beside it.
func TestTranscriptCountsNothingTwice(t *testing.T) {
	for name, tell := range map[string]func(*dispatch.Transcript, int, string){
		"told": func(t *dispatch.Transcript, i int, arguments string) {
			t.Add(calling(call(fmt.Sprint(i), "get_order", arguments)))
		},
		"told and answered": func(t *dispatch.Transcript, i int, arguments string) {
			t.Add(calling(call(fmt.Sprint(i), "get_order", arguments)), result(fmt.Sprint(i), `"x"`))
		},
		"answered and told": func(t *dispatch.Transcript, i int, arguments string) {
			t.Add(result(fmt.Sprint(i), `"x"`), calling(call(fmt.Sprint(i), "get_order", arguments)))
		},
	} {
		for more, want := range map[int]int{998 - 2*55: 0, 998 - 2*55 + 1: 1} {
			if _, n := answered(t, func(ctx context.Context, run *dispatch.Run, t *dispatch.Transcript) {
				for i := range 55 {
					arguments := fmt.Sprintf(`{"x":"%d%s"}`, i, strings.Repeat("x", 9000))
					_, _ = run.Proxy.Do(proxy.WithCallID(ctx, fmt.Sprint(i)), "get_order", json.RawMessage(arguments))
					tell(t, i, arguments)
				}
				for range more {
					t.Add(says("assistant", "more"))
				}
			}, tools); n != want {
				t.Errorf("%s, with %d more messages: %d dropped, want %d", name, more, n, want)
			}
		}
	}
	if _, n := answered(t, func(ctx context.Context, run *dispatch.Run, t *dispatch.Transcript) {
		for i := range 10 { // results of 64 KiB
			_, _ = run.Proxy.Do(proxy.WithCallID(ctx, fmt.Sprint(i)), "big", nil)
			t.Add(calling(call(fmt.Sprint(i), "big", "{}")), result(fmt.Sprint(i), `"`+strings.Repeat("x", 64_000)+`"`))
		}
	}, tools); n != 0 {
		t.Errorf("large results: %d dropped", n)
	}
}

func TestTranscriptBeginsWithTheInstruction(t *testing.T) {
	system := dispatch.Message{Role: "system", Content: dispatch.Text("Be brief.")}
	h := newHandler(t, func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		called := calling(call("toolu_1", "get_order", "{}"))
		if run.TurnID == "2" {
			_, _ = run.Proxy.Do(ctx, "get_order", nil)
			run.Transcript().Add(system, called)
		} else {
			run.Transcript().Add(system)
		}
		return run.Transcript().Response("Done."), nil
	}, slow)
	const begin, end = `{"final_response":"Done.","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"hi"},`, `{"role":"assistant","content":"Done."}]}`
	wantAnswer(t, post(h, `{"input":{"user_instruction":"hi"}}`, nil), 200, begin+end)
	wantAnswer(t, post(h, `{"input":{"user_instruction":"hi","turn_id":"2"}}`, nil), 200, begin+
		`{"role":"assistant","tool_calls":[{"id":"toolu_1","name":"get_order","arguments":{}}]},{"role":"tool","content":"{}","tool_call_id":"toolu_1"},`+end)
}

// Which answers have the transcript.
func TestWhenTheTranscriptIsSent(t *testing.T) {
	recorded := `{"role":"user","content":"hi"},{"role":"assistant","tool_calls":[{"id":"call_1","name":"get_order","arguments":{}}]},{"role":"tool","content":"{}","tool_call_id":"call_1"}`
	said := func(text string) string {
		return `{"final_response":"` + text + `","messages":[` + recorded + `,{"role":"assistant","content":"` + text + `"}]}`
	}
	answer := func(messages []dispatch.Message) func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
		return func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
			return &dispatch.Response{FinalResponse: "x", Messages: messages}, nil
		}
	}
	send := func(o *dispatch.Options) { o.SendTranscript = true }
	for _, tt := range []struct {
		name  string
		opts  func(*dispatch.Options)
		agent func(context.Context, *dispatch.Run) (*dispatch.Response, error) // after one call
		want  string
	}{
		{"not asked for", nil, answer(nil), `{"final_response":"x"}`},
		{"asked for", nil, func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			run.Transcript()
			return answer(nil)(ctx, run)
		}, said("x")},
		{"option", send, answer(nil), said("x")},
		{"no messages", nil, answer([]dispatch.Message{}), `{"final_response":"x"}`},
		{"option, no messages", send, answer([]dispatch.Message{}), said("x")},
		{"option, own messages", send, answer([]dispatch.Message{says("user", "a")}), `{"final_response":"x","messages":[{"role":"user","content":"a"},{"role":"assistant","content":"x"}]}`},
		{"option, nil response", send, func(context.Context, *dispatch.Run) (*dispatch.Response, error) { return nil, nil }, said("(no final response)")},
		{"metadata", nil, func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			for range 2 {
				dispatch.RecorderOf(run.Transcript()).UpdateMetadata(func(m *dispatch.Metadata) { m.Model = "m"; m.TotalInputTokens += 5 })
			}
			return run.Transcript().Response("x"), nil
		}, strings.TrimSuffix(said("x"), "}") + `,"metadata":{"model":"m","total_input_tokens":10}}`},
		{"own metadata", nil, func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			dispatch.RecorderOf(run.Transcript()).UpdateMetadata(func(m *dispatch.Metadata) { m.Model = "m" })
			return &dispatch.Response{FinalResponse: "x", Messages: []dispatch.Message{}, Metadata: &dispatch.Metadata{Model: "n"}}, nil
		}, `{"final_response":"x","metadata":{"model":"n"}}`},
		{
			"failure response", func(o *dispatch.Options) {
				o.FailureResponse = func(*dispatch.Run, *toolwire.Error) *dispatch.Response {
					return &dispatch.Response{FinalResponse: "failed"}
				}
			}, func(context.Context, *dispatch.Run) (*dispatch.Response, error) { return nil, errors.New("x") }, said("failed"),
		},
		{
			"failure response after a panic, by itself", func(o *dispatch.Options) {
				o.FailureResponse = func(run *dispatch.Run, _ *toolwire.Error) *dispatch.Response {
					return run.Transcript().Response("failed")
				}
			}, func(context.Context, *dispatch.Run) (*dispatch.Response, error) { panic("x") }, said("failed"),
		},
		{
			"timeout", nil, func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
				_, err := run.Proxy.Do(ctx, "get_order", json.RawMessage(`{"wait":1000}`))
				return nil, err
			},
			`{"final_response":"The agent ran out of time before it had an answer.","messages":[` + recorded +
				`,{"role":"assistant","tool_calls":[{"id":"call_2","name":"get_order","arguments":{"wait":1000}}]},{"role":"tool","content":"{\"error\":\"tool_call_failed\"}","tool_call_id":"call_2"}` +
				`,{"role":"assistant","content":"The agent ran out of time before it had an answer."}]}`,
		},
		{
			"timeout while a call is under way", func(o *dispatch.Options) {
				o.TimeoutResponse = func(*dispatch.Run) *dispatch.Response { return &dispatch.Response{FinalResponse: "late"} }
			}, func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
				dispatch.RecorderOf(run.Transcript()).UpdateMetadata(func(m *dispatch.Metadata) { m.Model = "m" })
				_, err := run.Proxy.Do(context.WithoutCancel(ctx), "get_order", json.RawMessage(`{"wait":301}`))
				return nil, err
			},
			`{"final_response":"late","messages":[` + recorded +
				`,{"role":"assistant","tool_calls":[{"id":"call_2","name":"get_order","arguments":{"wait":301}}]},{"role":"tool","content":"{\"error\":\"tool_call_failed\",\"detail\":\"the call has not ended\"}","tool_call_id":"call_2"}` +
				`,{"role":"assistant","content":"late"}],"metadata":{"model":"m"}}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				opts := []func(*dispatch.Options){slow}
				if tt.opts != nil {
					opts = append(opts, tt.opts)
				}
				h := newHandler(t, func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
					_, _ = run.Proxy.Do(ctx, "get_order", nil)
					return tt.agent(ctx, run)
				}, opts...)
				wantAnswer(t, post(h, `{"input":{"user_instruction":"hi"}}`, nil), 200, tt.want)
				time.Sleep(time.Hour)
			})
		})
	}
}

// The transcript is at most 1 MiB of JSON, whatever has to be escaped in it, and its calls stay
// pairs.
func TestTranscriptBounds(t *testing.T) {
	for name, agent := range map[string]func(context.Context, *dispatch.Run, *dispatch.Transcript){
		"results": func(ctx context.Context, run *dispatch.Run, _ *dispatch.Transcript) {
			for range 50 {
				_, _ = run.Proxy.Do(ctx, "big", nil)
			}
		},
		"arguments": func(ctx context.Context, run *dispatch.Run, _ *dispatch.Transcript) {
			for range 50 {
				_, _ = run.Proxy.Do(ctx, "get_order", map[string]string{"x": strings.Repeat("x", 60_000)})
			}
		},
		"control characters": func(_ context.Context, _ *dispatch.Run, t *dispatch.Transcript) {
			for range 50 {
				t.Add(says("assistant", strings.Repeat("\x01", 100_000)))
				t.Add(thinks(strings.Repeat("\"", 100_000)))
			}
		},
		"messages": func(_ context.Context, _ *dispatch.Run, t *dispatch.Transcript) {
			for range 50 {
				t.Add(dispatch.Message{Role: "user", Content: dispatch.Text(strings.Repeat("x", 100_000))})
			}
		},
		"messages that are repaired": func(_ context.Context, _ *dispatch.Run, t *dispatch.Transcript) {
			for range 5 {
				t.Add(
					dispatch.Message{Role: "user", Content: dispatch.Content(strings.Repeat("\x01", 30_000))},
					dispatch.Message{Role: "user", Content: dispatch.Content(`"` + strings.Repeat("\xff\x01", 10_000) + `"`)},
					dispatch.Message{Role: "user", Content: dispatch.Content(`{"a":"` + strings.Repeat(`\"`, 20_000) + `"}`)},
					dispatch.Message{Role: "assistant", Thinking: []json.RawMessage{[]byte(strings.Repeat("\x02", 20_000))}},
				)
			}
		},
		"ids": func(ctx context.Context, run *dispatch.Run, t *dispatch.Transcript) {
			for i := range 55 {
				id := fmt.Sprint(i, strings.Repeat("i", 6_000), strings.Repeat("\xff", 1_000))
				t.Add(calling(call(id, "get_order", strings.Repeat("\x03", 500))))
				_, _ = run.Proxy.Do(proxy.WithCallID(ctx, id), "get_order", nil)
			}
		},
		"answers": func(ctx context.Context, run *dispatch.Run, t *dispatch.Transcript) {
			for i := range 1201 {
				t.Add(calling(call(fmt.Sprint(i), "get_order", "{}")))
				if i < 50 {
					_, _ = run.Proxy.Do(proxy.WithCallID(ctx, fmt.Sprint(i)), "get_order", nil)
				} else {
					t.Add(result(fmt.Sprint(i), `"x"`))
				}
			}
		},
		"many": func(ctx context.Context, run *dispatch.Run, t *dispatch.Transcript) {
			for range 55 {
				_, _ = run.Proxy.Do(ctx, "get_order", nil)
			}
			for range 2000 {
				t.Add(says("assistant", "more"))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			removed := 0
			h := newHandler(t, func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
				agent(ctx, run, run.Transcript())
				return run.Transcript().Response(strings.Repeat("y", 100_000)), nil
			}, tools, func(o *dispatch.Options) {
				o.Observer = &dispatch.Observer{RunEnd: func(_ context.Context, end dispatch.RunEnd) {
					for _, p := range end.Problems {
						if p.Code == "messages_removed" {
							removed++
						}
					}
				}}
			})
			body := post(h, `{"input":{"user_instruction":"`+strings.Repeat("z", 100_000)+`"}}`, nil).Body.Bytes()
			var answer struct{ Messages json.RawMessage }
			if err := json.Unmarshal(body, &answer); err != nil {
				t.Fatal(err)
			}
			if n := len(answer.Messages); n > 1<<20 || name != "many" && name != "answers" && n < 600_000 {
				t.Errorf("%d bytes of messages", n)
			}
			var rows []dispatch.Message
			if err := json.Unmarshal(answer.Messages, &rows); err != nil || len(rows) > 1000 || removed != 1 {
				t.Errorf("%d rows, %d problems, %v", len(rows), removed, err)
			}
			if found := dispatch.CheckMessages(rows); len(found) > 0 {
				t.Errorf("problems %v", found[0])
			}
			if n := len(rows[0].Content); rows[0].Role != dispatch.RoleUser || n > 64<<10 {
				t.Errorf("the instruction has %d bytes", n)
			}
			open := 0
			for _, m := range rows {
				open += len(m.ToolCalls)
				if m.Role == dispatch.RoleTool {
					open--
				}
			}
			if open != 0 {
				t.Errorf("%d calls have no answer", open)
			}
			if last := rows[len(rows)-1]; last.Role != dispatch.RoleAssistant || !strings.HasSuffix(last.Content.String(), "y…") {
				t.Errorf("the last message is the %s's", last.Role)
			}
		})
	}
}

// A message with calls is not the final one, even if it has the same text.
func TestTheFinalTextBesideACall(t *testing.T) {
	h := newHandler(t, func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		run.Transcript().Add(dispatch.Message{
			Role: dispatch.RoleAssistant, Content: dispatch.Text("Done."), ToolCalls: []dispatch.ToolCall{call("1", "f", "{}")},
		})
		return run.Transcript().Response("Done."), nil
	})
	sent := dispatch.CheckResponse(post(h, seedBody, nil).Body.Bytes()).Messages
	if got, want := brief(sent[1:]), "assistant Done. [1 f {}]\nassistant Done.\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// The ids of recorded calls are unique in a session: across its turns, and across handlers that
// serve them.
func TestCallIDsAreUniqueInASession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		platform := orders(t)
		agent := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			if run.TurnID == "no-ids" {
				return &dispatch.Response{FinalResponse: "x", Messages: []dispatch.Message{calling(call("", "f", "{}"), call("", "g", "{}"))}}, nil
			}
			for range 2 {
				_, _ = run.Proxy.Do(ctx, "get_order", nil)
			}
			if run.TurnID == "2" {
				panic("x")
			}
			return run.Transcript().Response("Done."), nil
		}
		h := newHandler(t, agent, toPlatform(platform))
		ids := func(h http.Handler, run *proxytest.Run, task string) string {
			var ids []string
			for _, m := range dispatch.CheckResponse(dispatchRun(h, run, task).Body.Bytes()).Messages {
				for _, c := range m.ToolCalls {
					ids = append(ids, c.ID)
				}
			}
			return strings.Join(ids, " ")
		}
		session, other := platform.NewRun(), platform.NewRun()
		check := func(got, want string) {
			t.Helper()
			if got != want {
				t.Errorf("ids %q, want %q", got, want)
			}
		}
		check(ids(h, session, `,"turn_id":1`), "call_1 call_2")
		check(ids(h, session, `,"turn_id":2`), "") // panics
		check(ids(h, session, `,"turn_id":3`), "call_5 call_6")
		check(ids(h, other, ``), "call_1 call_2")
		check(ids(h, other, `,"turn_id":"no-ids"`), "call_3 call_4")
		check(ids(newHandler(t, agent, toPlatform(platform)), session, `,"messages":[{"role":"assistant","tool_calls":[{"id":"call_2","name":"get_order","arguments":{}},{"id":"call_3","name":"x","arguments":{}}]}]`), "call_1 call_4")

		// The state of a token is kept for an hour after its last dispatch.
		time.Sleep(time.Hour - time.Nanosecond)
		check(ids(h, session, ``), "call_7 call_8")
		bad := post(h, `{"odyssey_proxy_url":"ftp://example.com","run_token":"`+session.Token+`"}`, nil)
		wantError(t, bad, 400, "invalid_envelope", "cannot be used")
		time.Sleep(time.Hour)
		check(ids(h, session, ``), "call_1 call_2")
		check(ids(h, other, ``), "call_1 call_2")
	})
}

// At most 10,000 tokens that are not in use are remembered; one in use stays.
func TestHowManyTokensAreRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHandler(t, func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			if run.Instruction == "" {
				return nil, errors.New("x")
			}
			_, _ = run.Proxy.Do(ctx, "get_order", nil)
			if run.Instruction == "wait" {
				time.Sleep(time.Minute)
			}
			return run.Transcript().Response("Done."), nil
		}, slow)
		id := func(token, instruction string) string {
			w := post(h, `{"run_token":"`+token+`","input":{"user_instruction":"`+instruction+`"}}`, func(r *http.Request) { r.Header.Del("X-Pipelines-Run-Token") })
			if messages := dispatch.CheckResponse(w.Body.Bytes()).Messages; len(messages) > 1 {
				return messages[1].ToolCalls[0].ID
			}
			return ""
		}
		id("in-use", "x") // has been idle
		go id("in-use", "wait")
		synctest.Wait()
		id("in-use", "x") // has ended, while another dispatch of the token goes on
		id("refused", "x")
		post(h, `{"run_token":"refused","odyssey_proxy_url":"http://localhost/tools","input":{"user_instruction":"x"}}`, nil) // after which the token is idle
		id("idle", "x")
		fill := func(from, to int) {
			for i := from; i < to; i++ {
				id(fmt.Sprint("token-", i), "")
			}
		}
		fill(0, 9_998)
		if got := id("idle", "x"); got != "call_2" {
			t.Errorf("10,000 tokens: the id is %s", got)
		}
		fill(9_998, 19_997)
		if got := id("idle", "x"); got != "call_1" {
			t.Errorf("one token more: the id is %s", got)
		}
		if got := id("in-use", "x"); got != "call_4" {
			t.Errorf("the token in use: the id is %s", got)
		}
		time.Sleep(time.Hour)
		if got := id("idle", "x"); got != "call_1" {
			t.Errorf("an hour later: the id is %s", got)
		}
	})
}

// A Run that a test has made has a transcript of its own.
func TestTranscriptOfARunMadeByHand(t *testing.T) {
	run := &dispatch.Run{Instruction: "hi"}
	run.Transcript().Add(says("assistant", "Let me see."))
	got, err := json.Marshal(run.Transcript().Response("Done.").Messages)
	if want := `[{"role":"user","content":"hi"},{"role":"assistant","content":"Let me see."},{"role":"assistant","content":"Done."}]`; err != nil || string(got) != want {
		t.Errorf("got %s, %v", got, err)
	}
	run = &dispatch.Run{Instruction: "hi"}
	const calls = 16
	var tools sync.WaitGroup // of an agent that is tested with the run
	for range calls {
		tools.Go(func() {
			if run.Err() == nil {
				run.Transcript().Add(says("assistant", "I am a tool."))
			}
		})
	}
	tools.Wait()
	if n := len(run.Transcript().Messages()); n != 1+calls {
		t.Errorf("%d messages after %d calls", n, calls)
	}
}

// An agent may change the messages that it has got, for example to shorten arguments, while its handler reads the
// transcript because the time is over.
func TestTheAgentMayChangeMessagesOfTheTranscript(t *testing.T) {
	asks := func(id string) dispatch.Message {
		return dispatch.Message{Role: dispatch.RoleAssistant, ToolCalls: []dispatch.ToolCall{{ID: id, Name: "get_order", Arguments: json.RawMessage(`{}`)}}}
	}
	synctest.Test(t, func(t *testing.T) {
		h := newHandler(t, func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			_, _ = run.Proxy.Do(ctx, "get_order", nil)
			dispatch.RecorderOf(run.Transcript()).SetConversation(ctx, []dispatch.Message{asks("of the model")})
			run.Transcript().Add(asks("added"))
			for _, got := range [][]dispatch.Message{run.Transcript().Messages(), run.Transcript().Response("Done.").Messages} {
				for _, m := range got {
					for i := range m.ToolCalls {
						m.ToolCalls[i] = dispatch.ToolCall{ID: "changed"}
					}
				}
			}
			time.Sleep(time.Hour)
			return nil, nil
		}, tools)
		w := post(h, seedBody, nil)
		ids := 0
		for _, m := range dispatch.CheckResponse(w.Body.Bytes()).Messages {
			for _, call := range m.ToolCalls {
				if ids++; call.ID == "changed" || call.Name != "get_order" {
					t.Errorf("the response has the call %s", call)
				}
			}
		}
		if ids != 2 {
			t.Errorf("the response has %d calls: %s", ids, w.Body)
		}
		time.Sleep(time.Hour) // until the agent has returned
	})
}

// An agent with a model adds the model's messages as they come. The calls in them are recorded with
// the model's ids.
func ExampleTranscript_Add() {
	model := func() dispatch.Message { // what the model answers
		return dispatch.Message{Role: dispatch.RoleAssistant, Content: dispatch.Text("I look it up."), ToolCalls: []dispatch.ToolCall{
			{ID: "toolu_01", Name: "get_order", Arguments: json.RawMessage(`{"order_id":"4521"}`)},
		}}
	}
	h, err := dispatch.New(func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		message := model()
		run.Transcript().Add(message)
		for _, call := range message.ToolCalls {
			if _, err := run.Proxy.Do(proxy.WithCallID(ctx, call.ID), call.Name, call.Arguments); err != nil {
				return nil, err
			}
		}
		dispatch.RecorderOf(run.Transcript()).UpdateMetadata(func(m *dispatch.Metadata) { m.TotalOutputTokens += 12 })
		return run.Transcript().Response("It has shipped."), nil
	}, &dispatch.Options{Tokens: []string{"agent-token"}, Proxy: &proxy.Options{
		Transport: testkit.RoundTrip(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(`{"response":{"status":"shipped"}}`))}, nil
		}),
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	show(h, "/", "agent-token", `{"odyssey_proxy_url":"https://api.example.com/runs/abc","input":{"user_instruction":"Has it shipped?"}}`)
	// Output:
	// 200 {"final_response":"It has shipped.","messages":[{"role":"user","content":"Has it shipped?"},{"role":"assistant","content":"I look it up.","tool_calls":[{"id":"toolu_01","name":"get_order","arguments":{"order_id":"4521"}}]},{"role":"tool","content":"{\"status\":\"shipped\"}","tool_call_id":"toolu_01"},{"role":"assistant","content":"It has shipped."}],"metadata":{"total_output_tokens":12}}
}

// A call without an id has its recorded result, and no other message takes its place.
func TestCallsThatAreToldWithoutAnID(t *testing.T) {
	got, _ := answered(t, func(ctx context.Context, run *dispatch.Run, tr *dispatch.Transcript) {
		for _, n := range []string{`{"n":1}`, `{"n":2}`} {
			_, _ = proxy.Call[json.RawMessage](ctx, run.Proxy, "get_order", json.RawMessage(n))
		}
		dispatch.RecorderOf(tr).SetConversation(ctx, []dispatch.Message{
			says("user", run.Instruction), calling(call("", "get_order", `{"n":1}`)), says("user", "And the other?"),
			calling(call("", "get_order", `{"n":2}`)),
		})
	}, slow)
	want := `assistant [call_3 get_order {"n":1}]
tool(call_3) {"n":1}
user And the other?
assistant [call_4 get_order {"n":2}]
tool(call_4) {"n":2}
assistant Done.
`
	if text := brief(got); !strings.HasSuffix(text, want) {
		t.Errorf("got\n%s", text)
	}
}

// A transcript keeps 4 MiB of what was recorded and added, of the agent's own conversation, and of those
// of its sub-agents. Whatever is not kept is counted as not sent.
func TestWhatATranscriptKeeps(t *testing.T) {
	text := strings.Repeat("x", 50_000)
	list := func(n int) (messages []dispatch.Message) {
		for range n {
			messages = append(messages, says("assistant", text))
		}
		return messages
	}
	const whole = 4 << 20 / 50_250 // messages that 4 MiB have room for
	for _, tt := range []struct {
		name      string
		agent     func(context.Context, *dispatch.Run, *dispatch.Transcript)
		all, kept int // messages, without the instruction and the final response
	}{
		{"added", func(_ context.Context, _ *dispatch.Run, tr *dispatch.Transcript) { tr.Add(list(100)...) }, 100, whole},
		{"added after a message that is too large", func(_ context.Context, _ *dispatch.Run, tr *dispatch.Transcript) {
			tr.Add(says("user", "a"), says("user", strings.Repeat("x", 5<<20)), says("user", "b"))
		}, 3, 1},
		{"recorded", func(ctx context.Context, run *dispatch.Run, _ *dispatch.Transcript) {
			for i := range 50 {
				_, _ = proxy.Call[json.RawMessage](ctx, run.Proxy, "get_order", map[string]any{"n": i, "text": text})
			}
		}, 100, whole/2*2 + 2}, // the last result is cut
		{"a conversation", func(ctx context.Context, _ *dispatch.Run, tr *dispatch.Transcript) {
			dispatch.RecorderOf(tr).SetConversation(ctx, list(100))
			dispatch.RecorderOf(tr).SetConversation(ctx, list(90))
		}, 90, whole},
		{"conversations", func(ctx context.Context, _ *dispatch.Run, tr *dispatch.Transcript) {
			tr.Add(list(80)...)
			dispatch.RecorderOf(tr).SetConversation(proxy.WithActor(ctx, "a"), list(90))
			dispatch.RecorderOf(tr).SetConversation(proxy.WithActor(ctx, "b"), list(60))
			dispatch.RecorderOf(tr).SetConversation(proxy.WithActor(ctx, "a"), list(10))
			dispatch.RecorderOf(tr).SetConversation(proxy.WithActor(ctx, "b"), list(80))
			dispatch.RecorderOf(tr).SetConversation(ctx, list(80))
		}, 250, 80 + 80 + whole},
	} {
		kept := 0
		sent, removed := answered(t, func(ctx context.Context, run *dispatch.Run, tr *dispatch.Transcript) {
			tt.agent(ctx, run, tr)
			all := tr.Messages()
			kept = len(all) - 1
			if last := all[kept].Content.String(); tt.name == "recorded" && last != "…" {
				t.Errorf("the last result that is kept is %.100s", last)
			}
		}, slow)
		if kept < tt.kept-1 || kept > tt.kept+1 || len(sent)+removed != tt.all+2 {
			t.Errorf("%s: %d messages are kept, want %d; %d are sent and %d are not", tt.name, kept, tt.kept, len(sent), removed)
		}
	}
}

// A recorded call whose id another call of the agent's has gets a new id, and keeps its result.
func TestACallWithANewIDKeepsItsResult(t *testing.T) {
	got := in(t, func(ctx context.Context, run *dispatch.Run) {
		ctx = proxy.WithCallID(ctx, "m1")
		_, _ = run.Proxy.Do(ctx, "get_order", json.RawMessage(`{"n":1}`))
		run.Transcript().Add(says("user", "And the other?"))
		_, _ = run.Proxy.Do(ctx, "refund", json.RawMessage(`{"n":2}`))
		run.Transcript().Add(calling(call("m1", "refund", `{"n":2}`)), result("m1", `"no"`))
		run.Transcript().Add(says("user", "Again."), result("m1", `"still no"`))
	})
	want := `{"role":"assistant","tool_calls":[{"id":"call_1","name":"get_order","arguments":{"n":1}}]}
{"role":"tool","content":"{\"n\":1}","tool_call_id":"call_1"}
{"role":"user","content":"And the other?"}
{"role":"assistant","tool_calls":[{"id":"m1","name":"refund","arguments":{"n":2}}]}
{"role":"tool","content":"no","tool_call_id":"m1"}
{"role":"user","content":"Again."}
{"role":"tool","content":"still no","tool_call_id":"m1"}`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A final text that the agent has added stands once, although a call that it told was recorded later.
func TestFinalResponseThatWasAdded(t *testing.T) {
	got, _ := answered(t, func(ctx context.Context, run *dispatch.Run, tr *dispatch.Transcript) {
		tr.Add(calling(call("m1", "get_order", `{}`)), says("assistant", "Done."))
		_, _ = run.Proxy.Do(proxy.WithCallID(ctx, "m1"), "get_order", nil)
	}, slow)
	want := "assistant [m1 get_order {}]\ntool(m1) {}\nassistant Done.\n"
	if text := brief(got); !strings.HasSuffix(text, want) || strings.Count(text, "Done.") != 1 {
		t.Errorf("got\n%s", text)
	}
}

// A message that the agent adds stands between the calls that begin before and after it, although
// these overlap.
func TestAddedBetweenCallsThatOverlap(t *testing.T) {
	got := in(t, func(ctx context.Context, run *dispatch.Run) {
		var group sync.WaitGroup
		for i, wait := range []string{`{"wait":3}`, `{"wait":1}`} {
			group.Go(func() {
				time.Sleep(time.Duration(2*i) * time.Millisecond)
				_, _ = run.Proxy.Do(ctx, "get_order", json.RawMessage(wait))
			})
		}
		time.Sleep(time.Millisecond)
		run.Transcript().Add(says("assistant", "And one more."))
		group.Wait()
	})
	want := `{"role":"assistant","tool_calls":[{"id":"call_1","name":"get_order","arguments":{"wait":3}}]}
{"role":"tool","content":"{\"wait\":3}","tool_call_id":"call_1"}
{"role":"assistant","content":"And one more."}
{"role":"assistant","tool_calls":[{"id":"call_2","name":"get_order","arguments":{"wait":1}}]}
{"role":"tool","content":"{\"wait\":1}","tool_call_id":"call_2"}`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A text that was added is the final response if nothing comes after it.
func TestTextBeforeASubAgent(t *testing.T) {
	got, _ := answered(t, func(ctx context.Context, run *dispatch.Run, tr *dispatch.Transcript) {
		tr.Add(says("assistant", "Done."))
		dispatch.RecorderOf(tr).SetConversation(proxy.WithActor(ctx, "sub"), []dispatch.Message{says("user", "x"), says("assistant", "y")})
	})
	if text := brief(got); !strings.HasSuffix(text, "assistant Done.\nuser x\nassistant y\nassistant Done.\n") {
		t.Errorf("got\n%s", text)
	}
}

// A text inside of a conversation stays there, although it is that of the final response.
func TestFinalResponseInsideOfAConversation(t *testing.T) {
	got, _ := answered(t, func(ctx context.Context, run *dispatch.Run, tr *dispatch.Transcript) {
		dispatch.RecorderOf(tr).SetConversation(ctx, []dispatch.Message{
			says("user", run.Instruction), says("assistant", "Done."), says("user", "Sure?"), says("assistant", "Yes."),
		})
	})
	if text := brief(got); !strings.HasSuffix(text, "assistant Done.\nuser Sure?\nassistant Yes.\nassistant Done.\n") {
		t.Errorf("got\n%s", text)
	}
}

// The calls of sub-agents that one proxy.Each starts have its order, whichever begins first.
func TestTranscriptOfSubAgentsOfEach(t *testing.T) {
	got := in(t, func(ctx context.Context, run *dispatch.Run) {
		_, _ = proxy.Each(ctx, []int{1, 2, 3}, func(ctx context.Context, n int) (toolwire.ModelResult, error) {
			time.Sleep(time.Duration(4-n) * time.Millisecond)
			client := run.Proxy.As(fmt.Sprint("sub", n))
			return client.CallForModel(proxy.WithCallID(ctx, fmt.Sprint("m", n)), "get_order", `{}`)
		})
	})
	first, second, third := strings.Index(got, `"id":"m1"`), strings.Index(got, `"id":"m2"`), strings.Index(got, `"id":"m3"`)
	if first < 0 || first > second || second > third {
		t.Errorf("got\n%s", got)
	}
}

// A model may give two calls one id. The transcript has it once.
func TestCallsWithOneID(t *testing.T) {
	got := in(t, func(ctx context.Context, run *dispatch.Run) {
		for _, n := range []string{`{"n":1}`, `{"n":2}`} {
			_, _ = run.Proxy.Do(proxy.WithCallID(ctx, "c0"), "get_order", json.RawMessage(n))
		}
	})
	want := `{"role":"assistant","tool_calls":[{"id":"c0","name":"get_order","arguments":{"n":1}}]}
{"role":"tool","content":"{\"n\":1}","tool_call_id":"c0"}
{"role":"assistant","tool_calls":[{"id":"call_1","name":"get_order","arguments":{"n":2}}]}
{"role":"tool","content":"{\"n\":2}","tool_call_id":"call_1"}`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A recorded call is told once, whether a conversation or an added message tells it first.
func TestEqualIDsInAConversationAndAdded(t *testing.T) {
	got, _ := answered(t, func(ctx context.Context, run *dispatch.Run, tr *dispatch.Transcript) {
		for _, n := range []string{`{"n":1}`, `{"n":2}`} {
			_, _ = run.Proxy.Do(proxy.WithCallID(ctx, "c0"), "get_order", json.RawMessage(n))
		}
		dispatch.RecorderOf(tr).SetConversation(ctx, []dispatch.Message{says("user", run.Instruction), calling(call("c0", "get_order", `{}`))})
		tr.Add(calling(call("c0", "get_order", `{}`)))
	}, slow)
	want := "assistant [c0 get_order {}]\ntool(c0) {\"n\":1}\nassistant [c0 get_order {}]\ntool(c0) {\"n\":2}\nassistant Done.\n"
	if text := brief(got); !strings.HasSuffix(text, want) || strings.Count(text, "tool(") != 2 {
		t.Errorf("got\n%s", text)
	}
}

// Of equal calls without ids of the model, a sub-agent tells its own.
func TestEqualCallsOfSubAgents(t *testing.T) {
	got, _ := answered(t, func(ctx context.Context, run *dispatch.Run, tr *dispatch.Transcript) {
		_, _ = run.Proxy.As("a").Do(ctx, "get_order", json.RawMessage(`{"n":1}`))
		tr.Add(says("assistant", "Now b."))
		_, _ = run.Proxy.As("b").Do(ctx, "get_order", json.RawMessage(`{"n":1}`))
		dispatch.RecorderOf(tr).SetConversation(proxy.WithActor(ctx, "b"), []dispatch.Message{calling(call("x", "get_order", `{"n":1}`))})
	}, slow)
	want := `assistant [call_1 get_order {"n":1}]
tool(call_1) {"n":1}
assistant Now b.
assistant [x get_order {"n":1}]
tool(x) {"n":1}
assistant Done.
`
	if text := brief(got); !strings.HasSuffix(text, want) {
		t.Errorf("got\n%s", text)
	}
}

// The agent's own conversation tells its calls before a sub-agent's does, whichever was set first.
func TestEqualCallsOfTheAgentAndASubAgent(t *testing.T) {
	got, _ := answered(t, func(ctx context.Context, run *dispatch.Run, tr *dispatch.Transcript) {
		sub := proxy.WithActor(ctx, "sub")
		dispatch.RecorderOf(tr).SetConversation(sub, []dispatch.Message{says("user", "x")})
		_, _ = run.Proxy.Do(ctx, "get_order", json.RawMessage(`{"n":1}`))
		dispatch.RecorderOf(tr).SetConversation(sub, []dispatch.Message{
			calling(call("s", "get_order", `{"n":1}`)), result("s", `"of another client"`),
		})
		dispatch.RecorderOf(tr).SetConversation(ctx, []dispatch.Message{says("user", run.Instruction), calling(call("m", "get_order", `{"n":1}`))})
	}, slow)
	want := `assistant [m get_order {"n":1}]
tool(m) {"n":1}
assistant [s get_order {"n":1}]
tool(s) of another client
assistant Done.
`
	if text := brief(got); !strings.HasSuffix(text, want) {
		t.Errorf("got\n%s", text)
	}
}

// A response that does not contain the transcript reports no messages that the transcript did not keep.
func TestFullTranscriptThatIsNotSent(t *testing.T) {
	var problems []dispatch.Problem
	h := newHandler(t, func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		for range 100 {
			_, _ = run.Proxy.Do(ctx, "big", nil)
		}
		return &dispatch.Response{FinalResponse: "Done."}, nil
	}, tools, func(o *dispatch.Options) {
		o.RateLimit = -1
		o.Observer = &dispatch.Observer{RunEnd: func(_ context.Context, end dispatch.RunEnd) { problems = end.Problems }}
	})
	wantAnswer(t, post(h, seedBody, nil), 200, `{"final_response":"Done."}`)
	if problems != nil {
		t.Errorf("problems %v", problems)
	}
}
