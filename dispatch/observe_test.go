package dispatch_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/internal/testkit"
	"github.com/toolwire/toolwire/proxy"
)

type observed struct{}

// ends returns an observer that keeps the ends of runs, and checks that they have the context of
// their start.
func ends(t *testing.T) (*dispatch.Observer, *[]dispatch.RunEnd) {
	kept := new([]dispatch.RunEnd)
	return &dispatch.Observer{
		RunStart: func(ctx context.Context, start dispatch.RunStart) context.Context {
			if start.Run.RunID != "17" || start.Run.Proxy == nil {
				t.Errorf("the run at the start: %+v", start.Run)
			}
			if id, token := start.Header("X-Pipelines-Run-Id"), start.Header("X-Pipelines-Run-Token"); id != "17" || token != "" {
				t.Errorf("the headers of the run's id and token are %q and %q", id, token)
			}
			if run, ok := dispatch.FromContext(ctx); !ok || run != start.Run {
				t.Errorf("FromContext returns %p, %t at the start of %p", run, ok, start.Run)
			}
			return context.WithValue(ctx, observed{}, start.Run.RunID)
		},
		RunEnd: func(ctx context.Context, end dispatch.RunEnd) {
			if ctx.Value(observed{}) != "17" {
				t.Error("the context of RunStart does not reach RunEnd")
			}
			*kept = append(*kept, end)
		},
	}, kept
}

func TestObserverOfRuns(t *testing.T) {
	for name, tt := range map[string]struct {
		agent    dispatch.Agent
		status   int
		code     toolwire.Code
		timedOut bool
		problems string
		took     time.Duration
		hangUp   time.Duration // when the peer does; 0 for never
	}{
		"an answer": {agent: answering("done"), status: 200},
		"an answer with problems": {agent: func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
			return &dispatch.Response{Messages: []dispatch.Message{{Role: "robot"}}}, nil
		}, status: 200, problems: "final_response_missing/final_response messages_removed/messages/0/role"},
		"an error": {agent: func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
			time.Sleep(3 * time.Second)
			return nil, errors.New("hunter2")
		}, status: 500, code: toolwire.CodeAgentFailed, took: 3 * time.Second},
		"an error with a code": {agent: func(_ context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			return nil, run.DecodeInput(new(int))
		}, status: 500, code: "invalid_input"},
		"a panic": {agent: func(context.Context, *dispatch.Run) (*dispatch.Response, error) { panic("hunter2") },
			status: 500, code: toolwire.CodeAgentPanicked},
		"a timeout": {agent: func(ctx context.Context, _ *dispatch.Run) (*dispatch.Response, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}, status: 200, timedOut: true, took: 298 * time.Second},
		"a peer that hangs up": {agent: func(ctx context.Context, _ *dispatch.Run) (*dispatch.Response, error) {
			<-ctx.Done()
			time.Sleep(time.Minute)
			return nil, ctx.Err()
		}, status: 500, code: toolwire.CodeClientGone, took: 4 * time.Second, hangUp: 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				observer, kept := ends(t)
				h := newHandler(t, tt.agent, func(o *dispatch.Options) { o.Observer = observer })
				w := post(h, seedBody, func(r *http.Request) {
					if tt.hangUp > 0 {
						ctx, cancel := context.WithCancel(r.Context())
						time.AfterFunc(tt.hangUp, cancel)
						*r = *r.WithContext(ctx)
					}
				})
				if len(*kept) != 1 {
					t.Fatalf("%d ends", len(*kept))
				}
				end := (*kept)[0]
				var problems []string
				for _, p := range end.Problems {
					problems = append(problems, p.Code+p.Pointer)
				}
				if w.Code != tt.status || toolwire.CodeOf(end.Err) != tt.code || end.TimedOut != tt.timedOut ||
					strings.Join(problems, " ") != tt.problems || end.Duration != tt.took {
					t.Errorf("answered %d; the end is %v after %s (timed out: %t), with %q", w.Code, end.Err, end.Duration,
						end.TimedOut, problems)
				}
				time.Sleep(time.Hour) // so that the agent returns
			})
		})
	}
}

