// Package modelpath reads the path of a request to a model: what the request is for, and for which model.
package modelpath

import (
	"regexp"
	"strings"
)

// ends are the ends of paths that have more than one word.
var ends = []string{
	"/chat/completions", "/responses/compact", "/api/chat", "/api/generate", "/api/embed", "/v1/chat", "/v2/chat",
}

// Kind returns the end of a path that tells what it is for, after an ellipsis: a known end, or else the
// last word. It does not show what may be an id, a project or a secret.
func Kind(path string) string {
	for _, end := range ends {
		if strings.HasSuffix(path, end) {
			return "…" + end
		}
	}
	for path != "" {
		at := strings.LastIndexByte(path, '/')
		part := path[at+1:]
		before, method, found := strings.Cut(part, ":")
		switch {
		case found && IsWord(method):
			return "…:" + method
		case !found && IsWord(before):
			return "…/" + part
		}
		path = path[:max(at, 0)]
	}
	return "…/"
}

// IsWord reports whether a part of a path is made of letters, - and _ only, and short.
func IsWord(part string) bool {
	return part != "" && len(part) <= 30 && !strings.ContainsFunc(part, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_' || r == '-')
	})
}

// google is a path of Google that names a model. id is the id of a model in a path of Amazon Bedrock, unless
// it contains a number that may be an account or a project.
var (
	google = regexp.MustCompile(`(/publishers/[a-z0-9-]+)?/models/[A-Za-z][\w.@-]{0,99}:[A-Za-z]+$`)
	id     = regexp.MustCompile(`^[A-Za-z][\w.:-]{0,99}$`)
	number = regexp.MustCompile(`[0-9]{10}`)
)

// Named is [Kind] with the model, if the path names one and its id is not the number of an account or a project:
// …/models/gemini-2.5-flash:generateContent, …/model/anthropic.claude-v2:0/converse. Kind of it is the kind of
// the path.
func Named(path string) string {
	kind, named := Kind(path), google.FindString(path)
	if model := Model(path); id.MatchString(model) {
		named = "/model/" + model + strings.TrimPrefix(kind, "…")
	}
	if named == "" || number.MatchString(named) {
		return kind
	}
	return "…" + named
}
