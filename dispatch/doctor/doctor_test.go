package doctor_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/doctor"
	"github.com/toolwire/toolwire/internal/testkit"
	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

func ready(context.Context, *dispatch.Run) (*dispatch.Response, error) {
	return &dispatch.Response{FinalResponse: "I am ready."}, nil
}

var quick = doctor.Options{Timeout: 5 * time.Minute, LateCallWait: time.Millisecond}

// The checks in the order in which they are documented.
var allNames = []string{
	"reachable", "tls", "clock", "ping", "method", "auth_before_ping", "wrong_bearer", "ping_spacing", "body_limit", "dispatch",
	"content_type", "malformed_body", "late_calls", "proxy", "tools_schema",
}

// An agent behind this module's handler passes everything, by every way to it.
func TestCheckPassesWhatIsInOrder(t *testing.T) {
	t.Parallel()
	targets := endpoints(t, ready)
	server := httptest.NewServer(targets["handler"].Handler)
	defer server.Close()
	targets["url"] = dispatchtest.Target{URL: server.URL + "/dispatch", AuthValue: "Bearer secret"}
	secure := httptest.NewTLSServer(targets["handler"].Handler)
	defer secure.Close()
	targets["https"] = dispatchtest.Target{URL: secure.URL + "/dispatch", AuthValue: "Bearer secret"}
	byKey, err := dispatch.New(ready, &dispatch.Options{Tokens: []string{"k-secret"}, AuthHeader: "X-API-Key"})
	if err != nil {
		t.Fatal(err)
	}
	targets["key"] = dispatchtest.Target{Handler: byKey, AuthHeader: "X-API-Key", AuthValue: "k-secret"}
	skips := map[string]int{"agent": 2, "handler": 1, "key": 1, "url": 1} // tls, and the clock in memory
	proxy := httptest.NewServer(proxytest.NewPlatform(t, proxytest.World{}, nil))
	defer proxy.Close()
	for name, target := range targets {
		t.Run(name, func(t *testing.T) {
			opts := quick
			opts.ToolsSchema = []byte(`[{"name":"get_order","description":"Looks an order up.",
				"input_schema":{"type":"object","properties":{"id":{"type":"string","description":"The order's id."}},"required":["id"]}}]`)
			opts.ProxyBase = proxy.URL + "/api/odyssey-proxy"
			if name == "https" {
				transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: x509.NewCertPool()}}
				transport.TLSClientConfig.RootCAs.AddCert(secure.Certificate())
				defer transport.CloseIdleConnections()
				opts.Transport = transport
			}
			report := examineWith(t, target, &opts)
			report.AssertOK(t)
			assertNoWarning(t, report)
			skipped := 0
			var names []string
			for _, f := range report.Findings {
				names = append(names, string(f.Name))
				if f.Status == doctor.StatusSkipped {
					skipped++
				}
			}
			if !reflect.DeepEqual(names, allNames) || skipped != skips[name] {
				t.Errorf("%d skipped, want %d\n%s", skipped, skips[name], report)
			}
		})
	}
}

// An endpoint in order works on one dispatch.
func TestCheckMakesTheAgentWorkOnce(t *testing.T) {
	var runs atomic.Int64
	counting := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		runs.Add(1)
		return ready(ctx, run)
	}
	for name, want := range map[string]int64{"sample": 1, "none": 0} {
		runs.Store(0)
		opts := quick
		opts.NoDispatch = name == "none"
		report, err := doctor.Check(t.Context(), dispatchtest.Target{Agent: counting}, &opts)
		if err != nil || !report.OK() || runs.Load() != want {
			t.Errorf("%s: %d runs, want %d, %v\n%s", name, runs.Load(), want, err, report)
		}
		for _, check := range []doctor.Name{"dispatch", "late_calls"} {
			if f := find(t, report, check); (f.Status == doctor.StatusSkipped) != opts.NoDispatch || f.Because != "" {
				t.Errorf("%s: %+v", name, f)
			}
		}
	}
}

