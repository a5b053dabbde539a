package hostiletest

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Rows are hostile requests with HTTP/1: framing, credentials, bodies and connections.
var Rows = slices.Concat(framing, lines, credentials, refusedBodies, bodies, connections)

// Sentinels are the rows that show that a handler takes requests through package httpserve.
func Sentinels() []Row {
	return Select(Rows,
		"a good request", "two lengths that differ", "no credential", "the credential twice", "another credential",
		"no credential, the body is withheld", "no credential, half of the body is withheld", "no credential, chunks without an end",
		"no credential, the continuation is asked for and the body withheld", "no credential, a huge body is announced",
		"no credential, 2^63-1 bytes are announced", "2^63-1 bytes are announced",
		"no credential, the body is a good request", "no credential, the body is a part of a good request",
		"PATCH, the body is there", "PATCH, the body is withheld",
		"one byte too many is announced and there", "one byte too many is announced and withheld", "one byte too many in chunks",
		"far too many bytes in chunks", "a body that ends too early", "the continuation is asked for", "byte by byte",
		"refused, then good", "HTTP/1.0, no credential, the body is withheld",
	)
}

// one makes a row of a single write.
func one(part func(s *Subject) string) func(s *Subject) []string {
	return func(s *Subject) []string { return []string{part(s)} }
}

// with sends the body with an authenticated head of these lines.
func with(lines ...string) func(s *Subject) []string {
	return one(func(s *Subject) string {
		return s.post(s.Body, append([]string{s.Credential, length(s.Body)}, lines...)...)
	})
}

// encoded sends chunks with an authenticated head of these lines.
func encoded(lines ...string) func(s *Subject) []string {
	return one(func(s *Subject) string { return s.post(chunks(s.Body), append([]string{s.Credential}, lines...)...) })
}

// chunked sends a body that is made of the good one, as it is, after an authenticated head that
// announces chunks.
func chunked(body func(good string) string) func(s *Subject) []string {
	return one(func(s *Subject) string { return s.post(body(s.Body), s.Credential, "Transfer-Encoding: chunked") })
}

func chunk(s string) string  { return fmt.Sprintf("%x\r\n%s\r\n", len(s), s) }
func chunks(s string) string { return chunk(s[:1]) + chunk(s[1:]) + "0\r\n\r\n" }

func announced[N int | int64](n N) string { return fmt.Sprintf("Content-Length: %d", n) }

func spaces(n int) string { return strings.Repeat(" ", n) }

