package dispatchtest

import (
	"io"
	"time"

	"github.com/toolwire/toolwire/dispatch/internal/testrun"
	"github.com/toolwire/toolwire/internal/testkit"
)

// A player stands in for the platform in one run.
type player struct {
	*testrun.Setup
	task    Task
	userErr error // of Conversation.User

	// follow is called with the run so far when a request to the agent begins. The context of Dispatch
	// carries it, for packages of this module that show a run while it goes on.
	follow func(*Result)

	// earlier are the turns of a session that this run goes on with. The context of Dispatch carries them too.
	earlier []Turn
}

func newPlayer(host *testrun.Host, target Target, task Task, output io.Writer) (*player, error) {
	s, err := host.New(testrun.Target(target), testrun.Task{
		ID: task.ID, AgentID: task.AgentID, Input: task.Input, World: task.World, Platform: task.Platform,
		MaxTurns: task.Conversation.maxTurns(), ProxyURL: task.ProxyURL, WrapProxy: task.WrapProxy,
	}, output)
	if err != nil {
		return nil, err
	}
	return &player{Setup: s, task: task}, nil
}

// A Wait is a wait of the agent's proxy.Client before it sent a tool call.
type Wait struct {
	Tool  string    `json:"tool"`
	Actor string    `json:"actor,omitempty"`
	At    time.Time `json:"at,omitzero"`

	// Duration is the wait as it was announced. A wait for the rate limit may take longer.
	Duration time.Duration `json:"duration_ns"`

	// Reason is the rate limit and how to lift it, or the response after which the client repeats
	// the call.
	Reason string `json:"reason"`

	Order int `json:"order,omitempty"` // see [Exchange]
}

// A ModelRequest is a request of the agent to a model, through llm.Transport.
type ModelRequest struct {
	Model  string    `json:"model,omitempty"` // its id; "" if it is not known
	Actor  string    `json:"actor,omitempty"` // the label of the sub-agent
	At     time.Time `json:"at"`
	TookMS float64   `json:"took_ms"` // until the response was read; of an open request, until the run ended
	Open   bool      `json:"open,omitempty"`
	Status int       `json:"status,omitempty"` // of the response; 0 if there was none

	InputTokens  int64 `json:"input_tokens,omitempty"`
	OutputTokens int64 `json:"output_tokens,omitempty"`

	Order int `json:"order,omitempty"` // see [Exchange]
}

func (s *player) waits() (list []Wait) {
	for _, w := range s.Witness.Waits() {
		list = append(list, Wait{
			Tool: w.Name, Actor: w.Actor, At: w.At, Order: w.Order, Duration: w.Expected,
			Reason: testkit.WaitReason(w.Reason(), w.Err == nil),
		})
	}
	return list
}

func (s *player) modelRequests() (list []ModelRequest) {
	for _, m := range s.Witness.ModelRequests() {
		list = append(list, ModelRequest{
			Model: s.Secrets().Redact(m.Model), Actor: m.Actor, At: m.At, TookMS: milliseconds(m.Took), Open: m.Open,
			Status: m.Status, InputTokens: m.InputTokens, OutputTokens: m.OutputTokens, Order: m.Order,
		})
	}
	return list
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
