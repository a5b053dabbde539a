// Package shoptest tests agents of package shop: that a run has what an agent with a model must
// get right, whatever SDK it uses. Nothing in it needs a key or a network.
package shoptest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/llm"
	"github.com/toolwire/toolwire/dispatch/llm/llmtest"
	"github.com/toolwire/toolwire/examples/internal/shop"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// New makes an agent that uses the model at url through the client.
type New func(t *testing.T, url string, client *http.Client) dispatch.Agent

// Options describes what an agent or its SDK does in its own way.
type Options struct {
	// NoCallIDs scripts a model whose calls have no ids. Only Gemini's API has such models.
	NoCallIDs bool

	// Repairs is for an SDK that makes {} of arguments that are not JSON.
	Repairs bool

	// MalformedAnswer is for an API or an SDK that has no answer if arguments are not JSON. It is a part
	// of the final response.
	MalformedAnswer string

	// RefusalAnswer is for an SDK that does not have the text of a refusal. It is a part of the final
	// response.
	RefusalAnswer string
}

// id returns the id of a call in a script.
func (o Options) id(id string) string {
	if o.NoCallIDs {
		return ""
	}
	return id
}

// Test runs all tests of an agent.
func Test(t *testing.T, agent New, opts *Options) {
	var o Options
	if opts != nil {
		o = *opts
	}
	for name, test := range map[string]func(*testing.T, New, Options){
		"Run": testRun, "Mistakes": testMistakes, "RunOver": testRunOver, "Timeout": testTimeout, "Session": testSession, "ModelFails": testModelFails,
		"Results": testResults, "NoAnswer": testNoAnswer,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, agent, o) })
		})
	}
}

// start makes an agent and the target of its runs.
func start(t *testing.T, agent New, steps ...llmtest.Step) (*llmtest.Model, dispatchtest.Target) {
	model := llmtest.New(t, steps...)
	return model, dispatchtest.Target{Agent: agent(t, model.URL, model.Client())}
}

// testRun: the transcript has the model's ids and its grouping, and the metadata has its tokens.
func testRun(t *testing.T, agent New, o Options) {
	_, target := start(t, agent,
		llmtest.Turn(
			llmtest.Text("I look at both."),
			llmtest.Call(o.id("toolu_1"), "get_order", `{"order_id":"4521"}`),
			llmtest.Call(o.id("toolu_2"), "get_order", `{"order_id":"4522"}`),
		).Usage(100, 20).Expect(llmtest.HasSystem(shop.System), llmtest.HasTools("get_order", "refund_order")),
		llmtest.Call(o.id("toolu_3"), "refund_order", `{"order_id":"4521","amount":79.5}`).Usage(150, 15).
			Expect(llmtest.HasResult(o.id("toolu_1"), "shipped"), llmtest.HasResult(o.id("toolu_2"), "paid")),
		llmtest.Text("Order #4521 has been refunded.").Usage(180, 10).Expect(llmtest.HasResult(o.id("toolu_3"), "rf_1")),
	)
	got := dispatchtest.Run(t, target, dispatchtest.Task{Instruction: "Refund orders #4521 and #4522.", World: shop.World()})
	got.AssertOK(t)
	got.AssertFinalResponse(t, "has been refunded")
	got.AssertCalledTimes(t, "get_order", 2)
	got.AssertOnlyChanged(t, "/order/4521/status")
	if len(got.Problems) > 0 {
		t.Error("problems:", got.Problems)
	}

	want := [][]string{{"toolu_1", "toolu_2"}, {"toolu_3"}}
	var groups, results [][]string
	for _, m := range got.Messages {
		var ids []string
		for _, call := range m.ToolCalls {
			ids = append(ids, call.ID)
		}
		if ids != nil {
			groups, results = append(groups, ids), append(results, nil)
		}
		if m.Role == dispatch.RoleTool && len(results) > 0 {
			results[len(results)-1] = append(results[len(results)-1], m.ToolCallID)
		}
	}
	if o.NoCallIDs { // then the ids are made, and only the groups can be compared
		want = groups
		if len(groups) != 2 || len(groups[0]) != 2 || len(groups[1]) != 1 {
			t.Errorf("calls of the transcript: %v", groups)
		}
	}
	if !slices.EqualFunc(groups, want, slices.Equal) || !slices.EqualFunc(results, want, slices.Equal) {
		t.Errorf("the transcript has the calls %v with the results %v, want %v", groups, results, want)
	}

	var body struct {
		Metadata struct {
			Model  string
			Input  int64 `json:"total_input_tokens"`
			Output int64 `json:"total_output_tokens"`
		}
	}
	if err := json.Unmarshal([]byte(got.Dispatch.Body), &body); err != nil {
		t.Fatal(err)
	}
	if m := body.Metadata; m.Model == "" || m.Input != 430 || m.Output != 45 {
		t.Errorf("metadata %+v, want a model and 430 and 45 tokens", m)
	}
}

