package toolbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/cost"
	"github.com/toolwire/toolwire/manifest/toolbox"
)

func TestParse(t *testing.T) {
	box := parse(t, document, options(nil))
	var names []string
	for _, tool := range box.Tools() {
		names = append(names, fmt.Sprintf("%s/%s/%s%s", tool.Adapter, tool.Name, tool.Handler, tool.URL))
	}
	if got, want := strings.Join(names, " "), "contacts/create_contact/defaults.contacts.handlers.create_contact "+
		"calendar/check_schedule/https://api.example.com/calendar/check /ping/ping"; got != want {
		t.Errorf("tools %s\nwant  %s", got, want)
	}
	if bare := parse(t, `[{"name":"ping","handler":"ping"}]`, options(nil)); len(bare.Tools()) != 1 {
		t.Error("a list without an object around it is not read")
	}
	for _, doc := range []string{`[]`, `{"tools":[]}`, `{"adapters":[]}`, `{"tools":null}`, `{"results":[]}`} {
		if empty := parse(t, doc, nil); len(empty.Tools()) != 0 {
			t.Errorf("%s has tools", doc)
		}
	}
}

// The page shows single definitions and a listing.
func TestParseReadsEveryForm(t *testing.T) {
	const internal = `{
		"name": "create_contact",
		"description": "Create a new contact in your contact book",
		"handler": "defaults.contacts.handlers.create_contact",
		"parameters": {
			"type": "object",
			"properties": {
				"name": { "type": "string", "description": "Contact's full name" },
				"phone": { "type": "string", "description": "Phone in E.164 format" },
				"email": { "type": "string", "description": "Email address" }
			},
			"required": ["name"]
		}
	}`
	const external = `{
		"name": "check_schedule",
		"description": "Check availability on the calendar",
		"detail_url": "https://api.yourcompany.com/calendar/tool-detail",
		"url": "https://api.yourcompany.com/calendar/check"
	}`
	for _, tt := range []struct{ name, doc, want string }{
		{"one definition", internal, "create_contact"},
		{"one external definition", "\n " + external, "check_schedule"},
		{"a list", "[" + internal + "," + external + "]", "create_contact check_schedule"},
		{"an object with tools", `{"tools":[` + external + `],"results":[7]}`, "check_schedule"},
		{"a listing", `{"results":[` + internal + "," + external + `]}`, "create_contact check_schedule"},
		{"a listing of one page", `{"results":[` + external +
			`],"pagination":{"total_count":1,"limit":50,"offset":0,"has_more":false},"next":null}`, "check_schedule"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			box := parse(t, tt.doc, options(nil))
			var names []string
			for _, tool := range box.Tools() {
				names = append(names, tool.Name)
			}
			if got := strings.Join(names, " "); got != tt.want {
				t.Errorf("tools %s, want %s", got, tt.want)
			}
			again, err := json.Marshal(box.Tools())
			if err != nil {
				t.Fatal(err)
			}
			if third, err := json.Marshal(parse(t, string(again), options(nil)).Tools()); err != nil ||
				string(third) != string(again) {
				t.Errorf("read again: %s, %v, want %s", third, err, again)
			}
		})
	}
	for _, tt := range []struct{ doc, hint string }{
		{`{"name":"x","handlr":"ping"}`, `needs one of them; is "handlr" one of them?`},
		{`{"name":"x","ulr":"https://example.com"}`, `needs one of them; is "ulr" one of them?`},
		{`{"name":"x","note":"ping"}`, "needs one of them [handler"},
	} {
		if _, err := toolbox.Parse([]byte(tt.doc), options(nil)); err == nil || !strings.Contains(err.Error(), tt.hint) {
			t.Errorf("%s: %v", tt.doc, err)
		}
	}
	for _, tt := range []struct{ doc, pointer, code string }{
		{`{}`, "", "tools_missing"},
		{`{"detail":"Not found."}`, "", "tools_missing"},
		{`{"results":[],"pagination":{"total_count":51,"limit":50,"offset":0,"has_more":true}}`, "/pagination",
			"listing_incomplete"},
		{`{"count":51,"next":"https://api.example.com/?offset=50","results":[]}`, "/next", "listing_incomplete"},
		{`{"results":{}}`, "", "wrong_type"}, {`{"results":null}`, "", "wrong_type"},
		{`{"name":"x"}`, "/handler", "handler_or_url_missing"},
		{`{"handler":"ping"}`, "/name", "name_missing"},
		{`{"name":7,"handler":"ping"}`, "/name", "wrong_type"},
	} {
		_, err := toolbox.Parse([]byte(tt.doc), options(nil))
		e, ok := errors.AsType[*toolbox.Error](err)
		if !ok || e.Code != "invalid_toolbox" || len(e.Problems) != 1 || e.Problems[0].Code != tt.code ||
			!strings.HasSuffix(e.Problems[0].Pointer, tt.pointer) {
			t.Errorf("%s: %v", tt.doc, err)
		}
	}
}

