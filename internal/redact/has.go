package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"iter"
)

// Has reports whether text contains a secret of ASCII characters as it is, with escapes or in base64, as Redact
// finds it. It costs less than making a [Set].
func Has(text []byte, secret string) bool {
	var buffer [2 << 10]byte
	all, n := asciiForms(buffer[:0], secret)
	forms := all[:n]
	if contains(text, forms) {
		return true
	}
	if bytes.IndexByte(text, '\\') < 0 && bytes.IndexByte(text, '%') < 0 && bytes.IndexByte(text, '~') < 0 {
		return false
	}
	for i := range n {
		all[i] = unescape(all[i][:0], nil, all[i])
	}
	var bare []byte
	for word := range words(text, forms) {
		if bare = unescape(bare[:0], nil, word); contains(bare, forms) {
			return true
		}
	}
	return false
}

// asciiForms returns what a secret of ASCII characters is as it is and in base64, as a part of a longer text. The
// forms are in buffer if it is large enough.
func asciiForms(buffer []byte, secret string) (forms [1 + 3*2][]byte, n int) {
	buffer = append(append(buffer, 0, 0), secret...)
	plain := buffer
	forms[0], n = plain[2:], 1
	if len(secret) < minBase64 {
		return forms, n
	}
	for shift := range 3 { // as many bytes stand before the secret, behind a multiple of three
		for _, encoding := range [...]*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			buffer = encoding.AppendEncode(buffer[len(buffer):], plain[2-shift:])
			forms[n] = buffer[(shift*8+5)/6 : (shift+len(secret))*8/6]
			if n++; !bytes.ContainsAny(forms[n-1], "+/") {
				break // the alphabets differ in these characters only
			}
		}
	}
	return forms, n
}

// contains reports whether text contains one of the forms. A form of backslashes is empty when its escapes are undone.
func contains(text []byte, forms [][]byte) bool {
	if len(text) >= 4<<10 { // in a shorter one this takes longer
		text = text[mayBegin(text, forms):]
	}
	for _, form := range forms {
		if len(form) > 0 && bytes.Contains(text, form) {
			return true
		}
	}
	return false
}

// mayBegin returns an index before which no form begins in text, or len(text) if none begins. It looks at four
// bytes in a row at regular distances, which are so short that each form has one of these rows in its first size
// bytes.
func mayBegin(text []byte, forms [][]byte) int {
	const row = 4
	size := len(text)
	for _, form := range forms {
		size = min(size, len(form))
	}
	if size < 2*row {
		return 0
	}
	var known [1 << 16 / 64]uint64 // has a bit for the hash of each row of the forms
	hash := func(row []byte) uint32 { return binary.LittleEndian.Uint32(row) * 0x9e3779b1 >> 16 }
	step := size - row + 1
	for _, form := range forms {
		for i := range step {
			h := hash(form[i:])
			known[h/64] |= 1 << (h % 64)
		}
	}
	for i := step - 1; i+row <= len(text); i += step {
		if h := hash(text[i:]); known[h/64]&(1<<(h%64)) == 0 {
			continue
		}
		from, to := i-step+1, min(i+size, len(text))
		for _, form := range forms {
			if bytes.Contains(text[from:to], form[:size]) {
				return from
			}
		}
	}
	return len(text)
}

// words returns the parts of text that have only bytes of escapes and of the forms, whose escapes are undone. No
// form and no escape reaches beyond such a part. Parts that are shorter than every form are left out.
func words(text []byte, forms [][]byte) iter.Seq[[]byte] {
	var inWord [256]bool
	shortest := len(text)
	for _, form := range forms {
		shortest = min(shortest, len(form))
		for _, c := range form {
			inWord[c] = true
		}
	}
	for _, c := range []byte(`\%~uU0123456789abcdefABCDEF`) {
		inWord[c] = true
	}
	return func(yield func([]byte) bool) {
		for from := 0; from+shortest <= len(text); {
			last := from + shortest - 1 // of the shortest word that begins here
			for last >= from && inWord[text[last]] {
				last--
			}
			if last >= from {
				from = last + 1
				continue
			}
			to := from + shortest
			for to < len(text) && inWord[text[to]] {
				to++
			}
			if !yield(text[from:to]) {
				return
			}
			from = to + 1
		}
	}
}