// The caller's task is dispatched, in its world, with its hooks.
func TestCheckDispatchesTheTask(t *testing.T) {
	own := task()
	var run atomic.Pointer[proxytest.Run]
	var wrapped atomic.Int64
	own.OnRun = func(r *proxytest.Run) { run.Store(r) }
	own.WrapProxy = func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			wrapped.Add(1)
			next.ServeHTTP(w, r)
		})
	}
	opts := quick
	opts.Task = &own
	report := examineWith(t, dispatchtest.Target{Agent: five}, &opts)
	assertNoWarning(t, report)
	if got := len(run.Load().Log().Calls); got != 5 || wrapped.Load() != 5 {
		t.Errorf("%d calls, %d of them through the wrapper", got, wrapped.Load())
	}
	// A session is a task as well, and so is one whose proxy is served elsewhere.
	world, err := proxytest.New(own.World, nil)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(world)
	defer server.Close()
	opts.Task = &dispatchtest.Task{Platform: world, ProxyURL: server.URL, Conversation: &dispatchtest.Conversation{UserTurns: []string{"a", "b"}}}
	report = examineWith(t, endpoints(t, five)["handler"], &opts)
	assertNoWarning(t, report)
	wantStatus(t, report, "dispatch", doctor.StatusOK, "10 tool calls")
}

// The sample's world has the tools that are given, and answers them all by itself.
func TestCheckSampleHasTheTools(t *testing.T) {
	opts := quick
	opts.ToolsSchema = []byte(`[{"name":"get_order","description":"d","input_schema":{"type":"object","properties":{"i":{"type":"integer","description":"d"}}},
		"default_execution_mode":"passthrough","passthrough_binding":{"endpoint_name":"orders","tool_name":"get_order"}}]`)
	report := examineWith(t, dispatchtest.Target{Agent: five}, &opts)
	assertNoWarning(t, report)
	wantStatus(t, report, "dispatch", doctor.StatusOK, "5 tool calls")
}

// The doctor does not warn of a call that is refused for a moment and repeated.
func TestCheckOfARepeatedCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		own := task()
		own.World.FailureRules = []proxytest.FailureRule{{Tool: "get_order", Nth: []int{1}, Status: 503, ErrorClass: "lock_contention"}}
		opts := quick
		opts.Task = &own
		var run atomic.Pointer[proxytest.Run]
		opts.Task.OnRun = func(r *proxytest.Run) { run.Store(r) }
		report := examineWith(t, dispatchtest.Target{Agent: once}, &opts)
		assertNoWarning(t, report)
		if log := run.Load().Log(); len(log.Calls) != 1 || len(log.Refused) != 1 {
			t.Errorf("%d calls, %d refused", len(log.Calls), len(log.Refused))
		}
	})
}

func TestCheckTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
			time.Sleep(50 * time.Second)
			return &dispatch.Response{FinalResponse: "at last"}, nil
		}
		target := dispatchtest.Target{Agent: slow, RunTimeout: time.Minute}
		report, err := doctor.Check(t.Context(), target, nil)
		if err != nil {
			t.Fatal(err)
		}
		expect(t, report, nil, []doctor.Name{"dispatch"}, "it took 50s of the 1m0s")
		if f := find(t, report, "late_calls"); f.Status != doctor.StatusOK || f.TookMS != 500 {
			t.Errorf("%+v", f)
		}

		// When the context ends, what has been seen stays.
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		report, err = doctor.Check(ctx, target, nil)
		if !errors.Is(err, context.DeadlineExceeded) || !report.OK() || len(report.Findings) != len(allNames) {
			t.Fatalf("%v\n%s", err, report)
		}
		for name, want := range map[doctor.Name]doctor.Status{"ping": "ok", "dispatch": "skipped", "late_calls": "skipped", "tools_schema": "skipped"} {
			if f := find(t, report, name); f.Status != want || f.Because != "" {
				t.Errorf("%+v, want %s", f, want)
			}
		}
		ctx, cancel = context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		report, err = doctor.Check(ctx, dispatchtest.Target{Agent: ready}, nil)
		if f := find(t, report, "late_calls"); err == nil || f.Status != doctor.StatusSkipped {
			t.Errorf("%v %+v", err, f)
		}
		time.Sleep(time.Hour) // for the agents to end
	})
}

