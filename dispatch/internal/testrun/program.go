package testrun

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/toolwire/toolwire/internal/process"
)

const (
	maxProgramOutput = 1 << 20 // of each stream; a program that writes more to standard output ends
	programGrace     = 2 * time.Second
)

// program is an agent in code mode, as a transport: each dispatch starts the program with the
// run in its environment, and the file that it writes is the response.
type program struct {
	setup *Setup
	argv  []string // with the absolute path of the program
	dir   string   // of the result files

	mu    sync.Mutex
	count int
	runs  sync.WaitGroup
}

// startable prepares the setup for a Target with a Command.
func (s *Setup) startable() error {
	argv, err := process.Find(s.Target.Command)
	if err != nil {
		return fmt.Errorf("dispatchtest: Target.Command: %w", err)
	}
	dir, err := os.MkdirTemp("", "toolwire-*")
	if err != nil {
		return fmt.Errorf("dispatchtest: %w", err)
	}
	p := &program{setup: s, argv: argv, dir: dir}
	s.closers = append(s.closers, func() {
		p.runs.Wait()
		_ = os.RemoveAll(dir)
	})
	s.URL = "http://program.test/"
	s.connect(p)
	return nil
}

// RoundTrip runs the program. The response has the content of the result file. Without one it is
// empty, and the witness says why.
func (p *program) RoundTrip(r *http.Request) (*http.Response, error) {
	p.runs.Add(1)
	defer p.runs.Done()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	_ = r.Body.Close()
	var envelope struct {
		Input json.RawMessage `json:"input"`
	}
	if err := json.Unmarshal(body, &envelope); err != nil {
		return nil, err
	}
	p.mu.Lock()
	p.count++
	file := filepath.Join(p.dir, fmt.Sprintf("result-%d.json", p.count))
	p.mu.Unlock()
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	run, err := process.Start(&process.Command{
		Argv: p.argv, Env: p.environment(r.Header, envelope.Input, file), Dir: dir,
		MaxStdout: maxProgramOutput, MaxStderr: maxProgramOutput,
		Timeout: p.setup.Target.RunTimeout, Grace: programGrace, PipeWait: programGrace,
	})
	if err != nil {
		return nil, fmt.Errorf("the program cannot be started: %w", err)
	}
	if trace := httptrace.ContextClientTrace(r.Context()); trace != nil && trace.GotConn != nil {
		trace.GotConn(httptrace.GotConnInfo{}) // the agent has the dispatch; it is to blame for a time-out
	}
	outcome := run.Wait(r.Context())
	if outcome.End == process.TimedOut || outcome.End == process.Canceled {
		<-r.Context().Done() // a result that is late does not count
		return nil, r.Context().Err()
	}
	result, err := readResult(file)
	if len(result) == 0 {
		p.setup.Witness.failed(describe(outcome, err))
	}
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(result)),
		ContentLength: int64(len(result)), Request: r,
	}, nil
}

// environment has the documented variables, the place of the result, the search path and home of
// this process, and what the target adds. Of this process nothing else is handed on.
func (p *program) environment(header http.Header, input json.RawMessage, file string) []string {
	env := []string{
		"PIPELINES_ODYSSEY_PROXY_URL=" + header.Get("X-Pipelines-Odyssey-Proxy-URL"),
		"PIPELINES_RUN_TOKEN=" + header.Get("X-Pipelines-Run-Token"),
		"PIPELINES_RUN_TOKEN_JTI=" + header.Get("X-Pipelines-Run-Token-Jti"),
		"PIPELINES_RUN_ID=" + header.Get("X-Pipelines-Run-Id"),
		"PIPELINES_TASK_ID=" + header.Get("X-Pipelines-Task-Id"),
		"_PIPELINES_TASK_INPUT_JSON=" + string(input),
		"PIPELINES_RESULT_PATH=" + file,
	}
	return append(append(env, process.Environment()...), p.setup.Target.Env...)
}

// readResult reads the file that a program has left. The program may have made anything in its place: to open a
// named pipe could wait for ever, and so could a read of a terminal.
func readResult(file string) ([]byte, error) {
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, cmp.Or(err, errors.New("it is not a regular file"))
	}
	data, err := io.ReadAll(io.LimitReader(f, maxAnswer+1))
	if err == nil && len(data) > maxAnswer {
		return nil, errors.New("the result is larger than 16 MiB")
	}
	return data, err
}

// describe says how a program ended that left no result. The reason is the record of the run that
// failed, or the last line that it wrote.
func describe(o process.Outcome, err error) string {
	var b strings.Builder
	switch {
	case o.End == process.Overflow:
		b.WriteString("the program wrote more than 1 MiB to standard output and was ended")
	case o.Signal != "":
		fmt.Fprintf(&b, "the program was ended by the signal %s", o.Signal)
	default:
		fmt.Fprintf(&b, "the program ended with exit status %d", o.ExitCode)
	}
	switch {
	case err == nil:
		b.WriteString(" and left an empty result")
	case errors.Is(err, os.ErrNotExist):
		b.WriteString(" and wrote no result to PIPELINES_RESULT_PATH")
	default:
		fmt.Fprintf(&b, ", and its result cannot be read: %v", err)
	}
	if len(bytes.TrimSpace(o.Stdout.Bytes)) > 0 {
		b.WriteString("; what it wrote to standard output is not the result")
	}
	if text := strings.TrimSpace(string(o.Stderr.Bytes)); text != "" {
		reason := text[strings.LastIndexByte(text, '\n')+1:]
		if at := strings.LastIndex(text, "run failed"); at >= 0 {
			reason, _, _ = strings.Cut(text[strings.LastIndexByte(text[:at], '\n')+1:], "\n")
		}
		fmt.Fprintf(&b, "; standard error ends with: %s\n%s", reason, text)
	}
	return b.String()
}
