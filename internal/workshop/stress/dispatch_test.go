// Package stress runs the library under faults and checks that nothing is lost, done twice, leaked or
// disclosed. Run it with the race detector and -count.
package stress

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/internal/testkit"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

const (
	limit = 5 * time.Minute // of anything that must end
	runs  = 64
	calls = 4 // of a run
)

// faulty answers half of the requests with a fault, some before and some after the tool has run.
func faulty(next http.Handler) http.Handler {
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(1, 2))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		fault := random.IntN(10)
		mu.Unlock()
		refuse := func(status int, class string) {
			w.WriteHeader(status)
			_, _ = fmt.Fprintf(w, `{"detail":{"error_class":%q,"message":%q}}`, class, "refused: "+r.Header.Get("Authorization"))
		}
		answer := httptest.NewRecorder()
		switch fault {
		case 0:
			panic(http.ErrAbortHandler)
		case 1:
			refuse(http.StatusServiceUnavailable, "lock_contention")
		case 2:
			next.ServeHTTP(answer, r)
			panic(http.ErrAbortHandler)
		case 3:
			next.ServeHTTP(answer, r)
			w.Header().Set("Content-Length", fmt.Sprint(answer.Body.Len()))
			_, _ = w.Write(answer.Body.Bytes()[:answer.Body.Len()/2])
		case 4:
			next.ServeHTTP(answer, r)
			refuse(http.StatusBadGateway, "upstream")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// A run is what happened to one dispatch.
type run struct {
	on       *proxytest.Run
	started  atomic.Int64
	executed [calls]atomic.Int64
}

type arguments struct{ Run, Call int }

// A site is an endpoint, its proxy, and the runs.
type site struct {
	endpoint, proxy *httptest.Server
	runs            []*run
	running         atomic.Int64 // agents
	log             testkit.Buffer
}

// serve serves an agent that makes all calls of its run and accounts for each. tokens are those that
// the endpoint accepts.
func serve(t *testing.T, tokens func() []string) (*site, *dispatch.Handler) {
	s := &site{}
	world := proxytest.World{Behaviors: map[string]proxytest.Behavior{"pay": func(r *proxytest.Request) (any, error) {
		var args arguments
		if err := json.Unmarshal(r.Arguments, &args); err != nil {
			return nil, err
		}
		s.runs[args.Run].executed[args.Call].Add(1)
		return args, nil
	}}}
	platform, err := proxytest.New(world, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range runs {
		s.runs = append(s.runs, &run{on: platform.NewRun()})
	}
	logger := slog.New(slog.NewTextHandler(&s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	handler, err := dispatch.New(func(ctx context.Context, in *dispatch.Run) (*dispatch.Response, error) {
		var n int
		if _, err := fmt.Sscan(in.TaskID, &n); err != nil {
			return nil, err
		}
		s.runs[n].started.Add(1)
		s.running.Add(1)
		defer s.running.Add(-1)
		for call := range calls {
			s.account(ctx, t, n, call, in.Proxy)
		}
		return &dispatch.Response{FinalResponse: fmt.Sprint("run ", n)}, nil
	}, &dispatch.Options{TokenFunc: tokens, Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	s.endpoint, s.proxy = httptest.NewServer(handler), httptest.NewUnstartedServer(faulty(platform))
	s.proxy.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	s.proxy.Start()
	return s, handler
}

// account makes a call, and compares what the agent is told with what the tool did.
func (s *site) account(ctx context.Context, t *testing.T, n, call int, client *proxy.Client) {
	_, err := client.Do(ctx, "pay", arguments{n, call})
	executed := s.runs[n].executed[call].Load()
	var failure *proxy.Error
	switch {
	case err == nil && executed != 1, executed > 1:
		t.Errorf("run %d, call %d: executed %d times, error %v", n, call, executed, err)
	case err != nil && !errors.As(err, &failure):
		t.Errorf("run %d, call %d: an error of type %T: %v", n, call, err, err)
	case err != nil && failure.Delivery != proxy.Unknown && executed > 0:
		t.Errorf("run %d, call %d: executed, and the agent is told that it was not: %v", n, call, err)
	case err != nil && strings.Contains(err.Error(), s.runs[n].on.Token):
		t.Errorf("run %d, call %d: the error shows the run token", n, call)
	}
}

// send dispatches a run. status is 0 without an answer.
func (s *site) send(n int, token string) (status int, body string) {
	on := s.runs[n].on
	envelope := fmt.Sprintf(`{"task_id":%d,"run_id":%s,"input":{"user_instruction":"Pay."},"odyssey_proxy_url":%q}`, n, on.ID, s.proxy.URL+on.Path)
	r, err := http.NewRequest(http.MethodPost, s.endpoint.URL, strings.NewReader(envelope))
	if err != nil {
		return 0, err.Error()
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("X-Pipelines-Run-Token", on.Token)
	response, err := s.endpoint.Client().Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err.Error()
	}
	return response.StatusCode, string(answer)
}

// close ends the servers. Afterwards no secret is in the log, and no more goroutines run than before.
func (s *site) close(t *testing.T, before int, secrets ...string) {
	s.endpoint.Close()
	s.proxy.Close()
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	for _, r := range s.runs {
		secrets = append(secrets, r.on.Token)
	}
	for _, secret := range secrets {
		if strings.Contains(s.log.String(), secret) {
			t.Error("a secret is in the log")
		}
	}
	for end := time.Now().Add(limit); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
	}
}

// each calls f for all runs, several at once.
func each(f func(n int)) {
	var group sync.WaitGroup
	free := make(chan struct{}, 16)
	for n := range runs {
		free <- struct{}{}
		group.Go(func() {
			defer func() { <-free }()
			f(n)
		})
	}
	group.Wait()
}

// Each dispatch is answered with the result of its own run, and each call is accounted for once.
func TestDispatchesUnderFaults(t *testing.T) {
	const token = "the-agents-token"
	before := runtime.NumGoroutine()
	s, _ := serve(t, func() []string { return []string{token} })
	each(func(n int) {
		status, body := s.send(n, token)
		if want := fmt.Sprintf(`{"final_response":"run %d"`, n); status != http.StatusOK || !strings.HasPrefix(body, want) {
			t.Errorf("run %d is answered with %d %s", n, status, body)
		}
		if started := s.runs[n].started.Load(); started != 1 {
			t.Errorf("the agent of run %d started %d times", n, started)
		}
	})
	s.close(t, before, token)
}

// While tokens rotate and the endpoint drains, a dispatch is answered, or refused before its agent
// starts. After Drain no agent runs.
func TestRotationAndDrain(t *testing.T) {
	token := func(n int64) string { return fmt.Sprintf("the-agents-token-number-%d", n) }
	var newest, ended atomic.Int64
	before := runtime.NumGoroutine()
	s, handler := serve(t, func() []string { n := newest.Load(); return []string{token(n), token(n + 1)} })
	drained := make(chan error, 1)
	each(func(n int) {
		if n%8 == 0 {
			newest.Add(1)
		}
		if n == runs/2 {
			go func() {
				err := handler.Drain(context.Background())
				if n := s.running.Load(); n > 0 {
					t.Errorf("%d agents run after Drain", n)
				}
				drained <- err
			}()
		}
		wrong := n%5 == 0
		with := token(newest.Load())
		if wrong {
			with = "a-token-that-never-was-valid"
		}
		status, body := s.send(n, with)
		switch started := s.runs[n].started.Load(); {
		case status == http.StatusOK && started == 1 && !wrong:
			ended.Add(1)
		case (status == http.StatusUnauthorized || status == http.StatusServiceUnavailable) && started == 0:
		default:
			t.Errorf("run %d is answered with %d %s, and its agent started %d times", n, status, body, started)
		}
	})
	if err := <-drained; err != nil || ended.Load() == 0 {
		t.Errorf("Drain: %v; %d runs ended well", err, ended.Load())
	}
	s.close(t, before, token(0), token(1))
}
