package proxytest_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// A test's output names every request that got no result.
func TestRefusedCallsAreShown(t *testing.T) {
	failed, output := testRun(t, func(tb testing.TB) {
		world := world()
		world.FailureRules = []proxytest.FailureRule{
			{Tool: "get_order", Nth: []int{1}, Status: 409, ErrorClass: "conflict"},
			{Tool: "get_order", Nth: []int{2}, Break: "reset"},
			{Tool: "get_order", Nth: []int{3}, Break: "truncate"},
			{Trace: "thinking", Status: 400},
		}
		platform := proxytest.NewPlatform(tb, world, &proxytest.Options{RatePerMinute: 7, AllowUndeclared: true})
		run := platform.NewRun()
		client := run.Client(&proxy.Options{MaxAttempts: 1})
		order := map[string]string{"order_id": "4521"}
		for range 4 {
			_, _ = client.Do(t.Context(), "get_order", order)
		}
		send(t, platform, run.Path+"/tools/get_order", http.Header{"X-Pipelines-Run-Token": {run.Token},
			"X-Pipelines-Actor-Id": {"sub"}}, "[]")
		_, _ = client.Do(t.Context(), "nope", nil)
		_, _ = client.Trace(t.Context(), proxy.EventThinking, nil)
		_, _ = client.Do(t.Context(), "get_order", order)
		run.End("")
		_, _ = run.Client(nil).Do(t.Context(), "get_order", order)
		send(t, platform, "/nowhere", nil, "{}")
		send(t, platform, run.Path+"/tools/get_order", http.Header{"X-Pipelines-Run-Token": {"stranger"}}, "{}")
	})
	want := []string{
		"proxytest: the proxy refused get_order: 409 conflict: a failure rule",
		"proxytest: the proxy refused get_order: no answer: reset",
		"proxytest: the proxy refused get_order: no answer: truncate",
		"proxytest: the proxy refused sub: get_order: 422: the body is ",
		"proxytest: the proxy refused nope: 404 tool_not_executable: nope is not declared; ",
		"proxytest: the proxy refused thinking: 400: a failure rule",
		"proxytest: the proxy refused get_order: 429 rate_limited: ",
		"proxytest: the proxy refused get_order: 401 run_token_expired: ",
		"proxytest: the proxy refused POST /nowhere: 404: the path does not exist",
		"proxytest: the proxy refused POST /api/odyssey-proxy/runs/1/tools/get_order: 401 run_token_invalid: ",
	}
	lines := strings.Split(strings.TrimSuffix(output, "\n"), "\n")
	if len(lines) != len(want) || failed != "" {
		t.Fatalf("failures %q, output\n%s", failed, output)
	}
	for i, line := range lines {
		if !strings.HasPrefix(line, want[i]) {
			t.Errorf("line %d is %q, want %q", i, line, want[i])
		}
	}
}

// A test that stalls for the rate limit says so while it waits, and what lifts the limit.
func TestStallsAreShown(t *testing.T) {
	for _, tt := range []struct {
		name string
		rate int
		want string
		took time.Duration
	}{
		{"default", 0,
			"proxytest: get_order waits 1m0.05s: a run token may make 60 requests in 1m0s. In a testing/synctest bubble " +
				"the wait takes no time; proxytest.Options{RatePerMinute: -1} lifts the limit\n", time.Minute +
				50*time.Millisecond},
		{"lifted", -1, "", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				_, output := testRun(t, func(tb testing.TB) {
					run := proxytest.NewPlatform(tb, world(), &proxytest.Options{RatePerMinute: tt.rate}).NewRun()
					client := run.Client(nil)
					for range 61 {
						if _, err := client.Do(t.Context(), "get_order", map[string]string{"order_id": "4521"}); err != nil {
							t.Fatal(err)
						}
					}
				})
				if took := time.Since(start); output != tt.want || took != tt.took {
					t.Errorf("took %s, output %q\nwant %s, %q", took, output, tt.took, tt.want)
				}
			})
		})
	}
}

// What a client does after its test is discarded: writing to the test's output would panic.
func TestNothingIsShownAfterTheTest(t *testing.T) {
	var late *proxy.Client
	var run *proxytest.Run
	_, output := testRun(t, func(tb testing.TB) {
		run = proxytest.NewPlatform(tb, world(), nil).NewRun()
		late = run.Client(nil)
	})
	run.End("")
	if _, err := late.Do(t.Context(), "get_order", nil); !proxy.IsRunOver(err) || output != "" {
		t.Errorf("%v, output %q", err, output)
	}
}

// Every refusal in the timeline has a reason, and nothing stands for a class that is not there.
func TestTheTimelineSaysWhyACallIsRefused(t *testing.T) {
	for want, world := range map[string]proxytest.World{
		"-> 404 tool_not_executable: get_order is not declared; declared: none  (": {},
		"-> 400: a failure rule of the task refuses the call  (": {
			Behaviors:    map[string]proxytest.Behavior{"get_order": proxytest.Canned("1")},
			FailureRules: []proxytest.FailureRule{{Status: 400}},
		},
	} {
		platform := newPlatform(t, world, nil)
		run := platform.NewRun()
		if _, err := run.Client(nil).Do(t.Context(), "get_order", nil); err == nil {
			t.Error("the call is not refused")
		}
		if got := run.Log().String(); !strings.Contains(got, want) {
			t.Errorf("got\n%swant %s", got, want)
		}
	}
}
