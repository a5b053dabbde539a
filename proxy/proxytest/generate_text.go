package proxytest

import (
	"math"
	"strconv"
	"strings"
	"time"
)

var words = []string{"amber", "birch", "cedar", "delta", "ember", "flint", "grove", "heron", "indigo", "juniper",
	"kelp", "linden"}

func (s *draft) generateString(object map[string]any) string {
	least, most := bound(object, "minLength", 0), bound(object, "maxLength", math.MaxInt32)
	if pattern, ok := object["pattern"].(string); ok && s.regexp(pattern) != nil { // otherwise it is not checked
		return s.match(pattern, least, most)
	}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(s.random.IntN(365*24*60)) * time.Minute)
	word := words[s.random.IntN(len(words))]
	switch object["format"] {
	case "date-time":
		return at.Format(time.RFC3339)
	case "date":
		return at.Format(time.DateOnly)
	case "time":
		return at.Format("15:04:05Z")
	case "duration":
		return "PT" + strconv.Itoa(1+s.random.IntN(48)) + "H"
	case "email":
		return fit(word, "@example.com", "a", "@b.co", least, most)
	case "hostname":
		return fit(word, ".example.com", "a", ".co", least, most)
	case "uri", "url", "iri":
		return fit("https://example.com/"+word, "", "https:/", "/a", least, most)
	case "ipv4":
		return "192.0.2." + strconv.Itoa(1+s.random.IntN(254))
	case "ipv6":
		return "2001:db8::" + strconv.FormatInt(int64(1+s.random.IntN(0xffff)), 16)
	case "uuid":
		return s.match(`[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`, 0, most)
	}
	text := append([]byte(word), "-"+strconv.Itoa(100+s.random.IntN(900))...)
	for len(text) < min(least, maxText) {
		text = append(append(text, '-'), words[s.random.IntN(len(words))]...)
	}
	return string(text[:min(len(text), most)])
}

// maxText is how many bytes a text has at most to reach minLength.
const maxText = 1 << 16

// fit returns head and tail, or the short ones if those are too long. A text that is too short gets
// a longer head.
func fit(head, tail, shortHead, shortTail string, least, most int) string {
	if len(head)+len(tail) > most {
		head, tail = shortHead, shortTail
	}
	if missing := min(least, most, maxText) - len(head) - len(tail); missing > 0 {
		head += strings.Repeat("x", missing)
	}
	return head + tail
}
