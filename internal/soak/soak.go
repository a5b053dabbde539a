package main

import (
	"fmt"
	"io"
	"log"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// safety is how long anything may take before it counts as lost. No other result depends on time.
const safety = 5 * time.Minute

// config says how long to soak, and what.
type config struct {
	duration time.Duration
	seed     uint64
	runs     int      // in a phase
	only     []string // names of phases; all if empty
	calm     bool     // no injected faults, so that a round is short
	plant    plant    // a fault of the library that is imitated
	out      io.Writer
}

// A plant is a fault that the tests of this package plant to see that the soak finds it.
type plant string

// A phase is one kind of work. It returns when all that it began has ended.
type phase struct {
	name string
	work func(s *soak)
}

var phases = []phase{
	{"http1", func(s *soak) { s.dispatches(http1) }},
	{"http2", func(s *soak) { s.dispatches(http2) }},
	{"runaway", (*soak).runaways},
	{"rotation", (*soak).rotates},
	{"drain", (*soak).drains},
	{"peers", (*soak).peers},
	{"hostile", (*soak).hostile},
	{"webhook", (*soak).webhooks},
	{"manifest", (*soak).programs},
	{"codemode", (*soak).codeMode},
	{"eval", (*soak).evaluates},
}

// soak is the state of all rounds.
type soak struct {
	config
	phase   string
	round   int
	random  *rand.Rand // of the phase; used by one goroutine
	scratch string     // a folder of the phase
	log     *slog.Logger
	errors  *log.Logger // of servers
	counts  counts
	numbers atomic.Int64 // of runs

	mu         sync.Mutex
	violations []string
	more       int // violations that are not kept
}

// counts are what the summary shows.
type counts struct {
	runs, calls, executed, faults, refused, gone, programs atomic.Int64
}

// soakFor runs all rounds and reports whether all invariants held.
func soakFor(c config) bool {
	s := &soak{config: c}
	s.log = slog.New(slog.NewJSONHandler(watched{s, "the log"}, &slog.HandlerOptions{Level: slog.LevelDebug}))
	s.errors = log.New(watched{s, "the log of a server"}, "", 0)
	before := log.Writer()
	log.SetOutput(watched{s, "the standard log"})
	defer log.SetOutput(before)
	start := time.Now()
	giveUp := s.overall()
	defer giveUp.Stop()
	var base *levels
	var worst levels
	on := func() bool { return s.round < 2 || time.Since(start) < c.duration }
	for s.round = 0; on(); s.round++ {
		for i, p := range phases {
			if len(c.only) > 0 && !slices.Contains(c.only, p.name) || !on() {
				continue
			}
			s.play(i, p)
			if s.failed() {
				return s.conclude(base, worst)
			}
			now := counted()
			if base != nil {
				now = s.settle(base)
			}
			worst = worst.max(now)
			_, _ = fmt.Fprintf(c.out, "%7.1fs  round %-3d %-9s %6d runs %7d calls %7d executed %6d faults  %s\n",
				time.Since(start).Seconds(), s.round, p.name, s.counts.runs.Load(), s.counts.calls.Load(),
				s.counts.executed.Load(), s.counts.faults.Load(), now)
			if base != nil {
				s.flat(*base, now)
			}
			if s.failed() {
				return s.conclude(base, worst)
			}
		}
		if s.round == 0 {
			warm := s.settle(nil)
			base, worst = &warm, warm
		}
	}
	return s.conclude(base, worst)
}

// overall ends the program if it has lost something that it waits for.
func (s *soak) overall() *time.Timer {
	return time.AfterFunc(s.duration+6*safety, func() { panic("soak: a phase does not end: " + s.phase) })
}

// play runs one phase.
func (s *soak) play(index int, p phase) {
	s.phase = p.name
	s.random = rand.New(rand.NewPCG(s.seed, uint64(s.round)<<8|uint64(index)))
	dir, err := os.MkdirTemp("", "soak-*")
	if err != nil {
		s.violate("", "a folder cannot be made: %v", err)
		return
	}
	s.scratch = dir
	p.work(s)
	s.readFiles(dir)
	if err := os.RemoveAll(dir); err != nil {
		s.violate("", "the folder of the phase cannot be removed: %v", err)
	}
}

// readFiles inspects all files below dir.
func (s *soak) readFiles(dir string) {
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		s.inspect(kept, "the file "+entry.Name(), "", string(data))
		return err
	})
	if err != nil {
		s.violate("", "files cannot be read: %v", err)
	}
}

// violate records a violation of an invariant. run names the run, or is empty.
func (s *soak) violate(run, format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.violations) >= 20 {
		s.more++
		return
	}
	where := fmt.Sprintf("seed %d, round %d, phase %s", s.seed, s.round, s.phase)
	if run != "" {
		where += ", " + run
	}
	s.violations = append(s.violations, where+": "+fmt.Sprintf(format, args...))
}

// guard turns a panic of the soak's own code into a violation.
func (s *soak) guard(run string) {
	if p := recover(); p != nil {
		s.violate(run, "panic: %v\n%s", p, debug.Stack())
	}
}

func (s *soak) failed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.violations) > 0
}

// conclude prints the summary.
func (s *soak) conclude(base *levels, worst levels) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &s.counts
	_, _ = fmt.Fprintf(s.out, "seed %d: %d rounds, %d runs, %d dispatches refused, %d callers gone, %d calls, %d executed, "+
		"%d faults injected, %d programs\n", s.seed, s.round, c.runs.Load(), c.refused.Load(), c.gone.Load(),
		c.calls.Load(), c.executed.Load(), c.faults.Load(), c.programs.Load())
	if base != nil {
		_, _ = fmt.Fprintf(s.out, "baseline: %s\nhighest:  %s\n", base, worst)
	}
	for _, v := range s.violations {
		_, _ = fmt.Fprintf(s.out, "VIOLATION: %s\n", v)
	}
	if s.more > 0 {
		_, _ = fmt.Fprintf(s.out, "and %d more violations\n", s.more)
	}
	if len(s.violations) == 0 {
		_, _ = fmt.Fprintln(s.out, "all invariants held")
	}
	return len(s.violations) == 0
}
