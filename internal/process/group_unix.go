//go:build unix

package process

import (
	"os"
	"sync/atomic"
	"syscall"
)

// group is a program and the processes that it started in its process group. It uses system calls,
// because package os opens a descriptor for each process and could collect it too early.
type group struct {
	pid    int // of the leader and of the group
	reaped atomic.Bool
	status syscall.WaitStatus // once reaped
}

func startGroup(c *Command, files pipes) (*group, error) {
	pid, err := syscall.ForkExec(c.Argv[0], c.Argv, &syscall.ProcAttr{
		Dir:   c.Dir,
		Env:   c.Env, // unlike in package os, nil means an empty one
		Files: []uintptr{files.stdin.Fd(), files.stdout.Fd(), files.stderr.Fd()},
		Sys:   &syscall.SysProcAttr{Setpgid: true},
	})
	if err != nil {
		return nil, startError(c, err)
	}
	return &group{pid: pid}, nil
}

// startError distinguishes a missing working directory from a missing program. The system reports
// the same error for both.
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

// signal ignores errors: the group may have ended. A leader that has left its group is signalled by its
// number, which belongs to it until it is collected.
func (g *group) signal(sig syscall.Signal) {
	_ = syscall.Kill(-g.pid, sig)
	if group, err := syscall.Getpgid(g.pid); !g.reaped.Load() && err == nil && group != g.pid {
		_ = syscall.Kill(g.pid, sig)
	}
}

// reap collects the leader, which has exited, and returns how it ended.
func (g *group) reap() (exitCode int, signal string) {
	g.collect()
	switch {
	case !g.reaped.Load(): // other code has collected it, or the host program ignores SIGCHLD
		return -1, ""
	case g.status.Signaled():
		return -1, g.status.Signal().String()
	}
	return g.status.ExitStatus(), ""
}

// collect waits for the leader and frees its number.
func (g *group) collect() {
	for !g.reaped.Load() {
		_, err := syscall.Wait4(g.pid, &g.status, 0, nil)
		if err != nil && err != syscall.EINTR {
			return
		}
		g.reaped.Store(err == nil)
	}
}
