// Package redact hides secrets: [Set] in texts that a peer may have written, [Redactor] in recordings,
// and [Hidden] in values that are printed.
package redact

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"iter"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Placeholder stands where a secret was.
const Placeholder = "[redacted]"

const (
	minSecret = 4 // bytes; a shorter text is not a secret and occurs in any text
	minBase64 = 8 // bytes; the base64 form of a shorter secret occurs by chance
)

// A Set hides the secrets of one exchange in texts. It is immutable and safe for concurrent use.
// The nil Set hides nothing.
type Set struct{ forms Hidden[forms] }

// forms are the ways in which the secrets of a set are written.
type forms struct {
	raw  []string // to find in a text as it is
	bare []string // to find in a text whose escapes are undone
}

// New returns a set of secrets. A secret with a space, such as "Bearer x", also hides what follows
// the first space. Secrets of less than 4 bytes are ignored.
func New(secrets ...string) *Set {
	var f forms
	for _, secret := range secrets {
		f.add(secret)
		if _, credential, ok := strings.Cut(secret, " "); ok {
			f.add(credential)
		}
	}
	return &Set{Hide(f)}
}

// Env returns the values of variables, "NAME=value", that have 8 bytes or more. Shorter ones would hide innocent text.
func Env(env []string) (list []string) {
	for _, variable := range env {
		if _, value, _ := strings.Cut(variable, "="); len(value) >= 8 {
			list = append(list, value)
		}
	}
	return list
}

// URL returns the parts of a URL that may be secret: the query, its values, the password or, without
// one, the user name, and both in their place, which hides short ones too. Of a text that is not a URL,
// all may be.
func URL(text string) []string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" && strings.Contains(text, "@") { // such as user:password@example.com
		return []string{text}
	}
	secrets := []string{u.RawQuery}
	for _, values := range u.Query() {
		secrets = append(secrets, values...)
	}
	if u.User == nil {
		return secrets
	}
	info, secret := u.User.Username(), u.User.Username()
	if password, ok := u.User.Password(); ok {
		info, secret = info+":"+password, password
	}
	return append(secrets, secret, "//"+info+"@")
}

func (f *forms) add(secret string) {
	if len(secret) < minSecret {
		return
	}
	forms := spellings(secret)
	ascii, n := asciiForms(nil, secret)
	for _, form := range ascii[:n] {
		forms = append(forms, string(form))
	}
	if len(secret) >= minBase64 { // as a whole text
		encoded := base64.RawStdEncoding.EncodeToString([]byte(secret))
		forms = append(forms, encoded, base64.RawURLEncoding.EncodeToString([]byte(secret)))
	}
	for _, form := range forms {
		if slices.Contains(f.raw, form) {
			continue
		}
		f.raw = append(f.raw, form)
		if bare := string(unescape(nil, nil, form)); bare != "" && !slices.Contains(f.bare, bare) {
			f.bare = append(f.bare, bare)
		}
	}
}

var percent = regexp.MustCompile(`%[0-9A-F]{2}`)

// spellings returns the forms that still differ from the secret when their ASCII escapes are undone: +
// for a space, escapes of characters that are not ASCII, and control characters as Go quotes them, such
// as the line break at the end of a key, which net/url quotes in its errors.
func spellings(secret string) []string {
	quoted := strconv.Quote(secret)
	forms := []string{quoted[1 : len(quoted)-1]}
	for _, form := range []string{url.QueryEscape(secret), url.PathEscape(secret)} {
		forms = append(forms, form, percent.ReplaceAllStringFunc(form, strings.ToLower))
	}
	for _, format := range []string{`\u%04x`, `\u%04X`} {
		var b strings.Builder
		for _, unit := range utf16.Encode([]rune(secret)) {
			if unit < utf8.RuneSelf {
				b.WriteByte(byte(unit))
			} else {
				fmt.Fprintf(&b, format, unit)
			}
		}
		forms = append(forms, b.String())
	}
	return forms
}

// Redact returns text with [Placeholder] in the place of each secret. It finds a secret as it is,
// with any of its characters percent-encoded or escaped as in JSON or a JSON Pointer, to any depth,
// and in base64. The rest of the text stays as it is. Redact takes time in proportion to the length of
// the text, and a few bytes of memory for each byte, whatever the text contains.
func (s *Set) Redact(text string) string {
	hidden := s.mark(text)
	return hidden.apply(text)
}

