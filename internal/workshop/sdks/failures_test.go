package sdks

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/ollama/ollama/api"
	"github.com/openai/openai-go/v3"
	"google.golang.org/genai"

	"github.com/toolwire/toolwire/dispatch/llm/llmtest"
	"github.com/toolwire/toolwire/internal/testkit"
)

// status returns the status in an SDK's error; 0 if it has none.
func status(err error) int {
	if e := (*openai.Error)(nil); errors.As(err, &e) {
		return e.StatusCode
	}
	if e := (*anthropic.Error)(nil); errors.As(err, &e) {
		return e.StatusCode
	}
	if e := (genai.APIError{}); errors.As(err, &e) {
		return e.Code
	}
	if e := (*smithyhttp.ResponseError)(nil); errors.As(err, &e) {
		return e.HTTPStatusCode()
	}
	if e := (api.StatusError{}); errors.As(err, &e) {
		return e.StatusCode
	}
	if e := (api.AuthorizationError{}); errors.As(err, &e) {
		return e.StatusCode
	}
	return 0
}

// said returns the text of an error, with what the provider said: some SDKs keep that apart.
func said(err error) string {
	if err == nil {
		return "no error"
	}
	if e := (*openai.Error)(nil); errors.As(err, &e) {
		return err.Error() + ": " + e.Message
	}
	return err.Error()
}

// Errors of the client are final. After others, the SDKs make the attempts that they are known for.
func TestErrors(t *testing.T) {
	for code, repeats := range map[int]bool{400: false, 401: false, 429: true, 500: true, 503: true, 529: true} {
		bubble(t, func(t *testing.T, s sdk, stream bool) {
			attempts := 1
			if repeats && code != s.once {
				attempts = s.attempts
			}
			m := llmtest.New(t)
			for range attempts {
				m.For("Refund", llmtest.Error(code))
			}
			c := s.talk(t, m.URL, m.Client(), stream)
			c.user("Refund #4521.")
			_, err := c.ask(t.Context())
			if status(err) != code || strings.Contains(err.Error(), key) {
				t.Errorf("%v, want status %d", err, code)
			}
			if n := len(m.Requests()); n != attempts {
				t.Errorf("%d: %d attempts, want %d", code, n, attempts)
			}
		})
	}
}

// The texts of errors reach the SDK's error, so their form is the provider's.
func TestErrorTexts(t *testing.T) {
	bubble(t, func(t *testing.T, s sdk, stream bool) {
		status, want := 401, "The API key is not valid."
		if s.name == "ollama" { // which has an error of its own for 401
			status, want = 400, "The request is not valid."
		}
		m := llmtest.New(t, llmtest.Error(status))
		c := s.talk(t, m.URL, m.Client(), stream)
		c.user("hi")
		if _, err := c.ask(t.Context()); !strings.Contains(said(err), want) {
			t.Errorf("%v", err)
		}
	})
}

// A client that repeats waits as long as Retry-After says.
func TestRetryAfter(t *testing.T) {
	bubble(t, func(t *testing.T, s sdk, stream bool) {
		if s.deaf {
			return
		}
		for _, wait := range []time.Duration{7 * time.Second, 1500 * time.Millisecond} {
			if s.attempts == 1 {
				m := llmtest.New(t, llmtest.Error(429).RetryAfter(wait))
				c := s.talk(t, m.URL, m.Client(), stream)
				c.user("hi")
				if _, err := c.ask(t.Context()); status(err) != 429 || !strings.Contains(err.Error(), wait.String()) {
					t.Errorf("%v", err) // the details of the error have it
				}
				continue
			}
			m := llmtest.New(t, llmtest.Error(429).RetryAfter(wait), llmtest.Text("done"))
			c := s.talk(t, m.URL, m.Client(), stream)
			c.user("hi")
			start := time.Now()
			if r := ask(t, c); r.text != "done" || time.Since(start) != wait {
				t.Errorf("%+v after %v, want %v", r, time.Since(start), wait)
			}
		}
	})
}

// A request without a step is not repeated, and the SDK's error says what is wrong.
func TestRefusedOnce(t *testing.T) {
	bubble(t, func(t *testing.T, s sdk, stream bool) {
		failures := testkit.Failures(t, func(tb testing.TB) {
			m := llmtest.New(tb)
			c := s.talk(t, m.URL, m.Client(), stream)
			c.user("hi")
			if _, err := c.ask(t.Context()); status(err) != 400 || !strings.Contains(said(err), "no conversation of the script matches") {
				t.Errorf("%v", err)
			}
			if n := len(m.Requests()); n != 1 {
				t.Errorf("%d requests", n)
			}
		})
		if strings.Count(failures, "no conversation") != 1 || strings.Contains(failures, key) {
			t.Error(failures)
		}
	})
}

func TestConnectionBreaksBeforeTheResponse(t *testing.T) {
	each(t, func(t *testing.T, s sdk, _ bool, start func(...llmtest.Step) (*llmtest.Model, talk)) {
		if s.attempts == 1 {
			_, c := start(llmtest.Drop())
			c.user("hi")
			if r, err := c.ask(t.Context()); err == nil {
				t.Errorf("%+v", r)
			}
			return
		}
		_, c := start(llmtest.Drop(), llmtest.Text("done"))
		c.user("hi")
		if r := ask(t, c); r.text != "done" {
			t.Errorf("%+v", r)
		}
	})
}

