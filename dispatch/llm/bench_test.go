package llm_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/dispatch/llm"
)

// BenchmarkStream reads a streamed response of 1,000 events through a Transport, in pieces of 4 KiB,
// as a connection returns them. The floor is the same copy without one.
func BenchmarkStream(b *testing.B) {
	for _, w := range wires {
		events := strings.SplitAfter(string(w.calls[1]), "\n\n")
		stream := strings.Join(events[:3], "") + strings.Repeat(events[3], 1000) + strings.Join(events[4:], "")
		base := roundTrip(func(r *http.Request) (*http.Response, error) {
			_, err := io.Copy(io.Discard, r.Body)
			resp := response("data")
			resp.Body = io.NopCloser(&pieces{stream, 4 << 10})
			return resp, err
		})
		for name, transport := range map[string]http.RoundTripper{"floor": base, "transport": &llm.Transport{Base: base}} {
			b.Run(w.name+"/"+name, func(b *testing.B) {
				ctx := runContext(b)
				b.SetBytes(int64(len(stream)))
				b.ReportAllocs()
				for b.Loop() {
					r, err := http.NewRequestWithContext(ctx, "POST", "https://model.example.com"+w.path, strings.NewReader(w.ask))
					if err != nil {
						b.Fatal(err)
					}
					resp, err := transport.RoundTrip(r)
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
