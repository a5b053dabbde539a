//go:build unix

package stress

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/manifest"
)

// scripts are programs that answer, fail, hang, write without end, and leave a child behind that
// would sleep for an hour. Each child writes its process id to the folder in $1.
var scripts = map[string]struct {
	script string
	code   toolwire.Code
}{
	"answer":  {`cat >/dev/null; echo '{"done":true}'`, ""},
	"fail":    {`exit 3`, "exit_status"},
	"hang":    {`exec sleep 3600`, toolwire.CodeTimeout},
	"flood":   {`exec yes`, toolwire.CodeResponseTooLarge},
	"garbage": {`echo '{not JSON'`, toolwire.CodeBadResponse},
	"parent":  {`sleep 3600 >/dev/null 2>&1 & echo $! >"$1/$$"; echo '{"done":true}'`, ""},
}

// Programs of a manifest always come back, with the code of what happened, and leave no process and
// no goroutine.
func TestProgramsEnd(t *testing.T) {
	before, dir := runtime.NumGoroutine(), t.TempDir()
	var tools, names []string
	for name, s := range scripts {
		names = append(names, name)
		tools = append(tools, fmt.Sprintf(`{"name":%q,"command":["/bin/sh","-c",%q,"sh",%q]}`, name, s.script, dir))
	}
	file := filepath.Join(t.TempDir(), "tools.json")
	if err := os.WriteFile(file, []byte(`{"tools":[`+strings.Join(tools, ",")+`]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	// The hanging program takes its whole time, so a long limit would only wait. On a slow machine another
	// program may time out, too.
	m, err := manifest.Load(file, &manifest.Options{MaxParallel: 4, MaxStdout: 64 << 10, Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for i := range 5 * len(names) {
		name := names[i%len(names)]
		group.Go(func() {
			got := m.Do(t.Context(), name, nil)
			if code := toolwire.CodeOf(got.Err); code != scripts[name].code && code != toolwire.CodeTimeout {
				t.Errorf("%s ended with %q, want %q: %v", name, code, scripts[name].code, got.Err)
			}
		})
	}
	group.Wait()
	children, err := os.ReadDir(dir)
	if err != nil || len(children) == 0 {
		t.Fatalf("%d programs left a child; %v", len(children), err)
	}
	gone := func() bool {
		for _, c := range children {
			pid, _ := os.ReadFile(filepath.Join(dir, c.Name()))
			stat, err := os.ReadFile(filepath.Join("/proc", strings.TrimSpace(string(pid)), "stat"))
			if err == nil && !strings.Contains(string(stat), ") Z ") {
				return false
			}
		}
		return runtime.NumGoroutine() <= before
	}
	for end := time.Now().Add(limit); !gone(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("children of programs still run, or %d goroutines, %d before", runtime.NumGoroutine(), before)
		}
	}
}
