package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// A setting is where, when and how long it was measured.
type setting struct {
	date        time.Time
	commit      string
	mode        mode
	built, ran  time.Duration
	loadAtStart float64 // processes that were ready to run in the last minute; 0 if the system does not tell
}

func newSetting(ctx context.Context) (*setting, error) {
	s := &setting{date: time.Now().UTC(), loadAtStart: load()}
	commit, err := command(ctx, "git", "rev-parse", "--short=12", "HEAD")
	if err != nil {
		return nil, err
	}
	changes, err := command(ctx, "git", "status", "--porcelain", "--", ".", ":!docs/benchmarks.md")
	if err != nil {
		return nil, err
	}
	s.commit = strings.TrimSpace(string(commit))
	if len(changes) > 0 {
		s.commit += " with changes"
	}
	return s, nil
}

func (s *setting) end(m mode, built, ran time.Duration) { s.mode, s.built, s.ran = m, built, ran }

func load() float64 {
	text, _ := os.ReadFile("/proc/loadavg")
	first, _, _ := strings.Cut(string(text), " ")
	average, _ := strconv.ParseFloat(first, 64)
	return average
}

// write writes the table of the setting.
func (s *setting) write(b *bytes.Buffer, r *results) {
	b.WriteString("## Setting\n\n| | |\n| --- | --- |\n")
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(b, "| %s | %s |\n", name, value)
		}
	}
	row("date", s.date.Format("2006-01-02 15:04 UTC"))
	row("commit", s.commit)
	row("Go", fmt.Sprintf("%s %s/%s; \"on json/v2\" is built with GOEXPERIMENT=jsonv2", runtime.Version(), runtime.GOOS, runtime.GOARCH))
	row("processor", fmt.Sprintf("%s, %d cores; benchmarks use one, unless the case says otherwise", r.facts["cpu"], runtime.NumCPU()))
	row("Python", r.facts["python"])
	row("rounds", fmt.Sprintf("%d, each case for %s", s.mode.rounds, s.mode.benchtime))
	row("duration", fmt.Sprintf("%s, and %s to build", s.ran.Round(time.Second), s.built.Round(time.Second)))
	row("load average at the start", fmt.Sprint(s.loadAtStart))
	for _, reason := range r.reasons {
		row("skipped", "`"+strings.Join(r.skipped[reason], "`, `")+"`: "+reason)
	}
	if s.loadAtStart > 1 {
		b.WriteString("\n**The machine was busy with other programs.** Measure again where it is not; until then believe only " +
			"allocations.\n")
	}
}
