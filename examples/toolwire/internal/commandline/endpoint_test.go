package commandline_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/examples/toolwire/internal/commandline"
	"github.com/toolwire/toolwire/internal/testkit"
)

// longLine has more than is kept of the output, and than is kept of a line until it ends.
var longLine = strings.Repeat("x", 200<<10)

// TestMain lets the test binary be the program of an endpoint: it listens at its first argument, or ends.
func TestMain(m *testing.M) {
	if os.Getenv("TOOLWIRE_TEST_ENDPOINT") == "" {
		os.Exit(m.Run())
	}
	fmt.Println(longLine)
	fmt.Print(os.Getenv("TOOLWIRE_TEST_SECRET") + "::error::forged\nthe agent has " + os.Getenv("TOOLWIRE_TEST_ENDPOINT") + " and \x1b[31mthe token-of-the-agent\nand says hello")
	if len(os.Args) > 1 {
		_ = http.ListenAndServe(os.Args[1], http.NotFoundHandler())
	}
	os.Exit(3)
}

// freeAddress returns an address at which nothing listens.
func freeAddress(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// The program of an endpoint has started when something listens at the URL, writes where the command does, and has
// ended when stop returns.
func TestStart(t *testing.T) {
	t.Setenv("TOOLWIRE_TEST_ENDPOINT", "a-secret-value")
	t.Setenv("TOOLWIRE_TEST_SECRET", "not named by -env")
	t.Setenv(commandline.TokenVariable, "token-of-the-agent")
	over, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	const printed = "| ::error::forged\nthe agent has [redacted] and \uFFFD[31mthe [redacted]\nand says hello\n"
	for _, tt := range []struct {
		name          string
		ctx           context.Context
		env           string
		program       func(address string) []string
		problem, said string
	}{
		{"it serves", t.Context(), "TOOLWIRE_TEST_ENDPOINT", func(a string) []string { return []string{os.Args[0], a} }, "", printed},
		{"it ends", t.Context(), "TOOLWIRE_TEST_ENDPOINT", func(string) []string { return []string{os.Args[0]} }, "has ended and did not listen at -url",
			printed + "toolwire test: the agent's program has ended with exit status 3\n"},
		{"there is none", t.Context(), "TOOLWIRE_TEST_ENDPOINT", func(string) []string { return []string{"./no-such-program"} }, "no-such-program", ""},
		{"no such variable", t.Context(), "TOOLWIRE_TEST_NONE", func(string) []string { return []string{os.Args[0]} }, "-env: there is no environment variable", ""},
		{"an interrupt", over, "TOOLWIRE_TEST_ENDPOINT", func(a string) []string { return []string{os.Args[0], a} }, "enough", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var agent commandline.Agent
			var log *testkit.Buffer
			var stop func()
			var err error
			for range 10 { // another process may take the port before the program does
				agent, log = commandline.Agent{}, new(testkit.Buffer)
				address := freeAddress(t)
				set := flag.NewFlagSet("toolwire test", flag.ContinueOnError)
				agent.AddFlags(set, "the endpoint")
				args := append([]string{"-url", "http://" + address + "/dispatch", "-env", tt.env, "--"}, tt.program(address)...)
				if _, ok := agent.Parse(set, "", args, io.Discard, io.Discard); !ok {
					t.Fatal("not parsed")
				}
				if err = agent.Read(); err == nil {
					stop, err = agent.Start(tt.ctx, log)
				}
				if err == nil || tt.problem != "" {
					break
				}
			}
			if (err == nil) != (tt.problem == "") || err != nil && !strings.Contains(err.Error(), tt.problem) {
				t.Fatalf("%v\n%s", err, log.String())
			}
			if err == nil {
				if len(agent.Env) != 1 || agent.Env[0] != "TOOLWIRE_TEST_ENDPOINT=a-secret-value" {
					t.Errorf("what a report hides is %q", agent.Env)
				}
				if resp, err := http.Get(agent.URL); err != nil {
					t.Error(err)
				} else {
					_ = resp.Body.Close()
				}
				if _, err := agent.Start(t.Context(), log); err == nil || !strings.Contains(err.Error(), "a program listens at -url already") {
					t.Errorf("a second one: %v", err)
				}
				stop()
				if resp, err := http.Get(agent.URL); err == nil {
					_ = resp.Body.Close()
					t.Error("it still serves")
				}
			}
			if !strings.Contains(log.String(), tt.said) {
				t.Errorf("the output is %q", log.String())
			}
			if strings.Contains(log.String(), longLine) {
				t.Error("a long line is kept until it ends")
			}
		})
	}
}
