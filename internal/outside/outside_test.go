package outside_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/internal/outside"
)

// All requests are counted, and the first one is logged.
func TestCount(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	defer slog.SetDefault(before)
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	for range 3 {
		outside.Count(t.Context())
	}
	if got := log.String(); outside.Requests() != 3 || strings.Count(got, "\n") != 1 || !strings.Contains(got, "level=WARN") ||
		!strings.Contains(got, "pass the context of the agent to the SDK") {
		t.Errorf("%d requests, logged %s", outside.Requests(), got)
	}
}
