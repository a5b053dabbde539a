// Package toolbox runs internal and external tools for an agent, as the page "[Bedrock tools]"
// defines them. Internal tools are Go functions, external tools are webhooks. [Parse] reads their
// definitions, [Toolbox.Definitions] lists them for a model, and [Toolbox.CallForModel] runs one.
//
//	box, err := toolbox.Parse(document, &toolbox.Options{
//		Handlers: map[string]toolbox.Handler{"defaults.contacts.create_contact": toolbox.Typed(createContact)},
//		Agent:    toolbox.Agent{ID: "6f1c1a5e-3c1b-4a53-9d7e-0c5f2b8a9e11"},
//		Secret:   os.Getenv("TOOL_CALL_SECRET"),
//	})
//	tools, err := box.Definitions(ctx)                            // for the model, by schema.Export
//	result, err := box.CallForModel(ctx, name, arguments)          // a call of the model
//
//	func createContact(ctx context.Context, args Contact, agent toolbox.Agent, tool toolbox.Tool) (string, error) { … }
//
// This package is settling, as the README explains.
//
// # Documents
//
// A document is one definition of a tool, a list of them, a listing of the platform's API
// ({"results": […]}), or an object with adapters and tools:
//
//	{"adapters": [{"name": "contacts", "description": "…", "config_schema": {…}, "tools": [{…}]}],
//	 "tools": [
//	  {"name": "create_contact", "description": "…", "parameters": {…}, "adapter": "contacts",
//	   "handler": "defaults.contacts.create_contact"},
//	  {"name": "check_schedule", "description": "…", "parameters": {…},
//	   "url": "https://api.example.com/check", "detail_url": "https://api.example.com/detail"}]}
//
// A tool has either a handler or a url. Its adapter is the one that contains it, or the one that it
// names by name or id. The adapter is optional, because the page shows tools without one. If the
// document has no adapters, the tools declare them: "adapter" is then a name, an id, or an object
// with both. Names of tools are unique across all adapters. A tool without parameters, or with
// null, accepts any object. Unknown members are ignored. A document of another form, and a listing
// with more pages, are rejected.
//
// [Client] reads the adapters and the tools of an organisation from the platform's API. The JSON of
// its list of tools is a document:
//
//	client, err := toolbox.NewClient(os.Getenv("BEDROCK_API_KEY"), nil)
//	tools, err := client.Tools(ctx, adapterID)
//	document, err := json.Marshal(tools)
//
// # Reasoning
//
// Definitions for a model contain the string parameter reasoning. It is the first property
// and the first required one, so that the model writes it before the arguments. It is not enforced:
// a call without it, or with another type, succeeds, and in tools_schema it is not required. The
// toolbox removes it before it validates the arguments, and passes it to [Options.OnCall]. Webhooks
// receive it if it is a string, handlers do not. If the schema of a tool declares reasoning itself,
// directly or through "$ref" or "allOf", schema and arguments stay unchanged. A schema that may reject
// further properties in another place than its root, such as a branch of "allOf" or the target of
// "$ref", or that refers to its own root, gets no reasoning.
//
// # Webhooks
//
// A call of an external tool is a POST with the headers X-Agent-Secret and X-Agent-Identity and
// this body, whose member names the page leaves open:
//
//	{"tool": {"name", "description", "parameters"}, "agent": {"id", "context"}, "arguments": {…}}
//
// The arguments match the parameters beside them: either both have reasoning, or neither has it.
// They are the model's arguments, without defaults.
//
// The toolbox follows at most three redirects, if they keep host and method. A response with status
// 2xx must be one JSON value of at most 1 MiB; a request body has at most 1 MiB too. An empty response is
// null, and a text that is not JSON is a string if its Content-Type is text/plain or missing. Calls are
// never retried.
//
// # Details
//
// The text at detail_url is appended to the description after an empty line. Its line breaks stay,
// other control characters are removed. The request is a GET without secret and identity, because
// all agents of a process share details. There is one request per URL at a time. A text is used for
// 60 s.
//
//	200 with text                                       the text is appended
//	200 with "" or white space, 204                     nothing is appended
//	200 without a string as detail                      a failure
//	200 that is not strict JSON, or over 64 KiB         a failure
//	other statuses, redirects to another host           a failure
//	no response within 3 s, no connection               a failure
//	an address that is not public                       a failure, unless InsecurePrivateDetails is set
//	the caller's context ends                           Definitions returns its error; the request goes on
//
// After a failure the tool keeps its description and stays usable. [Options.Logger] receives the
// failure, and the next request starts after ten seconds. The detail becomes part of the model's
// prompt, so use only servers that you trust with it.
//
// # Errors
//
// A [Toolbox] and a [Client] are safe for concurrent use.
//
// Every error is an [*Error] with a [toolwire.Code]; [toolwire.CodeOf] returns it. Failures of a tool are results for
// the model: [Toolbox.CallForModel] returns JSON for them, and an error only if the agent should
// stop.
//
// # Codes of errors
//
//	invalid_options     only options are not valid; see Problems
//	limit               the document has more than 4 MiB
//	invalid_json        not strict JSON of the documented shape
//	invalid_toolbox     the document breaks rules, and options may too; see Problems
//	unknown_tool        the toolbox has no tool of that name
//	unknown_adapter     the toolbox has no adapter of that name or id
//	invalid_arguments   not valid by the parameters; the tool did not run
//	no_agent            the agent is not valid, or has no UUID
//	tool_failed         the tool reported a failure
//	tool_panicked       the handler panicked
//	busy                Options.MaxParallel other tools run; the tool did not run
//	address_not_public  the detail_url is not on the public internet
//	canceled            the caller's context was canceled
//	deadline            the deadline of the caller's context passed
//	timeout             Options.Timeout passed, 3 s for a detail, or 30 s for a page
//	transport           the connection to the webhook or the platform failed
//	response_too_large  over 1 MiB, 64 KiB for a detail, 4 MiB for a page
//	bad_response        the response does not have the documented form
//	unauthorized        401
//	forbidden           403
//	not_found           404
//	conflict            409
//	request_too_large   413, or the body exceeds 1 MiB and was not sent
//	rejected            422
//	rate_limited        429
//	refused             any other 4xx
//	server_error        5xx
//	unexpected_status   any other status that is not 2xx, and of a page any but 200
//
// [Bedrock tools]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#the-five-documents
package toolbox
