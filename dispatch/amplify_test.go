package dispatch_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/internal/cost"
)

// filled returns head, as many units as n bytes hold, and tail.
func filled(n int, head, unit, tail string) string {
	return head + strings.TrimSuffix(strings.Repeat(unit, n/len(unit)), ",") + tail
}

// What a body contains is not multiplied: a dispatch takes a few bytes of memory for each byte of its body.
func TestABodyTakesMemoryInProportion(t *testing.T) {
	const messages, instruction = `{"input":{"messages":[`, `{"input":{"user_instruction":"x",`
	for _, tt := range []struct {
		name    string
		body    string
		perByte int
	}{
		{"one text", filled(1<<20, instruction+`"input":"`, "x", `"}}`), 4},
		{"messages", filled(1<<20, messages, `{},`, `]}}`), 4},
		{"nulls for messages", filled(1<<20, messages, `null,`, `]}}`), 4},
		{"a message of calls", filled(1<<20, messages+`{"role":"user","tool_calls":[`, `{},`, `]}]}}`), 4},
		{"a message of thinking", filled(1<<20, messages+`{"role":"user","thinking":[`, `1,`, `]}]}}`), 4},
		{"a prompt of parts", filled(1<<20, messages+`{"role":"user","content":[`, `{"text":""},`, `]}]}}`), 8},
		{"a prompt with escapes", filled(1<<20, messages+`{"role":"user","content":"`, `\n`, `"}]}}`), 12},
		{"one number", filled(1<<20, `{"task_id":`, "1", `,"input":{"user_instruction":"x"}}`), 5},
		{"escapes", filled(1<<20, instruction+`"input":"`, `\n`, `"}}`), 8},
		{"the token", filled(1<<20, `{"run_token":"aaaa",`+instruction[1:]+`"input":"`, "aaaab", `"}}`), 12},
		{"the token and escapes", filled(1<<20, `{"run_token":"aaaa",`+instruction[1:]+`"input":"`, `aaaa\n`, `"}}`), 12},
		{"the token with escapes", filled(1<<20, `{"run_token":"aaaa",`+instruction[1:]+`"input":"`, `%61a\u0061a,`, `"}}`), 12},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHandler(t, answering("done"))
			w := &nopResponse{header: http.Header{}}
			r := request(tt.body)
			cost.Within(t, "a dispatch", len(tt.body), tt.perByte, func() { h.ServeHTTP(w, r) })
		})
	}
}

// An agent that asks for the conversation gets it decoded once.
func TestHistoryIsDecodedOnce(t *testing.T) {
	for name, messages := range map[string]string{
		"messages": filled(1<<20, `[`, `{},`, `]`), "calls": filled(1<<20, `[{"tool_calls":[`, `{},`, `]}]`),
		"rows": filled(1<<20, `[`, `{"role":"assistant","content":"I look it up.","tool_calls":[{"id":"c","name":"n","arguments":{}}]},`, `]`),
	} {
		run := &dispatch.Run{Messages: []byte(messages)}
		cost.Within(t, name, len(messages), 120, func() {
			if _, err := run.History(); err != nil {
				t.Error(err)
			}
		})
	}
}

// The limit of bytes is one of values, too, since an agent decodes what it gets.
func TestTheValuesOfABodyAreBounded(t *testing.T) {
	for _, tt := range []struct {
		name    string
		maxBody int64
		values  int
		status  int
	}{
		{"as many as fit", 2 << 20, 2<<20/16 - 5, 200},
		{"one more", 2 << 20, 2<<20/16 - 4, 400},
		{"a small limit", 1000_000, 1<<16 - 5, 200},
		{"one more than a small limit", 1000_000, 1<<16 - 4, 400},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ran := false
			h := newHandler(t, func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
				ran = true
				return nil, nil
			}, func(o *dispatch.Options) { o.MaxBodyBytes = tt.maxBody })
			body := `{"input":{"input":[` + strings.TrimSuffix(strings.Repeat("1,", tt.values), ",") + `]}}`
			w := post(h, body, nil)
			if w.Code != tt.status || ran != (tt.status == 200) {
				t.Errorf("%d %.200s", w.Code, w.Body)
			}
			if tt.status == 400 {
				wantError(t, w, 400, toolwire.CodeInvalidJSON, "Options.MaxBodyBytes")
			}
		})
	}
}

// Bodies of many short values take more room than their bytes, until their agents have returned.
func TestValuesInFlightAreBounded(t *testing.T) {
	body := `{"input":{"input":[` + strings.Repeat("1,", 200_000) + `1]}}` // 0.4 MB of text, and 16 bytes for each value
	var hold atomic.Bool                                                   // the next run
	started, release := make(chan bool), make(chan bool)
	h := newHandler(t, func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
		if hold.CompareAndSwap(true, false) {
			started <- true
			<-release
		}
		return &dispatch.Response{FinalResponse: "x"}, nil
	}, func(o *dispatch.Options) { o.MaxBodyBytes, o.MaxBytesInFlight = 4<<20, 4<<20 })
	for range 2 { // the room of the first is free again
		hold.Store(true)
		first := make(chan *httptest.ResponseRecorder)
		go func() { first <- post(h, body, nil) }()
		<-started
		wantError(t, post(h, body, nil), 503, toolwire.CodeBusy, "Options.MaxBytesInFlight")
		wantAnswer(t, post(h, seedBody, nil), 200, `{"final_response":"x"}`)
		wantAnswer(t, post(h, bodyOf(500<<10), nil), 200, `{"final_response":"x"}`) // few values
		release <- true
		wantAnswer(t, <-first, 200, `{"final_response":"x"}`)
	}
}
