package proxy_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptrace"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/testkit"
	"github.com/toolwire/toolwire/proxy"
)

// limiter is a server that enforces the rate, behind a network that delays requests and answers at
// random.
type limiter struct {
	mu        sync.Mutex
	seen      []time.Time
	allowed   func(seen []time.Time, now time.Time) bool
	rejected  int
	delay     func() time.Duration
	workDelay func() time.Duration
}

func (l *limiter) RoundTrip(r *http.Request) (*http.Response, error) {
	written(r)
	time.Sleep(l.delay()) // on the way
	l.mu.Lock()
	now := time.Now()
	ok := l.allowed(l.seen, now)
	if ok {
		l.seen = append(l.seen, now)
	} else {
		l.rejected++
	}
	l.mu.Unlock()
	if !ok {
		return answer(429, `{}`)(r)
	}
	time.Sleep(l.workDelay())
	return answer(200, seedAnswer)(r)
}

// written reports a request as sent, as net/http's transport does.
func written(r *http.Request) {
	trace := httptrace.ContextClientTrace(r.Context())
	trace.GetConn("")
	trace.WroteHeaders()
	trace.WroteRequest(httptrace.WroteRequestInfo{})
}

func slidingMinute(seen []time.Time, now time.Time) bool {
	n := 0
	for _, at := range seen {
		if now.Sub(at) < time.Minute {
			n++
		}
	}
	return n < 60
}

func fixedMinute(seen []time.Time, now time.Time) bool {
	n := 0
	for _, at := range seen {
		if at.Truncate(time.Minute).Equal(now.Truncate(time.Minute)) {
			n++
		}
	}
	return n < 60
}

func TestPacingIsNeverRejected(t *testing.T) {
	for _, tt := range []struct {
		name    string
		allowed func([]time.Time, time.Time) bool
		work    time.Duration // of a call, at most
	}{
		{"sliding, quick tools", slidingMinute, 10 * ms},
		{"sliding, slow tools", slidingMinute, 20 * time.Second},
		{"fixed, quick tools", fixedMinute, 10 * ms},
		{"fixed, slow tools", fixedMinute, 20 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				random := func(most time.Duration) func() time.Duration {
					return func() time.Duration { return time.Duration(rand.Int64N(int64(most) + 1)) }
				}
				server := &limiter{allowed: tt.allowed, delay: random(1500 * ms), workDelay: random(tt.work)}
				c := newClient(t, server)
				var done atomic.Int64
				var group sync.WaitGroup
				start := time.Now()
				for i := range 32 {
					client := c
					if i%2 == 0 {
						client = c.As(fmt.Sprintf("sub-%d", i)) // derived clients share the pace
					}
					group.Go(func() {
						for done.Add(1) <= 200 {
							if _, err := client.Do(background, "get_order", nil); err != nil {
								t.Error(err)
							}
						}
					})
				}
				group.Wait()
				if len(server.seen) != 200 || server.rejected != 0 {
					t.Errorf("%d calls arrived, %d were rejected", len(server.seen), server.rejected)
				}
				if took := time.Since(start); took > 5*time.Minute {
					t.Errorf("took %s, far more than the rate demands", took)
				}
			})
		})
	}
}

func TestPacerOfSeveralClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &limiter{allowed: slidingMinute, delay: func() time.Duration { return ms },
			workDelay: func() time.Duration { return ms }}
		pacer := proxy.NewPacer(60, time.Minute)
		var group sync.WaitGroup
		for range 4 {
			c := newClient(t, server, func(o *proxy.Options) { o.Pacer = pacer })
			group.Go(func() {
				for range 30 {
					if _, err := c.Do(background, "x", nil); err != nil {
						t.Error(err)
					}
				}
			})
		}
		group.Wait()
		if len(server.seen) != 120 || server.rejected != 0 {
			t.Errorf("%d calls arrived, %d were rejected", len(server.seen), server.rejected)
		}
	})
}

// paced returns a client of a pacer for 2 requests in 10 s, and the transport behind it.
func paced(t *testing.T, steps ...step) (*proxy.Client, *script) {
	s := &script{steps: steps}
	return newClient(t, s, func(o *proxy.Options) { o.Pacer = proxy.NewPacer(2, 10*time.Second) }), s
}

func TestPacingIsFirstComeFirstServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := paced(t, answer(200, seedAnswer))
		var group sync.WaitGroup
		for i := range 7 {
			group.Go(func() { _, _ = c.Do(background, fmt.Sprintf("t%d", i), nil) })
			time.Sleep(time.Second)
		}
		group.Wait()
		for i, sent := range s.requests() {
			if want := fmt.Sprintf("%s/tools/t%d", baseURL, i); sent.url != want {
				t.Errorf("request %d went to %s, want %s", i, sent.url, want)
			}
		}
		for i := 2; i < 7; i++ {
			if gap := s.sent[i].at.Sub(s.sent[i-2].at); gap < 10*time.Second || gap > 11*time.Second {
				t.Errorf("request %d came %s after the last but one", i, gap)
			}
		}
	})
}

func TestPacingRepeatsCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := answer(503, `{"detail":{"error_class":"lock_contention"}}`)
		c, s := paced(t, busy, busy, answer(200, seedAnswer))
		if _, err := c.Do(background, "x", nil); err != nil {
			t.Fatal(err)
		}
		if gap := s.sent[2].at.Sub(s.sent[0].at); gap < 10*time.Second {
			t.Errorf("three attempts within %s", gap)
		}
	})
}

func TestPacingRefusesWaitsBeyondTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := paced(t, answer(200, seedAnswer))
		for range 2 {
			_, _ = c.Do(background, "x", nil)
		}
		start := time.Now()
		ctx, cancel := context.WithTimeout(background, 9*time.Second)
		defer cancel()
		_, err := c.Do(ctx, "x", nil)
		wantError(t, err, toolwire.CodeDeadline, proxy.NotSent)
		if time.Since(start) != 0 || len(s.requests()) != 2 {
			t.Errorf("took %s, %d requests", time.Since(start), len(s.requests()))
		}
		// A longer deadline is enough for two more, but not for three.
		ctx, cancel = context.WithTimeout(background, 15*time.Second)
		defer cancel()
		var failed atomic.Int64
		var group sync.WaitGroup
		for range 3 {
			group.Go(func() {
				if _, err := c.Do(ctx, "x", nil); err != nil {
					wantError(t, err, toolwire.CodeDeadline, proxy.NotSent)
					failed.Add(1)
				}
			})
		}
		group.Wait()
		if failed.Load() != 1 {
			t.Errorf("%d of 3 calls failed, want 1", failed.Load())
		}
	})
}

func TestPacingGivesPlacesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := paced(t, answer(200, seedAnswer))
		for range 2 {
			_, _ = c.Do(background, "x", nil)
		}
		ctx, cancel := context.WithCancel(background)
		var group sync.WaitGroup
		for range 5 { // these queue up and leave again
			group.Go(func() {
				_, err := c.Do(ctx, "cancelled", nil)
				wantError(t, err, toolwire.CodeCanceled,
					proxy.NotSent)
			})
		}
		synctest.Wait()
		start := time.Now()
		for range 2 {
			group.Go(func() {
				if _, err := c.Do(background, "y", nil); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		time.Sleep(time.Second)
		cancel()
		group.Wait()
		if took := time.Since(start); took > 11*time.Second || len(s.requests()) != 4 {
			t.Errorf("took %s and %d requests: the cancelled calls kept their places", took, len(s.requests()))
		}
	})
}

func TestA429HoldsEverybodyBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{steps: []step{answer(429, ``, "Retry-After", "20"), answer(200, seedAnswer)}}
		c := newClient(t, s)
		var group sync.WaitGroup
		group.Go(func() { _, _ = c.Do(background, "first", nil) })
		synctest.Wait()
		group.Go(func() { _, _ = c.Do(background, "second", nil) })
		group.Wait()
		if gap := s.sent[1].at.Sub(s.sent[0].at); gap < 20*time.Second {
			t.Errorf("another call was sent %s after the 429, which asked for 20 s", gap)
		}
	})
}

// The others wait for the longest time that a 429 has asked for, and for at most a minute.
func TestSeveral429sHoldEverybodyBack(t *testing.T) {
	for _, tt := range []struct {
		name  string
		asked []string // by answers that arrive one after the other
		wait  time.Duration
	}{
		{"the longer one first", []string{"30", "1"}, 30 * time.Second},
		{"the longer one last", []string{"1", "30"}, 30 * time.Second},
		{"more than a minute", []string{"3600"}, time.Minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start, s := time.Now(), &script{}
				for i, seconds := range tt.asked {
					refused := answer(429, ``, "Retry-After", seconds)
					s.steps = append(s.steps, func(r *http.Request) (*http.Response, error) {
						time.Sleep(time.Duration(i+1) * time.Millisecond)
						return refused(r)
					})
				}
				s.steps = append(s.steps, answer(200, seedAnswer))
				c := newClient(t, s, func(o *proxy.Options) { o.MaxAttempts = 1 })
				var group sync.WaitGroup
				for range tt.asked {
					group.Go(func() { _, _ = c.Do(background, "refused", nil) })
					synctest.Wait()
				}
				group.Wait()
				if _, err := c.Do(background, "later", nil); err != nil {
					t.Fatal(err)
				}
				if waited := time.Since(start); waited.Round(time.Second) != tt.wait {
					t.Errorf("the next call was sent after %s", waited)
				}
			})
		})
	}
}

