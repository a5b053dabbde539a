package llmtest_test

import (
	"flag"
	"fmt"
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
		llmtest.Text("Hello.").Cut(),
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
				for _, name := range []string{"Content-Type", "Request-Id", "X-Request-Id", "Retry-After", "Retry-After-Ms", "X-Should-Retry"} {
					if v := header.Get(name); v != "" {
						fmt.Fprintf(&b, "%s: %s\n", name, v)
					}
				}
				fmt.Fprintf(&b, "\n%s\n", answer)
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

// Every event of a stream ends with an empty line, the last one too: SDKs lose one that does not.
func TestEveryEventEndsWithAnEmptyLine(t *testing.T) {
	for _, wire := range wires {
		m := llmtest.New(t, llmtest.Text("Hello."), llmtest.Text("Hello.").Cut(), llmtest.Text("Hello.").Fail(500))
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
