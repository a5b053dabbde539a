package proxytest

import (
	"regexp/syntax"
	"strings"
)

// match makes a text that matches a regular expression; "" for one that does not compile. Repetitions without a bound
// are short.
func (s *sample) match(pattern string) string {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return ""
	}
	var b strings.Builder
	s.write(&b, parsed.Simplify())
	return b.String()
}

// maxMatch ends what nested repetitions would make of a pattern.
const maxMatch = 1 << 12

func (s *sample) write(b *strings.Builder, re *syntax.Regexp) {
	repeat := func(least, more int) {
		for range least + s.random.IntN(more+1) {
			if b.Len() > maxMatch {
				return
			}
			s.write(b, re.Sub[0])
		}
	}
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		b.WriteRune(s.pick(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteRune(rune('a' + s.random.IntN(26)))
	case syntax.OpStar:
		repeat(0, 3)
	case syntax.OpPlus:
		repeat(1, 3)
	case syntax.OpQuest:
		repeat(0, 1)
	case syntax.OpRepeat:
		repeat(re.Min, 0)
	case syntax.OpCapture, syntax.OpConcat:
		for _, sub := range re.Sub {
			s.write(b, sub)
		}
	case syntax.OpAlternate:
		s.write(b, re.Sub[s.random.IntN(len(re.Sub))])
	}
}

// pick takes a character of a class, one that can be read if there is any.
func (s *sample) pick(class []rune) rune {
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