// testMistakes: the model is told of a tool that does not exist and of arguments that are not JSON,
// and goes on.
func testMistakes(t *testing.T, agent New, o Options) {
	task := dispatchtest.Task{Instruction: "Cancel order #4521.", World: shop.World()}
	invented := llmtest.Call(o.id("toolu_1"), "cancel_order", `{"order_id":"4521"}`)
	malformed := llmtest.Call(o.id("toolu_2"), "get_order", `{"order_id":`)
	told := llmtest.HasResult(o.id("toolu_1"), "cancel_order")
	answer := llmtest.Text("I cannot cancel orders.").Expect(told)
	script := []llmtest.Step{llmtest.Turn(invented, malformed), answer.Expect(llmtest.HasResult(o.id("toolu_2"), "invalid_arguments"))}
	switch {
	case o.Repairs: // the agent cannot see what the model wrote
		script[1] = answer.Expect(llmtest.HasResult(o.id("toolu_2"), ""))
	case o.MalformedAnswer != "":
		_, target := start(t, agent, malformed)
		dispatchtest.Run(t, target, task).AssertFinalResponse(t, o.MalformedAnswer)
		script = []llmtest.Step{invented, answer}
	}
	_, target := start(t, agent, script...)
	got, err := dispatchtest.Dispatch(t.Context(), target, task)
	if err != nil {
		t.Fatal(err)
	}
	got.AssertFinalResponse(t, "cannot cancel")
	got.AssertOnlyChanged(t)
}

// testRunOver: when the proxy says that the run is over, the model is not asked again.
func testRunOver(t *testing.T, agent New, o Options) {
	var run *proxytest.Run
	world := shop.World()
	world.Behaviors["refund_order"] = func(*proxytest.Request) (any, error) {
		run.End("run_token_invalid")
		return map[string]string{"refund_id": "rf_1"}, nil
	}
	model := llmtest.NewModel(
		llmtest.Call(o.id("toolu_1"), "refund_order", `{"order_id":"4521","amount":1}`),
		llmtest.Call(o.id("toolu_2"), "get_order", `{"order_id":"4521"}`),
		llmtest.Text("The model was asked after the end."),
		llmtest.Text("And again."),
	)
	_, err := dispatchtest.Dispatch(t.Context(), dispatchtest.Target{Agent: agent(t, model.URL, model.Client())}, dispatchtest.Task{
		Instruction: "Refund order #4521.", World: world, OnRun: func(r *proxytest.Run) { run = r },
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(model.Requests()); n != 2 {
		t.Errorf("the model got %d requests, want 2: the second asks for the call that learns of the end", n)
	}
}

// testTimeout: an agent that waits for its model ends when the time of the run is over.
func testTimeout(t *testing.T, agent New, o Options) {
	_, target := start(t, agent,
		llmtest.Call(o.id("toolu_1"), "get_order", `{"order_id":"4521"}`),
		llmtest.Text("Too late.").After(time.Hour),
	)
	target.RunTimeout = time.Minute
	ended := make(chan error, 1)
	inner := target.Agent
	target.Agent = func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		answer, err := inner(ctx, run)
		ended <- ctx.Err()
		return answer, err
	}
	begin := time.Now()
	got, err := dispatchtest.Dispatch(t.Context(), target, dispatchtest.Task{Instruction: "Where is order #4521?", World: shop.World()})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the agent ended with the context's error %v", err)
	}
	if took := time.Since(begin); took > time.Minute { // in the bubble's time
		t.Errorf("the agent took %v", took)
	}
	if !slices.ContainsFunc(got.Messages, func(m dispatch.Message) bool { return m.Role == dispatch.RoleTool }) {
		t.Errorf("the transcript of a run that timed out lost its call: %v", got.Messages)
	}
}

// testSession: the second turn continues the conversation of the first.
func testSession(t *testing.T, agent New, o Options) {
	_, target := start(t, agent,
		llmtest.Call(o.id("toolu_1"), "get_order", `{"order_id":"4521"}`),
		llmtest.Text("It has shipped."),
		llmtest.Text("Goodbye.").Expect(func(r *llmtest.Request) error {
			if !slices.Equal(r.Users, []string{"Where is order #4521?", "Thanks."}) || !strings.Contains(string(r.Body), "It has shipped.") {
				return errors.New("the conversation is not what was said before")
			}
			return nil
		}),
	)
	got := dispatchtest.Run(t, target, dispatchtest.Task{
		World:        shop.World(),
		Conversation: &dispatchtest.Conversation{UserTurns: []string{"Where is order #4521?", "Thanks."}, ReplayTools: true},
	})
	got.AssertOK(t)
	got.AssertFinalResponse(t, "Goodbye.")
	if len(got.Problems) > 0 {
		t.Error("problems:", got.Problems)
	}
}

