package pages

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// A job is one job of a workflow in a page, as far as the tests here run it.
type job struct {
	env  []string // of the job: NAME=value
	runs []string // the commands of the steps, without actions
}

var (
	yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")
	jobName   = regexp.MustCompile(`^  ([a-z]+):$`)
	jobEnv    = regexp.MustCompile(`^      ([A-Z_]+): (.+)$`)
	runStep   = regexp.MustCompile(`^      - run: (.+)$`)
)

// workflow reads the jobs of the workflow in a page. It knows the style of these pages and no other
// YAML: two spaces for a level, env before steps, and commands on one line that may continue on
// lines with more spaces.
func workflow(t *testing.T, page string) map[string]*job {
	t.Helper()
	text, err := os.ReadFile("../../../docs/" + page)
	if err != nil {
		t.Fatal(err)
	}
	block := yamlBlock.FindSubmatch(text)
	if block == nil {
		t.Fatalf("%s has no workflow", page)
	}
	jobs := map[string]*job{}
	var j *job
	continued := false
	for line := range strings.Lines(string(block[1])) {
		line = strings.TrimSuffix(line, "\n")
		if continued && strings.HasPrefix(line, "        ") {
			j.runs[len(j.runs)-1] += " " + strings.TrimSpace(line)
			continue
		}
		continued = false
		if m := jobName.FindStringSubmatch(line); m != nil {
			j = &job{}
			jobs[m[1]] = j
		} else if j == nil {
			continue
		} else if m := runStep.FindStringSubmatch(line); m != nil {
			j.runs = append(j.runs, m[1])
			continued = true
		} else if m := jobEnv.FindStringSubmatch(line); m != nil {
			j.env = append(j.env, m[1]+"="+m[2])
		}
	}
	return jobs
}

func TestWorkflow(t *testing.T) {
	agent := workflow(t, "deployment.md")["agent"]
	if agent == nil || len(agent.env) != 2 || len(agent.runs) != 6 {
		t.Errorf("docs/deployment.md: %+v", agent)
	}
	jobs := workflow(t, "evaluation.md")
	if shard, merge := jobs["shard"], jobs["merge"]; shard == nil || len(shard.runs) != 3 || merge == nil || len(merge.runs) != 1 {
		t.Errorf("docs/evaluation.md: %+v", jobs)
	}
}
