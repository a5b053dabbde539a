// Package waits has the lengths of the waits between the attempts of a call, the same for every client of this module.
package waits

import (
	"time"

	"github.com/cenkalti/backoff/v4"
)

// A wait is min(0.5 s × 2^k, 4 s) times a uniform factor of 0.75 to 1.25, and at most Longest.
const (
	first   = 500 * time.Millisecond
	growth  = 2
	spread  = 0.25
	Longest = 4 * time.Second
)

// Series is the waits of one call. It is stateful and not safe for concurrent use.
type Series struct{ backoff *backoff.ExponentialBackOff }

// NewSeries returns a series at its beginning.
func NewSeries() Series {
	return Series{backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(first), backoff.WithMultiplier(growth), backoff.WithRandomizationFactor(spread),
		backoff.WithMaxInterval(Longest), backoff.WithMaxElapsedTime(0),
	)}
}

// Next returns the next wait. The library adds its jitter after its own cap, so it is capped again.
func (s Series) Next() time.Duration { return min(s.backoff.NextBackOff(), Longest) }

// Reset begins the series again.
func (s Series) Reset() { s.backoff.Reset() }
