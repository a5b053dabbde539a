package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/llm/llmtest"
)

// A final response is never empty: it has the words of the model, or the reason why there are none.
func TestNoAnswer(t *testing.T) {
	task := dispatchtest.Task{Instruction: "Refund order #4521.", World: world(t)}
	for _, tt := range []struct {
		step llmtest.Step
		want string
	}{
		{llmtest.Refusal("I will not help with that."), "I will not help with that."},
		{llmtest.Text("I refunded").Incomplete(), "ended early"},
	} {
		use(t, llmtest.NewServer(t, tt.step).URL)
		got := dispatchtest.Run(t, target(t), task)
		got.AssertOK(t)
		// Google's SDK has the reason of a refusal and not its text.
		if text := got.FinalResponse; !strings.Contains(text, tt.want) && !strings.Contains(text, "SAFETY") {
			t.Errorf("the final response is %q, want %q", text, tt.want)
		}
	}

	// A filter may leave nothing of the response.
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"choices":[],"content":[],"candidates":[]}`)
	}))
	defer server.Close()
	use(t, server.URL)
	got, err := dispatchtest.Dispatch(t.Context(), target(t), task)
	if err != nil {
		t.Fatal(err)
	}
	if text := strings.ToLower(got.FinalResponse + got.AgentError); !strings.Contains(text, "the model") {
		t.Errorf("the response does not say why there is no answer: %s", text)
	}
}

// A model that calls tools for ever does not use up the time of the run.
func TestMaxRequests(t *testing.T) {
	model := llmtest.NewModel(slices.Repeat([]llmtest.Step{llmtest.Call("", "get_order", `{"order_id":"4521"}`)}, 1000)...)
	server := httptest.NewServer(model)
	defer server.Close()
	use(t, server.URL)
	task := dispatchtest.Task{Instruction: "Go on.", World: world(t)}
	if _, err := dispatchtest.Dispatch(t.Context(), target(t), task); err != nil {
		t.Fatal(err)
	}
	if n := len(model.Requests()); n != maxRequests {
		t.Errorf("%d requests to the model, want %d", n, maxRequests)
	}
}
