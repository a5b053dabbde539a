package llm

import (
	"context"
	"net/http"
	"strings"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/internal/modelpath"
	"github.com/toolwire/toolwire/internal/runctx"
)

// Transport is an [http.RoundTripper] for the HTTP client of a model's SDK. It reads what agents
// exchange with their models and reports it to the run in the context of the request; see
// [dispatch.FromContext]. The ids of the models and the tokens become metadata. The conversation
// becomes the messages of the run's transcript, which is sent with the response. One Transport
// serves all runs and all formats of this package at once. The zero value is ready for use.
//
//	client := openai.NewClient(option.WithHTTPClient(&http.Client{Transport: &llm.Transport{}}))
//
// The agent must pass its context to the SDK. Transport passes on a request without a run in its
// context, and traffic in other formats, unchanged. The first request to a model without a run is logged
// with [log/slog.Default], and package dispatchtest lists such requests as a problem. A format is
// recognised by the path of a POST, …/chat/completions, …/responses, …/messages, …:generateContent,
// …:streamGenerateContent, Ollama's …/api/chat, Amazon Bedrock's …/converse and …/converse-stream, Anthropic's
// …:rawPredict and …:streamRawPredict on Vertex AI, or its …/invoke and …/invoke-with-response-stream on
// Bedrock, and by the member that holds the conversation. Conversations in other formats that are known, such
// as Ollama's …/api/generate and other models under …/invoke, are reported as a problem; so is all traffic in JSON
// of a run of which Transport reads no request, except embeddings, ranking, numbers of tokens, moderation, files,
// batches and OAuth.
//
// # Conversations
//
// What the model said is taken from its responses, and what others said from the requests. A request
// goes on with the conversation of which it has the most messages. The agent may leave out messages,
// thinking or white space, may write an answer in other words or give calls other ids: the answer stays as
// the model gave it, with the agent's ids, and each message appears once. A system prompt that changes, as
// it does when an agent hands over to another, stands where the new one begins. Of prompts that differ in
// numbers only, such as the time, the last counts. A text of the assistant at the end of a request to
// Anthropic is the beginning of the response. If the same request is sent again, the answer to the last one counts,
// unless the agent goes on with another. If it goes on with several, each is a conversation.
//
// Each label of proxy.WithActor may have several conversations that go on. The agent's own is the first
// that has the prompt of the run; if none goes on, it is the last that has it. The others follow as the
// conversations of sub-agents do, in the order of their first requests. A single request that has nothing of
// a conversation, such as a request for a guard, a title or a summary, is left out. A [dispatch.Problem] with
// the code request_left_out reports it.
//
// What is missing is reported as a problem with the code conversation_unclear: a 2xx response that is an
// error, breaks off, has several choices, or is not of the API, unless the agent sends another request
// of the conversation; messages of a kind that is not known; and what only the server has, such as a
// conversation of OpenAI's Responses, a prompt of Bedrock or the content of Gemini's cachedContent. A
// previous_response_id of OpenAI's Responses may name a response of the run and, in the request with the
// prompt of a turn, a response of an earlier turn. The first bytes of a response tell whether it is
// JSON, a stream of events, a binary stream of Amazon's or gzip of one of these, whatever its headers
// say. A binary stream is read up to the first wrong checksum. An answer is complete if the model says
// why it ended, in whatever word, or if the stream or the body has ended as the API ends it. Failed
// requests and responses other than 2xx add nothing.
//
// Tokens are added up over all labels. Tokens that are read from or written to a cache count as input, and
// so do requests for compaction. If there are several models, their ids are listed. Where responses do not name
// the model, as Converse's do not, it is the last part of the id in the path, so the account of an ARN is not
// shown. Streams of Chat Completions report tokens only if the agent sets stream_options.include_usage. Streams of
// Converse report them after the stop reason; if the agent stops reading before, a problem says so.
//
// # Limits
//
// Transport does not change requests and responses. It reads a response only while the SDK does,
// and passes on what it has read before it waits for more. It does not keep headers. It keeps at
// most 16 MiB of a request, and 8 MiB or 4,096 calls, blocks, items or parts of a response. The
// framing of a stream's events does not count. Larger ones are passed on without being read, and a
// problem reports them. A response in gzip is read when it has ended.
//
// Once the run or the context of a request has ended, Transport does not send the request, even if
// the context does not end with the run. The error is a [*toolwire.Error] with [toolwire.CodeRunOver]. It wraps the
// cause, so proxy.IsRunOver tells whether the run is over.
type Transport struct {
	// Base sends the requests. Defaults to http.DefaultTransport.
	Base http.RoundTripper
}

// RoundTrip implements [http.RoundTripper].
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	base := t.Base
	if base == nil {
		base = http.DefaultTransport
	}
	ctx, dialect := r.Context(), recognise(r)
	run, ok := dispatch.FromContext(ctx)
	if !ok {
		if dialect != nil {
			runctx.CountOutside(ctx)
		}
		return base.RoundTrip(r)
	}
	if err := stopped(ctx, run); err != nil {
		if r.Body != nil {
			_ = r.Body.Close() // a RoundTripper must close it
		}
		return nil, err
	}
	kept := runctx.From[*runctx.Kept[dispatch.Run]](ctx)
	if dialect == nil || r.Header.Get("Content-Encoding") != "" {
		resp, err := base.RoundTrip(r)
		if err == nil && resp.StatusCode/100 == 2 && (dialect != nil || isJSON(r)) {
			stateOf(kept).see(r.URL.Path, dialect != nil)
		}
		return resp, err
	}
	x := newExchange(ctx, dialect, stateOf(kept))
	x.path, x.answer.common().model = r.URL.Path, modelpath.Model(r.URL.Path)
	if kept.Models != nil {
		x.observer = kept.Models(ctx)
	}
	resp, err := base.RoundTrip(x.watchRequest(r))
	switch {
	case err != nil:
		x.observe()
	case resp.StatusCode/100 != 2 || resp.Body == nil:
		x.status = resp.StatusCode
		x.observe()
	default:
		x.watchResponse(resp)
	}
	return resp, err
}

// stopped returns the error of a request that is not sent, or nil. The context of the request may go
// on when the run has ended, see [context.WithoutCancel].
func stopped(ctx context.Context, run *dispatch.Run) error {
	what, cause := "run", run.Err()
	if cause == nil {
		what, cause = "context of the request", context.Cause(ctx)
	}
	if cause == nil {
		return nil
	}
	return &toolwire.Error{Package: "llm", Code: toolwire.CodeRunOver, Message: "the " + what + " has ended, so no request is sent to the model", Err: cause}
}

// recognise returns the dialect of a request by its path, or nil.
func recognise(r *http.Request) *dialect {
	if r.Method != http.MethodPost || r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	for _, known := range paths {
		if strings.HasSuffix(r.URL.Path, known.suffix) && strings.Contains(r.URL.Path, known.contains) {
			return dialects[known.format]
		}
	}
	return nil
}

var paths = []struct {
	suffix, contains string
	format           Format
}{
	{"/chat/completions", "", OpenAIChat},
	{"/responses", "", OpenAIResponses},
	{"/messages", "", Anthropic},
	{"/converse", "/model/", Converse},
	{"/converse-stream", "/model/", Converse},
	{"/invoke", "/model/", Anthropic},
	{"/invoke-with-response-stream", "/model/", Anthropic},
	{"/api/chat", "", Ollama},
	{":rawPredict", "/publishers/anthropic/", Anthropic},
	{":streamRawPredict", "/publishers/anthropic/", Anthropic},
	{":generateContent", "", Gemini},
	{":streamGenerateContent", "", Gemini},
}
