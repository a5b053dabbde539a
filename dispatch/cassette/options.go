package cassette

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/redact"
)

// A Mode is what a [Cassette] does with a request.
type Mode string

// The modes.
const (
	// Replay answers from the tape and refuses a request that is not on it. It is the default.
	Replay Mode = "replay"

	// Record forwards and records every request. Close replaces an existing tape.
	Record Mode = "record"

	// ReplayOrForward answers from the tape. It forwards a request that is not on the tape and
	// appends it. If the tape does not exist, it works like Record. A call on the tape that the
	// agent does not make is not a deviation.
	ReplayOrForward Mode = "replay-or-forward"

	// Compare forwards every request, and compares the request and its response with the tape. It
	// does not change the tape. It ignores attempts with status 429 or 503 that the client
	// repeated, in the run and on the tape.
	Compare Mode = "compare"
)

// Options configures a [Cassette]. The zero value of every field is its default. [New] copies the
// options.
type Options struct {
	// Mode is what the cassette does with a request. Defaults to [Replay].
	Mode Mode

	// Upstream is the base URL of the proxy that ServeHTTP forwards to: the odyssey_proxy_url of
	// the run. It must have neither user info nor a query. [Cassette.Wrap] and [Cassette.Transport]
	// do not use it.
	Upstream string

	// Transport sends the requests to Upstream. If Transport is nil, the cassette makes one with
	// proxy.NewTransport.
	Transport http.RoundTripper

	// Task is written into the header of a new tape. Secrets in it are redacted.
	Task Task

	// Redact reports whether to redact a member whose name is not a usual name of a secret. It
	// gets the name of the member and its JSON Pointer: /card/number in arguments,
	// /response/card/number in the response to a tool call. In JSON inside a string the pointer
	// starts at that JSON. Redact must be safe for concurrent use. Replay needs the same function
	// as the recording.
	Redact func(pointer, name string) bool

	// InsecureKeepSecrets writes members with the usual names of secrets, and credentials in texts,
	// to the tape. Set it only if such members have no secrets, such as page tokens of a test. The run
	// token is never written.
	InsecureKeepSecrets bool

	// Ignore lists parts of a call that are not compared, such as times and random ids: JSON
	// Pointers, in which * is any member or element. "/request_id" and "/items/*/id" are in
	// arguments. [Compare] also applies them to the response to the call, where
	// "/response/updated_at" is in the tool's result.
	Ignore []string

	// Mask lists what is not compared in strings, such as a date in a prompt. Matches are replaced in
	// requests to models, in arguments and in texts, before they are compared.
	Mask []*regexp.Regexp

	// RepeatLast answers a call that is made more often than on the tape with its last response. It is
	// for agents that poll. By default, the n-th equal call gets the n-th response, and one more is a deviation.
	RepeatLast bool

	// DropRetries removes attempts with status 429 or 503 that the client repeated until it got
	// another response. Set it if a test has no time for the waits. By default, they are replayed, and
	// the client waits and repeats them.
	DropRetries bool
}

// settings are options that were checked.
type settings struct {
	Options
	upstream *url.URL
	redact   *redact.Redactor
	ignore   []pointer
}

func newSettings(path string, opts *Options) (*settings, error) {
	s := &settings{}
	if opts != nil {
		s.Options = *opts
	}
	s.Task = s.Task.clone() // it is written later
	var problems []Problem
	wrong := func(format string, args ...any) {
		problems = append(problems, Problem{Code: ruleOption, Message: fmt.Sprintf(format, args...)})
	}
	if path == "" {
		wrong("the path of the tape is empty")
	}
	if s.Mode == "" {
		s.Mode = Replay
	}
	if !slices.Contains([]Mode{Replay, Record, ReplayOrForward, Compare}, s.Mode) {
		wrong("Options.Mode is not one of the modes")
	}
	if s.Upstream != "" {
		var mistakes []string
		s.upstream, mistakes = httpcall.RunBase.Parse(s.Upstream)
		for _, must := range mistakes {
			wrong("Options.Upstream %s", must)
		}
	}
	if s.Task.Input != nil {
		if err := rawjson.Check(s.Task.Input, rawjson.Limits{}); err != nil {
			wrong("Options.Task.Input: %s", err)
		}
	}
	if slices.Contains(s.Mask, nil) {
		wrong("Options.Mask has a nil")
	}
	for i, text := range s.Ignore {
		p, ok := parsePointer(text)
		if !ok {
			wrong("Options.Ignore[%d] must be a JSON Pointer that begins with /", i)
		}
		s.ignore = append(s.ignore, p)
	}
	s.redact = &redact.Redactor{Credentials: !s.InsecureKeepSecrets, Member: s.Redact}
	if len(problems) > 0 {
		return nil, &Error{Code: toolwire.CodeInvalidOptions, Problems: problems}
	}
	return s, nil
}

// forwards reports whether the mode sends requests on.
func (m Mode) forwards() bool { return m != Replay }

// reads reports whether the mode needs a tape.
func (m Mode) reads() bool { return m != Record }
