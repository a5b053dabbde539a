// Package sdks holds package llmtest to the official SDKs of the model providers: they must accept
// what it sends, streamed and not, in memory and on loopback.
package sdks

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/toolwire/toolwire/dispatch/llm/llmtest"
)

// reply is what an SDK makes of one response.
type reply struct {
	text, thinking, refusal, finish string
	calls                           []call
	input, output                   int64
	model                           string
}

// call is a tool call; its arguments are as the SDK hands them to its caller.
type call struct{ id, name, arguments string }

// talk is a conversation with a model through an SDK.
type talk interface {
	user(text string)
	result(c call, text string)
	ask(ctx context.Context) (reply, error) // and keeps the reply in the conversation
}

// sdk is one API of one SDK.
type sdk struct {
	name string
	talk func(t *testing.T, url string, client *http.Client, stream bool) talk

	finish   map[string]string // how the SDK words why a response ended: stop, calls, length, refusal
	thinks   bool              // the SDK has a place for thinking
	mute     bool              // the SDK drops the text of a refusal
	attempts int               // of a request that is answered 429, 5xx, or not at all
	once     int               // a status of these after which it makes no other attempt
	deaf     bool              // it does not read Retry-After
	blind    bool              // it takes a stream that breaks off for one that ends
}

var sdks = []sdk{chatSDK, responsesSDK, anthropicSDK, bedrockSDK, vertexSDK, genaiSDK, converseSDK, ollamaSDK}

// each runs a test for each SDK, streamed and not, in memory in a bubble and on loopback.
func each(t *testing.T, test func(t *testing.T, s sdk, stream bool, start func(steps ...llmtest.Step) (*llmtest.Model, talk))) {
	bubble(t, func(t *testing.T, s sdk, stream bool) {
		test(t, s, stream, func(steps ...llmtest.Step) (*llmtest.Model, talk) {
			m := llmtest.New(t, steps...)
			return m, s.talk(t, m.URL, m.Client(), stream)
		})
	})
	variants(t, func(t *testing.T, s sdk, stream bool) {
		t.Parallel()
		test(t, s, stream, func(steps ...llmtest.Step) (*llmtest.Model, talk) {
			m := llmtest.NewServer(t, steps...)
			return m, s.talk(t, m.URL, m.Client(), stream)
		})
	})
}

// bubble runs a test in a bubble for each SDK, streamed and not.
func bubble(t *testing.T, test func(t *testing.T, s sdk, stream bool)) {
	variants(t, func(t *testing.T, s sdk, stream bool) {
		synctest.Test(t, func(t *testing.T) { test(t, s, stream) })
	})
}

// variants runs a test for each SDK, streamed and not.
func variants(t *testing.T, test func(t *testing.T, s sdk, stream bool)) {
	for _, s := range sdks {
		t.Run(s.name+"/whole", func(t *testing.T) { test(t, s, false) })
		t.Run(s.name+"/streamed", func(t *testing.T) { test(t, s, true) })
	}
}

// ask asks and fails the test on an error.
func ask(t *testing.T, c talk) reply {
	t.Helper()
	r, err := c.ask(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const (
	system = "You refund orders."
	long   = "Ordér #4521 has been refunded ($79.50); “77” could not be found. 漢字 😀 <&> \"quoted\"\n"
)

func TestText(t *testing.T) {
	each(t, func(t *testing.T, s sdk, _ bool, start func(...llmtest.Step) (*llmtest.Model, talk)) {
		m, c := start(llmtest.Text(long).Usage(7, 3).Expect(llmtest.HasSystem(system), llmtest.HasTools("get_order", "refund_order")), llmtest.Text(""))
		c.user("Refund #4521.")
		if r := ask(t, c); r.text != long || r.calls != nil || r.finish != s.finish["stop"] || r.input != 7 || r.output != 3 || r.model != "fake-1" {
			t.Errorf("%+v", r)
		}
		c.user("Thanks.")
		if r := ask(t, c); r.text != "" || r.finish != s.finish["stop"] || r.input != 100 || r.output != 20 {
			t.Errorf("%+v", r)
		}
		got := m.Requests()
		if len(got) != 2 || got[1].Model != "fake-1" || !slices.Equal(got[1].Users, []string{"Refund #4521.", "Thanks."}) {
			t.Errorf("%+v", got)
		}
	})
}

func TestParallelCalls(t *testing.T) {
	each(t, func(t *testing.T, s sdk, _ bool, start func(...llmtest.Step) (*llmtest.Model, talk)) {
		want := []call{{"call_1", "get_order", `{"note":"é😀\n","order_id":"4521"}`}, {"call_2", "get_order", `{"order_id":"77"}`}, {"call_3", "list_orders", `{}`}}
		_, c := start(
			llmtest.Turn(llmtest.Thinking("Two orders."), llmtest.Text("I look."),
				llmtest.Call(want[0].id, want[0].name, want[0].arguments), llmtest.Call(want[1].id, want[1].name, want[1].arguments), llmtest.Call(want[2].id, want[2].name, want[2].arguments)),
			llmtest.Text("done").Expect(llmtest.HasResult("call_1", `"shipped"`), llmtest.HasResult("call_2", "not found"), llmtest.HasResult("call_3", "[]")),
		)
		c.user("Refund #4521 and #77.")
		r := ask(t, c)
		if r.text != "I look." || r.finish != s.finish["calls"] || !slices.Equal(r.calls, want) {
			t.Errorf("%+v", r)
		}
		if s.thinks && r.thinking != "Two orders." {
			t.Errorf("thinking %q", r.thinking)
		}
		c.result(want[0], `{"status":"shipped"}`)
		c.result(want[1], `{"error":"not found"}`)
		c.result(want[2], `{"orders":[]}`)
		if r := ask(t, c); r.text != "done" {
			t.Errorf("%+v", r)
		}
	})
}

func TestIncomplete(t *testing.T) {
	each(t, func(t *testing.T, s sdk, _ bool, start func(...llmtest.Step) (*llmtest.Model, talk)) {
		_, c := start(llmtest.Text("The order has").Incomplete())
		c.user("Refund #4521.")
		if r := ask(t, c); r.text != "The order has" || r.finish != s.finish["length"] {
			t.Errorf("%+v", r)
		}
	})
}

func TestRefusal(t *testing.T) {
	each(t, func(t *testing.T, s sdk, _ bool, start func(...llmtest.Step) (*llmtest.Model, talk)) {
		_, c := start(llmtest.Refusal("I cannot do that."))
		c.user("Refund everything.")
		if r := ask(t, c); s.name != "ollama" && r.text != "" || !s.mute && r.text+r.refusal != "I cannot do that." || r.finish != s.finish["refusal"] {
			t.Errorf("%+v", r)
		}
	})
}
