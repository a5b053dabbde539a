package jsonschema

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	lib "github.com/santhosh-tekuri/jsonschema/v6"
)

// older are the drafts in which a schema without a "$schema" is tried, if it is not valid in draft
// 2020-12. Generators write them without naming them: Pydantic 1 draft 7, OpenAPI 3.0 draft 4.
var older = []struct {
	draft     *lib.Draft
	name, url string
}{
	{lib.Draft7, "draft 7", "http://json-schema.org/draft-07/schema#"},
	{lib.Draft4, "draft 4", "http://json-schema.org/draft-04/schema#"},
}

// compileDocument compiles a document in the draft that it names, by default 2020-12.
func (c *compiler) compileDocument(doc any) (*Schema, error) {
	if err := c.checkDraft(doc); err != nil {
		return nil, err
	}
	s, err := c.compileAs(lib.Draft2020, doc)
	wrong := invalidFault(err)
	if wrong == nil || namesDraft(doc) {
		return s, err
	}
	for _, o := range older {
		s, otherErr := c.compileAs(o.draft, doc)
		other, _ := otherErr.(faults)
		if !Invalid(other) {
			assumed := faults{{Code: "draft_assumed", Pointer: wrong.Pointer, Message: fmt.Sprintf(
				`%s in draft 2020-12; the schema is read as %s, in which it is valid, so add "$schema": %q`,
				wrong.Message, o.name, o.url)}}
			return s, append(assumed, other...)
		}
	}
	return s, err
}

// invalidFault returns the first place where a schema breaks the rules of its draft, or nil.
func invalidFault(err error) *Fault {
	if e, ok := errors.AsType[faults](err); ok {
		if i := slices.IndexFunc(e, func(f Fault) bool { return f.Code == "invalid" }); i >= 0 {
			return &e[i]
		}
	}
	return nil
}

// namesDraft reports whether a document has a "$schema". null is none.
func namesDraft(doc any) bool {
	obj, _ := doc.(map[string]any)
	return obj["$schema"] != nil
}

// checkDraft reports an unknown "$schema". The library would only report that it could not load
// something.
func (c *compiler) checkDraft(doc any) error {
	obj, _ := doc.(map[string]any)
	draft, ok := obj["$schema"].(string)
	if !ok || isDraft(draft) {
		return nil
	}
	if _, ok := c.opts.Resources[strings.TrimSuffix(draft, "#")]; ok {
		return nil
	}
	return faults{{Code: "draft_unknown", Pointer: "/$schema",
		Message: `is not a draft that is known here; use "https://json-schema.org/draft/2020-12/schema" or leave ` +
			`"$schema" out`}}
}

func isDraft(s string) bool {
	rest, ok := strings.CutPrefix(strings.TrimSuffix(s, "#"), "https://")
	if !ok {
		rest, _ = strings.CutPrefix(rest, "http://")
	}
	switch rest {
	case "json-schema.org/schema", "json-schema.org/draft/2020-12/schema", "json-schema.org/draft/2019-09/schema",
		"json-schema.org/draft-07/schema", "json-schema.org/draft-06/schema", "json-schema.org/draft-04/schema":
		return true
	}
	return false
}
