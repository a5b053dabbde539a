package pagecmd

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/examples/toolwire/internal/commandline"
	"github.com/toolwire/toolwire/internal/httpserve"
	"github.com/toolwire/toolwire/internal/rawjson"
)

// Limits of a task.
const (
	maxForm        = 1 << 20
	maxURL         = 2048
	maxAuth        = 8 << 10
	maxInstruction = 100_000 // characters, about; in bytes
	maxTurns       = 50      // with the first
)

// form has the values of the form as they were typed, without the auth value.
type form struct {
	Program     string `json:"program,omitempty"` // of the command line in code mode, in place of a URL
	URL         string `json:"url,omitempty"`
	AuthHeader  string `json:"header_name,omitempty"`
	Instruction string `json:"instruction"`
	Input       string `json:"input"`
	UserTurns   string `json:"user_turns"`
	State       string `json:"state"`
	Timeout     string `json:"timeout"`
	Strict      bool   `json:"strict"`
	Stateful    bool   `json:"stateful,omitempty"` // the memory_mode of the session
	ownState    bool   // State is not the world's

	More     int            `json:"-"` // the run whose session goes on; 0 for a new one
	Problems []fieldProblem `json:"-"`
}

// fieldProblem describes what is wrong with a field.
type fieldProblem struct{ Field, Label, Text string }

// Problem returns the text beside a field, or "" if the field is valid.
func (f *form) Problem(field string) string {
	for _, p := range f.Problems {
		if p.Field == field {
			return p.Text
		}
	}
	return ""
}

// Unfolded reports whether a part of the form with these fields is shown: one of them has a problem, the
// agent has no URL, or something other than the defaults was typed.
func (f *form) Unfolded(fields ...string) bool {
	if slices.ContainsFunc(fields, func(field string) bool { return f.Problem(field) != "" }) {
		return true
	}
	if fields[0] == "url" {
		return f.URL == ""
	}
	return f.UserTurns != "" || f.Strict || f.Stateful || f.Timeout != "300" || f.Input != "{}" || f.ownState
}

var labels = map[string]string{
	"url": "Agent URL", "auth_header": "Auth header name", "auth_value": "Auth header value", "instruction": "Instruction",
	"input": "Input", "user_turns": "Further user turns", "state": "State of the world", "timeout": "Run timeout",
}

func (f *form) wrong(field, format string, args ...any) {
	if f.Problem(field) == "" {
		f.Problems = append(f.Problems, fieldProblem{field, labels[field], fmt.Sprintf(format, args...)})
	}
}

// formOfAgent returns a form for the agent of the command line, with the defaults of a registration.
func formOfAgent(a *commandline.Agent) *form {
	f := &form{Program: strings.Join(a.Command, " "), Timeout: "300", Input: "{}"}
	if f.Program == "" {
		f.URL, f.AuthHeader = a.URL, cmp.Or(a.AuthHeader, "Authorization")
	}
	return f
}

// task is what a form asks for.
type task struct {
	form                        // as it was typed, with its problems; not changed while the task runs
	target  dispatchtest.Target // removed when the run is over
	input   json.RawMessage     // likewise
	turns   []string            // after the first
	earlier []dispatchtest.Turn // of the session, before the run
	flags   []string            // of the world at its end, which State does not have
	Sample  bool                // dispatched to the built-in agent
}

// read returns the task of the posted form for an agent. What was not posted is as in f.
func read(r *http.Request, f form, a *commandline.Agent) task {
	read := func(name string, into *string) {
		if values := r.PostForm[name]; values != nil {
			*into = strings.ReplaceAll(values[0], "\r\n", "\n")
		}
	}
	line := func(name string, into *string) {
		read(name, into)
		*into = strings.TrimSpace(*into)
	}
	box := func(name string, into *bool) {
		if checked := r.PostForm.Get(name) != ""; checked || r.PostForm["timeout"] != nil { // a box that is not checked is not posted
			*into = checked
		}
	}
	box("strict", &f.Strict)
	box("stateful", &f.Stateful)
	read("instruction", &f.Instruction)
	read("input", &f.Input)
	read("user_turns", &f.UserTurns)
	read("state", &f.State)
	line("timeout", &f.Timeout)
	own, target := formOfAgent(a), dispatchtest.Target{Command: a.Command, Env: a.Env}
	if f.Program = own.Program; f.Program == "" {
		line("url", &f.URL)
		line("auth_header", &f.AuthHeader)
		line("auth_value", &target.AuthValue)
		if target.AuthValue == "" && f.URL == own.URL && strings.EqualFold(f.AuthHeader, own.AuthHeader) {
			target.AuthValue = a.AuthValue
		}
	}
	return taskOf(f, target)
}

