package httpcall

import (
	"context"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v4"
)

// A Policy bounds the repeats of a call. The waits are 0.5, 1, 2 and then 3.2 s, each times a uniform
// factor of 0.75 to 1.25, so at most 4 s ("Porting without the SDK", retryable errors), or what the
// peer asks for if that is longer.
type Policy struct {
	Peer        string // names the other side in texts, such as "the proxy"
	MaxAttempts int    // in all; 1 or less means that nothing is repeated
}

// MaxRetryAfter is the longest wait that a peer can ask for.
const MaxRetryAfter = time.Minute

// Next tells what follows an attempt.
type Next struct {
	Again bool          // another attempt may be made
	After time.Duration // the peer asks to wait that long; see [RetryAfter]
}

// A Reason tells why Repeat stopped.
type Reason int

const (
	Final     Reason = iota // the last attempt succeeded or must not be repeated
	Exhausted               // there were MaxAttempts attempts
	TooLong                 // the peer asks for a longer wait than MaxRetryAfter
	TooLate                 // the next attempt would begin after the deadline of the context
	Stopped                 // the context ended during a wait
)

// A Stop is the end of a series of attempts. Err says why no further attempt was made; it is nil
// for Final and Exhausted.
type Stop struct {
	Reason Reason
	Err    error
}

// Repeat calls attempt until it must not be repeated, with the number of the attempt, from 1. It
// calls waiting, if that is not nil, before each wait. It does not begin a wait that ends after the
// deadline of ctx.
func (p *Policy) Repeat(
	ctx context.Context, attempt func(number int) Next, waiting func(number int, wait time.Duration),
) Stop {
	var series *backoff.ExponentialBackOff // made for the first wait, because most calls need none
	for number := 1; ; number++ {
		next := attempt(number)
		switch {
		case !next.Again:
			return Stop{Reason: Final}
		case number >= p.MaxAttempts:
			return Stop{Reason: Exhausted}
		case next.After > MaxRetryAfter:
			err := fmt.Errorf("%s asks to wait %s, more than the limit of %s", p.Peer, next.After, MaxRetryAfter)
			return Stop{TooLong, err}
		}
		if series == nil {
			series = newSeries()
		}
		wait := max(series.NextBackOff(), next.After)
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= wait {
			wait = wait.Round(time.Millisecond)
			return Stop{TooLate, fmt.Errorf("the next attempt is due in %s, after the call's deadline", wait)}
		}
		if waiting != nil {
			waiting(number, wait)
		}
		if err := sleep(ctx, wait); err != nil {
			return Stop{Stopped, err}
		}
	}
}

// newSeries makes the waits that the peer did not ask for. The library multiplies by the random factor
// after it has applied its bound: 3.2 s × 1.25 is 4 s.
func newSeries() *backoff.ExponentialBackOff {
	return backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(500*time.Millisecond), backoff.WithMultiplier(2),
		backoff.WithRandomizationFactor(0.25), backoff.WithMaxInterval(3200*time.Millisecond), backoff.WithMaxElapsedTime(0),
	)
}

func sleep(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		if ctx.Err() == nil {
			return nil
		}
	case <-ctx.Done():
	}
	return ContextError(ctx)
}
