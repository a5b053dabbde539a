package guide

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/eval"
	"github.com/toolwire/toolwire/dispatch/llm"
	"github.com/toolwire/toolwire/dispatch/llm/llmtest"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// The tests of the agent. docs/models.md and docs/testing.md show some of them.

// scripted returns the agent with a scripted model in place of the provider.
func scripted(t *testing.T, model *llmtest.Model) dispatch.Agent {
	t.Helper()
	agent, err := newAgent(newClient(model.Client().Transport, option.WithBaseURL(model.URL), option.WithAPIKey("none")))
	if err != nil {
		t.Fatal(err)
	}
	return agent
}

func shop() proxytest.World {
	return proxytest.World{
		Tools:        tools,
		InitialState: `{"order":{"4521":{"status":"shipped","amount":79.5}}}`,
		Behaviors: map[string]proxytest.Behavior{
			"get_order":    proxytest.Get("order", "order_id", nil),
			"refund_order": proxytest.Update("order", "order_id", &proxytest.WriteOptions{Set: `{"status":"refunded"}`}),
		},
	}
}

func TestRefund(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := llmtest.New(t,
			llmtest.Error(529).RetryAfter(20*time.Second), // the SDK waits and asks again
			llmtest.Turn(
				llmtest.Call("call_1", "get_order", `{"order_id":"4521"}`),
				llmtest.Call("call_2", "get_order", `{"order_id":`), // models write such things
			).Usage(210, 40).Expect(llmtest.HasSystem(system), llmtest.HasTools("get_order", "refund_order")),
			llmtest.Call("call_3", "refund_order", `{"order_id":"4521","amount":79.5}`).Usage(320, 30).
				Expect(llmtest.HasResult("call_1", `"shipped"`), llmtest.HasResult("call_2", "invalid_arguments")),
			llmtest.Text("Order #4521 has been refunded.").Usage(390, 15),
		)
		got := dispatchtest.Run(t, dispatchtest.Target{Agent: scripted(t, model)}, dispatchtest.Task{
			Instruction: "Refund order #4521.",
			World:       shop(),
		})
		got.AssertOK(t)
		got.AssertFinalResponse(t, "has been refunded")
		got.AssertOrder(t, "get_order", "refund_order")
		got.AssertOnlyChanged(t, "/order/4521/status")
		if n := len(got.Messages); n != 8 { // system, user, 2 turns with 3 results, the last text
			t.Errorf("%d messages in the transcript", n)
		}
	})
}

func TestSession(t *testing.T) {
	model := llmtest.New(t,
		llmtest.Call("call_1", "get_order", `{"order_id":"4521"}`),
		llmtest.Text("It has shipped."),
		llmtest.Text("You are welcome.").Expect(func(r *llmtest.Request) error {
			if len(r.Users) != 2 || !strings.Contains(string(r.Body), "It has shipped.") {
				return errors.New("the first turn is missing")
			}
			return nil
		}),
	)
	got := dispatchtest.Run(t, dispatchtest.Target{Agent: scripted(t, model)}, dispatchtest.Task{
		Instruction:  "Where is order #4521?",
		World:        shop(),
		Conversation: &dispatchtest.Conversation{UserTurns: []string{"Thanks."}, ReplayTools: true},
	})
	got.AssertOK(t)
	got.AssertFinalResponse(t, "You are welcome.")
}

func TestRunOver(t *testing.T) {
	var run *proxytest.Run
	world := shop()
	world.Behaviors["get_order"] = func(*proxytest.Request) (any, error) {
		run.End("run_token_invalid") // the platform ends the run
		return map[string]string{"status": "shipped"}, nil
	}
	model := llmtest.New(t,
		llmtest.Call("call_1", "get_order", `{"order_id":"4521"}`),
		llmtest.Call("call_2", "get_order", `{"order_id":"4521"}`), // this call fails; the model is not asked again
	)
	got, err := dispatchtest.Dispatch(t.Context(), dispatchtest.Target{Agent: scripted(t, model)}, dispatchtest.Task{
		Instruction: "Where is order #4521?",
		World:       world,
		OnRun:       func(r *proxytest.Run) { run = r },
	})
	if err != nil {
		t.Fatal(err)
	}
	if got.OK() || len(model.Requests()) != 2 {
		t.Errorf("%d requests to the model\n%s", len(model.Requests()), got)
	}
}

