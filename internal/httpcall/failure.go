package httpcall

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"

	"github.com/toolwire/toolwire/internal/problem"
)

// A Kind tells what ended a call.
type Kind int

const (
	Canceled Kind = iota + 1 // the caller's context ended
	TimedOut                 // the call took longer than Client.Timeout
	TooLarge                 // the body of the response has more than Client.MaxBytes
	Broken                   // there was no connection, or it broke, or the response was not valid HTTP
)

// A Failure tells why a call has no complete answer.
type Failure struct {
	Kind    Kind
	NotSent bool  // no complete request can have reached the peer; see watch.notSent
	Err     error // its text contains no URL and no words of the peer
}

// Error implements error.
func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap returns Err, which for Canceled matches both the context's error and its cause.
func (f *Failure) Unwrap() error { return f.Err }

// Code returns the code that all packages have for the failure: canceled, deadline, timeout,
// response_too_large or transport.
func (f *Failure) Code() string {
	switch f.Kind {
	case Canceled:
		return problem.ContextCode[string](f.Err)
	case TimedOut:
		return "timeout"
	case TooLarge:
		return "response_too_large"
	}
	return "transport"
}

// Lasting reports whether another attempt would fail in the same way: the host name does not exist,
// or TLS cannot work.
func (f *Failure) Lasting() bool {
	dns, ok := errors.AsType[*net.DNSError](f.Err)
	return ok && dns.IsNotFound || errors.As(f.Err, new(*tls.CertificateVerificationError)) ||
		errors.As(f.Err, new(tls.RecordHeaderError)) || errors.Is(f.Err, http.ErrSchemeMismatch)
}

// ContextError returns the error of a context that has ended. It matches both the standard error
// and the context's own cause.
func ContextError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if err == nil { // its deadline has passed this very moment
		err = context.DeadlineExceeded
	}
	if cause == nil || cause == err {
		return err
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// Describe words the error of a transport in fixed words: its own text may contain the URL or the
// peer's words. peer is a noun such as "the proxy". connected is false if there was no connection. An error
// of no known kind is Unclear.
func Describe(peer string, connected bool, err error) string {
	var errno syscall.Errno
	var timeout net.Error
	switch {
	case errors.As(err, new(*net.DNSError)):
		return peer + "'s host name cannot be resolved"
	case errors.As(err, &errno):
		return errno.Error() // a text of the system, such as "connection refused"
	case errors.As(err, new(*tls.CertificateVerificationError)):
		return peer + "'s TLS certificate is not trusted"
	case errors.As(err, new(tls.RecordHeaderError)), errors.Is(err, http.ErrSchemeMismatch):
		return peer + " does not use TLS on this port"
	case errors.As(err, new(tls.AlertError)):
		return "the TLS handshake failed"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection was closed"
	case errors.As(err, &timeout) && timeout.Timeout():
		return "the network took too long"
	case !connected:
		return "no connection could be made"
	}
	return Unclear
}

// Unclear is what Describe says of an error of no known kind, after a connection was made.
const Unclear = "the connection broke, or the response was not valid HTTP"

// StatusCode returns the code for the status of a response that is not a success.
func StatusCode[C ~string](status int) C {
	switch status {
	case http.StatusUnauthorized:
		return "unauthorized"
	case http.StatusForbidden:
		return "forbidden"
	case http.StatusNotFound:
		return "not_found"
	case http.StatusConflict:
		return "conflict"
	case http.StatusRequestEntityTooLarge:
		return "request_too_large"
	case http.StatusUnprocessableEntity:
		return "rejected"
	case http.StatusTooManyRequests:
		return "rate_limited"
	}
	switch {
	case status >= 500:
		return "server_error"
	case status >= 400:
		return "refused"
	}
	return "unexpected_status"
}
