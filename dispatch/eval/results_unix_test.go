//go:build unix

package eval_test

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/eval"
)

// A disk that is full is reported once. A limit of the size of files stands for the disk, in another
// process, because it holds for the whole process.
func TestFullDisk(t *testing.T) {
	const variable = "EVAL_TEST_FULL_DISK"
	if file := os.Getenv(variable); file != "" {
		signal.Ignore(syscall.SIGXFSZ) // otherwise it ends the process
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 1500, Max: 1500}); err != nil {
			t.Fatal(err)
		}
		_, err := eval.Run(t.Context(), dispatchtest.Target{Agent: obedient}, casesOf(t, csvOf("a", "b", "c"), dispatchtest.Task{}),
			&eval.Options{ResultsFile: file, Parallel: 1})
		fmt.Printf("error: %v\n", err)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^TestFullDisk$")
	cmd.Env = append(os.Environ(), variable+"="+filepath.Join(t.TempDir(), "results.jsonl"))
	output, err := cmd.CombinedOutput()
	if err != nil || strings.Count(string(output), syscall.EFBIG.Error()) != 1 || !strings.Contains(string(output), "error: eval: Options.ResultsFile: ") {
		t.Errorf("%v\n%s", err, output)
	}
}
