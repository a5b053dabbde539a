package workshop

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire/internal/testkit"
	"github.com/toolwire/toolwire/proxy"
)

// The table of docs/deployment.md, section Capacity, follows from docs/benchmarks.md and from these
// assumptions, which the page states. The platform's documents say how long a call takes in a sandbox.
const (
	suite         = 100 // runs that start together
	calls         = 5   // of a run, one after the other
	shortestCall  = 3 * time.Second
	longestCall   = 20 * time.Second
	shortestModel = 2 * time.Second // of a model's answer: one before each call, and the last
	longestModel  = 10 * time.Second
	tokens        = 20_000 // of a run
)

// simulate runs a day: suites begin at random times. It returns how many runs there are at a time, on
// average and at most.
func simulate(runs int, seed uint64) (mean, most float64) {
	random := rand.New(rand.NewPCG(seed, 0))
	between := func(low, high time.Duration) time.Duration {
		return low + time.Duration(random.Int64N(int64(high-low)))
	}
	type event struct {
		at   time.Duration
		more int
	}
	var events []event
	var busy time.Duration
	for range runs / suite {
		begin := between(0, 24*time.Hour)
		for range suite {
			took := between(shortestModel, longestModel)
			for range calls {
				took += between(shortestCall, longestCall) + between(shortestModel, longestModel)
			}
			events = append(events, event{begin, 1}, event{begin + took, -1})
			busy += took
		}
	}
	slices.SortFunc(events, func(a, b event) int { return int(a.at - b.at) })
	now, highest := 0, 0
	for _, e := range events {
		now += e.more
		highest = max(highest, now)
	}
	return float64(busy) / float64(24*time.Hour), float64(highest)
}

// measured returns the number between two texts in docs/benchmarks.md.
func measured(t *testing.T, page, before, after string) float64 {
	t.Helper()
	m := regexp.MustCompile(regexp.QuoteMeta(before) + `([0-9.]+)` + regexp.QuoteMeta(after)).FindStringSubmatch(page)
	if m == nil {
		t.Fatalf("docs/benchmarks.md has no row %q…%q", before, after)
	}
	n, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestCapacity(t *testing.T) {
	page, err := os.ReadFile("../../docs/benchmarks.md")
	if err != nil {
		t.Fatal(err)
	}
	_, http, _ := strings.Cut(string(page), "## Over HTTP")
	dispatch, run := measured(t, http, "| dispatch, 64 connections | ", " "), measured(t, http, "| five calls | ", " ") // µs
	each := measured(t, http, "| 512 runs | ", " KiB for each run")
	base := measured(t, http, "| 512 runs | ", " MiB") - 512*each/1024 // MiB, of a server without runs
	want := map[string][]float64{
		"dispatches without calls a second, for each core": {1e6 / dispatch},
		"runs with five calls a second, for each core":     {1e6 / run},
		"runs that wait, for each GiB":                     {(1024 - base) * 1024 / each},
		"runs at the same time, on average":                nil,
		"runs at the same time, at most":                   nil,
		"memory of one replica for them, MiB":              nil,
		"processor time of the library, seconds":           nil,
		"tool calls":                                       nil,
		"tokens of the model, millions":                    nil,
	}
	for _, runs := range []int{1000, 100_000} {
		var mean, most float64
		for seed := range uint64(20) {
			a, b := simulate(runs, seed)
			mean, most = mean+a/20, max(most, b)
		}
		for what, n := range map[string]float64{
			"runs at the same time, on average": mean, "runs at the same time, at most": most,
			"memory of one replica for them, MiB":    base + most*each/1024,
			"processor time of the library, seconds": float64(runs) * run / 1e6,
			"tool calls":                             float64(runs * calls),
			"tokens of the model, millions":          float64(runs) * tokens / 1e6,
		} {
			want[what] = append(want[what], n)
		}
	}
	deployment, err := os.ReadFile("../../docs/deployment.md")
	if err != nil {
		t.Fatal(err)
	}
	for what, numbers := range want {
		m := regexp.MustCompile(`(?m)^\| ` + regexp.QuoteMeta(what) + ` \|(.*)\|$`).FindSubmatch(deployment)
		if m == nil {
			t.Errorf("docs/deployment.md has no row %q: %.4g", what, numbers)
			continue
		}
		cells := strings.Split(string(m[1]), "|")
		for i, number := range numbers {
			n, err := strconv.ParseFloat(strings.ReplaceAll(strings.TrimSpace(cells[i]), ",", ""), 64)
			if err != nil || math.Abs(n/number-1) > 0.2 {
				t.Errorf("docs/deployment.md, %q: %s, and it follows %.4g", what, cells[i], number)
			}
		}
	}
}

// What the pace lets through with one token: at once, and in the default time of a run.
func TestCapacityOfAToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent atomic.Int64
		client, err := proxy.New("https://proxy.example/run", "token", &proxy.Options{
			Transport: testkit.RoundTrip(func(r *http.Request) (*http.Response, error) {
				sent.Add(1)
				return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Request: r,
					Body: io.NopCloser(strings.NewReader(`{"response":"ok","source":"passthrough"}`))}, nil
			}),
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Second-time.Millisecond)
		defer cancel()
		var agents sync.WaitGroup
		for range 100 { // calls in parallel, as many as it takes
			agents.Go(func() {
				for { // until a call would have to wait longer than the run lasts
					if _, err := proxy.Call[string](ctx, client, "get_order", map[string]any{}); err != nil {
						return
					}
				}
			})
		}
		synctest.Wait()
		if n := sent.Load(); n != 60 {
			t.Errorf("%d calls are sent at once", n)
		}
		agents.Wait()
		deployment, err := os.ReadFile("../../docs/deployment.md")
		if want := fmt.Sprintf("%d calls in 300 s", sent.Load()); err != nil || !strings.Contains(string(deployment), want) {
			t.Errorf("docs/deployment.md does not say %q: %v", want, err)
		}
	})
}
