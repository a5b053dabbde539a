package cassette_test

import (
	"encoding/json"
	"flag"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/cassette"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

var update = flag.Bool("update", false, "record testdata/refund.jsonl again")

const recorded = "testdata/refund.jsonl"

// TestUpdate records the tape of the repository against a server, through HTTP.
func TestUpdate(t *testing.T) {
	if !*update {
		t.Skip("the tape is recorded again only with -update")
	}
	platform := proxytest.NewPlatform(t, orders, nil)
	server := httptest.NewServer(platform)
	defer server.Close()
	run := platform.NewRun()
	tape := cassette.Open(t, recorded, &cassette.Options{
		Mode: cassette.Record, Upstream: server.URL + run.Path,
		Task: cassette.Task{
			Name: "refund", Instruction: "Refund what was shipped.", Input: json.RawMessage(`{"customer":"Ada"}`),
			Tools: platform.Tools(),
		},
	})
	c, err := proxy.New(serveHTTP(t, tape)+"/runs/1", run.Token, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := refund(t.Context(), &dispatch.Run{Proxy: c}); err != nil {
		t.Fatal(err)
	}
}

// replayTask replays the repository's tape where dispatchtest would serve a world.
func replayTask(tape *cassette.Cassette) dispatchtest.Task {
	return dispatchtest.Task{Instruction: "Refund what was shipped.", WrapProxy: tape.Wrap}
}

func TestReplayRecordedTape(t *testing.T) {
	if text := readFile(t, recorded); strings.Count(text, "\n") != 8 || !strings.Contains(text, "lock_contention") {
		t.Fatalf("the tape is not what these tests are about:\n%s", text)
	}
	synctest.Test(t, func(t *testing.T) { // the recorded 503 makes the client wait
		tape := cassette.Open(t, recorded, nil)
		result := dispatchtest.Run(t, dispatchtest.Target{Agent: refund}, replayTask(tape))
		result.AssertFinalResponse(t, "Refunded: 4521.")
		if report := tape.Report(); !report.OK() || report.Matched != 6 {
			t.Errorf("matched %d, want 6\n%s", report.Matched, report)
		}
		if len(result.Calls) != 4 || len(result.Refused) != 1 {
			t.Errorf("the record of the kit is not that of the tape:\n%s", result.Log.String())
		}
	})
}

// On loopback an agent of any language could be the target.
func TestReplayOnLoopback(t *testing.T) {
	handler, err := dispatch.New(refund, &dispatch.Options{Tokens: []string{"secret"}})
	if err != nil {
		t.Fatal(err)
	}
	tape := cassette.Open(t, recorded, &cassette.Options{DropRetries: true})
	dispatchtest.Run(t, dispatchtest.Target{Handler: handler, AuthValue: "Bearer secret"}, replayTask(tape)).
		AssertFinalResponse(t, "Refunded: 4521.")
	if report := tape.Report(); report.Matched != 5 {
		t.Errorf("matched %d, want 5 without the repeated attempt\n%s", report.Matched, report)
	}
}

func TestRecordedTapeHasNoSecret(t *testing.T) {
	text := readFile(t, recorded)
	for _, secret := range []string{"s3cr3t-session-0001", "k-very-secret-0001", "Bearer", "uthorization"} {
		if strings.Contains(text, secret) {
			t.Errorf("%q is on the tape", secret)
		}
	}
	mustContain(t, text, `"session_token":"[redacted]"`, `"api_key":"[redacted]"`, `"actor":"supervisor/refunds"`,
		`"total":79.50`)
	if info, err := os.Stat(recorded + ".part"); err == nil {
		t.Errorf("a recording was left behind: %s", info.Name())
	}
}
