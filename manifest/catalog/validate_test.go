package catalog_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/manifest/catalog"
)

// rules returns the field and the rule of every problem.
func rules(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	e, ok := errors.AsType[*toolwire.Error](err)
	if !ok || e.Code != "invalid_tool" {
		t.Fatalf("the error is %v", err)
	}
	var all []string
	for _, p := range e.Problems {
		all = append(all, strings.TrimPrefix(p.Pointer, "/")+":"+p.Code)
	}
	return strings.Join(all, " ")
}

func TestValidate(t *testing.T) {
	good := catalog.Tool{Name: "basic-calculator", Framework: catalog.LangChain, Type: catalog.Custom}
	with := func(change func(*catalog.Tool)) catalog.Tool {
		tool := good
		change(&tool)
		return tool
	}
	for _, test := range []struct {
		name string
		tool catalog.Tool
		want string
	}{
		{"minimal", good, ""},
		{"full", catalog.Tool{Name: "a b", Framework: catalog.GoogleADK, Type: catalog.Native,
			AccountID:   strings.ToUpper(account),
			Description: strings.Repeat("long\n", 1e5), Tags: []string{"", "a,b"}, Version: "not semver"}, ""},
		{"nothing", catalog.Tool{}, "name:missing framework:missing tool_type:missing"},
		{"everything", catalog.Tool{Name: "\t", Framework: "x", Type: "x", AccountID: "x", Description: "\xff",
			Tags: []string{"\xff"}, Version: "\xff"},
			"name:text framework:enum tool_type:enum account_id:uuid description:text tags:text version:text"},
		{"half characters", with(func(t *catalog.Tool) { t.Tags = []string{"\xe2\x82", "\xac"} }), "tags:text"},
		{"control character", with(func(t *catalog.Tool) { t.Name = "a\x00b" }), "name:text"},
		{"enums are exact", with(func(t *catalog.Tool) { t.Framework = "Langchain"; t.Type = "custom " }),
			"framework:enum tool_type:enum"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := rules(t, test.tool.Validate()); got != test.want {
				t.Errorf("the problems are %s, want %s", got, test.want)
			}
		})
	}

	if got := rules(t, catalog.Patch{}.Validate()); got != "" {
		t.Error(got)
	}
	if got := rules(t, catalog.Patch{Version: new("\n"), Name: new("")}.Validate()); got != "name:text version:text" {
		t.Error(got)
	}
	err := catalog.Tool{Name: "secret-name", Framework: "secret-value", Type: catalog.Custom,
		AccountID: "secret-id"}.Validate()
	if text := err.Error(); strings.Contains(text, "secret-value") || strings.Contains(text,
		"secret-id") || !strings.Contains(text, "secret-name") {
		t.Errorf("the error must name the tool and no other values: %s", text)
	}
}

func TestParse(t *testing.T) {
	for _, test := range []struct {
		name, doc string
		tool      *catalog.Tool // nil if it is rejected
		problems  string        // of reading the tool, or else of Validate
		patch     string        // as it is written; or its problems
	}{
		{"minimal", minimal, &catalog.Tool{Name: "basic-calculator", Framework: catalog.LangChain, Type: catalog.Custom}, "",
			minimal},
		{"alias", `{"type":"native","framework":"langgraph","name":"a"}`,
			&catalog.Tool{Name: "a", Framework: catalog.LangGraph,
				Type: catalog.Native}, "",
			`{"name":"a","framework":"langgraph","tool_type":"native"}`},
		{"both names agree", `{"type":"native","tool_type":"native"}`, nil, "name:missing framework:missing",
			`{"tool_type":"native"}`},
		{"both names disagree", `{"type":"native","tool_type":"custom"}`, nil, "tool_type:clash",
			"tool_type:clash"},
		{"tags as text", `{"tags":" a ,b,, c d "}`, nil, "name:missing framework:missing tool_type:missing",
			`{"tags":["a","b","c d"]}`},
		{"tags as a list", `{"tags":["a ,b",""]}`, nil, "name:missing framework:missing tool_type:missing",
			`{"tags":["a ,b",""]}`},
		{"tags of a wrong type", `{"tags":{"a":1}}`, nil, "tags:type", "tags:type"},
		{"null", `{"name":null,"framework":null,"type":null,"tags":null,"version":null}`, nil,
			"name:type framework:type tool_type:type", "name:type framework:type tool_type:type"},
		{"cleared", `{"description":null,"tags":null}`, nil, "name:missing framework:missing tool_type:missing",
			`{"description":"","tags":null}`},
		{"a null tag", `{"tags":["a",null]}`, nil, "tags:type", "tags:type"},
		{"wrong types", `{"name":1,"framework":true,"version":2.0}`, nil, "name:type framework:type version:type",
			"name:type framework:type version:type"},
		{"unknown members", `{"created_at":1,"metadata":{"Name":1},"version":"1"}`, nil,
			"name:missing framework:missing tool_type:missing", `{"version":"1"}`},
		{"twice", `{"version":"1","version":"1"}`, nil, ":json", ":json"},
		{"escaped twice", `{"version":"1","\u0076ersion":"1"}`, nil, ":json", ":json"},
		{"another case", `{"Version":"1"}`, nil, ":json", ":json"},
		{"not UTF-8", "{\"version\":\"\xff\"}", nil, ":json", ":json"},
		{"two values", `{} {}`, nil, ":json", ":json"},
		{"nothing", ``, nil, ":json", ":json"},
		{"no object", `"a"`, nil, ":json", ":json"},
		{"deep", `{"a":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`, nil, ":json", ":json"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var tool catalog.Tool
			err := tool.UnmarshalJSON([]byte(test.doc))
			if err == nil {
				err = tool.Validate()
			}
			if got := rules(t, err); got != test.problems || test.tool != nil && !reflect.DeepEqual(tool, *test.tool) {
				t.Errorf("the tool is %+v, %v", tool, err)
			}
			var patch catalog.Patch
			err = patch.UnmarshalJSON([]byte(test.doc))
			if err == nil {
				err = patch.Validate()
			}
			written, _ := json.Marshal(patch) // texts and lists of them
			if err != nil {
				written = []byte(rules(t, err))
			}
			if string(written) != test.patch {
				t.Errorf("the patch is %s, want %s", written, test.patch)
			}
			var read catalog.Patch
			if again := json.Unmarshal([]byte(test.doc), &read); (again == nil) != (err == nil) || err == nil &&
				!reflect.DeepEqual(read, patch) {
				t.Errorf("json.Unmarshal gives %+v, %v, want %+v, %v", read, again, patch, err)
			}
		})
	}
}

