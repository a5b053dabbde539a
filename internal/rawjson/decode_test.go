package rawjson_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/toolwire/toolwire/internal/rawjson"
)

type ownPart struct {
	Number int `json:"number"`
}

type ownDocument struct {
	Name  string             `json:"name"`
	Parts []ownPart          `json:"parts"`
	Named map[string]ownPart `json:"named"`
	Other any                `json:"other"`
	At    *time.Time         `json:"at"`
	Left  string             `json:"-"`
	ownPart
}

func TestDecodeOwn(t *testing.T) {
	for doc, want := range map[string]string{
		`{"name":"a","parts":[{"number":1}],"named":{"x":{"number":2}},"number":3,"at":"2026-01-01T00:00:00Z"}`: "",
		`{"later":{"name":1,"Name":2},"later":1,"Left":"x","-":1}`:                                              "",
		`{"other":{"a":1,"a":2,"A":"\ud83d"}}`:                                                                  "",
		`{"parts":null,"named":null,"at":null}`:                                                                 "",
		`{"name":"a","Name":"b"}`:                                                                               `"Name" must be spelled "name"; names are case-sensitive`,
		`{"\u004eame":"b"}`:                                                                                     `"Name" must be spelled "name"; names are case-sensitive`,
		`{"name":"a","n\u0061me":"b"}`:                                                                          "/name occurs twice",
		`{"number":1,"number":1}`:                                                                               "/number occurs twice",
		`{"parts":[{},{"Number":1}]}`:                                                                           `/parts/1 "Number" must be spelled "number"`,
		`{"named":{"x/y":{"number":1,"number":1}}}`:                                                             "/named/x~1y/number occurs twice",
		`{"named":{"x":{},"x":{}}}`:                                                                             "/named/x occurs twice",
		"{\"name\":\"\xff\"}":                                                                                   "invalid UTF-8",
		`{"name":"a"} {}`:                                                                                       "after top-level value",
		`{"name":1}`:                                                                                            "cannot unmarshal number",
	} {
		var got ownDocument
		err := rawjson.DecodeOwn([]byte(doc), &got)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", doc, err, want)
		}
		if bad, is := errors.AsType[*rawjson.Error](err); strings.Contains(want, "twice") && !(is && bad.Ambiguous) {
			t.Errorf("%s: %v is not ambiguous", doc, err)
		}
	}
}
