package commandline

import (
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
)

const (
	startTime = 5 * time.Minute   // for a program that go run compiles first
	noLimit   = 10000 * time.Hour // for the time that an endpoint serves
	stopTime  = 5 * time.Second   // for the runs in progress
	pollTime  = 100 * time.Millisecond
)

// Start starts the program of an agent with a -url, and returns when something listens there. stop ends the program.
// The program gets the variables that one in code mode gets, except for those of a run, and writes to log. If the
// command line has no -url or no program, nothing is started.
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
	variables, err := a.variables()
	if err != nil {
		return nil, err
	}
	argv, err := process.Find(a.program)
	if err != nil {
		return nil, fmt.Errorf("the program: %w", err)
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	log = &shared{w: log}
	run, err := process.Start(&process.Command{
		Argv: argv, Env: append(process.Environment(), variables...), Dir: dir, Log: log, MaxStdout: 1 << 10, MaxStderr: 1 << 10,
		Timeout: noLimit, Grace: stopTime, PipeWait: time.Second,
	})
	if err != nil {
		return nil, fmt.Errorf("the program cannot be started: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		if o := run.Wait(ctx); ctx.Err() == nil {
			fmt.Fprintf(log, "%s: the agent's program has ended%s\n", a.command, strings.TrimRight(fmt.Sprintf(" with exit status %d %s", o.ExitCode, o.Signal), " "))
		}
	}()
	stop = func() { cancel(); <-over }
	for limit := time.Now().Add(startTime); !listens(address); {
		select {
		case <-over:
			err = errors.New("the agent's program has ended and did not listen at -url")
		case <-ctx.Done():
		case <-time.After(pollTime):
			if time.Now().After(limit) {
				err = fmt.Errorf("the agent's program does not listen at -url after %s", startTime)
			}
		}
		if ctx.Err() != nil {
			err = context.Cause(ctx) // which has ended the program too
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

// shared is a writer for several goroutines. It never fails.
type shared struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = s.w.Write(p)
	return len(p), nil
}
