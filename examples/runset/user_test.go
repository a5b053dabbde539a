package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// playTestUser is a program of -user: this test's program.
func playTestUser(mode string) {
	var in userInput
	if err := json.NewDecoder(os.Stdin).Decode(&in); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	switch last := in.Turns[len(in.Turns)-1]; {
	case mode == "fails":
		fmt.Fprintln(os.Stderr, "some lines\nno model today")
		os.Exit(3)
	case mode == "babbles":
		fmt.Println("Order #4521.")
	case mode == "both":
		fmt.Println(`{"say":"a","done":"b"}`)
	case mode == "more":
		fmt.Println(`{"say":"a"}{"say":"b"}`)
	case strings.Contains(last.Agent, "has been issued"):
		fmt.Printf("{\"done\":\"%s of %s, %t\"}\n", in.Persona, in.Columns["goal"],
			in.Seed > 0 && in.Seed < 1<<53 && in.Trial == 1)
	default:
		fmt.Println(`{"say":"Refund order #4521."}`)
	}
	os.Exit(0)
}

// A program plays the user of rows with a persona. What it does wrong is its own fault.
func TestUserProgram(t *testing.T) {
	dataset := filepath.Join(t.TempDir(), "personas.csv")
	content := "user,turn_mode,user_simulator_persona,says,goal\n" +
		"I want my money back.,model_as_user,A tired clerk,has been issued,order 4521\n"
	if err := os.WriteFile(dataset, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	for mode, want := range map[string]struct {
		status int
		parts  []string
	}{
		"plays": {0, []string{"sessions ended by: user 1\n", ": 1 passed\n"}},
		"fails": {1, []string{
			"user: the user failed: the program ended with exit status 3: no model today", ": 0 passed, 1 with errors\n"}},
		"babbles": {1, []string{`user: the user failed: the program must write {"say": "…"} or {"done": "why"}`}},
		"both":    {1, []string{"the program must write"}},
		"more":    {1, []string{"the program must write"}},
	} {
		t.Run(mode, func(t *testing.T) {
			report := filepath.Join(t.TempDir(), "report.json")
			var stdout, stderr bytes.Buffer
			status := run(t.Context(), []string{"-dataset", dataset, "-world", "testdata/world.json", "-json", report,
				"-user", os.Args[0] + " play-user " + mode, "-user-version", "v1"}, &stdout, &stderr)
			printed := stdout.String() + stderr.String()
			if status != want.status {
				t.Errorf("status %d\n%s", status, printed)
			}
			for _, part := range want.parts {
				if !strings.Contains(printed, part) {
					t.Errorf("%q is missing in\n%s", part, printed)
				}
			}
			doc, err := os.ReadFile(report)
			ended := []byte(`"ended": "user: done: A tired clerk of order 4521, true"`)
			if err != nil || bytes.Contains(doc, ended) != (mode == "plays") {
				t.Errorf("error %v\n%s", err, doc)
			}
		})
	}
	for mistake, args := range map[string][]string{
		"-user: ":                         {"-user", "no-such-program-here"},
		"-user-version is for a -user":    {"-user-version", "v1"},
		`-user-version: "\xff" is not in`: {"-user", os.Args[0], "-user-version", "\xff"},
	} {
		var stdout, stderr bytes.Buffer
		if status := run(t.Context(), args, &stdout, &stderr); status != 2 || !strings.Contains(stderr.String(), mistake) {
			t.Errorf("%q: status %d: %s", args, status, stderr.String())
		}
	}
}
