package rawjson_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/strictjson"
)

type order struct {
	ID     string `json:"id"`
	Amount int8   `json:"amount,omitempty"`
	Inner  struct {
		Level int `json:"level"`
	} `json:"inner,omitzero"`
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
		{"list", []int{1}, "!a Go []int is not"},
		{"text", "secret", "!a Go string is not"},
		{"raw list", json.RawMessage(`[1]`), "!must be an object, not an array"},
		{"raw null", json.RawMessage(`null`), "!must be an object, not null"},
		{"duplicate", json.RawMessage(`{"a":1,"a":2}`), "!/a"},
		{"deep", json.RawMessage(strings.Repeat(`{"a":`, 70) + "1" + strings.Repeat("}", 70)), "!64 levels"},
		{"deep Go value", map[string]any{"a": json.RawMessage(strings.Repeat("[", 70) + strings.Repeat("]", 70))},
			"!64 levels"},
		{"channel", map[string]any{"a": make(chan int)}, "!chan int, which JSON cannot carry"},
		{"NaN", map[string]any{"a": math.NaN()}, "!float64 that JSON cannot carry"},
		{"marshaler", map[string]any{"a": failing{}}, "!failing whose marshal method failed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := rawjson.EncodeArguments(tt.args, strictjson.Limits{Depth: 64})
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

type failing struct{}

func (failing) MarshalJSON() ([]byte, error) { return nil, errors.New("secret") }

func TestDecode(t *testing.T) {
	if got, err := rawjson.DecodeArguments[order](json.RawMessage(`{"id":"a","amount":5}`)); err != nil ||
		got.ID != "a" || got.Amount != 5 {
		t.Errorf("%+v %v", got, err)
	}
	for raw, want := range map[string]string{
		`{"amount":300}`:           "/amount is a JSON number that does not fit a Go int8",
		`{"inner":{"level":true}}`: "/inner/level is a JSON bool that does not fit a Go int",
		`[]`:                       "the arguments are a JSON array that does not fit a Go rawjson_test.order",
	} {
		_, err := rawjson.DecodeArguments[order](json.RawMessage(raw))
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", raw, err, want)
		}
		if _, ok := errors.AsType[*json.UnmarshalTypeError](err); !ok {
			t.Errorf("%s: the cause is gone", raw)
		}
	}
}
