package dispatchtest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/eval"
	"github.com/toolwire/toolwire/internal/testkit"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// TestMain lets the test binary be a program in code mode.
func TestMain(m *testing.M) {
	if mode := os.Getenv("TOOLWIRE_TEST_PROGRAM"); mode != "" {
		os.Exit(program(mode))
	}
	os.Exit(m.Run())
}

func program(mode string) (status int) {
	answer := func(text string) {
		body, _ := json.Marshal(map[string]string{"final_response": text})
		if err := os.WriteFile(os.Getenv("PIPELINES_RESULT_PATH"), body, 0o600); err != nil {
			panic(err)
		}
	}
	switch mode {
	case "main": // does not return
		dispatch.Main(func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			order, err := proxy.Call[json.RawMessage](ctx, run.Proxy, "get_order", run.Input)
			return &dispatch.Response{FinalResponse: run.Instruction + string(order)}, err
		}, nil)
	case "environment":
		var list []string
		for _, variable := range os.Environ() {
			name, value, _ := strings.Cut(variable, "=")
			if strings.Contains(name, "PIPELINES_") && !strings.Contains(name, "TOKEN") && !strings.Contains(name, "PATH") {
				name += "=" + value
			}
			list = append(list, name)
		}
		slices.Sort(list)
		answer(strings.Join(append(list, os.Args[1:]...), "\n"))
	case "noisy":
		fmt.Println(`{"final_response":"on standard output"}`)
		answer("in the file")
	case "status":
		answer("answered")
		return 3
	case "stdout":
		fmt.Println(`{"final_response":"on standard output"}`)
	case "crash":
		fmt.Fprintln(os.Stderr, "first\nthe key is "+os.Getenv("API_KEY")+" "+os.Getenv("PIPELINES_RUN_TOKEN"))
		return 3
	case "signal":
		if self, err := os.FindProcess(os.Getpid()); err == nil {
			_ = self.Kill()
		}
		select {}
	case "malformed":
		if err := os.WriteFile(os.Getenv("PIPELINES_RESULT_PATH"), []byte("oops"), 0o600); err != nil {
			return 1
		}
	case "flood":
		for range 3 {
			fmt.Println(strings.Repeat("x", 1<<20))
		}
		select {}
	case "late":
		time.Sleep(time.Hour)
	}
	return 0
}

func inCodeMode(mode string, args ...string) dispatchtest.Target {
	return dispatchtest.Target{
		Command: append([]string{os.Args[0]}, args...),
		Env:     []string{"TOOLWIRE_TEST_PROGRAM=" + mode, "API_KEY=hunter2hunter2"},
	}
}

func TestProgram(t *testing.T) {
	task := dispatchtest.Task{
		ID: 42, Instruction: "Where is it? ", Input: map[string]string{"order_id": "4521"},
		World: proxytest.World{Behaviors: map[string]proxytest.Behavior{"get_order": proxytest.Canned(`{"status":"shipped"}`)}},
	}
	for _, tt := range []struct {
		mode, final string
		class       dispatchtest.ErrorClass
		reason      string
	}{
		{"main", `Where is it? {"status":"shipped"}`, "", ""},
		{"noisy", "in the file", "", ""},
		{"status", "answered", "", ""},
		{"stdout", "", dispatchtest.AgentBadResponse, "exit status 0 and wrote no result to PIPELINES_RESULT_PATH; what it wrote to standard output is not the result"},
		{"crash", "", dispatchtest.AgentBadResponse, "exit status 3 and wrote no result to PIPELINES_RESULT_PATH; standard error ends with: the key is [redacted] [redacted]"},
		{"signal", "", dispatchtest.AgentBadResponse, "ended by the signal killed"},
		{"malformed", "", dispatchtest.AgentBadResponse, "not_json"},
		{"flood", "", dispatchtest.AgentBadResponse, "more than 1 MiB to standard output"},
	} {
		t.Run(tt.mode, func(t *testing.T) {
			t.Parallel()
			result := dispatchtest.Run(t, inCodeMode(tt.mode), task)
			if result.FinalResponse != tt.final || result.ErrorClass != tt.class || !strings.Contains(result.Error, tt.reason) {
				t.Errorf("%q %s %s", result.FinalResponse, result.ErrorClass, result.Error)
			}
			if (tt.mode == "main") != (len(result.Calls) == 1) {
				t.Errorf("%d calls", len(result.Calls))
			}
			if fmt.Sprint(*result) != result.String() {
				t.Errorf("by value it prints %s", fmt.Sprint(*result))
			}
			if text := fmt.Sprintf("%+v%s", *result, result); strings.Contains(text, "hunter2") || result.Ping.Request != nil ||
				strings.Contains(result.String(), "ping ") {
				t.Errorf("a secret, or a ping, is in %s", text)
			}
		})
	}
}

