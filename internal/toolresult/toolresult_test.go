package toolresult_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/internal/toolresult"
)

func TestArguments(t *testing.T) {
	for _, tt := range []struct {
		args any
		want string
		ok   bool
	}{
		{nil, "", true}, {`{"a":1}`, `{"a":1}`, true}, {[]byte(`{`), `{`, true}, {json.RawMessage(` `), ` `, true},
		{map[string]int{"a": 1}, "", false}, {7, "", false},
	} {
		if text, ok := toolresult.Arguments(tt.args); string(text) != tt.want || ok != tt.ok {
			t.Errorf("%v: %q, %t", tt.args, text, ok)
		}
	}
}

func TestForModel(t *testing.T) {
	for result, want := range map[string]string{
		`"Created contact: \"Ada\"\nnext"`: "Created contact: \"Ada\"\nnext", ` "a,b\n1,\"2\"\n" `: "a,b\n1,\"2\"\n",
		`"{\"status\":\"shipped\"}"`: `{"status":"shipped"}`, `"\ud83d\ude00 \ud800"`: "😀 \ufffd",
		`{"a": 1.0}`: `{"a": 1.0}`, `["x"]`: `["x"]`, `-1.50`: `-1.50`, `null`: `null`, `true`: `true`,
		`""`: `""`, `" \n"`: `" \n"`, ``: ``,
	} {
		for _, failed := range []bool{false, true} {
			got := toolresult.ForModel(json.RawMessage(result), failed)
			if got.Text != want || string(got.JSON) != result || got.Failed != failed {
				t.Errorf("%s: %+v, want %s", result, got, want)
			}
		}
	}
}

func TestFailure(t *testing.T) {
	for _, tt := range []struct {
		code, detail string
		tools        []string
		want         string
	}{
		{"timeout", "", nil, `{"error":"timeout"}`},
		{"x", "a < b \xff", nil, `{"error":"x","detail":"a < b �"}`},
		{"x", "d", []string{"a", "b"}, `{"error":"x","detail":"d","tools":["a","b"]}`},
	} {
		if got := toolresult.Failure(tt.code, tt.detail, tt.tools); string(got) != tt.want {
			t.Errorf("%s, want %s", got, tt.want)
		}
	}
	var large struct {
		Detail string
		Tools  []string
	}
	raw := toolresult.Failure("x", strings.Repeat("é", 5000), make([]string, 500))
	if err := json.Unmarshal(raw, &large); err != nil || len(large.Detail) > 4<<10 || len(large.Tools) != 100 || strings.Contains(large.Detail, "\ufffd") {
		t.Errorf("%v: a detail of %d bytes, %d tools", err, len(large.Detail), len(large.Tools))
	}
	if got := toolresult.NoTool("a\"\n" + strings.Repeat("x", 500)); !strings.HasPrefix(got, `there is no tool "a\"\nxx`) || len(got) > 300 {
		t.Error(got)
	}
}

func TestFailed(t *testing.T) {
	for result, want := range map[string]bool{
		`{"error":"x"}`: true, `{"\u0065rror":{"a":1}}`: true, `{"error":1}`: true, `{"error":-0.5}`: true, `{"error":[0]}`: true, `{"error":{"a":null}}`: true, `{"error":"none"}`: true,
		`{"a":1,"error":0}`: false, `{"error":-0.0}`: false, `{"error":0e5}`: false, `{"error":[ ]}`: false, `{"error": { }}`: false, `{"error":true}`: true,
		`{"error":null}`: false, `{"error":false}`: false, `{"error":""}`: false, `{"a":{"error":"x"}}`: false,
		`["error"]`: false, `"error"`: false, `{}`: false, ``: false,
	} {
		if got := toolresult.Failed(json.RawMessage(result)); got != want {
			t.Errorf("%s: %t", result, got)
		}
	}
}

func TestNameFault(t *testing.T) {
	long := strings.Repeat("a", 128)
	for name, want := range map[string]int{
		"a": -1, "Z": -1, "_": -1, "_9-z": -1, long: -1,
		"": 0, "9a": 0, "-a": 0, "a b": 1, "a.b": 1, "aé": 1, "a\x00": 1, "a\xff": 1, long + "a": 128, long + "é": 128,
	} {
		if got := toolresult.NameFault(name); got != want {
			t.Errorf("%q: %d, want %d", name, got, want)
		}
	}
}

func TestErrorsForModels(t *testing.T) {
	cause := errors.New("cause")
	made := toolresult.Errorf("ask for less: %w", cause)
	for _, tt := range []struct {
		err  error
		want string // "" if the text is private
	}{
		{made, "ask for less: cause"}, {fmt.Errorf("private: %w", made), "ask for less: cause"},
		{errors.Join(cause, made), "ask for less: cause"}, {cause, ""}, {nil, ""},
	} {
		if text, ok := toolresult.TextOf(tt.err); text != tt.want || ok != (tt.want != "") {
			t.Errorf("%v: %q, %t; want %q", tt.err, text, ok, tt.want)
		}
	}
	if !errors.Is(made, cause) {
		t.Error("the operand of %w is lost")
	}
}
