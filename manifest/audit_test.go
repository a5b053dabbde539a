package manifest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/manifest"
	"github.com/toolwire/toolwire/proxy"
)

// call is a call of a tool, with the model's id of it.
type call struct {
	id, tool string
	args     any
}

// doAll makes calls at the same time, and returns the results in the order of the calls.
func doAll(ctx context.Context, m *manifest.Manifest, calls []call) []*manifest.Result {
	results := make([]*manifest.Result, len(calls))
	var all sync.WaitGroup
	for i, call := range calls {
		all.Go(func() { results[i] = m.Do(proxy.WithCallID(ctx, call.id), call.tool, call.args) })
	}
	all.Wait()
	return results
}

// audited runs calls and returns their records by call id.
func audited(t *testing.T, o *manifest.Options, calls []call, tools ...entry) map[string]manifest.AuditRecord {
	t.Helper()
	var mu sync.Mutex
	records := map[string]manifest.AuditRecord{}
	o.Audit = func(r manifest.AuditRecord) {
		mu.Lock()
		defer mu.Unlock()
		if _, twice := records[r.CallID]; twice {
			t.Errorf("call %q was audited twice", r.CallID)
		}
		records[r.CallID] = r
	}
	doAll(t.Context(), load(t, o, tools...), calls)
	return records
}

func TestAuditTellsOfEveryRun(t *testing.T) {
	missing := entry{"name": "missing", "command": []string{filepath.Join(t.TempDir(), "none")}}
	begin := time.Now()
	records := audited(t, &manifest.Options{}, []call{
		{id: "ok", tool: "t", args: json.RawMessage(`{"password":"swordfish"}`)},
		{id: "fail", tool: "fail", args: megabyte()},
		{id: "missing", tool: "missing"}, {id: "flood", tool: "flood"}, {id: "unknown", tool: "unknown"},
	}, tool("echo"), tool("flood-stderr", "200000", "reason", "3").with("name", "fail"), missing,
		tool("flood").with("name", "flood"))
	const timeout = 20 * time.Millisecond
	maps.Copy(records, audited(t, &manifest.Options{Timeout: timeout}, []call{{id: "slow", tool: "slow"}},
		tool("sleep", "10m").with("name", "slow")))
	for id, want := range map[string]manifest.AuditRecord{
		"ok":      {Tool: "t", Exit: 0, StdoutBytes: 24},
		"fail":    {Tool: "fail", Exit: 3, StdoutBytes: 11, StderrBytes: 199691, Truncated: true, Code: "exit_status"},
		"slow":    {Tool: "slow", Exit: -1, Code: toolwire.CodeTimeout},
		"missing": {Tool: "missing", Exit: -1, Code: "program_unavailable"},
		"flood":   {Tool: "flood", Exit: -1, Truncated: true, Code: toolwire.CodeResponseTooLarge},
	} {
		got, ok := records[id]
		if !ok {
			t.Errorf("no record of %q", id)
			continue
		}
		if runtime.GOOS == "windows" && want.Exit == -1 && id != "missing" {
			want.Exit = got.Exit // a killed program has an exit status there
		}
		if got.Tool != want.Tool || got.Exit != want.Exit || got.Truncated != want.Truncated || got.Code != want.Code ||
			id != "flood" && (got.StdoutBytes != want.StdoutBytes || got.StderrBytes != want.StderrBytes) {
			t.Errorf("%s: %+v, want %+v", id, got, want)
		}
		if got.Time.Before(begin) || got.Time.Location() != time.UTC || len(got.Argv) == 0 || got.WorkDir == "" {
			t.Errorf("%s: %+v", id, got)
		}
		if id == "slow" && got.Millis < timeout.Milliseconds() {
			t.Errorf("%d ms", got.Millis)
		}
		line, _ := json.Marshal(got)
		for _, leak := range []string{"swordfish", "password", "reason"} {
			if bytes.Contains(line, []byte(leak)) && !slices.ContainsFunc(got.Argv, func(a string) bool {
				return strings.Contains(a, leak)
			}) {
				t.Errorf("%s: %q is in the record %s", id, leak, line)
			}
		}
	}
	if _, ok := records["unknown"]; ok {
		t.Error("a call that ran nothing was audited")
	}
}

