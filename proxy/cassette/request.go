package cassette

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/toolwire/toolwire/internal/httpserve"
)

// planes are the first segments of paths below a proxy base URL.
var planes = []string{"tools", "traces", "telemetry", "data", "context"}

// split finds where the proxy base ends in an escaped path: before the last two segments if they
// are tools/{name} or traces/{type}, otherwise before the last segment that is a plane's name, or
// before the last.
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

// credentials returns the run token that a request presents, "" for none, and everything in it that
// could be one.
func credentials(header http.Header) (token string, all []string) {
	all, _ = httpserve.Presented(header, "X-Pipelines-Run-Token")
	all = slices.DeleteFunc(all, func(one string) bool { return one == "" })
	if len(all) > 0 {
		token = all[0]
	}
	return token, all
}

// identity is what makes two requests the same: what is left of them when everything that does not
// matter is gone.
type identity struct {
	key   string
	value *value // what is compared of the arguments; nil if they are not JSON
}

// identify redacts the request in i, which may be one from a tape, and tells what it is equal to.
func (s *settings) identify(i *Interaction, redact *redactor) identity {
	var id identity
	text := i.ArgumentsText
	if i.Arguments != nil {
		id.value, i.Arguments, text = redact.body(i.Arguments)
	}
	i.ArgumentsText = redact.text(text)
	i.Name, i.Actor = redact.text(i.Name), redact.text(i.Actor)

	parts := []string{string(i.Kind), i.method(), i.Name, i.Actor, i.ArgumentsText}
	if id.value != nil {
		s.prune(i, id.value)
		parts[4] = "json " + id.value.canonical()
	}
	key, _ := json.Marshal(parts)
	id.key = string(key)
	return id
}

// prune takes out of arguments what is not compared.
func (s *settings) prune(i *Interaction, v *value) {
	v.without(s.ignore)
	switch {
	case i.Kind == kindTrace:
		v.without([]pointer{{"__occurred_at"}})
	case i.telemetry():
		v.without([]pointer{{"occurred_at"}})
	}
}

func (i *Interaction) telemetry() bool { return i.Kind == kindOther && i.Name == "telemetry" }

// loose reports whether a run may have or lack the interaction.
func (i *Interaction) loose() bool {
	return i.Kind == kindTrace || i.telemetry()
}
