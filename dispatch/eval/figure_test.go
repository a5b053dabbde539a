package eval_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/toolwire/toolwire/dispatch/eval"
)

// A figure is short, and never looks like 0 or 100 if it is not.
func TestFigureString(t *testing.T) {
	share := func(value, low, high float64) eval.Figure {
		return eval.Figure{Value: value, Low: low, High: high}.Of("share", 0)
	}
	for want, f := range map[string]eval.Figure{
		"60 % [23.1, 88.2]":       share(0.6, 0.2307, 0.8824),
		"100 % [99.96, 100]":      share(1, 0.999616, 1),
		"0 % [0, 0.04]":           share(0, 0, 0.000384),
		"99.9 % [99.5, 99.996]":   share(0.999, 0.995, 0.99996),
		"0.001 % [0, 0.1]":        share(0.00001, 0, 0.001),
		"0 % [0, 0]":              share(1e-9, 0, -1e-9),
		"100 % [100, 100]":        share(1-1e-9, 1, 1),
		"2.5 [1.25, 3.8]":         {Value: 2.5, Low: 1.25, High: 3.8},
		"1235":                    {Value: 1234.6, Low: math.NaN(), High: math.NaN()},
		"0.000876 [0.0005, 0.01]": {Value: 0.000876, Low: 0.0005, High: 0.01},
	} {
		if got := f.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	many := scripted(repeated(10_000, ".")...)
	if got := many.Figure("rate").String(); got != "100 % [99.96, 100]" {
		t.Error(got)
	}
	if got := compare(t, many, many).Figures()[0].String(); got != "0 points in 10000 cases, p = 1.000; in cases like these [-0.04, +0.04]; "+
		"a comparison of this size finds a difference of about 0.1 points in these cases" {
		t.Error(got)
	}
}

// JSON has no NaN: a figure without an interval has no bounds there.
func TestFigureJSON(t *testing.T) {
	for want, f := range map[string]eval.Figure{
		`{"name":"rate","faults":"counted","cases":2,"trials":4,"value":0.5,"unit":"share","low":0,"high":1}`: eval.Figure{
			Name: "rate", Faults: "counted", Cases: 2, Trials: 4, Value: 0.5, High: 1}.Of("share", 0),
		`{"name":"cost","slice":"topic=a","cases":1,"trials":2,"unknown":3,"value":0,"groups":1}`: eval.Figure{
			Name: "cost", Slice: "topic=a", Cases: 1, Trials: 2, Unknown: 3, Low: math.NaN(), High: math.NaN()}.Of("", 1),
	} {
		if got, err := json.Marshal(f); err != nil || string(got) != want {
			t.Errorf("%s, %v, want %s", got, err, want)
		}
	}
}
