package proxy_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/proxy"
)

// notes writes a line for everything that an observer is told. The context has the name of the last
// start.
type notes struct{ lines []string }

type startedBy struct{}

func (n *notes) add(ctx context.Context, format string, args ...any) {
	in, _ := ctx.Value(startedBy{}).(string)
	n.lines = append(n.lines, fmt.Sprintf(format, args...)+" in "+in)
}

func (n *notes) observer() *proxy.Observer {
	return &proxy.Observer{
		CallStart: func(ctx context.Context, call proxy.CallInfo) context.Context {
			n.add(ctx, "call %s", call.Tool)
			return context.WithValue(ctx, startedBy{}, call.Tool)
		},
		CallEnd: func(ctx context.Context, end proxy.CallEnd) {
			n.add(ctx, "call %s ended %q after %s", end.Tool, toolwire.CodeOf(end.Err), end.Duration)
		},
		AttemptStart: func(ctx context.Context, attempt proxy.AttemptInfo) context.Context {
			n.add(ctx, "attempt %d of %s%s", attempt.Number, attempt.Origin, attempt.Path)
			attempt.Header.Set("Traceparent", fmt.Sprintf("attempt-%d", attempt.Number))
			return context.WithValue(ctx, startedBy{}, fmt.Sprintf("attempt %d", attempt.Number))
		},
		AttemptEnd: func(ctx context.Context, end proxy.AttemptEnd) {
			n.add(ctx, "attempt %d ended %d %q after %s", end.Number, end.Status, toolwire.CodeOf(end.Err), end.Duration)
		},
		WaitStart: func(ctx context.Context, wait proxy.WaitInfo) {
			n.add(ctx, "%s waits %s for attempt %d because %s", wait.Name, wait.Expected, wait.Next, wait.Reason())
		},
		WaitEnd: func(ctx context.Context, end proxy.WaitEnd) {
			n.add(ctx, "%s waited %s of %s for attempt %d because %q", end.Name, end.Duration, end.Expected, end.Next, toolwire.CodeOf(end.Err))
		},
		TraceEnd: func(ctx context.Context, end proxy.TraceEnd) {
			n.add(ctx, "event %s %d by %q from %q to %q ended %q", end.Event, end.Sequence, end.Actor, end.From, end.To,
				toolwire.CodeOf(end.Err))
		},
	}
}

func (n *notes) want(t *testing.T, lines ...string) {
	t.Helper()
	if !slices.Equal(n.lines, lines) {
		t.Errorf("the observer was told\n\t%s\nwant\n\t%s", strings.Join(n.lines, "\n\t"), strings.Join(lines, "\n\t"))
	}
}

// slowly answers after a second.
func slowly(then step) step {
	return func(r *http.Request) (*http.Response, error) {
		time.Sleep(time.Second)
		return then(r)
	}
}

func TestObserverOfAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &notes{}
		s := &script{steps: []step{
			slowly(answer(429, `{}`, "Retry-After", "7")), slowly(failing(errors.New("broken"))), slowly(answer(200, seedAnswer)),
		}}
		c := newClient(t, s, func(o *proxy.Options) {
			o.Observer, o.Pacer = n.observer(), proxy.NewPacer(0, 0)
		})
		_, _ = c.Do(t.Context(), "get_order", nil)
		_, _ = c.Do(t.Context(), "get_order", nil)
		n.want(t,
			`call get_order in `,
			`attempt 1 of https://api.example.com/tools/get_order in get_order`,
			`attempt 1 ended 429 "rate_limited" after 1s in attempt 1`,
			`get_order waits 7s for attempt 2 because the proxy answered 429 in get_order`,
			`get_order waited 7s of 7s for attempt 2 because "rate_limited" in get_order`,
			`attempt 2 of https://api.example.com/tools/get_order in get_order`,
			`attempt 2 ended 0 "transport" after 1s in attempt 2`,
			`call get_order ended "transport" after 9s in get_order`,
			`call get_order in `,
			`attempt 1 of https://api.example.com/tools/get_order in get_order`,
			`attempt 1 ended 200 "" after 1s in attempt 1`,
			`call get_order ended "" after 1s in get_order`,
		)
		for i, r := range s.requests() {
			if got, want := r.header.Get("Traceparent"), []string{"attempt-1", "attempt-2", "attempt-1"}[i]; got != want {
				t.Errorf("request %d has the header %q, want %q", i, got, want)
			}
		}
	})
}

