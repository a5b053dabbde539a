package doctor_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/doctor"
	"github.com/toolwire/toolwire/internal/testkit"
)

// run makes the port a program in code mode, and returns its exit status.
func (p *port) run() int {
	body, err := json.Marshal(map[string]any{
		"input": json.RawMessage(os.Getenv("_PIPELINES_TASK_INPUT_JSON")), "odyssey_proxy_url": os.Getenv("PIPELINES_ODYSSEY_PROXY_URL"),
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(string(body)))
	r.Header.Set("Authorization", "Bearer "+handToken)
	r.Header.Set("X-Pipelines-Run-Token", os.Getenv("PIPELINES_RUN_TOKEN"))
	w := httptest.NewRecorder()
	if p.ServeHTTP(w, r); w.Code != http.StatusOK {
		fmt.Fprintln(os.Stderr, w.Body)
		return 1
	}
	if err := os.WriteFile(os.Getenv("PIPELINES_RESULT_PATH"), w.Body.Bytes(), 0o600); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// Programs in code mode with the faults of the ports have the same findings, in Go and in Python. Without
// TOOLWIRE_NIGHTLY, one port in six is tried in Go, and one in Python with a few scenarios: each dispatch
// starts an interpreter.
func TestCheckJudgesPrograms(t *testing.T) {
	t.Parallel()
	commands := map[string][]string{"Go": {os.Args[0]}, "Python": {"python3", "testdata/program.py"}}
	for i, tt := range judgedPorts {
		for language, command := range commands {
			if slices.Contains(ofEndpoints, tt.name) || !testkit.Full && (i%6 != 0 || i > 0 && language == "Python") {
				continue
			}
			t.Run(language+"/"+tt.name, func(t *testing.T) {
				t.Parallel()
				scenarios := doctor.Scenarios()
				if language == "Python" {
					scenarios = testkit.Size(names{"concurrent_runs", "unwrap", "retry_429", "headers_only", "session_replay"}, scenarios)
				}
				target := dispatchtest.Target{Command: command, Env: []string{"TOOLWIRE_TEST_PROGRAM=port", "FAULT=" + tt.name}}
				report := examineWith(t, target, &doctor.Options{
					Task: &dispatchtest.Task{Instruction: "Where is order #4521?"}, ToolsSchema: []byte(orderTool), Scenarios: scenarios,
				})
				said := expect(t, report, tt.failed, tt.warned)
				if !strings.Contains(said, strings.ReplaceAll(tt.seen, "agent_5xx", "agent_bad_response")) {
					t.Errorf("%q is not said in\n%s", tt.seen, report)
				}
				for _, name := range []doctor.Name{"ping", "wrong_bearer", "headers_only"} {
					wantStatus(t, report, name, doctor.StatusSkipped)
				}
			})
		}
	}
}
