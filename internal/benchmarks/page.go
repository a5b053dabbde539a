package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"slices"
	"strings"
)

//go:embed missed.md
var missed string

// page returns the text of docs/benchmarks.md.
func page(s *setting, packages []*pkg, r *results) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(`# Benchmarks

<!-- internal/benchmarks writes this page. Do not edit it. -->

A figure in a column "to x" is the library's cost divided by that of x in the same round: below 1 the library is cheaper. It is the
median over the rounds, and the lowest and the highest ratio stand in brackets. Believe no difference that is smaller than its spread.

This command measures again and writes this page:

`)
	b.WriteString("```console\n$ go run ./internal/benchmarks\n```\n\n")
	b.WriteString("With `-quick` it runs everything once, which shows only that the benchmarks work.\n\n")
	s.write(&b, r)
	b.WriteString("\n## Targets\n\nA target bounds the median.\n\n")
	b.WriteString("| benchmark | case | quantity | at most | measured | reached |\n| --- | --- | --- | --- | --- | --- |\n")
	for _, t := range targets {
		what := t.unit
		if t.way != "" {
			what = fmt.Sprintf("%s to %s", t.unit, with(t.way, t.engine))
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %v | %s | %s |\n",
			t.benchmark, t.name, what, t.most, t.measured(r), t.reached(r))
	}
	b.WriteString("\n" + missed)
	for _, p := range packages {
		fmt.Fprintf(&b, "\n## Package %s\n", p.name())
		for _, f := range p.benchmarks {
			shape := r.shapes[[2]string{p.ImportPath, f.name}]
			if shape == nil || !slices.Contains(shape.ways, library) {
				return nil, fmt.Errorf("%s of %s has no way %q", f.name, p.name(), library)
			}
			fmt.Fprintf(&b, "\n### %s in %s\n\n%s", f.name, p.name(), f.doc)
			r.tables(&b, p, f, shape)
		}
	}
	return b.Bytes(), nil
}

// with names a way on an engine.
func with(way string, e engine) string {
	if e == v1 {
		return way
	}
	return way + " on " + string(e)
}

// tables writes a table for each unit of a benchmark. Allocations stand beside the time.
func (r *results) tables(b *bytes.Buffer, p *pkg, f benchmark, has *shape) {
	type column struct {
		way    string
		engine engine
	}
	var columns []column
	var others []string // the names of the columns
	engines := []engine{v1, v2}
	if slices.Contains(once, p.ImportPath) {
		engines = engines[:1]
	}
	for _, way := range has.ways {
		for _, e := range engines {
			if way != library {
				columns = append(columns, column{way, e})
				others = append(others, with(way, e))
			}
		}
	}
	for _, unit := range has.units {
		if unit == "B/op" || unit == "allocs/op" || unit == "MB/s" {
			continue
		}
		allocs := unit == "ns/op" && slices.Contains(has.units, "allocs/op")
		head := []string{"case", map[bool]string{true: "time", false: unit}[unit == "ns/op"]}
		for _, other := range others {
			head = append(head, "to "+other)
		}
		if allocs {
			head = append(head, "allocations")
			for _, other := range others {
				head = append(head, "of "+other)
			}
		}
		fmt.Fprintf(b, "\n| %s |\n|%s\n", strings.Join(head, " | "), strings.Repeat(" --- |", len(head)))
		for _, name := range has.cases {
			s := series{p.ImportPath, f.name, name, library, unit, v1}
			ours := r.values[s]
			if len(ours) == 0 {
				continue
			}
			row := []string{strings.ReplaceAll(name, "_", " "), quantity(spreadOf(ours).median, unit)}
			for _, c := range columns {
				s.engine = c.engine
				row = append(row, r.ratio(s, c.way).String())
			}
			if allocs {
				s.unit, s.engine = "allocs/op", v1
				row = append(row, quantity(spreadOf(r.values[s]).median, s.unit))
				for _, c := range columns {
					s.way, s.engine = c.way, c.engine
					row = append(row, quantity(spreadOf(r.values[s]).median, s.unit))
				}
			}
			fmt.Fprintf(b, "| %s |\n", strings.Join(row, " | "))
		}
	}
}
