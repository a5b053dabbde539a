package llm_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/llm"
)

const (
	conversePath = "/model/m/converse-stream"
	asksConverse = `{"messages":[{"role":"user","content":[{"text":"Both orders."}]}]}`
	asksOllama   = `{"model":"m","messages":[{"role":"user","content":"Both orders."}]}`
)

// exchanged returns what a run shows of one exchange: the model's messages, the tokens and the problems.
func exchanged(t *testing.T, path, ask string, body exch) (messages, tokens, problems string) {
	t.Helper()
	transport := &llm.Transport{Base: model(body)}
	result := inRun(t, func(ctx context.Context, _ *dispatch.Run) error {
		got, err := send(ctx, transport, path, ask)
		if got != string(body) {
			t.Errorf("arrived %q", got)
		}
		return err
	})
	m := metadata(t, result)
	for _, p := range result.Problems {
		problems += p.Message + "\n"
	}
	messages = strings.TrimPrefix(rows(t, result.Messages), `{"role":"user","content":"Both orders."}`+"\n")
	return strings.TrimSuffix(messages, `{"role":"assistant","content":"Order 1 is shipped."}`+"\n"), fmt.Sprint(m.Input, "/", m.Output), problems
}

// What a stream of Converse adds, and what is wrong with it.
func TestConverseStreams(t *testing.T) {
	const (
		start  = `messageStart:{"role":"assistant"}`
		text   = `contentBlockDelta:{"contentBlockIndex":0,"delta":{"text":"a"}}`
		stop   = `contentBlockStop:{"contentBlockIndex":0}`
		finish = `messageStop:{"stopReason":"end_turn"}`
		meta   = `metadata:{"usage":{"inputTokens":7,"outputTokens":3,"totalTokens":10},"metrics":{"latencyMs":1}}`
		said   = `{"role":"assistant","content":"a"}` + "\n"
		broken = "it broke off, or ended without a reason"
		missed = "the tokens of a response are missing"
	)
	whole := string(framed(start, text, stop, finish, meta))
	// damage changes a byte of the nth event.
	damage := func(n, at int) exch {
		events := eventsOf(exch(whole))
		event := []byte(events[n])
		event[(at+len(event))%len(event)] ^= 1
		events[n] = string(event)
		return exch(strings.Join(events, ""))
	}
	length := binary.BigEndian.AppendUint32
	summed := func(p exch) exch { return exch(length([]byte(p), crc32.ChecksumIEEE([]byte(p)))) }
	for _, tt := range []struct {
		name                      string
		body                      exch
		messages, tokens, problem string
	}{
		{"whole", exch(whole), said, "7/3", ""},
		{"nothing after the stop", framed(start, text, stop, finish), said, "0/0", missed},
		{"no stop", framed(start, text, stop), "", "0/0", broken},
		{"tokens without a stop", framed(start, text, meta), said, "7/3", ""},
		{"a cut event", exch(whole[:len(whole)-9]), said, "0/0", missed},
		{"a cut text", exch(whole[:150]), "", "0/0", broken},
		{"a cut beginning of an event", framed(start, text) + "\x00\x00", "", "0/0", broken},
		{"a damaged length", damage(1, 0), "", "0/0", broken},
		{"a damaged checksum of the length", damage(1, 11), "", "0/0", broken},
		{"a damaged payload", damage(1, 110), "", "0/0", broken},
		{"a damaged checksum", damage(1, -1), "", "0/0", broken},
		{"damaged tokens", damage(4, -9), said, "0/0", missed},
		{"a damaged beginning of the tokens", damage(4, 0), said, "0/0", "an event in a response of the model was not read"},
		{"a cut first event", exch(whole[:40]), "", "0/0", broken},
		{"events of another API", framed(`futureEvent:{"x":[1]}`), "", "0/0", "it has no event of this API"},
		{"an unknown event", framed(start, text, `futureEvent:{"x":[1]}`, `chunk2:`, finish, meta), said, "7/3", ""},
		{"an event that is not JSON", framed(start, text, `contentBlockDelta:{"contentBlockIndex":0`, finish, meta), said, "7/3", "an event in a response of the model was not read"},
		{"an event without a payload", framed(start, text, `contentBlockStop:`, finish, meta), said, "7/3", ""},
		{"headers that cannot be read", exch(strings.Replace(whole, string(framed(stop)), rawFrame(`{}`, "\x05:even\x0a"), 1)), said, "7/3", "an event in a response of the model was not read"},
		{"a header without a type", framed(start, text) + exch(rawFrame(`{}`, "\x01a")) + framed(finish, meta), said, "7/3", "an event in a response of the model was not read"},
		{"a header with half a length", framed(start, text) + exch(rawFrame(`{}`, "\x01a\x07\x00")) + framed(finish, meta), said, "7/3", "an event in a response of the model was not read"},
		{"a header longer than all of them", framed(start, text) + exch(rawFrame(`{}`, "\x01a\x07\x00\x09x")) + framed(finish, meta), said, "7/3", "an event in a response of the model was not read"},
		{"headers of every type", exch(rawFrame(`{"role":"assistant"}`, "\x01a\x00\x0d:message-type\x07\x00\x05event\x01b\x01\x01c\x02x\x01d\x03xx\x01e\x04xxxx\x01f\x05xxxxxxxx\x01g\x06\x00\x01x\x01h\x08xxxxxxxx\x01i\x09xxxxxxxxxxxxxxxx")) + framed(text, finish, meta), said, "7/3", ""},
		{"an exception after text", framed(start, text, `!throttlingException:{"message":"slow down"}`), "", "0/0", "it ended with an error"},
		{"an exception after the stop", framed(start, text, finish, `!internalServerException:{}`), "", "0/0", "it ended with an error"},
		{"an exception alone", framed(`!validationException:{"message":"no"}`), "", "0/0", "it ended with an error"},
		{"an error", exch(frame("", ":message-type", "error", ":error-code", "500", ":error-message", "x")), "", "0/0", "it ended with an error"},
		{"a frame that is too large", exch(strings.Repeat("\x00", 0)) + framed(start, `contentBlockDelta:{"contentBlockIndex":0,"delta":{"text":"`+strings.Repeat("a", 9<<20)+`"}}`, finish, meta), "", "7/3", "more than 8 MiB"},
		{"a frame shorter than its beginning", frameOf(10) + framed(start, text), "", "0/0", "it has no event of this API"},
		{"headers longer than their frame", summed(summed(exch(length(length(nil, 40), 25))) + "\x01a\x06\x00\x14" + exch(strings.Repeat("x", 19))), "", "0/0", "it has no event of this API"},
		{"a length that is too large", exch(length(length(nil, 0x00ffffff), 0)) + "xxxx", "", "0/0", "it has no event of this API"},
		{"many texts", framed(start, `contentBlockDelta:{"contentBlockIndex":0,"delta":{"text":"`+strings.Repeat("a", 5<<20)+`"}}`, `contentBlockDelta:{"contentBlockIndex":0,"delta":{"text":"`+strings.Repeat("a", 5<<20)+`"}}`, finish, meta), "", "7/3", "more than 8 MiB"},
		{"many blocks", framed(start) + exch(strings.Repeat(string(framed(text, stop)), 4097)) + framed(finish, meta), "", "7/3", "more than 4096 parts"},

		{"many parts of a result", framed(start, `contentBlockStart:{"contentBlockIndex":0,"start":{"toolResult":{"toolUseId":"s"}}}`, `contentBlockDelta:{"contentBlockIndex":0,"delta":{"toolResult":[`+strings.Repeat(`{"text":"a"},`, 4096)+`{"text":"a"}]}}`, finish, meta), "", "7/3", "more than 4096 parts"},

		{"an empty answer", framed(start, finish, meta), `{"role":"assistant"}` + "\n", "7/3", ""},
		{"a guardrail", framed(start, text, `messageStop:{"stopReason":"guardrail_intervened","additionalModelResponseFields":{"x":{"toolUse":1}}}`, meta), said, "7/3", ""},
		{"cache", framed(start, text, finish, `metadata:{"usage":{"cacheDetails":[{"inputTokens":40,"ttl":"5m"}],"cacheReadInputTokens":100,"cacheReadInputTokenCount":100,"cacheWriteInputTokens":40,"inputTokens":7,"outputTokens":3,"totalTokens":150}}`), said, "147/3", ""},
		{"input in pieces, none, and broken", framed(start, `contentBlockStart:{"contentBlockIndex":0,"start":{"toolUse":{"toolUseId":"x","name":"f"}}}`,
			`contentBlockStart:{"contentBlockIndex":1,"start":{"toolUse":{"toolUseId":"y","name":"g"}}}`, `contentBlockStart:{"contentBlockIndex":2,"start":{"toolUse":{"toolUseId":"z","name":"h"}}}`,
			`contentBlockDelta:{"contentBlockIndex":0,"delta":{"toolUse":{"input":"{\"a\""}}}`, `contentBlockDelta:{"contentBlockIndex":2,"delta":{"toolUse":{"input":"{\"b"}}}`,
			`contentBlockDelta:{"contentBlockIndex":0,"delta":{"toolUse":{"input":":1}"}}}`, `contentBlockDelta:{"contentBlockIndex":1,"delta":{"toolUse":{"input":""}}}`, `messageStop:{"stopReason":"tool_use"}`, meta),
			`{"role":"assistant","tool_calls":[{"id":"x","name":"f","arguments":{"a":1}},{"id":"y","name":"g","arguments":{}},{"id":"z","name":"h","arguments":"{\"b"}]}` + "\n", "7/3", ""},
		{"input that is a value", framed(`contentBlockStart:{"contentBlockIndex":0,"start":{"toolUse":{"toolUseId":"x","name":"f"}}}`, `contentBlockDelta:{"contentBlockIndex":0,"delta":{"toolUse":{"input":{"a":1}}}}`, finish, meta),
			`{"role":"assistant","tool_calls":[{"id":"x","name":"f","arguments":{"a":1}}]}` + "\n", "7/3", ""},
		{"a call that begins twice", framed(`contentBlockStart:{"contentBlockIndex":0,"start":{"toolUse":{"toolUseId":"x","name":"f"}}}`, `contentBlockStart:{"contentBlockIndex":0,"start":{"toolUse":{"toolUseId":"x","name":"f"}}}`,
			`contentBlockDelta:{"contentBlockIndex":0,"delta":{"toolUse":{"input":"{\"a\":1}"}}}`, stop, finish, meta),
			`{"role":"assistant","tool_calls":[{"id":"x","name":"f","arguments":{"a":1}}]}` + "\n", "7/3", ""},
		{"a call that comes twice", framed(`contentBlockStart:{"contentBlockIndex":0,"start":{"toolUse":{"toolUseId":"x","name":"f"}}}`, stop, `contentBlockStart:{"contentBlockIndex":0,"start":{"toolUse":{"toolUseId":"x","name":"f"}}}`, stop, finish, meta),
			`{"role":"assistant","tool_calls":[{"id":"x","name":"f","arguments":{}}]}` + "\n", "7/3", ""},
		{"reasoning and text of one index", framed(`contentBlockDelta:{"contentBlockIndex":0,"delta":{"reasoningContent":{"text":"hm"}}}`, `contentBlockDelta:{"contentBlockIndex":0,"delta":{"reasoningContent":{"redactedContent":"c2ln"}}}`, text, finish, meta),
			`{"role":"assistant","content":"a","thinking":[{"type":"text","text":"hm"}]}` + "\n", "7/3", ""},
		{"redacted reasoning", framed(`contentBlockDelta:{"contentBlockIndex":0,"delta":{"reasoningContent":{"redactedContent":"c2ln"}}}`, stop, `contentBlockDelta:{"contentBlockIndex":1,"delta":{"text":"a"}}`, finish, meta), said, "7/3", ""},
		{"blocks of one index", framed(text, stop, text, finish, meta), `{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"text","text":"a"}]}` + "\n", "7/3", ""},
		{"an empty text", framed(`contentBlockDelta:{"contentBlockIndex":0,"delta":{"text":""}}`, stop, `contentBlockDelta:{"contentBlockIndex":1,"delta":{"text":"a"}}`, finish, meta), said, "7/3", ""},
		{"citations", framed(text, `contentBlockDelta:{"contentBlockIndex":0,"delta":{"citation":{"title":"t","sourceContent":[{"text":"s"}]}}}`, `contentBlockDelta:{"contentBlockIndex":0,"delta":{"text":"b"}}`, finish, meta),
			`{"role":"assistant","content":"ab"}` + "\n", "7/3", ""},
		{"a tool of the provider", framed(`contentBlockStart:{"contentBlockIndex":0,"start":{"toolUse":{"toolUseId":"s","name":"nova_grounding","type":"server_tool_use"}}}`, `contentBlockDelta:{"contentBlockIndex":0,"delta":{"toolUse":{"input":"{\"q\":1}"}}}`, stop,
			`contentBlockStart:{"contentBlockIndex":1,"start":{"toolResult":{"toolUseId":"s","type":"nova_grounding_result","status":"success"}}}`, `contentBlockDelta:{"contentBlockIndex":1,"delta":{"toolResult":[{"text":"hits"}]}}`, `contentBlockDelta:{"contentBlockIndex":2,"delta":{"text":"a"}}`, finish, meta),
			`{"role":"assistant","tool_calls":[{"id":"s","name":"nova_grounding","arguments":{"q":1}}]}` + "\n" + `{"role":"tool","content":"hits","tool_call_id":"s"}` + "\n" + said, "7/3", ""},
		{"an image", framed(`contentBlockStart:{"contentBlockIndex":0,"start":{"image":{"format":"png"}}}`, `contentBlockDelta:{"contentBlockIndex":0,"delta":{"image":{"source":{"bytes":"AAAA"}}}}`, finish, meta), `{"role":"assistant","content":"[image image/png]"}` + "\n", "7/3", ""},

		{"a failed tool of the provider, and a delta that is not known", framed(`contentBlockStart:{"contentBlockIndex":0,"start":{"toolUse":{"toolUseId":"s","name":"f"}}}`, `contentBlockStart:{"contentBlockIndex":1,"start":{"toolUse":{"toolUseId":"t","name":"f"}}}`,
			`contentBlockStart:{"contentBlockIndex":2,"start":{"toolResult":{"toolUseId":"t","status":"error"}}}`, `contentBlockDelta:{"contentBlockIndex":2,"delta":{"toolResult":[{"text":"no"}]}}`,
			`contentBlockDelta:{"contentBlockIndex":3,"delta":{"hologram":{"x":1}}}`, finish, meta),
			`{"role":"assistant","tool_calls":[{"id":"s","name":"f","arguments":{}},{"id":"t","name":"f","arguments":{}}]}` + "\n" + `{"role":"tool","content":"{\"error\":\"no\"}","tool_call_id":"t"}` + "\n" + `{"role":"assistant","content":"[hologram]"}` + "\n", "7/3", ""},
		{"a body", `{"output":{"message":{"role":"assistant","content":[{"text":"a"}]}},"stopReason":"max_tokens","usage":{"inputTokens":7,"outputTokens":3}}`, said, "7/3", ""},
		{"a body whose content is a text", `{"output":{"message":{"role":"assistant","content":"a"}},"stopReason":"end_turn","usage":{"inputTokens":7,"outputTokens":3}}`, said, "7/3", ""},
		{"a body whose content is a block", `{"output":{"message":{"role":"assistant","content":{"text":"a"}}},"stopReason":"end_turn","usage":{"inputTokens":7,"outputTokens":3}}`, said, "7/3", ""},
		{"a body whose blocks are texts", `{"output":{"message":{"role":"assistant","content":["a"]}},"stopReason":"end_turn","usage":{"inputTokens":7,"outputTokens":3}}`, said, "7/3", ""},
		{"a body without a role", `{"output":{"message":{"content":[{"text":"a"}]}},"stopReason":"end_turn","usage":{"inputTokens":7,"outputTokens":3}}`, said, "7/3", ""},
		{"input without a call", framed(`contentBlockDelta:{"contentBlockIndex":0,"delta":{"toolUse":{"input":"{}"}}}`, finish, meta), "", "7/3", "arguments that do not belong together"},
		{"input without a call before another block", framed(`contentBlockDelta:{"contentBlockIndex":0,"delta":{"toolUse":{"input":"{}"}}}`, `contentBlockDelta:{"contentBlockIndex":1,"delta":{"text":"a"}}`, finish, meta), "", "7/3", "arguments that do not belong together"},
		{"a text within input", framed(`contentBlockStart:{"contentBlockIndex":0,"start":{"toolUse":{"toolUseId":"x","name":"f"}}}`, `contentBlockDelta:{"contentBlockIndex":0,"delta":{"toolUse":{"input":"{\"a\":"}}}`, text,
			`contentBlockDelta:{"contentBlockIndex":0,"delta":{"toolUse":{"input":"1}"}}}`, finish, meta), "", "7/3", "arguments that do not belong together"},
		{"a refused request", `{"message":"The model is overloaded"}`, "", "0/0", "it is not a response of this API"},
		{"an unknown operation", `{"Output":{"__type":"UnknownOperationException"},"Version":"1.0"}`, "", "0/0", "it is not a response of this API"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			messages, tokens, problems := exchanged(t, conversePath, asksConverse, tt.body)
			if messages != tt.messages || tokens != tt.tokens || !strings.Contains(problems, tt.problem) || (problems == "") != (tt.problem == "") {
				t.Errorf("got\n%.300swant\n%stokens %s, want %s; problems %s", messages, tt.messages, tokens, tt.tokens, problems)
			}
		})
	}
	for i := 1; i < len(whole); i++ { // at whatever byte it ends
		messages, tokens, problems := exchanged(t, conversePath, asksConverse, exch(whole[:i]))
		if (messages != "" && messages != said) || tokens != "0/0" || problems == "" {
			t.Errorf("after %d bytes: %s, %s, %s", i, messages, tokens, problems)
		}
	}
	for i := range len(whole) { // whichever byte is wrong
		wrong := []byte(whole)
		wrong[i] ^= 0x10
		if messages, _, problems := exchanged(t, conversePath, asksConverse, exch(wrong)); messages != "" && messages != said || problems == "" {
			t.Errorf("with byte %d: %s, %s", i, messages, problems)
		}
	}
}

