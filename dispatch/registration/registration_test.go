package registration_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/dispatch/registration"
	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/schema"
)

const secretValue = "Bearer s3cret-agent-token"

// full returns a registration with every member.
func full() *registration.Registration {
	object := json.RawMessage(`{"type":"object"}`)
	return &registration.Registration{
		Name: "refund-agent", Description: "Refunds & more.", EndpointURL: "https://agents.example.com/dispatch",
		AuthHeader: "Authorization", AuthValue: secretValue,
		Tools: []schema.Tool{{Name: "get_order", InputSchema: object},
			{Name: "refund_order", InputSchema: object}},
		LedgerSchema: &ledger.Schema{Entities: []ledger.Entity{{Type: "order", IDField: "order_id"}}},
		RunTimeout:   10 * time.Minute, RequireTranscript: true,
		SubAgents: []registration.SubAgent{
			{ActorID: "supervisor", TalksTo: []string{"supervisor/refunds"}},
			{ActorID: "supervisor/refunds", Tools: []string{"refund_order"}, TalksTo: []string{}},
		},
		Entry: "supervisor",
	}
}

const fullBody = `{"name":"refund-agent","description":"Refunds & more.","mode":"external_http",` +
	`"endpoint_url":"https://agents.example.com/dispatch","auth_header_name":"Authorization",` +
	`"auth_header_value":"Bearer s3cret-agent-token",` +
	`"tools_schema":[{"name":"get_order","input_schema":{"type":"object"}},{"name":"refund_order","input_schema":{"type":"object"}}],` +
	`"ledger_schema":{"entities":[{"type":"order","id_field":"order_id"}]},"run_timeout_s":600,` +
	`"config":{"sub_agents":[{"actor_id":"supervisor","talks_to":["supervisor/refunds"]},` +
	`{"actor_id":"supervisor/refunds","tools":["refund_order"],"talks_to":[]}],"topology":{"entry":"supervisor"},` +
	`"response_contract":{"response_mode":"rich","strictness":"strict"}}}`

func minimal() *registration.Registration {
	return &registration.Registration{Name: "a", EndpointURL: "https://agents.example.com"}
}

func TestBody(t *testing.T) {
	bare := minimal()
	overridden := minimal()
	overridden.RequireTranscript, overridden.AuthValue = true, "x"
	overridden.Extra = []ledger.Member{
		{Name: "mode"}, {Name: "endpoint_url", Value: []byte(`{"url":"u"}`)}, {Name: "folder", Value: []byte(`7`)},
		{Name: "ledger_schema", Value: []byte(`null`)},
	}
	overridden.Config = []ledger.Member{{Name: "response_contract"}, {Name: "requirements", Value: []byte(`["httpx"]`)}}
	emptyTools := minimal()
	emptyTools.Tools = []schema.Tool{}
	for name, test := range map[string]struct {
		reg  *registration.Registration
		want string
	}{
		"full":    {full(), fullBody},
		"minimal": {bare, `{"name":"a","mode":"external_http","endpoint_url":"https://agents.example.com"}`},
		"no tools": {emptyTools,
			`{"name":"a","mode":"external_http","endpoint_url":"https://agents.example.com","tools_schema":[]}`},
		"members replaced, left out and added": {overridden,
			`{"name":"a","endpoint_url":{"url":"u"},"auth_header_value":"x","config":{"requirements":["httpx"]},"folder":7,"ledger_schema":null}`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := test.reg.Body()
			if err != nil || string(got) != test.want {
				t.Fatalf("got  %s, %v\nwant %s", got, err, test.want)
			}
		})
	}
}

func TestBodyWithABrokenSchema(t *testing.T) {
	broken := minimal()
	broken.Tools = []schema.Tool{{Name: "t", InputSchema: json.RawMessage(`{"type":`)}}
	if body, err := broken.Body(); toolwire.CodeOf(err) != "invalid_registration" {
		t.Errorf("got %s, %v", body, err)
	}
}

