package doctor_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/doctor"
)

// The last column of the tables in docs/troubleshooting.md names every check and every scenario,
// and nothing else. The first column names every error class of a run.
func TestTroubleshooting(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "troubleshooting.md"))
	if err != nil {
		t.Fatal(err)
	}
	report := examineWith(t, dispatchtest.Target{URL: "http://127.0.0.1:1/"}, &doctor.Options{NoDispatch: true})
	scenarios := doctor.Scenarios()
	var names []doctor.Name
	for _, f := range report.Findings {
		names = append(names, f.Name)
	}
	quoted := regexp.MustCompile("(\\*?)`([^`]*)`")
	var seen []doctor.Name
	first := ""
	section := ""
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "## ") {
			section = strings.TrimSpace(line)
		}
		if section == "## An error has a code" { // its tables are about errors of packages
			continue
		}
		columns := strings.Split(strings.Trim(line, "| \n"), "|")
		if !strings.HasPrefix(line, "|") || len(columns) < 4 {
			continue
		}
		first += columns[0]
		for _, match := range quoted.FindAllStringSubmatch(columns[len(columns)-1], -1) {
			name := doctor.Name(match[2])
			switch isScenario := slices.Contains(scenarios, name); {
			case strings.HasPrefix(match[2], "-"): // a flag
			case !isScenario && !slices.Contains(names, name):
				t.Errorf("the doctor has no check %s: %s", name, line)
			case isScenario != (match[1] == "*"):
				t.Errorf("%s: scenarios are in italics, and checks are not: %s", name, line)
			}
			seen = append(seen, name)
		}
	}
	for _, name := range slices.Concat(names, scenarios) {
		if !slices.Contains(seen, name) {
			t.Errorf("the page does not name %s", name)
		}
	}
	for _, class := range []dispatchtest.ErrorClass{
		dispatchtest.AuthFailed, dispatchtest.AgentTimeout, dispatchtest.Agent5xx, dispatchtest.Agent4xx, dispatchtest.AgentBadResponse,
		dispatchtest.AgentUnreachable, dispatchtest.ContractViolation,
	} {
		if !strings.Contains(first, "`"+string(class)+"`") {
			t.Errorf("the page does not name %s", class)
		}
	}
}
