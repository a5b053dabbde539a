package cassette_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/toolwire/toolwire/dispatch/cassette"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

func TestReplayOrForward(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.jsonl")
	var asked atomic.Int32
	behind := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { envelope(w, "get", fmt.Sprint(asked.Add(1))) })
	run := func(opts cassette.Options, names ...string) (answers string, c *cassette.Cassette) {
		t.Helper()
		opts.Mode = cassette.ReplayOrForward
		c = newCassette(t, path, &opts)
		p := client(t, c.Wrap(behind), nil)
		for _, name := range names {
			got, err := proxy.Call[json.RawMessage](t.Context(), p, name, nil)
			if err != nil {
				t.Fatal(err)
			}
			answers += string(got)
		}
		finish(t, c)
		if !c.Report().OK() {
			t.Errorf("%s", c.Report())
		}
		return answers, c
	}
	if got, _ := run(cassette.Options{Task: cassette.Task{Name: "first"}}, "a", "b"); got != "12" {
		t.Errorf("without a tape: %s", got)
	}
	before := readFile(t, path)
	if got, _ := run(cassette.Options{}, "a", "b"); got != "12" || readFile(t, path) != before {
		t.Errorf("with all on the tape: %s\n%s", got, readFile(t, path))
	}
	if got, _ := run(cassette.Options{Task: cassette.Task{Name: "second"}}, "a", "c", "b", "a"); got != "1324" {
		t.Errorf("with new calls: %s", got)
	}
	after := readFile(t, path)
	if !strings.HasPrefix(after, strings.TrimSuffix(before, tail(2)+"\n")) || !strings.Contains(after, tail(4)) {
		t.Errorf("the tape has become\n%s", after)
	}
	// What was appended came after what had been replayed before it, and no later.
	mustContain(t, after, `"n":3,"after":1,"kind":"tool","name":"c"`, `"n":4,"after":3,"kind":"tool","name":"a"`)
	if got, _ := run(cassette.Options{}, "b", "c"); got != "23" || asked.Load() != 4 {
		t.Errorf("a part of it: %s, %d requests forwarded", got, asked.Load())
	}
	if _, err := os.Stat(path + ".part"); err == nil {
		t.Error("a part was left behind")
	}
}

func TestCompare(t *testing.T) {
	behind := func(answers ...string) http.Handler {
		n := 0
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			answer := answers[min(n, len(answers)-1)]
			n++
			switch answer {
			case "429":
				w.WriteHeader(429)
			case "500", "404":
				w.WriteHeader(map[string]int{"500": 500, "404": 404}[answer])
				_, _ = fmt.Fprintf(w, `{"detail":{"error_class":"x","message":"%d"}}`, len(answers))
			default:
				_, _ = fmt.Fprintf(w,
					`{"tool_name":"get","response":%s,"source":"odyssey","latency_ms":%d,"validation":{"n":%d}}`,
					answer, n, n)
			}
		})
	}
	const a, b = `{"id":7,"at":"09:00","total":79.5}`, `{"id":7,"at":"10:00","total":80}`
	tests := map[string]struct {
		tape, now []string
		ignore    []string
		want      []string
		text      []string
	}{
		"equal": {tape: []string{a}, now: []string{`{"total":79.50,"at":"09:00","id":7.0}`}},
		"another answer": {tape: []string{a}, now: []string{b}, want: []string{"response"},
			text: []string{"the response to get differs from the tape",
				`/response/at: "09:00" on the tape, "10:00" in the run`,
				"/response/total: 79.5 on the tape, 80 in the run"}},
		"ignored": {tape: []string{a}, now: []string{b},
			ignore: []string{"/response/at", "/response/total"}},
		"another status": {tape: []string{a}, now: []string{"500"}, want: []string{"response"},
			text: []string{`status: "200" on the tape, "500" in the run`}},
		"words of an error":   {tape: []string{"404"}, now: []string{"404", "404"}},
		"retries on the tape": {tape: []string{"429", "429", a}, now: []string{a}},
		"retries now":         {tape: []string{a}, now: []string{"429", a}},
		"given up on both":    {tape: []string{"429"}, now: []string{"429"}},
		"given up now": {tape: []string{a}, now: []string{"429"}, want: []string{"response"},
			text: []string{`"429" in the run`}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				call := func(p *proxy.Client) { _, _ = p.Do(t.Context(), "get", nil) }
				path := record(t, nil, behind(test.tape...), call)
				before := readFile(t, path)
				c := newCassette(t, path, &cassette.Options{Mode: cassette.Compare, Ignore: test.ignore})
				call(client(t, c.Wrap(behind(test.now...)), nil))
				for range 2 { // a report can be asked for at any time
					wantKinds(t, c.Report(), test.want...)
				}
				mustContain(t, c.Report().String(), test.text...)
				if err := c.Close(); err != nil || readFile(t, path) != before {
					t.Errorf("the tape has changed: %v", err)
				}
			})
		})
	}
}

