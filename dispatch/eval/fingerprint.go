package eval

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/toolwire/toolwire/proxy/proxytest"
)

// fingerprint tells what was evaluated. Results whose fingerprints differ do not belong to one
// experiment.
type fingerprint struct {
	// Dataset is a hash of the cases of all shards: their ids, rows, instructions and inputs.
	Dataset string `json:"dataset"`

	// World is a hash of the base worlds: tools, ledger schema, state, failure rules, instructions,
	// seed, and the names of the behaviors. The code of behaviors, and what is behind a Platform that
	// [Dataset.Cases] did not make, are not in it.
	World string `json:"world"`

	Graders string `json:"graders"` // Options.GraderVersion
	Agent   string `json:"agent"`   // Options.AgentVersion

	// User is Options.UserVersion, or "unversioned" if that is "". It is "" if no case has a
	// simulated user.
	User string `json:"user,omitempty"`
}

// differences names what differs, with both values.
func (f fingerprint) differences(other fingerprint) (list []string) {
	for _, part := range []struct{ name, a, b string }{
		{"dataset", f.Dataset, other.Dataset}, {"world", f.World, other.World},
		{"version of the graders", f.Graders, other.Graders}, {"version of the agent", f.Agent, other.Agent},
		{"version of the user", f.User, other.User},
	} {
		if part.a != part.b {
			list = append(list, "the "+part.name+" is "+shown(part.a)+" and not "+shown(part.b))
		}
	}
	return list
}

// fingerprint returns the fingerprint of all cases, whichever shard runs.
func (o *Options) fingerprint(cases []Case) fingerprint {
	contents, worlds := make([]string, len(cases)), map[string]bool{}
	for i, c := range cases {
		contents[i] = c.ID + " " + c.content()
		worlds[c.base()] = true
	}
	slices.Sort(contents)
	return fingerprint{
		Dataset: digest(contents), World: digest(slices.Sorted(maps.Keys(worlds))), Graders: o.GraderVersion, Agent: o.AgentVersion,
		User: o.userVersion(cases),
	}
}

// content returns a hash of what the case asks for.
func (c *Case) content() string {
	var content row
	if r := c.data(); r != nil {
		content = r.content()
	}
	return digest([]any{content, c.Task.Instruction, c.Task.Input, c.Task.Conversation})
}

// tasks returns a hash of what the agent sees and where it works, whatever the rows expect.
func tasks(cases []Case) string {
	contents := make([]string, len(cases))
	for i, c := range cases {
		var content row
		if r := c.data(); r != nil {
			content = row{User: r.User, Behavior: r.Behavior, State: r.State, FailureRules: r.FailureRules, Input: r.Input, Conversation: r.Conversation, Persona: r.Persona}
		}
		contents[i] = c.ID + " " + digest([]any{content, c.Task.Instruction, c.Task.Input, c.Task.Conversation})
	}
	slices.Sort(contents)
	return digest(contents)
}

// content returns the row without its place in the file.
func (r *row) content() row {
	content := *r
	content.Number, content.Line = 0, 0
	return content
}

// base returns a hash of the world of the case.
func (c *Case) base() string {
	if c.world != "" {
		return c.world
	}
	if c.Task.Platform != nil {
		return digest(c.Task.Platform.Tools())
	}
	return worldDigest(c.Task.World)
}

func worldDigest(w proxytest.World) string {
	return digest([]any{
		w.Tools, w.LedgerSchema, w.InitialState, w.FailureRules, w.BehaviorInstructions, w.Seed, slices.Sorted(maps.Keys(w.Behaviors)),
	})
}

// shard is part i of n, from 1.
type shard struct{ i, n int }

// parseShard reads "i/n". "" is the whole.
func parseShard(text string) (s shard, ok bool) {
	if text == "" {
		return shard{1, 1}, true
	}
	first, second, ok := strings.Cut(text, "/")
	i, err := strconv.Atoi(first)
	n, err2 := strconv.Atoi(second)
	s = shard{i, n}
	return s, ok && err == nil && err2 == nil && i >= 1 && i <= n && n <= 10_000 && s.String() == text
}

func (s shard) String() string { return strconv.Itoa(s.i) + "/" + strconv.Itoa(s.n) }

// ids returns which cases belong to the shard. The hashes of the ids are dealt round, so that sizes
// differ by at most one, and the order of the cases does not matter.
func (s shard) ids(cases []Case) map[string]bool {
	hashes := make([]string, len(cases))
	for i, c := range cases {
		hash := fnv.New64a()
		_, _ = hash.Write([]byte(c.ID))
		hashes[i] = fmt.Sprintf("%016x %s", hash.Sum64(), c.ID)
	}
	slices.Sort(hashes)
	own := map[string]bool{}
	for i := s.i - 1; i < len(hashes); i += s.n {
		own[hashes[i][17:]] = true
	}
	return own
}
