package proxytest_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/internal/testkit"
	"github.com/toolwire/toolwire/proxy/proxytest"
	"github.com/toolwire/toolwire/schema"
)

// A live answer that is JSON reaches the agent byte for byte, however unusual it is. Its adapter
// writes the ledger unless the answer is ambiguous, and then the record of the call says why.
func TestUnusualAnswersOfLiveTools(t *testing.T) {
	digits := strings.Repeat("1234567890", 10)
	for answer, want := range map[string]struct{ changes, explains string }{
		`{"order_id":"1","n":` + digits + `}`:         {"added /order/1: {}", "this is the entity's id"},
		`{"order_id":"1","amount":` + digits + `}`:    {`added /order/1: {"total":` + digits + `}`, "the field is written"},
		`{"order_id":"1","note":"cut \ud83d"}`:        {"added /order/1: {}", "this is the entity's id"},
		`{"order_id":"1","n":[{"x":1,"\u0078":2}]}`:   {"", "ambiguous: /n/0/x occurs twice"},
		`{"order_id":"1","order_id":"2","amount":10}`: {"", "ambiguous: /order_id occurs twice"},
	} {
		w := documented(schema.PolicyAdapter)
		w.Tools[0].LedgerAdapter.Flags = nil
		w.Behaviors["get_order"] = proxytest.Forward("http://live.test/", &http.Client{
			Transport: testkit.RoundTrip(func(r *http.Request) (*http.Response, error) {
				_, _ = io.Copy(io.Discard, r.Body)
				return &http.Response{StatusCode: 200, ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Request: r,
					ContentLength: int64(len(answer)), Body: io.NopCloser(strings.NewReader(answer))}, nil
			}),
		})
		run := proxytest.NewPlatform(t, w, nil).NewRun()
		if got := call(t, run, "get_order", `{"order_id":"1"}`); got.Source != "passthrough" ||
			string(got.Response) != answer {
			t.Errorf("the agent gets %s, %s, want %s", got.Source, got.Response, answer)
		}
		log := run.Log()
		if got := strings.TrimSpace(log.Changes.String()); got != want.changes {
			t.Errorf("%s: changes %q, want %q", answer, got, want.changes)
		}
		if text := log.Calls[0].Adapter.Explain(); !strings.Contains(text, want.explains) {
			t.Errorf("%s: the record does not say %q:\n%s", answer, want.explains, text)
		}
	}
}
