package dispatchtest_test

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
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/proxy/proxytest"
	"github.com/toolwire/toolwire/schema"
)

func ready(context.Context, *dispatch.Run) (*dispatch.Response, error) {
	return &dispatch.Response{FinalResponse: "I am ready."}, nil
}

var quick = dispatchtest.CheckOptions{Timeout: 5 * time.Minute, Linger: time.Millisecond}

// The checks in the order in which they are documented.
var allNames = []string{
	"reachable", "tls", "clock", "method", "auth_before_ping", "wrong_bearer", "ping", "ping_spacing", "body_limit", "content_type",
	"malformed_body", "dispatch", "late_calls", "proxy", "tools_schema", "manifest", "dataset",
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
			opts.ToolsJSON = []byte(`[{"name":"get_order","description":"Looks an order up.",
				"input_schema":{"type":"object","properties":{"id":{"type":"string","description":"The order's id."}},"required":["id"]}}]`)
			opts.Manifest = writeManifest(t, `{"tools":[{"name":"get_time","command":["./tools/bin/get_time"]}]}`, "get_time")
			opts.Dataset = strings.NewReader("user,behavior\nRefund order #4521.,\n")
			opts.ProxyBase = proxy.URL + "/api/odyssey-proxy"
			if name == "https" {
				transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: x509.NewCertPool()}}
				transport.TLSClientConfig.RootCAs.AddCert(secure.Certificate())
				defer transport.CloseIdleConnections()
				opts.Transport = transport
			}
			report, err := dispatchtest.Check(t.Context(), target, &opts)
			if err != nil {
				t.Fatal(err)
			}
			report.AssertOK(t)
			report.AssertNoWarning(t)
			skipped := 0
			var names []string
			for _, f := range report.Checks {
				names = append(names, string(f.Name))
				if f.Status == dispatchtest.StatusSkipped {
					skipped++
				}
			}
			if !reflect.DeepEqual(names, allNames) || skipped != skips[name] {
				t.Errorf("%d skipped, want %d\n%s", skipped, skips[name], report)
			}
		})
	}
}

