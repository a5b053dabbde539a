package catalog_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/memhttp"
	"github.com/toolwire/toolwire/internal/testkit"
	"github.com/toolwire/toolwire/manifest/catalog"
)

// clientStep is a response of a scripted transport, or its error.
type clientStep struct {
	status int
	body   string
	header http.Header
	err    error
}

// clientScript is a transport that returns its steps in turn, repeats the last one, and records the
// times.
type clientScript struct {
	steps []clientStep
	start time.Time
	times []time.Duration
	lines []string
}

func (s *clientScript) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		body, err := io.ReadAll(req.Body)
		if err != nil || int64(len(body)) != req.ContentLength {
			return nil, errors.New("the body is not whole")
		}
	}
	if len(s.times) == 0 {
		s.start = time.Now()
	}
	s.times = append(s.times, time.Since(s.start))
	s.lines = append(s.lines, req.Method)
	step := s.steps[min(len(s.times), len(s.steps))-1]
	if step.err != nil {
		return nil, step.err
	}
	return &http.Response{
		StatusCode: step.status, Header: step.header, Body: io.NopCloser(strings.NewReader(step.body)), ContentLength: -1,
		Request: req,
	}, nil
}

var (
	errDial  = &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("dial hunter2")}
	errBroke = &net.OpError{Op: "read", Net: "tcp", Err: errors.New("read hunter2")}
)

func retryAfterStep(status int, seconds string) clientStep {
	return clientStep{status: status, header: http.Header{"Retry-After": {seconds}}}
}

// The failure decides which requests are repeated, and what the error of the others claims.
func TestClientRepeatsOnlyWhereItIsSafe(t *testing.T) {
	reads := []string{"list", "get", "script", "find"}
	overwrites := []string{"update", "patch"}
	acts := []string{"create", "upload", "upload update", "delete", "restore"}
	for name, test := range map[string]struct {
		step  clientStep
		reads int // attempts
		puts  int
		acts  int
	}{
		"no connection":  {clientStep{err: errDial}, 4, 4, 4},
		"no name server": {clientStep{err: &net.DNSError{Err: "x", IsTemporary: true}}, 4, 4, 4},
		"no such name":   {clientStep{err: &net.DNSError{Err: "x", IsNotFound: true}}, 1, 1, 1},
		"untrusted": {clientStep{err: &net.OpError{Op: "remote error",
			Err: &tls.CertificateVerificationError{Err: errDial}}}, 1, 1, 1},
		"broken":        {clientStep{err: errBroke}, 4, 4, 1},
		"429":           {clientStep{status: 429}, 4, 4, 4},
		"502":           {clientStep{status: 502}, 4, 4, 1},
		"503":           {clientStep{status: 503}, 4, 4, 1},
		"504":           {clientStep{status: 504}, 4, 4, 1},
		"500":           {clientStep{status: 500}, 1, 1, 1},
		"501":           {clientStep{status: 501}, 1, 1, 1},
		"408":           {clientStep{status: 408}, 1, 1, 1},
		"409":           {clientStep{status: 409}, 1, 1, 1},
		"422":           {clientStep{status: 422}, 1, 1, 1},
		"bad answer":    {clientStep{status: 200, body: "?"}, 1, 1, 1},
		"success false": {clientStep{status: 200, body: `{"success":false}`}, 1, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				try := func(operations []string, attempts int) {
					for _, operation := range operations {
						s := &clientScript{steps: []clientStep{test.step}}
						c := newClient(t, "https://aip.example.com", &catalog.ClientOptions{Transport: s})
						err := clientCalls[operation](t.Context(), c)
						if err == nil || len(s.times) != attempts {
							t.Errorf("%s: %d attempts, want %d: %v", operation, len(s.times), attempts, err)
						}
						if attempts > 1 && !strings.Contains(err.Error(), "gave up after 4 attempts") ||
							strings.Contains(err.Error(), "hunter2") {
							t.Errorf("%s: %v", operation, err)
						}
						unsure := slices.Contains([]string{"broken", "502", "503", "504", "500", "501", "408", "bad answer"}, name) &&
							operation != "patch" && !slices.Contains(reads, operation) &&
							!(name == "500" && strings.HasPrefix(operation, "upload"))
						if strings.Contains(err.Error(), "may have been") != unsure {
							t.Errorf("%s: %v", operation, err)
						}
					}
				}
				try(reads, test.reads)
				try(overwrites, test.puts)
				try(acts, test.acts)
			})
		})
	}
}

