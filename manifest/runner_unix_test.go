//go:build unix

package manifest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/testkit"
	"github.com/toolwire/toolwire/manifest"
)

// repeat runs one tool many times, eight at the same time, and checks each result.
func repeat(t *testing.T, e entry, args any, times int, check func(*manifest.Result) error) {
	t.Helper()
	nothingLeft(t)
	m := load(t, &manifest.Options{MaxParallel: 8}, e)
	calls := make([]call, times)
	for i := range calls {
		calls[i] = call{tool: "t", args: args}
	}
	failed := 0
	for i, r := range doAll(t.Context(), m, calls) {
		if err := check(r); err != nil {
			if failed++; failed == 1 {
				t.Errorf("run %d: %v", i, err)
			}
		}
	}
	if failed > 1 {
		t.Errorf("%d of %d runs failed", failed, times)
	}
}

// These cases depend on the relative speed of the program and its runner. .ci/nightly runs each 500
// times.
func TestRacesAreNeverLost(t *testing.T) {
	often, large := testkit.Size(24, 500), testkit.Size(8, 100)
	t.Run("exits at once without reading a small input", func(t *testing.T) {
		repeat(t, tool("say", `{"ok":true}`, "", "0"), json.RawMessage(`{"a":1}`), often, func(r *manifest.Result) error {
			if r.Err != nil || string(r.Output) != `{"ok":true}` {
				return fmt.Errorf("output %q, err %v", r.Output, r.Err)
			}
			return nil
		})
	})
	t.Run("echoes a small input", func(t *testing.T) {
		repeat(t, tool("echo"), json.RawMessage(`{"a":1}`), often, func(r *manifest.Result) error {
			if r.Err != nil || string(r.Output) != `{"a":1}` {
				return fmt.Errorf("output %q, err %v", r.Output, r.Err)
			}
			return nil
		})
	})
	t.Run("prints 65,000 bytes", func(t *testing.T) {
		repeat(t, tool("print", "65000"), nil, often, func(r *manifest.Result) error {
			if r.Err != nil || len(r.Stdout) != 65000 || r.Truncated {
				return fmt.Errorf("%d bytes, truncated %v, err %v", len(r.Stdout), r.Truncated, r.Err)
			}
			return nil
		})
	})
	t.Run("fails with text on stdout and unread input", func(t *testing.T) {
		repeat(t, tool("say", "partial", "", "3"), json.RawMessage(`{"a":1}`), often, func(r *manifest.Result) error {
			if r.ExitCode != 3 || code(t, r.Err) != "exit_status" || shown(r) != `{"error":"exit status 3"}` {
				return fmt.Errorf("exit %d, err %v", r.ExitCode, r.Err)
			}
			return nil
		})
	})
	t.Run("writes boom to stderr and fails, input unread", func(t *testing.T) {
		repeat(t, tool("say", "", "boom", "3"), json.RawMessage(`{"a":1}`), often, func(r *manifest.Result) error {
			if r.ExitCode != 3 || shown(r) != `{"error":"boom"}` {
				return fmt.Errorf("exit %d, err %v", r.ExitCode, r.Err)
			}
			return nil
		})
	})
	t.Run("succeeds with stderr only, input unread", func(t *testing.T) {
		repeat(t, tool("say", "", "just a log line", "0"), json.RawMessage(`{"a":1}`), often, func(r *manifest.Result) error {
			if r.Err != nil || len(r.Stdout) != 0 || string(r.Stderr) != "just a log line" || shown(r) != "{}" {
				return fmt.Errorf("stdout %q, stderr %q, err %v", r.Stdout, r.Stderr, r.Err)
			}
			return nil
		})
	})
	t.Run("never reads a megabyte of input", func(t *testing.T) {
		repeat(t, tool("say", `{"ok":true}`, "", "0"), megabyte(), large, func(r *manifest.Result) error {
			if r.Err != nil || string(r.Output) != `{"ok":true}` {
				return fmt.Errorf("output %q, err %v", r.Output, r.Err)
			}
			return nil
		})
	})
	t.Run("fails and never reads a megabyte of input", func(t *testing.T) {
		repeat(t, tool("say", "", "boom", "3"), megabyte(), large, func(r *manifest.Result) error {
			if r.ExitCode != 3 || shown(r) != `{"error":"boom"}` {
				return fmt.Errorf("exit %d, err %v", r.ExitCode, r.Err)
			}
			return nil
		})
	})
}

