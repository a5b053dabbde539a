package proxytest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/toolwire/toolwire/internal/redact"
	"github.com/toolwire/toolwire/internal/strictjson"
	"github.com/toolwire/toolwire/internal/wireerror"
)

// ForwardOptions configures [Forward]. The zero value of every field is its default.
type ForwardOptions struct {
	// Transport sends the requests. Default: one of its own, that keeps no connection and reads no proxy settings from
	// the environment.
	Transport http.RoundTripper

	// Header are headers that the live tool wants, such as a key.
	Header http.Header `json:"-"`

	// Timeout bounds a request. Default 120 s.
	Timeout time.Duration
}

// Forward makes an HTTP endpoint the live tool: it POSTs the arguments to address and answers with the body of a 2xx,
// as it is if it is JSON, otherwise as a string. Anything else is an error, and so are bodies of more than 1 MiB and
// redirects. opts may be nil. It panics if address is no http or https URL.
func Forward(address string, opts *ForwardOptions) Behavior {
	if !forwardable(address) {
		panic("proxytest.Forward: the address is no http or https URL")
	}
	o := valueOf(opts)
	o.Header = o.Header.Clone()
	if o.Transport == nil {
		o.Transport = &http.Transport{DisableKeepAlives: true}
	}
	if o.Timeout <= 0 {
		o.Timeout = 120 * time.Second
	}
	client := &http.Client{
		Transport: o.Transport, Timeout: o.Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	secrets := redact.New(slices.Concat(redact.URL(address), slices.Concat(slices.Collect(maps.Values(o.Header))...))...)
	return func(r *Request) (any, error) {
		request, err := http.NewRequestWithContext(r.Context(), http.MethodPost, address, bytes.NewReader(r.Arguments))
		if err != nil {
			return nil, err
		}
		if o.Header != nil {
			request.Header = o.Header.Clone()
		}
		request.Header.Set("Content-Type", "application/json")
		response, err := client.Do(request)
		if err != nil {
			return nil, liveError(err, secrets)
		}
		defer func() { _ = response.Body.Close() }()
		const most = 1 << 20
		body, err := io.ReadAll(io.LimitReader(response.Body, most+1))
		switch {
		case response.StatusCode < 200 || response.StatusCode > 299:
			return nil, fmt.Errorf("the live tool answered %d", response.StatusCode)
		case err != nil:
			return nil, fmt.Errorf("the live tool's answer broke off")
		case len(body) > most:
			return nil, fmt.Errorf("the live tool's answer has more than %d bytes", most)
		}
		if strictjson.Read(body, strictjson.Limits{Mode: strictjson.Liberal}, func(*strictjson.Reader) error { return nil }) == nil {
			return json.RawMessage(body), nil
		}
		if !utf8.Valid(body) {
			return nil, errors.New("the live tool's answer is neither JSON nor text")
		}
		return string(body), nil
	}
}

// liveError words a failure without the address, which may hold a key, and without secrets that the other side repeats.
func liveError(err error, secrets *redact.Set) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		if u.Timeout() {
			return errors.New("the live tool did not answer in time")
		}
		err = u.Err
	}
	return wireerror.Quiet("the live tool cannot be reached: "+secrets.Text(err.Error()), err)
}

func forwardable(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
}
