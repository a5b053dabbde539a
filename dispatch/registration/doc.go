// Package registration holds an agent's registration with the platform as a value: [Registration] is validated as the
// platform would, all problems at once, written for the Import JSON dialog and as the body of POST /api/agents and
// PUT /api/agents/{id}, and sent there by a [Client].
//
//	reg := registration.Registration{
//		Name:        "refund-agent",
//		EndpointURL: "https://agents.example.com/dispatch",
//		AuthHeader:  "Authorization",
//		AuthValue:   registration.NewSecret("Bearer " + token),
//		Tools:       tools,
//	}
//	if err := reg.Validate(nil); err != nil { … } // *Error lists everything
//	client, err := registration.NewClient("https://api.pipelines.tech", apiKey, nil)
//	agent, err := client.Create(ctx, &reg)
//
// # What is known of the wire, and what is not
//
// The rules are those of the pages Register an external HTTP agent, Tools schema, Ledger schema, Multi-agent systems and
// Porting without the SDK (steps 1, 4 and 6). None of them shows the body itself. Fields of [Registration] say "name
// documented" where a page or the platform's SDK spells the member, and "name inferred" where only the registration form
// or common sense does; where members stand in the body is inferred for all but those of config. What turns out to be
// different is put right without a new release: a member in [Registration.Extra] or [Registration.Config] replaces the
// one of its name, or leaves it out.
//
// Registering does not publish: a draft agent cannot be dispatched.
package registration
