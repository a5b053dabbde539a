// Command api writes the exported surface of every package that can be imported, one declaration a
// line, into the text files beside it. The gate compares them, so that a change of the surface is
// a change of a file that a reviewer reads.
//
//	go run ./internal/api          writes the files
//	go run ./internal/api -check   fails if they differ from the code
//	go run ./internal/api -count   counts the names by kind
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	check := flag.Bool("check", false, "compare the files with the code and write nothing")
	count := flag.Bool("count", false, "count the exported names of every package and write nothing")
	flag.Parse()
	if err := run(*check, *count); err != nil {
		fmt.Fprintln(os.Stderr, "api:", err)
		os.Exit(1)
	}
}

func run(check, count bool) error {
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	packages, err := read(root)
	if err != nil {
		return err
	}
	if count {
		fmt.Print(table(packages))
		return nil
	}
	return sync(filepath.Join(root, "internal", "api"), packages, check)
}

// moduleRoot returns the folder of the go.mod file that is above or in the working directory.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if parent := filepath.Dir(dir); parent != dir {
			dir = parent
			continue
		}
		return "", fmt.Errorf("no go.mod file above the working directory")
	}
	return "", err
}

// sync writes one file per package into dir and removes those of packages that are gone. With
// check it compares instead, and names every file that differs.
func sync(dir string, packages []*surface, check bool) error {
	want := map[string][]byte{}
	for _, p := range packages {
		name := strings.ReplaceAll(p.path, "/", "_") + ".txt"
		want[name] = []byte(strings.Join(p.lines(), "\n") + "\n")
	}
	old, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil {
		return err
	}
	var differ []string
	for _, path := range old {
		if _, ok := want[filepath.Base(path)]; ok {
			continue
		}
		differ = append(differ, filepath.Base(path))
		if !check {
			if err := os.Remove(path); err != nil {
				return err
			}
		}
	}
	for name, text := range want {
		path := filepath.Join(dir, name)
		if now, err := os.ReadFile(path); err == nil && bytes.Equal(now, text) {
			continue
		}
		differ = append(differ, name)
		if !check {
			if err := os.WriteFile(path, text, 0o644); err != nil {
				return err
			}
		}
	}
	if check && len(differ) > 0 {
		return fmt.Errorf("the exported surface differs from %s; run go run ./internal/api and review the change",
			strings.Join(differ, ", "))
	}
	return nil
}
