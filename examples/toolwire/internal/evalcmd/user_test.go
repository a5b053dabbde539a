package evalcmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/toolwire/toolwire/dispatch/eval"
	"github.com/toolwire/toolwire/internal/testkit"
)

// playTestUser is a program of -user: this test's program.
func playTestUser(mode string) {
	var in userInput
	if err := json.NewDecoder(os.Stdin).Decode(&in); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	switch last := in.Turns[len(in.Turns)-1]; {
	case strings.HasPrefix(mode, "sleeps:"):
		file := strings.TrimPrefix(mode, "sleeps:")
		if err := errors.Join(os.WriteFile(file+".new", []byte(strconv.Itoa(os.Getpid())), 0o600), os.Rename(file+".new", file)); err != nil {
			os.Exit(1)
		}
		time.Sleep(time.Hour)
	case mode == "gabbles":
		fmt.Print(strings.Repeat("x", 1<<20+1))
	case mode == "unknown":
		fmt.Println(`{"say":"a","dome":"b"}`)
	case mode == "seed":
		fmt.Printf("{\"done\":\"seed %d\"}\n", in.Seed)
	case mode == "shouts":
		fmt.Println(`{"SAY":"a"}`)
	case mode == "twice":
		fmt.Println(`{"say":"a","say":"b"}`)
	case mode == "brace":
		fmt.Println(`{"say":"a"}}`)
	case mode == "killed":
		self, _ := os.FindProcess(os.Getpid())
		_ = self.Kill()
		time.Sleep(time.Hour)
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

// A program writes the user's turns of rows with a persona. What it does wrong is its own fault.
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
		"unknown": {1, []string{"the program must write"}},
		"brace":   {1, []string{"the program must write"}},
		"shouts":  {1, []string{"the program must write"}},
		"twice":   {1, []string{"the program must write"}},
		"gabbles": {1, []string{"user: the user failed: the program wrote more than 1048576 bytes"}},
		"killed":  {1, []string{map[bool]string{true: "the program ended with exit status 1", false: "the signal "}[runtime.GOOS == "windows"]}},
	} {
		t.Run(mode, func(t *testing.T) {
			report := filepath.Join(t.TempDir(), "report.json")
			var stdout, stderr bytes.Buffer
			status := Run(t.Context(), []string{"-dataset", dataset, "-world", "testdata/world.json", "-json", report,
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
		if status := Run(t.Context(), args, &stdout, &stderr); status != 2 || !strings.Contains(stderr.String(), mistake) {
			t.Errorf("%q: status %d: %s", args, status, stderr.String())
		}
	}
}

// The seeds of trials differ and use the 53 bits that a number of JSON has everywhere. A baseline with
// another user cannot be compared.
func TestSeedOfUserProgram(t *testing.T) {
	if testkit.Race && !testkit.Nightly {
		t.Skip("dozens of programs are started, which start slowly with the race detector; TestUserProgram starts some")
	}
	dir := t.TempDir()
	dataset, results, report := filepath.Join(dir, "personas.csv"), filepath.Join(dir, "results.jsonl"), filepath.Join(dir, "report.json")
	content := "user,turn_mode,user_simulator_persona\n"
	for i := range 8 {
		content += fmt.Sprintf("Hello %d.,model_as_user,A tired clerk\n", i)
	}
	if err := os.WriteFile(dataset, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"-dataset", dataset, "-world", "testdata/world.json", "-user", os.Args[0] + " play-user seed", "-trials", "2", "-ungraded"}
	var stderr bytes.Buffer
	if status := Run(t.Context(), append(args, "-user-version", "v1", "-results", results, "-json", report), io.Discard, &stderr); status != 0 {
		t.Fatalf("status %d: %s", status, stderr.String())
	}
	doc, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	seeds, most := map[uint64]bool{}, uint64(0)
	for _, m := range regexp.MustCompile(`"ended": "user: done: seed (\d+)"`).FindAllSubmatch(doc, -1) {
		seed, err := strconv.ParseUint(string(m[1]), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		seeds[seed], most = true, max(most, seed)
	}
	if len(seeds) != 16 || most < 1<<52 || most >= 1<<53 {
		t.Errorf("the seeds are %v", seeds)
	}
	stderr.Reset()
	if status := Run(t.Context(), append(args, "-user-version", "v2", "-baseline", results), io.Discard, &stderr); status != 2 ||
		!strings.Contains(stderr.String(), "-baseline: the results cannot be compared: the version of the user is ") {
		t.Errorf("status %d: %s", status, stderr.String())
	}
}

// A signal ends the user's program before the command ends, and what there is is reported.
func TestInterruptedUserProgram(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no signals")
	}
	dir := t.TempDir()
	dataset, started := filepath.Join(dir, "personas.csv"), filepath.Join(dir, "pid")
	content := "user,turn_mode,user_simulator_persona\nHello.,model_as_user,A tired clerk\n"
	if err := os.WriteFile(dataset, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		_ = os.Remove(started) // of the other signal
		cmd := program(t, "-dataset", dataset, "-world", "testdata/world.json", "-ungraded",
			"-user", "env -u TOOLWIRE_TEST_MAIN "+os.Args[0]+" play-user sleeps:"+started)
		var output bytes.Buffer
		cmd.Stdout, cmd.Stderr = &output, &output
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		pid := 0
		for limit := time.Now().Add(5 * time.Minute); pid == 0 && time.Now().Before(limit); time.Sleep(time.Millisecond) {
			if text, err := os.ReadFile(started); err == nil {
				pid, _ = strconv.Atoi(string(text))
			}
		}
		if err := cmd.Process.Signal(signal); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait()
		if status := cmd.ProcessState.ExitCode(); status != 1 || !strings.Contains(output.String(), "1 cancelled") {
			t.Errorf("%s: status %d\n%s", signal, status, output.String())
		}
		user, err := os.FindProcess(pid)
		if err == nil {
			err = user.Signal(syscall.Signal(0))
		}
		if pid == 0 || !errors.Is(err, os.ErrProcessDone) {
			t.Errorf("%s: the program %d is left running: %v", signal, pid, err)
		}
	}
}

// After the end of an experiment no program of its users starts.
func TestNoUserProgramAfterTheEnd(t *testing.T) {
	var running sync.RWMutex
	user, err := (&options{user: os.Args[0]}).playUser(&running)
	if err != nil {
		t.Fatal(err)
	}
	running.Lock()
	if _, err := user(t.Context(), eval.Trial{}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