// RedactBytes returns what [Set.Redact] returns, in a slice of its own.
func (s *Set) RedactBytes(text string) []byte {
	hidden := s.mark(text)
	clean := make([]byte, 0, hidden.left())
	for piece := range hidden.pieces(text) {
		clean = append(clean, piece...)
	}
	return clean
}

// mark marks the secrets in text.
func (s *Set) mark(text string) marks {
	if s == nil {
		return marks{size: len(text)}
	}
	forms := s.forms.Reveal()
	hidden := markAll(text, forms.raw)
	if strings.ContainsAny(text, `\%~`) {
		if uint64(len(text)) > math.MaxUint32 { // too long for ends
			hidden.add(0, len(text))
			return hidden
		}
		ends := make([]uint32, len(text)+1)
		bare := unescape(make([]byte, 0, len(text)), ends, text)
		found := markAll(bare, forms.bare)
		for from, to := range found.stretches() {
			hidden.add(int(ends[from]), int(ends[to]))
		}
	}
	return hidden
}

// marks has a bit for each byte of a text, set where a secret is. Its memory does not depend on how many there are.
type marks struct {
	size int // of the text
	bits []uint64
}

// markAll marks every occurrence of the forms in text, also where they overlap.
func markAll[T []byte | string](text T, forms []string) marks {
	m := marks{size: len(text)}
	for _, form := range forms {
		done := 0 // this form has been marked up to here
		find(text, form, func(from, to int) {
			m.add(max(from, done), to)
			done = to
		})
	}
	return m
}

func (m *marks) add(from, to int) {
	if m.bits == nil {
		m.bits = make([]uint64, m.size/64+1)
	}
	for i := from; i < to; i++ {
		m.bits[i/64] |= 1 << (i % 64)
	}
}

// stretches returns the stretches that are marked, in order.
func (m *marks) stretches() iter.Seq2[int, int] {
	return func(yield func(from, to int) bool) {
		from, open := 0, false
		for i := 0; i <= m.size && m.bits != nil; i++ { // the bit behind the last byte is not set
			switch marked := m.bits[i/64]&(1<<(i%64)) != 0; {
			case marked && !open:
				from, open = i, true
			case !marked && open:
				if !yield(from, i) {
					return
				}
				open = false
			}
		}
	}
}

// apply puts a placeholder in the place of each stretch.
func (m *marks) apply(text string) string {
	if m.bits == nil {
		return text
	}
	var b strings.Builder
	b.Grow(m.left())
	for piece := range m.pieces(text) {
		b.WriteString(piece)
	}
	return b.String()
}

// left returns the length of all pieces.
func (m *marks) left() int {
	n := m.size
	for from, to := range m.stretches() {
		n += len(Placeholder) - (to - from)
	}
	return n
}

// pieces yields the parts of the text, and placeholders in the place of stretches.
func (m *marks) pieces(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		done := 0
		for from, to := range m.stretches() {
			if !yield(text[done:from]) || !yield(Placeholder) {
				return
			}
			done = to
		}
		yield(text[done:])
	}
}

// find reports every occurrence of form in text, including overlapping ones (Knuth, Morris and Pratt).
func find[T []byte | string](text T, form string, found func(from, to int)) {
	first := index(text, form)
	if first < 0 {
		return
	}
	border := make([]int, len(form)+1) // of form[:i]: the length of the longest proper prefix that is its suffix, too
	border[0] = -1
	for i, k := 0, -1; i < len(form); i++ {
		for k >= 0 && form[i] != form[k] {
			k = border[k]
		}
		k++
		border[i+1] = k
	}
	matched := 0
	for i := first; i < len(text); i++ {
		for matched >= 0 && (matched == len(form) || text[i] != form[matched]) {
			matched = border[matched]
		}
		if matched++; matched == len(form) {
			found(i+1-len(form), i+1)
		}
	}
}

// index is [bytes.Index] or [strings.Index].
func index[T []byte | string](text T, form string) int {
	if b, ok := any(text).([]byte); ok {
		return bytes.Index(b, []byte(form))
	}
	return strings.Index(string(text), form)
}
