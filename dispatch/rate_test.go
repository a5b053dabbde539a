package dispatch_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/internal/testkit"
	"github.com/toolwire/toolwire/proxy"
)

// The pace of a run token holds over the dispatches of a session, and is an option.
func TestRate(t *testing.T) {
	for _, tt := range []struct {
		name  string
		limit int
		want  time.Duration // of 130 calls in two dispatches
	}{
		{"the documents' limit", 0, 2 * time.Minute},
		{"another limit", 40, 3 * time.Minute},
		{"none", -1, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHandler(t, func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
					for range 65 {
						if _, err := run.Proxy.Do(ctx, "get_order", nil); err != nil {
							return nil, err
						}
					}
					return &dispatch.Response{FinalResponse: "x"}, nil
				}, func(o *dispatch.Options) {
					o.RateLimit = tt.limit
					o.Proxy = &proxy.Options{Transport: testkit.RoundTrip(func(*http.Request) (*http.Response, error) {
						return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(`{"response":1}`))}, nil
					})}
				})
				began := time.Now()
				for range 2 {
					wantAnswer(t, post(h, seedBody, nil), 200, `{"final_response":"x"}`)
				}
				if took := time.Since(began).Truncate(time.Second); took != tt.want {
					t.Errorf("130 calls took %s, want %s", took, tt.want)
				}
			})
		})
	}
}
