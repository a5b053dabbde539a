package proxytest

import (
	"math"
	"regexp/syntax"
	"unicode/utf8"
)

// match returns a text of least to most characters that matches a regular expression, if it finds
// one. It returns "" if the expression does not compile. Repetitions without a bound are short.
func (s *draft) match(pattern string, least, most int) string {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return ""
	}
	parsed = parsed.Simplify()
	m := specimen{draft: s}
	m.write(parsed)
	switch n := utf8.RuneCount(m.text); {
	case n < least:
		m = specimen{draft: s, least: least, long: true}
		m.write(parsed)
	case n > most:
		m = specimen{draft: s, short: true}
		m.write(parsed)
	}
	return string(m.text)
}

// specimen is a text that matches, while it is made. The number of repetitions is random. If long
// is set, a part is repeated until the text has least characters; if short is set, it is repeated
// as little as possible.
type specimen struct {
	*draft
	text  []byte
	least int
	long  bool
	short bool
}

// maxMatch limits the text that nested repetitions make, in bytes.
const maxMatch = 1 << 12

// repeat writes re least times, and then up to more times. If more is anyTimes, there is no limit.
func (m *specimen) repeat(re *syntax.Regexp, least, more int) {
	n := least
	if !m.short && !m.long {
		n += m.random.IntN(min(more, 3) + 1)
	}
	for range n {
		m.bounded(re)
	}
	if !m.long {
		return
	}
	for empty := 0; more > 0 && empty < 100 && len(m.text) <= maxMatch && utf8.RuneCount(m.text) < m.least; more-- {
		before := len(m.text)
		if m.bounded(re); len(m.text) == before {
			empty++ // the part may be empty this time only
		}
	}
}

const anyTimes = math.MaxInt

func (m *specimen) bounded(re *syntax.Regexp) {
	if len(m.text) <= maxMatch {
		m.write(re)
	}
}

func (m *specimen) write(re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpLiteral:
		m.text = append(m.text, string(re.Rune)...)
	case syntax.OpCharClass:
		m.text = utf8.AppendRune(m.text, m.pick(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		m.text = append(m.text, byte('a'+m.random.IntN(26)))
	case syntax.OpStar:
		m.repeat(re.Sub[0], 0, anyTimes)
	case syntax.OpPlus:
		m.repeat(re.Sub[0], 1, anyTimes)
	case syntax.OpQuest:
		m.repeat(re.Sub[0], 0, 1)
	case syntax.OpRepeat:
		m.repeat(re.Sub[0], re.Min, 0)
	case syntax.OpCapture, syntax.OpConcat:
		for _, sub := range re.Sub {
			m.write(sub)
		}
	case syntax.OpAlternate:
		m.write(re.Sub[m.random.IntN(len(re.Sub))])
	}
}

// pick returns a character of a class. It prefers printable ASCII characters.
func (s *draft) pick(class []rune) rune {
	var readable []rune
	for i := 0; i+1 < len(class); i += 2 {
		for c := max(class[i], '!'); c <= min(class[i+1], '~'); c++ {
			readable = append(readable, c)
		}
	}
	if len(readable) > 0 {
		return readable[s.random.IntN(len(readable))]
	}
	if len(class) == 0 {
		return ' '
	}
	return class[0]
}
