package doctorcmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/doctor"
	"github.com/toolwire/toolwire/examples/toolwire/internal/commandline"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

const token = "a-token-for-the-test"

// refund calls a tool if it is asked for a refund.
func refund(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
	if !strings.Contains(run.Instruction, "efund") {
		return &dispatch.Response{FinalResponse: "I am ready."}, nil
	}
	if _, err := run.Proxy.Do(ctx, "refund_order", map[string]string{"order_id": "4521"}); err != nil {
		return nil, err
	}
	return &dispatch.Response{FinalResponse: "The refund has been issued."}, nil
}

// TestMain lets the test binary be a program in code mode.
func TestMain(m *testing.M) {
	if os.Getenv("TOOLWIRE_TEST_PROGRAM") != "" && os.Getenv("PIPELINES_RUN_TOKEN") != "" {
		dispatch.Main(refund, nil)
	}
	_ = os.Unsetenv(commandline.URLVariable) // of the developer
	_ = os.Unsetenv(commandline.TokenVariable)
	os.Exit(m.Run())
}

func serve(t *testing.T, header string) string {
	t.Helper()
	handler, err := dispatch.New(refund, &dispatch.Options{Tokens: []string{token}, AuthHeader: header, Proxy: &proxy.Options{MaxAttempts: 1}})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL + "/dispatch"
}

const tools = `{"tools_schema":[{"name":"refund_order","description":"Refunds an order.",
	"input_schema":{"type":"object","properties":{"order_id":{"type":"string","description":"The order's id."}},"required":["order_id"]}}]}`

