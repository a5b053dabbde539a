package strictjson

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"hash/maphash"
	"math/bits"
	"unicode/utf8"
)

// scanner validates a document from front to back. Everything is checked where the pass meets it: grammar, UTF-8,
// duplicate names and limits. It keeps no path; [pointerAt] finds it again for the rare document that is wrong.
type scanner struct {
	doc    []byte
	pos    int
	values int
	limits Limits

	frames []frame // the objects and arrays around pos
	names  []span  // the names so far of the objects around pos, outermost first

	firstFrames [8]frame // where frames and names begin to grow: enough for most documents
	firstNames  [24]span
}

func (s *scanner) reset(doc []byte, limits Limits) {
	s.doc, s.limits = doc, limits
	s.frames, s.names = s.firstFrames[:0], s.firstNames[:0]
}

// frame is an open object or array.
type frame struct {
	first  int    // index in names of the object's first name
	index  *index // of an object with many names
	object bool
}

// index is a hash table of indices in names, -1 where free.
type index struct {
	table []int32
	seed  maphash.Seed // of its own, so that no document can aim at it
}

// span is the inside of a string.
type span struct {
	start, end int
	escaped    bool
}

// manyNames is when a hash table becomes cheaper than comparing a name with all before it.
const manyNames = 16

// skip validates one value. It does not recurse, so only the limit bounds the depth.
func (s *scanner) skip() error {
	outer := len(s.frames)
	for {
		if s.pos >= len(s.doc) {
			return s.fail(problemEnd)
		}
		var more bool
		var err error
		switch c := s.doc[s.pos]; c {
		case '{', '[':
			more, err = s.open(c == '{')
			if err == nil && more && c == '{' {
				_, err = s.name()
			}
		case '"':
			if err = s.count(); err == nil {
				_, err = s.string()
			}
		case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
			err = s.number()
		case 't':
			err = s.literal("true")
		case 'f':
			err = s.literal("false")
		case 'n':
			err = s.literal("null")
		default:
			err = s.fail("%s where a value should begin", s.found())
		}
		if err != nil {
			return err
		}
		for !more {
			if len(s.frames) == outer {
				return nil
			}
			if more, err = s.next(); err != nil {
				return err
			}
			if more && s.frames[len(s.frames)-1].object {
				if _, err = s.name(); err != nil {
					return err
				}
			}
		}
	}
}

// open enters the object or array that begins here and reports whether it has anything in it; if not, it is left again.
func (s *scanner) open(object bool) (more bool, err error) {
	if len(s.frames) >= s.limits.Depth {
		return false, s.beyond(LimitDepth, "", "is nested more than %d levels deep", s.limits.Depth)
	}
	if err := s.count(); err != nil {
		return false, err
	}
	s.pos++
	s.frames = append(s.frames, frame{object: object, first: len(s.names)})
	s.space()
	if s.pos < len(s.doc) && s.doc[s.pos] == s.closing() {
		s.leave()
		return false, nil
	}
	return true, nil
}

// next follows a value inside an object or array and reports whether there is another; if not, it is left.
func (s *scanner) next() (more bool, err error) {
	s.space()
	if s.pos >= len(s.doc) {
		return false, s.fail(problemEnd)
	}
	switch s.doc[s.pos] {
	case ',':
		s.pos++
		s.space()
		return true, nil
	case s.closing():
		s.leave()
		return false, nil
	}
	return false, s.fail("%s where a comma or %q should be", s.found(), s.closing())
}

func (s *scanner) closing() byte {
	if s.frames[len(s.frames)-1].object {
		return '}'
	}
	return ']'
}

func (s *scanner) leave() {
	s.pos++
	top := len(s.frames) - 1
	s.names = s.names[:s.frames[top].first]
	s.frames = s.frames[:top]
}

// name reads a member's name and the colon, and stands at the value then.
func (s *scanner) name() (span, error) {
	if s.pos >= len(s.doc) {
		return span{}, s.fail(problemEnd)
	}
	if s.doc[s.pos] != '"' {
		return span{}, s.fail("%s where a member's name should begin", s.found())
	}
	if err := s.count(); err != nil {
		return span{}, err
	}
	start := s.pos
	n, err := s.string()
	if err != nil {
		return n, err
	}
	if s.known(n) {
		return n, errorf(start, pointerAt(s.doc, start), "stands twice in its object")
	}
	s.space()
	if s.pos >= len(s.doc) {
		return n, s.fail(problemEnd)
	}
	if s.doc[s.pos] != ':' {
		return n, s.fail("%s where a colon should be", s.found())
	}
	s.pos++
	s.space()
	return n, nil
}

