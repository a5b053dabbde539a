package llmtest_test

import (
	"encoding/base64"
	"encoding/binary"
	"flag"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolwire/toolwire/dispatch/llm/llmtest"
)

var update = flag.Bool("update", false, "write the files in testdata anew")

// wires are the formats, each with a request that is answered whole and one that is streamed.
var wires = []struct{ name, path, whole, streamPath, stream string }{
	{
		"openai_chat", chatPath, `{"model":"m","messages":[{"role":"user","content":"hi"}]}`,
		chatPath, `{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"hi"}]}`,
	},
	{
		"openai_responses", "/v1/responses", `{"model":"m","input":"hi"}`,
		"/v1/responses", `{"model":"m","stream":true,"input":[{"role":"user","content":"hi"}],"include":["reasoning.encrypted_content"]}`,
	},
	{
		"anthropic", anthropicPath, `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`,
		anthropicPath + "?beta=true", `{"model":"m","max_tokens":9,"stream":true,"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}]}`,
	},
	{
		"gemini", geminiPath, `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`,
		"/v1beta/models/m:streamGenerateContent?alt=sse", `{"contents":[{"parts":[{"text":"hi"}]}]}`,
	},
	{
		"converse", "/model/m/converse", `{"messages":[{"role":"user","content":[{"text":"hi"}]}]}`,
		"/model/arn:aws:bedrock:eu-west-1:123456789012:inference-profile%2Fm/converse-stream", `{"messages":[{"role":"user","content":[{"text":"hi"}]}]}`,
	},
	{
		"anthropic_invoke", "/model/m/invoke", `{"anthropic_version":"bedrock-2023-05-31","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`,
		"/model/m/invoke-with-response-stream", `{"anthropic_version":"bedrock-2023-05-31","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`,
	},
	{
		"ollama", "/api/chat", `{"model":"m","stream":false,"messages":[{"role":"user","content":"hi"}]}`,
		"/api/chat", `{"model":"m","messages":[{"role":"user","content":"hi"}]}`,
	},
}

// TestWire compares the bytes of responses with files in testdata. Compare these with the providers'
// documents when they change.
func TestWire(t *testing.T) {
	steps := []llmtest.Step{
		llmtest.Text(`"Hi" <&> é`),
		llmtest.Turn(llmtest.Thinking("Hm."), llmtest.Text("I look."), llmtest.Call("call_1", "get_order", `{"order_id":"4521"}`), llmtest.Call("", "get_order", ``)).Usage(7, 40),
		llmtest.Call("call_1", "get_order", `{"order_id":`),
		llmtest.Refusal("I cannot."),
		llmtest.Text("I").Incomplete(),
		llmtest.Error(400), llmtest.Error(401), llmtest.Error(429).RetryAfter(1500 * time.Millisecond), llmtest.Error(500), llmtest.Error(503).RetryAfter(2 * time.Second), llmtest.Error(529),
		llmtest.Text("Hello.").EndEarly(),
		llmtest.Text("Hello.").Reset(),
		llmtest.Text("Hello.").Fail(529),
		llmtest.Drop(),
	}
	for _, wire := range wires {
		t.Run(wire.name, func(t *testing.T) {
			m := llmtest.New(t, append(steps, steps...)...)
			var b strings.Builder
			show := func(title, path, body string) {
				status, header, answer, err := post(t, m, path, body)
				fmt.Fprintf(&b, "=== %s\n", title)
				if err != nil {
					what := err.Error()
					if _, cause, found := strings.Cut(what, `": `); found { // without the URL
						what = cause
					}
					fmt.Fprintf(&b, "error: %s\n", what)
				}
				if status == 0 {
					return
				}
				fmt.Fprintf(&b, "%d\n", status)
				for _, name := range []string{"Content-Type", "Request-Id", "X-Request-Id", "X-Amzn-Requestid", "X-Amzn-Errortype", "Retry-After", "Retry-After-Ms", "X-Should-Retry"} {
					if v := header.Get(name); v != "" {
						fmt.Fprintf(&b, "%s: %s\n", name, v)
					}
				}
				fmt.Fprintf(&b, "\n%s\n", readable(t, answer))
			}
			for _, s := range steps {
				show(s.String(), wire.path, wire.whole)
			}
			for _, s := range steps {
				show(s.String()+", streamed", wire.streamPath, wire.stream)
			}
			file := filepath.Join("testdata", wire.name+".txt")
			if *update {
				if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got := b.String(); got != string(want) {
				t.Errorf("the responses differ from %s; got\n%s", file, got)
			}
		})
	}
}

// readable returns an answer with the frames of a binary stream as lines.
func readable(t *testing.T, answer string) string {
	t.Helper()
	if !strings.HasPrefix(answer, "\x00") {
		return answer
	}
	var b strings.Builder
	for p := []byte(answer); len(p) > 0; {
		end, head := int(binary.BigEndian.Uint32(p)), binary.BigEndian.Uint32(p[4:])
		if crc32.ChecksumIEEE(p[:8]) != binary.BigEndian.Uint32(p[8:]) || crc32.ChecksumIEEE(p[:end-4]) != binary.BigEndian.Uint32(p[end-4:]) {
			t.Fatalf("%q: a checksum is wrong", p)
		}
		for headers := p[12 : 12+head]; len(headers) > 0; {
			name, rest := headers[1:1+headers[0]], headers[1+headers[0]:]
			value := rest[3 : 3+binary.BigEndian.Uint16(rest[1:])]
			headers = rest[3+len(value):]
			if rest[0] != 7 {
				t.Fatalf("the header %s is no string", name)
			}
			if s := string(name); s != ":content-type" {
				fmt.Fprintf(&b, "%s=%s ", s, value)
			}
		}
		payload := p[12+head : end-4]
		if _, encoded, ok := strings.Cut(string(payload), `{"bytes":"`); ok {
			decoded, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(encoded, `"}`))
			if err != nil {
				t.Fatal(err)
			}
			payload = append([]byte("bytes="), decoded...)
		}
		fmt.Fprintf(&b, "%s\n", payload)
		p = p[end:]
	}
	return b.String()
}

