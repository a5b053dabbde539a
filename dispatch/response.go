package dispatch

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolwire/toolwire/internal/rawjson"
)

// NoFinalResponse is sent instead of an empty final response, which the platform rejects.
const NoFinalResponse = "(no final response)"

// TimeoutFinalResponse is the final response of a run that timed out, if [Options.TimeoutResponse]
// is nil.
const TimeoutFinalResponse = "The agent ran out of time before it had an answer."

// Response is the agent's response to a run ("Porting without the SDK", response envelope). Only
// FinalResponse is required.
type Response struct {
	// FinalResponse is the text that is graded. If it is empty or white space, [NoFinalResponse] is
	// sent. The platform cuts it after about 50,000 characters.
	FinalResponse string

	// Messages is the transcript, for the trace. If it is nil, the recorded [Transcript] is sent if
	// the agent has called [Run.Transcript]. If it is empty and not nil, none is sent.
	// [Options.SendTranscript] sends a transcript in any case. Malformed messages are repaired or
	// removed, as the package comment lists. At most 1,000 messages and 1 MiB of JSON are sent.
	// Messages at the end are removed, except a final text of the assistant.
	Messages []Message

	// Metadata is shown beside the trace. Fields that are zero, and keys that Extra lacks, are
	// taken from the run's [Transcript], if it has metadata.
	Metadata *Metadata
}

// Metadata contains the keys that the platform documents. Fields that are zero are not sent. Extra
// takes further keys.
type Metadata struct {
	Model             string // the model id
	SystemPromptID    string // free-form identifier of the prompt version
	TotalInputTokens  int64
	TotalOutputTokens int64
	AgentRuntimeMS    int64 // milliseconds of wall time in the agent's loop

	// Extra contains further keys, with values that encoding/json can write. A field above replaces
	// a key of the same name.
	Extra map[string]any
}

// with returns m, completed from other. Either may be nil.
func (m *Metadata) with(other *Metadata) *Metadata {
	if m == nil || other == nil {
		return cmp.Or(m, other)
	}
	both := Metadata{
		Model: cmp.Or(m.Model, other.Model), SystemPromptID: cmp.Or(m.SystemPromptID, other.SystemPromptID),
		TotalInputTokens:  cmp.Or(m.TotalInputTokens, other.TotalInputTokens),
		TotalOutputTokens: cmp.Or(m.TotalOutputTokens, other.TotalOutputTokens),
		AgentRuntimeMS:    cmp.Or(m.AgentRuntimeMS, other.AgentRuntimeMS),
		Extra:             other.Extra,
	}
	if both.Extra == nil {
		both.Extra = m.Extra
	} else {
		maps.Copy(both.Extra, m.Extra) // a copy already
	}
	return &both
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
		"total_input_tokens": m.TotalInputTokens, "total_output_tokens": m.TotalOutputTokens,
		"agent_runtime_ms": m.AgentRuntimeMS,
	} {
		if n != 0 {
			all[key] = n
		}
	}
	return rawjson.Encode(all)
}

// encode returns the body of the response. The problems are what was changed or not sent, so that
// the platform drops nothing.
func (h *Handler) encode(run *Run, response *Response, host bool) (body []byte, problems []Problem) {
	var r Response
	if response != nil {
		r = *response
	}
	if p := checkFinalResponse(r.FinalResponse); p != nil {
		problems = append(problems, *p)
		if p.Fatal {
			r.FinalResponse = NoFinalResponse
		}
	}
	rows, found := h.messages(run, host, &r)
	problems = append(problems, found...)
	r.Metadata = r.Metadata.with(run.recording().metadataCopy())
	body = append(make([]byte, 0, len(r.FinalResponse)+64), `{"final_response":`...)
	body = rawjson.AppendQuote(body, r.FinalResponse)
	if len(rows) > 0 {
		body = append(append(body, `,"messages":`...), rawjson.Array(rows)...)
	}
	if r.Metadata != nil {
		value, found := metadataJSON(r.Metadata)
		problems = append(problems, found...)
		if value != nil {
			body = append(append(body, `,"metadata":`...), value...)
		}
	}
	return append(body, '}'), problems
}

