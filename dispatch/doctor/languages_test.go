package doctor_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/doctor"
	"github.com/toolwire/toolwire/internal/testkit"
)

// Endpoints in other languages have exactly the findings that they deserve.
func TestCheckOfOtherLanguages(t *testing.T) {
	t.Parallel()
	python := []string{"python3", "/usr/bin/python3"} // the system's Python has the packages of the distribution
	pythonNeeds := []string{"-c", "import fastapi, httpx, uvicorn"}
	for _, tt := range []struct {
		name           string
		program        string
		languages      []string // the first that has what the program imports runs it
		needs          []string // arguments of the language, for a program that ends well if it has that
		output         string   // the output_schema, if the agent reads what it requires
		failed, warned names
		nightly        bool
	}{
		{"Node", "testdata/endpoint.mjs", []string{"node"}, []string{"-e", "if (typeof fetch !== 'function') process.exit(1)"}, "", nil, nil, false},
		{ // It does not repeat a call, reads any body, answers malformed JSON with 500, and nothing else during a run.
			"the reference wrapper in Python", "testdata/wrapper.py", python, pythonNeeds, "",
			names{"retry_429"}, names{"body_limit", "malformed_body", "concurrent_runs", "retry_503"}, true,
		},
		{
			"the reference wrapper with an agent that reads the status", "testdata/wrapper.py", python, pythonNeeds, orderOutput,
			names{"retry_429"}, names{"body_limit", "malformed_body", "concurrent_runs", "retry_503"}, false,
		},
	} {
		if tt.nightly && !testkit.Nightly {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			language, reasons := "", []string(nil)
			for _, candidate := range tt.languages {
				out, err := exec.Command(candidate, tt.needs...).CombinedOutput()
				if err == nil {
					language = candidate
					break
				}
				lines := strings.Split(strings.TrimSpace(string(out)), "\n")
				reasons = append(reasons, fmt.Sprintf("%s: %v %s", candidate, err, lines[len(lines)-1]))
			}
			if language == "" {
				t.Skipf("%s cannot be run here: %s", tt.program, strings.Join(reasons, "; "))
			}
			command, tools := []string{language, tt.program}, orderTool
			if tt.output != "" {
				command = append(command, "status")
				tools = strings.TrimSuffix(tools, "}]") + `,"output_schema":{"anyOf":[` + tt.output + `,{"type":"object","required":["error"]}]}}]`
			}
			report := examineWith(t, dispatchtest.Target{URL: serve(t, command), AuthValue: "Bearer " + handToken}, &doctor.Options{
				Task:        &dispatchtest.Task{Instruction: "Where is order #4521?"},
				ToolsSchema: []byte(tools), Scenarios: doctor.Scenarios(), Timeout: 5 * time.Minute, LateCallWait: 10 * time.Millisecond,
			})
			expect(t, report, tt.failed, tt.warned)
			for _, scenario := range judged() {
				if f := find(t, report, scenario); f.Status == doctor.StatusSkipped {
					t.Errorf("%s was not played: %s", scenario, f.Seen)
				}
			}
		})
	}
}

// serve starts an endpoint that prints its port, and returns its URL.
func serve(t *testing.T, command []string) string {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), "AGENT_TOKEN="+handToken)
	cmd.Stderr = t.Output()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	port, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("%s printed no port: %v", command[0], err)
	}
	return "http://127.0.0.1:" + strings.TrimSpace(port) + "/dispatch"
}
