// Command benchmarks runs the benchmarks of this repository and writes docs/benchmarks.md from what
// they measured. It needs the go command.
//
//	go run ./internal/benchmarks           measure and write the page: about 10 minutes
//	go run ./internal/benchmarks -quick    run everything once: whether it works, not how fast it is
//
// A benchmark is named Benchmark<Subject>/<case>/<way>. The way "toolwire" is the library; all others
// are what the case is compared with. The comment of the function is the text of its section.
//
// Each package is built twice, on encoding/json and on encoding/json/v2. In every round each build
// runs once, so that the ways of a case run one after the other, and a ratio is that of neighbours.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"time"
)

// A mode is how much is measured.
type mode struct {
	rounds    int
	benchtime string
	short     bool
}

var (
	full  = mode{rounds: 7, benchtime: "30ms"}
	quick = mode{rounds: 1, benchtime: "1x", short: true}
)

func main() {
	isQuick := flag.Bool("quick", false, "run everything once")
	rounds := flag.Int("rounds", full.rounds, "how often each benchmark is run")
	out := flag.String("o", filepath.Join("docs", "benchmarks.md"), "the page that is written")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	m := full
	m.rounds = *rounds
	if *isQuick {
		m = quick
	}
	if err := run(ctx, m, *out); err != nil {
		fmt.Fprintln(os.Stderr, "benchmarks:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, m mode, out string) error {
	begin := time.Now()
	setting, err := newSetting(ctx)
	if err != nil {
		return err
	}
	packages, err := discover(ctx)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "benchmarks")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binaries, err := build(ctx, packages, dir)
	if err != nil {
		return err
	}
	built := time.Now()
	results, err := measure(ctx, m, binaries)
	if err != nil {
		return err
	}
	setting.end(m, built.Sub(begin), time.Since(built))
	text, err := page(setting, packages, results)
	if err != nil {
		return err
	}
	return os.WriteFile(out, text, 0o644)
}
