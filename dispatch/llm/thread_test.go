package llm_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/llm"
	"github.com/toolwire/toolwire/internal/runctx"
	"github.com/toolwire/toolwire/proxy"
)

// chat returns a request with these messages, "role text" each.
func chat(messages ...string) string {
	list := make([]string, len(messages))
	for i, m := range messages {
		role, text, _ := strings.Cut(m, " ")
		list[i] = fmt.Sprintf(`{"role":%q,"content":%q}`, role, text)
	}
	return `{"model":"m","messages":[` + strings.Join(list, ",") + `]}`
}

func says(text string) exch {
	return exch(fmt.Sprintf(`{"model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":%q}}],"usage":{"prompt_tokens":1,"completion_tokens":2}}`, text))
}

// brief writes the messages but for the final response, "role text" each.
func brief(messages []dispatch.Message) string {
	var all []string
	for _, m := range messages {
		all = append(all, string(m.Role)+" "+m.Content.String())
	}
	return strings.Join(all[:max(0, len(all)-1)], "; ")
}

// of returns the problems with a code.
func of(result *dispatchtest.Result, code string) []dispatch.Problem {
	return slices.DeleteFunc(slices.Clone(result.Problems), func(p dispatch.Problem) bool { return p.Code != code })
}

const chatPath = "/v1/chat/completions"

