package python

// indent is the indentation of a line.
type indent struct{ col, alt int } // in columns, with tabs of 8 and of 1

// indentation reads the white space at the beginning of a line.
func (s *scanner) indentation() error {
	var at indent
	continued := 0
	for ; ; s.pos++ {
		switch s.at(0) {
		case ' ':
			at.col++
			at.alt++
			continue
		case '\t':
			at.col = (at.col/8 + 1) * 8
			at.alt++
			continue
		case '\f':
			at = indent{}
			continue
		case '\\':
			s.pos++
			n := s.eol()
			if n == 0 {
				return s.fail(s.pos, "after a backslash the line must end")
			}
			s.pos += n - 1
			if continued == 0 {
				continued = at.col
			}
			continue
		}
		break
	}
	if n := s.eol(); n > 0 { // blank
		s.pos += n
		return nil
	}
	switch s.at(0) {
	case '#':
		s.comment()
		return nil
	case 0: // the end
		return nil
	}
	if continued > 0 {
		at.col, at.alt = continued, continued
	}
	s.start = false
	return s.indentTo(at)
}

// indentTo opens and closes blocks.
func (s *scanner) indentTo(at indent) error {
	now := s.indents[len(s.indents)-1]
	switch {
	case at.col > now.col:
		if at.alt <= now.alt {
			return s.fail(s.pos, "tabs and spaces are mixed in the indentation")
		}
		if !s.block {
			return s.fail(s.pos, "this line is indented without need")
		}
		if len(s.indents) > maxIndents {
			return s.fail(s.pos, "more than %d levels of indentation", maxIndents)
		}
		s.indents = append(s.indents, at)
		s.mod.blocks = append(s.mod.blocks, s.mod.next)
		s.block = false
		return nil
	case s.block:
		return s.fail(s.pos, "an indented block is needed here")
	}
	for at.col < now.col {
		s.indents = s.indents[:len(s.indents)-1]
		s.mod.blocks = s.mod.blocks[:len(s.mod.blocks)-1]
		now = s.indents[len(s.indents)-1]
	}
	if at.col != now.col {
		return s.fail(s.pos, "this line is indented as none before it")
	}
	if at.alt != now.alt {
		return s.fail(s.pos, "tabs and spaces are mixed in the indentation")
	}
	return nil
}