// What may be wrong with a URL.
func TestCheckURLs(t *testing.T) {
	t.Parallel()
	handler := endpoints(t, ready)["handler"].Handler
	now := time.Now()
	const year = 365 * 24 * time.Hour
	serve := func(certificate tls.Certificate, version uint16) string {
		server := httptest.NewUnstartedServer(handler)
		server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, MaxVersion: version}
		server.Config.ErrorLog = log.New(io.Discard, "", 0)
		server.StartTLS()
		t.Cleanup(server.Close)
		return server.URL
	}
	roots := x509.NewCertPool()
	trusted := func(names []string, from, to time.Time) tls.Certificate {
		c := certificate(t, names, from, to)
		roots.AddCert(c.Leaf)
		return c
	}
	local := []string{"127.0.0.1"}
	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	noHTTP := speak(t, "SSH-2.0-OpenSSH_9.9\r\n")
	plain := httptest.NewServer(handler)
	defer plain.Close()
	elsewhere := func(t *http.Transport) { // every name leads to the handler
		t.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, plain.Listener.Addr().String())
		}
	}
	named := serve(trusted([]string{"agents.example.com"}, now.Add(-year), now.Add(year)), 0)
	behindHTTPS := func(t *http.Transport) { // the connection goes to the address of a proxy, for example
		t.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, strings.TrimPrefix(named, "https://"))
		}
	}
	for _, tt := range []struct {
		name, url      string
		failed, warned names
		seen           string
		change         func(*http.Transport)
	}{
		{"down", "http://127.0.0.1:1/dispatch", names{"reachable"}, nil, "refused", nil},
		{"unknown host", "http://no-such-host.invalid/dispatch", names{"reachable"}, nil, "host name cannot be resolved", func(tr *http.Transport) {
			tr.DialContext = func(context.Context, string, string) (net.Conn, error) {
				return nil, &net.DNSError{Err: "no such host", Name: "no-such-host.invalid", IsNotFound: true}
			}
		}},
		{"silent", "http://" + silent.Addr().String(), names{"reachable"}, nil, "has not answered a ping within", nil},
		{"no connection", "http://127.0.0.1/", names{"reachable"}, nil, "no connection within", func(tr *http.Transport) {
			tr.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }
		}},
		{"another protocol", "http://" + noHTTP, names{"reachable"}, nil, "not valid HTTP", nil},
		{"https to http", "https://" + plain.Listener.Addr().String(), names{"tls"}, nil, "does not use TLS", nil},
		{"http to https", "http" + strings.TrimPrefix(serve(trusted(local, now.Add(-year), now.Add(year)), 0), "https"), names{"ping"}, nil, "HTTPS server", nil},
		{"self-signed", serve(certificate(t, local, now.Add(-year), now.Add(year)), 0), names{"tls"}, nil, "self-signed", nil},
		{"expired", serve(trusted(local, now.Add(-year), now.Add(-time.Hour)), 0), names{"tls"}, nil,
			"expired on " + now.Add(-time.Hour).UTC().Format("2006-01-02"), nil},
		{"not yet valid", serve(trusted(local, now.Add(time.Hour), now.Add(year)), 0), names{"tls"}, nil, "not valid before", nil},
		{"another name", serve(trusted([]string{"agents.example.com"}, now.Add(-year), now.Add(year)), 0), names{"tls"}, nil,
			"not for 127.0.0.1, but for agents.example.com", nil},
		{"old TLS", serve(trusted(local, now.Add(-year), now.Add(year)), tls.VersionTLS11), names{"tls"}, nil, "the TLS handshake fails", nil},
		{"expires soon", serve(trusted(local, now.Add(-year), now.Add(100*time.Hour)), 0), nil, names{"tls"}, "valid for 4 more days, until", nil},
		{"valid", serve(trusted(local, now.Add(-year), now.Add(year)), tls.VersionTLS12), nil, nil, "", nil},
		{"public http", "http://agents.example.com/dispatch", nil, names{"tls"}, "must begin with https://", elsewhere},
		{"public https", "https://agents.example.com/dispatch", nil, nil, "", behindHTTPS},
		{"private http", "http://10.1.2.3/dispatch", nil, names{"tls"}, "private address", elsewhere},
		{"another slash", plain.URL, nil, nil, "", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, DisableKeepAlives: true, ExpectContinueTimeout: time.Second}
			if tt.change != nil {
				tt.change(transport)
			}
			opts := quick
			opts.Transport = transport
			if strings.Contains(tt.seen, "within") {
				opts.Timeout = 500 * time.Millisecond
			}
			report := examineWith(t, dispatchtest.Target{URL: tt.url, AuthValue: "Bearer secret"}, &opts)
			expect(t, report, tt.failed, tt.warned, tt.seen)
			if f := find(t, report, "dispatch"); strings.Contains(tt.name, " http") && strings.HasPrefix(tt.name, "p") && f.Status != doctor.StatusSkipped {
				t.Errorf("a sample is dispatched to an agent elsewhere: %+v", f)
			}
		})
	}
}

