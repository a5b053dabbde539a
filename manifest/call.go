package manifest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/toolwire/toolwire/internal/clip"
	"github.com/toolwire/toolwire/internal/process"
	"github.com/toolwire/toolwire/internal/toolresult"
)

// Call asks for one run of a tool.
type Call struct {
	ID   string // the model's id of the call; only copied to the result and the audit record
	Tool string
	// Args is any value that encoding/json writes as an object, or raw JSON as json.RawMessage or []byte, which the tool
	// gets byte for byte. Nil and blank stand for {}.
	Args any
}

// Result is what became of one call.
type Result struct {
	CallID string
	Tool   string

	// Output is what the tool answered: JSON without white space around it, {} when it printed nothing. Nil on failure.
	// It may share its memory with Stdout.
	Output json.RawMessage
	// Err is nil when the tool succeeded, else an *Error.
	Err error

	// What the program left, also on failure. Stdout is whole unless Err says CodeOutputTooLarge or the program was
	// stopped; of a long Stderr the middle may be missing, which a line in its place says. Of either the end may be
	// missing when a process that the program left behind held it for longer than [Options.PipeWait].
	Stdout, Stderr []byte
	Truncated      bool          // something of Stdout or Stderr is missing, or may be because of such a process
	ExitCode       int           // -1 when the program did not start, or was ended by a signal
	Signal         string        // the name of that signal, for example "killed"
	Duration       time.Duration // from before the start to the end of the program and its group; 0 when it did not start
}

// Call runs a tool and returns its answer: one JSON value. args is as in [Call.Args]. The error is an [*Error]; a
// failed call never looks like an empty answer. For a model use [Manifest.CallForModel].
func (m *Manifest) Call(ctx context.Context, name string, args any) (json.RawMessage, error) {
	r := m.Run(ctx, Call{Tool: name, Args: args})
	return r.Output, r.Err
}

// Run runs a tool and returns everything there is to know; Result.Err says whether it failed. The result is never nil.
func (m *Manifest) Run(ctx context.Context, call Call) *Result {
	t, input, refused := m.prepare(call)
	if refused != nil {
		return call.failed(refused)
	}
	if err := m.enter(ctx); err != nil {
		return call.failed(contextError(ctx, call.Tool))
	}
	defer m.leave()
	return m.start(t, call, input).wait(ctx)
}

// CallAll runs the tools of one turn, at most [Options.MaxParallel] at once, and returns one result per call, in the
// order of the calls. Programs start in that order; with MaxParallel 1 each ends before the next one starts.
func (m *Manifest) CallAll(ctx context.Context, calls []Call) []*Result {
	results := make([]*Result, len(calls))
	var running sync.WaitGroup
	for i, call := range calls {
		t, input, refused := m.prepare(call)
		if refused != nil {
			results[i] = call.failed(refused)
			continue
		}
		if err := m.enter(ctx); err != nil {
			results[i] = call.failed(contextError(ctx, call.Tool))
			continue
		}
		begun := m.start(t, call, input) // here, so that the order of the starts is that of the calls
		running.Go(func() {
			defer m.leave()
			results[i] = begun.wait(ctx)
		})
	}
	running.Wait()
	return results
}

// prepare does all that needs no place: it finds the tool and checks the arguments.
func (m *Manifest) prepare(call Call) (t *tool, input json.RawMessage, refused *Error) {
	t, ok := m.byName[call.Tool]
	if !ok {
		return nil, nil, m.unknown(call.Tool)
	}
	input, err := encodeArguments(call.Args)
	advice := toolresult.Advice
	if err == nil && t.arguments != nil {
		err, advice = t.arguments(input), ""
	}
	if err != nil {
		message := "invalid arguments: " + clip.Text(err.Error(), maxMessage-100) + advice
		return nil, nil, &Error{Code: CodeArguments, Tool: t.name, Message: message, err: err}
	}
	return t, input, nil
}

func (m *Manifest) unknown(name string) *Error {
	e := &Error{Code: CodeUnknownTool, Tool: name, Message: "unknown tool: " + clip.Text(name, 100),
		detail: fmt.Sprintf("unknown tool; the manifest declares %d tools, names are case-sensitive", len(m.tools))}
	for _, t := range m.tools {
		e.tools = append(e.tools, t.name)
	}
	return e
}

// enter takes one of the places in which a program may run.
func (m *Manifest) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case m.places <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (m *Manifest) leave() { <-m.places }

