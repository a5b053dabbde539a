package doctor_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/doctor"
	"github.com/toolwire/toolwire/internal/process"
)

const shopTools = `[
	{"name":"get_order","description":"Looks an order up.","input_schema":{"type":"object","required":["order_id"],
		"additionalProperties":false,"properties":{"order_id":{"type":"string","description":"The order's id."}}}},
	{"name":"refund_order","description":"Refunds an order in full.","input_schema":{"type":"object","required":["order_id"],
		"additionalProperties":false,"properties":{"order_id":{"type":"string","description":"The order's id."}}}}]`

// Ports on frameworks of other languages have the findings that their faults cause, and no other. The
// part ports of .ci/nightly runs them, where the language has what a port imports: in each, a slow call
// takes 22 s.
func TestPortsOnFrameworks(t *testing.T) {
	if os.Getenv("TOOLWIRE_PORTS") == "" {
		t.Skip("TOOLWIRE_PORTS is not set: .ci/nightly ports sets it, when it has installed the frameworks that the ports need")
	}
	defer doctor.SetSlowCall(doctor.SetSlowCall(22 * time.Second))
	python := []string{"/usr/bin/python3", "-c"}
	node := []string{"node", "-e"}
	languages := map[string]struct{ needs, command []string }{ // PORT stands for the port, FAULT for the fault
		"flask":   {append(python, "import flask, werkzeug"), []string{"/usr/bin/python3", "testdata/ports/flask_port.py", "PORT", "FAULT"}},
		"django":  {append(python, "import django"), []string{"/usr/bin/python3", "testdata/ports/django_port.py", "PORT", "FAULT"}},
		"aiohttp": {append(python, "import aiohttp"), []string{"/usr/bin/python3", "testdata/ports/aiohttp_port.py", "PORT", "FAULT"}},
		"sinatra": {[]string{"ruby", "-e", `require "sinatra/base"; require "webrick"`}, []string{"ruby", "testdata/ports/sinatra.rb", "PORT", "FAULT"}},
		"php":     {[]string{"php", "-r", "exit(function_exists('curl_init') ? 0 : 1);"}, []string{"php", "-q", "-S", "127.0.0.1:PORT", "testdata/ports/port.php"}},
		"java":    {[]string{"java", "--list-modules"}, []string{"java", "testdata/ports/Port.java", "PORT", "FAULT"}},
		"fastify": {append(node, "require('fastify')"), []string{"node", "testdata/ports/fastify.js", "PORT", "FAULT"}},
		"koa":     {append(node, "require('koa')"), []string{"node", "testdata/ports/koa.js", "PORT", "FAULT"}},
		"express": {append(node, "require('express')"), []string{"node", "testdata/ports/express.js", "PORT", "FAULT"}},
	}
	t.Run("all", func(t *testing.T) {
		for _, tt := range []struct {
			language, fault string
			failed, warned  names
			seen            string
		}{
			{"flask", "none", nil, nil, ""},
			{"sinatra", "none", nil, nil, ""},
			{"php", "none", nil, nil, ""},
			{"java", "none", nil, nil, ""},
			{"koa", "none", nil, nil, ""},

			{"flask", "memory", names{"memory_replay", "memory_stateful"}, nil, "one session has what only another session said"},
			{"django", "environ", names{"concurrent_runs"}, nil, ""},
			{"aiohttp", "late", nil, names{"late_calls"}, "called the proxy after it had answered: get_order"},
			{"aiohttp", "join", names{"dispatch"}, nil, "did not begin with odyssey_proxy_url"},
			{"sinatra", "ping", names{"auth_before_ping"}, nil, "only after the ping"},
			{"php", "cast", names{"unwrap"}, nil, "another content"},
			{"java", "single", nil, names{"concurrent_runs"}, "not even a ping is answered"},
			{"java", "fallback", nil, names{"failing_tools"}, "the answer does not mention it"},
			{"fastify", "timeout", nil, names{"slow_tool"}, "gave up a tool call that was not answered"},
			{"koa", "stubborn", nil, names{"terminal_503", "expired_token"}, "not transient"},
			{"express", "reject", names{"retry_429"}, nil, "the next ping is answered nothing"},
			{"express", "includes", names{"wrong_bearer"}, nil, "one more character"},
		} {
			t.Run(tt.language+"/"+tt.fault, func(t *testing.T) {
				t.Parallel()
				language := languages[tt.language]
				if out, err := exec.Command(language.needs[0], language.needs[1:]...).CombinedOutput(); err != nil {
					t.Skipf("%s cannot be run here: %v %.200s", tt.language, err, out)
				}
				target := dispatchtest.Target{URL: serveAt(t, language.command, tt.fault), AuthValue: "Bearer " + handToken}
				report := examineWith(t, target, &doctor.Options{
					Task: &dispatchtest.Task{Instruction: "Refund order #4521."}, ToolsSchema: []byte(shopTools), Scenarios: doctor.Scenarios(),
					Timeout: time.Minute,
				})
				t.Log(report)
				if f := find(t, report, "concurrent_runs"); tt.language == "php" && f.Status == doctor.StatusWarning {
					tt.warned = append(tt.warned, f.Name) // PHP's own server may give both runs to one of its processes
				}
				expect(t, report, tt.failed, tt.warned, tt.seen)
			})
		}
	})
}

// serveAt starts an endpoint on a free port, waits until it takes connections, and returns its URL.
func serveAt(t *testing.T, command []string, fault string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close()
	_, port, _ := net.SplitHostPort(address)
	var argv []string
	for _, word := range command {
		argv = append(argv, strings.NewReplacer("PORT", port, "FAULT", fault).Replace(word))
	}
	path, err := exec.LookPath(argv[0])
	if err != nil {
		t.Fatal(err)
	}
	argv[0] = path
	run, err := process.Start(&process.Command{
		Argv: argv, Env: append(os.Environ(), "AGENT_TOKEN="+handToken, "FAULT="+fault, "PHP_CLI_SERVER_WORKERS=8", "PYTHONDONTWRITEBYTECODE=1"),
		Dir: ".", MaxStdout: 1 << 20, MaxStderr: 1 << 20, Timeout: time.Hour, Grace: time.Second, PipeWait: time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if outcome := run.Wait(ctx); outcome.End != process.Canceled { // some faults end a port
			t.Logf("%s ended: %s", path, outcome.Stderr.Bytes)
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	for {
		if conn, err := net.Dial("tcp", address); err == nil {
			_ = conn.Close()
			return "http://" + address + "/dispatch"
		}
		select {
		case <-ended:
			t.Fatalf("%s has ended", argv[0])
		case <-time.After(100 * time.Millisecond):
		}
	}
}
