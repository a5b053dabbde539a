package doctor

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net"
	"net/http"
	"net/http/httptrace"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolwire/toolwire/internal/httpcall"
)

const (
	aPing        = `{"ping":true}`
	aSpacedPing  = "\n{ \"ping\" :\ttrue } \r\n"
	maxProbeBody = 64 << 10 // of a response; the rest is not needed
)

// A probe is one request of a check.
type probe struct {
	method string // default POST
	body   string
	pad    int64 // spaces before the body
	auth   bool  // with the auth value
	miss   *miss // the auth value to send instead; without both, none is sent
	header http.Header
	what   string // the body in words; "" for the body itself
}

// An answer is what came of a probe.
type answer struct {
	status  int // 0 if there was no answer
	header  http.Header
	body    []byte
	tls     *tls.ConnectionState
	began   time.Time
	took    time.Duration
	err     error // why the response is missing or incomplete
	timeout bool  // err is that the time limit has passed
	conn    connection

	sent, command string // the request, and a command that repeats it
}

// connection is what was observed of a connection. Callbacks fill it, possibly late.
type connection struct {
	connected bool
	remote    net.Addr
	handshake error // of TLS
	sent      bool  // the whole request
}

// send sends a probe and waits for its response, at most for Options.Timeout.
func (c *checkup) send(ctx context.Context, p probe) *answer {
	p.method = cmp.Or(p.method, http.MethodPost)
	a := &answer{began: time.Now(), sent: c.describe(p), command: c.curl(p)}
	c.note(a.sent, a.command)
	var mu sync.Mutex
	var seen connection
	see := func(f func()) {
		mu.Lock()
		defer mu.Unlock()
		f()
	}
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) {
			see(func() {
				if seen.connected = true; info.Conn != nil {
					seen.remote = info.Conn.RemoteAddr()
				}
			})
		},
		ConnectDone:      func(_, _ string, err error) { see(func() { seen.connected = seen.connected || err == nil }) },
		TLSHandshakeDone: func(_ tls.ConnectionState, err error) { see(func() { seen.handshake = err }) },
		WroteRequest:     func(info httptrace.WroteRequestInfo) { see(func() { seen.sent = info.Err == nil }) },
	})
	defer see(func() {
		a.conn, a.took = seen, time.Since(a.began)
		c.now.trouble, c.now.timedOut = c.now.trouble || troubled(a.status), c.now.timedOut || a.timeout
	})
	req, err := http.NewRequest(p.method, c.setup.URL, strings.NewReader(p.body))
	if err != nil {
		a.err = err
		return a
	}
	if p.pad > 0 {
		req.Body = io.NopCloser(io.MultiReader(io.LimitReader(blanks{}, p.pad), strings.NewReader(p.body)))
		req.ContentLength, req.GetBody = p.pad+int64(len(p.body)), nil
	}
	if p.header != nil {
		req.Header = p.header
	}
	if p.body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	switch value := c.setup.Target.AuthValue; {
	case p.miss != nil:
		req.Header.Set(c.setup.Target.AuthHeader, p.miss.value)
	case p.auth && value != "":
		req.Header.Set(c.setup.Target.AuthHeader, value)
	}
	caller := c.setup.Caller
	caller.Timeout, caller.MaxBytes = c.opts.Timeout, maxProbeBody
	got, failure := caller.Do(ctx, req, nil)
	a.status, a.header, a.body, a.tls = got.Status, got.Header, got.Body, got.TLS
	if failure != nil && failure.Kind != httpcall.TooLarge {
		a.err = failure.Err
		a.timeout = failure.Kind == httpcall.TimedOut || errors.Is(failure, context.DeadlineExceeded)
	}
	return a
}

// blanks reads as an endless sequence of spaces.
type blanks struct{}

func (blanks) Read(b []byte) (int, error) { return copy(b, spaces), nil }

var spaces = strings.Repeat(" ", 32<<10)

// troubled reports whether a response with this status, or none (0), may be the last one: because
// the agent has ended, because of a server in front of it, or because of a rate limit.
func troubled(status int) bool {
	return status == 0 || status == http.StatusTooManyRequests || status >= 500
}

// troubled reports whether the ping or the last turn of a dispatch had such a response.
func (e *episode) troubled() bool {
	return troubled(e.result.Ping.Status) || len(e.result.Turns) > 0 && troubled(e.result.Dispatch.Status)
}

// ok reports a 2xx.
func (a *answer) ok() bool { return a.status >= 200 && a.status < 300 }

// refuses reports whether the platform takes the response for a rejected auth value.
func (a *answer) refuses() bool {
	return a.status == http.StatusUnauthorized || a.status == http.StatusForbidden
}

// html reports whether the answer is a page for people. Frameworks send any text as text/html, "ok"
// for example.
func (a *answer) html() bool {
	media, _, _ := mime.ParseMediaType(a.header.Get("Content-Type"))
	start := bytes.ToLower(bytes.TrimSpace(a.body[:min(len(a.body), 512)]))
	return media == "text/html" && bytes.HasPrefix(start, []byte("<")) ||
		bytes.HasPrefix(start, []byte("<!doctype html")) || bytes.HasPrefix(start, []byte("<html"))
}

