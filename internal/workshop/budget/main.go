// Command budget prints how much there is to read in this repository: lines, packages, exported names and
// words, as docs/design.md counts them. It reads the files that git knows.
//
//	cd internal/workshop && go run ./budget
//	cd internal/workshop && go run ./budget -names   # also the exported names of each package
//	cd internal/workshop && go run ./budget -time    # also the time of go test ./... with an empty cache
package main

import (
	"bytes"
	"flag"
	"fmt"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

func main() {
	names := flag.Bool("names", false, "print the exported names of each package")
	timed := flag.Bool("time", false, "run go test ./... with an empty build cache, and print its time")
	flag.Parse()
	if err := run("../..", *names, *timed); err != nil {
		fmt.Fprintln(os.Stderr, "budget:", err)
		os.Exit(1)
	}
}

// transcript lists the files of package dispatch that make and check a transcript.
var transcript = []string{"transcript", "recorder", "match", "repair", "contract"}

// ruled finds the files in the table of docs/design.md that says where each rule is decided.
var ruled = regexp.MustCompile(`\]\(\.\./([a-z/_]+\.go)\)`)

// size is what is counted in the Go files that are not tests.
type size struct {
	lines    map[string]int // by folder
	exported map[string]int // by folder
	failures [3]int         // public error types, types Code and functions CodeOf
	files    map[string]int // lines by file
	tests    int            // lines of tests
	words    int            // of README.md and docs
}

func run(root string, names, timed bool) error {
	s, err := measure(root)
	if err != nil {
		return err
	}
	list, err := output(root, "go", "list", "-deps", "-f", "{{if and .Module .Module.Main}}{{.Dir}}{{end}}", "./dispatch")
	if err != nil {
		return err
	}
	top, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	deps, depLines := 0, 0
	for dir := range strings.FieldsSeq(list) {
		rel, err := filepath.Rel(top, dir)
		if err != nil {
			return err
		}
		deps++
		depLines += s.lines[filepath.ToSlash(rel)]
	}
	direct, err := output(root, "go", "list", "-m", "-f", "{{if not (or .Main .Indirect)}}{{.Path}}{{end}}", "all")
	if err != nil {
		return err
	}
	rules, err := ruleFiles(root)
	if err != nil {
		return err
	}
	internal, made := 0, 0
	for folder := range s.lines {
		if strings.HasPrefix(folder, "internal/") && !strings.HasPrefix(folder, "internal/workshop") {
			internal++
		}
	}
	for _, name := range transcript {
		made += s.files["dispatch/"+name+".go"]
	}
	core := s.lines["dispatch"] + s.lines["proxy"] + s.lines["schema"] + s.lines["ledger"] + s.lines["manifest"]

	row := func(what string, n ...any) { fmt.Printf("%-66s %s\n", what, strings.TrimSpace(fmt.Sprintln(n...))) }
	row("lines of Go outside tests, all modules", sum(s.lines))
	row("lines of Go tests", s.tests)
	row("lines of dispatch, proxy, schema, ledger and manifest", core)
	row("internal packages with production Go, root module", internal)
	row("exported names", sum(s.exported))
	row("public error types, types Code and functions CodeOf", s.failures[0], s.failures[1], s.failures[2])
	row("own packages that dispatch needs, and their lines", deps, depLines)
	row("files that decide the rules of docs/design.md, and their lines", len(rules), s.of(rules))
	row("lines of the transcript", made)
	row("direct requirements of the root module", len(strings.Fields(direct)))
	row("words of README.md and docs", s.words)
	if names {
		fmt.Println()
		for _, folder := range slices.Sorted(maps.Keys(s.exported)) {
			fmt.Printf("%5d  %s\n", s.exported[folder], folder)
		}
	}
	if timed {
		return test(root, row)
	}
	return nil
}

func measure(root string) (size, error) {
	s := size{lines: map[string]int{}, exported: map[string]int{}, files: map[string]int{}}
	list, err := output(root, "git", "ls-files", "-z", "*.go", "README.md", "docs/*.md")
	if err != nil {
		return s, err
	}
	for file := range strings.SplitSeq(strings.TrimSuffix(list, "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			return s, err
		}
		folder, lines := path.Dir(file), bytes.Count(text, []byte("\n"))
		switch {
		case strings.HasSuffix(file, ".md"):
			s.words += len(bytes.Fields(text))
			continue
		case strings.HasSuffix(file, "_test.go"):
			s.tests += lines
			continue
		}
		s.lines[folder] += lines
		s.files[file] = lines
		if public(folder) {
			parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution)
			if err != nil {
				return s, err
			}
			s.exported[folder] += exported(parsed)
			for i, n := range failures(parsed) {
				s.failures[i] += n
			}
		}
	}
	return s, nil
}

// public tells whether others can import a folder's package and may want to.
func public(folder string) bool {
	for part := range strings.SplitSeq(folder, "/") {
		if part == "internal" || part == "examples" || part == "testdata" {
			return false
		}
	}
	return true
}

func (s size) of(files []string) (lines int) {
	for _, file := range files {
		lines += s.files[file]
	}
	return lines
}

func ruleFiles(root string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "design.md"))
	if err != nil {
		return nil, err
	}
	_, table, _ := strings.Cut(string(text), "\n## Where the rules are decided\n")
	table, _, _ = strings.Cut(table, "\n## ")
	files := map[string]bool{}
	for _, match := range ruled.FindAllStringSubmatch(table, -1) {
		files[match[1]] = true
	}
	return slices.Sorted(maps.Keys(files)), nil
}

// test runs the tests as a newcomer does, with modules that are there and nothing built.
func test(root string, row func(string, ...any)) error {
	cache, err := os.MkdirTemp("", "budget")
	if err != nil {
		return err
	}
	defer os.RemoveAll(cache)
	cmd := exec.Command("go", "test", "./...")
	cmd.Dir, cmd.Env, cmd.Stderr = root, append(os.Environ(), "GOCACHE="+cache), os.Stderr
	start := time.Now()
	out, err := cmd.Output()
	if err != nil {
		os.Stderr.Write(out)
		return fmt.Errorf("go test ./...: %w", err)
	}
	row("go test ./... with an empty build cache, and its test binaries", time.Since(start).Round(time.Second), bytes.Count(out, []byte("ok  ")))
	return nil
}

func sum(counts map[string]int) (n int) {
	for _, count := range counts {
		n += count
	}
	return n
}

func output(dir, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, args[0], err)
	}
	return string(out), nil
}
