package main

import (
	"context"
	"net"
	"net/http"
	"testing"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
)

const token = "a-token-for-tests"

// target is the agent as it is registered: an endpoint with a token.
func target(t *testing.T) dispatchtest.Target {
	t.Helper()
	agent, err := newAgent()
	if err != nil {
		t.Fatal(err)
	}
	handler, err := newHandler(agent, token, nil)
	if err != nil {
		t.Fatal(err)
	}
	return dispatchtest.Target{Handler: handler, AuthValue: "Bearer " + token, RunTimeout: runTimeout, Strict: true}
}

// A run that is in progress when the process is told to stop still gets its answer.
func TestDrain(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	endpoint := dispatchtest.Target{URL: "http://" + listener.Addr().String() + "/dispatch", AuthValue: "Bearer " + token}
	handler, err := newHandler(func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		if run.Instruction == "Are you there?" {
			return &dispatch.Response{FinalResponse: "Yes."}, nil
		}
		stop()
		for { // until the server rejects new runs
			got, err := dispatchtest.Dispatch(ctx, endpoint, dispatchtest.Task{Instruction: "Are you there?"})
			if err != nil {
				return nil, err
			}
			if got.Dispatch.Status == http.StatusServiceUnavailable {
				return &dispatch.Response{FinalResponse: "I am done."}, nil
			}
		}
	}, token, nil)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, listener, handler) }()

	got := dispatchtest.Run(t, endpoint, dispatchtest.Task{Instruction: "Finish."})
	got.AssertOK(t)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestToken(t *testing.T) {
	t.Setenv("AGENT_TOKEN", "")
	if _, err := readToken(""); err == nil {
		t.Error("the agent starts without a token")
	}
	t.Setenv("AGENT_TOKEN", token)
	if got, err := readToken(""); got != token || err != nil {
		t.Errorf("%q %v", got, err)
	}
}