// The wait for the rate limit is reported with the time that it really took.
func TestObserverOfPacing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &notes{}
		c := newClient(t, &script{steps: []step{answer(200, seedAnswer)}}, func(o *proxy.Options) {
			o.Observer = &proxy.Observer{WaitStart: n.observer().WaitStart, WaitEnd: n.observer().WaitEnd}
			o.Pacer = proxy.NewPacer(1, 10*time.Second)
		})
		_, _ = c.Do(t.Context(), "first", nil)
		_, _ = c.Do(t.Context(), "second", nil)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(3*time.Second, cancel)
		_, _ = c.Do(ctx, "third", nil)
		n.want(t,
			`second waits 10.05s for attempt 1 because a run token may make 1 request in 10s in `,
			`second waited 10.05s of 10.05s for attempt 1 because "" in `,
			`third waits 10.05s for attempt 1 because a run token may make 1 request in 10s in `,
			`third waited 3s of 10.05s for attempt 1 because "" in `,
		)
	})
}

// A wait before a repeat that the context ends is reported too.
func TestObserverOfAWaitThatIsCutShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &notes{}
		c := newClient(t, &script{steps: []step{answer(429, `{}`, "Retry-After", "7")}}, func(o *proxy.Options) {
			o.Observer = n.observer()
		})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(3*time.Second, cancel)
		_, _ = c.Do(ctx, "get_order", nil)
		n.want(t,
			`call get_order in `,
			`attempt 1 of https://api.example.com/tools/get_order in get_order`,
			`attempt 1 ended 429 "rate_limited" after 0s in attempt 1`,
			`get_order waits 7s for attempt 2 because the proxy answered 429 in get_order`,
			`get_order waited 3s of 7s for attempt 2 because "rate_limited" in get_order`,
			`call get_order ended "canceled" after 3s in get_order`,
		)
	})
}

func TestObserverOfEvents(t *testing.T) {
	n := &notes{}
	s := &script{steps: []step{
		answer(200, `{"accepted":true,"sequence":17}`), answer(200, `{"accepted":true,"sequence":18}`),
		answer(200, `{"accepted":false}`),
	}}
	o := n.observer()
	o.AttemptEnd = nil // so that no time is in the lines
	c := newClient(t, s).Observe(o).Observe(nil).As("supervisor")
	_, _ = c.Trace(t.Context(), proxy.EventThinking, map[string]string{"text": "hunter2"})
	_, _ = c.Handoff(t.Context(), "supervisor", "supervisor/refunds")
	_, _ = c.Trace(t.Context(), proxy.EventCustom, nil)
	_, _ = c.Trace(t.Context(), "invented", nil)
	_, _ = c.Handoff(t.Context(), "supervisor", " ")
	n.want(t,
		`attempt 1 of https://api.example.com/traces/thinking in `,
		`event thinking 17 by "supervisor" from "" to "" ended "" in `,
		`attempt 1 of https://api.example.com/traces/handoff in `,
		`event handoff 18 by "supervisor" from "supervisor" to "supervisor/refunds" ended "" in `,
		`attempt 1 of https://api.example.com/traces/custom in `,
		`event custom 0 by "supervisor" from "" to "" ended "refused" in `,
		`event invented 0 by "supervisor" from "" to "" ended "invalid_event" in `,
		`event handoff 0 by "supervisor" from "supervisor" to " " ended "actor_id_invalid" in `,
	)
	if sent := s.requests()[1]; sent.header.Get("Traceparent") != "attempt-1" {
		t.Errorf("the event was sent with %v", sent.header)
	}
}

