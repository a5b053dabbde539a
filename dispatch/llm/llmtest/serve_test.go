package llmtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire/dispatch/llm/llmtest"
	"github.com/toolwire/toolwire/internal/httpserve/hostiletest"
	"github.com/toolwire/toolwire/internal/testkit"
)

func TestHostileRequests(t *testing.T) {
	hostiletest.Run(t, func(testing.TB) hostiletest.Subject {
		m := llmtest.NewModel(llmtest.Text("a"), llmtest.Text("b"), llmtest.Text("c"))
		return hostiletest.Subject{
			Handler: m, Path: chatPath, Credential: "Authorization: Bearer " + secret, Body: chatBody("hi"), MaxBody: 32 << 20,
			Ran: func() int { return len(m.Requests()) },
		}
	}, hostiletest.Select(hostiletest.Rows, "a good request", "two lengths that differ", "PATCH, the body is there", "PATCH, the body is withheld",
		"2^63-1 bytes are announced", "a body that ends too early", "the continuation is asked for", "byte by byte"))
}

func TestBodyIsBounded(t *testing.T) {
	failures := testkit.Failures(t, func(t testing.TB) {
		m := llmtest.New(t)
		status, header, _, err := post(t, m, chatPath, strings.Repeat(" ", 32<<20+1))
		if status != 413 || header.Get("X-Should-Retry") != "false" || len(m.Requests()) != 0 || err != nil {
			t.Errorf("%d %v %v", status, header, err)
		}
	})
	if want := "llmtest: POST /v1/chat/completions: the body is too large"; failures != want {
		t.Errorf("%q", failures)
	}
}

// The reports of an agent that does not stop are bounded.
func TestReportsAreBounded(t *testing.T) {
	failures := testkit.Failures(t, func(t testing.TB) {
		m := llmtest.New(t)
		for range 200 {
			refused(t, m, chatPath, chatBody("again"))
		}
	})
	if n := strings.Count(failures, "no conversation"); n != 50 {
		t.Errorf("%d reports", n)
	}
}

// Of the requests of an agent that does not stop, the model keeps the first ten thousand.
func TestKeptRequestsAreBounded(t *testing.T) {
	m := llmtest.NewModel()
	for range 10_001 {
		m.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", chatPath, strings.NewReader(chatBody("again"))))
	}
	if n := len(m.Requests()); n != 10_000 {
		t.Errorf("%d requests are kept", n)
	}
}

// A stream delivers a text in at least two pieces, which keep characters whole, and a long one in about 32.
func TestPieces(t *testing.T) {
	for _, tt := range []struct {
		text  string
		least int
		most  int
	}{
		{"a", 1, 1}, {"ab", 2, 2}, {"é", 1, 1}, {"🙂", 1, 1}, {"é🙂", 2, 2}, {strings.Repeat("a", 24), 2, 2}, {strings.Repeat("a", 25), 3, 3},
		{strings.Repeat("a", 384), 32, 32}, {strings.Repeat("a", 100_000), 32, 32}, {strings.Repeat("🙂", 10_000), 32, 33},
	} {
		m := llmtest.New(t, llmtest.Text(tt.text))
		_, _, answer, err := post(t, m, chatPath, strings.Replace(chatBody("x"), "{", `{"stream":true,`, 1))
		var whole strings.Builder
		pieces := 0
		for line := range strings.Lines(answer) {
			var chunk struct {
				Choices []struct{ Delta struct{ Content string } }
			}
			if data, ok := strings.CutPrefix(line, "data: {"); ok {
				err = errors.Join(err, json.Unmarshal([]byte("{"+data), &chunk))
			}
			for _, choice := range chunk.Choices {
				if choice.Delta.Content != "" {
					whole.WriteString(choice.Delta.Content)
					pieces++
				}
			}
		}
		if err != nil || whole.String() != tt.text || pieces < tt.least || pieces > tt.most {
			t.Errorf("%.40q: %d pieces, %v", tt.text, pieces, err)
		}
	}
}

// A request after the end of the test is refused, and does not touch the test.
func TestRequestAfterTheTest(t *testing.T) {
	var m *llmtest.Model
	if failures := testkit.Failures(t, func(t testing.TB) { m = llmtest.New(t, llmtest.Text("left")) }); !strings.Contains(failures, "has not been used") {
		t.Error(failures)
	}
	say(t, m, "x")
	refused(t, m, chatPath, chatBody("x"))
}

// The events of a slow stream arrive one by one, and a client that leaves ends it.
func TestPacing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := llmtest.New(t, llmtest.Text("Hello, world.").After(10*time.Second).Every(time.Second))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, m.URL+wires[0].streamPath, strings.NewReader(wires[0].stream))
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		response, err := m.Client().Do(r)
		if err != nil || time.Since(start) != 10*time.Second {
			t.Fatalf("%v after %v", err, time.Since(start))
		}
		defer func() { _ = response.Body.Close() }()
		b := make([]byte, 1<<16)
		for i := range 3 {
			n, err := response.Body.Read(b)
			if got := string(b[:n]); err != nil || strings.Count(got, "data: ") != 1 || !strings.HasSuffix(got, "\n\n") || time.Since(start) != time.Duration(10+i)*time.Second {
				t.Errorf("read %d after %v: %q %v", i, time.Since(start), got, err)
			}
		}
		cancel()
		if n, err := response.Body.Read(b); n != 0 || !errors.Is(err, context.Canceled) {
			t.Errorf("%d %v", n, err)
		}
		synctest.Wait() // the handler has ended, or the bubble would report it
	})
}

// A program reaches the model over the network, where events are flushed as well.
func TestServer(t *testing.T) {
	m := llmtest.NewServer(t, llmtest.Text("Hello."), llmtest.Text("Hello.").Reset(), llmtest.Drop())
	for i, want := range []struct {
		status int
		err    error
	}{{200, nil}, {200, io.ErrUnexpectedEOF}, {0, io.EOF}} {
		status, _, answer, err := post(t, m, wires[0].streamPath, wires[0].stream)
		if status != want.status || !errors.Is(err, want.err) || want.err == nil && !strings.HasSuffix(answer, "data: [DONE]\n\n") {
			t.Errorf("%d: %d %q %v", i, status, answer, err)
		}
	}
}
