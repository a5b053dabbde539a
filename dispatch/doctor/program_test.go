package doctor_test

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/doctor"
)

// TestMain lets the test binary be a program in code mode.
func TestMain(m *testing.M) {
	switch os.Getenv("TOOLWIRE_TEST_PROGRAM") {
	case "":
		doctor.SetSlowCall(200 * time.Millisecond) // only an agent that waits for less than this is judged by it
		_ = flag.Set("test.parallel", "8")         // most tests wait for endpoints; go test -parallel replaces it
		os.Exit(cmp.Or(m.Run(), unbroken()))
	case "works":
		dispatch.Main(func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) { return once(ctx, run) }, nil)
	case "port":
		i := slices.IndexFunc(judgedPorts, func(p judgedPort) bool { return p.name == os.Getenv("FAULT") })
		os.Exit(judgedPorts[i].port.run())
	case "crash":
		os.Exit(3)
	case "no key":
		fmt.Fprintln(os.Stderr, "level=INFO msg=starting\nlevel=ERROR msg=\"run failed\" error=\"there is no API key\"\nthe agent failed; its log says why")
		os.Exit(1)
	}
}

// unbroken is 1 if no test of a whole run has an agent that breaks one of the checks: that the doctor can say
// something else than ok of each.
func unbroken() (code int) {
	for _, name := range []string{"test.run", "test.skip", "test.list"} {
		if flag.Lookup(name).Value.String() != "" {
			return 0
		}
	}
	all := slices.Clone(doctor.Scenarios())
	for _, name := range allNames {
		all = append(all, doctor.Name(name))
	}
	for _, name := range all {
		if _, ok := broken.Load(name); !ok {
			fmt.Printf("FAIL: no test has an agent of which %s says something else than ok\n", name)
			code = 1
		}
	}
	return code
}

// Code mode has no endpoint. What concerns one is skipped; the sample and the scenarios are not.
func TestCheckOfAProgram(t *testing.T) {
	t.Parallel()
	for mode, failing := range map[string]names{"works": nil, "crash": {"dispatch"}} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			target := dispatchtest.Target{Command: []string{os.Args[0]}, Env: []string{"TOOLWIRE_TEST_PROGRAM=" + mode}}
			report := examineWith(t, target, scenarios("concurrent_runs", "unwrap", "retry_429", "headers_only", "session_replay"))
			said := expect(t, report, failing, nil)
			if mode == "crash" && !strings.Contains(said, "agent_bad_response: the program ended with exit status 3 and wrote no result") {
				t.Errorf("%q", said)
			}
			for name, want := range map[doctor.Name]doctor.Status{
				"ping": "skipped", "wrong_bearer": "skipped", "headers_only": "skipped", "dispatch": "ok", "unwrap": "ok", "retry_429": "ok",
				"concurrent_runs": "ok", "session_replay": "ok",
			} {
				if f := find(t, report, name); mode == "works" && f.Status != want {
					t.Errorf("%+v, want %s", f, want)
				}
			}
			if report.Target != "a program in code mode" {
				t.Errorf("%q", report.Target)
			}
		})
	}
}

// What a program wrote before it failed is in the finding, and the record of the failed run comes first.
func TestAProgramSaysWhyItFailed(t *testing.T) {
	t.Parallel()
	target := dispatchtest.Target{Command: []string{os.Args[0]}, Env: []string{"TOOLWIRE_TEST_PROGRAM=no key"}}
	report, err := doctor.Check(t.Context(), target, nil)
	if err != nil {
		t.Fatal(err)
	}
	f := find(t, report, "dispatch")
	if !strings.Contains(f.Seen, "there is no API key") || !strings.Contains(f.Do, "-env NAME") ||
		!slices.Contains(f.Details, "level=INFO msg=starting") || !slices.Contains(f.Details, "the agent failed; its log says why") {
		t.Errorf("%+v", f)
	}
}

// The command that repeats a scenario has the program, its arguments and the names of its variables.
func TestProgramsSayHowToRepeatAScenario(t *testing.T) {
	t.Parallel()
	target := dispatchtest.Target{
		Command: []string{os.Args[0], "it's"}, Env: []string{"TOOLWIRE_TEST_PROGRAM=works", "KEY=a-secret-value"},
	}
	opts := scenarios("unwrap")
	opts.Task = &dispatchtest.Task{Instruction: "Refund order #4521."}
	opts.ToolsSchema = []byte(`[{"name":"get_order","description":"Looks an order up.","input_schema":{"type":"object"}}]`)
	report := examineWith(t, target, opts)
	want := "go run github.com/toolwire/toolwire/examples/toolwire doctor -env 'TOOLWIRE_TEST_PROGRAM' -env 'KEY' " +
		`-tools "$TOOLS" ` + "-instruction 'Refund order #4521.' -scenarios unwrap -- '" + os.Args[0] + `' 'it'\''s'`
	if f := find(t, report, "unwrap"); f.Status != doctor.StatusOK || f.Reproduce != want {
		t.Errorf("%+v\nwant\n%s", f, want)
	}
}
