// Package registration registers an [agent] with the platform, and updates it. A [Registration]
// describes the agent as a Go value. [Registration.Validate] reports every problem at once. A
// [Client] sends the registration.
//
//	reg := registration.Registration{
//		Name:        "refund-agent",
//		EndpointURL: "https://agents.example.com/dispatch",
//		AuthHeader:  "Authorization",
//		AuthValue:   "Bearer " + os.Getenv("AGENT_TOKEN"),
//		Tools:       tools,
//	}
//	client, err := registration.NewClient("https://api.pipelines.tech", apiKey, nil)
//	agent, err := client.Create(ctx, &reg)
//
// A registered agent is a draft. The platform [dispatches] [runs] to it after it has been
// published.
//
// Every error is a [*toolwire.Error]. It does not contain the API key, the value of the auth header, or
// the query of the endpoint URL, even if the platform repeats them. Calls are never repeated. Clients
// are safe for concurrent use. A Registration is safe for concurrent use as long as it does not change.
//
// This package is settling, as the README explains.
//
// # Documented and inferred names
//
// The rules come from the pages Register an external HTTP agent, Tools schema, Ledger schema,
// Multi-agent systems, and [Porting without the SDK] (steps 1, 4 and 6). None of these pages shows
// the request body. The fields of [Registration] say "name documented" if a page or the platform's
// SDK spells the member. They say "name inferred" if the name follows from the registration form
// only. The place of a member in the body is inferred, except for the members of config.
//
// If an inferred name is wrong, correct it with [Registration.Extra] or [Registration.Config]. A
// member there replaces or removes the member of the same name.
//
// # Codes of errors
//
//	invalid_registration  the registration is not valid and was not sent; Problems is complete
//	invalid_options       an argument of [NewClient] or the id for [Client.Update] is not valid
//	canceled              the context was canceled; the error unwraps to its cause
//	deadline              the deadline of the context passed; the error unwraps to its cause
//	transport             the connection failed
//	timeout               the context has no deadline and the call took more than 30 s
//	rejected              422; Problems lists at most 100 that the platform reports
//	unauthorized          401
//	forbidden             403
//	not_found             404
//	conflict              409
//	request_too_large     413
//	rate_limited          429; see RetryAfter
//	refused               any other 4xx
//	server_error          5xx
//	unexpected_status     any other status; redirects are not followed
//	bad_response          a 2xx that cannot be read: the change has been made
//	response_too_large    a 2xx with more than 1 MiB beside what the request sent: the change has been made
//
// # Codes of problems
//
// Pointer of a problem leads into the body. Problems in tools_schema and ledger_schema have the codes of
// packages schema and ledger, and a problem that the platform reports with a code has that code.
//
//	missing               a required value is absent
//	too_long              more characters than allowed
//	not_utf8              a text is not valid UTF-8
//	endpoint_url_invalid  not an absolute https URL, or it has credentials or a fragment
//	endpoint_not_public   a host that is not public, such as a loopback or private address
//	auth_header_invalid   not a header name
//	auth_value_invalid    not a header value
//	auth_scheme_missing   a value of Authorization without a scheme such as Bearer
//	run_timeout_invalid   not whole seconds from 1 to 1800
//	actor_id_invalid      a label that the header X-Pipelines-Actor-Id cannot carry
//	undeclared            the name of a tool or sub-agent that does not exist
//	duplicate             given twice
//	wrong_case            differs from a known name in case only
//	not_json              not strict JSON
//	rejected_by_platform  reported by the platform without a code
//
// [agent]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#agent
// [dispatches]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#dispatch
// [runs]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#run
// [Porting without the SDK]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#the-five-documents
package registration