// What is known of a conversation, after requests of which each has a response.
func TestConversationOfRequests(t *testing.T) {
	const unclear = "conversation_unclear"
	responses := func(input, more, id, text string) [2]string {
		return [2]string{
			`{"model":"m"` + more + `,"input":[` + input + `]}`,
			`{"id":"` + id + `","status":"completed","model":"m","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"` + text + `"}]}]}`,
		}
	}
	item := func(text string) string { return `{"role":"user","content":"` + text + `"}` }
	asks := func(messages ...string) [2]string { return [2]string{chat(messages...), string(says("yes"))} }
	for _, tt := range []struct {
		name      string
		path      string
		exchanges [][2]string // request and response
		want      string
		problem   string // a part of its message; "" for none
	}{
		{"it grows", chatPath, [][2]string{asks("user a"), asks("user a", "assistant yes", "user b")},
			"user a; assistant yes; user b; assistant yes", ""},
		{"the agent writes a response in its own way", chatPath, [][2]string{asks("user a"), asks("user a", "assistant Yes!", "user b")},
			"user a; assistant yes; user b; assistant yes", ""},
		{"the agent ignores a response", chatPath, [][2]string{asks("user a"), asks("user a", "user b")}, "user a; assistant yes; user b; assistant yes", ""},
		{"the same request again", chatPath, [][2]string{asks("user a"), {chat("user a"), string(says("no"))}}, "user a; assistant no", ""},
		{"the last messages, and then all of them", chatPath, [][2]string{
			asks("user a"), {chat("assistant yes", "user b"), string(says("no"))}, {chat("user a", "assistant yes", "user b"), string(says("maybe"))},
		}, "user a; assistant yes; user b; assistant no; assistant maybe", ""},
		{"all messages, and then the last of them, twice", chatPath, [][2]string{
			asks("user a"), {chat("user a", "assistant yes", "user b"), string(says("no"))},
			{chat("assistant yes", "user b"), string(says("maybe"))}, {chat("assistant yes", "user b"), string(says("so"))},
		}, "user a; assistant yes; user b; assistant no; assistant so", ""},
		{"the same request again, with a summary of what came before", chatPath, [][2]string{
			asks("user a"), {chat("user summary", "assistant yes", "user b"), string(says("no"))}, {chat("user summary", "assistant yes", "user b"), string(says("maybe"))},
		}, "user a; assistant yes; user b; assistant maybe", ""},
		{"a chained request, and then the whole conversation", "/v1/responses", [][2]string{
			responses(item("a"), "", "resp_1", "yes"), responses(item("b"), `,"previous_response_id":"resp_1"`, "resp_2", "no"),
			responses(item("a")+`,{"role":"assistant","content":"yes"},`+item("b"), "", "resp_3", "maybe"),
		}, "user a; assistant yes; user b; assistant maybe", ""},
		{"a message before one that is known, and after an answer that is passed over", chatPath, [][2]string{
			asks("user a"), {chat("user a", "user b"), string(says("no"))}, {chat("user a", "user n", "user b"), string(says("maybe"))},
		}, "user a; assistant yes; user n; user b; assistant no; assistant maybe", ""},
		{"nothing that is shown follows the beginning of the response", "/v1/messages", [][2]string{{
			`{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"{"}]}`,
			`{"type":"message","content":[{"type":"redacted_thinking","data":"x"}],"stop_reason":"end_turn"}`,
		}}, "user a; assistant {", ""},
		{"several choices", chatPath, [][2]string{{chat("user a"), `{"model":"other","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"x"}},{"index":1,"message":{}}]}`}},
			"user a", "it has several alternatives"},
		{"several choices, of which the agent takes one", chatPath, [][2]string{{chat("user a"), `{"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"x"}},{"index":1,"message":{}}]}`},
			asks("user a", "assistant x", "user b")}, "user a; assistant x; user b; assistant yes", ""},
		{"an early message is changed", chatPath, [][2]string{asks("user a"), asks("user b", "assistant yes", "user c")},
			"user a; assistant yes; user c; assistant yes", ""},
		{"two that both go on, and a request aside", chatPath, [][2]string{
			asks("user a"), asks("user b"), asks("user a", "assistant yes", "user c"), asks("user b", "assistant yes", "user d"),
		}, "user a; assistant yes; user c; assistant yes; user b; assistant yes; user d; assistant yes", ""},
		{"malformed", chatPath, [][2]string{{`{"messages":[{"role":"user","content":"a"},{"role":"sk-canary-model"}]}`, string(says("yes"))}}, "user a; assistant yes", "was not read: llm: invalid_conversation: /messages/1/role"},

		{"chained", "/v1/responses", [][2]string{
			responses(item("a"), `,"instructions":"S"`, "resp_1", "yes"),
			responses(item("b"), `,"instructions":"S","previous_response_id":"resp_1"`, "resp_2", "no"),
			responses(item("c"), `,"previous_response_id":"resp_2"`, "resp_3", "maybe"),
		}, "system S; user a; assistant yes; user b; assistant no; user c; assistant maybe", ""},
		{"a chained request again", "/v1/responses", [][2]string{
			responses(item("a"), `,"instructions":"S"`, "resp_1", "yes"),
			{`{"model":"m","instructions":"S","input":[` + item("b") + `],"previous_response_id":"resp_1"}`, `{"status":"failed"}`},
			responses(item("b"), `,"instructions":"S","previous_response_id":"resp_1"`, "resp_3", "no"),
			responses(item("c"), `,"previous_response_id":"resp_3"`, "resp_4", "maybe"),
		}, "system S; user a; assistant yes; user b; assistant no; user c; assistant maybe", ""},
		{"a chained request again, with other instructions", "/v1/responses", [][2]string{
			responses(item("a"), `,"instructions":"S"`, "resp_1", "yes"), responses(item("b"), `,"instructions":"S","previous_response_id":"resp_1"`, "resp_2", "no"),
			responses(item("b"), `,"instructions":"T","previous_response_id":"resp_1"`, "resp_3", "maybe"),
		}, "system S; user a; assistant yes; user b; assistant no; system T; assistant maybe", ""},
		{"another request to the same response", "/v1/responses", [][2]string{
			responses(item("a"), "", "resp_1", "yes"), responses(item("b"), `,"previous_response_id":"resp_1"`, "resp_2", "no"),
			responses(item("c"), `,"previous_response_id":"resp_1"`, "resp_3", "no"),
		}, "user a; assistant yes; user b; assistant no; user c; assistant no", ""},
		{"chained to something else", "/v1/responses", [][2]string{responses(item("a"), "", "resp_1", "yes"), responses(item("b"), `,"previous_response_id":"resp_0"`, "resp_2", "no")},
			"user a; assistant yes", "previous_response_id"},
		{"chained to an earlier run", "/v1/responses", [][2]string{responses(item("b"), `,"previous_response_id":"resp_0"`, "resp_2", "no")}, "user b; assistant no", "previous_response_id"},
		{"chained to another run with the prompt", "/v1/responses", [][2]string{responses(item(instruction), `,"previous_response_id":"resp_0"`, "resp_2", "no")}, "user " + instruction + "; assistant no", "previous_response_id"},
		{"chained with other instructions", "/v1/responses", [][2]string{
			responses(item("a"), `,"instructions":"S"`, "resp_1", "yes"), responses(item("b"), `,"instructions":"T","previous_response_id":"resp_1"`, "resp_2", "no"),
		}, "system S; user a; assistant yes; system T; user b; assistant no", ""},
		{"stored", "/v1/responses", [][2]string{responses(item("a"), `,"conversation":"conv_1"`, "resp_1", "yes"), responses(item("b"), `,"conversation":"conv_1"`, "resp_2", "no")},
			"user a; assistant yes; user b; assistant no", "the server keeps"},
		{"nothing but an earlier response", "/v1/responses", [][2]string{responses(item("a"), "", "resp_1", "yes"),
			{`{"model":"m","previous_response_id":"resp_1"}`, `{"id":"resp_2","status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"no"}]}]}`}},
			"user a; assistant yes; assistant no", ""},
		{"a prompt that the server keeps", "/v1/responses", [][2]string{
			{`{"prompt":{"id":"pmpt_1"}}`, `{"id":"resp_2","status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"no"}]}]}`}},
			"assistant no", "the server keeps it"},
		{"an item by reference", "/v1/responses", [][2]string{responses(item("a")+`,{"type":"item_reference","id":"msg_1"}`, "", "resp_1", "yes")}, "user a; assistant yes", "/input/1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var replies []exch
			for _, x := range tt.exchanges {
				replies = append(replies, exch(x[1]))
			}
			transport := &llm.Transport{Base: model(replies...)}
			result := inRun(t, func(ctx context.Context, _ *dispatch.Run) error {
				for _, x := range tt.exchanges {
					if _, err := send(ctx, transport, tt.path, x[0]); err != nil {
						return err
					}
				}
				return nil
			})
			want := tt.want
			if want == "" || !strings.Contains(want, "user "+instruction) {
				want = strings.TrimSuffix("user "+instruction+"; "+want, "; ")
			}
			got := brief(result.Messages)
			for _, system := range []string{"system S; ", "system T; "} {
				if after, found := strings.CutPrefix(want, "user "+instruction+"; "+system); found {
					want = system + "user " + instruction + "; " + after
				}
			}
			if got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			if tt.problem == "" {
				if len(result.Problems) > 0 {
					t.Error(result.Problems)
				}
			} else if found := of(result, unclear); len(found) != 1 || found[0].Fatal || !strings.Contains(found[0].Message, tt.problem) ||
				strings.Contains(found[0].Message, "canary") {
				t.Errorf("problems %v", result.Problems)
			}
		})
	}
}

