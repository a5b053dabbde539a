package dispatch_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/proxy"
	"runtime"
)

// TestMain lets the test binary be an agent in code mode: what the platform starts.
func TestMain(m *testing.M) {
	if os.Getenv("TOOLWIRE_TEST_AGENT") != "" {
		logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
		if os.Getenv("TOOLWIRE_TEST_AGENT") == "silent" {
			logger = nil
		}
		limit := 5 * time.Minute
		if os.Getenv("TOOLWIRE_TEST_HURRY") != "" {
			limit = 1500 * time.Millisecond
		}
		var observer *dispatch.Observer
		if result := os.Getenv("TOOLWIRE_TEST_OBSERVED"); result != "" {
			observer = observedInCodeMode(result)
		}
		var failure func(*dispatch.Run, *toolwire.Error) *dispatch.Response
		if os.Getenv("TOOLWIRE_TEST_GRADED") != "" {
			failure = func(_ *dispatch.Run, err *toolwire.Error) *dispatch.Response {
				return &dispatch.Response{FinalResponse: "failed: " + err.Message}
			}
		}
		dispatch.Main(codeAgent, &dispatch.Options{
			Observer: observer, FailureResponse: failure,
			Logger: logger, RunTimeout: limit, Reserve: time.Second, Proxy: &proxy.Options{Tools: []string{"get_order"}},
		})
	}
	os.Exit(m.Run())
}

func codeAgent(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
	switch run.Instruction {
	case "fail":
		return nil, errors.New("hunter2")
	case "panic":
		panic("hunter2")
	case "abort":
		panic(http.ErrAbortHandler)
	case "wait":
		fmt.Fprintln(os.Stderr, "waiting")
		<-ctx.Done()
		return nil, ctx.Err()
	case "envelope":
		return &dispatch.Response{FinalResponse: string(run.Envelope)}, nil
	case "stdin":
		_, err := os.Stdin.Read(make([]byte, 1))
		return &dispatch.Response{FinalResponse: fmt.Sprint("stdin: ", err != nil && err != io.EOF)}, nil
	}
	if tool, ok := strings.CutPrefix(run.Instruction, "for a model "); ok {
		result, err := run.Proxy.CallForModel(ctx, tool, `{}`)
		return &dispatch.Response{FinalResponse: fmt.Sprintf("%t %s", result.Failed, result.Text)}, err
	}
	result, err := proxy.Call[json.RawMessage](ctx, run.Proxy, "get_order", run.Input)
	return &dispatch.Response{FinalResponse: run.Instruction + " " + run.RunID + " " + run.TaskID + " " + run.TokenJTI + " " + string(result)}, err
}

type codeRun struct {
	stdout, stderr string
	status         int
}