// framing is about where a request ends. What net/http refuses never reaches a handler, and ends
// the connection.
var framing = []Row{
	{Name: "a good request", Send: with(), Want: []int{200}, Runs: 1, Usable: true},
	{Name: "chunks", Send: encoded("Transfer-Encoding: chunked"), Want: []int{200}, Runs: 1, Usable: true},
	{Name: "chunks and a length", Send: encoded("Transfer-Encoding: chunked", "Content-Length: 3"), Want: []int{200}, Runs: 1, Usable: true},
	{Name: "a length and chunks", Send: encoded("Content-Length: 3", "Transfer-Encoding: chunked"), Want: []int{200}, Runs: 1, Usable: true},
	{
		Name: "no chunks behind a length",
		Send: one(func(s *Subject) string {
			return s.post(s.Body+"\r\n", s.Credential, length(s.Body), "Transfer-Encoding: chunked")
		}),
		Want: []int{400},
	},
	{
		Name: "two lengths that are equal",
		Send: one(func(s *Subject) string { return s.post(s.Body, s.Credential, length(s.Body), length(s.Body)) }),
		Want: []int{200}, Runs: 1, Usable: true,
	},
	{Name: "two lengths that differ", Send: with("Content-Length: 5"), Want: []int{400}},
	{
		Name: "a list of lengths",
		Send: one(func(s *Subject) string {
			return s.post(s.Body, s.Credential, fmt.Sprintf("%s, %d", length(s.Body), len(s.Body)))
		}),
		Want: []int{400},
	},
	{Name: "a length with a sign", Send: one(func(s *Subject) string {
		return s.post(s.Body, s.Credential, fmt.Sprintf("Content-Length: +%d", len(s.Body)))
	}), Want: []int{400}},
	{Name: "a negative length", Send: one(func(s *Subject) string { return s.post(s.Body, s.Credential, "Content-Length: -1") }), Want: []int{400}},
	{Name: "a hexadecimal length", Send: one(func(s *Subject) string { return s.post(s.Body, s.Credential, "Content-Length: 0x10") }), Want: []int{400}},
	{Name: "an empty length", Send: one(func(s *Subject) string { return s.post(s.Body, s.Credential, "Content-Length:") }), Want: []int{400}},
	{
		Name: "a length beyond 64 bits",
		Send: one(func(s *Subject) string { return s.post(s.Body, s.Credential, "Content-Length: 99999999999999999999") }), Want: []int{400},
	},
	{Name: "no length", Send: one(func(s *Subject) string { return s.post("", s.Credential) }), Want: []int{400}, Usable: true},
	{Name: "identity", Send: encoded("Transfer-Encoding: identity"), Want: []int{501}},
	{Name: "chunked twice", Send: encoded("Transfer-Encoding: chunked, chunked"), Want: []int{501}},
	{Name: "two headers with chunked", Send: encoded("Transfer-Encoding: chunked", "Transfer-Encoding: chunked"), Want: []int{501}},
	{Name: "gzip and chunked", Send: encoded("Transfer-Encoding: gzip, chunked"), Want: []int{501}},
	{Name: "xchunked", Send: encoded("Transfer-Encoding: xchunked"), Want: []int{501}},
	{Name: "chunked after a vertical tab", Send: encoded("Transfer-Encoding: \vchunked"), Want: []int{400}},
	{Name: "chunked with a space before the colon", Send: encoded("Transfer-Encoding : chunked"), Want: []int{400}},
	{Name: "chunked in a folded line", Send: encoded("Transfer-Encoding:\r\n chunked"), Want: []int{200}, Runs: 1, Usable: true},
	{Name: "a chunk with an extension", Send: chunked(func(s string) string {
		return fmt.Sprintf("%x;a=b\r\n%s\r\n0\r\n\r\n", len(s), s)
	}), Want: []int{200}, Runs: 1, Usable: true},
	{Name: "a trailer", Send: chunked(func(s string) string { return chunk(s) + "0\r\nX-Trailer: x\r\n\r\n" }), Want: []int{200}, Runs: 1, Usable: true},
	{Name: "a chunk size that ends with a bare line feed", Send: chunked(func(s string) string {
		return fmt.Sprintf("%x\n%s\r\n0\r\n\r\n", len(s), s)
	}), Want: []int{400}},
	{Name: "a negative chunk size", Send: chunked(func(s string) string { return "-1\r\n" + s + "\r\n0\r\n\r\n" }), Want: []int{400}},
	{Name: "a chunk size with 0x", Send: chunked(func(s string) string { return "0x" + chunks(s) }), Want: []int{400}},
	{Name: "a chunk size beyond 64 bits", Send: chunked(func(s string) string { return "fffffffffffffffff\r\n" + s + "\r\n0\r\n\r\n" }), Want: []int{400}},
	{Name: "a chunk that is longer than its size", Send: chunked(func(s string) string { return "3\r\n" + s + "\r\n0\r\n\r\n" }), Want: []int{400}},
	{Name: "a chunk with a long extension", Send: chunked(func(s string) string {
		return fmt.Sprintf("%x;a=%s\r\n%s\r\n0\r\n\r\n", len(s), strings.Repeat("b", 9000), s)
	}), Want: []int{400}},
	{
		Name: "a length that is too short",
		Send: one(func(s *Subject) string { return s.post(s.Body+"\r\n\r\n", s.Credential, announced(len(s.Body)-1)) }),
		Want: []int{400, 400},
	},
}