func TestSecretIsNotShown(t *testing.T) {
	reg := full()
	reg.Extra = []ledger.Member{{Name: "auth_header_value", Value: []byte(`"` + secretValue + `"`)}}
	type holder struct{ Shown registration.Registration }
	asJSON, err := json.Marshal(reg)
	if err != nil || strings.Contains(string(asJSON), "auth_header_value") {
		t.Errorf("JSON: %s, %v", asJSON, err)
	}
	reg.Extra = nil
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "reg", *reg, "pointer", reg)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "reg", *reg, "pointer", reg)
	shown := log.String()
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d", "%x", "%q"} {
		shown += fmt.Sprintf(verb+verb+verb, reg, *reg, holder{*reg})
	}
	if strings.Contains(shown, "s3cret") || strings.Contains(shown, fmt.Sprintf("%x", "s3cret")) {
		t.Error("a secret is shown")
	}
	if strings.Count(fmt.Sprint(*reg), "[redacted]") != 1 || strings.Contains(fmt.Sprint(*minimal()), "[redacted]") {
		t.Errorf("got %v and %v", *reg, *minimal())
	}
}

// problemsOf returns "code pointer" for every problem of an error.
func problemsOf(t *testing.T, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	e, ok := errors.AsType[*toolwire.Error](err)
	if !ok || e.Code != "invalid_registration" {
		t.Fatalf("not an *Error with CodeInvalid: %v", err)
	}
	var got []string
	for _, p := range e.Problems {
		got = append(got, string(p.Code)+" "+p.Pointer)
	}
	return got
}

