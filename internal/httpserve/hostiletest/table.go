// Package hostiletest sends hostile requests, byte by byte, to a handler behind a server of
// net/http, and checks three things of each: how it is answered, whether the user's code has run,
// and whether the connection can be used again.
//
//	hostiletest.Run(t, func(t testing.TB) hostiletest.Subject { … }, hostiletest.Rows)
//
// Results do not depend on time: what takes long is waited for, and what is refused without its
// body must have set a deadline.
package hostiletest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// Subject is a handler and a request that it serves.
type Subject struct {
	Handler    http.Handler
	Path       string
	Credential string   // "Authorization: Bearer x", or another line that the handler accepts
	Header     []string // other lines that a request must have
	Body       string   // of a request that reaches the user's code and is answered with 200
	MaxBody    int      // how many bytes a body may have
	Ran        func() int
}

// A Row is one hostile peer on a connection of its own.
type Row struct {
	Name string

	// Send returns what is written, one part after the other.
	Send func(s *Subject) []string

	// HalfClose ends the peer's half of the connection after the last part.
	HalfClose bool

	// Want lists the statuses of the answers. A server that hangs up without an answer is 0.
	Want []int

	// Runs is how often the user's code runs.
	Runs int

	// Usable tells that the connection serves another request afterwards. Otherwise the server must
	// end it.
	Usable bool

	// Withheld tells that the peer keeps back a part of what it has announced: the server must set
	// a deadline for it.
	Withheld bool

	// Method is the method of the requests. Defaults to POST.
	Method string
}

// refusalTime is how long a refused peer may keep its connection.
const refusalTime = 2 * time.Second

// Run sends every row to a subject and a server of its own. All rows are sent before the first is
// checked, because some wait for a deadline of the server. A row gives its name to its
// subtest.
func Run(t *testing.T, subject func(testing.TB) Subject, rows []Row) {
	t.Helper()
	attempts := make([]*attempt, len(rows))
	for i, row := range rows {
		attempts[i] = row.begin(t, subject(t))
	}
	for i, row := range rows {
		t.Run(row.Name, func(t *testing.T) { attempts[i].check(t) })
	}
}

// Check sends the row to a subject and a server of its own.
func (row Row) Check(t testing.TB, subject Subject) {
	t.Helper()
	row.begin(t, subject).check(t)
}

// attempt is a row that has been sent.
type attempt struct {
	row     Row
	subject Subject
	server  *Server
	conn    *Conn
}

// Select returns the rows with these names, and panics if one is unknown.
func Select(rows []Row, names ...string) []Row {
	var selected []Row
	for _, name := range names {
		i := slices.IndexFunc(rows, func(r Row) bool { return r.Name == name })
		if i < 0 {
			panic("hostiletest: no row is named " + name)
		}
		selected = append(selected, rows[i])
	}
	return selected
}

func (row Row) begin(t testing.TB, s Subject) *attempt {
	t.Helper()
	server := NewServer(t, s.Handler)
	conn := server.Dial(t)
	for _, part := range row.Send(&s) {
		conn.Write(part)
	}
	if row.HalfClose {
		conn.CloseWrite()
	}
	return &attempt{row, s, server, conn}
}

func (a *attempt) check(t testing.TB) {
	t.Helper()
	row, conn := a.row, a.conn
	conn.t = t
	method := row.Method
	if method == "" {
		method = http.MethodPost
	}
	for i, want := range row.Want {
		status, header, body := conn.Answer(method)
		if status != want {
			t.Fatalf("answer %d is %d %q, want %d", i+1, status, body, want)
		}
		if i == len(row.Want)-1 && row.Usable && header.Get("Connection") == "close" {
			t.Error("the answer announces the end of the connection")
		}
	}
	if row.Withheld {
		if d, ok := a.server.ShortestDeadline(); !ok || d > refusalTime {
			t.Fatalf("the shortest deadline of a read is %s (set: %t), want at most %s", d, ok, refusalTime)
		}
	}
	runs := row.Runs
	if row.Usable {
		conn.Write(a.subject.Good())
		if status, _, body := conn.Answer(http.MethodPost); status != http.StatusOK {
			t.Errorf("the next request on the connection is answered %d %q", status, body)
		}
		runs++
	} else {
		conn.Ended()
	}
	if ran := a.subject.Ran(); ran != runs {
		t.Errorf("the user's code has run %d times, want %d", ran, runs)
	}
}

// Withhold sends the beginning of a request to a handler, whose rest never comes, and wants an
// answer with this status. The server must end the connection within two seconds of it. Withhold
// runs in a bubble of testing/synctest.
func Withhold(t *testing.T, handler http.Handler, sent string, want int) (body string) {
	t.Helper()
	conn := NewMemoryServer(t, handler).Dial(t)
	start := time.Now()
	conn.Write(sent)
	method, _, _ := strings.Cut(sent, " ")
	status, _, body := conn.Answer(method)
	if status != want {
		t.Errorf("the answer is %d %q, want %d", status, body, want)
	}
	conn.Ended()
	if took := time.Since(start); took > refusalTime {
		t.Errorf("the connection ended after %s, want at most %s", took, refusalTime)
	}
	return body
}

// Request returns a request with the subject's path, whose other lines are given. The body follows
// the head at once.
func (s *Subject) Request(start string, lines []string, body string) string {
	return start + "\r\nHost: agent.example\r\n" + strings.Join(append(lines, "", ""), "\r\n") + body
}

// Good returns a request that is served.
func (s *Subject) Good() string { return s.post(s.Body, s.Credential, length(s.Body)) }

// post returns a request with HTTP/1.1.
func (s *Subject) post(body string, lines ...string) string {
	return s.Request("POST "+s.Path+" HTTP/1.1", append(slices.Clone(s.Header), lines...), body)
}

// Signed returns a request with these credentials instead of the right one.
func (s *Subject) Signed(credentials ...string) string {
	return s.post(s.Body, append(credentials, length(s.Body))...)
}

// sized returns a request whose body has white space up to n bytes.
func (s *Subject) sized(n int) string {
	body := s.Body + spaces(n-len(s.Body))
	return s.post(body, s.Credential, length(body))
}

// header and value are the two parts of the credential.
func (s *Subject) header() string { name, _, _ := strings.Cut(s.Credential, ": "); return name }
func (s *Subject) value() string  { _, value, _ := strings.Cut(s.Credential, ": "); return value }

func length(body string) string { return fmt.Sprintf("Content-Length: %d", len(body)) }
