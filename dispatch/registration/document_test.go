package registration_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/dispatch/registration"
	"github.com/toolwire/toolwire/internal/testkit"
	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/schema"
)

// Every reason for which the page Tools schema says that the platform rejects a registration is
// found before a request is sent, with the tool and the place in the body.
func TestDocumentedRejections(t *testing.T) {
	const orders = `{"endpoint_name":"orders-api","tool_name":"get_order"}`
	endpoint := func(_ context.Context, id, name string) (schema.Endpoint, bool, error) {
		switch {
		case name == "orders-api", id == "7d3c1a52-6a0e-4c5f-9a53-5a6c1d2e3f40":
			return schema.Endpoint{Type: "http_openapi", Org: "42", Tools: []string{"get_order"}}, true, nil
		case name == "other-org":
			return schema.Endpoint{Type: "code", Org: "43", Tools: []string{"get_order"}}, true, nil
		case name == "odd":
			return schema.Endpoint{Type: "grpc", Org: "42", Tools: []string{"get_order"}}, true, nil
		}
		return schema.Endpoint{}, false, nil
	}
	passthrough := func(rest string) string {
		return `[{"name":"get_order","input_schema":{"type":"object"},"default_execution_mode":"passthrough"` + rest +
			`}]`
	}
	for name, test := range map[string]struct {
		tools string
		want  string // a problem as "tool code pointer"; "" is accepted
	}{
		"minimal":            {`[{"name":"get_order","input_schema":{"type":"object"}}]`, ""},
		"a non-object entry": {`[7]`, " not_object /tools_schema/0"},
		"no name":            {`[{"input_schema":{"type":"object"}}]`, " name_missing /tools_schema/0/name"},
		"no input_schema": {`[{"name":"get_order"}]`,
			"get_order input_schema_missing /tools_schema/0/input_schema"},
		"a name with a space": {`[{"name":"get order","input_schema":{}}]`,
			"get order name_invalid /tools_schema/0/name"},
		"a name of 129": {`[{"name":"` + strings.Repeat("a", 129) + `","input_schema":{}}]`,
			"* name_invalid /tools_schema/0/name"},
		"a duplicate": {`[{"name":"a","input_schema":{}},{"name":"a","input_schema":{}}]`,
			"a name_duplicate /tools_schema/1/name"},
		"another mode": {`[{"name":"a","input_schema":{},"default_execution_mode":"live"}]`,
			"a mode_invalid /tools_schema/0/default_execution_mode"},
		"sandbox":    {`[{"name":"a","input_schema":{},"default_execution_mode":"sandbox"}]`, ""},
		"no binding": {passthrough(``), "get_order binding_missing /tools_schema/0/passthrough_binding"},
		"by name":    {passthrough(`,"passthrough_binding":` + orders), ""},
		"by id":      {passthrough(`,"passthrough_binding":{"endpoint_id":"7d3c1a52-6a0e-4c5f-9a53-5a6c1d2e3f40","tool_name":"get_order"}`), ""},
		"both": {passthrough(`,"passthrough_binding":{"endpoint_id":"7d3c1a52-6a0e-4c5f-9a53-5a6c1d2e3f40","endpoint_name":"orders-api","tool_name":"get_order"}`),
			"get_order binding_both_ids /tools_schema/0/passthrough_binding"},
		"missing endpoint": {passthrough(`,"passthrough_binding":{"endpoint_name":"none","tool_name":"get_order"}`),
			"get_order endpoint_missing /tools_schema/0/passthrough_binding/endpoint_name"},
		"unsupported endpoint": {passthrough(`,"passthrough_binding":{"endpoint_name":"odd","tool_name":"get_order"}`),
			"get_order endpoint_type /tools_schema/0/passthrough_binding/endpoint_name"},
		"cross-org endpoint": {passthrough(`,"passthrough_binding":{"endpoint_name":"other-org","tool_name":"get_order"}`), "get_order endpoint_foreign /tools_schema/0/passthrough_binding/endpoint_name"},
		"adapter policy without an adapter": {passthrough(`,"passthrough_binding":` + orders +
			`,"ledger_write_policy":"adapter"`),
			"get_order adapter_missing /tools_schema/0/ledger_adapter"},
		"adapter on an undeclared type": {passthrough(`,"passthrough_binding":` + orders +
			`,"ledger_write_policy":"adapter","ledger_adapter":{"entity_type":"cart","id_from":"$.id"}`),
			"get_order adapter_undeclared /tools_schema/0/ledger_adapter/entity_type"},
		"adapter on a declared type": {passthrough(`,"passthrough_binding":` + orders +
			`,"ledger_write_policy":"adapter","ledger_adapter":{"entity_type":"order","id_from":"$.id"}`), ""},
	} {
		t.Run(name, func(t *testing.T) {
			tools, _, err := schema.Import([]byte(test.tools), schema.Platform)
			if err != nil {
				t.Fatal(err)
			}
			r := registration.Registration{
				Name: "a", EndpointURL: "https://agents.example.com", Tools: tools,
				LedgerSchema: &ledger.Schema{Entities: []ledger.Entity{{Type: "order", IDField: "id"}}},
			}
			a := &responses{status: 201, body: `{"id":1}`}
			c := newClient(t, "https://api.example.com",
				&registration.Options{Transport: a, Validate: &schema.ValidateOptions{Endpoint: endpoint, Org: "42"}})
			_, err = c.Create(t.Context(), &r)
			if test.want == "" {
				if err != nil || a.calls != 1 {
					t.Errorf("%v, %d requests", err, a.calls)
				}
				return
			}
			e, ok := errors.AsType[*toolwire.Error](err)
			if !ok || e.Code != "invalid_registration" || a.calls != 0 || len(e.Problems) != 1 {
				t.Fatalf("%v, %d requests", err, a.calls)
			}
			p := e.Problems[0]
			tool, rest, _ := strings.Cut(test.want, " ")
			if strings.HasPrefix(test.want, "get order ") {
				tool, rest = "get order", strings.TrimPrefix(test.want, "get order ")
			}
			if tool != "*" && p.Tool != tool || p.Code+" "+p.Pointer != rest || p.Message == "" {
				t.Errorf("got %q %s %s: %s", p.Tool, p.Code, p.Pointer, p.Message)
			}
		})
	}
}

