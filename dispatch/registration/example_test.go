package registration_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/toolwire/toolwire/dispatch/registration"
	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/schema"
)

type Order struct {
	OrderID string `json:"order_id" jsonschema_description:"The order's number."`
}

func tools() []schema.Tool {
	tool, err := schema.Define[Order, any]("get_order", "Look an order up.", nil)
	if err != nil {
		log.Fatal(err)
	}
	tool.OutputSchema = nil
	return []schema.Tool{tool}
}

func ExampleRegistration_Validate() {
	reg := registration.Registration{
		Name:        "refund-agent",
		EndpointURL: "http://localhost:8080/dispatch",
		AuthHeader:  "Authorization",
		AuthValue:   registration.NewSecret("Bearer "), // AGENT_TOKEN is not set
		Tools:       tools(),
		SubAgents:   []registration.SubAgent{{ActorID: "supervisor", Tools: []string{"get_orders"}}},
	}
	fmt.Println(reg.Validate(nil))
	// Output:
	// registration: invalid_registration: 4 problems:
	//   - /endpoint_url must begin with https:// [endpoint_url_invalid]
	//   - /endpoint_url is on localhost, which the platform cannot reach; use a tunnel with a public name [endpoint_not_public]
	//   - /auth_header_value begins or ends with white space; is its environment variable set? [auth_value_invalid]
	//   - /config/sub_agents/0/tools/0 "get_orders" is no tool of the agent [undeclared]
}

func ExampleRegistration_ToolsJSON() {
	reg := registration.Registration{Tools: tools()}
	list, err := reg.ToolsJSON() // paste it into the registration form's Import JSON dialog
	fmt.Println(string(list), err)
	// Output:
	// [{"name":"get_order","description":"Look an order up.","input_schema":{"type":"object","properties":{"order_id":{"type":"string","description":"The order's number."}},"required":["order_id"],"additionalProperties":false}}] <nil>
}

// A member that turns out to be spelled differently is left out under the name that this package infers, and given under
// the right one.
func ExampleRegistration_extra() {
	reg := registration.Registration{
		Name:              "refund-agent",
		EndpointURL:       "https://agents.example.com/dispatch",
		RequireTranscript: true,
		Config:            []ledger.Member{{Name: "response_contract"}},
		Extra:             []ledger.Member{{Name: "response_contract", Value: []byte(`{"response_mode":"rich","strictness":"strict"}`)}},
	}
	body, err := reg.Body()
	fmt.Println(string(body), err)
	// Output:
	// {"name":"refund-agent","mode":"external_http","endpoint_url":"https://agents.example.com/dispatch","response_contract":{"response_mode":"rich","strictness":"strict"}} <nil>
}

func ExampleClient_Create() {
	platform := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnprocessableEntity)
		fmt.Fprint(w, `{"detail":[{"loc":["body","tools_schema",0,"name"],"msg":"is reserved","type":"value_error"}]}`)
	}))
	defer platform.Close()

	client, err := registration.NewClient(platform.URL, "pk_live_example", nil)
	if err != nil {
		log.Fatal(err)
	}
	agent, err := client.Create(context.Background(), &registration.Registration{
		Name: "refund-agent", EndpointURL: "https://agents.example.com/dispatch", Tools: tools(),
	})
	if rejected, ok := errors.AsType[*registration.Error](err); ok && rejected.Code == registration.CodeRejected {
		for _, p := range rejected.Problems {
			fmt.Println(p)
		}
		return
	}
	fmt.Println(agent, err)
	// Output:
	// tool "get_order": /tools_schema/0/name is reserved
}
