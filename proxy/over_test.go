package proxy_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/proxy"
)

// Clients that share a pacer share the end of their token. Only the three documented classes say
// that the token has ended; any other 401 ends the client that met it.
func TestTheEndOfATokenAndTheEndOfARun(t *testing.T) {
	for _, tt := range []struct {
		class string
		ends  bool // the token
	}{
		{"run_token_expired", true}, {"run_token_invalid", true}, {"run_token_rejected", true}, {"", false},
		{"other", false},
	} {
		t.Run(tt.class, func(t *testing.T) {
			s := &script{steps: []step{answer(401, `{"detail":{"error_class":"`+tt.class+`"}}`),
				answer(200, seedAnswer)}}
			pacer := new(proxy.Pacer)
			var told []error
			shares := func(o *proxy.Options) { o.Pacer = pacer }
			c := newClient(t, s, shares, func(o *proxy.Options) {
				o.OnRunOver = func(err error) {
					told = append(told,
						err)
				}
			})
			_, err := c.As("sub").Do(background, "get_order", nil)
			if e := wantError(t, err, toolwire.CodeRunOver, proxy.Refused); e.Class != tt.class {
				t.Errorf("class %q", e.Class)
			}
			if len(told) != 1 || !errors.Is(err, told[0]) {
				t.Errorf("OnRunOver was called with %v", told)
			}
			_, err = c.Do(background, "get_order", nil)
			wantError(t, err, toolwire.CodeRunOver, proxy.NotSent)
			if len(s.requests()) != 1 || len(told) != 1 {
				t.Errorf("%d requests, OnRunOver was called %d times", len(s.requests()), len(told))
			}

			var second []error
			_, err = newClient(t, s, shares,
				func(o *proxy.Options) { o.OnRunOver = func(err error) { second = append(second, err) } }).
				Do(background, "get_order", nil)
			if proxy.IsRunOver(err) != tt.ends || (len(second) == 1) != tt.ends {
				t.Errorf("another client of the token: %v, OnRunOver %v", err, second)
			}
			if _, err := newClient(t, s).Do(background, "get_order", nil); err != nil {
				t.Errorf("a client of another token: %v", err)
			}
		})
	}
	t.Run("a pacer without a limit", func(t *testing.T) {
		s := &script{steps: []step{answer(401, `{"detail":{"error_class":"run_token_expired"}}`),
			answer(200, seedAnswer)}}
		unlimited := proxy.NewPacer(0, 0)
		for range 2 {
			_, _ = newClient(t, s, func(o *proxy.Options) { o.Pacer = unlimited }).Do(background, "get_order", nil)
		}
		if len(s.requests()) != 2 {
			t.Errorf("%d requests of two tokens", len(s.requests()))
		}
	})
}

// Of several requests that the proxy refuses at the same time, the first ends the run, and each may say
// that the token has ended.
func TestSeveralRefusalsAtTheSameTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{}
		for i, class := range []string{"", "run_token_expired"} {
			refused := answer(401, `{"detail":{"error_class":"`+class+`"}}`)
			s.steps = append(s.steps, func(r *http.Request) (*http.Response, error) {
				time.Sleep(time.Duration(i+1) * time.Millisecond)
				return refused(r)
			})
		}
		pacer, told := new(proxy.Pacer), 0
		shares := func(o *proxy.Options) { o.Pacer = pacer }
		c := newClient(t, s, shares, func(o *proxy.Options) { o.OnRunOver = func(error) { told++ } })
		var group sync.WaitGroup
		for range 2 {
			group.Go(func() {
				_, err := c.Do(background, "get_order", nil)
				wantError(t, err, toolwire.CodeRunOver, proxy.Refused)
			})
			synctest.Wait()
		}
		group.Wait()
		if told != 1 {
			t.Errorf("OnRunOver was called %d times", told)
		}
		_, err := newClient(t, s, shares).Do(background, "get_order", nil)
		wantError(t, err, toolwire.CodeRunOver, proxy.NotSent)
	})
}

// An answer that names two classes has none, so it does not end the token.
func TestAClassThatIsRepeated(t *testing.T) {
	for _, body := range []string{
		`{"error_class":"other","error_class":"run_token_expired"}`,
		`{"error_class":"run_token_expired","error_\u0063lass":"other"}`,
		`{"detail":{"error_class":"other","error_class":"run_token_expired"}}`,
		`{"detail":{"error_class":"other"},"detail":{"error_class":"run_token_expired"}}`,
	} {
		pacer := new(proxy.Pacer)
		s := &script{steps: []step{answer(401, body), answer(200, seedAnswer)}}
		shares := func(o *proxy.Options) { o.Pacer = pacer }
		_, err := newClient(t, s, shares).Do(background, "get_order", nil)
		if e := wantError(t, err, toolwire.CodeRunOver, proxy.Refused); e.Class != "" {
			t.Errorf("%s: class %q", body, e.Class)
		}
		if _, err := newClient(t, s, shares).Do(background, "get_order", nil); err != nil {
			t.Errorf("%s: another client of the token: %v", body, err)
		}
	}
}

