package faulttest

import (
	"bytes"
	"compress/gzip"
	"strconv"
	"strings"
	"time"

	"github.com/toolwire/toolwire/internal/httpcall"
)

const (
	start = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n" // of an answer whose headers are not complete
	large = 2 << 20                                                 // bytes; no client takes as many
)

type rows []Row

// say answers with a text and closes the connection.
func say(format string, args ...any) func(*session) {
	return func(x *session) { x.write(format, args...); x.close() }
}

// connections are faults before and while the request is sent.
func connections() []Row {
	notSent := Want{Outcome: Broken, Delivery: NotSent}
	return []Row{
		{Name: "nothing listens", listen: nowhere, Want: notSent, sentinel: true},
		{Name: "reset at once", connect: (*session).reset, Want: Want{Outcome: Broken, Delivery: Either}},
		{Name: "closed at once", connect: (*session).close, Want: Want{Outcome: Broken, Delivery: Either}},
		{Name: "accepted and not read", connect: (*session).stall, Want: Want{Outcome: Canceled, Delivery: Either}},
		{Name: "reset in the request", connect: func(x *session) { _, _ = x.in.ReadByte(); x.reset() },
			Want: Want{Outcome: Broken}},
		{Name: "closed in the request", connect: func(x *session) { _, _ = x.in.ReadByte(); x.close() },
			Want: Want{Outcome: Broken}},
		{Name: "stalled in the request", connect: func(x *session) { _, _ = x.in.ReadByte(); x.stall() },
			Want: Want{Outcome: Canceled}},

		{Name: "TLS", listen: secure, serve: (*session).good, Requests: 1},
		{Name: "TLS expected, plain HTTP spoken", listen: naked, connect: say("HTTP/1.1 400 Bad Request\r\n\r\n"),
			Want: notSent},
		{Name: "TLS untrusted", listen: untrusted, serve: (*session).good, Want: notSent, sentinel: true},
		{Name: "TLS for another host", listen: misnamed, serve: (*session).good, Want: notSent},
		{Name: "TLS with an expired certificate", listen: expired, serve: (*session).good, Want: notSent},
		{Name: "TLS with HTTP/1 where HTTP/2 was agreed on", listen: lying, connect: say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"),
			Want: Want{Outcome: Broken, Delivery: Either}},
		{Name: "TLS with a record that is cut off", listen: secure, Requests: 1, Want: Want{Outcome: Broken, Status: 200},
			serve: func(x *session) {
				x.write("%s%s", x.head(), x.half())
				x.closed = true
				_, _ = x.tcp.Write([]byte("\x17\x03\x03\x01\x00half of a record"))
				_ = x.tcp.Close()
			}},
		{Name: "TLS with a record that is not encrypted", listen: secure, Requests: 1, Want: Want{Outcome: Broken},
			serve: func(x *session) {
				x.closed = true
				_, _ = x.tcp.Write([]byte("\x17\x03\x03\x00\x26HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"))
				_ = x.tcp.Close()
			}},
		{Name: "TLS closed in the handshake", listen: naked,
			connect: func(x *session) { _, _ = x.in.ReadByte(); x.close() }, Want: notSent},
		{Name: "TLS reset in the handshake", listen: naked,
			connect: func(x *session) { _, _ = x.in.ReadByte(); x.reset() }, Want: notSent},
		{Name: "TLS alert", listen: naked, connect: func(x *session) { x.helloAnd("\x15\x03\x03\x00\x02\x02\x28") },
			Want: notSent},
		{Name: "TLS garbage", listen: naked,
			connect: func(x *session) { x.helloAnd("\x16\x03\x03\x00\x04\x02\x00\x00\x00") }, Want: notSent},
		{Name: "TLS stalled in the handshake", listen: naked, connect: (*session).stall,
			Want: Want{Outcome: Canceled, Delivery: NotSent}},
		{Name: "TLS cut off without a close", listen: secure, Requests: 1, Want: Want{Outcome: BadBody, Status: 200},
			serve: func(x *session) {
				x.write("%sConnection: close\r\n\r\n%s", start, x.half())
				x.closed = true
				_ = x.tcp.Close() // of TCP, not of TLS; crypto/tls takes it for the end
			}},
		{Name: "TLS reset after the headers", listen: secure, Requests: 1, Want: Want{Outcome: Broken, Status: 200},
			serve: func(x *session) {
				x.write("%s", x.head())
				x.reset()
			}},
	}
}

