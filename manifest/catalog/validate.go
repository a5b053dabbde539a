package catalog

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolwire/toolwire/internal/bounded"
)

// The rules, in [Problem.Code].
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
type problems []Problem

// maxShown bounds a name in an error, in bytes.
const maxShown = 128

func (ps *problems) add(field, rule, message string) {
	if !ps.has(field) {
		*ps = append(*ps, at(field, rule, message))
	}
}

func (ps *problems) has(field string) bool {
	return slices.ContainsFunc(*ps, func(p Problem) bool { return p.field() == field })
}

// error returns the problems in the order of the tables. It returns nil if there are none.
func (ps *problems) error(tool, message string) error {
	if len(*ps) == 0 {
		return nil
	}
	slices.SortStableFunc(*ps, func(a, b Problem) int {
		return cmp.Compare(slices.Index(fieldOrder, a.field()), slices.Index(fieldOrder, b.field()))
	})
	return &Error{Code: CodeInvalid, Message: message, Tool: bounded.Cut(tool, maxShown), Problems: *ps}
}

// Validate checks a tool for creation or full replacement. name, framework and tool_type are
// required. framework and tool_type must have a documented value. account_id must be a UUID. name
// and version must not be blank or contain control characters. The error is an [*Error] with
// [CodeInvalid] and all problems.
//
// No document limits a length or the form of a name, so Validate does not either. For limits of a
// server see [HandlerOptions].
func (t Tool) Validate() error {
	var ps problems
	p := patchOf(t)
	ps.require(p)
	ps.check(p)
	return ps.error(t.Name, "the record is not valid")
}

// Validate checks the fields that are present, by the rules of [Tool.Validate].
func (p Patch) Validate() error {
	var ps problems
	ps.check(p)
	return ps.error("", "the update is not valid")
}

const (
	textUUID = "must be a UUID: 8-4-4-4-12 hexadecimal digits"
	textUTF8 = "must be valid UTF-8"

	textNegative = "must not be negative; 0 is the default"
)

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
		ps.add("framework", ruleEnum, "must be langchain, langgraph or google_adk")
	}
	if p.Type != nil && *p.Type != Native && *p.Type != Custom {
		ps.add("tool_type", ruleEnum, "must be native or custom")
	}
	if p.AccountID != nil && *p.AccountID != "" && !bounded.ValidUUID(*p.AccountID) {
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
