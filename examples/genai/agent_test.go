package main

import (
	"net/http"
	"testing"

	"google.golang.org/genai"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/examples/internal/shop/shoptest"
)

func TestAgent(t *testing.T) {
	shoptest.Test(t, start, &shoptest.Options{MalformedAnswer: "MALFORMED_FUNCTION_CALL", RefusalAnswer: "SAFETY"})
}

// The calls of older models have no ids.
func TestCallsWithoutIDs(t *testing.T) {
	shoptest.Test(t, start, &shoptest.Options{MalformedAnswer: "MALFORMED_FUNCTION_CALL", RefusalAnswer: "SAFETY", NoCallIDs: true})
}

func start(t *testing.T, url string, client *http.Client) dispatch.Agent {
	api, err := newClient(t.Context(), client, genai.ClientConfig{
		APIKey: "none", Backend: genai.BackendGeminiAPI, HTTPOptions: genai.HTTPOptions{BaseURL: url},
	})
	if err != nil {
		t.Fatal(err)
	}
	return newAgent(api, "fake-1")
}
