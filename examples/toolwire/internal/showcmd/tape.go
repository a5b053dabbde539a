package showcmd

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/cassette"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/llm"
	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/timeline"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// maxRead is how many bytes of requests to models are read for the transcript. The messages of a tape are
// on it once, and each request has all of those before it.
const maxRead = 256 << 20

// resultOf returns the run of a tape.
func resultOf(ctx context.Context, tape *cassette.Tape) (*dispatchtest.Result, error) {
	calls := slices.Clone(tape.Interactions)
	slices.SortStableFunc(calls, func(a, b cassette.Interaction) int { return cmp.Compare(a.AtMS, b.AtMS) })
	read, err := transcript(ctx, tape, calls)
	if err != nil {
		return nil, err
	}
	r := read.result
	type request struct{ kind, name, actor, arguments string }
	last := map[request]proxytest.Call{} // attempts that the client repeated
	for n := range calls {
		i := &calls[n]
		at, order := tape.Created.Add(timeline.Milliseconds(i.AtMS)), 2*n+2
		switch {
		case i.Kind == "model":
			m := read.models[n]
			m.Model = cmp.Or(m.Model, rawjson.Unquote(rawjson.Member(i.Arguments, "model")), i.Name)
			m.Actor, m.At, m.TookMS, m.Status, m.Order = i.Actor, at, i.LatencyMS, i.Status, order
			r.ModelRequests = append(r.ModelRequests, m)
		case i.Kind == "trace" && i.Status == http.StatusOK:
			r.Traces = append(r.Traces, proxytest.Trace{Event: proxy.Event(i.Name), Actor: i.Actor, Payload: i.Arguments, At: at, Order: order})
		case i.Name == "telemetry" && i.Kind == "other" && i.Status == http.StatusOK:
			r.Telemetry = append(r.Telemetry, proxytest.Trace{Event: "telemetry", Actor: i.Actor, Payload: i.Arguments, At: at, Order: order})
		default:
			c := callOf(i, at, order)
			key := request{i.Kind, i.Name, i.Actor, string(i.Arguments) + i.ArgumentsText}
			if before, again := last[key]; again {
				c.Attempt = before.Attempt + 1
				end := before.At.Add(timeline.Milliseconds(before.LatencyMS))
				if wait := at.Sub(end); wait > 0 {
					r.Waits = append(r.Waits, dispatchtest.Wait{
						Tool: c.Tool, Actor: c.Actor, At: end, Duration: wait, Order: order - 1,
						Reason: strings.TrimSpace(fmt.Sprintf("the proxy answered %d %s", before.Status, before.ErrorClass)),
					})
				}
			}
			delete(last, key)
			if c.Source != "" {
				r.Calls = append(r.Calls, c)
				continue
			}
			if c.Status == http.StatusTooManyRequests || c.Status == http.StatusServiceUnavailable || c.Status == 0 {
				last[key] = c
			}
			r.Refused = append(r.Refused, c)
		}
	}
	return r, nil
}

// callOf returns a call of the proxy.
func callOf(i *cassette.Interaction, at time.Time, order int) proxytest.Call {
	c := proxytest.Call{
		Tool: i.Name, Trace: i.Kind == "trace", Actor: i.Actor, Arguments: i.Arguments, At: at, LatencyMS: i.LatencyMS, Attempt: 1,
		Status: i.Status, Order: order,
	}
	if i.Kind == "other" {
		c.Tool = strings.TrimSpace(i.Method + " " + i.Name)
	}
	switch {
	case i.Broken != "":
		c.Status, c.Reason = 0, map[string]string{
			"reset": "the connection broke before the response", "truncate": "the connection broke in the response",
			"oversize": "the response is too large for a tape", "abandoned": "the agent stopped waiting",
		}[i.Broken]
	case i.Status != http.StatusOK:
		refusal := httpcall.ReadRefusal(http.Header{"Content-Type": {cmp.Or(i.ContentType, "application/json")}},
			slices.Concat(i.Answer, []byte(i.AnswerText)), nil)
		c.ErrorClass, c.Reason = refusal.Class, refusal.Message()
	case i.Kind == "tool":
		c.Response = rawjson.Member(i.Answer, "response")
		c.Source = proxy.Source(cmp.Or(rawjson.Unquote(rawjson.Member(i.Answer, "source")), "unknown"))
	default:
		c.Response, c.Source = i.Answer, "proxy"
	}
	return c
}

