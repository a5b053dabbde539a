package llm

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/internal/rawjson"
)

// A Format is the form in which a model's API takes conversations.
type Format string

const (
	// OpenAIChat is OpenAI's Chat Completions, which many other providers offer too. A conversation
	// is the member messages of a request.
	OpenAIChat Format = "openai_chat"

	// OpenAIResponses is OpenAI's Responses. A conversation is the member input of a request: a
	// list of items, or a string.
	OpenAIResponses Format = "openai_responses"

	// Anthropic is Anthropic's Messages. A conversation is the member messages of a request.
	Anthropic Format = "anthropic"

	// Gemini is Google's generateContent. A conversation is the member contents of a request.
	// Members may have the names of the API (functionCall) or of its protocol buffers
	// (function_call).
	Gemini Format = "gemini"

	// Converse is Amazon Bedrock's Converse and ConverseStream. A conversation is the member messages of
	// a request. The types of Amazon's SDK do not marshal to it.
	Converse Format = "converse"

	// Ollama is the API /api/chat of Ollama. A conversation is the member messages of a request.
	Ollama Format = "ollama"
)

// maxDepth bounds the nesting of a conversation. What a message holds is nested less deep than
// package dispatch allows.
const maxDepth = 500

// readable are the limits for JSON of a model, its SDK or its API.
var readable = rawjson.Limits{Depth: maxDepth, Mode: rawjson.Liberal}

// FromConversation converts a conversation to messages of a transcript. The conversation is a Go value that
// marshals to JSON, such as the parameters of an SDK, or JSON as a json.RawMessage or a []byte: a
// list of messages, one message, or a whole request, whose system prompt becomes the first message.
// Types of responses may not marshal to the JSON that they were read from; the output of
// openai-go's Responses does not. Use their raw JSON, or convert them to parameters.
//
// One message of the conversation can become several: each tool result is a tool message. Ids of
// tool calls are kept, and so are the calls that one message makes together. Calls without an id
// get one, "call_1" and so on in their order, and so do their results. The package comment lists
// what becomes of content that is not text. Nothing in the result shares memory with the
// conversation.
//
// The error is a [*toolwire.Error] with unknown_format or invalid_conversation. It names places, but not
// values.
func FromConversation(f Format, conversation any) ([]dispatch.Message, error) {
	doc, err := encode(conversation)
	if err != nil {
		return nil, &toolwire.Error{Package: "llm", Code: codeConversation, Message: "cannot be written as JSON", Err: err}
	}
	dialect, ok := dialects[f]
	if !ok {
		return nil, unknownFormat()
	}
	if err := validate(doc); err != nil {
		return nil, err
	}
	c := converter{dialect: dialect}
	return c.convert(dialect.request(doc))
}

// ToConversation converts messages, such as the result of [dispatch.Run.History], to a conversation:
// a JSON array, to be decoded into the type of an SDK.
//
//	history, err := run.History()
//	…
//	conversation, err := llm.ToConversation(llm.OpenAIChat, history)
//	…
//	err = json.Unmarshal(conversation, &params.Messages)
//
// The APIs reject a tool call without its result directly after it. ToConversation therefore moves
// results behind their calls, writes a failure for a call that has no result, and leaves out a result
// that has no call. It leaves out thinking, which an API takes only with its own signature, and messages
// without text and tool calls. For [Anthropic], [Gemini] and [Converse] it leaves out system messages,
// because their SDKs take the system prompt as another parameter. For Anthropic and Converse it leaves
// out texts of white space, which the APIs reject, and joins messages of one role that follow each
// other. A call keeps its id, unless another call has the same id or the API does not accept its length
// or characters. Then the call and its result get a similar id.
//
// The error is a [*toolwire.Error] with unknown_format, or with invalid_conversation if a message is malformed;
// see [dispatch.CheckMessages].
func ToConversation(f Format, messages []dispatch.Message) (json.RawMessage, error) {
	dialect, ok := dialects[f]
	if !ok {
		return nil, unknownFormat()
	}
	turns, err := pair(messages)
	if err != nil {
		return nil, err
	}
	renameCalls(turns, dialect)
	return rawjson.Array(dialect.write(turns)), nil
}

// A dialect reads and writes one format.
type dialect struct {
	// request finds the conversation in a request, a list of messages or one message.
	request func(doc json.RawMessage) prompt

	// message converts one element of a conversation.
	message func(c *converter, element json.RawMessage) error

	// write returns the elements of a conversation.
	write func(turns []turn) []json.RawMessage

	maxID    int  // how many bytes the id of a call may have
	plainIDs bool // ids have only letters, digits, _ and -

	// prefills reports that a response continues a text of the assistant with which a request ends.
	prefills bool

	lines bool // a stream has a JSON object for each line

	// answer returns a reader of one response.
	answer func() answer

	tokens tokens
}

var dialects map[Format]*dialect

