package proxytest_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// A request that is on its way when the agent learns of the end of the run is not a mistake. One
// that is sent later is.
func TestParallelCallsAtTheEndOfARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := proxytest.NewPlatform(t, proxytest.World{
			Behaviors:    map[string]proxytest.Behavior{"a": proxytest.Canned(`{}`)},
			FailureRules: []proxytest.FailureRule{{Status: 401, ErrorClass: "run_token_expired", Delay: 50 * time.Millisecond}},
		}, nil)
		run := p.NewRun()
		var group sync.WaitGroup
		for range 3 {
			group.Go(func() {
				if _, err := run.Client(nil).Do(t.Context(), "a", nil); !proxy.IsRunOver(err) {
					t.Error(err)
				}
			})
		}
		group.Wait()
		run.Log().AssertNoCallAfterEnd(t)
		_, _ = run.Client(nil).Do(t.Context(), "a", nil)
		if got := failures(t, func(t testing.TB) { run.Log().AssertNoCallAfterEnd(t) }); got == "" {
			t.Error("a call after the end of the run is overlooked")
		}
	})
}

func TestIdsOf64BitsAreToldApart(t *testing.T) {
	p := proxytest.NewPlatform(t,
		proxytest.World{Behaviors: map[string]proxytest.Behavior{"pay": proxytest.Canned(`{}`)}}, nil)
	run := p.NewRun()
	if _, err := run.Client(nil).Do(t.Context(), "pay", map[string]int64{"id": 9007199254740993}); err != nil {
		t.Fatal(err)
	}
	run.Log().AssertCalled(t, "pay", `{"id":9007199254740993.0}`)
	if got := failures(t, func(t testing.TB) { run.Log().AssertCalled(t, "pay", `{"id":9007199254740992}`) }); got == "" {
		t.Error("AssertCalled takes one id for another")
	}
}

// The cap bounds the result; the envelope comes on top.
func TestTheCapOfResults(t *testing.T) {
	for size, code := range map[int]toolwire.Code{1 << 20: "", 1<<20 + 1: toolwire.CodeServerError} {
		p := proxytest.NewPlatform(t, proxytest.World{Behaviors: map[string]proxytest.Behavior{
			"a": func(*proxytest.Request) (any, error) { return strings.Repeat("x", size-len(`""`)), nil },
		}}, nil)
		run := p.NewRun()
		got, err := proxy.Call[json.RawMessage](t.Context(), run.Client(nil), "a", nil)
		for _, c := range run.Log().Refused {
			if c.Response != nil || c.Source != "" {
				t.Errorf("the log has a result that was refused: %d bytes, %s", len(c.Response), c.Source)
			}
		}
		if toolwire.CodeOf(err) != code || err == nil && len(got) != size {
			t.Errorf("%d bytes: %d, %v", size, len(got), err)
		}
	}
}
