// Package clip bounds texts for messages.
package clip

import "unicode/utf8"

const ellipsis = "…"

// Text returns s if it has at most most bytes. Otherwise it returns the beginning of s and an
// ellipsis, together at most most bytes, without half of a character.
func Text(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return Prefix(s, most-len(ellipsis)) + ellipsis
}

// Prefix returns at most most bytes from the beginning of s, without half of a character.
func Prefix(s string, most int) string {
	if len(s) <= most {
		return s
	}
	end := max(most, 0)
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}
