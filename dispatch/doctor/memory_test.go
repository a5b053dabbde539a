package doctor_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/doctor"
)

// withMemory is an agent that answers with the user's messages that it knows.
type withMemory struct {
	replay bool   // it reads the replayed messages
	model  string // that the metadata name
	tokens int64
	silent bool // what it knows is in its messages, not in its answer
	fails  bool // a later turn

	mu    sync.Mutex
	kept  map[string][]string // the messages of each session, if it is not nil
	turns int
}

func (a *withMemory) answer(_ context.Context, run *dispatch.Run) (*dispatch.Response, error) {
	known := []string{run.Instruction}
	if a.replay {
		history, err := run.History()
		if err != nil {
			return nil, err
		}
		known = nil
		for _, message := range history {
			if message.Role == dispatch.RoleUser {
				known = append(known, message.Content.String())
			}
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.turns++
	if a.kept != nil && run.SessionID != "" {
		known = append(a.kept[run.SessionID], known...)
		a.kept[run.SessionID] = known
	}
	if a.fails && run.TurnID > "1" {
		return nil, errors.New("no more")
	}
	response := &dispatch.Response{FinalResponse: "I know " + strings.Join(known[:max(len(known)-1, 0)], ", ") + "."}
	if a.silent {
		response.FinalResponse = "I am ready."
		for _, text := range known {
			response.Messages = append(response.Messages, dispatch.Message{Role: dispatch.RoleUser, Content: dispatch.Text(text)})
		}
		response.Messages = append(response.Messages, dispatch.Message{Role: dispatch.RoleAssistant, Content: dispatch.Text("I am ready.")})
	}
	if a.model != "" || a.tokens > 0 {
		response.Metadata = &dispatch.Metadata{Model: a.model, TotalInputTokens: a.tokens}
	}
	return response, nil
}

// Whether an agent knows the earlier turns is judged only if it can be seen.
func TestMemory(t *testing.T) {
	t.Parallel()
	kept := func() map[string][]string { return map[string][]string{} }
	const ok, warned, skipped = doctor.StatusOK, doctor.StatusWarning, doctor.StatusSkipped
	for _, tt := range []struct {
		name             string
		agent            *withMemory
		replay, stateful doctor.Status
		seen             []string
	}{
		{"reads the replayed messages", &withMemory{replay: true}, ok, skipped, []string{"do not show"}},
		{"keeps the session", &withMemory{kept: kept()}, ok, ok, []string{"a later turn has what only the first turn said"}},
		{"shows it in its messages", &withMemory{replay: true, kept: kept(), silent: true}, ok, ok, nil},
		{"no model", &withMemory{}, skipped, skipped, []string{"do not show whether the agent knows the earlier turns"}},
		{"a model that forgets", &withMemory{model: "fake-1"}, warned, warned, []string{
			"asked for the reference that the first turn gave, the agent answers without it: I know .", "input.messages", "input.session_id",
		}},
		{"a model that only counts tokens", &withMemory{tokens: 5, silent: true}, warned, warned, []string{"without it: I am ready."}},
		{"a model with replay only", &withMemory{model: "fake-1", replay: true}, ok, warned, nil},
		{"fails later", &withMemory{fails: true}, skipped, skipped, []string{"needs session_replay, which failed", "needs session_stateful, which failed"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			opts := scenarios("session_replay", "memory_replay", "session_stateful", "memory_stateful")
			report := examineWith(t, endpoints(t, tt.agent.answer)["handler"], opts)
			text := report.String()
			for name, want := range map[doctor.Name]doctor.Status{"memory_replay": tt.replay, "memory_stateful": tt.stateful} {
				f := find(t, report, name)
				if f.Status != want {
					t.Errorf("%s: %s, want %s\n%s", name, f.Status, want, text)
				}
				if want == warned && (f.Severity != "inferred" || !strings.Contains(f.Sent, "three dispatches") || f.Reproduce == "") {
					t.Errorf("%+v", f)
				}
				text += f.Seen + f.Do
			}
			for _, part := range tt.seen {
				if !strings.Contains(text, part) {
					t.Errorf("%q is missing in\n%s", part, text)
				}
			}
			if want := 9; !tt.agent.fails && tt.agent.turns != want { // the sample, and two sessions with one turn of another each
				t.Errorf("%d dispatches, want %d", tt.agent.turns, want)
			}
		})
	}
}

// The memory can be examined without the scenario that shares its dispatches.
func TestMemoryAlone(t *testing.T) {
	t.Parallel()
	for agent, want := range map[*withMemory]doctor.Status{
		{replay: true}: doctor.StatusOK, {fails: true}: doctor.StatusSkipped,
	} {
		report := examineWith(t, endpoints(t, agent.answer)["handler"], scenarios("memory_replay"))
		if f := find(t, report, "memory_replay"); f.Status != want || want == doctor.StatusSkipped && !strings.Contains(f.Seen, "did not complete") {
			t.Errorf("%+v, want %s", f, want)
		}
	}
}