// The error of a run has the code and the message of the answer, and unwraps to what the agent
// returned or panicked with.
func TestTheErrorOfARun(t *testing.T) {
	secret := errors.New("hunter2")
	own := &toolwire.Error{Code: "invalid_input", Message: "no order", Err: secret}
	wrapped := fmt.Errorf("step 3: %w", own)
	returning := func(err error) dispatch.Agent {
		return func(context.Context, *dispatch.Run) (*dispatch.Response, error) { return nil, err }
	}
	for name, tt := range map[string]struct {
		agent  dispatch.Agent
		code   toolwire.Code
		wraps  error
		direct bool // wraps is what Unwrap returns
		text   string
	}{
		"an error":        {returning(secret), toolwire.CodeAgentFailed, secret, true, "dispatch: agent_failed: the agent failed; set Options.Logger to see why: hunter2"},
		"an Error":        {returning(own), "invalid_input", own, true, "dispatch: invalid_input: no order"},
		"a wrapped Error": {returning(wrapped), "invalid_input", wrapped, true, "dispatch: invalid_input: no order"},
		"an Error that the agent failed": {returning(&toolwire.Error{Code: toolwire.CodeAgentFailed, Message: "no", Err: secret}), toolwire.CodeAgentFailed,
			secret, false, "dispatch: agent_failed: no"},
		"a panic with an error": {func(context.Context, *dispatch.Run) (*dispatch.Response, error) { panic(secret) },
			toolwire.CodeAgentPanicked, secret, false, "dispatch: agent_panicked: the agent panicked; set Options.Logger to see why"},
		"a panic with a text": {func(context.Context, *dispatch.Run) (*dispatch.Response, error) { panic("hunter2") },
			toolwire.CodeAgentPanicked, nil, false, "dispatch: agent_panicked: the agent panicked; set Options.Logger to see why"},
	} {
		t.Run(name, func(t *testing.T) {
			observer, kept := ends(t)
			post(newHandler(t, tt.agent, func(o *dispatch.Options) { o.Observer = observer }), seedBody, nil)
			got := (*kept)[0].Err
			if toolwire.CodeOf(got) != tt.code || !errors.Is(got, tt.wraps) && tt.wraps != nil || got.Error() != tt.text {
				t.Errorf("%v unwraps to %v", got, errors.Unwrap(got))
			}
			if tt.direct && errors.Unwrap(got) != tt.wraps {
				t.Errorf("%v unwraps directly to %v", got, errors.Unwrap(got))
			}
		})
	}
	t.Run("a peer that hangs up", func(t *testing.T) {
		gone, hangUp := context.WithCancel(t.Context())
		observer, kept := ends(t)
		post(newHandler(t, func(ctx context.Context, _ *dispatch.Run) (*dispatch.Response, error) {
			hangUp()
			<-ctx.Done()
			return nil, fmt.Errorf("step 3: %w", ctx.Err())
		}, func(o *dispatch.Options) { o.Observer = observer }), seedBody, func(r *http.Request) { *r = *r.WithContext(gone) })
		if got := (*kept)[0].Err; toolwire.CodeOf(got) != toolwire.CodeClientGone || !errors.Is(got, context.Canceled) {
			t.Errorf("%v", got)
		}
	})
}

// The end has what the response and the recording tell of the model, and the number of calls.
func TestObserverOfTokens(t *testing.T) {
	observer, kept := ends(t)
	var failure error
	agent := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		if ctx.Value(observed{}) != "17" {
			t.Error("the context of RunStart does not reach the agent")
		}
		for range 2 {
			_, _ = run.Proxy.Do(context.Background(), "get_order", nil)
		}
		_, _ = run.Proxy.As("sub").Do(ctx, "no such tool", nil)
		dispatch.RecorderOf(run.Transcript()).UpdateMetadata(func(m *dispatch.Metadata) { m.Model, m.TotalInputTokens = "from the traffic", 7 })
		return &dispatch.Response{FinalResponse: "done", Metadata: &dispatch.Metadata{Model: "mine"}}, failure
	}
	h := newHandler(t, agent, func(o *dispatch.Options) {
		o.Observer = observer
		o.Proxy = &proxy.Options{Transport: testkit.RoundTrip(func(*http.Request) (*http.Response, error) {
			return nil, errors.New("no network")
		})}
	})
	for i, err := range []error{nil, errors.New("no")} {
		failure = err
		post(h, seedBody, nil)
		end := (*kept)[i]
		if end.Calls != 3 || end.Metadata == nil || end.Metadata.Model != "mine" || end.Metadata.TotalInputTokens != 7 {
			t.Errorf("%d calls, metadata %+v, error %v", end.Calls, end.Metadata, end.Err)
		}
	}
}