// In a session the agent may name a response of an earlier turn: the transcript of a turn begins with
// its prompt.
func TestSessionsOfPreviousResponses(t *testing.T) {
	for name, tt := range map[string]struct {
		ask     string // of the second turn, %s is the prompt
		want    string
		problem bool
	}{
		"the prompt":      {`{"role":"user","content":"%s"}`, "system S; user And the other?; assistant 2; user more; assistant 3", false},
		"another message": {`{"role":"user","content":"go on, %.0s"}`, "system S; user And the other?; user go on, ; assistant 2; user more; assistant 3", true},
	} {
		reply := func(id string) exch {
			return exch(`{"id":"resp_` + id + `","status":"completed","model":"m","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"` + id + `"}]}]}`)
		}
		transport := &llm.Transport{Base: model(reply("1"), `{"status":"failed"}`, reply("2"), reply("3"))}
		again := false
		result, err := dispatchtest.Dispatch(t.Context(), dispatchtest.Target{Agent: func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			asks := []string{`"input":[{"role":"user","content":"` + run.Instruction + `"}]`}
			if again {
				ask := `"previous_response_id":"resp_1","instructions":"S","input":[` + fmt.Sprintf(tt.ask, run.Instruction) + `]`
				asks = []string{ask, ask, `"previous_response_id":"resp_2","instructions":"S","input":[{"role":"user","content":"more"}]`}
			}
			again = true
			for _, ask := range asks {
				if _, err := send(ctx, transport, "/v1/responses", `{"model":"m",`+ask+`}`); err != nil {
					return nil, err
				}
			}
			return &dispatch.Response{FinalResponse: "done"}, nil
		}}, dispatchtest.Task{Instruction: instruction, Conversation: &dispatchtest.Conversation{UserTurns: []string{"And the other?"}}})
		if err != nil {
			t.Fatal(err)
		}
		if got := brief(result.Messages); got != tt.want || (len(result.Problems) > 0) != tt.problem {
			t.Errorf("%s: %v, got\n%s\nwant\n%s", name, result.Problems, got, tt.want)
		}
	}
}

