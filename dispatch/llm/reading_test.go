package llm_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"math/bits"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/llm"
	"github.com/toolwire/toolwire/proxy"
)

// A step is a request with its response, and then calls of tools: "id tool arguments", where the id may be -.
type step struct {
	path, ask string
	reply     string
	calls     []string
}

// said writes the messages but for the final response, one on a line.
func said(messages []dispatch.Message) string {
	var b strings.Builder
	for _, m := range messages[:max(0, len(messages)-1)] {
		b.WriteString(string(m.Role))
		if m.ToolCallID != "" {
			b.WriteString("(" + m.ToolCallID + ")")
		}
		for _, block := range m.Thinking {
			b.WriteString(" ~" + strings.TrimSuffix(strings.TrimPrefix(string(block), `{"type":"text","text":"`), `"}`) + "~")
		}
		if text := m.Content.String(); text != "" {
			b.WriteString(" " + text)
		}
		for _, c := range m.ToolCalls {
			fmt.Fprintf(&b, " [%s %s %s]", c.ID, c.Name, c.Arguments)
		}
		b.WriteString("\n")
	}
	return b.String()
}

const (
	msgPath, respPath, gemPath = "/v1/messages", "/v1/responses", "/v1beta/models/m:generateContent"

	userGoText = "user Both orders.\n"

	userGo    = `{"role":"user","content":"Both orders."}`
	geminiGo  = `{"role":"user","parts":[{"text":"Both orders."}]}`
	geminiAsk = `{"contents":[` + geminiGo + `]}`
)

func chatAsk(messages ...string) string {
	return `{"model":"m","messages":[` + strings.Join(messages, ",") + `]}`
}

func chatReply(message string) string {
	return `{"model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant",` + message + `}}]}`
}

func toolCalls(calls ...string) string { // "id name arguments"
	for i, c := range calls {
		p := strings.SplitN(c, " ", 3)
		calls[i] = fmt.Sprintf(`{"id":%q,"type":"function","function":{"name":%q,"arguments":%q}}`, p[0], p[1], p[2])
	}
	return `"tool_calls":[` + strings.Join(calls, ",") + `]`
}

func responsesReply(id, text string) string {
	return fmt.Sprintf(`{"id":%q,"status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":%q}]}]}`, id, text)
}

func asst(members string) string { return `{"role":"assistant",` + members + `}` }
func user(text string) string    { return fmt.Sprintf(`{"role":"user","content":%q}`, text) }
func tool(id, text string) string {
	return fmt.Sprintf(`{"role":"tool","tool_call_id":%q,"content":%q}`, id, text)
}