func TestLargeInputAndOutput(t *testing.T) {
	nothingLeft(t)
	t.Run("a megabyte each way", func(t *testing.T) {
		r := run(t, tool("echo"), megabyte(), &manifest.Options{MaxStdout: 2 << 20})
		if r.Err != nil || string(r.Output) != string(megabyte()) {
			t.Errorf("%d bytes, err %v", len(r.Output), r.Err)
		}
	})
	t.Run("a megabyte out, small input", func(t *testing.T) {
		r := run(t, tool("print", "1048576"), nil, nil)
		if r.Err != nil || len(r.Stdout) != 1<<20 {
			t.Errorf("%d bytes, err %v", len(r.Stdout), r.Err)
		}
	})
	t.Run("output before a large input is read", func(t *testing.T) {
		r := run(t, tool("print-then-read", "500000"), megabyte(), nil)
		if r.Err != nil || len(r.Stdout) != 500000 {
			t.Errorf("%d bytes, err %v", len(r.Stdout), r.Err)
		}
	})
	t.Run("the same in a pipeline of a shell", func(t *testing.T) {
		r := run(t, entry{"name": "t", "command": []string{"/bin/sh", "-c",
			"(head -c 300000 /dev/zero | tr '\\0' 1; cat >/dev/null) | cat"}}, megabyte(), nil)
		if r.Err != nil || len(r.Output) != 300000 {
			t.Errorf("%d bytes, err %v", len(r.Stdout), r.Err)
		}
	})
}

// forever is the running time of programs that a call must end.
const forever = "10m"

