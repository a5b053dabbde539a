package llm

import "bytes"

// lines reads JSON objects of which each begins a line (NDJSON), as they come. An object may go on in lines
// that begin with something else, as one that a gateway has indented does.
type lines struct {
	value   []byte // the object that is not complete yet
	nesting nesting
	begins  bool // a line begins
	skip    bool // the object is too large
}

func (l *lines) feed(p []byte, event func(data []byte)) {
	for len(p) > 0 {
		if l.begins && p[0] == '{' {
			l.end(event)
		}
		end := bytes.IndexByte(p, '\n') + 1
		if l.begins = end > 0; !l.begins {
			end = len(p)
		}
		if len(l.value)+end > maxAnswer {
			l.skip, l.value = true, nil
			event(nil)
		}
		if !l.skip {
			l.value = append(l.value, p[:end]...)
		}
		l.nesting.feed(p[:end])
		p = p[end:]
		if l.begins && l.nesting.depth <= 0 {
			l.end(event)
		}
	}
}

func (l *lines) end(event func(data []byte)) {
	switch value := bytes.TrimSpace(l.value); {
	case len(value) == 0:
	case value[0] != '{':
		event(damaged)
	default:
		event(value)
	}
	l.value, l.nesting, l.skip = l.value[:0], nesting{}, false
}
