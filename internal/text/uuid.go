package text

import "strings"

// CanonicalUUID returns a UUID in lower case with hyphens. It also accepts 32 digits without hyphens.
func CanonicalUUID(s string) (id string, ok bool) {
	id = strings.ToLower(s)
	if len(id) == 32 {
		id = id[:8] + "-" + id[8:12] + "-" + id[12:16] + "-" + id[16:20] + "-" + id[20:]
	}
	return id, ValidUUID(id)
}

// ValidUUID reports whether s is a UUID in its usual text form: 8-4-4-4-12 hexadecimal digits of either
// case.
func ValidUUID(s string) bool {
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
