package strictjson_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolwire/toolwire/internal/strictjson"
)

// A body is a kind of document. Each kind repeats a varied element: a branch predictor learns
// uniform ones.
type body struct {
	kind          string
	before, after string
	element       func(r *rand.Rand) string
}

var bodies = []body{
	{"rows", `{"rows":[`, `]}`, func(*rand.Rand) string {
		return `{"sku":"A-1","price":12.5,"tags":["new","red"],"stock":{"helsinki":3,"turku":0}}`
	}},
	{"objects", `{"orders":[`, `]}`, order},
	{"strings", `[`, `]`, func(r *rand.Rand) string { return `"` + prose(r, 200, 3000) + `"` }},
	{"escapes", `[`, `]`, func(r *rand.Rand) string {
		return `"` + repeat(10+r.IntN(30), func() string { return prose(r, 2, 40) + pick(r, `\n`, `\"`, `\\`, `\t`, `\u00e9`, `\ud83d\ude00`) }) + `"`
	}},
	{"numbers", `[`, `]`, func(r *rand.Rand) string {
		return pick(r, fmt.Sprint(r.IntN(1000)), fmt.Sprint(-r.IntN(1e9)), fmt.Sprintf("%.6f", r.Float64()*360-180), fmt.Sprintf("%.3e", r.Float64()))
	}},
	{"coordinates", `[`, `]`, func(r *rand.Rand) string { return fmt.Sprintf("[%.6f,%.6f]", r.Float64()*360-180, r.Float64()*180-90) }},
	{"integers", `[`, `]`, func(r *rand.Rand) string { return fmt.Sprint(r.IntN(100_000)) }},
	{"cjk", `[`, `]`, func(r *rand.Rand) string {
		return `"` + repeat(20+r.IntN(200), func() string { return string(rune(0x4E00 + r.IntN(0x5000))) }) + `"`
	}},
	{"latin", `[`, `]`, func(r *rand.Rand) string {
		return `"` + repeat(5+r.IntN(40), func() string { return prose(r, 1, 14) + pick(r, "ä", "ö", "é", "–") }) + `"`
	}},
	{"indented", `[`, `]`, func(r *rand.Rand) string {
		var v any
		_ = json.Unmarshal([]byte(order(r)), &v)
		b, _ := json.MarshalIndent(v, "  ", "  ")
		return "\n  " + string(b)
	}},
	{"wide", `{`, `}`, func(r *rand.Rand) string { return fmt.Sprintf(`"%s%d":%d`, word(r, 3, 8), r.Uint32(), r.IntN(1000)) }},
	{"escaped-names", `[`, `]`, func(r *rand.Rand) string {
		i := 0
		return `{` + repeat(12, func() string { i++; return fmt.Sprintf(`"\u00e4name%02d":%d,`, i, r.IntN(10)) }) + `"z":0}`
	}},
}

func (b body) doc(size int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	var s strings.Builder
	s.WriteString(b.before + b.element(r))
	for s.Len() < size {
		s.WriteString("," + b.element(r))
	}
	s.WriteString(b.after)
	return []byte(s.String())
}

func order(r *rand.Rand) string {
	return fmt.Sprintf(`{"sku":"%s","price":%.*f,"customer_id":"%s","tags":["%s","%s"],"stock":{"helsinki":%d,"turku":%d},`+
		`"created_at":"2026-%02d-%02dT10:00:00Z","active":%t,"note":null}`, word(r, 2, 12), r.IntN(3), r.Float64()*1000, word(r, 6, 14),
		word(r, 2, 9), word(r, 2, 9), r.IntN(1000), r.IntN(10), 1+r.IntN(12), 1+r.IntN(28), r.IntN(2) == 0)
}

func prose(r *rand.Rand, from, to int) string {
	b := make([]byte, from+r.IntN(to-from+1))
	for i := range b {
		b[i] = "abcdefghijklmnopqrstuvwxyz     ABCDE0123456789"[r.IntN(46)]
	}
	return string(b)
}

func word(r *rand.Rand, from, to int) string { return strings.ReplaceAll(prose(r, from, to), " ", "-") }

func pick(r *rand.Rand, of ...string) string { return of[r.IntN(len(of))] }

func repeat(n int, f func() string) string {
	var b strings.Builder
	for range n {
		b.WriteString(f())
	}
	return b.String()
}

func value(r *strictjson.Reader) error { _, err := r.Value(); return err }

// BenchmarkValid reports how many times as fast as jsontext.Value.IsValid this package is. The two
// take turns, and the ratio is that of the minima, which neighbours on the machine change least.
// Run it with -cpu 1 -benchtime 300x.
func BenchmarkValid(b *testing.B) {
	for _, size := range []int{64 << 10, 1 << 20} {
		for _, kind := range bodies {
			doc := kind.doc(size)
			b.Run(fmt.Sprintf("%d/%s", size, kind.kind), func(b *testing.B) {
				ways := []struct {
					valid func() bool
					least time.Duration
				}{
					{func() bool { return jsontext.Value(doc).IsValid() }, 1 << 62},
					{func() bool { return strictjson.Read(doc, strictjson.Limits{}, value) == nil }, 1 << 62},
					{func() bool { return strictjson.Read(doc, strictjson.Limits{Mode: strictjson.Liberal}, value) == nil }, 1 << 62},
				}
				for b.Loop() {
					for i := range ways {
						start := time.Now()
						if !ways[i].valid() {
							b.Fatal("not valid")
						}
						ways[i].least = min(ways[i].least, time.Since(start))
					}
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(float64(ways[0].least)/float64(ways[1].least), "strict/IsValid")
				b.ReportMetric(float64(ways[0].least)/float64(ways[2].least), "liberal/IsValid")
				b.ReportMetric(float64(len(doc))/float64(ways[1].least)*1e3, "strict-MB/s")
			})
		}
	}
}
