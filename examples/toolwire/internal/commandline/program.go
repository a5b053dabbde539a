package commandline

import (
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
)

// Program starts this program again, for commands that it prints. It is for a shell. main sets it, see [Started].
var Program = "toolwire"

// ofGoRun is in the names of programs that go run starts: new ones, and those in its cache.
var ofGoRun = regexp.MustCompile(`/go-build|/[0-9a-f]{64}-d/`)

// Started returns how the program was started: by go run, from the path, or by a file. arg0 is the first of its
// arguments.
func Started(arg0 string, info *debug.BuildInfo) string {
	if info != nil && ofGoRun.MatchString(filepath.ToSlash(arg0)) {
		if v := info.Main.Version; strings.HasPrefix(v, "v") && info.Main.Replace == nil && !strings.Contains(v, "+") {
			return "go run " + info.Path + "@" + v
		}
		return "go run " + info.Path
	}
	if !strings.ContainsRune(arg0, os.PathSeparator) || !strings.ContainsAny(arg0, " '\"$&;|<>()*?!#`\\") {
		return arg0
	}
	return Quote(arg0)
}

// Quote returns a word for a shell.
func Quote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// Program returns the end of a command line that starts the program of the agent, for a shell; "" if there is none.
func (a *Agent) Program() (end string) {
	if len(a.program) == 0 {
		return ""
	}
	for _, name := range a.env {
		end += " -env " + Quote(name)
	}
	end += " --"
	for _, word := range a.program {
		end += " " + Quote(word)
	}
	return end
}
