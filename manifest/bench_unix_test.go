//go:build unix

package manifest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/toolwire/toolwire/internal/testkit"
	"github.com/toolwire/toolwire/manifest"
)

const (
	benchProgram = "/bin/cat"
	benchInput   = `{"timezone":"Europe/Helsinki"}`
)

// BenchmarkCall runs cat as a tool, once and eight times at once. The floor is the same program
// through os/exec, with the same pipes, process group, timeout and environment, and nothing else.
func BenchmarkCall(b *testing.B) {
	call := benchLibrary(b)
	dir := b.TempDir()
	for _, parallel := range []int{1, 8} {
		for _, way := range []struct {
			name string
			call func(context.Context) error
		}{{"floor", func(ctx context.Context) error { return floor(ctx, dir) }}, {"toolwire", call}} {
			b.Run(strconv.Itoa(parallel)+"_at_once/"+way.name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					var all sync.WaitGroup
					for range parallel {
						all.Go(func() {
							if err := way.call(b.Context()); err != nil {
								b.Error(err)
							}
						})
					}
					all.Wait()
				}
			})
		}
	}
}

// BenchmarkStop measures how long a canceled call takes to return while a grandchild holds its
// pipes.
func BenchmarkStop(b *testing.B) {
	m, err := manifest.Parse([]byte(`{"tools":[{"name":"t","command":["/bin/sh","-c","sleep 30 & echo {}; wait"]}]}`), nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("toolwire", func(b *testing.B) {
		var took []time.Duration
		for b.Loop() {
			var stopped time.Time
			ctx, cancel := context.WithCancel(b.Context())
			timer := time.AfterFunc(30*time.Millisecond, func() { stopped = time.Now(); cancel() })
			r := m.Do(ctx, "t", nil)
			took = append(took, time.Since(stopped))
			if timer.Stop() || r.Err == nil {
				b.Fatal("the call was not stopped")
			}
		}
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ms-to-return")
		b.ReportMetric(0, "ns/op")
	})
}

// os/exec alone makes 76 allocations per call.
func TestCallAllocations(t *testing.T) {
	if testkit.Race {
		t.Skip("the race detector makes allocations of its own; without it this test runs")
	}
	call := benchLibrary(t)
	allocations := testing.AllocsPerRun(50, func() {
		if err := call(t.Context()); err != nil {
			t.Error(err)
		}
	})
	if allocations > 64 {
		t.Errorf("%v allocations per call, want at most 64", allocations)
	}
}

func benchLibrary(b testing.TB) func(context.Context) error {
	if _, err := os.Stat(benchProgram); err != nil {
		b.Skip("needs ", benchProgram)
	}
	m, err := manifest.Parse([]byte(`{"tools":[{"name":"cat","command":["`+benchProgram+`"],"schema":{"type":"object",
		"properties":{"timezone":{"type":"string"}},"required":["timezone"],"additionalProperties":false}}]}`), nil)
	if err != nil {
		b.Fatal(err)
	}
	return func(ctx context.Context) error {
		_, err := m.Call(ctx, "cat", json.RawMessage(benchInput))
		return err
	}
}

func floor(ctx context.Context, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, benchProgram)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
	cmd.Dir = dir
	cmd.Stdin = bytes.NewReader([]byte(benchInput))
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 2 * time.Second
	return cmd.Run()
}
