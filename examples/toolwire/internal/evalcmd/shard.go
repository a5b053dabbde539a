package evalcmd

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// totalVariable is set by the user where the engine has no variable for the number of its workers.
const totalVariable = "TOOLWIRE_SHARD_TOTAL"

// engine has the variables by which an engine numbers its workers.
type engine struct {
	index, total string
	first        int // index of the first worker
}

// The names come from the documentation of each engine.
var engines = []engine{
	{"TOOLWIRE_SHARD_INDEX", totalVariable, 0}, // GitHub, and any engine that is not here
	{"JOB_COMPLETION_INDEX", totalVariable, 0}, // Kubernetes
	{"CI_NODE_INDEX", "CI_NODE_TOTAL", 1},      // GitLab, which sets the total of a lone job to 1
	{"BUILDKITE_PARALLEL_JOB", "BUILDKITE_PARALLEL_JOB_COUNT", 0},
	{"CIRCLE_NODE_INDEX", "CIRCLE_NODE_TOTAL", 0},
}

// maxShards is the limit of package eval.
const maxShards = 10_000

// shardOfEngine returns the shard of this worker, such as 2/4, and the variables that it was read from.
// Both are "" where there is one worker.
func shardOfEngine(env func(string) string) (shard, from string, err error) {
	for _, e := range engines {
		index, total := env(e.index), env(e.total)
		if index == "" && slices.ContainsFunc(engines, func(other engine) bool {
			return other.total == e.total && env(other.index) != ""
		}) {
			continue // the total belongs to the other index
		}
		own, err := worker(index, total, e.first)
		if err != nil {
			return "", "", fmt.Errorf("the variables %s=%.40q and %s=%.40q name no shard: %w; -shard i/n is without them, and 1/1 is all rows",
				e.index, index, e.total, total, err)
		}
		if own == "" {
			continue
		}
		names := e.index + " and " + e.total
		if shard != "" && own != shard {
			return "", "", fmt.Errorf("%s say that the shard is %s, and %s say %s: unset one pair, or give -shard", from, shard, names, own)
		}
		shard, from = own, names
	}
	return shard, from, nil
}

// worker returns the shard of one of several workers, "" of the only one.
func worker(index, total string, first int) (string, error) {
	if index == "" && (total == "" || total == "1") {
		return "", nil
	}
	if index == "" || total == "" {
		return "", errors.New("one of them is not set")
	}
	n, err := strconv.Atoi(total)
	if err != nil || n < 1 || n > maxShards {
		return "", fmt.Errorf("the number of workers is from 1 to %d", maxShards)
	}
	i, err := strconv.Atoi(index)
	if err != nil || i < first || i >= first+n {
		return "", fmt.Errorf("with %d workers the index is from %d to %d", n, first, first+n-1)
	}
	if n == 1 {
		return "", nil
	}
	return fmt.Sprintf("%d/%d", i-first+1, n), nil
}

// settleShard takes the shard from the engine if there is no -shard, and gives it a file of its own if
// -results is a folder.
func (o *options) settleShard(env func(string) string) error {
	from := "-shard"
	if o.Shard == "" {
		var err error
		if o.Shard, from, err = shardOfEngine(env); err != nil {
			return err
		}
		o.engine = from
	}
	if o.Shard == "" || o.Shard == "1/1" {
		o.Shard = ""
		return nil
	}
	if o.ResultsFile == "" || o.baseline != "" || o.minRate > 0 {
		if o.engine != "" {
			from = fmt.Sprintf("shard %s of %s", o.Shard, o.engine)
		}
		return fmt.Errorf("%s needs -results, and -baseline and -min-rate are for merge, which has all shards; -shard 1/1 is all rows", from)
	}
	if info, err := os.Stat(o.ResultsFile); err == nil && info.IsDir() {
		o.ResultsFile = filepath.Join(o.ResultsFile, "shard-"+strings.Replace(o.Shard, "/", "-of-", 1)+".jsonl")
	}
	return nil
}

// inFolders returns the names with the files of shards in place of each folder.
func inFolders(names []string) (files []string, err error) {
	for _, name := range names {
		if info, err := os.Stat(name); err != nil || !info.IsDir() {
			files = append(files, name)
			continue
		}
		entries, err := os.ReadDir(name)
		if err != nil {
			return nil, err
		}
		before := len(files)
		for _, entry := range entries {
			if of, _ := path.Match("shard-*-of-*.jsonl", entry.Name()); of {
				files = append(files, filepath.Join(name, entry.Name()))
			}
		}
		if len(files) == before {
			return nil, fmt.Errorf("the folder %s has no file of a shard, such as shard-2-of-4.jsonl", name)
		}
	}
	return files, nil
}
