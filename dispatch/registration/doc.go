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
// Every error is an [*Error]. Its Code says what happened, and its Problems list what is wrong with
// the registration. Clients are safe for concurrent use. A Registration is safe for concurrent use
// as long as it does not change.
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
// [agent]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#agent
// [dispatches]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#dispatch
// [runs]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#run
// [Porting without the SDK]: https://github.com/toolwire/toolwire/blob/main/docs/glossary.md#the-five-documents
package registration
