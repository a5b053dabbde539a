package doctor_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/doctor"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// five calls get_order five times.
func five(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
	for i := range 5 {
		if _, err := run.Proxy.Do(ctx, "get_order", map[string]int{"i": i}); err != nil {
			return nil, err
		}
	}
	return &dispatch.Response{FinalResponse: "done: " + run.Instruction}, nil
}

func task() dispatchtest.Task {
	return dispatchtest.Task{
		Instruction: "Refund order #4521.",
		World:       proxytest.World{Behaviors: map[string]proxytest.Behavior{"get_order": proxytest.Canned(`{"status":"shipped"}`)}},
	}
}

// endpoints are two ways to an agent: in memory and on loopback.
func endpoints(t *testing.T, agent dispatch.Agent) map[string]dispatchtest.Target {
	handler, err := dispatch.New(agent, &dispatch.Options{Tokens: []string{"secret"}})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]dispatchtest.Target{
		"agent":   {Agent: agent},
		"handler": {Handler: handler, AuthValue: "Bearer secret"},
	}
}

// byHand is a target that has the token of the fixtures.
func byHand(handler http.Handler) dispatchtest.Target {
	return dispatchtest.Target{Handler: handler, AuthValue: "Bearer " + handToken}
}

// broken are the names of the checks that tests have seen fail or warn.
var broken sync.Map

// find returns the finding of a check. It fails the test if the report has none.
func find(t testing.TB, report *doctor.Report, name doctor.Name) doctor.Finding {
	t.Helper()
	for _, f := range report.Findings {
		if f.Name == name {
			if f.Status == doctor.StatusFailed || f.Status == doctor.StatusWarning {
				broken.Store(name, true)
			}
			return f
		}
	}
	t.Fatal("the report has no " + string(name))
	return doctor.Finding{}
}

// wantStatus compares the status of a check, and looks for each part of seen in what it saw.
func wantStatus(t testing.TB, report *doctor.Report, name doctor.Name, want doctor.Status, seen ...string) {
	t.Helper()
	f := find(t, report, name)
	if f.Status != want {
		t.Errorf("%+v, want %s", f, want)
	}
	for _, part := range seen {
		if !strings.Contains(f.Seen, part) {
			t.Errorf("%q is not said in %+v", part, f)
		}
	}
}

// with returns the findings with a status, in order.
func with(report *doctor.Report, status doctor.Status) (list []doctor.Finding) {
	for _, f := range report.Findings {
		if f.Status == status {
			list = append(list, f)
		}
	}
	return list
}

// assertNoWarning fails the test with every check that failed or warned.
func assertNoWarning(t testing.TB, report *doctor.Report) {
	t.Helper()
	report.AssertOK(t)
	for _, f := range with(report, doctor.StatusWarning) {
		t.Errorf("%s: %s: %s", f.Name, f.Seen, strings.Join(f.Details, "\n"))
	}
}
