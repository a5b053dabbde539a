package llm_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/dispatch/llm"
)

// BenchmarkStream reads a streamed response of 1,000 pieces of text through a Transport,
// 4 KiB at a time, as a connection returns them. The floor is the same copy without one.
func BenchmarkStream(b *testing.B) {
	for _, w := range wires {
		events := strings.SplitAfter(string(w.final[1]), "\n\n")
		at := map[llm.Format]int{llm.OpenAIChat: 0, llm.Anthropic: 2, llm.OpenAIResponses: 1, llm.Gemini: 0}[w.format]
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