func TestClientRecovers(t *testing.T) {
	for operation, call := range clientCalls {
		synctest.Test(t, func(t *testing.T) {
			body := `{"success":true,"data":{"id":"` + clientID +
				`","name":"x","framework":"langchain","tool_type":"custom","script":"s"}}`
			if operation == "list" || operation == "find" {
				body = `[{"id":"` + clientID + `","name":"x"}]`
			}
			s := &clientScript{steps: []clientStep{{err: errDial}, {status: 429}, {status: 200, body: body}}}
			if err := call(t.Context(), newClient(t, "https://aip.example.com",
				&catalog.ClientOptions{Transport: s})); err != nil {
				t.Errorf("%s: %v after %q", operation, err, s.lines)
			}
		})
	}
}

// A repeated patch reads again, so that it does not write back what it read seconds ago.
func TestClientPatchReadsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		item := func(version string) clientStep {
			return clientStep{status: 200, body: strings.Replace(calculatorItem, `{`, `{"version":"`+version+`",`, 1)}
		}
		before := item("1")
		before.body = strings.Replace(before.body, `{`, `{"module_name":"gone",`, 1)
		s := &clientScript{steps: []clientStep{before, {status: 503}, {status: 503}, item("2"),
			{status: 200, body: `{"success":true}`}}}
		c := newClient(t, "https://aip.example.com", &catalog.ClientOptions{Transport: s})
		got, err := c.Patch(t.Context(), clientID, catalog.Patch{Name: new("y")})
		if err != nil || got.Version != "2" || got.Name != "y" || got.ModuleName != "" || strings.Join(s.lines, " ") != "GET PUT GET GET PUT" {
			t.Errorf("got %+v, %v after %q", got, err, s.lines)
		}
		s.steps, s.times, s.lines = []clientStep{item("1"), {err: errBroke}, {status: 404}}, nil, nil
		_, err = c.Patch(t.Context(), clientID, catalog.Patch{Name: new("y")})
		failedWith(t, err, toolwire.CodeNotFound)
		if !strings.Contains(err.Error(), "may have been updated") {
			t.Errorf("the error does not mention the first attempt: %v", err)
		}
		other := clientStep{status: 200, body: strings.Replace(calculatorItem, "langchain", "other", 1)}
		s.steps, s.times, s.lines = []clientStep{item("1"), {status: 503}, other}, nil, nil
		_, err = c.Patch(t.Context(), clientID, catalog.Patch{Name: new("y")})
		if failedWith(t, err, "invalid_tool"); !strings.Contains(err.Error(), "may have been updated") {
			t.Errorf("the error of a tool that has become invalid does not mention the first attempt: %v", err)
		}
	})
}

func TestClientCountsItsAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &clientScript{steps: []clientStep{{status: 503}}}
		c := newClient(t, "https://aip.example.com", &catalog.ClientOptions{Transport: s, MaxAttempts: 2})
		if err := clientCalls["get"](t.Context(), c); !strings.Contains(fmt.Sprint(err), "gave up after 2 attempts") {
			t.Error(err)
		}
	})
}

// A request that timed out, or whose response is too large, is not repeated.
func TestClientDoesNotRepeatWhatTakesTooLong(t *testing.T) {
	for _, code := range []toolwire.Code{toolwire.CodeTimeout, toolwire.CodeResponseTooLarge} {
		synctest.Test(t, func(t *testing.T) {
			calls := 0
			c := newClient(t, "https://aip.example.com", &catalog.ClientOptions{
				Timeout: time.Second, MaxResponseBytes: 99,
				Transport: testkit.RoundTrip(func(r *http.Request) (*http.Response, error) {
					calls++
					if code == toolwire.CodeTimeout {
						<-r.Context().Done()
						return nil, r.Context().Err()
					}
					return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(calculatorItem)), ContentLength: -1, Request: r}, nil
				}),
			})
			if failedWith(t, clientCalls["get"](t.Context(), c), code); calls != 1 {
				t.Errorf("%s: %d calls", code, calls)
			}
		})
	}
}