// sufficient returns the first timeout that is long enough for what a program must do before it.
// The necessary time depends on the machine.
func sufficient(t *testing.T, enough func(timeout time.Duration) bool) time.Duration {
	t.Helper()
	for timeout := 60 * time.Millisecond; timeout < 5*time.Minute; timeout *= 3 {
		if enough(timeout) {
			return timeout
		}
	}
	t.Fatal("the program does not start")
	return 0
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

func TestTimeout(t *testing.T) {
	const (
		none = iota
		inGroup
		inOwnSession
	)
	for _, tt := range []struct {
		name  string
		e     func(file string) entry
		child int
	}{
		{"sleeper", func(string) entry { return tool("sleep", forever) }, none},
		{"closed its outputs and goes on", func(string) entry { return tool("close-stdout", forever) }, none},
		{"grandchild holds the pipes", func(f string) entry { return tool("parent", "sleep", "stay", f, forever) }, inGroup},
		{"grandchild in its own session holds the pipes", func(f string) entry {
			return tool("parent", "sleep", "stay-session", f, forever)
		}, inOwnSession},
		{"grandchild ignores SIGTERM", func(f string) entry { return tool("parent", "stubborn", "stay", f+"1", forever, f) },
			inGroup},
		{"shell pipeline", func(string) entry {
			return entry{"name": "t", "command": []string{"/bin/sh", "-c", "cat | (sleep 600; cat) | cat"}}
		}, none},
		{"shell with a sleep", func(string) entry {
			return entry{"name": "t", "command": []string{"/bin/sh", "-c", "sleep 600; true"}}
		}, none},
		{"input that is not read", func(string) entry {
			return entry{"name": "t", "command": []string{"/bin/sh", "-c", "exec sleep 600"}}
		}, none},
	} {
		t.Run(tt.name, func(t *testing.T) {
			nothingLeft(t)
			var file string
			var r *manifest.Result
			timeout := sufficient(t, func(timeout time.Duration) bool {
				file = filepath.Join(t.TempDir(), "pid")
				r = run(t, tt.e(file), megabyte(), &manifest.Options{Timeout: timeout})
				return tt.child == none || exists(file)
			})
			if code(t, r.Err) != toolwire.CodeTimeout || shown(r) != `{"error":"tool timed out"}` {
				t.Errorf("err = %v", r.Err)
			}
			if errors.Is(r.Err, context.DeadlineExceeded) || errors.Is(r.Err, context.Canceled) {
				t.Error("the tool's timeout looks like the caller's context")
			}
			if r.Duration < timeout { // the additional time depends on the machine
				t.Errorf("took %v, timeout %v", r.Duration, timeout)
			}
			switch tt.child {
			case inGroup:
				gone(t, file)
			case inOwnSession: // documented to survive
				end(t, file)
			}
		})
	}
}

func TestTerminateComesBeforeKill(t *testing.T) {
	nothingLeft(t)
	t.Run("a polite program may clean up", func(t *testing.T) {
		var file string
		var r *manifest.Result
		sufficient(t, func(timeout time.Duration) bool {
			file = filepath.Join(t.TempDir(), "cleaned")
			r = run(t, tool("polite", file), nil, &manifest.Options{Timeout: timeout, Grace: 5 * time.Minute})
			return exists(file + ".ready")
		})
		if code(t, r.Err) != toolwire.CodeTimeout || r.ExitCode != 0 {
			t.Errorf("err %v, exit %d after %v", r.Err, r.ExitCode, r.Duration)
		}
		await(t, file)
		if r.Output != nil {
			t.Errorf("output after the timeout became the result: %s", r.Output)
		}
	})
	t.Run("a stubborn one is killed after the grace", func(t *testing.T) {
		const grace = 100 * time.Millisecond
		var file string
		var r *manifest.Result
		timeout := sufficient(t, func(timeout time.Duration) bool {
			file = filepath.Join(t.TempDir(), "pid")
			r = run(t, tool("stubborn", forever, file), nil, &manifest.Options{Timeout: timeout, Grace: grace})
			return exists(file)
		})
		if code(t, r.Err) != toolwire.CodeTimeout || r.Signal != "killed" || r.ExitCode != -1 {
			t.Errorf("err %v, signal %q, exit %d", r.Err, r.Signal, r.ExitCode)
		}
		if r.Duration < timeout+grace {
			t.Errorf("took %v", r.Duration)
		}
		gone(t, file)
	})
}

// A program that leaves its process group itself is ended by its number.
func TestProgramThatLeavesItsGroup(t *testing.T) {
	nothingLeft(t)
	for _, behaviour := range []string{"stubborn", "polite"} {
		t.Run(behaviour, func(t *testing.T) {
			var file string
			var r *manifest.Result
			sufficient(t, func(timeout time.Duration) bool {
				file = filepath.Join(t.TempDir(), "pid")
				e, grace := tool("outsider", "stubborn", forever, file), 100*time.Millisecond
				if behaviour == "polite" {
					e, grace = tool("outsider", "polite", file), 5*time.Minute
				}
				r = run(t, e, nil, &manifest.Options{Timeout: timeout, Grace: grace})
				return exists(file) || exists(file+".ready")
			})
			if code(t, r.Err) != toolwire.CodeTimeout {
				t.Errorf("err %v", r.Err)
			}
			if behaviour == "polite" && r.ExitCode != 0 || behaviour == "stubborn" && r.Signal != "killed" {
				t.Errorf("exit %d, signal %q", r.ExitCode, r.Signal)
			}
			gone(t, file)
		})
	}
}

func TestPipeWait(t *testing.T) {
	const pipeWait = 100 * time.Millisecond
	for _, mode := range []string{"leave", "leave-session"} {
		t.Run(mode, func(t *testing.T) {
			nothingLeft(t)
			file := filepath.Join(t.TempDir(), "pid")
			m := load(t, nil, tool("parent", "sleep", mode, file, forever)).SetPipeWait(pipeWait)
			r := m.Do(t.Context(), "t", nil)
			if r.Err != nil || string(r.Output) != `{"left":true}` {
				t.Errorf("output %q, err %v; what the program printed before it exited counts", r.Output, r.Err)
			}
			if !r.Truncated {
				t.Error("not truncated, but a process that could have printed more was cut off")
			}
			if r.Duration < pipeWait {
				t.Errorf("took %v", r.Duration)
			}
			if mode == "leave" {
				gone(t, file)
			} else {
				end(t, file)
			}
		})
	}
	t.Run("no longer than the timeout", func(t *testing.T) {
		nothingLeft(t)
		var file string
		var r *manifest.Result
		sufficient(t, func(timeout time.Duration) bool {
			file = filepath.Join(t.TempDir(), "pid")
			m := load(t, &manifest.Options{Timeout: timeout},
				tool("parent", "sleep", "leave", file, forever)).SetPipeWait(time.Hour)
			r = m.Do(t.Context(), "t", nil)
			return code(t, r.Err) != toolwire.CodeTimeout // a program that has exited does not time out
		})
		if r.Err != nil || !r.Truncated {
			t.Errorf("truncated %v, err %v", r.Truncated, r.Err)
		}
		gone(t, file)
	})
	t.Run("without any wait, what the program printed is whole", func(t *testing.T) {
		nothingLeft(t)
		m := load(t, &manifest.Options{MaxParallel: 8}, tool("print-and-leave", "60000")).SetPipeWait(1)
		for i, r := range doAll(t.Context(), m, slices.Repeat([]call{{tool: "t"}}, testkit.Size(16, 40))) {
			if r.Err != nil || len(r.Stdout) != 60000 || !r.Truncated {
				t.Errorf("run %d: %d bytes, truncated %v, err %v", i, len(r.Stdout), r.Truncated, r.Err)
			}
		}
	})
	t.Run("no wait if no process holds a pipe", func(t *testing.T) {
		m := load(t, &manifest.Options{Timeout: time.Hour}, tool("echo")).SetPipeWait(time.Hour)
		r := m.Do(t.Context(), "t", nil)
		if r.Err != nil || r.Truncated {
			t.Errorf("truncated %v, err %v", r.Truncated, r.Err)
		}
	})
	t.Run("output that comes too late is missed", func(t *testing.T) {
		nothingLeft(t)
		for script, truncated := range map[string]bool{
			"echo 1; (sleep 600; echo b) & exit 0":                 true,
			"echo 1; (sleep 600; echo b >&2) >/dev/null & exit 0":  true,
			"echo 1; (sleep 600; echo b) >/dev/null 2>&1 & exit 0": false,
			"echo 1; (sleep 0.1; echo b >/dev/null) & exit 0":      false,
		} {
			wait := pipeWait
			if !truncated {
				wait = 5 * time.Minute
			}
			e := entry{"name": "t", "command": []string{"/bin/sh", "-c", script}}
			m := load(t, nil, e).SetPipeWait(wait)
			r := m.Do(t.Context(), "t", nil)
			if r.Err != nil || string(r.Stdout) != "1\n" || r.Truncated != truncated {
				t.Errorf("%s: stdout %q, truncated %v, err %v", script, r.Stdout, r.Truncated, r.Err)
			}
		}
	})
	t.Run("what was left running without a pipe ends too", func(t *testing.T) {
		nothingLeft(t)
		file := filepath.Join(t.TempDir(), "pid")
		r := run(t, entry{"name": "t", "command": []string{"/bin/sh", "-c",
			"sleep 600 >/dev/null 2>&1 </dev/null & echo $! >" + file + "; echo '{}'"}}, nil, nil)
		if r.Err != nil {
			t.Error(r.Err)
		}
		gone(t, file)
	})
}

func TestContext(t *testing.T) {
	boom := errors.New("user went away")
	t.Run("cancelled while running", func(t *testing.T) {
		nothingLeft(t)
		file := filepath.Join(t.TempDir(), "pid")
		m := load(t, nil, tool("parent", "sleep", "stay", file, forever))
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() { await(t, file); cancel(boom) }()
		r := m.Do(ctx, "t", nil)
		if code(t, r.Err) != toolwire.CodeCanceled || !errors.Is(r.Err, context.Canceled) || !errors.Is(r.Err, boom) {
			t.Errorf("err = %v", r.Err)
		}
		gone(t, file)
	})
	t.Run("the caller's deadline comes first", func(t *testing.T) {
		nothingLeft(t)
		m := load(t, nil, tool("sleep", forever).with("timeoutSec", 600))
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		r := m.Do(ctx, "t", nil)
		if code(t, r.Err) != toolwire.CodeDeadline || !errors.Is(r.Err, context.DeadlineExceeded) ||
			!strings.Contains(r.Err.Error(), "the caller's deadline") {
			t.Errorf("err = %v", r.Err)
		}
	})
	t.Run("the tool's timeout comes first", func(t *testing.T) {
		m := load(t, &manifest.Options{Timeout: 50 * time.Millisecond}, tool("sleep", forever))
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		if r := m.Do(ctx, "t", nil); code(t, r.Err) != toolwire.CodeTimeout {
			t.Errorf("err = %v", r.Err)
		}
	})
	t.Run("a failure of the tool's own is not blamed on the context", func(t *testing.T) {
		m := load(t, nil, tool("say", "", "boom", "3"))
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		if r := m.Do(ctx, "t", nil); code(t, r.Err) != "exit_status" {
			t.Errorf("err = %v", r.Err)
		}
	})
	t.Run("over before the start", func(t *testing.T) {
		nothingLeft(t)
		file := filepath.Join(t.TempDir(), "ran")
		m := load(t, nil, tool("append", "x", file, "0s"))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for range 20 { // a free place must never win over the context
			if r := m.Do(ctx, "t", nil); !errors.Is(r.Err, context.Canceled) || r.Duration != 0 {
				t.Errorf("started: %v, err = %v", r.Duration != 0, r.Err)
			}
		}
		if _, err := os.Stat(file); err == nil {
			t.Error("the program ran")
		}
	})
}

func TestOutputCaps(t *testing.T) {
	nothingLeft(t)
	t.Run("endless stdout", func(t *testing.T) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r := run(t, tool("flood"), nil, nil)
		runtime.ReadMemStats(&after)
		if code(t, r.Err) != toolwire.CodeResponseTooLarge || len(r.Stdout) != 1<<20 || !r.Truncated || r.Output != nil {
			t.Errorf("%d bytes, truncated %v, err %v", len(r.Stdout), r.Truncated, r.Err)
		}
		if got := shown(r); got != `{"error":"tool output is larger than 1048576 bytes"}` {
			t.Errorf("message %s", got)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 8<<20 {
			t.Errorf("allocated %d bytes to keep 1 MiB", used)
		}
	})
	t.Run("exactly at the cap", func(t *testing.T) {
		r := run(t, tool("print", "1000"), nil, &manifest.Options{MaxStdout: 1000})
		if r.Err != nil || len(r.Stdout) != 1000 || r.Truncated {
			t.Errorf("%d bytes, truncated %v, err %v", len(r.Stdout), r.Truncated, r.Err)
		}
	})
	t.Run("one byte over", func(t *testing.T) {
		r := run(t, tool("print", "1001"), nil, &manifest.Options{MaxStdout: 1000})
		if code(t, r.Err) != toolwire.CodeResponseTooLarge || len(r.Stdout) != 1000 {
			t.Errorf("%d bytes, err %v", len(r.Stdout), r.Err)
		}
	})
	t.Run("a chatty stderr does not fail a tool", func(t *testing.T) {
		r := run(t, tool("flood-stderr", "1000000", "THE END", "0"), nil, nil)
		if r.Err != nil || !r.Truncated || len(r.Stderr) > 64<<10+100 {
			t.Fatalf("%d bytes, truncated %v, err %v", len(r.Stderr), r.Truncated, r.Err)
		}
		if s := string(r.Stderr); !strings.HasPrefix(s, "BEGIN") || !strings.HasSuffix(s, "THE END") ||
			!strings.Contains(s, "\n[933900 bytes left out]\n") {
			t.Errorf("stderr = %q … %q", s[:20], s[len(s)-20:])
		}
	})
	t.Run("an endless stderr takes little memory", func(t *testing.T) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r := run(t, tool("flood-stderr", "33554432", "THE END", "0"), nil, nil)
		runtime.ReadMemStats(&after)
		if r.Err != nil || !strings.HasSuffix(string(r.Stderr), "THE END") {
			t.Fatalf("%d bytes, err %v", len(r.Stderr), r.Err)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 4<<20 {
			t.Errorf("allocated %d bytes to keep 64 KiB", used)
		}
	})
	t.Run("the reason after a long log is found", func(t *testing.T) {
		r := run(t, tool("flood-stderr", "1000000", "\n"+`{"error":"disk full"}`+"\n", "1"), nil, nil)
		if got := shown(r); got != `{"error":"disk full"}` {
			t.Errorf("message %s", got)
		}
	})
}

func TestStartFailures(t *testing.T) {
	nothingLeft(t)
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return p
	}
	for _, tt := range []struct {
		name    string
		program string
		options *manifest.Options
		is      error
		says    string
	}{
		{"missing", filepath.Join(dir, "nothing"), nil, fs.ErrNotExist, "build it"},
		{"not executable", write("plain", "#!/bin/sh\n", 0o600), nil, fs.ErrPermission, "make it executable"},
		{"a folder", dir, nil, fs.ErrPermission, "make it executable"},
		{"not a program", write("noise", "\x00\x01", 0o700), nil, nil, "not a program for this system"},
		{"no interpreter", write("script", "#!/no/such/thing\n", 0o700), nil, fs.ErrNotExist, "interpreter"},
		{"no working directory", "/bin/sh", &manifest.Options{WorkDir: filepath.Join(dir, "gone")}, fs.ErrNotExist,
			"Options.WorkDir"},
		{"working directory is a file", "/bin/sh", &manifest.Options{WorkDir: filepath.Join(dir, "plain")}, nil,
			"not a directory"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := run(t, entry{"name": "t", "command": []string{tt.program}}, nil, tt.options)
			if code(t, r.Err) != "program_unavailable" || tt.is != nil && !errors.Is(r.Err, tt.is) {
				t.Fatalf("err = %v", r.Err)
			}
			if !strings.Contains(r.Err.Error(), tt.says) {
				t.Errorf("error %q does not say %q", r.Err, tt.says)
			}
			if got := shown(r); got != `{"error":"tool could not be started"}` {
				t.Errorf("message %s", got)
			}
			if r.ExitCode != -1 {
				t.Errorf("exit code %d", r.ExitCode)
			}
		})
	}
}

