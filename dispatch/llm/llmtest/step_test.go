package llmtest_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire/dispatch/llm/llmtest"
	"github.com/toolwire/toolwire/internal/testkit"
)

// A step is described by what it consists of, without texts.
func TestStepAsText(t *testing.T) {
	secretly := llmtest.Text("the text")
	for want, step := range map[string]llmtest.Step{
		"text":                        secretly,
		"drop":                        llmtest.Drop().After(1),
		"error 429":                   llmtest.Error(429).RetryAfter(1),
		"refusal":                     llmtest.Refusal("no"),
		"thinking, call get_order":    llmtest.Turn(llmtest.Thinking("hm"), llmtest.Call("a", "get_order", "{}")),
		"raw, incomplete":             llmtest.Raw("{}").Incomplete(),
		"text, stop pause_turn":       secretly.Stop("pause_turn"),
		"text, or text, or call f":    llmtest.Choices(secretly, secretly, llmtest.Call("a", "f", "{}")),
		"text, cut":                   secretly.EndEarly(),
		"text, reset":                 secretly.Reset(),
		"text, fail 500":              secretly.Fail(500),
		"text, stop x, or text, cut":  llmtest.Choices(secretly.Stop("x").EndEarly(), secretly),
		"text, incomplete, stop done": secretly.Incomplete().Stop("done"),
	} {
		if got := step.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A turn uses the settings of all its steps. A later step overrides an earlier one.
func TestSettingsOfATurn(t *testing.T) {
	no := func(text string) func(*llmtest.Request) error {
		return func(*llmtest.Request) error { return errors.New(text) }
	}
	a, b := llmtest.Call("a", "f", "{}"), llmtest.Call("b", "f", "{}")
	for _, tt := range []struct {
		name   string
		format int
		step   llmtest.Step
		want   []string // in the streamed response, in order; "-" begins what must not follow
	}{
		{"tokens of the first", 0, llmtest.Turn(a.Usage(7, 8), b), []string{`"prompt_tokens":7,"completion_tokens":8,`}},
		{"tokens of the second", 0, llmtest.Turn(a.Usage(7, 8), b.Usage(0, 9)), []string{`"prompt_tokens":0,"completion_tokens":9,`}},
		{"input of the second", 0, llmtest.Turn(a.Usage(7, 8), b.Usage(9, 0)), []string{`"prompt_tokens":9,"completion_tokens":0,`}},
		{"cached tokens of the first", 0, llmtest.Turn(a.Cached(3), b), []string{`"cached_tokens":3`}},
		{"cached tokens of the second", 0, llmtest.Turn(a.Cached(3), b.Cached(4)), []string{`"cached_tokens":4`}},
		{"one chunk", 0, llmtest.Turn(a.InOneChunk(), b), []string{`[{"index":0,"id":"a"`, `},{"index":1,"id":"b"`}},
		{"one chunk without calls", 0, llmtest.Text("x").InOneChunk(), []string{`-tool_calls`}},
		{"one chunk of one call", 0, a.InOneChunk(), []string{`{"tool_calls":[{"index":0,"id":"a"`}},
		{"incomplete", 0, llmtest.Turn(llmtest.Text("x").Incomplete(), llmtest.Text("y")), []string{`"finish_reason":"length"`}},
		{"the reason of the first", 2, llmtest.Turn(a.Stop("pause_turn"), b), []string{`"stop_reason":"pause_turn"`}},
		{"the reason of the second", 2, llmtest.Turn(a.Stop("pause_turn"), b.Stop("max")), []string{`"stop_reason":"max"`}},
		{"the error of the first", 2, llmtest.Turn(llmtest.Text("x").Fail(529), llmtest.Text("y")), []string{`overloaded_error`, `-message_stop`}},
		{"the end of the first", 2, llmtest.Turn(llmtest.Text("x").EndEarly(), llmtest.Text("y")), []string{`message_start`, `-message_stop`}},
		{"choices of the first", 0, llmtest.Turn(llmtest.Choices(a, b), llmtest.Text("x")), []string{`"id":"a"`, `"content":"x"`, `"index":1`, `"id":"b"`}},

		{"a raw part beside calls in one chunk", 3, llmtest.Turn(a, llmtest.Raw(`{"text":"x"}`), b).InOneChunk(),
			[]string{`"parts":[{"text":"x"}]`, `"parts":[{"functionCall":{"id":"a","name":"f","args":{}}},{"functionCall":{"id":"b"`}},
		{"thinking of one token", 3, llmtest.Turn(llmtest.Thinking("x"), a, b).Usage(1, 4),
			[]string{`"name":"f","args":{}},"thoughtSignature":"`, `"name":"f","args":{}}}]`, `"thoughtsTokenCount":1`}},
		{"thinking of less than a token", 3, llmtest.Turn(llmtest.Thinking("x"), a).Usage(1, 3), []string{`-thoughtSignature`}},
		{"a role of its own", 0, llmtest.Raw(`{"role":"tool"}`), []string{`"role":"tool"`}},
	} {
		for _, stream := range []bool{true, false} {
			wire := wires[tt.format]
			path, body := wire.streamPath, wire.stream
			if !stream {
				if path, body = wire.path, wire.whole; !strings.HasPrefix(tt.name, "a role") {
					continue
				}
			}
			_, _, answer, err := post(t, llmtest.New(t, tt.step), path, body)
			for rest, i := answer, 0; i < len(tt.want); i++ {
				unwanted, is := strings.CutPrefix(tt.want[i], "-")
				_, after, found := strings.Cut(rest, unwanted)
				if found == is || err != nil {
					t.Fatalf("%s: %s in\n%s\n%v", tt.name, tt.want[i], rest, err)
				}
				if found {
					rest = after
				}
			}
			if !stream && strings.Count(answer, `"role"`) != 1 {
				t.Errorf("%s: %s", tt.name, answer)
			}
		}
	}
	failures := testkit.Failures(t, func(t testing.TB) {
		m := llmtest.New(t, llmtest.Turn(a.Expect(no("first")), b.Expect(no("second"))), llmtest.Choices(a.Expect(no("third")), b.Expect(no("fourth"))))
		say(t, m, "x")
		say(t, m, "x")
	})
	for _, want := range []string{"first", "second", "third", "fourth"} {
		if !strings.Contains(failures, want) {
			t.Errorf("the expectation %s does not apply: %s", want, failures)
		}
	}
	for _, choice := range []llmtest.Step{llmtest.Error(500), llmtest.Drop(), llmtest.Text("x").EndEarly(), llmtest.Choices(a, b)} {
		if err := llmtest.NewModel(llmtest.Choices(a, choice)).Err(); err == nil || !strings.Contains(err.Error(), "a choice after the first has content only") {
			t.Errorf("%s: %v", choice, err)
		}
	}
}

// An error names the wait that its step has, in whole seconds and exactly.
func TestRetryAfter(t *testing.T) {
	for wait, want := range map[time.Duration]string{0: " ", 1: "1 0", time.Second: "1 ", 1500 * time.Millisecond: "2 1500"} {
		m := llmtest.New(t, llmtest.Error(429).RetryAfter(wait))
		_, header, _, err := post(t, m, chatPath, chatBody("x"))
		if got := header.Get("Retry-After") + " " + header.Get("Retry-After-Ms"); got != want || err != nil {
			t.Errorf("%s: %q, want %q; %v", wait, got, want, err)
		}
	}
}

// Waits, breaks and errors survive in a turn.
func TestWaitsOfATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := llmtest.NewModel(
			llmtest.Turn(llmtest.Text("x").After(time.Second).Every(time.Minute), llmtest.Text("y")),
			llmtest.Turn(llmtest.Text("x").After(time.Second), llmtest.Text("y").After(2*time.Second)),
			llmtest.Turn(llmtest.Error(429).RetryAfter(1500*time.Millisecond)),
			llmtest.Turn(llmtest.Drop()),
		)
		start := time.Now()
		_, _, answer, err := post(t, m, anthropicPath, wires[2].stream)
		if took, events := time.Since(start), strings.Count(answer, "event: "); err != nil || took != time.Second+time.Duration(events-1)*time.Minute {
			t.Errorf("%d events took %s, %v", events, took, err)
		}
		start = time.Now()
		if _, _, _, err := post(t, m, chatPath, chatBody("x")); err != nil || time.Since(start) != 2*time.Second {
			t.Errorf("after %s, %v", time.Since(start), err)
		}
		if status, header, _, err := post(t, m, chatPath, chatBody("x")); status != 429 || header.Get("Retry-After-Ms") != "1500" || err != nil {
			t.Errorf("%d %v %v", status, header, err)
		}
		if _, _, _, err := post(t, m, chatPath, chatBody("x")); err == nil {
			t.Error("the connection does not break")
		}
		if err := m.Err(); err != nil {
			t.Error(err)
		}
	})
}

// A response that is not stored, or that another model made, cannot be continued.
func TestContinuedResponses(t *testing.T) {
	const next = `{"model":"m","input":"b","previous_response_id":"resp_1"}`
	for body, want := range map[string]int{
		`{"model":"m","input":"a"}`: 200, `{"model":"m","input":"a","store":true}`: 200, `{"model":"m","input":"a","store":false}`: 400,
	} {
		m := llmtest.NewModel(llmtest.Text("x"), llmtest.Text("y"))
		_, _, first, _ := post(t, m, "/v1/responses", body)
		status, _, answer, err := post(t, m, "/v1/responses", next)
		if status != want || err != nil || strings.Contains(first, `"store":true`) != (want == 200) {
			t.Errorf("%s: %d %s, want %d, %v", body, status, answer, want, err)
		}
		if want != 200 {
			continue
		}
		if r := m.Requests()[1]; len(r.Users) != 2 || !strings.Contains(answer, `"previous_response_id":"resp_1"`) {
			t.Errorf("%s: %q, %s", body, r.Users, answer)
		}
	}
}