// What the model said is in the transcript once and as it said it, however the agent sends it back.
func TestAnswersThatAreSentBack(t *testing.T) {
	anthropic := func(messages ...string) string {
		return `{"model":"m","max_tokens":9,"messages":[` + strings.Join(messages, ",") + `]}`
	}
	message := func(content string) string {
		return `{"type":"message","role":"assistant","model":"m","stop_reason":"end_turn","content":[` + content + `]}`
	}
	candidate := func(parts string) string {
		return `{"candidates":[{"finishReason":"STOP","content":{"role":"model","parts":[` + parts + `]}}]}`
	}
	const search = `{"type":"server_tool_use","id":"s1","name":"web_search","input":{"query":"x"}},{"type":"web_search_tool_result","tool_use_id":"s1","content":[]},{"type":"text","text":"Nothing."}`
	for _, tt := range []struct {
		name  string
		steps []step
		want  string
	}{
		{"thinking is dropped, and white space", []step{
			{path: chatPath, ask: chatAsk(userGo), reply: chatReply(`"reasoning_content":"Hm.","content":" Yes. \n"`)},
			{path: chatPath, ask: chatAsk(userGo, asst(`"content":"Yes."`), user("sure?")), reply: chatReply(`"content":"Sure."`)},
		}, "user Both orders.\nassistant ~Hm.~ Yes.\nuser sure?\nassistant Sure.\n"},
		{"thinking is cut out of the text", []step{
			{path: chatPath, ask: chatAsk(userGo), reply: chatReply(`"content":"<thinking>Hm.</thinking>\n\nYes."`)},
			{path: chatPath, ask: chatAsk(userGo, asst(`"content":"Yes."`), user("sure?")), reply: chatReply(`"content":"Sure."`)},
		}, "user Both orders.\nassistant <thinking>Hm.</thinking>\n\nYes.\nuser sure?\nassistant Sure.\n"},
		{"text beside calls is dropped, and the calls are named anew", []step{
			{path: chatPath, ask: chatAsk(userGo), reply: chatReply(`"reasoning":"Two.","content":"I look.",` + toolCalls(`a f {"n":1}`, `b g {"n":2}`))},
			{path: chatPath, ask: chatAsk(userGo, asst(toolCalls(`x:b g {"n":2}`, `x:a f {"n":1}`)), tool("x:b", "two"), tool("x:a", "one")), reply: chatReply(`"content":"Ready."`)},
		}, "user Both orders.\nassistant ~Two.~ I look. [x:a f {\"n\":1}] [x:b g {\"n\":2}]\ntool(x:b) two\ntool(x:a) one\nassistant Ready.\n"},
		{"in other words", []step{
			{path: chatPath, ask: chatAsk(userGo), reply: chatReply(`"content":"One."`)},
			{path: chatPath, ask: chatAsk(userGo, asst(`"content":"The first."`), user("b")), reply: chatReply(`"content":"Two."`)},
			{path: chatPath, ask: chatAsk(userGo, asst(`"content":"1"`), user("b"), asst(`"content":"2"`), user("c")), reply: chatReply(`"content":"Three."`)},
		}, "user Both orders.\nassistant One.\nuser b\nassistant Two.\nuser c\nassistant Three.\n"},
		{"in two messages", []step{
			{path: chatPath, ask: chatAsk(userGo), reply: chatReply(`"content":"I look.",` + toolCalls("a f {}"))},
			{path: chatPath, ask: chatAsk(userGo, asst(`"content":"I look."`), asst(toolCalls("a f {}")), tool("a", "one")), reply: chatReply(`"content":"Ready."`)},
		}, "user Both orders.\nassistant I look. [a f {}]\ntool(a) one\nassistant Ready.\n"},
		{"with a call of the agent's", []step{
			{path: chatPath, ask: chatAsk(userGo), reply: chatReply(toolCalls("a f {}"))},
			{path: chatPath, ask: chatAsk(userGo, asst(toolCalls("a f {}", "z g {}")), tool("a", "one"), tool("z", "two")), reply: chatReply(`"content":"Ready."`)},
		}, "user Both orders.\nassistant [a f {}] [z g {}]\ntool(a) one\ntool(z) two\nassistant Ready.\n"},
		{"not at all, but with a complaint", []step{
			{path: chatPath, ask: chatAsk(userGo), reply: chatReply(`"content":"no JSON"`)},
			{path: chatPath, ask: chatAsk(userGo, user("Write JSON.")), reply: chatReply(`"content":"{}"`)},
		}, "user Both orders.\nassistant no JSON\nuser Write JSON.\nassistant {}\n"},
		{"tools of the provider are dropped", []step{
			{path: msgPath, ask: anthropic(userGo), reply: message(search)},
			{path: msgPath, ask: anthropic(userGo, asst(`"content":"Nothing."`), user("sure?")), reply: message(`{"type":"text","text":"Sure."}`)},
		}, "user Both orders.\nassistant [s1 web_search {\"query\":\"x\"}]\ntool(s1) []\nassistant Nothing.\nuser sure?\nassistant Sure.\n"},
		{"tools of the provider are dropped, and the text is another", []step{
			{path: msgPath, ask: anthropic(userGo), reply: message(search)},
			{path: msgPath, ask: anthropic(userGo, asst(`"content":"Nothing was found."`), user("sure?")), reply: message(`{"type":"text","text":"Sure."}`)},
		}, "user Both orders.\nassistant [s1 web_search {\"query\":\"x\"}]\ntool(s1) []\nassistant Nothing.\nuser sure?\nassistant Sure.\n"},
		{"tools of the provider, by another API in between", []step{
			{path: msgPath, ask: anthropic(userGo), reply: message(search)},
			{path: chatPath, ask: chatAsk(userGo, asst(`"content":"Nothing."`), user("sure?")), reply: chatReply(`"reasoning":"Hm.","content":"Sure."`)},
			{path: msgPath, ask: anthropic(userGo, asst(`"content":[`+search+`]`), user("sure?"), asst(`"content":[{"type":"text","text":"Sure."}]`), user("so?")), reply: message(`{"type":"text","text":"So."}`)},
		}, "user Both orders.\nassistant [s1 web_search {\"query\":\"x\"}]\ntool(s1) []\nassistant Nothing.\nuser sure?\nassistant ~Hm.~ Sure.\nuser so?\nassistant So.\n"},
		{"a hand-over, with the calls as texts", []step{
			{path: gemPath, ask: geminiAsk, reply: candidate(`{"functionCall":{"name":"transfer","args":{"to":"sub"}}}`)},
			{path: gemPath, ask: `{"contents":[` + geminiGo + `,{"role":"user","parts":[{"text":"For context:"},{"text":"[main] called transfer"}]}]}`, reply: candidate(`{"functionCall":{"name":"f","args":{}}}`), calls: []string{`adk-1 f {}`}},
			{path: gemPath, ask: `{"contents":[` + geminiGo + `,{"role":"user","parts":[{"text":"For context:"},{"text":"[main] called transfer"}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":"one"}}}]}]}`,
				reply: candidate(`{"text":"Ready."}`)},
		}, "user Both orders.\nassistant [call_1 transfer {\"to\":\"sub\"}]\nuser For context:[main] called transfer\nassistant [call_2 f {}]\ntool(call_2) one\nassistant Ready.\n"},
		{"ids of the agent's", []step{
			{path: gemPath, ask: geminiAsk, reply: candidate(`{"text":"Plan.","thought":true},{"functionCall":{"name":"f","args":{"n":1}}}`), calls: []string{`1 f {"n":1}`}},
			{path: gemPath, ask: `{"contents":[` + geminiGo + `,{"role":"model","parts":[{"functionCall":{"id":"1","name":"f","args":{"n":1}}}]},{"role":"user","parts":[{"functionResponse":{"id":"1","name":"f","response":{"output":"one"}}}]}]}`,
				reply: candidate(`{"functionCall":{"name":"f","args":{"n":1}}}`), calls: []string{`2 f {"n":1}`}},
		}, "user Both orders.\nassistant ~Plan.~ [1 f {\"n\":1}]\ntool(1) one\nassistant [2 f {\"n\":1}]\ntool(2) {\"n\":1}\n"},
		{"ids that no request has", []step{
			{path: gemPath, ask: geminiAsk, reply: candidate(`{"functionCall":{"name":"f","args":{"n":1}}}`), calls: []string{`adk-1 f {"n":1}`}},
			{path: gemPath, ask: `{"contents":[` + geminiGo + `,{"role":"model","parts":[{"functionCall":{"name":"f","args":{"n":1}}}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":"one"}}}]}]}`,
				reply: candidate(`{"text":"Ready."}`)},
		}, "user Both orders.\nassistant [call_1 f {\"n\":1}]\ntool(call_1) one\nassistant Ready.\n"},
		{"no ids, by another API", []step{
			{path: chatPath, ask: chatAsk(userGo), reply: chatReply(toolCalls(`a f {"n":1}`, `b f {"n":2}`, `c g {"n":3}`))},
			{path: gemPath, ask: `{"contents":[` + geminiGo + `,{"role":"model","parts":[{"functionCall":{"name":"f","args":{"n":1}}},{"functionCall":{"name":"f","args":{"n":2}}},{"functionCall":{"name":"g","args":{"n":3}}}]},` +
				`{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":"one"}}},{"functionResponse":{"name":"f","response":{"output":"two"}}},{"functionResponse":{"name":"g","response":{"output":"three"}}}]}]}`,
				reply: candidate(`{"text":"Ready."}`)},
		}, "user Both orders.\nassistant [call_1 f {\"n\":1}] [call_2 f {\"n\":2}] [call_3 g {\"n\":3}]\ntool(call_1) one\ntool(call_2) two\ntool(call_3) three\nassistant Ready.\n"},
		{"equal ids in every answer", []step{
			{path: chatPath, ask: chatAsk(userGo), reply: chatReply(toolCalls(`0 f {"n":1}`)), calls: []string{`0 f {"n":1}`}},
			{path: chatPath, ask: chatAsk(userGo, asst(toolCalls(`0 f {"n":1}`)), tool("0", "one")), reply: chatReply(toolCalls(`0 f {"n":2}`)), calls: []string{`0 f {"n":2}`}},
			{path: chatPath, ask: chatAsk(userGo, asst(toolCalls(`0 f {"n":1}`)), tool("0", "one"), asst(toolCalls(`0 f {"n":2}`)), tool("0", "two")), reply: chatReply(`"content":"Ready."`)},
		}, "user Both orders.\nassistant [0 f {\"n\":1}]\ntool(0) one\nassistant [0 f {\"n\":2}]\ntool(0) two\nassistant Ready.\n"},
		{"results are cleared and sent again", []step{
			{path: chatPath, ask: chatAsk(userGo), reply: chatReply(toolCalls("a f {}"))},
			{path: chatPath, ask: chatAsk(userGo, asst(toolCalls("a f {}")), tool("a", "long")), reply: chatReply(`"content":"Aloud."`)},
			{path: chatPath, ask: chatAsk(userGo, asst(toolCalls("a f {}")), tool("a", "[cleared]"), user("go on")), reply: chatReply(`"content":"So."`)},
			{path: chatPath, ask: chatAsk(userGo, asst(toolCalls("a f {}")), tool("a", "short"), tool("a", "short"), asst(`"content":"So."`), user("more")), reply: chatReply(`"content":"End."`)},
		}, "user Both orders.\nassistant [a f {}]\ntool(a) long\nassistant Aloud.\nuser go on\nassistant So.\nuser more\nassistant End.\n"},
		{"other ids, in another order", []step{
			{path: chatPath, ask: chatAsk(userGo), reply: chatReply(toolCalls(`a f {"n":1}`, `b f {"n":2}`))},
			{path: chatPath, ask: chatAsk(userGo, asst(toolCalls(`y f {"n": 2}`, `x f {"n":1}`)), tool("y", "two"), tool("x", "one")), reply: chatReply(`"content":"Ready."`)},
		}, "user Both orders.\nassistant [x f {\"n\":1}] [y f {\"n\":2}]\ntool(y) two\ntool(x) one\nassistant Ready.\n"},
		{"each call with its result", []step{
			{path: chatPath, ask: chatAsk(userGo), reply: chatReply(toolCalls(`a f {"n":1}`, `b f {"n":2}`, `c g {}`))},
			{path: chatPath, ask: chatAsk(userGo, asst(toolCalls(`a f {"n":1}`)), tool("a", "one"), asst(toolCalls(`b f {"n":2}`)), tool("b", "two"),
				asst(toolCalls(`c g {}`)), tool("c", "three")), reply: chatReply(`"content":"Ready."`)},
			{path: chatPath, ask: chatAsk(userGo, asst(toolCalls(`a f {"n":1}`)), tool("a", "one"), asst(toolCalls(`b f {"n":2}`)), tool("b", "two"),
				asst(toolCalls(`c g {}`)), tool("c", "three"), asst(`"content":"Ready."`), user("more")), reply: chatReply(`"content":"End."`)},
		}, "user Both orders.\nassistant [a f {\"n\":1}] [b f {\"n\":2}] [c g {}]\ntool(a) one\ntool(b) two\ntool(c) three\nassistant Ready.\nuser more\nassistant End.\n"},
		{"a call of the agent beside the last of an answer", []step{
			{path: chatPath, ask: chatAsk(userGo), reply: chatReply(toolCalls(`a f {"n":1}`, `b f {"n":2}`))},
			{path: chatPath, ask: chatAsk(userGo, asst(toolCalls(`a f {"n":1}`)), tool("a", "one"), asst(toolCalls(`b f {"n":2}`, `z f {"n":9}`)), tool("b", "two"), tool("z", "nine")), reply: chatReply(`"content":"Ready."`)},
		}, "user Both orders.\nassistant [a f {\"n\":1}] [b f {\"n\":2}] [z f {\"n\":9}]\ntool(a) one\ntool(b) two\ntool(z) nine\nassistant Ready.\n"},
		{"each call with its result, and other ids", []step{
			{path: chatPath, ask: chatAsk(userGo), reply: chatReply(toolCalls(`a f {"n":1}`, `b f {"n":1}`))},
			{path: chatPath, ask: chatAsk(userGo, asst(toolCalls(`x f {"n":1}`)), tool("x", "one"), asst(toolCalls(`y f {"n":1}`)), tool("y", "two")), reply: chatReply(`"content":"Ready."`)},
		}, "user Both orders.\nassistant [x f {\"n\":1}] [y f {\"n\":1}]\ntool(x) one\ntool(y) two\nassistant Ready.\n"},
		{"a call of the agent after the results of all", []step{
			{path: chatPath, ask: chatAsk(userGo), reply: chatReply(toolCalls(`a f {"n":1}`))},
			{path: chatPath, ask: chatAsk(userGo, asst(toolCalls(`a f {"n":1}`)), tool("a", "one"), asst(toolCalls(`b f {"n":1}`)), tool("b", "two")), reply: chatReply(`"content":"Ready."`)},
		}, "user Both orders.\nassistant [a f {\"n\":1}]\ntool(a) one\nassistant [b f {\"n\":1}]\ntool(b) two\nassistant Ready.\n"},
		{"items of one index", []step{
			{path: respPath, ask: `{"model":"m","input":"Both orders."}`, reply: string(sse(
				`{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}}`,
				`{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","call_id":"b","name":"g","arguments":""}}`,
				`{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{\"n\":"}`,
				`{"type":"response.function_call_arguments.delta","output_index":0,"delta":"1}"}`,
				`{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","call_id":"b","name":"g","arguments":"{\"n\":1}"}}`,
				`{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","call_id":"b","name":"g","arguments":"{\"n\":1}"}}`,
				`{"type":"response.completed","response":{"id":"r","status":"completed","output":[]}}`))},
		}, "user Both orders.\nassistant [a f {}] [b g {\"n\":1}]\n"},
		{"a text of the agent after the results", []step{
			{path: chatPath, ask: chatAsk(userGo), reply: chatReply(toolCalls(`a f {"n":1}`))},
			{path: chatPath, ask: chatAsk(userGo, asst(toolCalls(`a f {"n":1}`)), tool("a", "one"), asst(`"content":"Well."`), user("more")), reply: chatReply(`"content":"Ready."`)},
		}, "user Both orders.\nassistant [a f {\"n\":1}]\ntool(a) one\nassistant Well.\nuser more\nassistant Ready.\n"},
		{"a response that the agent has asked for twice", []step{
			{path: respPath, ask: `{"model":"m","input":"Both orders."}`, reply: responsesReply("r1", "One.")},
			{path: respPath, ask: `{"model":"m","input":"Both orders."}`, reply: responsesReply("r2", "Two.")},
			{path: respPath, ask: `{"model":"m","previous_response_id":"r1","input":"more"}`, reply: responsesReply("r3", "Three.")},
			{path: respPath, ask: `{"model":"m","previous_response_id":"r3","input":"still more"}`, reply: responsesReply("r4", "End.")},
		}, "user Both orders.\nassistant One.\nuser more\nassistant Three.\nuser still more\nassistant End.\n"},
		{"a reminder in the last message only", []step{
			{path: chatPath, ask: chatAsk(user("Both orders.\n<now>1</now>")), reply: chatReply(toolCalls("a f {}"))},
			{path: chatPath, ask: chatAsk(user("Both orders.\n<now>2</now>"), asst(toolCalls("a f {}")), tool("a", "one")), reply: chatReply(`"content":"Ready."`)},
		}, "user Both orders.\n<now>1</now>\nassistant [a f {}]\ntool(a) one\nassistant Ready.\n"},
		{"what an agent inserts", []step{
			{path: chatPath, ask: chatAsk(userGo), reply: chatReply(`"content":"One."`)},
			{path: chatPath, ask: chatAsk(userGo, user("Be brief."), asst(`"content":"One."`), user("b")), reply: chatReply(`"content":"Two."`)},
		}, "user Both orders.\nuser Be brief.\nassistant One.\nuser b\nassistant Two.\n"},
		{"the last messages only, which begin with a result", []step{
			{path: chatPath, ask: chatAsk(userGo), reply: chatReply(toolCalls("a f {}"))},
			{path: chatPath, ask: chatAsk(userGo, asst(toolCalls("a f {}")), tool("a", "one")), reply: chatReply(toolCalls("b f {}"))},
			{path: chatPath, ask: chatAsk(tool("a", "one"), asst(toolCalls("b f {}")), tool("b", "two")), reply: chatReply(`"content":"Ready."`)},
			{path: chatPath, ask: chatAsk(tool("b", "[cleared]"), asst(`"content":"Ready."`), user("more")), reply: chatReply(`"content":"So."`)},
			{path: chatPath, ask: chatAsk(tool("b", "two"), tool("b", "two"), asst(`"content":"Ready."`), user("more"), asst(`"content":"So."`), user("more")), reply: chatReply(`"content":"End."`)},
		}, "user Both orders.\nassistant [a f {}]\ntool(a) one\nassistant [b f {}]\ntool(b) two\nassistant Ready.\nuser more\nassistant So.\nuser more\nassistant End.\n"},
		{"an answer is left out, and its results are not", []step{
			{path: chatPath, ask: chatAsk(userGo), reply: chatReply(toolCalls("a f {}", "b g {}"))},
			{path: chatPath, ask: chatAsk(userGo, tool("a", "one"), tool("b", "two")), reply: chatReply(`"content":"Ready."`)},
		}, "user Both orders.\nassistant [a f {}] [b g {}]\ntool(a) one\ntool(b) two\nassistant Ready.\n"},
		{"the last messages only, with calls of the agent's beside one that is known", []step{
			{path: chatPath, ask: chatAsk(userGo), reply: chatReply(toolCalls("a f {}"))},
			{path: chatPath, ask: chatAsk(asst(toolCalls("y g {}", "a f {}", "z h {}")), tool("y", "two"), tool("a", "one"), tool("z", "three")), reply: chatReply(`"content":"Ready."`)},
		}, "user Both orders.\nassistant [a f {}] [y g {}] [z h {}]\ntool(y) two\ntool(a) one\ntool(z) three\nassistant Ready.\n"},
		{"the last messages only, without thinking and with a call that the agent has mended", []step{
			{path: chatPath, ask: chatAsk(userGo), reply: chatReply(`"content":"<thinking>Hm.</thinking>One.",` + toolCalls(`a f {"n":"1"}`))},
			{path: chatPath, ask: chatAsk(asst(`"content":"One.",`+toolCalls(`z f {"n":1}`)), tool("z", "one")), reply: chatReply(`"content":"End."`)},
		}, "user Both orders.\nassistant <thinking>Hm.</thinking>One. [z f {\"n\":\"1\"}]\ntool(z) one\nassistant End.\n"},
		{"an answer that the model goes on with", []step{
			{path: msgPath, ask: anthropic(userGo), reply: message(`{"type":"thinking","thinking":"Hm."},{"type":"text","text":"It is "}`)},
			{path: msgPath, ask: anthropic(userGo, asst(`"content":"It is"`)), reply: message(`{"type":"text","text":" one."}`)},
			{path: msgPath, ask: anthropic(userGo, asst(`"content":"It is one."`), user("more")), reply: message(`{"type":"text","text":"End."}`)},
		}, "user Both orders.\nassistant ~Hm.~ It is one.\nuser more\nassistant End.\n"},
		{"an answer with tools of the provider that the model goes on with", []step{
			{path: msgPath, ask: anthropic(userGo), reply: message(search)},
			{path: msgPath, ask: anthropic(userGo, asst(`"content":[`+search+`]`)), reply: message(`{"type":"text","text":" At all."}`)},
		}, "user Both orders.\nassistant [s1 web_search {\"query\":\"x\"}]\ntool(s1) []\nassistant Nothing. At all.\n"},
		{"an empty message in place of calls", []step{
			{path: chatPath, ask: chatAsk(userGo), reply: chatReply(toolCalls("a f {}"))},
			{path: chatPath, ask: chatAsk(userGo, asst(`"content":""`)), reply: chatReply(`"content":"One."`)},
		}, "user Both orders.\nassistant [a f {}]\nassistant One.\n"},
		{"results in another order than before", []step{
			{path: chatPath, ask: chatAsk(userGo), reply: chatReply(toolCalls("a f {}", "b g {}"))},
			{path: chatPath, ask: chatAsk(userGo, asst(toolCalls("a f {}", "b g {}")), tool("a", "one"), tool("b", "two")), reply: chatReply(`"content":"Ready."`)},
			{path: chatPath, ask: chatAsk(userGo, asst(toolCalls("a f {}", "b g {}")), tool("b", "two"), tool("a", "one"), asst(`"content":"Ready."`), user("more")), reply: chatReply(`"content":"End."`)},
		}, "user Both orders.\nassistant [a f {}] [b g {}]\ntool(a) one\ntool(b) two\nassistant Ready.\nuser more\nassistant End.\n"},
		{"an empty system prompt", []step{
			{path: respPath, ask: `{"model":"m","instructions":"","input":"Both orders."}`, reply: `{"id":"r","status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Yes."}]}]}`},
		}, "user Both orders.\nassistant Yes.\n"},
		{"an answer that is fetched anew", []step{
			{path: chatPath, ask: chatAsk(userGo), reply: `{"error":{"message":"no"}}`},
			{path: chatPath, ask: chatAsk(userGo), reply: string(sse(`{"choices":[{"index":0,"delta":{"content":"ha"}}]}`))},
			{path: chatPath, ask: chatAsk(userGo), reply: `<html>`},
			{path: chatPath, ask: chatAsk(userGo), reply: chatReply(`"content":"Yes."`)},
		}, "user Both orders.\nassistant Yes.\n"},
		{"an answer that failed, and the thread goes on", []step{
			{path: chatPath, ask: chatAsk(userGo), reply: string(sse(`{"choices":[{"index":0,"delta":{"content":"ha"}}]}`))},
			{path: chatPath, ask: chatAsk(userGo, asst(`"content":"ha"`), user("go on")), reply: chatReply(`"content":"Yes."`)},
		}, "user Both orders.\nassistant ha\nuser go on\nassistant Yes.\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if result := play(t, tt.steps); said(result.messages) != tt.want || len(result.problems) > 0 {
				t.Errorf("%v, got\n%swant\n%s", result.problems, said(result.messages), tt.want)
			}
		})
	}
}