func TestKilledBySignal(t *testing.T) {
	r := run(t, tool("suicide"), nil, nil)
	if code(t, r.Err) != "killed_by_signal" || r.Signal != "killed" || r.ExitCode != -1 {
		t.Errorf("err %v, signal %q, exit %d", r.Err, r.Signal, r.ExitCode)
	}
	if got := shown(r); got != `{"error":"signal: killed"}` {
		t.Errorf("message %s", got)
	}
}

func TestArgvIsNotAShell(t *testing.T) {
	nothingLeft(t)
	file := filepath.Join(t.TempDir(), "pwned")
	r := run(t, tool("say", `{"a":"$(touch `+file+`)"}`, "", "0"), nil, nil)
	if string(r.Output) != `{"a":"$(touch `+file+`)"}` {
		t.Errorf("output %s", r.Output)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("a shell saw the arguments")
	}
}

func TestConcurrentCallsOfOneManifest(t *testing.T) {
	nothingLeft(t)
	m := load(t, nil, tool("echo"))
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			want := fmt.Sprintf(`{"n":%d}`, i)
			got, err := m.Call(t.Context(), "t", json.RawMessage(want))
			if err != nil || string(got) != want {
				t.Errorf("got %s, err %v, want %s", got, err, want)
			}
		})
	}
	all.Wait()
}

