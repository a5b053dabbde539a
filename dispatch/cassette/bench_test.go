package cassette_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/dispatch/cassette"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// BenchmarkCall is one call in memory with a cassette that records, and with one that replays. The
// floor is the same call without a cassette.
func BenchmarkCall(b *testing.B) {
	for _, size := range []struct {
		name  string
		bytes int
	}{{"100B", 100}, {"64KB", 64 << 10}} {
		row := `{"id":"4521","status":"shipped","note":"left at the door: ask for Ada","total":79.50},`
		list := "[" + strings.TrimSuffix(strings.Repeat(row, 1+size.bytes/len(row)), ",") + "]"
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
				if _, err := p.Do(b.Context(), "list_orders", map[string]string{"customer": "Ada"}); err != nil {
					b.Fatal(err)
				}
			}
		}
		bare := func(b *testing.B) { call(b, behind) }
		b.Run("record/"+size.name+"/floor", bare)
		b.Run("record/"+size.name+"/toolwire", func(b *testing.B) {
			c := recording()
			call(b, c.Wrap(behind))
			if err := c.Close(); err != nil {
				b.Fatal(err)
			}
		})
		b.Run("replay/"+size.name+"/floor", bare)
		b.Run("replay/"+size.name+"/toolwire", func(b *testing.B) {
			c := recording()
			p, err := proxy.New("http://proxy.test", token,
				&proxy.Options{Transport: proxytest.NewTransport(c.Wrap(behind))})
			if err == nil {
				_, err = p.Do(b.Context(), "list_orders", map[string]string{"customer": "Ada"})
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