// Where in the run an event is does not matter, in what else its receipt has it does.
func TestCompareReceipts(t *testing.T) {
	behind := func(answer string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = fmt.Fprint(w, answer) })
	}
	c, path := recording(t)
	post(t, c.Wrap(behind(`{"accepted":true,"sequence":1}`)), "/traces/thinking", `{}`, token)
	finish(t, c)
	for answer, want := range map[string][]string{
		`{"accepted":true,"sequence":7}`: nil, `{"accepted":false,"sequence":1}`: {"response"},
	} {
		c := newCassette(t, path, &cassette.Options{Mode: cassette.Compare})
		post(t, c.Wrap(behind(answer)), "/traces/thinking", `{}`, token)
		wantKinds(t, c.Report(), want...)
	}
}

// Compare is a run against the platform, held against an earlier one.
func TestCompareRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		world := orders
		world.FailureRules = nil // the platform is not busy today
		world.InitialState = strings.Replace(world.InitialState, "79.50", "80", 1)
		c := newCassette(t, recorded, &cassette.Options{Mode: cassette.Compare})
		result := dispatchtest.Run(t, dispatchtest.Target{Agent: refund}, dispatchtest.Task{
			Instruction: "Refund what was shipped.", World: world, WrapProxy: c.Wrap,
		})
		result.AssertOK(t)
		result.AssertCalledTimes(t, "refund_order", 1) // the platform was asked
		report := c.Report()
		wantKinds(t, report, "response", "response")
		mustContain(t, report.String(), "/response/total: 79.50 on the tape, 80 in the run")
		if strings.Contains(report.String(), "s3cr3t") || strings.Contains(report.String(), "k-very") {
			t.Errorf("a secret in\n%s", report)
		}
	})
}

// The agent that is recorded and the one that replays may be anything; here the whole way is taken
// in memory.
func TestRecordThroughDispatchtest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "run.jsonl")
		target := dispatchtest.Target{Agent: refund}
		c := newCassette(t, path, &cassette.Options{Mode: cassette.Record})
		dispatchtest.Run(t, target, dispatchtest.Task{Instruction: "Refund.", World: orders,
			WrapProxy: c.Wrap}).AssertOK(t)
		finish(t, c)
		tape := cassette.Open(t, path, nil)
		dispatchtest.Run(t, target, dispatchtest.Task{Instruction: "Refund.",
			WrapProxy: tape.Wrap}).AssertFinalResponse(t, "Refunded: 4521.")
		recorded, err := cassette.Load(path)
		if err != nil || len(recorded.Interactions) != 6 || tape.Report().Matched != 6 {
			t.Errorf("%v\n%s", err, tape.Report())
		}
	})
}

func TestConcurrentRecording(t *testing.T) {
	synctest.Test(t, concurrentRecording) // where calls begin at once however busy the machine is
}

func concurrentRecording(t *testing.T) {
	const n = 50
	platform := proxytest.NewPlatform(t, proxytest.World{Behaviors: map[string]proxytest.Behavior{
		"get_order": func(r *proxytest.Request) (any, error) {
			var args struct{ ID int }
			err := r.Decode(&args)
			return map[string]int{"id": args.ID}, err
		},
	}}, nil)
	run := platform.NewRun()
	path := filepath.Join(t.TempDir(), "run.jsonl")
	c := newCassette(t, path, &cassette.Options{Mode: cassette.ReplayOrForward})
	p, err := proxy.New("http://proxy.test"+run.Path, run.Token,
		&proxy.Options{Transport: c.Transport(proxytest.NewTransport(platform))})
	if err != nil {
		t.Fatal(err)
	}
	callAll(t, p, n)
	finish(t, c)
	tape, err := cassette.Load(path)
	if err != nil || len(tape.Interactions) != n {
		t.Fatalf("%v", err)
	}
	replay := newCassette(t, path, nil)
	callAll(t, client(t, replay, nil), n)
	if !replay.Report().OK() {
		t.Errorf("%s", replay.Report())
	}
}

// A name, a message or a value from outside cannot forge a line of a report.
func TestReportForgesNoLine(t *testing.T) {
	const forged = "x\n2. changed: forged\x1b[2J\u202e"
	i := &cassette.Interaction{Kind: "call", Name: forged, Actor: forged, Arguments: []byte(`"` + forged + strings.Repeat("y", 5000) + `"`)}
	r := cassette.Report{Path: "a.jsonl", Mode: cassette.Replay, Deviations: []cassette.Deviation{{
		Code: "changed", Message: forged, Run: i, Tape: i, Diff: []cassette.Difference{{Pointer: "/" + forged, Tape: i.Arguments}},
	}}}
	got := r.String()
	if lines := strings.Split(got, "\n"); len(lines) != 5 || len(got) > 1500 || strings.ContainsAny(got, "\x1b\u202e") ||
		!strings.Contains(got, "… (50") {
		t.Errorf("%d lines\n%q", len(lines), got)
	}
}
