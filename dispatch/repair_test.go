package dispatch_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/dispatch"
)

func call(id, name, arguments string) dispatch.ToolCall {
	return dispatch.ToolCall{ID: id, Name: name, Arguments: json.RawMessage(arguments)}
}

func calling(calls ...dispatch.ToolCall) dispatch.Message {
	return dispatch.Message{Role: dispatch.RoleAssistant, ToolCalls: calls}
}

func result(id, content string) dispatch.Message {
	return dispatch.Message{Role: dispatch.RoleTool, ToolCallID: id, Content: dispatch.Content(content)}
}

// deep returns an object that is nested n levels deep.
func deep(n int) json.RawMessage {
	return json.RawMessage(strings.Repeat(`{"a":`, n-1) + `{}` + strings.Repeat("}", n-1))
}

// quoted is deep inside of a JSON string.
func quoted(n int) string { return strings.ReplaceAll(string(deep(n)), `"`, `\"`) }

// Whatever an agent hands out, each value in the answer can be read by the platform.
func TestValuesThatTheJudgeReads(t *testing.T) {
	for name, arguments := range map[string]string{
		"a name twice": `{"a":1,"a":2}`, "half of a surrogate pair": `{"a":"\ud83d"}`, "nesting": string(deep(256)),
	} {
		t.Run(name, func(t *testing.T) {
			h := newHandler(t, func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
				_, _ = run.Proxy.Do(ctx, "get_order", json.RawMessage(arguments))
				run.Transcript().Add(dispatch.Message{Role: "assistant", Content: dispatch.Content(`[` + arguments + `]`), ToolCalls: []dispatch.ToolCall{call("1", "f", arguments)}})
				dispatch.RecorderOf(run.Transcript()).UpdateMetadata(func(m *dispatch.Metadata) { m.Extra = map[string]any{"x": json.RawMessage(arguments)} })
				return nil, nil
			}, tools)
			body := post(h, seedBody, nil).Body.Bytes()
			verdict := dispatch.CheckResponse(body)
			if len(verdict.Problems) > 0 || !strings.Contains(string(body), `"arguments":`+arguments) || !strings.Contains(string(body), `"content":[`+arguments+`]`) || !strings.Contains(string(body), `"metadata":{"x":`+arguments) {
				t.Errorf("%s\n%v", body, verdict.Problems)
			}
		})
	}
	h := newHandler(t, func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
		return &dispatch.Response{FinalResponse: "x", Metadata: &dispatch.Metadata{Extra: map[string]any{"x": deep(899)}}}, nil
	})
	wantAnswer(t, post(h, seedBody, nil), 200, `{"final_response":"x"}`) // with 901 levels the platform might not read it
}