// writeManifest makes a folder with a manifest and its programs.
func writeManifest(t *testing.T, text string, programs ...string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "tools", "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, program := range programs {
		for _, suffix := range []string{"", ".exe"} { // the latter is looked for on Windows
			if err := os.WriteFile(filepath.Join(dir, "tools", "bin", program+suffix), []byte("#!/bin/sh\n"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
	}
	file := filepath.Join(dir, "tools.json")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
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
		report, err := dispatchtest.Check(t.Context(), dispatchtest.Target{Agent: counting}, &opts)
		if err != nil || !report.OK() || runs.Load() != want {
			t.Errorf("%s: %d runs, want %d, %v\n%s", name, runs.Load(), want, err, report)
		}
		for _, check := range []dispatchtest.CheckName{dispatchtest.CheckDispatch, dispatchtest.CheckLateCalls} {
			if f, ok := report.Find(check); !ok || (f.Status == dispatchtest.StatusSkipped) != opts.NoDispatch || f.Because != "" {
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
	report, err := dispatchtest.Check(t.Context(), dispatchtest.Target{Agent: five}, &opts)
	if err != nil {
		t.Fatal(err)
	}
	report.AssertNoWarning(t)
	if got := len(run.Load().Calls()); got != 5 || wrapped.Load() != 5 {
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
	report, err = dispatchtest.Check(t.Context(), endpoints(t, five)["handler"], &opts)
	if err != nil {
		t.Fatal(err)
	}
	report.AssertNoWarning(t)
	if f, _ := report.Find(dispatchtest.CheckDispatch); !strings.Contains(f.Seen, "10 tool calls") {
		t.Errorf("%+v", f)
	}
}

// The sample's world has the tools that are given, and answers them all by itself.
func TestCheckSampleHasTheTools(t *testing.T) {
	tools, _, err := schema.Import([]byte(`[{"name":"get_order","description":"d","input_schema":{"type":"object","properties":{"i":{"type":"integer","description":"d"}}},
		"default_execution_mode":"passthrough","passthrough_binding":{"endpoint_name":"orders","tool_name":"get_order"}}]`), schema.Platform)
	if err != nil {
		t.Fatal(err)
	}
	opts := quick
	opts.Tools = tools
	report, err := dispatchtest.Check(t.Context(), dispatchtest.Target{Agent: five}, &opts)
	if err != nil {
		t.Fatal(err)
	}
	report.AssertNoWarning(t)
	if f, _ := report.Find(dispatchtest.CheckDispatch); !strings.Contains(f.Seen, "5 tool calls") {
		t.Errorf("%+v", f)
	}
}

func TestCheckTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
			time.Sleep(50 * time.Second)
			return &dispatch.Response{FinalResponse: "at last"}, nil
		}
		target := dispatchtest.Target{Agent: slow, RunTimeout: time.Minute}
		report, err := dispatchtest.Check(t.Context(), target, nil)
		if err != nil {
			t.Fatal(err)
		}
		if said := expect(t, report, nil, []dispatchtest.CheckName{"dispatch"}); !strings.Contains(said, "it took 50s of the 1m0s") {
			t.Errorf("%q", said)
		}
		if f, _ := report.Find(dispatchtest.CheckLateCalls); f.Status != dispatchtest.StatusOK || f.TookMS != 500 {
			t.Errorf("%+v", f)
		}

		// When the context ends, what has been seen stays.
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		report, err = dispatchtest.Check(ctx, target, nil)
		if !errors.Is(err, context.DeadlineExceeded) || !report.OK() || len(report.Checks) != len(allNames) {
			t.Fatalf("%v\n%s", err, report)
		}
		for name, want := range map[dispatchtest.CheckName]dispatchtest.Status{"ping": "ok", "dispatch": "skipped", "late_calls": "skipped", "dataset": "skipped"} {
			if f, _ := report.Find(name); f.Status != want || f.Because != "" {
				t.Errorf("%+v, want %s", f, want)
			}
		}
		ctx, cancel = context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		report, err = dispatchtest.Check(ctx, dispatchtest.Target{Agent: ready}, nil)
		if f, _ := report.Find(dispatchtest.CheckLateCalls); err == nil || f.Status != dispatchtest.StatusSkipped {
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
		{"https to http", "https://" + plain.Listener.Addr().String(), names{"tls"}, nil, "does not speak TLS", nil},
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
			report, err := dispatchtest.Check(t.Context(), dispatchtest.Target{URL: tt.url, AuthValue: "Bearer secret"}, &opts)
			if err != nil {
				t.Fatal(err)
			}
			if said := expect(t, report, tt.failed, tt.warned); !strings.Contains(said, tt.seen) {
				t.Errorf("%q is not said in\n%s", tt.seen, report)
			}
			if f, _ := report.Find(dispatchtest.CheckDispatch); strings.Contains(tt.name, " http") && strings.HasPrefix(tt.name, "p") && f.Status != dispatchtest.StatusSkipped {
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
	report, err := dispatchtest.Check(t.Context(), dispatchtest.Target{URL: "https://192.168.7.7/dispatch", AuthValue: "Bearer secret"}, &opts)
	if err != nil {
		t.Fatal(err)
	}
	if said := expect(t, report, nil, []dispatchtest.CheckName{"tls"}); !strings.Contains(said, "private address") {
		t.Errorf("%q", said)
	}
	// With a task of the caller's the agent is made to work all the same.
	opts.Task = &dispatchtest.Task{Instruction: "Say hello."}
	report, err = dispatchtest.Check(t.Context(), dispatchtest.Target{URL: "https://192.168.7.7/dispatch", AuthValue: "Bearer secret"}, &opts)
	if f, _ := report.Find(dispatchtest.CheckDispatch); err != nil || f.Status != dispatchtest.StatusOK {
		t.Errorf("%v %+v", err, f)
	}
}

// That 32 MiB do not get through a slow line in time says nothing of the endpoint at its end.
func TestCheckAllowsForSlowLines(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(hand{})
	defer server.Close()
	patiently(t, func(t testing.TB, limit time.Duration) {
		opts := dispatchtest.CheckOptions{Timeout: limit, Linger: time.Millisecond}
		opts.Transport = &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, server.Listener.Addr().String())
			return &slowLine{Conn: conn, left: 64 << 10, closed: make(chan struct{})}, err
		}}
		report, err := dispatchtest.Check(t.Context(), dispatchtest.Target{URL: "http://agent.example/dispatch", AuthValue: "Bearer " + handToken}, &opts)
		if err != nil {
			t.Fatal(err)
		}
		said := expect(t, report, nil, []dispatchtest.CheckName{"tls", "body_limit"})
		if !strings.Contains(said, "could not be sent within "+limit.String()) {
			t.Errorf("%q", said)
		}
	})
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
		change         func(*dispatchtest.CheckOptions)
		failed, warned names
		seen           []string
	}{
		{"tools that are no JSON", func(o *dispatchtest.CheckOptions) { o.ToolsJSON = []byte("{") }, names{"tools_schema"}, nil, []string{"no tools_schema", "JSON"}},
		{"tools of another format", func(o *dispatchtest.CheckOptions) { o.ToolsJSON = []byte(`{"tools":[]}`) }, names{"tools_schema"}, nil, []string{"no tools_schema"}},
		{"tools that are wrong", func(o *dispatchtest.CheckOptions) { o.ToolsJSON = []byte(`[{"name":"1"},` + good + `,` + good + `]`) }, names{"tools_schema"}, nil,
			[]string{"would refuse the tools", "input_schema", `"a"`, `"1"`}},
		{"tools with lint", func(o *dispatchtest.CheckOptions) {
			o.ToolsJSON = []byte(`{"tools_schema":[{"name":"a","input_schema":{"type":"object"}}]}`)
		}, nil, names{"tools_schema"}, []string{"valid: 1 tool;", "description"}},
		{"Go tools", func(o *dispatchtest.CheckOptions) { o.Tools = []schema.Tool{{Name: "a b"}} }, names{"tools_schema"}, nil, []string{"a b"}},
		{"no manifest", func(o *dispatchtest.CheckOptions) { o.Manifest = filepath.Join(t.TempDir(), "tools.json") }, names{"manifest"}, nil, []string{"cannot be loaded"}},
		{"wrong manifest", func(o *dispatchtest.CheckOptions) {
			o.Manifest = writeManifest(t, `{"tools":[{"name":""},{"name":"x","command":["bin/x"]}]}`)
		}, names{"manifest"}, nil, []string{"tool[0]: name is required", `tool[1] "x"`}},
		{"manifest without programs", func(o *dispatchtest.CheckOptions) {
			o.Manifest = writeManifest(t, `{"tools":[{"name":"x","command":["./tools/bin/x"]}]}`)
		}, names{"manifest"}, nil, []string{"programs are missing", `"x"`}},
		{"manifest with lint", func(o *dispatchtest.CheckOptions) {
			o.Manifest = writeManifest(t, `{"tools":[{"name":"x","command":["./tools/bin/x"],"note":1}]}`, "x")
		}, nil, names{"manifest"}, []string{"1 tool; 1 thing to look at", "note"}},
		{"dataset with an axis name", func(o *dispatchtest.CheckOptions) { o.Dataset = strings.NewReader("user_instruction,behavior\nx,\n") }, names{"dataset"}, nil,
			[]string{"user_instruction", "did you mean"}},
		{"dataset with bad cells", func(o *dispatchtest.CheckOptions) { o.Dataset = strings.NewReader("user,state\nx,{\ny,[]\n") }, names{"dataset"}, nil,
			[]string{"row 2", "row 3"}},
		{"dataset without rows", func(o *dispatchtest.CheckOptions) { o.Dataset = strings.NewReader("user\n") }, names{"dataset"}, nil, []string{"no rows"}},
		{"dataset that cannot be read", func(o *dispatchtest.CheckOptions) { o.Dataset = brokenReader{} }, names{"dataset"}, nil, nil},
		{"proxy that is down", func(o *dispatchtest.CheckOptions) { o.ProxyBase = "http://127.0.0.1:1/api/odyssey-proxy" }, names{"proxy"}, nil, []string{"refused"}},
		{"proxy that is none", func(o *dispatchtest.CheckOptions) { o.ProxyBase = open.URL }, names{"proxy"}, nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			opts := quick
			tt.change(&opts)
			report, err := dispatchtest.Check(t.Context(), dispatchtest.Target{Agent: ready}, &opts)
			if err != nil {
				t.Fatal(err)
			}
			said := expect(t, report, tt.failed, tt.warned)
			for _, part := range tt.seen {
				if !strings.Contains(said, part) {
					t.Errorf("%q is not said in\n%s", part, said)
				}
			}
			if f, _ := report.Find(dispatchtest.CheckProxy); !strings.Contains(f.Do, advice[tt.name]) {
				t.Errorf("%q is not advised, but %q", advice[tt.name], f.Do)
			}
		})
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("the disk is gone") }

func TestCheckRefusesUnusableOptions(t *testing.T) {
	agent := dispatchtest.Target{Agent: ready}
	for _, tt := range []struct {
		name   string
		target dispatchtest.Target
		opts   *dispatchtest.CheckOptions
		want   []string
	}{
		{"no target", dispatchtest.Target{}, nil, []string{"one of URL, Handler and Agent"}},
		{"no URL", dispatchtest.Target{URL: "localhost:8080"}, nil, []string{"Target.URL is no http or https URL"}},
		{"a file", dispatchtest.Target{URL: "file:///etc/passwd"}, nil, []string{"Target.URL is no http or https URL"}},
		{"control characters", dispatchtest.Target{URL: "http://a\x7f/"}, nil, []string{"Target.URL is no http or https URL"}},
		{"a password", dispatchtest.Target{URL: "https://u:geheim@127.0.0.1/"}, nil, []string{"user name or password"}},
		{"all at once", dispatchtest.Target{URL: "http://127.0.0.1/", AuthHeader: "X API", AuthValue: "geheim\n", RunTimeout: -1}, &dispatchtest.CheckOptions{
			ProxyBase: "api.example.com", Tools: []schema.Tool{}, ToolsJSON: []byte("[]"), Timeout: -1,
		}, []string{"AuthHeader", "AuthValue has white space", "ProxyBase", "either Tools or ToolsJSON", "Timeout", "RunTimeout"}},
		{"a task", agent, &dispatchtest.CheckOptions{Task: &dispatchtest.Task{Input: 1}}, []string{"Task.Input must be a JSON object"}},
		{"a proxy URL", agent, &dispatchtest.CheckOptions{Task: &dispatchtest.Task{ProxyURL: "http://x"}}, []string{"Task.ProxyURL"}},
		{"options", dispatchtest.Target{Agent: ready, Options: &dispatch.Options{MaxRuns: -1}}, nil, []string{"MaxRuns"}},
	} {
		report, err := dispatchtest.Check(t.Context(), tt.target, tt.opts)
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

// What the endpoint repeats of the bearer or the URL does not get into the report, nor does what could steer a terminal.
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
		report, err := dispatchtest.Check(t.Context(), dispatchtest.Target{URL: server.URL + "/dispatch" + query, AuthValue: "Bearer " + token}, &opts)
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
	report, err := dispatchtest.Check(t.Context(), dispatchtest.Target{URL: "http://127.0.0.1:1/dispatch?key=geheim"}, nil)
	if err != nil || strings.Contains(report.String(), "geheim") || report.Target != "http://127.0.0.1:1/dispatch" {
		t.Errorf("%v\n%s", err, report)
	}
}

// However much an endpoint says before it repeats the bearer, no half of it is told.
func TestCheckHidesBeforeItCuts(t *testing.T) {
	t.Parallel()
	for n := 150; n < 520; n += 7 {
		text := strings.Repeat("x", n) + handToken
		report, err := dispatchtest.Check(t.Context(), dispatchtest.Target{
			Handler: hand{run: answers(500, plain, text), malformed: func(w http.ResponseWriter) { say(w, 400, text) }}, AuthValue: "Bearer " + handToken,
		}, &quick)
		if err != nil || len(report.Failed()) != 1 || len(report.Warned()) != 1 || strings.Contains(report.String(), handToken[:5]) {
			t.Fatalf("after %d characters: %v\n%s", n, err, report)
		}
		for _, f := range report.Checks {
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
		report, err := dispatchtest.Check(t.Context(), dispatchtest.Target{Handler: handler, AuthValue: "Bearer " + handToken}, &opts)
		if f, _ := report.Find(dispatchtest.CheckProxy); err != nil || f.Status != dispatchtest.StatusOK {
			t.Errorf("%s: %v %+v", name, err, f)
		}
		if requests.Load() != 1 || leaks.Load() != 0 {
			t.Errorf("%s: %d requests elsewhere, %d with the bearer", name, requests.Load(), leaks.Load())
		}
	}
}

// A dispatch that ought to be refused comes with a token that is of no use.
func TestCheckGivesNothingAway(t *testing.T) {
	t.Parallel()
	var refused, answered atomic.Int64
	report, err := dispatchtest.Check(t.Context(), dispatchtest.Target{AuthValue: "Bearer " + handToken, Handler: hand{
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
	expect(t, report, []dispatchtest.CheckName{"auth_before_ping"}, nil)
	if refused.Load() != 1 || answered.Load() != 1 {
		t.Errorf("%d calls were refused and %d answered", refused.Load(), answered.Load())
	}
}

// No check suffers from the connection of the one before, and a large body is announced before it is sent.
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
	report, err := dispatchtest.Check(t.Context(), dispatchtest.Target{Handler: handler, AuthValue: "Bearer " + handToken}, &quick)
	if err != nil || !report.OK() {
		t.Fatalf("%v\n%s", err, report)
	}
	mu.Lock()
	defer mu.Unlock()
	if requests < 10 || closing != requests || announced != 1 {
		t.Errorf("%d requests, %d of them the last of a connection, %d announced", requests, closing, announced)
	}
}
