// Package process runs one program to its end, in a process group of its own, and always comes back: on time, with the
// output up to then, and with nothing of the program left behind.
//
// On Linux, macOS and the other Unix systems the program leads a new process group, and a signal to the group reaches
// every descendant that did not leave it with setsid or setpgid. On Windows the program is put into a job object just
// after its start; a process that it managed to start before that moment is outside the job and outlives it.
package process

import (
	"context"
	"os"
	"slices"
	"sync"
	"time"
)

// drainWait is how long the readers may take to empty their pipes after everything that could write to them was
// killed. It is used up only when a process that left the group still holds a pipe.
const drainWait = 500 * time.Millisecond

// Command is what to run and within which bounds. Every field is needed, except Stdin.
type Command struct {
	Argv  []string // the program's absolute path and its arguments
	Env   []string // the whole environment; empty means an empty one
	Dir   string
	Stdin []byte

	MaxStdout int // bytes; more ends the run
	MaxStderr int // bytes; more is left out of the middle

	Timeout  time.Duration // from the start to the end of the program
	Grace    time.Duration // between the polite signal and the one that kills
	PipeWait time.Duration // for pipes still open after the program's end
}

// End tells what ended a run.
type End int

const (
	Exited   End = iota // the program itself, or a signal that was not ours
	TimedOut            // Command.Timeout
	Canceled            // the context
	Overflow            // more than Command.MaxStdout
)

// Outcome is what a run left.
type Outcome struct {
	End      End
	ExitCode int    // -1 when a signal ended the program or its status is unknown
	Signal   string // the signal's name, "" when there was none
	Stdout   Stream
	Stderr   Stream
	Duration time.Duration
}

// Stream is what was read from one pipe.
type Stream struct {
	Bytes []byte
	Total int64 // bytes read, also those not kept
	Cut   bool  // some were not kept, or what the program left running was ended while it could still have written some
}

// Run is a program that was started. Everyone who starts one must call [Run.Wait], once.
type Run struct {
	*Command
	begin time.Time
	group *group
	pipes pipes

	io       sync.WaitGroup // the goroutines that copy
	out, err Stream         // theirs until io is done

	exited  chan struct{}
	read    chan readerDone // once per reader
	reading []*Stream       // whose readers are still at work
	alive   bool            // the program has not been seen to exit
}

// Start starts the program and does not wait for it. The error is that of a start that failed; once the program runs
// there is none.
func Start(c *Command) (*Run, error) {
	begin := time.Now()
	ours, childs, err := openPipes()
	if err != nil {
		return nil, err
	}
	feed := len(c.Stdin) > inlineInput
	if !feed { // it fits into the pipe: no goroutine is needed, and the program does not have to read it
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
	r.io.Go(func() { r.read <- readerDone{&r.out, r.out.readAtMost(ours.stdout, c.MaxStdout)} })
	r.io.Go(func() { r.err.readEnds(ours.stderr, c.MaxStderr); r.read <- readerDone{&r.err, false} })
	go func() { g.awaitExit(); r.exited <- struct{}{} }()
	return r, nil
}

// Wait returns when the program, its pipes and its group are gone; it ends them when ctx does. When the kernel does not
// end a killed program (a process in uninterruptible sleep), Wait returns all the same and one goroutine stays to collect
// it.
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

// readerDone is what a reader says in the end.
type readerDone struct {
	stream   *Stream
	overflow bool // there was more than it may keep
}

// supervise waits for the end of the program and of both readers, enforces the bounds, and leaves no goroutine of the
// run except the one that waits for the program, and that only while alive is still true.
func (r *Run) supervise(ctx context.Context, deadline time.Time) End {
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	end := r.watch(ctx, timer, deadline)
	if r.alive {
		r.group.terminate()
		timer.Reset(r.Grace)
		r.awaitExit(timer)
	}
	if r.poll() && end == Exited {
		end = Overflow
	}
	var missed []*Stream
	if end == Exited { // what the program left running may have had more to say; every other end tells that by itself
		missed = slices.Clone(r.reading)
	}
	r.group.kill() // also when the program ended well: what it left running belongs to this run and ends with it
	if r.alive {
		timer.Reset(r.PipeWait)
		r.awaitExit(timer)
	}
	if len(r.reading) > 0 && r.drain(timer) && end == Exited {
		end = Overflow
	}
	r.pipes.close() // ends a reader or writer whose pipe is held by a process outside the group
	r.io.Wait()
	for _, s := range missed {
		s.Cut = true
	}
	return end
}

// watch returns when the program is gone and its output read, or when there is a reason not to wait for that.
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
		if !r.alive { // it ended by itself; processes that still hold its pipes get no more time
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

// drain lets the readers take what the dead left in the pipes, and reports whether it was too much.
func (r *Run) drain(timer *time.Timer) (overflow bool) {
	timer.Reset(drainWait)
	for len(r.reading) > 0 {
		select {
		case done := <-r.read:
			overflow = r.note(done) || overflow
		case <-timer.C:
			return overflow
		}
	}
	return overflow
}

// poll takes note of the readers that are done already, and reports whether there was too much.
func (r *Run) poll() (overflow bool) {
	for {
		select {
		case done := <-r.read:
			overflow = r.note(done) || overflow
		default:
			return overflow
		}
	}
}

// note strikes a reader that is done off the list.
func (r *Run) note(done readerDone) (overflow bool) {
	r.reading = slices.DeleteFunc(r.reading, func(s *Stream) bool { return s == done.stream })
	return done.overflow
}

// feed writes the input. A program that does not read it, or not all of it, is in its right.
func (r *Run) feed() {
	_, _ = r.pipes.stdin.Write(r.Stdin)
	_ = r.pipes.stdin.Close()
}

// pipes are the three ends that one side holds.
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

// close is harmless for ends that are closed already or were never opened.
func (p pipes) close() {
	_ = p.stdin.Close()
	_ = p.stdout.Close()
	_ = p.stderr.Close()
}