// Events of another format in chunks.
func TestChunks(t *testing.T) {
	const ask = `{"anthropic_version":"bedrock-2023-05-31","max_tokens":9,"messages":[{"role":"user","content":"Both orders."}]}`
	whole := chunks(wires[1].calls[1])
	for _, tt := range []struct {
		name    string
		body    exch
		problem string
	}{
		{"whole", whole, ""},
		{"bytes that are not base64", framed(`chunk:{"bytes":"*"}`) + whole, "an event in a response of the model was not read"},
		{"a chunk that is not JSON", framed(`chunk:{"bytes"`) + whole, "an event in a response of the model was not read"},
		{"bytes that are not JSON", framed(`chunk:{"bytes":"eyI="}`) + whole, "an event in a response of the model was not read"},
		{"an exception", exch(strings.Join(eventsOf(whole)[:3], "")) + framed(`!modelStreamErrorException:{"message":"x","originalStatusCode":500}`), "it ended with an error"},
	} {
		messages, _, problems := exchanged(t, "/model/m/invoke-with-response-stream", ask, tt.body)
		if !strings.Contains(problems, tt.problem) || (problems == "") != (tt.problem == "") || (messages == "") != strings.Contains(tt.name, "exception") {
			t.Errorf("%s: %s %s", tt.name, messages, problems)
		}
	}
}

