package dispatch

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// NoFinalResponse stands in for an empty final response, which the platform refuses.
const NoFinalResponse = "(no final response)"

// Response is the agent's answer to a run ("Porting without the SDK", response envelope). Only FinalResponse is required.
type Response struct {
	// FinalResponse is what the run is graded by. Text that is empty or only white space is sent as [NoFinalResponse].
	// The platform cuts off what is beyond about 50,000 characters.
	FinalResponse string

	// Messages is the transcript, for the trace. nil sends none. If [CheckMessages] finds it malformed it is not sent
	// either, as the platform would drop it.
	Messages []Message

	// Metadata is shown beside the trace; nil sends none.
	Metadata *Metadata
}

// Metadata has the platform's first-class keys; zero fields are not sent. More keys go into Extra.
type Metadata struct {
	Model             string // the model id
	SystemPromptID    string // free-form identifier of the prompt version
	TotalInputTokens  int64
	TotalOutputTokens int64
	AgentRuntimeMS    int64 // milliseconds of wall time in the agent's loop

	// HarnessVariant acknowledges the run's variant, if it has one; see [Run.HarnessVariant].
	HarnessVariant *HarnessAck

	// Extra holds further keys, with values that encoding/json can write. The fields above win over keys of their names.
	Extra map[string]any
}

// MarshalJSON writes the keys in alphabetical order.
func (m Metadata) MarshalJSON() ([]byte, error) {
	all := make(map[string]any, len(m.Extra)+5)
	maps.Copy(all, m.Extra)
	for key, text := range map[string]string{"model": m.Model, "system_prompt_id": m.SystemPromptID} {
		if text != "" {
			all[key] = text
		}
	}
	for key, n := range map[string]int64{
		"total_input_tokens": m.TotalInputTokens, "total_output_tokens": m.TotalOutputTokens, "agent_runtime_ms": m.AgentRuntimeMS,
	} {
		if n != 0 {
			all[key] = n
		}
	}
	if m.HarnessVariant != nil {
		all["harness_variant"] = m.HarnessVariant
	}
	return marshal(all)
}

// encode writes the answer so that the platform accepts it: what it would drop is left out, and reported.
func (r *Response) encode() (body []byte, problems []Problem) {
	if r == nil {
		r = &Response{}
	}
	final := r.FinalResponse
	if p := checkFinalResponse(final); p != nil {
		problems = append(problems, *p)
		if p.Fatal {
			final = NoFinalResponse
		}
	}
	body = append(make([]byte, 0, len(final)+64), `{"final_response":`...)
	body = appendString(body, final)
	if len(r.Messages) > 0 {
		found := CheckMessages(r.Messages)
		if len(found) == 0 {
			body, found = appendMember(body, "messages", r.Messages)
		}
		problems = append(problems, found...)
	}
	if r.Metadata != nil {
		var found []Problem
		body, found = appendMember(body, "metadata", r.Metadata)
		problems = append(problems, found...)
	}
	return append(body, '}'), problems
}

// gradeableResponse completes an answer so that an assistant message with text arrives, and says what it had to drop.
func gradeableResponse(run *Run, r *Response) (*Response, []Problem) {
	completed := Response{}
	if r != nil {
		completed = *r
	}
	problems := CheckMessages(completed.Messages)
	if len(problems) > 0 {
		completed.Messages = nil // the platform would drop them
	}
	if gradeable(completed.Messages) {
		return &completed, nil
	}
	if len(completed.Messages) == 0 {
		completed.Messages = []Message{{Role: RoleUser, Content: Text(run.Instruction)}}
	}
	final := completed.FinalResponse
	if strings.TrimSpace(final) == "" {
		final = NoFinalResponse
	}
	completed.Messages = append(slices.Clone(completed.Messages), Message{Role: RoleAssistant, Content: Text(final)})
	return &completed, problems
}

// appendMember adds a member unless it cannot be written as valid JSON; a marshal method may fail, panic, or write raw
// bytes that are no UTF-8.
func appendMember(body []byte, name string, v any) ([]byte, []Problem) {
	value, ok := encodeMember(v)
	if !ok {
		return body, []Problem{{Code: "not_json", Pointer: "/" + name, Text: "cannot be written as JSON and is left out"}}
	}
	body = append(append(append(body, `,"`...), name...), `":`...)
	return append(body, value...), nil
}

func encodeMember(v any) (value []byte, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	value, err := marshal(v)
	return value, err == nil && utf8.Valid(value)
}

// marshal is json.Marshal that leaves <, > and & as they are.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}

// appendString appends s as a JSON string, with U+FFFD for what is not UTF-8.
func appendString(dst []byte, s string) []byte {
	out, err := jsontext.AppendQuote(dst, s)
	if err != nil {
		out, _ = jsontext.AppendQuote(dst, strings.ToValidUTF8(s, "�"))
	}
	return out
}