// Sub-agents that run at once each have their conversation, with a label and without.
func TestParallelSubAgents(t *testing.T) {
	base := roundTrip(func(r *http.Request) (*http.Response, error) {
		body, err := io.ReadAll(r.Body)
		return response(says(fmt.Sprint(strings.Count(string(body), "role")))), err
	})
	for _, labelled := range []bool{true, false} {
		transport := &llm.Transport{Base: base}
		result := inRun(t, func(ctx context.Context, _ *dispatch.Run) error {
			if _, err := send(ctx, transport, chatPath, chat("user "+instruction)); err != nil {
				return err
			}
			var group sync.WaitGroup
			errs := make([]error, 2)
			for i, name := range []string{"orders", "refunds"} {
				group.Go(func() {
					ctx := ctx
					if labelled {
						ctx = proxy.WithActor(ctx, name)
					}
					for n := range 20 {
						asked := []string{"user " + name}
						for range n {
							asked = append(asked, "user more")
						}
						if _, err := send(ctx, transport, chatPath, chat(asked...)); err != nil {
							errs[i] = err
						}
					}
				})
			}
			group.Wait()
			_, err := send(ctx, transport, chatPath, chat("user "+instruction, "assistant 1", "user go on"))
			return errors.Join(append(errs, err)...)
		})
		got := brief(result.Messages)
		if m := metadata(t, result); m.Input != 42 || m.Output != 84 {
			t.Errorf("metadata %+v", m)
		}
		more := "; assistant 1"
		for n := range 19 {
			more += fmt.Sprint("; user more; assistant ", n+2)
		}
		if len(result.Problems) > 0 || !strings.HasPrefix(got, "user "+instruction+"; assistant 1; user go on; assistant 3; ") ||
			!strings.Contains(got, "user orders"+more) || !strings.Contains(got, "user refunds"+more) {
			t.Errorf("labelled %t: %v, %s", labelled, result.Problems, got)
		}
	}
}

