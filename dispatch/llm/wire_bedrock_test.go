package llm_test

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"strings"

	"github.com/toolwire/toolwire/dispatch/llm"
)

// framed writes events as Amazon's binary stream has them. Each text is the name of an event, a colon and the
// payload. The name of an exception begins with "!".
func framed(events ...string) exch {
	var b strings.Builder
	for _, event := range events {
		name, payload, _ := strings.Cut(event, ":")
		if name, isException := strings.CutPrefix(name, "!"); isException {
			b.WriteString(frame(payload, ":message-type", "exception", ":exception-type", name))
			continue
		}
		b.WriteString(frame(payload, ":event-type", name, ":content-type", "application/json", ":message-type", "event"))
	}
	return exch(b.String())
}

// frame is one frame with headers whose values are strings.
func frame(payload string, headers ...string) string {
	var head []byte
	for i, text := range headers {
		if i%2 == 0 {
			head = append(append(head, byte(len(text))), text...)
		} else {
			head = append(binary.BigEndian.AppendUint16(append(head, 7), uint16(len(text))), text...)
		}
	}
	return rawFrame(payload, string(head))
}

// rawFrame is one frame with the bytes of its headers.
func rawFrame(payload, head string) string {
	out := binary.BigEndian.AppendUint32(nil, uint32(16+len(head)+len(payload)))
	out = binary.BigEndian.AppendUint32(out, uint32(len(head)))
	out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out))
	out = append(append(out, head...), payload...)
	return string(binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out)))
}

// frameOf is the beginning of a frame of n bytes without headers.
func frameOf(n uint32) exch {
	out := binary.BigEndian.AppendUint64(nil, uint64(n)<<32)
	return exch(binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out)))
}

// chunks is a stream of server-sent events as InvokeModelWithResponseStream has it.
func chunks(events exch) exch {
	var b strings.Builder
	for line := range strings.Lines(string(events)) {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			b.WriteString(string(framed(`chunk:{"bytes":"` + base64.StdEncoding.EncodeToString([]byte(strings.TrimSpace(data))) + `","p":"abcdefgh"}`)))
		}
	}
	return exch(b.String())
}

// eventsOf cuts a stream into its events.
func eventsOf(stream exch) (events []string) {
	s := string(stream)
	switch {
	case strings.HasPrefix(s, "{"):
		return strings.SplitAfter(s, "\n")
	case !strings.HasPrefix(s, "\x00"):
		return strings.SplitAfter(s, "\n\n")
	}
	for s != "" {
		n := binary.BigEndian.Uint32([]byte(s))
		events, s = append(events, s[:n]), s[n:]
	}
	return events
}

// The account and the region of the ARN belong to nobody else.
const bedrockModel = "/model/arn:aws:bedrock:eu-west-1:123456789012:inference-profile%2Fm-1-2026"

