package main

import (
	"bytes"
	"context"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/examples/toolwire/internal/commandline"
)

func TestMain(m *testing.M) {
	for _, name := range []string{commandline.URLVariable, commandline.TokenVariable} {
		_ = os.Unsetenv(name) // of the developer
	}
	os.Exit(m.Run())
}

func TestHelp(t *testing.T) {
	for _, tt := range []struct {
		args   []string
		status int
		parts  []string
	}{
		{nil, 2, []string{"toolwire doctor ", "toolwire eval ", "toolwire eval merge ", "toolwire new ", "toolwire page ", "TOOLWIRE_AGENT_TOKEN", "Exit statuses"}},
		{[]string{"help"}, 0, []string{"toolwire doctor ", "Exit statuses"}},
		{[]string{"-h"}, 0, []string{"toolwire doctor "}},
		{[]string{"--help"}, 0, []string{"toolwire doctor "}},
		{[]string{"doctor", "-h"}, 0, []string{"usage: toolwire doctor [flags] -url URL\n", "\n  -url endpoint\n", "\n  -scenarios "}},
		{[]string{"eval", "-h"}, 0, []string{"usage: toolwire eval [flags]\n", "\n  -url endpoint\n", "\n  -dataset file\n"}},
		{[]string{"eval", "merge", "-h"}, 0, []string{"usage: toolwire eval merge [flags] FILE|FOLDER…\n", "\n  -o file\n"}},
		{[]string{"new", "-h"}, 0, []string{"usage: toolwire new [flags] DIR\n", "\n  -replace folder\n"}},
		{[]string{"page", "-h"}, 0, []string{"usage: toolwire page [flags]\n", "\n  -url endpoint\n", "\n  -world file\n"}},
		{[]string{"help", "page"}, 0, []string{"usage: toolwire page [flags]\n"}},
		{[]string{"help", "eval", "merge"}, 0, []string{"usage: toolwire eval merge [flags] FILE|FOLDER…\n"}},
		{[]string{"runn"}, 2, []string{`toolwire: there is no command "runn": the commands are doctor, eval, new, page and show`}},
		{[]string{"help", "runn"}, 2, []string{`toolwire: there is no command "runn"`}},
	} {
		var stdout, stderr bytes.Buffer
		status := run(t.Context(), tt.args, &stdout, &stderr)
		printed, other := &stdout, &stderr
		if tt.status != 0 {
			printed, other = other, printed
		}
		if status != tt.status || other.Len() > 0 {
			t.Errorf("%q: status %d; where nothing belongs: %q", tt.args, status, other.String())
		}
		for _, part := range tt.parts {
			if !strings.Contains(printed.String(), part) {
				t.Errorf("%q: %q is missing in\n%s", tt.args, part, printed.String())
			}
		}
	}
}

// The help of each command fits into 80 columns, begins with an example, and has each flag in a group of its own.
func TestHelpInATerminal(t *testing.T) {
	for _, command := range []string{"", "doctor", "eval", "eval merge", "eval grade", "eval versions", "new", "page", "show"} {
		var stdout bytes.Buffer
		run(t.Context(), append(strings.Fields(command), "-h"), &stdout, io.Discard)
		help := stdout.String()
		for line := range strings.Lines(help) {
			if utf8.RuneCountInString(line) > 81 || strings.Contains(line, "\t") {
				t.Errorf("%s: %q", command, line)
			}
		}
		example, flags := strings.Index(help, "\n    toolwire "+command), strings.Index(help, ":\n\n  -")
		if command != "" && (example < 0 || flags < example || strings.Contains(help, "Others:")) {
			t.Errorf("%s: an example at %d, flags at %d\n%s", command, example, flags, help)
		}
	}
}

