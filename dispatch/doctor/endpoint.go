package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/toolwire/toolwire/dispatch/registration"
	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/publicaddr"
)

const (
	certificateSoon = 14 * 24 * time.Hour // an expiry that is near
	clockTolerance  = 10 * time.Second    // the header has whole seconds, and servers may keep it for a while
)

// reachable sends the first ping. Several checks use its response.
func (c *checkup) reachable(ctx context.Context) Finding {
	a := c.send(ctx, probe{body: aPing, auth: c.setup.Target.AuthValue})
	c.first = a
	switch {
	case a.status != 0:
		return good("%sanswers within %s", from(a.conn.remote), round(a.took))
	case a.conn.handshake != nil:
		return good("takes connections; for what is wrong see tls")
	case a.timeout && a.conn.connected:
		return failed("Is the agent's process stuck, or does it wait for something before it answers a ping? A ping should be "+
			"answered at once; a higher time-out gives a slow start more time.",
			"takes connections, but has not answered a ping within %s", c.opts.Timeout)
	case a.timeout:
		return failed("Is the host right, and does a firewall let this machine in?", "no connection within %s", c.opts.Timeout)
	case errors.Is(a.err, http.ErrSchemeMismatch):
		return good("takes connections; for what is wrong see tls")
	}
	return failed("Is the agent running, and are host and port right? Its log may tell more.",
		"no answer: %s", httpcall.Describe("the endpoint", a.conn.connected, a.err))
}

func from(remote net.Addr) string {
	if remote == nil {
		return ""
	}
	return remote.String() + " "
}

func round(d time.Duration) time.Duration {
	if d > time.Second {
		return d.Round(10 * time.Millisecond)
	}
	return d.Round(10 * time.Microsecond)
}

// tls checks what the platform requires of an endpoint's URL.
func (c *checkup) tls(context.Context) Finding {
	if c.url == nil {
		return skipped("", "the target is not a URL, so there is no TLS to check")
	}
	local := c.local()
	if c.url.Scheme == "http" {
		if local {
			return skipped("", "plain http on this machine; the platform takes public https only")
		}
		f := warning("Put the agent behind https with a public name before registering it. Over http the auth value and the "+
			"run tokens can be read on the way.", "plain http")
		f.Details = c.notPublic()
		return f
	}
	if c.first.status == 0 {
		return tlsFailure(c.first, c.url.Hostname())
	}
	state := c.first.tls
	if state == nil || len(state.PeerCertificates) == 0 {
		return skipped("", "the transport does not tell about certificates")
	}
	leaf := state.PeerCertificates[0]
	left := leaf.NotAfter.Sub(c.first.began)
	text := fmt.Sprintf("%s, certificate valid for %d more days", tls.VersionName(state.Version), int(left.Hours()/24))
	if why := c.notPublic(); !local && len(why) > 0 {
		f := warning("Give the agent a public https address before registering it.", "%s; the platform cannot reach the address", text)
		f.Details = why
		return f
	}
	if left < certificateSoon {
		return warning("Renew the certificate; is renewing automated?", "%s, until %s", text, leaf.NotAfter.UTC().Format(time.RFC3339))
	}
	return good("%s", text)
}

// local reports whether the endpoint is on this machine.
func (c *checkup) local() bool {
	if c.url == nil {
		return true
	}
	host := strings.ToLower(c.url.Hostname())
	return publicaddr.Loopback(host) || strings.HasSuffix(host, ".localhost")
}

// notPublic returns why the platform cannot reach the endpoint, or would reject its URL.
func (c *checkup) notPublic() (why []string) {
	reg := registration.Registration{Name: "agent", EndpointURL: c.setup.URL}
	_, err := reg.Validate(context.Background(), nil)
	if e, ok := errors.AsType[*registration.Error](err); ok {
		for _, p := range e.Problems {
			if p.Pointer == "/endpoint_url" {
				why = append(why, "the URL "+p.Message)
			}
		}
	}
	if tcp, ok := c.first.conn.remote.(*net.TCPAddr); ok && len(why) == 0 && c.opts.Transport == nil {
		if what := publicaddr.Why(tcp.AddrPort().Addr()); what != "" {
			why = append(why, "the host's address is "+what)
		}
	}
	return why
}

// tlsFailure describes why the TLS handshake failed.
func tlsFailure(a *answer, host string) Finding {
	const (
		renew  = "Renew the certificate, or correct the clock of this machine."
		public = "Install a certificate for this host from a public authority, with the intermediate certificates."
	)
	var invalid x509.CertificateInvalidError
	var name x509.HostnameError
	switch {
	case errors.As(a.err, &name):
		return failed(public, "the certificate is not for %s, but for %s", host, strings.Join(names(name.Certificate), ", "))
	case errors.As(a.err, &invalid) && invalid.Reason == x509.Expired && a.began.Before(invalid.Cert.NotBefore):
		return failed(renew, "the certificate is not valid before %s", invalid.Cert.NotBefore.UTC().Format(time.RFC3339))
	case errors.As(a.err, &invalid) && invalid.Reason == x509.Expired:
		return failed(renew, "the certificate expired on %s", invalid.Cert.NotAfter.UTC().Format(time.RFC3339))
	case errors.As(a.err, new(x509.UnknownAuthorityError)):
		return failed(public, "the certificate is self-signed, or of an authority that this machine does not know")
	case errors.As(a.err, new(*tls.CertificateVerificationError)):
		return failed(public, "the certificate is not valid")
	case errors.As(a.err, new(tls.RecordHeaderError)), errors.Is(a.err, http.ErrSchemeMismatch):
		return failed("Compare the port with the server's: this one may be for plain http.", "the server does not use TLS on this port")
	case a.timeout:
		return failed("Compare the port with the server's, and see its log.", "the TLS handshake does not end in time")
	}
	return failed("Let the server accept TLS 1.2 or later, and see its log.", "the TLS handshake fails")
}