// The error of a wait that ends early unwraps to the end of the context and to the last attempt.
func TestClientErrorOfAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(10*time.Millisecond, cancel)
		c := newClient(t, "https://aip.example.com",
			&catalog.ClientOptions{Transport: &clientScript{steps: []clientStep{{err: errDial}}}})
		err := clientCalls["get"](ctx, c)
		failedWith(t, err, toolwire.CodeCanceled)
		if !errors.Is(err, context.Canceled) || !errors.Is(err, errDial) {
			t.Errorf("got %v", err)
		}
	})
}

// The body of a request has a limit, which counts in bytes.
func TestClientRequestLimit(t *testing.T) {
	var sent int64
	c := newClient(t, "https://aip.example.com", &catalog.ClientOptions{
		Plugin: catalog.PluginOptions{MaxBytes: 1},
		Transport: testkit.RoundTrip(func(r *http.Request) (*http.Response, error) {
			sent = r.ContentLength
			return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(calculatorItem)), Request: r}, nil
		}),
	})
	const limit = 3<<20 + 1
	tool := calculatorTool()
	for _, size := range []int64{1, limit, limit + 1} {
		tool.Description = strings.Repeat("x", len(tool.Description)+int(size-sent))
		if size == 1 {
			tool.Description = "x"
		}
		_, err := c.Create(t.Context(), tool)
		if size > limit {
			failedWith(t, err, toolwire.CodeRequestTooLarge)
		} else if err != nil || size > 1 && sent != size {
			t.Errorf("%d bytes: %d sent, %v", size, sent, err)
		}
	}
}

func TestClientWaits(t *testing.T) {
	between := func(d, lo, hi time.Duration) bool { return d >= lo && d <= hi }
	synctest.Test(t, func(t *testing.T) {
		different := map[time.Duration]bool{}
		for range 20 {
			s := &clientScript{steps: []clientStep{{status: 503}}}
			c := newClient(t, "https://aip.example.com", &catalog.ClientOptions{Transport: s, MaxAttempts: 6})
			err := clientCalls["get"](t.Context(), c)
			failedWith(t, err, toolwire.CodeServerError)
			for i, base := range []time.Duration{500, 1000, 2000, 3200, 3200} {
				base *= time.Millisecond
				if d := s.times[i+1] - s.times[i]; !between(d, base*3/4, base*5/4) {
					t.Errorf("wait %d is %s", i, d)
				}
			}
			different[s.times[5]] = true
		}
		if len(different) < 15 {
			t.Error("no jitter")
		}
	})
	for name, header := range map[string]func() string{
		"seconds": func() string { return "7" },
		"date":    func() string { return time.Now().Add(7 * time.Second).UTC().Format(http.TimeFormat) },
	} {
		t.Run("Retry-After in "+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &clientScript{steps: []clientStep{retryAfterStep(429, header()), {status: 200, body: `[]`}}}
				c := newClient(t, "https://aip.example.com", &catalog.ClientOptions{Transport: s})
				if _, err := c.List(t.Context(), ""); err != nil || !between(s.times[1], 6*time.Second, 7*time.Second) {
					t.Errorf("at %s, %v", s.times, err)
				}
			})
		})
	}
	t.Run("a Retry-After that is shorter", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := &clientScript{steps: []clientStep{{status: 503}, {status: 503}, retryAfterStep(503, "1"),
				{status: 200, body: `[]`}}}
			c := newClient(t, "https://aip.example.com", &catalog.ClientOptions{Transport: s})
			if _, err := c.List(t.Context(), ""); err != nil || s.times[3]-s.times[2] < 1500*time.Millisecond {
				t.Errorf("at %s, %v", s.times, err)
			}
		})
	})
	t.Run("a Retry-After that is too long", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := &clientScript{steps: []clientStep{retryAfterStep(429, "61")}}
			err := clientCalls["create"](t.Context(),
				newClient(t, "https://aip.example.com", &catalog.ClientOptions{Transport: s}))
			e := failedWith(t, err, toolwire.CodeRateLimited)
			if len(s.times) != 1 || e.Response.RetryAfter != 61*time.Second || !strings.Contains(err.Error(), "gave up after 1 attempt") {
				t.Errorf("got %v after %d attempts", err, len(s.times))
			}
		})
	})
	t.Run("a Retry-After without end", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := &clientScript{steps: []clientStep{retryAfterStep(503, "99999999999999999999")}}
			err := clientCalls["get"](t.Context(), newClient(t, "https://aip.example.com", &catalog.ClientOptions{Transport: s}))
			if e := failedWith(t, err, toolwire.CodeServerError); len(s.times) != 1 || e.Response.RetryAfter < 1e9*time.Second {
				t.Errorf("got %v after %d attempts", err, len(s.times))
			}
		})
	})
	t.Run("a deadline that is too near", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			s := &clientScript{steps: []clientStep{retryAfterStep(503, "5")}}
			err := clientCalls["list"](ctx, newClient(t, "https://aip.example.com", &catalog.ClientOptions{Transport: s}))
			e := failedWith(t, err, toolwire.CodeServerError)
			if time.Since(start) != 0 || e.Response.Status != 503 || !strings.Contains(err.Error(), "after the call's deadline") {
				t.Errorf("got %v after %s", err, time.Since(start))
			}
		})
	})
	t.Run("canceled meanwhile", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			ctx, cancel := context.WithCancelCause(t.Context())
			why := errors.New("enough")
			time.AfterFunc(3*time.Second, func() { cancel(why) })
			s := &clientScript{steps: []clientStep{{status: 503, body: `{"detail":"busy"}`,
				header: http.Header{"Retry-After": {"30"}}}}}
			err := clientCalls["update"](ctx, newClient(t, "https://aip.example.com", &catalog.ClientOptions{Transport: s}))
			e := failedWith(t, err, toolwire.CodeCanceled)
			if time.Since(start) != 3*time.Second || !errors.Is(err, why) || !errors.Is(err, context.Canceled) ||
				e.Response.Status != 503 ||
				!strings.Contains(err.Error(), "busy") || !strings.Contains(err.Error(), "may have been updated") {
				t.Errorf("got %v after %s", err, time.Since(start))
			}
		})
	})
	t.Run("once", func(t *testing.T) {
		s := &clientScript{steps: []clientStep{{status: 429}}}
		err := clientCalls["get"](t.Context(),
			newClient(t, "https://aip.example.com", &catalog.ClientOptions{Transport: s, MaxAttempts: 1}))
		if len(s.times) != 1 || strings.Contains(err.Error(), "gave up") {
			t.Errorf("got %v after %d attempts", err, len(s.times))
		}
	})
}