// known reports whether the innermost object has the name already, and adds it.
func (s *scanner) known(n span) bool {
	f := &s.frames[len(s.frames)-1]
	before := s.names[f.first:]
	s.names = append(s.names, n)
	if len(before) < manyNames {
		for _, b := range before {
			// Names of one length are rare enough to be worth this look.
			if (b.end-b.start == n.end-n.start || b.escaped || n.escaped) && s.equal(b, n) {
				return true
			}
		}
		return false
	}
	if f.index == nil || 2*(len(before)+1) > len(f.index.table) {
		f.index = s.newIndex(f.first, len(before))
	}
	slot, found := f.index.find(s, n)
	f.index.table[slot] = int32(f.first + len(before))
	return found
}

// newIndex makes an index of n names with room for as many again.
func (s *scanner) newIndex(first, n int) *index {
	size := 4 * manyNames
	for size < 4*n {
		size *= 2
	}
	x := &index{table: make([]int32, size), seed: maphash.MakeSeed()}
	for i := range x.table {
		x.table[i] = -1
	}
	for k := range n {
		slot, _ := x.find(s, s.names[first+k])
		x.table[slot] = int32(first + k)
	}
	return x
}

// find returns where the name is in the table, or where it belongs.
func (x *index) find(s *scanner, n span) (slot int, found bool) {
	mask := len(x.table) - 1
	for i := int(maphash.Bytes(x.seed, s.content(n))) & mask; ; i = (i + 1) & mask {
		at := x.table[i]
		if at < 0 {
			return i, false
		}
		if s.equal(s.names[at], n) {
			return i, true
		}
	}
}

func (s *scanner) equal(a, b span) bool {
	if !a.escaped && !b.escaped {
		return bytes.Equal(s.doc[a.start:a.end], s.doc[b.start:b.end])
	}
	return text(s.doc, a) == text(s.doc, b)
}

// content is what a string stands for, escapes resolved.
func (s *scanner) content(n span) []byte {
	if !n.escaped {
		return s.doc[n.start:n.end]
	}
	return []byte(text(s.doc, n))
}

// text is what a string stands for, as a string of its own.
func text(doc []byte, n span) string {
	if !n.escaped {
		return string(doc[n.start:n.end])
	}
	var text string
	_ = json.Unmarshal(doc[n.start-1:n.end+1], &text) // it has been validated
	return text
}

func (s *scanner) space() {
	for s.pos < len(s.doc) {
		c := s.doc[s.pos]
		if c > ' ' || c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			return
		}
		s.pos++
	}
}

// count is called for every value and name.
func (s *scanner) count() error {
	s.values++
	if s.values > s.limits.Values {
		return s.tooMany()
	}
	return nil
}

func (s *scanner) tooMany() error {
	return s.beyond(LimitValues, "", "has more than %d values", s.limits.Values)
}

func (s *scanner) literal(word string) error {
	if err := s.count(); err != nil {
		return err
	}
	start := s.pos
	for i := range len(word) {
		if s.pos == len(s.doc) {
			return s.failIn(start, problemEnd)
		}
		if s.doc[s.pos] != word[i] {
			return s.failIn(start, "%s in the literal %s", s.found(), word)
		}
		s.pos++
	}
	return nil
}

// number reads -? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?
func (s *scanner) number() error {
	if err := s.count(); err != nil {
		return err
	}
	doc, start := s.doc, s.pos
	i := start
	if doc[i] == '-' {
		i++
	}
	ok := true
	if i < len(doc) && doc[i] == '0' {
		i++
	} else {
		i, ok = digits(doc, i)
	}
	if ok && i < len(doc) && doc[i] == '.' {
		i, ok = digits(doc, i+1)
	}
	if ok && i < len(doc) && doc[i]|0x20 == 'e' {
		i++
		if i < len(doc) && (doc[i] == '+' || doc[i] == '-') {
			i++
		}
		i, ok = digits(doc, i)
	}
	s.pos = i
	switch {
	case !ok && i >= len(doc):
		return s.failIn(start, problemEnd)
	case !ok:
		return s.failIn(start, "%s where a digit should be", s.found())
	case i-start > s.limits.NumberLen:
		return s.beyond(LimitNumberLen, pointerAt(s.doc, start), "has a number of more than %d characters", s.limits.NumberLen)
	}
	return nil
}

