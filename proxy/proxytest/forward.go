package proxytest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"
	"unicode/utf8"

	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/strictjson"
)

// ForwardOptions configures [Forward]. The zero value of every field is its default.
type ForwardOptions struct {
	// Transport sends the requests. Defaults to one of its own that keeps no connections and reads no proxy settings from the
	// environment.
	Transport http.RoundTripper

	// Header has headers that the live tool needs, such as a key.
	Header http.Header `json:"-"`

	// Timeout bounds a request. Defaults to 120 s.
	Timeout time.Duration
}

// Forward makes an HTTP endpoint the live tool. It POSTs the arguments to address and answers with the body of a 2xx: unchanged
// if it is JSON, otherwise as a string. Any other answer, a redirect and a body of more than 1 MiB are errors, whose texts contain
// no words of the endpoint. opts may be nil. Forward panics if address is not an http or https URL.
func Forward(address string, opts *ForwardOptions) Behavior {
	if !forwardable(address) {
		panic("proxytest.Forward: the address is not an http or https URL")
	}
	o := valueOf(opts)
	o.Header = o.Header.Clone()
	if o.Transport == nil {
		transport := httpcall.NewTransport()
		transport.DisableKeepAlives = true
		o.Transport = transport
	}
	if o.Timeout <= 0 {
		o.Timeout = 120 * time.Second
	}
	caller := httpcall.Client{Transport: o.Transport, Peer: "the live tool", Timeout: o.Timeout, MaxBytes: maxLive}
	return func(r *Request) (any, error) {
		request, err := http.NewRequest(http.MethodPost, address, bytes.NewReader(r.Arguments))
		if err != nil {
			return nil, err
		}
		if o.Header != nil {
			request.Header = o.Header.Clone()
		}
		request.Header.Set("Content-Type", "application/json")
		got, failure := caller.Do(r.Context(), request, nil)
		switch {
		case got.Status != 0 && (got.Status < 200 || got.Status > 299):
			return nil, fmt.Errorf("the live tool answered %d", got.Status)
		case failure != nil:
			return nil, httpcall.Quiet(liveText(got.Status, failure), failure)
		}
		body := got.Body
		if strictjson.Read(body, strictjson.Limits{Mode: strictjson.Liberal}, func(*strictjson.Reader) error { return nil }) == nil {
			return json.RawMessage(body), nil
		}
		if !utf8.Valid(body) {
			return nil, errors.New("the live tool's answer is neither JSON nor text")
		}
		return string(body), nil
	}
}

// maxLive bounds the body of a live tool's answer.
const maxLive = 1 << 20

// liveText describes a call without a complete answer.
func liveText(status int, failure *httpcall.Failure) string {
	switch {
	case failure.Kind == httpcall.TooLarge:
		return fmt.Sprintf("the live tool's answer has more than %d bytes", maxLive)
	case failure.Kind == httpcall.TimedOut, errors.Is(failure, context.DeadlineExceeded):
		return "the live tool did not answer in time"
	case failure.Kind == httpcall.Canceled:
		return "the call of the live tool was canceled"
	case status != 0:
		return "the live tool's answer broke off"
	case failure.NotSent:
		return "the live tool cannot be reached: " + failure.Error()
	}
	return "the call of the live tool failed: " + failure.Error()
}

func forwardable(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
}