// The rows repeat the table in the package comment, in its words and order.
func TestMalformedMessages(t *testing.T) {
	good := dispatch.Message{Role: dispatch.RoleUser, Content: dispatch.Text("hi")}
	const sent = `{"role":"user","content":"hi"}` // of good, which stands in front of every row
	rows := []struct {
		row      string
		messages []dispatch.Message
		want     string // what is sent after good
		problems string // codes and pointers
	}{
		{
			"arguments that are blank or null", []dispatch.Message{calling(call("1", "f", ""), call("2", "f", " "), call("3", "f", ` null`))},
			`,{"role":"assistant","tool_calls":[{"id":"1","name":"f","arguments":{}},{"id":"2","name":"f","arguments":{}},{"id":"3","name":"f","arguments":{}}]}`,
			"messages_repaired /messages/1/tool_calls/2/arguments",
		},
		{
			"arguments that are unfinished or otherwise not JSON", []dispatch.Message{calling(call("1", "f", `{"order_id":`), call("2", "f", `4521, please`))},
			`,{"role":"assistant","tool_calls":[{"id":"1","name":"f","arguments":"{\"order_id\":"},{"id":"2","name":"f","arguments":"4521, please"}]}`,
			"messages_repaired /messages/1/tool_calls/0/arguments,messages_repaired /messages/1/tool_calls/1/arguments",
		},
		{
			"arguments that are a list, a number or a boolean",
			[]dispatch.Message{calling(call("1", "f", `[1]`), call("2", "f", `5`), call("3", "f", `true`))},
			`,{"role":"assistant","tool_calls":[{"id":"1","name":"f","arguments":"[1]"},{"id":"2","name":"f","arguments":"5"},{"id":"3","name":"f","arguments":"true"}]}`,
			"messages_repaired /messages/1/tool_calls/0/arguments,messages_repaired /messages/1/tool_calls/1/arguments,messages_repaired /messages/1/tool_calls/2/arguments",
		},
		{
			"a tool call without an id", []dispatch.Message{calling(call("", "f", "{}"), call("call_1", "g", "{}"))},
			`,{"role":"assistant","tool_calls":[{"id":"call_2","name":"f","arguments":{}},{"id":"call_1","name":"g","arguments":{}}]}`,
			"messages_repaired /messages/1/tool_calls/0/id",
		},
		{
			"a tool message without tool_call_id", []dispatch.Message{calling(call("", "f", "{}"), call("", "g", "{}")), result("", `"f's"`), result("", `"g's"`), result("", `"nobody's"`)},
			`,{"role":"assistant","tool_calls":[{"id":"call_1","name":"f","arguments":{}},{"id":"call_2","name":"g","arguments":{}}]},{"role":"tool","content":"f's","tool_call_id":"call_1"},{"role":"tool","content":"g's","tool_call_id":"call_2"}`,
			"messages_repaired /messages/1/tool_calls/0/id,messages_repaired /messages/1/tool_calls/1/id,messages_repaired /messages/2/tool_call_id,messages_repaired /messages/3/tool_call_id,messages_removed /messages/4/tool_call_id",
		},
		{
			"content that is text, not JSON", []dispatch.Message{{Role: "assistant", Content: dispatch.Content("plain")}, {Role: "user", Content: dispatch.Content(`"cut`)}},
			`,{"role":"assistant","content":"plain"},{"role":"user","content":"\"cut"}`,
			"messages_repaired /messages/1/content,messages_repaired /messages/2/content",
		},
		{
			"content that is an object, a number or a boolean",
			[]dispatch.Message{calling(call("1", "f", "{}")), result("1", `{"status":"shipped"}`), {Role: "user", Content: dispatch.Content(`5`)}, {Role: "user", Content: dispatch.Content(`true`)}},
			`,{"role":"assistant","tool_calls":[{"id":"1","name":"f","arguments":{}}]},{"role":"tool","content":"{\"status\":\"shipped\"}","tool_call_id":"1"},{"role":"user","content":"5"},{"role":"user","content":"true"}`,
			"messages_repaired /messages/2/content,messages_repaired /messages/3/content,messages_repaired /messages/4/content",
		},
		{
			"content that is a list of anything but parts", []dispatch.Message{{Role: "user", Content: dispatch.Content(`[1,2]`)}, {Role: "user", Content: dispatch.Content(`[{"type":"text","text":"a"},"b"]`)}},
			`,{"role":"user","content":"[1,2]"},{"role":"user","content":[{"type":"text","text":"a"},"b"]}`,
			"messages_repaired /messages/1/content",
		},
		{
			"a thinking block that is not JSON", []dispatch.Message{{Role: "assistant", Content: dispatch.Text("a"), Thinking: []json.RawMessage{[]byte("hmm"), []byte(`{"x":1}`)}}},
			`,{"role":"assistant","content":"a","thinking":[{"type":"text","text":"hmm"},{"x":1}]}`,
			"messages_repaired /messages/1/thinking/0",
		},
		{
			"JSON that is nested more than 800 levels deep",
			[]dispatch.Message{{Role: "assistant", Content: dispatch.Content("[" + string(deep(799)) + "]"), Thinking: []json.RawMessage{deep(800), deep(801)}, ToolCalls: []dispatch.ToolCall{
				call("1", "f", `{"a":`+string(deep(799))+`}`), call("2", "f", `{"a":`+string(deep(800))+`}`),
			}}, {Role: "user", Content: dispatch.Content("[" + string(deep(800)) + "]")}},
			`,{"role":"assistant","content":[` + string(deep(799)) + `],"tool_calls":[{"id":"1","name":"f","arguments":{"a":` + string(deep(799)) + `}},{"id":"2","name":"f","arguments":"{\"a\":` + quoted(800) + `}"}],` +
				`"thinking":[` + string(deep(800)) + `,{"type":"text","text":"` + quoted(801) + `"}]},{"role":"user","content":"[` + quoted(800) + `]"}`,
			"messages_repaired /messages/1/thinking/1,messages_repaired /messages/1/tool_calls/1/arguments,messages_repaired /messages/2/content",
		},
		{
			"bytes that are not UTF-8",
			[]dispatch.Message{{Role: "assistant", Content: dispatch.Content("\"a\xff\""), Thinking: []json.RawMessage{[]byte("\"\xff\"")}, ToolCalls: []dispatch.ToolCall{call("1", "f", "{\"x\":\"\xff\"}")}}},
			`,{"role":"assistant","content":"a�","tool_calls":[{"id":"1","name":"f","arguments":{"x":"�"}}],"thinking":["�"]}`,
			"messages_repaired /messages/1/content,messages_repaired /messages/1/thinking/0,messages_repaired /messages/1/tool_calls/0/arguments",
		},
		{
			"a tool call without a name", []dispatch.Message{calling(call("1", "", "{}"), call("2", "f", "{}")), result("1", `"x"`), result("2", `"y"`), calling(call("3", "", "{}"))},
			`,{"role":"assistant","tool_calls":[{"id":"2","name":"f","arguments":{}}]},{"role":"tool","content":"y","tool_call_id":"2"}`,
			"messages_removed /messages/1/tool_calls/0/name,messages_removed /messages/2/tool_call_id,messages_removed /messages/4/tool_calls/0/name",
		},
		{
			"tool calls of a message that is not the assistant's",
			[]dispatch.Message{{Role: "user", Content: dispatch.Text("a"), ToolCalls: []dispatch.ToolCall{call("1", "f", "{}")}}, result("1", `"x"`)},
			`,{"role":"user","content":"a"}`, "messages_removed /messages/1/tool_calls,messages_removed /messages/2/tool_call_id",
		},
		{
			"a tool message that does not match an earlier call", []dispatch.Message{result("9", `"x"`), calling(call("9", "f", "{}")), result("9", `"y"`)},
			`,{"role":"assistant","tool_calls":[{"id":"9","name":"f","arguments":{}}]},{"role":"tool","content":"y","tool_call_id":"9"}`,
			"messages_removed /messages/1/tool_call_id",
		},
		{
			"a message with an unknown role", []dispatch.Message{{Role: "function", ToolCalls: []dispatch.ToolCall{call("1", "f", "{}")}}, result("1", `"x"`), {Content: dispatch.Text("b")}},
			``, "messages_removed /messages/1/role,messages_removed /messages/2/tool_call_id,messages_removed /messages/3/role",
		},
	}
	for _, tt := range rows {
		t.Run(tt.row, func(t *testing.T) {
			messages := append([]dispatch.Message{good}, tt.messages...)
			var log bytes.Buffer
			for range 2 { // the messages of the agent stay as they are
				log.Reset()
				h := newHandler(t, func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
					return &dispatch.Response{FinalResponse: "x", Messages: messages}, nil
				}, func(o *dispatch.Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
				w := post(h, seedBody, nil)
				wantAnswer(t, w, 200, `{"final_response":"x","messages":[`+sent+tt.want+`]}`)
				if verdict := dispatch.CheckResponse(w.Body.Bytes()); len(verdict.Problems) > 0 {
					t.Errorf("the platform would drop it: %v", verdict.Problems)
				}
			}
			var problems []string
			for _, m := range regexp.MustCompile(`msg="response contract" code=(\S+) pointer=(\S+) problem="?\S`).FindAllStringSubmatch(log.String(), -1) {
				problems = append(problems, m[1]+" "+m[2])
			}
			if got := strings.Join(problems, ","); got != tt.problems {
				t.Errorf("problems\n%s\nwant\n%s", got, tt.problems)
			}
		})
	}
	t.Run("the package comment", func(t *testing.T) {
		doc, err := os.ReadFile("doc.go")
		if err != nil {
			t.Fatal(err)
		}
		_, table, _ := strings.Cut(string(doc), "it cannot repair:\n//\n")
		table, _, found := strings.Cut(table, "//\n")
		var documented []string
		for line := range strings.Lines(table) {
			documented = append(documented, strings.TrimSpace(strings.SplitN(strings.TrimPrefix(line, "//\t"), "   ", 2)[0]))
		}
		var tested []string
		for _, tt := range rows {
			tested = append(tested, tt.row)
		}
		if got, want := strings.Join(documented, "\n"), strings.Join(tested, "\n"); !found || got != want {
			t.Errorf("the table of doc.go has\n%s\nthis test has\n%s", got, want)
		}
	})
}

// A strict registration gets an assistant message with text whatever is left of the agent's
// messages.
func TestSendTranscriptAfterRemoval(t *testing.T) {
	h := newHandler(t, func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		_, _ = run.Proxy.Do(ctx, "get_order", nil)
		return &dispatch.Response{FinalResponse: "x", Messages: []dispatch.Message{{Role: "bot", Content: dispatch.Text("y")}}}, nil
	}, tools, func(o *dispatch.Options) { o.SendTranscript = true })
	wantAnswer(t, post(h, `{"input":{"user_instruction":"hi"}}`, nil), 200, `{"final_response":"x","messages":[{"role":"user","content":"hi"},`+
		`{"role":"assistant","tool_calls":[{"id":"call_1","name":"get_order","arguments":{}}]},{"role":"tool","content":"{\"status\":\"shipped\"}","tool_call_id":"call_1"},`+
		`{"role":"assistant","content":"x"}]}`)
}