// A URL that only this machine's network can reach, with a certificate that is in order.
func TestCheckWarnsOfPrivateAddresses(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(endpoints(t, ready)["handler"].Handler)
	leaf := certificate(t, []string{"192.168.7.7"}, time.Now().Add(-time.Hour), time.Now().Add(1000*time.Hour))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{leaf}}
	server.StartTLS()
	defer server.Close()
	roots := x509.NewCertPool()
	roots.AddCert(leaf.Leaf)
	opts := quick
	opts.Transport = &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: roots},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, server.Listener.Addr().String())
		},
	}
	report := examineWith(t, dispatchtest.Target{URL: "https://192.168.7.7/dispatch", AuthValue: "Bearer secret"}, &opts)
	expect(t, report, nil, []doctor.Name{"tls"}, "private address")
	// With a task of the caller's the agent is made to work all the same.
	opts.Task = &dispatchtest.Task{Instruction: "Say hello."}
	report = examineWith(t, dispatchtest.Target{URL: "https://192.168.7.7/dispatch", AuthValue: "Bearer secret"}, &opts)
	wantStatus(t, report, "dispatch", doctor.StatusOK)
}

// That 32 MiB do not get through a slow line in time says nothing of the endpoint at its end.
func TestCheckAllowsForSlowLines(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(hand{})
	defer server.Close()
	testkit.Patiently(t, func(t testing.TB, limit time.Duration) {
		opts := doctor.Options{Timeout: limit, LateCallWait: time.Millisecond}
		opts.Transport = &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, server.Listener.Addr().String())
			return &slowLine{Conn: conn, left: 64 << 10, closed: make(chan struct{})}, err
		}}
		report := examineWith(t, dispatchtest.Target{URL: "http://agent.example/dispatch", AuthValue: "Bearer " + handToken}, &opts)
		expect(t, report, nil, []doctor.Name{"tls", "body_limit"}, "could not be sent within "+limit.String())
	})
}

// An endpoint elsewhere that takes 32 MiB and does not answer is not behind a slow line.
func TestCheckOfARemoteEndpointThatHangs(t *testing.T) {
	t.Parallel()
	stop := make(chan struct{})
	defer close(stop)
	server := httptest.NewServer(hand{first: func(_ http.ResponseWriter, r *http.Request) bool {
		if r.ContentLength < 1<<20 {
			return false
		}
		_, _ = io.Copy(io.Discard, r.Body)
		select {
		case <-stop:
		case <-r.Context().Done():
		}
		return true
	}})
	defer server.Close()
	testkit.Patiently(t, func(t testing.TB, limit time.Duration) {
		opts := doctor.Options{Timeout: limit, LateCallWait: time.Millisecond}
		opts.Transport = &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, server.Listener.Addr().String())
		}}
		report := examineWith(t, dispatchtest.Target{URL: "http://agent.example/dispatch", AuthValue: "Bearer " + handToken}, &opts)
		expect(t, report, nil, names{"tls", "body_limit"}, "is neither read nor refused within")
	})
}