// testModelFails: the run fails when the model's provider does, and its log says why.
func testModelFails(t *testing.T, agent New, _ Options) {
	_, target := start(t, agent, llmtest.Error(401))
	got, err := dispatchtest.Dispatch(t.Context(), target, dispatchtest.Task{Instruction: "Refund order #4521.", World: shop.World()})
	if err != nil {
		t.Fatal(err)
	}
	got.AssertErrorClass(t, dispatchtest.Agent5xx)
	if !strings.Contains(got.AgentError, "401") {
		t.Errorf("the error of the agent is %q", got.AgentError)
	}
}

// testResults: the model reads the text of a string, and any other result as JSON.
func testResults(t *testing.T, agent New, o Options) {
	results := []struct{ json, text string }{
		{`"Created contact: \"Ada\"\nShe lives in Ulm."`, "Created contact: \"Ada\"\nShe lives in Ulm."},
		{`"a,b\n1,\"2\"\n"`, "a,b\n1,\"2\"\n"}, // the body of a live tool that is not JSON
		{`"{\"status\":\"shipped\"}"`, `{"status":"shipped"}`},
		{`{"status":"shipped"}`, `{"status":"shipped"}`}, {`7`, `7`}, {`null`, `null`},
		{`{"error":"no such order"}`, `{"error":"no such order"}`},
	}
	world := shop.World()
	answers, calls := map[string]string{}, []llmtest.Step{}
	for i, r := range results {
		number := strconv.Itoa(i)
		answers[number] = r.json
		calls = append(calls, llmtest.Call(o.id("toolu_"+number), "get_order", `{"order_id":"`+number+`"}`))
	}
	world.Behaviors["get_order"] = proxytest.Lookup("order_id", answers)
	_, target := start(t, agent, llmtest.Turn(calls...), llmtest.Text("I have read them.").Expect(func(r *llmtest.Request) error {
		for i, want := range results {
			text := want.text
			switch failed := i == len(results)-1; {
			case r.Format == llm.Gemini && failed:
				text = `{"error":` + want.json + `}`
			case r.Format == llm.Gemini:
				text = `{"output":` + want.json + `}`
			}
			if i >= len(r.Results) || r.Results[i].Content != text {
				return fmt.Errorf("the results are %+v; want number %d to be %s", r.Results, i, text)
			}
		}
		return nil
	}))
	got := dispatchtest.Run(t, target, dispatchtest.Task{Instruction: "Look up all orders.", World: world})
	got.AssertOK(t)
	var told []string
	for _, m := range got.Messages {
		if m.Role == dispatch.RoleTool {
			told = append(told, m.Content.String())
		}
	}
	for i, want := range results {
		if i >= len(told) || told[i] != want.text {
			t.Errorf("the transcript has the results %q; want number %d to be %s", told, i, want.text)
		}
	}
}

// testNoAnswer: the final response has the words of the model, or the reason why there are none.
func testNoAnswer(t *testing.T, agent New, o Options) {
	task := dispatchtest.Task{Instruction: "Refund order #4521.", World: shop.World()}
	for want, step := range map[string]llmtest.Step{
		cmp.Or(o.RefusalAnswer, "I will not help with that."): llmtest.Refusal("I will not help with that."),
		"I looked\n\n[The model's answer ended early: ":       llmtest.Text("I looked").Incomplete(),
	} {
		_, target := start(t, agent, step)
		got := dispatchtest.Run(t, target, task)
		got.AssertOK(t)
		got.AssertFinalResponse(t, want)
	}

	nothing := &http.Client{Transport: empty{}}
	got, err := dispatchtest.Dispatch(t.Context(), dispatchtest.Target{Agent: agent(t, "http://model.example.com", nothing)}, task)
	if err != nil {
		t.Fatal(err)
	}
	if text := strings.ToLower(got.FinalResponse + got.AgentError); !strings.Contains(text, "the model") {
		t.Errorf("the response does not say why there is no answer: %s", text)
	}
}

// empty is a model whose responses are empty, in any format.
type empty struct{}

func (empty) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.WriteString(`{"choices":[],"output":[],"content":[],"candidates":[]}`)
	return w.Result(), nil
}
