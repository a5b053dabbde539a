package sdks

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"

	"github.com/toolwire/toolwire/dispatch/llm/llmtest"
)

var responsesSDK = sdk{
	name:     "openai responses",
	talk:     newResponses,
	finish:   map[string]string{"stop": "completed", "calls": "completed", "length": "incomplete max_output_tokens", "refusal": "completed"},
	thinks:   true,
	attempts: 3,
}

// responsesTalk sends the whole conversation with each request, or continues the last response.
type responsesTalk struct {
	client    openai.Client
	params    responses.ResponseNewParams
	stream    bool
	continues bool
}

func newResponses(_ *testing.T, url string, client *http.Client, stream bool) talk {
	c := &responsesTalk{client: openai.NewClient(option.WithBaseURL(url+"/v1"), option.WithHTTPClient(client), option.WithAPIKey(key)), stream: stream}
	c.params = responses.ResponseNewParams{Model: "fake-1", Instructions: openai.String(system)}
	for _, name := range []string{"get_order", "refund_order"} {
		c.params.Tools = append(c.params.Tools, responses.ToolParamOfFunction(name, map[string]any{"type": "object"}, false))
	}
	return c
}

func (c *responsesTalk) add(item responses.ResponseInputItemUnionParam) {
	c.params.Input.OfInputItemList = append(c.params.Input.OfInputItemList, item)
}

func (c *responsesTalk) user(text string) {
	c.add(responses.ResponseInputItemParamOfMessage(text, responses.EasyInputMessageRoleUser))
}

func (c *responsesTalk) result(call call, text string) {
	c.add(responses.ResponseInputItemUnionParam{OfFunctionCallOutput: &responses.ResponseInputItemFunctionCallOutputParam{
		CallID: openai.String(call.id), Output: responses.ResponseInputItemFunctionCallOutputOutputUnionParam{OfString: openai.String(text)},
	}})
}

// gather reads a stream as its caller would, and with the SDK's accumulator, which is strict about
// the fields of each event.
func (c *responsesTalk) gather(ctx context.Context) (*responses.Response, error) {
	s := c.client.Responses.NewStreaming(ctx, c.params)
	defer func() { _ = s.Close() }()
	var got *responses.Response
	var acc responses.ResponseAccumulator
	text, arguments := "", map[string]string{}
	for n := int64(0); s.Next(); n++ {
		e := s.Current()
		if e.SequenceNumber != n {
			return got, errors.New("the sequence numbers have a gap")
		}
		if e.Type == "error" { // for which s.Err stays nil
			return got, errors.New(e.Message)
		}
		var server responses.ResponsesServerEventUnion
		if err := json.Unmarshal([]byte(e.RawJSON()), &server); err != nil {
			return got, err
		}
		if err := acc.AddEvent(server); err != nil {
			return got, err
		}
		switch e.Type {
		case "response.output_text.delta":
			text += e.Delta
		case "response.function_call_arguments.delta":
			arguments[e.ItemID] += e.Delta
		case "response.completed", "response.incomplete", "response.failed":
			got = &e.Response
		}
	}
	if s.Err() != nil || got == nil {
		return got, s.Err()
	}
	whole, err := acc.ReconstructedResponse()
	if err != nil {
		return got, err
	}
	if got.OutputText() != text || whole.OutputText() != text {
		return got, errors.New("the deltas are not the text")
	}
	for _, item := range got.Output {
		if item.Type == "function_call" && arguments[item.ID] != item.Arguments.OfString {
			return got, errors.New("the deltas are not the arguments")
		}
	}
	return got, nil
}

func (c *responsesTalk) ask(ctx context.Context) (r reply, err error) {
	var got *responses.Response
	if c.stream {
		got, err = c.gather(ctx)
	} else {
		got, err = c.client.Responses.New(ctx, c.params)
	}
	if got == nil {
		return r, err
	}
	r = reply{text: got.OutputText(), finish: string(got.Status), model: got.Model, input: got.Usage.InputTokens, output: got.Usage.OutputTokens}
	if why := got.IncompleteDetails.Reason; why != "" {
		r.finish += " " + why
	}
	if c.continues {
		c.params.PreviousResponseID, c.params.Input.OfInputItemList = openai.String(got.ID), nil
	}
	for _, item := range got.Output {
		switch item.Type {
		case "reasoning":
			for _, s := range item.Summary {
				r.thinking += s.Text
			}
		case "message":
			for _, content := range item.Content {
				r.refusal += content.Refusal
			}
		case "function_call":
			r.calls = append(r.calls, call{item.CallID, item.Name, item.Arguments.OfString})
		}
		if !c.continues {
			c.add(param.Override[responses.ResponseInputItemUnionParam](json.RawMessage(item.RawJSON())))
		}
	}
	return r, err
}

// A request can name the response that it continues instead of repeating the conversation.
func TestPreviousResponse(t *testing.T) {
	for _, stream := range []bool{false, true} {
		m := llmtest.New(t)
		m.For("#4521",
			llmtest.Turn(llmtest.Call("call_1", "get_order", `{}`), llmtest.Call("call_2", "get_order", `{}`)),
			llmtest.Text("done").Expect(llmtest.HasSystem(system), llmtest.HasResult("call_1", "shipped"), llmtest.HasResult("call_2", "lost")),
			llmtest.Text("bye").Expect(llmtest.HasSystem(system)),
		)
		c := newResponses(t, m.URL, m.Client(), stream).(*responsesTalk)
		c.continues = true
		c.user("Refund #4521.")
		for i, r := range ask(t, c).calls {
			c.result(r, []string{"shipped", "lost"}[i])
		}
		if r := ask(t, c); r.text != "done" {
			t.Errorf("%+v", r)
		}
		c.user("Thanks.")
		if r := ask(t, c); r.text != "bye" {
			t.Errorf("%+v", r)
		}
	}
}
