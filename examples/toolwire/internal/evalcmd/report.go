package evalcmd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/toolwire/toolwire/dispatch/eval"
)

// report is a file to write.
type report struct {
	flag  string
	file  *os.File
	write func(w io.Writer, e *eval.Experiment, before ...*eval.Experiment) error
}

// reports are the files to write. They are opened before the set runs, so that a mistake in a path
// does not cost a run.
type reports []report

// named is a file and what names it.
type named struct{ by, path string }

// openReports opens the files for reports and empties them. taken are the files that the command reads or
// completes: a report must not overwrite one.
func (o *options) openReports(taken ...named) (all reports, err error) {
	var made []string
	defer func() {
		if err != nil {
			all.close()
			for _, path := range made {
				_ = os.Remove(path)
			}
		}
	}()
	for _, kind := range []struct {
		flag, path string
		mode       os.FileMode
		write      func(w io.Writer, e *eval.Experiment, before ...*eval.Experiment) error
	}{
		{"-junit", o.junit, 0o666, func(w io.Writer, e *eval.Experiment, _ ...*eval.Experiment) error { return e.WriteJUnit(w) }},
		{"-json", o.json, 0o666, func(w io.Writer, e *eval.Experiment, _ ...*eval.Experiment) error { return e.WriteJSON(w) }},
		// It has arguments and results, as the file of results has.
		{"-html", o.html, 0o600, func(w io.Writer, e *eval.Experiment, before ...*eval.Experiment) error {
			return e.WriteHTML(w, before...)
		}},
	} {
		if kind.path == "" {
			continue
		}
		_, known := os.Stat(kind.path)
		file, err := os.OpenFile(kind.path, os.O_RDWR|os.O_CREATE, kind.mode)
		if err != nil {
			return all, fmt.Errorf("%s: %w", kind.flag, err)
		}
		if all = append(all, report{kind.flag, file, kind.write}); errors.Is(known, fs.ErrNotExist) {
			made = append(made, kind.path)
		}
		info, err := file.Stat()
		if err != nil {
			return all, fmt.Errorf("%s: %w", kind.flag, err)
		}
		if !info.Mode().IsRegular() { // a terminal or a pipe may have two
			continue
		}
		for _, other := range taken {
			if is, err := os.Stat(other.path); err == nil && os.SameFile(info, is) {
				return all, fmt.Errorf("%s and %s name the same file", kind.flag, other.by)
			}
		}
		taken = append(taken, named{kind.flag, kind.path})
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

// write writes the reports. A comparison with trials that were cancelled would say nothing.
func (r reports) write(e *eval.Experiment, before ...*eval.Experiment) error {
	if e.Count(eval.Cancelled) > 0 {
		before = nil
	}
	var errs []error
	for _, one := range r {
		errs = append(errs, one.write(one.file, e, before...), one.file.Close())
	}
	return errors.Join(errs...)
}

func (r reports) close() {
	for _, one := range r {
		_ = one.file.Close() // a second time, if write has been there
	}
}
