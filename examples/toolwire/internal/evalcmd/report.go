package evalcmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/toolwire/toolwire/dispatch/eval"
)

// report is a file to write.
type report struct {
	flag, path string
	mode       os.FileMode
	file       *os.File
}

// reports are the files to write. They are opened before the set runs, so that a mistake in a path
// does not cost a run.
type reports []report

// openReports opens the files for reports and empties them. A report must not overwrite a file that the
// command reads or completes. Flags name most of these files; the parameter files has the others.
func (o *options) openReports(files ...string) (all reports, err error) {
	type named struct{ by, path string }
	taken := []named{
		{"-dataset", o.dataset}, {"-world", o.world}, {"-token-file", o.agent.TokenFile}, {"-results", o.ResultsFile},
		{"-failed", o.failed}, {"-o", o.merged}, {"-baseline", o.baseline}, {"-prices", o.pricesFile},
	}
	for _, file := range files {
		taken = append(taken, named{"the file " + file, file})
	}
	var made []string
	defer func() {
		if err != nil {
			all.close()
			for _, path := range made {
				_ = os.Remove(path)
			}
		}
	}()
	for _, r := range []report{
		{flag: "-junit", path: o.junit, mode: 0o666},
		{flag: "-json", path: o.json, mode: 0o666},
		{flag: "-markdown", path: o.markdown, mode: 0o666},
		{flag: "-html", path: o.html, mode: 0o600}, // it has arguments and results, as the file of results has
	} {
		if r.path == "" {
			continue
		}
		_, known := os.Stat(r.path)
		if r.file, err = os.OpenFile(r.path, os.O_RDWR|os.O_CREATE, r.mode); err != nil {
			return all, fmt.Errorf("%s: %w", r.flag, err)
		}
		if all = append(all, r); errors.Is(known, fs.ErrNotExist) {
			made = append(made, r.path)
		}
		info, err := r.file.Stat()
		if err != nil {
			return all, fmt.Errorf("%s: %w", r.flag, err)
		}
		if !info.Mode().IsRegular() { // a terminal or a pipe may have two
			continue
		}
		for _, other := range taken {
			if is, err := os.Stat(other.path); err == nil && os.SameFile(info, is) {
				return all, fmt.Errorf("%s and %s name the same file", r.flag, other.by)
			}
		}
		taken = append(taken, named{r.flag, r.path})
	}
	for _, one := range all {
		if info, err := one.file.Stat(); err != nil || !info.Mode().IsRegular() {
			continue
		}
		if err := one.file.Truncate(0); err != nil {
			return all, fmt.Errorf("%s: %w", one.flag, err)
		}
	}
	return all, nil
}

// cancelled reports whether a trial did not end.
func cancelled(e *eval.Experiment) bool {
	return slices.ContainsFunc(e.Trials, func(t eval.Trial) bool { return t.Verdict == eval.Cancelled })
}

// write writes the reports. A comparison with trials that were cancelled would say nothing.
func (r reports) write(e *eval.Experiment, before ...*eval.Experiment) error {
	if cancelled(e) {
		before = nil
	}
	var errs []error
	for _, one := range r {
		var err error
		switch one.flag {
		case "-junit":
			err = e.WriteJUnit(one.file)
		case "-json":
			err = e.WriteJSON(one.file)
		case "-markdown":
			err = e.WriteMarkdown(one.file, before...)
		case "-html":
			err = e.WriteHTML(one.file, before...)
		}
		errs = append(errs, err, one.file.Close())
	}
	return errors.Join(errs...)
}

func (r reports) close() {
	for _, one := range r {
		_ = one.file.Close() // a second time, if write has been there
	}
}