func TestRoundTrip(t *testing.T) {
	const item = `{"id":"00000000-0000-4000-8000-000000000000","name":"a","framework":"langchain","tool_type":"custom","account_id":"b",` +
		`"description":"c","tags":["d"],"version":"e","plugin_class_name":"f","module_name":"g","script_content":"h"}`
	var read catalog.ListItem
	if err := json.Unmarshal([]byte(item), &read); err != nil {
		t.Fatal(err)
	}
	if written, err := json.Marshal(read); err != nil || string(written) != item {
		t.Errorf("an item is written as %s, %v", written, err)
	}
	for _, redacted := range []string{`{"id":"x"}`, `{"id":"x","script_content":null}`, `{"id":"x","script_content":""}`} {
		if err := json.Unmarshal([]byte(redacted), &read); err != nil || !reflect.DeepEqual(read, catalog.ListItem{ID: "x"}) {
			t.Errorf("%s is read as %+v, %v", redacted, read, err)
		}
	}
	var tool catalog.Tool
	if err := json.Unmarshal([]byte(item), &tool); err != nil || tool.Version != "e" {
		t.Errorf("an item is read as the tool %+v, %v", tool, err)
	}
	for _, bad := range []string{`{"name":1}`, `{"Name":"a"}`, `[]`} {
		if json.Unmarshal([]byte(bad), &tool) == nil || json.Unmarshal([]byte(bad), &read) == nil ||
			json.Unmarshal([]byte(bad),
				new(catalog.Patch)) == nil {
			t.Errorf("%s is read", bad)
		}
	}
	if tool.Version != "e" || read.ID != "x" {
		t.Error("a failed read changed the value")
	}
}

// FuzzParse checks that encoding/json reads the same from every document that the strict reader
// accepts.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{minimal, `{"type":"x","tags":"a,b"}`, `{"tags":["a",null],"name":null}`,
		`{"name":"a","framework":"langgraph","tool_type":"native","tags":null,"version":"\ud800"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		var tool catalog.Tool
		if err := tool.UnmarshalJSON(doc); err != nil {
			rules(t, err)
			return
		}
		var plain struct {
			Name, Description, Version string
		}
		if err := json.Unmarshal(doc, &plain); err != nil || plain.Name != tool.Name ||
			plain.Description != tool.Description || plain.Version != tool.Version {
			t.Fatalf("encoding/json reads %+v, %v; this package %+v", plain, err, tool)
		}
		written, err := json.Marshal(tool)
		if err != nil {
			t.Fatal(err)
		}
		var again catalog.Tool
		err = json.Unmarshal(written, &again)
		if err != nil || len(tool.Tags) != len(again.Tags) || again.Name != tool.Name {
			t.Fatalf("what was written is read as %+v, %v, instead of %+v", again, err, tool)
		}
	})
}