// A trace event learns of the end like a call does, and OnRunOver may use the client.
func TestATraceEventLearnsOfTheEnd(t *testing.T) {
	var c *proxy.Client
	ctx, cancel := context.WithCancelCause(background)
	c = newClient(t, &script{steps: []step{answer(401, `{}`)}}, func(o *proxy.Options) {
		o.OnRunOver = func(err error) {
			if _, again := c.Do(background, "get_order", nil); !proxy.IsRunOver(again) {
				t.Errorf("a call in OnRunOver: %v", again)
			}
			cancel(err)
		}
	})
	if _, err := c.Trace(ctx, proxy.EventCustom, nil); err == nil {
		t.Error("accepted")
	}
	if !proxy.IsRunOver(context.Cause(ctx)) {
		t.Errorf("cause %v", context.Cause(ctx))
	}
	_, err := c.Do(ctx, "get_order", nil)
	if !proxy.IsRunOver(err) {
		t.Errorf("a call with the canceled context: %v", err)
	}
}

// A call that is under way when the run ends returns the end of its context; that the run is over
// is in its chain.
func TestIsRunOverFindsTheCauseOfAContext(t *testing.T) {
	over := &proxy.Error{Code: toolwire.CodeRunOver}
	canceled := &proxy.Error{Code: toolwire.CodeCanceled, Err: fmt.Errorf("%w: %w", context.Canceled, over)}
	for _, tt := range []struct {
		err  error
		want bool
	}{
		{nil, false}, {errors.New("x"), false}, {over, true}, {fmt.Errorf("agent: %w", over), true},
		{canceled, true}, {fmt.Errorf("agent: %w", canceled), true},
		{&proxy.Error{Code: toolwire.CodeCanceled, Err: context.Canceled}, false},
	} {
		if got := proxy.IsRunOver(tt.err); got != tt.want {
			t.Errorf("IsRunOver(%v) = %t", tt.err, got)
		}
	}
}

func TestTheZeroPacerHasTheDocumentedLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{steps: []step{answer(200, seedAnswer)}}
		pacer := new(proxy.Pacer)
		start := time.Now()
		for range 2 {
			c := newClient(t, s, func(o *proxy.Options) { o.Pacer = pacer })
			for range 31 {
				if _, err := c.Do(background, "get_order", nil); err != nil {
					t.Fatal(err)
				}
			}
		}
		sent := s.requests()
		if first, last := sent[59].at.Sub(start), sent[60].at.Sub(start); first != 0 || last <= time.Minute {
			t.Errorf("request 60 was sent after %s, request 61 after %s", first, last)
		}
	})
}

type infos struct {
	mu  sync.Mutex
	ids []string
}

func (i *infos) observer() *proxy.Observer {
	return &proxy.Observer{
		CallStart: func(ctx context.Context, info proxy.CallInfo) context.Context {
			i.add(info.CallID)
			return ctx
		},
		CallEnd: func(_ context.Context, end proxy.CallEnd) { i.add(end.CallID) },
	}
}
func (i *infos) add(id string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.ids = append(i.ids, id)
}

func TestWithCallID(t *testing.T) {
	seen := &infos{}
	s := &script{steps: []step{func(r *http.Request) (*http.Response, error) {
		for name, values := range r.Header {
			if fmt.Sprint(values) == "[toolu_1]" {
				t.Errorf("the id is sent as %s", name)
			}
		}
		return answer(200, seedAnswer)(r)
	}}}
	c := newClient(t, s, func(o *proxy.Options) { o.Observer = seen.observer() })
	_, _ = c.Do(proxy.WithCallID(background, "toolu_1"), "get_order", nil)
	_, _ = c.Do(background, "get_order", nil)
	if got := fmt.Sprintf("%q", seen.ids); got != `["toolu_1" "toolu_1" "" ""]` {
		t.Errorf("observers got %s", got)
	}
}

// Frameworks show the errors of tools to the model and go on. The end of their context stops them.
func ExampleOptions_onRunOver() {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	client, err := proxy.New("https://api.example.com/runs/abc", "run-token", &proxy.Options{
		OnRunOver: cancel,
		Transport: &script{steps: []step{answer(401, `{"detail":{"error_class":"run_token_expired"}}`)}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, _ = client.Do(ctx, "get_order", nil)
	fmt.Println(proxy.IsRunOver(context.Cause(ctx)))
	// Output: true
}

// The error of the end is not changed after OnRunOver, observers and other calls have it. The error
// of a call that may have run before the end says so.
func TestTheEndAfterAnAttemptThatMayHaveRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{steps: []step{
			failing(errors.New("broken")), answer(401, `{"detail":{"error_class":"run_token_expired"}}`),
		}}
		var told, observed error
		c := newClient(t, s, func(o *proxy.Options) {
			o.Repeatable, o.OnRunOver = []string{"get_order"}, func(err error) { told = err }
			o.Observer = &proxy.Observer{AttemptEnd: func(_ context.Context, end proxy.AttemptEnd) { observed = end.Err }}
		})
		_, err := c.Do(t.Context(), "get_order", nil)
		wantError(t, err, toolwire.CodeRunOver, proxy.Unknown)
		wantError(t, told, toolwire.CodeRunOver, proxy.Refused)
		wantError(t, observed, toolwire.CodeRunOver, proxy.Refused)
	})
}
