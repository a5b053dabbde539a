package llmtest

import (
	"cmp"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/toolwire/toolwire/internal/rawjson"
)

// A Step is one response of the model. The functions of this package make steps. The methods return
// a changed copy.
type Step struct {
	parts      []part
	status     int // of an error response; 0 if the step is none
	drop       bool
	retryAfter time.Duration
	after      time.Duration
	every      time.Duration
	input      int
	output     int
	cached     int // of input
	incomplete bool
	stop       *string // the reason why the response ended; nil for the one that its content has
	together   bool    // calls come in one event
	choices    []Step  // after this one
	end        end
	failure    int // the status of the error in the middle
	expect     []func(*Request) error
	at         string // file and line of the script, for messages
}

// part is a piece of a response.
type part struct {
	kind     partKind
	text     string // of a call: the arguments; of a raw part: JSON
	id, name string // of a call
}

type partKind string

const (
	textPart     partKind = "text"
	thinkingPart partKind = "thinking"
	callPart     partKind = "call"
	refusalPart  partKind = "refusal"
	rawPart      partKind = "raw"
)

// end says how a response ends.
type end uint8

const (
	whole  end = iota
	cut        // cleanly, in the middle
	reset      // by a break of the connection, in the middle
	failed     // with an error, in the middle
)

// here returns the step with the place where the script makes it.
func here(s Step) Step {
	if _, file, line, ok := runtime.Caller(2); ok {
		s.at = fmt.Sprintf("%s:%d: ", filepath.Base(file), line)
	}
	return s
}

// Text returns a step that says text.
func Text(text string) Step { return here(Step{parts: []part{{kind: textPart, text: text}}}) }

// Thinking returns a step that thinks, to be joined with others by [Turn]. Anthropic's format carries it
// as a thinking block with a signature, Converse as reasoningContent, Responses as the summary of a
// reasoning item, Gemini as a thought, Ollama as thinking. Chat Completions has no field for it; it is
// sent as reasoning_content, as servers of models with open reasoning do.
func Thinking(text string) Step { return here(Step{parts: []part{{kind: thinkingPart, text: text}}}) }

// Call returns a step that calls a tool. The model does not check that the request offers the tool,
// so a script can invent one. An empty id stands for one that the model chooses; in the formats of Gemini and
// Ollama the call then has none.
//
// arguments need not be valid JSON, because models do not always send valid JSON. Chat Completions and
// Responses deliver them as they are. Streams of Anthropic and Converse do too, but Anthropic's SDK
// reads them as {}; without streaming arguments that are not JSON are {}. Ollama's response has
// arguments that are not an object as text, like the server's. In Gemini's format a response with
// arguments that are not an object ends as MALFORMED_FUNCTION_CALL without a call, like the provider's.
// Empty arguments are {} there.
func Call(id, name, arguments string) Step {
	return here(Step{parts: []part{{kind: callPart, text: arguments, id: id, name: name}}})
}

// Refusal returns a step that declines to answer. Chat Completions and Responses carry text as the
// refusal. Anthropic's response has the stop_reason refusal and text as its explanation, Gemini's
// the finishReason SAFETY and text as the finishMessage; both have no content. Converse has text as the content,
// with the stopReason guardrail_intervened, and Ollama has it as the content.
func Refusal(text string) Step { return here(Step{parts: []part{{kind: refusalPart, text: text}}}) }

// Raw returns a step with a JSON object of the request's format that this package does not make,
// such as a tool that the provider runs. It is a content block of Anthropic or Converse, an output item of
// Responses, a part of Gemini, or members of the message or the delta of Chat Completions or Ollama:
//
//	llmtest.Turn(
//		llmtest.Raw(`{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"shoes"}}`),
//		llmtest.Raw(`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}`),
//		llmtest.Text("I found none."),
//	)
//
// A stream delivers it whole, except for the input of a block of Anthropic or Converse.
func Raw(object string) Step { return here(Step{parts: []part{{kind: rawPart, text: object}}}) }

// Choices returns a step with several choices or candidates, of Chat Completions and Gemini. Tokens
// and the end of the response come from the first one.
func Choices(steps ...Step) Step {
	if len(steps) == 0 {
		return Step{}
	}
	s := steps[0]
	s.choices = slices.Concat(s.choices, steps[1:])
	for _, other := range steps[1:] {
		s.expect = slices.Concat(s.expect, other.expect)
	}
	return here(s)
}

// Turn joins steps to one response, for example text with parallel calls. A setting of a later step
// replaces the setting of an earlier one. The expectations of all steps apply.
func Turn(steps ...Step) Step {
	var s Step
	for _, next := range steps {
		s.parts = append(s.parts, next.parts...)
		s.expect = append(s.expect, next.expect...)
		s.drop = s.drop || next.drop
		s.incomplete = s.incomplete || next.incomplete
		s.together = s.together || next.together
		s.choices = append(s.choices, next.choices...)
		s.stop, s.cached, s.status = cmp.Or(next.stop, s.stop), cmp.Or(next.cached, s.cached), cmp.Or(next.status, s.status)
		s.retryAfter, s.after, s.every = cmp.Or(next.retryAfter, s.retryAfter), cmp.Or(next.after, s.after), cmp.Or(next.every, s.every)
		if next.end != whole {
			s.end, s.failure = next.end, next.failure
		}
		if next.input != 0 || next.output != 0 {
			s.input, s.output = next.input, next.output
		}
	}
	return here(s)
}

// Error returns a step that answers with an error, in the format of the provider. status is 400 to
// 599. Official SDKs of OpenAI and Anthropic repeat a request after 408, 409, 429 and 5xx, unless
// they are configured otherwise: each attempt uses a step.
func Error(status int) Step { return here(Step{status: status}) }

