package dispatch

import (
	"container/list"
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

	mu     sync.Mutex
	states map[tokenKey]*token
	idle   list.List // of *token, the longest idle first
}

type tokenKey [2]uint64

// token is what the dispatches of one run token share.
type token struct {
	tokens  *tokens
	pacer   *proxy.Pacer // also remembers that the token has ended
	numbers atomic.Int64 // of the ids that transcripts have made

	// The rest must be used with the mutex of tokens held.
	key   tokenKey
	users int           // dispatches in progress
	idle  *list.Element // in the list of tokens; not used while it has users
	since time.Time     // when it became idle
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
		t.idle.Remove(s.idle)
	}
	s.users++
	return s
}

// leave ends a use of the state. Call it once for each enter.
func (s *token) leave() {
	t := s.tokens
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.users--; s.users == 0 {
		s.since = time.Now()
		s.idle = t.idle.PushBack(s)
		t.evict(s.since)
	}
}

// evict removes states that are idle for too long, and the longest idle ones if there are too many.
// It must be called with t.mu held.
func (t *tokens) evict(now time.Time) {
	for e := t.idle.Front(); e != nil; e = t.idle.Front() {
		s := e.Value.(*token)
		if len(t.states) <= maxTokens && now.Sub(s.since) < maxTokenIdle {
			return
		}
		t.idle.Remove(e)
		delete(t.states, s.key)
	}
}