// An endpoint without authentication fails once: what needs a bearer names that check.
func TestCheckNamesMissingAuthenticationOnce(t *testing.T) {
	t.Parallel()
	report := examineWith(t, byHand(hand{auth: func(string) bool { return true }}), &quick)
	if f := find(t, report, "wrong_bearer"); f.Because != "auth_before_ping" {
		t.Errorf("%+v", f)
	}
}

// slowLine takes some bytes, and no more until it is closed.
type slowLine struct {
	net.Conn
	left   int
	once   sync.Once
	closed chan struct{}
}

func (l *slowLine) Write(b []byte) (int, error) {
	if l.left -= len(b); l.left < 0 {
		<-l.closed
		return 0, net.ErrClosed
	}
	return l.Conn.Write(b)
}

func (l *slowLine) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Conn.Close()
}

// certificate is self-signed.
func certificate(t *testing.T, names []string, from, to time.Time) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: fmt.Sprint(names, from.UnixNano(), to.UnixNano())},
		NotBefore: from, NotAfter: to,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, BasicConstraintsValid: true, IsCA: true,
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// speak serves a text to everybody who connects.
func speak(t *testing.T, text string) (address string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, text)
			_, _ = io.CopyN(io.Discard, conn, 1) // so that closing does not reset what was written
			_ = conn.Close()
		}
	}()
	return listener.Addr().String()
}

func TestCheckDocuments(t *testing.T) {
	t.Parallel()
	const good = `{"name":"a","description":"d","input_schema":{"type":"object","properties":{"x":{"type":"string","description":"d"}}}}`
	open := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, page) }))
	defer open.Close()
	advice := map[string]string{"proxy that is down": "Let this machine out", "proxy that is none": "Compare the proxy base"}
	for _, tt := range []struct {
		name           string
		change         func(*doctor.Options)
		failed, warned names
		seen           []string
	}{
		{"tools that are not JSON", func(o *doctor.Options) { o.ToolsSchema = []byte("{") }, names{"tools_schema"}, nil, []string{"not a tools_schema", "JSON"}},
		{"tools of another format", func(o *doctor.Options) { o.ToolsSchema = []byte(`{"tools":[]}`) }, names{"tools_schema"}, nil, []string{"not a tools_schema"}},
		{"tools that are wrong", func(o *doctor.Options) { o.ToolsSchema = []byte(`[{"name":"1"},` + good + `,` + good + `]`) }, names{"tools_schema"}, nil,
			[]string{"would refuse the tools", "input_schema", `"a"`, `"1"`}},
		{"tools with lint", func(o *doctor.Options) {
			o.ToolsSchema = []byte(`{"tools_schema":[{"name":"a","input_schema":{"type":"object"}}]}`)
		}, nil, names{"tools_schema"}, []string{"valid: 1 tool;", "description"}},
		{"tools with an adapter beside the ledger schema", func(o *doctor.Options) {
			o.LedgerSchema = &ledger.Schema{Entities: []ledger.Entity{{Type: "order", IDField: "id"}}}
			o.ToolsSchema = []byte(`[{"name":"a","description":"d","input_schema":{"type":"object"},"default_execution_mode":"passthrough",
				"passthrough_binding":{"endpoint_name":"orders","tool_name":"a"},"ledger_write_policy":"adapter",
				"ledger_adapter":{"entity_type":"cart","id_from":"$.id"}}]`)
		}, names{"tools_schema"}, nil, []string{"would refuse the tools", "cart"}},
		{"proxy that is down", func(o *doctor.Options) { o.ProxyBase = "http://127.0.0.1:1/api/odyssey-proxy" }, names{"proxy"}, nil, []string{"refused"}},
		{"proxy that is none", func(o *doctor.Options) { o.ProxyBase = open.URL }, names{"proxy"}, nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			opts := quick
			tt.change(&opts)
			report := examineWith(t, dispatchtest.Target{Agent: ready}, &opts)
			said := expect(t, report, tt.failed, tt.warned)
			for _, part := range tt.seen {
				if !strings.Contains(said, part) {
					t.Errorf("%q is not said in\n%s", part, said)
				}
			}
			if strings.Contains(said, "] [") {
				t.Errorf("a code is said twice in\n%s", said)
			}
			if f := find(t, report, "proxy"); !strings.Contains(f.Do, advice[tt.name]) {
				t.Errorf("%q is not advised, but %q", advice[tt.name], f.Do)
			}
		})
	}
}