func TestCallsAtTheSameTime(t *testing.T) {
	t.Run("the bound holds, and is used", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "log")
		m := load(t, &manifest.Options{MaxParallel: 3}, tool("meet", file, "3", "20ms"))
		doAll(t.Context(), m, slices.Repeat([]call{{tool: "t"}}, 12))
		log, _ := os.ReadFile(file)
		inside, most := 0, 0
		for _, b := range log {
			switch b {
			case '<':
				inside++
			case '>':
				inside--
			}
			most = max(most, inside)
		}
		if most != 3 || inside != 0 {
			t.Errorf("at most %d at once, want 3: %s", most, log)
		}
	})
	t.Run("a cancelled turn answers every call", func(t *testing.T) {
		nothingLeft(t)
		file := filepath.Join(t.TempDir(), "pid")
		m := load(t, &manifest.Options{MaxParallel: 2}, tool("parent", "sleep", "stay", file, forever))
		ctx, cancel := context.WithCancel(t.Context())
		go func() { await(t, file); cancel() }()
		for i, r := range doAll(ctx, m, slices.Repeat([]call{{tool: "t"}}, 12)) {
			if r == nil || !errors.Is(r.Err, context.Canceled) {
				t.Errorf("result %d: %+v", i, r)
			}
		}
	})
}