// lines is about request lines and headers.
var lines = []Row{
	{Name: "bare line feeds", Send: one(func(s *Subject) string {
		head, body, _ := strings.Cut(s.Good(), "\r\n\r\n")
		return strings.ReplaceAll(head, "\r\n", "\n") + "\n\n" + body
	}), Want: []int{200}, Runs: 1, Usable: true},
	{Name: "a bare carriage return in a header", Send: with("X-A: a\rb"), Want: []int{400}},
	{Name: "a null byte in a header", Send: with("X-A: a\x00b"), Want: []int{400}},
	{Name: "a header without a name", Send: with(": x"), Want: []int{400}},
	{Name: "a header without a colon", Send: with("X-A"), Want: []int{400}},
	{Name: "a header name with a space", Send: with("X A: x"), Want: []int{400}},
	{Name: "a folded first line", Send: one(func(s *Subject) string {
		return strings.Replace(s.Good(), "\r\nHost", "\r\n X-A: x\r\nHost", 1)
	}), Want: []int{400}},
	{Name: "no host", Send: one(func(s *Subject) string { return strings.Replace(s.Good(), "Host: agent.example\r\n", "", 1) }), Want: []int{400}},
	{Name: "two hosts", Send: with("Host: other.example"), Want: []int{400}},
	{Name: "a host with a space", Send: one(func(s *Subject) string { return strings.Replace(s.Good(), "agent.example", "a b", 1) }), Want: []int{400}},
	{Name: "a method in lower case", Send: one(func(s *Subject) string { return strings.Replace(s.Good(), "POST", "post", 1) }), Want: []int{405}, Usable: true},
	{Name: "a method with a colon", Send: one(func(s *Subject) string { return strings.Replace(s.Good(), "POST", "PO:ST", 1) }), Want: []int{400}},
	{Name: "no version", Send: one(func(s *Subject) string { return strings.Replace(s.Good(), " HTTP/1.1", "", 1) }), Want: []int{400}},
	{Name: "two spaces in the request line", Send: one(func(s *Subject) string { return strings.Replace(s.Good(), "POST ", "POST  ", 1) }), Want: []int{400}},
	{Name: "HTTP/2.0 in the request line", Send: one(func(s *Subject) string { return strings.Replace(s.Good(), "HTTP/1.1", "HTTP/2.0", 1) }), Want: []int{505}},
	{Name: "HTTP/3.0 in the request line", Send: one(func(s *Subject) string { return strings.Replace(s.Good(), "HTTP/1.1", "HTTP/3.0", 1) }), Want: []int{505}},
	{Name: "headers of 2 MiB", Send: with("X-A: " + strings.Repeat("x", 2<<20)), Want: []int{431}},
}

// credentials is about who is admitted. None of those who are not reaches the user's code.
var credentials = []Row{
	{Name: "no credential", Send: one(func(s *Subject) string { return s.post(s.Body, length(s.Body)) }), Want: []int{401}, Usable: true},
	{Name: "the credential twice", Send: one(func(s *Subject) string { return s.Signed(s.Credential+"x", s.Credential) }), Want: []int{401}, Usable: true},
	{Name: "another credential", Send: one(func(s *Subject) string { return s.Signed(s.Credential + "x") }), Want: []int{401}, Usable: true},
	{Name: "a part of the credential", Send: one(func(s *Subject) string { return s.Signed(s.Credential[:len(s.Credential)-1]) }), Want: []int{401}, Usable: true},
	{Name: "a long credential", Send: one(func(s *Subject) string { return s.Signed(s.Credential + strings.Repeat("x", 100<<10)) }), Want: []int{401}, Usable: true},
	{Name: "an empty credential", Send: one(func(s *Subject) string { return s.Signed(s.header() + ":") }), Want: []int{401}, Usable: true},
	{Name: "two credentials in one header", Send: one(func(s *Subject) string { return s.Signed(s.Credential + ", " + s.value()) }), Want: []int{401}, Usable: true},
	{Name: "the credential in another case", Send: one(func(s *Subject) string { return s.Signed(s.header() + ": " + strings.ToUpper(s.value())) }), Want: []int{401}, Usable: true},
	{Name: "the header in upper case", Send: one(func(s *Subject) string { return s.Signed(strings.ToUpper(s.header()) + ": " + s.value()) }), Want: []int{200}, Runs: 1, Usable: true},
	{Name: "white space around the credential", Send: one(func(s *Subject) string { return s.Signed(s.header() + ": \t " + s.value() + " \t") }), Want: []int{200}, Runs: 1, Usable: true},
	{Name: "a space before the colon of the credential", Send: one(func(s *Subject) string { return s.Signed(s.header() + " : " + s.value()) }), Want: []int{400}},
	{Name: "a control character in the credential", Send: one(func(s *Subject) string { return s.Signed(s.Credential + "\x01") }), Want: []int{400}},
	{Name: "bytes beyond ASCII in the credential", Send: one(func(s *Subject) string { return s.Signed(s.Credential + "\xff") }), Want: []int{401}, Usable: true},
	{Name: "the credential in a trailer", Send: one(func(s *Subject) string {
		return s.post(chunk(s.Body)+"0\r\n"+s.Credential+"\r\n\r\n", "Transfer-Encoding: chunked", "Trailer: "+s.header())
	}), Want: []int{401}, Usable: true},
	{Name: "the credential in the query", Send: one(func(s *Subject) string {
		return strings.Replace(s.post(s.Body, length(s.Body)), s.Path, s.Path+"?"+strings.Replace(strings.ReplaceAll(s.Credential, " ", "+"), ":", "=", 1), 1)
	}), Want: []int{401}, Usable: true},
	{Name: "the credential in the body", Send: one(func(s *Subject) string {
		return s.post(s.Credential+"\r\n\r\n"+s.Body, announced(len(s.Credential)+4+len(s.Body)))
	}), Want: []int{401}, Usable: true},
	{Name: "the credential for a proxy", Send: one(func(s *Subject) string { return s.Signed("Proxy-" + s.Credential) }), Want: []int{401}, Usable: true},
}

