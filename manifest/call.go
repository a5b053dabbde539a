package manifest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/internal/process"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/runctx"
	"github.com/toolwire/toolwire/internal/text"
	"github.com/toolwire/toolwire/internal/toolresult"
)

// Result is the outcome of one call.
type Result struct {
	// Output is the JSON value that the tool printed, without white space around it. It is {} if
	// the tool printed nothing, and nil if the call failed. It may share memory with Stdout.
	Output json.RawMessage
	// Err is nil if the tool succeeded, and an [*Error] otherwise.
	Err error

	// Stdout and Stderr are what the program printed, even if the call failed. Stdout is cut at
	// Options.MaxStdout. Stderr keeps 64 KiB: of a longer text the beginning and the end, with a
	// line between them that counts the missing bytes.
	Stdout, Stderr []byte
	// Truncated reports that output is missing, or may be missing because a process that the
	// program left behind held a pipe.
	Truncated bool
	ExitCode  int           // -1 if the program did not start or a signal ended it
	Signal    string        // the name of that signal, for example "killed"
	Duration  time.Duration // from the start to the end of the process group; 0 without a start
}

// Call runs a tool and returns its output, one JSON value. Use [Manifest.CallForModel] for calls of a
// model, and [Manifest.Do] for exit status and stderr.
//
// args is a Go value that encoding/json writes as an object, or JSON text as json.RawMessage or []byte,
// which the tool receives without the white space around it. Nil, null and blank text mean {}.
//
// The error is an [*Error]. Its code is toolwire.CodeToolFailed if the output is an object whose member
// "error" is not null, false, "", 0, [] or {}.
func (m *Manifest) Call(ctx context.Context, name string, args any) (json.RawMessage, error) {
	r := m.Do(ctx, name, args)
	if toolresult.Failed(r.Output) {
		return nil, &Error{Code: toolwire.CodeToolFailed, Tool: name, Message: "the tool reported a failure",
			detail: "the output reports a failure; show Error.ToolResult to the model", reply: reply{output: r.Output}}
	}
	return r.Output, r.Err
}

// CallForModel runs a tool for a model. If the call failed, the result is the output if that reports
// the failure, and [Error.ToolResult] otherwise.
//
// args is the model's text: a JSON object as string, []byte or json.RawMessage. If the text is
// malformed, the result tells the model what to correct. args may also be any Go value that
// [Manifest.Call] accepts. The audit record contains the id of the call that proxy.WithCallID has
// set in ctx. For several calls at the same time use proxy.Each.
//
// An error means that the agent should stop. It is an [*Error]: toolwire.CodeCanceled or toolwire.CodeDeadline if ctx
// has ended, or toolwire.CodeInvalidArguments for a Go value that JSON cannot represent.
func (m *Manifest) CallForModel(ctx context.Context, name string, args any) (toolwire.ModelResult, error) {
	s, ok := toolresult.Arguments(args)
	if !ok {
		var err error
		if s, err = rawjson.EncodeArguments(args, toolresult.ArgumentLimits); err != nil {
			return toolwire.ModelResult{}, &Error{Code: toolwire.CodeInvalidArguments, Tool: name, Err: err,
				Message: "invalid arguments: " + text.Cut(err.Error(), maxMessage)}
		}
	}
	r := m.Do(ctx, name, s)
	if r.Err == nil {
		return toolresult.ForModel(r.Output, toolresult.Failed(r.Output)), nil
	}
	e, _ := errors.AsType[*Error](r.Err) // Do sets no other type
	if e.Code == toolwire.CodeCanceled || e.Code == toolwire.CodeDeadline || ctx.Err() != nil {
		return toolwire.ModelResult{}, e
	}
	return toolresult.ForModel(e.ToolResult(), true), nil
}

// Do runs a tool, with args as in [Manifest.Call], and returns all details. Result.Err reports a failure.
// An output with a member "error" is not a failure here. The result is never nil.
func (m *Manifest) Do(ctx context.Context, name string, args any) *Result {
	t, input, rejected := m.prepare(name, args)
	if rejected != nil {
		return &Result{Err: rejected, ExitCode: -1}
	}
	if err := m.enter(ctx); err != nil {
		return &Result{Err: contextError(ctx, name), ExitCode: -1}
	}
	defer m.leave()
	return m.run(ctx, t, input)
}

// prepare finds the tool and checks the arguments.
func (m *Manifest) prepare(name string, args any) (t *tool, input json.RawMessage, rejected *Error) {
	t, ok := m.byName[name]
	if !ok {
		return nil, nil, m.unknown(name)
	}
	input, err := rawjson.EncodeArguments(args, toolresult.ArgumentLimits)
	advice := toolresult.Advice
	if err == nil && t.validate != nil {
		err, advice = t.validate(input), ""
	}
	if err != nil {
		message := "invalid arguments: " + text.Cut(err.Error(), maxMessage-100) + advice
		return nil, nil, &Error{Code: toolwire.CodeInvalidArguments, Tool: t.name, Message: message, Err: err}
	}
	return t, input, nil
}

