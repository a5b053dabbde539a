// Package catalog manages tool records, the entries of a catalog of tools. The page
// [ToolBase records] defines them. The package provides their rules, a client for a catalog's REST
// API, and the same API as an [http.Handler].
//
// A client creates a tool and reads it back:
//
//	client, err := catalog.NewClient("https://aip.example.com", key, nil)
//	tool, err := client.Create(ctx, catalog.Tool{
//		Name: "calculator", Framework: catalog.LangChain, Type: catalog.Custom,
//	})
//	tool, err = client.Get(ctx, tool.ID)
//
// The package has these parts:
//
//   - [Tool], [Patch] and [ListItem] are the records. They read and write JSON.
//   - [NewClient] returns a client of a catalog.
//   - [CheckPlugin] checks a Python file as an upload does, without running it.
//   - [NewHandler] serves a catalog from a [Store]: [NewMemoryStore], the stores of modules
//     sqlitestore and postgresstore, or the caller's own, which package catalogtest tests.
//   - [Declarations] and [FromDeclarations] convert records to and from the tools of package
//     schema, and report what is lost.
//
// Every error is a [*toolwire.Error]. It contains no key, no source code, and no value of a field except a
// tool's name. Clients, handlers and stores are safe for concurrent use.
//
// This package is experimental, as the README explains.
//
// # Choices
//
// ToolBase records leaves the following open. Names are compared byte by byte, so "a" and "A" are
// two tools. A name is any text that is not blank and has no control characters. A version need not
// be semantic and need not grow. Only a handler limits lengths; see [HandlerOptions]. Unknown
// members of JSON and unknown fields of forms are ignored. A handler rejects a name that differs
// from a known one by case only; a client ignores it in a response. The type is written as
// tool_type and read as type too.
//
// A deleted tool frees its name, is in no list, and can be restored while the name is free.
// account_id is the account of the key; another one is rejected. PUT may change framework and
// tool_type, but a tool with source code stays custom. Redacted source code is absent. A tool of
// another account is not found.
//
// # Codes of errors
//
// A code with a status means what that status means, for a [Client] that received it and for a [Store]
// or a check that causes it. A Store returns a [*toolwire.Error] with not_found or conflict; Code is the
// only field that a store has to set.
//
//	invalid_options     the arguments of a constructor are not valid
//	invalid_tool        a tool, a patch or an argument is not valid, nothing was sent
//	rejected            422
//	invalid_plugin      400, or success false: the uploaded source is not valid
//	refused             any other 4xx, or success false
//	unauthorized        401
//	forbidden           403
//	not_found           404: unknown, deleted, or of another account
//	conflict            409: the name is taken
//	ambiguous           [Client.Find]: several tools have the name
//	request_too_large   413, or over a limit of the options
//	rate_limited        429
//	server_error        5xx
//	unexpected_status   any other status that is not 2xx; redirects are not followed
//	transport           no connection, or it broke
//	timeout             no response within ClientOptions.Timeout
//	bad_response        the response is not one that a catalog sends
//	response_too_large  it exceeds ClientOptions.MaxResponseBytes
//	canceled            the caller's context was canceled
//	deadline            the deadline of the caller's context passed
//
// A handler sends busy, with 503, while its store cannot be reached.
//
// # Codes of problems
//
// These are the rules of this package, which a handler also sends. A problem of another server has the
// server's own word, or "".
//
//	missing      a required field is absent
//	type         the field has another JSON type
//	enum         the value is not one of the documented values
//	uuid         the value is not a UUID
//	text         the text is blank, not UTF-8, or has control characters
//	too_long     the description has more than 65,536 characters
//	clash        two fields contradict each other
//	repeated     the field occurs more than once
//	account      the account is not the account of the key
//	fixed        the field must have, or keep, another value
//	json         the document is not strict JSON
//	form         the multipart form is malformed, or cannot carry the value
//	too_large    the content is larger than a limit
//	filename     the file name is not valid
//	encoding     the file is not UTF-8 text
//	syntax       the file is not Python
//	entry_point  the file has no entry point
//	tool_class   the file has no tool class
//	url, header, version, negative   the value of an option or argument is not valid
//
// Tool of a problem is "", because the error names the tool. Pointer leads to the field: "/name". Fields
// of a form have the same pointers as members. A location that a server reports begins with its part of
// the request: "/body/name". Options and arguments have their Go names: "/Plugin/MaxBytes", "/baseURL".
//
// [ToolBase records]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#the-five-documents
package catalog

