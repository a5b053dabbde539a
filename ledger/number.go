package ledger

import (
	"strconv"
	"strings"
)

// maxNumber is the most characters that a number may have when it is written without an exponent.
const maxNumber = 64

// number is a JSON number taken apart: sign 0.digits times ten to the power of point.
type number struct {
	negative bool
	digits   string // without zeros at either end; "" is zero
	point    int
}

// parseNumber reads a valid JSON number. Numbers of equal value give equal results, whatever their size.
func parseNumber(literal string) number {
	var n number
	if literal[0] == '-' {
		n.negative, literal = true, literal[1:]
	}
	mantissa, exponent := literal, ""
	if i := strings.IndexAny(literal, "eE"); i >= 0 {
		mantissa, exponent = literal[:i], literal[i+1:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	n.digits = whole + fraction
	if exponent != "" {
		n.point, _ = strconv.Atoi(exponent) // out of range is the largest int, and out of every bound below
	}
	trimmed := strings.TrimLeft(n.digits, "0")
	n.point += len(whole) - (len(n.digits) - len(trimmed))
	n.digits = strings.TrimRight(trimmed, "0")
	if n.digits == "" {
		return number{}
	}
	return n
}

// integer reports whether the number has no fraction.
func (n number) integer() bool { return n.point >= len(n.digits) }

// plain writes the number in decimal digits without exponent, leading or trailing zeros; ok is false when that takes
// more than 64 characters.
func (n number) plain() (text string, ok bool) {
	var b strings.Builder
	if n.negative {
		b.WriteByte('-')
	}
	switch {
	case n.digits == "":
		return "0", true
	case n.point > maxNumber || n.point < -maxNumber:
		return "", false
	case n.point <= 0:
		b.WriteString("0." + strings.Repeat("0", -n.point) + n.digits)
	case n.integer():
		b.WriteString(n.digits + strings.Repeat("0", n.point-len(n.digits)))
	default:
		b.WriteString(n.digits[:n.point] + "." + n.digits[n.point:])
	}
	return b.String(), b.Len() <= maxNumber
}

// canonical writes every number in one way only: plain, or with an exponent where that would be too long.
func (n number) canonical() string {
	if text, ok := n.plain(); ok {
		return text
	}
	sign := ""
	if n.negative {
		sign = "-"
	}
	return sign + "0." + n.digits + "e" + strconv.Itoa(n.point)
}
