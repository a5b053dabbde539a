package cassette

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// partSuffix is the end of the name of an unfinished tape. A recording that dies leaves an existing
// tape unchanged.
const partSuffix = ".part"

// writer writes one tape. It writes each interaction at once with one system call, so that a process
// that dies loses at most one.
type writer struct {
	path  string
	file  *os.File
	count int // of interactions
	had   int // interactions that the tape had before
	size  int // in bytes
	parts *index
}

// newWriter begins a tape with the interactions of another. If fresh is true, it fails if path exists.
func newWriter(path string, header header, have *Tape, fresh bool) (*writer, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, newError(codeWrite, ruleFile, path, err, "the folder cannot be made: %s", cause(err))
	}
	file, err := os.OpenFile(path+partSuffix, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, partExists(path)
	}
	if err != nil {
		return nil, newError(codeWrite, ruleFile, path+partSuffix, err, "the file cannot be made: %s", cause(err))
	}
	// It is checked only now, because another writer renames its part file at the end.
	if _, err := os.Lstat(path); fresh && err == nil {
		_ = file.Close()
		_ = os.Remove(path + partSuffix)
		return nil, newError(codeWrite, ruleFile, path, nil, "the file exists; the run is not recorded")
	}
	w := &writer{path: path, file: file, had: len(have.Interactions), count: len(have.Interactions), parts: newIndex(have.parts)}
	if err = w.lines(header); err == nil {
		err = have.lines(func(line any) error { return w.lines(line) })
	}
	if err != nil {
		w.discard()
		return nil, err
	}
	return w, nil
}

func partExists(path string) error {
	return newError(codeWrite, ruleFile, path+partSuffix, fs.ErrExist,
		"the file exists; wait for the recording that writes it, "+
			"or, if its process has died, remove the file or read its complete lines with Load")
}

// append writes an interaction, and before it the parts of a request to a model that are new.
func (w *writer) append(i *Interaction, a *asked) error {
	w.count++
	var lines []any
	if a != nil {
		var parts []part
		i.parts, parts = w.parts.add(a)
		for _, p := range parts {
			lines = append(lines, p)
		}
	}
	if text, err := line(i.line()); err == nil && len(text) > maxLineBytes { // Load would refuse it
		i.Answer, i.AnswerText, i.AnswerBytes, i.Broken = nil, "", nil, brokenOversize
	}
	return w.lines(append(lines, i.line())...)
}

// lines writes lines at once.
func (w *writer) lines(all ...any) error {
	var text []byte
	var err error
	for _, v := range all {
		one, wrong := line(v)
		text, err = append(text, one...), cmp.Or(err, wrong)
	}
	if w.size += len(text); err == nil && w.size > maxTapeBytes {
		err = fmt.Errorf("a tape has at most %d bytes", maxTapeBytes)
	}
	if err == nil {
		_, err = w.file.Write(text)
	}
	if err != nil {
		return newError(codeWrite, ruleFile, w.path+partSuffix, err, "the tape cannot be written: %s", cause(err))
	}
	return nil
}

// finish writes the last line and renames the file.
func (w *writer) finish() error {
	if err := w.lines(end{true, w.count}); err != nil {
		w.discard()
		return err
	}
	err := w.file.Close()
	if err == nil {
		err = os.Rename(w.path+partSuffix, w.path)
	}
	if err != nil {
		return newError(codeWrite, ruleFile, w.path, err, "the tape cannot be put in its place: %s", cause(err))
	}
	return nil
}

// discard closes the file of a tape that cannot be written. The file stays.
func (w *writer) discard() { _ = w.file.Close() }
