package testkit

import (
	"bytes"
	"io"
	"net/http"
)

// Canned is a transport that answers every request with status 200 and these bytes, in memory.
type Canned []byte

// RoundTrip implements http.RoundTripper.
func (c Canned) RoundTrip(r *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, ContentLength: int64(len(c)),
		Body: io.NopCloser(bytes.NewReader(c))}, nil
}

// ProxyAnswer returns the body of the proxy's response for a result, a JSON value.
func ProxyAnswer(result string) Canned {
	return Canned(`{"tool_name":"list_orders","response":` + result +
		`,"source":"odyssey","latency_ms":412,"matched_rule_index":null}`)
}