func TestValidate(t *testing.T) {
	type reg = registration.Registration
	for name, test := range map[string]struct {
		change func(*reg)
		want   string // in the order of the problems, joined by ", "
	}{
		"full":                   {func(*reg) {}, ""},
		"empty":                  {func(r *reg) { *r = reg{} }, "missing /name, missing /endpoint_url"},
		"blank name":             {func(r *reg) { r.Name = " \t" }, "missing /name"},
		"name of 255 characters": {func(r *reg) { r.Name = strings.Repeat("ä", 255) }, ""},
		"name of 256":            {func(r *reg) { r.Name = strings.Repeat("ä", 256) }, "too_long /name"},
		"description of 5,000":   {func(r *reg) { r.Description = strings.Repeat("ä", 5000) }, ""},
		"description of 5,001": {func(r *reg) { r.Description = strings.Repeat("ä", 5001) },
			"too_long /description"},
		"not UTF-8":            {func(r *reg) { r.Name = "a\xff" }, "not_utf8 /name"},
		"value without header": {func(r *reg) { r.AuthHeader = "" }, "missing /auth_header_name"},
		"header without value": {func(r *reg) { r.AuthValue = "" }, "missing /auth_header_value"},
		"no auth":              {func(r *reg) { r.AuthHeader, r.AuthValue = "", "" }, ""},
		"header with a colon": {func(r *reg) { r.AuthHeader = "X-API-Key:" },
			"auth_header_invalid /auth_header_name"},
		"header of the dispatch": {func(r *reg) { r.AuthHeader = "X-Pipelines-Run-Token" },
			"auth_header_invalid /auth_header_name"},
		"header of the connection": {func(r *reg) { r.AuthHeader = "transfer-encoding" },
			"auth_header_invalid /auth_header_name"},
		"header split": {func(r *reg) { r.AuthHeader = "A\r\nB" },
			"auth_header_invalid /auth_header_name"},
		"value split": {func(r *reg) { r.AuthValue = "a\r\nb: c" },
			"auth_value_invalid /auth_header_value"},
		"unset variable": {func(r *reg) { r.AuthValue = "Bearer " },
			"auth_value_invalid /auth_header_value"},
		"value not ASCII": {func(r *reg) { r.AuthValue = "pässword" },
			"auth_value_invalid /auth_header_value"},
		"token without Bearer": {func(r *reg) { r.AuthValue = "s3cret-agent-token" },
			"auth_scheme_missing /auth_header_value"},
		"token without Bearer, another case": {func(r *reg) { r.AuthHeader, r.AuthValue = "authorization", "s3cret" },
			"auth_scheme_missing /auth_header_value"},
		"value in quotes":              {func(r *reg) { r.AuthValue = `"Bearer abc"` }, "auth_value_invalid /auth_header_value"},
		"value in single quotes":       {func(r *reg) { r.AuthHeader, r.AuthValue = "X-API-Key", `'abc'` }, "auth_value_invalid /auth_header_value"},
		"token in quotes":              {func(r *reg) { r.AuthValue = `Bearer "abc"` }, "auth_value_invalid /auth_header_value"},
		"variable in braces":           {func(r *reg) { r.AuthValue = "Bearer ${AGENT_TOKEN}" }, "auth_value_invalid /auth_header_value"},
		"variable":                     {func(r *reg) { r.AuthValue = "Bearer $AGENT_TOKEN" }, "auth_value_invalid /auth_header_value"},
		"variable of Windows":          {func(r *reg) { r.AuthHeader, r.AuthValue = "X-API-Key", "%AGENT_TOKEN%" }, "auth_value_invalid /auth_header_value"},
		"template":                     {func(r *reg) { r.AuthValue = "Bearer {{ secrets.TOKEN }}" }, "auth_value_invalid /auth_header_value"},
		"placeholder":                  {func(r *reg) { r.AuthValue = "Bearer <your token>" }, "auth_value_invalid /auth_header_value"},
		"value with the header's name": {func(r *reg) { r.AuthValue = "authorization: Bearer abc" }, "auth_value_invalid /auth_header_value"},
		"value with odd characters":    {func(r *reg) { r.AuthValue = `Bearer a"b'c$d${e<f>%g%{{h` }, ""},
		"another scheme":               {func(r *reg) { r.AuthValue = "Basic YTpi" }, ""},
		"another header":               {func(r *reg) { r.AuthHeader, r.AuthValue = "X-API-Key", "s3cret" }, ""},
		"run timeout of 30 min":        {func(r *reg) { r.RunTimeout = 1800 * time.Second }, ""},
		"default run timeout":          {func(r *reg) { r.RunTimeout = 0 }, ""},
		"run timeout too long": {func(r *reg) { r.RunTimeout = 1801 * time.Second },
			"run_timeout_invalid /run_timeout_s"},
		"run timeout too short": {func(r *reg) { r.RunTimeout = time.Millisecond },
			"run_timeout_invalid /run_timeout_s"},
		"run timeout negative": {func(r *reg) { r.RunTimeout = -time.Second },
			"run_timeout_invalid /run_timeout_s"},
		"run timeout with parts": {func(r *reg) { r.RunTimeout = 1500 * time.Millisecond },
			"run_timeout_invalid /run_timeout_s"},
		"actor id": {func(r *reg) { r.SubAgents[0].ActorID, r.Entry = "a\n", "" },
			"actor_id_invalid /config/sub_agents/0/actor_id"},
		"same actor twice": {func(r *reg) {
			r.SubAgents[1].ActorID,
				r.SubAgents[0].TalksTo = "supervisor", nil
		}, "duplicate /config/sub_agents/1/actor_id"},
		"unknown tool": {func(r *reg) { r.SubAgents[1].Tools[0] = "refund" },
			"undeclared /config/sub_agents/1/tools/0"},
		"unknown neighbour": {func(r *reg) { r.SubAgents[0].TalksTo[0] = "Supervisor/refunds" },
			"undeclared /config/sub_agents/0/talks_to/0"},
		"unknown entry": {func(r *reg) { r.Entry = "refunds" },
			"undeclared /config/topology/entry"},
		"entry without sub-agents": {func(r *reg) { r.SubAgents = nil }, "undeclared /config/topology/entry"},
		"tools and ledger": {func(r *reg) {
			r.Tools[0].Name, r.Tools[1].InputSchema = "get order", nil
			r.LedgerSchema.Entities = append(r.LedgerSchema.Entities, ledger.Entity{Type: "order", IDField: "id"})
		}, "name_invalid /tools_schema/0/name, input_schema_missing /tools_schema/1/input_schema, duplicate /ledger_schema/entities/1/type"},
		"adapter on an entity of the ledger schema": {func(r *reg) {
			r.Tools[0].LedgerAdapter = &ledger.Adapter{EntityType: "order", IDFrom: "$.order_id"}
			r.Tools[1].LedgerAdapter = &ledger.Adapter{EntityType: "refund", IDFrom: "$.id"}
			r.Tools[1].LedgerWritePolicy = schema.PolicyAdapter
		}, "adapter_undeclared /tools_schema/1/ledger_adapter/entity_type"},
		"several at once": {func(r *reg) {
			r.Name, r.EndpointURL, r.RunTimeout, r.Entry = "", "http://localhost", time.Hour, "x"
		}, "missing /name, endpoint_url_invalid /endpoint_url, endpoint_not_public /endpoint_url, run_timeout_invalid /run_timeout_s, " +
			"undeclared /config/topology/entry"},
		"replaced members are not validated": {func(r *reg) {
			r.EndpointURL, r.Tools = "", nil
			r.Extra = []ledger.Member{{Name: "endpoint_url", Value: []byte(`1`)},
				{Name: "tools_schema", Value: []byte(`"x"`)}}
			r.Entry, r.Config = "x", []ledger.Member{{Name: "topology", Value: []byte(`[]`)}}
		}, ""},
		"further members": {func(r *reg) {
			r.Extra = []ledger.Member{{Name: "Endpoint_URL", Value: []byte(`1`)},
				{Name: "a/b", Value: []byte(`1,"c":2`)}}
			r.Config = []ledger.Member{{Name: "x"}, {Name: "x"}}
		}, "wrong_case /Endpoint_URL, not_json /a~1b, duplicate /config/x"},
	} {
		t.Run(name, func(t *testing.T) {
			r := full()
			test.change(r)
			_, err := r.Validate(t.Context(), nil)
			if got := strings.Join(problemsOf(t, err), ", "); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
			if err != nil && strings.Contains(err.Error(), "s3cret") {
				t.Error("a secret is shown")
			}
		})
	}
}

