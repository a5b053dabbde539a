package catalog

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/text"
)

// UnmarshalJSON reads a record. It does not validate it: fields may be absent and have any text.
// Call [Tool.Validate] afterwards.
//
// The text must be one strict JSON object: valid UTF-8, no duplicate name, no name that differs
// from a known one by case only. Unknown members are ignored, so that a record from a newer server
// can be sent back. null means absent. tool_type may be called type; if both occur they must agree.
// tags is a list, or one string with commas between the tags.
//
// The error is a [*toolwire.Error] with invalid_tool and all problems. encoding/json reports malformed
// JSON with an error of its own before it calls this method.
func (t *Tool) UnmarshalJSON(data []byte) error {
	p, ps, err := readRecord(data, rawjson.Strict, nil)
	if err = cmp.Or(err, ps.error("", "the record is not valid")); err != nil {
		return err
	}
	*t = p.apply(Tool{})
	return nil
}

// UnmarshalJSON reads an update as [Tool.UnmarshalJSON] reads a record. null clears description,
// tags, version and account_id. It does not validate the update.
func (p *Patch) UnmarshalJSON(data []byte) error {
	update, ps, err := readRecord(data, rawjson.Strict, nil)
	if err = cmp.Or(err, ps.error("", "the update is not valid")); err != nil {
		return err
	}
	*p = update
	return nil
}

// UnmarshalJSON reads an item as [Tool.UnmarshalJSON] reads a record. It does not validate the
// item.
func (i *ListItem) UnmarshalJSON(data []byte) error {
	var item ListItem
	p, ps, err := readRecord(data, rawjson.Strict, &item)
	if err = cmp.Or(err, ps.error("", "the item is not valid")); err != nil {
		return err
	}
	item.Tool = p.apply(Tool{})
	*i = item
	return nil
}

// The members of a record, with the alias of tool_type, and the members of an item.
var (
	recordMembers = []string{"name", "framework", "tool_type", "type", "account_id", "description", "tags", "version"}
	itemMembers   = append(slices.Clip(recordMembers), "id", "plugin_class_name", "module_name", "script_content")
)

// maxDepth bounds the nesting of a document.
const maxDepth = 64

// readRecord reads the members that are present, and the members of an item into item if it is not nil.
// The problems are members with the wrong type. In strict mode, a name that differs from a known one
// by case only is an error.
func readRecord(data []byte, mode rawjson.Mode, item *ListItem) (p Patch, ps problems, err error) {
	known, exact := recordMembers, []string(nil)
	if item != nil {
		known = itemMembers
	}
	if mode != rawjson.Strict {
		known, exact = nil, known
	}
	var alias *string
	err = rawjson.Read(data, rawjson.Limits{Depth: maxDepth, Mode: mode}, func(r *rawjson.Reader) error {
		return r.Object(known, func(name string) error {
			raw, err := r.Value()
			switch {
			case err != nil:
				return err
			case name == "type":
				if text, ok := readText(&ps, "tool_type", raw); ok {
					alias = &text
				}
			case slices.Contains(recordMembers, name):
				p.read(&ps, name, raw)
			case item != nil && slices.Contains(itemMembers, name):
				if text, ok := readText(&ps, name, raw); ok {
					item.set(name, text)
				}
			}
			return nil
		}, exact...)
	})
	if err != nil {
		return Patch{}, nil, jsonError(err)
	}
	p.setAlias(&ps, alias)
	return p, ps, nil
}

// read reads one member. It reports whether the value has the right type.
func (p *Patch) read(ps *problems, member string, raw json.RawMessage) bool {
	if member == "tags" {
		p.Tags = readTags(ps, raw)
	} else if text, ok := readText(ps, member, raw); ok {
		p.set(member, text)
	}
	return !ps.has(member)
}

// set sets a field by the name of its member. The text of tags has commas between them.
func (p *Patch) set(member, text string) {
	switch member {
	case "name":
		p.Name = &text
	case "framework":
		p.Framework = new(Framework(text))
	case "tool_type":
		p.Type = new(Type(text))
	case "account_id":
		p.AccountID = &text
	case "description":
		p.Description = &text
	case "tags":
		p.Tags = new(splitTags(text))
	case "version":
		p.Version = &text
	}
}

// setAlias sets the type from the member type, if there is one.
func (p *Patch) setAlias(ps *problems, text *string) {
	if text == nil {
		return
	}
	if p.Type != nil && string(*p.Type) != *text {
		ps.add("tool_type", ruleClash, "and its alias type disagree; send one of them")
	}
	p.set("tool_type", *text)
}

// set sets a field that a Patch does not have.
func (i *ListItem) set(member, text string) {
	switch member {
	case "id":
		i.ID = text
	case "plugin_class_name":
		i.PluginClassName = text
	case "module_name":
		i.ModuleName = text
	case "script_content":
		i.ScriptContent = text
	}
}

// readText reads a string. null is "", except in a required field.
func readText(ps *problems, member string, raw json.RawMessage) (text string, ok bool) {
	kind := rawjson.Kind(raw)
	required := member == "name" || member == "framework" || member == "tool_type"
	if kind != '"' && (kind != 'n' || required) {
		ps.add(member, ruleType, "must be a string, not "+rawjson.KindName(kind))
		return "", false
	}
	return rawjson.Unquote(raw), true
}

