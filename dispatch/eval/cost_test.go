package eval_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/eval"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// The trials of an experiment share the connections to the agent and the port of their proxies. Each
// still has a world and a URL of its own, which ends with the trial.
func TestTrialsShareConnections(t *testing.T) {
	var mu sync.Mutex
	urls, ports := map[string]bool{}, map[string]bool{}
	var first atomic.Pointer[http.Request] // a call of the first trial, for the others to repeat
	late := 0
	handler, err := dispatch.New(func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		var envelope struct {
			ProxyURL string `json:"odyssey_proxy_url"`
		}
		if err := json.Unmarshal(run.Envelope, &envelope); err != nil {
			return nil, err
		}
		base, err := url.Parse(envelope.ProxyURL)
		if err != nil {
			return nil, err
		}
		got, err := proxy.Call[map[string]string](ctx, run.Proxy, "get_order", map[string]string{"order_id": "1"})
		if err != nil {
			return nil, err
		}
		request, err := http.NewRequest(http.MethodPost, envelope.ProxyURL+"/tools/get_order", nil)
		if err != nil {
			return nil, err
		}
		mu.Lock()
		defer mu.Unlock()
		urls[envelope.ProxyURL], ports[base.Host] = true, true
		if !first.CompareAndSwap(nil, request) {
			resp, err := http.DefaultClient.Do(first.Load())
			if err != nil {
				return nil, err
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusNotFound {
				late++
			}
		}
		return &dispatch.Response{FinalResponse: run.Instruction + " is " + got["status"]}, nil
	}, &dispatch.Options{InsecureNoAuth: true})
	if err != nil {
		t.Fatal(err)
	}
	var made atomic.Int64
	server := httptest.NewUnstartedServer(handler)
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			made.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	var csv strings.Builder
	csv.WriteString("user,state\n")
	const rows = 60
	for i := range rows {
		fmt.Fprintf(&csv, "%d,\"{\"\"order\"\":{\"\"1\"\":{\"\"status\"\":\"\"s%d\"\"}}}\"\n", i, i)
	}
	cases := casesOf(t, csv.String(), dispatchtest.Task{World: proxytest.World{Behaviors: map[string]proxytest.Behavior{
		"get_order": proxytest.Get("order", "order_id", nil)}}})
	opts := &eval.Options{Parallel: 1, Grader: func(_ context.Context, c eval.Case, r *dispatchtest.Result) error {
		if want := c.Task.Instruction + " is s" + c.Task.Instruction; r.FinalResponse != want || len(r.Calls) != 1 {
			return fmt.Errorf("%q with %d calls, want %q", r.FinalResponse, len(r.Calls), want)
		}
		return nil
	}}
	e, err := eval.Run(t.Context(), dispatchtest.Target{URL: server.URL}, cases, opts)
	if err != nil || e.Count(eval.Passed) != rows {
		t.Fatalf("%v: %d passed: %+v", err, e.Count(eval.Passed), e.Trials[0])
	}
	if n := made.Load(); n > 10 || len(urls) != rows || len(ports) != 1 || late != rows-1 {
		t.Errorf("%d connections, %d URLs, %d ports, %d late calls were refused", n, len(urls), len(ports), late)
	}
}

// A file of results has the response of a trial once as it came, and each trial of it as it was.
func TestResponsesAreStoredOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "results.jsonl")
	cases := casesOf(t, "user,turn_mode,simulator_mode,scripted_user_turns\nsay one,,,\nsay one,model_as_user,scripted,\"[\"\"say two\"\"]\"\nfail,,,\n", dispatchtest.Task{})
	var results []*dispatchtest.Result
	run(t, obedient, cases, &eval.Options{ResultsFile: file, Parallel: 1, OnTrial: func(trial eval.Trial) { results = append(results, trial.Result) }})
	lines := bytes.Split(bytes.TrimSpace(read(t, file)), []byte("\n"))[1:]
	for i, line := range lines {
		var stored struct {
			Result struct {
				Turns []struct{ Body string }
			}
		}
		if err := json.Unmarshal(line, &stored); err != nil || len(stored.Result.Turns) != len(results[i].Turns) {
			t.Fatalf("%v: %s", err, line)
		}
		last := results[i].Turns[len(results[i].Turns)-1]
		body, err := json.Marshal(last.Body)
		if err != nil || last.Body == "" || bytes.Count(line, append([]byte(`"body":`), body...)) != 1 {
			t.Errorf("the response is not there once: %s", line)
		}
	}
	i := 0
	if _, err := eval.Grade(t.Context(), cases, &eval.Options{Parallel: 1, Grader: func(_ context.Context, _ eval.Case, r *dispatchtest.Result) error {
		for ; results[i].WouldBeGraded() != r.WouldBeGraded(); i++ { // those that failed are not graded
		}
		want := results[i]
		if !reflect.DeepEqual(r.Dispatch.Body, want.Dispatch.Body) || r.Dispatch.Status != want.Dispatch.Status || r.FinalResponse != want.FinalResponse ||
			string(r.Dispatch.Request) != string(want.Dispatch.Request) || r.Dispatch.Order != want.Dispatch.Order || !r.Dispatch.At.Equal(want.Dispatch.At) {
			t.Errorf("result %d is read as %+v, %q, want %+v, %q", i, r.Dispatch, r.FinalResponse, want.Dispatch, want.FinalResponse)
		}
		i++
		return nil
	}}, file); err != nil || i != 2 {
		t.Errorf("%v, %d graded", err, i)
	}
}

// The trials of a case share it if their results are in a file, so that memory does not grow with its task.
func TestStoredTrialsShareTheirCase(t *testing.T) {
	file := filepath.Join(t.TempDir(), "results.jsonl")
	cases := casesOf(t, "user\nsay one\nfail\n", dispatchtest.Task{})
	e := run(t, obedient, cases, &eval.Options{Trials: 3, ResultsFile: file})
	for name, e := range map[string]*eval.Experiment{"run": e, "loaded": load(t, file)} {
		for i, trial := range e.Trials {
			if first := e.Trials[i/3*3]; trial.Case != first.Case || trial.Case == e.Trials[5-i].Case {
				t.Errorf("%s: trial %d has another case than the others of its row", name, i)
			}
		}
	}
}

// The results of an experiment without a file are in memory, so what each of them keeps is bounded: the run with its
// ledger, for calls that come late, but not the forms in which its secrets may be written.
func TestMemoryOfResults(t *testing.T) {
	const rows = 1000
	cases := casesOf(t, "user\n"+strings.Repeat("Where is order 1?\n", rows), dispatchtest.Task{World: proxytest.World{
		InitialState: `{"order":{"1":{"status":"open"}}}`,
		Behaviors:    map[string]proxytest.Behavior{"get_order": proxytest.Get("order", "order_id", nil)},
	}})
	agent := func(ctx context.Context, run *dispatch.Run) (*dispatch.Response, error) {
		got, err := proxy.Call[map[string]string](ctx, run.Proxy, "get_order", map[string]string{"order_id": "1"})
		if err != nil {
			return nil, err
		}
		return &dispatch.Response{FinalResponse: "It is " + got["status"]}, nil
	}
	live := func() int64 {
		runtime.GC()
		runtime.GC() // what the first one has finalized
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := live()
	e := run(t, agent, cases, nil)
	if each := (live() - before) / rows; each > 8500 || e.Count(eval.Passed) != rows {
		t.Errorf("%d trials passed and keep %d bytes each", e.Count(eval.Passed), each)
	}
	runtime.KeepAlive(cases)
}