// Bearers are requests about the scheme, for handlers whose credential is in Authorization.
var Bearers = []Row{
	{Name: "the scheme in lower case", Send: one(func(s *Subject) string { return s.Signed(strings.Replace(s.Credential, "Bearer", "bearer", 1)) }), Want: []int{200}, Runs: 1, Usable: true},
	{Name: "the scheme in upper case", Send: one(func(s *Subject) string { return s.Signed(strings.Replace(s.Credential, "Bearer", "BEARER", 1)) }), Want: []int{200}, Runs: 1, Usable: true},
	{Name: "spaces after the scheme", Send: one(func(s *Subject) string { return s.Signed(strings.Replace(s.Credential, "Bearer ", "Bearer   ", 1)) }), Want: []int{200}, Runs: 1, Usable: true},
	{Name: "a tab after the scheme", Send: one(func(s *Subject) string { return s.Signed(strings.Replace(s.Credential, "Bearer ", "Bearer\t", 1)) }), Want: []int{401}, Usable: true},
	{Name: "the scheme alone", Send: one(func(s *Subject) string { return s.Signed("Authorization: Bearer") }), Want: []int{401}, Usable: true},
	{Name: "the scheme twice", Send: one(func(s *Subject) string { return s.Signed(strings.Replace(s.Credential, "Bearer", "Bearer Bearer", 1)) }), Want: []int{401}, Usable: true},
	{Name: "no scheme", Send: one(func(s *Subject) string { return s.Signed(strings.Replace(s.Credential, "Bearer ", "", 1)) }), Want: []int{401}, Usable: true},
	{Name: "another scheme", Send: one(func(s *Subject) string { return s.Signed(strings.Replace(s.Credential, "Bearer", "Basic", 1)) }), Want: []int{401}, Usable: true},
	{Name: "a scheme that begins alike", Send: one(func(s *Subject) string { return s.Signed(strings.Replace(s.Credential, "Bearer", "BearerX", 1)) }), Want: []int{401}, Usable: true},
	{Name: "the credential in a folded line", Send: one(func(s *Subject) string { return s.Signed(strings.Replace(s.Credential, "Bearer ", "Bearer\r\n ", 1)) }), Want: []int{200}, Runs: 1, Usable: true},
}

