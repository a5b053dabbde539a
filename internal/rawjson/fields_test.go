package rawjson_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/toolwire/toolwire/internal/cost"
	"github.com/toolwire/toolwire/internal/rawjson"
)

// Every member is read, and everything that is wrong is named.
func TestReadFields(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{`{}`, "[]"},
		{`[]`, "[must be an object, not an array]"},
		{
			`{"text":"a","texts":["b"],"byName":{"c":"d"},"values":{"e":1},"is":true,"float":1.5,"count":2,"optional":3,` +
				`"bytes":"YQ==","at":"2026-11-21T20:15:00Z","raw":null}`,
			"[]",
		},
		{
			`{"text":1,"texts":"b","byName":{"c":1},"values":[],"is":"true","float":"1","count":2.5,"optional":"3","bytes":"*","at":"yesterday"}`,
			"[/text must be a string /texts must be a list of strings /byName must be an object of strings /values must be an object" +
				" /is must be true or false /float must be a number /count must be an integer /optional must be an integer" +
				" /bytes must be base64 /at must be a time such as 2026-11-21T20:15:00Z]",
		},
		{`{"text":null,"count":null}`, "[/text must be a string /count must be an integer]"},
		{`{"Text":"a"}`, "[Text is not a member; did you mean text?]"},
		{
			`{"nothing like it\u001b":"a"}`, `["nothing like it\x1b" is not a member; ` +
				`the members are at, byName, bytes, count, float, is, optional, raw, text, texts and 1 more]`,
		},
	} {
		var (
			text     string
			texts    []string
			byName   map[string]string
			values   map[string]json.RawMessage
			is       bool
			float    float64
			count    int
			optional *int64
			bytes    []byte
			at       time.Time
			raw      json.RawMessage
		)
		wrong := rawjson.ReadFields(json.RawMessage(tt.in), map[string]any{
			"text": &text, "texts": &texts, "byName": &byName, "values": &values, "is": &is, "float": &float, "count": &count,
			"optional": &optional, "bytes": &bytes, "at": &at, "raw": &raw,
		})
		if got := fmt.Sprint(wrong); got != tt.want {
			t.Errorf("%s: %s\nwant %s", tt.in, got, tt.want)
		}
		if raw != nil && (text != "a" || texts[0] != "b" || byName["c"] != "d" || string(values["e"]) != "1" || !is ||
			float != 1.5 || count != 2 || *optional != 3 || string(bytes) != "a" || at.Year() != 2026 || string(raw) != "null") {
			t.Errorf("%s: a member was not read", tt.in)
		}
	}
}

// A document of unknown members does not become an error many times its size.
func TestReadFieldsIsBounded(t *testing.T) {
	many := "{" + strings.Repeat(`"x":1,`, 1000) + `"y":1}`
	if wrong := rawjson.ReadFields(json.RawMessage(many), nil); len(wrong) != 101 || wrong[100].Error() != "has 901 more members that are not valid" {
		t.Errorf("%d errors: %v", len(wrong), wrong[len(wrong)-1])
	}
	many = "{" + strings.Repeat(`"x":1,`, 20_000) + `"y":1}` // those that are counted cost no search for a near name
	cost.Within(t, "ReadFields", len(many), 10, func() { rawjson.ReadFields(json.RawMessage(many), map[string]any{"near": new(int)}) })
}