func TestCheckRefusesUnusableOptions(t *testing.T) {
	agent := dispatchtest.Target{Agent: ready}
	for _, tt := range []struct {
		name   string
		target dispatchtest.Target
		opts   *doctor.Options
		want   []string
	}{
		{"no target", dispatchtest.Target{}, nil, []string{"one of URL, Handler, Agent and Command"}},
		{"no URL", dispatchtest.Target{URL: "localhost:8080"}, nil, []string{"Target.URL is not an http or https URL"}},
		{"a file", dispatchtest.Target{URL: "file:///etc/passwd"}, nil, []string{"Target.URL is not an http or https URL"}},
		{"control characters", dispatchtest.Target{URL: "http://a\x7f/"}, nil, []string{"Target.URL is not an http or https URL"}},
		{"a password", dispatchtest.Target{URL: "https://u:geheim@127.0.0.1/"}, nil, []string{"user name or password"}},
		{"all at once", dispatchtest.Target{URL: "http://127.0.0.1/", AuthHeader: "X API", AuthValue: "geheim\n", RunTimeout: -1}, &doctor.Options{
			ProxyBase: "api.example.com", Timeout: -1, Task: &dispatchtest.Task{Input: 1, Conversation: &dispatchtest.Conversation{MaxTurns: 51}},
		}, []string{"AuthHeader", "AuthValue begins or ends with white space", "ProxyBase", "Timeout", "RunTimeout", "Task.Input", "MaxTurns"}},
		{"a query of the proxy", agent, &doctor.Options{ProxyBase: "https://api.example.com/api?x=1"}, []string{"ProxyBase must not have", "a query"}},
		{"a task", agent, &doctor.Options{Task: &dispatchtest.Task{Input: 1}}, []string{"Task.Input is not a JSON object"}},
		{"a proxy URL", agent, &doctor.Options{Task: &dispatchtest.Task{ProxyURL: "http://x"}}, []string{"Task.ProxyURL"}},
		{"options", dispatchtest.Target{Agent: ready, Options: &dispatch.Options{MaxRuns: -1}}, nil, []string{"MaxRuns"}},
	} {
		report, err := doctor.Check(t.Context(), tt.target, tt.opts)
		if err == nil || report != nil {
			t.Errorf("%s: no error, %v", tt.name, report)
			continue
		}
		for _, part := range tt.want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q is not said in %q", tt.name, part, err)
			}
		}
		if strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: a secret is in %q", tt.name, err)
		}
	}
}

