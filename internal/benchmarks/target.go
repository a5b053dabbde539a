package main

import "math"

// A target is a bound for one quantity: the library's, or its ratio to another way.
type target struct {
	pkg, benchmark, name, unit string
	way                        string // the other way; "" for the quantity itself
	engine                     engine
	most                       float64
}

// targets are what the library is meant to reach.
var targets = []target{
	{"dispatch", "BenchmarkDispatch", "ping", "ns/op", "floor", v1, 1.1},
	{"dispatch", "BenchmarkDispatch", "example", "ns/op", "floor", v1, 0.65},
	{"dispatch", "BenchmarkDispatch", "example/two_cores", "ns/op", "floor", v1, 0.95},
	{"dispatch", "BenchmarkDispatch", "example", "ns/op", "floor", v2, 1.1},
	{"dispatch", "BenchmarkDispatch", "example", "allocs/op", "", v1, 20},
	{"dispatch", "BenchmarkDispatch", "1KB/nested", "ns/op", "floor", v2, 0.85},
	{"dispatch", "BenchmarkDispatch", "64KB/nested", "ns/op", "floor", v2, 0.4},
	{"dispatch", "BenchmarkDispatch", "1MB/nested", "ns/op", "floor", v2, 0.4},
	{"proxy", "BenchmarkCall", "example", "ns/op", "floor", v2, 0.85},
	{"proxy", "BenchmarkCall", "1KB/nested", "ns/op", "floor", v2, 0.65},
	{"proxy", "BenchmarkCall", "64KB/nested", "ns/op", "floor", v2, 0.4},
	{"proxy", "BenchmarkCall", "1MB/nested", "ns/op", "floor", v2, 0.4},
	{"internal/benchmarks/served", "BenchmarkWaiting", "512_runs", "KiB/run", "floor", v1, 1.1},
	{"internal/benchmarks/served", "BenchmarkWaiting", "4096_runs", "KiB/run", "floor", v1, 1.1},
}

// measured returns the quantity that the target bounds.
func (t target) measured(r *results) spread {
	s := series{module + "/" + t.pkg, t.benchmark, t.name, library, t.unit, t.engine}
	if t.way == "" {
		return spreadOf(r.values[s])
	}
	return r.ratio(s, t.way)
}

// reached compares the median with the bound, both as the page shows them.
func (t target) reached(r *results) string {
	switch median := t.measured(r).median; {
	case math.IsNaN(median):
		return "not measured"
	case math.Round(median*100) <= t.most*100:
		return "yes"
	}
	return "**no**"
}