func TestDoctor(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	t.Setenv("AGENT_TOKEN", token+"\n")
	t.Setenv("EMPTY", " ")
	t.Setenv("TOOLWIRE_TEST_PROGRAM", "1")
	byBearer, byKey := serve(t, ""), serve(t, "X-API-Key")
	open := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>Hello</html>") }))
	t.Cleanup(open.Close)
	hangs := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // or the end of the connection would not be seen
		<-r.Context().Done()
	}))
	t.Cleanup(hangs.Close)
	platform := httptest.NewServer(proxytest.NewPlatform(t, proxytest.World{}, nil))
	t.Cleanup(platform.Close)
	tokenFile := file("token", token+"\r\n")
	good := []string{"-url", byBearer, "-token-env", "AGENT_TOKEN"}
	with := func(more ...string) []string { return append(append([]string{}, good...), more...) }
	program := func(more ...string) []string {
		return append([]string{"-instruction", "Refund order #4521.", "-tools", file("program.json", tools), "-scenarios", "session_replay"}, more...)
	}
	adapter := strings.Replace(tools, `"name":"refund_order"`, `"name":"refund_order","default_execution_mode":"passthrough",
		"passthrough_binding":{"endpoint_name":"orders","tool_name":"refund"},"ledger_write_policy":"adapter",
		"ledger_adapter":{"entity_type":"order","id_from":"$.id"}`, 1)
	for _, tt := range []struct {
		name   string
		args   []string
		status int
		parts  []string // of what is printed
	}{
		{"good", good, 0, []string{"ok       ping", "a sample run completes", "12 ok, 3 skipped"}},
		{"another header", []string{"-url", byKey, "-auth-header", "X-API-Key", "-token-file", tokenFile}, 0, []string{"ok       ping"}},
		{"with a scheme", []string{"-url", byBearer, "-token-file", file("scheme", "bearer "+token)}, 0, []string{"ok       ping"}},
		{"everything", with("-tools", file("tools_schema.json", tools), "-dataset", file("good.csv", "user\nRefund order #4521.\n"),
			"-proxy", platform.URL+"/api/odyssey-proxy", "-manifest", file("tools.json", `{"tools":[]}`), "-instruction", "Refund order #4521."),
			0, []string{"with 1 tool call", "valid: 1 tool", "1 row, columns user", "refuses a fake token", "warning  manifest"}},
		{"strict", with("-manifest", file("tools.json", `{"tools":[]}`), "-strict"), 1, []string{"warning  manifest"}},
		{"ledger", with("-tools", file("adapter.json", adapter), "-ledger", file("ledger.json", `{"entities":[{"type":"order","id_field":"id","fields":[{"name":"status","type":"string"}]}]}`)), 0,
			[]string{"valid: 1 tool"}},
		{"scenarios", with("-tools", file("some.json", tools), "-instruction", "Refund order #4521.", "-scenarios", "unwrap, headers_only,retry_429"), 1,
			[]string{"ok       headers_only", "failed   retry_429", "-scenarios retry_429", "demanded: \"Porting without the SDK\"", "skipped  unwrap"}},
		{"all scenarios", with("-tools", file("more.json", tools), "-instruction", "Refund order #4521.", "-scenarios", "all",
			"-run-timeout", "20s"), 1, []string{"ok       concurrent_runs", "ok       session_stateful", "skipped  slow_tool", "a run may take 20s",
			"-tools '" + file("more.json", tools) + "' -instruction"}},
		{"an unknown scenario", with("-instruction", "x", "-scenarios", "everything"), 2, []string{`-scenarios has the unknown name "everything"; see toolwire doctor -h`}},
		{"scenarios of nothing", with("-scenarios", "all"), 2, []string{"-scenarios needs an -instruction"}},
		{"all mistakes at once", with("-scenarios", "unwrap,everything", "-ledger", "x"), 2,
			[]string{"-scenarios needs an -instruction", "-ledger is for -tools", `the unknown name "everything"; see`}},
		{"no dispatch", with("-no-dispatch"), 0, []string{"left out"}},
		{"no token", []string{"-url", byBearer}, 1, []string{"failed   ping", "none was given"}},
		{"wrong token", []string{"-url", byBearer, "-token-file", file("wrong", "wrong-token")}, 1, []string{"refuses the right bearer"}},
		{"down", []string{"-url", "http://127.0.0.1:1/"}, 1, []string{"failed   reachable", "refused"}},
		{"slow", []string{"-url", hangs.URL, "-timeout", "1s"}, 1, []string{"failed   reachable", "has not answered a ping within 1s"}},
		{"HTML", []string{"-url", open.URL}, 1, []string{"failed   ping", "HTML page"}},
		{"bad tools", with("-tools", file("bad.json", `[{"name":"a b"}]`)), 1, []string{"failed   tools_schema"}},
		{"bad dataset", with("-dataset", file("bad.csv", "usr\nx\n")), 1, []string{"failed   dataset", "did you mean"}},
		{"transcript", with("-require-transcript"), 1, []string{"response_contract_violation"}},

		{"code mode", program("-env", "TOOLWIRE_TEST_PROGRAM", "--", os.Args[0], "-x"), 0, []string{
			"a program in code mode", "skipped  11 checks       code mode receives no requests: reachable, tls",
			"ok       dispatch        a sample run completes", "ok       session_replay",
		}},
		{"code mode without its variable", program("--", os.Args[0], "-test.run=^$"), 1, []string{
			"failed   dispatch ", "agent_bad_response: the program ended with exit status 0", "-instruction 'Refund order #4521.' -- '" + os.Args[0] + "' '-test.run=^$'",
		}},
		{"no such program", []string{"--", "./no-such-program"}, 2, []string{"toolwire doctor: the command: ", "no-such-program"}},
		{"a program for a URL at which another listens", with("--", "x"), 2, []string{"a program listens at -url already"}},
		{"a command without its mark", []string{"x"}, 2, []string{`unexpected argument "x": the program of an agent follows --`}},
		{"a token for a command", []string{"-token-file", tokenFile, "--", "x"}, 2, []string{"-token-env and -token-file are for a -url"}},
		{"a header for a command", []string{"-auth-header", "Authorization", "--", "x"}, 2, []string{"are for a -url"}},
		{"a variable for a URL", with("-env", "HOME"), 2, []string{"-env is for the program of an agent"}},
		{"an unset variable", []string{"-env", "X=" + token, "--", "x"}, 2, []string{"-env: there is no environment variable of that name"}},

		{"no URL", nil, 2, []string{"-url is required, or the program of an agent"}},
		{"unusable URL", []string{"-url", "localhost"}, 2, []string{"toolwire doctor: -url is not an http or https URL with a host, such as http"}},
		{"password", []string{"-url", "http://u:p@127.0.0.1/"}, 2, []string{"toolwire doctor: -url contains a user name or password", "use -auth-header and -token-env"}},
		{"unusable proxy", with("-proxy", "x"), 2, []string{"toolwire doctor: -proxy must be a URL with a host, such as https:"}},
		{"unusable header", []string{"-url", byKey, "-auth-header", "X Key", "-token-file", tokenFile}, 2, []string{"toolwire doctor: -auth-header is not a header name"}},
		{"two lines of token", []string{"-url", byBearer, "-token-file", file("lines", token+"\n"+token)}, 2, []string{"toolwire doctor: the token begins or ends with white space"}},
		{"a folder as manifest", with("-manifest", dir), 2, []string{"-manifest: "}},
		{"the token for its name", []string{"-url", byBearer, "-token-env", token}, 2, []string{"give its name, not the token"}},
		{"two tokens", with("-token-file", tokenFile), 2, []string{"exclude each other"}},
		{"no time", with("-timeout", "0s"), 2, []string{"must be positive"}},
		{"too much time", with("-run-timeout", "1h"), 2, []string{"toolwire doctor: -run-timeout is from 0"}},
		{"two minds", with("-no-dispatch", "-instruction", "x"), 2, []string{"exclude each other"}},
		{"ledger without tools", with("-ledger", "x"), 2, []string{"-ledger is for -tools"}},
		{"unset variable", []string{"-url", byBearer, "-token-env", "NO_SUCH_VARIABLE"}, 2, []string{"-token-env: there is no environment variable of that name"}},
		{"empty variable", []string{"-url", byBearer, "-token-env", "EMPTY"}, 2, []string{"-token-env: ", "or it is empty"}},
		{"empty file", []string{"-url", byBearer, "-token-file", file("none", "\n")}, 2, []string{"the file is empty"}},
		{"no token file", []string{"-url", byBearer, "-token-file", "nope"}, 2, []string{"-token-file: ", "nope"}},
		{"no tools file", with("-tools", "nope"), 2, []string{"-tools: "}},
		{"no tools file beside a dataset", with("-tools", "nope", "-dataset", file("beside.csv", "user\nHello.\n")), 2, []string{"-tools: "}},
		{"no manifest file", with("-manifest", "nope"), 2, []string{"-manifest: "}},
		{"no dataset file", with("-dataset", "nope"), 2, []string{"-dataset: "}},
		{"no ledger file", with("-tools", tokenFile, "-ledger", "nope"), 2, []string{"-ledger: "}},
		{"bad ledger", with("-tools", tokenFile, "-ledger", tokenFile), 2, []string{"-ledger: "}},
		{"invalid ledger", with("-tools", tokenFile, "-ledger", file("invalid.json", `{"entities":[{}]}`)), 2, []string{"-ledger: "}},
		{"unknown flag", []string{"-token", token}, 2, []string{"-token"}},
		{"stray argument", with("x"), 2, []string{`unexpected argument "x"`}},
		{"help", []string{"-h"}, 0, []string{"usage: toolwire doctor", "endpoint, as it will be registered"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var stdout, stderr bytes.Buffer
			if status := Run(t.Context(), tt.args, &stdout, &stderr); status != tt.status {
				t.Errorf("status %d, want %d\n%s%s", status, tt.status, stdout.String(), stderr.String())
			}
			out := stdout.String() + stderr.String()
			for _, part := range tt.parts {
				if !strings.Contains(unwrapped(out), unwrapped(part)) {
					t.Errorf("%q is missing in\n%s", part, out)
				}
			}
			if strings.Contains(out, token) || strings.Contains(out, "\x1b") {
				t.Errorf("the token or colour is in\n%s", out)
			}
			if (stdout.Len() > 0) != (tt.status != 2) {
				t.Errorf("status %d and standard output %q", tt.status, stdout.String())
			}
		})
	}
}

