package main

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/proxy"
)

// runaways sends runs to an endpoint whose time limit is over before its agents return: they ignore
// their context. Each must be answered in the meantime. Afterwards the agents go on, with calls of
// their own, and some of them panic.
func (s *soak) runaways() {
	w := s.newWorld()
	proxySite := s.serve(http2, w)
	outgoing, incoming := http2.transport(), http1.transport()
	defer outgoing.CloseIdleConnections()
	defer incoming.CloseIdleConnections()
	token := newSecret()
	opts := s.options(token, outgoing)
	opts.RunTimeout, opts.Reserve = 40*time.Millisecond, 20*time.Millisecond
	h, err := dispatch.New(func(_ context.Context, in *dispatch.Run) (*dispatch.Response, error) {
		r := w.run(in.TaskID)
		r.started.Add(1)
		defer r.ended.Add(1)
		<-r.release // and not the end of the context
		client, err := proxy.New(proxySite.URL+r.on.Path, r.on.Token, &proxy.Options{
			Transport: outgoing, Repeatable: []string{repeatable}, Logger: s.log,
		})
		if err != nil {
			s.violate(r.name, "%v", err)
			return nil, err
		}
		for _, c := range r.calls {
			c.make(context.Background(), s, r, client)
		}
		if r.number%3 == 0 {
			panic(r.private)
		}
		return &dispatch.Response{FinalResponse: "too late"}, nil
	}, opts)
	if err != nil {
		panic(err)
	}
	site := s.serve(http1, h)
	c := &caller{soak: s, world: w, transport: incoming, endpoint: site.URL, proxy: proxySite.URL}
	runs := s.plan(w, s.runs/2, func() ending { return done }, 2)
	s.each(runs, 64, func(r *run) {
		defer close(r.release)
		got := c.deliver(r, token)
		check := dispatch.CheckResponse(got.body)
		if got.status != http.StatusOK || check.FinalResponse == "too late" { // on a slow machine it is empty
			s.violate(r.name, "answered with %d %.200s (%v), want the timeout response", got.status, got.body, got.err)
		}
		if n := r.started.Load(); n > 1 {
			s.violate(r.name, "its agent has run %d times", n)
		}
	})
	s.drained(h, runs)
	site.stop()
	proxySite.stop()
	for _, r := range runs {
		s.account(r)
	}
}

// A rotation is a sequence of secrets, of which a window is accepted. Each is accepted before it is
// the newest, and the oldest is retired one by one.
type rotation struct {
	secrets        []string
	turning        sync.Mutex
	oldest, newest atomic.Int64 // the accepted ones
}

func newRotation(n int) *rotation {
	r := &rotation{}
	for range n {
		r.secrets = append(r.secrets, newSecret())
	}
	r.newest.Store(1)
	return r
}

// accepted returns the secrets that are accepted now.
func (r *rotation) accepted() []string {
	oldest := r.oldest.Load() // first, so that the window is never empty
	return r.secrets[oldest : r.newest.Load()+1]
}

// turn accepts the next secret and retires the oldest.
func (r *rotation) turn() {
	r.turning.Lock()
	defer r.turning.Unlock()
	if next := r.newest.Load() + 1; int(next)+1 < len(r.secrets) { // one is left that is not yet valid
		r.newest.Store(next)
		r.oldest.Add(1)
	}
}

// pick returns the number of a secret that is mostly valid, and sometimes retired or not yet valid.
func (r *rotation) pick(number int) int64 {
	newest := r.newest.Load()
	switch number % 8 {
	case 0:
		return max(0, newest-2)
	case 1:
		return newest + 1
	case 2, 3:
		return newest - 1
	}
	return newest
}

