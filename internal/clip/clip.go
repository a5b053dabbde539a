// Package clip prepares text for messages and logs: it bounds text from outside, cleans it, and names the
// name that a misspelled one is meant to be.
package clip

import (
	"strings"
	"unicode/utf8"
)

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

// Code returns s if it looks like a code that a peer uses for a kind of error: at most 64 letters,
// digits, '_', '-', '.' and ':'. Otherwise it returns "".
func Code(s string) string {
	const allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:"
	if len(s) > 64 || strings.Trim(s, allowed) != "" {
		return ""
	}
	return s
}
