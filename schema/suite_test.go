package schema_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/schema"
)

// suites is the directory of the public conformance suites, which are not part of the project.
func suites(t testing.TB, name string) string {
	t.Helper()
	root := os.Getenv("TOOLWIRE_SUITES")
	if root == "" {
		root = filepath.Join("..", "..", "shared", "suites")
	}
	dir := filepath.Join(root, name)
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("the %s conformance suite is not here: set TOOLWIRE_SUITES to the folder that has it", name)
	}
	return dir
}

// TestSuite runs every required case of the JSON Schema test suite.
func TestSuite(t *testing.T) {
	dir := suites(t, "json-schema")
	remotes := remoteSchemas(t, filepath.Join(dir, "remotes"))
	for _, draft := range []struct {
		name, url string
		least     int
	}{
		{"draft2020-12", "https://json-schema.org/draft/2020-12/schema", 1299},
		{"draft7", "http://json-schema.org/draft-07/schema#", 927},
	} {
		t.Run(draft.name, func(t *testing.T) {
			files, err := filepath.Glob(filepath.Join(dir, draft.name, "*.json"))
			if err != nil {
				t.Fatal(err)
			}
			ran := 0
			for _, file := range files {
				ran += suiteFile(t, file, draft.url, remotes)
			}
			if ran < draft.least {
				t.Errorf("ran %d cases, want at least %d", ran, draft.least)
			}
		})
	}
}

func suiteFile(t *testing.T, file, draft string, remotes map[string]json.RawMessage) (ran int) {
	var groups []struct {
		Description string
		Schema      json.RawMessage
		Tests       []struct {
			Description string
			Data        json.RawMessage
			Valid       bool
		}
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &groups); err != nil {
		t.Fatal(err)
	}
	for _, g := range groups {
		where := filepath.Base(file) + ": " + g.Description
		v, err := schema.Compile(withDraft(g.Schema, draft), &schema.CompileOptions{Resources: remotes})
		if err != nil {
			t.Errorf("%s: %v", where, err)
			continue
		}
		// With few steps most documents are rejected unchecked. That must not change another verdict.
		frugal, err := schema.CompileWithSteps(withDraft(g.Schema, draft), &schema.CompileOptions{Resources: remotes}, 12)
		if err != nil {
			t.Errorf("%s: %v", where, err)
			continue
		}
		for _, test := range g.Tests {
			ran++
			if err := frugal.Validate(test.Data); (err == nil) != test.Valid {
				if e, ok := errors.AsType[*toolwire.Error](err); !ok || e.Code != toolwire.CodeLimit {
					t.Errorf("%s: %s: with few steps: %v", where, test.Description, err)
				}
			}
			if err := v.Validate(test.Data); (err == nil) != test.Valid {
				t.Errorf("%s: %s: valid = %v, want %v (%v)", where, test.Description, err == nil, test.Valid, err)
			}
		}
	}
	return ran
}

// withDraft names the draft if the schema does not; the suite implies it by the directory.
func withDraft(raw json.RawMessage, draft string) json.RawMessage {
	text := strings.TrimSpace(string(raw))
	if !strings.HasPrefix(text, "{") || strings.Contains(text, `"$schema"`) {
		return raw
	}
	if rest := strings.TrimSpace(text[1:]); rest == "}" {
		return json.RawMessage(`{"$schema":"` + draft + `"}`)
	}
	return json.RawMessage(`{"$schema":"` + draft + `",` + text[1:])
}

func remoteSchemas(t *testing.T, dir string) map[string]json.RawMessage {
	remotes := map[string]json.RawMessage{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if strings.HasPrefix(filepath.ToSlash(rel), "draft7/") {
			raw = withDraft(raw, "http://json-schema.org/draft-07/schema#")
		}
		remotes["http://localhost:1234/"+filepath.ToSlash(rel)] = raw
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return remotes
}