// What formats have beside text and calls.
func TestWireOfOtherSteps(t *testing.T) {
	calls := llmtest.Turn(llmtest.Call("a", "f", `{"x":1}`), llmtest.Call("b", "g", ``))
	choices := llmtest.Choices(llmtest.Text("1").Usage(7, 8), llmtest.Call("a", "f", "{}"))
	for _, tt := range []struct {
		name   string
		format int // of wires
		step   llmtest.Step
		want   []string // in the response, whole and streamed
	}{
		{"cached", 0, llmtest.Text("a").Cached(40), []string{`"prompt_tokens":100,`, `"prompt_tokens_details":{"cached_tokens":40}`}},
		{"cached", 1, llmtest.Text("a").Cached(40), []string{`"input_tokens":100,"input_tokens_details":{"cached_tokens":40}`}},
		{"cached", 2, llmtest.Text("a").Cached(40), []string{`"input_tokens":60,"cache_creation_input_tokens":0,"cache_read_input_tokens":40,"output_tokens":20`}},
		{"cached", 3, llmtest.Text("a").Cached(40), []string{`"promptTokenCount":100,"cachedContentTokenCount":40`}},

		{"cached", 4, llmtest.Text("a").Cached(40), []string{`"inputTokens":60,"outputTokens":20,"totalTokens":120,"cacheReadInputTokens":40`}},
		{"cached", 6, llmtest.Text("a").Cached(40), []string{`"prompt_eval_count":60,"eval_count":20`}},

		{"stop", 0, llmtest.Text("a").Stop("content_filter"), []string{`"finish_reason":"content_filter"`}},
		{"stop", 1, llmtest.Text("a").Stop("content_filter"), []string{`"status":"incomplete"`, `"incomplete_details":{"reason":"content_filter"}`}},
		{"stop", 2, llmtest.Text("a").Stop("pause_turn"), []string{`"stop_reason":"pause_turn"`}},
		{"stop", 2, llmtest.Turn(llmtest.Text("a").Stop("pause_turn"), llmtest.Call("a", "f", "{}")), []string{`"stop_reason":"pause_turn"`}},
		{"stop", 3, llmtest.Text("a").Stop("LANGUAGE"), []string{`"finishReason":"LANGUAGE"`}},
		{"stop", 4, llmtest.Text("a").Stop("content_filtered"), []string{`"stopReason":"content_filtered"`}},
		{"stop", 6, llmtest.Text("a").Stop("load"), []string{`"done_reason":"load"`}},
		{"an empty stop", 0, llmtest.Text("a").Stop(""), []string{`"finish_reason":""`}},

		{"raw", 0, llmtest.Turn(llmtest.Text("a"), llmtest.Raw(`{"reasoning":"hm"}`)), []string{`"reasoning":"hm"`}},
		{"raw", 0, llmtest.Raw(`{"content":[{"type":"text","text":"a"}]}`), []string{`"content":[{"type":"text","text":"a"}]`}},
		{"raw", 1, llmtest.Raw(`{"type":"web_search_call","id":"ws"}`), []string{`"output":[{"type":"web_search_call","id":"ws"}]`}},
		{"raw", 2, llmtest.Raw(`{"type":"web_search_tool_result","tool_use_id":"s","content":[]}`), []string{`{"type":"web_search_tool_result","tool_use_id":"s","content":[]}`}},
		{"raw", 3, llmtest.Raw(`{"text":"a","thoughtSignature":"c2ln"}`), []string{`"parts":[{"text":"a","thoughtSignature":"c2ln"}]`}},

		{"raw", 4, llmtest.Raw(`{"toolResult":{"toolUseId":"s","content":[{"text":"hits"}]}}`), []string{`"toolResult":{"toolUseId":"s"`, `[{"text":"hits"}]`}},
		{"raw", 4, llmtest.Raw(`{"toolUse":{"toolUseId":"s","name":"f","type":"server_tool_use","input":{}}}`), []string{`"toolUse":{"toolUseId":"s","name":"f","type":"server_tool_use"`, `"input":`}},
		{"raw", 4, llmtest.Raw(`{"reasoningContent":{"redactedContent":"c2ln"}}`), []string{`"reasoningContent":{"redactedContent":"c2ln"}`}},
		{"raw", 4, llmtest.Raw(`{"image":{"format":"png","source":{"bytes":"AAAA"}}}`), []string{`"image":{"format":"png"`, `"source":{"bytes":"AAAA"}`}},
		{"raw", 6, llmtest.Raw(`{"images":["AAAA"]}`), []string{`"images":["AAAA"]`}},

		{"raw text", 3, llmtest.Raw(`{"text":"It is delivered whole."}`), []string{`"parts":[{"text":"It is delivered whole."}]`}},
		{"choices of choices", 0, llmtest.Choices(llmtest.Choices(llmtest.Text("a"), llmtest.Text("b")), llmtest.Text("c")), []string{`"index":0`, `"index":1`, `"index":2`}},
		{"choices", 0, choices, []string{`"index":0`, `1"`, `"finish_reason":"stop"`, `"index":1`, `"name":"f"`, `"finish_reason":"tool_calls"`, `"total_tokens":15`}},
		{"choices", 3, choices, []string{`1"`, `"index":0`, `"name":"f"`, `"index":1`, `"totalTokenCount":15`}},

		{"in one chunk", 0, calls.InOneChunk(), []string{`"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}},{`, `"id":"b","type":"function"`}},
		{"in one chunk", 1, calls.InOneChunk(), []string{`"call_id":"a"`, `"call_id":"b"`}},
		{"in one chunk", 2, calls.InOneChunk(), []string{`"id":"a","name":"f"`, `"id":"b","name":"g"`}},
		{"in one chunk", 3, calls.InOneChunk(), []string{`"parts":[{"functionCall":{"id":"a","name":"f","args":{"x":1}}},{"functionCall":{"id":"b","name":"g","args":{}}}]`}},
	} {
		wire := wires[tt.format]
		m := llmtest.New(t, tt.step, tt.step)
		for _, ask := range [][2]string{{wire.path, wire.whole}, {wire.streamPath, wire.stream}} {
			_, _, answer, err := post(t, m, ask[0], ask[1])
			rest := answer
			for _, want := range tt.want {
				_, after, found := strings.Cut(rest, want)
				if !found {
					t.Errorf("%s/%s: no %s in order in %s, %v", wire.name, tt.name, want, answer, err)
					break
				}
				rest = after
			}
		}
	}
	// An index tells the calls of one chunk apart, and the input of a raw block comes like any other input.
	for i, tt := range []struct {
		step llmtest.Step
		want string
	}{
		0: {calls.InOneChunk(), `"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}},{"index":1,"id":"b",`},
		2: {llmtest.Raw(`{"type":"server_tool_use","id":"s","input":{"q":1},"name":"web_search"}`), `"content_block":{"type":"server_tool_use","id":"s","input":{},"name":"web_search"}}`},
	} {
		if tt.want == "" {
			continue
		}
		if _, _, answer, err := post(t, llmtest.New(t, tt.step), wires[i].streamPath, wires[i].stream); !strings.Contains(answer, tt.want) || i == 2 && !strings.Contains(answer, `"partial_json":"{\"q\""`) {
			t.Errorf("%s, %v", answer, err)
		}
	}
}

// Every event of a stream ends with an empty line, the last one too: SDKs lose one that does not.
func TestEveryEventEndsWithAnEmptyLine(t *testing.T) {
	for _, wire := range wires[:4] {
		m := llmtest.New(t, llmtest.Text("Hello."), llmtest.Text("Hello.").EndEarly(), llmtest.Text("Hello.").Fail(500))
		for range 3 {
			if _, _, answer, err := post(t, m, wire.streamPath, wire.stream); err != nil || !strings.HasSuffix(answer, "\n\n") || strings.Contains(answer, "\n\n\n") {
				t.Errorf("%s: %q %v", wire.name, answer, err)
			}
		}
	}
}

// Chat Completions reports the tokens of a stream only if the request asks for them.
func TestUsageOfAStream(t *testing.T) {
	m := llmtest.New(t, llmtest.Text("Hello."))
	_, _, answer, err := post(t, m, chatPath, `{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}`)
	if strings.Contains(answer, "usage") || strings.Contains(answer, `"choices":[]`) || !strings.HasSuffix(answer, "data: [DONE]\n\n") || err != nil {
		t.Errorf("%s %v", answer, err)
	}
}
