package runctx_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/internal/runctx"
)

type name string

func TestValuesAreFoundByTheirType(t *testing.T) {
	ctx := runctx.With(runctx.With(runctx.With(context.Background(), name("a")), "text"), true)
	if got := runctx.From[name](ctx); got != "a" {
		t.Errorf("the name is %q", got)
	}
	if got := runctx.From[string](ctx); got != "text" {
		t.Errorf("the string is %q", got)
	}
	if runctx.From[*int](ctx) != nil || !runctx.From[bool](ctx) || runctx.From[bool](context.Background()) {
		t.Error("a value of another type, or no value")
	}
	if got := runctx.From[name](runctx.With(ctx, name("b"))); got != "b" {
		t.Errorf("the inner name is %q", got)
	}
}

// Requests outside of runs are counted, and the first one of the process is logged.
func TestOutside(t *testing.T) {
	before, lines := runctx.Outside(), 1
	if before > 0 { // this test has run before
		lines = 0
	}
	var log bytes.Buffer
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	for range 3 {
		runctx.CountOutside(t.Context())
	}
	const text = "pass the agent's context to the SDK"
	got, n := log.String(), runctx.Outside()-before
	if n != 3 || strings.Count(got, "\n") != lines || strings.Count(got, "level=WARN") != lines || strings.Count(got, text) != lines {
		t.Errorf("%d requests, logged %s", n, got)
	}
}

func TestKeep(t *testing.T) {
	first, second := new(runctx.Kept[testing.T]), new(runctx.Kept[testing.T])
	if n, s := keep(first, 7), keep(first, name("a")); n != 7 || s != "a" {
		t.Errorf("kept %d and %s", n, s)
	}
	if keep(first, 8) != 7 || runctx.Find[int](first) != 7 || runctx.Find[name](first) != "a" || runctx.Find[int](second) != 0 {
		t.Error("a run keeps the values of another type or run")
	}
}

func keep[T any](kept *runctx.Kept[testing.T], v T) T {
	return runctx.Keep(kept, func() T { return v })
}

func TestFaultsAreReportedToTheContext(t *testing.T) {
	fault := runctx.Fault{Function: "OnCall", Problem: "panicked", Detail: "no", Stack: "main.go:1"}
	fault.Report(t.Context())
	var got []runctx.Fault
	fault.Report(runctx.With(t.Context(), runctx.Faults(func(f runctx.Fault) { got = append(got, f) })))
	if len(got) != 1 || got[0] != fault {
		t.Errorf("%+v", got)
	}
}