func init() {
	direct := wires[1]
	onBedrock := func(body string) string {
		return strings.Replace(body, `"model":"m-1"`, `"anthropic_version":"bedrock-2023-05-31"`, 1)
	}
	wires = append(wires, wire{
		name: "converse", path: bedrockModel + "/converse", format: llm.Converse, ids: []string{"a", "b"}, tokens: [2]int64{300, 50},
		ask: `{"system":[{"text":"Be brief."},{"cachePoint":{"type":"default"}}],"messages":[{"role":"user","content":[{"text":"Both orders."},{"cachePoint":{"type":"default"}}]}]}`,
		again: `{"system":[{"text":"Be brief."}],"messages":[{"role":"user","content":[{"text":"Both orders."}]},` +
			`{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"Two calls.","signature":"c2ln"}}},{"text":"I look."},{"toolUse":{"toolUseId":"a","name":"get_order","input":{"order_id":"1"}}},{"toolUse":{"toolUseId":"b","name":"get_order","input":{"_raw":"{\"order_id\":"}}}]},` +
			`{"role":"user","content":[{"toolResult":{"toolUseId":"a","content":[{"json":{"status":"shipped"}}],"status":"success"}},{"toolResult":{"toolUseId":"b","content":[{"text":"no"}]}},{"cachePoint":{"type":"default"}}]}]}`,
		calls: [2]exch{
			`{"metrics":{"latencyMs":912},"output":{"message":{"content":[{"reasoningContent":{"reasoningText":{"signature":"c2ln","text":"Two calls."}}},{"text":"I look."},{"toolUse":{"input":{"order_id":"1"},"name":"get_order","toolUseId":"a"}},{"toolUse":{"input":"{\"order_id\":","name":"get_order","toolUseId":"b"}}],"role":"assistant"}},"stopReason":"tool_use","usage":{"cacheReadInputTokenCount":50,"cacheReadInputTokens":50,"cacheWriteInputTokens":40,"inputTokens":10,"outputTokens":20,"serverToolUsage":{},"totalTokens":120}}`,
			framed(`messageStart:{"p":"ab","role":"assistant"}`,
				`contentBlockDelta:{"contentBlockIndex":0,"delta":{"reasoningContent":{"text":"Two "}},"p":"abcd"}`,
				`contentBlockDelta:{"contentBlockIndex":0,"delta":{"reasoningContent":{"text":"calls."}}}`,
				`contentBlockDelta:{"contentBlockIndex":0,"delta":{"reasoningContent":{"signature":"c2ln"}}}`,
				`contentBlockStop:{"contentBlockIndex":0}`,
				`contentBlockDelta:{"contentBlockIndex":1,"delta":{"text":"I lo"}}`,
				`contentBlockDelta:{"contentBlockIndex":1,"delta":{"text":"ok."}}`,
				`contentBlockStop:{"contentBlockIndex":1}`,
				`contentBlockStart:{"contentBlockIndex":2,"start":{"toolUse":{"name":"get_order","toolUseId":"a"}}}`,
				`contentBlockDelta:{"contentBlockIndex":2,"delta":{"toolUse":{"input":""}}}`,
				`contentBlockDelta:{"contentBlockIndex":2,"delta":{"toolUse":{"input":"{\"order_id\":"}}}`,
				`contentBlockDelta:{"contentBlockIndex":2,"delta":{"toolUse":{"input":"\"1\"}"}}}`,
				`contentBlockStop:{"contentBlockIndex":2}`,
				`contentBlockStart:{"contentBlockIndex":3,"start":{"toolUse":{"name":"get_order","toolUseId":"b"}}}`,
				`contentBlockDelta:{"contentBlockIndex":3,"delta":{"toolUse":{"input":"{\"order_id\":"}}}`,
				`contentBlockStop:{"contentBlockIndex":3}`,
				`messageStop:{"additionalModelResponseFields":{"stop_sequence":null},"stopReason":"tool_use"}`,
				`metadata:{"metrics":{"latencyMs":912},"usage":{"cacheReadInputTokens":50,"cacheWriteInputTokens":40,"inputTokens":10,"outputTokens":20,"totalTokens":120}}`),
		},
		final: [2]exch{
			`{"output":{"message":{"content":[{"text":"Order 1 is shipped."}],"role":"assistant"}},"stopReason":"end_turn","usage":{"inputTokens":200,"outputTokens":30,"totalTokens":230}}`,
			framed(`messageStart:{"role":"assistant"}`, `contentBlockDelta:{"contentBlockIndex":0,"delta":{"text":"Order 1 is shipped."}}`, `contentBlockStop:{"contentBlockIndex":0}`,
				`messageStop:{"stopReason":"end_turn"}`, `metadata:{"usage":{"inputTokens":200,"outputTokens":30,"totalTokens":230}}`),
		},
		messages: transcriptOfThinking,
	}, wire{
		name: "anthropic on bedrock", path: bedrockModel + "/invoke-with-response-stream", format: llm.Anthropic, ids: direct.ids, tokens: direct.tokens,
		ask: onBedrock(direct.ask), again: onBedrock(direct.again),
		calls: [2]exch{direct.calls[0], chunks(direct.calls[1])}, final: [2]exch{direct.final[0], chunks(direct.final[1])}, messages: direct.messages,
	}, wire{
		name: "ollama", path: "/api/chat", format: llm.Ollama, ids: []string{"", ""}, tokens: [2]int64{300, 50},
		ask: `{"model":"m-1","options":{},"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Both orders."}]}`,
		again: `{"model":"m-1","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Both orders."},` +
			`{"role":"assistant","content":"I look.","tool_calls":[{"function":{"name":"get_order","arguments":{"order_id":"1"}}},{"function":{"index":1,"name":"get_order","arguments":{}}}]},` +
			`{"role":"tool","content":"{\"status\":\"shipped\"}","tool_name":"get_order"},{"role":"tool","content":"no","tool_name":"get_order"}]}`,
		calls: [2]exch{
			`{"model":"m-1-2026","created_at":"2026-11-27T20:00:00Z","message":{"role":"assistant","content":"I look.","thinking":"Two calls.","tool_calls":[{"function":{"name":"get_order","arguments":{"order_id":"1"}}},{"function":{"index":1,"name":"get_order","arguments":{}}}]},"done":true,"done_reason":"stop","total_duration":5,"prompt_eval_count":100,"eval_count":20}` + "\n",
			`{"model":"m-1-2026","message":{"role":"assistant","content":"","thinking":"Two "},"done":false}
{"model":"m-1-2026","message":{"role":"assistant","content":"","thinking":"calls."},"done":false}
{"model":"m-1-2026","message":{"role":"assistant","content":"I lo"},"done":false}
{"model":"m-1-2026","message":{"role":"assistant","content":"ok.","tool_calls":[{"function":{"name":"get_order","arguments":{"order_id":"1"}}}]},"done":false}
{"model":"m-1-2026","message":{"role":"assistant","content":"","tool_calls":[{"function":{"index":1,"name":"get_order","arguments":{}}}]},"done":false}
{"model":"m-1-2026","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","total_duration":5,"prompt_eval_count":100,"eval_count":20}
`,
		},
		final: [2]exch{
			`{
  "model": "m-1-2026",
  "message": {
    "role": "assistant",
    "content": "Order 1 is shipped."
  },
  "done": true,
  "prompt_eval_count": 200,
  "eval_count": 30
}`,
			`{"model":"m-1-2026","message":{"role":"assistant","content":"Order 1 is "},"done":false}
{"model":"m-1-2026","message":{"role":"assistant","content":"shipped."},"done":false}
{"model":"m-1-2026","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":200,"eval_count":30}`,
		},
		messages: wires[3].messages,
	})
}
