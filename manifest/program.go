package manifest

import (
	"errors"
	"fmt"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/toolwire/toolwire/internal/problem"
)

const (
	onWindows = runtime.GOOS == "windows"
	bin       = "./tools/bin"
)

// programPath applies the rules of command[0]. It returns an absolute path unchanged, and a
// relative one cleaned, with slashes and ./tools/bin/ at its beginning. A backslash separates
// folders on every system, so that one manifest works on all of them. code is the code of a
// [Problem], or "".
func programPath(declared string, windows bool) (clean, code, problem string) {
	if isAbs(declared, windows) {
		return declared, "", ""
	}
	written := strings.ReplaceAll(declared, `\`, "/")
	clean = path.Clean(written)
	if clean == "tools" || strings.HasPrefix(clean, "tools/") {
		clean = "./" + clean
	}
	inside := strings.HasPrefix(written, bin+"/")
	switch {
	case inside && !strings.HasPrefix(clean, bin+"/"):
		return "", "program_escapes_bin",
			fmt.Sprintf("command[0] escapes ./tools/bin after normalization (got %q -> %q)", declared, clean)
	case clean == ".." || strings.HasPrefix(clean, "../"):
		return "", "program_leads_upward",
			fmt.Sprintf("command[0] must not start with '..' or escape tools/bin (got %q)", declared)
	case !inside:
		return "", "program_outside_bin", fmt.Sprintf("relative command[0] must start with ./tools/bin/ (got %q); "+
			"put the program into that folder, or write its absolute path", declared)
	}
	if windows && path.Ext(clean) == "" {
		clean += ".exe"
	}
	return clean, "", ""
}

// isAbs is filepath.IsAbs for either system.
func isAbs(p string, windows bool) bool {
	if !windows {
		return strings.HasPrefix(p, "/")
	}
	if strings.HasPrefix(p, `\\`) || strings.HasPrefix(p, "//") {
		return true
	}
	letter := len(p) > 2 && p[1] == ':' && (p[0]|0x20 >= 'a' && p[0]|0x20 <= 'z')
	return letter && (p[2] == '\\' || p[2] == '/')
}

var errNoDir = errors.New("a relative program needs Options.Dir, the folder of the manifest")

// resolveProgram makes the result of programPath absolute. dir is absolute, or "" if unknown.
func resolveProgram(dir, clean string) (string, error) {
	native := filepath.FromSlash(clean)
	if filepath.IsAbs(native) {
		return native, nil
	}
	if dir == "" {
		return "", errNoDir
	}
	if !filepath.IsLocal(native) { // on Windows: device names, drive letters, streams
		return "", errors.New("the operating system reserves the name")
	}
	return filepath.Join(dir, native), nil
}

// CheckPrograms returns an [*Error] with program_unavailable if programs do not exist or are not
// executable, with one problem per tool. Load does not check this, because the files may change
// later.
func (m *Manifest) CheckPrograms() error {
	var problems problem.List[Problem]
	for i, t := range m.tools {
		_, err := exec.LookPath(t.argv[0])
		if err == nil {
			continue
		}
		if e, ok := errors.AsType[*exec.Error](err); ok {
			err = e.Err
		}
		problems.AddTool(t.name, "program_unavailable", pointer(i, "/command/0"),
			"configured tool %s is unavailable: %v (program %q)", quoteName(t.name), rootCause(err), t.argv[0])
	}
	if problems.Len() == 0 {
		return nil
	}
	return &Error{Code: codeUnavailable, Message: "programs of the manifest are missing", Problems: problems.Found, More: problems.More}
}