// play runs an agent that takes these steps. Tools answer with their arguments.
func play(t *testing.T, steps []step) dispatched {
	t.Helper()
	return dispatchTo(t, `{"user_instruction":"Both orders."}`, func(ctx context.Context, run *dispatch.Run, _ *llm.Transport) error {
		for _, s := range steps {
			if _, err := send(ctx, &llm.Transport{Base: model(exch(s.reply))}, s.path, s.ask); err != nil {
				return err
			}
			if err := callAll(ctx, run, s.calls); err != nil {
				return err
			}
		}
		return nil
	})
}

func callAll(ctx context.Context, run *dispatch.Run, calls []string) error {
	for _, c := range calls {
		p := strings.SplitN(c, " ", 3)
		called := ctx
		if p[0] != "-" {
			called = proxy.WithCallID(ctx, p[0])
		}
		if _, err := run.Proxy.CallForModel(called, p[1], p[2]); err != nil {
			return err
		}
	}
	return nil
}

// A message of the assistant that says nothing, at the end of a request, hides no answer and adds no message.
func TestEmptyAnswers(t *testing.T) {
	const asked = `{"role":"user","content":"Both orders."}`
	message := `{"message":{"role":"assistant","content":"%s"},"finish_reason":"stop"}`
	for _, f := range []struct {
		path, list, user, answer string
		empty                    []string
	}{
		{chatPath, "messages", asked, `{"choices":[` + message + `]}`, []string{`{"role":"assistant","content":""}`, `{"role":"assistant","content":[]}`, `{"role":"assistant"}`}},
		{respPath, "input", asked, `{"status":"completed","output":[{"type":"message","role":"assistant","content":"%s"}]}`, []string{
			`{"role":"assistant","content":[]}`, `{"role":"assistant","content":" "}`, `{"type":"reasoning","summary":[],"encrypted_content":"gAAA"}`,
			`{"type":"reasoning","summary":[]},{"role":"assistant","content":[]}`,
		}},
		{msgPath, "messages", asked, `{"type":"message","role":"assistant","stop_reason":"end_turn","content":[{"type":"text","text":"%s"}]}`,
			[]string{`{"role":"assistant","content":[]}`, `{"role":"assistant","content":""}`, `{"role":"assistant","content":[{"type":"text","text":"\n"}]}`}},
		{gemPath, "contents", `{"role":"user","parts":[{"text":"Both orders."}]}`, `{"candidates":[{"finishReason":"STOP","content":{"role":"model","parts":[{"text":"%s"}]}}]}`,
			[]string{`{"role":"model","parts":[]}`, `{"role":"model"}`, `{"role":"model","parts":[{"text":""}]}`}},
		{"/model/m/converse", "messages", `{"role":"user","content":[{"text":"Both orders."}]}`,
			`{"stopReason":"end_turn","output":{"message":{"role":"assistant","content":[{"text":"%s"}]}},"usage":{"inputTokens":1}}`,
			[]string{`{"role":"assistant","content":[]}`, `{"role":"assistant","content":[{"text":" "}]}`}},
		{"/api/chat", "messages", asked, `{"message":{"role":"assistant","content":"%s"},"done":true}`, []string{`{"role":"assistant","content":""}`, `{"role":"assistant"}`}},
	} {
		ask := func(messages ...string) string { return `{"` + f.list + `":[` + strings.Join(messages, ",") + `]}` }
		one, two := fmt.Sprintf(f.answer, "One."), fmt.Sprintf(f.answer, "Two.")
		for _, empty := range f.empty {
			for want, steps := range map[string][]step{
				"assistant One.\nassistant Two.\n":                    {{path: f.path, ask: ask(f.user), reply: one}, {path: f.path, ask: ask(f.user, empty), reply: two}},
				"assistant One.\nuser Both orders.\nassistant Two.\n": {{path: f.path, ask: ask(f.user), reply: one}, {path: f.path, ask: ask(f.user, empty, f.user), reply: two}},
				"assistant Two.\n":                                    {{path: f.path, ask: ask(f.user, empty), reply: one}, {path: f.path, ask: ask(f.user, empty), reply: two}},
			} {
				if got := play(t, steps); said(got.messages) != userGoText+want || len(got.problems) > 0 {
					t.Errorf("%s after %s: %v, got\n%swant\n%s", f.path, empty, got.problems, said(got.messages), userGoText+want)
				}
			}
		}
	}
}

