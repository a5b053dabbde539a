package main

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"regexp"
)

// newSecret returns a secret that [soak.inspect] recognises, also in parts.
func newSecret() string { return "canary-" + rand.Text() + "-canary" }

// newArgument returns a secret for the arguments of a tool. The conversation has it, and no log,
// error or tape.
func newArgument() string { return "argument-" + rand.Text() }

// newPrivate returns a text for errors and panics of agents and tools. The log of the process may
// have it, and nobody else.
func newPrivate() string { return "private-" + rand.Text() }

// A readership says which texts may be where.
type readership struct{ forbidden *regexp.Regexp }

// The second alternative is a run token of package proxytest.
var (
	kept     = readership{regexp.MustCompile(`canary|run-[0-9a-f]{12,}|argument-`)} // logs, errors and tapes
	answers  = readership{regexp.MustCompile(`canary|run-[0-9a-f]{12,}|private-`)}
	reported = readership{regexp.MustCompile(`canary|run-[0-9a-f]{12,}`)}
)

// inspect looks in a text for what its readers must not have. where says what the text is.
func (s *soak) inspect(by readership, where, run, text string) {
	if at := by.forbidden.FindStringIndex(text); at != nil {
		s.violate(run, "a secret is in %s: …%s", where, text[max(0, at[0]-200):min(len(text), at[1]+40)])
	}
}

// inspectError looks for secrets in all forms of an error.
func (s *soak) inspectError(run string, err error) {
	if err == nil {
		return
	}
	text := fmt.Sprintf("%v %+v %#v", err, err, err)
	if j, jsonErr := json.Marshal(err); jsonErr == nil {
		text += string(j)
	}
	s.inspect(kept, "an error", run, text)
}

// watched is a log that is inspected and not kept.
type watched struct {
	soak  *soak
	where string
}

// Write implements io.Writer.
func (w watched) Write(p []byte) (int, error) {
	w.soak.inspect(kept, w.where, "", string(p))
	return len(p), nil
}
