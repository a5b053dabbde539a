package evalcmd

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/toolwire/toolwire/dispatch/eval"
	"github.com/toolwire/toolwire/internal/terminal"
	"github.com/toolwire/toolwire/internal/text"
)

// progress says how far a run is. On a terminal it rewrites one line in place. Elsewhere it writes a
// line a minute, because CI systems end jobs that print nothing. Trials that fail are written as they
// end, the first three of each reason; the others are counted at the end.
type progress struct {
	w      io.Writer
	live   bool // w is a terminal
	colour bool
	total  int  // trials, without skipped ones
	trials int  // of each case
	quiet  bool // failures are only counted, because the summary goes to the same terminal
	all    bool // each trial is shown, with its timeline
	begun  time.Time
	stop   func() // ends the lines

	mu                    sync.Mutex
	done, failed, errored int
	shown                 string // the line on the terminal
	reasons               []*alike
	undeclared            bool // a call of a tool that the world does not declare was refused
}

// alike are the trials that failed for one reason.
type alike struct {
	reason string
	n      int
}

// each is how many trials of one reason are written, and mostReasons how many reasons are told apart.
const each, mostReasons = 3, 100

// again reports whether enough trials with this reason have been written, and counts one more.
func (p *progress) again(reason string) bool {
	for _, a := range p.reasons {
		if a.reason == reason {
			a.n++
			return a.n > each
		}
	}
	if len(p.reasons) < mostReasons {
		p.reasons = append(p.reasons, &alike{reason, 1})
	}
	return false
}

// newProgress begins to write to w. The caller calls end.
func newProgress(w io.Writer, getenv func(string) string, total, trials int) *progress {
	p := &progress{
		w: w, total: total, trials: trials, begun: time.Now(),
		live: terminal.Is(w) && getenv("TERM") != "dumb", colour: terminal.Colour(w, getenv),
	}
	p.start()
	return p
}

func (p *progress) start() {
	every := time.Minute
	if p.live {
		every = 200 * time.Millisecond
	}
	ticker, over := time.NewTicker(every), make(chan struct{})
	var writing sync.WaitGroup
	writing.Go(func() {
		for {
			select {
			case <-ticker.C:
				p.show()
			case <-over:
				return
			}
		}
	})
	p.stop = func() {
		ticker.Stop()
		close(over)
		writing.Wait()
	}
}

// trial counts a trial. It is eval.Options.OnTrial.
func (p *progress) trial(t eval.Trial) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t.Result != nil && len(t.Result.Faults) > 0 {
		p.undeclared = true
	}
	style := terminal.Bad
	switch t.Verdict {
	case eval.Cancelled:
		return
	case eval.Failed:
		p.failed++
	case eval.Errored:
		p.errored++
		style = terminal.Warn
	}
	if t.Verdict != eval.Skipped {
		p.done++
	}
	if (t.Cause == "" || p.quiet) && !p.all {
		return
	}
	name := text.Line(t.Name, 48)
	if trials := cmp.Or(t.Case.Trials, p.trials); trials > 1 {
		name += fmt.Sprintf(" (trial %d of %d)", t.Number, trials)
	}
	reason := ""
	if t.Cause != "" {
		reason = string(t.Cause) + ": " + text.Line(t.Reason, 200)
		if p.again(reason) && !p.all {
			return
		}
	} else {
		style = terminal.Good
	}
	var table terminal.Table
	table.Row(terminal.Cell{Text: string(t.Verdict), Style: style}, terminal.PlainCell(name), terminal.PlainCell(reason))
	p.clear()
	_ = table.Write(p.w, p.colour) // of no consequence, as all errors here
	if p.all && t.Result != nil {
		_, _ = io.WriteString(p.w, "  "+strings.ReplaceAll(strings.TrimSpace(t.Result.String()), "\n", "\n  ")+"\n")
	}
}

func (p *progress) show() {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := fmt.Sprintf("%d of %d done", p.done, p.total)
	if p.failed > 0 {
		text += fmt.Sprintf(", %d failed", p.failed)
	}
	if p.errored > 0 {
		text += fmt.Sprintf(", %d with errors", p.errored)
	}
	if p.done > 0 && p.done < p.total {
		left := time.Since(p.begun) / time.Duration(p.done) * time.Duration(p.total-p.done)
		text += ", about " + roughly(left) + " left"
	}
	switch {
	case !p.live:
		_, _ = fmt.Fprintf(p.w, "toolwire eval: %s\n", text)
	case text != p.shown:
		_, _ = io.WriteString(p.w, clearLine+text)
		p.shown = text
	}
}

// roughly formats a duration for an estimate.
func roughly(d time.Duration) string {
	switch {
	case d < 90*time.Second:
		return fmt.Sprintf("%d s", int(d.Seconds()+0.5))
	case d < 90*time.Minute:
		return fmt.Sprintf("%d min", int(d.Minutes()+0.5))
	}
	minutes := int(d.Minutes() + 0.5)
	return fmt.Sprintf("%d h %d min", minutes/60, minutes%60)
}

// clearLine moves to the beginning of the line and clears it.
const clearLine = "\r\x1b[K"

func (p *progress) clear() {
	if p.shown != "" {
		_, _ = io.WriteString(p.w, clearLine)
		p.shown = ""
	}
}

// end returns when the last line has been written. Then nothing of it is left on a terminal.
func (p *progress) end() {
	p.stop()
	p.clear()
	for _, a := range p.reasons {
		if a.n > each && !p.all {
			_, _ = fmt.Fprintf(p.w, "toolwire eval: %d more with %s\n", a.n-each, a.reason)
		}
	}
}
