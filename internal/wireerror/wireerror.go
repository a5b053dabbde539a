// Package wireerror words the errors of HTTP transports. Their own texts may hold the URL, or whatever the other side says.
package wireerror

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"syscall"
)

// Text says in a fixed text what went wrong on the way to peer, such as "the proxy". connected is false if it is known
// that there was no connection.
func Text(peer string, connected bool, err error) string {
	var errno syscall.Errno
	var timeout net.Error
	switch {
	case errors.As(err, new(*net.DNSError)):
		return peer + "'s host name cannot be resolved"
	case errors.As(err, &errno):
		return errno.Error() // one of the system's own texts, such as "connection refused"
	case errors.As(err, new(*tls.CertificateVerificationError)):
		return peer + "'s TLS certificate is not trusted"
	case errors.As(err, new(tls.RecordHeaderError)), errors.As(err, new(tls.AlertError)), errors.Is(err, http.ErrSchemeMismatch):
		return "the other side does not speak TLS as it should"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection was closed"
	case errors.As(err, &timeout) && timeout.Timeout():
		return "the network took too long"
	case !connected:
		return "no connection could be made"
	}
	return "the connection broke, or the answer was no HTTP"
}

// Quiet is an error with a text of ours that unwraps to err, whose own text is not for everybody.
func Quiet(text string, err error) error { return &quiet{text, err} }

type quiet struct {
	text string
	err  error
}

func (q *quiet) Error() string { return q.text }
func (q *quiet) Unwrap() error { return q.err }
