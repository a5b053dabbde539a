package proxytest

import (
	"math"
	"regexp/syntax"
	"unicode/utf8"
)

// maxTexts is how many texts are made for one expression, until one matches its look-aheads.
const maxTexts = 40

// match returns a text of least to most characters that matches a regular expression, if it finds
// one. It returns "" if the expression does not compile.
func (s *draft) match(pattern string, least, most int) string {
	expression := s.regexp(pattern)
	if expression == nil {
		return ""
	}
	parsed, err := syntax.Parse(expression.RE2(), syntax.Perl)
	if err != nil {
		return ""
	}
	parsed = parsed.Simplify()
	text := ""
	for try, length := 0, least+s.random.IntN(8); try < maxTexts; try++ {
		m := specimen{draft: s, length: length, plain: try < 2}
		m.write(parsed)
		text = string(m.text)
		n := utf8.RuneCount(m.text)
		if n >= least && n <= most && expression.MatchString(text) {
			break
		}
		if length = least; n > most && try > 0 {
			length = 0
		}
	}
	return text
}

// specimen is a text that matches, while it is made. Parts are repeated until it has length characters.
type specimen struct {
	*draft
	text   []byte
	length int
	plain  bool // any character is a letter
}

// maxMatch limits the text that nested repetitions make, in bytes.
const maxMatch = 1 << 12

// repeat writes re least times, and then up to more times while the text is too short.
func (m *specimen) repeat(re *syntax.Regexp, least, more int) {
	for range least {
		m.bounded(re)
	}
	for empty := 0; more > 0 && empty < 100 && len(m.text) <= maxMatch && utf8.RuneCount(m.text) < m.length; more-- {
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
		m.text = utf8.AppendRune(m.text, m.pick([]rune{'!', '~'}))
	case syntax.OpStar:
		m.repeat(re.Sub[0], 0, anyTimes)
	case syntax.OpPlus:
		m.repeat(re.Sub[0], 1, anyTimes)
	case syntax.OpQuest:
		m.repeat(re.Sub[0], 0, 1)
	case syntax.OpCapture, syntax.OpConcat:
		for _, sub := range re.Sub {
			m.bounded(sub)
		}
	case syntax.OpAlternate:
		m.write(re.Sub[m.random.IntN(len(re.Sub))])
	}
}

// pick returns a character of a class. It prefers printable ASCII characters.
func (m *specimen) pick(class []rune) rune {
	var readable []rune
	for i := 0; i+1 < len(class); i += 2 {
		for c := max(class[i], '!'); c <= min(class[i+1], '~'); c++ {
			readable = append(readable, c)
		}
	}
	if m.plain && len(readable) == '~'-'!'+1 {
		return rune('a' + m.random.IntN(26))
	}
	if len(readable) > 0 {
		return readable[m.random.IntN(len(readable))]
	}
	if len(class) == 0 {
		return ' '
	}
	return class[0]
}
