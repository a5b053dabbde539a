package dispatchtest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/llm"
	"github.com/toolwire/toolwire/internal/hook"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/runctx"
	"github.com/toolwire/toolwire/internal/testkit"
	"github.com/toolwire/toolwire/internal/timeline"
	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// rowsOf describes rows in short: kind, actor, name, and what a late event says.
func rowsOf(r *dispatchtest.Result) (list []string) {
	for _, row := range hook.Of[timeline.Run](r).Rows {
		words := []string{string(row.Kind), row.Actor, row.Name, row.Model, row.Text.Shown, row.Late}
		list = append(list, strings.Join(slices.DeleteFunc(words, func(s string) bool { return s == "" }), " "))
	}
	return list
}

// A trace event that is sent late has its place where it occurred, but not before its dispatch. A clock
// that is a little behind moves nothing.
func TestLateEventsAreWhereTheyOccurred(t *testing.T) {
	began := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	at := func(d time.Duration) time.Time { return began.Add(d) }
	const ms = time.Millisecond
	event := func(order int, text string, arrived, occurred time.Duration) proxytest.Trace {
		payload := fmt.Sprintf(`{"text":%q,"__occurred_at":%q}`, text, at(occurred).Format(time.RFC3339Nano))
		return proxytest.Trace{Event: proxy.EventThinking, At: at(arrived), Order: order, Payload: []byte(payload)}
	}
	result := &dispatchtest.Result{
		Ping:  dispatchtest.Exchange{Request: []byte(`{"ping":true}`), At: began, Order: 1, Answered: 2},
		Turns: []dispatchtest.Turn{{Exchange: dispatchtest.Exchange{Request: []byte(`{}`), At: at(10 * ms), Order: 3, Answered: 9}}},
		Log: proxytest.Log{
			Calls: []proxytest.Call{{Tool: "get_order", Source: proxy.SourceOdyssey, Status: 200, Order: 4, At: at(1000 * ms)}},
			Traces: []proxytest.Trace{
				event(5, "a little behind", 1080*ms, 990*ms),
				event(6, "long ago", 1100*ms, -time.Hour),
				event(7, "in the future", 1200*ms, time.Hour),
				event(8, "a second ago", 1999*ms, 999*ms),
				event(10, "after the answer", 2000*ms, 2000*ms),
			},
		},
	}
	want := []string{
		"ping", "dispatch", "trace thinking long ago sent 60 min 1 s after it occurred",
		"trace thinking a second ago sent 1.00 s after it occurred", "call get_order", "trace thinking a little behind",
		"trace thinking in the future", "answer", "trace thinking after the answer",
	}
	if got := rowsOf(result); !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}

// chat sends a request with a question to the model of the context.
func chat(ctx context.Context, client *http.Client, model, question string) error {
	body := `{"model":"` + model + `","messages":[{"role":"user","content":"` + question + `"}]}`
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://model.test/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := client.Do(r)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return errors.Join(err, resp.Body.Close())
}

// thinks answers each request to a model after a second: with a status of 529 to the model "busy", not
// at all to "gone", and never to "stuck".
var thinks = testkit.RoundTrip(func(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	model := rawjson.Unquote(rawjson.Member(body, "model"))
	select {
	case <-r.Context().Done():
		return nil, context.Cause(r.Context())
	case <-time.After(map[bool]time.Duration{false: time.Second, true: time.Hour}[model == "stuck"]):
	}
	resp := &http.Response{StatusCode: 200, Header: http.Header{}, Request: r}
	answer := `{"model":"` + model + `-2026","choices":[{"message":{"role":"assistant","content":"I look."},"finish_reason":"stop"}],` +
		`"usage":{"prompt_tokens":120,"completion_tokens":30}}`
	switch model {
	case "gone":
		return nil, errors.New("connection refused")
	case "busy":
		resp.StatusCode, answer = 529, `{"error":"overloaded"}`
	}
	resp.Body = io.NopCloser(strings.NewReader(answer))
	return resp, nil
})

