package eval

import (
	"fmt"
	"sync"
	"time"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/internal/text"
)

// Budget limits the cost of an experiment. No trial begins after a limit is reached; trials that
// are running may exceed it. [Run] begins with the first trial of each case, then the second, so
// that a budget reaches as many cases as it can. With Options.FirstFailure it runs case by case.
// Trials that did not begin are [Cancelled], and their Reason names the limit. Reports name the
// cases without a trial. With Options.ResultsFile a later [Run] completes them. A limit of 0 sets
// no limit. The tokens of a [User] or a [Judge] do not count.
type Budget struct {
	Calls  int           // requests for tools, with or without a result
	Tokens int64         // that the agent reports: total_input_tokens and total_output_tokens of metadata
	Time   time.Duration // since Run began
}

// spending is what the trials of one Run have cost.
type spending struct {
	budget Budget
	begun  time.Time

	mu     sync.Mutex
	calls  int
	tokens int64
}

// add counts a trial.
func (s *spending) add(result *dispatchtest.Result) {
	if result == nil {
		return
	}
	calls, tokens := callsOf(result), int64(0)
	for _, turn := range result.Turns {
		u, _, _ := usageOf(turn.Body)
		tokens += u.Input + u.Output
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls, s.tokens = s.calls+calls, s.tokens+tokens
}

// spent returns which limit is reached, or "".
func (s *spending) spent() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.budget
	switch {
	case b.Calls > 0 && s.calls >= b.Calls:
		return fmt.Sprintf("the budget of %s is spent", text.Plural(b.Calls, "tool call"))
	case b.Tokens > 0 && s.tokens >= b.Tokens:
		return fmt.Sprintf("the budget of %d tokens is spent", b.Tokens)
	case b.Time > 0 && time.Since(s.begun) >= b.Time:
		return fmt.Sprintf("the budget of %s is spent", b.Time)
	}
	return ""
}
