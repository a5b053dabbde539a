package cassette

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/toolwire/toolwire/internal/httpserve"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/redact"
)

// planes are the first segments of paths below a proxy base URL.
var planes = []string{"tools", "traces", "telemetry", "data", "context"}

// split splits an escaped path into the proxy base and the rest. The rest is tools/{name} or
// traces/{type} at the end of the path. Otherwise it begins with the last segment that names a
// plane, or is the last segment.
func split(path string) (kind, name, rest string) {
	segments := strings.Split(strings.Trim(path, "/"), "/")
	n := len(segments)
	if n >= 2 && (segments[n-2] == "tools" || segments[n-2] == "traces") {
		kind = kindTool
		if segments[n-2] == "traces" {
			kind = kindTrace
		}
		name, rest = segments[n-1], "/"+segments[n-2]+"/"+segments[n-1]
		if plain, err := url.PathUnescape(name); err == nil {
			name = plain
		}
		return kind, name, rest
	}
	at := n - 1
	for i, segment := range segments {
		if slices.Contains(planes, segment) {
			at = i
		}
	}
	rest = "/" + strings.Join(segments[at:], "/")
	return kindOther, cmp.Or(rest[1:], rest), rest
}

// credentials returns the run token of a request, or "" if it has none, and all values that could
// be one.
func credentials(header http.Header) (token string, all []string) {
	all, _ = httpserve.Tokens(header, "X-Pipelines-Run-Token")
	all = slices.DeleteFunc(all, func(one string) bool { return one == "" })
	if len(all) > 0 {
		token = all[0]
	}
	return token, all
}

// identity consists of the parts of a request that are compared. Two requests are equal if their keys are.
type identity struct {
	key      string
	compared json.RawMessage // the parts of the arguments that are compared; nil if they are not JSON
}

// identify redacts the request in i, of a run or of a tape, and returns its identity.
func (s *settings) identify(i *Interaction, redactor *redact.Redactor) identity {
	var id identity
	text := i.ArgumentsText
	var v *rawjson.Node
	if i.Arguments != nil {
		v, i.Arguments, text = redactor.Body(i.Arguments)
	}
	i.ArgumentsText = redactor.Redact(text)
	i.Name, i.Actor = redactor.Redact(i.Name), redactor.Redact(i.Actor)

	parts := []string{string(i.Kind), i.method(), i.Name, i.Actor, i.ArgumentsText}
	if v != nil {
		s.prune(i, v)
		id.compared = v.Append(nil)
		parts[4] = "json " + rawjson.Key(id.compared)
	}
	key, _ := json.Marshal(parts)
	id.key = string(key)
	return id
}

// prune removes the parts of the arguments that are not compared.
func (s *settings) prune(i *Interaction, v *rawjson.Node) {
	without(v, s.ignore)
	switch {
	case i.Kind == kindTrace:
		without(v, []pointer{{"__occurred_at"}})
	case i.telemetry():
		without(v, []pointer{{"occurred_at"}})
	}
}

func (i *Interaction) telemetry() bool { return i.Kind == kindOther && i.Name == "telemetry" }

// loose reports whether the interaction is optional in a run.
func (i *Interaction) loose() bool {
	return i.Kind == kindTrace || i.telemetry()
}
