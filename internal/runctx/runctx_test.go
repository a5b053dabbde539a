package observe_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/internal/observe"
)

type name string

func TestValuesAreFoundByTheirType(t *testing.T) {
	ctx := observe.With(observe.With(observe.With(context.Background(), name("a")), "text"), true)
	if got := observe.From[name](ctx); got != "a" {
		t.Errorf("the name is %q", got)
	}
	if got := observe.From[string](ctx); got != "text" {
		t.Errorf("the string is %q", got)
	}
	if observe.From[*int](ctx) != nil || !observe.From[bool](ctx) || observe.From[bool](context.Background()) {
		t.Error("a value of another type, or no value")
	}
	if got := observe.From[name](observe.With(ctx, name("b"))); got != "b" {
		t.Errorf("the inner name is %q", got)
	}
}

// Requests outside of runs are counted, and the first one is logged.
func TestOutside(t *testing.T) {
	var log bytes.Buffer
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	for range 3 {
		observe.CountOutside(t.Context())
	}
	if got := log.String(); observe.Outside() != 3 || strings.Count(got, "\n") != 1 || !strings.Contains(got, "level=WARN") ||
		!strings.Contains(got, "pass the context of the agent to the SDK") {
		t.Errorf("%d requests, logged %s", observe.Outside(), got)
	}
}

func TestKeep(t *testing.T) {
	first, second := new(observe.Kept[testing.T]), new(observe.Kept[testing.T])
	*observe.Keep[int](first), *observe.Keep[name](first) = 7, "a"
	if *observe.Keep[int](first) != 7 || *observe.Keep[name](first) != "a" || *observe.Keep[int](second) != 0 {
		t.Error("a run keeps the values of another type or run")
	}
}

func TestFaultsAreReportedToTheContext(t *testing.T) {
	fault := observe.Fault{Function: "OnCall", Problem: "panicked", Detail: "no", Stack: "main.go:1"}
	fault.Report(t.Context())
	var got []observe.Fault
	fault.Report(observe.With(t.Context(), observe.Faults(func(f observe.Fault) { got = append(got, f) })))
	if len(got) != 1 || got[0] != fault {
		t.Errorf("%+v", got)
	}
}
