package cassette_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/cassette"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// BenchmarkCall is one call in memory: without a cassette, with one that records, and with one that
// replays.
func BenchmarkCall(b *testing.B) {
	for _, size := range []int{100, 64 << 10} {
		row := `{"id":"4521","status":"shipped","note":"left at the door: ask for Ada","total":79.50},`
		list := "[" + strings.TrimSuffix(strings.Repeat(row, 1+size/len(row)), ",") + "]"
		behind := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { envelope(w, "list_orders", list) })
		path := filepath.Join(b.TempDir(), "run.jsonl")
		recording := func() *cassette.Cassette {
			c, err := cassette.New(path, &cassette.Options{Mode: cassette.Record})
			if err != nil {
				b.Fatal(err)
			}
			return c
		}
		call := func(b *testing.B, handler http.Handler) {
			p, err := proxy.New("http://proxy.test", token, &proxy.Options{
				Transport: proxytest.NewTransport(handler), Pacer: proxy.NewPacer(0, 0),
			})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Call(b.Context(), "list_orders", map[string]string{"customer": "Ada"}); err != nil {
					b.Fatal(err)
				}
			}
		}
		b.Run(fmt.Sprintf("size=%d/bare", size), func(b *testing.B) { call(b, behind) })
		b.Run(fmt.Sprintf("size=%d/record", size), func(b *testing.B) {
			c := recording()
			call(b, c.Wrap(behind))
			if err := c.Close(); err != nil {
				b.Fatal(err)
			}
		})
		b.Run(fmt.Sprintf("size=%d/replay", size), func(b *testing.B) {
			c := recording()
			p, err := proxy.New("http://proxy.test", token,
				&proxy.Options{Transport: proxytest.NewTransport(c.Wrap(behind))})
			if err == nil {
				_, err = p.Call(b.Context(), "list_orders", map[string]string{"customer": "Ada"})
			}
			if err == nil {
				err = c.Close()
			}
			if err == nil {
				c, err = cassette.New(path, &cassette.Options{RepeatLast: true})
			}
			if err != nil {
				b.Fatal(err)
			}
			call(b, c)
		})
	}
}
