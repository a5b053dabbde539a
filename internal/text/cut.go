// Package text prepares text for messages, reports and logs: it cuts and cleans text from outside,
// names what a misspelled name is meant to be, and recognizes codes and UUIDs.
package text

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

const ellipsis = "…"

// Cut returns s in valid UTF-8 and at most limit bytes, for data of a bounded size. Of a longer s it
// returns the beginning and an ellipsis. limit is at least 3.
func Cut(s string, limit int) string {
	if len(s) <= limit && utf8.ValidString(s) {
		return s
	}
	valid := strings.ToValidUTF8(s[:start(s, limit)], "\uFFFD")
	if len(s) <= limit && len(valid) <= limit {
		return valid
	}
	return valid[:start(valid, limit-len(ellipsis))] + ellipsis
}

// start returns where the character begins that contains s[i].
func start(s string, i int) int {
	if i >= len(s) {
		return len(s)
	}
	for n := range min(utf8.UTFMax, i+1) {
		if utf8.RuneStart(s[i-n]) {
			return i - n
		}
	}
	return i // not UTF-8
}

// Line returns text from outside on one line for people: clean, and at most n characters of it, followed
// by an ellipsis and the length of the whole if there are more, such as "… (2048 bytes)". If n is less than
// 100, as for titles and cells, the ellipsis is the last of the n characters and no length follows. A line
// break and the white space around it become one space.
func Line(s string, n int) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(line[:characters(line, n+1)])
		if b.Len() > utf8.UTFMax*n { // more than n characters
			break
		}
	}
	one := b.String()
	switch end := characters(one, n); {
	case end == len(one):
		return Clean(one)
	case n < 100:
		return Clean(one[:characters(one, n-1)]) + ellipsis
	default:
		return Clean(one[:end]) + more(s)
	}
}

// Lines returns text from outside for people: clean, and at most n characters of it, followed by an
// ellipsis and the length of the whole if there are more, such as "… (2048 bytes)". Line breaks at the end
// are removed.
func Lines(s string, n int) string {
	head, rest := begin(strings.TrimRight(s, "\n"), n)
	return Clean(head) + rest
}

// Quote returns the first n characters of s in quotation marks, with the escapes of a Go string. If
// there are more, an ellipsis and the length of the whole follow the quotation marks.
func Quote(s string, n int) string {
	head, rest := begin(s, n)
	return apart(strconv.Quote(head)) + rest
}

// begin returns the first n characters, and what to write after them.
func begin(s string, n int) (head, rest string) {
	if end := characters(s, n); end < len(s) {
		return s[:end], more(s)
	}
	return s, ""
}

func more(s string) string { return fmt.Sprintf("%s (%d bytes)", ellipsis, len(s)) }

// characters returns the length of the first n characters of s.
func characters(s string, n int) int {
	for i := range s {
		if n <= 0 {
			return i
		}
		n--
	}
	return len(s)
}
