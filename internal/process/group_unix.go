//go:build unix

package process

import (
	"os"
	"syscall"
)

// group is a program and everything that it started and that stayed in its process group.
type group struct {
	leader *os.Process
	state  *os.ProcessState // once reaped
}

func startGroup(c *Command, files pipes) (*group, error) {
	env := c.Env
	if env == nil {
		env = []string{} // nil would mean all of ours
	}
	p, err := os.StartProcess(c.Argv[0], c.Argv, &os.ProcAttr{
		Dir:   c.Dir,
		Env:   env,
		Files: []*os.File{files.stdin, files.stdout, files.stderr},
		Sys:   &syscall.SysProcAttr{Setpgid: true},
	})
	if err != nil {
		return nil, startError(c, err)
	}
	return &group{leader: p}, nil
}

// startError tells a missing working directory from a missing program: the system says the same of both.
func startError(c *Command, err error) error {
	if info, statErr := os.Stat(c.Dir); statErr != nil {
		return &DirError{statErr}
	} else if !info.IsDir() {
		return &DirError{&os.PathError{Op: "chdir", Path: c.Dir, Err: syscall.ENOTDIR}}
	}
	return err
}

func (g *group) terminate() { g.signal(syscall.SIGTERM) }
func (g *group) kill()      { g.signal(syscall.SIGKILL) }

// signal ignores errors: a group that is gone is what was wanted.
func (g *group) signal(sig syscall.Signal) { _ = syscall.Kill(-g.leader.Pid, sig) }

// reap collects the leader, which has exited, and tells how it ended.
func (g *group) reap() (exitCode int, signal string) {
	if g.state == nil {
		g.state, _ = g.leader.Wait()
	}
	if g.state == nil {
		return -1, ""
	}
	if status, ok := g.state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		signal = status.Signal().String()
	}
	return g.state.ExitCode(), signal
}
