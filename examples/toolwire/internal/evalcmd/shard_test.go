package evalcmd

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/eval"
	"github.com/toolwire/toolwire/internal/testkit"
)

var engineVariables = []string{
	"TOOLWIRE_SHARD_INDEX", "TOOLWIRE_SHARD_TOTAL", "JOB_COMPLETION_INDEX", "CI_NODE_INDEX", "CI_NODE_TOTAL",
	"BUILDKITE_PARALLEL_JOB", "BUILDKITE_PARALLEL_JOB_COUNT", "CIRCLE_NODE_INDEX", "CIRCLE_NODE_TOTAL",
}

func TestShardOfEngine(t *testing.T) {
	results := filepath.Join(t.TempDir(), "results.jsonl")
	for _, tt := range []struct {
		name  string
		env   []string
		flags []string
		want  string // of what is printed; "" if there is no shard
	}{
		{"none", nil, nil, ""},
		{"GitHub", []string{"TOOLWIRE_SHARD_INDEX=0", "TOOLWIRE_SHARD_TOTAL=3"}, nil, "this is shard 1/3, as TOOLWIRE_SHARD_INDEX and TOOLWIRE_SHARD_TOTAL say"},
		{"Kubernetes", []string{"JOB_COMPLETION_INDEX=19", "TOOLWIRE_SHARD_TOTAL=20"}, nil, "shard 20/20, as JOB_COMPLETION_INDEX and TOOLWIRE_SHARD_TOTAL say"},
		{"GitLab", []string{"CI_NODE_INDEX=4", "CI_NODE_TOTAL=4"}, nil, "shard 4/4, as CI_NODE_INDEX and CI_NODE_TOTAL say"},
		{"Buildkite", []string{"BUILDKITE_PARALLEL_JOB=2", "BUILDKITE_PARALLEL_JOB_COUNT=5"}, nil, "shard 3/5, as BUILDKITE_PARALLEL_JOB and"},
		{"CircleCI", []string{"CIRCLE_NODE_INDEX=1", "CIRCLE_NODE_TOTAL=2"}, nil, "shard 2/2, as CIRCLE_NODE_INDEX and"},
		{"a lone job of GitLab", []string{"CI_NODE_TOTAL=1"}, nil, ""},
		{"a lone job of CircleCI", []string{"CIRCLE_NODE_INDEX=0", "CIRCLE_NODE_TOTAL=1"}, nil, ""},
		{"variables that are empty", []string{"TOOLWIRE_SHARD_INDEX=", "TOOLWIRE_SHARD_TOTAL="}, nil, ""},
		{"a flag wins", []string{"CI_NODE_INDEX=4", "CI_NODE_TOTAL=4"}, []string{"-shard", "2/3"}, ""},
		{"a flag wins over half of a pair", []string{"CI_NODE_TOTAL=4"}, []string{"-shard", "1/1"}, ""},
		{"two engines that agree", []string{"JOB_COMPLETION_INDEX=1", "TOOLWIRE_SHARD_TOTAL=4", "BUILDKITE_PARALLEL_JOB=1", "BUILDKITE_PARALLEL_JOB_COUNT=4"}, nil, "shard 2/4, as BUILDKITE"},
		{"a lone job beside a shard", []string{"TOOLWIRE_SHARD_INDEX=1", "TOOLWIRE_SHARD_TOTAL=4", "CIRCLE_NODE_INDEX=0", "CIRCLE_NODE_TOTAL=1"}, nil, "shard 2/4, as TOOLWIRE"},

		{"two engines that contradict", []string{"CI_NODE_INDEX=1", "CI_NODE_TOTAL=4", "CIRCLE_NODE_INDEX=1", "CIRCLE_NODE_TOTAL=4"}, nil,
			"CI_NODE_INDEX and CI_NODE_TOTAL say that the shard is 1/4, and CIRCLE_NODE_INDEX and CIRCLE_NODE_TOTAL say 2/4: unset one pair, or give -shard"},
		{"two indexes with one total", []string{"TOOLWIRE_SHARD_INDEX=1", "JOB_COMPLETION_INDEX=2", "TOOLWIRE_SHARD_TOTAL=4"}, nil,
			"TOOLWIRE_SHARD_INDEX and TOOLWIRE_SHARD_TOTAL say that the shard is 2/4, and JOB_COMPLETION_INDEX and TOOLWIRE_SHARD_TOTAL say 3/4"},
		{"no total", []string{"JOB_COMPLETION_INDEX=2"}, nil, `JOB_COMPLETION_INDEX="2" and TOOLWIRE_SHARD_TOTAL="" name no shard: one of them is not set`},
		{"no index", []string{"TOOLWIRE_SHARD_TOTAL=4"}, nil, `TOOLWIRE_SHARD_INDEX="" and TOOLWIRE_SHARD_TOTAL="4" name no shard: one of them is not set`},
		{"no index of GitLab", []string{"CI_NODE_TOTAL=4"}, nil, `CI_NODE_INDEX="" and CI_NODE_TOTAL="4" name no shard: one of them is not set`},
		{"an index that is too large", []string{"JOB_COMPLETION_INDEX=4", "TOOLWIRE_SHARD_TOTAL=4"}, nil, "name no shard: with 4 workers the index is from 0 to 3"},
		{"an index that is too small", []string{"CI_NODE_INDEX=0", "CI_NODE_TOTAL=4"}, nil, "with 4 workers the index is from 1 to 4"},
		{"an index that is no number", []string{"CIRCLE_NODE_INDEX=one", "CIRCLE_NODE_TOTAL=4"}, nil, `CIRCLE_NODE_INDEX="one" and CIRCLE_NODE_TOTAL="4" name no shard`},
		{"a total that is too large", []string{"JOB_COMPLETION_INDEX=1", "TOOLWIRE_SHARD_TOTAL=10001"}, nil, "the number of workers is from 1 to 10000"},
		{"a total of none", []string{"JOB_COMPLETION_INDEX=0", "TOOLWIRE_SHARD_TOTAL=0"}, nil, "the number of workers is from 1 to 10000"},
		{"a shard without results", []string{"CI_NODE_INDEX=2", "CI_NODE_TOTAL=4"}, []string{"-results", ""}, "shard 2/4 of CI_NODE_INDEX and CI_NODE_TOTAL needs -results"},
		{"a shard and a baseline", []string{"CI_NODE_INDEX=2", "CI_NODE_TOTAL=4"}, []string{"-baseline", "main.jsonl"}, "-baseline and -min-rate are for merge, which has all shards; -shard 1/1 is all rows"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, variable := range tt.env {
				name, value, _ := strings.Cut(variable, "=")
				t.Setenv(name, value)
			}
			var stdout, stderr bytes.Buffer
			status := Run(t.Context(), append([]string{"-plan", "-results", results}, tt.flags...), &stdout, &stderr)
			printed, runs := stderr.String(), tt.want == "" || strings.Contains(tt.want, ", as ")
			if tt.want == "" && printed != "" || !strings.Contains(printed, tt.want) {
				t.Errorf("%q is missing in\n%s", tt.want, printed)
			}
			if runs != (status == 0) || runs != (stdout.Len() > 0) {
				t.Errorf("status %d\n%s", status, stdout.String())
			}
			if strings.Contains(tt.want, "shard 20/20") && !strings.Contains(stdout.String(), "of 0 cases") {
				t.Errorf("the last of 20 workers of 7 rows has\n%s", stdout.String())
			}
		})
	}
}

