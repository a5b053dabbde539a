package manifest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Explanation is what a call of a tool would run, without running it.
type Explanation struct {
	Tool    string
	Argv    []string // Argv[0] is the resolved program
	Target  string   // the file that Argv[0] leads to when it is, or stands behind, a symbolic link; else ""
	SHA256  string   // of the program's bytes, in hexadecimal
	WorkDir string
	Env     []string      // names of the variables that would be passed now, the base ones first
	Timeout time.Duration // timeoutSec, or Options.Timeout
}

// Explain tells what a call of the tool would run. It reads the program's file but does not run it. When the file
// cannot be read, the explanation is returned without Target and SHA256, beside an error of [CodeUnavailable]; for a name
// that the manifest does not have, the explanation is empty and the error's code [CodeUnknownTool].
func (m *Manifest) Explain(name string) (Explanation, error) {
	t, ok := m.byName[name]
	if !ok {
		return Explanation{}, m.unknown(name)
	}
	e := Explanation{Tool: t.name, Argv: slices.Clone(t.argv), WorkDir: m.options.WorkDir, Timeout: t.timeout}
	env, _ := m.environment(t)
	for _, entry := range env {
		variable, _, _ := strings.Cut(entry, "=")
		e.Env = append(e.Env, variable)
	}
	if err := e.inspect(); err != nil {
		return e, &Error{Code: CodeUnavailable, Tool: t.name, Message: "tool is not available", err: err,
			detail: fmt.Sprintf("the program %s cannot be read: %v", t.argv[0], rootCause(err))}
	}
	return e, nil
}

func (e *Explanation) inspect() error {
	program := e.Argv[0]
	target, err := filepath.EvalSymlinks(program)
	if err != nil {
		return err
	}
	info, err := os.Stat(target)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() { // opening a pipe, for example, could block for ever
		return errors.New("it is not a regular file")
	}
	f, err := os.Open(target)
	if err != nil {
		return err
	}
	defer f.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, f); err != nil {
		return err
	}
	if target != filepath.Clean(program) {
		e.Target = target
	}
	e.SHA256 = hex.EncodeToString(hash.Sum(nil))
	return nil
}

// CheckPrograms reports every tool whose program does not exist or cannot be executed, in one [*Error] of
// [CodeUnavailable]. Programs are files that may come and go, so loading does not look at them.
func (m *Manifest) CheckPrograms() error {
	var problems []Problem
	for i, t := range m.tools {
		if _, err := exec.LookPath(t.argv[0]); err != nil {
			problems = append(problems, Problem{Index: i, Name: t.name, Field: "command[0]", Rule: RuleProgramMissing,
				Message: fmt.Sprintf("configured tool %s is unavailable: %v (program %q)", quoteName(t.name), lookupCause(err), t.argv[0])})
		}
	}
	if len(problems) == 0 {
		return nil
	}
	return &Error{Code: CodeUnavailable, Message: "programs of the manifest are missing", Problems: problems}
}

func lookupCause(err error) error {
	if e, ok := errors.AsType[*exec.Error](err); ok {
		err = e.Err
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	return err
}
