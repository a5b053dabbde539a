package rawjson

import (
	"encoding/binary"
	"math/bits"
)

// scanner validates a document from front to back in one pass. Its loop is [scanner.skip], whose
// state is in local variables. Functions that find an error only report where; the cold functions
// in error.go look there again to say why.
type scanner struct {
	doc    []byte
	pos    int
	err    error // the first syntax error; nothing is read after it
	depth  int   // the limit
	most   int   // the limit of values; 0 is none
	values int   // how many values and names were read
	unique bool  // names may not repeat
	lonely bool  // half of a surrogate pair may stand alone

	frames []frame // the objects and arrays around pos
	names  []name  // the names so far of the objects around pos, outermost first
	texts  []byte  // the names among them that had escapes, with these resolved

	firstFrames [16]frame // where frames and names begin to grow: enough for most documents
	firstNames  [24]name
}

func (s *scanner) reset(doc []byte, limits Limits) {
	s.doc, s.depth, s.most, s.values = doc, limits.Depth, limits.Values, 0
	if s.depth <= 0 {
		s.depth = defaultDepth
	}
	s.unique, s.lonely = limits.Mode != Liberal, limits.Mode != Strict
	s.frames, s.names = s.firstFrames[:0], s.firstNames[:0]
}

// forget makes the scanner ready for reset. Nothing of the document stays in memory, and none of
// the memory that a large one has needed.
func (s *scanner) forget() {
	s.doc, s.pos, s.err = nil, 0, nil
	s.frames, s.names, s.texts = nil, nil, nil
	clear(s.firstFrames[:])
}

// frame is an open object or array.
type frame struct {
	first int32            // index in names of the object's first name; -1 for an array
	text  int32            // length of texts before the object
	wide  map[uint64]int32 // the index of each name by its hash, if there are many
}

// kinds says what a byte begins, as [Reader.Kind] returns it.
var kinds = [256]byte{
	'{': '{', '[': '[', '"': '"', 't': 't', 'f': 'f', 'n': 'n', '-': '0',
	'0': '0', '1': '0', '2': '0', '3': '0', '4': '0', '5': '0', '6': '0', '7': '0', '8': '0', '9': '0',
}

// skip validates the value at pos. It does not recurse, so only the limit bounds the depth.
func (s *scanner) skip() error {
	if s.err != nil {
		return s.err
	}
	var (
		doc    = s.doc
		i      = s.pos
		values = 0     // values and names read here
		level  = 0     // objects and arrays entered here and not left
		object = false // whether the innermost frame entered here is an object
		first  = 0     // if so, the index of its first name
	)
	for {
		if object { // a name begins at i
			end, ok := s.scanName(i, first)
			if !ok {
				return s.failName(i, end)
			}
			i = end
			if uint(i) < uint(len(doc)) && doc[i] <= ' ' {
				i = Space(doc, i)
			}
			if uint(i) >= uint(len(doc)) || doc[i] != ':' {
				return s.failAt(i, "where a colon should be")
			}
			i++
			values++
			if uint(i) < uint(len(doc)) && doc[i] == ' ' { // usual, and usually alone
				i++
			}
			if uint(i) < uint(len(doc)) && doc[i] <= ' ' {
				i = Space(doc, i)
			}
		}
		if uint(i) >= uint(len(doc)) { // a value begins at i
			return s.failAt(i, "")
		}
		values++
		switch kinds[doc[i]] {
		case '"':
			end, ok := stringEnd(doc, i+1, s.lonely)
			if !ok {
				return s.failString(end)
			}
			i = end + 1
		case '0':
			end, ok := numberEnd(doc, i)
			if !ok {
				return s.failAtIn(end, i, "where a digit should be")
			}
			i = end
		case '{', '[':
			if len(s.frames) >= s.depth {
				return s.failDeep(i)
			}
			f := frame{first: -1}
			if object = doc[i] == '{'; object {
				first = len(s.names)
				f = frame{first: int32(first), text: int32(len(s.texts))}
			}
			s.frames = append(s.frames, f)
			level++
			i++
			if uint(i) < uint(len(doc)) && doc[i] <= ' ' {
				i = Space(doc, i)
			}
			if uint(i) < uint(len(doc)) && (object && doc[i] == '}' || !object && doc[i] == ']') {
				break // empty: it is left below
			}
			continue
		case 't':
			if b := doc[i:]; len(b) < 4 || string(b[:4]) != "true" {
				return s.failLiteral(i, "true")
			}
			i += 4
		case 'f':
			if b := doc[i:]; len(b) < 5 || string(b[:5]) != "false" {
				return s.failLiteral(i, "false")
			}
			i += 5
		case 'n':
			if b := doc[i:]; len(b) < 4 || string(b[:4]) != "null" {
				return s.failLiteral(i, "null")
			}
			i += 4
		default:
			return s.failAt(i, "where a value should begin")
		}
		for { // a value ended before i, or an empty object or array is open
			if level == 0 {
				s.pos, s.values = i, s.values+values
				return nil
			}
			if uint(i) < uint(len(doc)) && doc[i] <= ' ' {
				i = Space(doc, i)
			}
			if uint(i) >= uint(len(doc)) {
				return s.failAt(i, "")
			}
			c := doc[i]
			i++
			if c == ',' {
				break
			}
			if object && c != '}' || !object && c != ']' {
				return s.failNext(i-1, object)
			}
			s.leave()
			if level--; level > 0 {
				first = int(s.frames[len(s.frames)-1].first)
				object = first >= 0
			}
		}
		if uint(i) < uint(len(doc)) && doc[i] <= ' ' {
			i = Space(doc, i)
		}
	}
}

// leave forgets the innermost object or array.
func (s *scanner) leave() {
	top := s.frames[len(s.frames)-1]
	s.frames = s.frames[:len(s.frames)-1]
	if top.first >= 0 {
		s.names, s.texts = s.names[:top.first], s.texts[:top.text]
	}
}

// Space returns where the white space ends that begins at doc[i].
func Space(doc []byte, i int) int {
	for uint(i) < uint(len(doc)) {
		if c := doc[i]; c > ' ' || c != ' ' && c != '\n' && c != '\r' && c != '\t' {
			return i
		}
		i++
		for len(doc)-i >= 8 { // indentation
			if v := binary.LittleEndian.Uint64(doc[i:]) ^ ones*' '; v != 0 {
				i += bits.TrailingZeros64(v) / 8
				break
			}
			i += 8
		}
	}
	return i
}

// numberEnd returns where the number ends that begins at doc[i], or where it is wrong:
// -? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?
func numberEnd(doc []byte, i int) (end int, ok bool) {
	if doc[i] == '-' {
		i++
	}
	start := i
	if i = digits(doc, i); i == start {
		return i, false
	}
	if i-start > 1 && doc[start] == '0' {
		return start + 1, true // what follows is wrong there
	}
	if uint(i) < uint(len(doc)) && doc[i] == '.' {
		start := i + 1
		if i = digits(doc, start); i == start {
			return i, false
		}
	}
	if uint(i) < uint(len(doc)) && doc[i]|0x20 == 'e' {
		i++
		if uint(i) < uint(len(doc)) && (doc[i] == '+' || doc[i] == '-') {
			i++
		}
		start := i
		if i = digits(doc, start); i == start {
			return i, false
		}
	}
	return i, true
}

// digits returns the end of the digits that begin at doc[i].
func digits(doc []byte, i int) int {
	for i < len(doc) && doc[i]-'0' <= 9 {
		i++
	}
	return i
}