// refusedBodies is about bodies that are not read, because the request is refused before that.
var refusedBodies = []Row{
	{
		Name: "no credential, the body is withheld",
		Send: one(func(s *Subject) string { return s.post("", length(s.Body)) }), Want: []int{401}, Withheld: true,
	},
	{
		Name: "no credential, half of the body is withheld",
		Send: one(func(s *Subject) string { return s.post(s.Body[:len(s.Body)/2], length(s.Body)) }),
		Want: []int{401}, Withheld: true,
	},
	{
		Name: "no credential, chunks without an end",
		Send: one(func(s *Subject) string { return s.post(chunk(s.Body), "Transfer-Encoding: chunked") }),
		Want: []int{401}, Withheld: true,
	},
	{
		Name: "no credential, half of a chunk",
		Send: one(func(s *Subject) string { return s.post("50\r\n{", "Transfer-Encoding: chunked") }),
		Want: []int{401}, Withheld: true,
	},
	{
		Name: "no credential, broken chunks",
		Send: one(func(s *Subject) string { return s.post("x\r\n"+s.Good(), "Transfer-Encoding: chunked") }),
		Want: []int{401},
	},
	{
		Name: "no credential, the continuation is asked for and the body withheld",
		Send: one(func(s *Subject) string { return s.post("", length(s.Body), "Expect: 100-continue") }),
		Want: []int{401}, Withheld: true,
	},
	{
		Name: "no credential, the continuation is asked for and not waited for",
		Send: one(func(s *Subject) string { return s.post(s.Body, length(s.Body), "Expect: 100-continue") }),
		Want: []int{401},
	},
	{
		Name: "no credential, a huge body is announced",
		Send: one(func(s *Subject) string { return s.post("{", announced(int64(9_000_000_000_000))) }), Want: []int{401},
	},
	{
		Name: "no credential, 2^63-1 bytes are announced",
		Send: one(func(s *Subject) string { return s.post("{", announced(int64(math.MaxInt64))) }), Want: []int{401}, Withheld: true,
	},
	{
		Name: "no credential, the body is a good request",
		Send: one(func(s *Subject) string { return s.post(s.Good(), length(s.Good())) }), Want: []int{401}, Usable: true,
	},
	{
		Name: "no credential, the body is a part of a good request",
		Send: one(func(s *Subject) string { return s.post(s.Good(), announced(len(s.Good())+1)) }), Want: []int{401}, Withheld: true,
	},
	{
		Name: "no credential, the body is many good requests",
		Send: one(func(s *Subject) string {
			many := strings.Repeat(s.Good(), 400<<10/len(s.Good()))
			return s.post(many, length(many))
		}),
		Want: []int{401},
	},
	{
		Name: "no credential, the chunks are good requests",
		Send: one(func(s *Subject) string {
			return s.post(chunks(s.Good()), "Transfer-Encoding: chunked")
		}),
		Want: []int{401}, Usable: true,
	},
	{
		Name: "PATCH, the body is there",
		Send: one(func(s *Subject) string { return strings.Replace(s.Good(), "POST", "PATCH", 1) }),
		Want: []int{405}, Usable: true,
	},
	{
		Name: "PATCH, the body is withheld",
		Send: one(func(s *Subject) string {
			return strings.Replace(s.post("", s.Credential, length(s.Body)), "POST", "PATCH", 1)
		}),
		Want: []int{405}, Withheld: true,
	},
	{
		Name: "PATCH, chunks without an end",
		Send: one(func(s *Subject) string {
			return strings.Replace(s.post(chunk(s.Body), s.Credential, "Transfer-Encoding: chunked"), "POST", "PATCH", 1)
		}),
		Want: []int{405}, Withheld: true,
	},
}

// bodies is about the bodies of authenticated requests.
var bodies = []Row{
	{
		Name: "the longest body",
		Send: one(func(s *Subject) string { return s.sized(s.MaxBody) }), Want: []int{200}, Runs: 1, Usable: true,
	},
	{
		Name: "one byte too many is announced and there",
		Send: one(func(s *Subject) string { return s.sized(s.MaxBody + 1) }), Want: []int{413}, Usable: true,
	},
	{
		Name: "one byte too many is announced and withheld",
		Send: one(func(s *Subject) string { return s.post("", s.Credential, announced(s.MaxBody+1)) }), Want: []int{413}, Withheld: true,
	},
	{
		Name: "one byte too many in chunks",
		Send: chunkedTo(1), Want: []int{413}, Usable: true,
	},
	{
		Name: "far too many bytes in chunks",
		Send: chunkedTo(400 << 10), Want: []int{413},
	},
	{
		Name: "too many bytes in chunks without an end",
		Send: one(func(s *Subject) string {
			return s.post(chunk(spaces(s.MaxBody+1)), s.Credential, "Transfer-Encoding: chunked")
		}),
		Want: []int{413}, Withheld: true,
	},
	{
		Name: "a huge body is announced",
		Send: one(func(s *Subject) string { return s.post("{", s.Credential, announced(int64(9_000_000_000_000))) }), Want: []int{413},
	},
	{
		Name: "2^63-1 bytes are announced",
		Send: one(func(s *Subject) string { return s.post("{", s.Credential, announced(int64(math.MaxInt64))) }),
		Want: []int{413}, Withheld: true,
	},
	{
		Name: "2^63-1 bytes are announced, and a good request follows",
		Send: one(func(s *Subject) string { return s.post(s.Good(), s.Credential, announced(int64(math.MaxInt64))) }),
		Want: []int{413}, Withheld: true,
	},
	{
		Name: "a huge body is announced, and the continuation asked for",
		Send: one(func(s *Subject) string {
			return s.post("", s.Credential, announced(int64(9_000_000_000_000)), "Expect: 100-continue")
		}),
		Want: []int{413},
	},
	{
		Name: "one byte too many is announced, and the continuation asked for",
		Send: one(func(s *Subject) string {
			return s.post("", s.Credential, announced(s.MaxBody+1), "Expect: 100-continue")
		}),
		Want: []int{413}, Withheld: true,
	},
	{Name: "the continuation is asked for", Send: with("Expect: 100-continue"), Want: []int{200}, Runs: 1, Usable: true},
	{Name: "another expectation", Send: with("Expect: 200-ok"), Want: []int{417}},
	{
		Name: "byte by byte",
		Send: func(s *Subject) []string { return strings.Split(s.Good(), "") }, Want: []int{200}, Runs: 1, Usable: true,
	},
	{
		Name: "a body that ends too early", HalfClose: true,
		Send: one(func(s *Subject) string { return s.post(s.Body[:len(s.Body)/2], s.Credential, length(s.Body)) }),
		Want: []int{400},
	},
	{
		Name: "chunks that end too early", HalfClose: true,
		Send: chunked(func(s string) string { return chunk(s) }), Want: []int{400},
	},
	{
		Name: "a head that ends too early", HalfClose: true,
		Send: one(func(s *Subject) string { return s.Good()[:30] }), Want: []int{400},
	},
}

