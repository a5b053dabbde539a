package eval

import (
	"context"
	"fmt"
	"strings"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// EndState returns a grader that accepts a run if it leaves the ledger as the calls of a reference
// do, whatever calls the agent made. The calls are made in the world of the case, without its
// failure rules. reference returns the calls of a case, for example with [ParseTrajectory] from a
// column of its row. If it returns an error, or a call of the reference has no result, the trial is
// not graded: see [ErrNotGraded].
func EndState(reference func(Case) (Trajectory, error)) Grader {
	return func(ctx context.Context, c Case, result *dispatchtest.Result) error {
		calls, err := reference(c)
		var want ledger.Snapshot
		if err == nil {
			want, err = c.replay(ctx, calls)
		}
		if err != nil {
			return fmt.Errorf("%w: the reference: %w", ErrNotGraded, err)
		}
		changes := ledger.Diff(want, result.State)
		if len(changes) == 0 {
			return nil
		}
		var places, expected, actual []string
		for _, change := range changes {
			place, before, after := change.Pointer, orNothing(change.Before), orNothing(change.After)
			if change.Flag != "" {
				place, before, after = "flag "+change.Flag, fmt.Sprint(change.Kind == "removed"), fmt.Sprint(change.Kind == "added")
			}
			places = append(places, change.Kind+" "+place)
			expected, actual = append(expected, place+": "+before), append(actual, place+": "+after)
		}
		return &Mismatch{"the ledger is not as after the reference: " + strings.Join(places, ", "), strings.Join(expected, "\n"), strings.Join(actual, "\n")}
	}
}

// replay makes the calls in the world of the case, and returns the ledger.
func (c *Case) replay(ctx context.Context, calls Trajectory) (ledger.Snapshot, error) {
	platform := c.Task.Platform
	if platform == nil {
		var err error
		if platform, err = proxytest.New(c.Task.World, nil); err != nil {
			return ledger.Snapshot{}, err
		}
	}
	initial, err := rawjson.Encode(platform.NewRun().Ledger().Snapshot().Entities)
	if err != nil {
		return ledger.Snapshot{}, err
	}
	if platform, err = platform.With(string(initial), nil, ""); err != nil {
		return ledger.Snapshot{}, err
	}
	run := platform.NewRun()
	client := run.Client(nil)
	for i, call := range calls {
		if _, err := client.Do(ctx, call.Tool, call.Arguments); err != nil {
			return ledger.Snapshot{}, fmt.Errorf("call %d, %s: %w", i+1, call.Tool, err)
		}
	}
	return run.Log().State, nil
}
