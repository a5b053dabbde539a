package main

import (
	"net/http"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/examples/internal/shop/shoptest"
)

func TestChat(t *testing.T) { shoptest.Test(t, with(chatAgent), nil) }

func TestResponses(t *testing.T) { shoptest.Test(t, with(responsesAgent), nil) }

func with(newAgent func(openai.Client, string) (dispatch.Agent, error)) shoptest.New {
	return func(t *testing.T, url string, client *http.Client) dispatch.Agent {
		agent, err := newAgent(newClient(client, option.WithBaseURL(url), option.WithAPIKey("none")), "fake-1")
		if err != nil {
			t.Fatal(err)
		}
		return agent
	}
}