func (m *Manifest) unknown(name string) *Error {
	e := &Error{Code: toolwire.CodeUnknownTool, Tool: name, Message: "unknown tool: " + text.Cut(name, 100),
		detail: fmt.Sprintf("unknown tool; the manifest declares %s, and names are case-sensitive", text.Plural(len(m.tools), "tool"))}
	for _, t := range m.tools {
		e.reply.tools = append(e.reply.tools, t.name)
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

// run runs the program, judges its output and calls Options.Audit.
func (m *Manifest) run(ctx context.Context, t *tool, input json.RawMessage) *Result {
	var o process.Outcome
	r := &Result{ExitCode: -1}
	env, passed := m.environment(t)
	begin := time.Now()
	program, err := process.Start(&process.Command{
		Argv: t.argv, Env: env, Dir: m.options.WorkDir, Stdin: input,
		MaxStdout: m.options.MaxStdout, MaxStderr: maxStderr,
		Timeout: t.timeout, Grace: m.options.Grace, PipeWait: m.pipeWait,
	})
	if err != nil {
		r.Err = startError(t, err)
	} else {
		o = program.Wait(ctx)
		r.Stdout, r.Stderr, r.Truncated = o.Stdout.Bytes, o.Stderr.Bytes, o.Stdout.Cut || o.Stderr.Cut
		r.ExitCode, r.Signal, r.Duration = o.ExitCode, o.Signal, o.Duration
		m.judge(ctx, t, &o, r)
	}
	if m.options.Audit != nil {
		record := AuditRecord{
			Time: begin.UTC(), CallID: runctx.CallID(ctx), Tool: t.name, Argv: slices.Clone(t.argv), WorkDir: m.options.WorkDir,
			Exit: r.ExitCode, Millis: r.Duration.Milliseconds(), StdoutBytes: o.Stdout.Total, StderrBytes: o.Stderr.Total,
			Truncated: r.Truncated, EnvKeys: passed, Code: toolwire.CodeOf(r.Err),
		}
		record.hide(env[len(env)-len(passed):]) // passed variables come last
		m.options.Audit(record)
	}
	return r
}

// judge sets Output or Err.
func (m *Manifest) judge(ctx context.Context, t *tool, o *process.Outcome, r *Result) {
	var failure *Error
	switch {
	case o.End == process.TimedOut:
		failure = &Error{Code: toolwire.CodeTimeout, Message: "tool timed out",
			detail: fmt.Sprintf("timed out after %v; raise timeoutSec in the manifest if it needs longer", t.timeout)}
	case o.End == process.Canceled:
		failure = contextError(ctx, t.name)
	case o.End == process.Overflow:
		failure = &Error{Code: toolwire.CodeResponseTooLarge,
			Message: fmt.Sprintf("tool output is larger than %d bytes", m.options.MaxStdout),
			detail: fmt.Sprintf("printed more than %d bytes to stdout; print less or raise Options.MaxStdout",
				m.options.MaxStdout)}
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
	e := &Error{Code: codeUnavailable, Tool: t.name, Message: "tool could not be started", Err: err}
	if dir, ok := errors.AsType[*process.DirError](err); ok {
		e.detail = fmt.Sprintf("cannot start: %v; create the folder or set Options.WorkDir", dir)
		return e
	}
	advice := "check command[0]"
	switch {
	case errors.Is(err, fs.ErrNotExist):
		advice = "build it, or correct command[0]"
		if _, statErr := os.Stat(t.argv[0]); statErr == nil {
			advice = "the file exists, but the interpreter in its first line does not"
		}
	case errors.Is(err, fs.ErrPermission):
		advice = "make it executable"
	case errors.Is(err, syscall.ENOEXEC):
		advice = "it is not a program for this system; a script needs a first line such as #!/bin/sh"
	}
	e.detail = fmt.Sprintf("cannot start %s: %v; %s", t.argv[0], rootCause(err), advice)
	return e
}

// rootCause removes operation and path from an error of the packages os and os/exec: the messages
// of this package contain the path already.
func rootCause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// contextError distinguishes cancellation from a deadline.
func contextError(ctx context.Context, tool string) *Error {
	e := &Error{
		Code: problem.ContextCode[toolwire.Code](ctx.Err()), Tool: tool, Message: "tool call was canceled", Err: ctx.Err(),
	}
	if e.Code == toolwire.CodeDeadline {
		e.Message = "tool call was stopped: no time left"
		e.detail = "stopped at the caller's deadline, before the tool's own timeout"
	}
	if cause := context.Cause(ctx); cause != e.Err {
		e.Err = errors.Join(e.Err, cause)
	}
	return e
}
