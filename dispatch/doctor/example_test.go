package doctor_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/doctor"
)

// An endpoint that answers whoever asks, as a first version often does.
func Example() {
	endpoint := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, `{"ok":true,"final_response":"Hello!"}`)
	})
	report, err := doctor.Check(context.Background(), dispatchtest.Target{Handler: endpoint, AuthValue: "Bearer token"}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range append(with(report, doctor.StatusFailed), with(report, doctor.StatusWarning)...) {
		fmt.Println(f.Status, f.Name)
	}
	// Output:
	// failed auth_before_ping
	// warning ping
	// warning body_limit
	// warning content_type
	// warning malformed_body
}

// In a test, next to the agent.
func ExampleReport_AssertOK() {
	agent := func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
		return &dispatch.Response{FinalResponse: "The refund has been issued."}, nil
	}
	_ = func(t *testing.T) {
		report, err := doctor.Check(t.Context(), dispatchtest.Target{Agent: agent}, nil)
		if err != nil {
			t.Fatal(err)
		}
		report.AssertOK(t)
	}
}
