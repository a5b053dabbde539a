package pagecmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/toolwire/toolwire/proxy/proxytest"
)

// maxAtOnce is how many runs may be in progress. Those are never dropped, so they need a limit too.
const maxAtOnce = 32

// maxProblems is how many files that cannot be read are named.
const maxProblems = 100

var errBusy = errors.New("too many runs are in progress; wait until one has ended")

// runs has the runs that are kept, the latest last. It is safe for concurrent use.
type runs struct {
	ctx      context.Context     // of the runs in progress
	cancel   context.CancelFunc  // ends it
	base     string              // URL of the server
	platform *proxytest.Platform // of the world; each run has its own, made by With
	state    string              // at the start of every run
	keep     int                 // runs that are over
	folder   string              // for their files; "" if there are none
	problem  func(error)         // reports that a file cannot be read or written
	bounds   bounds

	mu      sync.Mutex
	last    int
	kept    []*record
	pending sync.WaitGroup
}

// start dispatches a task and returns when the run has begun. An error means that it has not.
func (rs *runs) start(task task, rules []proxytest.FailureRule) (*record, error) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.ctx.Err() != nil {
		return nil, errors.New("the server is stopping")
	}
	busy := 0
	for _, r := range rs.kept {
		if _, over := r.over(); !over {
			busy++
		}
	}
	if busy >= maxAtOnce {
		return nil, errBusy
	}
	// A platform keeps its runs. With a platform for each run, dropping the run frees its memory.
	platform, err := rs.platform.With(cmp.Or(strings.TrimSpace(task.State), rs.state), rules, "")
	if err != nil {
		return nil, err
	}
	r := &record{facts: facts{id: rs.last + 1, task: task, bounds: rs.bounds}, platform: platform}
	if task.target.AuthValue != "" {
		r.auth = cmp.Or(task.AuthHeader, "Authorization")
	}
	staged := make(chan error, 1)
	rs.pending.Go(func() {
		r.dispatch(rs.ctx, rs.base, staged)
		rs.write(r)
		rs.drop()
	})
	if err := <-staged; err != nil {
		return nil, fmt.Errorf("the run could not be staged: %w", err)
	}
	rs.last = r.id
	rs.kept = append(rs.kept, r)
	return r, nil
}

// write writes the file of a run that is over. It does not replace a file.
func (rs *runs) write(r *record) {
	if rs.folder == "" {
		return
	}
	page := r.view()
	if !page.Saved() {
		return
	}
	name := fmt.Sprintf("%s-run-%d.json", page.Started.UTC().Format("20060102-150405.000"), page.ID)
	f, err := os.OpenFile(filepath.Join(rs.folder, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		err = errors.Join(page.writeTo(f), f.Close())
	}
	if err != nil {
		rs.problem(err)
	}
}

// load reads the latest runs in the folder. A file that cannot be read is a problem, and is left out. The number of a
// run is the place of its file among all, so that it stays the same.
func (rs *runs) load() error {
	entries, err := os.ReadDir(rs.folder) // in the order of the names, which begin with the time
	entries = slices.DeleteFunc(entries, func(e os.DirEntry) bool { return e.IsDir() || filepath.Ext(e.Name()) != ".json" })
	rs.last = len(entries)
	bytes, left := 0, 0
	for i := len(entries) - 1; i >= 0 && len(rs.kept) < rs.keep && bytes <= rs.bounds.kept; i-- {
		r, err := readRecord(filepath.Join(rs.folder, entries[i].Name()), i+1, rs.bounds)
		if err == nil {
			rs.kept = append(rs.kept, r)
			bytes += r.page.bytes
		} else if left++; left <= maxProblems {
			rs.problem(fmt.Errorf("%s: %w", entries[i].Name(), err))
		}
	}
	if left > maxProblems {
		rs.problem(fmt.Errorf("%d more files cannot be read", left-maxProblems))
	}
	slices.Reverse(rs.kept)
	return err
}

// drop forgets the oldest runs that are over until the rest is within the bounds. Runs in progress
// do not count, so that a run that has just ended is not dropped at once.
func (rs *runs) drop() {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	runs, bytes := 0, 0
	for _, r := range rs.kept {
		if n, over := r.over(); over {
			runs, bytes = runs+1, bytes+n
		}
	}
	rs.kept = slices.DeleteFunc(rs.kept, func(r *record) bool {
		n, over := r.over()
		if !over || runs == 1 || runs <= rs.keep && bytes <= rs.bounds.kept {
			return false
		}
		runs, bytes = runs-1, bytes-n
		return true
	})
}

// get returns a run, or nil if it does not exist or was dropped.
func (rs *runs) get(id int) *record { return rs.find(func(r *record) bool { return r.id == id }) }

func (rs *runs) find(is func(*record) bool) *record {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if i := slices.IndexFunc(rs.kept, is); i >= 0 {
		return rs.kept[i]
	}
	return nil
}

// all returns the runs, the latest first.
func (rs *runs) all() []*record {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	all := slices.Clone(rs.kept)
	slices.Reverse(all)
	return all
}

// wait waits until no run is in progress.
func (rs *runs) wait() { rs.pending.Wait() }

// stop ends the runs in progress and waits for them. No new run begins.
func (rs *runs) stop() {
	rs.mu.Lock()
	rs.cancel()
	rs.mu.Unlock()
	rs.wait()
}
