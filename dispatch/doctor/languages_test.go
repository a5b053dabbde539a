package doctor_test

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/doctor"
)

// Endpoints in other languages have exactly the findings that they deserve.
func TestCheckOfOtherLanguages(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name           string
		command        []string
		needs          []string // a command that succeeds if the language has what the endpoint imports
		failed, warned names
	}{
		{"Node", []string{"node", "testdata/endpoint.mjs"}, []string{"node", "-e", "if (typeof fetch !== 'function') process.exit(1)"}, nil, nil},
		{ // It does not repeat a call, reads any body, and answers malformed JSON with 500.
			"the reference wrapper in Python", []string{"python3", "testdata/wrapper.py"}, []string{"python3", "-c", "import fastapi, httpx, uvicorn"},
			names{"retry_429"}, names{"body_limit", "malformed_body", "retry_503"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if out, err := exec.Command(tt.needs[0], tt.needs[1:]...).CombinedOutput(); err != nil {
				lines := strings.Split(strings.TrimSpace(string(out)), "\n")
				t.Skipf("%s cannot be run here: %v %s", tt.command[0], err, lines[len(lines)-1])
			}
			report, err := doctor.Check(t.Context(), dispatchtest.Target{URL: serve(t, tt.command), AuthValue: "Bearer " + handToken}, &doctor.Options{
				Task:        &dispatchtest.Task{Instruction: "Where is order #4521?"},
				ToolsSchema: []byte(orderTool), Scenarios: doctor.Scenarios(), Timeout: 5 * time.Minute, Linger: 10 * time.Millisecond,
			})
			if err != nil {
				t.Fatal(err)
			}
			expect(t, report, tt.failed, tt.warned)
			for _, scenario := range doctor.Scenarios() {
				if f := find(t, report, scenario); f.Status == doctor.StatusSkipped {
					t.Errorf("%s was not played: %s", scenario, f.Seen)
				}
			}
			if len(report.Faults) > 0 {
				t.Errorf("the doctor failed: %q", report.Faults)
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
