//go:build unix

package manifest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/toolwire/toolwire/manifest"
)

const (
	benchProgram = "/bin/cat"
	benchInput   = `{"timezone":"Europe/Helsinki"}`
)

// BenchmarkCall runs cat as a tool beside a floor: the same program through os/exec, with the same pipes, process group,
// timeout and environment, and nothing else. Compare the medians of -count=5 or more; the two alternate.
func BenchmarkCall(b *testing.B) {
	if _, err := os.Stat(benchProgram); err != nil {
		b.Skip("needs ", benchProgram)
	}
	m, err := manifest.Parse([]byte(`{"tools":[{"name":"cat","command":["`+benchProgram+`"],"schema":{"type":"object",
		"properties":{"timezone":{"type":"string"}},"required":["timezone"],"additionalProperties":false}}]}`), nil)
	if err != nil {
		b.Fatal(err)
	}
	library := func(ctx context.Context) error {
		_, err := m.Call(ctx, "cat", json.RawMessage(benchInput))
		return err
	}
	dir := b.TempDir()
	for _, parallel := range []int{1, 8} {
		for _, side := range []struct {
			name string
			call func(context.Context) error
		}{{"floor", func(ctx context.Context) error { return floor(ctx, dir) }}, {"library", library}} {
			b.Run(side.name+"/"+string('0'+rune(parallel))+"-at-once", func(b *testing.B) {
				b.ReportAllocs()
				if parallel == 1 {
					for b.Loop() {
						if err := side.call(b.Context()); err != nil {
							b.Fatal(err)
						}
					}
					return
				}
				b.SetParallelism(4) // 8 goroutines on 2 processors
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						if err := side.call(context.Background()); err != nil {
							b.Error(err)
						}
					}
				})
			})
		}
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