// A result lists the requests to models in the order of all events, with tokens and durations, although
// the clock stands still between them: in a bubble all of this takes no time but the second of each
// request.
func TestModelRequestsAreInTheTimeline(t *testing.T) {
	client := &http.Client{Transport: &llm.Transport{Base: thinks}}
	agent := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		if err := chat(ctx, client, "large", "What now?"); err != nil {
			return nil, err
		}
		if _, err := run.Proxy.Do(ctx, "get_order", nil); err != nil {
			return nil, err
		}
		worker := proxy.WithActor(ctx, "orders")
		for _, model := range []string{"busy", "small"} {
			if err := chat(worker, client, model, "And the order?"); err != nil {
				return nil, err
			}
		}
		_ = chat(ctx, client, "gone", "What then?")
		return &dispatch.Response{FinalResponse: "done"}, nil
	}
	synctest.Test(t, func(t *testing.T) {
		session := task()
		session.Conversation = &dispatchtest.Conversation{UserTurns: []string{"And again."}}
		result, err := dispatchtest.Dispatch(t.Context(), dispatchtest.Target{Agent: agent}, session)
		if err != nil {
			t.Fatal(err)
		}
		turn := []string{
			"dispatch", "model large-2026", "call get_order", "model orders busy", "model orders small-2026", "model gone", "answer large-2026, small-2026",
		}
		if got, want := rowsOf(result), slices.Concat([]string{"ping"}, turn, turn); !slices.Equal(got, want) {
			t.Errorf("%q\nwant %q", got, want)
		}
		if text := result.String(); strings.Count(text, `
model      large-2026, 120 tokens in, 30 out  (1000.0 ms)
call       get_order {}
           -> {"status":"shipped"}  (odyssey, 0.00 ms)
model      orders: busy -> 529  (1000.0 ms)
model      orders: small-2026, 120 tokens in, 30 out  (1000.0 ms)
model      gone -> no answer  (1000.0 ms)
answer     200 `) != 2 {
			t.Errorf("the text is\n%s", text)
		}
		if m := result.ModelRequests[2]; m.Actor != "orders" || m.TookMS != 1000 || m.Status != 200 || m.InputTokens != 120 || m.OutputTokens != 30 ||
			m.At.IsZero() || m.Open {
			t.Errorf("%+v", m)
		}
		if busy := result.ModelRequests[1]; busy.Status != 529 || busy.Model != "busy" || busy.InputTokens != 0 {
			t.Errorf("%+v", busy)
		}
	})
}

// The row of a model that does not answer ends with the run.
func TestAModelThatDoesNotAnswer(t *testing.T) {
	client := &http.Client{Transport: &llm.Transport{Base: thinks}}
	agent := func(ctx context.Context, _ *dispatch.Run) (*dispatch.Response, error) {
		return nil, chat(ctx, client, "stuck", "Hello?")
	}
	synctest.Test(t, func(t *testing.T) {
		target := dispatchtest.Target{Agent: agent, RunTimeout: 10 * time.Second}
		result, err := dispatchtest.Dispatch(t.Context(), target, dispatchtest.Task{})
		if err != nil {
			t.Fatal(err)
		}
		run := hook.Of[timeline.Run](result)
		i := slices.IndexFunc(run.Rows, func(r timeline.Row) bool { return r.Kind == timeline.Model })
		if i < 0 {
			t.Fatalf("no row: %q", rowsOf(result))
		}
		if row := run.Rows[i]; row.Model != "stuck" || row.Status != 0 || row.Took < 7*time.Second || row.Took > 10*time.Second {
			t.Errorf("%+v", row)
		}
	})
}

func TestRowsHaveNoSecrets(t *testing.T) {
	target := dispatchtest.Target{
		AuthValue: "Bearer s3cr3t-token",
		Agent: func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			_, err := run.Proxy.Do(ctx, "get_order", map[string]string{"id": "s3cr3t-token"})
			return &dispatch.Response{FinalResponse: "done"}, err
		},
		Options: &dispatch.Options{Tokens: []string{"s3cr3t-token"}},
	}
	if text := dispatchtest.Run(t, target, task()).String(); !strings.Contains(text, "\ncall       get_order {\"id\":\"[redacted]\"}\n") {
		t.Error(text)
	}
}

// What the metadata of an answer says of the model is in its row. If the platform drops the metadata, nothing is.
func TestTheMetadataOfAnAnswerIsInItsRow(t *testing.T) {
	for _, tt := range []struct {
		metadata, model string
		input, output   int64
	}{
		{`{"model":"m-1","total_input_tokens":1842,"total_output_tokens":217}`, "m-1", 1842, 217},
		{`{"total_input_tokens":1e3,"total_output_tokens":2.0,"agent_runtime_ms":5}`, "", 1000, 2},
		{`{"model":"m-1","total_input_tokens":"many"}`, "", 0, 0},
		{`["gateway"]`, "", 0, 0},
		{`{"total_input_tokens":1e300}`, "", 1 << 53, 0},
	} {
		answer := fmt.Sprintf(`{"final_response":"done","metadata":%s}`, tt.metadata)
		run := hook.Of[timeline.Run](&dispatchtest.Result{Turns: []dispatchtest.Turn{{Exchange: dispatchtest.Exchange{Status: 200, Body: answer}}}})
		if row := run.Rows[1]; row.Kind != timeline.Answer || row.Model != tt.model || row.InputTokens != tt.input || row.OutputTokens != tt.output {
			t.Errorf("%s: %s %q, %d, %d", tt.metadata, row.Kind, row.Model, row.InputTokens, row.OutputTokens)
		}
	}
}