// The model is the last part of the id in the path, and never shows the account of an ARN.
func TestModelOfAPath(t *testing.T) {
	for path, want := range map[string]string{
		"/model/us.amazon.nova-micro-v1:0/converse":                                                       "us.amazon.nova-micro-v1:0",
		"/model/us.amazon.nova-micro-v1%3A0/converse":                                                     "us.amazon.nova-micro-v1:0",
		"/model/arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.m-1/converse-stream":          "eu.m-1",
		"/model/arn%3Aaws%3Abedrock%3Aeu-west-1%3A123456789012%3Ainference-profile%2Feu.m-1/converse":     "eu.m-1",
		"/model/arn%253Aaws%253Abedrock%253Aeu-west-1%253A123456789012%253Aprompt%252FABC%253A2/converse": "ABC:2",
		"/gateway/model/arn:aws-us-gov:sagemaker:us-gov-west-1:123456789012:endpoint%2Fmine/converse":     "mine",
		"/model/arn:aws:bedrock:us-east-1::foundation-model%2Fanthropic.claude-v2:1/converse":             "anthropic.claude-v2:1",
		"/model/arn:aws:bedrock:us-east-1:123456789012:mine/converse":                                     "mine",
		"/model/arn:aws:bedrock:us-east-1:123456789012/converse":                                          "",
		"/model/arn:aws:bedrock:us-east-1:123456789012:my:own/converse":                                   "my:own",
		"/model/arn:aws/converse": "",
		"/model/arn%253Aaws%253Abedrock%253Aus-east-1%253A123456789012%253Amine%252Fx%25zz/converse": "",
		"/model//converse": "",
	} {
		transport := &llm.Transport{Base: model(`{"output":{"message":{"role":"assistant","content":[]}},"usage":{"inputTokens":1}}`)}
		result := inRun(t, func(ctx context.Context, _ *dispatch.Run) error {
			_, err := send(ctx, transport, path, asksConverse)
			return err
		})
		if got := metadata(t, result).Model; got != want || strings.Contains(result.String(), "123456789012") || len(result.Problems) > 0 {
			t.Errorf("%s: %q, want %q, %v", path, got, want, result.Problems)
		}
	}
}