// Five workers of one dataset are processes that five engines number. One of them is killed while its
// agent works, and started again; the file of another one is lost.
func TestWorkersOfEngines(t *testing.T) {
	var hold atomic.Bool
	held := make(chan struct{}, 1000)
	handler, err := dispatch.New(func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		if strings.Contains(run.Instruction, "7") && hold.Load() {
			held <- struct{}{}
			<-ctx.Done() // the worker that waits for the answer is killed
			return nil, ctx.Err()
		}
		return say("yes")
	}, &dispatch.Options{InsecureNoAuth: true})
	if err != nil {
		t.Fatal(err)
	}
	agent := httptest.NewServer(handler)
	t.Cleanup(agent.Close)
	folder := filepath.Join(t.TempDir(), "sh[a]red") // no pattern
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	dataset := filepath.Join(t.TempDir(), "orders.csv")
	if err := os.WriteFile(dataset, []byte(manyRows(100)), 0o600); err != nil {
		t.Fatal(err)
	}
	workers := [][]string{
		{"TOOLWIRE_SHARD_INDEX=0", "TOOLWIRE_SHARD_TOTAL=5"},
		{"JOB_COMPLETION_INDEX=1", "TOOLWIRE_SHARD_TOTAL=5"},
		{"CI_NODE_INDEX=3", "CI_NODE_TOTAL=5"},
		{"BUILDKITE_PARALLEL_JOB=3", "BUILDKITE_PARALLEL_JOB_COUNT=5"},
		{"CIRCLE_NODE_INDEX=4", "CIRCLE_NODE_TOTAL=5"},
	}
	worker := func(i int) *exec.Cmd {
		cmd := program(t, "-dataset", dataset, "-url", agent.URL, "-trials", "2", "-parallel", "2", "-agent-version", "v1", "-results", folder)
		cmd.Env = append(cmd.Env, workers[i]...)
		return cmd
	}
	merge := func(args ...string) (int, string) {
		var printed bytes.Buffer
		status := Run(t.Context(), append([]string{"merge"}, args...), &printed, &printed)
		return status, printed.String()
	}
	if status, printed := merge(folder); status != 2 || !strings.Contains(printed, folder+" has no file of a shard") {
		t.Errorf("an empty folder: status %d\n%s", status, printed)
	}
	for _, i := range rand.Perm(5) {
		if i == 3 {
			continue
		}
		if output, err := worker(i).CombinedOutput(); err != nil || !bytes.Contains(output, fmt.Appendf(nil, "this is shard %d/5", i+1)) {
			t.Fatalf("worker %d: %v\n%s", i, err, output)
		}
	}
	if status, printed := merge(folder); status != 2 || !strings.Contains(printed, "shard 4/5 is missing") {
		t.Errorf("a worker is lost: status %d\n%s", status, printed)
	}
	hold.Store(true)
	killed := worker(3)
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-held:
	case <-time.After(5 * time.Minute):
		t.Error("the agent was not asked")
	}
	_ = killed.Process.Kill()
	_ = killed.Wait()
	hold.Store(false)
	if status, printed := merge(folder); status != 2 || !strings.Contains(printed, "shard-4-of-5.jsonl: shard 4/5 is not complete: case ") {
		t.Errorf("a worker is killed: status %d\n%s", status, printed)
	}
	if output, err := worker(3).CombinedOutput(); err != nil || !bytes.Contains(output, []byte(" stored already")) {
		t.Errorf("the worker again: %v\n%s", err, output)
	}
	var files []string
	for _, i := range rand.Perm(5) {
		files = append(files, filepath.Join(folder, fmt.Sprintf("shard-%d-of-5.jsonl", i+1)))
	}
	merged := []string{filepath.Join(t.TempDir(), "a.jsonl"), filepath.Join(t.TempDir(), "b.jsonl")}
	for i, args := range [][]string{{"-o", merged[0], folder}, append([]string{"-o", merged[1]}, files...)} {
		if status, printed := merge(args...); status != 0 || !strings.Contains(printed, "100 cases, 200 trials in ") || !strings.Contains(printed, ": 200 passed\n") {
			t.Errorf("merge %d: status %d\n%s", i, status, printed)
		}
	}
	first, err := os.ReadFile(merged[0])
	second, err2 := os.ReadFile(merged[1])
	if err != nil || err2 != nil || !bytes.Equal(body(first), body(second)) {
		t.Errorf("the order of the files changes what is merged: %v, %v", err, err2)
	}
}