// Of two responses to one request the later request's counts, unless the agent goes on with the other.
func TestResponsesAtOnce(t *testing.T) {
	for sentBack, want := range map[string]string{
		"": "user " + instruction + "; assistant second", "first": "user " + instruction + "; assistant first; user b; assistant third",
		"second": "user " + instruction + "; assistant second; user b; assistant third",
	} {
		transport := &llm.Transport{Base: model(says("first"), says("second"), says("third"))}
		result := inRun(t, func(ctx context.Context, _ *dispatch.Run) error {
			var open []*http.Response
			for range 2 {
				r, err := http.NewRequestWithContext(ctx, "POST", "https://model.example.com"+chatPath, strings.NewReader(chat("user "+instruction)))
				if err != nil {
					return err
				}
				resp, err := transport.RoundTrip(r)
				if err != nil {
					return err
				}
				open = append(open, resp)
			}
			for _, resp := range open {
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
			if sentBack == "" {
				return nil
			}
			_, err := send(ctx, transport, chatPath, chat("user "+instruction, "assistant "+sentBack, "user b"))
			return err
		})
		if got := brief(result.Messages); got != want || len(result.Problems) > 0 {
			t.Errorf("%v, %s", result.Problems, got)
		}
		if m := metadata(t, result); m.Input < 2 {
			t.Errorf("metadata %+v", m)
		}
	}
}

// An agent that runs twice, and two at once, never mixes.
func TestRunsAreApart(t *testing.T) {
	transport := &llm.Transport{Base: roundTrip(func(r *http.Request) (*http.Response, error) {
		_, err := io.Copy(io.Discard, r.Body)
		return response(says("yes")), err
	})}
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			ask := fmt.Sprintf("user %d", i)
			result, err := dispatchtest.Dispatch(t.Context(), dispatchtest.Target{Agent: func(ctx context.Context, _ *dispatch.Run) (*dispatch.Response, error) {
				_, err := send(ctx, transport, chatPath, chat(ask))
				return &dispatch.Response{FinalResponse: "yes"}, err
			}}, dispatchtest.Task{})
			if err != nil {
				t.Error(err)
				return
			}
			if got := brief(result.Messages); !strings.HasSuffix(got, ask) || strings.Count(got, "user") > 2 {
				t.Errorf("%d: %s", i, got)
			}
		})
	}
	group.Wait()
}

// What is kept of a run is bounded, whatever the agent and the model do.
func TestBoundsOfARun(t *testing.T) {
	n := 0
	transport := &llm.Transport{Base: roundTrip(func(r *http.Request) (*http.Response, error) {
		_, err := io.Copy(io.Discard, r.Body)
		n++
		return response(exch(strings.Replace(string(says("yes")), `"m"`, fmt.Sprintf(`"%d-%s"`, n, strings.Repeat("m", 200)), 1))), err
	})}
	result := inRun(t, func(ctx context.Context, _ *dispatch.Run) error {
		for i := range 258 {
			if _, err := send(proxy.WithActor(ctx, fmt.Sprint("label ", i)), transport, chatPath, chat(fmt.Sprint("user ", i))); err != nil {
				return err
			}
		}
		return nil
	})
	if got := brief(result.Messages); !strings.HasSuffix(got, "; user 255; assistant yes") || len(result.Problems) != 1 ||
		!strings.Contains(result.Problems[0].Message, "more than 256 labels") {
		t.Errorf("%v, %.500s", result.Problems, got)
	}
	if m := metadata(t, result); strings.Count(m.Model, ",") > 7 || len(m.Model) > 8*102 || m.Input != 258 {
		t.Errorf("metadata %+v", m)
	}
}

func TestModelsAreListed(t *testing.T) {
	named := func(name string) exch { return exch(strings.Replace(string(says("yes")), `"m"`, `"`+name+`"`, 1)) }
	for own, want := range map[string]string{"": "small, large", "own": "own"} {
		transport := &llm.Transport{Base: model(named("small"), named("large"), named("small"), `{"id":"no model, and no answer"}`)}
		result := inRun(t, func(ctx context.Context, run *dispatch.Run) error {
			for n := range 4 {
				if own != "" && n == 1 {
					recorderOf(ctx).UpdateMetadata(func(m *dispatch.Metadata) { m.Model = own })
				}
				if _, err := send(ctx, transport, chatPath, chat("user a")); err != nil {
					return err
				}
			}
			return nil
		})
		if m := metadata(t, result); m.Model != want || m.Input != 3 || m.Output != 6 {
			t.Errorf("metadata %+v", m)
		}
	}
}

// recorderOf returns what package llm writes into the transcript of the run with.
func recorderOf(ctx context.Context) runctx.Recorder[dispatch.Message, dispatch.Problem, dispatch.Metadata] {
	kept := runctx.From[*runctx.Kept[dispatch.Run]](ctx)
	return kept.Recorder.(runctx.Recorder[dispatch.Message, dispatch.Problem, dispatch.Metadata])
}

