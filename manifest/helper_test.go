package manifest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/manifest"
)

// The tools of the tests are this test binary, started as "<binary> tool <behaviour> <arguments>".
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "tool" {
		syscall.Exit(behave(os.Args[2], os.Args[3:])) // with os.Exit the race detector waits for a second
	}
	os.Exit(m.Run())
}

func behave(behaviour string, args []string) int {
	switch behaviour {
	case "echo": // print the input
		_, _ = io.Copy(os.Stdout, os.Stdin)
	case "say": // say <stdout> <stderr> <exit status>, without reading the input
		fmt.Print(strings.ReplaceAll(args[0], `\xff`, "\xff"))
		fmt.Fprint(os.Stderr, strings.ReplaceAll(args[1], `\xff`, "\xff"))
		status, _ := strconv.Atoi(args[2])
		return status
	case "show": // show <file>: print what is in it
		data, _ := os.ReadFile(args[0])
		_, _ = os.Stdout.Write(data)
	case "print": // print <n>: print n bytes of JSON on one line, without reading the input
		printJSON(args[0])
	case "print-then-read": // print-then-read <n>: print n bytes, then read the input
		printJSON(args[0])
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "flood": // print without end
		line := []byte(strings.Repeat("x", 1<<16))
		for {
			if _, err := os.Stdout.Write(line); err != nil {
				return 1
			}
		}
	case "flood-stderr": // flood-stderr <n> <end> <exit status>
		fmt.Fprint(os.Stderr, "BEGIN")
		n, _ := strconv.Atoi(args[0])
		chunk := strings.Repeat("e", 1<<10)
		for range n >> 10 {
			fmt.Fprint(os.Stderr, chunk)
		}
		fmt.Fprint(os.Stderr, args[1])
		fmt.Print(`{"ok":true}`)
		status, _ := strconv.Atoi(args[2])
		return status
	case "sleep": // read the input, then sleep <duration>
		_, _ = io.Copy(io.Discard, os.Stdin)
		pause(args[0])
	case "stubborn": // stubborn <duration> <file>: note the pid, then sleep and ignore SIGTERM
		signal.Ignore(syscall.SIGTERM)
		note(args[1], os.Getpid())
		pause(args[0])
	case "outsider": // outsider <behaviour> <arguments>: leave the process group for the one of the parent
		joinParent()
		return behave(args[0], args[1:])
	case "polite": // polite <file>: note the arrival of SIGTERM
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGTERM)
		note(args[0]+".ready", os.Getpid())
		<-c
		note(args[0], os.Getpid())
		fmt.Println(`{"too":"late"}`)
	case "parent": // parent <behaviour> <leave|stay> <pid file> <arguments>: start a child that holds the pipes
		child := exec.Command(os.Args[0], append([]string{"tool", args[0]}, args[3:]...)...)
		child.Stdin, child.Stdout, child.Stderr = os.Stdin, os.Stdout, os.Stderr
		child.SysProcAttr = childAttributes(args[1])
		if err := child.Start(); err != nil {
			return 1
		}
		note(args[2], child.Process.Pid)
		if strings.HasPrefix(args[1], "leave") {
			fmt.Println(`{"left":true}`)
			return 0
		}
		_ = child.Wait()
	case "print-and-leave": // print-and-leave <n>: like print, but leave a process that holds the pipes
		child := exec.Command(os.Args[0], "tool", "sleep", "10m")
		child.Stdin, child.Stdout, child.Stderr = os.Stdin, os.Stdout, os.Stderr
		if err := child.Start(); err != nil {
			return 1
		}
		printJSON(args[0])
	case "env": // print the environment
		list := os.Environ()
		if list == nil {
			list = []string{}
		}
		_ = json.NewEncoder(os.Stdout).Encode(list)
	case "where": // print the working directory
		wd, _ := os.Getwd()
		_ = json.NewEncoder(os.Stdout).Encode(wd)
	case "append": // append <text> <file> <duration>: write to the file at the beginning and at the end
		f, err := os.OpenFile(args[1], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return 1
		}
		fmt.Fprint(f, "<"+args[0])
		pause(args[2])
		fmt.Fprint(f, args[0]+">")
	case "meet": // meet <file> <n> <duration>: wait until n programs run, then stay for the duration
		f, err := os.OpenFile(args[0], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return 1
		}
		fmt.Fprint(f, "<")
		n, _ := strconv.Atoi(args[1])
		for running := 0; running < n; pause("1ms") {
			log, _ := os.ReadFile(args[0])
			running = strings.Count(string(log), "<")
		}
		pause(args[2])
		fmt.Fprint(f, ">")
	case "suicide": // end with SIGKILL
		p, _ := os.FindProcess(os.Getpid())
		_ = p.Kill()
		pause("10m")
	case "close-stdout": // close-stdout <duration>: close both outputs and keep running
		_ = os.Stdout.Close()
		_ = os.Stderr.Close()
		pause(args[0])
	default:
		fmt.Fprintln(os.Stderr, "unknown behaviour")
		return 99
	}
	return 0
}

func printJSON(size string) {
	n, _ := strconv.Atoi(size)
	_, _ = os.Stdout.WriteString(`"` + strings.Repeat("x", n-3) + "\"\n")
}

func pause(d string) {
	duration, _ := time.ParseDuration(d)
	time.Sleep(duration)
}

// note writes the number atomically.
func note(file string, pid int) {
	_ = os.WriteFile(file+".tmp", []byte(strconv.Itoa(pid)), 0o600)
	_ = os.Rename(file+".tmp", file)
}

func megabyte() json.RawMessage {
	return json.RawMessage(`{"blob":"` + strings.Repeat("b", 1<<20) + `"}`)
}

// printable encodes a text for "say": a manifest is JSON and cannot contain invalid UTF-8.
func printable(text string) string { return strings.ReplaceAll(text, "\xff", `\xff`) }

// entry is a tool of a manifest.
type entry map[string]any

func tool(behaviour string, args ...string) entry {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return entry{"name": "t", "command": append([]string{self, "tool", behaviour}, args...)}
}

func (e entry) with(member string, value any) entry {
	e[member] = value
	return e
}

func document(entries ...entry) []byte {
	data, err := json.Marshal(map[string]any{"tools": entries})
	if err != nil {
		panic(err)
	}
	return data
}

func load(t testing.TB, options *manifest.Options, entries ...entry) *manifest.Manifest {
	t.Helper()
	m, err := manifest.Parse(document(entries...), options)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// run loads one tool and runs it.
func run(t testing.TB, e entry, args any, options *manifest.Options) *manifest.Result {
	t.Helper()
	return load(t, options, e).Do(t.Context(), "t", args)
}

// await waits for a file of a tool and returns its text.
func await(t testing.TB, file string) string {
	t.Helper()
	for range 60_000 { // five minutes
		if data, err := os.ReadFile(file); err == nil {
			return string(data)
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Errorf("%s was not written", filepath.Base(file)) // not Fatal: other goroutines call await too
	return ""
}

// code returns the code of an error, or "" for nil.
func code(t testing.TB, err error) toolwire.Code {
	t.Helper()
	if err == nil {
		return ""
	}
	e, ok := errors.AsType[*manifest.Error](err)
	if !ok {
		t.Fatalf("error of type %T: %v", err, err)
	}
	return e.Code
}

// shown returns what a model reads.
func shown(r *manifest.Result) string {
	if e, ok := errors.AsType[*manifest.Error](r.Err); ok {
		return string(e.ToolResult())
	}
	return string(r.Output)
}
