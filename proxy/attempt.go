package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/redact"
)

// run is what all clients of one run share. Only over and the pacer change after [New].
type run struct {
	base           *url.URL
	token          redact.Hidden[string]
	caller         httpcall.Client
	repeats        httpcall.Policy
	repeatable     map[string]bool
	tools          []string // Options.Tools
	pacer          *Pacer
	dropNulls      bool
	checkArguments func(string, json.RawMessage) error
	log            *slog.Logger
	observers      []*Observer
	onRunOver      func(error)

	over runOver
}

// request is one call or trace event, before it is known how many attempts it takes.
type request struct {
	plane      string // "/tools/" or "/traces/"
	name       string
	actor      string
	body       []byte
	repeatable bool
	observers  []*Observer
}

// answer is a successful HTTP response.
type answer struct {
	status   int
	body     []byte
	attempts int
}

// attempt sends req once, as the attempt of this number. The caller repeats.
func (r *run) attempt(ctx context.Context, req *request, number int, place *place) (answer, *Error) {
	returned := false
	defer func() {
		if !returned { // the transport or an observer panicked
			place.lost()
		}
	}()
	out := r.newRequest(ctx, req)
	ctx, observed := req.startAttempt(ctx, number, out)
	start := time.Now()
	got, failure := r.caller.Do(ctx, out, place)
	took := time.Since(start)
	returned = true
	ans, err := r.classify(req, got, failure, place)
	if err != nil {
		err.Attempts = number
	} else {
		ans.attempts = number
	}
	r.logAttempt(ctx, req, number, ans, err, took)
	req.endAttempt(ctx, observed, got.Status, err, took)
	return ans, err
}

// classify returns the answer or the error of an attempt.
func (r *run) classify(
	req *request, got httpcall.Answer, failure *httpcall.Failure, place *place,
) (answer, *Error) {
	delivery := Unknown
	switch {
	case failure != nil && failure.NotSent:
		delivery = NotSent
		place.release()
	case got.Status == 0:
		place.lost()
	case got.Status < 200 || got.Status > 299:
		if failure != nil {
			got.Body = nil // half a text may end in half a token
		}
		return answer{}, r.statusError(req, got)
	}
	if failure != nil {
		return answer{}, &Error{
			Code: toolwire.Code(failure.Code()), Delivery: delivery, Tool: req.name, Status: got.Status, Err: failure.Err,
		}
	}
	return answer{status: got.Status, body: rawjson.WithoutMark(got.Body)}, nil
}

// newRequest returns the request of an attempt.
func (r *run) newRequest(ctx context.Context, req *request) *http.Request {
	u := r.base.String() + req.plane + req.name                                              // both are plain ASCII without reserved characters
	out, _ := http.NewRequestWithContext(ctx, http.MethodPost, u, bytes.NewReader(req.body)) // New has parsed the URL
	out.Header.Set("Authorization", "Bearer "+r.token.Reveal())
	out.Header.Set("Content-Type", "application/json")
	if req.actor != "" {
		out.Header.Set("X-Pipelines-Actor-Id", req.actor)
	}
	return out
}