// noInstruction stands for the instruction that a tape does not have.
const noInstruction = "(the tape has no instruction)"

// reading is what package llm makes of the requests to models on a tape.
type reading struct {
	result *dispatchtest.Result              // of the run, with its messages only
	models map[int]dispatchtest.ModelRequest // by the interaction
}

// transcript runs an agent that sends what is on the tape again, and answers it from the tape. So the
// transcript is made by the code that makes it in a run.
func transcript(ctx context.Context, tape *cassette.Tape, calls []cassette.Interaction) (*reading, error) {
	type span struct {
		n          int
		begin, end time.Time
	}
	var spans []span
	var messages []dispatch.Message
	var problems []dispatch.Problem
	var now *cassette.Interaction // the one that is sent
	answer := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", cmp.Or(now.ContentType, "application/json"))
		w.WriteHeader(max(now.Status, http.StatusOK))
		_, _ = w.Write(slices.Concat(now.Answer, []byte(now.AnswerText), now.AnswerBytes))
	})
	model := &llm.Transport{Base: proxytest.NewTransport(answer)}
	left := maxRead
	agent := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		for n := range calls {
			now = &calls[n]
			inside := ctx
			if now.Actor != "" {
				inside = proxy.WithActor(ctx, now.Actor)
			}
			switch {
			case now.Kind == "model" && left > 0:
				body := tape.RequestBody(now)
				left -= len(body)
				s := span{n: n, begin: time.Now()}
				if err := send(inside, model, now, body); err != nil && ctx.Err() != nil {
					return nil, err
				}
				s.end = time.Now()
				spans = append(spans, s)
			case now.Kind == "tool" && now.Status == http.StatusOK && now.Broken == "":
				_, _ = run.Proxy.Do(inside, now.Name, now.Arguments) // what is missing is not in the transcript
			}
		}
		messages = run.Transcript().Messages()
		return run.Transcript().Response("the end of the tape"), nil
	}
	platform, err := proxytest.New(proxytest.World{}, &proxytest.Options{RatePerMinute: -1, AllowUndeclared: true})
	if err != nil {
		return nil, err
	}
	played, err := dispatchtest.Dispatch(ctx, dispatchtest.Target{Agent: agent}, dispatchtest.Task{
		Instruction: cmp.Or(tape.Task.Instruction, noInstruction), Platform: platform,
		WrapProxy: func(http.Handler) http.Handler { return answer },
	})
	if err != nil {
		return nil, err
	}
	messages = slices.DeleteFunc(messages, func(m dispatch.Message) bool { return m.Content.String() == noInstruction })
	for _, p := range played.Problems {
		if !p.Fatal {
			problems = append(problems, p)
		}
	}
	read := &reading{&dispatchtest.Result{Messages: messages, Problems: problems}, map[int]dispatchtest.ModelRequest{}}
	for _, m := range played.ModelRequests {
		for len(spans) > 0 && spans[0].end.Before(m.At) {
			spans = spans[1:]
		}
		if len(spans) > 0 {
			m.Open = false
			read.models[spans[0].n] = m
		}
	}
	if left <= 0 {
		read.result.Faults = []string{"the transcript has only the first requests to models: all together are too large"}
	}
	return read, nil
}

// send sends a request to a model through package llm, and reads the response to its end. Of a path the tape
// has what package llm looks at, but for a model whose id may be the number of an account.
func send(ctx context.Context, model http.RoundTripper, i *cassette.Interaction, body []byte) error {
	end := strings.TrimPrefix(i.Name, "…")
	switch {
	case strings.HasPrefix(end, ":"): // of Google, or of Anthropic at Google
		end = "/publishers/anthropic/models/" + end
	case strings.HasPrefix(end, "/invoke"), strings.HasPrefix(end, "/converse"):
		end = "/model/" + end
	}
	r, err := http.NewRequestWithContext(ctx, cmp.Or(i.Method, http.MethodPost), "http://model.invalid"+end, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := model.RoundTrip(r)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return cmp.Or(err, resp.Body.Close())
}
