// Package newcmd is the command toolwire new. It writes a project into an empty folder: an agent that the
// platform can run, with its tools, tests, a dataset, a world, a README and a workflow for continuous
// integration.
//
//	toolwire new ../agent
//	toolwire new -kind codemode -model openai -module example.com/support ../support
//	toolwire new -kind python ../agent
//
// Except for the kind python, the project is a Go module, and its tests pass as they are. They stand in for the
// platform and the model, and examine the agent with the doctor. This program is a tool of the module.
//
// A released toolwire writes its version into go.mod. Any other one writes a replace with the checkout
// that -replace names, or with the checkout that the command runs in.
//
// The exit status is 0 when the project was written, and 2 for mistakes on the command line or a folder
// that cannot be written. Then the folder is left as it was.
package newcmd

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/toolwire/toolwire/examples/toolwire/internal/commandline"
)

const usage = `usage: toolwire new [flags] DIR

	toolwire new -model openai ../agent

Write an agent with its tests into DIR, which is empty or does not exist.`

// Run runs the command and returns its exit status.
func Run(args []string, stdout, stderr io.Writer) int {
	var p port
	flags := flag.NewFlagSet("toolwire new", flag.ContinueOnError)
	flags.StringVar(&p.Kind, "kind", "endpoint", "what the platform starts: endpoint (a server), codemode (a program for each run), or python (code mode in Python, with a driver that runs it as a program)")
	flags.StringVar(&p.Model, "model", "none", "the SDK of the model: "+strings.Join(modelNames(), ", "))
	flags.StringVar(&p.Model, "sdk", "none", "another name of -model")
	flags.StringVar(&p.Module, "module", exampleModule, "the `path` of the new module")
	flags.StringVar(&p.Replace, "replace", "", "the `folder` of a checkout of Toolwire, for go.mod (default: the checkout that the command runs in)")
	if status, ok := commandline.Parse(flags, usage, args, stdout, stderr); !ok {
		return status
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		p.Version = released(info)
	}
	dir, err := p.check(flags.Args())
	if err == nil {
		var files map[string][]byte
		if files, err = p.files(); err == nil {
			err = write(dir, files)
		}
	}
	if err != nil {
		for line := range strings.Lines(err.Error()) {
			fmt.Fprintf(stderr, "toolwire new: %s\n", strings.TrimSuffix(line, "\n"))
		}
		return commandline.Mistake
	}
	next := fmt.Sprintf("cd %s\n\tgo mod tidy\n\tgo test ./...", dir)
	if p.Kind == "python" {
		file := func(name ...string) string {
			return commandline.Quote(filepath.Join(append([]string{dir}, name...)...))
		}
		next = fmt.Sprintf("%s eval -dataset %s -world %s -- python3 %s", commandline.Program,
			file("testdata", "tasks.csv"), file("testdata", "world.json"), file("driver.py"))
	}
	fmt.Fprintf(stdout, "wrote %s; now run\n\n\t%s\n\nand read README.md\n", dir, next)
	return commandline.OK
}

const exampleModule = "example.com/agent"

// release matches the version of a tag, which may be a pre-release such as v1.0.0-rc.1. It does not match a
// pseudo-version, whose commit may not be published.
var release = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+(-[a-z]+\.[0-9a-z]+)?$`)

// released returns the version of Toolwire that a program was built from, or "" if it is not a release.
func released(info *debug.BuildInfo) string {
	if m := info.Main; m.Path == toolwire && m.Replace == nil && release.MatchString(m.Version) {
		return m.Version
	}
	return ""
}

// checkout returns the checkout of Toolwire that dir is in, or "".
func checkout(dir string) string {
	for ; !isCheckout(dir); dir = filepath.Dir(dir) {
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
	return dir
}

func isCheckout(dir string) bool {
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	return err == nil && strings.Contains(string(text), "module "+toolwire+"\n")
}

var modulePath = regexp.MustCompile(`^[A-Za-z0-9_~-][A-Za-z0-9._~-]*(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*$`)

// check returns the folder to write to, or all mistakes. It makes p.Replace absolute, and finds it
// if neither it nor p.Version is set.
func (p *port) check(args []string) (dir string, err error) {
	var mistakes []error
	bad := func(format string, args ...any) { mistakes = append(mistakes, fmt.Errorf(format, args...)) }
	if p.Kind != "endpoint" && p.Kind != "codemode" && p.Kind != "python" {
		bad("-kind is endpoint, codemode or python, not %q", p.Kind)
	}
	if p.Kind == "python" && (p.Model != "none" || p.Module != exampleModule || p.Replace != "") {
		bad("-model, -module and -replace are for an agent in Go")
	}
	if !slices.Contains(modelNames(), p.Model) {
		bad("-model is one of %s, not %q", strings.Join(modelNames(), ", "), p.Model)
	}
	switch {
	case !modulePath.MatchString(p.Module) || strings.Contains(p.Module, "./") || strings.HasSuffix(p.Module, "."):
		bad("-module is not the path of a module, such as example.com/agent: %q", p.Module)
	case p.Module == toolwire || strings.HasPrefix(p.Module, toolwire+"/"):
		bad("-module is Toolwire's own path: %q", p.Module)
	}
	switch here, err := filepath.Abs(p.Replace); {
	case err != nil:
		bad("-replace: %w", err)
	case p.Replace != "" && !isCheckout(here):
		bad("-replace is not a folder with the go.mod of %s", toolwire)
	case p.Replace != "":
		p.Replace = here
	case p.Version == "" && p.Kind != "python":
		if p.Replace = checkout(here); p.Replace == "" {
			bad("the agent's go.mod names a release or a checkout of Toolwire; this program is not a release, "+
				"and %s is not in a checkout: name one with -replace", here)
		}
	}
	switch len(args) {
	case 0:
		bad("name the folder to write to, after the flags")
	case 1:
		dir = args[0]
		if err := empty(dir); err != nil {
			mistakes = append(mistakes, err)
		}
	default:
		bad("name one folder, after the flags: %q", args)
	}
	return dir, errors.Join(mistakes...)
}

// empty returns nil if dir is an empty folder or does not exist.
func empty(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case len(entries) > 0:
		return fmt.Errorf("%s is not empty; name a folder that is empty or does not exist", dir)
	}
	return nil
}

// write writes all files below dir. If it fails, it removes what it has made.
func write(dir string, files map[string][]byte) (err error) {
	var made []string // in the order in which they were made
	defer func() {
		if err != nil {
			for _, name := range slices.Backward(made) {
				_ = os.Remove(name) // a folder that is not empty has what another program wrote
			}
		}
	}()
	for _, file := range slices.Sorted(maps.Keys(files)) {
		name := filepath.Join(dir, filepath.FromSlash(file))
		var missing []string // folders, the innermost first
		for folder := filepath.Dir(name); folder != filepath.Dir(folder); folder = filepath.Dir(folder) {
			if _, err := os.Stat(folder); err == nil {
				break
			}
			missing = append(missing, folder)
		}
		for _, folder := range slices.Backward(missing) {
			if err := os.Mkdir(folder, 0o777); err != nil {
				return err
			}
			made = append(made, folder)
		}
		out, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if err != nil {
			return err
		}
		made = append(made, name)
		_, err = out.Write(files[file])
		if err := errors.Join(err, out.Close()); err != nil {
			return err
		}
	}
	return nil
}