// Conversations of one label that go on at the same time are told apart, with the calls of each.
func TestSeveralConversations(t *testing.T) {
	sub := user("The sub-task.")
	got := play(t, []step{
		{path: chatPath, ask: chatAsk(userGo), reply: chatReply(toolCalls(`0 ask {}`))},
		{path: chatPath, ask: chatAsk(sub), reply: chatReply(toolCalls(`0 f {"n":1}`)), calls: []string{`0 f {"n":1}`}},
		{path: chatPath, ask: chatAsk(sub, asst(toolCalls(`0 f {"n":1}`)), tool("0", "one")), reply: chatReply(`"content":"One."`)},
		{path: chatPath, ask: chatAsk(userGo, asst(toolCalls(`0 ask {}`)), tool("0", "One.")), reply: chatReply(toolCalls(`0 f {"n":1}`)), calls: []string{`0 f {"n":1}`}},
	})
	want := "user Both orders.\nassistant [0 ask {}]\ntool(0) One.\nassistant [0 f {\"n\":1}]\ntool(0) {\"n\":1}\n" +
		"user The sub-task.\nassistant [0 f {\"n\":1}]\ntool(0) one\nassistant One.\n"
	if said(got.messages) != want || len(got.problems) > 0 {
		t.Errorf("%v, got\n%swant\n%s", got.problems, said(got.messages), want)
	}
}

