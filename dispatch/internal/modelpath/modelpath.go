// Package modelpath reads the path of a request to a model: what the request is for, and for which model.
package modelpath

import "strings"

// ends are the ends of paths that have more than one word.
var ends = []string{
	"/chat/completions", "/responses/compact", "/api/chat", "/api/generate", "/v1/chat", "/v2/chat",
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
