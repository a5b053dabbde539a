package hostiletest

import (
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

// Kinds of HTTP/2 frames, and flags (RFC 9113, section 6).
const (
	frameData         = 0x0
	frameHeaders      = 0x1
	frameReset        = 0x3
	frameSettings     = 0x4
	framePing         = 0x6
	frameGoAway       = 0x7
	frameContinuation = 0x9

	flagEndStream  = 0x1
	flagAck        = 0x1
	flagEndHeaders = 0x4
)

// HTTP2 is a connection of a peer that writes HTTP/2 frames of its own.
type HTTP2 struct {
	*Conn
	GoingAway bool           // the server has announced the end of the connection
	Status    map[int]int    // by stream
	Reset     map[int]uint32 // error codes of streams that the server has reset
	ended     map[int]bool
	pong      bool
	settled   bool // the server has acknowledged the SETTINGS
}

// DialHTTP2 connects to the server, with prior knowledge and without compression of answers'
// headers. net/http hangs up if the SETTINGS do not arrive within two seconds, which can happen on a
// busy machine. Then DialHTTP2 connects again.
func (s *Server) DialHTTP2(t testing.TB) *HTTP2 {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		c := &HTTP2{Conn: s.Dial(t), Status: map[int]int{}, Reset: map[int]uint32{}, ended: map[int]bool{}}
		c.Write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
		c.Frame(frameSettings, 0, 0, "\x00\x01\x00\x00\x00\x00") // SETTINGS_HEADER_TABLE_SIZE = 0
		for !c.settled && c.read() {
		}
		if c.settled {
			return c
		}
	}
	t.Fatal("the server does not acknowledge SETTINGS")
	return nil
}

// Frame writes one frame.
func (c *HTTP2) Frame(kind, flags byte, stream int, payload string) {
	n := len(payload)
	head := []byte{byte(n >> 16), byte(n >> 8), byte(n), kind, flags, 0, 0, 0, 0}
	binary.BigEndian.PutUint32(head[5:], uint32(stream))
	c.Write(string(head) + payload)
}

// Headers opens a stream with header fields, name and value in turn. end says that no body follows.
func (c *HTTP2) Headers(stream int, end bool, fields ...string) {
	flags := byte(flagEndHeaders)
	if end {
		flags |= flagEndStream
	}
	c.Frame(frameHeaders, flags, stream, fieldBlock(fields...))
}

// Data sends a part of a body.
func (c *HTTP2) Data(stream int, end bool, body string) {
	var flags byte
	if end {
		flags = flagEndStream
	}
	c.Frame(frameData, flags, stream, body)
}

// fieldBlock writes literal fields that are never indexed, with lengths below 16 KiB.
func fieldBlock(fields ...string) string {
	var b strings.Builder
	for i := 0; i+1 < len(fields); i += 2 {
		b.WriteByte(0x10)
		for _, s := range fields[i : i+2] {
			if n := len(s); n < 127 {
				b.WriteByte(byte(n))
			} else {
				n -= 127
				b.Write([]byte{127, byte(n&127 | 128), byte(n >> 7)})
			}
			b.WriteString(s)
		}
	}
	return b.String()
}

// Wait reads until the stream has been answered or reset, or the server announces the end of the
// connection. It returns the status; 0 if there is none.
func (c *HTTP2) Wait(stream int) int {
	c.t.Helper()
	for !c.ended[stream] && !c.GoingAway && c.read() {
	}
	return c.Status[stream]
}

// Ping makes a round trip, so that everything that the server has written before has been read. It
// returns false if the connection has ended.
func (c *HTTP2) Ping() bool {
	c.t.Helper()
	c.pong = false
	c.Frame(framePing, 0, 0, "01234567")
	for !c.pong {
		if !c.read() {
			return false
		}
	}
	return true
}

// read takes one frame.
func (c *HTTP2) read() bool {
	c.t.Helper()
	var head [9]byte
	if _, err := io.ReadFull(c.in, head[:]); err != nil {
		c.mustBeEnd(err)
		return false
	}
	payload := make([]byte, int(head[0])<<16|int(head[1])<<8|int(head[2]))
	if _, err := io.ReadFull(c.in, payload); err != nil {
		c.mustBeEnd(err)
		return false
	}
	kind, flags, stream := head[3], head[4], int(binary.BigEndian.Uint32(head[5:])&^(1<<31))
	switch kind {
	case frameSettings:
		if flags&flagAck != 0 {
			c.settled = true
		} else {
			c.Frame(frameSettings, flagAck, 0, "")
		}
	case framePing:
		c.pong = c.pong || flags&flagAck != 0
	case frameGoAway:
		c.GoingAway = true
	case frameReset:
		c.Reset[stream], c.ended[stream] = binary.BigEndian.Uint32(payload), true
	case frameHeaders:
		status, err := statusOf(payload)
		if err != nil {
			c.t.Fatal(err)
		}
		if status != 0 && status != 100 {
			c.Status[stream] = status
		}
	}
	if (kind == frameData || kind == frameHeaders) && flags&flagEndStream != 0 {
		c.ended[stream] = true
	}
	return true
}

// statusOf reads the first field of a block, which is :status: an index into the static table, or a
// literal that Go's encoder writes with the index of the name.
func statusOf(block []byte) (int, error) {
	for len(block) > 0 && block[0]&0xe0 == 0x20 { // the size of the dynamic table, 0
		block = block[1:]
	}
	if len(block) < 1 {
		return 0, nil
	}
	switch first := block[0]; {
	case first&0x80 != 0:
		known := map[byte]int{8: 200, 9: 204, 10: 206, 11: 304, 12: 400, 13: 404, 14: 500}
		return known[first&0x7f], nil
	case first&0xe0 == 0 && first&0x0f >= 8 && first&0x0f <= 14:
		if len(block) < 2 || len(block) < 2+int(block[1]&0x7f) {
			return 0, fmt.Errorf("the header block %x is too short", block)
		}
		value := block[2 : 2+int(block[1]&0x7f)]
		if block[1]&0x80 == 0 {
			return digits(string(value))
		}
		return huffmanDigits(value)
	}
	return 0, fmt.Errorf("the header block %x does not begin with a status", block)
}

func digits(s string) (n int, err error) {
	_, err = fmt.Sscanf(s, "%d", &n)
	return n, err
}

// huffmanDigits decodes a number. Digits have codes of five and six bits (RFC 7541, appendix B).
func huffmanDigits(value []byte) (int, error) {
	bits := ""
	for _, b := range value {
		bits += fmt.Sprintf("%08b", b)
	}
	text := ""
	for len(bits) >= 5 && strings.Contains(bits, "0") {
		if d := strings.Index("00000 00001 00010", bits[:5]); d >= 0 {
			text, bits = text+string(rune('0'+d/6)), bits[5:]
			continue
		}
		if len(bits) < 6 {
			break
		}
		d := strings.Index("011001 011010 011011 011100 011101 011110 011111", bits[:6])
		if d < 0 {
			return 0, fmt.Errorf("the bits %s are not a digit", bits)
		}
		text, bits = text+string(rune('3'+d/7)), bits[6:]
	}
	return digits(text)
}