// A branch of a conversation beside the agent's own takes its place.
func TestBranchOfAnotherConversation(t *testing.T) {
	sub := user("The sub-task.")
	got := play(t, []step{
		{path: chatPath, ask: chatAsk(userGo), reply: chatReply(toolCalls(`0 ask {}`))},
		{path: chatPath, ask: chatAsk(sub), reply: chatReply(toolCalls(`1 f {}`))},
		{path: chatPath, ask: chatAsk(sub, asst(toolCalls(`1 f {}`)), tool("1", "one")), reply: chatReply(`"content":"One."`)},
		{path: chatPath, ask: chatAsk(sub, user("again")), reply: chatReply(`"content":"Two."`)},
		{path: chatPath, ask: chatAsk(userGo, asst(toolCalls(`0 ask {}`)), tool("0", "Two.")), reply: chatReply(`"content":"Both."`)},
	})
	want := "user Both orders.\nassistant [0 ask {}]\ntool(0) Two.\nassistant Both.\n" +
		"user The sub-task.\nassistant [1 f {}]\ntool(1) one\nassistant One.\nuser again\nassistant Two.\n"
	if said(got.messages) != want || len(got.problems) > 0 {
		t.Errorf("%v, got\n%swant\n%s", got.problems, said(got.messages), want)
	}
}

// Agents that pass the same words to models at the same time have conversations of their own.
func TestConversationsAtTheSameTime(t *testing.T) {
	first := `{"role":"system","content":"S"},` + userGo
	second := `{"role":"system","content":"T"},` + userGo
	got := dispatchTo(t, `{"user_instruction":"Both orders."}`, func(ctx context.Context, _ *dispatch.Run, _ *llm.Transport) error {
		var inner error
		during := func(reply, ask string, do func()) error {
			_, err := send(ctx, &llm.Transport{Base: roundTrip(func(r *http.Request) (*http.Response, error) {
				resp, err := model(exch(reply)).RoundTrip(r)
				if err == nil {
					resp.Body = &interrupted{ReadCloser: resp.Body, do: do}
				}
				return resp, err
			})}, chatPath, ask)
			return err
		}
		err := during(chatReply(toolCalls(`a f {"n":1}`)), chatAsk(first), func() {
			inner = during(chatReply(toolCalls(`b f {"n":2}`)), chatAsk(second), func() {})
		})
		for _, step := range [][2]string{
			{chatAsk(second, asst(toolCalls(`b f {"n":2}`)), tool("b", "two")), "Two."},
			{chatAsk(first, asst(toolCalls(`a f {"n":1}`)), tool("a", "one")), "One."},
		} {
			if err == nil && inner == nil {
				err = during(chatReply(fmt.Sprintf(`"content":%q`, step[1])), step[0], func() {})
			}
		}
		return cmp.Or(err, inner)
	})
	want := "system S\nuser Both orders.\nassistant [a f {\"n\":1}]\ntool(a) one\nassistant One.\n" +
		"system T\nuser Both orders.\nassistant [b f {\"n\":2}]\ntool(b) two\nassistant Two.\n"
	if said(got.messages) != want || len(got.problems) > 0 {
		t.Errorf("%v, got\n%swant\n%s", got.problems, said(got.messages), want)
	}
}

