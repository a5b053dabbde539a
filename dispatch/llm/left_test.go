package llm_test

import (
	"context"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/llm"
	"github.com/toolwire/toolwire/dispatch/llm/llmtest"
)

// What is not known of a conversation is reported, and what is known is sent.
func TestWhatIsKnown(t *testing.T) {
	model := llmtest.New(t, llmtest.Text("before"), llmtest.Text("a"), llmtest.Text("b"), llmtest.Text("c"))
	if _, err := send(t.Context(), model.Client().Transport, "/v1/responses", `{"model":"m","input":"Before the run."}`); err != nil {
		t.Fatal(err)
	}
	transport := &llm.Transport{Base: model.Client().Transport}
	result := inRun(t, func(ctx context.Context, _ *dispatch.Run) error {
		for _, body := range []string{
			`{"model":"m","previous_response_id":"resp_1","input":"Both orders."}`,
			`{"model":"m","input":"` + strings.Repeat("x", 16<<20) + `"}`,
			`{"model":"m","input":"Both orders."}`,
		} {
			if _, err := send(ctx, transport, "/v1/responses", body); err != nil {
				return err
			}
		}
		return nil
	})
	if len(result.Problems) != 2 || !strings.Contains(result.Problems[0].Message, "the server keeps a part of the conversation of the agent") ||
		!strings.Contains(result.Problems[1].Message, "a request of more than 16 MiB was not read") {
		t.Errorf("problems %v", result.Problems)
	}
	if got := brief(result.Messages); got != "user Both orders.; assistant c" {
		t.Errorf("got %s", got)
	}
}

// What an agent puts into the model's mouth belongs to the answer, even if the model adds nothing.
func TestPrefillWithoutAnswer(t *testing.T) {
	for text, want := range map[string]string{"": `{"role":"assistant","content":"{"}`, `"a":1}`: `{"role":"assistant","content":"{\"a\":1}"}`} {
		model := llmtest.New(t, llmtest.Text(text))
		transport := &llm.Transport{Base: model.Client().Transport}
		result := inRun(t, func(ctx context.Context, _ *dispatch.Run) error {
			_, err := send(ctx, transport, "/v1/messages",
				`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Both orders."},{"role":"assistant","content":"{"}]}`)
			return err
		})
		if got := rows(t, result.Messages); !strings.Contains(got, want) {
			t.Errorf("%q: %v, got\n%swant\n%s", text, result.Problems, got, want)
		}
	}
}
