package proxy_test

import (
	"context"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/proxy"
)

type dialTimeout struct{ error }

func (dialTimeout) Is(err error) bool { return err == context.DeadlineExceeded }

type unconnected struct{ err error }

func (f unconnected) RoundTrip(*http.Request) (*http.Response, error) { return nil, f.err }

// The connection timed out, which is not the end of the context. The model can answer in the time left.
func TestTheModelAnswersIfNoTimeIsLeftToConnectAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport := unconnected{&net.OpError{Op: "dial", Err: dialTimeout{os.ErrDeadlineExceeded}}}
		client, err := proxy.New("https://api.example.com", "key", &proxy.Options{Transport: transport})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		result, err := client.CallForModel(ctx, "get_order", nil)
		if err != nil || !result.Failed || !strings.Contains(result.Text, "there is no time left for this call") {
			t.Errorf("result %+v, error %v (%s)", result, err, toolwire.CodeOf(err))
		}
	})
}
