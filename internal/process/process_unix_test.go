//go:build unix

package process

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// How a run ends, and what is read of its output, by what the program and the processes that it leaves do.
func TestOutputOfPrograms(t *testing.T) {
	for _, tt := range []struct {
		name, script string
		end          End
		bytes        int
		cut          bool
	}{
		{"writes as much as is read", "head -c 65536 /dev/zero", Exited, 65536, false},
		{"writes one byte more", "head -c 65537 /dev/zero", Overflow, 65536, true},
		{"closes its output before its end", "echo hi; exec >&- 2>&-; sleep 0.1", Exited, 3, false},
		{"leaves a process that ends", "(sleep 0.1; echo more) & echo hi", Exited, 8, false},
		{"leaves a silent process", "echo hi; sleep 60 &", Exited, 3, true},
		{"leaves a process that writes all the time", "yes &", Overflow, 65536, true},
		{"leaves a process that writes elsewhere", "echo hi; sleep 60 >/dev/null 2>&1 &", Exited, 3, false},
		{"writes when it is terminated", "trap 'echo bye; exit' TERM; echo hi; >ready; while :; do sleep 0.1; done", Canceled, 7, false},
		{"writes too much when it is terminated", "trap 'head -c 70000 /dev/zero; exit' TERM; >ready; while :; do sleep 0.1; done", Canceled, 65536, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := &Command{Argv: []string{"/bin/sh", "-c", tt.script}, Env: []string{"PATH=/usr/bin:/bin"}, Dir: t.TempDir(),
				MaxStdout: 65536, MaxStderr: 1024, Timeout: time.Minute, Grace: time.Minute, PipeWait: time.Minute}
			if tt.cut && tt.end == Exited {
				c.PipeWait = time.Second
			}
			r, err := Start(c)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if tt.end == Canceled {
				go func() {
					for ; ctx.Err() == nil; time.Sleep(time.Millisecond) {
						if _, err := os.Stat(filepath.Join(c.Dir, "ready")); err == nil {
							cancel()
						}
					}
				}()
			}
			o := r.Wait(ctx)
			if o.End != tt.end || len(o.Stdout.Bytes) != tt.bytes || o.Stdout.Cut != tt.cut {
				t.Errorf("end %d, %d bytes, cut %t", o.End, len(o.Stdout.Bytes), o.Stdout.Cut)
			}
		})
	}
}
