package commandline_test

import (
	"path/filepath"
	"runtime/debug"
	"testing"

	"github.com/toolwire/toolwire/examples/toolwire/internal/commandline"
)

func TestStarted(t *testing.T) {
	const path = "example.com/toolwire/cmd"
	of := func(version string, replaced bool) *debug.BuildInfo {
		info := &debug.BuildInfo{Path: path, Main: debug.Module{Version: version}}
		if replaced {
			info.Main.Replace = &debug.Module{Path: "../toolwire"}
		}
		return info
	}
	run := filepath.FromSlash("/tmp/go-build123/b001/exe/toolwire")
	for _, tt := range []struct {
		arg0 string
		info *debug.BuildInfo
		want string
	}{
		{"toolwire", of("v1.2.3", false), "toolwire"},
		{filepath.FromSlash("./bin/toolwire"), nil, filepath.FromSlash("./bin/toolwire")},
		{filepath.FromSlash("my tools/it's"), nil, "'" + filepath.FromSlash(`my tools/it'\''s`) + "'"},
		{run, of("(devel)", false), "go run " + path},
		{run, of("v1.2.3", false), "go run " + path + "@v1.2.3"},
		{run, of("v1.2.4-0.20260101000000-0123456789ab+dirty", false), "go run " + path}, // a checkout
		{filepath.FromSlash("/cache/f3/f36c5fe20c570534449a8cec137b194e175eac7ca3b97c1d512190153c7cf3aa-d/toolwire"), of("", false), "go run " + path},
		{run, of("v1.2.3", true), "go run " + path},
	} {
		if got := commandline.Started(tt.arg0, tt.info); got != tt.want {
			t.Errorf("%s %+v: %s, want %s", tt.arg0, tt.info, got, tt.want)
		}
	}
}