// readTags reads a list of strings, or one string with commas. null is nil.
func readTags(ps *problems, raw json.RawMessage) *[]string {
	var tags []string
	switch kind := rawjson.Kind(raw); kind {
	case 'n':
	case '"':
		tags = splitTags(rawjson.Unquote(raw))
	case '[':
		tags = []string{}
		for tag := range rawjson.Elements(raw) {
			if kind := rawjson.Kind(tag); kind != '"' {
				ps.add("tags", ruleType, "must be a list of strings, without "+rawjson.KindName(kind))
			}
			tags = append(tags, rawjson.Unquote(tag))
		}
	default:
		ps.add("tags", ruleType, "must be a list of strings, or one string with commas, not "+rawjson.KindName(kind))
	}
	return &tags
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
	return &toolwire.Error{Package: "catalog", Code: codeInvalid, Message: "the document is not valid", Err: err,
		Problems: []toolwire.Problem{{Code: ruleJSON, Message: message}}}
}

// The rules, in [toolwire.Problem.Code].
const (
	ruleMissing  = "missing"
	ruleType     = "type"     // of another JSON type
	ruleEnum     = "enum"     // not one of the values
	ruleUUID     = "uuid"     // not a UUID
	ruleText     = "text"     // blank, not UTF-8, or with control characters
	ruleTooLong  = "too_long" // over a limit
	ruleClash    = "clash"    // given twice, with different values
	ruleJSON     = "json"     // not strict JSON
	ruleAccount  = "account"  // of another account
	ruleFixed    = "fixed"    // cannot change, or must have one value
	ruleForm     = "form"     // not a well-formed multipart form
	ruleRepeated = "repeated" // given more than once
	ruleNegative = "negative" // of options
)

// fieldOrder is the order of the documented tables.
var fieldOrder = []string{"id", "name", "framework", "tool_type", "account_id", "description", "tags", "version",
	"plugin_class_name", "module_name", "script_content", "file"}

// problems collects one problem per field.
type problems []toolwire.Problem

// maxShown bounds a name in an error, in bytes.
const maxShown = 128

func (ps *problems) add(field, rule, message string) {
	if !ps.has(field) {
		*ps = append(*ps, at(field, rule, message))
	}
}

func (ps *problems) has(field string) bool {
	return slices.ContainsFunc(*ps, func(p toolwire.Problem) bool { return fieldOf(p) == field })
}

// error returns the problems in the order of the tables. It returns nil if there are none.
func (ps *problems) error(tool, message string) error {
	if len(*ps) == 0 {
		return nil
	}
	slices.SortStableFunc(*ps, func(a, b toolwire.Problem) int {
		return cmp.Compare(slices.Index(fieldOrder, fieldOf(a)), slices.Index(fieldOrder, fieldOf(b)))
	})
	return &toolwire.Error{Package: "catalog", Code: codeInvalid, Message: message, Tool: text.Cut(tool, maxShown), Problems: *ps}
}

// Validate checks a tool for creation or full replacement. name, framework and tool_type are
// required. framework and tool_type must have a documented value. account_id must be a UUID. name
// and version must not be blank or contain control characters. The error is a [*toolwire.Error] with
// invalid_tool and all problems.
//
// No document limits a length or the form of a name, so Validate does not either. For limits of a
// server see [HandlerOptions].
func (t Tool) Validate() error {
	var ps problems
	ps.require(patchOf(t))
	ps.check(patchOf(t))
	return ps.error(t.Name, "the record is not valid")
}

// Validate checks the fields that are present, by the rules of [Tool.Validate].
func (p Patch) Validate() error {
	var ps problems
	ps.check(p)
	return ps.error("", "the update is not valid")
}

const (
	textUUID      = "must be a UUID: 8-4-4-4-12 hexadecimal digits"
	textUTF8      = "must be valid UTF-8"
	textFramework = "must be langchain, langgraph or google_adk"
	textType      = "must be native or custom"
)

// limitIn returns a function for [problem.Limit] that adds to problems.
func limitIn(list *[]toolwire.Problem) func(name, rule string) {
	return func(name, rule string) { *list = append(*list, at(name, ruleNegative, rule)) }
}

func (ps *problems) require(p Patch) {
	if p.Name == nil {
		ps.add("name", ruleMissing, "is required")
	}
	if p.Framework == nil {
		ps.add("framework", ruleMissing, "is required: langchain, langgraph or google_adk")
	}
	if p.Type == nil {
		ps.add("tool_type", ruleMissing, "is required: native or custom")
	}
}

// check applies the rules to the fields that are present and have no problem yet.
func (ps *problems) check(p Patch) {
	if p.Name != nil {
		ps.line("name", *p.Name)
	}
	if p.Framework != nil && !slices.Contains([]Framework{LangChain, LangGraph, GoogleADK}, *p.Framework) {
		ps.add("framework", ruleEnum, textFramework)
	}
	if p.Type != nil && *p.Type != Native && *p.Type != Custom {
		ps.add("tool_type", ruleEnum, textType)
	}
	if p.AccountID != nil && *p.AccountID != "" && !text.ValidUUID(*p.AccountID) {
		ps.add("account_id", ruleUUID, textUUID)
	}
	if p.Description != nil && !utf8.ValidString(*p.Description) {
		ps.add("description", ruleText, textUTF8)
	}
	if p.Tags != nil && !utf8.ValidString(strings.Join(*p.Tags, ",")) { // half a character is not valid in a tag
		ps.add("tags", ruleText, textUTF8)
	}
	if p.Version != nil && *p.Version != "" {
		ps.line("version", *p.Version)
	}
}

// line checks a text that people and programs show in lists, logs and files.
func (ps *problems) line(field, text string) {
	switch {
	case !utf8.ValidString(text):
		ps.add(field, ruleText, textUTF8)
	case strings.TrimSpace(text) == "":
		ps.add(field, ruleText, "must not be blank")
	case strings.ContainsFunc(text, unicode.IsControl):
		ps.add(field, ruleText, "must not have control characters")
	}
}
