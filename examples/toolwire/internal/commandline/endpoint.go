package commandline

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/process"
	"github.com/toolwire/toolwire/internal/redact"
	"github.com/toolwire/toolwire/internal/text"
)

const (
	startTime = 5 * time.Minute   // for a program that go run compiles first
	noLimit   = 10000 * time.Hour // for the time that an endpoint serves
	stopTime  = 5 * time.Second   // for the runs in progress
	pollTime  = 100 * time.Millisecond
)

// Start starts the program of an agent with a -url, and returns when something listens there. stop ends the program.
// The program gets the variables that a program in code mode gets, without the variables of a run, and writes to log.
// If the command line has no -url or no program, nothing is started.
func (a *Agent) Start(ctx context.Context, log io.Writer) (stop func(), err error) {
	if len(a.program) == 0 || len(a.Command) > 0 {
		return func() {}, nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	u, _ := httpcall.ParseLink(a.URL) // Read has checked it
	address := net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme]))
	if listens(address) {
		return nil, errors.New("a program listens at -url already: end it, or leave the program after -- out")
	}
	argv, err := process.Find(a.program)
	if err != nil {
		return nil, fmt.Errorf("the program: %w", err)
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	lines := &lines{w: log, secrets: redact.New(append(redact.Env(a.Env), a.AuthValue)...)}
	run, err := process.Start(&process.Command{
		Argv: argv, Env: append(process.Environment(), a.Env...), Dir: dir, Log: lines, MaxStdout: 1 << 10, MaxStderr: 1 << 10,
		Timeout: noLimit, Grace: stopTime, PipeWait: time.Second,
	})
	if err != nil {
		return nil, fmt.Errorf("the program cannot be started: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		o := run.Wait(ctx)
		lines.end()
		if ctx.Err() == nil {
			status := strings.TrimRight(fmt.Sprintf("%d %s", o.ExitCode, o.Signal), " ")
			fmt.Fprintf(lines, "%s: the agent's program has ended with exit status %s\n", a.command, status)
		}
	}()
	stop = func() { cancel(); <-over }
	for limit := time.Now().Add(startTime); !listens(address); {
		select {
		case <-over:
			err = errors.New("the agent's program has ended and did not listen at -url; of the variables it gets PATH, HOME and those of -env")
		case <-ctx.Done():
		case <-time.After(pollTime):
			if time.Now().After(limit) {
				err = fmt.Errorf("the agent's program does not listen at -url after %s", startTime)
			}
		}
		if ctx.Err() != nil {
			err = context.Cause(ctx) // the interrupt has ended the program too
		}
		if err != nil {
			stop()
			return nil, err
		}
	}
	return stop, nil
}

func listens(address string) bool {
	conn, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

// lines writes the lines of a program for a terminal or the log of a CI engine, without secrets. It is safe for
// concurrent use and never fails.
type lines struct {
	mu      sync.Mutex
	w       io.Writer
	secrets *redact.Set
	open    []byte // the line that has not ended
}

// maxLine is how many bytes of a line are kept until it ends.
const maxLine = 64 << 10

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open = append(l.open, p...)
	whole := bytes.LastIndexByte(l.open, '\n') + 1
	if len(l.open)-whole > maxLine {
		whole = len(l.open)
	}
	for line := range strings.Lines(l.secrets.Redact(string(l.open[:whole]))) {
		fmt.Fprintln(l.w, text.Clean(strings.TrimRight(line, "\r\n")))
	}
	l.open = append(l.open[:0], l.open[whole:]...)
	return len(p), nil
}

// end writes a line that has not ended.
func (l *lines) end() {
	l.mu.Lock()
	open := len(l.open) > 0
	l.mu.Unlock()
	if open {
		_, _ = l.Write([]byte{'\n'})
	}
}