// What the endpoint repeats of the bearer or the URL does not get into the report, nor does what
// could steer a terminal.
func TestCheckHidesSecrets(t *testing.T) {
	t.Parallel()
	const token = `a"secret<token>`
	leaks := func(status int) http.Handler {
		return hand{auth: func(v string) bool { return v == "Bearer "+token }, first: func(w http.ResponseWriter, r *http.Request) bool {
			if status == 0 {
				return false
			}
			body, _ := json.Marshal(map[string]string{"headers": fmt.Sprint(r.Header), "url": r.URL.String()})
			say(w, status, "\x1b[2J"+r.URL.RawQuery+" "+r.URL.Query().Get("key")+token+strings.Repeat("x", 80)+r.Header.Get("Authorization")+string(body))
			return true
		}, run: func(w http.ResponseWriter, r *http.Request, _ *handEnvelope) {
			body, _ := json.Marshal(map[string]any{"headers": r.Header, "url": r.URL.String()})
			say(w, 500, string(body))
		}}
	}
	for i, status := range []int{0, 200, 401, 500} {
		server := httptest.NewServer(leaks(status))
		opts := quick
		query := [...]string{"?key=geheim", "?geheim"}[i%2]
		report, err := doctor.Check(t.Context(), dispatchtest.Target{URL: server.URL + "/dispatch" + query, AuthValue: "Bearer " + token}, &opts)
		server.Close()
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(report)
		if err != nil {
			t.Fatal(err)
		}
		for _, out := range []string{string(text), report.String(), fmt.Sprintf("%+v", report)} {
			if strings.Contains(out, "secret") || strings.Contains(out, "geheim") || strings.Contains(out, "\x1b") || !strings.Contains(out, "[redacted]") {
				t.Errorf("%d:\n%s", status, out)
			}
		}
	}
	// A connection that breaks is told without the URL.
	report, err := doctor.Check(t.Context(), dispatchtest.Target{URL: "http://127.0.0.1:1/dispatch?key=geheim"}, nil)
	if err != nil || strings.Contains(report.String(), "geheim") || report.Target != "http://127.0.0.1:1/dispatch" {
		t.Errorf("%v\n%s", err, report)
	}
}

// However much an endpoint says before it repeats the bearer, no half of it is told.
func TestCheckHidesBeforeItCuts(t *testing.T) {
	t.Parallel()
	for n := 150; n < 520; n += len(handToken) - 6 { // each place of a cut is once inside of the token
		text := strings.Repeat("x", n) + handToken
		report, err := doctor.Check(t.Context(), dispatchtest.Target{
			Handler: hand{run: answers(500, plain, text), malformed: func(w http.ResponseWriter) { say(w, 400, text) }}, AuthValue: "Bearer " + handToken,
		}, &quick)
		if err != nil || len(with(report, doctor.StatusFailed)) != 1 || len(with(report, doctor.StatusWarning)) != 1 || strings.Contains(report.String(), handToken[:5]) {
			t.Fatalf("after %d characters: %v\n%s", n, err, report)
		}
		for _, f := range report.Findings {
			if len(f.Seen) > 400 {
				t.Errorf("%s quotes %d characters", f.Name, len(f.Seen))
			}
		}
	}
}

// The bearer goes to the endpoint alone: not where it redirects to, and not to the proxy.
func TestCheckSendsTheBearerNowhereElse(t *testing.T) {
	t.Parallel()
	var requests, leaks atomic.Int64
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		if body, _ := io.ReadAll(r.Body); strings.Contains(fmt.Sprint(r.Header)+string(body), handToken) {
			leaks.Add(1)
		}
		w.WriteHeader(401)
	}))
	defer elsewhere.Close()
	redirect := http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect)
	for name, handler := range map[string]http.Handler{"always": redirect, "dispatches": hand{
		run: func(w http.ResponseWriter, r *http.Request, _ *handEnvelope) { redirect.ServeHTTP(w, r) },
	}} {
		opts := quick
		opts.ProxyBase = elsewhere.URL + "/api/odyssey-proxy"
		requests.Store(0)
		report, err := doctor.Check(t.Context(), byHand(handler), &opts)
		if f := find(t, report, "proxy"); err != nil || f.Status != doctor.StatusOK {
			t.Errorf("%s: %v %+v", name, err, f)
		}
		if requests.Load() != 1 || leaks.Load() != 0 {
			t.Errorf("%s: %d requests elsewhere, %d with the bearer", name, requests.Load(), leaks.Load())
		}
	}
}

