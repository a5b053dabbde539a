package pages

import (
	"os"
	"regexp"
	"testing"

	"github.com/toolwire/toolwire/manifest"
)

// The manifest of docs/tools.md is valid, and Lint finds nothing in it.
func TestManifestOfThePage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/tools.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```json\n(.*?)```").FindSubmatch(page)
	if block == nil {
		t.Fatal("the page shows no manifest")
	}
	m, err := manifest.Parse(block[1], &manifest.Options{Dir: "/srv/agent"})
	if err != nil {
		t.Fatal(err)
	}
	if problems := m.Lint(); len(problems) > 0 {
		t.Error(problems)
	}
}
