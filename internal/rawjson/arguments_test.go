package rawjson_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/toolwire/toolwire/internal/rawjson"
)

type order struct {
	ID     string `json:"id"`
	Amount int8   `json:"amount,omitempty"`
	Inner  struct {
		Level int `json:"level"`
	} `json:"inner,omitzero"`
	Share float32 `json:"share,omitempty"`
}

func TestEncode(t *testing.T) {
	for _, tt := range []struct {
		name string
		args any
		want string // or a part of the error, after "!"
	}{
		{"nil", nil, `{}`},
		{"struct", order{ID: "a"}, `{"id":"a"}`},
		{"nil pointer", (*order)(nil), `{}`},
		{"nil map", map[string]int(nil), `{}`},
		{"raw, byte for byte", json.RawMessage(` {"a" : 1.00} `), `{"a" : 1.00}`},
		{"bytes", []byte(`{"b":2}`), `{"b":2}`},
		{"blank raw", json.RawMessage(" \n"), `{}`},
		{"nil raw", json.RawMessage(nil), `{}`},
		{"list", []int{1}, "!a Go []int is not; pass a struct, a map, or JSON text as json.RawMessage"},
		{"text", "secret", "!a Go string is not"},
		{"raw list", json.RawMessage(`[1]`), "!must be an object, not an array"},
		{"raw null", json.RawMessage(` null `), "{}"},
		{"duplicate", json.RawMessage(`{"a":1,"a":2}`), "!/a"},
		{"deep", json.RawMessage(strings.Repeat(`{"a":`, 70) + "1" + strings.Repeat("}", 70)), "!64 levels"},
		{"deep Go value", map[string]any{"a": json.RawMessage(strings.Repeat("[", 70) + strings.Repeat("]", 70))},
			"!64 levels"},
		{"channel", map[string]any{"a": make(chan int)}, "!chan int, which JSON cannot carry"},
		{"NaN", map[string]any{"a": math.NaN()}, "!float64 that JSON cannot carry"},
		{"marshaler", map[string]any{"a": failing{}}, "!failing whose marshal method failed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := rawjson.EncodeArguments(tt.args, rawjson.Limits{Depth: 64})
			if part, fails := strings.CutPrefix(tt.want, "!"); fails {
				if err == nil || !strings.Contains(err.Error(), part) || strings.Contains(err.Error(), "secret") {
					t.Errorf("%s, error %v, want %q", got, err, part)
				}
			} else if err != nil || string(got) != tt.want {
				t.Errorf("%s, %v; want %s", got, err, tt.want)
			}
		})
	}
}

// accumulating counts how often it is decoded.
type accumulating []bool

func (a *accumulating) UnmarshalJSON([]byte) error {
	*a = append(*a, true)
	return nil
}

type failing struct{}

func (failing) MarshalJSON() ([]byte, error) { return nil, errors.New("secret") }

func TestDecode(t *testing.T) {
	if got, err := rawjson.Decode[order](json.RawMessage(`{"id":"a","amount":5}`), "the arguments"); err != nil ||
		got.ID != "a" || got.Amount != 5 {
		t.Errorf("%+v %v", got, err)
	}
	for raw, want := range map[string]string{
		`{"amount":300}`:           "/amount must be a whole number between -128 and 127",
		`{"inner":{"level":true}}`: "/inner/level must be a whole number between -9223372036854775808 and 9223372036854775807",
		`{"share":1e300}`:          "/share cannot be decoded from a JSON number into a Go float32",
		`[]`:                       "the arguments cannot be decoded from a JSON array into a Go rawjson_test.order",
	} {
		_, err := rawjson.Decode[order](json.RawMessage(raw), "the arguments")
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", raw, err, want)
		}
		if _, ok := errors.AsType[*json.UnmarshalTypeError](err); !ok {
			t.Errorf("%s: the cause is gone", raw)
		}
	}
}