// The rule of ./tools/bin is about the path that is written. The file there may be a link to any program, and so may
// the folder: who can write there decides what runs.
func TestLinksInBin(t *testing.T) {
	dir := t.TempDir()
	elsewhere := filepath.Join(dir, "elsewhere")
	for _, folder := range []string{filepath.Join(dir, "tools", "bin"), elsewhere} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	program := filepath.Join(elsewhere, "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho '{\"ran\":true}'\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"linked": program, "folder": elsewhere, "broken": filepath.Join(dir, "none"), "loop": "loop"} {
		if err := os.Symlink(to, filepath.Join(dir, "tools", "bin", name)); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{
		"./tools/bin/linked": "", "./tools/bin/folder/program": "", "./tools/bin/broken": "program_unavailable", "./tools/bin/loop": "program_unavailable",
		"./tools/bin/folder/../../elsewhere/program": "invalid_manifest",
	} {
		m, err := manifest.Parse(fmt.Appendf(nil, `{"tools":[{"name":"t","command":[%q]}]}`, path), &manifest.Options{Dir: dir})
		if err == nil {
			_, err = m.Call(t.Context(), "t", nil)
		}
		if got := string(toolwire.CodeOf(err)); got != want {
			t.Errorf("%s: %q, want %q: %v", path, got, want, err)
		}
	}
}