func TestAuditNamesVariablesAndHidesValues(t *testing.T) {
	env := map[string]string{"PATH": "/bin", "HOME": "/home/x", "OAI_API_KEY": "sk-test-1234567890",
		"OAI_BASE_URL": "sk-test-12345678901111", "SHORT": "to", "EMPTY": ""}
	e := tool("say", "{}", "", "0", "--token=sk-test-1234567890", "--url=sk-test-12345678901111", "--to=x",
		"--note=plain").
		with("envPassthrough", []string{"OAI_API_KEY", "OAI_BASE_URL", "SHORT", "EMPTY", "NOT_SET"})
	folder := t.TempDir()
	dir := filepath.Join(folder, "sk-test-1234567890")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	records := audited(t, &manifest.Options{
		LookupEnv: lookup(env), WorkDir: dir,
	}, []call{{id: "a", tool: "t"}}, e)
	r := records["a"]
	if want := []string{"OAI_API_KEY", "OAI_BASE_URL", "SHORT", "EMPTY"}; !slices.Equal(r.EnvKeys, want) {
		t.Errorf("envKeys = %q, want %q", r.EnvKeys, want)
	}
	if want := []string{"--token=[redacted]", "--url=[redacted]", "--to=x",
		"--note=plain"}; !slices.Equal(r.Argv[len(r.Argv)-4:], want) {
		t.Errorf("argv = %q, want the end %q", r.Argv, want)
	}
	if want := filepath.Join(folder, "[redacted]"); r.WorkDir != want {
		t.Errorf("cwd = %q, want %q", r.WorkDir, want)
	}
}

// auditLog returns the function that writes to dir.
func auditLog(t testing.TB, dir string, logger *slog.Logger) func(manifest.AuditRecord) {
	t.Helper()
	audit, err := manifest.AuditLog(dir, logger)
	if err != nil {
		t.Fatal(err)
	}
	return audit
}

func TestAuditFailuresDoNotFailCalls(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "audit")
	var log bytes.Buffer
	for _, logger := range []*slog.Logger{nil, slog.New(slog.NewTextHandler(&log, nil))} {
		m := load(t, &manifest.Options{Audit: auditLog(t, dir, logger)}, tool("echo"))
		if err := os.Remove(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(dir, nil, 0o600); err != nil { // a file in the place of the folder
			t.Fatal(err)
		}
		out, err := m.Call(t.Context(), "t", json.RawMessage(`{"a":"swordfish"}`))
		if err != nil || string(out) != `{"a":"swordfish"}` {
			t.Errorf("output %s, err %v", out, err)
		}
		if err := os.Remove(dir); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(log.String(), "could not be written") || !strings.Contains(log.String(), "tool=t") ||
		strings.Contains(log.String(), "swordfish") || strings.Count(log.String(), "\n") != 1 {
		t.Errorf("log = %s", log.String())
	}
}

func TestAuditLog(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "audit")
	m := load(t, &manifest.Options{Audit: auditLog(t, dir, nil),
		LookupEnv: lookup(map[string]string{"TZ": "secret-zone"})},
		tool("echo").with("envPassthrough", []string{"TZ"}))
	calls := make([]call, 30)
	for i := range calls {
		calls[i] = call{id: "c", tool: "t", args: json.RawMessage(`{"password":"swordfish"}`)}
	}
	doAll(t.Context(), m, calls)

	files, err := os.ReadDir(dir)
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	lines := 0
	for _, f := range files { // two, if the test runs at midnight
		info, _ := f.Info()
		if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("mode %v", info.Mode())
		}
		data, _ := os.ReadFile(filepath.Join(dir, f.Name()))
		if bytes.Contains(data, []byte("swordfish")) || bytes.Contains(data, []byte("secret-zone")) ||
			!bytes.HasSuffix(data, []byte("\n")) {
			t.Errorf("%s", data)
		}
		for line := range bytes.Lines(data) {
			lines++
			var members map[string]any
			if err := json.Unmarshal(line, &members); err != nil {
				t.Fatal(err)
			}
			var names []string
			for name := range members {
				names = append(names, name)
			}
			slices.Sort(names)
			if want := "argv callId cwd envKeys exit ms stderrBytes stdoutBytes tool truncated ts"; strings.Join(names,
				" ") != want {
				t.Errorf("members %v, want %s", names, want)
			}
		}
	}
	if lines != len(calls) {
		t.Errorf("%d lines of %d calls", lines, len(calls))
	}
	if runtime.GOOS != "windows" {
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("folder: %v, %v", info.Mode(), err)
		}
	}
}

func TestAuditLogHasOneFilePerDay(t *testing.T) {
	dir := t.TempDir()
	audit := auditLog(t, dir, nil)
	midnight := time.Date(2025, 1, 2, 23, 59, 59, 5, time.UTC)
	for _, at := range []time.Time{midnight, midnight.Add(2 * time.Second).In(time.FixedZone("", -3600))} {
		audit(manifest.AuditRecord{Time: at, Tool: "t"})
	}
	for _, name := range []string{"20250102.log", "20250103.log"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	if data, _ := os.ReadFile(filepath.Join(dir, "20250102.log")); !strings.Contains(string(data),
		`"ts":"2025-01-02T23:59:59.000000005Z"`) {
		t.Errorf("%s", data)
	}
}

func TestAuditLogNeedsAFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"", file} {
		audit, err := manifest.AuditLog(dir, nil)
		if audit != nil || toolwire.CodeOf(err) != toolwire.CodeInvalidOptions || err.Error() == "" {
			t.Errorf("%q: %v", dir, err)
		}
	}
}
