package rawjson

import (
	"strconv"
	"strings"
)

// level is an open object or array on the way to a pointer.
type level struct {
	array bool
	next  byte   // what comes next: 'n' for a name, 'v' for a value, or the character ':' or ','
	index int    // of the next or last element
	name  string // of the next or last member
}

// pointerAt finds the value or name that begins at offset, or else the innermost one around it. It
// reads the document a second time, for errors only. What is before offset is valid.
func pointerAt(doc []byte, offset int) string {
	var levels []level
	for i := Space(doc, 0); i < len(doc); i = Space(doc, i) {
		end := tokenEnd(doc, i)
		here := end > offset
		c, top := doc[i], &level{next: 'v'}
		if len(levels) > 0 {
			top = &levels[len(levels)-1]
		}
		switch is := top.next; {
		case c == '}' || c == ']' || c == ',' || c == ':':
			if here {
				break
			}
			switch {
			case len(levels) == 0:
				return ""
			case c == '}' || c == ']':
				levels = levels[:len(levels)-1]
			case top.array:
				top.index++
				top.next = 'v'
			case c == ':':
				top.next = 'v'
			default:
				top.next = 'n'
			}
		case is == 'n' && c == '"' && end <= len(doc) && doc[end-1] == '"':
			top.name, top.next = unquote(doc[i:end]), ':'
			if here {
				return pointer(levels)
			}
		case here && is == 'v':
			return pointer(levels)
		case !here:
			top.next = ','
			if c == '{' {
				levels = append(levels, level{next: 'n'})
			} else if c == '[' {
				levels = append(levels, level{array: true, next: 'v'})
			}
		}
		if here {
			break
		}
		i = end
	}
	if n := len(levels) - 1; n >= 0 && (levels[n].array || levels[n].next == 'n' || levels[n].next == ',') {
		levels = levels[:n]
	}
	return pointer(levels)
}

// pointer returns the JSON Pointer of the value or name where the innermost level stands.
func pointer(levels []level) string {
	var b strings.Builder
	for _, l := range levels {
		b.WriteByte('/')
		if l.array {
			b.WriteString(strconv.Itoa(l.index))
		} else {
			_, _ = escaper.WriteString(&b, l.name)
		}
	}
	return b.String()
}