func (call Call) failed(err *Error) *Result {
	return &Result{CallID: call.ID, Tool: call.Tool, Err: err, ExitCode: -1}
}

// started is a call whose program runs, or could not be started.
type started struct {
	manifest    *Manifest
	tool        *tool
	call        Call
	env, passed []string
	begin       time.Time
	run         *process.Run
	err         error // of the start; run is nil then
}

// start and wait are the way that every program goes: run, judge, audit.
func (m *Manifest) start(t *tool, call Call, input json.RawMessage) *started {
	s := &started{manifest: m, tool: t, call: call}
	s.env, s.passed = m.environment(t)
	s.begin = time.Now()
	s.run, s.err = process.Start(&process.Command{
		Argv: t.argv, Env: s.env, Dir: m.options.WorkDir, Stdin: input,
		MaxStdout: m.options.MaxStdout, MaxStderr: m.options.MaxStderr,
		Timeout: t.timeout, Grace: m.options.Grace, PipeWait: m.options.PipeWait,
	})
	return s
}

func (s *started) wait(ctx context.Context) *Result {
	m, t := s.manifest, s.tool
	var o process.Outcome
	var r *Result
	if s.err != nil {
		r = s.call.failed(startError(t, s.err))
	} else {
		o = s.run.Wait(ctx)
		r = &Result{
			CallID: s.call.ID, Tool: t.name,
			Stdout: o.Stdout.Bytes, Stderr: o.Stderr.Bytes, Truncated: o.Stdout.Cut || o.Stderr.Cut,
			ExitCode: o.ExitCode, Signal: o.Signal, Duration: o.Duration,
		}
		m.judge(ctx, t, &o, r)
	}
	if m.options.Audit != nil {
		m.audit(t, s.begin, &o, r, s.env, s.passed)
	}
	return r
}

// judge fills in Output or Err.
func (m *Manifest) judge(ctx context.Context, t *tool, o *process.Outcome, r *Result) {
	var failure *Error
	switch {
	case o.End == process.TimedOut:
		failure = &Error{Code: CodeTimeout, Message: "tool timed out",
			detail: fmt.Sprintf("timed out after %v; raise timeoutSec in the manifest if it needs longer", t.timeout)}
	case o.End == process.Canceled:
		failure = contextError(ctx, t.name)
	case o.End == process.Overflow:
		failure = &Error{Code: CodeOutputTooLarge, Message: fmt.Sprintf("tool output is larger than %d bytes", m.options.MaxStdout),
			detail: fmt.Sprintf("printed more than %d bytes to stdout; print less or raise Options.MaxStdout", m.options.MaxStdout)}
	case o.ExitCode != 0:
		failure = exitError(r)
	default:
		r.Output, failure = m.options.Output.read(r.Stdout)
	}
	if failure != nil {
		failure.Tool = t.name
		r.Err = failure
	}
}

func startError(t *tool, err error) *Error {
	e := &Error{Code: CodeUnavailable, Tool: t.name, Message: "tool could not be started", err: err}
	if dir, ok := errors.AsType[*process.DirError](err); ok {
		e.detail = fmt.Sprintf("cannot start: %v; create the folder or set Options.WorkDir", dir)
		return e
	}
	advice := "see Explain for how it was resolved"
	switch {
	case errors.Is(err, fs.ErrNotExist):
		advice = "build it, or correct command[0]"
		if _, statErr := os.Stat(t.argv[0]); statErr == nil {
			advice = "the file exists, but the interpreter that it names does not"
		}
	case errors.Is(err, fs.ErrPermission):
		advice = "make it executable"
	case errors.Is(err, syscall.ENOEXEC):
		advice = "it is no program for this system; a script needs a first line such as #!/bin/sh"
	}
	e.detail = fmt.Sprintf("cannot start %s: %v; %s", t.argv[0], rootCause(err), advice)
	return e
}

// rootCause takes the operation and the path, which the message has already, off an error of package os.
func rootCause(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}

// contextError tells the caller's cancellation from the caller's deadline.
func contextError(ctx context.Context, tool string) *Error {
	e := &Error{Code: CodeCanceled, Tool: tool, Message: "tool call was canceled", err: ctx.Err()}
	if errors.Is(e.err, context.DeadlineExceeded) {
		e.Code, e.Message = CodeDeadline, "tool call was stopped: no time left"
		e.detail = "stopped at the caller's deadline, which came before the tool's own timeout"
	}
	if cause := context.Cause(ctx); cause != e.err {
		e.err = errors.Join(e.err, cause)
	}
	return e
}
