package llm

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
)

// frames reads Amazon's binary stream of events (application/vnd.amazon.eventstream) as it comes. A frame is the
// length of all of it, the length of its headers, a checksum of both, the headers, the payload, and a
// checksum of all that.
type frames struct {
	frame  []byte // the frame that is not complete yet
	length int    // of that frame; 0 if its beginning is not complete
	skip   int64  // bytes that are left of a frame that is too large
	broken bool   // the next frame cannot be found
}

const (
	preludeLen  = 12
	checksumLen = 4
)

// damaged stands for an event that cannot be read. It is not valid JSON.
var damaged = []byte("{")

func (f *frames) feed(p []byte, event func(data []byte)) {
	for len(p) > 0 && !f.broken {
		if f.skip > 0 {
			n := min(f.skip, int64(len(p)))
			f.skip, p = f.skip-n, p[n:]
			continue
		}
		n := min(max(f.length, preludeLen)-len(f.frame), len(p))
		f.frame, p = append(f.frame, p[:n]...), p[n:]
		switch len(f.frame) {
		case preludeLen:
			f.begin(event)
		case f.length:
			f.finish(event)
		}
		if f.broken {
			event(damaged)
		}
	}
}

// begin reads the beginning of a frame.
func (f *frames) begin(event func(data []byte)) {
	length, headers := binary.BigEndian.Uint32(f.frame), binary.BigEndian.Uint32(f.frame[4:])
	switch {
	case crc32.ChecksumIEEE(f.frame[:8]) != binary.BigEndian.Uint32(f.frame[8:]),
		length < preludeLen+checksumLen, headers > length-preludeLen-checksumLen:
		f.broken = true
	case length > maxAnswer:
		f.skip, f.frame = int64(length)-preludeLen, nil
		event(nil)
	default:
		f.length = int(length)
	}
}

// finish reads a frame that is complete.
func (f *frames) finish(event func(data []byte)) {
	frame, sum := f.frame[:f.length-checksumLen], binary.BigEndian.Uint32(f.frame[f.length-checksumLen:])
	f.frame, f.length = f.frame[:0], 0
	if crc32.ChecksumIEEE(frame) != sum {
		f.broken = true
		return
	}
	end := preludeLen + binary.BigEndian.Uint32(frame[4:])
	headers, ok := frameHeaders(frame[preludeLen:end])
	if !ok {
		event(damaged)
		return
	}
	event(frameEvent(headers, frame[end:]))
}

// frameEvent returns the event of a frame: an object whose only member is the payload, under the name of the
// event, or the event of another format that a chunk contains.
func frameEvent(headers map[string]string, payload json.RawMessage) []byte {
	if headers[":message-type"] != "event" {
		return object("error", object())
	}
	if len(payload) == 0 {
		payload = json.RawMessage("{}")
	}
	name := headers[":event-type"]
	switch {
	case validate(payload) != nil:
		return damaged
	case name != "chunk":
		return object(name, payload)
	}
	data, err := base64.StdEncoding.DecodeString(textOf(payload, "bytes"))
	if err != nil {
		return damaged
	}
	return data
}

// frameHeaders returns the headers. Their values are the bytes of the frame, whatever their types.
func frameHeaders(p []byte) (headers map[string]string, ok bool) {
	headers = map[string]string{}
	for len(p) > 0 {
		name, rest, _ := cutLen(p[1:], int(p[0]))
		if len(rest) == 0 {
			return nil, false
		}
		kind, size := rest[0], 0
		rest = rest[1:]
		switch kind {
		case 0, 1: // true and false
		case 2, 3, 4, 5: // integers of 1, 2, 4 and 8 bytes
			size = 1 << (kind - 2)
		case 6, 7: // bytes and strings
			if len(rest) < 2 {
				return nil, false
			}
			size, rest = int(binary.BigEndian.Uint16(rest)), rest[2:]
		case 8: // a time
			size = 8
		case 9: // a UUID
			size = 16
		default:
			return nil, false
		}
		value, rest, ok := cutLen(rest, size)
		if !ok {
			return nil, false
		}
		headers[string(name)], p = string(value), rest
	}
	return headers, true
}

// cutLen cuts n bytes from the beginning of p.
func cutLen(p []byte, n int) (first, rest []byte, ok bool) {
	if len(p) < n {
		return nil, nil, false
	}
	return p[:n], p[n:], true
}

func (f *frames) end(event func(data []byte)) {
	if !f.broken && len(f.frame) > 0 {
		event(damaged)
	}
}
