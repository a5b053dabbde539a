package dispatch

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolwire/toolwire/proxy"
)

// Bounds of the states of run tokens that no dispatch uses.
const (
	maxTokenIdle = time.Hour
	maxTokens    = 10_000
)

// tokens keeps the state of run tokens across dispatches, because the turns of a session share one
// token. It stores keyed hashes of the tokens, never a token.
type tokens struct {
	seeds    [2]maphash.Seed
	newPacer func() *proxy.Pacer

	mu          sync.Mutex
	states      map[tokenKey]*token
	first, last *token // the idle ones, the longest idle first
}

type tokenKey [2]uint64

// token is what the dispatches of one run token share.
type token struct {
	tokens  *tokens
	pacer   *proxy.Pacer // also remembers that the token has ended
	numbers atomic.Int64 // of the ids that transcripts have made

	// The rest must be used with the mutex of tokens held.
	key        tokenKey
	users      int // dispatches in progress
	idle       time.Time
	prev, next *token // among the idle ones
}

func (t *tokens) init(newPacer func() *proxy.Pacer) {
	t.newPacer = newPacer
	t.seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}
	t.states = map[tokenKey]*token{}
}

// enter returns the state of a run token and keeps it until leave.
func (t *tokens) enter(runToken string, now time.Time) *token {
	key := tokenKey{maphash.String(t.seeds[0], runToken), maphash.String(t.seeds[1], runToken)}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.evict(now)
	s := t.states[key]
	switch {
	case s == nil:
		s = &token{tokens: t, key: key, pacer: t.newPacer()}
		t.states[key] = s
	case s.users == 0:
		t.unlink(s)
	}
	s.users++
	return s
}

// leave ends a use of the state. Call it once for each enter.
func (s *token) leave() {
	t := s.tokens
	t.mu.Lock()
	defer t.mu.Unlock()
	s.users--
	if s.users > 0 {
		return
	}
	s.idle = time.Now()
	s.prev = t.last
	if t.last != nil {
		t.last.next = s
	} else {
		t.first = s
	}
	t.last = s
	t.evict(s.idle)
}

// evict removes states that are idle for too long, and the longest idle ones if there are too many.
// It must be called with t.mu held.
func (t *tokens) evict(now time.Time) {
	for t.first != nil && (len(t.states) > maxTokens || now.Sub(t.first.idle) >= maxTokenIdle) {
		delete(t.states, t.first.key)
		t.unlink(t.first)
	}
}

func (t *tokens) unlink(s *token) {
	if s.prev != nil {
		s.prev.next = s.next
	} else {
		t.first = s.next
	}
	if s.next != nil {
		s.next.prev = s.prev
	} else {
		t.last = s.prev
	}
	s.prev, s.next = nil, nil
}
