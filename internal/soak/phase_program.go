package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/manifest"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// roleArgument is the first argument with which the soak starts its own program as a tool or as an
// agent in code mode.
const roleArgument = "soak-role"

// playRole is the main function of such a program. It returns the exit status.
func playRole(args []string) int {
	switch args[0] {
	case "agent":
		codeModeAgent()
	case "tool":
		return playTool(args[1], args[2])
	case "sleep":
		return sleep(args[1])
	}
	return 2
}

// modes are how the programs of the manifest end.
var modes = []string{"answer", "answer", "answer", "fail", "hang", "flood", "garbage", "parent", "crash"}

// playTool is a program of the manifest. It notes its start in a file.
func playTool(mode, file string) int {
	var in arguments
	if err := json.NewDecoder(os.Stdin).Decode(&in); err != nil {
		return 2
	}
	if os.Getenv("SOAK_SECRET") == "" {
		return 2
	}
	note(file, strconv.Itoa(in.Call))
	switch mode {
	case "fail":
		fmt.Fprintln(os.Stderr, "the day is not free")
		return 3
	case "hang":
		return sleep("")
	case "flood":
		out := bufio.NewWriter(os.Stdout)
		for {
			if _, err := out.WriteString("flood"); err != nil {
				return 1
			}
		}
	case "garbage":
		fmt.Println("{not JSON")
		return 0
	case "parent": // leaves a child in its process group
		if err := startSleeper(file + ".children"); err != nil {
			return 2
		}
	case "crash":
		panic("the tool crashes")
	}
	fmt.Println(marshal(result{in.Run, in.Call}))
	return 0
}

// startSleeper starts this program as one that sleeps, and waits until it does.
func startSleeper(file string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	child, err := os.StartProcess(self, []string{self, roleArgument, "sleep", file},
		&os.ProcAttr{Files: []*os.File{null, null, null}})
	if err != nil {
		return err
	}
	return child.Release()
}

// sleep waits to be killed. If file is not empty, it notes its process id there.
func sleep(file string) int {
	if file != "" {
		note(file, strconv.Itoa(os.Getpid()))
	}
	time.Sleep(2 * safety)
	return 1
}

// note appends a line to a file that many processes write.
func note(file, line string) {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	_, _ = io.WriteString(f, line+"\n")
	_ = f.Close()
}

// noted counts the lines of a file.
func noted(file string) map[string]int {
	counts := map[string]int{}
	data, _ := os.ReadFile(file) // without a program it does not exist
	for line := range strings.Lines(string(data)) {
		counts[strings.TrimSpace(line)]++
	}
	return counts
}

// programs calls the tools of a manifest: programs that answer, fail, hang, write without end, leave
// processes behind and crash, several at once.
func (s *soak) programs() {
	self, err := os.Executable()
	if err != nil {
		s.violate("", "%v", err)
		return
	}
	started := filepath.Join(s.scratch, "started")
	var tools []string
	for i, mode := range modes {
		tools = append(tools, fmt.Sprintf(`{"name":"tool_%d","command":[%q,%q,"tool",%q,%q],"envPassthrough":["SOAK_SECRET"]}`,
			i, self, roleArgument, mode, started))
	}
	file := filepath.Join(s.scratch, "tools.json")
	document := fmt.Sprintf(`{"tools":[%s]}`, strings.Join(tools, ","))
	if err := os.WriteFile(file, []byte(document), 0o600); err != nil {
		s.violate("", "%v", err)
		return
	}
	audit, err := manifest.AuditLog(filepath.Join(s.scratch, "audit"), s.log)
	if err != nil {
		s.violate("", "the audit log: %v", err)
		return
	}
	secret := newSecret()
	m, err := manifest.Load(file, &manifest.Options{
		MaxParallel: 4, MaxStdout: 64 << 10, Timeout: safety, Grace: safety, Audit: audit,
		LookupEnv: func(name string) (string, bool) { return secret, name == "SOAK_SECRET" },
	})
	if err != nil {
		s.violate("", "the manifest: %v", err)
		return
	}
	n := max(len(modes), s.runs/4)
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			defer s.guard("program " + strconv.Itoa(i))
			s.program(m, i, started)
		})
	}
	group.Wait()
	times := noted(started)
	for i := range n {
		if got := times[strconv.Itoa(i)]; got != 1 {
			s.violate("", "program %d (%s) was started %d times", i, modes[i%len(modes)], got)
		}
	}
	for pid := range noted(started + ".children") {
		s.await("the child of a tool", func() bool { return !running(pid) })
	}
}

// program makes one call. A program that hangs is canceled when it has begun.
func (s *soak) program(m *manifest.Manifest, i int, started string) {
	name, mode := "program "+strconv.Itoa(i), modes[i%len(modes)]
	s.counts.programs.Add(1)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if mode == "hang" {
		go func() {
			s.await(name, func() bool { return noted(started)[strconv.Itoa(i)] > 0 || ctx.Err() != nil })
			cancel()
		}()
	}
	got := m.Do(ctx, manifest.Call{
		Tool: "tool_" + strconv.Itoa(i%len(modes)), Args: arguments{Call: i, APIKey: newArgument()},
	})
	s.inspectError(name, got.Err)
	want := map[string]manifest.Code{
		"fail": manifest.CodeExit, "crash": manifest.CodeExit, "hang": manifest.CodeCanceled,
		"flood": manifest.CodeOutputTooLarge, "garbage": manifest.CodeOutput,
	}[mode]
	if code := manifest.CodeOf(got.Err); code != want {
		s.violate(name, "%s ended with %q, want %q: %v", mode, code, want, got.Err)
	}
	var value result
	if want == "" && (json.Unmarshal(got.Output, &value) != nil || value != (result{Call: i})) {
		s.violate(name, "%s has the result %.100s", mode, got.Output)
	}
}

