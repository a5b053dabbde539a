package evalcmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/eval"
	"github.com/toolwire/toolwire/internal/process"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/text"
)

// userInput is what the program of -user reads from standard input, as one line of JSON.
type userInput struct {
	Persona string            `json:"persona"`
	Columns map[string]string `json:"columns,omitempty"` // of the row that the platform does not read
	Case    string            `json:"case"`              // the id
	Trial   int               `json:"trial"`
	Seed    uint64            `json:"seed"` // of the trial, below 2^53
	Turns   []userTurn        `json:"turns"`
}

type userTurn struct {
	User  string `json:"user"`
	Agent string `json:"agent"`
}

const (
	mostSaid = 1 << 20 // bytes of the output
	// longestUse ends a program that eval has not ended with its time limit for a message.
	longestUse = 5 * time.Minute
)

// playUser returns the user of -user, which starts the program for each message; nil if there is no
// -user. A program that runs holds running for reading: who locks it waits for all, and no other starts.
func (o *options) playUser(running *sync.RWMutex) (eval.User, error) {
	argv := strings.Fields(o.user)
	if len(argv) == 0 {
		if o.UserVersion != "" {
			return nil, errors.New("-user-version is for a -user")
		}
		return nil, nil
	}
	argv, err := process.Find(argv)
	if err != nil {
		return nil, fmt.Errorf("-user: %w", err)
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("-user: %w", err)
	}
	return func(ctx context.Context, t eval.Trial, turns []dispatchtest.Turn) (string, error) {
		if !running.TryRLock() {
			return "", context.Canceled
		}
		defer running.RUnlock()
		in := userInput{
			Persona: t.Cell("user_simulator_persona"), Columns: t.Columns, Case: t.ID,
			Trial: t.Number, Seed: t.Seed() >> 11, Turns: []userTurn{},
		}
		for _, turn := range turns {
			in.Turns = append(in.Turns, userTurn{turn.Instruction, turn.FinalResponse})
		}
		input, err := json.Marshal(in)
		if err != nil {
			return "", err
		}
		run, err := process.Start(&process.Command{
			Argv: argv, Env: os.Environ(), Dir: dir, Stdin: append(input, '\n'), MaxStdout: mostSaid, MaxStderr: 64 << 10,
			Timeout: longestUse, Grace: time.Second, PipeWait: time.Second,
		})
		if err != nil {
			return "", fmt.Errorf("the program cannot be started: %w", err)
		}
		return readUser(run.Wait(ctx))
	}, nil
}

// readUser reads what the program said.
func readUser(outcome process.Outcome) (string, error) {
	switch {
	case outcome.End == process.Overflow:
		return "", fmt.Errorf("the program wrote more than %d bytes", mostSaid)
	case outcome.End != process.Exited:
		return "", fmt.Errorf("the program was ended after %s", outcome.Duration.Round(time.Second))
	case outcome.Signal != "":
		return "", fmt.Errorf("the signal %s ended the program", outcome.Signal)
	case outcome.ExitCode != 0:
		lines := strings.Split(strings.TrimSpace(string(outcome.Stderr.Bytes)), "\n")
		return "", fmt.Errorf("the program ended with exit status %d: %s",
			outcome.ExitCode, text.Line(lines[len(lines)-1], 200))
	}
	said, say, done := json.RawMessage(outcome.Stdout.Bytes), "", ""
	wrong := rawjson.Check(said, rawjson.Limits{}) != nil || len(rawjson.ReadFields(said, map[string]any{"say": &say, "done": &done})) > 0
	ends := !wrong && rawjson.Member(said, "done") != nil
	switch {
	case wrong || (say == "") == !ends:
		return "", errors.New(`the program must write {"say": "…"} or {"done": "why"}`)
	case ends:
		return "", fmt.Errorf("%w: %s", dispatchtest.ErrDone, done)
	}
	return say, nil
}