// Every spelling of a whole number fits a Go integer, as it satisfies the type "integer".
func TestDecodeWholeNumbers(t *testing.T) {
	type numbers struct {
		I   int8
		U   uint64
		F   float64
		D   time.Duration
		P   *int64
		L   []int16
		M   map[string]uint8
		Raw json.RawMessage
		V   uint
		W   uintptr
		A   accumulating
	}
	for _, test := range []struct{ raw, want string }{
		{`{"I":3.0}`, ""}, {`{"I":1e1}`, ""}, {`{"I":-1.20E2}`, ""}, {`{"I":-0.0}`, ""}, {`{"I":0e99}`, ""}, {`{"I":1200e-2}`, ""},
		{`{"U":18446744073709551615.0,"D":-9223372036854775808.0}`, ""}, {`{"U":1.8446744073709551615e19}`, ""},
		{`{"P":10.0,"L":[1.0,2e0,-3],"M":{"a":2.5e2},"F":1.5}`, ""},
		{`{"I":127.5}`, "/I must be a whole number between -128 and 127"},
		{`{"I":1.28e2}`, "/I must be a whole number between -128 and 127"},
		{`{"V":-1}`, fmt.Sprint("/V must be a whole number between 0 and ", uint(math.MaxUint))},
		{`{"W":-1}`, fmt.Sprint("/W must be a whole number between 0 and ", uint(math.MaxUint))},
		{`{"U":-1.0}`, "/U must be a whole number between 0 and 18446744073709551615"},
		{`{"D":9223372036854775808.0}`, "/D must be a whole number between -9223372036854775808 and 9223372036854775807"},
		{`{"M":{"a":256.0}}`, "/M must be a whole number between 0 and 255"},
		{`{"I":1e400}`, "/I must be a whole number between -128 and 127"},
	} {
		got, err := rawjson.Decode[numbers](json.RawMessage(test.raw), "the arguments")
		// Go 1.27 names the entry of a map.
		if err == nil && test.want != "" || err != nil && strings.Replace(err.Error(), "/M/a ", "/M ", 1) != test.want {
			t.Errorf("%s: %v, want %q", test.raw, err, test.want)
		}
		if err == nil && got.I == 0 && got.U == 0 && got.P == nil && !strings.Contains(test.raw, "0.0") && !strings.Contains(test.raw, "0e99") {
			t.Errorf("%s: nothing was read", test.raw)
		}
	}
	twice, err := rawjson.Decode[numbers](json.RawMessage(`{"A":1,"I":1.0}`), "the arguments")
	if err != nil || len(twice.A) != 1 {
		t.Errorf("%+v, %v: values of the first attempt are left", twice, err)
	}
	got, err := rawjson.Decode[numbers](json.RawMessage(`{"I":1e1,"F":2.50,"P":9007199254740993.0,"Raw":{"s":"1.0 \"2.0","n":0.50}}`), "the arguments")
	if err != nil || got.I != 10 || got.F != 2.5 || *got.P != 9007199254740993 || string(got.Raw) != `{"s":"1.0 \"2.0","n":0.50}` {
		t.Errorf("%+v, %v", got, err)
	}
}

// appending is a type whose UnmarshalJSON does not forget what it has read before.
type appending []string

func (a *appending) UnmarshalJSON(text []byte) error { *a = append(*a, string(text)); return nil }

func TestDecodeReadsIntoAnEmptyValue(t *testing.T) {
	type value struct {
		Texts appending
		N     int
	}
	got, err := rawjson.Decode[value](json.RawMessage(`{"Texts":1,"N":3.0}`), "the arguments")
	if err != nil || got.N != 3 || len(got.Texts) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := rawjson.Decode[value](json.RawMessage(`{"Texts":1,"N":3.5}`), "the arguments"); err == nil || got.Texts != nil {
		t.Errorf("%+v, %v", got, err)
	}
}

// hidden is a struct that reads its members itself.
type hidden struct{ Text string }

func (h *hidden) UnmarshalJSON(text []byte) error { h.Text = string(text); return nil }

func TestNamesOfFieldsAreExact(t *testing.T) {
	type level struct {
		High bool `json:"high,omitempty"`
		Low  int
	}
	type Base struct {
		Model string `json:"model"`
		Shown string `json:"-"`
	}
	type Scale int
	type Ratio int
	type Outer struct {
		Unit string `json:"unit"`
	}
	type Tagged struct{ Size int }
	type knobs struct {
		Base
		*Outer
		Scale
		*Ratio
		Tagged `json:"tagged"`
		Level  *level            `json:"level"`
		Levels []level           `json:"levels"`
		ByName map[string]*level `json:"by_name"`
		Pair   [2]level          `json:"pair"`
		Twice  **level           `json:"twice"`
		Own    hidden            `json:"own"`
		Any    any               `json:"any"`
		Two    int               `json:"two"`
		TWO    int               `json:"TWO"`
	}
	for raw, want := range map[string]string{
		`{}`: "",
		`{"model":"m","level":{"high":true,"Low":1},"levels":[{"high":true}],"by_name":{"X":{"Low":2}},"pair":[{"Low":3}],"two":1,"TWO":2}`: "",
		`{"unit":"x","Scale":3,"Ratio":2}`:                  "",
		`{"tagged":{"Size":1},"twice":{"Low":1}}`:           "",
		`{"own":{"TEXT":1},"any":{"Model":1},"level":null}`: "",

		`{"scale":1}`:                     `"scale" must be spelled "Scale"; names are case-sensitive`,
		`{"ratio":1}`:                     `"ratio" must be spelled "Ratio"; names are case-sensitive`,
		`{"Tagged":{}}`:                   `"Tagged" must be spelled "tagged"; names are case-sensitive`,
		`{"twice":{"low":1}}`:             `"low" must be spelled "Low"; names are case-sensitive`,
		`{"UNIT":"x"}`:                    `"UNIT" must be spelled "unit"; names are case-sensitive`,
		`{"Model":"m"}`:                   `"Model" must be spelled "model"; names are case-sensitive`,
		`{"level":{"low":1}}`:             `"low" must be spelled "Low"; names are case-sensitive`,
		`{"levels":[{},{"High":true}]}`:   `"High" must be spelled "high"; names are case-sensitive`,
		`{"by_name":{"a":{"HIGH":true}}}`: `"HIGH" must be spelled "high"; names are case-sensitive`,
		`{"pair":[{},{"LOW":1}]}`:         `"LOW" must be spelled "Low"; names are case-sensitive`,
		`{"Two":1}`:                       `"Two" must be spelled "TWO"; names are case-sensitive`,
	} {
		err := rawjson.CheckNames(json.RawMessage(raw), &knobs{})
		if err == nil && want != "" || err != nil && err.Problem != want {
			t.Errorf("%s: %v, want %q", raw, err, want)
		}
	}
}
