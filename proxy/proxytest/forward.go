package proxytest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/internal/rawjson"
)

// Forward makes an HTTP endpoint the live tool. It POSTs the arguments to address and answers with
// the body of a 2xx: unchanged if it is JSON, otherwise as a string. Any other answer, a redirect
// and a body of more than 1 MiB are errors. Their texts quote nothing from the endpoint. If
// address is not an http or https URL, every call fails, and so does the test.
//
// The Timeout of client bounds a request and defaults to 120 s. Its Transport sends the requests,
// and may add headers that the tool needs; the default keeps no connections and reads no proxy
// settings from the environment. If client is nil, both have their defaults.
func Forward(address string, client *http.Client) Behavior {
	if _, ok := httpcall.ParseLink(address); !ok {
		return mistaken(mistake("Forward: the address is not an http or https URL"))
	}
	caller := httpcall.Client{Peer: "the live tool", Timeout: 120 * time.Second, MaxBytes: httpcall.BodyBytes}
	if client != nil {
		caller.Transport = client.Transport
		if client.Timeout > 0 {
			caller.Timeout = client.Timeout
		}
	}
	if caller.Transport == nil {
		transport := httpcall.NewTransport()
		transport.DisableKeepAlives = true
		caller.Transport = transport
	}
	return func(r *Request) (any, error) {
		request, err := http.NewRequest(http.MethodPost, address, bytes.NewReader(r.Arguments))
		if err != nil {
			return nil, err
		}
		request.Header.Set("Content-Type", "application/json")
		got, failure := caller.Do(r.Context(), request, nil)
		switch {
		case got.Status != 0 && (got.Status < 200 || got.Status > 299):
			return nil, fmt.Errorf("the live tool answered %d", got.Status)
		case failure != nil:
			return nil, problem.Quiet(liveText(got.Status, failure), failure)
		}
		body := got.Body
		if rawjson.Read(body, rawjson.Limits{Mode: rawjson.Liberal}, func(*rawjson.Reader) error {
			return nil
		}) == nil {
			return json.RawMessage(body), nil
		}
		if !utf8.Valid(body) {
			return nil, errors.New("the live tool's answer is neither JSON nor text")
		}
		return string(body), nil
	}
}

// liveText describes a call without a complete answer.
func liveText(status int, failure *httpcall.Failure) string {
	switch {
	case failure.Kind == httpcall.TooLarge:
		return fmt.Sprintf("the live tool's answer has more than %d bytes", httpcall.BodyBytes)
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