// A reset in the middle is an error for most SDKs. A clean end in the middle of a stream is none.
func TestEndInTheMiddle(t *testing.T) {
	each(t, func(t *testing.T, s sdk, stream bool, start func(...llmtest.Step) (*llmtest.Model, talk)) {
		steps := []llmtest.Step{llmtest.Text(long).Reset()}
		if strings.HasPrefix(s.name, "anthropic") && !stream { // it repeats a request whose response it cannot read
			steps = append(steps, steps[0], steps[0])
		}
		_, c := start(steps...)
		c.user("hi")
		r, err := c.ask(t.Context())
		if !(stream && s.blind) && (err == nil || stream && !errors.Is(err, io.ErrUnexpectedEOF)) {
			t.Errorf("reset: %+v %v", r, err)
		}
		_, c = start(llmtest.Text(long).EndEarly())
		c.user("hi")
		r, err = c.ask(t.Context())
		if stream && (err != nil || r.finish == s.finish["stop"]) || !stream && err == nil {
			t.Errorf("cut: %+v %v", r, err)
		}
	})
}

// An error in the middle of a stream reaches the caller, in the way that each SDK has for it.
func TestErrorInTheMiddle(t *testing.T) {
	bubble(t, func(t *testing.T, s sdk, stream bool) {
		steps := []llmtest.Step{llmtest.Text(long).Fail(529)}
		for n := 1; !stream && s.once != 529 && n < s.attempts; n++ {
			steps = append(steps, llmtest.Text(long).Fail(529)) // an ordinary error
		}
		m := llmtest.New(t, steps...)
		c := s.talk(t, m.URL, m.Client(), stream)
		c.user("hi")
		_, err := c.ask(t.Context())
		if !strings.Contains(said(err), "Overloaded") {
			t.Error(said(err))
		}
	})
}

// Pauses take their time, of which a bubble has plenty.
func TestSlowResponse(t *testing.T) {
	bubble(t, func(t *testing.T, s sdk, stream bool) {
		m := llmtest.New(t, llmtest.Text(long).After(20*time.Second).Every(3*time.Second))
		c := s.talk(t, m.URL, m.Client(), stream)
		c.user("hi")
		start := time.Now()
		if r := ask(t, c); r.text != long {
			t.Errorf("%+v", r)
		}
		switch took := time.Since(start); {
		case !stream && took != 20*time.Second:
			t.Errorf("took %v", took)
		case stream && (took < 26*time.Second || (took-20*time.Second)%(3*time.Second) != 0):
			t.Errorf("took %v", took)
		}
	})
}

// A caller whose context ends in a slow stream gets control back at once.
func TestCancelledStream(t *testing.T) {
	bubble(t, func(t *testing.T, s sdk, stream bool) {
		m := llmtest.New(t, llmtest.Text(long).After(time.Minute).Every(time.Minute))
		c := s.talk(t, m.URL, m.Client(), stream)
		c.user("hi")
		wait := 30 * time.Second
		if stream {
			wait = 90 * time.Second // after the first event
		}
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		defer cancel()
		start := time.Now()
		if r, err := c.ask(ctx); !errors.Is(err, context.DeadlineExceeded) && !(stream && s.name == "ollama") {
			t.Errorf("%+v %v", r, err)
		}
		if took := time.Since(start); took != wait {
			t.Errorf("took %v", took)
		}
	})
}

// What a model may get wrong in a call.
func TestMalformedArguments(t *testing.T) {
	each(t, func(t *testing.T, s sdk, _ bool, start func(...llmtest.Step) (*llmtest.Model, talk)) {
		const malformed = `{"order_id":`
		_, c := start(llmtest.Call("call_1", "get_order", malformed))
		c.user("hi")
		r := ask(t, c)
		switch s.name {
		case "genai":
			if r.calls != nil || r.finish != "MALFORMED_FUNCTION_CALL" {
				t.Errorf("%+v", r)
			}
			return
		case "ollama": // whose server leaves what it cannot read in the text
			if r.calls != nil || r.text != malformed {
				t.Errorf("%+v", r)
			}
			return
		case "anthropic", "anthropic on bedrock", "anthropic on vertex", "converse":
			if len(r.calls) != 1 || r.calls[0].arguments != "{}" {
				t.Errorf("%+v", r)
			}
			return
		}
		if len(r.calls) != 1 || r.calls[0].arguments != malformed {
			t.Errorf("%+v", r)
		}
	})
}

func TestEmptyArgumentsAndInventedTools(t *testing.T) {
	each(t, func(t *testing.T, s sdk, _ bool, start func(...llmtest.Step) (*llmtest.Model, talk)) {
		_, c := start(llmtest.Call("", "no_such_tool", ""), llmtest.Text("done"))
		c.user("hi")
		r := ask(t, c)
		if len(r.calls) != 1 || r.calls[0].name != "no_such_tool" || r.calls[0].id == "" && s.name != "genai" && s.name != "ollama" {
			t.Fatalf("%+v", r)
		}
		c.result(r.calls[0], `{"error":"unknown tool"}`)
		if r := ask(t, c); r.text != "done" {
			t.Errorf("%+v", r)
		}
	})
}
