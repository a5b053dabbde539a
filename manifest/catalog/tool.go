// Package catalog holds tool records, the entries of a catalog of tools ("ToolBase records"): their rules, a client for a
// catalog's REST API, and the same API as an [http.Handler] to mount.
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

// Tool is what a user says of a tool (ToolBase): the body of POST /tools/ and PUT /tools/{id}.
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

// ListItem is a tool as a catalog answers it (ToolListItem).
type ListItem struct {
	ID string `json:"id"` // a UUID
	Tool

	PluginClassName string `json:"plugin_class_name,omitempty"` // the class in the source, of a custom tool
	ModuleName      string `json:"module_name,omitempty"`       // the Python module's name

	// ScriptContent is the source code. Catalogs leave it out everywhere but where the source itself is asked for.
	ScriptContent string `json:"script_content,omitempty"`
}
