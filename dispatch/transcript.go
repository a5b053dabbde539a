package dispatch

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/toolwire/toolwire/proxy"
)

// Transcript collects the messages of a run while the agent works, for the platform's trace and for registrations that
// require a gradeable transcript. Begin one with [Run.Record]; it is safe for concurrent use.
type Transcript struct {
	mu       sync.Mutex
	messages []Message
	numbers  *atomic.Int64
	dropped  int
}

// Bounds of a transcript: tool results are shown in a trace, where more than this serves nobody.
const (
	maxTranscriptText     = 64 << 10
	maxTranscriptMessages = 1000
)

// Record begins a transcript with the user's instruction. From now on every call through run.Proxy, and through clients
// derived from it, is in the transcript: an assistant message with the call and a tool message with the result, the
// failures as the model should see them. Call it once, before run.Proxy is used or passed on.
//
//	transcript := run.Record()
//	…
//	return transcript.Response("The refund has been issued."), nil
//
// Texts of more than 64 KiB are cut off, arguments of more are left out, and after 1,000 messages only the last word is
// added.
func (r *Run) Record() *Transcript {
	t := &Transcript{numbers: r.numbers}
	t.Add(Message{Role: RoleUser, Content: Text(r.Instruction)})
	r.Proxy = r.Proxy.Observe(t)
	return t
}

// Add adds messages as they are.
func (t *Transcript) Add(messages ...Message) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.add(messages...)
}

func (t *Transcript) add(messages ...Message) {
	if len(t.messages)+len(messages) > maxTranscriptMessages {
		t.dropped += len(messages)
		return
	}
	t.messages = append(t.messages, messages...)
}

// Say adds an assistant message with text.
func (t *Transcript) Say(text string) { t.Add(Message{Role: RoleAssistant, Content: Text(text)}) }

// Think adds a reasoning block, which the trace shows under the assistant's turn.
func (t *Transcript) Think(text string) {
	block := append(appendString([]byte(`{"type":"text","text":`), text), '}')
	t.Add(Message{Role: RoleAssistant, Thinking: []json.RawMessage{block}})
}

// Messages returns a copy of the transcript so far.
func (t *Transcript) Messages() []Message {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.messages)
}

// Dropped returns how many messages did not fit.
func (t *Transcript) Dropped() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.dropped
}

// Response returns an answer with the transcript, whose last message is final. It does not change the transcript.
func (t *Transcript) Response(final string) *Response {
	return &Response{FinalResponse: final, Messages: append(t.Messages(), Message{Role: RoleAssistant, Content: Text(final)})}
}

// CallStart implements [proxy.Observer].
func (t *Transcript) CallStart(ctx context.Context, _ proxy.CallInfo) context.Context { return ctx }

// CallEnd implements [proxy.Observer]. Call and result go in together, so that parallel calls stay pairs.
func (t *Transcript) CallEnd(_ context.Context, end proxy.CallEnd) {
	result := json.RawMessage(nil)
	if end.Err != nil {
		result = proxy.ToolResult(end.Err)
	} else {
		result = end.Result.Response
	}
	arguments := end.Arguments
	if len(arguments) > maxTranscriptText {
		arguments = nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	id := fmt.Sprintf("call_%d", t.numbers.Add(1))
	tool := cmp.Or(end.Tool, "(no name)") // a model may leave it out, and a call without a name would cost the transcript
	t.add(
		Message{Role: RoleAssistant, ToolCalls: []ToolCall{{ID: id, Name: tool, Arguments: slices.Clone(arguments)}}},
		Message{Role: RoleTool, ToolCallID: id, Content: Text(cutText(string(result)))},
	)
}

func cutText(s string) string {
	if len(s) <= maxTranscriptText {
		return s
	}
	end := maxTranscriptText - len("…")
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}