// digits returns the end of the digits that begin at doc[i], and whether there are any.
func digits(doc []byte, i int) (end int, ok bool) {
	start := i
	for i < len(doc) && doc[i]-'0' <= 9 {
		i++
	}
	return i, i > start
}

// string reads a string and returns its inside.
func (s *scanner) string() (span, error) {
	start := s.pos + 1
	if end := plain(s.doc, start); end < len(s.doc) && s.doc[end] == '"' { // nearly always
		s.pos = end + 1
		return span{start: start, end: end}, nil
	}
	end, escaped, problem := scanString(s.doc, start)
	if problem == "" {
		s.pos = end + 1
		return span{start, end, escaped}, nil
	}
	s.pos = end
	if problem == problemControl {
		return span{}, s.fail("%s in a string, where it must be escaped", s.found())
	}
	return span{}, s.fail("%s", problem)
}

const (
	problemEnd       = "ends before the JSON value is complete"
	problemControl   = "has a control character"
	problemUTF8      = "has invalid UTF-8"
	problemEscape    = "has an invalid escape sequence"
	problemSurrogate = "has half of a surrogate pair"
)

// scanString returns where the string ends whose inside begins at doc[i]: the index of its closing quote, or of a problem.
func scanString(doc []byte, i int) (end int, escaped bool, problem string) {
	for {
		i = plain(doc, i)
		if i >= len(doc) {
			return i, escaped, problemEnd
		}
		switch c := doc[i]; {
		case c == '"':
			return i, escaped, ""
		case c == '\\':
			size, problem := escape(doc[i:])
			if problem != "" {
				return i, true, problem
			}
			escaped = true
			i += size
		case c < ' ':
			return i, escaped, problemControl
		default:
			r, size := utf8.DecodeRune(doc[i:])
			if r == utf8.RuneError && size == 1 {
				return i, escaped, problemUTF8
			}
			i += size
		}
	}
}

// plain returns the index of the first byte from i on that is not plain ASCII text: a quote, a backslash, a control
// character or a part of a longer rune. It looks at eight bytes at a time.
func plain(doc []byte, i int) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for ; i+8 <= len(doc); i += 8 {
		v := binary.LittleEndian.Uint64(doc[i:])
		quote, backslash := v^(ones*'"'), v^(ones*'\\')
		// A byte below n sets its high bit in v-n*ones. A borrow can set those above it too, so only the lowest counts.
		if hit := ((v - ones*' ') | (quote - ones) | (backslash - ones) | v) & highs; hit != 0 {
			return i + bits.TrailingZeros64(hit)/8
		}
	}
	for i < len(doc) && doc[i] >= ' ' && doc[i] != '"' && doc[i] != '\\' && doc[i] < utf8.RuneSelf {
		i++
	}
	return i
}

// escape returns the length of the escape sequence at the beginning of b. Halves of a surrogate pair must come together.
func escape(b []byte) (size int, problem string) {
	if len(b) < 2 {
		return 0, problemEnd
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2, ""
	case 'u':
	default:
		return 0, problemEscape
	}
	r, ok := hex4(b)
	switch {
	case !ok:
		return 0, problemEscape
	case r < 0xD800 || r > 0xDFFF:
		return 6, ""
	}
	if r < 0xDC00 && len(b) >= 12 && b[6] == '\\' && b[7] == 'u' {
		if low, ok := hex4(b[6:]); ok && low >= 0xDC00 && low <= 0xDFFF {
			return 12, ""
		}
	}
	return 0, problemSurrogate
}

// hex4 reads \uXXXX.
func hex4(b []byte) (r rune, ok bool) {
	if len(b) < 6 {
		return 0, false
	}
	for _, c := range b[2:6] {
		switch {
		case c-'0' <= 9:
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}
