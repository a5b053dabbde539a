package hostiletest

import (
	"net/http"
	"strings"
	"testing"
)

// An HTTP2Row is one hostile peer on an HTTP/2 connection of its own. Its request is on stream 1.
type HTTP2Row struct {
	Name string

	// Send writes the request. fields are the fields of a good request; they begin with :method, :scheme,
	// :authority and :path.
	Send func(c *HTTP2, s *Subject, fields []string)

	// Want is the status of the answer; 0 if the stream is reset without one.
	Want int

	// Runs is how often the user's code runs.
	Runs int

	// Usable tells that the connection serves another stream afterwards. Otherwise the server must
	// end it.
	Usable bool
}

// RunHTTP2 sends every row to a subject and a server of its own. A row gives its name to its
// subtest.
func RunHTTP2(t *testing.T, subject func(testing.TB) Subject, rows []HTTP2Row) {
	t.Helper()
	for _, row := range rows {
		t.Run(row.Name, func(t *testing.T) { row.Check(t, subject(t)) })
	}
}

// Check sends the row to a subject and a server of its own.
func (row HTTP2Row) Check(t testing.TB, s Subject) {
	t.Helper()
	conn := NewServer(t, s.Handler).DialHTTP2(t)
	row.Send(conn, &s, s.fields())
	if got := conn.Wait(1); got != row.Want {
		t.Fatalf("the answer is %d (error codes of resets: %v), want %d", got, conn.Reset, row.Want)
	}
	runs := row.Runs
	if row.Usable {
		if !conn.Ping() || conn.GoingAway {
			t.Fatal("the request ends the connection")
		}
		conn.Headers(3, false, s.fields()...)
		conn.Data(3, true, s.Body)
		if got := conn.Wait(3); got != http.StatusOK {
			t.Errorf("the next request on the connection is answered %d", got)
		}
		runs++
	} else if !conn.GoingAway && conn.Ping() && !conn.GoingAway {
		t.Error("the connection goes on")
	}
	if ran := s.Ran(); ran != runs {
		t.Errorf("the user's code has run %d times, want %d", ran, runs)
	}
}

// fields returns the header of a good request. The credential is its last field.
func (s *Subject) fields() []string {
	fields := []string{":method", "POST", ":scheme", "http", ":authority", "agent.example", ":path", s.Path}
	for _, line := range append(s.Header[:len(s.Header):len(s.Header)], s.Credential) {
		name, value, _ := strings.Cut(line, ": ")
		fields = append(fields, strings.ToLower(name), value)
	}
	return fields
}

// whole sends the good body after the changed fields.
func whole(change func(fields []string) []string) func(c *HTTP2, s *Subject, fields []string) {
	return func(c *HTTP2, s *Subject, fields []string) {
		c.Headers(1, false, change(fields)...)
		c.Data(1, true, s.Body)
	}
}

// more adds fields.
func more(added ...string) func(c *HTTP2, s *Subject, fields []string) {
	return whole(adding(added...))
}

// alone sends the changed fields as a request without a body: data on a stream that was never
// opened would end the connection.
func alone(change func(fields []string) []string) func(c *HTTP2, s *Subject, fields []string) {
	return func(c *HTTP2, _ *Subject, fields []string) { c.Headers(1, true, change(fields)...) }
}

func adding(added ...string) func([]string) []string {
	return func(fields []string) []string { return append(fields, added...) }
}

func unsigned(fields []string) []string { return fields[:len(fields)-2] }

