package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/toolwire/toolwire/dispatch/eval"
	"github.com/toolwire/toolwire/internal/terminal"
)

// reports are the files to write; nil for one that is not wanted. They are opened before the set
// runs, so that a mistake in a path does not cost a run.
type reports struct {
	junit, json *os.File
}

func openReports(junit, json string) (r reports, err error) {
	if junit != "" {
		if r.junit, err = os.Create(junit); err != nil {
			return r, fmt.Errorf("-junit: %w", err)
		}
	}
	if json != "" {
		if r.json, err = os.Create(json); err != nil {
			r.close()
			return r, fmt.Errorf("-json: %w", err)
		}
	}
	if r.junit == nil || r.json == nil {
		return r, nil
	}
	a, errA := r.junit.Stat()
	b, errB := r.json.Stat()
	if errA == nil && errB == nil && a.Mode().IsRegular() && os.SameFile(a, b) {
		r.close()
		return r, errors.New("-junit and -json name the same file")
	}
	return r, nil
}

func (r reports) write(e *eval.Experiment) error {
	var errs []error
	if r.junit != nil {
		errs = append(errs, e.WriteJUnit(r.junit), r.junit.Close())
	}
	if r.json != nil {
		errs = append(errs, e.WriteJSON(r.json), r.json.Close())
	}
	return errors.Join(errs...)
}

func (r reports) close() {
	for _, file := range []*os.File{r.junit, r.json} {
		if file != nil {
			_ = file.Close() // a second time, if write has been there
		}
	}
}

// progressLine is a line on a terminal that is rewritten in place. On anything else it is silent.
type progressLine struct {
	w         io.Writer // nil: silent
	total     int
	done, bad int // trials; bad ones neither passed nor were skipped
	begun     time.Time
	last      time.Time
	shown     bool
}

func newProgressLine(w io.Writer, getenv func(string) string, total int) *progressLine {
	if !terminal.Is(w) || getenv("TERM") == "dumb" {
		return &progressLine{}
	}
	return &progressLine{w: w, total: total, begun: time.Now()}
}

// clearLine moves to the beginning of the line and clears it.
const clearLine = "\r\x1b[K"

// show is called for one trial at a time. It writes at most ten times a second.
func (l *progressLine) show(t eval.Trial) {
	l.done++
	if t.Verdict != eval.Passed && t.Verdict != eval.Skipped {
		l.bad++
	}
	if l.w == nil || time.Since(l.last) < 100*time.Millisecond {
		return
	}
	l.last, l.shown = time.Now(), true
	text := fmt.Sprintf("%d of %d", l.done, l.total)
	if l.bad > 0 {
		text += fmt.Sprintf(", %d not passed", l.bad)
	}
	if left := time.Since(l.begun) / time.Duration(l.done) * time.Duration(l.total-l.done); left >= time.Second {
		text += fmt.Sprintf(", about %s left", left.Round(time.Second))
	}
	_, _ = io.WriteString(l.w, clearLine+text) // of no consequence
}

func (l *progressLine) clear() {
	if l.shown {
		_, _ = io.WriteString(l.w, clearLine)
	}
}