// helloAnd answers the client's first TLS record with bytes.
func (x *session) helloAnd(answer string) {
	var hello [5]byte
	if n, _ := x.in.Read(hello[:]); n == 5 {
		_, _ = x.in.Discard(int(hello[3])<<8 | int(hello[4]))
	}
	x.write("%s", answer)
	x.close()
}

// heads are faults in place of an answer and in its headers.
func heads() []Row {
	broken, canceled := Want{Outcome: Broken}, Want{Outcome: Canceled}
	return rows{
		{Name: "reset before the answer", serve: (*session).reset, Want: broken, sentinel: true},
		{Name: "closed before the answer", serve: (*session).close, Want: broken, sentinel: true},
		{Name: "no answer", serve: (*session).stall, Want: canceled, sentinel: true},
		{Name: "not HTTP", serve: say("SSH-2.0-OpenSSH_9.9\r\n"), Want: broken, sentinel: true},
		{Name: "zeros", serve: say("%s", strings.Repeat("\x00", 100)), Want: broken},
		{Name: "a status line without a version", serve: say("200 OK\r\n\r\n"), Want: broken},
		{Name: "a status of four digits", serve: say("HTTP/1.1 2000 OK\r\n\r\n"), Want: broken},
		{Name: "the status 000", serve: say("HTTP/1.1 000 OK\r\nContent-Length: 2\r\n\r\n{}"), Want: broken, sentinel: true},
		{Name: "the status +99", serve: say("HTTP/1.1 +99 OK\r\nContent-Length: 2\r\n\r\n{}"), Want: broken},
		{Name: "a status that is not a number", serve: say("HTTP/1.1 abc OK\r\n\r\n"), Want: broken},
		{Name: "a status line that repeats the request's headers", Want: broken, serve: func(x *session) {
			var echo strings.Builder
			_ = x.request.Header.Write(&echo)
			x.write("%s", strings.ReplaceAll(echo.String(), "\r\n", " ")+x.request.Host+x.request.RequestURI+
				" HTTP/1.1\r\n\r\n")
			x.close()
		}},
		{Name: "closed in the status line", serve: say("HTTP/1.1 2"), Want: broken},
		{Name: "stalled in the status line", serve: func(x *session) { x.write("HTTP/1.1 2"); x.stall() },
			Want: canceled},
		{Name: "a header without a colon", serve: say("HTTP/1.1 200 OK\r\nYou sent me something\r\n\r\n"),
			Want: broken},
		{Name: "closed in the headers", serve: say(start), Want: broken},
		{Name: "reset in the headers", serve: func(x *session) { x.write(start); x.reset() }, Want: broken},
		{Name: "stalled in the headers", serve: func(x *session) { x.write(start); x.stall() }, Want: canceled,
			sentinel: true},
		{Name: "headers without end", serve: func(x *session) {
			x.write(start)
			x.flood("X-More: " + strings.Repeat("x",
				1000) + "\r\n")
		}, Want: broken, sentinel: true},
	}.each(1)
}