// The observer of a run's calls is called in the context of the run, and beside the recording.
func TestObserversOfRunAndCalls(t *testing.T) {
	observer, kept := ends(t)
	var calls []string
	agent := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		_, _ = run.Proxy.Do(proxy.WithCallID(ctx, "toolu_1"), "get_order", map[string]int{"n": 1})
		return run.Transcript().Response("done"), nil
	}
	h := newHandler(t, agent, func(o *dispatch.Options) {
		o.Observer = observer
		o.Proxy = &proxy.Options{
			Observer: &proxy.Observer{CallEnd: func(ctx context.Context, end proxy.CallEnd) {
				calls = append(calls, fmt.Sprint(ctx.Value(observed{}), end.Tool, end.CallID, toolwire.CodeOf(end.Err)))
			}},
			Transport: testkit.RoundTrip(func(*http.Request) (*http.Response, error) { return nil, errors.New("no network") }),
		}
	})
	w := post(h, seedBody, nil)
	if fmt.Sprint(calls) != "[17get_ordertoolu_1transport]" || (*kept)[0].Calls != 1 {
		t.Errorf("calls %q, %d counted", calls, (*kept)[0].Calls)
	}
	if !strings.Contains(w.Body.String(), `"id":"toolu_1"`) {
		t.Errorf("the transcript lacks the call: %s", w.Body)
	}
}

// A handler that panics with ErrAbortHandler, as proxies do, ends the run for the observer too.
func TestObserverOfAnAbort(t *testing.T) {
	observer, kept := ends(t)
	h := newHandler(t, func(context.Context, *dispatch.Run) (*dispatch.Response, error) { panic(http.ErrAbortHandler) },
		func(o *dispatch.Options) { o.Observer = observer })
	defer func() {
		if recover() != http.ErrAbortHandler || len(*kept) != 1 || toolwire.CodeOf((*kept)[0].Err) != toolwire.CodeAgentPanicked {
			t.Errorf("ends %+v", *kept)
		}
	}()
	post(h, seedBody, nil)
}

func TestObserverOfRefusals(t *testing.T) {
	var got []string
	observer := &dispatch.Observer{
		RunStart: func(context.Context, dispatch.RunStart) context.Context { panic("no run begins") },
		Refused: func(_ context.Context, refusal dispatch.Refusal) {
			got = append(got, fmt.Sprintf("%s %d %s", toolwire.CodeOf(refusal.Err), refusal.Status, refusal.Header("Traceparent")))
			for _, name := range []string{
				"Authorization", "authorization", "X-Pipelines-Run-Token", "X-Agent-Key", "Cookie", "Proxy-Authorization",
			} {
				if value := refusal.Header(name); value != "" {
					t.Errorf("the header %s is %q", name, value)
				}
			}
		},
	}
	h := newHandler(t, answering("done"), func(o *dispatch.Options) {
		o.Observer, o.MaxBodyBytes, o.AuthHeader = observer, 10<<10, "X-Agent-Key"
	})
	send := func(body string, change func(*http.Request)) {
		var request *http.Request
		post(h, body, func(r *http.Request) {
			r.Header.Set("Traceparent", "parent")
			r.Header.Set("Cookie", "hunter2")
			r.Header.Set("Proxy-Authorization", "hunter2")
			r.Header.Set("X-Agent-Key", agentToken)
			change(r)
			request = r
		})
		if request.Header.Get("Cookie") == "" {
			t.Error("a header of the request was removed")
		}
	}
	send(seedBody, func(r *http.Request) { r.Method = "GET" })
	send(seedBody, func(r *http.Request) { r.Header.Set("X-Agent-Key", "wrong") })
	send(`{"ping":true}`, func(*http.Request) {})
	send(strings.Repeat(" ", 11<<10), func(*http.Request) {})
	send(`{`, func(*http.Request) {})
	send(`{"input":[1]}`, func(*http.Request) {})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_ = h.Drain(ctx)
	send(seedBody, func(*http.Request) {})
	want := []string{
		"method_not_allowed 405 parent", "unauthorized 401 parent", "request_too_large 413 parent", "invalid_json 400 parent",
		"invalid_envelope 400 parent", "busy 503 parent",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// If RunStart returns no context, the context of the request is used.
func TestObserverWithoutAContext(t *testing.T) {
	ended := false
	h := newHandler(t, answering("done"), func(o *dispatch.Options) {
		o.Observer = &dispatch.Observer{
			RunStart: func(context.Context, dispatch.RunStart) context.Context { return nil },
			RunEnd:   func(ctx context.Context, _ dispatch.RunEnd) { ended = ctx.Value(observed{}) == "request" },
		}
	})
	w := post(h, seedBody, func(r *http.Request) {
		*r = *r.WithContext(context.WithValue(r.Context(), observed{}, "request"))
	})
	wantAnswer(t, w, 200, `{"final_response":"done"}`)
	if !ended {
		t.Error("RunEnd did not receive the context of the request")
	}
}

// Whatever an observer does, the run is answered in time.
func TestObserverThatMisbehaves(t *testing.T) {
	for name, misbehave := range map[string]func(){
		"panicked": func() { panic("observer") }, "did not return in time": func() { time.Sleep(time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				h := newHandler(t, answering("done"), func(o *dispatch.Options) {
					o.Logger = slog.New(slog.NewTextHandler(&log, nil))
					o.Observer = &dispatch.Observer{
						RunStart: func(context.Context, dispatch.RunStart) context.Context { misbehave(); return nil },
						RunEnd:   func(context.Context, dispatch.RunEnd) { misbehave() },
						Refused:  func(context.Context, dispatch.Refusal) { misbehave() },
					}
				})
				start := time.Now()
				wantAnswer(t, post(h, seedBody, nil), 200, `{"final_response":"done"}`)
				wantError(t, post(h, `{"input":[1]}`, nil), 400, "invalid_envelope", "")
				if took := time.Since(start); took > 1500*time.Millisecond {
					t.Errorf("the answers took %s", took)
				}
				if strings.Count(log.String(), "a function of Options.Observer "+name) != 3 ||
					strings.Contains(log.String(), `run_id=""`) || strings.Contains(log.String(), `""=`) {
					t.Errorf("logged %s", log.String())
				}
				synctest.Wait()
				time.Sleep(2 * time.Hour) // so that the functions return
			})
		})
	}
}

