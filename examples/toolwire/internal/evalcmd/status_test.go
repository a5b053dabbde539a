package evalcmd

import (
	"bytes"
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/dispatch"
)

// Each exit status of docs/evaluation.md has a run that ends with it.
func TestStatuses(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if text != "" {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return path
	}
	// An agent answers the first rows rightly.
	agent := func(right int) string {
		handler, err := dispatch.New(func(_ context.Context, run *dispatch.Run) (*dispatch.Response, error) {
			var row int
			if _, _ = fmt.Sscanf(run.Instruction, "row %d", &row); row < right {
				return say("yes")
			}
			return say("no")
		}, &dispatch.Options{InsecureNoAuth: true})
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(handler)
		t.Cleanup(server.Close)
		return server.URL
	}
	var rows strings.Builder
	rows.WriteString("id,user,says,kind\n")
	for i := range 80 {
		fmt.Fprintf(&rows, "r%d,row %d,yes,%s\n", i, i, []string{"plain", "odd"}[i%2])
	}
	dataset := file("tasks.csv", rows.String())
	good, worse, bad := agent(80), agent(76), agent(40)
	before, fewer := file("before.jsonl", ""), file("fewer.jsonl", "")
	small := file("small.csv", "id,user,says\na,row 1,yes\nb,row 2,yes\nc,row 3,yes\nd,row 4,yes\n")
	for _, tt := range []struct {
		name   string
		status int
		args   []string
		prints string
	}{
		{"all passed", 0, []string{"-url", good, "-trials", "2", "-results", before}, " 160 passed\n"},
		{"some failed", 1, []string{"-url", worse, "-trials", "2"}, " 8 failed\n"},
		{"a flag that is misspelt", 2, []string{"-url", good, "-min-rat", "1"}, "flag provided but not defined: -min-rat;"},
		{"a rate that is none", 2, []string{"-url", good, "-min-rate", "80"}, "-min-rate is from 0 to 1"},
		{"the rate of no rate", 2, []string{"-url", good, "-min-rate-point"}, "-min-rate-point needs -min-rate"},
		{"no rates", 2, []string{"-url", good, "-min-rate", "0.5", "-first-failure"}, "-min-rate is about the rate, and -first-failure leaves none"},
		{"not worse", 0, []string{"-url", good, "-trials", "2", "-baseline", before}, "gate, margin 5 points: passed\n"},
		{"worse", 3, []string{"-url", bad, "-trials", "2", "-baseline", before}, "gate, margin 5 points: failed\n"},
		{"worse, but perhaps not by the margin", 5, []string{"-url", worse, "-trials", "2", "-baseline", before}, ": -5 points in 80 cases, p = "},
		{"worse, and within the margin", 0, []string{"-url", worse, "-trials", "2", "-baseline", before, "-margin", "0.2"}, ": -5 points in 80 cases"},
		{"too few", 0, []string{"-dataset", small, "-url", good, "-results", fewer}, " 4 passed\n"},
		{"too few for a gate", 4, []string{"-dataset", small, "-url", good, "-baseline", fewer}, "undecided: a gate needs at least 6 cases"},
		{"the rate is high", 0, []string{"-url", worse, "-trials", "2", "-min-rate", "0.8"}, "rate of at least 80 %: passed\n"},
		{"the rate is high, by itself only", 0, []string{"-url", worse, "-trials", "2", "-min-rate", "0.95", "-min-rate-point"}, "rate of at least 95 %: passed\n"},
		{"the rate may be low", 4, []string{"-url", worse, "-trials", "2", "-min-rate", "0.95"}, "rate of at least 95 %: undecided: the interval contains the bar"},
		{"the rate is low", 3, []string{"-url", bad, "-trials", "2", "-min-rate", "0.95"}, "rate of at least 95 %: failed\n"},
		{"one gate passed and the rate may be low", 4, []string{"merge", "-baseline", before, "-min-rate", "0.99", before}, "rate of at least 99 %: undecided"},
	} {
		args := tt.args
		if args[0] != "merge" {
			args = append([]string{"-world", "testdata/world.json"}, args...)
			if args[2] != "-dataset" {
				args = append([]string{"-dataset", dataset}, args...)
			}
		}
		var printed bytes.Buffer
		if status := Run(t.Context(), args, &printed, &printed); status != tt.status || !strings.Contains(printed.String(), tt.prints) {
			t.Errorf("%s: status %d, want %d, and %q:\n%s", tt.name, status, tt.status, tt.prints, printed.String())
		}
	}
}