func TestValidateUnwrapsAndTakesOptions(t *testing.T) {
	r := full()
	r.Tools[0] = schema.Tool{
		Name: "get_order", InputSchema: json.RawMessage(`{"type":"object"}`), DefaultExecutionMode: schema.Passthrough,
		PassthroughBinding: &schema.Binding{EndpointName: "orders-api", ToolName: "get_order"},
	}
	if _, err := r.Validate(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	_, err := r.Validate(t.Context(), &schema.ValidateOptions{
		Endpoint: func(context.Context, string, string) (e schema.Endpoint, found bool, err error) { return },
	})
	tools, ok := errors.AsType[*toolwire.Error](err)
	if !ok || tools.Problems[0].Code != "endpoint_missing" {
		t.Errorf("the options did not reach the tools: %v", err)
	}
	if e := new(toolwire.Error); !errors.As(err, &e) || e.Problems[0].Tool != "get_order" {
		t.Errorf("got %+v", e)
	}
}

// A problem of the options belongs to the whole list of tools. A member of Extra or Config replaces
// the field of its whole name, and no other.
func TestOtherMembersReplaceNothing(t *testing.T) {
	r := minimal()
	r.Name, r.RunTimeout, r.SubAgents, r.Entry = "", -1, []registration.SubAgent{{}}, "x"
	r.Extra = []ledger.Member{{Name: "nam", Value: json.RawMessage(`1`)}, {Name: "run", Value: json.RawMessage(`1`)},
		{Name: "sub_agents", Value: json.RawMessage(`1`)}, {Name: "conf", Value: json.RawMessage(`1`)}}
	r.Config = []ledger.Member{{Name: "sub", Value: json.RawMessage(`1`)}, {Name: "name", Value: json.RawMessage(`1`)}}
	_, err := r.Validate(t.Context(), nil)
	const want = "missing /name, run_timeout_invalid /run_timeout_s, actor_id_invalid /config/sub_agents/0/actor_id, " +
		"undeclared /config/topology/entry"
	if got := strings.Join(problemsOf(t, err), ", "); got != want {
		t.Errorf("problems %s", got)
	}
	r.Extra = []ledger.Member{{Name: "config", Value: json.RawMessage(`{}`)}}
	r.Config = nil
	_, err = r.Validate(t.Context(), nil)
	if got := strings.Join(problemsOf(t, err), ", "); got != "missing /name, run_timeout_invalid /run_timeout_s" {
		t.Errorf("problems %s", got)
	}
}

func TestValidateLimits(t *testing.T) {
	_, err := minimal().Validate(t.Context(), &schema.ValidateOptions{Limits: schema.Limits{Bytes: -1}})
	if got := strings.Join(problemsOf(t, err), ", "); got != "limits_invalid /tools_schema" {
		t.Errorf("problems %s", got)
	}
}

// Schemas of other drafts are sent as they are. What of them is not applied, or is read otherwise, is listed.
func TestSchemasOfOtherDrafts(t *testing.T) {
	r := full()
	r.Tools[0].InputSchema = json.RawMessage(`{"type":"object","properties":{"at":{"items":[{"type":"number"}],"nullable":true}},"required":null}`)
	r.Tools[0].OutputSchema = json.RawMessage(`{"$schema":"http://json-schema.org/draft-04/schema#","const":1}`)
	unchecked, err := r.Validate(t.Context(), nil)
	var got []string
	for _, p := range unchecked {
		got = append(got, p.Code+" "+p.Pointer)
	}
	if want := []string{"schema_keyword_ignored /tools_schema/0/output_schema/const", "schema_old_form /tools_schema/0/input_schema/properties/at/items",
		"schema_member_null /tools_schema/0/input_schema/required"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("unchecked %q, error %v", got, err)
	}
	a := &responses{status: 201, body: `{"id":1}`}
	if _, err := newClient(t, "https://api.example.com", &registration.Options{Transport: a}).
		Create(t.Context(), r); err != nil || a.calls != 1 {
		t.Errorf("%v, %d requests", err, a.calls)
	}
}

// What the platform accepts and this library cannot check is listed, with and without an error, and
// sent.
func TestUnchecked(t *testing.T) {
	r := full()
	r.Tools[0].InputSchema = json.RawMessage(
		`{"type":"object","properties":{"pin":{"type":"string","pattern":"^.(?=.*[0-9]).{7,}$"}}}`)
	const want = "schema_pattern_unsupported /tools_schema/0/input_schema/properties/pin/pattern"
	for _, name := range []string{r.Name, ""} {
		r.Name = name
		unchecked, err := r.Validate(t.Context(), nil)
		if len(unchecked) != 1 || unchecked[0].Code+" "+unchecked[0].Pointer != want ||
			unchecked[0].Tool != r.Tools[0].Name || (err == nil) != (name != "") {
			t.Errorf("unchecked %v, error %v", unchecked, err)
		}
	}
	r.Name = "a"
	a := &responses{status: 201, body: `{"id":1}`}
	if _, err := newClient(t, "https://api.example.com", &registration.Options{Transport: a}).
		Create(t.Context(), r); err != nil || a.calls != 1 {
		t.Errorf("%v, %d requests", err, a.calls)
	}
	r.Extra = []ledger.Member{{Name: "tools_schema", Value: []byte(`[]`)}}
	if unchecked, err := r.Validate(t.Context(), nil); len(unchecked) > 0 {
		t.Errorf("tools that are replaced: %v, %v", unchecked, err)
	}
}

func TestEndpoint(t *testing.T) {
	const bad, private = "endpoint_url_invalid", "endpoint_not_public"
	for url, want := range map[string]string{
		"https://agents.example.com":                          "",
		"https://agents.example.com.:8443/v1/dispatch?team=7": "",
		"HTTPS://Agents.Example.COM/":                         "",
		"https://8.8.8.8/":                                    "",
		"https://[2606:4700::1111]:443/":                      "",
		"https://xn--bcher-kva.example/":                      "",
		"https://127-0-0-1.example.com/":                      "",

		"agents.example.com/dispatch":         bad + " " + bad,
		"/dispatch":                           bad + " " + bad,
		"https:agents.example.com":            bad,
		"https:///dispatch":                   bad,
		"http://agents.example.com":           bad,
		"ftp://agents.example.com":            bad,
		"https://user:pw@agents.example.com":  bad,
		"https://@agents.example.com":         bad,
		"https://agents.example.com/#x":       bad,
		"https://agents.example.com:0":        bad,
		"https://agents.example.com:":         bad,
		"https://agents.example.com:65536":    bad,
		"https://agents.example.com:x":        bad,
		"https://agents.example.com/\x00":     bad,
		" https://agents.example.com/d":       bad,
		"https://agents.example.com/d ":       bad,
		"https://agents.example.com/d\n":      bad,
		"https://agents.example.com/my agent": bad,
		"https://agents.example.com/?q=a\tb":  bad,
		"https://agents.example.com/\u00a0":   bad,
		"https://agents.example.com/\xff":     "not_utf8",
		"https://agents.example.com/?x=\xfe":  "not_utf8",
		"https://agents.example.com/%FF":      "",
		"https://\xff.example.com:0":          "not_utf8 " + bad + " " + private,
		"http://u:pw@localhost:0/#x":          bad + " " + bad + " " + bad + " " + bad + " " + private,

		"https://localhost":                           private,
		"https://LocalHost.:8080":                     private,
		"https://api.localhost":                       private,
		"https://localhost.localdomain":               private,
		"https://metadata.google.internal/":           private,
		"https://metadata":                            private,
		"https://metadata.goog":                       private,
		"https://orders.internal":                     private,
		"https://laptop.local":                        private,
		"https://agents":                              private,
		"https://-..example.com":                      private,
		"https://agents.example.com..":                private,
		"https://bücher.example":                      private,
		"https://ｌocalhost":                           private,
		"https://" + strings.Repeat("a", 64) + ".com": private,

		"https://127.0.0.1": private, "https://127.255.0.9:443": private, "https://127.0.0.1.": private,
		"https://[::1]": private,
		"https://127.1": private, "https://0x7f.1": private, "https://0177.0.0.1": private,
		"https://2130706433": private,
		"https://0x7f000001": private, "https://127.0.0.0x1": private, "https://1.2.3.4.5": private,
		"https://example.1": private,
		"https://10.0.0.1":  private, "https://172.16.0.1": private, "https://172.31.255.255": private,
		"https://192.168.1.1": private,
		"https://[fc00::1]":   private, "https://[fd12::1]": private, "https://169.254.1.1": private,
		"https://169.254.169.254/latest": private, "https://168.63.129.16": private, "https://100.100.100.200": private,
		"https://[fd00:ec2::254]": private, "https://[fe80::1]": private, "https://[fe80::1%25eth0]": private,
		"https://[2606:4700::1111%25eth0]": private, "https://0.0.0.0": private, "https://100.64.0.1": private,
		"https://192.0.2.1": private, "https://198.18.0.1": private, "https://198.51.100.1": private,
		"https://203.0.113.9": private,
		"https://224.0.0.1":   private, "https://240.0.0.1": private, "https://255.255.255.255": private,
		"https://[::]":               private,
		"https://[::ffff:127.0.0.1]": private, "https://[::ffff:7f00:1]": private, "https://[::ffff:8.8.8.8]": "",
		"https://[64:ff9b::7f00:1]": private, "https://[2002:7f00:1::]": private, "https://[2001:db8::1]": private,
		"https://[ff02::1]":  private,
		"https://172.32.0.1": "", "https://11.0.0.1": "", "https://100.128.0.1": "", "https://169.253.0.1": "",
	} {
		r := minimal()
		r.EndpointURL = url
		_, err := r.Validate(t.Context(), nil)
		got := strings.ReplaceAll(strings.Join(problemsOf(t, err), " "), " /endpoint_url", "")
		if got != want {
			t.Errorf("%q: got %q, want %q", url, got, want)
		}
		if err != nil && strings.Contains(err.Error(), "pw") {
			t.Errorf("%q: a credential is shown: %v", url, err)
		}
	}
}

func TestEndpointMessages(t *testing.T) {
	for url, want := range map[string]string{
		"https://metadata.google.internal": "metadata", "https://169.254.169.254": "metadata",
		"https://[fd00:ec2::254]": "metadata",
		"https://127.0.0.1":       "loopback", "https://10.0.0.1": "private", "https://[fe80::1]": "link-local",
		"https://240.0.0.1": "reserved",
		"https://localhost": "localhost", "https://[fe80::1%25eth0]": "zone",
	} {
		r := minimal()
		r.EndpointURL = url
		if _, err := r.Validate(t.Context(), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q in it", url, err, want)
		}
	}
}

func TestValidateIsDeterministic(t *testing.T) {
	broken := func() error {
		r := full()
		r.Name, r.Entry, r.SubAgents[0].Tools = "", "x", []string{"a", "b"}
		r.Tools = append(r.Tools, r.Tools...)
		_, err := r.Validate(t.Context(), nil)
		return err
	}
	if first := broken(); !reflect.DeepEqual(problemsOf(t, first), problemsOf(t, broken())) ||
		len(problemsOf(t, first)) != 6 {
		t.Errorf("got %v", first)
	}
}

// A printed registration shows no credentials of its URL.
func TestFormatHidesCredentialsOfTheURL(t *testing.T) {
	r := registration.Registration{Name: "a", EndpointURL: "https://zz:jj@agents.example.com/dispatch?key=jzjz"}
	for _, format := range []string{"%v", "%+v", "%#v"} {
		shown := fmt.Sprintf(format, r)
		if strings.ContainsAny(shown, "zj") || !strings.Contains(shown, "agents.example.com/dispatch?[redacted]") {
			t.Errorf("%s shows %s", format, shown)
		}
	}
}
