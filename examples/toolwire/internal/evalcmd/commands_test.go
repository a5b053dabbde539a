package evalcmd

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/examples/toolwire/internal/doctorcmd"
	"github.com/toolwire/toolwire/internal/runctx"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// Text of an agent, its tools or its model must not act as a command of the CI engine that shows the report.
func TestAgentsWriteNoCommands(t *testing.T) {
	const evil = "done\n::error::forged\n  ::set-output name=a::b\n##[set-output name=a]b\nx ##vso[task.complete]a #\u200d#[add-mask]a " +
		"word word word word word word word word word word word word word word word word ::error::forged ::error::forged ::error::forged"
	// As the runners of GitHub and Azure read lines: they compare without characters that cannot be seen.
	command := regexp.MustCompile(`(?m)^[\s\p{Cf}]*::|##[\pL]*\[`)
	check := func(name, output, says string) {
		t.Helper()
		seen := strings.NewReplacer("\u200d", "").Replace(output)
		if found := command.FindString(seen); found != "" {
			t.Errorf("%s contains %q:\n%s", name, found, output)
		}
		if !strings.Contains(output, says) {
			t.Errorf("%s does not show what the agent said:\n%s", name, output)
		}
	}
	agent := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		_, _ = run.Proxy.Do(ctx, "::get ##[error]", map[string]string{"id": evil})
		recorderOf(ctx).UpdateMetadata(func(m *dispatch.Metadata) { m.Model = evil })
		if strings.Contains(run.Instruction, "fail") {
			return nil, &toolwire.Error{Code: "x", Message: evil}
		}
		return &dispatch.Response{FinalResponse: evil}, nil
	}
	for _, instruction := range []string{"work", "fail"} {
		result, err := dispatchtest.Dispatch(t.Context(), dispatchtest.Target{Agent: agent}, dispatchtest.Task{
			Instruction: instruction, World: proxytest.World{Behaviors: map[string]proxytest.Behavior{"get": proxytest.Canned(`{"a":"##[x]"}`)}},
		})
		if err != nil {
			t.Fatal(err)
		}
		check("the result of "+instruction, result.String(), "done")
	}

	handler, err := dispatch.New(agent, &dispatch.Options{InsecureNoAuth: true})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/agent", handler)
	mux.HandleFunc("/broken", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = w.Write([]byte(evil))
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	dataset := filepath.Join(t.TempDir(), "tasks.csv")
	if err := os.WriteFile(dataset, []byte("id,user,says\n::error::a,work,nothing\nb ##[error],fail,\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/agent", "/broken"} {
		var out bytes.Buffer
		Run(t.Context(), []string{"-url", server.URL + path, "-dataset", dataset, "-trials", "2", "-v"}, &out, &out)
		check("eval of "+path, out.String(), "::error::forged")
	}
	var out bytes.Buffer
	doctorcmd.Run(t.Context(), []string{"-url", server.URL + "/broken"}, &out, &out)
	check("doctor", out.String(), "::error::forged")
}

// recorderOf returns what package llm writes into the transcript of the run with.
func recorderOf(ctx context.Context) runctx.Recorder[dispatch.Message, dispatch.Problem, dispatch.Metadata] {
	kept := runctx.From[*runctx.Kept[dispatch.Run]](ctx)
	return kept.Recorder.(runctx.Recorder[dispatch.Message, dispatch.Problem, dispatch.Metadata])
}