func TestDoctorJSON(t *testing.T) {
	t.Setenv("AGENT_TOKEN", token)
	var stdout, stderr bytes.Buffer
	if status := Run(t.Context(), []string{"-url", serve(t, ""), "-token-env", "AGENT_TOKEN", "-json"}, &stdout, &stderr); status != 0 || stderr.Len() > 0 {
		t.Fatalf("status %d: %s", status, stderr.String())
	}
	var got struct {
		Target string
		OK     bool
		Checks []doctor.Finding
	}
	if err := json.Unmarshal(stdout.Bytes(), &got); err != nil || !got.OK || !strings.HasSuffix(got.Target, "/dispatch") || len(got.Checks) != 15 ||
		got.Checks[0].Name != "reachable" || got.Checks[0].Status != doctor.StatusOK {
		t.Errorf("%v\n%s", err, stdout.String())
	}
}

// unwrapped returns the text on one line.
func unwrapped(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), " | ", " ")
}

func TestDoctorInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	var stdout, stderr bytes.Buffer
	if status := Run(t.Context(), []string{"-url", "http://127.0.0.1:1/"}, &stdout, &stderr); status != 1 {
		t.Errorf("a closed port: status %d", status)
	}
	for line := range strings.Lines(stdout.String()) {
		if text, _, command := strings.Cut(line, "$ "); utf8.RuneCountInString(text) > 81 || command && strings.Contains(line, "go run ") {
			t.Errorf("%q is too long, or starts another program", line)
		}
	}
	stdout.Reset()
	if status := Run(ctx, []string{"-url", "http://127.0.0.1:1/"}, &stdout, &stderr); status != 1 || !strings.Contains(stderr.String(), "toolwire doctor: interrupted: enough") ||
		!strings.Contains(stdout.String(), "15 skipped") {
		t.Errorf("status %d\n%s%s", status, stdout.String(), stderr.String())
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("the disk is full") }

func TestDoctorCannotPrint(t *testing.T) {
	var stderr bytes.Buffer
	if status := Run(t.Context(), []string{"-url", "http://127.0.0.1:1/", "-json"}, full{}, &stderr); status != 1 || !strings.Contains(stderr.String(), "the disk is full") {
		t.Errorf("status %d: %s", status, stderr.String())
	}
}