// Drop returns a step that breaks the connection before a response.
func Drop() Step { return here(Step{drop: true}) }

// RetryAfter gives an error the header Retry-After, in whole seconds, and retry-after-ms if d has a
// fraction of a second. Gemini's format carries it in the body too.
func (s Step) RetryAfter(d time.Duration) Step { s.retryAfter = d; return s }

// After delays the response.
func (s Step) After(d time.Duration) Step { s.after = d; return s }

// Every makes a pause before each event of a stream except the first. A response that is not
// streamed is not delayed.
func (s Step) Every(d time.Duration) Step { s.every = d; return s }

// Usage sets how many tokens the response reports. Defaults to 100 and 20. If the response contains
// thinking, a quarter of the output is reported as reasoning, in formats that have such a member.
func (s Step) Usage(input, output int) Step { s.input, s.output = input, output; return s }

// Cached sets how many tokens of the input the response reports as read from a cache.
func (s Step) Cached(tokens int) Step { s.cached = tokens; return s }

// Stop sets the reason why the response ended, as the format words it: Anthropic's stop_reason, such
// as pause_turn, the finish_reason of Chat Completions, Gemini's finishReason, Converse's stopReason, Ollama's
// done_reason, or the reason why a response of Responses is incomplete.
func (s Step) Stop(reason string) Step { s.stop = &reason; return s }

// InOneChunk delivers all calls of a streamed response whole in one event, as some servers do that
// offer Chat Completions or Gemini's format. The other formats have an event for each call.
func (s Step) InOneChunk() Step { s.together = true; return s }

// Incomplete marks the response as ended by the limit of output tokens.
func (s Step) Incomplete() Step { s.incomplete = true; return s }

// EndEarly ends the response in the middle, as if it were complete. SDKs do not report this for streams.
func (s Step) EndEarly() Step { s.end = cut; return s }

// Reset breaks the connection in the middle of the response.
func (s Step) Reset() Step { s.end = reset; return s }

// Fail ends a stream in the middle with an error in the provider's format. If the response is not
// streamed, all of it is an error with the status.
func (s Step) Fail(status int) Step { s.end, s.failure = failed, status; return s }

// Expect adds checks of the request that the step answers. A check returns an error that says what
// is wrong. See [HasResult], [HasTools] and [HasSystem] for common checks. Checks run on the
// goroutine of the request and must not fail the test themselves.
func (s Step) Expect(checks ...func(*Request) error) Step {
	s.expect = slices.Concat(s.expect, checks)
	return s
}

// mistakes returns what is wrong with a step.
func (s Step) mistakes() (mistakes []string) {
	wrong := func(format string, args ...any) { mistakes = append(mistakes, fmt.Sprintf(format, args...)) }
	refuses := slices.ContainsFunc(s.parts, func(p part) bool { return p.kind == refusalPart })
	switch {
	case s.drop && (s.status != 0 || len(s.parts) > 0):
		wrong("Drop cannot be joined with others")
	case s.drop:
	case s.status != 0 && len(s.parts) > 0:
		wrong("Error cannot be joined with others; Fail ends a response with an error")
	case s.status != 0 && (s.status < 400 || s.status > 599):
		wrong("the status %d is not an error; use 400 to 599", s.status)
	case s.status == 0 && len(s.parts) == 0:
		wrong(`the step has no content; Text("") is an empty response`)
	case refuses && len(s.parts) > 1:
		wrong("Refusal cannot be joined with others")
	}
	if s.end == failed && (s.failure < 400 || s.failure > 599) {
		wrong("the status %d of Fail is not an error; use 400 to 599", s.failure)
	}
	if s.end != whole && len(s.parts) == 0 {
		wrong("only a response with content can end in the middle")
	}
	if s.retryAfter != 0 && s.status == 0 {
		wrong("RetryAfter is for Error")
	}
	if input, _ := s.tokens(); s.cached > input {
		wrong("%d tokens are cached of %d", s.cached, input)
	}
	for _, p := range s.parts {
		switch {
		case p.kind == callPart && p.name == "":
			wrong("a call has no tool name")
		case p.kind == rawPart && rawjson.Kind(p.arguments()) != '{':
			wrong("the argument of Raw is not a JSON object")
		}
	}
	for _, choice := range s.choices {
		if choice.drop || choice.status != 0 || choice.end != whole || choice.choices != nil {
			wrong("a choice after the first has content only")
		}
		mistakes = append(mistakes, choice.mistakes()...)
	}
	return mistakes
}

// tokens returns what the response reports.
func (s Step) tokens() (input, output int) {
	if s.input == 0 && s.output == 0 {
		return 100, 20
	}
	return s.input, s.output
}

// String describes the step without its contents: texts may be long, and arguments belong to the
// tools.
func (s Step) String() string {
	switch {
	case s.drop:
		return "drop"
	case s.status != 0:
		return fmt.Sprint("error ", s.status)
	}
	var words []string
	for _, p := range s.parts {
		word := string(p.kind)
		if p.kind == callPart {
			word += " " + p.name
		}
		words = append(words, word)
	}
	if s.incomplete {
		words = append(words, "incomplete")
	}
	if s.stop != nil {
		words = append(words, "stop "+*s.stop)
	}
	for _, choice := range s.choices {
		words = append(words, "or "+choice.String())
	}
	switch s.end {
	case cut:
		words = append(words, "cut")
	case reset:
		words = append(words, "reset")
	case failed:
		words = append(words, fmt.Sprint("fail ", s.failure))
	}
	return strings.Join(words, ", ")
}
