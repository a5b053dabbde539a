//go:build unix

package pages

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/toolwire/toolwire/internal/testkit"
)

// repository contains an agent: the project that toolwire new writes with these arguments.
func repository(t *testing.T, args ...string) string {
	t.Helper()
	if testkit.Race {
		t.Skip("the commands of the pages run in other processes, which the race detector does not see")
	}
	for _, program := range []string{"bash", "curl"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("the commands of the pages need %s", program)
		}
	}
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "agent")
	command(t, root, "go", append(append([]string{"run", "./examples/toolwire", "new"}, args...), dir)...)
	// go mod tidy would ask for modules that only tests of dependencies need.
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o600); err != nil {
		t.Fatal(err)
	}
	command(t, dir, "go", "list", "-mod=mod", "-deps", "-test", "./...", "github.com/toolwire/toolwire/examples/toolwire")
	return dir
}

func command(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

// A machine runs the steps of a job as a runner of GitHub Actions does: each in a shell of its own,
// in one folder. What steps leave running is killed when the test ends.
type machine struct {
	dir    string
	env    []string
	change *strings.Replacer // of the commands
	groups []int
}

// newMachine gives the machine a port of its own where the page has 8080.
func newMachine(t *testing.T, dir string, j *job, replace ...string) *machine {
	t.Helper()
	m := &machine{dir: dir, change: strings.NewReplacer(append(replace, "127.0.0.1:8080", freeAddress(t))...)}
	for _, e := range j.env {
		m.env = append(m.env, m.change.Replace(e))
	}
	t.Cleanup(m.kill)
	return m
}

// start begins a step. Its process group is killed at the end of the test.
func (m *machine) start(step string, output *bytes.Buffer) (*exec.Cmd, error) {
	cmd := exec.Command("bash", "-e", "-c", m.change.Replace(step))
	cmd.Dir, cmd.Env = m.dir, append(os.Environ(), m.env...)
	cmd.Stdout, cmd.Stderr = output, output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = time.Minute
	err := cmd.Start()
	if err == nil {
		m.groups = append(m.groups, cmd.Process.Pid)
	}
	return cmd, err
}

// step runs a step and returns what it prints.
func (m *machine) step(step string) (string, error) {
	var output bytes.Buffer
	cmd, err := m.start(step, &output)
	if err == nil {
		err = cmd.Wait()
	}
	return output.String(), err
}

func (m *machine) kill() {
	for _, group := range m.groups {
		_ = syscall.Kill(-group, syscall.SIGKILL) // there may be no process left
	}
}

// The workflow of docs/deployment.md passes in the repository that toolwire new writes.
func TestAgentWorkflow(t *testing.T) {
	t.Parallel()
	agent := workflow(t, "deployment.md")["agent"]
	m := newMachine(t, repository(t), agent)
	for _, step := range agent.runs {
		output, err := m.step(step)
		if err != nil {
			log, _ := os.ReadFile(filepath.Join(m.dir, "agent.log"))
			t.Fatalf("%s: %v\n%s\nlog of the agent:\n%s", step, err, output, log)
		}
		t.Logf("%s\n%s", step, output)
	}
	report, err := os.ReadFile(filepath.Join(m.dir, "report.xml"))
	if err != nil || !strings.Contains(string(report), `tests="4"`) || !strings.Contains(string(report), `failures="0"`) {
		t.Errorf("report.xml: %v\n%s", err, report)
	}
	// The checks can fail: order 4521 is not what this row expects.
	broken := "user,says\nWhere is order #4521?,it is lost\n"
	if err := os.WriteFile(filepath.Join(m.dir, "testdata", "tasks.csv"), []byte(broken), 0o600); err != nil {
		t.Fatal(err)
	}
	if output, err := m.step(agent.runs[5]); err == nil {
		t.Errorf("a failing dataset passes:\n%s", output)
	}
}

// The matrix of docs/evaluation.md: three machines run a shard each, and one of them is killed while
// its agent works. The merge fails and names the shard. When its job has run again, it passes.
func TestMatrixWorkflow(t *testing.T) {
	t.Parallel()
	jobs := workflow(t, "evaluation.md")
	shard, merge := jobs["shard"], jobs["merge"]
	dir := repository(t)
	var rows strings.Builder
	rows.WriteString("user,says\n")
	for i := range 80 {
		fmt.Fprintf(&rows, "Where is order #4521? I have asked %d times.,shipped\n", i)
	}
	if err := os.WriteFile(filepath.Join(dir, "testdata", "tasks.csv"), []byte(rows.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	gate := newGate(t)
	machines := make([]*machine, 3)
	for i := range machines {
		n := fmt.Sprint(i + 1)
		m := newMachine(t, dir, shard, "${{ matrix.shard }}", n)
		m.env = append(m.env, "GITHUB_SHA=7c1e2f0")
		machines[i] = m
		for _, step := range shard.runs[:2] { // build and start the agent, wait for it
			if output, err := m.step(step); err != nil {
				t.Fatalf("machine %s: %s: %v\n%s", n, step, err, output)
			}
		}
	}
	run := shard.runs[2]
	for i, m := range machines {
		if i == 1 {
			continue
		}
		if output, err := m.step(run); err != nil {
			t.Fatalf("shard %d: %v\n%s", i+1, err, output)
		}
	}

	// The requests of the second machine go through a gate that stops after ten.
	second := *machines[1]
	second.env = append(second.env, "AGENT="+gate.before(t, second.env)+"/dispatch")
	var output bytes.Buffer
	cmd, err := second.start(run, &output)
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-gate.stopped:
	case <-time.After(5 * time.Minute):
		t.Error("the shard did not come to the tenth dispatch")
	}
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	_ = cmd.Wait()
	gate.end()

	merging := newMachine(t, dir, merge)
	merging.env = append(merging.env, "GITHUB_SHA=7c1e2f0")
	// The baseline belongs to the main branch: the same command for all cases.
	all := strings.NewReplacer("-shard ${{ matrix.shard }}/3 ", "", "shard-${{ matrix.shard }}", "main").Replace(run)
	if text, err := machines[0].step(all); err != nil {
		t.Fatalf("the baseline: %v\n%s", err, text)
	}
	text, err := merging.step(merge.runs[0])
	if err == nil || !strings.Contains(text, "shard-2.jsonl: shard 2/3 is not complete: case ") {
		t.Fatalf("the merge of a killed shard: %v\n%s", err, text)
	}
	if text, err := machines[1].step(run); err != nil || !strings.Contains(text, " stored already") {
		t.Fatalf("the shard again: %v\n%s", err, text)
	}
	if text, err = merging.step(merge.runs[0]); err != nil || !strings.Contains(text, "80 cases, 400 trials in ") || !strings.Contains(text, "gate, margin 5 points: passed") {
		t.Errorf("the merge: %v\n%s", err, text)
	}
}

// A stopGate is a reverse proxy that answers nothing after the tenth dispatch.
type stopGate struct {
	stopped chan struct{}
	over    context.Context
	end     context.CancelFunc
}

func newGate(t *testing.T) *stopGate {
	over, end := context.WithCancel(t.Context())
	t.Cleanup(end)
	return &stopGate{stopped: make(chan struct{}), over: over, end: end}
}

// before serves the gate before the endpoint in env, and returns its URL.
func (g *stopGate) before(t *testing.T, env []string) string {
	t.Helper()
	var target *url.URL
	for _, e := range env {
		if value, ok := strings.CutPrefix(e, "AGENT="); ok {
			var err error
			if target, err = url.Parse(strings.TrimSuffix(value, "/dispatch")); err != nil {
				t.Fatal(err)
			}
		}
	}
	var mu sync.Mutex
	dispatches := 0
	forward := httputil.NewSingleHostReverseProxy(target)
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		dispatches++
		n := dispatches
		mu.Unlock()
		if n == 10 {
			close(g.stopped)
		}
		if n >= 10 {
			<-g.over.Done()
			return
		}
		forward.ServeHTTP(w, r)
	})}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	return "http://" + l.Addr().String()
}
