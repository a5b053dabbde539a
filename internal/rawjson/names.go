package rawjson

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"math/bits"
	"slices"
)

// name is a name that an object has. Equal names have equal keys; the key of most names of up to
// seven bytes is the name.
type name struct {
	key        uint64
	start, end int32 // in the document; if start is negative, in texts, at ^start
}

// manyNames is when a hash table becomes cheaper than comparing a key with all before it.
const manyNames = 24

// scanName reads the name at i and adds it to the innermost object, whose names begin at first. It
// returns where the name ends, or where it is wrong.
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
		s.names = append(s.names, name{key, int32(i + 1), int32(j)})
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
	if s.unique && !s.add(i+1, end) {
		return i, false
	}
	return end + 1, true
}

// add adds the name between start and end to the innermost object. It reports false if the object
// has it already.
func (s *scanner) add(start, end int) bool {
	n := name{start: int32(start), end: int32(end)}
	content := s.doc[start:end]
	if bytes.IndexByte(content, '\\') >= 0 {
		from := len(s.texts)
		s.texts = appendText(s.texts, content)
		content = s.texts[from:]
		n.start, n.end = ^int32(from), int32(len(s.texts))
		s.unescaped += end - start
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
		return s.addWide(f)
	}
	for k := range before {
		if before[k].key == n.key && bytes.Equal(s.content(before[k]), content) {
			return false
		}
	}
	return true
}

func (s *scanner) content(n name) []byte {
	if n.start < 0 {
		return s.texts[^n.start:n.end]
	}
	return s.doc[n.start:n.end]
}

// table is a hash table of the names of one object: 1 + the index in names and bits of the hash; 0
// is free.
type table []slot

type slot struct {
	at   int32
	hash uint32
}

// addWide adds the last name of an object that has many. It reports false if the object has it
// already.
func (s *scanner) addWide(f *frame) bool {
	if f.wide == 0 {
		if s.seed == (maphash.Seed{}) {
			s.seed = maphash.MakeSeed() // no document can aim at it
		}
		if len(s.wide) == cap(s.wide) {
			s.wide = append(s.wide, nil)
		} else {
			s.wide = s.wide[:len(s.wide)+1] // with the table of an object that has been left
		}
		f.wide = int32(len(s.wide))
		s.wide[f.wide-1] = s.wide[f.wide-1][:0]
	}
	t := &s.wide[f.wide-1]
	last := len(s.names) - 1
	if count := len(s.names) - int(f.first); 2*count > len(*t) {
		size := 1 << bits.Len(uint(4*count-1)) // with room for as many again
		*t = slices.Grow((*t)[:0], size)[:size]
		clear(*t)
		for k := int(f.first); k < last; k++ {
			s.insert(*t, k)
		}
	}
	return s.insert(*t, last)
}

// insert adds names[at] to t. It reports false if t has an equal name.
func (s *scanner) insert(t table, at int) bool {
	content := s.content(s.names[at])
	hash := maphash.Bytes(s.seed, content)
	mask := len(t) - 1
	for i := int(hash) & mask; ; i = (i + 1) & mask {
		switch old := &t[i]; {
		case old.at == 0:
			*old = slot{int32(at + 1), uint32(hash >> 32)}
			return true
		case old.hash == uint32(hash>>32) && bytes.Equal(s.content(s.names[old.at-1]), content):
			return false
		}
	}
}