// The final response that is appended is cut like other texts; it is sent whole as final_response.
func TestSendTranscriptOfALongFinalResponse(t *testing.T) {
	h := newHandler(t, func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
		return &dispatch.Response{FinalResponse: strings.Repeat("x", 1<<20), Messages: []dispatch.Message{{Role: "user", Content: dispatch.Text("y")}}}, nil
	}, func(o *dispatch.Options) { o.SendTranscript = true })
	body := post(h, seedBody, nil).Body.Bytes()
	if verdict := dispatch.CheckResponse(body); !verdict.Gradeable || len(body) < 1<<20 || len(body) > 1<<20+70_000 {
		t.Errorf("gradeable %t, %d bytes", verdict.Gradeable, len(body))
	}
}

func TestHistory(t *testing.T) {
	user := `{"role":"user","content":"now"}`
	call := func(arguments string) string {
		return `{"role":"assistant","tool_calls":[{"id":"c","name":"f","arguments":` + arguments + `}]}`
	}
	for _, tt := range []struct{ name, input, want string }{
		{"single shot", `"user_instruction":"now"`, `[` + user + `]`},
		{"no prompt", ``, `null`},
		{"the prompt is added", `"user_instruction":"now","messages":[{"role":"user","content":"before"}]`, `[{"role":"user","content":"before"},` + user + `]`},
		{"the prompt is there", `"user_instruction":"now","messages":[` + user + `]`, `[` + user + `]`},
		{"the prompt is there as parts", `"user_instruction":"now","messages":[{"role":"user","content":[{"type":"text","text":"now"}]}]`, `[{"role":"user","content":[{"type":"text","text":"now"}]}]`},
		{"the prompt is the last row", `"messages":[` + user + `]`, `[` + user + `]`},
		{"the prompt was asked before", `"user_instruction":"now","messages":[` + user + `,{"role":"assistant","content":"a"}]`, `[` + user + `,{"role":"assistant","content":"a"},` + user + `]`},
		{"object arguments", `"user_instruction":"now","messages":[` + call(`{"a":1}`) + `]`, `[` + call(`{"a":1}`) + `,` + user + `]`},
		{"encoded arguments", `"user_instruction":"now","messages":[` + call(`"{\"a\":1.0}"`) + `]`, `[` + call(`{"a":1.0}`) + `,` + user + `]`},
		{"nested and encoded", `"user_instruction":"now","messages":[{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}]`, `[` + call(`{}`) + `,` + user + `]`},
		{"unfinished arguments", `"user_instruction":"now","messages":[` + call(`"{\"a\":"`) + `]`, `[` + call(`"{\"a\":"`) + `,` + user + `]`},
		{"encoded list", `"user_instruction":"now","messages":[` + call(`"[1]"`) + `]`, `[` + call(`"[1]"`) + `,` + user + `]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHandler(t, func(_ context.Context, run *dispatch.Run) (*dispatch.Response, error) {
				for range 2 {
					history, err := run.History()
					if err != nil {
						return nil, err
					}
					if got, err := json.Marshal(history); err != nil || string(got) != tt.want {
						t.Errorf("got  %s, %v\nwant %s", got, err, tt.want)
					}
				}
				return &dispatch.Response{FinalResponse: "x"}, nil
			})
			wantAnswer(t, post(h, `{"input":{`+tt.input+`}}`, nil), 200, `{"final_response":"x"}`)
		})
	}
}

// Messages that need a repair are repaired as fast as their number allows, in whichever order the
// results come.
func TestRepairOfManyCalls(t *testing.T) {
	const n = 50_000
	var messages []dispatch.Message
	for i := range n {
		messages = append(messages, calling(call(strconv.Itoa(i), "f", "")))
	}
	for i := range n - 1 {
		messages = append(messages, result(strconv.Itoa(n-1-i), `"x"`))
	}
	messages = append(messages, result("", `"last"`), result("", `"nobody's"`))
	h := newHandler(t, func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
		return &dispatch.Response{FinalResponse: "x", Messages: messages}, nil
	}, func(o *dispatch.Options) {
		o.Observer = &dispatch.Observer{RunEnd: func(_ context.Context, end dispatch.RunEnd) {
			want := fmt.Sprintf("messages_repaired /messages/%d/tool_call_id, messages_removed /messages/%d/tool_call_id, messages_removed /messages", 2*n-1, 2*n)
			var got []string
			for _, p := range end.Problems {
				got = append(got, p.Code+" "+p.Pointer)
			}
			if strings.Join(got, ", ") != want {
				t.Errorf("problems %s", got)
			}
		}}
	})
	if w := post(h, seedBody, nil); w.Code != 200 || len(dispatch.CheckResponse(w.Body.Bytes()).Messages) != 1000 {
		t.Errorf("%d", w.Code)
	}
}

// A message that loses its only call is sent if it has reasoning.
func TestRepairKeepsReasoning(t *testing.T) {
	message := thinks("hm")
	message.ToolCalls = []dispatch.ToolCall{call("1", "", "{}")}
	h := newHandler(t, func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
		return &dispatch.Response{FinalResponse: "x", Messages: []dispatch.Message{message}}, nil
	})
	wantAnswer(t, post(h, seedBody, nil), 200,
		`{"final_response":"x","messages":[{"role":"assistant","thinking":[{"type":"text","text":"hm"}]}]}`)
}

// Each result with an id belongs to one of the calls with this id, and a result without one to the first
// call that has none.
func TestRepairOfEqualIDs(t *testing.T) {
	messages := []dispatch.Message{
		calling(call("c0", "f", ""), call("c0", "g", ""), call("c1", "h", "")), result("c0", `"f's"`), result("c0", `"g's"`),
		result("", `"h's"`), result("", `"nobody's"`),
	}
	h := newHandler(t, func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
		return &dispatch.Response{FinalResponse: "x", Messages: messages}, nil
	})
	want := "assistant [c0 f {}] [c0 g {}] [c1 h {}]\ntool(c0) f's\ntool(c0) g's\ntool(c1) h's\n"
	if sent := brief(dispatch.CheckResponse(post(h, seedBody, nil).Body.Bytes()).Messages); sent != want {
		t.Errorf("got\n%swant\n%s", sent, want)
	}
}

// The last text of the assistant is the final response. It is cut rather than removed, and thinking does
// not crowd it out.
func TestLongLastMessage(t *testing.T) {
	for _, tt := range []struct {
		name                   string
		before, text, thinking int    // bytes
		id                     string // a tool_call_id, which has no meaning here
		want                   int    // of the text
	}{
		{"a text that may be sent", 2, 500_000, 0, "", 500_000},
		{"a text that is too long", 2, 600_000, 0, "", 64 << 10},
		{"with thinking that may be sent", 2, 100, 500_000, "", 100},
		{"with thinking that is too long", 700_000, 100, 600_000, "", 100},
		{"with an id that is too long", 2, 100, 0, strings.Repeat("\x01", 200_000), 100},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var problems []dispatch.Problem
			h := newHandler(t, func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
				last := says("assistant", strings.Repeat("x", tt.text))
				last.ToolCallID = tt.id
				if tt.thinking > 0 {
					last.Thinking = []json.RawMessage{json.RawMessage(dispatch.Text(strings.Repeat("x", tt.thinking)))}
				}
				return &dispatch.Response{FinalResponse: "x", Messages: []dispatch.Message{says("user", strings.Repeat("x", tt.before)), last}}, nil
			}, func(o *dispatch.Options) {
				o.Observer = &dispatch.Observer{RunEnd: func(_ context.Context, end dispatch.RunEnd) { problems = end.Problems }}
			})
			sent := dispatch.CheckResponse(post(h, seedBody, nil).Body.Bytes())
			if len(sent.Messages) != 2 || !sent.Gradeable {
				t.Fatalf("%d messages", len(sent.Messages))
			}
			last, isLong := sent.Messages[1], tt.text+tt.thinking+6*len(tt.id) > 512<<10
			if n := len(last.Content); last.ToolCallID != "" || n > tt.want+2 || n < tt.want-10 || (len(last.Thinking) == 1) != (tt.thinking > 0 && !isLong) {
				t.Errorf("a text of %d bytes, %d blocks", n, len(last.Thinking))
			}
			repaired := slices.ContainsFunc(problems, func(p dispatch.Problem) bool {
				return p.Code == "messages_repaired" && p.Pointer == "/messages/1/content"
			})
			if repaired != isLong {
				t.Errorf("problems %v", problems)
			}
		})
	}
}
