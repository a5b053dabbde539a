package dispatch_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/internal/testkit"
	"github.com/toolwire/toolwire/proxy"
)

// tools answers tool calls: get_order well, everything else with 422.
func tools(o *dispatch.Options) {
	o.Proxy = &proxy.Options{Transport: testkit.RoundTrip(func(r *http.Request) (*http.Response, error) {
		_, _ = io.Copy(io.Discard, r.Body)
		status, body := 422, `{"detail":"order_id is missing"}`
		switch {
		case strings.HasSuffix(r.URL.Path, "/get_order"):
			status, body = 200, `{"response":{"status":"shipped"},"source":"odyssey"}`
		case strings.HasSuffix(r.URL.Path, "/big"):
			status, body = 200, `{"response":"`+strings.Repeat("é", 50_000)+`","source":"odyssey"}`
		}
		return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}, nil
	})}
}

func TestTranscript(t *testing.T) {
	h := newHandler(t, func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		transcript := run.Transcript()
		transcript.Add(thinks("I should look the order up."))
		_, _ = run.Proxy.Do(ctx, "get_order", map[string]string{"order_id": "4521"})
		_, _ = run.Proxy.As("sub").Do(ctx, "refund_order", nil)
		transcript.Add(says("assistant", "That did not work."))
		return transcript.Response("Done."), nil
	}, tools)
	w := post(h, seedBody, nil)
	want := `{"final_response":"Done.","messages":[{"role":"user","content":"Refund order #4521 if it shipped more than 30 days ago."},` +
		`{"role":"assistant","thinking":[{"type":"text","text":"I should look the order up."}]},` +
		`{"role":"assistant","tool_calls":[{"id":"call_1","name":"get_order","arguments":{"order_id":"4521"}}]},` +
		`{"role":"tool","content":"{\"status\":\"shipped\"}","tool_call_id":"call_1"},` +
		`{"role":"assistant","tool_calls":[{"id":"call_2","name":"refund_order","arguments":{}}]},` +
		`{"role":"tool","content":"{\"error\":\"invalid_arguments\",\"detail\":\"order_id is missing\"}","tool_call_id":"call_2"},` +
		`{"role":"assistant","content":"That did not work."},{"role":"assistant","content":"Done."}]}`
	wantAnswer(t, w, 200, want)
	if verdict := dispatch.CheckResponse(w.Body.Bytes()); !verdict.Gradeable || len(verdict.Problems) > 0 {
		t.Errorf("%+v", verdict)
	}
}

func TestTranscriptOfACallWithoutAName(t *testing.T) {
	h := newHandler(t, func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		transcript := run.Transcript()
		_, _ = run.Proxy.Do(ctx, "", nil)
		return transcript.Response("Done."), nil
	}, tools)
	if verdict := dispatch.CheckResponse(post(h, seedBody, nil).Body.Bytes()); len(verdict.Messages) != 4 {
		t.Errorf("%+v", verdict)
	}
}

func TestSendTranscript(t *testing.T) {
	user := `{"role":"user","content":"Refund order #4521 if it shipped more than 30 days ago."}`
	for _, tt := range []struct {
		name     string
		response *dispatch.Response
		want     string
	}{
		{"nothing", nil, `{"final_response":"(no final response)","messages":[` + user + `,{"role":"assistant","content":"(no final response)"}]}`},
		{"text only", &dispatch.Response{FinalResponse: "a"}, `{"final_response":"a","messages":[` + user + `,{"role":"assistant","content":"a"}]}`},
		{
			"no assistant text", &dispatch.Response{FinalResponse: "a", Messages: []dispatch.Message{{Role: "user", Content: dispatch.Text("u")}}},
			`{"final_response":"a","messages":[{"role":"user","content":"u"},{"role":"assistant","content":"a"}]}`,
		},
		{
			"malformed", &dispatch.Response{FinalResponse: "a", Messages: []dispatch.Message{{Role: "bot"}}},
			`{"final_response":"a","messages":[` + user + `,{"role":"assistant","content":"a"}]}`,
		},
		{
			"good already", &dispatch.Response{FinalResponse: "a", Messages: []dispatch.Message{{Role: "assistant", Content: dispatch.Text("b")}}},
			`{"final_response":"a","messages":[{"role":"assistant","content":"b"}]}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHandler(t, func(context.Context, *dispatch.Run) (*dispatch.Response, error) { return tt.response, nil },
				func(o *dispatch.Options) { o.SendTranscript = true })
			w := post(h, seedBody, nil)
			wantAnswer(t, w, 200, tt.want)
			if !dispatch.CheckResponse(w.Body.Bytes()).Gradeable {
				t.Error("not gradeable")
			}
		})
	}
}

func TestFailureResponse(t *testing.T) {
	for _, agent := range []dispatch.Agent{
		func(context.Context, *dispatch.Run) (*dispatch.Response, error) { return nil, fmt.Errorf("hunter2") },
		func(context.Context, *dispatch.Run) (*dispatch.Response, error) { panic("hunter2") },
	} {
		h := newHandler(t, agent, func(o *dispatch.Options) {
			o.FailureResponse = func(run *dispatch.Run, err *toolwire.Error) *dispatch.Response {
				return &dispatch.Response{FinalResponse: "Run " + run.RunID + " failed: " + err.Message}
			}
		})
		w := post(h, seedBody, nil)
		if w.Code != 200 || !strings.Contains(w.Body.String(), `{"final_response":"Run 17 failed: the agent `) || strings.Contains(w.Body.String(), "hunter2") {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
}

func ExampleRun_Transcript() {
	h, err := dispatch.New(func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		transcript := run.Transcript()
		if _, err := run.Proxy.Do(ctx, "get_order", map[string]string{"order_id": "4521"}); err != nil {
			return nil, err
		}
		return transcript.Response("The order has shipped."), nil
	}, &dispatch.Options{Tokens: []string{"agent-token"}, Proxy: &proxy.Options{
		Transport: testkit.RoundTrip(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(`{"response":{"status":"shipped"}}`))}, nil
		}),
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	show(h, "/", "agent-token", `{"odyssey_proxy_url":"https://api.example.com/runs/abc","input":{"user_instruction":"Has it shipped?"}}`)
	// Output:
	// 200 {"final_response":"The order has shipped.","messages":[{"role":"user","content":"Has it shipped?"},{"role":"assistant","tool_calls":[{"id":"call_1","name":"get_order","arguments":{"order_id":"4521"}}]},{"role":"tool","content":"{\"status\":\"shipped\"}","tool_call_id":"call_1"},{"role":"assistant","content":"The order has shipped."}]}
}
