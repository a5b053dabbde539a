// Package served measures whole servers beside each other: the library, two hand-written floors, the
// reference wrapper of "Porting without the SDK" in Python, and a careful asynchronous one. Each is a
// process on one core. The load comes from the process of the test.
package served

import (
	"slices"
	"strconv"
	"testing"
	"time"
)

// brief returns the second value with -short.
func brief[T any](long, short T) T {
	if testing.Short() {
		return short
	}
	return long
}

// BenchmarkServed is the processor time of a server for one request over HTTP: a ping, a dispatch
// without calls, and a dispatch whose agent makes five calls. Every dispatch has a run token of its own.
// The library keeps the state of the last 10,000 tokens, which the collector reads. The way careful is a
// floor with the promises of the library. The ways fastapi and fastapi-async are the reference wrapper
// of "Porting without the SDK" as it stands there, served by uvicorn with asyncio and h11, and a careful
// one: its agent is awaited, one client keeps its connections, and uvloop and httptools serve.
func BenchmarkServed(b *testing.B) {
	proxyURL := newProxy(b, 0)
	for _, work := range []struct {
		name        string
		connections int
		body        string
	}{
		{"ping", 64, ping},
		{"dispatch/8_connections", 8, envelope(proxyURL, "Refund order #4521.")},
		{"dispatch/64_connections", 64, envelope(proxyURL, "Refund order #4521.")},
		{"five_calls", 16, envelope(proxyURL, "five calls")},
	} {
		for _, way := range []string{"floor", "careful", "fastapi", "fastapi-async", "toolwire"} {
			b.Run(work.name+"/"+way, func(b *testing.B) {
				s := start(b, way)
				s.load(b, brief(work.connections, 1), 0, work.body)
				before, requests := s.cpu(b), 0
				for b.Loop() {
					requests += len(s.load(b, brief(work.connections, 1), brief(time.Second, 0), work.body))
				}
				b.ReportMetric(float64((s.cpu(b)-before).Microseconds())/float64(requests), "cpu-us/request")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// BenchmarkTail is how long the slowest of a hundred dispatches without calls take, over eight
// connections.
func BenchmarkTail(b *testing.B) {
	proxyURL := newProxy(b, 0)
	for _, way := range []string{"floor", "careful", "toolwire"} {
		b.Run("dispatch/"+way, func(b *testing.B) {
			s := start(b, way)
			body, connections := envelope(proxyURL, "Refund order #4521."), brief(8, 1)
			s.load(b, connections, 0, body)
			var took []time.Duration
			for b.Loop() {
				took = append(took, s.load(b, connections, brief(time.Second, 0), body)...)
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-us")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-us")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkAtOnce is the time until 16 dispatches that arrive at once are answered. Each agent makes
// five calls, which the proxy answers after 50 ms, so that 250 ms are the least. The reference wrapper
// runs one agent at a time.
func BenchmarkAtOnce(b *testing.B) {
	proxyURL := newProxy(b, brief(50*time.Millisecond, 0))
	for _, way := range []string{"floor", "careful", "fastapi", "fastapi-async", "toolwire"} {
		b.Run("five_calls/"+way, func(b *testing.B) {
			s := start(b, way)
			s.load(b, 1, 0, envelope(proxyURL, "Refund order #4521."))
			for b.Loop() {
				s.load(b, brief(16, 2), 0, envelope(proxyURL, "five calls"))
			}
		})
	}
}

// BenchmarkWaiting is the resident memory of a server while the agents of so many runs wait, in all
// and for each run. The reference wrapper is not here, because it runs one agent at a time.
func BenchmarkWaiting(b *testing.B) {
	for _, n := range brief([]int{1, 64, 512, 4096}, []int{1, 64}) {
		for _, way := range []string{"floor", "careful", "fastapi-async", "toolwire"} {
			b.Run(strconv.Itoa(n)+"_runs/"+way, func(b *testing.B) {
				for b.Loop() {
					s := start(b, way)
					s.load(b, 1, 0, ping)
					before := s.rss(b)
					s.park(b, n)
					now := s.rss(b)
					b.ReportMetric(float64(now)/(1<<20), "MiB")
					if n > 1 {
						b.ReportMetric(float64(now-before)/float64(n)/(1<<10), "KiB/run")
					}
				}
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}
