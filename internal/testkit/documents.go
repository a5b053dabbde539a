package testkit

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
)

// A Kind is a kind of JSON document. Each kind repeats a varied element, because a branch predictor
// learns uniform ones.
type Kind struct {
	Name          string
	before, after string
	element       func(r *rand.Rand) string
}

// Kinds are the kinds that a dispatch and a call are measured with.
var Kinds = []Kind{
	{"nested", `{"orders":[`, `]}`, order},
	{"strings", `[`, `]`, func(r *rand.Rand) string { return `"` + prose(r, 100, 900) + `"` }},
	{"escapes", `[`, `]`, func(r *rand.Rand) string {
		return `"` + repeat(10+r.IntN(30), func() string {
			return prose(r, 2, 40) + pick(r, `\n`, `\"`, `\\`, `\t`, `\u00e9`, `\ud83d\ude00`)
		}) + `"`
	}},
	{"numbers", `[`, `]`, func(r *rand.Rand) string {
		return pick(r, fmt.Sprint(r.IntN(1000)), fmt.Sprint(-r.IntN(1e9)), fmt.Sprintf("%.6f", r.Float64()*360-180),
			fmt.Sprintf("%.3e", r.Float64()))
	}},
	{"non-ASCII", `[`, `]`, func(r *rand.Rand) string {
		return `"` + repeat(5+r.IntN(40), func() string {
			return prose(r, 1, 14) + pick(r, "ä", "ö", "é", "–", string(rune(0x4E00+r.IntN(0x5000))))
		}) + `"`
	}},
}

// MoreKinds are the kinds that a reader of JSON is measured with beside [Kinds].
var MoreKinds = []Kind{
	{"rows", `{"rows":[`, `]}`, func(*rand.Rand) string {
		return `{"sku":"A-1","price":12.5,"tags":["new","red"],"stock":{"helsinki":3,"turku":0}}`
	}},
	{"coordinates", `[`, `]`, func(r *rand.Rand) string {
		return fmt.Sprintf("[%.6f,%.6f]", r.Float64()*360-180, r.Float64()*180-90)
	}},
	{"integers", `[`, `]`, func(r *rand.Rand) string { return fmt.Sprint(r.IntN(100_000)) }},
	{"CJK", `[`, `]`, func(r *rand.Rand) string {
		return `"` + repeat(20+r.IntN(200), func() string { return string(rune(0x4E00 + r.IntN(0x5000))) }) + `"`
	}},
	{"Latin", `[`, `]`, func(r *rand.Rand) string {
		return `"` + repeat(5+r.IntN(40), func() string { return prose(r, 1, 14) + pick(r, "ä", "ö", "é", "–") }) + `"`
	}},
	{"indented", `[`, `]`, func(r *rand.Rand) string {
		var v any
		_ = json.Unmarshal([]byte(order(r)), &v)
		b, _ := json.MarshalIndent(v, "  ", "  ")
		return "\n  " + string(b)
	}},
	{"wide", `{`, `}`, func(r *rand.Rand) string {
		return fmt.Sprintf(`"%s%d":%d`, word(r, 3, 8), r.Uint32(), r.IntN(1000))
	}},
	{"escaped names", `[`, `]`, func(r *rand.Rand) string {
		i := 0
		return `{` + repeat(12, func() string {
			i++
			return fmt.Sprintf(`"\u00e4name%02d":%d,`, i, r.IntN(10))
		}) + `"z":0}`
	}},
}

// Sizes are the sizes of documents that a dispatch and a call are measured with. The largest leaves
// room for an envelope within 1 MiB.
var Sizes = []struct {
	Name  string
	Bytes int
}{{"1KB", 1 << 10}, {"64KB", 64 << 10}, {"1MB", 1<<20 - 8<<10}}

// Document returns a document of size bytes, or as many more as the last of its elements needs. It
// is the same at every call.
func (k Kind) Document(size int) string {
	r := rand.New(rand.NewPCG(1, 2))
	var s strings.Builder
	s.WriteString(k.before + k.element(r))
	for s.Len() < size {
		s.WriteString("," + k.element(r))
	}
	s.WriteString(k.after)
	return s.String()
}

func order(r *rand.Rand) string {
	return fmt.Sprintf(`{"sku":"%s","price":%.*f,"customer_id":"%s","tags":["%s","%s"],"stock":{"helsinki":%d,"turku":%d},`+
		`"created_at":"2026-%02d-%02dT10:00:00Z","active":%t,"note":null}`,
		word(r, 2, 12), r.IntN(3), r.Float64()*1000, word(r, 6, 14), word(r, 2, 9), word(r, 2, 9), r.IntN(1000), r.IntN(10),
		1+r.IntN(12), 1+r.IntN(28), r.IntN(2) == 0)
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