// Two sub-agents that are asked the same have conversations of their own, in whatever order their requests
// begin and end. That holds if an answer fails and the request is sent again.
func TestTheSameWordsInAnyOrder(t *testing.T) {
	const fail = `{"error":{"message":"overloaded"}}`
	ask := user("Find it.")
	for _, ids := range [][2]string{{"a", "b"}, {"a", "a"}, {"", ""}} {
		for variant := range 4 { // with other arguments, and with a second answer that fails
			var steps [2][]step
			var wants [2]string
			for who, name := range []string{"A", "B"} {
				n := who * (variant & 1)
				call := toolCalls(fmt.Sprintf(`%s f {"n":%d}`, ids[who], n))
				next := chatAsk(ask, asst(call), tool(ids[who], "result "+name))
				steps[who] = []step{{path: chatPath, ask: chatAsk(ask), reply: chatReply(call)}, {path: chatPath, ask: next, reply: chatReply(`"content":"` + name + `"`)}}
				if who == 1 && variant > 1 {
					steps[who] = slices.Insert(steps[who], 1, step{path: chatPath, ask: next, reply: fail})
				}
				wants[who] = fmt.Sprintf("user Find it.\nassistant [? f {\"n\":%d}]\ntool(?) result %s\nassistant %s\n", n, name, name)
			}
			for order := range orders(2*len(steps[0]), 2*len(steps[1])) {
				got := dispatchTo(t, `{"user_instruction":"Both orders."}`, func(ctx context.Context, _ *dispatch.Run, _ *llm.Transport) (err error) {
					var done [2]int
					var open [2]*http.Response
					for _, who := range order {
						if n := done[who]; n%2 == 1 {
							_, _ = io.Copy(io.Discard, open[who].Body)
							_ = open[who].Body.Close()
						} else if s := steps[who][n/2]; err == nil {
							open[who], err = do(ctx, &llm.Transport{Base: model(exch(s.reply))}, s.path, s.ask)
						}
						done[who]++
					}
					return err
				})
				text := regexp.MustCompile(`([[(])(a|b|call_[0-9]+)([ )])`).ReplaceAllString(strings.TrimPrefix(said(got.messages), userGoText), "$1?$3")
				if text != wants[0]+wants[1] && text != wants[1]+wants[0] || len(got.problems) > 0 {
					t.Fatalf("ids %q, variant %d, order %v: %v, got\n%s", ids, variant, order, got.problems, said(got.messages))
				}
			}
		}
	}
}

// orders returns all orders of n zeros and m ones.
func orders(n, m int) iter.Seq[[]int] {
	return func(yield func([]int) bool) {
		for set := range 1 << (n + m) {
			if bits.OnesCount(uint(set)) != m {
				continue
			}
			order := make([]int, n+m)
			for i := range order {
				order[i] = set >> i & 1
			}
			if !yield(order) {
				return
			}
		}
	}
}

// An agent that asks for several answers at each turn goes on with the first of them, however many turns it makes.
func TestAgentThatChooses(t *testing.T) {
	var steps []step
	messages, want := []string{userGo}, "user Both orders.\n"
	for turn := range 12 {
		for n := range 5 {
			steps = append(steps, step{path: chatPath, ask: chatAsk(messages...), reply: chatReply(toolCalls(fmt.Sprintf(`c%d f {"turn":%d,"n":%d}`, turn, turn, n)))})
		}
		call := fmt.Sprintf(`c%d f {"turn":%d,"n":0}`, turn, turn)
		want += fmt.Sprintf("assistant [%s]\ntool(c%d) done\n", call, turn)
		messages = append(slices.Clip(messages), asst(toolCalls(call)), tool(fmt.Sprintf("c%d", turn), "done"))
	}
	steps = append(steps, step{path: chatPath, ask: chatAsk(messages...), reply: chatReply(`"content":"End."`)})
	if got := play(t, steps); said(got.messages) != want+"assistant End.\n" || len(got.problems) > 0 {
		t.Errorf("%v, got\n%s", got.problems, said(got.messages))
	}
}

// interrupted is a body that does something before it is read.
type interrupted struct {
	io.ReadCloser
	once sync.Once
	do   func()
}

func (b *interrupted) Read(p []byte) (int, error) {
	b.once.Do(b.do)
	return b.ReadCloser.Read(p)
}

// The conversation with the prompt is the agent's own, also if it goes on later than another.
func TestTheAgentsOwnConversation(t *testing.T) {
	sub := user("The sub-task.")
	const other = "user The sub-task.\nassistant One.\nuser go on\nassistant Two.\n"
	for want, last := range map[string]step{
		"user Both orders.\nassistant [a f {}]\n" + other:        {path: chatPath, ask: chatAsk(userGo), reply: chatReply(toolCalls(`a f {}`))},
		"user Both orders.\nassistant Yes.\nuser more\n" + other: {path: chatPath, ask: chatAsk(userGo, asst(`"content":"Yes."`), user("more")), reply: `<html>`},
	} {
		got := said(play(t, []step{
			{path: chatPath, ask: chatAsk(userGo), reply: chatReply(`"content":"Yes."`)},
			{path: chatPath, ask: chatAsk(sub), reply: chatReply(`"content":"One."`)},
			{path: chatPath, ask: chatAsk(sub, asst(`"content":"One."`), user("go on")), reply: chatReply(`"content":"Two."`)}, last,
		}).messages)
		if got != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}
	}
}