// What shows a run while it goes on is called with the run so far when a request to the agent begins. It
// does not see what the agent dispatches itself.
func TestFollowARun(t *testing.T) {
	var seen []string
	ctx := runctx.With(t.Context(), func(now *dispatchtest.Result) { seen = append(seen, strings.Join(rowsOf(now), " ")) })
	inner := func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
		return &dispatch.Response{FinalResponse: "inner"}, nil
	}
	outer := func(ctx context.Context, _ *dispatch.Run) (*dispatch.Response, error) {
		result, err := dispatchtest.Dispatch(ctx, dispatchtest.Target{Agent: inner}, dispatchtest.Task{})
		if err != nil {
			return nil, err
		}
		return &dispatch.Response{FinalResponse: result.FinalResponse}, nil
	}
	session := task()
	session.Conversation = &dispatchtest.Conversation{UserTurns: []string{"And again."}}
	if _, err := dispatchtest.Dispatch(ctx, dispatchtest.Target{Agent: outer}, session); err != nil {
		t.Fatal(err)
	}
	if want := []string{"ping", "ping dispatch", "ping dispatch answer dispatch"}; !slices.Equal(seen, want) {
		t.Errorf("%q, want %q", seen, want)
	}
}

// What follows a run may read what it was given while the run goes on and ends.
func TestReadAFollowedRun(t *testing.T) {
	var readers sync.WaitGroup
	problems := 0
	ctx := runctx.With(t.Context(), func(now *dispatchtest.Result) {
		problems += len(now.Problems)
		readers.Go(func() {
			_ = now.String()
			for _, turn := range now.Turns {
				_ = fmt.Sprint(turn.Problems, turn.Log)
			}
		})
	})
	session := task()
	session.Conversation = &dispatchtest.Conversation{UserTurns: []string{"And again."}}
	answer := func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"final_response":"done","metadata":["gateway"]}`)
	}
	result, err := dispatchtest.Dispatch(ctx, dispatchtest.Target{Handler: http.HandlerFunc(answer)}, session)
	readers.Wait()
	if err != nil || len(result.Turns) != 2 || problems == 0 {
		t.Errorf("%v, %d problems before the last turn\n%s", err, problems, result)
	}
}

// Each turn has the ledger as it was at its end, and turns that left it unchanged have it in memory once.
func TestLedgerOfEachTurn(t *testing.T) {
	add := func(r *proxytest.Request) (any, error) {
		id := fmt.Sprint(r.Number)
		return map[string]string{"id": id}, r.Apply(ledger.Update{Op: ledger.OpAdd, EntityType: "order", ID: id})
	}
	agent := func(ctx context.Context, run *dispatch.Run) (response *dispatch.Response, err error) {
		if run.Instruction == "Add." {
			_, err = run.Proxy.Do(ctx, "add", nil)
		}
		return &dispatch.Response{FinalResponse: "Done."}, err
	}
	result, err := dispatchtest.Dispatch(t.Context(), dispatchtest.Target{Agent: agent}, dispatchtest.Task{
		Instruction: "Add.", World: proxytest.World{Behaviors: map[string]proxytest.Behavior{"add": add}},
		Conversation: &dispatchtest.Conversation{UserTurns: []string{"Thanks.", "Add.", "Bye."}},
	})
	if err != nil || len(result.Turns) != 4 {
		t.Fatalf("%v\n%s", err, result)
	}
	orders := func(s ledger.Snapshot) int { return len(s.Entities["order"]) }
	place := func(s ledger.Snapshot) uintptr { return reflect.ValueOf(s.Entities).Pointer() }
	for i, want := range []int{1, 1, 2, 2} {
		if got := orders(result.Turns[i].Log.State); got != want {
			t.Errorf("turn %d left %d orders, want %d", i+1, got, want)
		}
	}
	first, second := result.Turns[0].Log.State, result.Turns[2].Log.State
	if orders(result.State) != 2 || place(result.State) != place(second) || place(result.Turns[3].Log.State) != place(second) ||
		place(result.Turns[1].Log.State) != place(first) {
		t.Error("equal ledgers are in memory more than once")
	}
}
