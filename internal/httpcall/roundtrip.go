package httpcall

import (
	"net/http"
	"net/http/httptrace"
)

// RoundTrip sends request with its own context, for code that passes the response on. If it fails,
// notSent reports whether no complete request can have reached the peer.
func RoundTrip(transport http.RoundTripper, request *http.Request) (response *http.Response, notSent bool, err error) {
	w := newWatch(nil)
	response, err = transport.RoundTrip(request.WithContext(httptrace.WithClientTrace(request.Context(), &w.trace)))
	if err == nil && response == nil {
		err = errNoAnswer
	}
	if err != nil {
		return nil, w.notSent(err), err
	}
	if !validStatus(response.StatusCode) {
		if response.Body != nil {
			_ = response.Body.Close()
		}
		return nil, false, errStatus
	}
	return response, false, nil
}