// use calls send with the secret n and checks whether it had to be accepted. Without an answer it is
// not known whether it was.
func (r *rotation) use(s *soak, name string, n int64, send func(secret string) (accepted, known bool)) {
	oldest, newest := r.oldest.Load(), r.newest.Load()
	ok, known := send(r.secrets[n])
	oldestLater, newestLater := r.oldest.Load(), r.newest.Load()
	switch {
	case !known:
	case ok && (n < oldest || n > newestLater):
		s.violate(name, "accepted with the secret %d, although %d to %d were valid", n, oldest, newestLater)
	case !ok && n >= oldestLater && n <= newest:
		s.violate(name, "refused with the secret %d, although %d to %d were valid", n, oldestLater, newest)
	}
}

// rotates sends runs with tokens that are not yet, now, or no longer valid, while they change.
func (s *soak) rotates() {
	w := s.newWorld()
	proxySite := s.serve(http1, w)
	outgoing, incoming := http1.transport(), http2.transport()
	defer outgoing.CloseIdleConnections()
	defer incoming.CloseIdleConnections()
	turning := newRotation(s.runs/4 + 4)
	opts := s.options("", outgoing)
	opts.Tokens, opts.TokenFunc = nil, turning.accepted
	h := w.endpoint(opts, nil)
	site := s.serve(http2, h)
	c := &caller{soak: s, world: w, transport: incoming, endpoint: site.URL, proxy: proxySite.URL}
	runs := s.plan(w, s.runs, func() ending { return done }, 1)
	s.each(runs, 16, func(r *run) {
		if r.number%4 == 0 {
			turning.turn()
		}
		turning.use(s, r.name, turning.pick(r.number), func(token string) (accepted, known bool) {
			got := c.deliver(r, token)
			started := r.started.Load()
			if got.status == http.StatusOK && started != 1 || got.status == http.StatusUnauthorized && started != 0 ||
				got.status != http.StatusOK && got.status != http.StatusUnauthorized {
				s.violate(r.name, "answered with %d %.200s (%v), its agent has run %d times", got.status, got.body, got.err,
					started)
			}
			return got.status == http.StatusOK, true
		})
	})
	s.drained(h, runs)
	site.stop()
	proxySite.stop()
	for _, r := range runs {
		s.account(r)
	}
}

// drains drains and restarts an endpoint while runs are sent to it. A dispatch that was not
// answered, or refused, must not have run and is sent again, until each has been answered once.
func (s *soak) drains() {
	w := s.newWorld()
	proxySite := s.serve(http1, w)
	outgoing, incoming := http1.transport(), http1.transport()
	defer outgoing.CloseIdleConnections()
	defer incoming.CloseIdleConnections()
	token := newSecret()
	h := w.endpoint(s.options(token, outgoing), nil)
	site := s.serve(http1, h)
	c := &caller{soak: s, world: w, transport: incoming, endpoint: site.URL, proxy: proxySite.URL}
	runs := s.plan(w, s.runs, func() ending { return done }, 2)
	var sent atomic.Int64
	restart := func() error {
		ctx, cancel := context.WithTimeout(context.Background(), safety)
		defer cancel()
		if err := h.Drain(ctx); err != nil {
			return err
		}
		for _, r := range runs {
			if begun, ended := r.started.Load(), r.ended.Load(); begun != ended {
				return fmt.Errorf("%s runs after Drain", r.name)
			}
		}
		if err := site.server.Shutdown(ctx); err != nil {
			return err
		}
		<-site.served
		h = w.endpoint(s.options(token, outgoing), nil)
		next := http.Handler(h)
		site.handler.Store(&next)
		site.start()
		return nil
	}
	var restarting sync.Mutex
	s.each(runs, 32, func(r *run) {
		if n := sent.Add(1); n == int64(len(runs)/4) || n == int64(len(runs)/2) {
			restarting.Lock()
			if err := restart(); err != nil {
				s.violate(r.name, "the restart: %v", err)
			}
			restarting.Unlock()
		}
		c.judge(r, c.deliver(r, token))
	})
	s.drained(h, runs)
	site.stop()
	proxySite.stop()
	for _, r := range runs {
		s.account(r)
	}
}
