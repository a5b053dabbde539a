package proxy

import (
	"context"
	"errors"
	"net/http"

	"github.com/toolwire/toolwire"
)

// Probe checks that this machine can reach the proxy. It posts {} to
// {baseURL}/tools/__reachability_probe__ with an invalid token and expects a 401 ("Porting without
// the SDK", outbound connectivity). baseURL is the proxy's address without a run, such as
// https://api.pipelines.tech/api/odyssey-proxy.
//
// Probe returns nil for a 401 and an [*Error] otherwise. Its code is [toolwire.CodeTransport] or
// [toolwire.CodeTimeout] if the proxy cannot be reached, and another one if the response is not a 401. Probe
// makes one attempt. It ignores Pacer, Observer and OnRunOver of opts, which belong to a run.
func Probe(ctx context.Context, baseURL string, opts *Options) error {
	var o Options
	if opts != nil {
		o = *opts
	}
	o.MaxAttempts = 1
	o.Pacer, o.OnRunOver = nil, nil // the refusal of this token says nothing about the token of a run
	r, err := newRun(baseURL, "fake-token", &o)
	if err != nil {
		return err
	}
	_, failure := r.send(ctx, &request{plane: "/tools/", name: "__reachability_probe__", body: []byte("{}")})
	switch {
	case failure == nil:
		return &Error{
			Code: toolwire.CodeUnexpectedStatus, Delivery: Unknown, Status: http.StatusOK, Attempts: 1, about: aProbe,
			Err: errors.New("a server answers, but it accepts an invalid token, so it is not the proxy"),
		}
	case failure.Status == http.StatusUnauthorized:
		return nil
	}
	failure.Tool, failure.about = "", aProbe
	return failure
}