// A lookup of an endpoint that blocks ends with the caller's context.
func TestLookupsObeyTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		blocks := &schema.ValidateOptions{Endpoint: func(ctx context.Context, _, _ string) (e schema.Endpoint,
			found bool, err error) {
			<-ctx.Done()
			return e, false, ctx.Err()
		}}
		r := minimal()
		r.Tools = []schema.Tool{{
			Name: "get_order", InputSchema: json.RawMessage(`{}`), DefaultExecutionMode: schema.Passthrough,
			PassthroughBinding: &schema.Binding{EndpointName: "orders-api", ToolName: "get_order"},
		}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		_, err := r.Validate(ctx, blocks)
		if got := problemsOf(t, err); len(got) != 1 || !strings.HasPrefix(got[0], "endpoint_lookup ") ||
			time.Since(start) != time.Minute {
			t.Errorf("%v after %s", err, time.Since(start))
		}
		ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		a := &responses{status: 201, body: `{"id":1}`}
		_, err = newClient(t, "https://api.example.com",
			&registration.Options{Transport: a, Validate: blocks}).Create(ctx, r)
		if toolwire.CodeOf(err) != "deadline" || !errors.Is(err, context.DeadlineExceeded) ||
			a.calls != 0 {
			t.Errorf("%v, %d requests", err, a.calls)
		}
	})
}

// The steps of the page Porting without the SDK that are about the registration.
func TestPortingSteps(t *testing.T) {
	// Step 4: header name Authorization, value "Bearer <token>". Step 6: one tool is flipped to
	// passthrough by a PUT, which sends everything else as before.
	var sent []string
	platform := testkit.RoundTrip(func(r *http.Request) (*http.Response, error) {
		var doc struct {
			Header string `json:"auth_header_name"`
			Value  string `json:"auth_header_value"`
			Tools  []struct {
				Name string `json:"name"`
				Mode string `json:"default_execution_mode"`
			} `json:"tools_schema"`
		}
		if err := json.NewDecoder(r.Body).Decode(&doc); err != nil {
			return nil, err
		}
		line := r.Method + " " + r.URL.Path + " " + doc.Header + ": " + doc.Value
		for _, tool := range doc.Tools {
			line += " " + tool.Name + "=" + tool.Mode
		}
		sent = append(sent, line)
		return (&responses{status: 200, body: `{"id":8}`}).RoundTrip(r)
	})
	c := newClient(t, "https://api.example.com", &registration.Options{Transport: platform})
	r := minimal()
	r.AuthHeader, r.AuthValue = "Authorization", "Bearer AGENT-TOKEN"
	r.Tools = []schema.Tool{{Name: "search", InputSchema: json.RawMessage(`{}`)},
		{Name: "refund", InputSchema: json.RawMessage(`{}`)}}
	agent, err := c.Create(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	r.Tools[0].DefaultExecutionMode = schema.Passthrough
	r.Tools[0].PassthroughBinding = &schema.Binding{EndpointName: "search-api", ToolName: "search"}
	if _, err := c.Update(t.Context(), agent.ID, r); err != nil {
		t.Fatal(err)
	}
	want := "POST /api/agents Authorization: Bearer AGENT-TOKEN search= refund=\n" +
		"PUT /api/agents/8 Authorization: Bearer AGENT-TOKEN search=passthrough refund="
	if got := strings.Join(sent, "\n"); got != want {
		t.Errorf("sent\n%s\nwant\n%s", got, want)
	}
}