// The environment is the documented one, and nothing of this process but what a program needs.
func TestProgramEnvironment(t *testing.T) {
	t.Setenv("TOOLWIRE_SECRET", "of the test")
	task := dispatchtest.Task{ID: 42, Instruction: "Hello.", Input: map[string]int{"a": 1}}
	var run *proxytest.Run
	task.OnRun = func(r *proxytest.Run) { run = r }
	result := dispatchtest.Run(t, inCodeMode("environment", "an argument", "-x"), task)
	result.AssertOK(t)
	var got []string
	for line := range strings.Lines(result.FinalResponse) {
		line = strings.TrimSuffix(line, "\n")
		name, _, _ := strings.Cut(line, "=")
		if !slices.Contains([]string{"PATH", "HOME", "TMPDIR", "PWD", "SystemRoot", "TEMP"}, name) {
			got = append(got, line)
		}
	}
	turn := result.Turns[0].Request
	var envelope struct {
		ProxyURL string          `json:"odyssey_proxy_url"`
		Input    json.RawMessage `json:"input"`
	}
	if err := json.Unmarshal(turn, &envelope); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"API_KEY", "PIPELINES_ODYSSEY_PROXY_URL=" + envelope.ProxyURL, "PIPELINES_RESULT_PATH", "PIPELINES_RUN_ID=" + run.ID, "PIPELINES_RUN_TOKEN",
		"PIPELINES_RUN_TOKEN_JTI", "PIPELINES_TASK_ID=42", "TOOLWIRE_TEST_PROGRAM", `_PIPELINES_TASK_INPUT_JSON=` + string(envelope.Input),
		"an argument", "-x",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if string(envelope.Input) != `{"task_id":42,"user_instruction":"Hello.","input":{"a":1}}` {
		t.Errorf("%s", envelope.Input)
	}
}

// A result that does not come in time does not count, and the program is ended.
func TestProgramOutOfTime(t *testing.T) {
	testkit.Patiently(t, func(t testing.TB, limit time.Duration) {
		target := inCodeMode("late")
		target.RunTimeout = limit
		result := dispatchtest.Run(t, target, dispatchtest.Task{Instruction: "Hello."})
		result.AssertErrorClass(t, dispatchtest.AgentTimeout)
	})
}

func TestProgramSessions(t *testing.T) {
	task := dispatchtest.Task{
		Instruction: "a", Conversation: &dispatchtest.Conversation{UserTurns: []string{"b"}},
		World: proxytest.World{Behaviors: map[string]proxytest.Behavior{"get_order": proxytest.Canned(`1`)}},
	}
	result := dispatchtest.Run(t, inCodeMode("main"), task)
	if result.AssertOK(t); len(result.Turns) != 2 || result.FinalResponse != "b1" {
		t.Errorf("%d turns, %q", len(result.Turns), result.FinalResponse)
	}
}

// Package eval runs programs, too.
func TestProgramOfAnExperiment(t *testing.T) {
	world := proxytest.World{Behaviors: map[string]proxytest.Behavior{"get_order": proxytest.Canned(`1`)}}
	cases := []eval.Case{{Name: "a", Task: dispatchtest.Task{Instruction: "a", World: world}}, {Name: "b", Task: dispatchtest.Task{Instruction: "b", World: world}}}
	experiment, err := eval.Run(t.Context(), inCodeMode("main"), cases, nil)
	if err != nil || !experiment.OK() {
		t.Errorf("%v %v", experiment, err)
	}
}

func TestProgramMistakes(t *testing.T) {
	for _, tt := range []struct {
		target dispatchtest.Target
		want   string
	}{
		{dispatchtest.Target{Command: []string{"no-such-program-anywhere"}}, "Target.Command: "},
		{dispatchtest.Target{Command: []string{"x"}, URL: "http://127.0.0.1"}, "set one of URL, Handler, Agent and Command"},
		{dispatchtest.Target{Env: []string{"A=b"}}, "Target.Env is for a Target with a Command or a URL"},
	} {
		if _, err := dispatchtest.Dispatch(t.Context(), tt.target, dispatchtest.Task{}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v, want %q", err, tt.want)
		}
	}
}

// The function of the document, run(task_input, *, proxy_url, run_token), behind a driver of a few
// lines.
func TestProgramInPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3, which runs the program of this test, is not on this machine")
	}
	const source = `
import json, os, urllib.request

def run(task_input, *, proxy_url, run_token):
    request = urllib.request.Request(proxy_url + "/tools/get_order", json.dumps(task_input["input"]).encode(),
        {"Authorization": "Bearer " + run_token, "Content-Type": "application/json"})
    with urllib.request.urlopen(request) as reply:
        return {"final_response": task_input["user_instruction"] + json.load(reply)["response"]["status"]}

env = os.environ
result = run(json.loads(env["_PIPELINES_TASK_INPUT_JSON"]), proxy_url=env["PIPELINES_ODYSSEY_PROXY_URL"], run_token=env["PIPELINES_RUN_TOKEN"])
with open(env["PIPELINES_RESULT_PATH"], "w") as file:
    json.dump(result, file)
`
	result := dispatchtest.Run(t, dispatchtest.Target{Command: []string{python, "-c", source}}, dispatchtest.Task{
		Instruction: "It is ", Input: map[string]string{"order_id": "4521"},
		World: proxytest.World{Behaviors: map[string]proxytest.Behavior{"get_order": proxytest.Canned(`{"status":"shipped"}`)}},
	})
	result.AssertFinalResponse(t, "It is shipped")
}
