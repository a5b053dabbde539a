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

	"github.com/toolwire/toolwire/manifest"
)

const (
	benchProgram = "/bin/cat"
	benchInput   = `{"timezone":"Europe/Helsinki"}`
)

// BenchmarkCall compares cat as a tool with a floor: the same program through os/exec, with the
// same pipes, process group, timeout and environment, and nothing else. The two alternate, so that
// a busy machine affects both. The metric library/floor is the ratio of their median times.
func BenchmarkCall(b *testing.B) {
	call := benchLibrary(b)
	dir := b.TempDir()
	for _, parallel := range []int{1, 8} {
		b.Run(strconv.Itoa(parallel)+"-at-once", func(b *testing.B) {
			var floors, libraries []time.Duration
			for b.Loop() {
				floors = append(floors, atOnce(b, parallel, func() error { return floor(b.Context(), dir) }))
				libraries = append(libraries, atOnce(b, parallel, func() error { return call(b.Context()) }))
			}
			slices.Sort(floors)
			slices.Sort(libraries)
			f, l := floors[len(floors)/2], libraries[len(libraries)/2]
			b.ReportMetric(float64(f.Microseconds())/float64(parallel), "floor-us/call")
			b.ReportMetric(float64(l.Microseconds())/float64(parallel), "library-us/call")
			b.ReportMetric(float64(l)/float64(f), "library/floor")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkCallMemory reports the allocations of both.
func BenchmarkCallMemory(b *testing.B) {
	call := benchLibrary(b)
	dir := b.TempDir()
	b.Run("floor", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = floor(b.Context(), dir)
		}
	})
	b.Run("library", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = call(b.Context())
		}
	})
}

// BenchmarkStop measures how long a canceled call takes to return while a grandchild holds its
// pipes.
func BenchmarkStop(b *testing.B) {
	m, err := manifest.Parse([]byte(`{"tools":[{"name":"t","command":["/bin/sh","-c","sleep 30 & echo {}; wait"]}]}`), nil)
	if err != nil {
		b.Fatal(err)
	}
	var took []time.Duration
	for b.Loop() {
		var stopped time.Time
		ctx, cancel := context.WithCancel(b.Context())
		timer := time.AfterFunc(30*time.Millisecond, func() { stopped = time.Now(); cancel() })
		r := m.Run(ctx, manifest.Call{Tool: "t"})
		took = append(took, time.Since(stopped))
		if timer.Stop() || r.Err == nil {
			b.Fatal("the call was not stopped")
		}
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ms-to-return")
	b.ReportMetric(0, "ns/op")
}

// os/exec alone makes 76 allocations per call.
func TestCallAllocations(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector allocates")
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

func atOnce(b *testing.B, n int, call func() error) time.Duration {
	begin := time.Now()
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			if err := call(); err != nil {
				b.Error(err)
			}
		})
	}
	all.Wait()
	return time.Since(begin)
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
