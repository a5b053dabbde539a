package pagecmd

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolwire/toolwire/examples/toolwire/internal/commandline"
	"github.com/toolwire/toolwire/examples/toolwire/internal/showcmd"
)

func TestCommandLine(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	t.Setenv("TOOLWIRE_TEST_TOKEN", "hunter2")
	t.Setenv(commandline.URLVariable, "")
	agent := []string{"-url", "http://127.0.0.1:1/dispatch"}
	for _, tt := range []struct {
		name   string
		args   []string
		status int
		said   string
	}{
		{"no URL", []string{"-url", "127.0.0.1"}, 2, "-url is not an http or https URL"},
		{"a URL with a fragment", []string{"-url", "http://127.0.0.1:1/#a"}, 2, "Agent URL: Leave the part from # on out"},
		{"the token for its name", append(agent, "-token-env", "hunter2"), 2, "give its name, not the token"},
		{"a header for a URL", append(agent, "-auth-header", "Host", "-token-env", "TOOLWIRE_TEST_TOKEN"), 2, "Auth header name: "},
		{"unknown flag", []string{"-nope"}, 2, "-nope"},
		{"stray argument", []string{"x"}, 2, `unexpected argument "x": the program of an agent follows --`},
		{"no such program", []string{"--", "./no-such-program", "hunter2"}, 2, "no-such-program"},
		{"a token for a program", []string{"-token-env", "TOOLWIRE_TEST_TOKEN", "--", "x"}, 2, "are for a -url"},
		{"a program that does not listen", append(agent, "--", "./no-such-program"), 1, "no-such-program"},
		{"no address", []string{"-addr", "8700"}, 2, "not a host and port"},
		{"all addresses", []string{"-addr", ":8700"}, 2, "-insecure-listen"},
		{"another address", []string{"-addr", "192.0.2.1:8700"}, 2, "-insecure-listen"},
		{"a name", []string{"-addr", "example.com:8700"}, 2, "-insecure-listen"},
		{"keep nothing", []string{"-keep", "0"}, 2, "-keep is 1 or more"},
		{"no such world", []string{"-world", filepath.Join(dir, "nope.json")}, 2, "nope.json"},
		{"no JSON", []string{"-world", file("bad.json", "{")}, 2, "bad.json"},
		{"unknown member", []string{"-world", file("member.json", `{"tolls":[]}`)}, 2, "tolls"},
		{"unusable", []string{"-world", file("unusable.json", `{"initial_state":{"order":{"1":null}}}`)}, 2, "/order/1"},
		{"address of nobody here", []string{"-insecure-listen", "-addr", "192.0.2.1:8700"}, 1, "cannot be listened on"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			if status := Run(t.Context(), tt.args, &stdout, &stderr); status != tt.status {
				t.Errorf("status %d, want %d", status, tt.status)
			}
			has(t, stderr.String(), tt.said)
			if strings.Contains(stderr.String(), "hunter2") {
				t.Errorf("the token is printed: %s", stderr.String())
			}
			if stdout.Len() > 0 {
				t.Errorf("printed %q", stdout.String())
			}
		})
	}
}

// program is a running page.
type program struct {
	url    string
	stop   context.CancelFunc
	status chan int
	stderr *bytes.Buffer
	line   string
}

func launch(t *testing.T, args ...string) *program {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	out, in := io.Pipe()
	p := &program{stop: stop, status: make(chan int, 1), stderr: &bytes.Buffer{}}
	go func() { p.status <- Run(ctx, append([]string{"-addr", "127.0.0.1:0"}, args...), in, p.stderr) }()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	p.line = line
	_, rest, _ := strings.Cut(line, ": ")
	p.url, _, _ = strings.Cut(rest, " ")
	return p
}

// The program says where it is, stops when asked to, takes the runs in progress with it, and keeps their files.
func TestStop(t *testing.T) {
	reached, left := make(chan struct{}), make(chan struct{})
	agent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		close(reached)
		<-r.Context().Done()
		close(left)
	}))
	defer agent.Close()
	world := filepath.Join(t.TempDir(), "world.json")
	if err := os.WriteFile(world, []byte(`{"behaviors":{"get_weather":{"canned":{"celsius":21}}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "runs")
	p := launch(t, "-world", world, "-runs", folder)
	if !strings.HasPrefix(p.line, "toolwire page: http://127.0.0.1:") || strings.Count(p.line, "\n") != 1 {
		t.Errorf("printed %q", p.line)
	}
	resp, err := http.Get(p.url + "dispatch")
	if err != nil {
		t.Fatal(err)
	}
	form, _ := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	page := checkPage(t, string(form))
	has(t, page.say(), "a world with 1 tool", "Tools of the world", "get_weather")
	token := page.all(func(n *node) bool { return n.attr["name"] == "page_token" })[0].attr["value"]
	resp, err = http.PostForm(p.url+"runs/sample", nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != 404 { // the sample agent knows the tools of its shop only
		t.Errorf("the sample in another world: %d", resp.StatusCode)
	}
	resp, err = http.PostForm(p.url+"dispatch", url.Values{"page_token": {token}, "url": {agent.URL}, "instruction": {"Wait."}})
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != 200 { // of the run, after the redirect
		t.Errorf("%d", resp.StatusCode)
	}
	<-reached
	p.stop()
	if status := <-p.status; status != 0 || p.stderr.Len() > 0 {
		t.Errorf("status %d, said %q", status, p.stderr)
	}
	if files, err := filepath.Glob(filepath.Join(folder, "*-run-1.json")); err != nil || len(files) != 1 {
		t.Errorf("files of runs: %q, %v", files, err)
	} else if status := showcmd.Run(t.Context(), []string{"-o", world + ".html", files[0]}, io.Discard, p.stderr); status != 0 {
		t.Errorf("toolwire show does not open the run: %s", p.stderr)
	}
	select {
	case <-left:
	case <-time.After(5 * time.Minute):
		agent.CloseClientConnections()
		t.Error("the run goes on")
	}
	if resp, err := http.Get(p.url); err == nil {
		_ = resp.Body.Close()
		t.Error("it still answers")
	}
}

func TestTwoServersOnOnePort(t *testing.T) {
	first := launch(t)
	u, err := url.Parse(first.url)
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	if status := Run(t.Context(), []string{"-addr", u.Host}, &stdout, &stderr); status != 1 {
		t.Errorf("status %d", status)
	}
	has(t, stderr.String(), u.Host, "cannot be listened on", "another toolwire page", "-addr 127.0.0.1:0")
	first.stop()
	if status := <-first.status; status != 0 {
		t.Errorf("the first ended with %d", status)
	}
}

func TestBaseURL(t *testing.T) {
	p := launch(t, "-insecure-listen", "-addr", "0.0.0.0:0")
	has(t, p.url, "http://127.0.0.1:")
	resp, err := http.Get(p.url)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	p.stop()
	<-p.status
}
