package main

import (
	"os"
	"testing"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
)

// TestMain makes the test binary the program: the tests start it as the platform starts the agent.
func TestMain(m *testing.M) {
	if os.Getenv("PIPELINES_RUN_TOKEN") != "" {
		main()
	}
	os.Exit(m.Run())
}

// target is the agent as it is started: a program with the environment of a run and of
// the model.
func target(t *testing.T) dispatchtest.Target {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	env := []string{
		"OPENAI_API_KEY=" + os.Getenv("OPENAI_API_KEY"),
		"OPENAI_BASE_URL=" + os.Getenv("OPENAI_BASE_URL"),
	}
	return dispatchtest.Target{Command: []string{program}, Env: env, RunTimeout: runTimeout, Strict: true}
}