// The records of a run are logged in the context of RunStart, in which a handler of logs finds the
// trace.
func TestLogsInTheContextOfTheObserver(t *testing.T) {
	observer, _ := ends(t)
	var records atomic.Int64
	for name, agent := range map[string]dispatch.Agent{
		"run answered":      answering("done"),
		"run failed":        func(context.Context, *dispatch.Run) (*dispatch.Response, error) { return nil, errors.New("no") },
		"agent panicked":    func(context.Context, *dispatch.Run) (*dispatch.Response, error) { panic("no") },
		"response contract": func(context.Context, *dispatch.Run) (*dispatch.Response, error) { return nil, nil },
	} {
		h := newHandler(t, agent, func(o *dispatch.Options) {
			o.Observer, o.Logger = observer, slog.New(inContext{see: func(ctx context.Context, message string) {
				if message == name {
					records.Add(1)
				}
				if ctx.Value(observed{}) != "17" {
					t.Errorf("%q is logged outside of the context", message)
				}
			}})
		})
		post(h, seedBody, nil)
	}
	if records.Load() < 4 {
		t.Errorf("%d of the records were logged", records.Load())
	}
}

// inContext is a handler of logs that sees the context.
type inContext struct {
	slog.Handler
	see func(ctx context.Context, message string)
}

func (inContext) Enabled(context.Context, slog.Level) bool { return true }
func (h inContext) WithAttrs([]slog.Attr) slog.Handler     { return h }
func (h inContext) Handle(ctx context.Context, r slog.Record) error {
	h.see(ctx, r.Message)
	return nil
}

// observedInCodeMode is what TestMain gives to an agent whose result file is result. It writes what
// it sees to standard error.
func observedInCodeMode(result string) *dispatch.Observer {
	return &dispatch.Observer{
		RunStart: func(ctx context.Context, start dispatch.RunStart) context.Context {
			fmt.Fprintf(os.Stderr, "start of %s without headers: %t\n", start.Run.Instruction, start.Header == nil)
			return context.WithValue(ctx, observed{}, "started")
		},
		RunEnd: func(ctx context.Context, end dispatch.RunEnd) {
			_, err := os.Stat(result)
			fmt.Fprintf(os.Stderr, "end of what %s: %q, result there: %t\n", ctx.Value(observed{}), toolwire.CodeOf(end.Err), err == nil)
		},
	}
}