func TestDataset(t *testing.T) {
	dataset, err := eval.Read(strings.NewReader(`user,state,says
Refund order #4521.,,refunded
Where is order #77?,{},no order
`))
	if err != nil {
		t.Fatal(err)
	}
	model := llmtest.New(t)
	model.For("Refund order #4521.",
		llmtest.Call("call_1", "refund_order", `{"order_id":"4521","amount":79.5}`),
		llmtest.Text("Order #4521 has been refunded."))
	model.For("Where is order #77?",
		llmtest.Call("call_1", "get_order", `{"order_id":"77"}`),
		llmtest.Text("There is no order #77.").Expect(llmtest.HasResult("call_1", "not found")))

	cases, err := dataset.Cases(dispatchtest.Task{World: shop()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	experiment, err := eval.Run(t.Context(), dispatchtest.Target{Agent: scripted(t, model)}, cases, &eval.Options{
		Grader: func(_ context.Context, c eval.Case, got *dispatchtest.Result) error {
			if want := c.Columns["says"]; !strings.Contains(got.FinalResponse, want) {
				return fmt.Errorf("it says %q, want %q", got.FinalResponse, want)
			}
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if !experiment.OK() {
		_ = experiment.WriteSummary(t.Output(), false)
		t.Fail()
	}
}

// specialist asks the model a question of its own, with a system prompt of its own.
func specialist(ctx context.Context, client openai.Client, question string) (string, error) {
	ctx = proxy.WithActor(ctx, "supervisor/refunds")
	completion, err := client.Chat.Completions.New(ctx, openai.ChatCompletionNewParams{
		Model:    "gpt-5.2",
		Messages: []message{openai.SystemMessage("You judge refunds."), openai.UserMessage(question)},
	})
	if err != nil || len(completion.Choices) == 0 {
		return "", cmp.Or(err, errors.New("the model returned no choices"))
	}
	choice := completion.Choices[0]
	return llm.FinalResponse(choice.Message.Content+choice.Message.Refusal, choice.FinishReason), nil
}

// A label keeps two conversations apart. Without one, the request that nothing goes on with is left out,
// and a problem says so.
func TestSpecialist(t *testing.T) {
	for _, labelled := range []bool{true, false} {
		model := llmtest.New(t, llmtest.Text("Refund it."), llmtest.Text("I refund it."))
		client := newClient(model.Client().Transport, option.WithBaseURL(model.URL), option.WithAPIKey("none"))
		agent := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			if _, err := specialist(ctx, client, run.Instruction); err != nil {
				return nil, err
			}
			if !labelled {
				ctx = proxy.WithActor(ctx, "supervisor/refunds")
			}
			completion, err := client.Chat.Completions.New(ctx, openai.ChatCompletionNewParams{
				Model: "gpt-5.2", Messages: []message{openai.SystemMessage(system), openai.UserMessage(run.Instruction)},
			})
			if err != nil || len(completion.Choices) == 0 {
				return nil, cmp.Or(err, errors.New("the model returned no choices"))
			}
			return &dispatch.Response{FinalResponse: completion.Choices[0].Message.Content}, nil
		}
		got := dispatchtest.Run(t, dispatchtest.Target{Agent: agent}, dispatchtest.Task{Instruction: "Refund order #4521.", World: shop()})
		if leftOut := len(got.Problems) == 1 && strings.HasSuffix(got.Problems[0].String(), "[request_left_out]"); leftOut == labelled || labelled && len(got.Problems) > 0 {
			t.Errorf("with a label of its own: %v; problems %v", labelled, got.Problems)
		}
		var said []string
		for _, m := range got.Messages {
			if m.Role == dispatch.RoleAssistant {
				said = append(said, m.Content.String())
			}
		}
		slices.Sort(said)
		want := []string{"I refund it.", "Refund it."}
		if !labelled {
			want = want[:1]
		}
		if !slices.Equal(said, want) {
			t.Errorf("with a label of its own: %v; the assistants said %q", labelled, said)
		}
	}
}

// ask is one request of the loop, streamed.
func ask(ctx context.Context, client openai.Client, params openai.ChatCompletionNewParams) (openai.ChatCompletionChoice, error) {
	params.StreamOptions = openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)}
	stream := client.Chat.Completions.NewStreaming(ctx, params)
	var completion openai.ChatCompletionAccumulator
	for stream.Next() {
		completion.AddChunk(stream.Current())
	}
	if err := stream.Err(); err != nil || len(completion.Choices) == 0 {
		return openai.ChatCompletionChoice{}, cmp.Or(err, errors.New("the model returned no choices"))
	}
	return completion.Choices[0], nil
}

func TestStream(t *testing.T) {
	model := llmtest.New(t, llmtest.Text("Hello.").Usage(7, 2))
	client := newClient(model.Client().Transport, option.WithBaseURL(model.URL), option.WithAPIKey("none"))
	agent := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		choice, err := ask(ctx, client, openai.ChatCompletionNewParams{Model: "gpt-5.2", Messages: []message{openai.UserMessage(run.Instruction)}})
		if err != nil {
			return nil, err
		}
		text := llm.FinalResponse(choice.Message.Content+choice.Message.Refusal, choice.FinishReason)
		return &dispatch.Response{FinalResponse: text}, nil
	}
	got := dispatchtest.Run(t, dispatchtest.Target{Agent: agent}, dispatchtest.Task{Instruction: "Hi.", World: shop()})
	var response struct {
		Metadata struct {
			Input  int64 `json:"total_input_tokens"`
			Output int64 `json:"total_output_tokens"`
		}
	}
	if err := json.Unmarshal([]byte(got.Dispatch.Body), &response); err != nil {
		t.Fatal(err)
	}
	if m := response.Metadata; m.Input != 7 || m.Output != 2 {
		t.Errorf("tokens %+v", m)
	}
}
