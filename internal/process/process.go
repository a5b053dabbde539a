// Package process runs one program in a process group of its own. A run always ends in time. It
// returns the output of the program and kills the rest of the process group.
//
// On Unix systems the program leads a new process group. A signal to the group reaches every
// descendant that did not leave the group with setsid or setpgid; the program itself is signalled by its
// number too. Output is complete when its pipe is empty or at its end. On Windows the program joins a
// job object right after its start. A process that it starts before that moment is not in the job
// and survives it. On other systems programs cannot be started.
//
// Only the code for Linux has been run. That for other systems is built and vetted.
package process

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// Command is a program with its bounds. All fields except Stdin and Log are required.
type Command struct {
	Argv  []string // the absolute path of the program and its arguments
	Env   []string // the whole environment; nil means an empty one
	Dir   string
	Stdin []byte

	MaxStdout int // bytes; more output ends the run
	MaxStderr int // bytes; the middle of more output is left out

	// Log gets both outputs as they are written. If it is not nil, the middle of more than MaxStdout bytes is left
	// out too. It must be safe for concurrent use. After an error of Log that output is not read any more.
	Log io.Writer

	Timeout  time.Duration // from the start to the end of the program
	Grace    time.Duration // between SIGTERM and SIGKILL
	PipeWait time.Duration // for pipes that are open after the end of the program
}

// End is what ended a run.
type End int

const (
	Exited   End = iota // the program itself, or a signal that this package did not send
	TimedOut            // Command.Timeout
	Canceled            // the context
	Overflow            // more than Command.MaxStdout
)

// Outcome describes a run that has ended.
type Outcome struct {
	End      End
	ExitCode int    // -1 if a signal ended the program or its status is unknown
	Signal   string // the name of that signal; "" if there was none
	Stdout   Stream
	Stderr   Stream
	Duration time.Duration
}

// Stream is the output that was read from one pipe.
type Stream struct {
	Bytes []byte
	Total int64 // bytes read, including dropped ones
	// Cut reports that bytes were dropped, or that a process that the program left behind was
	// killed while it could still write some.
	Cut bool
}

// Find returns a command with the absolute path of its program.
func Find(command []string) ([]string, error) {
	path, err := exec.LookPath(command[0])
	if err == nil {
		path, err = filepath.Abs(path)
	}
	return append([]string{path}, command[1:]...), err
}