// A prompt that the server keeps is reported. Models of other providers are not read under InvokeModel.
func TestBedrockRequests(t *testing.T) {
	answer := exch(`{"output":{"message":{"role":"assistant","content":[{"text":"a"}]}},"stopReason":"end_turn","usage":{"inputTokens":7,"outputTokens":3}}`)
	for _, tt := range []struct{ path, ask, problem string }{
		{"/model/arn:aws:bedrock:eu-west-1:123456789012:prompt%2FP/converse", `{"promptVariables":{"genre":{"text":"pop"}}}`, "the prompt of the agent is not sent: the server keeps it"},
		{"/model/amazon.nova-lite-v1:0/invoke", `{"schemaVersion":"messages-v1","messages":[{"role":"user","content":[{"text":"hi"}]}]}`, "requests to …/invoke are not read"},
		{"/model/meta.llama3/invoke-with-response-stream", `{"prompt":"hi"}`, "requests to …/invoke-with-response-stream are not read"},
	} {
		if _, _, problems := exchanged(t, tt.path, tt.ask, answer); !strings.Contains(problems, tt.problem) || strings.Count(problems, "\n") != 1 {
			t.Errorf("%s: %s", tt.path, problems)
		}
	}
	// An SDK that stops after the reason has not read the tokens.
	events := eventsOf(wires[4].final[1])
	transport := &llm.Transport{Base: model(wires[4].final[1])}
	result := inRun(t, func(ctx context.Context, _ *dispatch.Run) error {
		resp, err := do(ctx, transport, conversePath, asksConverse)
		if err != nil {
			return err
		}
		_, err = io.ReadFull(resp.Body, make([]byte, len(strings.Join(events[:len(events)-1], ""))))
		return errors.Join(err, resp.Body.Close())
	})
	if len(result.Problems) != 1 || !strings.Contains(result.Problems[0].Message, "tokens of a response are missing") {
		t.Error(result.Problems)
	}
}

