package eval_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/eval"
)

// Whoever writes into a file of results, two readers take the same verdict from it.
func TestResultsAreReadExactly(t *testing.T) {
	file := filepath.Join(t.TempDir(), "results.jsonl")
	run(t, obedient, casesOf(t, csvOf("say a", "say b", "fail"), dispatchtest.Task{}), &eval.Options{ResultsFile: file, Parallel: 1, Trials: 2})
	whole := read(t, file)
	load(t, file)
	long := strings.Repeat("x", 10_000)
	for name, tt := range map[string]struct{ old, new, want string }{
		"a member in another case":      {`"verdict":"passed"`, `"verdict":"failed","VERDICT":"passed"`, `"VERDICT" must be spelled "verdict"; names are case-sensitive`},
		"a member in escapes":           {`"verdict":"passed"`, `"verdict":"failed","\u0056erdict":"passed"`, `"Verdict" must be spelled "verdict"`},
		"another letter of one case":    {`"trial":1`, `"trial":1,"ta\u017f\u212a":1,"tria\u004c":2`, `"triaL" must be spelled "trial"`},
		"the verdict twice":             {`"verdict":"passed"`, `"verdict":"failed","verdict":"passed"`, "/verdict occurs twice"},
		"the verdict twice, the first":  {`"verdict":"passed"`, `"verdict":"passed","verdict":"failed"`, "/verdict occurs twice"},
		"twice in an object":            {`"scores":{"calls":0`, `"scores":{"calls":0,"calls":0`, "/scores/calls occurs twice"},
		"a long name twice":             {`"scores":{"calls":0`, `"scores":{"` + long + `":0,"` + long + `":0,"calls":0`, "x… occurs twice"},
		"a fingerprint in another case": {`"fingerprint":{"dataset":`, `"fingerprint":{"Agent":"x","dataset":`, `/fingerprint "Agent" must be spelled "agent"`},
		"a call of the result":          {`"result":{"ping"`, `"result":{"FINAL_response":"x","ping"`, `"FINAL_response" must be spelled "final_response"`},
		"no time":                       {`"took_ms":`, `"took_ms":1e308,"x":`, "took_ms is not a time"},
		"a negative time":               {`"took_ms":`, `"took_ms":-1,"x":`, "took_ms is not a time"},
		"a number that is none":         {`"took_ms":`, `"took_ms":1e999,"x":`, "remove it to run its trial again"},
		"negative retries":              {`"trial":1`, `"trial":1,"retries":-1`, "a negative number"},
		"no UTF-8":                      {`"final_response":"`, "\"final_response\":\"\xff", "remove it to run its trial again"},
		"another verdict":               {`"verdict":"passed"`, `"verdict":"cancelled"`, `the verdict "cancelled"`},
	} {
		at := bytes.Index(whole, []byte("\n")) + 1
		write(t, file, append(bytes.Clone(whole[:at]), bytes.Replace(whole[at:], []byte(tt.old), []byte(tt.new), 1)...))
		if _, err := eval.Load(file); toolwire.CodeOf(err) != "invalid_results" || !strings.Contains(err.Error(), tt.want) || len(err.Error()) > 1000 {
			t.Errorf("%s: %.2000v", name, err)
		}
	}
	for name, tt := range map[string]struct{ old, new string }{
		"a place of a case":    {`"cases":{`, `"cases":{"x":-5,`},
		"the same place twice": {`:0,`, `:1,`},
		"trials twice":         {`"trials":2`, `"trials":2,"trials":2`},
		"trials in capitals":   {`"trials":2`, `"trials":2,"Trials":2`},
	} {
		write(t, file, bytes.Replace(whole, []byte(tt.old), []byte(tt.new), 1))
		if _, err := eval.Load(file); toolwire.CodeOf(err) != "invalid_results" || !strings.Contains(err.Error(), "is not the header of a file of results that this version reads (") {
			t.Errorf("%s: %v", name, err)
		}
	}

	// Members that this version does not know are of another one. Arguments are of a peer.
	other := bytes.ReplaceAll(whole, []byte(`"trial":`), []byte(`"later":{"A":1,"a":2,"a":3},"trial":`))
	other = regexp.MustCompile(`"result":\{"ping":\{`).ReplaceAll(other, []byte(`"result":{"gone":[{}],"ping":{"older":null,`))
	write(t, file, bytes.Replace(other, []byte(`"calls":null`), []byte(`"calls":[{"tool":"t","arguments":{"a":1,"a":"\ud83d"},"at":"2026-01-01T00:00:00Z"}]`), 1))
	if e := load(t, file); len(e.Trials) != 6 {
		t.Errorf("%d trials", len(e.Trials))
	}
}

// Results that another program removes or changes while they are written are not reported as kept.
func TestResultsFileIsWatched(t *testing.T) {
	cases := casesOf(t, csvOf("a", "b", "c"), dispatchtest.Task{})
	for name, tt := range map[string]struct {
		do   func(file string) error
		want string
	}{
		"removed": {os.Remove, "another program has removed or replaced "},
		"replaced": {func(file string) error {
			return errors.Join(os.Rename(file, file+".old"), os.WriteFile(file, []byte("x"), 0o600))
		}, "another program has removed or replaced "},
		"truncated": {func(file string) error { return os.Truncate(file, 10) }, "another program has changed "},
		"appended":  {func(file string) error { return appendTo(file, "garbage\n") }, "another program has changed "},
		"read":      {func(file string) error { _, err := os.ReadFile(file); return err }, ""},
	} {
		if runtime.GOOS == "windows" && (name == "removed" || name == "replaced") {
			continue // an open file stays
		}
		for _, during := range []string{"a", "c"} {
			file := filepath.Join(t.TempDir(), "results.jsonl")
			e, err := eval.Run(t.Context(), dispatchtest.Target{Agent: obedient}, cases, &eval.Options{ResultsFile: file, Parallel: 1, OnTrial: func(trial eval.Trial) {
				if trial.Task.Instruction == during {
					if err := tt.do(file); err != nil {
						t.Error(err)
					}
				}
			}})
			if (err == nil) != (tt.want == "") || err != nil && (e != nil || !strings.Contains(err.Error(), "eval: Options.ResultsFile: "+tt.want)) {
				t.Errorf("%s during %s: %v", name, during, err)
			}
		}
	}
}

func appendTo(file, text string) error {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

func TestPricesAreReadExactly(t *testing.T) {
	for _, text := range []string{
		`{"m":{"input":1,"INPUT":5,"output":1}}`, `{"m":{"Input":1,"output":1}}`, `{"m":{"input":1,"input":1,"output":1}}`, `{"m":{"input":1,"output":1},"m":{"input":2,"output":1}}`,
		`{"m":{"input":1}}`, `{"m":{"input":1,"output":null}}`, `{"m":{"input":1,"output":"1"}}`, `{"m":{"input":1,"output":-1}}`, `{"m":{"input":1,"output":1e999}}`,
		`{"m":{"input":1,"output":1,"cached":1}}`, `{"m":[]}`, `{"m":null}`, "{\"m\xff\":{\"input\":1,\"output\":1}}",
	} {
		if prices, err := eval.ParsePrices([]byte(text)); err == nil {
			t.Errorf("%s: %v", text, prices)
		}
	}
	if _, err := eval.ParsePrices([]byte(`{"m":{"input":1,"input":2}}`)); err == nil || !strings.Contains(err.Error(), "/m/input") {
		t.Error(err)
	}
}
