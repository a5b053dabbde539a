package manifest_test

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/internal/cost"
	"github.com/toolwire/toolwire/manifest"
)

// FuzzParse checks that Parse returns either a manifest that agrees with encoding/json or a typed
// error whose problems have places.
func FuzzParse(f *testing.F) {
	for _, doc := range []string{
		`{}`, `null`, `{"tools":null}`, `[]`, ``, "\ufeff{}", `{"tools":[null]}`,
		`{"tools":[{"name":"get_time","description":"d","schema":{"type":"object","properties":{"tz":{"type":"string"}},"required":["tz"]},
		  "command":["./tools/bin/get_time","-v"],"timeoutSec":5,"envPassthrough":["TZ","tz"," oai_http_timeout "]}]}`,
		`{"tools":[{"name":"a","command":["./tools/bin/../hack"]},{"name":"a","command":[]},{"command":["..\\x"]}]}`,
		`{"tools":[{"name":"a","command":["/x"],"timeoutSec":-1,"schema":[]},{"NAME":"b","envPassthrough":[1,"","1BAD"]}]}`,
		`{"tools":[{"name":"a","command":["/x"],"timeoutSec":1e3,"timeout":1}],"x":[{}]}`,
		`{"tools":[{"name":"a","command":["/x"]}]}`,
		`{"tools":[{"name":"\ud800","command":["/x"]}]}`,
		`{"name":"a","command":["./tools/bin/a"],"schema":{"type":"object"},"envPassthrough":["TZ"]}`, // one of a list
	} {
		f.Add([]byte(doc))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, doc []byte) {
		cost.Linear(t, "Parse", doc, cost.List(`{"tools":[`, doc, `]}`), func(doc []byte) {
			if m, err := manifest.Parse(doc, &manifest.Options{Dir: dir}); err == nil {
				m.Lint()
			} else {
				_ = err.Error()
			}
		})
		m, err := manifest.Parse(doc, &manifest.Options{Dir: dir})
		if err != nil {
			e, ok := errors.AsType[*manifest.Error](err)
			if !ok || m != nil || e.Error() == "" || (e.Code == "invalid_manifest") != (len(e.Problems) > 0) {
				t.Fatalf("%T: %v", err, err)
			}
			last := 0
			for _, p := range e.Problems {
				token, _, _ := strings.Cut(strings.TrimPrefix(p.Pointer, "/tools/"), "/")
				index, err := strconv.Atoi(token)
				if err != nil || index < last || p.Code == "" || p.Message == "" {
					t.Fatalf("problem %+v after one of tool %d", p, last)
				}
				last = index
			}
			return
		}
		var std struct {
			Tools []struct {
				Name, Description string
				Command           []string
				TimeoutSec        int
				Schema            json.RawMessage
			}
		}
		if err := json.Unmarshal(doc, &std); err != nil {
			t.Fatalf("accepted what encoding/json rejects: %v", err)
		}
		list := m.Tools()
		if len(list) != len(std.Tools) {
			t.Fatalf("%d tools, encoding/json sees %d", len(list), len(std.Tools))
		}
		if _, err := json.Marshal(list); err != nil {
			t.Fatal(err)
		}
		for i, want := range std.Tools {
			if want.Schema == nil {
				want.Schema = json.RawMessage(`{"type":"object","properties":{}}`)
			}
			if got := list[i]; got.Name != want.Name || got.Description != want.Description ||
				string(got.InputSchema) != string(want.Schema) {
				t.Fatalf("tool %d: %+v, encoding/json sees %+v", i, got, want)
			}
			argv, _, timeout := m.Resolved(want.Name)
			if !filepath.IsAbs(argv[0]) || timeout <= 0 || len(argv) != len(want.Command) {
				t.Fatalf("tool %d: %q, %v", i, argv, timeout)
			}
			if want.Command[0] != argv[0] && !strings.HasPrefix(argv[0], filepath.Join(dir, "tools", "bin")+
				string(filepath.Separator)) {
				t.Fatalf("tool %d: %q leads out of tools/bin, to %q", i, want.Command[0], argv[0])
			}
		}
		m.Lint()
	})
}