// taskOf returns the task of a form for a target, which gets the rest from the form, and finds the problems of the form.
func taskOf(f form, target dispatchtest.Target) task {
	if f.Program == "" {
		f.checkURL()
		f.checkAuth(target.AuthValue)
	}
	switch {
	case strings.TrimSpace(f.Instruction) == "":
		f.wrong("instruction", "Describe what the agent should do.")
	case len(f.Instruction) > maxInstruction:
		f.wrong("instruction", "Shorten it to %d bytes; it has %d.", maxInstruction, len(f.Instruction))
	}
	input := f.checkInput()
	var turns []string
	for line := range strings.Lines(f.UserTurns) {
		if line = strings.TrimSpace(line); line != "" {
			turns = append(turns, line)
		}
	}
	if n := len(turns) + 1; n > maxTurns {
		f.wrong("user_turns", "A session has at most %d turns with the first; these are %d.", maxTurns, n)
	}
	seconds, err := strconv.Atoi(f.Timeout)
	if err != nil || seconds < 1 || seconds > 1800 {
		f.wrong("timeout", "Enter whole seconds from 1 to 1800.")
	}
	target.URL, target.AuthHeader, target.Strict, target.RunTimeout = f.URL, f.AuthHeader, f.Strict, time.Duration(seconds)*time.Second
	return task{form: f, target: target, input: input, turns: turns}
}

// agent returns the URL or the program of the agent.
func (t *task) agent() string {
	if t.Sample {
		return "built-in sample agent"
	}
	return cmp.Or(t.Program, t.URL)
}

func (f *form) checkURL() {
	u, err := url.Parse(f.URL)
	switch {
	case f.URL == "":
		f.wrong("url", "Enter the address of the agent's endpoint, such as http://127.0.0.1:8080/dispatch.")
	case len(f.URL) > maxURL:
		f.wrong("url", "Shorten it to %d characters; it has %d.", maxURL, len(f.URL))
	case err != nil:
		f.wrong("url", "This is not a URL. Enter one such as http://127.0.0.1:8080/dispatch.")
	case u.Scheme != "http" && u.Scheme != "https":
		f.wrong("url", "Begin with http:// or https://.")
	case u.Hostname() == "":
		f.wrong("url", "The host is missing.")
	case u.User != nil:
		f.wrong("url", "Leave the user and password out; put the secret into the auth header.")
		// not to be shown again
		f.URL = (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawQuery: u.RawQuery}).String()
	case strings.Contains(f.URL, "#"):
		f.wrong("url", "Leave the part from # on out; it is not sent.")
	}
}

func (f *form) checkAuth(value string) {
	name := f.AuthHeader
	switch {
	case f.AuthHeader == "" && value != "":
		f.wrong("auth_header", "Name the header, usually Authorization.")
	case name != "" && !httpserve.ValidHeaderName(name) || len(name) > 128:
		f.wrong("auth_header", "A header name has letters, digits and - only, such as X-API-Key.")
	case httpserve.ReservedHeader(name):
		f.wrong("auth_header", "The dispatch sets this header itself; choose Authorization or a header of your own.")
	}
	switch {
	case len(value) > maxAuth:
		f.wrong("auth_value", "It has %d bytes; at most %d can be sent.", len(value), maxAuth)
	case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }):
		f.wrong("auth_value", "A header value is printable ASCII on one line.")
	}
}

// checkInput reads the input as strictly as an agent.
func (f *form) checkInput() json.RawMessage {
	if strings.TrimSpace(f.Input) == "" {
		f.Input = "{}"
	}
	var raw json.RawMessage
	err := rawjson.Read([]byte(f.Input), rawjson.Limits{}, func(read *rawjson.Reader) (err error) {
		if kind := read.Kind(); kind != '{' && kind != 0 {
			return fmt.Errorf("it is %s, not an object such as {\"order_id\": \"4521\"}", rawjson.KindName(kind))
		}
		raw, err = read.Value()
		return err
	})
	if err != nil {
		f.wrong("input", "This is not a JSON object: %v.", err)
		return nil
	}
	return raw
}
