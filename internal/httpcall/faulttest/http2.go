package faulttest

import (
	"encoding/binary"
	"io"
	"strings"
)

// The frames of HTTP/2 (RFC 9113) that a misbehaving peer needs.
const (
	frameData     = 0
	frameHeaders  = 1
	frameReset    = 3
	frameSettings = 4
	framePing     = 6
	frameGoAway   = 7
	frameWindow   = 8

	flagEndStream  = 1
	flagAck        = 1
	flagEndHeaders = 4

	errInternal = 2
	errRefused  = 7

	preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

	status200 = "\x88"                         // HPACK: entry 8 of the static table
	status103 = "\x08\x03103"                  // HPACK: :status, a literal
	length    = "\x0f\x0d"                     // HPACK: content-length, the name of a literal
	jsonType  = "\x0f\x10\x10application/json" // HPACK: content-type, a literal
	goodHead  = status200 + jsonType
)

// frame writes a frame.
func (x *session) frame(kind, flags byte, stream uint32, payload string) {
	b := make([]byte, 9, 9+len(payload))
	b[0], b[1], b[2] = byte(len(payload)>>16), byte(len(payload)>>8), byte(len(payload))
	b[3], b[4] = kind, flags
	binary.BigEndian.PutUint32(b[5:], stream)
	_, _ = x.conn.Write(append(b, payload...))
}

// nextRequest reads frames until a request has arrived, and returns its stream. It returns 0 if the
// connection ends.
func (x *session) nextRequest() uint32 {
	for {
		var head [9]byte
		if _, err := io.ReadFull(x.in, head[:]); err != nil {
			return 0
		}
		payload := make([]byte, int(head[0])<<16|int(head[1])<<8|int(head[2]))
		if _, err := io.ReadFull(x.in, payload); err != nil {
			return 0
		}
		kind, flags, stream := head[3], head[4], binary.BigEndian.Uint32(head[5:])
		switch {
		case kind == frameSettings && flags&flagAck == 0:
			x.frame(frameSettings, flagAck, 0, "")
		case kind == framePing && flags&flagAck == 0:
			x.frame(framePing, flagAck, 0, string(payload))
		case (kind == frameHeaders || kind == frameData) && flags&flagEndStream != 0:
			x.number = int(x.server.requests.Add(1))
			return stream
		}
	}
}

// onStream handles a connection of HTTP/2: answer is called for each request.
func onStream(answer func(x *session, stream uint32)) func(*session) {
	return func(x *session) {
		var hello [len(preface)]byte
		if _, err := io.ReadFull(x.in, hello[:]); err != nil {
			return
		}
		x.frame(frameSettings, 0, 0, "")
		for !x.closed {
			stream := x.nextRequest()
			if stream == 0 {
				return
			}
			answer(x, stream)
		}
	}
}

func (x *session) goodOn(stream uint32) {
	x.frame(frameHeaders, flagEndHeaders, stream, goodHead)
	x.frame(frameData, flagEndStream, stream, x.server.good)
}

// code is the payload of a reset.
func code(n uint32) string { return string(binary.BigEndian.AppendUint32(nil, n)) }

// goAway is the payload of a GOAWAY.
func goAway(last, reason uint32) string { return code(last) + code(reason) }

