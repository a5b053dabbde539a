package pagecmd

import (
	"context"
	"net/http"
	"os"
	"testing"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// TestMain lets the test binary be a program in code mode.
func TestMain(m *testing.M) {
	if os.Getenv("TOOLWIRE_TEST_PROGRAM") != "" && os.Getenv("PIPELINES_RUN_TOKEN") != "" {
		dispatch.Main(func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			_, err := proxy.Call[any](ctx, run.Proxy, "get_weather", map[string]string{"key": os.Getenv("TOOLWIRE_TEST_PROGRAM")})
			return &dispatch.Response{FinalResponse: "You said: " + run.Instruction}, err
		}, nil)
		return
	}
	os.Exit(m.Run())
}

// A program in code mode is the agent of all tasks: the form asks for no URL, there is no ping, and the values of its
// variables are not shown.
func TestProgram(t *testing.T) {
	t.Parallel()
	o := options{keep: 10, folder: t.TempDir(), world: proxytest.World{Behaviors: map[string]proxytest.Behavior{"get_weather": proxytest.Canned(`{"celsius":21}`)}}}
	o.agent.Command, o.agent.Env = []string{os.Args[0], "-x"}, []string{"TOOLWIRE_TEST_PROGRAM=a-secret-value"}
	l := startWith(t, o)
	form := l.get("/dispatch")
	has(t, form.say(), "sends the agent the task", "The agent is a program, which each turn starts in code mode: "+os.Args[0]+" -x")
	if fields := form.all(func(n *node) bool { return n.attr["name"] == "url" || n.attr["name"] == "auth_value" }); len(fields) > 0 {
		t.Errorf("the form has %v", fields[0].attr)
	}
	resp, body := l.post("/dispatch", map[string]string{"url": "http://127.0.0.1:1/", "instruction": "How is the weather?", "user_turns": "And now?"})
	if resp.StatusCode != http.StatusSeeOther {
		t.Fatalf("%d\n%s", resp.StatusCode, body)
	}
	l.runs.wait()
	run := l.get("/runs/1")
	has(t, run.id("facts").say(), "Agent "+os.Args[0]+" -x", "Tool calls 2")
	has(t, run.id("final").say(), "You said: And now?")
	has(t, run.id("raw").say(), "Raw requests and answers 2", "Dispatch of turn 1", "Dispatch of turn 2")
	hasNot(t, run.say(), "Ping", "a-secret-value")
	has(t, l.get("/").say(), os.Args[0]+" -x", "1 run")

	again := startWith(t, o)
	hasNot(t, again.get("/runs/1").say(), "Ping", "a-secret-value")
	has(t, again.get("/runs/1").id("raw").say(), "Raw requests and answers 2")
	has(t, again.get("/runs/1").id("more").say(), "Say more")
	o.agent.Command = nil
	hasNot(t, startWith(t, o).get("/runs/1").say(), "Say more")
}
