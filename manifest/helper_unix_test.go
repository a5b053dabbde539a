//go:build unix

package manifest_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// childAttributes gives the child of "parent" a session of its own in the modes that end in
// -session.
func childAttributes(mode string) *syscall.SysProcAttr {
	if mode == "leave-session" || mode == "stay-session" {
		return &syscall.SysProcAttr{Setsid: true}
	}
	return nil
}

func joinParent() {
	group, err := syscall.Getpgid(os.Getppid())
	if err == nil {
		err = syscall.Setpgid(0, group)
	}
	if err != nil {
		panic(err)
	}
}

// gone waits until the process has ended. It may still wait to be collected.
func gone(t testing.TB, pidFile string) {
	t.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(await(t, pidFile)))
	if err != nil {
		t.Fatal(err)
	}
	for range 60_000 { // five minutes
		if !running(pid) {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Errorf("process %d is still running", pid)
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

// end kills a process that left its group, which calls do not kill.
func end(t testing.TB, pidFile string) {
	if pid, err := strconv.Atoi(await(t, pidFile)); err == nil {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

func running(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || !bytes.Contains(stat, []byte(") Z "))
}

// nothingLeft fails the test if it ends with more goroutines or open files than it has now, or with
// a child process.
func nothingLeft(t testing.TB) {
	t.Helper()
	if r, w, err := os.Pipe(); err == nil { // the first pipe opens files of the runtime that stay open
		_, _ = r.Close(), w.Close()
	}
	goroutines, files := runtime.NumGoroutine(), openFiles()
	t.Cleanup(func() {
		var now, open int
		for range 60_000 { // five minutes
			now, open = runtime.NumGoroutine(), openFiles()
			if now <= goroutines && open <= files {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
		if now > goroutines {
			buf := make([]byte, 1<<20)
			t.Errorf("%d goroutines, %d before:\n%s", now, goroutines, buf[:runtime.Stack(buf, true)])
		}
		if open > files {
			t.Errorf("%d open files, %d before", open, files)
		}
		var status syscall.WaitStatus
		if pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil); !errors.Is(err, syscall.ECHILD) {
			t.Errorf("a child process is left: wait4 = %d, %v", pid, err)
		}
	})
}

// openFiles returns 0 if the system does not report the number.
func openFiles() int {
	entries, _ := os.ReadDir("/proc/self/fd")
	return len(entries)
}
