package proxy

import (
	"context"
	"sync"
	"time"
)

// A Journal is an [Observer] that keeps the last calls, without arguments and results. It is safe for concurrent use.
type Journal struct {
	mu      sync.Mutex
	most    int
	entries []Entry
	next    int // where the next entry goes once the journal is full
	dropped int
}

// Entry is one call in a [Journal].
type Entry struct {
	Tool     string
	Actor    string
	Start    time.Time
	Duration time.Duration
	Attempts int     // requests tried; 0 when none was sent
	Source   Source  // "" when the call failed
	Failed   bool    // the tool answered with a failure; see [Result.Failed]
	Code     Code    // "" when the proxy gave a result
	Outcome  Outcome // "" when the proxy gave a result
	Status   int     // HTTP status of a failed call's last answer; 0 if there was none
	Class    string  // error class of a failed call's last answer
}

// NewJournal returns a journal that keeps the last most calls. 0 or less means 1,000.
func NewJournal(most int) *Journal {
	if most <= 0 {
		most = 1000
	}
	return &Journal{most: most}
}

// CallStart implements [Observer].
func (j *Journal) CallStart(ctx context.Context, _ CallInfo) context.Context { return ctx }

// CallEnd implements [Observer].
func (j *Journal) CallEnd(_ context.Context, call CallEnd) {
	e := Entry{Tool: call.Tool, Actor: call.Actor, Start: time.Now().Add(-call.Duration), Duration: call.Duration}
	if err, ok := call.Err.(*Error); ok {
		e.Attempts, e.Code, e.Outcome, e.Status, e.Class = err.Attempts, err.Code, err.Outcome, err.Status, err.Class
	} else if call.Result != nil {
		e.Attempts, e.Source, e.Failed = call.Result.Attempts, call.Result.Source, call.Result.Failed()
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.entries) < j.most {
		j.entries = append(j.entries, e)
		return
	}
	j.entries[j.next] = e
	j.next = (j.next + 1) % j.most
	j.dropped++
}

// Entries returns the calls that are kept, the first to end first.
func (j *Journal) Entries() []Entry {
	j.mu.Lock()
	defer j.mu.Unlock()
	out := make([]Entry, 0, len(j.entries))
	return append(append(out, j.entries[j.next:]...), j.entries[:j.next]...)
}

// Dropped returns how many calls are no longer kept.
func (j *Journal) Dropped() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.dropped
}
