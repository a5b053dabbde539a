package report_test

import (
	"bytes"
	"context"
	"log/slog"
	"testing"

	"github.com/toolwire/toolwire/internal/report"
)

// text returns a logger handler that writes records without their time.
func text(b *bytes.Buffer, level slog.Level) slog.Handler {
	return slog.NewTextHandler(b, &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})
}

func TestLogger(t *testing.T) {
	for _, tt := range []struct {
		name             string
		own, sink        slog.Level
		level            slog.Level
		wantOwn, wantCtx string
	}{
		{"both", slog.LevelInfo, slog.LevelInfo, slog.LevelInfo, "level=INFO msg=m a=1 g.b=2 g.c=3\n", "level=INFO msg=m a=1 g.b=2 g.c=3\n"},
		{"own only", slog.LevelDebug, slog.LevelWarn, slog.LevelInfo, "level=INFO msg=m a=1 g.b=2 g.c=3\n", ""},
		{"sink only", slog.LevelError, slog.LevelInfo, slog.LevelWarn, "", "level=WARN msg=m a=1 g.b=2 g.c=3\n"},
		{"none", slog.LevelError, slog.LevelError, slog.LevelInfo, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var own, sink bytes.Buffer
			logger := report.Logger(slog.New(text(&own, tt.own))).With("a", 1).WithGroup("g").With("b", 2)
			ctx := report.With(context.Background(), &report.Sink{Handler: text(&sink, tt.sink)})
			logger.Log(ctx, tt.level, "m", "c", 3)
			if own.String() != tt.wantOwn || sink.String() != tt.wantCtx {
				t.Errorf("logger %q, sink %q", own.String(), sink.String())
			}
			logger.Log(context.Background(), tt.level, "m", "c", 3) // no sink
			if sink.String() != tt.wantCtx || own.String() != tt.wantOwn+tt.wantOwn {
				t.Errorf("without a sink: logger %q, sink %q", own.String(), sink.String())
			}
		})
	}
}

func TestLoggerWithoutOne(t *testing.T) {
	var sink bytes.Buffer
	logger := report.Logger(nil)
	if logger.Enabled(context.Background(), slog.LevelError) {
		t.Error("a logger without a sink is enabled")
	}
	logger.ErrorContext(report.With(context.Background(), &report.Sink{Handler: text(&sink, slog.LevelInfo)}), "m")
	if sink.String() != "level=ERROR msg=m\n" {
		t.Errorf("sink %q", sink.String())
	}
	if allocs := testing.AllocsPerRun(100, func() { logger.InfoContext(context.Background(), "m") }); allocs != 0 {
		t.Errorf("a discarded record costs %v allocations", allocs)
	}
}
