package cassette

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/crc32"
	"io"
	"slices"
	"strings"

	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/redact"
)

// eventStream is the media type of the binary streams of Amazon Bedrock.
const eventStream = "application/vnd.amazon.eventstream"

// nextEvent returns the length of the first event of a body: up to an empty line in a stream of
// server-sent events, a line of JSON Lines, a message of a binary stream, or else the whole body.
func nextEvent(contentType string, body []byte) int {
	end := func(mark string) int {
		if at := bytes.Index(body, []byte(mark)); at >= 0 {
			return at + len(mark)
		}
		return len(body)
	}
	switch {
	case strings.HasPrefix(contentType, eventStream):
		return frame(body)
	case strings.HasPrefix(contentType, "text/event-stream"):
		return min(end("\n\n"), end("\r\n\r\n"), end("\r\r"))
	case strings.Contains(contentType, "json") && rawjson.Kind(body) == '{':
		return end("\n")
	}
	return len(body)
}

// frame returns the length of the first message of a binary stream, or of all that is left if it is
// not whole. A message is its length, the length of its headers, a checksum of both, the headers, the
// payload and a checksum of the whole, with numbers of 4 bytes.
func frame(body []byte) int {
	if len(body) < 16 {
		return len(body)
	}
	n, headers := uint64(binary.BigEndian.Uint32(body)), uint64(binary.BigEndian.Uint32(body[4:]))
	if n < 16 || n > uint64(len(body)) || headers > n-16 {
		return len(body)
	}
	return int(n)
}

// redactFrames redacts the payloads of a binary stream. What it cannot read is redacted as text.
func redactFrames(r *redact.Redactor, body []byte) (clean []byte) {
	for len(body) > 0 {
		n := frame(body)
		message, rest := body[:n], body[n:]
		body = rest
		headers := 0
		if n >= 16 {
			headers = int(binary.BigEndian.Uint32(message[4:]))
		}
		if n < 16 || binary.BigEndian.Uint32(message) != uint32(n) || headers > n-16 {
			return append(clean, r.Redact(string(message))...)
		}
		payload := message[12+headers : n-4]
		hidden := redactJSON(r, payload)
		if bytes.Equal(hidden, payload) {
			clean = append(clean, message...)
			continue
		}
		changed := slices.Concat(message[:12+headers], hidden)
		binary.BigEndian.PutUint32(changed, uint32(len(changed)+4))
		binary.BigEndian.PutUint32(changed[8:], crc32.ChecksumIEEE(changed[:8]))
		clean = append(clean, binary.BigEndian.AppendUint32(changed, crc32.ChecksumIEEE(changed))...)
	}
	return clean
}

// redactJSON redacts a text that may be JSON. If there is no secret in it, it stays as it is.
func redactJSON(r *redact.Redactor, body []byte) []byte {
	switch _, raw, text := r.Body(body); {
	case raw == nil:
		return []byte(text)
	case bytes.Equal(raw, rawjson.Compact(body)):
		return body
	default:
		return raw
	}
}

// redactLines redacts a stream of text line by line, since the JSON of an event must stay JSON.
func redactLines(r *redact.Redactor, text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		bare := strings.TrimRight(line, "\r\n")
		data, isData := strings.CutPrefix(bare, "data:")
		data = strings.TrimLeft(data, " ")
		if !isData {
			data = bare
		}
		b.WriteString(bare[:len(bare)-len(data)])
		b.Write(redactJSON(r, []byte(data)))
		b.WriteString(line[len(bare):])
	}
	return b.String()
}

// events is the body of a response that is replayed: each read returns at most one event.
type events struct {
	ctx         context.Context
	contentType string
	body        []byte
	left        int // of the event that is read
	broken      bool
}

// Read implements [io.Reader].
func (e *events) Read(p []byte) (int, error) {
	if err := e.ctx.Err(); err != nil {
		return 0, err
	}
	if len(e.body) == 0 {
		if e.broken {
			return 0, io.ErrUnexpectedEOF
		}
		return 0, io.EOF
	}
	if e.left == 0 {
		e.left = nextEvent(e.contentType, e.body)
	}
	n := copy(p, e.body[:e.left])
	e.body, e.left = e.body[n:], e.left-n
	return n, nil
}

// Close implements [io.Closer].
func (e *events) Close() error { return nil }