// running reports whether a process with this id does more than wait to be collected.
func running(pid string) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z") && !strings.HasPrefix(state, "X")
}

// outcome is what a program in code mode says of a call.
type outcome struct {
	Attempts int            `json:"attempts"`
	Delivery proxy.Delivery `json:"delivery"`
	Error    string         `json:"error"`
	Result   result         `json:"result"`
}

// codeModeAgent is an agent in code mode. Its input is the plan of the run.
func codeModeAgent() {
	dispatch.Main(func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		var plan struct {
			Run    int      `json:"run"`
			Ending ending   `json:"ending"`
			Tools  []string `json:"tools"`
		}
		if err := run.DecodeInput(&plan); err != nil {
			return nil, err
		}
		var outcomes []outcome
		for i, tool := range plan.Tools {
			var o outcome
			got, err := run.Proxy.Do(ctx, tool, arguments{plan.Run, i, newArgument()})
			if err == nil {
				o.Attempts = got.Attempts
				if err := json.Unmarshal(got.Response, &o.Result); err != nil {
					return nil, err
				}
			} else if e := (*proxy.Error)(nil); asError(err, &e) {
				o = outcome{Attempts: e.Attempts, Delivery: e.Delivery, Error: e.Error()}
			}
			outcomes = append(outcomes, o)
		}
		switch plan.Ending {
		case failing, panics:
			panic("the agent crashes")
		case aborts:
			os.Exit(5)
		}
		return &dispatch.Response{FinalResponse: marshal(outcomes)}, nil
	}, &dispatch.Options{
		RunTimeout: 30 * time.Minute, Reserve: 15 * time.Minute, Proxy: &proxy.Options{Repeatable: []string{repeatable}},
	})
}

// codeMode runs agents in code mode, some of which crash.
func (s *soak) codeMode() {
	self, err := os.Executable()
	if err != nil {
		s.violate("", "%v", err)
		return
	}
	w := s.newWorld()
	var runs []*run
	for i := range max(4, s.runs/12) {
		r := s.newRun([]ending{done, done, panics, aborts}[i%4], 1+i%3)
		for _, c := range r.calls { // nobody can tell another process to give up
			c.faults = slices.DeleteFunc(c.faults, func(f fault) bool { return f == stalled })
		}
		runs = append(runs, r)
	}
	s.each(runs, 4, func(r *run) {
		s.counts.programs.Add(1)
		tools := []string{}
		for _, c := range r.calls {
			tools = append(tools, c.tool)
		}
		got, err := dispatchtest.Dispatch(context.Background(), dispatchtest.Target{
			Command: []string{self, roleArgument, "agent"}, Env: []string{"SOAK_SECRET=" + newSecret()},
			RunTimeout: 30 * time.Minute,
		}, dispatchtest.Task{
			ID: int64(r.number), Instruction: "Do what is planned.", Platform: w.platform,
			Input:     map[string]any{"run": r.number, "ending": r.ending, "tools": tools},
			WrapProxy: func(http.Handler) http.Handler { return w },
			OnRun:     func(on *proxytest.Run) { r.on = on; w.register(r) },
		})
		if err != nil {
			s.violate(r.name, "%v", err)
			return
		}
		s.report(r, got)
		if r.ending != done {
			if got.ErrorClass != dispatchtest.AgentBadResponse {
				s.violate(r.name, "the crash is reported as %q: %s", got.ErrorClass, got.Error)
			}
			for _, c := range r.calls { // the program cannot say what it was told
				s.counts.calls.Add(1)
				c.told(s, r, outcome{int(c.arrived.Load()), proxy.Unknown, "the program crashed", result{}})
			}
			s.account(r)
			return
		}
		var outcomes []outcome
		if err := json.Unmarshal([]byte(got.FinalResponse), &outcomes); err != nil || len(outcomes) != len(r.calls) {
			s.violate(r.name, "the result is %.300s (%s: %s)", got.FinalResponse, got.ErrorClass, got.Error)
			return
		}
		for i, o := range outcomes {
			s.counts.calls.Add(1)
			r.calls[i].told(s, r, o)
		}
		s.account(r)
	})
}

// told keeps the outcome of a call that another process made.
func (c *call) told(s *soak, r *run, o outcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.made, c.attempts, c.delivery = true, o.Attempts, o.Delivery
	s.inspect(kept, "an error", r.name, o.Error)
	switch {
	case o.Error != "":
		c.err = fmt.Errorf("%s", o.Error)
	case o.Result != result{r.number, c.number}:
		s.violate(r.name, "call %d has the result %v", c.number, o.Result)
	}
}
