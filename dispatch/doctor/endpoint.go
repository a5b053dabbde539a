package doctor

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/dispatch/internal/testrun"
	"github.com/toolwire/toolwire/dispatch/registration"
	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/httpserve"
	"github.com/toolwire/toolwire/internal/publicaddr"
	"github.com/toolwire/toolwire/internal/redact"
	"github.com/toolwire/toolwire/internal/text"
)

const (
	certificateSoon = 14 * 24 * time.Hour // an expiry that is near
	clockTolerance  = 10 * time.Second    // the header has whole seconds, and servers may keep it for a while
)

// reachable sends the first ping and returns its answer, which several checks use. Its ok has seen a status,
// or a connection whose fault another check names.
func (c *checkup) reachable(ctx context.Context) (a *answer, f Finding) {
	a = c.send(ctx, probe{body: aPing, auth: true})
	switch {
	case a.status != 0:
		return a, good("answers within %s", round(a.took))
	case a.conn.handshake != nil:
		return a, good("takes connections; for what is wrong see tls")
	case a.timeout && a.conn.connected:
		return a, failed("Is the agent's process stuck, or does it wait for something before it answers a ping? A ping should be "+
			"answered at once; a higher time-out gives a slow start more time.",
			"takes connections, but has not answered a ping within %s", c.opts.Timeout)
	case a.timeout:
		return a, failed("Is the host right, and does a firewall let this machine in?", "no connection within %s", c.opts.Timeout)
	case errors.Is(a.err, http.ErrSchemeMismatch):
		return a, good("takes connections; for what is wrong see tls")
	}
	return a, failed("Is the agent running, and are host and port right? Its log may tell more.",
		"no answer: %s", httpcall.Describe("the endpoint", a.conn.connected, a.err))
}

// noteFirst notes the first ping as a request of a check that judges its answer.
func (c *checkup) noteFirst(first *answer) { c.note(first.sent, first.command) }

func round(d time.Duration) time.Duration {
	if d > time.Second {
		return d.Round(10 * time.Millisecond)
	}
	return d.Round(10 * time.Microsecond)
}

