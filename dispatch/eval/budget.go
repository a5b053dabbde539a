package eval

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
)

// Budget bounds what an experiment may cost. No trial begins after a limit is reached; those that
// run then may exceed it. [Run] begins with the first trial of each case, then the second, so that a
// budget reaches as many cases as it can. Trials that did not begin are [Cancelled], and their Reason
// names the limit. Reports name the cases without a trial. With Options.Results a later [Run] completes them. If a limit is 0, there is none.
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
	calls, tokens := len(result.Calls), int64(0)
	for _, c := range result.Refused {
		if !c.Trace {
			calls++
		}
	}
	for _, turn := range result.Turns {
		tokens += tokensOf(turn.Body)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls, s.tokens = s.calls+calls, s.tokens+tokens
}

// tokensOf returns the tokens that a response reports.
func tokensOf(body string) int64 {
	var response struct {
		Metadata struct {
			Input  json.Number `json:"total_input_tokens"`
			Output json.Number `json:"total_output_tokens"`
		} `json:"metadata"`
	}
	_ = json.Unmarshal([]byte(body), &response) // a response that is not valid reports nothing
	return count(response.Metadata.Input) + count(response.Metadata.Output)
}

// count reads a number of tokens, which may be written as 1842.0. Sums of counts do not overflow.
func count(tokens json.Number) int64 {
	n, _ := tokens.Float64() // 0 if it is absent, infinite if it is too large
	return int64(min(max(n, 0), 1<<40))
}

// spent returns which limit is reached, or "".
func (s *spending) spent() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.budget
	switch {
	case b.Calls > 0 && s.calls >= b.Calls:
		return fmt.Sprintf("the budget of %s is spent", plural(b.Calls, "tool call"))
	case b.Tokens > 0 && s.tokens >= b.Tokens:
		return fmt.Sprintf("the budget of %d tokens is spent", b.Tokens)
	case b.Time > 0 && time.Since(s.begun) >= b.Time:
		return fmt.Sprintf("the budget of %s is spent", b.Time)
	}
	return ""
}
