package dispatch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/toolwire/toolwire"
)

// maxTaskFile is the limit of a file of code mode, in bytes. The platform writes the files, so the
// limit is against accidents only.
const maxTaskFile = 16 << 20

// environment returns the first variable that is set among the platform's present and later names:
// PIPELINES_X, DYSTOPIC_X, _PIPELINES_X and _DYSTOPIC_X.
func environment(name string) string {
	for _, prefix := range []string{"PIPELINES_", "DYSTOPIC_", "_PIPELINES_", "_DYSTOPIC_"} {
		if v := os.Getenv(prefix + name); v != "" {
			return v
		}
	}
	return ""
}

// decodeEnvironment returns the envelope of code mode. All mistakes of the environment are reported
// together.
func decodeEnvironment() (e envelope, err error) {
	var problems []error
	payload, err := taskPayload()
	e = envelope{
		proxyURL: environment("ODYSSEY_PROXY_URL"), runToken: environment("RUN_TOKEN"),
		run: Run{
			TaskID: validID(environment("TASK_ID")), RunID: validID(environment("RUN_ID")),
			TokenJTI: validID(environment("RUN_TOKEN_JTI")), Envelope: payload,
		},
	}
	if err != nil {
		problems = append(problems, err)
	}
	if len(payload) > 0 {
		err := readBounded(payload, maxTaskFile, e.readTask)
		if err != nil {
			problems = append(problems, fmt.Errorf("the task input: %w", err))
		}
	}
	if e.run.Instruction == "" {
		brief, err := readFile(environment("TASK_FILE"))
		if err != nil {
			problems = append(problems, fmt.Errorf("the file in PIPELINES_TASK_FILE: %w", err))
		}
		e.run.Instruction = strings.TrimSpace(string(brief))
	}
	if e.run.Instruction == "" && len(problems) == 0 && noTask(payload) {
		problems = append(problems, errors.New(
			"no task: set _PIPELINES_TASK_INPUT_JSON, or name a file that is not empty in "+
				"PIPELINES_TASK_INPUT_FILE or PIPELINES_TASK_FILE"))
	}
	if e.proxyURL == "" {
		problems = append(problems, errors.New("PIPELINES_ODYSSEY_PROXY_URL (the proxy of the run) is not set"))
	}
	if e.runToken == "" {
		problems = append(problems, errors.New("PIPELINES_RUN_TOKEN (the token of the run) is not set"))
	}
	if len(problems) > 0 {
		return e, &toolwire.Error{Package: "dispatch", Code: codeEnvelope, Message: joined(problems)}
	}
	return e, nil
}

// noTask reports whether a task input is missing, or empty and not an object. An empty object is a task
// that seeds nothing.
func noTask(payload []byte) bool {
	payload = bytes.TrimSpace(payload)
	return len(payload) == 0 || payload[0] != '{' && isEmpty(payload)
}

func taskPayload() ([]byte, error) {
	if inline := environment("TASK_INPUT_JSON"); inline != "" {
		return []byte(inline), nil
	}
	payload, err := readFile(environment("TASK_INPUT_FILE"))
	if err != nil {
		return nil, fmt.Errorf("the file in PIPELINES_TASK_INPUT_FILE: %w", err)
	}
	return payload, nil
}

// readFile reads a bounded file. It returns nothing if name is empty.
func readFile(name string) ([]byte, error) {
	if name == "" {
		return nil, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxTaskFile+1))
	if err == nil && len(data) > maxTaskFile {
		err = fmt.Errorf("more than %d bytes", maxTaskFile)
	}
	return data, err
}

// Main is the main function of an agent in code mode, where the platform starts a program instead
// of sending a request ("Porting without the SDK", code mode). It reads the run from environment
// variables:
//
//	PIPELINES_ODYSSEY_PROXY_URL, PIPELINES_RUN_TOKEN          required
//	PIPELINES_RUN_TOKEN_JTI, PIPELINES_RUN_ID, PIPELINES_TASK_ID
//	_PIPELINES_TASK_INPUT_JSON, or the file PIPELINES_TASK_INPUT_FILE: {"user_instruction", "input", "task_id", …}
//	the file PIPELINES_TASK_FILE: the instruction as text, if the task input has none
//
// One of the last three must contain a task. A name may begin with DYSTOPIC_ instead of PIPELINES_,
// and with an underscore before either. Main uses the options Proxy, ProxyHosts, RunTimeout,
// Reserve, Logger, Observer and the options that concern the response.
//
// Main closes standard input and runs the agent. SIGTERM and an interrupt end the agent's context.
// Main writes the response, one line of JSON, to the file that PIPELINES_RESULT_PATH names, or to
// standard output if the variable is not set. The file appears whole or not at all.
//
// Main does not return. It exits with status
//
//	0  the agent answered, or the timeout response was written
//	1  the agent failed
//	2  the environment or opts cannot be used, or the answer cannot be written
//
// A failure is written to standard error as {"error": …, "message": …}; the logger of opts receives
// its whole text. An agent should write to standard output only if it has a result file.
func Main(agent Agent, opts *Options) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	_ = os.Stdin.Close()
	status := codeMode(ctx, agent, opts, os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// codeMode passes the stages of [Handler.ServeHTTP], except for admission.
func codeMode(ctx context.Context, agent Agent, opts *Options, stdout, stderr io.Writer) (status int) {
	fail := func(status int, err *toolwire.Error) int {
		_, _ = stderr.Write(append(errorBody(err), '\n'))
		return status
	}
	h, problems := newHandler(agent, opts, 2)
	if len(problems) > 0 {
		return fail(2, &toolwire.Error{Package: "dispatch", Code: toolwire.CodeInvalidOptions, Message: joined(problems)})
	}
	e, err := decodeEnvironment()
	if err != nil {
		return fail(2, asError(err))
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	s, err := h.openRun(ctx, end, e, time.Now())
	if err != nil {
		return fail(2, asError(err))
	}
	ctx = h.startRun(ctx, s, nil)
	t := &ticket{gate: &h.gate}
	_ = t.enter(0) // the gate does not refuse its first run
	out := h.runAgent(ctx, s, t)
	answer, found := h.answer(ctx, s, out)
	defer h.endRun(ctx, s, out, found)
	if answer == nil {
		return fail(1, out.failure)
	}
	if err := deliver(append(answer, '\n'), environment("RESULT_PATH"), stdout); err != nil {
		return fail(2, &toolwire.Error{Package: "dispatch", Code: codeResult, Message: "the answer cannot be written: " + err.Error()})
	}
	return 0
}

// joined returns problems on one line.
func joined(problems []error) string {
	return strings.ReplaceAll(errors.Join(problems...).Error(), "\n", "; ")
}

// deliver writes the answer to the file at path, by way of a second one beside it, or to stdout.
func deliver(body []byte, path string, stdout io.Writer) error {
	if path == "" {
		_, err := stdout.Write(body)
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".result-*")
	if err != nil {
		return err
	}
	_, err = f.Write(body)
	err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close()) // the platform may read it as another user
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
