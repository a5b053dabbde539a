package eval

import (
	"cmp"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/internal/text"
)

// Budget limits what trials need. A limit of 0 sets no limit. The tokens of a [User] or a [Judge] do not count.
type Budget struct {
	Calls  int           `json:"calls,omitempty"`   // requests for tools, with or without a result
	Tokens int64         `json:"tokens,omitempty"`  // that the agent reports: total_input_tokens and total_output_tokens of metadata
	Cost   float64       `json:"cost,omitempty"`    // of these tokens, by Options.Prices
	Time   time.Duration `json:"time_ns,omitempty"` // since [Run] began; of a trial, from the dispatches to the responses
}

// limit returns what a trial may need of a measure; it is infinite without a limit.
func (b Budget) limit(measure string) float64 {
	limit := map[string]float64{
		scoreCalls: float64(b.Calls), scoreTokensIn: float64(b.Tokens), scoreTokensOut: float64(b.Tokens), scoreCost: b.Cost, scoreSeconds: b.Time.Seconds(),
	}[measure]
	if limit <= 0 {
		return math.Inf(1)
	}
	return limit
}

// judge says which limit of a trial its scores exceed, or may exceed; "" if none.
func (b Budget) judge(scores map[string]float64) (verdict Verdict, cause string, reason string) {
	if reason := b.exceeded(scores); reason != "" {
		return Failed, causeLimit, reason
	}
	for _, name := range measures {
		if _, known := scores[name]; !known && !math.IsInf(b.limit(name), 1) {
			return Errored, causeNotGraded, fmt.Sprintf("the score %s is unknown, so the limit of %g cannot be checked", name, b.limit(name))
		}
	}
	return Passed, "", ""
}

// exceeded says which limit of a trial its scores exceed, as far as they are known; "" if none.
func (b Budget) exceeded(scores map[string]float64) string {
	tokens := scores[scoreTokensIn] + scores[scoreTokensOut]
	switch {
	case b.Calls > 0 && scores[scoreCalls] > float64(b.Calls):
		return fmt.Sprintf("it called tools %g times, and a trial may do so %d times", scores[scoreCalls], b.Calls)
	case b.Tokens > 0 && tokens > float64(b.Tokens):
		return fmt.Sprintf("it needed %.0f tokens, and a trial may need %d", tokens, b.Tokens)
	case b.Cost > 0 && scores[scoreCost] > b.Cost:
		return fmt.Sprintf("it cost %s, and a trial may cost %g", amount(scores[scoreCost]), b.Cost)
	case b.Time > 0 && scores[scoreSeconds] > b.Time.Seconds():
		return fmt.Sprintf("it took %s s, and a trial may take %s", amount(scores[scoreSeconds]), b.Time)
	}
	return ""
}

// or returns the budget with the limits of another one that it does not set.
func (b Budget) or(other Budget) Budget {
	return Budget{cmp.Or(b.Calls, other.Calls), cmp.Or(b.Tokens, other.Tokens), cmp.Or(b.Cost, other.Cost), cmp.Or(b.Time, other.Time)}
}

// spending is what the trials of one Run have cost.
type spending struct {
	budget Budget
	prices Prices
	begun  time.Time

	mu     sync.Mutex
	calls  int
	tokens int64
	cost   float64
}

// add counts a trial.
func (s *spending) add(result *dispatchtest.Result) {
	if result == nil {
		return
	}
	calls, tokens, cost := callsOf(result), int64(0), 0.0
	for _, turn := range result.Turns {
		u, _, _ := usageOf(turn.Body)
		spent, _ := s.prices.cost([]usage{u})
		tokens, cost = tokens+u.Input+u.Output, cost+spent
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls, s.tokens, s.cost = s.calls+calls, s.tokens+tokens, s.cost+cost
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
	case b.Cost > 0 && s.cost >= b.Cost:
		return fmt.Sprintf("the budget of %g for the cost is spent", b.Cost)
	case b.Time > 0 && time.Since(s.begun) >= b.Time:
		return fmt.Sprintf("the budget of %s is spent", b.Time)
	}
	return ""
}
