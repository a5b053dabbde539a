package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// An engine is what encoding/json is made of.
type engine string

const (
	v1 engine = "encoding/json"
	v2 engine = "json/v2"
)

// experiments are the values of GOEXPERIMENT.
var experiments = map[engine]string{v1: "nojsonv2", v2: "jsonv2"}

// once are the packages that are measured on v1 only: each measurement takes a second, and its JSON
// is small.
var once = []string{module + "/internal/benchmarks/served"}

// A binary is a compiled test.
type binary struct {
	of     *pkg
	engine engine
	path   string
}

// build compiles the tests of the packages on both engines.
func build(ctx context.Context, packages []*pkg, dir string) ([]binary, error) {
	var list []binary
	for _, engine := range []engine{v1, v2} {
		folder := filepath.Join(dir, experiments[engine]) + string(filepath.Separator)
		for _, module := range modules {
			// Without the tables of debuggers, as for go test alone.
			args := []string{"test", "-C", module, "-c", "-ldflags=-s -w", "-o", folder}
			for _, p := range packages {
				if p.module == module && (engine == v1 || !slices.Contains(once, p.ImportPath)) {
					args = append(args, p.ImportPath)
					list = append(list, binary{p, engine, folder + path.Base(p.ImportPath) + ".test"})
				}
			}
			progress("build the tests of module %s on %s", module, engine)
			cmd := exec.CommandContext(ctx, "go", args...)
			cmd.Env = append(os.Environ(), "GOEXPERIMENT="+experiments[engine])
			if out, err := cmd.CombinedOutput(); err != nil {
				return nil, fmt.Errorf("build on %s: %w\n%s", engine, err, out)
			}
		}
	}
	return list, nil
}

// A series is one quantity of one way of a case.
type series struct {
	pkg, benchmark, name, way, unit string
	engine                          engine
}

// results are what was measured.
type results struct {
	values  map[series][]float64 // one for each round
	shapes  map[[2]string]*shape // of an import path and a benchmark
	reasons []string             // why benchmarks were skipped
	skipped map[string][]string  // benchmarks, by reason
	facts   map[string]string    // "key: value" lines of the binaries
}

func newResults() *results {
	return &results{values: map[series][]float64{}, shapes: map[[2]string]*shape{}, facts: map[string]string{},
		skipped: map[string][]string{}}
}

// A shape is what a benchmark has, in the order of its output.
type shape struct{ cases, ways, units []string }

// measure runs all binaries in turn, as many rounds as the mode has.
func measure(ctx context.Context, m mode, binaries []binary) (*results, error) {
	r := newResults()
	for round := range m.rounds {
		for _, b := range binaries {
			progress("round %d of %d: %s on %s", round+1, m.rounds, b.of.name(), b.engine)
			args := []string{
				"-test.run=^$", "-test.bench=.", "-test.cpu=1", "-test.v", "-test.timeout=20m",
				"-test.benchtime=" + m.benchtime,
			}
			if m.short {
				args = append(args, "-test.short")
			}
			cmd := exec.CommandContext(ctx, b.path, args...)
			cmd.Dir = b.of.Dir
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if err != nil {
				return nil, fmt.Errorf("%s on %s: %w\n%s%s", b.of.name(), b.engine, err, out, stderr.String())
			}
			if err := r.read(b, out); err != nil {
				return nil, fmt.Errorf("%s on %s: %w", b.of.name(), b.engine, err)
			}
		}
	}
	return r, nil
}

// read adds the output of a binary.
func (r *results) read(b binary, out []byte) error {
	said := "" // the last line of a log, with a file and a line
	for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
		line := s.Text()
		if strings.HasPrefix(line, "    ") {
			_, said, _ = strings.Cut(line, ": ")
			continue
		}
		if name, ok := strings.CutPrefix(line, "--- SKIP: "); ok {
			add(&r.reasons, said)
			names := r.skipped[said]
			add(&names, strings.TrimSpace(name))
			r.skipped[said] = names
			continue
		}
		if key, value, ok := strings.Cut(line, ": "); ok && !strings.ContainsAny(key, " \t/") {
			r.facts[key] = value
			continue
		}
		fields := strings.Fields(line)
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		if err := r.add(b, fields); err != nil {
			return fmt.Errorf("%q: %w", line, err)
		}
	}
	return nil
}

// add adds a line with the name, the number of iterations, and pairs of values and units.
func (r *results) add(b binary, fields []string) error {
	function, rest, _ := strings.Cut(fields[0], "/")
	name, way := "", rest
	if i := strings.LastIndexByte(rest, '/'); i >= 0 {
		name, way = rest[:i], rest[i+1:]
	}
	if way == "" {
		return fmt.Errorf("the name has no way; want %s/<case>/<way>", function)
	}
	key := [2]string{b.of.ImportPath, function}
	if r.shapes[key] == nil {
		r.shapes[key] = &shape{}
	}
	add(&r.shapes[key].cases, name)
	add(&r.shapes[key].ways, way)
	for pair := range slices.Chunk(fields[2:], 2) {
		value, err := strconv.ParseFloat(pair[0], 64)
		if err != nil {
			return err
		}
		add(&r.shapes[key].units, pair[1])
		s := series{b.of.ImportPath, function, name, way, pair[1], b.engine}
		r.values[s] = append(r.values[s], value)
	}
	return nil
}

func add(list *[]string, s string) {
	if !slices.Contains(*list, s) {
		*list = append(*list, s)
	}
}

// progress tells on standard error what is done.
func progress(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
