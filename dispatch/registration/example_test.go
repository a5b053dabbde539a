package registration_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/dispatch/registration"
	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/schema"
)

type Order struct {
	OrderID string `json:"order_id" jsonschema_description:"The number of the order."`
}

func tools() []schema.Tool {
	tool, err := schema.Define[Order, any]("get_order", "Look up an order.", nil)
	if err != nil {
		log.Fatal(err)
	}
	tool.OutputSchema = nil
	return []schema.Tool{tool}
}

// An agent is checked and registered.
func Example() {
	platform := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"id":17,"status":"draft"}`)
	}))
	defer platform.Close()

	reg := registration.Registration{
		Name:        "refund-agent",
		EndpointURL: "https://agents.example.com/dispatch",
		AuthHeader:  "Authorization",
		AuthValue:   "Bearer a-token", // in production from the environment
		Tools:       tools(),
	}
	client, err := registration.NewClient(platform.URL, "pk_live_example", nil)
	if err != nil {
		log.Fatal(err)
	}
	agent, err := client.Create(context.Background(), &reg) // reports everything that Validate finds
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(agent.ID, agent.Status)
	// Output: 17 draft
}

func ExampleRegistration_Validate() {
	reg := registration.Registration{
		Name:        "refund-agent",
		EndpointURL: "http://localhost:8080/dispatch",
		AuthHeader:  "Authorization",
		AuthValue:   "Bearer " + os.Getenv("AGENT_TOKEN_THAT_IS_NOT_SET"),
		Tools:       tools(),
		SubAgents:   []registration.SubAgent{{ActorID: "supervisor", Tools: []string{"get_orders"}}},
	}
	_, err := reg.Validate(context.Background(), nil)
	fmt.Println(err)
	// Output:
	// registration: invalid_registration: 4 problems:
	//   - /endpoint_url must begin with https:// [endpoint_url_invalid]
	//   - /endpoint_url is on localhost, which the platform cannot reach; use a tunnel with a public name [endpoint_not_public]
	//   - /auth_header_value begins or ends with white space; is its environment variable set? [auth_value_invalid]
	//   - /config/sub_agents/0/tools/0 "get_orders" is not a tool of the agent [undeclared]
}

// The Import JSON dialog of the registration form accepts the JSON of the tools.
func ExampleRegistration_importJSON() {
	reg := registration.Registration{Tools: tools()}
	list, err := json.Marshal(reg.Tools)
	fmt.Println(string(list), err)
	// Output:
	// [{"name":"get_order","description":"Look up an order.","input_schema":{"properties":{"order_id":{"type":"string","description":"The number of the order."}},"additionalProperties":false,"type":"object","required":["order_id"]}}] <nil>
}

// If a name that this package infers is wrong, remove the member in Config and add it in Extra.
func ExampleRegistration_extra() {
	reg := registration.Registration{
		Name:              "refund-agent",
		EndpointURL:       "https://agents.example.com/dispatch",
		RequireTranscript: true,
		Config:            []ledger.Member{{Name: "response_contract"}},
		Extra: []ledger.Member{{Name: "response_contract",
			Value: []byte(`{"response_mode":"rich","strictness":"strict"}`)}},
	}
	body, err := reg.Body()
	fmt.Println(string(body), err)
	// Output:
	// {"name":"refund-agent","mode":"external_http","endpoint_url":"https://agents.example.com/dispatch","response_contract":{"response_mode":"rich","strictness":"strict"}} <nil>
}

// NewClient reports all mistakes at once.
func ExampleNewClient() {
	_, err := registration.NewClient("http://api.pipelines.tech/api", os.Getenv("KEY_THAT_IS_NOT_SET"), nil)
	fmt.Println(err)
	// Output:
	// registration: invalid_options: the base URL must begin with https://, to protect the API key
	// the base URL must not end in /api; the client adds it
	// the API key must be visible ASCII; check that its environment variable is set
}

// An update sends the whole registration. AuthValue may be empty.
func ExampleClient_Update() {
	platform := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Println(r.Method, r.URL.Path)
		fmt.Fprint(w, `{"id":8,"status":"published"}`)
	}))
	defer platform.Close()

	client, err := registration.NewClient(platform.URL, "pk_live_example", nil)
	if err != nil {
		log.Fatal(err)
	}
	agent, err := client.Update(context.Background(), "8", &registration.Registration{
		Name: "refund-agent", EndpointURL: "https://agents.example.com/dispatch", AuthHeader: "Authorization",
		Tools: tools(),
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(agent.ID, agent.Status)
	// Output:
	// PUT /api/agents/8
	// 8 published
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
	if rejected, ok := errors.AsType[*toolwire.Error](err); ok && rejected.Code == toolwire.CodeRejected {
		for _, p := range rejected.Problems {
			fmt.Println(p)
		}
		return
	}
	fmt.Println(agent, err)
	// Output:
	// tool "get_order": /tools_schema/0/name is reserved [value_error]
}