// bodies are faults after the headers.
func bodies() []Row {
	ok, broken, canceled := Want{}, Want{Outcome: Broken, Status: 200}, Want{Outcome: Canceled, Status: 200}
	tooLarge, bad := Want{Outcome: TooLarge, Status: 200}, Want{Outcome: BadBody, Status: 200}
	chunked := start + "Transfer-Encoding: chunked\r\n\r\n"
	untilClose := start + "Connection: close\r\n\r\n"
	zipped := start + "Content-Encoding: gzip\r\nConnection: close\r\n\r\n"
	headAnd := func(then func(*session)) func(*session) {
		return func(x *session) { x.write("%s", x.head()); then(x) }
	}
	halfAnd := func(then func(*session)) func(*session) {
		return func(x *session) { x.write("%s%s", x.head(), x.half()); then(x) }
	}
	chunksAnd := func(more string, then func(*session)) func(*session) {
		return func(x *session) {
			x.write("%s%x\r\n%s\r\n%s", chunked, len(x.server.good), x.server.good, more)
			then(x)
		}
	}
	return rows{
		{Name: "closed after the headers", serve: headAnd((*session).close), Want: broken},
		{Name: "reset after the headers", serve: headAnd((*session).reset), Want: broken},
		{Name: "stalled after the headers", serve: headAnd((*session).stall), Want: canceled},
		{Name: "closed in the body", serve: halfAnd((*session).close), Want: broken, sentinel: true},
		{Name: "reset in the body", serve: halfAnd((*session).reset), Want: broken},
		{Name: "stalled in the body", serve: halfAnd((*session).stall), Want: canceled, sentinel: true},
		{Name: "a body that trickles", Want: canceled, serve: func(x *session) {
			x.write("%sContent-Length: 100000\r\n\r\n", start)
			for range 50 {
				x.write(" ")
			}
			x.stall()
		}},
		{Name: "an empty body", serve: say(start + "Content-Length: 0\r\n\r\n"), Want: bad},
		{Name: "Content-Length too small", Want: bad, serve: func(x *session) {
			x.write("%sContent-Length: %d\r\nConnection: close\r\n\r\n%s", start, len(x.server.good)-1, x.server.good)
			x.close()
		}},
		{Name: "Content-Length twice and equal", serve: func(x *session) {
			x.write("%[1]sContent-Length: %[2]d\r\nContent-Length: %[2]d\r\n\r\n%[3]s", start, len(x.server.good),
				x.server.good)
		}, Want: ok},
		{Name: "Content-Length twice and different",
			serve: say(start + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}"), Want: Want{Outcome: Broken}},
		{Name: "Content-Length negative", serve: say(start + "Content-Length: -1\r\n\r\n{}"),
			Want: Want{Outcome: Broken}},
		{Name: "Content-Length not a number", serve: say(start + "Content-Length: two\r\n\r\n{}"),
			Want: Want{Outcome: Broken}},
		{Name: "Content-Length beyond 64 bits", serve: say(start + "Content-Length: 99999999999999999999\r\n\r\n{}"),
			Want: Want{Outcome: Broken}},
		{Name: "oversize, announced", serve: say("%sContent-Length: %d\r\n\r\n{", start, large), Want: tooLarge},
		{Name: "oversize, announced, and then nothing", serve: func(x *session) {
			x.write("%sContent-Length: %d\r\n\r\n", start, large)
			<-x.server.over
			x.close()
		}, Want: tooLarge, sentinel: true},
		{Name: "2^63-1 bytes are announced", serve: say(start + "Content-Length: 9223372036854775807\r\n\r\n{"),
			Want: tooLarge, sentinel: true},
		{Name: "no Content-Length, until the end",
			serve: func(x *session) { x.write("%s%s", untilClose, x.server.good); x.close() }, Want: ok},
		{Name: "no Content-Length, no end", serve: func(x *session) {
			x.write("%s%s", untilClose,
				x.server.good)
			x.stall()
		}, Want: canceled},
		{Name: "a stream without end", serve: func(x *session) {
			x.write("%s",
				untilClose)
			x.flood(strings.Repeat(" ", 64<<10))
		}, Want: tooLarge, sentinel: true},
		{Name: "Content-Length and chunks", serve: func(x *session) {
			x.write("%sContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", start,
				len(x.server.good), x.server.good)
			x.close()
		}, Want: ok},
		{Name: "an unknown Transfer-Encoding", serve: say(start + "Transfer-Encoding: rot13\r\n\r\n{}"),
			Want: Want{Outcome: Broken}},

		{Name: "chunks", serve: chunksAnd("0\r\n\r\n", func(*session) {}), Want: ok},
		{Name: "chunks with extensions", serve: func(x *session) {
			x.write("%s%x;name=value\r\n%s\r\n0\r\n\r\n", chunked, len(x.server.good), x.server.good)
		}, Want: ok},
		{Name: "chunks that are mostly extension",
			serve: func(x *session) { x.write("%s", chunked); x.flood("1;" + strings.Repeat("x", 3000) + "\r\n \r\n") },
			Want:  broken},
		{Name: "chunks with trailers", serve: chunksAnd("0\r\nX-Trailer: yes\r\n\r\n", func(*session) {}), Want: ok},
		{Name: "trailers that stall", serve: chunksAnd("0\r\nX-Trailer: yes\r\n", (*session).stall), Want: canceled},
		{Name: "a chunk size that is not a number", serve: say(chunked + "zz\r\n{}\r\n"), Want: broken},
		{Name: "a negative chunk size", serve: say(chunked + "-2\r\n{}\r\n"), Want: broken},
		{Name: "a chunk size beyond 64 bits", serve: say(chunked + "fffffffffffffffff\r\n{}"), Want: broken},
		{Name: "a chunk without its line end", serve: say(chunked + "2\r\n{}xx"), Want: broken},
		{Name: "closed in a chunk", serve: say(chunked + "ff\r\n{"), Want: broken},
		{Name: "closed before the last chunk", serve: chunksAnd("", (*session).close), Want: broken},
		{Name: "stalled before the last chunk", serve: chunksAnd("", (*session).stall), Want: canceled},
		{Name: "oversize, chunked", serve: func(x *session) {
			x.write("%s", chunked)
			x.flood("10000\r\n" + strings.Repeat(" ", 0x10000) + "\r\n")
		}, Want: tooLarge},

		{Name: "gzip", serve: func(x *session) { x.write("%s%s", zipped, zip([]byte(x.server.good))); x.close() },
			Want: ok},
		{Name: "gzip bomb", serve: func(x *session) { x.write("%s%s", zipped, bomb()); x.close() }, Want: tooLarge,
			sentinel: true},
		{Name: "gzip that is none", serve: func(x *session) { x.write("%s%s", zipped, x.server.good); x.close() },
			Want: broken},
		{Name: "gzip cut off", serve: func(x *session) {
			z := zip([]byte(x.server.good))
			x.write("%s%s", zipped, z[:len(z)-5])
			x.close()
		}, Want: broken},
	}.each(1)
}

func zip(data []byte) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(data)
	_ = z.Close()
	return b.String()
}