// HTTP2Rows are hostile requests with HTTP/2. A stream that is refused leaves the connection to the
// others.
var HTTP2Rows = []HTTP2Row{
	{Name: "h2: a good request", Send: more(), Want: 200, Runs: 1, Usable: true},
	{Name: "h2: no credential", Send: whole(unsigned), Want: 401, Usable: true},
	{
		Name: "h2: no credential, the body is withheld", Want: 401, Usable: true,
		Send: func(c *HTTP2, _ *Subject, fields []string) {
			c.Headers(1, false, append(unsigned(fields), "content-length", "13")...)
		},
	},
	{
		Name: "h2: no credential, half of the body is withheld", Want: 401, Usable: true,
		Send: func(c *HTTP2, s *Subject, fields []string) {
			c.Headers(1, false, unsigned(fields)...)
			c.Data(1, false, s.Body[:1])
		},
	},
	{
		Name: "h2: the credential twice", Want: 401, Usable: true,
		Send: whole(func(fields []string) []string { return append(fields, fields[len(fields)-2:]...) }),
	},
	{
		Name: "h2: PATCH, the body is withheld", Want: 405, Usable: true,
		Send: func(c *HTTP2, _ *Subject, fields []string) {
			fields[1] = "PATCH"
			c.Headers(1, false, fields...)
		},
	},
	{
		Name: "h2: one byte too many is announced and withheld", Want: 413, Usable: true,
		Send: func(c *HTTP2, s *Subject, fields []string) {
			c.Headers(1, false, append(fields, "content-length", strings.TrimPrefix(announced(s.MaxBody+1), "Content-Length: "))...)
		},
	},
	{
		Name: "h2: one byte too many", Want: 413, Usable: true,
		Send: func(c *HTTP2, s *Subject, fields []string) {
			c.Headers(1, false, fields...)
			c.Data(1, true, s.Body+spaces(s.MaxBody+1-len(s.Body)))
		},
	},
	{
		Name: "h2: too many bytes without an end", Want: 413, Usable: true,
		Send: func(c *HTTP2, s *Subject, fields []string) {
			c.Headers(1, false, fields...)
			c.Data(1, false, spaces(s.MaxBody+1))
		},
	},
	{Name: "h2: a header of the connection", Send: more("connection", "close"), Want: 400, Usable: true},
	{Name: "h2: an encoding of the transfer", Send: more("transfer-encoding", "chunked"), Want: 400, Usable: true},
	{Name: "h2: te", Send: more("te", "gzip"), Want: 400, Usable: true},
	{Name: "h2: a length that is too short", Send: more("content-length", "1"), Want: 0, Usable: true},
	{Name: "h2: a length that is too long", Send: more("content-length", "999"), Want: 400, Usable: true},
	{Name: "h2: 2^63-1 bytes are announced", Send: more("content-length", "9223372036854775807"), Want: 413, Usable: true},
	{Name: "h2: a length that is not a number", Send: more("content-length", "x"), Want: 0, Usable: true},
	{Name: "h2: a name in upper case", Send: alone(adding("X-A", "x")), Want: 0, Usable: true},
	{Name: "h2: a name with a space", Send: alone(adding("x a", "x")), Want: 0, Usable: true},
	{Name: "h2: a value with a line break", Send: alone(adding("x-a", "a\r\nb: c")), Want: 0, Usable: true},
	{Name: "h2: a pseudo-header twice", Send: alone(func(f []string) []string { return append([]string{":path", "/"}, f...) }), Want: 0, Usable: true},
	{Name: "h2: a pseudo-header after a header", Send: alone(adding(":path", "/")), Want: 0, Usable: true},
	{Name: "h2: an unknown pseudo-header", Send: alone(func(f []string) []string { return append([]string{":x", "/"}, f...) }), Want: 0, Usable: true},
	{Name: "h2: no path", Send: whole(func(f []string) []string { return append(f[:6:6], f[8:]...) }), Want: 0, Usable: true},
	{Name: "h2: no method", Send: whole(func(f []string) []string { return f[2:] }), Want: 0, Usable: true},
	{
		Name: "h2: headers on stream 0", Want: 0,
		Send: func(c *HTTP2, _ *Subject, fields []string) { c.Headers(0, true, fields...) },
	},
	{
		Name: "h2: data on a stream that is not open", Want: 0,
		Send: func(c *HTTP2, _ *Subject, _ []string) { c.Data(1, true, "x") },
	},
	{
		Name: "h2: a header that is not ended", Want: 0,
		Send: func(c *HTTP2, _ *Subject, fields []string) {
			c.Frame(frameHeaders, 0, 1, fieldBlock(fields...))
			c.Data(1, true, "x")
		},
	},
	{
		Name: "h2: a header in two frames", Want: 200, Runs: 1, Usable: true,
		Send: func(c *HTTP2, s *Subject, fields []string) {
			block := fieldBlock(fields...)
			c.Frame(frameHeaders, 0, 1, block[:20])
			c.Frame(frameContinuation, flagEndHeaders, 1, block[20:])
			c.Data(1, true, s.Body)
		},
	},
	{
		Name: "h2: a frame of 4 MiB", Want: 0,
		Send: func(c *HTTP2, _ *Subject, fields []string) {
			c.Headers(1, false, fields...)
			c.Write("\x40\x00\x00\x00\x00\x00\x00\x00\x01")
		},
	},
}