// Environment returns what an agent's program gets of the environment of this process, as "NAME=value".
func Environment() (env []string) {
	for _, name := range []string{"PATH", "HOME", "SystemRoot", "TMPDIR", "TEMP"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// Run is a started program. The caller of [Start] must call [Run.Wait] once.
type Run struct {
	*Command
	begin time.Time
	group *group
	pipes pipes

	io       sync.WaitGroup // the goroutines that read and write pipes
	out, err Stream         // owned by these goroutines until io is done

	exited  chan struct{}
	read    chan readerDone // one value per reader
	reading []*Stream       // the streams whose readers have not returned
	alive   bool            // the exit of the program is not yet known
}

// Start starts the program and does not wait for it. It returns an error only if the program did
// not start.
func Start(c *Command) (*Run, error) {
	begin := time.Now()
	ours, childs, err := openPipes()
	if err != nil {
		return nil, err
	}
	feed := len(c.Stdin) > inlineInput
	if !feed { // it fits into the pipe, so it needs no goroutine and no reader
		_, _ = ours.stdin.Write(c.Stdin)
		_ = ours.stdin.Close()
	}
	g, err := startGroup(c, childs)
	childs.close()
	if err != nil {
		ours.close()
		return nil, err
	}
	r := &Run{Command: c, begin: begin, group: g, pipes: ours,
		exited: make(chan struct{}, 1), read: make(chan readerDone, 2), alive: true}
	r.reading = []*Stream{&r.out, &r.err}
	if feed {
		r.io.Go(r.feed)
	}
	r.io.Go(func() {
		pipe := newOutput(ours.stdout)
		overflow := false
		if c.Log == nil {
			overflow = r.out.readAtMost(pipe, c.MaxStdout)
		} else {
			r.out.readEnds(io.TeeReader(pipe, c.Log), c.MaxStdout)
		}
		r.read <- readerDone{&r.out, overflow, pipe.open}
	})
	r.io.Go(func() {
		pipe := newOutput(ours.stderr)
		if c.Log == nil {
			r.err.readEnds(pipe, c.MaxStderr)
		} else {
			r.err.readEnds(io.TeeReader(pipe, c.Log), c.MaxStderr)
		}
		r.read <- readerDone{&r.err, false, pipe.open}
	})
	go func() { g.awaitExit(); r.exited <- struct{}{} }()
	return r, nil
}

// Wait returns when the program and its group have ended and the pipes are closed. It ends them
// when ctx ends. If the kernel does not end a killed program (a process in uninterruptible sleep),
// Wait returns anyway and one goroutine waits to collect it.
func (r *Run) Wait(ctx context.Context) Outcome {
	end := r.supervise(ctx, r.begin.Add(r.Timeout))
	o := Outcome{End: end, ExitCode: -1, Stdout: r.out, Stderr: r.err}
	if r.alive {
		go func() { <-r.exited; r.group.reap() }()
	} else {
		o.ExitCode, o.Signal = r.group.reap()
	}
	o.Duration = time.Since(r.begin)
	return o
}

// readerDone is what a reader sends when it returns.
type readerDone struct {
	stream   *Stream
	overflow bool // the output exceeds the limit
	open     bool // a process can still write to the pipe
}

// supervise waits for the program and both readers and enforces the bounds. When it returns, all
// goroutines of the run have ended, except the one that waits for the program if alive is true.
func (r *Run) supervise(ctx context.Context, deadline time.Time) End {
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	end := r.watch(ctx, timer, deadline)
	if r.alive {
		r.group.terminate()
		timer.Reset(r.Grace)
		r.awaitExit(timer)
	}
	if end == Exited { // before its processes are killed: what the program wrote is in the pipes
		open, overflow := r.drain()
		if overflow {
			end = Overflow
		}
		for _, stream := range open { // a process that the program left behind could write more
			stream.Cut = true
		}
	}
	r.group.kill() // also after success: what the program left running belongs to this run
	if r.alive {
		timer.Reset(r.PipeWait)
		r.awaitExit(timer)
	}
	r.drain()
	r.pipes.close() // ends a writer whose pipe a process outside the group holds
	r.io.Wait()
	return end
}

// watch returns when the program has exited and its output is read, or when a bound is reached.
func (r *Run) watch(ctx context.Context, timer *time.Timer, deadline time.Time) End {
	for r.alive || len(r.reading) > 0 {
		var end End
		select {
		case <-r.exited:
			r.alive = false
			if time.Until(deadline) > r.PipeWait {
				timer.Reset(r.PipeWait)
			}
			continue
		case done := <-r.read:
			if r.note(done) {
				return Overflow
			}
			continue
		case <-ctx.Done():
			end = Canceled
		case <-timer.C:
			end = TimedOut
		}
		select {
		case <-r.exited:
			r.alive = false
		default:
		}
		if !r.alive { // the program exited by itself; do not wait longer for its pipes
			return Exited
		}
		return end
	}
	return Exited
}

func (r *Run) awaitExit(timer *time.Timer) {
	select {
	case <-r.exited:
		r.alive = false
	case <-timer.C:
	}
}

// drain returns when both readers have read what their pipes hold. It returns the streams whose pipes a
// process can still write to, and whether a limit is exceeded.
func (r *Run) drain() (open []*Stream, overflow bool) {
	wake(r.pipes.stdout)
	wake(r.pipes.stderr)
	for len(r.reading) > 0 {
		done := <-r.read
		overflow = r.note(done) || overflow
		if done.open {
			open = append(open, done.stream)
		}
	}
	return open, overflow
}

// note removes a reader that has returned.
func (r *Run) note(done readerDone) (overflow bool) {
	r.reading = slices.DeleteFunc(r.reading, func(s *Stream) bool { return s == done.stream })
	return done.overflow
}

// feed writes the input. It ignores errors, because a program does not have to read its input.
func (r *Run) feed() {
	_, _ = r.pipes.stdin.Write(r.Stdin)
	_ = r.pipes.stdin.Close()
}

// pipes are the three ends of pipes on one side.
type pipes struct{ stdin, stdout, stderr *os.File }

func openPipes() (ours, childs pipes, err error) {
	if childs.stdin, ours.stdin, err = os.Pipe(); err == nil {
		if ours.stdout, childs.stdout, err = os.Pipe(); err == nil {
			ours.stderr, childs.stderr, err = os.Pipe()
		}
	}
	if err != nil {
		ours.close()
		childs.close()
	}
	return ours, childs, err
}

// close ignores ends that are closed or were never opened.
func (p pipes) close() {
	_ = p.stdin.Close()
	_ = p.stdout.Close()
	_ = p.stderr.Close()
}