// A dispatch that should be refused comes with a token that is not valid.
func TestCheckGivesNothingAway(t *testing.T) {
	t.Parallel()
	var refused, answered atomic.Int64
	report, err := doctor.Check(t.Context(), dispatchtest.Target{AuthValue: "Bearer " + handToken, Handler: hand{
		auth: func(string) bool { return true },
		run: func(w http.ResponseWriter, r *http.Request, e *handEnvelope) {
			status := call(e, "get_order", r.Header.Get("X-Pipelines-Run-Token"))
			switch {
			case status == 401:
				refused.Add(1)
			case r.Header.Get("Authorization") == "Bearer "+handToken:
				answered.Add(1)
			}
			say(w, 200, `{"final_response":"done"}`)
		},
	}}, &quick)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, report, []doctor.Name{"auth_before_ping"}, nil)
	if refused.Load() != 1 || answered.Load() != 1 {
		t.Errorf("%d calls were refused and %d answered", refused.Load(), answered.Load())
	}
}

// No check suffers from the connection of the one before, and a large body is announced before it
// is sent.
func TestCheckConnections(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	requests, closing, announced := 0, 0, 0
	handler := hand{first: func(_ http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		requests++
		if r.Close {
			closing++
		}
		if r.Header.Get("Expect") != "" {
			announced++
		}
		return false
	}}
	report, err := doctor.Check(t.Context(), byHand(handler), &quick)
	if err != nil || !report.OK() {
		t.Fatalf("%v\n%s", err, report)
	}
	mu.Lock()
	defer mu.Unlock()
	if requests < 10 || closing != requests || announced != 1 {
		t.Errorf("%d requests, %d of them the last of a connection, %d announced", requests, closing, announced)
	}
}

// The doctor names what the handler left out of the sample's answer, and why the agent failed.
func TestTheDoctorSeesTheHandlersLog(t *testing.T) {
	for name, tt := range map[string]struct {
		agent  dispatch.Agent
		status doctor.Status
		want   string
	}{
		"messages": {
			func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
				return &dispatch.Response{FinalResponse: "ready", Messages: []dispatch.Message{{Role: "robot"}}}, nil
			}, doctor.StatusWarning, "/messages/0/role",
		},
		"error": {
			func(context.Context, *dispatch.Run) (*dispatch.Response, error) { return nil, errors.New("no model") },
			doctor.StatusFailed, "the agent's error: no model",
		},
	} {
		for kind, target := range endpoints(t, tt.agent) {
			t.Run(name+"/"+kind, func(t *testing.T) {
				report, err := doctor.Check(t.Context(), target, nil)
				if err != nil {
					t.Fatal(err)
				}
				f := find(t, report, "dispatch")
				if f.Status != tt.status || !strings.Contains(f.Seen+strings.Join(f.Details, "\n"), tt.want) {
					t.Errorf("%+v, want %s with %q", f, tt.status, tt.want)
				}
			})
		}
	}
}

// An agent that is itself a test of another agent does not disturb the sample dispatch.
func TestCheckOfAnAgentThatDispatches(t *testing.T) {
	agent := func(ctx context.Context, _ *dispatch.Run) (*dispatch.Response, error) {
		inner := func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
			return &dispatch.Response{FinalResponse: "inner"}, nil
		}
		result, err := dispatchtest.Dispatch(ctx, dispatchtest.Target{Agent: inner}, dispatchtest.Task{})
		if err != nil {
			return nil, err
		}
		return &dispatch.Response{FinalResponse: "the agent said " + result.FinalResponse}, nil
	}
	var said string
	opts := quick
	opts.Task = &dispatchtest.Task{Instruction: "Test the agent.", OnRun: func(run *proxytest.Run) { said += run.ID + " " }}
	report := examineWith(t, dispatchtest.Target{Agent: agent, RunTimeout: time.Minute}, &opts)
	assertNoWarning(t, report)
	if strings.Count(said, " ") != 1 {
		t.Errorf("the sample began the runs %s", said)
	}
}