// A 429 that asks for no time holds the others back until it is repeated.
func TestA429WithoutATimeHoldsEverybodyBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{steps: []step{answer(429, ``), answer(200, seedAnswer)}}
		c := newClient(t, s)
		var group sync.WaitGroup
		for range 2 {
			group.Go(func() { _, _ = c.Do(background, "x", nil) })
			synctest.Wait()
		}
		group.Wait()
		if gap := s.sent[1].at.Sub(s.sent[0].at); gap < 375*time.Millisecond {
			t.Errorf("another call was sent %s after the 429", gap)
		}
	})
}

// A call whose context ends before it learns that it is let through gives its place back.
func TestAPlaceThatComesTooLateIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 200 { // the two ends race
			ctx, cancel := context.WithCancel(background)
			release := make(chan struct{})
			c := newClient(t, transportFunc(func(r *http.Request) (*http.Response, error) {
				if strings.HasSuffix(r.URL.Path, "/first") {
					<-release
					cancel() // this call gives its place to the other one next
				}
				return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
			}), func(o *proxy.Options) { o.Pacer, o.MaxAttempts = proxy.NewPacer(1, time.Second), 1 })
			var group sync.WaitGroup
			group.Go(func() { _, _ = c.Do(background, "first", nil) })
			synctest.Wait()
			group.Go(func() { _, _ = c.Do(ctx, "second", nil) })
			synctest.Wait()
			close(release)
			group.Wait()
			limited, stop := context.WithTimeout(background, time.Hour)
			if _, err := c.Do(limited, "third", nil); toolwire.CodeOf(err) != toolwire.CodeTransport {
				t.Fatalf("the place is lost: %v", err)
			}
			stop()
		}
	})
}

// panicking is a log handler that panics.
type panicking struct{ slog.Handler }

func (panicking) Enabled(context.Context, slog.Level) bool      { return true }
func (panicking) Handle(_ context.Context, r slog.Record) error { panic(r.Message) }

// A call whose logger panics while it waits takes no place.
func TestALoggerThatPanicsTakesNoPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{steps: []step{answer(200, seedAnswer)}}
		pacer := proxy.NewPacer(1, time.Second)
		shares := func(o *proxy.Options) { o.Pacer = pacer }
		c := newClient(t, s, shares)
		broken := newClient(t, s, shares,
			func(o *proxy.Options) { o.Logger = slog.New(panicking{slog.DiscardHandler}) })
		_, _ = c.Do(background, "x", nil)
		func() {
			defer func() {
				if p := recover(); p != "proxy waits for its rate limit" {
					t.Errorf("recovered %v", p)
				}
			}()
			_, _ = broken.Do(background, "x", nil)
		}()
		ctx, cancel := context.WithTimeout(background, time.Hour)
		defer cancel()
		if _, err := c.Do(ctx, "x", nil); err != nil {
			t.Errorf("the place is lost: %v", err)
		}
	})
}

// A place counts from when the server can have seen the request: at the latest two seconds after it
// was written, and not from the answer of a slow tool; and it counts even when the caller has given
// up.
func TestPlacesLastFromArrival(t *testing.T) {
	for _, tt := range []struct {
		name      string
		cancel    time.Duration // of the first call; 0 is never
		takes     time.Duration // the first call's answer
		low, high time.Duration // between the two requests
	}{
		{"slow tool", 0, 9 * time.Second, 12 * time.Second, 13 * time.Second},
		{"quick tool", 0, 10 * ms, 10 * time.Second, 11 * time.Second},
		{"given up", ms, time.Hour, 12 * time.Second, 13 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{steps: []step{func(r *http.Request) (*http.Response, error) {
					written(r)
					select {
					case <-time.After(tt.takes):
						return answer(200, seedAnswer)(r)
					case <-r.Context().Done():
						return nil, r.Context().Err()
					}
				}, answer(200, seedAnswer)}}
				c := newClient(t, s, func(o *proxy.Options) { o.Pacer = proxy.NewPacer(1, 10*time.Second) })
				ctx, cancel := context.WithCancel(background)
				defer cancel()
				if tt.cancel > 0 {
					time.AfterFunc(tt.cancel, cancel)
				}
				var group sync.WaitGroup
				group.Go(func() { _, _ = c.Do(ctx, "x", nil) })
				synctest.Wait()
				_, _ = c.Do(background, "y", nil)
				group.Wait()
				if gap := s.waits()[0]; gap < tt.low || gap > tt.high {
					t.Errorf("the next request came after %s, want %s to %s", gap, tt.low, tt.high)
				}
			})
		})
	}
}

func TestFailedDialsCostNoPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := func(r *http.Request) (*http.Response, error) {
			httptrace.ContextClientTrace(r.Context()).GetConn("")
			return nil, errors.New("refused")
		}
		s := &script{steps: []step{refused, refused, refused, refused, refused, answer(200, seedAnswer)}}
		c := newClient(t, s, func(o *proxy.Options) { o.Pacer, o.MaxAttempts = proxy.NewPacer(2, 10*time.Second), 1 })
		start := time.Now()
		for range 7 {
			_, _ = c.Do(background, "x", nil)
		}
		if took := time.Since(start); took != 0 || len(s.requests()) != 7 {
			t.Errorf("7 calls took %s, %d requests; 5 of them never reached the proxy", took, len(s.requests()))
		}
	})
}

func TestDeadlinesWhileHeld(t *testing.T) {
	for _, tt := range []struct {
		name     string
		pacer    *proxy.Pacer
		hold     string // Retry-After of the first answer
		callers  int
		deadline time.Duration // of the last caller, which has to be enough
	}{
		{"more callers than places", nil, "4", 61, 100 * time.Second},
		{"nothing is taken any more", proxy.NewPacer(1, time.Second), "30", 2, 40 * time.Second},
		{"no limit but the hold", proxy.NewPacer(0, 0), "30", 5, 31 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{steps: []step{answer(429, ``, "Retry-After", tt.hold), answer(200, seedAnswer)}}
				c := newClient(t, s, func(o *proxy.Options) { o.Pacer = tt.pacer })
				var group sync.WaitGroup
				group.Go(func() { _, _ = c.Do(background, "x", nil) })
				synctest.Wait()
				time.Sleep(2 * time.Second)
				for range tt.callers {
					group.Go(func() {
						ctx, cancel := context.WithTimeout(background, time.Hour)
						defer cancel()
						if _, err := c.Do(ctx, "x", nil); err != nil {
							t.Error(err)
						}
					})
				}
				synctest.Wait()
				ctx, cancel := context.WithTimeout(background, tt.deadline)
				defer cancel()
				if _, err := c.Do(ctx, "x", nil); err != nil {
					t.Errorf("refused although the deadline leaves time enough: %v", err)
				}
				group.Wait()
			})
		})
	}
}

func TestQueuedCallsEndWithTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{steps: []step{func(r *http.Request) (*http.Response, error) {
			time.Sleep(time.Second)
			return answer(401, `{"detail":{"error_class":"run_token_expired"}}`)(r)
		}}}
		pacer := proxy.NewPacer(1, 10*time.Second)
		c := newClient(t, s, func(o *proxy.Options) { o.Pacer = pacer })
		other := newClient(t, s, func(o *proxy.Options) { o.Pacer = pacer })
		start := time.Now()
		var group sync.WaitGroup
		for _, c := range []*proxy.Client{c, c, other, c, other} {
			group.Go(func() {
				if _, err := c.Do(background, "x", nil); !proxy.IsRunOver(err) {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if took := time.Since(start); took != time.Second || len(s.requests()) != 1 {
			t.Errorf("%d requests, the last call ended after %s", len(s.requests()), took)
		}
	})
}

// A 401 without the class of a token that has ended is the end for its client only.
func TestQueuedCallsEndWithTheirClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{steps: []step{func(r *http.Request) (*http.Response, error) {
			time.Sleep(time.Second)
			return answer(401, `{}`)(r)
		}}}
		c := newClient(t, s, func(o *proxy.Options) { o.Pacer = proxy.NewPacer(1, 10*time.Second) })
		start := time.Now()
		var group sync.WaitGroup
		for range 3 {
			group.Go(func() {
				if _, err := c.Do(background, "x", nil); !proxy.IsRunOver(err) {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if took := time.Since(start); took != time.Second || len(s.requests()) != 1 {
			t.Errorf("%d requests, the last call ended after %s", len(s.requests()), took)
		}
	})
}

func TestUnlimitedPacer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{steps: []step{answer(200, seedAnswer)}}
		c := newClient(t, s, func(o *proxy.Options) { o.Pacer = proxy.NewPacer(0, 0) })
		start := time.Now()
		for range 1000 {
			_, _ = c.Do(background, "x", nil)
		}
		if time.Since(start) != 0 {
			t.Errorf("1,000 calls took %s", time.Since(start))
		}
	})
}

func TestWaitsForThePaceAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := &script{steps: []step{answer(200, seedAnswer)}}
		c := newClient(t, s, func(o *proxy.Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
		for i := range 61 {
			if i == 60 && log.Len() > 0 {
				t.Errorf("logged before the limit was reached: %s", log.String())
			}
			if _, err := c.Do(t.Context(), "get_order", nil); err != nil {
				t.Fatal(err)
			}
		}
		if got := log.String(); strings.Count(got, "\n") != 1 ||
			!strings.Contains(got,
				`level=INFO msg="proxy waits for its rate limit" tool=get_order wait=1m0.05s limit=60 window=1m0s`) {
			t.Errorf("logged %q", got)
		}
	})
}

// A pacer without a limit waits only if the proxy asks for it.
func TestUnpacedRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{steps: []step{answer(200, seedAnswer), answer(429, `{}`, "Retry-After", "5"),
			answer(200, seedAnswer)}}
		c := newClient(t, s, func(o *proxy.Options) { o.Pacer = proxy.NewPacer(0, 0) })
		start := time.Now()
		for range 200 {
			if _, err := c.Do(background, "get_order", nil); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(start); took < 5*time.Second || took > 10*time.Second {
			t.Errorf("200 calls took %s, of which only the 429 asks to wait", took)
		}
	})
}

// A request that a panic has ended counts as sent, and gives its place back like any other.
func TestAPanicKeepsNoPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{steps: []step{func(*http.Request) (*http.Response, error) { panic("transport") },
			answer(200, seedAnswer)}}
		c := newClient(t, s, func(o *proxy.Options) { o.Pacer = proxy.NewPacer(1, time.Minute) })
		func() {
			defer func() {
				if p := recover(); p != "transport" {
					t.Errorf("recovered %v", p)
				}
			}()
			_, _ = c.Do(background, "get_order", nil)
		}()
		start := time.Now()
		ctx, cancel := context.WithTimeout(background, time.Hour)
		defer cancel()
		if _, err := c.Do(ctx, "get_order", nil); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(start); waited < time.Minute || waited > 2*time.Minute {
			t.Errorf("waited %s", waited)
		}
	})
}

// A handler keeps the pacers of thousands of runs for an hour. A pacer without requests in flight is
// few objects, however many requests it has admitted.
func TestAPacerAtRestIsSmall(t *testing.T) {
	const pacers = 1000
	kept := make([]*proxy.Pacer, pacers)
	objects := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC() // what other tests have left in pools
		runtime.ReadMemStats(&m)
		return int64(m.HeapObjects)
	}
	before := objects()
	for i := range kept {
		kept[i] = new(proxy.Pacer)
		c, err := proxy.New(baseURL, runToken, &proxy.Options{Transport: testkit.Canned(seedAnswer), Pacer: kept[i]})
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			if _, err := c.Do(background, "get_order", nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	if each := float64(objects()-before) / pacers; each > 4 {
		t.Errorf("a pacer has %.1f objects after 20 calls, want at most 4", each)
	}
	runtime.KeepAlive(kept)
}

// A request that gets no answer counts as sent, and gives its place back like any other, even if the
// transport does not tell when it has written the request.
func TestAFailedRequestKeepsNoPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{steps: []step{failing(errors.New("connection reset")), answer(200, seedAnswer)}}
		c := newClient(t, s, func(o *proxy.Options) { o.Pacer = proxy.NewPacer(1, time.Minute) })
		if _, err := c.Do(background, "get_order", nil); toolwire.CodeOf(err) != toolwire.CodeTransport {
			t.Fatalf("got %v", err)
		}
		start := time.Now()
		ctx, cancel := context.WithTimeout(background, time.Hour)
		defer cancel()
		if _, err := c.Do(ctx, "get_order", nil); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(start); waited < time.Minute || waited > 2*time.Minute {
			t.Errorf("waited %s", waited)
		}
	})
}
