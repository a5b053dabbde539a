package cassette

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// partSuffix is what a tape's name ends with while it is being recorded, so that a recording that
// dies destroys no tape.
const partSuffix = ".part"

// writer writes one tape: every line with one system call as soon as it is known, so that the death
// of the process costs at most the line that is being written.
type writer struct {
	path  string
	file  *os.File
	count int
}

// newWriter begins a tape, with the interactions it has already. One that is fresh replaces none.
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
	// Asked only now: whoever puts a tape in its place has had the part until then.
	if _, err := os.Lstat(path); fresh && err == nil {
		_ = file.Close()
		_ = os.Remove(path + partSuffix)
		return nil, newError(CodeWrite, ruleFile, path, nil, "the file exists; the run is not recorded")
	}
	w := &writer{path: path, file: file}
	if err = w.line(header); err == nil {
		for i := range have {
			if err = w.append(&have[i]); err != nil {
				break
			}
		}
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return w, nil
}

// checkPart is for whoever is about to record: it is better told before the run than after it.
func checkPart(path string) error {
	if _, err := os.Lstat(path + partSuffix); err == nil {
		return partExists(path)
	}
	return nil
}

func partExists(path string) error {
	return newError(CodeWrite, ruleFile, path+partSuffix, fs.ErrExist,
		"the file exists: another recording is under way, or one has died; "+
			"in that case remove it, or read its complete lines with Load")
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

// finish ends the tape and gives it its name.
func (w *writer) finish() error {
	if err := w.line(end{true, w.count}); err != nil {
		_ = w.file.Close()
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

// discard gives up a tape that cannot be written. What there is of it stays.
func (w *writer) discard() { _ = w.file.Close() }