// What cannot be read of a request or of a response costs that part. Five of them are reported, with their places.
func TestPartsThatCannotBeRead(t *testing.T) {
	call := `{"id":"x","function":{"name":"f"}},`
	asked := func(messages string) string {
		return `{"messages":[{"role":"user","content":"Both orders."}` + messages + `]}`
	}
	for _, tt := range []struct {
		name, path, ask string
		body            exch
		problems        []string
	}{
		{"messages", chatPath, asked(strings.Repeat(`,{"role":"alien","content":"sk-canary-model"}`, 7)), says("yes"),
			[]string{"/messages/1/role", "/messages/2/role", "/messages/3/role", "/messages/4/role", "/messages/5/role"}},
		{"a message of another format", chatPath, asked(`,{"role":"user","parts":[{"text":"a"}]}`), says("yes"), []string{"/messages/1 is of another format: gemini"}},
		{"an item of a response", "/v1/responses", `{"input":"Both orders."}`, `{"id":"r","output":[7,{"type":"message","role":"assistant","content":"yes"}]}`, []string{"must be an object, not a number"}},
		{"calls", chatPath, asked(`,{"role":"assistant","tool_calls":[` + strings.Repeat(call, 10_001) + call[:len(call)-1] + `]}`), says("yes"), []string{"/messages/1 has more than 10000 tool calls"}},
		{"as many calls as are read", chatPath, asked(`,{"role":"assistant","tool_calls":[` + strings.Repeat(call, 9_999) + call[:len(call)-1] + `]}`), says("yes"), nil},
	} {
		messages, _, problems := exchanged(t, tt.path, tt.ask, tt.body)
		for _, want := range tt.problems {
			if strings.Count(problems, want) != 1 {
				t.Errorf("%s: %.2000s, want %s", tt.name, problems, want)
			}
		}
		if got := strings.Count(problems, "of the agent was not read: ") + strings.Count(problems, "of the model was not read: "); got != len(tt.problems) || !strings.Contains(messages, "yes") || strings.Contains(problems, "sk-canary") {
			t.Errorf("%s: %d problems: %.2000s", tt.name, got, problems)
		}
	}
}

