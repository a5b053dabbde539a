package dispatchtest_test

import (
	"context"
	"net/http"
	"net/http/httptrace"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/internal/testkit"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// givesUp calls a tool and does not wait for it.
func givesUp(patience time.Duration) dispatch.Agent {
	return func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		short, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		_, _ = run.Proxy.Do(short, "refund", nil)
		return &dispatch.Response{FinalResponse: "I gave up."}, nil
	}
}

// givesUpAtOnce calls a tool and gives the call up in the moment in which it has been sent.
func givesUpAtOnce(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) {
		cancel()
	}})
	_, _ = run.Proxy.Do(ctx, "refund", nil)
	return &dispatch.Response{FinalResponse: "I gave up."}, nil
}

// A call is on record when it has been sent, whether or not the agent waits for the answer, every
// time.
func TestACallThatIsGivenUpIsOnRecord(t *testing.T) {
	world := proxytest.World{
		Behaviors:    map[string]proxytest.Behavior{"refund": proxytest.Canned(`{}`)},
		FailureRules: []proxytest.FailureRule{{Delay: time.Minute}},
	}
	check := func(t *testing.T, agent dispatch.Agent) {
		got := dispatchtest.Run(t, dispatchtest.Target{Agent: agent}, dispatchtest.Task{World: world})
		got.AssertNoCallAfterEnd(t)
		if len(got.Refused) != 1 || len(got.Warnings) != 0 {
			t.Errorf("%d refused, warnings %q", len(got.Refused), got.Warnings)
		}
		if failed := testkit.Failures(t, func(t testing.TB) { got.AssertNotCalled(t, "refund", "") }); failed == "" {
			t.Error("AssertNotCalled overlooks the call")
		}
	}
	for range 100 {
		synctest.Test(t, func(t *testing.T) { check(t, givesUp(time.Second)) })
		check(t, givesUpAtOnce)
	}
}

func TestABehaviorThatOutlivesItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := dispatchtest.Run(t, dispatchtest.Target{Agent: givesUp(time.Second)}, dispatchtest.Task{World: proxytest.World{
			Behaviors: map[string]proxytest.Behavior{"refund": func(*proxytest.Request) (any, error) {
				time.Sleep(time.Minute)
				return 1, nil
			}},
		}})
		time.Sleep(time.Hour)
		got.AssertNoCallAfterEnd(t) // it arrived before the answer, whenever it was done
	})
}

func TestAnErrorWhoseBodyBreaksOff(t *testing.T) {
	agent := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		w.WriteHeader(500)
		_, _ = w.Write([]byte("boom"))
	})
	dispatchtest.Run(t, dispatchtest.Target{Handler: agent}, dispatchtest.Task{}).AssertErrorClass(t,
		dispatchtest.Agent5xx)
}

func TestARefusedTraceEventIsNoCall(t *testing.T) {
	got := dispatchtest.Run(t,
		dispatchtest.Target{Agent: func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			_, _ = run.Proxy.Trace(ctx, proxy.EventThinking, nil)
			return &dispatch.Response{FinalResponse: "done"}, nil
		}}, dispatchtest.Task{World: proxytest.World{
			Behaviors:    map[string]proxytest.Behavior{"a": proxytest.Canned(`{}`)},
			FailureRules: []proxytest.FailureRule{{Trace: "*", Status: 500}},
		}})
	if len(got.Warnings) != 1 {
		t.Errorf("warnings %q", got.Warnings)
	}
}
