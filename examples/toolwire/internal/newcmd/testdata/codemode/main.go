// Agent is the support agent of a shop in code mode: the platform starts this program for each run.
package main

import (
	"log/slog"
	"os"
	"time"

	"github.com/toolwire/toolwire/dispatch"
)

// runTimeout is how long a run may take. The registration has the same value, as run_timeout_s.
const runTimeout = 5 * time.Minute

func main() {
	logger := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	agent, err := newAgent()
	if err != nil {
		logger.Error("the agent cannot start", "error", err)
		os.Exit(2)
	}
	dispatch.Main(agent, &dispatch.Options{
		RunTimeout:     runTimeout,
		SendTranscript: true, // the platform shows the tool calls of each run
		Logger:         logger,
	})
}