// tls checks what the platform requires of an endpoint's URL. Its ok has seen a certificate that this machine
// trusts, and an address that is public or of this machine.
func (c *checkup) tls(a *answer) Finding {
	local := c.local()
	switch {
	case c.url == nil:
		return skipped("", "the target is not a URL, so there is no TLS to check")
	case c.url.Scheme == "http" && local:
		return skipped("", "plain http on this machine; the platform takes public https only")
	}
	c.noteFirst(a)
	if c.url.Scheme == "http" {
		return warning("Put the agent behind https with a public name before registering it. Over http the auth value and the "+
			"run tokens can be read on the way.", "plain http").with(c.notPublic(a))
	}
	if a.status == 0 {
		return tlsFailure(a, c.url.Hostname())
	}
	state := a.tls
	if state == nil || len(state.PeerCertificates) == 0 {
		return skipped("", "the transport does not tell about certificates")
	}
	leaf := state.PeerCertificates[0]
	left := leaf.NotAfter.Sub(a.began)
	text := fmt.Sprintf("%s, certificate valid for %d more days", tls.VersionName(state.Version), int(left.Hours()/24))
	if why := c.notPublic(a); !local && len(why) > 0 {
		return warning("Give the agent a public https address before registering it.", "%s; the platform cannot reach the address", text).
			with(why)
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
	host := publicaddr.Key(c.url.Hostname())
	return publicaddr.Loopback(host) || strings.HasSuffix(host, ".localhost")
}

// notPublic returns why the platform cannot reach the endpoint, or would reject its URL.
func (c *checkup) notPublic(first *answer) (why []string) {
	reg := registration.Registration{Name: "agent", EndpointURL: c.setup.URL}
	_, err := reg.Validate(context.Background(), nil)
	if e, ok := errors.AsType[*toolwire.Error](err); ok {
		for _, p := range e.Problems {
			if p.Pointer == "/endpoint_url" {
				why = append(why, "the URL "+p.Message)
			}
		}
	}
	if tcp, ok := first.conn.remote.(*net.TCPAddr); ok && len(why) == 0 && c.opts.Transport == nil {
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
// the response received. Its ok has seen a Date near both.
func (c *checkup) clock(a *answer) Finding {
	const do = "Synchronise the clocks of both machines (NTP). Trace events are sorted by the agent's clock."
	c.noteFirst(a)
	date, err := http.ParseTime(a.header.Get("Date"))
	if err != nil {
		return skipped("", "the answer has no date")
	}
	ahead, behind := date.Sub(a.began.Add(a.took)), a.began.Sub(date)
	switch {
	case ahead > clockTolerance:
		return warning(do, "the endpoint's clock is %s ahead of this machine's", ahead.Round(time.Second))
	case behind > clockTolerance:
		return warning(do, "the endpoint's clock is %s behind this machine's", behind.Round(time.Second))
	}
	return good("agrees with this machine's to %s", clockTolerance)
}

// ping judges the first answer. Its ok has seen a whole response with a 2xx that is neither a page nor an
// answer of the agent.
func (c *checkup) ping(a *answer) Finding {
	c.noteFirst(a)
	const order = `Answer the body {"ping":true} with {"ok":true}, after authentication and before anything else is read from it.`
	switch {
	case a.err != nil && a.timeout:
		return failed(order, "answers %d, but the answer does not end within %s", a.status, c.opts.Timeout)
	case a.err != nil:
		return failed(order, "answers %d, but the answer breaks off", a.status)
	case a.ok() && a.html():
		return failed("Compare the URL with the agent's route: this looks like a web site, a login or a tunnel's own page.",
			"answers %s", c.tell(a))
	case a.ok() && object(a.body)["final_response"] != nil:
		return warning(order, "answers a ping with a final_response: every ping makes the agent work")
	case a.ok():
		return good("%s", c.tell(a))
	case a.refuses() && c.setup.Target.AuthValue == "":
		return failed("Give the auth value of the registration (the flags -token-env and -token-file, or Target.AuthValue).",
			"asks for a bearer, and none was given: %s", c.tell(a))
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

func (c *checkup) bearerAdvice() string {
	value := c.setup.Target.AuthValue
	if http.CanonicalHeaderKey(c.setup.Target.AuthHeader) == "Authorization" && !strings.Contains(value, " ") {
		return `The auth value has no scheme; agents usually expect "Bearer " before the token.`
	}
	return "Compare the auth header's name and value with what the agent expects: a token that was rotated, another header?"
}

// method sends requests with other methods than POST. Its ok has seen each of them answered with a 4xx.
func (c *checkup) method(ctx context.Context) Finding {
	var weak, seen []string
	for _, p := range []probe{{method: http.MethodGet, auth: true}, {method: http.MethodPut, body: aPing, auth: true}} {
		switch a := c.send(ctx, p); {
		case a.status == 0, a.ok():
			weak = append(weak, fmt.Sprintf("%s is answered %s", p.method, c.tell(a)))
		case a.status < 400, a.status >= 500:
			weak = append(weak, fmt.Sprintf("%s is answered %d", p.method, a.status))
		default:
			seen = append(seen, fmt.Sprintf("%s is refused with %d", p.method, a.status))
		}
	}
	if len(weak) > 0 {
		return warning("Refuse everything but POST with 405, before authentication and without running the agent.",
			"%s", strings.Join(weak, ", "))
	}
	return good("%s", strings.Join(seen, ", "))
}

const answer401 = "Answer 401: only that and 403 are reported as a matter of the bearer."

const authFirst = "Compare the bearer first, in constant time, and answer 401 with nothing else if it is not the right one; " +
	"only then look at the body."

// access is what an endpoint lets in without the right auth value.
type access struct {
	pings, open bool // pings, and dispatches
	refusal     int  // the status of a ping without an auth value
}

// authBeforePing sends a ping without an auth value. If none is registered, that was the first ping. Its
// ok has seen that ping refused, and another answer for the right value.
func (c *checkup) authBeforePing(ctx context.Context, first *answer) (to access, f Finding) {
	pingFailed, registered := c.found["ping"].Status == StatusFailed, c.setup.Target.AuthValue != ""
	if first.timeout || first.refuses() { // other requests would time out, or be refused whatever they have
		return to, because("ping")
	}
	a := first
	if registered {
		a = c.send(ctx, probe{body: aPing})
		to.refusal = a.status
	} else {
		c.noteFirst(a)
	}
	switch {
	case a.refuses():
		return to, good("a ping without a bearer is refused with %d", a.status)
	case pingFailed: // probably for the same reason
		return to, because("ping")
	case !registered:
		to.open = true
		return to, warning("Configure a bearer token in the agent and at registration: without one, every client that reaches "+
			"the endpoint can make the agent work.", "the endpoint asks for no bearer, and none is registered")
	case !a.ok():
		return to, warning(answer401, "a ping without a bearer is answered %s", c.tell(a))
	}
	to.pings = true
	if d := c.send(ctx, c.decoy(nil)); d.status < 400 || d.status >= 500 {
		to.open = true
		return to, failed(authFirst, "no bearer is asked for at all: a ping without one is answered %s, and a dispatch %s",
			c.tell(a), c.tell(d))
	}
	return to, failed(authFirst, "the bearer is checked only after the ping: a ping without one is answered %s. "+
		"A wrong bearer then passes the platform's Test connection and fails the first run", c.tell(a))
}

// wrongBearer sends pings with auth values that resemble the right one, and a dispatch with one that
// does not. Pings make no agent work; of an endpoint that answers any ping, each request is a dispatch.
// Its ok has seen each of them refused, and another answer for the right value.
func (c *checkup) wrongBearer(ctx context.Context, first *answer, to access) Finding {
	auth, pingFailed := c.found["auth_before_ping"], c.found["ping"].Status == StatusFailed
	switch {
	case first.timeout || first.refuses():
		return because("ping")
	case to.open && auth.Status == StatusFailed:
		return because("auth_before_ping")
	case to.open:
		return skipped("", "no bearer is asked for")
	}
	type request struct {
		what string
		probe
	}
	var requests []request
	for i := range c.misses {
		if m := &c.misses[i]; !to.pings {
			requests = append(requests, request{"ping", probe{body: aPing, miss: m}})
		}
		if i == 0 || to.pings {
			requests = append(requests, request{"dispatch", c.decoy(&c.misses[i])})
		}
	}
	f := good("%s with other bearers are refused; the nearest differ from the right one in one character, or in case",
		text.Plural(len(requests), "request"))
	refused := 0
	for _, r := range requests {
		switch a := c.send(ctx, r.probe); {
		case a.refuses(), a.status == http.StatusTooManyRequests && refused > 0: // too many wrong ones
			refused++
		case pingFailed:
			return because("ping")
		case a.ok():
			return failed(authFirst, "a %s with %s is accepted: %s", r.what, r.miss.what, c.tell(a))
		case a.status != to.refusal && (a.timeout || a.status >= 500): // the agent may have run
			return failed(authFirst, "a %s with %s is not refused: the answer is %s", r.what, r.miss.what, c.tell(a))
		case f.Status == StatusOK && auth.Status != StatusWarning: // otherwise auth_before_ping has reported it
			f = warning(answer401, "a %s with %s is answered %s", r.what, r.miss.what, c.tell(a))
		}
	}
	return f
}

// A miss is an auth value that is not the right one.
type miss struct {
	what, value string
	shell       string // the value within double quotes of a shell; "" for the value itself
}

// readMisses fills in the wrong auth values: one of the right form, and those that a comparison lets
// pass which does not look at the whole token.
func (c *checkup) readMisses() {
	value := c.setup.Target.AuthValue
	scheme, token, ok := strings.Cut(value, " ")
	switch {
	case ok && httpserve.ValidHeaderName(scheme):
		scheme += " "
	case value == "" && http.CanonicalHeaderKey(c.setup.Target.AuthHeader) == "Authorization":
		scheme = "Bearer "
	default:
		scheme, token = "", value
	}
	c.misses = []miss{{what: "a wrong bearer", value: scheme + "wrong"}}
	if token == "" {
		return
	}
	head, first := utf8.DecodeRuneInString(token)
	tail, last := utf8.DecodeLastRuneInString(token)
	unlike := func(r rune) string {
		if r == 'x' {
			return "y"
		}
		return "x"
	}
	for _, m := range []miss{
		{"the right bearer without its last character", token[:len(token)-last], `${AUTH_VALUE%?}`},
		{"the right bearer and one more character", token + "x", `${AUTH_VALUE}x`},
		{"the right bearer without its first character", token[first:], scheme + `${AUTH_VALUE#` + scheme + `?}`},
		{"the right bearer after one more character", "x" + token, scheme + `x${AUTH_VALUE#` + scheme + `}`},
		{"the right bearer in the other case", otherCase(token), scheme + `$(printf %s "${AUTH_VALUE#` + scheme + `}" | tr a-zA-Z A-Za-z)`},
		{"the right bearer with another last character", token[:len(token)-last] + unlike(tail), `${AUTH_VALUE%?}` + unlike(tail)},
		{"the right bearer with another first character", unlike(head) + token[first:],
			scheme + unlike(head) + `${AUTH_VALUE#` + scheme + `?}`},
	} {
		if m.value = strings.TrimSpace(scheme + m.value); m.value != value && m.value != "" {
			c.misses = append(c.misses, m)
			c.secrets = append(c.secrets, redact.New(m.value))
		}
	}
}

// otherCase swaps the case of ASCII letters.
func otherCase(text string) string {
	return strings.Map(func(r rune) rune {
		if r|0x20 >= 'a' && r|0x20 <= 'z' {
			return r ^ 0x20
		}
		return r
	}, text)
}

// decoy returns a dispatch that the endpoint should reject. Its proxy refuses its run token.
func (c *checkup) decoy(m *miss) probe {
	body := c.setup.Envelope(testrun.Payload{Instruction: "This dispatch has no valid bearer and must be refused."})
	header := c.setup.Header()
	header.Set("X-Pipelines-Run-Token", "expired")
	return probe{body: string(body), miss: m, header: header, what: "a dispatch with an expired run token"}
}

// pingSpacing detects endpoints that compare the ping as text. Its ok has seen a 2xx for a ping with
// white space.
func (c *checkup) pingSpacing(ctx context.Context) Finding {
	a := c.send(ctx, probe{body: aSpacedPing, auth: true})
	if a.ok() && a.err == nil {
		return good("white space makes no difference")
	}
	return warning(`Compare the body as JSON, not as text: who writes {"ping": true} may put spaces anywhere.`,
		"a ping with other white space is answered %s", c.tell(a))
}

// bigBody is larger than any dispatch. A session of many turns, each with results of up to 1 MiB,
// stays below 16 MiB.
const bigBody = 32 << 20

// bodyLimit sends a ping with white space, so that an endpoint that accepts it runs no agent. Its ok has
// seen the body refused with a 4xx or the connection closed, and the next ping answered.
func (c *checkup) bodyLimit(ctx context.Context) Finding {
	const do = "Bound the request body, at 16 MiB for example, and answer 413 without reading the rest."
	a := c.send(ctx, probe{
		pad: bigBody - int64(len(aPing)), body: aPing, auth: true, what: "32 MiB of spaces and " + aPing,
		header: http.Header{"Expect": {"100-continue"}}, // an endpoint that checks the length need not read the body
	})
	switch {
	case a.status >= 400 && a.status < 500:
		return good("a body of 32 MiB is refused with %d", a.status)
	case a.timeout && !a.conn.sent && !c.local():
		return warning("Give a slow line more time. If that does not help: "+do,
			"a body of 32 MiB could not be sent within %s, and was not refused", c.opts.Timeout)
	case a.timeout:
		return warning(do, "a body of 32 MiB is neither read nor refused within %s", c.opts.Timeout)
	case a.status == 0:
		return good("the connection is closed while a body of 32 MiB is sent")
	case a.ok():
		return warning(do, "a body of 32 MiB is read whole and answered %s: who has the bearer can use up the agent's memory", c.tell(a))
	}
	return warning(do, "a body of 32 MiB is answered %s", c.tell(a))
}

// malformedBody sends the beginning of a dispatch. Its ok has seen it rejected with a 4xx of its own, in
// JSON.
func (c *checkup) malformedBody(ctx context.Context) Finding {
	const do = `Reject a body that is not JSON with 400 and {"error": …}: the platform shows the first 500 characters.`
	a := c.send(ctx, probe{body: `{"task_id": 1, "input": {"user_instruction": `, auth: true})
	switch {
	case a.status < 400:
		return warning(do, "a body that is not JSON is answered %s", c.tell(a))
	case a.status >= 500:
		return warning(do, "a body that is not JSON is answered %s, which looks like a fault of the agent", c.tell(a))
	case a.refuses():
		return warning(do, "a body that is not JSON is answered %d, which the platform reports as a wrong bearer", a.status)
	case a.status == http.StatusRequestTimeout:
		return warning(do, "a body that is not JSON is answered %d, which the platform reports as a time-out", a.status)
	case !json.Valid(a.body):
		return warning(do, "a body that is not JSON is rejected, but not in JSON: %s", c.tell(a))
	}
	return good("a body that is not JSON is rejected with %d, in JSON", a.status)
}

// contentType checks the responses to the ping and to the sample dispatch. Its ok has seen at least one
// of them with a body, and names it.
func (c *checkup) contentType(first *answer, sample *episode) Finding {
	var judged, wrong []string
	judge := func(what, header string) {
		judged = append(judged, what)
		media, _, err := mime.ParseMediaType(header)
		if err != nil || media != "application/json" && !strings.HasSuffix(media, "+json") {
			wrong = append(wrong, fmt.Sprintf("%s is answered with %s", what, cmp.Or(header, "no content type")))
		}
	}
	c.noteFirst(first)
	if len(first.body) > 0 {
		judge("the ping", first.header.Get("Content-Type"))
	}
	if sample != nil && sample.result.WouldBeGraded() {
		judge("the dispatch", sample.media)
	}
	switch {
	case len(judged) == 0:
		return skipped("", "no response has a body")
	case len(wrong) > 0:
		return warning("Set Content-Type: application/json on every answer.", "%s", strings.Join(wrong, ", "))
	}
	return good("%s: application/json", strings.Join(judged, " and "))
}
