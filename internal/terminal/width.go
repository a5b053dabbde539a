package terminal

import "unicode"

// wide is what takes two columns of a terminal: the characters of East Asia with their punctuation
// and full-width forms, and pictures (Unicode Standard Annex #11).
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x1100, Hi: 0x115F, Stride: 1}, {Lo: 0x2E80, Hi: 0x303E, Stride: 1}, {Lo: 0x3041, Hi: 0xA4CF, Stride: 1},
		{Lo: 0xA960, Hi: 0xA97F, Stride: 1}, {Lo: 0xAC00, Hi: 0xD7A3, Stride: 1}, {Lo: 0xF900, Hi: 0xFAFF, Stride: 1},
		{Lo: 0xFE30, Hi: 0xFE6F, Stride: 1}, {Lo: 0xFF01, Hi: 0xFF60, Stride: 1}, {Lo: 0xFFE0, Hi: 0xFFE6, Stride: 1},
	},
	R32: []unicode.Range32{
		{Lo: 0x17000, Hi: 0x18CFF, Stride: 1}, {Lo: 0x1B000, Hi: 0x1B2FF, Stride: 1}, {Lo: 0x1F300, Hi: 0x1F64F, Stride: 1},
		{Lo: 0x1F680, Hi: 0x1F6FF, Stride: 1}, {Lo: 0x1F900, Hi: 0x1FAFF, Stride: 1}, {Lo: 0x20000, Hi: 0x3FFFD, Stride: 1},
	},
}

// width is how many columns of a terminal text takes, as nearly as can be told without the
// terminal.
func width(text string) (columns int) {
	for _, r := range text {
		switch {
		case r < 0x300: // as most are; a soft hyphen is shown
			columns++
		case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf): // on the one before, or unseen
		case unicode.Is(wide, r):
			columns += 2
		default:
			columns++
		}
	}
	return columns
}
