package process

import (
	"fmt"
	"io"
	"slices"
)

// readAtMost reads up to limit bytes. If r has more, it stops and returns true.
func (s *Stream) readAtMost(r io.Reader, limit int) (overflow bool) {
	for err := error(nil); err == nil; {
		err = s.readSome(r)
		if len(s.Bytes) > limit {
			s.Bytes, s.Cut = s.Bytes[:limit], true
			return true
		}
	}
	return false
}

// readEnds reads r to its end. Of more than limit bytes it keeps the first half and the last half
// of the limit, with a line between them that counts the missing bytes. A stack trace has its
// reason at the beginning, a log at its end.
func (s *Stream) readEnds(r io.Reader, limit int) {
	head := limit / 2
	keep := func() {
		copy(s.Bytes[head:], s.Bytes[len(s.Bytes)-(limit-head):])
		s.Bytes, s.Cut = s.Bytes[:limit], true
	}
	for err := error(nil); err == nil; {
		err = s.readSome(r)
		if len(s.Bytes) > 2*limit {
			keep()
		}
	}
	if len(s.Bytes) > limit {
		keep()
	}
	if s.Cut {
		missing := fmt.Sprintf("\n[%d bytes left out]\n", s.Total-int64(limit))
		s.Bytes = slices.Insert(s.Bytes, head, []byte(missing)...)
	}
}

// readSome reads once into the free part of the buffer, which starts small: most outputs are short.
func (s *Stream) readSome(r io.Reader) error {
	if cap(s.Bytes)-len(s.Bytes) < 64 {
		s.Bytes = slices.Grow(s.Bytes, max(512, cap(s.Bytes)))
	}
	n, err := r.Read(s.Bytes[len(s.Bytes):cap(s.Bytes)])
	s.Bytes = s.Bytes[:len(s.Bytes)+n]
	s.Total += int64(n)
	return err
}
