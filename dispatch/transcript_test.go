package dispatch_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/proxy"
)

// tools answers tool calls: get_order well, everything else with 422.
func tools(o *dispatch.Options) {
	o.Proxy = &proxy.Options{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
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

func TestHarnessVariant(t *testing.T) {
	type knobs struct {
		Model       string  `json:"model"`
		Temperature float64 `json:"temperature"`
	}
	body := func(input string) string { return `{"input":{"input":` + input + `}}` }
	for _, tt := range []struct {
		name, input string
		want        string // of the answer's metadata, or a part of the error
	}{
		{"none", `{}`, `null`},
		{"null", `{"harness_variant":null}`, `null`},
		{"task input is a list", `[1]`, `null`},
		{
			"variant", `{"harness_variant":{"snapshot_id":12,"variant_id":"v","name":"n","fingerprint":"f","knob_values":{"model":"m","temperature":null}}}`,
			`{"harness_variant":{"source":"harness_variant","snapshot_id":"12","fingerprint":"f"},"knobs":"m 0.5"}`,
		},
		{"a task's own configuration", `{"configuration":"deluxe"}`, `null`},
		{"a task's own configuration object", `{"configuration":{"color":"red"}}`, `null`},
		{"older name", `{"configuration":{"snapshot_id":"s","fingerprint":"f"}}`, `{"harness_variant":{"source":"harness_variant","snapshot_id":"s","fingerprint":"f"},"knobs":"default 0.5"}`},
		{"oldest name", `{"harness_config":{"snapshot_id":"s"}}`, `{"harness_variant":{"source":"harness_variant","snapshot_id":"s","fingerprint":""},"knobs":"default 0.5"}`},
		{
			"beside data that repeats names", `{"a":1,"a":"\ud83d","harness_variant":{"snapshot_id":"s","fingerprint":"f","note":"\ud83d","note":1}}`,
			`{"harness_variant":{"source":"harness_variant","snapshot_id":"s","fingerprint":"f"},"knobs":"default 0.5"}`,
		},
		{"repeated data without a variant", `{"a":1,"a":2}`, `null`},
		{"two variants", `{"harness_variant":{"snapshot_id":"s"},"harness_variant":{"snapshot_id":"t"}}`, `the task input cannot be read`},
		{"unknown knob", `{"harness_variant":{"knob_values":{"top_p":1}}}`, `a knob of the harness variant is unknown`},
		{"knob in another case", `{"harness_variant":{"knob_values":{"Model":"m"}}}`, `a knob of the harness variant is unknown`},
		{"knob twice", `{"harness_variant":{"knob_values":{"model":"m","model":"n"}}}`, `a knob of the harness variant is unknown`},
		{"knob of the wrong kind", `{"harness_variant":{"knob_values":{"model":5}}}`, `a knob of the harness variant is unknown or has the wrong type`},
		{"knobs are a list", `{"harness_variant":{"knob_values":[]}}`, `a knob of the harness variant is unknown or has the wrong type`},
		{"not an object", `{"harness_variant":"x"}`, `harness_variant cannot be read`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHandler(t, func(_ context.Context, run *dispatch.Run) (*dispatch.Response, error) {
				variant, err := run.HarnessVariant()
				if variant == nil || err != nil {
					return &dispatch.Response{FinalResponse: "x"}, err
				}
				k := knobs{Model: "default", Temperature: 0.5}
				if err := variant.DecodeKnobs(&k); err != nil {
					return nil, err
				}
				return &dispatch.Response{FinalResponse: "x", Metadata: &dispatch.Metadata{
					HarnessVariant: variant, Extra: map[string]any{"knobs": fmt.Sprint(k.Model, " ", k.Temperature)},
				}}, nil
			})
			w := post(h, body(tt.input), nil)
			if tt.want[0] != '{' && tt.want != "null" {
				wantError(t, w, 500, "invalid_input", tt.want)
				return
			}
			var got struct{ Metadata json.RawMessage }
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != 200 {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
			if got.Metadata == nil {
				got.Metadata = []byte("null")
			}
			if string(got.Metadata) != tt.want {
				t.Errorf("metadata %s, want %s", got.Metadata, tt.want)
			}
		})
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
		Transport: roundTrip(func(*http.Request) (*http.Response, error) {
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
