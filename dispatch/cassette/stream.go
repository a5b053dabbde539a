package cassette

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"io"
	"slices"
	"strconv"
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
		message, _ := frame(body)
		return len(message)
	case strings.HasPrefix(contentType, "text/event-stream"):
		return min(end("\n\n"), end("\r\n\r\n"), end("\r\r"))
	case strings.Contains(contentType, "json") && rawjson.Kind(body) == '{':
		return end("\n")
	}
	return len(body)
}

// frame splits a binary stream behind its first message. payload is nil if the first message is not whole or is
// damaged; then message is all that is left. A message is its length, the length of its headers, a checksum of
// both, the headers, the payload and a checksum of all that, with numbers of 4 bytes.
func frame(body []byte) (message, payload []byte) {
	if len(body) < 16 {
		return body, nil
	}
	number := binary.BigEndian.Uint32
	n, headers := uint64(number(body)), uint64(number(body[4:]))
	if n < 16 || n > uint64(len(body)) || headers > n-16 ||
		crc32.ChecksumIEEE(body[:8]) != number(body[8:]) || crc32.ChecksumIEEE(body[:n-4]) != number(body[n-4:]) {
		return body, nil
	}
	return body[:n], body[12+headers : n-4]
}

// redactFrames redacts the payloads of a binary stream. What it cannot read is redacted as text, and so is a stream
// with a secret outside of the payloads.
func redactFrames(r *redact.Redactor, body []byte) (clean []byte) {
	var messages, payloads [][]byte
	for len(body) > 0 {
		message, payload := frame(body)
		if payload == nil {
			break
		}
		messages, payloads, body = append(messages, message), append(payloads, payload), body[len(message):]
	}
	for i, hidden := range redactEvents(r, payloads) {
		message, payload := messages[i], payloads[i]
		if bytes.Equal(hidden, payload) {
			clean = append(clean, message...)
			continue
		}
		changed := slices.Concat(message[:len(message)-4-len(payload)], hidden)
		binary.BigEndian.PutUint32(changed, uint32(len(changed)+4))
		binary.BigEndian.PutUint32(changed[8:], crc32.ChecksumIEEE(changed[:8]))
		clean = append(clean, binary.BigEndian.AppendUint32(changed, crc32.ChecksumIEEE(changed))...)
	}
	clean = append(clean, r.Redact(string(body))...)
	return []byte(r.Secrets.Redact(string(clean)))
}

// redactEvents redacts the events of a stream. The strings that have the same place in several events are
// parts of one text, so that a secret may begin in one event and end in another. Then the first event
// gets the whole text.
func redactEvents(r *redact.Redactor, events [][]byte) [][]byte {
	clean := slices.Clone(events)
	each := func(visit func(place digest, text string) string) {
		for i, event := range clean {
			if rawjson.Check(event, rawjson.Limits{}) == nil {
				if root := rawjson.Parse(event); replaceStrings(root, digest{}, visit) {
					clean[i] = root.Append(nil)
				}
			}
		}
	}
	whole := map[digest][]byte{}
	each(func(place digest, text string) string {
		text = r.Secrets.Redact(text)
		whole[place] = append(whole[place], text...)
		return text
	})
	for place, text := range whole {
		if whole[place] = []byte(r.Secrets.Redact(string(text))); bytes.Equal(whole[place], text) {
			delete(whole, place)
		}
	}
	if len(whole) > 0 {
		each(func(place digest, text string) string {
			if joined, ok := whole[place]; ok {
				text, whole[place] = string(joined), nil
			}
			return text
		})
	}
	for i, event := range clean {
		clean[i] = redactJSON(r, event)
	}
	return clean
}

// replaceStrings replaces the strings of an event, also in JSON in base64, and reports whether it changed.
// A place is the names of the members around a string, and the numbers of members such as index beside them,
// which tell blocks, items and choices apart.
func replaceStrings(v *rawjson.Node, place digest, replace func(place digest, text string) string) (changed bool) {
	below := func(name string) digest { return chained(place, sha256.Sum256([]byte(name))) }
	if rawjson.Kind(v.Text) == '"' {
		text := rawjson.Unquote(v.Text)
		inner, err := base64.StdEncoding.DecodeString(text)
		isJSON := err == nil && rawjson.Kind(inner) == '{' && rawjson.Check(inner, rawjson.Limits{}) == nil
		with := text
		if isJSON {
			if root := rawjson.Parse(inner); replaceStrings(root, place, replace) {
				with = base64.StdEncoding.EncodeToString(root.Append(nil))
			}
		} else {
			with = replace(place, text)
		}
		if with != text {
			v.Text = rawjson.Quote(with)
		}
		return with != text
	}
	for _, inner := range v.Nodes {
		if strings.HasSuffix(strings.ToLower(inner.Name), "index") && inner.Nodes == nil && rawjson.Kind(inner.Text) != '"' {
			place = below(string(inner.Text))
		}
	}
	for i, inner := range v.Nodes {
		name := inner.Name
		if rawjson.Kind(v.Text) == '[' {
			name = strconv.Itoa(i)
		}
		if replaceStrings(inner, below(name), replace) {
			changed = true
		}
	}
	return changed
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

// redactText redacts a stream of text event by event, since the JSON of an event must stay JSON.
func redactText(r *redact.Redactor, text string) string {
	var around [][2]string
	var data [][]byte
	eachEvent(text, func(before, of, after string) {
		around, data = append(around, [2]string{before, after}), append(data, []byte(of))
	})
	var b strings.Builder
	for i, clean := range redactEvents(r, data) {
		b.WriteString(around[i][0])
		b.Write(clean)
		b.WriteString(around[i][1])
	}
	return b.String()
}

// eachEvent calls f for the data of each event of a stream, with what stands before and after it: for lines, or for the
// elements of an array that may break off, as Gemini's has.
func eachEvent(text string, f func(before, data, after string)) {
	if rawjson.Kind([]byte(text)) != '[' {
		for line := range strings.Lines(text) {
			f(dataOf(line))
		}
		return
	}
	elements, at := json.NewDecoder(strings.NewReader(text)), int64(0)
	_, err := elements.Token()
	for err == nil && elements.More() {
		var element json.RawMessage
		if err = elements.Decode(&element); err == nil {
			end := elements.InputOffset()
			f(text[at:end-int64(len(element))], string(element), "")
			at = end
		}
	}
	f("", text[at:], "")
}

// dataOf splits a line at the data of an event; all is data in JSON Lines.
func dataOf(line string) (before, data, after string) {
	bare := strings.TrimRight(line, "\r\n")
	data, isData := strings.CutPrefix(bare, "data:")
	data = strings.TrimLeft(data, " ")
	if !isData {
		data = bare
	}
	return bare[:len(bare)-len(data)], data, line[len(bare):]
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
