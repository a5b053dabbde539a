package main

import (
	"strings"
	"testing"
)

const output = `python: CPython 3.11.2
goos: linux
=== RUN   BenchmarkServed
BenchmarkServed/ping/floor
BenchmarkServed/ping/floor         	       1	        %s cpu-us/request
BenchmarkServed/ping/fastapi
    server_linux_test.go:115: needs Python: with FastAPI
--- SKIP: BenchmarkServed/ping/fastapi
BenchmarkServed/ping/toolwire      	       1	        15 cpu-us/request
BenchmarkServed/five/calls/toolwire	       1	        1e3 cpu-us/request	       3 allocs/op
PASS
`

// The program reads what the testing package prints, and a ratio is that of one round.
func TestRead(t *testing.T) {
	r := newResults()
	p := &pkg{ImportPath: module + "/served", benchmarks: []benchmark{{"BenchmarkServed", "BenchmarkServed serves.\n"}}}
	for _, floor := range []string{"10", "30", "12"} {
		if err := r.read(binary{of: p, engine: v1}, []byte(strings.Replace(output, "%s", floor, 1))); err != nil {
			t.Fatal(err)
		}
	}
	s := series{p.ImportPath, "BenchmarkServed", "ping", library, "cpu-us/request", v1}
	if got := r.ratio(s, "floor").String(); got != "1.25 (0.50–1.50)" {
		t.Errorf("the ratio is %s", got)
	}
	if got := r.ratio(s, "fastapi").String(); got != "–" {
		t.Errorf("the ratio to what was skipped is %s", got)
	}
	if r.facts["python"] != "CPython 3.11.2" || r.facts["goos"] != "linux" {
		t.Errorf("facts: %q", r.facts)
	}
	text, err := page(&setting{}, []*pkg{p}, r)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"### BenchmarkServed in served\n", "\n| case | cpu-us/request | to floor | to floor on json/v2 |\n",
		"\n| skipped | `BenchmarkServed/ping/fastapi`: needs Python: with FastAPI |\n",
		"\n| ping | 15 | 1.25 (0.50–1.50) | – |\n", "\n| five/calls | 1000 | – | – |\n",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
}

// A benchmark that does not say which way it measures has no place in a table.
func TestNames(t *testing.T) {
	r, p := newResults(), &pkg{ImportPath: module + "/p", benchmarks: []benchmark{{name: "BenchmarkX"}}}
	if err := r.read(binary{of: p}, []byte("BenchmarkX 1 5 ns/op\n")); err == nil {
		t.Error("a name without a way was accepted")
	}
	if err := r.read(binary{of: p}, []byte("BenchmarkX/floor 1 5 ns/op\n")); err != nil {
		t.Error(err)
	}
	if _, err := page(&setting{}, []*pkg{p}, r); err == nil {
		t.Error("a benchmark without the library was accepted")
	}
}

func TestTargets(t *testing.T) {
	r := newResults()
	bound := target{"p", "BenchmarkX", "case", "ns/op", "floor", v1, 1.1}
	if got := bound.reached(r); got != "not measured" {
		t.Error(got)
	}
	s := series{module + "/p", "BenchmarkX", "case", "floor", "ns/op", v1}
	r.values[s] = []float64{1000}
	s.way = library
	for value, want := range map[float64]string{1100: "yes", 1104: "yes", 1106: "**no**", 100: "yes"} {
		r.values[s] = []float64{value}
		if got := bound.reached(r); got != want {
			t.Errorf("%v: %s, want %s", value, got, want)
		}
	}
}
