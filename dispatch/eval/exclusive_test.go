package eval_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/eval"
)

// A file of results belongs to one run at a time, in whatever process. The other run names the file and
// leaves it alone, and can complete it afterwards, even if the first process was killed.
func TestOneRunWritesAFile(t *testing.T) {
	const variable = "EVAL_TEST_HOLD_RESULTS"
	write := func(file string, agent dispatch.Agent) error {
		_, err := eval.Run(context.Background(), dispatchtest.Target{Agent: agent},
			casesOf(t, csvOf("a", "b", "c"), dispatchtest.Task{}), &eval.Options{ResultsFile: file, Parallel: 1})
		return err
	}
	if file := os.Getenv(variable); file != "" {
		err := write(file, func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			fmt.Println("holds the file")
			_, _ = io.Copy(io.Discard, os.Stdin)
			return obedient(ctx, run)
		})
		fmt.Printf("error: %v\n", err)
		return
	}
	for _, end := range []string{"ends", "is killed"} {
		t.Run("the other process "+end, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "results.jsonl")
			cmd := exec.Command(os.Args[0], "-test.run", "^TestOneRunWritesAFile$")
			cmd.Env = append(os.Environ(), variable+"="+file)
			release, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			output, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			for said := make([]byte, 0, 1000); !strings.Contains(string(said), "holds the file"); {
				n, err := output.Read(said[len(said):cap(said)])
				if said = said[:len(said)+n]; err != nil {
					t.Fatalf("%v: %s", err, said)
				}
			}
			before, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := write(file, obedient); err == nil || !strings.Contains(err.Error(), "Options.ResultsFile: another run is writing "+file) {
				t.Errorf("the error is: %v", err)
			}
			if after, err := os.ReadFile(file); err != nil || string(after) != string(before) {
				t.Errorf("the file has changed: %v\n%s", err, after)
			}
			if end == "ends" {
				_ = release.Close()
			} else {
				_ = cmd.Process.Kill()
			}
			said, _ := io.ReadAll(output)
			_ = cmd.Wait()
			if end == "ends" && !strings.Contains(string(said), "error: <nil>") {
				t.Errorf("the other process: %s", said)
			}
			if err := write(file, obedient); err != nil {
				t.Errorf("the file is free again: %v", err)
			}
			if e, err := eval.Load(file); err != nil || len(e.Trials) != 3 {
				t.Errorf("the file is not complete: %v", err)
			}
		})
	}
	t.Run("one process", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "results.jsonl")
		var second error
		if err := write(file, func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			second = write(file, obedient)
			if n := opened(file); n > 1 {
				t.Errorf("the run that is refused leaves the file open: %d times", n)
			}
			return obedient(ctx, run)
		}); err != nil || second == nil {
			t.Errorf("the first run: %v, the second: %v", err, second)
		}
	})
}

// opened returns how often this process has a file open, where the system says it.
func opened(file string) (n int) {
	const folder = "/proc/self/fd"
	entries, _ := os.ReadDir(folder)
	for _, entry := range entries {
		if target, _ := os.Readlink(filepath.Join(folder, entry.Name())); target == file {
			n++
		}
	}
	return n
}
