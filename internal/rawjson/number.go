package rawjson

import (
	"cmp"
	"math/big"
	"strconv"
	"strings"
)

// maxExponent is the most digits of an exponent that is computed with. Numbers with a longer one
// are equal only if they were written alike.
const maxExponent = 1000

// A Number is the exact value of a JSON number: 0.digits times ten to the power of point. Numbers
// have equal values if they are equal by ==, however they were written.
type Number struct {
	negative bool
	digits   string // without zeros at either end; "" is zero
	point    int64
	far      string // the point, in decimal digits, if it does not fit; point is 0 then
}

// ParseNumber reads a valid JSON number, in time in proportion to its length.
func ParseNumber(literal string) Number {
	var n Number
	if literal[0] == '-' {
		n.negative, literal = true, literal[1:]
	}
	mantissa, exponent := literal, ""
	if i := strings.IndexAny(literal, "eE"); i >= 0 {
		mantissa, exponent = literal[:i], literal[i+1:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := whole + fraction
	trimmed := strings.TrimLeft(digits, "0")
	if n.digits = strings.TrimRight(trimmed, "0"); n.digits == "" {
		return Number{}
	}
	shift := int64(len(whole) - (len(digits) - len(trimmed)))
	n.setPoint(exponent, shift)
	return n
}

// setPoint sets the point to exponent, which may be empty, plus shift.
func (n *Number) setPoint(exponent string, shift int64) {
	sign := ""
	if exponent != "" && (exponent[0] == '-' || exponent[0] == '+') {
		sign, exponent = strings.TrimPrefix(exponent[:1], "+"), exponent[1:]
	}
	exponent = strings.TrimLeft(exponent, "0")
	if len(exponent) <= 18 { // so that no sum overflows
		e, _ := strconv.ParseInt(sign+exponent, 10, 64) // "" and "-" are 0
		n.point = e + shift
		return
	}
	if len(exponent) > maxExponent {
		n.far = sign + exponent + "+" + strconv.FormatInt(shift, 10)
		return
	}
	sum, _ := new(big.Int).SetString(sign+exponent, 10)
	n.far = sum.Add(sum, big.NewInt(shift)).String()
}

// Integer reports whether the number has no fraction.
func (n Number) Integer() bool {
	if n.far != "" {
		return n.far[0] != '-'
	}
	return n.point >= int64(len(n.digits))
}

// Plain writes the number in decimal digits without an exponent, leading or trailing zeros. It
// reports false if that takes more than most characters.
func (n Number) Plain(most int) (text string, ok bool) {
	if n.digits == "" {
		return "0", true
	}
	if n.far != "" || n.point > int64(most) || n.point < -int64(most) || len(n.digits) > most {
		return "", false
	}
	sign, point := "", int(n.point)
	if n.negative {
		sign = "-"
	}
	switch {
	case point <= 0:
		text = sign + "0." + strings.Repeat("0", -point) + n.digits
	case point >= len(n.digits):
		text = sign + n.digits + strings.Repeat("0", point-len(n.digits))
	default:
		text = sign + n.digits[:point] + "." + n.digits[point:]
	}
	return text, len(text) <= most
}

// longestNumber is how many characters a number may have that is written without an exponent.
const longestNumber = 64

// canonical writes every number in one way only: plain, or with an exponent if that is too long.
func (n Number) canonical() string {
	if text, ok := n.Plain(longestNumber); ok {
		return text
	}
	sign, point := "", n.far
	if n.negative {
		sign = "-"
	}
	if point == "" {
		point = strconv.FormatInt(n.point, 10)
	}
	return sign + "0." + n.digits + "e" + point
}

// Compare orders numbers by value.
func (n Number) Compare(m Number) int {
	if n.sign() != m.sign() || n.sign() == 0 {
		return cmp.Compare(n.sign(), m.sign())
	}
	return n.sign() * cmp.Or(n.comparePoint(m), strings.Compare(n.digits, m.digits))
}

func (n Number) sign() int {
	switch {
	case n.digits == "":
		return 0
	case n.negative:
		return -1
	}
	return 1
}

func (n Number) comparePoint(m Number) int {
	if n.far == m.far {
		return cmp.Compare(n.point, m.point)
	}
	a, b := n.bigPoint(), m.bigPoint()
	return a.Cmp(b)
}

// bigPoint is the point; one whose exponent was too long to be read is beyond all others.
func (n Number) bigPoint() *big.Int {
	if n.far == "" {
		return big.NewInt(n.point)
	}
	if point, ok := new(big.Int).SetString(n.far, 10); ok {
		return point
	}
	beyond := new(big.Int).Exp(big.NewInt(10), big.NewInt(maxExponent+1), nil)
	if n.far[0] == '-' {
		beyond.Neg(beyond)
	}
	return beyond
}