// Agents that begin with the same message and have system prompts of their own are told apart, and so is a
// question aside.
func TestConversationsWithOneBeginning(t *testing.T) {
	system := func(text string) string { return fmt.Sprintf(`{"role":"system","content":%q}`, text) }
	says := func(text string) string { return chatReply(fmt.Sprintf(`"content":%q`, text)) }
	for _, tt := range []struct {
		name     string
		steps    []step
		want     string
		problems string
	}{
		{"a debate", []step{
			{path: chatPath, ask: chatAsk(system("Pro"), userGo), reply: says("yes")},
			{path: chatPath, ask: chatAsk(system("Con"), userGo, user("yes")), reply: says("no")},
			{path: chatPath, ask: chatAsk(system("Pro"), userGo, asst(`"content":"yes"`), user("no")), reply: says("still yes")},
			{path: chatPath, ask: chatAsk(system("Con"), userGo, user("yes"), asst(`"content":"no"`), user("still yes")), reply: says("still no")},
		}, "system Pro\nuser Both orders.\nassistant yes\nuser no\nassistant still yes\nsystem Con\nuser Both orders.\nuser yes\nassistant no\nuser still yes\nassistant still no\n", ""},
		{"a title", []step{
			{path: chatPath, ask: chatAsk(system("S"), userGo), reply: says("yes")},
			{path: chatPath, ask: chatAsk(system("T"), userGo, user("A title?")), reply: says("Orders")},
			{path: chatPath, ask: chatAsk(system("S"), userGo, asst(`"content":"yes"`), user("more")), reply: says("End.")},
		}, "system S\nuser Both orders.\nassistant yes\nuser more\nassistant End.\n", "request_left_out"},
		{"the same words again", []step{
			{path: chatPath, ask: chatAsk(system("S"), userGo), reply: chatReply(toolCalls(`a f {"n":1}`))},
			{path: chatPath, ask: chatAsk(system("S"), userGo, asst(toolCalls(`a f {"n":1}`)), tool("a", "one")), reply: says("One.")},
			{path: chatPath, ask: chatAsk(system("S"), userGo), reply: chatReply(toolCalls(`b f {"n":2}`))},
			{path: chatPath, ask: chatAsk(system("S"), userGo, asst(toolCalls(`b f {"n":2}`)), tool("b", "two")), reply: says("Two.")},
		}, "system S\nuser Both orders.\nassistant [a f {\"n\":1}]\ntool(a) one\nassistant One.\n" +
			"system S\nuser Both orders.\nassistant [b f {\"n\":2}]\ntool(b) two\nassistant Two.\n", ""},
		{"the same words and the same call again", []step{
			{path: chatPath, ask: chatAsk(system("S"), userGo), reply: chatReply(toolCalls(`a f {"n":1}`))},
			{path: chatPath, ask: chatAsk(system("S"), userGo, asst(toolCalls(`a f {"n":1}`)), tool("a", "one")), reply: says("One.")},
			{path: chatPath, ask: chatAsk(system("S"), userGo), reply: chatReply(toolCalls(`a f {"n":1}`))},
			{path: chatPath, ask: chatAsk(system("S"), userGo, asst(toolCalls(`a f {"n":1}`)), tool("a", "two")), reply: says("Two.")},
		}, "system S\nuser Both orders.\nassistant [a f {\"n\":1}]\ntool(a) one\nassistant One.\n" +
			"system S\nuser Both orders.\nassistant [a f {\"n\":1}]\ntool(a) two\nassistant Two.\n", ""},
		{"the prompt is passed on", []step{
			{path: chatPath, ask: chatAsk(system("S"), userGo), reply: chatReply(toolCalls(`s ask {}`))},
			{path: chatPath, ask: chatAsk(system("T"), userGo), reply: chatReply(toolCalls(`a f {"n":1}`))},
			{path: chatPath, ask: chatAsk(system("T"), userGo, asst(toolCalls(`a f {"n":1}`)), tool("a", "one")), reply: says("One.")},
			{path: chatPath, ask: chatAsk(system("S"), userGo, asst(toolCalls(`s ask {}`)), tool("s", "One.")), reply: says("End.")},
		}, "system S\nuser Both orders.\nassistant [s ask {}]\ntool(s) One.\nassistant End.\n" +
			"system T\nuser Both orders.\nassistant [a f {\"n\":1}]\ntool(a) one\nassistant One.\n", ""},
		{"the prompt is handed over", []step{
			{path: chatPath, ask: chatAsk(system("S"), userGo), reply: chatReply(toolCalls(`s ask {}`))},
			{path: chatPath, ask: chatAsk(system("T"), userGo), reply: chatReply(toolCalls(`a f {"n":1}`))},
			{path: chatPath, ask: chatAsk(system("T"), userGo, asst(toolCalls(`a f {"n":1}`)), tool("a", "one")), reply: says("One.")},
		}, "system S\nuser Both orders.\nassistant [s ask {}]\n" +
			"system T\nuser Both orders.\nassistant [a f {\"n\":1}]\ntool(a) one\nassistant One.\n", ""},
		{"the same call at the same time, with the agent's ids", []step{
			{path: chatPath, ask: chatAsk(system("S"), userGo), reply: chatReply(toolCalls(`a f {}`))},
			{path: chatPath, ask: chatAsk(system("S"), user("Go on.")), reply: chatReply(toolCalls(`b f {}`))},
			{path: chatPath, ask: chatAsk(system("S"), user("Go on."), asst(toolCalls(`y f {}`)), tool("y", "one")), reply: says("Two.")},
			{path: chatPath, ask: chatAsk(system("S"), userGo, asst(toolCalls(`x f {}`)), tool("x", "one")), reply: says("One.")},
		}, "system S\nuser Both orders.\nassistant [x f {}]\ntool(x) one\nassistant One.\nsystem S\nuser Go on.\nassistant [y f {}]\ntool(y) one\nassistant Two.\n", ""},
		{"another agent takes over", []step{
			{path: chatPath, ask: chatAsk(system("S"), userGo), reply: says("yes")},
			{path: chatPath, ask: chatAsk(system("T"), userGo, user("[S] said yes")), reply: says("no")},
		}, "system S\nuser Both orders.\nassistant yes\nsystem T\nuser [S] said yes\nassistant no\n", ""},
		{"another agent takes over, with the history", []step{
			{path: chatPath, ask: chatAsk(system("S"), userGo), reply: chatReply(toolCalls(`s transfer {"to":"T"}`))},
			{path: chatPath, ask: chatAsk(system("T"), userGo, asst(toolCalls(`s transfer {"to":"T"}`)), tool("s", "You are T.")), reply: chatReply(toolCalls(`a f {}`))},
			{path: chatPath, ask: chatAsk(system("T"), userGo, asst(toolCalls(`s transfer {"to":"T"}`)), tool("s", "You are T."), asst(toolCalls(`a f {}`)), tool("a", "one")), reply: says("One.")},
			{path: chatPath, ask: chatAsk(system("S"), userGo, asst(toolCalls(`s transfer {"to":"T"}`)), tool("s", "You are T."), asst(toolCalls(`a f {}`)), tool("a", "one"), asst(`"content":"One."`), user("more")), reply: says("End.")},
		}, "system S\nuser Both orders.\nassistant [s transfer {\"to\":\"T\"}]\ntool(s) You are T.\nsystem T\nassistant [a f {}]\ntool(a) one\nassistant One.\n" +
			"system S\nuser more\nassistant End.\n", ""},
		{"the next agent of a sequence", []step{
			{path: chatPath, ask: chatAsk(system("S"), userGo), reply: chatReply(toolCalls(`a f {"n":1}`))},
			{path: chatPath, ask: chatAsk(system("S"), userGo, asst(toolCalls(`a f {"n":1}`)), tool("a", "one")), reply: says("One.")},
			{path: chatPath, ask: chatAsk(system("T"), userGo, user("[S] called f"), user("[S] said One.")), reply: chatReply(toolCalls(`b f {"n":2}`))},
			{path: chatPath, ask: chatAsk(system("T"), userGo, user("[S] called f"), user("[S] said One."), asst(toolCalls(`b f {"n":2}`)), tool("b", "two")), reply: says("Two.")},
		}, "system S\nuser Both orders.\nassistant [a f {\"n\":1}]\ntool(a) one\nassistant One.\n" +
			"system T\nuser [S] called f\nuser [S] said One.\nassistant [b f {\"n\":2}]\ntool(b) two\nassistant Two.\n", ""},
		{"system prompts that are too large", []step{
			{path: chatPath, ask: chatAsk(system("S"), userGo), reply: says("yes")},
			{path: chatPath, ask: chatAsk(system("T"+strings.Repeat("t", 200<<10)), userGo, asst(`"content":"yes"`), user("more")), reply: says("no")},
		}, "system S\nuser Both orders.\nassistant yes\nuser more\nassistant no\n", "conversation_unclear"},
	} {
		if got := play(t, tt.steps); said(got.messages) != tt.want || got.codes() != tt.problems {
			t.Errorf("%s: %v, got\n%swant\n%s", tt.name, got.problems, said(got.messages), tt.want)
		}
	}
}

