package manifest

import (
	"fmt"
	"log/slog"
	"os"
	"time"
)

// Options bounds and connects the calls of a [Manifest]. Nil means all defaults.
type Options struct {
	// Dir is the folder against which relative programs resolve. Default: the manifest's own folder for [Load]. For
	// [LoadFS] it is the folder on disk that the file system stands for, and for [Parse] the one that the document
	// stands in; both need it when a program is relative, and only then.
	Dir string
	// WorkDir is the working directory of the programs. Default: the folder against which programs resolve, or, where
	// there is none, the working directory of this process at the time of loading. It never changes afterwards.
	WorkDir string

	// Timeout holds for tools without timeoutSec. It covers the program from start to end; waiting for one of the
	// MaxParallel places does not count. Default 30 s.
	Timeout time.Duration
	// Grace is the time between asking the process group to end (SIGTERM) and killing it (SIGKILL). Windows has no
	// polite signal: there the group is killed at once. Default 500 ms.
	Grace time.Duration
	// PipeWait is how long a call waits for stdout and stderr to close after the program has exited: a process it left
	// behind may hold them. What is left of the group is then killed, and Result.Truncated is set. Default 2 s.
	PipeWait time.Duration
	// MaxStdout is the most that a tool may print, in bytes; more fails the call. Default 1 MiB.
	MaxStdout int
	// MaxStderr is how much of stderr is kept, in bytes: of more, the beginning and the end. Default 64 KiB.
	MaxStderr int
	// MaxParallel is how many programs of this manifest run at once; further calls wait for their turn. With 1, the
	// calls of [Manifest.CallAll] run one after the other in their order. Default 16.
	MaxParallel int

	// Output is what a tool must print. Default [SingleLineJSON].
	Output OutputFormat

	// LookupEnv gives the environment variables that tools may get. It is asked anew for each call, possibly from many
	// goroutines at once. Default os.LookupEnv.
	LookupEnv func(name string) (value string, ok bool)

	// Audit is called after each run of a program, before the call returns, possibly from many goroutines at once.
	// An error changes no result; it is reported to Logger. See [AuditLog] for a ready one.
	Audit func(AuditRecord) error
	// Redact changes every argument of the command and the working directory before they reach Audit. Values of
	// allowlisted variables of 6 bytes or more are replaced by "[redacted]" before that. If Redact is nil, nothing else
	// is changed.
	Redact func(string) string
	// Logger hears of audit records that could not be written. Default: silence.
	Logger *slog.Logger
}

// OutputFormat is what a tool must print on stdout to succeed. In every format, nothing at all stands for {}. JSON must be
// strict: UTF-8, no duplicate members, nested at most 256 levels deep.
type OutputFormat int

const (
	// SingleLineJSON is the documented contract: one JSON value on one line.
	SingleLineJSON OutputFormat = iota
	// AnyJSON is one JSON value on any number of lines.
	AnyJSON
	// Text is anything. [Manifest.Call] returns it as a JSON string, without the
	// line ends after it and with invalid UTF-8 replaced.
	Text
)

// Limits of the document itself: its size in bytes, and one year for a timeout.
const (
	maxManifest   = 4 << 20
	maxTimeoutSec = int64(24 * time.Hour / time.Second * 365)
)

// withDefaults returns a copy of o with every default filled in, and all its mistakes.
func (o *Options) withDefaults() (Options, []Problem) {
	var c Options
	if o != nil {
		c = *o
	}
	var problems []Problem
	refuse := func(field, format string, args ...any) {
		problems = append(problems, Problem{Index: -1, Field: field, Rule: RuleOption,
			Message: fmt.Sprintf("options: %s %s", field, fmt.Sprintf(format, args...))})
	}
	duration := func(field string, d *time.Duration, def time.Duration) {
		if *d < 0 {
			refuse(field, "must not be negative; leave it 0 for %v", def)
		} else if *d == 0 {
			*d = def
		}
	}
	count := func(field string, n *int, def int) {
		if *n < 0 {
			refuse(field, "must not be negative; leave it 0 for %d", def)
		} else if *n == 0 {
			*n = def
		}
	}
	duration("Timeout", &c.Timeout, 30*time.Second)
	duration("Grace", &c.Grace, 500*time.Millisecond)
	duration("PipeWait", &c.PipeWait, 2*time.Second)
	count("MaxStdout", &c.MaxStdout, 1<<20)
	count("MaxStderr", &c.MaxStderr, 64<<10)
	count("MaxParallel", &c.MaxParallel, 16)
	if c.Output < SingleLineJSON || c.Output > Text {
		refuse("Output", "must be SingleLineJSON, AnyJSON or Text")
	}
	if c.LookupEnv == nil {
		c.LookupEnv = os.LookupEnv
	}
	if c.Redact == nil {
		c.Redact = func(s string) string { return s }
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, problems
}
