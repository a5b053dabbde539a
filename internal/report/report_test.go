package report_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"testing"

	"github.com/toolwire/toolwire/internal/report"
)

// text returns a handler that writes records without their time.
func text(w io.Writer, level slog.Level) slog.Handler {
	return slog.NewTextHandler(w, &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})
}

// sink returns a sink that writes records as Text does.
func sink(b *bytes.Buffer) *report.Sink {
	return &report.Sink{Report: func(r slog.Record) { b.WriteString(report.Text(r)) }}
}

func TestLogger(t *testing.T) {
	for _, tt := range []struct {
		name               string
		own, level         slog.Level
		wantOwn, wantShown string
	}{
		{"both", slog.LevelInfo, slog.LevelInfo, "level=INFO msg=m a=1 g.b=2 g.c=3\n", "m a=1 g.b=2 g.c=3\n"},
		{"own only", slog.LevelDebug, slog.LevelDebug, "level=DEBUG msg=m a=1 g.b=2 g.c=3\n", ""},
		{"sink only", slog.LevelError, slog.LevelWarn, "", "m a=1 g.b=2 g.c=3\n"},
		{"none", slog.LevelError, slog.LevelDebug, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var own, shown bytes.Buffer
			logger := report.Logger(slog.New(text(&own, tt.own))).With("a", 1).WithGroup("g").With("b", 2)
			logger.Log(report.With(context.Background(), sink(&shown)), tt.level, "m", "c", 3)
			if own.String() != tt.wantOwn || shown.String() != tt.wantShown {
				t.Errorf("logger %q, sink %q", own.String(), shown.String())
			}
			logger.Log(context.Background(), tt.level, "m", "c", 3) // no sink
			if shown.String() != tt.wantShown || own.String() != tt.wantOwn+tt.wantOwn {
				t.Errorf("without a sink: logger %q, sink %q", own.String(), shown.String())
			}
		})
	}
}

func TestLoggerWithoutOne(t *testing.T) {
	var shown bytes.Buffer
	logger := report.Logger(nil)
	if logger.Enabled(context.Background(), slog.LevelError) {
		t.Error("a logger without a sink is enabled")
	}
	logger.ErrorContext(report.With(context.Background(), sink(&shown)), "m", "wait", "1 s", "none", "", "stack", "a\nb\n", "panic", "x")
	if want := "m wait=\"1 s\" panic=x\n  stack:\n    a\n    b\n"; shown.String() != want {
		t.Errorf("%q, want %q", shown.String(), want)
	}
	if allocs := testing.AllocsPerRun(100, func() { logger.InfoContext(context.Background(), "m") }); allocs != 0 {
		t.Errorf("a discarded record costs %v allocations", allocs)
	}
}

// test is a test whose end its caller decides.
type test struct {
	bytes.Buffer
	cleanup func()
}

func (t *test) Output() io.Writer { return t }
func (t *test) Cleanup(f func())  { t.cleanup = f }

func TestOutputEndsWithTheTest(t *testing.T) {
	var tb test
	w := report.Output(&tb)
	_, _ = io.WriteString(w, "in time\n")
	tb.cleanup()
	if n, err := io.WriteString(w, "too late\n"); n != 9 || err != nil || tb.String() != "in time\n" {
		t.Errorf("%d %v, output %q", n, err, tb.String())
	}
}
