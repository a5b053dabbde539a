package manifest_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/manifest"
	"github.com/toolwire/toolwire/schema"
)

const exported = `{"tools":[
	{"name":"zulu","description":"Last <name>, first tool.","schema":{"type":"object", "properties":{"n":{"const":1.00}}},"command":["PROGRAM","--key=k"],"envPassthrough":["TZ"]},
	{"name":"alpha","command":["PROGRAM"],"timeoutSec":3}]}`

func loadExported(t *testing.T) *manifest.Manifest {
	t.Helper()
	doc := []byte(strings.ReplaceAll(exported, `"PROGRAM"`, quote(absProgram)))
	m, err := manifest.Parse(doc, nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// The documented mapping to tools of OpenAI.
func TestToolsForOpenAI(t *testing.T) {
	m := loadExported(t)
	got, losses, err := schema.Export(m.Tools(), schema.OpenAIChat)
	want := `[{"type":"function","function":{"name":"zulu","description":"Last <name>, first tool.","parameters":{"type":"object", "properties":{"n":{"const":1.00}}}}},` +
		`{"type":"function","function":{"name":"alpha","parameters":{"type":"object","properties":{}}}}]`
	if err != nil || len(losses) > 0 || string(got) != want {
		t.Errorf("got  %s, %v, %v\nwant %s", got, losses, err, want)
	}
}

func TestTools(t *testing.T) {
	m := loadExported(t)
	list := m.Tools()
	if _, err := schema.Validate(t.Context(), list, nil); err != nil {
		t.Errorf("the platform would reject the tools: %v", err)
	}
	got, err := json.Marshal(list)
	want := `[{"name":"zulu","description":"Last \u003cname\u003e, first tool.","input_schema":{"type":"object","properties":{"n":{"const":1.00}}}},` +
		`{"name":"alpha","input_schema":{"type":"object","properties":{}}}]`
	if err != nil || string(got) != want {
		t.Errorf("got  %s, %v\nwant %s", got, err, want)
	}
	list[0].InputSchema[0] = 'x'
	if again := m.Tools(); again[0].InputSchema[0] != '{' {
		t.Error("a caller changed the manifest")
	}
}