// metadataJSON returns metadata without the keys for which the platform might drop it.
func metadataJSON(m *Metadata) (value json.RawMessage, problems []Problem) {
	value, ok := encodeMember(m)
	if !ok {
		return nil, []Problem{{Code: codeNotJSON, Pointer: "/metadata", Message: "cannot be written as JSON and is not sent"}}
	}
	problems = checkMetadata(value)
	if len(problems) == 0 {
		return value, nil
	}
	var sent rawjson.Object
	for key, v := range rawjson.Members(value) {
		if !slices.ContainsFunc(problems, func(p Problem) bool { return p.Pointer == "/metadata/"+key }) {
			sent.Put(key, v)
		}
	}
	for i := range problems {
		problems[i].Message = strings.ReplaceAll(problems[i].Message, "the platform may drop the metadata", "it is not sent")
	}
	return sent.Bytes(), problems
}

// messages returns the messages that are sent with r, as JSON. host reports that a function of the
// options made r.
func (h *Handler) messages(run *Run, host bool, r *Response) (rows []json.RawMessage, problems []Problem) {
	t, strict := run.recording(), h.opts.SendTranscript
	recorded := host || strict || t.asked.Load()
	messages := r.Messages
	if messages == nil && recorded {
		messages = t.Response(r.FinalResponse).Messages
	}
	messages, problems = sendable(messages, t)
	if len(messages) == 0 && strict {
		messages, _ = sendable(t.Messages(), t)
	}
	if n := len(messages) - 1; n >= 0 && messages[n].isText() && len(encodeRow(messages[n])) > maxSentBytes/2 {
		last := Message{Role: RoleAssistant, Content: textContent(messages[n].Content.String())}
		messages = append(messages[:n:n], last)
		problems = append(problems, Problem{Code: codeRepaired, Pointer: fmt.Sprintf("/messages/%d/content", n),
			Message: "is in a message of more than 512 KiB: its first 64 KiB are sent, without the thinking"})
	}
	sent, rows := fit(messages)
	if strict && !gradeable(sent) {
		messages = append(slices.Clone(messages), Message{Role: RoleAssistant, Content: textContent(r.FinalResponse)})
		sent, rows = fit(messages)
	}
	added, lost := t.losses()
	removed := len(messages) - len(sent)
	if recorded {
		removed += lost
	}
	if removed > 0 {
		problems = append(problems, Problem{Code: codeRemoved, Pointer: "/messages", Message: fmt.Sprintf(
			"has more than 1 MiB of JSON or 1,000 messages: %d are not sent", removed)})
	}
	return rows, append(problems, added...)
}

// Limits of the messages of a response, chosen for what a person reads in a trace.
const (
	maxSentBytes    = 1 << 20
	maxSentMessages = 1000
)

// fit returns the messages for which a response has room, and their JSON: the first ones, and the
// last one if it is a text of the assistant, which is the final response. It leaves the results of a
// message together with their calls.
func fit(messages []Message) (sent []Message, rows []json.RawMessage) {
	var last json.RawMessage
	size, end, most := len("[]"), len(messages), maxSentMessages
	if end > 0 && messages[end-1].isText() {
		last = encodeRow(messages[end-1])
		size, end, most = size+len(last)+1, end-1, most-1
	}
	n := 0
	for ; n < min(end, most); n++ {
		row := encodeRow(messages[n])
		if size += len(row) + 1; size > maxSentBytes {
			break
		}
		rows = append(rows, row)
	}
	for n > 0 && n < end && messages[n].Role == RoleTool {
		n--
	}
	sent, rows = messages[:n:n], rows[:n]
	if last != nil {
		sent, rows = append(sent, messages[end]), append(rows, last)
	}
	return sent, rows
}

// encodeRow returns a message as JSON. That cannot fail, because its parts were checked.
func encodeRow(m Message) json.RawMessage {
	row, _ := rawjson.Encode(m)
	return row
}

// encodeMember returns v as JSON if it can be written as valid JSON. A marshal method may fail, panic,
// or write bytes that are not UTF-8.
func encodeMember(v any) (value []byte, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	value, err := rawjson.Encode(v)
	return value, err == nil && readable(value, maxAnswerDepth-1)
}