// A call belongs to the conversation whose answer asks for it, whichever begins first.
func TestCallsOfSeveralConversations(t *testing.T) {
	got := play(t, []step{
		{path: chatPath, ask: chatAsk(userGo), reply: chatReply(toolCalls(`0 f {"of":"first"}`))},
		{path: chatPath, ask: chatAsk(user("sub")), reply: chatReply(toolCalls(`0 f {"of":"second"}`)), calls: []string{`- f {"of":"second"}`, `- f {"of":"first"}`}},
	})
	want := "user Both orders.\nassistant [0 f {\"of\":\"first\"}]\ntool(0) {\"of\":\"first\"}\nuser sub\nassistant [0 f {\"of\":\"second\"}]\ntool(0) {\"of\":\"second\"}\n"
	if said(got.messages) != want || len(got.problems) > 0 {
		t.Errorf("%v, got\n%swant\n%s", got.problems, said(got.messages), want)
	}
}

// An agent has at most 32 conversations under one label. Further ones are reported, and none is dropped.
func TestBoundOfConversations(t *testing.T) {
	steps := []step{{path: chatPath, ask: chatAsk(userGo), reply: chatReply(`"content":"Yes."`)}}
	for i := range 33 {
		steps = append(steps, step{path: chatPath, ask: chatAsk(user(fmt.Sprint("guard ", i))), reply: chatReply(`"content":"safe"`)})
	}
	steps = append(steps, step{path: chatPath, ask: chatAsk(userGo, asst(`"content":"Yes."`), user("more")), reply: chatReply(`"content":"End."`)})
	got := play(t, steps)
	if want := "user Both orders.\nassistant Yes.\nuser more\nassistant End.\n"; said(got.messages) != want || got.codes() != "conversation_unclear request_left_out" {
		t.Errorf("%v, got\n%s", got.problems, said(got.messages))
	}
}

// What is missing at the end is reported: an answer that failed, and one that was not understood, also if the
// agent goes on with what it has understood.
func TestMissingAnswers(t *testing.T) {
	for name, tt := range map[string]struct {
		steps []step
		want  string
	}{
		"at the end": {[]step{{path: chatPath, ask: chatAsk(userGo), reply: `{"error":{"message":"sk-canary-model"}}`}}, "is not in the transcript: it ended with an error"},
		"a part under a name that is not known": {[]step{{path: chatPath, ask: chatAsk(userGo), reply: chatReply(`"content":"Yes.","monologue":"Hm.","annotations":[]`)}},
			"the member monologue of a response of the model is not read"},
		"a message where none is read": {[]step{{path: chatPath, ask: chatAsk(userGo), reply: `{"choices":[{"index":0,"messages":[{"role":"tool"},` +
			`{"role":"assistant","content":"Yes."}]}]}`}}, "the member choices of a response of the model is not read"},
		"a message under another name": {[]step{{path: chatPath, ask: chatAsk(userGo), reply: `{"choices":[{"answer":{"role":"assistant","content":"Yes."}}]}`}},
			"the member choices of a response of the model is not read"},
		"a text for a content": {[]step{{path: gemPath, ask: geminiAsk, reply: `{"candidates":[{"content":"Yes.","finishReason":"STOP"}]}`}},
			"the member content of a response of the model is not read"},
		"a content without a list": {[]step{{path: gemPath, ask: geminiAsk, reply: `{"candidates":[{"content":{"role":"model","parts":{"text":"Yes."}}}]}`}},
			"the member content of a response of the model is not read"},
		"a content with something else": {[]step{{path: gemPath, ask: geminiAsk, reply: `{"candidates":[{"content":{"parts":[{"text":"Yes."}],"more":["No."]}}]}`}},
			"the member content of a response of the model is not read"},
		"a text for a message": {[]step{{path: "/api/chat", ask: chatAsk(userGo), reply: `{"model":"m","message":"Yes.","done":true}`}},
			"was not read: it has no event of this API"},
		"an event of another kind": {[]step{{path: chatPath, ask: chatAsk(userGo), reply: string(sse(`{"choices":[{"index":0,"delta":{"content":"Yes."}}]}`,
			`{"type":"ping","usage":null}`, `{"object":"error","message":"sk-canary-model","code":500}`,
			`{"id":"x","object":"chat.completion.chunk","system_fingerprint":"fp","service_tier":"auto","provider":"p"}`,
			`{"request_id":"q","usage":{"prompt_tokens":1}}`, "[DONE]"))}}, "the member message of a response of the model is not read"},
		"not understood, with the id that the next request names": {[]step{
			{path: respPath, ask: `{"model":"m","input":"Both orders."}`, reply: "\x1b\x03"},
			{path: respPath, ask: `{"model":"m","previous_response_id":"r1","input":"more"}`, reply: `{"id":"r2","status":"completed","output":[]}`},
		}, "was not read: it is neither JSON nor a stream of events"},
		"not understood": {[]step{
			{path: chatPath, ask: chatAsk(userGo), reply: "\x1b\x03"},
			{path: chatPath, ask: chatAsk(userGo, asst(`"content":"Yes."`), user("more")), reply: chatReply(`"content":"End."`)},
		}, "was not read: it is neither JSON nor a stream of events"},
	} {
		got := play(t, tt.steps)
		if len(got.problems) != 1 || !strings.HasSuffix(got.problems[0].Message, tt.want) {
			t.Errorf("%s: %v", name, got.problems)
		}
	}
	for path, reply := range map[string]string{
		chatPath: `{"choices":[{"index":0,"finish_reason":"stop","content_filter_results":{"hate":{"filtered":false}},"logprobs":{"content":[{"token":"a"}]}}]}`,
		gemPath:  `{"candidates":[{"content":{"role":"model","more":null},"finishReason":"MAX_TOKENS"}]}`,
	} {
		if got := play(t, []step{{path: path, ask: map[string]string{chatPath: chatAsk(userGo), gemPath: geminiAsk}[path], reply: reply}}); len(got.problems) > 0 {
			t.Errorf("%s: %v", path, got.problems)
		}
	}
	got := dispatchTo(t, `{"user_instruction":"Both orders."}`, func(ctx context.Context, _ *dispatch.Run, model *llm.Transport) error {
		_, err := do(ctx, model, chatPath, chatAsk(userGo)) // whose response nobody reads
		return err
	})
	if len(got.problems) != 1 || !strings.HasSuffix(got.problems[0].Message, "it has not ended") {
		t.Errorf("at the end of the run: %v", got.problems)
	}
}