func http2() []Row {
	broken, canceled, begun := Want{Outcome: Broken}, Want{Outcome: Canceled}, Want{Outcome: Broken, Status: 200}
	row := func(name string, requests int, want Want, answer func(x *session, stream uint32)) Row {
		return Row{Name: "HTTP/2: " + name, listen: h2, Requests: requests, Want: want, connect: onStream(answer)}
	}
	// first makes a fault occur once. The transport repeats what the peer has surely not processed.
	first := func(fault func(x *session, stream uint32)) func(*session, uint32) {
		return func(x *session, stream uint32) {
			if x.number == 1 {
				fault(x, stream)
				return
			}
			x.goodOn(stream)
		}
	}
	list := []Row{
		row("a good answer", 1, Want{}, (*session).goodOn),
		row("closed before the answer", 1, broken, func(x *session, _ uint32) { x.close() }),
		row("reset by TCP before the answer", 1, broken, func(x *session, _ uint32) { x.reset() }),
		row("no answer", 1, canceled, func(x *session, _ uint32) { x.stall() }),
		row("RST_STREAM before the answer", 1, broken,
			func(x *session, stream uint32) { x.frame(frameReset, 0, stream, code(errInternal)) }),
		row("RST_STREAM REFUSED_STREAM, once", 2, Want{},
			first(func(x *session, stream uint32) { x.frame(frameReset, 0, stream, code(errRefused)) })),
		row("RST_STREAM REFUSED_STREAM, and then nothing", 2, canceled, func(x *session, stream uint32) {
			if x.number == 2 {
				x.stall()
			}
			x.frame(frameReset, 0, stream, code(errRefused))
		}),
		row("RST_STREAM after the headers", 1, begun, func(x *session, stream uint32) {
			x.frame(frameHeaders, flagEndHeaders, stream, goodHead)
			x.frame(frameReset, 0, stream, code(errInternal))
		}),
		row("RST_STREAM in the body", 1, begun, func(x *session, stream uint32) {
			x.frame(frameHeaders, flagEndHeaders, stream, goodHead)
			x.frame(frameData, 0, stream, x.half())
			x.frame(frameReset, 0, stream, code(errInternal))
		}),
		row("GOAWAY for a request that was not processed", 2, Want{}, first(func(x *session, _ uint32) {
			x.frame(frameGoAway, 0, 0, goAway(0, 0))
			x.close()
		})),
		row("GOAWAY for a request that was processed", 1, broken, func(x *session, stream uint32) {
			x.frame(frameGoAway, 0, 0, goAway(stream, 0))
			x.close()
		}),
		row("GOAWAY and then the answer", 1, Want{}, func(x *session, stream uint32) {
			x.frame(frameGoAway, 0, 0, goAway(stream, 0))
			x.goodOn(stream)
		}),
		row("GOAWAY in the body", 1, begun, func(x *session, stream uint32) {
			x.frame(frameHeaders, flagEndHeaders, stream, goodHead)
			x.frame(frameGoAway, 0, 0, goAway(stream, errInternal))
			x.close()
		}),
		row("closed in the body", 1, begun, func(x *session, stream uint32) {
			x.frame(frameHeaders, flagEndHeaders, stream, goodHead)
			x.frame(frameData, 0, stream, x.half())
			x.close()
		}),
		row("stalled in the body", 1, Want{Outcome: Canceled, Status: 200}, func(x *session, stream uint32) {
			x.frame(frameHeaders, flagEndHeaders, stream, goodHead)
			x.frame(frameData, 0, stream, x.half())
			x.stall()
		}),
		row("a body shorter than announced", 1, begun, func(x *session, stream uint32) {
			x.frame(frameHeaders, flagEndHeaders, stream, goodHead+length+"\x0299")
			x.frame(frameData, flagEndStream, stream, "{}")
		}),
		row("a body longer than announced", 1, begun, func(x *session, stream uint32) {
			x.frame(frameHeaders, flagEndHeaders, stream, goodHead+length+"\x012")
			x.frame(frameData, flagEndStream, stream, x.server.good)
		}),
		row("a body too large, announced", 1, Want{Outcome: TooLarge, Status: 200}, func(x *session, stream uint32) {
			x.frame(frameHeaders, flagEndHeaders, stream, goodHead+length+"\x079999999")
			<-x.server.over
			x.close()
		}),
		row("103 before the answer", 1, Want{}, func(x *session, stream uint32) {
			x.frame(frameHeaders, flagEndHeaders, stream, status103)
			x.goodOn(stream)
		}),
		row("trailers", 1, Want{}, func(x *session, stream uint32) {
			x.frame(frameHeaders, flagEndHeaders, stream, goodHead)
			x.frame(frameData, 0, stream, x.server.good)
			x.frame(frameHeaders, flagEndHeaders|flagEndStream, stream, "\x00\x01x\x01y")
		}),
		row("headers that are not HPACK", 1, broken,
			func(x *session, stream uint32) { x.frame(frameHeaders, flagEndHeaders, stream, "\xff\xff\xff\xff") }),
		row("headers without a status", 1, broken,
			func(x *session, stream uint32) { x.frame(frameHeaders, flagEndHeaders, stream, jsonType) }),
		row("data before the headers", 1, broken,
			func(x *session, stream uint32) { x.frame(frameData, 0, stream, "{}") }),
		row("a frame larger than allowed", 1, broken,
			func(x *session, stream uint32) { x.frame(frameData, 0, stream, strings.Repeat(" ", 1<<20)) }),
		row("HTTP/1 in place of frames", 1, broken, func(x *session, _ uint32) { x.good(); x.close() }),
	}
	list[6].sentinel = true // the one in which the transport repeats by itself
	return list
}