func init() { // not in the declaration: the functions refer to it
	dialects = map[Format]*dialect{
		OpenAIChat: {
			request: requestOf("messages"), message: (*converter).chat, write: writeChat, maxID: 40,
			answer: func() answer { return &chatAnswer{} },
			tokens: tokens{
				places: [][]string{{"usage"}, {"x_groq/usage"}, {"choices/*/usage"}},
				input:  []string{"prompt_tokens"}, output: []string{"completion_tokens"}, total: "total_tokens",
			},
		},
		OpenAIResponses: {
			request: responsesRequest, message: (*converter).responses, write: writeResponses, maxID: 64,
			answer: func() answer { return &responsesAnswer{} },
			tokens: tokens{
				places: [][]string{{"usage", "response/usage"}},
				input:  []string{"input_tokens"}, output: []string{"output_tokens"}, total: "total_tokens",
			},
		},
		Anthropic: {
			request: requestOf("messages", "system"), message: (*converter).anthropic, write: writeAnthropic, maxID: 64, plainIDs: true, prefills: true,
			answer: func() answer { return &anthropicAnswer{blockAnswer{whole: anthropicBlock}} },
			tokens: tokens{
				places: [][]string{{"message/usage", "usage"}},
				input:  []string{"input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"},
				output: []string{"output_tokens"},
			},
		},
		Gemini: {
			request: geminiRequest, message: (*converter).gemini, write: writeGemini, maxID: 64,
			answer: func() answer { return &geminiAnswer{} },
			tokens: tokens{
				places: [][]string{{"usageMetadata", "*/usageMetadata"}},
				input:  []string{"promptTokenCount", "toolUsePromptTokenCount"},
				output: []string{"candidatesTokenCount", "thoughtsTokenCount"}, total: "totalTokenCount", thinking: "thoughtsTokenCount",
			},
		},
		Converse: {
			request: converseRequest, message: (*converter).converse, write: writeConverse, maxID: 64, plainIDs: true, prefills: true,
			answer: func() answer { return &converseAnswer{blockAnswer{whole: converseBlock}} },
			tokens: tokens{
				places: [][]string{{"metadata/usage", "usage"}},
				input:  []string{"inputTokens", "cacheReadInputTokens", "cacheWriteInputTokens"}, output: []string{"outputTokens"},
			},
		},
		Ollama: {
			request: ollamaRequest, message: (*converter).ollama, write: writeOllama, maxID: 64, prefills: true, lines: true,
			answer: func() answer { return &ollamaAnswer{chatAnswer{wholeCalls: true}} },
			tokens: tokens{
				places: [][]string{{""}},
				input:  []string{"prompt_eval_count"}, output: []string{"eval_count"},
			},
		},
	}
}

// A prompt is the conversation of a request. Its parts are valid JSON, or empty.
type prompt struct {
	system   json.RawMessage
	list     json.RawMessage // an array, or one element
	listAt   string          // JSON Pointer of list
	previous string          // the id of the response that the list continues; [OpenAIResponses]
	stored   string          // the id of the conversation that the server keeps; [OpenAIResponses]
	template bool            // a prompt that the server keeps comes first; [OpenAIResponses], [Converse]
	cached   bool            // its beginning is in a cache of the server; [Gemini]
	found    bool            // the document is a request
}

// requestOf returns a function that finds a conversation in a document: a request has it as the member of that name,
// and its system prompt as the first of the others.
func requestOf(list string, systems ...string) func(doc json.RawMessage) prompt {
	return func(doc json.RawMessage) prompt {
		p := prompt{list: doc}
		if rawjson.Kind(doc) == '{' && rawjson.Member(doc, list) != nil {
			p = prompt{list: rawjson.Member(doc, list), listAt: rawjson.Token(list), found: true}
			p.system = member(doc, systems...)
		}
		return p
	}
}

func encode(v any) (json.RawMessage, error) {
	switch v := v.(type) {
	case json.RawMessage:
		return v, nil
	case []byte:
		return v, nil
	}
	return rawjson.Encode(v)
}

func validate(doc json.RawMessage) error {
	if err := rawjson.Check(doc, readable); err != nil {
		return &toolwire.Error{Package: "llm", Code: codeConversation, Message: "is not valid: " + err.Error(), Err: err}
	}
	return nil
}

// FinalResponse returns the text for [dispatch.Response].FinalResponse: the text of a model's last
// message, and the reason if the message is empty or ended early. text includes the refusal, if the
// SDK has a field for it. reason is what the provider or the framework calls finish_reason,
// stop_reason, finishReason or blockReason. A message ended early if its reason names a limit, a
// filter, a refusal or a failure. With any other reason, or none, it is complete.
func FinalResponse(text, reason string) string {
	switch reason = strings.TrimSpace(reason); {
	case strings.TrimSpace(text) == "":
		return "The model gave no answer: " + cmp.Or(reason, "it gave no reason") + "."
	case endedEarly(reason):
		return text + "\n\n[The model's answer ended early: " + reason + ".]"
	}
	return text
}

// endedEarly reports whether a reason is known to cut an answer short. Providers and frameworks spell
// one reason in many ways: max_tokens, MAX_TOKENS, FinishReasonMaxTokens.
func endedEarly(reason string) bool {
	if slices.Contains(earlyNumbers, reason) {
		return true
	}
	letters := strings.Map(func(r rune) rune {
		if r = unicode.ToLower(r); r < 'a' || r > 'z' {
			return -1
		}
		return r
	}, reason)
	return slices.ContainsFunc(earlyWords, func(word string) bool { return strings.Contains(letters, word) })
}

// earlyWords are parts of the reasons for an answer that is not whole.
var earlyWords = []string{
	"length", "max", "limit", "exceed", "overflow", "exhaust", "truncat", "incomplete", "insufficient", "pause",
	"filter", "safety", "unsafe", "sensitive", "harm", "recitation", "language", "block", "prohibited", "spii", "toxic", "guardrail", "moderation",
	"policy", "violat", "refus", "cancel", "abort", "interrupt", "timeout", "timedout", "disconnect", "error", "fail", "malformed",
	"unexpectedtool", "toomany", "missingthought", "noimage",
}

// earlyNumbers are the numbers of such reasons in Gemini's API, for clients that ask for numbers.
var earlyNumbers = []string{"2", "3", "4", "6", "7", "8", "9", "10"}