// In a document without adapters, the adapters are the names in its tools.
func TestAdaptersThatToolsName(t *testing.T) {
	box := parse(t, `{"results":[{"name":"a","handler":"ping","adapter":"contacts"}, {"name":"b","handler":"ping","adapter":7},
		{"name":"c","handler":"ping","adapter":{"id":"a-1","name":"calendar","tools":3}}, {"name":"d","handler":"ping","adapter":"a-1"},
		{"name":"e","handler":"ping","adapter":{"id":9}}, {"name":"f","handler":"ping","adapter":null}]}`, options(nil))
	for adapter, want := range map[string]string{"contacts": "a", "7": "b", "calendar": "c d", "a-1": "c d", "9": "e"} {
		defs, err := box.Definitions(t.Context(), adapter)
		var names []string
		for _, d := range defs {
			names = append(names, d.Name)
		}
		if got := strings.Join(names, " "); err != nil || got != want {
			t.Errorf("tools of %s: %s, %v; want %s", adapter, got, err, want)
		}
	}
	if tools := box.Tools(); tools[3].Adapter != "calendar" || tools[5].Adapter != "" {
		t.Errorf("%+v", tools)
	}
}

// A name and an id each belong to one adapter, which may have the same word for both.
func TestNamesAndIdsOfAdapters(t *testing.T) {
	box := parse(t, `{"adapters":[{"id":"a","name":"a"},{"id":"c","name":"b"}],
		"tools":[{"name":"x","handler":"ping","adapter":"a"},{"name":"y","handler":"ping","adapter":"c"}]}`, options(nil))
	if got := box.Tools("c"); len(got) != 1 || got[0].Adapter != "b" {
		t.Errorf("%+v", got)
	}
	for doc, code := range map[string]string{
		`{"adapters":[{"id":"a","name":"a"},{"id":"b","name":"a"}]}`:                                                                "adapter_duplicate",
		`{"adapters":[{"id":"a","name":"b"},{"id":"c","name":"a"}]}`:                                                                "adapter_duplicate",
		`[{"name":"x","handler":"ping","adapter":{"id":7,"name":"a"}},{"name":"y","handler":"ping","adapter":{"id":7,"name":"b"}}]`: "adapter_unknown",
	} {
		_, err := toolbox.Parse([]byte(doc), options(nil))
		if e, ok := errors.AsType[*toolbox.Error](err); !ok || len(e.Problems) != 1 || e.Problems[0].Code != code {
			t.Errorf("%s: %v", doc, err)
		}
	}
}

func TestToolsOfAdapters(t *testing.T) {
	box := parse(t, document, options(nil))
	for adapter, want := range map[string]string{
		"contacts": "create_contact", "a-1": "create_contact", "calendar": "check_schedule", "none": "", "": "",
	} {
		var names []string
		for _, tool := range box.Tools(adapter) {
			names = append(names, tool.Name)
		}
		if strings.Join(names, " ") != want {
			t.Errorf("tools of %s: %q", adapter, names)
		}
	}
	if got := box.Tools("calendar", "contacts"); len(got) != 2 {
		t.Errorf("of two adapters: %+v", got)
	}
	defs, err := box.Definitions(t.Context(), "contacts")
	if err != nil || len(defs) != 1 || defs[0].Name != "create_contact" {
		t.Errorf("definitions of contacts: %+v %v", defs, err)
	}
	if _, err := box.Definitions(t.Context(), "none"); toolwire.CodeOf(err) != "unknown_adapter" {
		t.Errorf("definitions of an unknown adapter: %v", err)
	}
}

