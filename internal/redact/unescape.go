package redact

// unescape appends text to bare and undoes the escapes of ASCII characters: backslashes, \u0041, %41, and ~0
// and ~1 of a JSON Pointer. A character that an escape stands for may complete another escape, which is
// undone, too. No escape begins within another, so their order does not matter. ends[n], unless ends is
// nil, becomes the number of bytes of text that the first n bytes of the result come from. text and bare may
// share an array.
func unescape[T []byte | string](bare []byte, ends []uint32, text T) []byte {
	for i := range len(text) {
		for c := text[i]; c != '\\'; {
			bare = append(bare, c)
			escape := 0
			if hexValue[c] >= 0 { // no escape ends in another character
				c, escape = lastEscape(bare)
			}
			if escape == 0 {
				if ends != nil {
					ends[len(bare)] = uint32(i + 1)
				}
				break
			}
			bare = bare[:len(bare)-escape]
		}
	}
	return bare
}

// lastEscape reads the escape that ends in the hexadecimal digit at the end of a text without backslashes. If there
// is none, size is 0.
func lastEscape(text []byte) (meant byte, size int) {
	n := len(text)
	low := hexValue[text[n-1]]
	switch {
	case n >= 2 && text[n-2] == '~' && low < 2:
		return "~/"[low], 2
	case n >= 3 && text[n-3] == '%':
		size = 3
	case n >= 5 && text[n-3] == '0' && text[n-4] == '0' && text[n-5]|0x20 == 'u':
		size = 5
	default:
		return 0, 0
	}
	high := hexValue[text[n-2]]
	if high < 0 || high > 7 { // not ASCII
		return 0, 0
	}
	return byte(high<<4 | low), size
}

// hexValue has the values of the hexadecimal digits, and -1 for other bytes.
var hexValue = func() (values [256]int8) {
	for c := range values {
		values[c] = -1
	}
	for value, c := range "0123456789abcdef" {
		values[c] = int8(value)
	}
	for value, c := range "ABCDEF" {
		values[c] = int8(10 + value)
	}
	return values
}()
