package proxytest_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/internal/testkit"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// net/http quotes a live tool whose answer is not HTTP. What the tool repeats of the request's
// header and address is hidden.
func TestForwardShowsNoSecret(t *testing.T) {
	const key, query = "hunter2-swordfish", "canary-in-the-query"
	_, err := proxytest.Forward("http://live.example.com/t?key="+query, &http.Client{
		Transport: testkit.RoundTrip(func(r *http.Request) (*http.Response, error) {
			r = r.Clone(r.Context()) // a transport that adds headers
			r.Header.Set("X-Api-Key", key)
			r.Header.Set("Authorization", "Bearer "+key)
			return nil, fmt.Errorf("malformed HTTP response %q", r.Header.Get("Authorization")+" "+r.Header.Get("X-Api-Key")+
				" "+r.URL.RawQuery)
		}),
	})(&proxytest.Request{Arguments: []byte(`{}`)})
	if err == nil || strings.Contains(err.Error(), key) || strings.Contains(err.Error(), query) ||
		!strings.Contains(err.Error(), "not valid HTTP") {
		t.Errorf("got %v", err)
	}
}