// Answers to a request that comes again take at most 8 of the 32 conversations.
func TestManyAnswersToARequest(t *testing.T) {
	for conversations, tooMany := range map[int]bool{24: false, 25: true} {
		n := 0
		transport := &llm.Transport{Base: roundTrip(func(r *http.Request) (*http.Response, error) {
			_, _ = io.Copy(io.Discard, r.Body)
			n++
			return response(says(fmt.Sprint("answer ", n))), nil
		})}
		result := inRun(t, func(ctx context.Context, _ *dispatch.Run) error {
			asks := slices.Repeat([]string{chat("user " + instruction)}, 40)
			for i := range conversations {
				asks = append(asks, chat(fmt.Sprint("user ", i)), chat(fmt.Sprint("user ", i), fmt.Sprint("assistant answer ", 41+2*i), "user more"))
			}
			for _, ask := range asks {
				if _, err := send(ctx, transport, chatPath, ask); err != nil {
					return err
				}
			}
			return nil
		})
		if got := strings.Contains(fmt.Sprint(result.Problems), "more than 32 conversations"); got != tooMany {
			t.Errorf("%d: %v", conversations, result.Problems)
		}
	}
}

// An agent that asks each time several times may go on with any of the answers.
func TestAnswersThatTheAgentChooses(t *testing.T) {
	call := func(turn, attempt int) string {
		return fmt.Sprintf(`{"role":"assistant","tool_calls":[{"id":"c%d_%d","type":"function","function":{"name":"f","arguments":"{\"n\":%d}"}}]}`, turn, attempt, attempt)
	}
	const attempts, turns = 3, 12 // more answers than there are conversations
	for chosen := range attempts {
		history, want := `{"role":"user","content":"Both orders."}`, "user Both orders."
		var asks []string
		var answers []exch
		for turn := range turns {
			for attempt := range attempts {
				asks = append(asks, `{"model":"m","messages":[`+history+`]}`)
				answers = append(answers, exch(`{"choices":[{"index":0,"finish_reason":"tool_calls","message":`+call(turn, attempt)+`}]}`))
			}
			history += "," + call(turn, chosen) + fmt.Sprintf(`,{"role":"tool","tool_call_id":"c%d_%d","content":"of %d"}`, turn, chosen, turn)
			want += fmt.Sprintf("; assistant c%d_%d; tool of %d", turn, chosen, turn)
		}
		transport := &llm.Transport{Base: model(append(answers, says("done"))...)}
		result := inRun(t, func(ctx context.Context, _ *dispatch.Run) error {
			for _, ask := range append(asks, `{"model":"m","messages":[`+history+`]}`) {
				if _, err := send(ctx, transport, chatPath, ask); err != nil {
					return err
				}
			}
			return nil
		})
		for i, m := range result.Messages {
			if len(m.ToolCalls) == 1 {
				result.Messages[i].Content = dispatch.Text(m.ToolCalls[0].ID)
			}
		}
		if got := brief(result.Messages); got != want+"; assistant done" || len(result.Problems) > 0 {
			t.Errorf("with answer %d: %v, got\n%s\nwant\n%s", chosen, result.Problems, got, want)
		}
	}
}

// Without answers to compare, a request goes on with the conversation that has most of its messages.
func TestMostMessages(t *testing.T) {
	transport := &llm.Transport{Base: model(says("1"), says("2"), says("3"), says("4"))}
	result := inRun(t, func(ctx context.Context, _ *dispatch.Run) error {
		for _, ask := range []string{chat("user Both orders."), chat("user Both orders.", "user b"), chat("user Both orders.", "user x"), chat("user Both orders.", "user b", "user c")} {
			if _, err := send(ctx, transport, chatPath, ask); err != nil {
				return err
			}
		}
		return nil
	})
	if got := brief(result.Messages); got != "user Both orders.; assistant 1; user b; assistant 2; user c; assistant 4" {
		t.Errorf("%v, got %s", result.Problems, got)
	}
}
