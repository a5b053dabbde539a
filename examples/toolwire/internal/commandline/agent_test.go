package commandline_test

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/examples/toolwire/internal/commandline"
)

// The URL comes from a flag or a variable, and the token from a variable or a file. Flags win.
func TestAgent(t *testing.T) {
	const url = "http://127.0.0.1:8000/dispatch"
	file := func(text string) string {
		path := filepath.Join(t.TempDir(), "token")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	t.Setenv("TOOLWIRE_TEST_TOKEN", " hunter2 ")
	t.Setenv("TOOLWIRE_TEST_SCHEME", "Token hunter2")
	t.Setenv("TOOLWIRE_TEST_EMPTY", " ")
	with := func(flags ...string) []string { return append([]string{"-url", url}, flags...) }
	for _, tt := range []struct {
		name                     string
		args                     []string
		urlVariable, tokVariable string
		value, problem           string
	}{
		{"nothing", nil, "", "", "", ""},
		{"no token", with(), "", "", "", ""},
		{"by name", with("-token-env", "TOOLWIRE_TEST_TOKEN"), "", "", "Bearer hunter2", ""},
		{"by file", with("-auth-header", "authorization", "-token-file", file("hunter2\n")), "", "", "Bearer hunter2", ""},
		{"by variable", with(), "", "hunter2\n", "Bearer hunter2", ""},
		{"with a scheme", with("-auth-header", "Authorization", "-token-env", "TOOLWIRE_TEST_SCHEME"), "", "", "Token hunter2", ""},
		{"another header", with("-auth-header", "X-API-Key"), "", "hunter2", "hunter2", ""},
		{"a flag wins", with("-token-env", "TOOLWIRE_TEST_SCHEME"), "http://127.0.0.1:1/", "hunter3", "Token hunter2", ""},
		{"a file wins", with("-token-file", file("hunter2")), "", "hunter3", "Bearer hunter2", ""},
		{"URL by variable", []string{"-token-env", "TOOLWIRE_TEST_TOKEN"}, url, "", "Bearer hunter2", ""},
		{"a token for nobody", nil, "", "hunter2", "", ""},
		{"an empty variable", with("-token-env", "TOOLWIRE_TEST_EMPTY"), "", "hunter2", "", "-token-env: there is no"},
		{"the token for its name", with("-token-env", "hunter2"), "", "", "", "give its name, not the token"},
		{"an empty file", with("-token-file", file(" \n")), "", "hunter2", "", "is empty"},
		{"no file", with("-token-file", filepath.Join(t.TempDir(), "nope")), "", "", "", "-token-file: "},
		{"two tokens", with("-token-env", "TOOLWIRE_TEST_TOKEN", "-token-file", file("hunter2")), "", "", "", "exclude each other"},
		{"no URL", []string{"-token-env", "TOOLWIRE_TEST_TOKEN"}, "", "", "", "are for an agent with a -url"},
		{"a header without a token", with("-auth-header", "X-API-Key"), "", "", "", "-auth-header needs a token"},
		{"not a URL", []string{"-url", "localhost"}, "", "", "", "-url is not an http or https URL"},
		{"no host", []string{"-url", "http://:8000/dispatch"}, "", "", "", "-url is not an http or https URL"},
		{"not a URL in the variable", nil, "localhost", "", "", "TOOLWIRE_AGENT_URL is not an http or https URL"},
		{"a variable for no program", with("-env", "TOOLWIRE_TEST_TOKEN"), "", "", "", "-env is for the program"},
		{"a token in code mode", []string{"-token-env", "TOOLWIRE_TEST_TOKEN", "--", "agent"}, "", "", "", "an agent in code mode receives no requests"},
		{"a password", []string{"-url", "http://u:hunter2@127.0.0.1/"}, "", "", "", "-url contains a user name or password"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv(commandline.URLVariable, tt.urlVariable)
			t.Setenv(commandline.TokenVariable, tt.tokVariable)
			var agent commandline.Agent
			set := flag.NewFlagSet("test", flag.ContinueOnError)
			agent.AddFlags(set, "the endpoint")
			if _, ok := agent.Parse(set, "", tt.args, io.Discard, io.Discard); !ok {
				t.Fatal("not parsed")
			}
			err := agent.Read()
			if agent.AuthValue != tt.value || (err == nil) != (tt.problem == "") {
				t.Errorf("%q, %v", agent.AuthValue, err)
			}
			if err == nil && (agent.URL == url) != (tt.urlVariable != "" || len(tt.args) > 0) {
				t.Errorf("the URL is %q", agent.URL)
			}
			if err != nil && (!strings.Contains(err.Error(), tt.problem) || strings.Contains(err.Error(), "hunter2")) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// Help is what was asked for, so it goes to standard output. A mistake is one line.
func TestParse(t *testing.T) {
	for _, tt := range []struct {
		args           []string
		status         int
		ok             bool
		stdout, stderr string
	}{
		{nil, commandline.OK, true, "", ""},
		{[]string{"-n", "2", "x"}, commandline.OK, true, "", ""},
		{[]string{"-h"}, commandline.OK, false, "usage: toolwire test\n\nOthers:\n\n  -n number\n      some number\n", ""},
		{[]string{"--help"}, commandline.OK, false, "usage: toolwire test\n\nOthers:\n\n  -n number\n      some number\n", ""},
		{[]string{"-token=hunter2"}, commandline.Mistake, false, "", "toolwire test: flag provided but not defined: -token; see toolwire test -h\n"},
		{[]string{"-n"}, commandline.Mistake, false, "", "toolwire test: flag needs an argument: -n; see toolwire test -h\n"},
	} {
		set := flag.NewFlagSet("toolwire test", flag.ContinueOnError)
		set.Int("n", 0, "some `number`")
		var stdout, stderr bytes.Buffer
		status, ok := commandline.Parse(set, "usage: toolwire test", tt.args, &stdout, &stderr)
		if status != tt.status || ok != tt.ok || stdout.String() != tt.stdout || stderr.String() != tt.stderr {
			t.Errorf("%q: status %d, %v\n%s%s", tt.args, status, ok, stdout.String(), stderr.String())
		}
	}
}