// The transport knows how much of a request was sent.
func TestClientRepeatsOverConnections(t *testing.T) {
	for operation, want := range map[string]int{"get": 2, "update": 2, "create": 1, "upload": 1, "delete": 1} {
		t.Run(operation, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var asked atomic.Int32
				p := memhttp.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					asked.Add(1)
					conn, _, _ := http.NewResponseController(w).Hijack()
					_ = conn.Close()
				}))
				transport := &http.Transport{DisableKeepAlives: true, DialContext: p.Dial}
				c := newClient(t, "http://localhost", &catalog.ClientOptions{MaxAttempts: 2, Transport: transport})
				failedWith(t, clientCalls[operation](t.Context(), c), toolwire.CodeTransport)
				if got := int(asked.Load()); got != want {
					t.Errorf("%d requests, want %d", got, want)
				}
			})
		})
	}
}

// At first nothing listens: a POST may be repeated, because nothing was sent.
func TestClientRepeatsPostsThatWereNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		p := memhttp.Serve(t, answerWith(200, calculatorItem))
		transport := &http.Transport{DisableKeepAlives: true,
			DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				if tries++; tries == 1 {
					return nil, errDial
				}
				return p.Dial(ctx, network, address)
			}}
		c := newClient(t, "http://localhost", &catalog.ClientOptions{MaxAttempts: 2, Transport: transport})
		if _, err := c.Create(t.Context(), calculatorTool()); err != nil || tries != 2 {
			t.Errorf("%v after %d tries", err, tries)
		}
	})
}

func TestClientLogsWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		s := &clientScript{steps: []clientStep{{status: 429, body: clientKey}, {status: 200, body: `[]`}}}
		c := newClient(t, "https://aip.example.com",
			&catalog.ClientOptions{Transport: s, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if _, err := c.List(t.Context(), ""); err != nil {
			t.Error(err)
		}
		if got := log.String(); strings.Count(got, "\n") != 1 ||
			!strings.Contains(got, "status=429 code=rate_limited wait=") ||
			strings.Contains(got, "sk-live") {
			t.Errorf("got %s", got)
		}
	})
}