// What Converse and Ollama have beside text.
func TestBlocks(t *testing.T) {
	for _, tt := range []struct {
		format llm.Format
		doc    string
		want   string
	}{
		{llm.Converse, `[{"role":"user","content":[{"text":"a"},{"cachePoint":{"type":"default"}},{"toolAddition":{"tool":{}}},{"toolRemoval":{"name":"f"}},{"image":{"format":"png","source":{"bytes":"AAAA"}}},{"image":{"format":"jpeg","source":{"s3Location":{"uri":"s3://secret","bucketOwner":"123456789012"}}}},
			{"document":{"format":"pdf","name":"report","source":{"bytes":"AAAAAAAA"}}},{"document":{"format":"txt","name":"x","source":{"text":"inline"}}},{"document":{"name":"x","source":{"content":[{"text":"one"},{"text":"two"}]}}},
			{"video":{"format":"mp4","source":{"s3Location":{"uri":"s3://secret"}}}},{"audio":{"format":"wav","source":{"bytes":"AAAA"}}},{"guardContent":{"text":{"text":"guarded","qualifiers":["query"]}}},{"guardContent":{"image":{"format":"png","source":{"bytes":"AAAA"}}}},
			{"searchResult":{"title":"T","source":"https://secret","content":[{"text":"s"}]}},{"futureBlock":{"secret":1}},{"text":null}]}]`,
			`{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"[image image/png, 3 bytes]"},{"type":"text","text":"[image image/jpeg]"},{"type":"text","text":"[document pdf, 6 bytes]"},{"type":"text","text":"inline"},{"type":"text","text":"one"},{"type":"text","text":"two"},` +
				`{"type":"text","text":"[video video/mp4]"},{"type":"text","text":"[audio audio/wav, 3 bytes]"},{"type":"text","text":"guarded"},{"type":"text","text":"[image image/png, 3 bytes]"},{"type":"text","text":"[search result T]"},{"type":"text","text":"[futureBlock]"}]}`},
		{llm.Converse, `{"role":"assistant","content":[{"citationsContent":{"content":[{"text":"It "},{"text":"is."}],"citations":[{"title":"t"}]}},{"toolUse":{"toolUseId":"s","name":"nova","input":{},"type":"server_tool_use"}},{"toolResult":{"toolUseId":"s","content":[{"json":{"n":1.0}}]}},{"text":"b"}]}`,
			`{"role":"assistant","content":[{"type":"text","text":"It "},{"type":"text","text":"is."}],"tool_calls":[{"id":"s","name":"nova","arguments":{}}]}` + "\n" + `{"role":"tool","content":"{\"n\":1.0}","tool_call_id":"s"}` + "\n" + `{"role":"assistant","content":"b"}`},
		{llm.Converse, `[{"role":"assistant","content":[{"toolUse":{"toolUseId":"a","name":"f","input":{}}},{"toolUse":{"toolUseId":"b","name":"f","input":{}}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"b","status":"success","content":[{"image":{"source":{"bytes":"AAAA"}}},{"text":"seen"}]}},{"toolResult":{"toolUseId":"a","status":"error","content":[{"text":"no"}]}},{"text":"And?","toolUse":null}]},
			{"role":"assistant","content":[{"reasoningContent":{"redactedContent":"AAAA"}}]},{"role":"user","content":"Go."}]`,
			`{"role":"assistant","tool_calls":[{"id":"a","name":"f","arguments":{}},{"id":"b","name":"f","arguments":{}}]}` + "\n" + `{"role":"tool","content":[{"type":"text","text":"[image, 3 bytes]"},{"type":"text","text":"seen"}],"tool_call_id":"b"}` + "\n" +
				`{"role":"tool","content":"{\"error\":\"no\"}","tool_call_id":"a"}` + "\n" + `{"role":"user","content":"And?"}` + "\n" + `{"role":"user","content":"Go."}`},
		{llm.Converse, `{"system":[{"text":"s"},{"cachePoint":{"type":"default"}}],"messages":[]}`, `{"role":"system","content":"s"}`},
		{llm.Converse, `{"system":[{"cachePoint":{"type":"default"}}],"messages":[{"role":"user","content":[]}]}`, `{"role":"user"}`},

		{llm.Converse, `{"promptVariables":{},"messages":[{"role":"user","content":"a"}]}`, `{"role":"user","content":"a"}`},
		{llm.Ollama, `{"messages":[{"role":"system","content":"s"},{"role":"USER","content":"a","images":["AAAA","AAAAAAAA"]},{"role":"assistant","content":"","thinking":"hm","tool_calls":[{"function":{"name":"f","arguments":{"x":1}}},{"function":{"name":"g","arguments":{}}},{"function":{"name":"f","arguments":{"x":2}}}]},
			{"role":"tool","tool_name":"g","content":"of g"},{"role":"tool","tool_name":"f","content":"of 1"},{"role":"tool","content":"of 2"}]}`,
			`{"role":"system","content":"s"}` + "\n" + `{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"[image, 3 bytes]"},{"type":"text","text":"[image, 6 bytes]"}]}` + "\n" +
				`{"role":"assistant","tool_calls":[{"id":"call_1","name":"f","arguments":{"x":1}},{"id":"call_2","name":"g","arguments":{}},{"id":"call_3","name":"f","arguments":{"x":2}}],"thinking":[{"type":"text","text":"hm"}]}` + "\n" +
				`{"role":"tool","content":"of g","tool_call_id":"call_2"}` + "\n" + `{"role":"tool","content":"of 1","tool_call_id":"call_1"}` + "\n" + `{"role":"tool","content":"of 2","tool_call_id":"call_3"}`},
		{llm.Ollama, `[{"role":"user","content":""},{"role":"tool","tool_name":"f","content":"x"}]`, `{"role":"user"}` + "\n" + `{"role":"tool","content":"x"}`},
		{llm.Ollama, `[{"role":"assistant","content":"","tool_calls":[{"id":"b","function":{"name":"f","arguments":{}}},{"id":"a","function":{"name":"f","arguments":{}}},{"id":"c","function":{"name":"g","arguments":{}}}]},
			{"role":"tool","tool_name":"f","tool_call_id":"a","content":"of a"},{"role":"tool","name":"g","content":"of c"},{"role":"tool","tool_name":"f","tool_call_id":"b","content":"of b"},{"role":"tool","tool_name":"f","content":"of none"}]`,
			`{"role":"assistant","tool_calls":[{"id":"b","name":"f","arguments":{}},{"id":"a","name":"f","arguments":{}},{"id":"c","name":"g","arguments":{}}]}` + "\n" + `{"role":"tool","content":"of a","tool_call_id":"a"}` + "\n" +
				`{"role":"tool","content":"of c","tool_call_id":"c"}` + "\n" + `{"role":"tool","content":"of b","tool_call_id":"b"}` + "\n" + `{"role":"tool","content":"of none"}`},
	} {
		messages, err := llm.FromConversation(tt.format, json.RawMessage(tt.doc))
		got := ""
		for _, m := range messages {
			text, _ := json.Marshal(m)
			got += string(text) + "\n"
		}
		if strings.TrimSpace(got) != tt.want || err != nil {
			t.Errorf("%v, got\n%swant\n%s", err, got, tt.want)
		}
	}
}

