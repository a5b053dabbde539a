// Package uuid recognizes UUIDs. Nothing here makes any.
package uuid

// Valid reports whether s is a UUID in its usual text form: 8-4-4-4-12 hexadecimal digits of either
// case.
func Valid(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case i == 8 || i == 13 || i == 18 || i == 23:
			if c != '-' {
				return false
			}
		case c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F':
		default:
			return false
		}
	}
	return true
}
