// Package catalog holds tool records, the entries of a catalog of tools ("ToolBase records"): their rules, a client for a
// catalog's REST API, and the same API as an [http.Handler] to mount.
//
//   - [Tool], [Patch] and [ListItem] are the records; [ParseTool] and [ParsePatch] read them from JSON.
//   - [CheckPlugin] checks a Python file as at its upload, without running it.
//   - [NewHandler] serves a catalog from a [Store]: [NewMemoryStore], the module sqlitestore, or the caller's own, which
//     package catalogtest holds to the contract.
//   - [Declarations] and [FromDeclarations] go to the tools of package schema and back, and say what is lost.
//
// # Where ToolBase records leave a choice
//
// Names are compared byte by byte, so "a" and "A" are two tools, and may be any text that is not blank and has no control
// characters. Versions need not be semantic, nor grow. Nothing has a maximum length but what a handler's options say.
// Unknown members of JSON and unknown fields of forms are passed over; names that differ from a known one by case only are
// refused. The type is written as tool_type, and read as type too.
//
// A deleted tool frees its name, is in no list, and can be restored while the name is free. account_id is that of the key;
// another one is refused. PUT may change framework and tool_type, but a tool with source code stays custom. Redacted source
// code is absent. A tool of another account is not found.
package catalog

// Framework is the library that a tool's class is written for.
type Framework string

// The frameworks (ToolFramework).
const (
	LangChain Framework = "langchain"
	LangGraph Framework = "langgraph"
	GoogleADK Framework = "google_adk"
)

// Type says where a tool comes from.
type Type string

// The types (ToolType).
const (
	Native Type = "native" // pre-built
	Custom Type = "custom" // uploaded by a user
)

// DefaultVersion is the version of a tool that says none.
const DefaultVersion = "1.0.0"

// Tool is what a user says of a tool (ToolBase): the body of POST /tools/ and PUT /tools/{id}. [Tool.Validate] tells
// what is wrong with one.
//
// It is written with the members that are set, and read strictly; see [ParseTool].
type Tool struct {
	// Name, Framework and Type are required. A name is unique within an account.
	Name      string    `json:"name"`
	Framework Framework `json:"framework"`
	Type      Type      `json:"tool_type"`

	// AccountID is a UUID, or "" for the account of whoever asks.
	AccountID   string   `json:"account_id,omitempty"`
	Description string   `json:"description,omitempty"`
	Tags        []string `json:"tags,omitempty"`
	Version     string   `json:"version,omitempty"` // "" is DefaultVersion
}

// ListItem is a tool as a catalog answers it (ToolListItem). Tags are not in the documented table, but in a record.
type ListItem struct {
	ID string `json:"id"` // a UUID
	Tool

	PluginClassName string `json:"plugin_class_name,omitempty"` // the class in the source, of a custom tool
	ModuleName      string `json:"module_name,omitempty"`       // the Python module's name

	// ScriptContent is the source code. Catalogs leave it out everywhere but where the source itself is asked for.
	ScriptContent string `json:"script_content,omitempty"`
}

// Patch is a metadata update: the fields that are not nil are to be changed. A pointer to an empty value clears an
// optional field; new("…") makes a pointer.
type Patch struct {
	Name        *string    `json:"name,omitempty"`
	Framework   *Framework `json:"framework,omitempty"`
	Type        *Type      `json:"tool_type,omitempty"`
	AccountID   *string    `json:"account_id,omitempty"`
	Description *string    `json:"description,omitempty"`
	Tags        *[]string  `json:"tags,omitempty"`
	Version     *string    `json:"version,omitempty"`
}

// Apply returns the tool with the fields of the patch. The tool itself stays as it is, and shares no tags with the result.
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

// complete tells whether every required field is given.
func (p Patch) complete() bool { return p.Name != nil && p.Framework != nil && p.Type != nil }

// patchOf gives what the tool says. An empty field says nothing.
func patchOf(t Tool) Patch {
	var p Patch
	given(&p.Name, t.Name)
	given(&p.Framework, t.Framework)
	given(&p.Type, t.Type)
	given(&p.AccountID, t.AccountID)
	given(&p.Description, t.Description)
	given(&p.Version, t.Version)
	if t.Tags != nil {
		p.Tags = &t.Tags
	}
	return p
}

func given[T ~string](field **T, value T) {
	if value != "" {
		*field = &value
	}
}