func TestParseReportsEverything(t *testing.T) {
	_, err := toolbox.Parse([]byte(`{
		"adapters": [{"name":"a","config_schema":{"type":"nonsense"},"tools":[{"name":"in_a","handler":"ping","adapter":"b"}]}, {"name":"b"}, {"id":"a","name":"c"}, {}, 7],
		"tools": [
			{"name":"both","handler":"ping","url":"https://example.com"},
			{"name":"neither","handler":"","url":null},
			{"name":"unregistered","handler":"defaults.ping"},
			{"name":"undotted","handler":"a..b"},
			{"name":"bad url","url":"ftp://user:hunter2@example.com"},
			{"name":"relative","url":"/check"},
			{"name":"detail","handler":"ping","detail_url":"https://hunter2@example.com/"},
			{"name":"both","handler":"ping","parameters":{"type":"array"}},
			{"name":"typed","handler":["ping"]},
			{"Name":"cased","handler":"ping"},
			{"name":"lost","handler":"ping","adapter":"nowhere"},
			"text",
			{"handler":"ping","parameters":true}
		]}`), &toolbox.Options{Handlers: map[string]toolbox.Handler{"ping": handlers()["ping"], "a b": nil, "nothing": nil},
		Agent: toolbox.Agent{ID: "agent-7"}, Timeout: -1, Secret: " hunter2"})
	invalid, ok := errors.AsType[*toolbox.Error](err)
	if !ok || invalid.Code != "invalid_toolbox" {
		t.Fatal(err)
	}
	var got []string
	for _, p := range invalid.Problems {
		got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s %s", p.Pointer, p.Code, p.Tool)))
	}
	want := []string{
		"invalid_option", "invalid_option", "invalid_option", "invalid_option", "invalid_option",
		"/adapters/4 wrong_type", "/tools/8/handler wrong_type", "/tools/9 wrong_case", "/tools/11 wrong_type",
		"/adapters/0/config_schema/type schema_invalid", "/adapters/2/name adapter_duplicate",
		"/adapters/3/name adapter_missing",
		"/adapters/0/tools/0/adapter adapter_unknown in_a", "/tools/0/handler handler_and_url both",
		"/tools/1/handler handler_or_url_missing neither", "/tools/2/handler handler_unregistered unregistered",
		"/tools/3/handler handler_invalid undotted", "/tools/4/name name_invalid bad url", "/tools/4/url url_invalid bad url",
		"/tools/5/url url_invalid relative", "/tools/6/detail_url url_invalid detail",
		"/tools/7/parameters/type schema_not_object both",
		"/tools/7/name name_duplicate both", "/tools/10/adapter adapter_unknown lost", "/tools/12/name name_missing",
		"/tools/12/parameters schema_not_object",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\n\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a secret: %v", err)
	}
	if !strings.Contains(err.Error(),
		`tool "unregistered": /tools/2/handler names defaults.ping, for which Options.Handlers has no function; it has "a b", nothing, ping`) {
		t.Errorf("%v", err)
	}
	for _, line := range []string{
		"Options.Agent has an ID that is not a UUID", "Options.Handlers has the key \"a b\"",
		"Options.Handlers has no function for nothing",
		"Options.Secret has white space", "Options.Timeout must not be negative",
		`/tools/8/handler must be a string, not an array`,
		`tool "in_a": /adapters/0/tools/0/adapter names another adapter`, `tool "both": /tools/7/name belongs to an earlier tool`,
		`tool "relative": /tools/5/url must be an absolute http or https URL`, `/adapters/4 must be an object, not a number`,
		`/adapters/0/config_schema/type `,
	} {
		if !strings.Contains(err.Error(), "\n  - "+line) {
			t.Errorf("%q is missing in: %v", line, err)
		}
	}
	_, err = toolbox.Parse([]byte(`[{"name":"a","handler":7}]`), nil)
	if bare, ok := errors.AsType[*toolbox.Error](err); !ok || bare.Problems[0].Pointer != "/0/handler" {
		t.Errorf("in a list without an object around it: %+v", bare)
	}
	// A function that is nil is one mistake, of the options: the handler is in the map.
	_, err = toolbox.Parse([]byte(`{"name":"a","handler":"contacts.ping"}`), &toolbox.Options{Handlers: map[string]toolbox.Handler{"contacts.ping": nil}})
	if want := "toolbox: invalid_options: the options are not valid: Options.Handlers has no function for contacts.ping [invalid_option]"; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestParseRejects(t *testing.T) {
	for doc, part := range map[string]string{
		``: "ends before", `7`: "must be an object", `{"tools":[],"tools":[]}`: "twice", `{"Tools":[]}`: `must be "tools"`,
		`{"tools":[}`: "/tools", "- name: a": "convert a document in another form, such as YAML",
	} {
		if _, err := toolbox.Parse([]byte(doc), nil); toolwire.CodeOf(err) != toolwire.CodeInvalidJSON ||
			!strings.Contains(err.Error(), part) {
			t.Errorf("%.40s: %v", doc, err)
		}
	}
	_, err := toolbox.Parse([]byte("["+strings.Repeat(" ", 4<<20)+"]"), nil)
	if toolwire.CodeOf(err) != toolwire.CodeLimit || !strings.Contains(err.Error(), "more than 4194304 bytes") {
		t.Errorf("a large document: %v", err)
	}
	_, err = toolbox.Parse([]byte(`[{"name":"x","url":"https://example.com"}]`), nil)
	if toolwire.CodeOf(err) != toolwire.CodeInvalidOptions || !strings.Contains(err.Error(), "Options.Secret is required") {
		t.Errorf("without a secret: %v", err)
	}
	for doc, part := range map[string]string{
		`{"tools":7}`:     "/tools must be a list, not a number",
		`{"adapters":{}}`: "/adapters must be a list",
	} {
		if _, err := toolbox.Parse([]byte(doc), nil); toolwire.CodeOf(err) != "invalid_toolbox" ||
			!strings.Contains(err.Error(), part) {
			t.Errorf("%s: %v", doc, err)
		}
	}
}

// Parse keeps neither the document nor the map of handlers.
func TestParseCopies(t *testing.T) {
	data, opts := []byte(document), options(nil)
	box, err := toolbox.Parse(data, opts)
	if err != nil {
		t.Fatal(err)
	}
	for i := range data {
		data[i] = 'x'
	}
	delete(opts.Handlers, "ping")
	opts.Secret = "x"
	if text := shown(box.Call(context.Background(), "ping", nil)); text != "pong <{}>" {
		t.Error(text)
	}
	if !json.Valid(box.Tools()[0].Parameters) {
		t.Errorf("%s", box.Tools()[0].Parameters)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(document))
	f.Add([]byte(`[{"name":"a","handler":"ping","parameters":{"$ref":"#/$defs/A","$defs":{"A":{"type":"object"}}}}]`))
	f.Add([]byte(`{"adapters":[{"name":"a","tools":[{"name":"x","url":"http://[::1]"},null]}],"tools":{}}`))
	f.Add([]byte(`{"name":"a","handler":"ping","parameters":{"type":"object"},"adapter":"b"}`))
	opts := options(nil)
	f.Fuzz(func(t *testing.T, data []byte) {
		cost.Linear(t, "Parse", data, cost.List("[", data, "]"), func(doc []byte) {
			if _, err := toolbox.Parse(doc, opts); err != nil {
				_ = err.Error()
			}
		})
		box, err := toolbox.Parse(data, opts)
		if err != nil {
			if code := toolwire.CodeOf(err); code != toolwire.CodeInvalidJSON && code != "invalid_toolbox" {
				t.Fatal(err)
			}
			return
		}
		for _, tool := range box.Tools() {
			if (tool.Handler == "") == (tool.URL == "") {
				t.Fatalf("%+v", tool)
			}
		}
	})
}

// A schema that cannot be checked completely is accepted only on request. What can be checked still
// is. Nothing is validated by the schema of an adapter's configuration.
func TestUncheckedSchemas(t *testing.T) {
	const doc = `{"adapters":[{"name":"a","config_schema":{"type":"string","pattern":"^(?=a)"}}], "tools":[{"name":"login","handler":"ping",
		"parameters":{"type":"object","properties":{"password":{"pattern":"^.(?=.*[0-9]).{7,}$"},"n":{"type":"integer"}}}}]}`
	_, err := toolbox.Parse([]byte(doc), options(nil))
	e, ok := errors.AsType[*toolbox.Error](err)
	if !ok || len(e.Problems) != 1 || e.Problems[0].Pointer != "/tools/0/parameters/properties/password/pattern" ||
		!strings.Contains(err.Error(), "Options.AllowUnchecked") {
		t.Errorf("got %v", err)
	}
	opts := options(nil)
	opts.AllowUnchecked = true
	box := parse(t, doc, opts)
	if got := shown(box.Call(t.Context(), "login",
		json.RawMessage(`{"password":"secret","n":7}`))); got != `pong <{"password":"secret","n":7}>` {
		t.Error(got)
	}
	if got := shown(box.Call(t.Context(), "login", json.RawMessage(`{"n":"7"}`))); !strings.Contains(got,
		"/n must be an integer") {
		t.Errorf("the rest of the schema is not checked: %s", got)
	}
	if _, err := toolbox.Parse([]byte(strings.Replace(doc, `"integer"`, `"nonsense"`, 1)),
		opts); toolwire.CodeOf(err) != "invalid_toolbox" {
		t.Errorf("a schema that is not valid: %v", err)
	}
}

// What older drafts wrote otherwise is read completely, so it is accepted, and so is "nullable", which
// lets nothing through. A schema that says nothing is accepted only on request.
func TestSchemasThatAreReadOtherwise(t *testing.T) {
	document := func(parameters string) string {
		return `{"tools":[{"name":"login","handler":"ping","parameters":` + parameters + `}]}`
	}
	box := parse(t, document(`{"type":"object","required":null,"properties":{"at":{"items":[{"type":"number"}],"title":1},"by":{"type":"string","nullable":true}}}`), options(nil))
	if got := shown(box.Call(t.Context(), "login", json.RawMessage(`{"at":[7]}`))); got != `pong <{"at":[7]}>` {
		t.Error(got)
	}
	for arguments, want := range map[string]string{`{"at":["7"]}`: "/at/0 must be a number", `{"by":null}`: "/by must be a string"} {
		if got := shown(box.Call(t.Context(), "login", json.RawMessage(arguments))); !strings.Contains(got, want) {
			t.Errorf("%s: %s", arguments, got)
		}
	}
	wrapped := document(`{"schema":{"type":"object","properties":{"at":{"type":"number"}}}}`)
	_, err := toolbox.Parse([]byte(wrapped), options(nil))
	e, ok := errors.AsType[*toolbox.Error](err)
	if !ok || len(e.Problems) != 1 || e.Problems[0].Pointer != "/tools/0/parameters" || !strings.Contains(err.Error(), "Options.AllowUnchecked") {
		t.Errorf("got %v", err)
	}
	opts := options(nil)
	opts.AllowUnchecked = true
	parse(t, wrapped, opts)
}

// The work is proportional to the document. If each adapter or tool were compared with all others,
// this test would take minutes.
func TestParseOfManyAdapters(t *testing.T) {
	list := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format+",", i)
		}
		return strings.TrimSuffix(b.String(), ",")
	}
	box, err := toolbox.Parse([]byte(`{"adapters":[`+list(10_000, `{"name":"a%d"}`)+`]}`), nil)
	if err != nil || len(box.Tools()) != 0 {
		t.Errorf("err = %v", err)
	}
	_, err = toolbox.Parse([]byte(`[`+list(10_000, `{"name":%d}`)+`]`), nil)
	if e, ok := errors.AsType[*toolbox.Error](err); !ok || len(e.Problems)+e.More != 2*10_000 || len(e.Problems) != 100 {
		t.Errorf("%d problems and %d more, want two per tool", len(e.Problems), e.More)
	}
	for _, document := range []string{`{"adapters":[%s]}`, `{"tools":[%s]}`, `{"adapters":[{"name":"a","tools":[%s]}]}`} {
		_, err = toolbox.Parse(fmt.Appendf(nil, document, list(10_003, `{"name":"t%d"}`)), nil)
		if !strings.Contains(fmt.Sprint(err), "too_many") && !strings.Contains(fmt.Sprint(err), "more") {
			t.Errorf("%s: %v", document, err)
		}
	}
}
