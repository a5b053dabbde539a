// Package bounded prepares text for messages and logs: it cuts and cleans text from outside, names the
// name that a misspelled one is meant to be, and recognises UUIDs.
package bounded

import (
	"strings"
	"unicode/utf8"
)

const ellipsis = "…"

// Cut returns s if len(s) <= limit. Otherwise it returns the beginning of s and an ellipsis, together
// at most limit bytes, without half of a character.
func Cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return Prefix(s, limit-len(ellipsis)) + ellipsis
}

// Prefix returns the beginning of s, at most limit bytes, without half of a character.
func Prefix(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	end := max(limit, 0)
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
