package toolresult

import "strings"

// NameRule says what [NameFault] checks. The subject of the sentence is a tool's name.
const NameRule = "must be 1 to 128 ASCII letters, digits, _ and -, beginning with a letter or _"

// LongestName is how many bytes the name of a tool may have.
const LongestName = 128

// NameFault returns the index of the first byte with which a tool's name breaks the pattern
// ^[A-Za-z_][A-Za-z0-9_-]{0,127}$ of "Tools schema", or -1. The index for an empty name is 0.
func NameFault(name string) int {
	for i := range len(name) {
		switch c := name[i]; {
		case i == LongestName:
			return i
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_':
		case i > 0 && (c >= '0' && c <= '9' || c == '-'):
		default:
			return i
		}
	}
	if name == "" {
		return 0
	}
	return -1
}

// LongestModelName is how many bytes the APIs of OpenAI and Anthropic accept in the name of a function.
const LongestModelName = 64

// ModelName reports whether OpenAI and Anthropic accept the name of a function: letters, digits, _ and -.
func ModelName(name string) bool {
	return name != "" && len(name) <= LongestModelName && !strings.ContainsFunc(name, func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-')
	})
}
