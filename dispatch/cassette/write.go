package cassette

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// partSuffix is the end of the name of an unfinished tape. A recording that dies leaves an existing
// tape unchanged.
const partSuffix = ".part"

// writer writes one tape. It writes each line at once with one system call, so that a process that
// dies loses at most one line.
type writer struct {
	path  string
	file  *os.File
	count int // of interactions
	had   int // interactions that the tape had before
}

// newWriter begins a tape with the interactions in have. If fresh is true, it fails if path exists.
func newWriter(path string, header header, have []Interaction, fresh bool) (*writer, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, newError(CodeWrite, ruleFile, path, err, "the folder cannot be made: %s", cause(err))
	}
	file, err := os.OpenFile(path+partSuffix, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, partExists(path)
	}
	if err != nil {
		return nil, newError(CodeWrite, ruleFile, path+partSuffix, err, "the file cannot be made: %s", cause(err))
	}
	// It is checked only now, because another writer renames its part file at the end.
	if _, err := os.Lstat(path); fresh && err == nil {
		_ = file.Close()
		_ = os.Remove(path + partSuffix)
		return nil, newError(CodeWrite, ruleFile, path, nil, "the file exists; the run is not recorded")
	}
	w := &writer{path: path, file: file, had: len(have)}
	err = w.line(header)
	for i := 0; i < len(have) && err == nil; i++ {
		err = w.append(&have[i])
	}
	if err != nil {
		w.discard()
		return nil, err
	}
	return w, nil
}

// checkPart fails if the part file exists, so that the error comes before the run.
func checkPart(path string) error {
	if _, err := os.Lstat(path + partSuffix); err == nil {
		return partExists(path)
	}
	return nil
}

func partExists(path string) error {
	return newError(CodeWrite, ruleFile, path+partSuffix, fs.ErrExist,
		"the file exists; wait for the recording that writes it, "+
			"or, if its process has died, remove the file or read its complete lines with Load")
}

func (w *writer) append(i *Interaction) error {
	w.count++
	return w.line(i)
}

func (w *writer) line(v any) error {
	text, err := line(v)
	if err == nil {
		_, err = w.file.Write(text)
	}
	if err != nil {
		return newError(CodeWrite, ruleFile, w.path+partSuffix, err, "the tape cannot be written: %s", cause(err))
	}
	return nil
}

// finish writes the last line and renames the file.
func (w *writer) finish() error {
	if err := w.line(end{true, w.count}); err != nil {
		w.discard()
		return err
	}
	err := w.file.Close()
	if err == nil {
		err = os.Rename(w.path+partSuffix, w.path)
	}
	if err != nil {
		return newError(CodeWrite, ruleFile, w.path, err, "the tape cannot be put in its place: %s", cause(err))
	}
	return nil
}

// discard closes the file of a tape that cannot be written. The file stays.
func (w *writer) discard() { _ = w.file.Close() }
