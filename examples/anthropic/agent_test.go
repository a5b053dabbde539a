package main

import (
	"net/http"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/examples/internal/shop/shoptest"
)

func TestLoop(t *testing.T) {
	shoptest.Test(t, with(loopAgent), &shoptest.Options{Repairs: true})
}

func TestRunner(t *testing.T) {
	shoptest.Test(t, with(runnerAgent), &shoptest.Options{Repairs: true})
}

func with(newAgent func(anthropic.Client, string) (dispatch.Agent, error)) shoptest.New {
	return func(t *testing.T, url string, client *http.Client) dispatch.Agent {
		agent, err := newAgent(newClient(client, option.WithBaseURL(url), option.WithAPIKey("none")), "fake-1")
		if err != nil {
			t.Fatal(err)
		}
		return agent
	}
}
