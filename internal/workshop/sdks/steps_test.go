package sdks

import (
	"slices"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"google.golang.org/genai"

	"github.com/toolwire/toolwire/dispatch/llm/llmtest"
)

// What the model does beside text and calls: each SDK reads its own form of it.
func TestOtherSteps(t *testing.T) {
	calls := []call{{"call_1", "get_order", `{"order_id":"4521"}`}, {"call_2", "get_order", `{"order_id":"77"}`}}
	each(t, func(t *testing.T, s sdk, _ bool, start func(...llmtest.Step) (*llmtest.Model, talk)) {
		search := map[string][]llmtest.Step{
			"openai chat":      {llmtest.Raw(`{"reasoning":"I search."}`)},
			"openai responses": {llmtest.Raw(`{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"shoes"}}`)},
			"anthropic": {
				llmtest.Raw(`{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"shoes"}}`),
				llmtest.Raw(`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}`),
			},
			"genai": {
				llmtest.Raw(`{"toolCall":{"id":"t_1","toolType":"GOOGLE_SEARCH_WEB","args":{"query":"shoes"}}}`),
				llmtest.Raw(`{"toolResponse":{"id":"t_1","toolType":"GOOGLE_SEARCH_WEB","response":{"output":"none"}}}`),
			},
		}[s.name]
		switch s.name {
		case "anthropic on bedrock", "anthropic on vertex":
			search = []llmtest.Step{llmtest.Raw(`{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"shoes"}}`), llmtest.Raw(`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}`)}
		case "converse":
			search = []llmtest.Step{llmtest.Raw(`{"reasoningContent":{"redactedContent":"c2ln"}}`)}
		case "ollama":
			search = []llmtest.Step{llmtest.Raw(`{"thinking":"I search."}`)}
		}
		stop := map[string]string{"anthropic on bedrock": "pause_turn", "anthropic on vertex": "pause_turn", "converse": "content_filtered", "ollama": "load", "openai chat": "content_filter", "openai responses": "content_filter", "anthropic": "pause_turn", "genai": "LANGUAGE"}[s.name]
		_, c := start(
			llmtest.Turn(append(search, llmtest.Text("I found none."))...).Usage(100, 5).Cached(40),
			llmtest.Text("More.").Stop(stop),
			llmtest.Turn(llmtest.Call(calls[0].id, calls[0].name, calls[0].arguments), llmtest.Call(calls[1].id, calls[1].name, calls[1].arguments)).InOneChunk(),
			llmtest.Text("Done."),
		)
		c.user("Shoes?")
		input := int64(100)
		if strings.HasPrefix(s.name, "anthropic") || s.name == "converse" || s.name == "ollama" { // which counts apart what is cached
			input = 60
		}
		if r := ask(t, c); r.text != "I found none." || r.finish != s.finish["stop"] || r.input != input || r.output != 5 {
			t.Errorf("%+v", r)
		}
		c.user("Go on.")
		if r := ask(t, c); r.text != "More." || !strings.HasSuffix(r.finish, stop) {
			t.Errorf("%+v", r)
		}
		c.user("Both orders.")
		if r := ask(t, c); !slices.Equal(r.calls, calls) {
			t.Errorf("%+v", r)
		}
		for _, call := range calls {
			c.result(call, `{"status":"shipped"}`)
		}
		if r := ask(t, c); r.text != "Done." {
			t.Errorf("%+v", r)
		}
	})
}

// A paused turn goes on when the agent sends it back as it is.
func TestPausedTurn(t *testing.T) {
	for _, stream := range []bool{false, true} {
		m := llmtest.New(t,
			llmtest.Raw(`{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"shoes"}}`).Stop("pause_turn"),
			llmtest.Turn(llmtest.Raw(`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}`), llmtest.Text("None.")),
		)
		c := newAnthropic(t, m.URL, m.Client(), stream)
		c.user("Shoes?")
		if r := ask(t, c); r.finish != string(anthropic.StopReasonPauseTurn) {
			t.Errorf("%+v", r)
		}
		if r := ask(t, c); r.text != "None." || r.finish != "end_turn" {
			t.Errorf("%+v", r)
		}
	}
}

// Several choices of Chat Completions, whole and streamed, and several candidates of Gemini.
func TestChoices(t *testing.T) {
	two := llmtest.Choices(llmtest.Text("One."), llmtest.Call("call_1", "get_order", `{}`))
	m := llmtest.New(t, two, two, two)
	client := openai.NewClient(option.WithBaseURL(m.URL+"/v1"), option.WithHTTPClient(m.Client()), option.WithAPIKey(key))
	params := openai.ChatCompletionNewParams{Model: "fake-1", N: openai.Int(2), Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("x")}}
	whole, err := client.Chat.Completions.New(t.Context(), params)
	if err != nil {
		t.Fatal(err)
	}
	stream, streamed := client.Chat.Completions.NewStreaming(t.Context(), params), openai.ChatCompletionAccumulator{}
	for stream.Next() {
		if !streamed.AddChunk(stream.Current()) {
			t.Error("the accumulator refuses a chunk")
		}
	}
	for _, got := range []*openai.ChatCompletion{whole, &streamed.ChatCompletion} {
		if len(got.Choices) != 2 || got.Choices[0].Message.Content != "One." || got.Choices[1].FinishReason != "tool_calls" || len(got.Choices[1].Message.ToolCalls) != 1 {
			t.Errorf("%s, %v", got.RawJSON(), stream.Err())
		}
	}
	api := newGenai(t, m.URL, m.Client(), false).(*genaiTalk).client
	got, err := api.Models.GenerateContent(t.Context(), "fake-1", genai.Text("x"), nil)
	if err != nil || len(got.Candidates) != 2 || got.Candidates[0].Content.Parts[0].Text != "One." || got.Candidates[1].Content.Parts[0].FunctionCall.Name != "get_order" {
		t.Errorf("%+v, %v", got, err)
	}
}
