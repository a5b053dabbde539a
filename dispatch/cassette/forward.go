package cassette

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/memhttp"
)

// again returns a copy of the request with its body, which has been read.
func again(r *http.Request, body []byte) *http.Request {
	out := r.Clone(r.Context())
	out.RequestURI = ""
	if out.URL.Host == "" { // a server's requests have none
		out.URL.Scheme, out.URL.Host = "http", r.Host
	}
	out.Body, out.ContentLength, out.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	if len(body) == 0 {
		out.Body, out.GetBody = http.NoBody, nil
	}
	return out
}

// toUpstream returns the request for the proxy with this base URL, or nil if its path leads out of
// the base.
func toUpstream(r *http.Request, body []byte, base *url.URL) *http.Request {
	_, _, rest := split(r.URL.EscapedPath())
	target := *base
	target.RawPath = strings.TrimRight(base.EscapedPath(), "/") + rest
	target.RawQuery = r.URL.RawQuery
	var err error
	if target.Path, err = url.PathUnescape(target.RawPath); err != nil {
		return nil
	}
	plain, _ := url.PathUnescape(rest) // it is a part of what has been unescaped above
	for segment := range strings.SplitSeq(plain, "/") {
		if segment == "." || segment == ".." {
			return nil
		}
	}
	out := again(r, body)
	out.URL, out.Host = &target, target.Host
	cleanHeader(out.Header)
	return uncompressed(out)
}

// uncompressed asks for an answer without compression, which can be redacted.
func uncompressed(r *http.Request) *http.Request {
	r.Header.Set("Accept-Encoding", "identity")
	return r
}

// cleanHeader removes the headers that belong to one connection.
func cleanHeader(header http.Header) {
	for _, value := range header.Values("Connection") {
		for name := range strings.SplitSeq(value, ",") {
			header.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range []string{
		"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer",
		"Transfer-Encoding", "Upgrade", "Content-Length",
	} {
		header.Del(name)
	}
}

// transport is a cassette as an http.RoundTripper.
type transport struct {
	cassette *Cassette
	next     http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	c := t.cassette
	body, err := requestBody(r, httpcall.BodyBytes+1)
	if err != nil {
		return nil, err
	}
	if len(body) > httpcall.BodyBytes {
		refused := c.tooLarge(r)
		if !c.set.Mode.forwards() {
			_ = r.Body.Close()
			return refused.response(r)
		}
		return t.next.RoundTrip(unread(r, body)) // the cassette must not disturb the run; the proxy has its own limit
	}
	to := func(body []byte) (*http.Request, http.RoundTripper) { return again(r, body), t.next }
	return c.respond(r, body, to).response(r)
}

// requestBody reads at most limit bytes of the body. It closes a body that is shorter, as every
// RoundTripper must.
func requestBody(r *http.Request, limit int64) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, limit))
	if err != nil || int64(len(body)) < limit {
		_ = r.Body.Close()
	}
	return body, err
}

// response returns the answer as a transport does. A forwarded request gets what its transport
// returned, including errors.
func (r *reply) response(to *http.Request) (*http.Response, error) {
	if r.answer == nil && r.err != nil {
		return nil, r.err
	}
	if r.answer == nil { // through memhttp, so that hooks of net/http/httptrace are called
		plain := to.Clone(to.Context())
		plain.Body = http.NoBody
		handler := func(w http.ResponseWriter, _ *http.Request) { r.write(w) }
		return memhttp.NewTransport(http.HandlerFunc(handler)).RoundTrip(plain)
	}
	resp := *r.answer
	resp.Request = to
	body := readCloser{bytes.NewReader(r.body), io.NopCloser(nil)}
	switch {
	case r.rest != nil:
		body = readCloser{io.MultiReader(body, r.rest), r.rest}
	case r.err != nil:
		body.Reader = io.MultiReader(body.Reader, failing{r.err})
	}
	resp.Body = body
	return &resp, nil
}

type readCloser struct {
	io.Reader
	io.Closer
}

// failing is the end of a body that broke off.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