// title returns the title of a page.
func title(page []byte) string {
	lower := bytes.ToLower(page)
	from, to := bytes.Index(lower, []byte("<title>")), bytes.Index(lower, []byte("</title>"))
	if from < 0 || to < from || len(lower) != len(page) {
		return ""
	}
	return "(" + string(page[from+len("<title>"):to]) + ")"
}

// tell describes the response, as the object of "answered".
func (c *checkup) tell(a *answer) string {
	switch {
	case a.status == 0 && a.timeout:
		return "nothing in time"
	case a.status == 0:
		return "nothing: " + httpcall.Describe("the endpoint", a.conn.connected, a.err)
	case a.html():
		return strings.TrimRight(fmt.Sprintf("%d with an HTML page %s", a.status, c.quote(title(a.body))), " ")
	case len(a.body) == 0:
		return fmt.Sprintf("%d", a.status)
	}
	return fmt.Sprintf("%d: %s", a.status, c.quote(string(a.body)))
}

// describe describes a probe in one line, without its secrets.
func (c *checkup) describe(p probe) string {
	auth := "without the auth header"
	switch {
	case p.miss != nil:
		auth = "with " + p.miss.what
	case p.auth && c.setup.Target.AuthValue != "":
		auth = "with the auth value"
	}
	return fmt.Sprintf("%s, %s: %s", p.method, auth, cmp.Or(p.what, p.body, "no body"))
}

// curl returns a command that sends a probe. $AUTH_VALUE stands for the auth value, and $URL for a
// URL that has a secret query or no longer exists.
func (c *checkup) curl(p probe) string {
	args := []string{"curl", "-i", "-X", p.method}
	if p.body != "" {
		args = append(args, "-H", shell("Content-Type: application/json"))
	}
	switch header := c.setup.Target.AuthHeader; {
	case p.miss != nil && p.miss.shell == "":
		args = append(args, "-H", shell(header+": "+p.miss.value))
	case p.miss != nil:
		args = append(args, "-H", fmt.Sprintf(`"%s: %s"`, header, p.miss.shell))
	case p.auth && c.setup.Target.AuthValue != "":
		args = append(args, "-H", fmt.Sprintf(`"%s: $AUTH_VALUE"`, header))
	}
	for _, name := range slices.Sorted(maps.Keys(p.header)) {
		args = append(args, "-H", shell(name+": "+p.header.Get(name)))
	}
	command := strings.Join(args, " ")
	switch {
	case p.pad > 0:
		return fmt.Sprintf(`(head -c %d /dev/zero | tr '\0' ' '; printf %s) | %s --data-binary @- %s`, p.pad, shell(p.body), command, c.shellURL())
	case p.body != "":
		command += " -d " + shell(p.body)
	}
	return command + " " + c.shellURL()
}

func (c *checkup) shellURL() string {
	if c.url == nil || c.url.RawQuery != "" {
		return `"$URL"`
	}
	return shell(c.name())
}

// shell quotes text for a POSIX shell, on one line.
func shell(text string) string {
	if strings.ContainsAny(text, "\n\r\t") {
		return "$'" + strings.NewReplacer(`\`, `\\`, "'", `\'`, "\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(text) + "'"
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// beyondFlags reports whether the task has more than the flags of toolwire doctor can express.
func (c *checkup) beyondFlags() bool {
	t := c.opts.Task
	return t != nil && (t.Input != nil || t.Platform != nil || t.Conversation != nil || t.WrapProxy != nil ||
		!reflect.ValueOf(t.World).IsZero())
}

// command returns the call or the command of the doctor that repeats a scenario, or the sample for "".
func (c *checkup) command(scenario Name) string {
	switch inGo := c.url == nil && len(c.target.Command) == 0; {
	case scenario != "" && (inGo || c.beyondFlags()):
		return fmt.Sprintf("doctor.Check(ctx, target, &doctor.Options{Task: task, Scenarios: []doctor.Name{%q}})", scenario)
	case c.beyondFlags():
		return "dispatchtest.Dispatch(ctx, target, task)"
	case inGo:
		return fmt.Sprintf("dispatchtest.Dispatch(ctx, target, dispatchtest.Task{Instruction: %q})", c.task.Instruction)
	}
	command := []string{"go run github.com/toolwire/toolwire/examples/toolwire doctor"}
	add := func(needed bool, words ...string) {
		if needed {
			command = append(command, words...)
		}
	}
	header := c.setup.Target.AuthHeader
	add(c.url != nil, "-url", c.shellURL())
	add(header != "Authorization", "-auth-header", shell(header))
	add(c.setup.Target.AuthValue != "", "-token-env AGENT_TOKEN")
	for _, variable := range c.target.Env {
		name, _, _ := strings.Cut(variable, "=")
		add(c.url == nil, "-env", shell(name))
	}
	add(c.opts.ToolsSchema != nil, `-tools "$TOOLS"`)
	add(c.opts.Task != nil && c.task.Instruction != "", "-instruction", shell(c.task.Instruction))
	add(scenario != "", "-scenarios", string(scenario))
	add(c.url == nil, "--")
	for _, argument := range c.target.Command {
		add(true, shell(argument))
	}
	return strings.Join(command, " ")
}
