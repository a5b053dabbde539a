package manifest

import (
	"os"
	"path/filepath"
	"time"

	"github.com/toolwire/toolwire/internal/problem"
)

// Options configures a [Manifest]. The zero value of every field means its default, and nil
// Options mean all defaults. Load and Parse copy the options.
type Options struct {
	// Dir is the folder that relative programs resolve against. [Load] defaults to the folder of
	// the manifest. [Parse] has no default and needs Dir if a program is relative.
	Dir string
	// WorkDir is the working directory of the programs. Defaults to Dir. If Dir is not set either,
	// it defaults to the working directory of this process at the time of loading.
	WorkDir string

	// Timeout is the time limit of tools without timeoutSec. It covers the program from its start
	// to its end, without the wait for a place (see MaxParallel). Defaults to 30 s.
	Timeout time.Duration
	// Grace is the time between SIGTERM and SIGKILL when a process group must end. Windows has no
	// SIGTERM and kills at once. Defaults to 500 ms.
	Grace time.Duration
	// MaxStdout is the number of bytes that a tool may print to stdout. More fails the call.
	// Defaults to 1 MiB.
	MaxStdout int
	// MaxParallel is the number of programs of this manifest that run at the same time. Further
	// calls wait for a place. Defaults to 16.
	MaxParallel int

	// Output is the format that tools must print. Set another one for programs that were not written for
	// the document. Defaults to [SingleLineJSON].
	Output OutputFormat

	// AllowUnchecked accepts schemas that this library can check only in part, such as a pattern
	// with look-behind. The tool then receives arguments that only the unchecked part would reject;
	// see [schema.Validator.Unchecked]. By default [Load] rejects such schemas.
	AllowUnchecked bool

	// LookupEnv returns the environment variables for the tools. It is called for each call of a
	// tool, on any goroutine. Defaults to os.LookupEnv.
	LookupEnv func(name string) (value string, ok bool)

	// Audit, if not nil, is called after each run of a program, before the call returns. It is
	// called concurrently if calls are concurrent. [AuditLog] writes the records to files.
	Audit func(AuditRecord)
}

// OutputFormat is what a tool must print to stdout. In each JSON format, empty output means {}.
// JSON must be valid UTF-8 and at most 256 levels deep.
type OutputFormat int

const (
	// SingleLineJSON is one JSON value on one line, as the document demands.
	SingleLineJSON OutputFormat = iota
	// AnyJSON is one JSON value on any number of lines.
	AnyJSON
	// Text is any text. [Manifest.Call] returns it as a JSON string without trailing line ends.
	// Bytes that are not valid UTF-8 become U+FFFD.
	Text
)

const (
	maxManifest   = 4 << 20  // bytes of a document
	maxTools      = 10_000   // of a document
	maxStderr     = 64 << 10 // bytes of stderr that a result keeps
	maxTimeoutSec = int64(365 * 24 * time.Hour / time.Second)
)

// withDefaults returns a copy of o with all defaults, and every problem.
func (o *Options) withDefaults() (Options, problem.List[Problem]) {
	var c Options
	if o != nil {
		c = *o
	}
	var problems problem.List[Problem]
	reject := func(field, format string, args ...any) {
		problems.Add("invalid_option", "", "Options."+field+" "+format, args...)
	}
	absolute := func(field, dir string) string {
		abs, err := filepath.Abs(dir)
		if err != nil {
			reject(field, "cannot be made absolute: %v", err)
		}
		return abs
	}
	if c.Dir != "" {
		c.Dir = absolute("Dir", c.Dir)
	}
	switch {
	case c.WorkDir != "":
		c.WorkDir = absolute("WorkDir", c.WorkDir)
	case c.Dir != "":
		c.WorkDir = c.Dir
	default:
		c.WorkDir = absolute("WorkDir", ".")
	}
	limit := func(name, rule string) { reject(name, "%s", rule) }
	problem.Limit(limit, "Timeout", &c.Timeout, 30*time.Second)
	problem.Limit(limit, "Grace", &c.Grace, 500*time.Millisecond)
	problem.Limit(limit, "MaxStdout", &c.MaxStdout, 1<<20)
	problem.Limit(limit, "MaxParallel", &c.MaxParallel, 16)
	if c.Output < SingleLineJSON || c.Output > Text {
		reject("Output", "must be SingleLineJSON, AnyJSON or Text")
	}
	if c.LookupEnv == nil {
		c.LookupEnv = os.LookupEnv
	}
	return c, problems
}