import (
	"fmt"
	"log/slog"

	"github.com/toolwire/toolwire/internal/redact"
)

// Framework is the library that a tool's class is written for.
type Framework string

// The frameworks (ToolFramework).
const (
	LangChain Framework = "langchain"
	LangGraph Framework = "langgraph"
	GoogleADK Framework = "google_adk"
)

// Type is the origin of a tool.
type Type string

// The types (ToolType).
const (
	Native Type = "native" // pre-built
	Custom Type = "custom" // uploaded by a user
)

// defaultVersion is the version of a tool that has none.
const defaultVersion = "1.0.0"

// Tool is the metadata that a user gives of a tool (ToolBase): the body of POST /tools/ and PUT
// /tools/{id}. [Tool.Validate] checks it, and [Tool.UnmarshalJSON] describes how it is read. Only
// fields that are set are written.
type Tool struct {
	// Name, Framework and Type are required. A name is unique within an account.
	Name      string    `json:"name"`
	Framework Framework `json:"framework"`
	Type      Type      `json:"tool_type"`

	// AccountID is a UUID. If it is "", the account of the key applies.
	AccountID   string   `json:"account_id,omitempty"`
	Description string   `json:"description,omitempty"`
	Tags        []string `json:"tags,omitempty"`
	Version     string   `json:"version,omitempty"` // "" is 1.0.0
}

// ListItem is a tool as a catalog returns it (ToolListItem). The documented table lacks tags; a
// ListItem has them.
type ListItem struct {
	ID string `json:"id"` // a UUID
	Tool

	PluginClassName string `json:"plugin_class_name,omitempty"` // the class in the source, of a custom tool
	ModuleName      string `json:"module_name,omitempty"`       // the Python module's name

	// ScriptContent is the source code. Catalogs return it only to a request for the source.
	ScriptContent string `json:"script_content,omitempty"`
}

// Patch is an update of metadata: it changes the fields that are not nil. A pointer to an empty
// value clears an optional field; new("…") returns a pointer.
type Patch struct {
	Name        *string    `json:"name,omitempty"`
	Framework   *Framework `json:"framework,omitempty"`
	Type        *Type      `json:"tool_type,omitempty"`
	AccountID   *string    `json:"account_id,omitempty"`
	Description *string    `json:"description,omitempty"`
	Tags        *[]string  `json:"tags,omitempty"`
	Version     *string    `json:"version,omitempty"`
}

// apply returns the tool with the fields of the patch. It does not change t, and the result shares
// no tags with t.
func (p Patch) apply(t Tool) Tool {
	set(&t.Name, p.Name)
	set(&t.Framework, p.Framework)
	set(&t.Type, p.Type)
	set(&t.AccountID, p.AccountID)
	set(&t.Description, p.Description)
	set(&t.Tags, p.Tags)
	set(&t.Version, p.Version)
	t.Tags = append([]string(nil), t.Tags...)
	return t
}

func set[T any](field *T, value *T) {
	if value != nil {
		*field = *value
	}
}

// patchOf returns the fields of a tool that are set.
func patchOf(t Tool) Patch {
	p := Patch{Name: given(t.Name), Framework: given(t.Framework), Type: given(t.Type), AccountID: given(t.AccountID),
		Description: given(t.Description), Version: given(t.Version)}
	if len(t.Tags) > 0 {
		p.Tags = &t.Tags
	}
	return p
}

func given[T ~string](value T) *T {
	if value == "" {
		return nil
	}
	return &value
}

// A tool's source may contain its author's secrets. The JSON of a tool has the source, because
// catalogs exchange it. Formatting and logging a tool does not show it. A log handler that writes a
// list of tools as JSON does show it.

// Format implements [fmt.Formatter]. It prints "[redacted]" for ScriptContent.
func (i ListItem) Format(f fmt.State, verb rune) { redact.Format(f, verb, i.hidden()) }

// LogValue implements [slog.LogValuer]. It logs "[redacted]" for ScriptContent.
func (i ListItem) LogValue() slog.Value { return slog.AnyValue(i.hidden()) }

type plainItem ListItem

func (i ListItem) hidden() plainItem {
	i.ScriptContent = redact.Field(i.ScriptContent)
	return plainItem(i)
}
