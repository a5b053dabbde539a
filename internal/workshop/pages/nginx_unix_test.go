//go:build unix

package pages

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
)

// Two replicas of an agent behind nginx, with the configuration of docs/deployment.md.
type site struct {
	https, http string // what nginx listens on
	client      *http.Client

	mu    sync.Mutex
	seen  []string   // replica and instruction of each run
	ended chan error // the cause that ended a run that waits
}

// newSite starts nginx. change replaces parts of the page's configuration, by pairs.
func newSite(t *testing.T, opts dispatch.Options, change ...string) *site {
	t.Helper()
	program, err := exec.LookPath("nginx")
	if err != nil {
		program = "/usr/sbin/nginx"
		if _, err := os.Stat(program); err != nil {
			t.Skip("nginx is not installed")
		}
	}
	s := &site{ended: make(chan error, 10)}
	var replicas [2]string
	for i := range replicas {
		handler, err := dispatch.New(s.agent(i), &opts)
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(handler)
		t.Cleanup(server.Close)
		replicas[i] = server.Listener.Addr().String()
	}

	// A server of package httptest has a certificate with its key.
	secure := httptest.NewTLSServer(nil)
	defer secure.Close()
	dir := t.TempDir()
	key, err := x509.MarshalPKCS8PrivateKey(secure.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(secure.Certificate())
	s.client = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	t.Cleanup(s.client.CloseIdleConnections)
	s.https, s.http = freeAddress(t), freeAddress(t)

	page, err := os.ReadFile("../../../docs/deployment.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```nginx\n(.*?)```").FindSubmatch(page)
	if block == nil {
		t.Fatal("docs/deployment.md has no configuration of nginx")
	}
	config := string(block[1])
	pairs := append([]string{
		"10.0.0.11:8080", replicas[0], "10.0.0.12:8080", replicas[1], "listen 443 ssl;", "listen " + s.https + " ssl; listen " + s.http + ";",
		"/etc/ssl/agent.pem", dir + "/agent.pem", "/etc/ssl/agent.key", dir + "/agent.key",
	}, change...)
	for pair := range slices.Chunk(pairs, 2) {
		if !strings.Contains(config, pair[0]) {
			t.Fatalf("the configuration of the page does not have %s", pair[0])
		}
		config = strings.ReplaceAll(config, pair[0], pair[1])
	}
	temporary := ""
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		temporary += fmt.Sprintf("%s_temp_path %s/%s;\n", kind, dir, kind)
	}
	for name, text := range map[string]string{
		"agent.pem": string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})),
		"agent.key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})),
		"nginx.conf": fmt.Sprintf("pid %[1]s/pid;\nerror_log %[1]s/error.log;\nevents {}\nhttp {\naccess_log off;\n%[2]s%[3]s}\n",
			dir, temporary, config),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// The folders above belong to the test alone, and a worker has a user of its own.
	for d := dir; d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
		_ = os.Chmod(d, 0o755)
	}
	nginx := func(args ...string) ([]byte, error) {
		return exec.Command(program, append([]string{"-p", dir, "-e", dir + "/error.log", "-c", dir + "/nginx.conf"}, args...)...).CombinedOutput()
	}
	if out, err := nginx(); err != nil { // it returns when it listens, and goes on in the background
		t.Fatalf("nginx: %v\n%s", err, out)
	}
	t.Cleanup(func() {
		if out, err := nginx("-s", "stop"); err != nil {
			t.Errorf("nginx -s stop: %v\n%s", err, out)
		}
	})
	return s
}

// freeAddress returns an address on loopback that nothing listens on. No system gives its port to a test
// that asks for any port, so it stays free until the program listens that it is for.
func freeAddress(t *testing.T) string {
	t.Helper()
	for range 100 {
		if l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", 20_000+rand.IntN(12_000))); err == nil {
			_ = l.Close()
			return l.Addr().String()
		}
	}
	t.Fatal("no port is free")
	return ""
}

// agent answers with the number of its replica. If it is told to wait, it waits for the end of its
// context.
func (s *site) agent(replica int) dispatch.Agent {
	return func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		s.mu.Lock()
		s.seen = append(s.seen, fmt.Sprintf("%d %s", replica, run.Instruction))
		s.mu.Unlock()
		if run.Instruction == "Wait." {
			<-ctx.Done()
			s.ended <- context.Cause(ctx)
			return nil, ctx.Err()
		}
		return &dispatch.Response{FinalResponse: "done"}, nil
	}
}

// take returns the runs since the last call of take.
func (s *site) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := s.seen
	s.seen = nil
	return seen
}

// post sends a body with the headers of a dispatch and returns the status.
func (s *site) post(t *testing.T, body io.Reader, header, value, runID string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+s.https+"/dispatch", body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header[header] = []string{value}
	r.Header.Set("X-Pipelines-Run-Token", "run-token")
	r.Header.Set("X-Pipelines-Run-Id", runID)
	response, err := s.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	_, _ = io.Copy(io.Discard, response.Body)
	return response.StatusCode
}