// bomb has 64 MiB of spaces in 64 KiB.
func bomb() string { return strings.Repeat(zip(bytes.Repeat([]byte(" "), 1<<20)), 64) }

// informational are answers with a status of 1xx, alone and before others.
func informational() []Row {
	early := "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
	thenGood := func(before string) func(*session) {
		return func(x *session) { x.write("%s", before); x.good() }
	}
	switching := "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"
	status := Want{Outcome: Status, Status: 101}
	return rows{
		{Name: "100 before the answer", serve: thenGood("HTTP/1.1 100 Continue\r\n\r\n")},
		{Name: "102 before the answer", serve: thenGood("HTTP/1.1 102 Processing\r\n\r\n")},
		{Name: "103 before the answer", serve: thenGood(early)},
		{Name: "199 before the answer", serve: thenGood("HTTP/1.1 199 Unknown\r\n\r\n")},
		{Name: "1,000 times 103 before the answer", serve: thenGood(strings.Repeat(early, 1000))},
		{Name: "103 without end", serve: func(x *session) { x.flood(strings.Repeat(early, 100)) },
			Want: Want{Outcome: Broken}},
		{Name: "100 and then closed", serve: say("HTTP/1.1 100 Continue\r\n\r\n"), Want: Want{Outcome: Broken}},
		{Name: "103 and then nothing", serve: func(x *session) { x.write("%s", early); x.stall() },
			Want: Want{Outcome: Canceled}},
		{Name: "101 and then nothing", serve: func(x *session) { x.write("%s", switching); <-x.server.over; x.close() },
			Want: status, sentinel: true},
		{Name: "101 and then a stream", serve: func(x *session) {
			x.write("%s",
				switching)
			x.flood(strings.Repeat(" ", 1000))
		}, Want: status},
		{Name: "101 and then closed", serve: say(switching), Want: status},
	}.each(1)
}