// What a stream of Ollama adds, and what is wrong with it.
func TestOllamaStreams(t *testing.T) {
	const (
		text   = `{"model":"m","message":{"role":"assistant","content":"a"},"done":false}` + "\n"
		done   = `{"model":"m","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":7,"eval_count":3}` + "\n"
		said   = `{"role":"assistant","content":"a"}` + "\n"
		broken = "it broke off, or ended without a reason"
		event  = "an event in a response of the model was not read"
	)
	for _, tt := range []struct {
		name                      string
		body                      exch
		messages, tokens, problem string
	}{
		{"whole", text + done, said, "7/3", ""},
		{"no line end", exch(strings.TrimSpace(text + done)), said, "7/3", ""},
		{"empty lines and CRLF", "\r\n" + exch(strings.ReplaceAll(text+"\n"+done, "\n", "\r\n")), said, "7/3", ""},
		{"in one line", exch(strings.ReplaceAll(text+done, "\n", "")) + "\n", "", "0/0", "it has no event of this API"},
		{"length", text + `{"message":{"role":"assistant","content":""},"done":true,"done_reason":"length","prompt_eval_count":7,"eval_count":3}`, said, "7/3", ""},
		{"no reason", text + `{"message":{"role":"assistant","content":""},"done":true}`, said, "0/0", ""},
		{"an end without a message", text + `{"model":"m","done":true,"prompt_eval_count":7,"eval_count":3}`, said, "7/3", ""},
		{"an end alone", `{"model":"m","response":"a","done":true}`, "", "0/0", "it has no event of this API"},
		{"the prompt from the cache", text + `{"message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","eval_count":3}`, said, "0/3", ""},
		{"no end", text + text, "", "0/0", broken},
		{"a cut line", text + `{"message":{"role":"assistant","con`, "", "0/0", broken},
		{"an error", text + `{"error":"the runner has crashed"}` + "\n", "", "0/0", "it ended with an error"},
		{"an error that is a reason", text + `{"message":{"role":"assistant","content":""},"done":true,"done_reason":"error"}`, "", "0/0", "it ended with an error"},
		{"an error alone", `{"error":"no"}` + "\n", "", "0/0", "it ended with an error"},
		{"a line that is not JSON", text + "oops\n" + done, said, "7/3", event},
		{"a cut line in the middle", text + `{"message":{"role":"assistant","content":"b` + "\n" + done, said, "7/3", event},
		{"calls in the last line", text + `{"message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":{"x":1.0}}},{"function":{"name":"f","arguments":{}}}]},"done":true,"done_reason":"stop"}`,
			`{"role":"assistant","content":"a","tool_calls":[{"id":"call_1","name":"f","arguments":{"x":1.0}},{"id":"call_2","name":"f","arguments":{}}]}` + "\n", "0/0", ""},
		{"calls with ids", `{"message":{"role":"assistant","content":"","tool_calls":[{"id":"call_9","function":{"index":0,"name":"f","arguments":{}}}]},"done":false}` + "\n" + `{"message":{"role":"assistant","content":"","tool_calls":[{"id":"call_8","function":{"index":0,"name":"f","arguments":{}}}]},"done":false}` + "\n" + done,
			`{"role":"assistant","tool_calls":[{"id":"call_9","name":"f","arguments":{}},{"id":"call_8","name":"f","arguments":{}}]}` + "\n", "7/3", ""},
		{"a call that comes twice", exch(strings.Repeat(`{"message":{"role":"assistant","content":"","tool_calls":[{"id":"x","function":{"name":"f","arguments":{}}},{"function":{"name":"g","arguments":{}}}]},"done":false}`+"\n", 2)) + done,
			`{"role":"assistant","tool_calls":[{"id":"x","name":"f","arguments":{}},{"id":"call_1","name":"g","arguments":{}},{"id":"call_2","name":"g","arguments":{}}]}` + "\n", "7/3", ""},
		{"arguments as a text", `{"message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":"{\"x\":1}"}}]},"done":true}`, `{"role":"assistant","tool_calls":[{"id":"call_1","name":"f","arguments":{"x":1}}]}` + "\n", "0/0", ""},
		{"a body without done", `{"message":{"role":"assistant","content":"a"},"eval_count":3}`, said, "0/3", ""},
		{"a line that is too large", exch(`{"message":{"content":"`+strings.Repeat("a", 9<<20)+`"},"done":false}`+"\n") + done, "", "7/3", "more than 8 MiB"},
		{"many calls", exch(`{"message":{"tool_calls":[`+strings.Repeat(`{"function":{"name":"f","arguments":{}}},`, 4096)+`{}]},"done":false}`+"\n") + done, "", "7/3", "more than 4096 parts"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			messages, tokens, problems := exchanged(t, "/api/chat", asksOllama, tt.body)
			if messages != tt.messages || tokens != tt.tokens || !strings.Contains(problems, tt.problem) || (problems == "") != (tt.problem == "") {
				t.Errorf("got\n%.300swant\n%stokens %s, want %s; problems %s", messages, tt.messages, tokens, tt.tokens, problems)
			}
		})
	}
	// A request that loads a model is no conversation.
	transport := &llm.Transport{Base: model(`{"message":{"role":"assistant","content":""},"done":true,"done_reason":"load"}`, `{"message":{"role":"assistant","content":""},"done":true,"done_reason":"unload"}`, text+done)}
	result := inRun(t, func(ctx context.Context, _ *dispatch.Run) error {
		for _, ask := range []string{`{"model":"m","messages":[]}`, `{"model":"m","messages":null,"keep_alive":0}`, asksOllama} {
			if _, err := send(ctx, transport, "/api/chat", ask); err != nil {
				return err
			}
		}
		return nil
	})
	if got := rows(t, result.Messages); len(result.Problems) > 0 || strings.Count(got, "\n") != 3 {
		t.Errorf("%v %s", result.Problems, got)
	}
}
