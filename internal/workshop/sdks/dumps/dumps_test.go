// Package dumps tests tool lists that frameworks of other languages print.
package dumps

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/toolwire/toolwire/schema"
)

// dumped is what dumps.mjs prints.
type dumped struct {
	Lists  map[string]json.RawMessage `json:"lists"`
	Text   json.RawMessage            `json:"text"`
	Raw    json.RawMessage            `json:"objects"`
	Zod    json.RawMessage            `json:"zod"`
	Judged []struct {
		Args  json.RawMessage `json:"args"`
		Valid bool            `json:"valid"`
	} `json:"judged"`
}

// dump runs dumps.mjs with the packages of NODE_PATH. Node looks for packages beside a module only.
func dump(t *testing.T) (d dumped) {
	packages := os.Getenv("NODE_PATH")
	for _, name := range []string{"@langchain/core", "@strands-agents/sdk", "zod"} {
		if _, err := os.Stat(filepath.Join(packages, name)); packages == "" || err != nil {
			t.Skipf("NODE_PATH has no package %s; .ci/nightly dumps installs it", name)
		}
	}
	script, err := os.ReadFile("dumps.mjs")
	if err != nil {
		t.Fatal(err)
	}
	beside := filepath.Join(filepath.Dir(packages), "dumps.mjs")
	if err := os.WriteFile(beside, script, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(beside) })
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "node", beside)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.Bytes())
	}
	if err := json.Unmarshal(out, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestToolListsOfFrameworks(t *testing.T) {
	d := dump(t)
	for name, list := range d.Lists {
		t.Run(name, func(t *testing.T) {
			tools, format, err := schema.Import(list, "")
			if err != nil || len(tools) != 2 || tools[0].Name != "track" || tools[1].Name != "find" {
				t.Fatalf("%s: %+v, %v", format, tools, err)
			}
			set, err := schema.NewSet(t.Context(), tools, nil)
			if err != nil || len(set.Unchecked()) > 0 {
				t.Fatalf("%v, unchecked %v", err, set.Unchecked())
			}
			for _, one := range d.Judged {
				if err := set.ValidateArguments("track", one.Args); (err == nil) != one.Valid {
					t.Errorf("%s: %v, but zod says valid %t", one.Args, err, one.Valid)
				}
			}
			for _, p := range schema.Lint(tools, nil) {
				if p.Code != "property_undescribed" && p.Code != "type_list" {
					t.Error(p)
				}
			}
		})
	}
	if tools, _, err := schema.Import(d.Text, ""); err != nil || len(tools) != 1 || tools[0].Name != "ask" {
		t.Errorf("a tool for text: %+v, %v", tools, err)
	}
	// What has no schema in it is not taken for tools.
	if tools, _, err := schema.Import(d.Raw, ""); err == nil || len(tools) > 0 {
		t.Errorf("objects of LangChain: %+v, %v", tools, err)
	}
	tools, _, err := schema.Import(d.Zod, "")
	if err != nil {
		t.Fatal(err)
	}
	if unchecked, err := schema.Validate(t.Context(), tools, nil); err != nil || len(unchecked) != 1 || unchecked[0].Code != "schema_no_keyword" {
		t.Errorf("objects of zod: %v, %v", unchecked, err)
	}
}