// In code mode the end of the run follows the writing of the response.
func TestObserverInCodeMode(t *testing.T) {
	for instruction, want := range map[string]codeRun{
		"fail":  {status: 1, stderr: "end of what started: \"agent_failed\", result there: false\n"},
		"stdin": {status: 0, stderr: "end of what started: \"\", result there: true\n"},
	} {
		result := filepath.Join(t.TempDir(), "result.json")
		got := runCode(t, map[string]string{
			"TOOLWIRE_TEST_OBSERVED": result, "PIPELINES_RESULT_PATH": result, "PIPELINES_RUN_TOKEN": runToken,
			"PIPELINES_ODYSSEY_PROXY_URL": "https://proxy.example.com",
			"_PIPELINES_TASK_INPUT_JSON":  `{"user_instruction":"` + instruction + `"}`,
		}, nil)
		if got.status != want.status || !strings.HasPrefix(got.stderr, "start of "+instruction+" without headers: true\n") ||
			!strings.HasSuffix(got.stderr, want.stderr) {
			t.Errorf("%s: status %d, stderr %s", instruction, got.status, got.stderr)
		}
	}
}

// It waits for half of the reserve. The context of the run ends afterwards.
func TestCodeModeWaitsForTheObserver(t *testing.T) {
	t.Setenv("PIPELINES_ODYSSEY_PROXY_URL", "https://proxy.example.com")
	t.Setenv("PIPELINES_RUN_TOKEN", runToken)
	t.Setenv("_PIPELINES_TASK_INPUT_JSON", "{}")
	synctest.Test(t, func(t *testing.T) {
		var run context.Context
		sent := false
		var problems []dispatch.Problem
		opts := &dispatch.Options{Reserve: 8 * time.Second, Observer: &dispatch.Observer{
			RunEnd: func(ctx context.Context, end dispatch.RunEnd) {
				time.Sleep(3 * time.Second)
				run, sent, problems = ctx, ctx.Err() == nil, end.Problems
			},
		}}
		var stdout, stderr bytes.Buffer
		status := dispatch.CodeMode(t.Context(), answering(""), opts, &stdout, &stderr)
		if status != 0 || stdout.String() != `{"final_response":"(no final response)"}`+"\n" || stderr.Len() > 0 {
			t.Errorf("status %d, %s%s", status, &stdout, &stderr)
		}
		if !sent || run.Err() == nil || len(problems) != 1 {
			t.Errorf("the observer has ended: %t; problems %v", sent, problems)
		}
	})
}

// A logger that panics does not keep a run from being answered, and its observer from seeing the end.
func TestALoggerThatPanics(t *testing.T) {
	for name, tt := range map[string]struct {
		agent  dispatch.Agent
		status int
	}{
		"an answer": {answering("done"), 200},
		"an answer with problems": {
			func(context.Context, *dispatch.Run) (*dispatch.Response, error) { return nil, nil }, 200,
		},
		"an error": {
			func(context.Context, *dispatch.Run) (*dispatch.Response, error) { return nil, errors.New("no") }, 500,
		},
		"a panic": {func(context.Context, *dispatch.Run) (*dispatch.Response, error) { panic("no") }, 500},
		"a timeout": {func(ctx context.Context, _ *dispatch.Run) (*dispatch.Response, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}, 200},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				observer, kept := ends(t)
				h := newHandler(t, tt.agent, func(o *dispatch.Options) {
					o.Observer = observer
					o.Logger = slog.New(inContext{see: func(context.Context, string) { panic("the logger") }})
				})
				if w := post(h, seedBody, nil); w.Code != tt.status || len(*kept) != 1 {
					t.Errorf("answered %d %s; %d ends", w.Code, w.Body, len(*kept))
				}
			})
		})
	}
}

// The same holds for the record of an observer that does not return.
func TestALoggerThatPanicsOfAnObserver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHandler(t, answering("done"), func(o *dispatch.Options) {
			o.Observer = &dispatch.Observer{RunEnd: func(context.Context, dispatch.RunEnd) { time.Sleep(time.Hour) }}
			o.Logger = slog.New(inContext{see: func(context.Context, string) { panic("the logger") }})
		})
		wantAnswer(t, post(h, seedBody, nil), 200, `{"final_response":"done"}`)
		time.Sleep(2 * time.Hour) // so that the observer returns
	})
}