func runCode(t *testing.T, env map[string]string, change func(*exec.Cmd)) codeRun {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{"TOOLWIRE_TEST_AGENT=silent", "GOCOVERDIR=" + t.TempDir()}
	for name, value := range env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("input that nobody may read"), &stdout, &stderr
	if change != nil {
		change(cmd)
	}
	err := cmd.Run()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		t.Fatal(err)
	}
	return codeRun{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

func TestCodeMode(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Header.Get("Authorization") != "Bearer "+runToken || r.URL.Path != "/runs/abc/tools/get_order" {
			w.WriteHeader(500)
		}
		_, _ = fmt.Fprintf(w, `{"response":%s,"source":"odyssey"}`, body)
	}))
	defer server.Close()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	with := func(more ...string) map[string]string {
		env := map[string]string{"PIPELINES_ODYSSEY_PROXY_URL": server.URL + "/runs/abc", "PIPELINES_RUN_TOKEN": runToken}
		for i := 0; i < len(more); i += 2 {
			env[more[i]] = more[i+1]
		}
		return env
	}
	payload := `{"user_instruction":"hi","input":{"order_id":"4521"},"task_id":42}`
	for _, tt := range []struct {
		name           string
		env            map[string]string
		status         int
		stdout, stderr string // the whole of stdout, a part of stderr
	}{
		{
			"documented variables", with("PIPELINES_RUN_TOKEN_JTI", "j", "PIPELINES_RUN_ID", "17", "PIPELINES_TASK_ID", "42", "_PIPELINES_TASK_INPUT_JSON", payload), 0,
			`{"final_response":"hi 17 42 j {\"order_id\":\"4521\"}"}` + "\n", "",
		},
		{
			"later names", map[string]string{
				"DYSTOPIC_ODYSSEY_PROXY_URL": server.URL + "/runs/abc", "DYSTOPIC_RUN_TOKEN": runToken, "DYSTOPIC_RUN_ID": "17",
				"DYSTOPIC_TASK_INPUT_FILE": write("task.json", payload),
			}, 0, `{"final_response":"hi 17 42  {\"order_id\":\"4521\"}"}` + "\n", "",
		},
		{
			"later names with an underscore", map[string]string{
				"DYSTOPIC_ODYSSEY_PROXY_URL": server.URL + "/runs/abc", "DYSTOPIC_RUN_TOKEN": runToken, "_DYSTOPIC_TASK_INPUT_JSON": payload,
			}, 0, `{"final_response":"hi  42  {\"order_id\":\"4521\"}"}` + "\n", "",
		},
		{"brief", with("PIPELINES_TASK_FILE", write("brief.txt", "  do it\n"), "_PIPELINES_TASK_INPUT_JSON", `{"input":{}}`), 0, `{"final_response":"do it    {}"}` + "\n", ""},
		{
			"ids that cannot be used", with("PIPELINES_RUN_TOKEN_JTI", "1\n2", "PIPELINES_RUN_ID", "1 2", "PIPELINES_TASK_ID", "4 2", "_PIPELINES_TASK_INPUT_JSON", payload), 0,
			`{"final_response":"hi  42  {\"order_id\":\"4521\"}"}` + "\n", "",
		},
		{"a brief of more than 16 MiB", with("PIPELINES_TASK_FILE", write("large.txt", strings.Repeat("x", 16<<20+1))), 2, "",
			"the file in PIPELINES_TASK_FILE: more than 16777216 bytes"},
		{
			"a task of 16 MiB", with("PIPELINES_TASK_INPUT_FILE", write("full.json", payload+strings.Repeat(" ", 16<<20-len(payload)))), 0,
			`{"final_response":"hi  42  {\"order_id\":\"4521\"}"}` + "\n", "",
		},
		{"no task", with(), 2, "", `{"error":"invalid_envelope","message":"no task: set _PIPELINES_TASK_INPUT_JSON, or name a file `},
		{"no task but null", with("_PIPELINES_TASK_INPUT_JSON", " null\n"), 2, "", "no task: "},
		{"blank brief", with("PIPELINES_TASK_FILE", write("blank.txt", " \n")), 2, "", "no task: "},
		{"a task that seeds nothing", with("_PIPELINES_TASK_INPUT_JSON", "{}"), 0, `{"final_response":"    {}"}` + "\n", ""},
		{
			"an invented tool", with("_PIPELINES_TASK_INPUT_JSON", `{"user_instruction":"for a model find_order"}`), 0,
			`{"final_response":"true {\"error\":\"unknown_tool\",\"detail\":\"there is no tool \\\"find_order\\\"; ` +
				`names are case-sensitive\",\"tools\":[\"get_order\"]}"}` + "\n", "",
		},
		{"stdin is closed", with("_PIPELINES_TASK_INPUT_JSON", `{"user_instruction":"stdin"}`), 0, `{"final_response":"stdin: true"}` + "\n", ""},
		{"agent fails", with("_PIPELINES_TASK_INPUT_JSON", `{"user_instruction":"fail"}`), 1, "", `{"error":"agent_failed","message":"the agent failed; set Options.Logger to see why"}`},
		{"agent panics", with("_PIPELINES_TASK_INPUT_JSON", `{"user_instruction":"panic"}`), 1, "", `"agent_panicked"`},
		{"time is over", with("TOOLWIRE_TEST_HURRY", "1", "_PIPELINES_TASK_INPUT_JSON", `{"user_instruction":"wait"}`), 0, `{"final_response":"The agent ran out of time before it had an answer.","messages":[{"role":"user","content":"wait"},{"role":"assistant","content":"The agent ran out of time before it had an answer."}]}` + "\n", ""},
		{"nothing set", map[string]string{"PIPELINES_RUN_ID": "1 2"}, 2, "", "PIPELINES_ODYSSEY_PROXY_URL (the proxy of the run) is not set; PIPELINES_RUN_TOKEN (the token of the run) is not set"},
		{"bad URL", with("PIPELINES_ODYSSEY_PROXY_URL", "ftp://u:hunter2@h/", "_PIPELINES_TASK_INPUT_JSON", "{}"), 2, "", "must begin with https://"},
		{"bad task", with("_PIPELINES_TASK_INPUT_JSON", `{"input":1,"input":2}`), 2, "", "/input occurs twice"},
		{"task is a list", with("_PIPELINES_TASK_INPUT_JSON", `[{}]`), 2, "", "must be an object"},
		{"task is an empty list", with("_PIPELINES_TASK_INPUT_JSON", `[]`), 2, "", "no task"},
		{"no such file", with("PIPELINES_TASK_INPUT_FILE", filepath.Join(dir, "nope")), 2, "", `"message":"the file in PIPELINES_TASK_INPUT_FILE: `},
		{"result cannot be written", with("_PIPELINES_TASK_INPUT_JSON", "{}", "PIPELINES_RESULT_PATH", filepath.Join(dir, "nope", "result")), 2, "", `{"error":"unwritable","message":"the answer cannot be written: `},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := runCode(t, tt.env, nil)
			if got.status != tt.status || got.stdout != tt.stdout || !strings.Contains(got.stderr, tt.stderr) {
				t.Errorf("status %d\nstdout %s\nstderr %s", got.status, got.stdout, got.stderr)
			}
			for _, secret := range []string{"hunter2", runToken} {
				if strings.Contains(got.stdout+got.stderr, secret) {
					t.Errorf("%q is told\nstdout %s\nstderr %s", secret, got.stdout, got.stderr)
				}
			}
		})
	}
	t.Run("result file", func(t *testing.T) {
		path := write("result.json", "old")
		got := runCode(t, with("PIPELINES_RESULT_PATH", path, "_PIPELINES_TASK_INPUT_JSON", payload), nil)
		result, err := os.ReadFile(path)
		if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o644 {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
		if err != nil || got.status != 0 || got.stdout != "" || string(result) != `{"final_response":"hi  42  {\"order_id\":\"4521\"}"}`+"\n" {
			t.Errorf("%+v, file %q, %v", got, result, err)
		}
		if rest, _ := filepath.Glob(filepath.Join(dir, ".result-*")); len(rest) > 0 {
			t.Errorf("left behind: %v", rest)
		}
	})
	t.Run("the log has the reason", func(t *testing.T) {
		got := runCode(t, with("TOOLWIRE_TEST_AGENT", "logging", "_PIPELINES_TASK_INPUT_JSON", `{"user_instruction":"fail"}`), nil)
		if got.status != 1 || !strings.Contains(got.stderr, "hunter2") {
			t.Errorf("%+v", got)
		}
	})
	// Code mode has no connection to abort, so http.ErrAbortHandler is treated as any other panic.
	t.Run("the agent aborts", func(t *testing.T) {
		env := with("TOOLWIRE_TEST_AGENT", "logging", "_PIPELINES_TASK_INPUT_JSON", `{"user_instruction":"abort"}`)
		if got := runCode(t, env, nil); got.status != 1 || !strings.Contains(got.stderr, `msg="run failed"`) {
			t.Errorf("%+v", got)
		}
		env["TOOLWIRE_TEST_GRADED"] = "1"
		if got := runCode(t, env, nil); got.status != 0 || !strings.Contains(got.stdout, `"final_response":"failed: the agent panicked`) {
			t.Errorf("%+v with a failure response", got)
		}
	})
	t.Run("SIGTERM", func(t *testing.T) {
		if runtime.GOOS == "windows" {
			t.Skip("a process on windows cannot send SIGTERM")
		}
		got := runCode(t, with("_PIPELINES_TASK_INPUT_JSON", `{"user_instruction":"wait"}`), func(cmd *exec.Cmd) {
			reader, writer, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			cmd.Stderr = writer
			go func() {
				_, _ = reader.Read(make([]byte, 8)) // "waiting"
				_ = cmd.Process.Signal(syscall.SIGTERM)
				_, _ = io.Copy(io.Discard, reader)
			}()
		})
		if got.status != 1 { // -1 means that the signal ended the process
			t.Errorf("status %d", got.status)
		}
	})
}

// In code mode too the envelope does not have the run token.
func TestTheEnvelopeOfCodeModeHasNoRunToken(t *testing.T) {
	got := runCode(t, map[string]string{
		"PIPELINES_RUN_TOKEN": runToken, "PIPELINES_ODYSSEY_PROXY_URL": "https://proxy.example.com",
		"_PIPELINES_TASK_INPUT_JSON": `{"user_instruction":"envelope","note":"` + runToken + `"}`,
	}, nil)
	if got.status != 0 || strings.Contains(got.stdout, runToken) || !strings.Contains(got.stdout, "[redacted]") {
		t.Errorf("status %d, answer %s", got.status, got.stdout)
	}
}
