// Command release prepares a release of all public modules of this repository, and rehearses it. The
// version stands in the newest section of CHANGELOG.md: "## v0.1.0, not released".
//
//	go run ./release prepare        edits CHANGELOG.md and the go.mod files, and prints the tags
//	go run ./release rehearse DIR   makes in DIR the module proxy that the release would fill
//
// The rehearsal commits and tags a copy of the tracked files in a repository below DIR. The go
// command fetches the modules from there, as a module proxy does from the real one. DIR then has
//
//	proxy     the module proxy, for GOPROXY=file://DIR/proxy
//	version   the version of its modules
//	modules   their paths, one a line, the root module first
package main

import (
	"fmt"
	"os"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	root, err := output("", nil, "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	switch {
	case len(args) == 1 && args[0] == "prepare":
		version, err := nextVersion(root)
		if err != nil {
			return err
		}
		modules, err := prepare(root, version, time.Now())
		if err != nil {
			return err
		}
		fmt.Print(plan(modules, version))
		return nil
	case len(args) == 2 && args[0] == "rehearse":
		return rehearse(root, args[1], os.Stdout)
	}
	return fmt.Errorf("usage: release prepare | release rehearse DIR")
}
