package httpcall

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http/httptrace"
	"sync/atomic"
)

// watch observes how far a request gets. Its hooks may run on goroutines of the transport, even
// after the call.
type watch struct {
	trace   httptrace.ClientTrace
	reports atomic.Bool // the transport calls hooks at all
	headers atomic.Bool // the headers of a request were written, at least into the buffer of a connection
}

func newWatch(progress Progress) *watch {
	w := &watch{}
	w.trace.GetConn = func(string) { w.reports.Store(true) }
	w.trace.WroteHeaders = func() { w.headers.Store(true) }
	if progress != nil {
		w.trace.WroteRequest = func(httptrace.WroteRequestInfo) { progress.Written() }
	}
	return w
}

// notSent judges a round trip that failed. A server cannot act on a request whose headers are
// incomplete. A transport that calls no hooks is believed only if its error shows that there was no
// connection, or none that is trusted.
func (w *watch) notSent(err error) bool {
	if w.reports.Load() {
		return !w.headers.Load()
	}
	if w.headers.Load() {
		return false
	}
	dial, ok := errors.AsType[*net.OpError](err)
	return ok && dial.Op == "dial" || errors.As(err, new(*net.DNSError)) ||
		errors.As(err, new(*tls.CertificateVerificationError))
}
