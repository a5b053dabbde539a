//go:build unix

package dispatchtest_test

import (
	"strings"
	"testing"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
)

// What a program leaves in the place of its result is read only if it is a file: a pipe has no end while nobody
// writes into it, and a terminal has none.
func TestResultsThatAreNotFiles(t *testing.T) {
	for name, tt := range map[string]struct{ script, final, reason string }{
		"pipe":      {`mkfifo "$PIPELINES_RESULT_PATH"`, "", "is not a regular file"},
		"terminal":  {`ln -s /dev/ptmx "$PIPELINES_RESULT_PATH"`, "", "is not a regular file"},
		"null":      {`ln -s /dev/null "$PIPELINES_RESULT_PATH"`, "", "is not a regular file"},
		"directory": {`mkdir "$PIPELINES_RESULT_PATH"`, "", "is not a regular file"},
		"link to a file": {`echo '{"final_response":"done"}' >"$PIPELINES_RESULT_PATH.1"; ln -s "$PIPELINES_RESULT_PATH.1" "$PIPELINES_RESULT_PATH"`,
			"done", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target := dispatchtest.Target{Command: []string{"/bin/sh", "-c", tt.script}}
			result := dispatchtest.Run(t, target, dispatchtest.Task{Instruction: "Hello."})
			if result.FinalResponse != tt.final || !strings.Contains(result.Error, tt.reason) {
				t.Errorf("%q %s %s", result.FinalResponse, result.ErrorClass, result.Error)
			}
		})
	}
}
