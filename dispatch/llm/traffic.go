package llm

import (
	"net/http"
	"slices"
	"strings"

	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/internal/modelpath"
)

// A traffic is what a run has sent to its models, as far as Transport does not read it.
type traffic struct {
	read   bool     // a request was read
	unread []string // kinds of conversations that are not read
	others []string // kinds of other requests
}

// maxKinds is how many kinds of requests are named.
const maxKinds = 8

// conversations are the ends of paths under which models answer in forms that Transport does not read.
var conversations = []string{
	"/interactions", "/responses/compact", // Google, OpenAI
	"/converse", "/converse-stream", "/invoke", "/invoke-with-response-stream", // Amazon Bedrock
	"/api/generate",                                                                                       // Ollama
	":rawPredict", ":streamRawPredict", ":predict", ":streamPredict", ":generateText", ":generateMessage", // Google
	"/completions", "/complete", "/v1/chat", "/v2/chat", // OpenAI, Anthropic, Cohere
}

// silent are words in the last part of a path under which no model answers: embeddings, numbers of tokens,
// moderation, files, batches, and tokens for access.
var silent = []string{"embed", "token", "moderation", "file", "upload", "batch", "oauth", "auth"}

// isConversation reports whether a model answers under a path in a form that Transport does not read.
func isConversation(path, kind string) bool {
	return slices.Contains(conversations, strings.TrimPrefix(kind, "…")) ||
		kind == "…/runs" && strings.Contains(path, "/threads/") // of OpenAI's Assistants; other servers count runs of agents there
}

// isSilent reports whether no model answers under a path, or one that makes embeddings or ranks, which Amazon and
// Google serve under the paths of all models.
func isSilent(path, kind string) bool {
	_, model, _ := strings.Cut(strings.ToLower(path), "/model")
	return strings.Contains(model, "embed") || strings.Contains(model, "rerank") ||
		slices.ContainsFunc(silent, func(word string) bool { return strings.Contains(strings.ToLower(kind), word) })
}

// see takes a request with a 2xx response that was not read.
func (s *runState) see(path string, read bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kind := modelpath.Kind(path)
	list := &s.traffic.others
	switch {
	case isSilent(path, kind):
		return
	case read || isConversation(path, kind):
		list = &s.traffic.unread
	}
	if !slices.Contains(*list, kind) && len(*list) < maxKinds {
		*list = append(*list, kind)
	}
}

// problems returns what is wrong with the traffic.
func (t *traffic) problems() []dispatch.Problem {
	kinds := t.unread
	if !t.read {
		kinds = slices.Concat(kinds, t.others)
	}
	if kinds == nil {
		return nil
	}
	return []dispatch.Problem{problemOf(codeUnclear, "requests to %s are not read, so that their messages and tokens are missing; add the "+
		"messages with FromConversation if they belong to the run", strings.Join(kinds, ", "))}
}

// isJSON reports whether a request has a JSON body.
func isJSON(r *http.Request) bool {
	return r.Method == http.MethodPost && r.Body != nil && r.Body != http.NoBody && strings.Contains(r.Header.Get("Content-Type"), "json")
}
