package wireerror_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"testing"

	"github.com/toolwire/toolwire/internal/wireerror"
)

func TestText(t *testing.T) {
	for _, tt := range []struct {
		err       error
		connected bool
		want      string
	}{
		{&net.OpError{Op: "dial", Err: &net.DNSError{Err: "hunter2", Name: "hunter2"}}, false, "the peer's host name cannot be resolved"},
		{&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, false, "connection refused"},
		{&net.OpError{Op: "read", Err: syscall.ECONNRESET}, true, "connection reset by peer"},
		{&tls.CertificateVerificationError{Err: x509.HostnameError{Host: "hunter2"}}, false, "the peer's TLS certificate is not trusted"},
		{tls.RecordHeaderError{Msg: "hunter2"}, false, "the other side does not speak TLS as it should"},
		{fmt.Errorf("hunter2: %w", http.ErrSchemeMismatch), false, "the other side does not speak TLS as it should"},
		{tls.AlertError(40), false, "the other side does not speak TLS as it should"},
		{io.EOF, true, "the connection was closed"},
		{io.ErrUnexpectedEOF, true, "the connection was closed"},
		{context.DeadlineExceeded, true, "the network took too long"},
		{&net.OpError{Op: "dial", Err: errors.New("hunter2")}, false, "no connection could be made"},
		{errors.New("malformed HTTP response hunter2"), true, "the connection broke, or the answer was no HTTP"},
	} {
		whole := &url.Error{Op: "Post", URL: "https://hunter2@example.com", Err: tt.err}
		if got := wireerror.Text("the peer", tt.connected, whole); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.err, got, tt.want)
		}
	}
}

func TestQuiet(t *testing.T) {
	err := wireerror.Quiet("what is said", io.EOF)
	if err.Error() != "what is said" || !errors.Is(err, io.EOF) {
		t.Errorf("%v", err)
	}
}
