// Package llmtest is a scripted model for tests of [agents]. It speaks the APIs of model providers,
// so an agent runs with the provider's own SDK, without a key, a network or a model.
//
//	model := llmtest.New(t,
//		llmtest.Call("call_1", "get_order", `{"order_id":"4521"}`),
//		llmtest.Text("The order has shipped.").Expect(llmtest.HasResult("call_1", "shipped")),
//	)
//	client := openai.NewClient(option.WithBaseURL(model.URL), option.WithHTTPClient(model.Client()), option.WithAPIKey("none"))
//
// A script is a list of steps. A [Step] is one response of the model: text, thinking, tool calls,
// choices, other parts of the format, or an error. The model answers in the format of the request,
// and streams if the request asks for it. The end of the path selects the format:
//
//	/chat/completions                            OpenAI Chat Completions
//	/responses                                   OpenAI Responses
//	/messages                                    Anthropic Messages; also Vertex AI's :rawPredict, :streamRawPredict
//	:generateContent, :streamGenerateContent     Gemini; events with ?alt=sse, and else one JSON array
//	/model/…/converse, converse-stream           Amazon Bedrock's Converse
//	/model/…/invoke, invoke-with-response-stream Anthropic Messages on Amazon Bedrock
//	/api/chat                                    Ollama; a stream unless the request says stream: false
//
// A [Model] is safe for concurrent use.
//
// The package knows the formats on its own, from the documents of the providers: it shares no reading
// or writing of them with package llm. So one of the two does not repeat a mistake of the other.
//
// This package is stable, as the README explains.
//
// # What fails a test
//
// A model made by [New] or [NewServer] fails its test when
//
//   - a request has no step: the script is over, or no script is for its conversation;
//   - a request is one that the provider refuses, or has more than 32 MiB. Providers refuse, for example,
//     a tool call without its result; Anthropic also refuses equal ids of calls in a turn, and texts of
//     white space only. Such a request does not use a step;
//   - an expectation of a step is not met (see [Step.Expect]). The step is used all the same;
//   - a step has not been used when the test ends.
//
// In the first two cases the agent receives an error with a status such as 400 and the header
// x-should-retry: false, in the format of the provider. Failures show the beginnings of the
// messages and results in question, and no credential.
//
// # Conversations
//
// The steps given to [New] are one conversation, in order. [Model.For] adds a conversation that is
// recognised by the text of its first user message, [Model.When] one that is recognised by a
// function. Requests of different conversations may come in any order and at the same time.
// Conversations that begin with the same text need a function that tells them apart, for example by
// the system prompt, or a model each.
//
// Each attempt of a client is a request: if the SDK repeats a request after an error, the script
// needs a step for the repetition.
//
// # Bubbles
//
// The client of a model made by [New] works in bubbles of testing/synctest, where slow responses
// ([Step.After], [Step.Every]) and the pauses between attempts take no time. [NewServer] is for
// programs: it listens on loopback. A bubble would hang with it.
//
// [agents]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#agent
package llmtest

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/memhttp"
	"github.com/toolwire/toolwire/internal/text"
)

// A Model answers requests from scripts. It is an http.Handler and safe for concurrent use.
type Model struct {
	// URL is the base URL for the SDK. The model looks only at the end of a path, see the package
	// comment, so an SDK may add a version.
	URL string

	client *http.Client

	mu            sync.Mutex
	conversations []*conversation // made by For and When, in order
	other         *conversation   // of the steps given at the start
	requests      []*Request
	answers       int                  // how many responses have been played
	remembered    map[string][]message // conversations of the Responses API, by their last response

	report   sync.Mutex
	t        testing.TB // nil without a test
	ended    bool       // the test has ended
	problems []error
}

// conversation is one script under way.
type conversation struct {
	name  string // for messages
	match func(*Request) bool
	steps []Step
	next  int // the first step that has not been used
}

// New returns a model that answers in memory. Its script is steps. When the test ends, the model
// fails it if something did not go as scripted; see the package comment.
func New(t testing.TB, steps ...Step) *Model {
	t.Helper()
	m := NewModel(steps...)
	m.attach(t)
	return m
}

// NewServer is [New] for a model that listens on a free port of 127.0.0.1 until the test ends.
func NewServer(t testing.TB, steps ...Step) *Model {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("llmtest: %v", err)
	}
	m := NewModel(steps...)
	transport := httpcall.NewTransport()
	m.URL, m.client = "http://"+listener.Addr().String(), &http.Client{Transport: transport}
	m.attach(t)
	server := &http.Server{Handler: m, ReadHeaderTimeout: 10 * time.Second}
	// A client of net/http would repeat a request by itself after a break on a connection that it
	// uses again. Then the number of requests would depend on chance.
	server.SetKeepAlivesEnabled(false)
	t.Cleanup(func() { _ = server.Close() })
	go func() { _ = server.Serve(listener) }() // returns after Close
	return m
}

// NewModel returns a model that answers in memory and belongs to no test, for programs. [Model.Err]
// reports what did not go as scripted. A program serves the model on a network with net/http.
func NewModel(steps ...Step) *Model {
	m := &Model{URL: "http://model.test", remembered: make(map[string][]message)}
	m.client = &http.Client{Transport: memhttp.NewStreamTransport(m)}
	m.other = m.script("", nil, steps)
	return m
}

// attach makes the model fail t.
func (m *Model) attach(t testing.TB) {
	m.report.Lock()
	defer m.report.Unlock()
	m.t = t
	for _, err := range m.problems {
		t.Errorf("%v", err)
	}
	t.Cleanup(func() {
		unused := m.unused()
		m.report.Lock()
		defer m.report.Unlock()
		m.ended = true
		if !t.Skipped() {
			for _, err := range unused {
				t.Errorf("%v", err)
			}
		}
	})
}

// Client returns the HTTP client for the SDK. The client of a model made by [NewServer] uses the
// network. Such a model also accepts any other client.
func (m *Model) Client() *http.Client { return m.client }

// For adds a conversation: its first user message contains part. If several conversations match a
// request, the first that has a step left answers it. The steps given to [New] are for requests
// that no conversation matches.
func (m *Model) For(part string, steps ...Step) {
	m.add(fmt.Sprintf("for %q", text.Cut(part, 100)), func(r *Request) bool { return len(r.Users) > 0 && strings.Contains(r.Users[0], part) }, steps)
}

// When is [Model.For] with a function that tells whether a request belongs to the conversation. It
// may be called at any time and from several goroutines at once.
func (m *Model) When(match func(*Request) bool, steps ...Step) { m.add("of When", match, steps) }

func (m *Model) add(name string, match func(*Request) bool, steps []Step) {
	c := m.script(name, match, steps)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.conversations = append(m.conversations, c)
}

// script returns a conversation and reports mistakes in its steps.
func (m *Model) script(name string, match func(*Request) bool, steps []Step) *conversation {
	c := &conversation{name: name, match: match, steps: slices.Clone(steps)}
	for i, s := range steps {
		for _, mistake := range s.mistakes() {
			m.fail("%s: %s", c.step(i), mistake)
		}
	}
	return c
}

// Requests returns the requests that the model has received, in order, including those that it
// refused. It keeps the first 10,000.
func (m *Model) Requests() []*Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.requests)
}

// Err returns everything that has not gone as scripted so far, or nil. It reports all that fails a
// test, and the steps that have not been used yet.
func (m *Model) Err() error {
	unused := m.unused()
	m.report.Lock()
	defer m.report.Unlock()
	return errors.Join(slices.Concat(m.problems, unused)...)
}
