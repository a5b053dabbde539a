// Package house holds the module to rules of docs/design.md and CONTRIBUTING.md: each job is done in
// one place, texts are written in plain technical English, and what the pages show is in the gate.
package house

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// jobs are what more than one package needs. The code that matches the pattern may only stand in
// these files.
var jobs = []struct {
	name    string
	pattern string
	files   []string
}{
	{"write JSON without HTML escapes", `SetEscapeHTML`, []string{"internal/rawjson/write.go"}},
	{"escape a JSON Pointer", `NewReplacer\("~", "~0"`, []string{"internal/strictjson/pointer.go"}},
	{"cut a text at a limit of bytes", `utf8\.RuneStart`, []string{"internal/clip/clip.go"}},
	{"read Retry-After", `\["Retry-After"\]`, []string{"internal/httpcall/retryafter.go"}},
	{"make a transport", `http\.Transport\{`, []string{"internal/httpcall/transport.go"}},
	{"know whether a request was sent", `WroteHeaders =`, []string{"internal/httpcall/watch.go"}},
	{"wait between attempts", `"github.com/cenkalti/backoff`, []string{"internal/httpcall/repeat.go"}},
	{"word an error of a context", `func ContextError`, []string{"internal/httpcall/failure.go"}},
	{"read the scheme Bearer", `const scheme = "bearer "`, []string{"internal/httpserve/bearer.go"}},
	{"refuse a body that is not read", `"Connection", "close"`, []string{"internal/httpserve/body.go"}},
	{"hide a secret", `const Placeholder`, []string{"internal/redact/redact.go"}},
	{"know this machine by its name", `IsLoopback\(`, []string{"internal/publicaddr/publicaddr.go"}},
	{"keep what a field of a declaration cannot hold", `type Kept struct`, []string{"internal/declaration/declaration.go"}},
	{"check a header name", `'\*\+-\.\^_` + "`" + `\|~`, []string{"internal/httpserve/bearer.go"}},
	{"word an error of decoding", `UnmarshalTypeError`, []string{"internal/rawjson/decode.go"}},
	{"compare numbers exactly", `big\.NewInt|new\(big\.`, []string{"internal/rawjson/number.go"}},
}

// idioms are phrases that a reader of plain technical English stumbles over.
var idioms = regexp.MustCompile(`\b(is|are|was|were) no [a-zA-Z]|[Tt]here is nothing to|\bhears? of\b|keeps? its word|nobody (knocks|knows)|` +
	`\bunlooked\b|\bunasked\b|takes? one way|\blast words\b|\bof no use\b|\bheeds?\b`)

// fine are the uses of "is no" that are plain.
var fine = regexp.MustCompile(`[Tt]here (is|are|was|were) no |(is|are|was|were) no (longer|more|less|other|later|earlier|greater|larger) `)

// files calls see for each text file of the repository whose name ends in one of the suffixes.
func files(t *testing.T, suffixes []string, see func(name, text string)) {
	t.Helper()
	n := 0
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := filepath.ToSlash(strings.TrimPrefix(path, filepath.FromSlash("../../")))
		if entry.IsDir() && (entry.Name() == "testdata" || name == ".git") {
			return filepath.SkipDir
		}
		if entry.IsDir() || strings.HasPrefix(name, "internal/house/") || !slices.Contains(suffixes, filepath.Ext(name)) {
			return nil
		}
		text, err := os.ReadFile(path)
		n++
		see(name, string(text))
		return err
	})
	if err != nil || n < 50 {
		t.Errorf("%d files, %v", n, err)
	}
}

func TestOneJobOnePlace(t *testing.T) {
	found := make([][]string, len(jobs))
	patterns := make([]*regexp.Regexp, len(jobs))
	for i, job := range jobs {
		patterns[i] = regexp.MustCompile(job.pattern)
	}
	files(t, []string{".go"}, func(name, text string) {
		if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "examples/") {
			return
		}
		for i, pattern := range patterns {
			if pattern.MatchString(text) {
				found[i] = append(found[i], name)
			}
		}
	})
	for i, job := range jobs {
		if !slices.Equal(found[i], job.files) {
			t.Errorf("%s: done in %q, want it in %q only; use or extend what is there", job.name, found[i], job.files)
		}
	}
}

func TestPlainEnglish(t *testing.T) {
	files(t, []string{".go", ".md"}, func(name, text string) {
		for i, line := range strings.Split(text, "\n") {
			if at := idioms.FindStringIndex(fine.ReplaceAllString(line, "")); at != nil {
				t.Errorf("%s:%d: write plainly, with the negation at the verb: %s", name, i+1, strings.TrimSpace(line))
			}
		}
	})
}
