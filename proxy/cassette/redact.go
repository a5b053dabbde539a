package cassette

import (
	"slices"

	"github.com/toolwire/toolwire/internal/redact"
)

// minSecret is the length in bytes from which a run token is searched for in bodies. A shorter one
// is not a secret and may be a common word.
const minSecret = 8

// withTokens returns a redactor that removes these run tokens, too.
func withTokens(r *redact.Redactor, tokens []string) *redact.Redactor {
	with := *r
	short := func(token string) bool { return len(token) < minSecret }
	with.Secrets = redact.New(slices.DeleteFunc(slices.Clone(tokens), short)...)
	return &with
}

// redactTask returns the task of a header without secrets.
func redactTask(r *redact.Redactor, task Task) Task {
	task.Name, task.Instruction = r.Redact(task.Name), r.Redact(task.Instruction)
	if task.Input != nil {
		_, task.Input, _ = r.Body(task.Input)
	}
	task.Tools = slices.Clone(task.Tools)
	for i, tool := range task.Tools {
		task.Tools[i] = r.Redact(tool)
	}
	return task
}
