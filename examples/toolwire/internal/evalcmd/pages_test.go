package evalcmd

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The rows of docs/datasets.md can be checked in the world of docs/worlds.md, and in the sample's.
func TestRowsOfThePages(t *testing.T) {
	blocks := func(name string) []string {
		page, err := os.ReadFile("../../../../docs/" + name)
		if err != nil {
			t.Fatal(err)
		}
		var list []string
		for _, block := range regexp.MustCompile("(?s)```json\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
			list = append(list, block[1])
		}
		return list
	}
	dir := t.TempDir()
	rows, world := filepath.Join(dir, "rows.jsonl"), filepath.Join(dir, "world.json")
	text := strings.Join(blocks("datasets.md"), "")
	worlds := blocks("worlds.md")
	if strings.Count(text, "\n") != 4 || len(worlds) != 1 {
		t.Fatalf("%d worlds, rows:\n%s", len(worlds), text)
	}
	for file, content := range map[string]string{rows: text, world: worlds[0]} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"-world", world}, {}} {
		var out, errs bytes.Buffer
		report := filepath.Join(dir, "report.json")
		if status := Run(t.Context(), append(args, "-dataset", rows, "-json", report), &out, &errs); status > 1 {
			t.Fatalf("%q: status %d\n%s%s", args, status, out.String(), errs.String())
		}
		var doc struct {
			Cases []struct{ Verdict string }
		}
		data, err := os.ReadFile(report)
		if err == nil {
			err = json.Unmarshal(data, &doc)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range doc.Cases {
			if c.Verdict != "passed" && c.Verdict != "failed" {
				t.Errorf("%q: %+v\n%s", args, doc.Cases, out.String())
			}
		}
		if want := "checked: says in 4, end_state in 2, calls in 1, no_calls in 1 of 4 rows"; !strings.Contains(out.String(), want) {
			t.Errorf("%q: %q is missing in\n%s", args, want, out.String())
		}
	}
}