func names(cert *x509.Certificate) []string {
	list := cert.DNSNames
	for _, ip := range cert.IPAddresses {
		list = append(list, ip.String())
	}
	if len(list) == 0 {
		return []string{"no name"}
	}
	return list[:min(len(list), 10)]
}

// clock compares the Date of the first response with the times at which the request was sent and
// the response received.
func (c *checkup) clock(context.Context) Finding {
	date, err := http.ParseTime(c.first.header.Get("Date"))
	if err != nil {
		return skipped("", "the answer has no date")
	}
	var skew time.Duration
	if early := c.first.began.Sub(date); early > 0 {
		skew = -early
	}
	if late := date.Sub(c.first.began.Add(c.first.took)); late > 0 {
		skew = late
	}
	switch {
	case skew > clockTolerance:
		return warning(clockAdvice, "the endpoint's clock is %s ahead of this machine's", skew.Round(time.Second))
	case skew < -clockTolerance:
		return warning(clockAdvice, "the endpoint's clock is %s behind this machine's", -skew.Round(time.Second))
	}
	return good("agrees with this machine's to %s", clockTolerance)
}

const clockAdvice = "Synchronise the clocks of both machines (NTP). Trace events are sorted by the agent's clock."

// ping evaluates the first response.
func (c *checkup) ping(context.Context) Finding {
	a := c.first
	const order = `Answer the body {"ping":true} with {"ok":true}, after authentication and before anything else is read from it.`
	switch {
	case a.err != nil && a.timeout:
		return failed(order, "answers %d, but the answer does not end within %s", a.status, c.opts.Timeout)
	case a.err != nil:
		return failed(order, "answers %d, but the answer breaks off", a.status)
	case a.ok() && a.html():
		return failed("Compare the URL with the agent's route: this looks like a web site, a login or a tunnel's own page.",
			"answers %s", c.tell(a))
	case a.ok() && ranAgent(a.body):
		return warning(order, "answers a ping with a final_response: every ping makes the agent work")
	case a.ok():
		return good("%s", c.tell(a))
	case a.refuses() && !c.hasAuth:
		return failed("Give the auth value of the registration.", "asks for a bearer, and none was given: %s", c.tell(a))
	case a.refuses():
		return failed(c.bearerAdvice(), "refuses the right bearer: %s", c.tell(a))
	case a.status < 200:
		return failed(order, "answers %d, which is not a final response", a.status)
	case a.status < 400:
		return failed("Give the URL that it redirects to, as far as it is the agent's: redirects are not followed.",
			"redirects: %d%s", a.status, c.destination(a))
	case a.status == http.StatusNotFound, a.status == http.StatusMethodNotAllowed:
		return failed("Compare the URL with the agent's route, its last slash included. "+order, "answers %s", c.tell(a))
	}
	return failed(order, "answers %s", c.tell(a))
}

// destination returns the target of a redirect, without parts that may be secret.
func (c *checkup) destination(a *answer) string {
	to, err := url.Parse(a.header.Get("Location"))
	if from, _ := url.Parse(c.setup.URL); err == nil && from != nil {
		to = from.ResolveReference(to)
		return " to " + c.quote((&url.URL{Scheme: to.Scheme, Host: to.Host, Path: to.Path}).String())
	}
	return ""
}

// ranAgent reports whether the body is the answer of a run.
func ranAgent(body []byte) bool {
	members, ok := object(body)
	_, final := members["final_response"]
	return ok && final
}

func (c *checkup) bearerAdvice() string {
	value := c.setup.Target.AuthValue
	if http.CanonicalHeaderKey(c.setup.Target.AuthHeader) == "Authorization" && !strings.Contains(value, " ") {
		return `The auth value has no scheme; agents usually expect "Bearer " before the token.`
	}
	return "Compare the auth header's name and value with what the agent expects: a token that was rotated, another header?"
}

// pingSpacing detects endpoints that compare the ping as text.
func (c *checkup) pingSpacing(ctx context.Context) Finding {
	a := c.send(ctx, probe{body: aSpacedPing, auth: c.setup.Target.AuthValue})
	if a.ok() && a.err == nil {
		return good("white space makes no difference")
	}
	return warning(`Compare the body as JSON, not as text: who writes {"ping": true} may put spaces anywhere.`,
		"a ping with other white space is answered %s", c.tell(a))
}

// method sends requests with other methods than POST.
func (c *checkup) method(ctx context.Context) Finding {
	const do = "Refuse everything but POST with 405, before authentication and without running the agent."
	var weak []string
	var seen []string
	for _, p := range [...]probe{{method: http.MethodGet}, {method: http.MethodPut, body: aPing}} {
		p.auth = c.setup.Target.AuthValue
		a := c.send(ctx, p)
		switch {
		case a.status == 0, a.ok():
			weak = append(weak, fmt.Sprintf("%s is answered %s", p.method, c.tell(a)))
			continue
		case a.status < 400, a.status >= 500:
			weak = append(weak, fmt.Sprintf("%s is answered %d", p.method, a.status))
		}
		seen = append(seen, fmt.Sprintf("%s is refused with %d", p.method, a.status))
	}
	if len(weak) > 0 {
		return warning(do, "%s", strings.Join(weak, ", "))
	}
	return good("%s", strings.Join(seen, ", "))
}
