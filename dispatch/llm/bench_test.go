package llm_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/llm"
)

// BenchmarkStream reads a streamed response of 1,000 pieces of text through a Transport,
// 4 KiB at a time, as a connection returns them. The floor is the same copy without one.
func BenchmarkStream(b *testing.B) {
	for _, w := range wires {
		events := eventsOf(w.final[1])
		at := map[llm.Format]int{llm.OpenAIChat: 0, llm.Anthropic: 2, llm.OpenAIResponses: 1, llm.Gemini: 0, llm.Converse: 1, llm.Ollama: 0}[w.format]
		stream := strings.Join(events[:at], "") + strings.Repeat(events[at], 1000) + strings.Join(events[at+1:], "")
		base := roundTrip(func(r *http.Request) (*http.Response, error) {
			_, err := io.Copy(io.Discard, r.Body)
			resp := response("data")
			resp.Body = io.NopCloser(&pieces{stream, 4 << 10})
			return resp, err
		})
		for _, way := range []struct {
			name      string
			transport http.RoundTripper
		}{{"floor", base}, {"toolwire", &llm.Transport{Base: base}}} {
			b.Run(w.name+"/"+way.name, func(b *testing.B) {
				ctx := runContext(b)
				b.SetBytes(int64(len(stream)))
				b.ReportAllocs()
				for b.Loop() {
					r, err := http.NewRequestWithContext(ctx, "POST", "https://model.example.com"+w.path, strings.NewReader(w.ask))
					if err != nil {
						b.Fatal(err)
					}
					resp, err := way.transport.RoundTrip(r)
					if err != nil {
						b.Fatal(err)
					}
					if n, err := io.Copy(io.Discard, resp.Body); err != nil || n != int64(len(stream)) {
						b.Fatal(n, err)
					}
					_ = resp.Body.Close()
				}
			})
		}
	}
}

// BenchmarkTurns is a run of 40 turns through a Transport: each request has the whole conversation so far,
// with a result of 1 KiB for each call. The floor sends the same without a Transport.
func BenchmarkTurns(b *testing.B) {
	const turns = 40
	var requests []string
	var answers []exch
	messages := `{"role":"system","content":"Be brief."},{"role":"user","content":"` + instruction + `"}`
	for i := range turns {
		requests = append(requests, `{"model":"m","messages":[`+messages+`]}`)
		message := fmt.Sprintf(`{"role":"assistant","content":"I look at order %d.","tool_calls":[{"id":"call_%d","type":"function","function":{"name":"get_order","arguments":"{\"order_id\":\"%d\"}"}}]}`, i, i, i)
		answers = append(answers, exch(`{"model":"m","choices":[{"index":0,"finish_reason":"tool_calls","message":`+message+`}],"usage":{"prompt_tokens":100,"completion_tokens":20}}`))
		messages += "," + message + fmt.Sprintf(`,{"role":"tool","tool_call_id":"call_%d","content":"%s"}`, i, strings.Repeat("result ", 150))
	}
	n := 0
	base := roundTrip(func(r *http.Request) (*http.Response, error) {
		_, err := io.Copy(io.Discard, r.Body)
		return response(answers[n%turns]), err
	})
	for _, way := range []struct {
		name      string
		transport http.RoundTripper
	}{{"floor", base}, {"toolwire", &llm.Transport{Base: base}}} {
		b.Run(way.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				inRun(b, func(ctx context.Context, _ *dispatch.Run) error {
					for n = range turns {
						if _, err := send(ctx, way.transport, chatPath, requests[n]); err != nil {
							return err
						}
					}
					return nil
				})
			}
		})
	}
}
