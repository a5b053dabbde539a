package rawjson

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"math/bits"
)

// name is a name that an object has. Equal names have equal keys; the key of most names of up to
// seven bytes is the name.
type name struct {
	key        uint64
	start, end int32 // in the document
	unescaped  bool  // in texts instead
}

// manyNames is when a hash table becomes cheaper than comparing a key with all before it.
const manyNames = 64

// scanName reads the name at i and adds it to the innermost object, whose names begin at first. It
// returns where the name ends, or where it is wrong. A name that the object repeats is wrong unless the
// mode is [Liberal].
func (s *scanner) scanName(i, first int) (end int, ok bool) {
	doc := s.doc
	if uint(i) >= uint(len(doc)) || doc[i] != '"' {
		return i, false
	}
	var key uint64
	for j := i + 1; len(doc)-j >= 8; j += 8 {
		v := binary.LittleEndian.Uint64(doc[j:])
		m := special(v)
		if m == 0 {
			key = chain(key, v)
			continue
		}
		j += bits.TrailingZeros64(m) / 8
		if doc[j] != '"' {
			break
		}
		if !s.unique {
			return j + 1, true
		}
		key = chain(key, v&(m&-m>>7-1)) // the bytes below the quote
		before := s.names[first:]
		if len(before) >= manyNames {
			break
		}
		for k := range before {
			if before[k].key == key {
				return s.longName(i)
			}
		}
		s.names = append(s.names, name{key: key, start: int32(i + 1), end: int32(j)})
		return j + 1, true
	}
	return s.longName(i)
}

// chain adds eight bytes, or fewer and zeros, to a key.
func chain(key, v uint64) uint64 { return bits.RotateLeft64(key, 29)*0x9E3779B97F4A7C15 ^ v }

// longName is scanName for names with escapes or longer runes, near the end of the document, or
// like another one.
func (s *scanner) longName(i int) (end int, ok bool) {
	end, ok = stringEnd(s.doc, i+1, s.lonely)
	if !ok {
		return end, false
	}
	if s.unique && !s.addName(i+1, end) {
		return i, false
	}
	return end + 1, true
}

// addName adds the name between start and end to the innermost object. It reports false if the object
// repeats the name.
func (s *scanner) addName(start, end int) bool {
	n := name{start: int32(start), end: int32(end)}
	content := s.doc[start:end]
	if bytes.IndexByte(content, '\\') >= 0 {
		from := len(s.texts)
		s.texts = appendText(s.texts, content)
		content = s.texts[from:]
		n.start, n.end, n.unescaped = int32(from), int32(len(s.texts)), true
	}
	for b := content; ; b = b[8:] {
		if len(b) < 8 {
			var last [8]byte
			copy(last[:], b)
			n.key = chain(n.key, binary.LittleEndian.Uint64(last[:]))
			break
		}
		n.key = chain(n.key, binary.LittleEndian.Uint64(b))
	}
	f := &s.frames[len(s.frames)-1]
	before := s.names[f.first:]
	s.names = append(s.names, n)
	if len(before) >= manyNames {
		return s.addManyNames(f)
	}
	for k := range before {
		if before[k].key == n.key && bytes.Equal(s.content(before[k]), content) {
			return false
		}
	}
	return true
}

func (s *scanner) content(n name) []byte {
	if n.unescaped {
		return s.texts[n.start:n.end]
	}
	return s.doc[n.start:n.end]
}

// addManyNames is addName for the last name of an object that has many.
func (s *scanner) addManyNames(f *frame) bool {
	if f.wide == nil {
		f.wide = make(map[uint64]int32, 2*manyNames)
		for k := int(f.first); k < len(s.names)-1; k++ {
			s.insert(f.wide, k)
		}
	}
	return s.insert(f.wide, len(s.names)-1)
}

// insert adds names[at] to the table of an object's names. A name whose hash is taken gets the next free
// hash. insert reports false if the table has an equal name.
func (s *scanner) insert(wide map[uint64]int32, at int) bool {
	content := s.content(s.names[at])
	for hash := maphash.Bytes(seed, content); ; hash++ {
		old, ok := wide[hash]
		if !ok {
			wide[hash] = int32(at)
			return true
		}
		if bytes.Equal(s.content(s.names[old]), content) {
			return false
		}
	}
}

var seed = maphash.MakeSeed() // no document can aim at it
