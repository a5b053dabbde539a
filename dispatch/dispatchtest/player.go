package dispatchtest

import (
	"io"
	"time"

	"github.com/toolwire/toolwire/dispatch/internal/testrun"
	"github.com/toolwire/toolwire/internal/testkit"
)

// A player plays the platform's part of a run.
type player struct {
	*testrun.Setup
	task    Task
	userErr error // of Conversation.User
}

func newPlayer(target Target, task Task, output io.Writer) (*player, error) {
	s, err := testrun.New(testrun.Target(target), testrun.Task{
		ID: task.ID, AgentID: task.AgentID, Input: task.Input, World: task.World, Platform: task.Platform,
		MaxTurns: task.Conversation.maxTurns(), ProxyURL: task.ProxyURL, WrapProxy: task.WrapProxy,
	}, output)
	if err != nil {
		return nil, err
	}
	return &player{Setup: s, task: task}, nil
}

// A Wait is a wait of the agent's [proxy.Client] before it sent a tool call.
type Wait struct {
	Tool string `json:"tool"`

	// Duration is the wait as it was announced. A wait for the rate limit may take longer.
	Duration time.Duration `json:"duration_ns"`

	// Reason is the rate limit and how to lift it, or the response after which the client repeats
	// the call.
	Reason string `json:"reason"`
}

func (s *player) waits() (list []Wait) {
	for _, w := range s.Witness.Waits() {
		list = append(list, Wait{w.Name, w.Expected, testkit.WaitReason(w.Reason(), w.Err == nil)})
	}
	return list
}
