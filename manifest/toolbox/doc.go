// Package toolbox runs internal and external tools for an agent, as the page Bedrock tools defines them: internal tools are
// Go functions, external tools are webhooks. [Load] reads their definitions, [Toolbox.Definitions] lists them for a model, and
// [Toolbox.CallForModel] runs one.
//
//	box, err := toolbox.Load("toolbox.json", &toolbox.Options{
//		Handlers: map[string]toolbox.Handler{"defaults.contacts.create_contact": toolbox.Typed(createContact)},
//		Agent:    toolbox.Agent{ID: "6f1c1a5e-3c1b-4a53-9d7e-0c5f2b8a9e11"},
//		Secret:   os.Getenv("TOOL_CALL_SECRET"),
//	})
//	tools, err := box.Definitions(ctx)                                // to the model, through schema.Export
//	result, failed, err := box.CallForModel(ctx, name, arguments)     // and back to it
//
//	func createContact(ctx context.Context, args Contact, agent toolbox.Agent, tool toolbox.Tool) (string, error) { … }
//
// # The document
//
// It is a list of tools, or an object with adapters and tools:
//
//	{"adapters": [{"name": "contacts", "description": "…", "config_schema": {…}, "tools": [{…}]}],
//	 "tools": [
//	  {"name": "create_contact", "description": "…", "parameters": {…}, "adapter": "contacts",
//	   "handler": "defaults.contacts.create_contact"},
//	  {"name": "check_schedule", "description": "…", "parameters": {…},
//	   "url": "https://api.example.com/check", "detail_url": "https://api.example.com/detail"}]}
//
// A tool has either a handler or a url. It belongs to the adapter that it stands in or names, by name or by id; the page
// says that each tool has one, but shows tools without, so it may be missing. Names of tools are unique in all adapters,
// since they are called by name. A tool without parameters, or with null, takes any object. Unknown members are ignored.
//
// # What is documented, and what is decided here
//
// Reasoning: every definition has the string parameter reasoning, the first property and the first required one, so that
// the model writes it before the arguments. It is not enforced: a call without it, or with one of another type, goes
// through. It is taken out before arguments are validated and handed to [Options.OnCall]; internal handlers do not get
// it, webhooks do. A schema that speaks of reasoning itself, also behind "$ref" or "allOf", is left alone, and so are its
// arguments. The author's schemas are never modified.
//
// Webhooks: a POST of {"tool": {"name", "description", "parameters"}, "agent": {"id", "context"}, "arguments": {…}} with
// X-Agent-Secret and X-Agent-Identity; the page does not name the members. Redirects are followed within the same host if
// they keep the method, at most three. An answer of 2xx must be one strict JSON value. Nothing is ever repeated.
//
// Details: a GET without secret or identity, for details are shared by all agents of a process. One fetch at a time for a
// URL, whoever asks. The text follows the description after an empty line, its line breaks kept and other control
// characters removed. What each answer comes to:
//
//	200 with text                                     the text is appended
//	200 with "" or blank, 204                         nothing is appended, no failure
//	200 with detail missing, null or not a string     a failure
//	200 not strict JSON, or over 64 KiB               a failure
//	other statuses, redirects to another host         a failure
//	no answer within 3 s, no connection               a failure
//	an address that is not public                     a failure, unless InsecurePrivateDetails
//	the caller's context ends                         Definitions returns its error; other callers go on waiting
//
// After a failure the description is as it was written, the tool stays usable, [Options.OnDetailError] hears of it, and
// the next attempt is made after ten seconds. The detail goes into the model's prompt: name only servers that you trust
// with it.
//
// # Results
//
// [Toolbox.Call] returns JSON, like the Call of package proxy's clients; what a handler returns is a JSON string.
// [Toolbox.CallForModel] returns JSON for failures too, so that an agent's loop shows every result to the model and stops
// only at an error.
package toolbox