func chunkedTo(over int) func(s *Subject) []string {
	return one(func(s *Subject) string {
		return s.post(chunk(s.Body)+chunk(spaces(s.MaxBody-len(s.Body)+over))+"0\r\n\r\n", s.Credential, "Transfer-Encoding: chunked")
	})
}

// connections is about what comes after a request, and about older versions of HTTP.
var connections = []Row{
	{Name: "two requests at once", Send: one(func(s *Subject) string { return s.Good() + s.Good() }), Want: []int{200, 200}, Runs: 2, Usable: true},
	{
		Name: "refused, then good",
		Send: one(func(s *Subject) string { return s.post(s.Body, length(s.Body)) + s.Good() }), Want: []int{401, 200}, Runs: 1, Usable: true,
	},
	{
		Name: "good, then refused",
		Send: one(func(s *Subject) string { return s.Good() + s.post(s.Body, length(s.Body)) }), Want: []int{200, 401}, Runs: 1, Usable: true,
	},
	{
		Name: "refused twenty times",
		Send: one(func(s *Subject) string { return strings.Repeat(s.post(s.Body, length(s.Body)), 20) }),
		Want: slices.Repeat([]int{401}, 20), Usable: true,
	},
	{
		Name: "good, then another protocol",
		Send: one(func(s *Subject) string { return s.Good() + "\x16\x03\x01\x02\x00\x01\x00\r\n\r\n" }), Want: []int{200, 400}, Runs: 1,
	},
	{
		Name: "empty lines before a request",
		Send: one(func(s *Subject) string { return "\r\n" + s.Good() }), Want: []int{400},
	},
	{Name: "the peer wants to close", Send: with("Connection: close"), Want: []int{200}, Runs: 1},
	{
		Name: "the peer wants to close, no credential, the body is withheld",
		Send: one(func(s *Subject) string { return s.post("", length(s.Body), "Connection: close") }), Want: []int{401},
	},
	{Name: "another protocol is offered", Send: with("Connection: Upgrade", "Upgrade: websocket"), Want: []int{200}, Runs: 1, Usable: true},
	{
		Name: "HTTP/1.0",
		Send: one(func(s *Subject) string { return strings.Replace(s.Good(), "HTTP/1.1", "HTTP/1.0", 1) }), Want: []int{200}, Runs: 1,
	},
	{
		Name: "HTTP/1.0, the connection is to be kept",
		Send: one(func(s *Subject) string {
			return strings.Replace(s.post(s.Body, s.Credential, length(s.Body), "Connection: keep-alive"), "HTTP/1.1", "HTTP/1.0", 1)
		}),
		Want: []int{200}, Runs: 1, Usable: true,
	},
	{
		Name: "HTTP/1.0, chunks",
		Send: one(func(s *Subject) string {
			return strings.Replace(s.post(chunks(s.Body), s.Credential, "Transfer-Encoding: chunked"), "HTTP/1.1", "HTTP/1.0", 1)
		}),
		Want: []int{400},
	},
	{
		Name: "HTTP/1.0, no credential, the body is withheld",
		Send: one(func(s *Subject) string {
			return strings.Replace(s.post("", length(s.Body)), "HTTP/1.1", "HTTP/1.0", 1)
		}),
		Want: []int{401},
	},
	{
		Name: "no credential, half of the connection is closed", HalfClose: true,
		Send: one(func(s *Subject) string { return s.post(s.Body[:1], length(s.Body)) }), Want: []int{401},
	},
	{
		Name: "nothing at all", HalfClose: true,
		Send: func(*Subject) []string { return nil }, Want: []int{0},
	},
}
