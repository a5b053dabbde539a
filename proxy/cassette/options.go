package cassette

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
)

// A Mode says what a [Cassette] does with a request.
type Mode string

// The modes.
const (
	// Replay answers from the tape alone. A request that is not on it is refused. The default.
	Replay Mode = "replay"

	// Record forwards every request and writes it down. A tape that is there already is replaced, by Close.
	Record Mode = "record"

	// ReplayOrForward answers from the tape what is on it, and forwards and appends what is not. Without a tape it is
	// Record. Calls on the tape that the agent does not make are no deviation.
	ReplayOrForward Mode = "replay-or-forward"

	// Compare forwards every request and compares it and its answer with the tape, which it does not change. Attempts
	// that were answered with 429 or 503 and repeated are left out on both sides.
	Compare Mode = "compare"
)

// Options configures a [Cassette]. The zero value of every field is its default. They are copied by [New].
type Options struct {
	// Mode says what to do with a request. Default [Replay].
	Mode Mode

	// Upstream is the base URL of the proxy that ServeHTTP forwards to: what the run's envelope calls odyssey_proxy_url.
	// [Cassette.Wrap] and [Cassette.Transport] need none.
	Upstream string

	// Transport sends the requests to Upstream. Default: one of its own, see proxy.NewTransport.
	Transport http.RoundTripper

	// Task is written into the header of a new tape, redacted like everything else.
	Task Task

	// Redact names more to redact than what is usual: it is asked for members of requests and answers with its JSON Pointer,
	// such as /card/number in arguments and /response/card/number in the answer of a tool, and its name. In JSON inside a
	// string the pointer begins there. It must be safe for concurrent use and needed unchanged for replay.
	Redact func(pointer, name string) bool

	// InsecureKeepSecrets writes to the tape what has the usual name of a secret, and credentials in texts. The run
	// token is never written.
	InsecureKeepSecrets bool

	// Ignore are parts of arguments that are not compared, such as times and random ids: JSON Pointers, in which * stands
	// for any member or element: "/request_id", "/items/*/id".
	Ignore []string

	// IgnoreResponse are such parts of results that [Compare] does not compare: pointers into the envelope's response.
	IgnoreResponse []string

	// IgnoreActor matches calls whatever sub-agent made them. Default: the actor is part of the call.
	IgnoreActor bool

	// RepeatLast answers a call that is made more often than on the tape with the last answer again. Default: the n-th
	// equal call has the n-th answer, and one more is a deviation.
	RepeatLast bool

	// StrictTraces treats trace events and telemetry like tool calls. Default: those that are on the tape, but for their
	// times, are answered from it; others are accepted, and none has to be sent.
	StrictTraces bool

	// DropRetries leaves out attempts that were answered with 429 or 503 and repeated until there was another answer.
	// Default: they are replayed, and the client waits and repeats them.
	DropRetries bool

	// MaxBytes bounds the body of a request and of an answer, which may have 64 KiB more for the proxy's envelope. A larger request
	// is refused with 413. A larger answer is passed on and not recorded. Defaults to 1 MiB.
	MaxBytes int

	// Read says how the tape is read. nil is its default.
	Read *ReadOptions
}

// settings are options that were checked.
type settings struct {
	Options
	upstream       *url.URL
	redact         *redactor
	ignore         []pointer
	ignoreResponse []pointer
}

func newSettings(path string, opts *Options) (*settings, error) {
	s := &settings{}
	if opts != nil {
		s.Options = *opts
	}
	s.Task = s.Task.clone() // it is written later
	var problems []Problem
	wrong := func(format string, args ...any) {
		problems = append(problems, Problem{Text: fmt.Sprintf(format, args...)})
	}
	if path == "" {
		wrong("the path of the tape is empty")
	}
	if s.Mode == "" {
		s.Mode = Replay
	}
	if !slices.Contains([]Mode{Replay, Record, ReplayOrForward, Compare}, s.Mode) {
		wrong("Options.Mode is none of the modes")
	}
	if s.Upstream != "" {
		var err error
		s.upstream, err = url.Parse(s.Upstream)
		if err != nil || s.upstream.Scheme != "http" && s.upstream.Scheme != "https" || s.upstream.Host == "" ||
			s.upstream.User != nil || s.upstream.RawQuery != "" || s.upstream.Fragment != "" {
			wrong("Options.Upstream must be an absolute http or https URL without user info, query or fragment")
		}
	}
	if s.Task.Input != nil {
		if _, err := parseValue(s.Task.Input); err != nil {
			wrong("Options.Task.Input: %s", err)
		}
	}
	s.ignore = pointers("Options.Ignore", s.Ignore, wrong)
	s.ignoreResponse = pointers("Options.IgnoreResponse", s.IgnoreResponse, wrong)
	if s.MaxBytes < 0 {
		wrong("Options.MaxBytes is negative")
	}
	if s.MaxBytes == 0 {
		s.MaxBytes = 1 << 20
	}
	s.redact = &redactor{usual: !s.InsecureKeepSecrets, more: s.Redact}
	if len(problems) > 0 {
		return nil, &Error{Code: CodeOptions, Problems: problems}
	}
	return s, nil
}

func pointers(what string, texts []string, wrong func(string, ...any)) []pointer {
	var all []pointer
	for i, text := range texts {
		p, ok := parsePointer(text)
		if !ok {
			wrong("%s[%d] must be a JSON Pointer that begins with /", what, i)
			continue
		}
		all = append(all, p)
	}
	return all
}

// forwards reports whether the mode sends requests on.
func (m Mode) forwards() bool { return m != Replay }

// reads reports whether the mode needs a tape.
func (m Mode) reads() bool { return m != Record }