var helloBody = strings.Replace(dispatchBody, "Wait.", "Hello.", 1)

// large is a dispatch of 2 MiB.
func large() io.Reader {
	return strings.NewReader(strings.Replace(helloBody, `"input":{}}`, `"input":{"text":"`+strings.Repeat("x", 2<<20)+`"}}`, 1))
}

func bearer() dispatch.Options { return dispatch.Options{Tokens: []string{"token"}} }

const authorization, bearerToken = "Authorization", "Bearer token"

// Pings, large bodies and the turns of a session pass nginx; the turns of a session reach one replica.
func TestNginx(t *testing.T) {
	s := newSite(t, bearer())
	if status := s.post(t, strings.NewReader(pingBody), authorization, bearerToken, "17"); status != 200 {
		t.Errorf("a ping is answered %d", status)
	}
	if status := s.post(t, strings.NewReader(pingBody), authorization, "Bearer other", "17"); status != 401 {
		t.Errorf("a ping with another token is answered %d", status)
	}
	if status := s.post(t, large(), authorization, bearerToken, "17"); status != 200 {
		t.Errorf("2 MiB are answered %d", status)
	}
	_ = s.take()
	result := dispatchtest.Run(t, dispatchtest.Target{URL: "http://" + s.http + "/dispatch", AuthValue: bearerToken}, dispatchtest.Task{
		Instruction: "One.", Conversation: &dispatchtest.Conversation{UserTurns: []string{"Two.", "Three."}},
	})
	seen := s.take()
	if len(result.Turns) != 3 || len(seen) != 3 || seen[1][0] != seen[0][0] || seen[2][0] != seen[0][0] {
		t.Errorf("the turns of a session reach several replicas: %d turns, %q", len(result.Turns), seen)
	}
	for id := range 20 {
		if status := s.post(t, strings.NewReader(helloBody), authorization, bearerToken, fmt.Sprint(id)); status != 200 {
			t.Errorf("run %d is answered %d", id, status)
		}
	}
	if seen := s.take(); !slices.Contains(seen, "0 Hello.") || !slices.Contains(seen, "1 Hello.") {
		t.Errorf("all runs reach one replica: %q", seen)
	}
}

// What the page says of nginx's defaults.
func TestNginxDefaults(t *testing.T) {
	t.Run("large body", func(t *testing.T) {
		s := newSite(t, bearer(), "client_max_body_size 16m;", "")
		if status := s.post(t, large(), authorization, bearerToken, "17"); status != 413 {
			t.Errorf("status %d", status)
		}
		if seen := s.take(); len(seen) > 0 {
			t.Errorf("the agent has it: %q", seen)
		}
	})
	t.Run("time-out", func(t *testing.T) {
		s := newSite(t, bearer(), "310s", "1s")
		if status := s.post(t, strings.NewReader(dispatchBody), authorization, bearerToken, "17"); status != 504 {
			t.Errorf("status %d", status)
		}
		select { // nginx closes the connection to the agent
		case <-s.ended:
		case <-time.After(5 * time.Minute):
			t.Error("the agent's context does not end")
		}
	})
	t.Run("underscore in a header", func(t *testing.T) {
		opts := dispatch.Options{Tokens: []string{"token"}, AuthHeader: "X_Agent_Key"}
		if status := newSite(t, opts).post(t, strings.NewReader(pingBody), "X_Agent_Key", "token", "17"); status != 401 {
			t.Errorf("status %d", status)
		}
		s := newSite(t, opts, "server_name agent.example.com;", "underscores_in_headers on;")
		if status := s.post(t, strings.NewReader(pingBody), "X_Agent_Key", "token", "17"); status != 200 {
			t.Errorf("with underscores_in_headers: status %d", status)
		}
	})
}

// Under load every dispatch is answered, and runs once: nginx sends none to a second replica.
func TestNginxUnderLoad(t *testing.T) {
	const dispatches, together = 400, 40
	s := newSite(t, bearer())
	var group sync.WaitGroup
	var failed atomic.Int64
	for worker := range together {
		group.Go(func() {
			for i := worker; i < dispatches; i += together {
				body := io.Reader(strings.NewReader(helloBody))
				if i%10 == 0 {
					body = large()
				}
				if s.post(t, body, authorization, bearerToken, fmt.Sprint(i)) != http.StatusOK {
					failed.Add(1)
				}
			}
		})
	}
	group.Wait()
	if seen := s.take(); failed.Load() > 0 || len(seen) != dispatches {
		t.Errorf("%d of %d dispatches failed, %d runs", failed.Load(), dispatches, len(seen))
	}
}
