package catalog

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/toolwire/toolwire/internal/rawjson"
)

// UnmarshalJSON reads a record. It does not validate it: fields may be absent and have any text.
// Call [Tool.Validate] afterwards.
//
// The text must be one strict JSON object: valid UTF-8, no duplicate name, no name that differs
// from a known one by case only. Unknown members are ignored, so that a record from a newer server
// can be sent back. null means absent. tool_type may be called type; if both occur they must agree.
// tags is a list, or one string with commas between the tags.
//
// The error is an [*Error] with [CodeInvalid] and all problems. encoding/json reports malformed
// JSON with an error of its own before it calls this method.
func (t *Tool) UnmarshalJSON(data []byte) error {
	p, ps, err := readPatch(data, ours)
	if err == nil {
		err = ps.error("", "the record is not valid")
	}
	if err != nil {
		return err
	}
	*t = p.apply(Tool{})
	return nil
}

// UnmarshalJSON reads an update as [Tool.UnmarshalJSON] reads a record. null clears description,
// tags, version and account_id. It does not validate the update.
func (p *Patch) UnmarshalJSON(data []byte) error {
	read, ps, err := readPatch(data, ours)
	if err == nil {
		err = ps.error("", "the update is not valid")
	}
	if err != nil {
		return err
	}
	*p = read
	return nil
}

// UnmarshalJSON reads an item as [Tool.UnmarshalJSON] reads a record. It does not validate the
// item.
func (i *ListItem) UnmarshalJSON(data []byte) error {
	var item ListItem
	p, ps, err := readPatch(data, ours, textMember{"id", &item.ID}, textMember{"plugin_class_name", &item.PluginClassName},
		textMember{"module_name", &item.ModuleName}, textMember{"script_content", &item.ScriptContent})
	if err == nil {
		err = ps.error("", "the item is not valid")
	}
	if err != nil {
		return err
	}
	item.Tool = p.apply(Tool{})
	*i = item
	return nil
}

// textMember is another member that contains text.
type textMember struct {
	name string
	into *string
}

// origin says who wrote a record. A list is read record by record.
type origin struct {
	limits rawjson.Limits
	folded bool // a name that differs from a known one by case only is an error
}

var (
	ours   = origin{rawjson.Limits{Depth: 64}, true} // a caller of this package or of the handler
	theirs = origin{answerLimits, false}             // another catalog
)

// readPatch reads the members that are present. The problems are members with the wrong type.
func readPatch(data []byte, from origin, more ...textMember) (Patch, problems, error) {
	var p Patch
	var ps problems
	var alias *Type
	known := []string{"name", "framework", "tool_type", "type", "account_id", "description", "tags", "version"}
	for _, m := range more {
		known = append(known, m.name)
	}
	var exact []string
	if !from.folded {
		known, exact = nil, known
	}
	err := rawjson.Read(data, from.limits, func(r *rawjson.Reader) error {
		return r.Object(known, func(name string) error {
			switch name {
			case "name":
				return readRequired(r, &ps, name, &p.Name)
			case "framework":
				return readRequired(r, &ps, name, &p.Framework)
			case "tool_type":
				return readRequired(r, &ps, name, &p.Type)
			case "type":
				return readRequired(r, &ps, "tool_type", &alias)
			case "account_id":
				return readText(r, &ps, name, &p.AccountID)
			case "description":
				return readText(r, &ps, name, &p.Description)
			case "version":
				return readText(r, &ps, name, &p.Version)
			case "tags":
				return readTags(r, &ps, &p.Tags)
			}
			for _, m := range more {
				if m.name == name {
					var text *string
					err := readText(r, &ps, name, &text)
					set(m.into, text)
					return err
				}
			}
			return nil
		}, exact...)
	})
	if err != nil {
		return Patch{}, nil, jsonError(err)
	}
	if alias != nil {
		if p.Type != nil && *p.Type != *alias {
			ps.add("tool_type", ruleClash, "and its alias type disagree; send one of them")
		}
		p.Type = alias
	}
	return p, ps, nil
}

// readRequired reads the text of a field that may be absent but not null.
func readRequired[T ~string](r *rawjson.Reader, ps *problems, name string, field **T) error {
	if r.Kind() == 'n' {
		_, err := r.Value()
		ps.add(name, ruleType, "must be a string, not null")
		return err
	}
	return readText(r, ps, name, field)
}

// readText reads a string; null is "".
func readText[T ~string](r *rawjson.Reader, ps *problems, name string, field **T) error {
	switch kind := r.Kind(); kind {
	case '"', 'n':
		text, err := r.String()
		value := T(text)
		*field = &value
		return err
	default:
		_, err := r.Value()
		ps.add(name, ruleType, "must be a string, not "+rawjson.KindName(kind))
		return err
	}
}

// readTags reads a list of strings, or one string with commas. null is nil.
func readTags(r *rawjson.Reader, ps *problems, field **[]string) error {
	kind := r.Kind()
	raw, err := r.Value()
	if err != nil {
		return err
	}
	var tags []string
	switch kind {
	case 'n':
	case '"':
		var text string
		_ = json.Unmarshal(raw, &text) // is a string
		tags = splitTags(text)
	case '[':
		tags = []string{}
		var list []*string
		if err := json.Unmarshal(raw, &list); err != nil {
			ps.add("tags", ruleType, "must be a list of strings, or one string with commas")
		}
		for _, tag := range list {
			if tag == nil {
				ps.add("tags", ruleType, "must be a list of strings, without null")
				break
			}
			tags = append(tags, *tag)
		}
	default:
		ps.add("tags", ruleType, "must be a list of strings, or one string with commas, not "+rawjson.KindName(kind))
	}
	*field = &tags
	return nil
}

// splitTags splits a text with commas into tags.
func splitTags(text string) []string {
	tags := []string{}
	for tag := range strings.SplitSeq(text, ",") {
		if tag = strings.TrimSpace(tag); tag != "" {
			tags = append(tags, tag)
		}
	}
	return tags
}

// jsonError reports that the document is not strict JSON.
func jsonError(err error) error {
	message := "invalid JSON"
	if e, ok := errors.AsType[*rawjson.Error](err); ok {
		message = e.Error()
	}
	return &Error{Code: CodeInvalid, Message: "the document is not valid", Err: err,
		Problems: []Problem{{Code: ruleJSON, Message: message}}}
}
