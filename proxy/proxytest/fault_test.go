package proxytest_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/internal/httpcall/faulttest"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// Faults of a live tool end Forward with an error that says whether the tool can have been reached,
// and that contains neither the address nor the tool's words.
func TestFaultsOfLiveTools(t *testing.T) {
	for _, row := range faulttest.Sentinels() {
		t.Run(row.Name, func(t *testing.T) {
			row.Run(t, `{"status":"shipped"}`, func(ctx context.Context, p faulttest.Peer) {
				forward := proxytest.Forward(p.URL+"/?key=hunter2", &http.Client{Transport: p.Transport})
				type outcome struct {
					result any
					err    error
				}
				ended := make(chan outcome, 1) // the client may return before the behavior when its context ends
				w := documented("")
				w.Behaviors["get_order"] = func(r *proxytest.Request) (any, error) {
					result, err := forward(r)
					ended <- outcome{result, err}
					return result, err
				}
				_, _ = proxytest.NewPlatform(t, w, nil).NewRun().Client(nil).Do(ctx, "get_order",
					map[string]string{"order_id": "1"})
				got := <-ended
				want := map[faulttest.Outcome]string{
					faulttest.Success: "<nil>", faulttest.BadBody: "<nil>", // any text is a result
					faulttest.Status:   fmt.Sprintf("the live tool answered %d", p.Want.Status),
					faulttest.TooLarge: "has more than 1048576 bytes", faulttest.Canceled: "was canceled",
					faulttest.Broken: "the live tool",
				}[p.Want.Outcome]
				if p.Want.Status == 204 {
					want = "<nil>" // an empty text
				}
				if p.Want.Outcome == faulttest.Broken && p.Want.Delivery != faulttest.Either {
					unreachable := strings.Contains(fmt.Sprint(got.err), "cannot be reached")
					if unreachable != (p.Want.Delivery == faulttest.NotSent) {
						t.Errorf("%v: says that the tool cannot be reached: %t", got.err, unreachable)
					}
				}
				if text := fmt.Sprint(got.err); !strings.Contains(text, want) || strings.Contains(text, "hunter2") ||
					strings.Contains(text, p.URL) {
					t.Errorf("%v, %v, want %q", got.result, got.err, want)
				}
				if p.Want.Outcome == faulttest.Canceled && !errors.Is(got.err, faulttest.ErrStalled) {
					t.Errorf("%v lost the cause of its context", got.err)
				}
			})
		})
	}
}