// An observer adds headers, and replaces none that the client depends on.
func TestHeadersOfObservers(t *testing.T) {
	c, s := scripted(t, answer(200, seedAnswer))
	add := func(name string) *proxy.Observer {
		return &proxy.Observer{AttemptStart: func(ctx context.Context, attempt proxy.AttemptInfo) context.Context {
			attempt.Header[name] = []string{"added"}
			return ctx
		}}
	}
	kept := []string{
		"Authorization", "authorization", "X-Pipelines-Actor-Id", "x-pipelines-run-token", "Content-Type", "Content-Length",
		"Content-Encoding", "Accept-Encoding", "Transfer-Encoding", "Host", "Connection", "Cookie", "Expect",
		"Proxy-Authorization", "Keep-Alive", "Te", "Trailer", "Upgrade",
	}
	for _, name := range kept {
		c = c.Observe(add(name))
	}
	if _, err := c.Observe(add("Traceparent")).Observe(add("b3")).As("sub").Do(t.Context(), "get_order", nil); err != nil {
		t.Fatal(err)
	}
	header := s.requests()[0].header
	for _, name := range kept {
		if header.Get(name) == "added" || len(header[name]) > 1 {
			t.Errorf("%s is %q", name, header[name])
		}
	}
	if header.Get("Authorization") != "Bearer "+runToken || header.Get("X-Pipelines-Actor-Id") != "sub" {
		t.Errorf("sent with %v", header)
	}
	if header.Get("Traceparent") != "added" || header.Get("B3") != "added" {
		t.Errorf("sent with %v", header)
	}
}

// A call does not lose its place in the window if an observer panics.
func TestObserverThatPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, o := range map[string]*proxy.Observer{
			"AttemptStart": {AttemptStart: func(context.Context, proxy.AttemptInfo) context.Context { panic("observer") }},
			"AttemptEnd":   {AttemptEnd: func(context.Context, proxy.AttemptEnd) { panic("observer") }},
			"WaitEnd":      {WaitEnd: func(context.Context, proxy.WaitEnd) { panic("observer") }},
		} {
			c := newClient(t, &script{steps: []step{answer(200, seedAnswer)}}, func(o *proxy.Options) {
				o.Pacer = proxy.NewPacer(1, 10*time.Second)
			})
			if name == "WaitEnd" {
				_, _ = c.Do(t.Context(), "get_order", nil)
			}
			func() {
				defer func() {
					if recover() != "observer" {
						t.Errorf("%s did not panic", name)
					}
				}()
				_, _ = c.Observe(o).Do(t.Context(), "get_order", nil)
			}()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			if _, err := c.Do(ctx, "get_order", nil); err != nil {
				t.Errorf("%s: the next call: %v", name, err)
			}
			cancel()
		}
	})
}

// An observer may have AttemptEnd alone. It gets no headers.
func TestObserverOfTheEndsOfAttempts(t *testing.T) {
	c, _ := scripted(t, answer(404, `{}`))
	var ends []proxy.AttemptEnd
	add := &proxy.Observer{AttemptStart: func(ctx context.Context, attempt proxy.AttemptInfo) context.Context {
		attempt.Header.Set("Traceparent", "added")
		return ctx
	}}
	for _, others := range []*proxy.Observer{nil, add} {
		observed := c.Observe(others).Observe(&proxy.Observer{AttemptEnd: func(_ context.Context, end proxy.AttemptEnd) {
			ends = append(ends, end)
		}})
		_, _ = observed.Do(t.Context(), "get_order", nil)
	}
	for _, end := range ends {
		if end.Path != "/tools/get_order" || end.Number != 1 || end.Header != nil || end.Status != 404 {
			t.Errorf("%+v", end)
		}
	}
	if len(ends) != 2 {
		t.Errorf("%d ends", len(ends))
	}
}

func TestReasonOfAWait(t *testing.T) {
	for want, wait := range map[string]proxy.WaitInfo{
		"the proxy answered 429 rate_limited": {Err: &proxy.Error{Status: 429, Class: "rate_limited"}},
		"the proxy answered 503":              {Err: &proxy.Error{Status: 503}},
		"the proxy did not answer":            {Err: &proxy.Error{Err: errors.New("reset")}},
	} {
		if got := wait.Reason(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
