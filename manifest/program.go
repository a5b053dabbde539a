package manifest

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"runtime"
	"strings"
)

const (
	onWindows = runtime.GOOS == "windows"
	bin       = "./tools/bin"
)

// programPath applies the rules for command[0]. An absolute path is taken as it is; a relative one is cleaned, with
// slashes, and begins with ./tools/bin/. A backslash separates on every system, so one manifest serves all of them.
func programPath(declared string, windows bool) (clean string, rule Rule, problem string) {
	if isAbs(declared, windows) {
		return declared, "", ""
	}
	written := strings.ReplaceAll(declared, `\`, "/")
	clean = path.Clean(written)
	if clean == "tools" || strings.HasPrefix(clean, "tools/") {
		clean = "./" + clean
	}
	switch {
	case clean == ".." || strings.HasPrefix(clean, "../"):
		return "", RuleProgramUpward, fmt.Sprintf("command[0] must not start with '..' or escape tools/bin (got %q)", declared)
	case strings.HasPrefix(clean, bin+"/"):
	case written == bin || strings.HasPrefix(written, bin+"/"):
		return "", RuleProgramEscapes, fmt.Sprintf("command[0] escapes ./tools/bin after normalization (got %q -> %q)", declared, clean)
	default:
		return "", RuleProgramOutside, "relative command[0] must start with ./tools/bin/"
	}
	if windows && path.Ext(clean) == "" {
		clean += ".exe"
	}
	return clean, "", ""
}

// isAbs is filepath.IsAbs for the system asked about.
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

var errNoDir = errors.New("a relative program needs Options.Dir, the folder that the manifest stands in")

// resolveProgram makes a path from programPath absolute. dir is absolute, or "" when it is not known.
func resolveProgram(dir, clean string) (string, error) {
	native := filepath.FromSlash(clean)
	if filepath.IsAbs(native) {
		return native, nil
	}
	if dir == "" {
		return "", errNoDir
	}
	if !filepath.IsLocal(native) { // on Windows: device names, drive letters, streams
		return "", errors.New("the name is reserved by the operating system")
	}
	return filepath.Join(dir, native), nil
}
