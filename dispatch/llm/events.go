package llm

import "bytes"

// events reads a stream of server-sent events as it comes, in pieces of any size.
type events struct {
	line []byte // the line that is not complete yet
	data []byte // of the event that is not complete yet
	has  bool   // the event has data
	long bool   // the line is too large
	skip bool   // the event is too large
	cr   bool   // the last byte was the CR of a line's end
}

func (e *events) feed(p []byte, event func(data []byte)) {
	for len(p) > 0 {
		if e.cr && p[0] == '\n' {
			p = p[1:]
		}
		e.cr = false
		end := bytes.IndexAny(p, "\r\n")
		if end < 0 {
			e.add(p, event)
			return
		}
		e.cr = p[end] == '\r'
		e.add(p[:end], event)
		p = p[end+1:]
		e.endLine(event)
	}
}

// add adds to the line.
func (e *events) add(p []byte, event func(data []byte)) {
	if len(e.line)+len(p) > maxAnswer {
		e.long, e.skip, e.line = true, true, nil
		event(nil)
	}
	if e.long {
		return
	}
	e.line = append(e.line, p...)
}

func (e *events) endLine(event func(data []byte)) {
	line, long := e.line, e.long
	e.line, e.long = e.line[:0], false
	if long {
		return
	}
	if len(line) == 0 {
		e.flush(event)
		return
	}
	data, isData := bytes.CutPrefix(line, []byte("data:"))
	if !isData || e.skip {
		return
	}
	data = bytes.TrimPrefix(data, []byte{' '})
	if len(e.data)+len(data) > maxAnswer {
		e.skip = true
		event(nil)
		return
	}
	if e.has {
		e.data = append(e.data, '\n')
	}
	e.data, e.has = append(e.data, data...), true
}

// end ends the stream. Gemini's SDK takes an event that is not followed by an empty line.
func (e *events) end(event func(data []byte)) {
	if len(e.line) > 0 {
		e.endLine(event)
	}
	e.flush(event)
}

// flush ends the event.
func (e *events) flush(event func(data []byte)) {
	if e.has && !e.skip {
		event(e.data)
	}
	e.data, e.has, e.skip = e.data[:0], false, false
}