// statuses are answers that are not 200.
func statuses() []Row {
	list := rows{
		{Name: "204", serve: say("HTTP/1.1 204 No Content\r\n\r\n"), Want: Want{Outcome: Status, Status: 204},
			sentinel: true},
		{Name: "304", serve: say("HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n"),
			Want: Want{Outcome: Status, Status: 304}},
		{Name: "300 without a location", serve: say("HTTP/1.1 300 Multiple Choices\r\nContent-Length: 0\r\n\r\n"),
			Want: Want{Outcome: Status, Status: 300}},
		{Name: "408", serve: say("HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"),
			Want: Want{Outcome: Status, Status: 408}},
		{Name: "500 that is cut off", serve: say("HTTP/1.1 500 Internal Server Error\r\nContent-Length: 99\r\n\r\n{"),
			Want: Want{Outcome: Status, Status: 500}, sentinel: true},
	}
	for _, status := range []int{301, 302, 303, 307, 308} {
		list = append(list, Row{
			Name: "a redirect with " + strconv.Itoa(status),
			serve: func(x *session) {
				x.write("HTTP/1.1 %d Elsewhere\r\nLocation: http://%s/elsewhere\r\nContent-Length: 0\r\n\r\n", status,
					x.server.listener.Addr())
			},
			Want: Want{Outcome: Status, Status: status}, sentinel: status == 302,
		})
	}
	return list.each(1)
}

// retryAfter are the forms of the header.
func retryAfter() []Row {
	form := func(name string, want time.Duration, header func() string) Row {
		return Row{Name: "Retry-After " + name, Want: Want{Outcome: Status, Status: 429, RetryAfter: want},
			serve: func(x *session) {
				x.write("HTTP/1.1 429 Too Many Requests\r\n%sContent-Length: 0\r\n\r\n", header())
			}}
	}
	text := func(s string) func() string { return func() string { return s } }
	list := rows{
		form("absent", 0, text("")),
		form("in seconds", 7*time.Second, text("Retry-After: 7\r\n")),
		form("0", 0, text("Retry-After: 0\r\n")),
		form("negative", 0, text("Retry-After: -5\r\n")),
		form("with a fraction", 1500*time.Millisecond, text("Retry-After: 1.5\r\n")),
		form("99999999999", httpcall.LongestWait, text("Retry-After: 99999999999\r\n")),
		form("twice", 9*time.Second, text("Retry-After: 9\r\nRetry-After: 3\r\n")),
		form("twice in one", 9*time.Second, text("Retry-After: 3, 9\r\n")),
		form("not readable", 0, text("Retry-After: soon\r\n")),
		form("in the past", 0, func() string { return "Retry-After: " + date(-time.Hour) + "\r\n" }),
		form("as a date", time.Hour, func() string { return "Retry-After: " + date(time.Hour) + "\r\n" }),
	}
	list[len(list)-1].Want.Dated = true
	list[5].sentinel = true
	return list.each(1)
}

// keepAlive are faults of a connection that was good for one call.
func keepAlive() []Row {
	return rows{
		{Name: "kept alive", serve: (*session).good},
		{Name: "kept alive, closed before the second answer", serve: (*session).close, Want: Want{Outcome: Broken},
			sentinel: true},
		{Name: "kept alive, reset before the second answer", serve: (*session).reset, Want: Want{Outcome: Broken}},
		{Name: "kept alive, no second answer", serve: (*session).stall, Want: Want{Outcome: Canceled}},
		{Name: "kept alive, closed in the second body", Want: Want{Outcome: Broken, Status: 200},
			serve: func(x *session) {
				x.write("%s%s", x.head(), x.half())
				x.close()
			}},
	}.each(2)
}

// each completes rows.
func (list rows) each(requests int) []Row {
	for i := range list {
		list[i].Requests, list[i].warm = requests, requests == 2
	}
	return list
}