// All commands end with 0 if all is well, 1 if it is not, and 2 for a mistake, of which they print one
// line with their name.
func TestExitStatus(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	dataset := filepath.Join(dir, "rows.csv")
	if err := os.WriteFile(dataset, []byte("user\nHello.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	handler, err := dispatch.New(func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
		return &dispatch.Response{FinalResponse: "I am ready."}, nil
	}, &dispatch.Options{Tokens: []string{"a-token-for-tests"}})
	if err != nil {
		t.Fatal(err)
	}
	agent := httptest.NewServer(handler)
	t.Cleanup(agent.Close)
	t.Setenv("TOOLWIRE_TEST_TOKEN", "a-token-for-tests")
	well := []string{"-url", agent.URL, "-token-env", "TOOLWIRE_TEST_TOKEN"}
	for _, tt := range []struct {
		name   string
		ctx    context.Context
		args   []string
		status int
	}{
		{"doctor is content", t.Context(), append([]string{"doctor"}, well...), 0},
		{"doctor is not", t.Context(), []string{"doctor", "-url", agent.URL, "-no-dispatch"}, 1},
		{"doctor is interrupted", over, []string{"doctor", "-url", agent.URL}, 1},
		{"doctor has a mistake", t.Context(), []string{"doctor"}, 2},
		{"doctor has no such flag", t.Context(), []string{"doctor", "-nope"}, 2},
		{"doctor has no such file", t.Context(), append([]string{"doctor", "-tools", filepath.Join(dir, "nope")}, well...), 2},
		{"eval passes", t.Context(), append([]string{"eval", "-ungraded", "-dataset", dataset}, well...), 0},
		{"eval fails", t.Context(), append([]string{"eval", "-ungraded", "-dataset", dataset, "-require-transcript"}, well...), 1},
		{"eval has the wrong token", t.Context(), []string{"eval", "-ungraded", "-dataset", dataset, "-url", agent.URL}, 2},
		{"eval is interrupted", over, []string{"eval"}, 1},
		{"eval has a mistake", t.Context(), []string{"eval", "-url", agent.URL}, 2},
		{"eval has no such flag", t.Context(), []string{"eval", "-nope"}, 2},
		{"eval has no such file", t.Context(), []string{"eval", "-dataset", filepath.Join(dir, "nope")}, 2},
		{"merge has no such file", t.Context(), []string{"eval", "merge", filepath.Join(dir, "nope")}, 2},
		{"new writes", t.Context(), []string{"new", filepath.Join(dir, "agent")}, 0},
		{"new has a mistake", t.Context(), []string{"new"}, 2},
		{"new has no such flag", t.Context(), []string{"new", "-nope", filepath.Join(dir, "other")}, 2},
		{"new does not overwrite", t.Context(), []string{"new", dir}, 2},
		{"page is interrupted", over, []string{"page", "-addr", "127.0.0.1:0"}, 0},
		{"page cannot serve", t.Context(), []string{"page", "-insecure-listen", "-addr", "192.0.2.1:8700"}, 1},
		{"page has a mistake", t.Context(), []string{"page", "x"}, 2},
		{"page has no such flag", t.Context(), []string{"page", "-nope"}, 2},
		{"page has no such file", t.Context(), []string{"page", "-world", filepath.Join(dir, "nope")}, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			if status := run(tt.ctx, tt.args, &stdout, &stderr); status != tt.status {
				t.Errorf("status %d, want %d\n%s%s", status, tt.status, stdout.String(), stderr.String())
			}
			if tt.status == 2 && (!strings.HasPrefix(stderr.String(), "toolwire "+tt.args[0]+": ") || strings.Count(stderr.String(), "\n") != 1) {
				t.Errorf("%q", stderr.String())
			}
		})
	}
}

// doctor, eval and page take the token in the same ways, and never print it.
func TestToken(t *testing.T) {
	const token = "a-token-for-tests"
	handler, err := dispatch.New(func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
		return &dispatch.Response{FinalResponse: "I am ready."}, nil
	}, &dispatch.Options{Tokens: []string{token}})
	if err != nil {
		t.Fatal(err)
	}
	agent := httptest.NewServer(handler)
	t.Cleanup(agent.Close)
	dir := t.TempDir()
	dataset, file := filepath.Join(dir, "rows.csv"), filepath.Join(dir, "token")
	for name, text := range map[string]string{dataset: "user\nHello.\n", file: token + "\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("TOOLWIRE_TEST_TOKEN", token)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	page := filepath.Join(dir, "report.html")
	for name, way := range map[string]struct {
		args      []string
		variables map[string]string
	}{
		"the name of a variable": {[]string{"-url", agent.URL, "-token-env", "TOOLWIRE_TEST_TOKEN"}, nil},
		"a file":                 {[]string{"-url", agent.URL, "-token-file", file}, nil},
		"a variable":             {[]string{"-url", agent.URL}, map[string]string{commandline.TokenVariable: token}},
		"two variables":          {nil, map[string]string{commandline.TokenVariable: token, commandline.URLVariable: agent.URL}},
	} {
		t.Run(name, func(t *testing.T) {
			for variable, value := range way.variables {
				t.Setenv(variable, value)
			}
			for _, command := range []struct {
				ctx  context.Context
				args []string
			}{
				{t.Context(), []string{"doctor"}},
				{t.Context(), []string{"doctor", "-json"}},
				{t.Context(), []string{"eval", "-ungraded", "-dataset", dataset, "-html", page}},
				{over, []string{"page", "-addr", "127.0.0.1:0"}},
			} {
				var stdout, stderr bytes.Buffer
				if status := run(command.ctx, append(command.args, way.args...), &stdout, &stderr); status != 0 {
					t.Errorf("%q: status %d\n%s%s", command.args, status, stdout.String(), stderr.String())
				}
				if strings.Contains(stdout.String()+stderr.String(), token) {
					t.Errorf("%q prints the token", command.args)
				}
			}
			if text, err := os.ReadFile(page); err != nil || strings.Contains(string(text), token) {
				t.Errorf("the report has the token, or cannot be read: %v", err)
			}
		})
	}
	if status := run(t.Context(), []string{"eval", "-dataset", dataset, "-url", agent.URL, "-token=" + token}, io.Discard, io.Discard); status != 2 {
		t.Errorf("a token on the command line: status %d", status)
	}
}