// body is a file of results without its first line, which has the command of the first file.
func body(file []byte) []byte {
	_, rest, _ := bytes.Cut(file, []byte("\n"))
	return rest
}

func manyRows(n int) string {
	var rows strings.Builder
	rows.WriteString("user,says\n")
	for i := range n {
		fmt.Fprintf(&rows, "Say yes %d.,yes\n", i)
	}
	return rows.String()
}

// Twenty shards of a dataset with 10,000 rows (1,000 without TOOLWIRE_NIGHTLY) merge in any order, with
// less than 4 KB held for each row.
func TestMergeOfTwentyShards(t *testing.T) {
	const shards = 20
	rows := testkit.Size(1000, 10_000)
	dataset, err := eval.Read(strings.NewReader(manyRows(rows)))
	if err != nil {
		t.Fatal(err)
	}
	cases, err := dataset.Cases(dispatchtest.Task{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	agent := func(context.Context, *dispatch.Run) (*dispatch.Response, error) { return say("yes") }
	for i := range shards {
		_, err := eval.Run(t.Context(), dispatchtest.Target{Agent: agent}, cases, &eval.Options{
			Shard: fmt.Sprintf("%d/%d", i+1, shards), ResultsFile: filepath.Join(folder, fmt.Sprintf("shard-%d-of-%d.jsonl", i+1, shards)),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	rand.Shuffle(len(entries), func(i, j int) { entries[i], entries[j] = entries[j], entries[i] })
	out := filepath.Join(t.TempDir(), "all.jsonl")
	args := []string{"merge", "-o", out}
	for _, entry := range entries {
		args = append(args, filepath.Join(folder, entry.Name()))
	}
	var printed bytes.Buffer
	before, begun := heap(), time.Now()
	var most uint64
	status := Run(t.Context(), args, io.MultiWriter(&printed, writerFunc(func() { most = max(most, heap()) })), &printed)
	if want := fmt.Sprintf(": %d passed\n", rows); status != 0 || !strings.Contains(printed.String(), want) {
		t.Fatalf("status %d\n%s", status, printed.String())
	}
	t.Logf("the merge of %d shards with %d rows took %s and held %d bytes for each row", shards, rows, time.Since(begun), int(most-before)/rows)
	if int(most-before)/rows > 4<<10 {
		t.Errorf("%d bytes are held for each row", int(most-before)/rows)
	}
	whole, err := eval.Load(out)
	if err != nil || !whole.OK() || len(whole.Trials) != rows {
		t.Errorf("the merged file: %v", err)
	}
	for i := range whole.Trials {
		if whole.Trials[i].ID != cases[i].ID {
			t.Fatalf("result %d is case %s, and the dataset has %s", i, whole.Trials[i].ID, cases[i].ID)
		}
	}
}

// writerFunc is called when something is written.
type writerFunc func()

func (f writerFunc) Write(b []byte) (int, error) { f(); return len(b), nil }

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
