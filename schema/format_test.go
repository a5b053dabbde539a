package schema_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/schema"
)

func listFile(t testing.TB, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "lists", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func importAs(doc []byte, f schema.Format) ([]schema.Tool, error) {
	tools, _, err := schema.Import(doc, f)
	return tools, err
}

var lists = []struct {
	file   string
	format schema.Format
	names  string
	extra  string
}{
	{"platform", schema.Platform, "search_wikipedia get_order", ""},
	{"openai_chat", schema.OpenAIChat, "get_current_weather ping", "strict"},
	{"openai_responses", schema.OpenAIResponses, "send_email", "strict defer_loading allowed_callers"},
	{"openai_agents", schema.OpenAIResponses, "fetch_weather", "strict"},
	{"anthropic", schema.Anthropic, "get_weather get_time", "type cache_control"},
	{"mcp", schema.MCP, "get_weather", "title annotations _meta"},
	{"langchain", schema.LangChain, "multiply", "return_direct"},
	{"strands", schema.Strands, "weather_forecast letter_counter", ""},
	{"bedrock", schema.Bedrock, "create_contact check_schedule send_message list_messages set_status move",
		"handler detail_url url url url url url"},
	{"agentcli", schema.AgentCLI, "get_time", "command timeoutSec envPassthrough"},
}

// The platform receives no member of another format. What no format knows is kept.
func TestExportToThePlatformDropsMembersOfOtherFormats(t *testing.T) {
	for _, l := range lists {
		tools, err := importAs(listFile(t, l.file), l.format)
		if err != nil {
			t.Fatal(err)
		}
		tools[0].Extra = append(tools[0].Extra, ledger.Member{Name: "x_own", Value: json.RawMessage("1")})
		doc, losses, err := schema.Export(tools, schema.Platform)
		if err != nil {
			t.Fatal(err)
		}
		back, err := importAs(doc, schema.Platform)
		if err != nil {
			t.Fatal(err)
		}
		var extra, left []string
		for _, tool := range back {
			for _, m := range tool.Extra {
				extra = append(extra, m.Name)
			}
		}
		for _, p := range losses {
			if p.Code == "left_out" {
				left = append(left, p.Pointer[strings.LastIndexByte(p.Pointer, '/')+1:])
			}
		}
		if strings.Join(extra, " ") != "x_own" || strings.Join(left, " ") != l.extra {
			t.Errorf("%s: kept %q, left out %q; want x_own, %q", l.file, extra, left, l.extra)
		}
	}
}

// TestFormats reads lists as the SDKs print them, and writes them back.
func TestFormats(t *testing.T) {
	for _, l := range lists {
		t.Run(l.file, func(t *testing.T) {
			doc := listFile(t, l.file)
			tools, err := importAs(doc, l.format)
			if err != nil {
				t.Fatal(err)
			}
			var names, extra []string
			for _, tool := range tools {
				names = append(names, tool.Name)
				for _, m := range tool.Extra {
					extra = append(extra, m.Name)
				}
				if !bytes.Contains(doc, tool.InputSchema) && string(tool.InputSchema) != `{"type":"object","properties":{}}` {
					t.Errorf("the schema of %s is not byte for byte the schema in the list: %s", tool.Name, tool.InputSchema)
				}
			}
			if got := strings.Join(names, " "); got != l.names {
				t.Errorf("names = %q, want %q", got, l.names)
			}
			if got := strings.Join(extra, " "); got != l.extra {
				t.Errorf("extra members = %q, want %q", got, l.extra)
			}
			if _, err := schema.Validate(t.Context(), tools, &schema.ValidateOptions{LedgerSchema: orders(t)}); err != nil {
				t.Errorf("the platform would refuse them: %v", err)
			}
			imported, f, err := schema.Import(doc, "")
			if err != nil || f != l.format || !reflect.DeepEqual(imported, tools) {
				t.Errorf("recognized as %q, %v; want %q and the same tools", f, err, l.format)
			}

			out, losses, err := schema.Export(tools, l.format)
			if err != nil || len(losses) > 0 {
				t.Fatalf("writing it back: %v, %v", losses, err)
			}
			again, err := importAs(out, l.format)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(again, tools) {
				t.Errorf("read again:\n%+v\nwant:\n%+v", again, tools)
			}
			if _, f, err := schema.Import(out, ""); err != nil || f != l.format {
				t.Errorf("what was written is recognized as %q, %v", f, err)
			}
		})
	}
}

// Every member is either kept or reported as lost.
func TestEveryFormatToEveryOther(t *testing.T) {
	for _, from := range lists {
		tools, err := importAs(listFile(t, from.file), from.format)
		if err != nil {
			t.Fatal(err)
		}
		for _, to := range lists {
			out, losses, err := schema.Export(tools, to.format)
			if err != nil {
				t.Errorf("%s to %s: %v", from.file, to.format, err)
				continue
			}
			again, err := importAs(out, to.format)
			if err != nil {
				t.Errorf("%s to %s: %v", from.file, to.format, err)
				continue
			}
			for i := range tools {
				want, got := tools[i], again[i]
				if got.Name != want.Name || got.Description != want.Description || !bytes.Equal(got.InputSchema, want.InputSchema) {
					t.Errorf("%s to %s: tool %d is %+v, want %+v", from.file, to.format, i, got, want)
				}
				for member, gone := range map[string]bool{
					"output_schema":          want.OutputSchema != nil && got.OutputSchema == nil,
					"default_execution_mode": want.DefaultExecutionMode != got.DefaultExecutionMode,
					"passthrough_binding":    want.PassthroughBinding != nil && got.PassthroughBinding == nil,
					"ledger_write_policy":    want.LedgerWritePolicy != got.LedgerWritePolicy,
					"ledger_adapter":         want.LedgerAdapter != nil && got.LedgerAdapter == nil,
				} {
					if reported := lost(losses, i, member); gone != reported {
						t.Errorf("%s to %s: tool %d: %s is lost: %v, reported: %v", from.file, to.format, i, member, gone, reported)
					}
				}
				for _, m := range want.Extra {
					kept := false
					for _, n := range got.Extra {
						kept = kept || n.Name == m.Name && bytes.Equal(n.Value, m.Value)
					}
					if reported := lost(losses, i, m.Name); kept == reported {
						t.Errorf("%s to %s: tool %d: %s is kept: %v, reported lost: %v", from.file, to.format, i, m.Name, kept, reported)
					}
				}
			}
		}
	}
}

// A request to Amazon Bedrock's Converse has Strands' entries. Entries that are not tools are reported.
func TestToolConfigOfConverse(t *testing.T) {
	tools, f, err := schema.Import([]byte(`{"messages":[],"toolConfig":{"tools":[{"toolSpec":{"name":"f","description":"d","inputSchema":{"json":{"type":"object","properties":{}}},"strict":true}},{"cachePoint":{"type":"default"}}],"toolChoice":{"auto":{}}}}`), "")
	if len(tools) != 1 || f != schema.Strands || err == nil || !strings.Contains(err.Error(), "marks of a cache") {
		t.Errorf("%v, %s, %v", tools, f, err)
	}
	list, losses, err := schema.Export(tools, f)
	if want := `[{"name":"f","description":"d","inputSchema":{"json":{"type":"object","properties":{}}},"strict":true}]`; string(list) != want || len(losses) > 0 || err != nil {
		t.Errorf("%s, %v, %v", list, losses, err)
	}
}

func lost(losses []toolwire.Problem, index int, member string) bool {
	for _, l := range losses {
		if l.Code == "left_out" && l.Pointer == fmt.Sprintf("/%d/%s", index, member) {
			return true
		}
	}
	return false
}

// Registration members are not exported to models: Anthropic's API answers 400 to members that it
// does not know.
func TestModelsSeeNoRegistrationMembers(t *testing.T) {
	tools := parse(t, `[{"name":"a","description":"d","input_schema":{"type":"object"},"output_schema":{},"default_execution_mode":"passthrough",
		"passthrough_binding":{"endpoint_name":"e","tool_name":"t"},"ledger_write_policy":"adapter",
		"ledger_adapter":{"op":"set_flag","flags":["f"]},"later":1}]`)
	for f, want := range map[schema.Format]string{
		schema.Anthropic:       `[{"name":"a","description":"d","input_schema":{"type":"object","properties":{}}}]`,
		schema.OpenAIChat:      `[{"type":"function","function":{"name":"a","description":"d","parameters":{"type":"object","properties":{}}}}]`,
		schema.OpenAIResponses: `[{"type":"function","name":"a","description":"d","parameters":{"type":"object","properties":{}}}]`,
		schema.MCP:             `{"tools":[{"name":"a","description":"d","inputSchema":{"type":"object","properties":{}},"outputSchema":{}}]}`,
		schema.Strands:         `[{"name":"a","description":"d","inputSchema":{"json":{"type":"object","properties":{}}},"outputSchema":{"json":{}}}]`,
	} {
		out, losses, err := schema.Export(tools, f)
		if err != nil || string(out) != want {
			t.Errorf("%s: %s, %v; want %s", f, out, err, want)
		}
		for _, member := range []string{"default_execution_mode", "passthrough_binding", "ledger_write_policy", "ledger_adapter", "later"} {
			if !lost(losses, 0, member) {
				t.Errorf("%s: the loss of %s is not reported", f, member)
			}
		}
	}
}

// An object without properties is exported with an empty list of them, which OpenAI requires. Only the
// platform gets the schema as it is.
func TestExportOfToolsWithoutArguments(t *testing.T) {
	none := schema.MustDefine[struct{}, string]("none", "Takes nothing.", nil)
	free := schema.MustDefine[map[string]int, string]("free", "Takes anything.", nil)
	for _, tt := range []struct {
		tool schema.Tool
		want string
	}{
		{schema.Tool{Name: "t", InputSchema: json.RawMessage(`{"type":"object"}`)}, `{"type":"object","properties":{}}`},
		{schema.Tool{Name: "t", InputSchema: json.RawMessage(`{"type":"object","additionalProperties":false}`)},
			`{"type":"object","additionalProperties":false,"properties":{}}`},
		{none, `{"properties":{},"additionalProperties":false,"type":"object"}`},
		{free, `{"additionalProperties":{"type":"integer"},"type":"object","properties":{}}`},
	} {
		for _, f := range []schema.Format{schema.OpenAIChat, schema.OpenAIResponses, schema.Anthropic, schema.MCP, schema.LangChain,
			schema.Strands, schema.Bedrock, schema.AgentCLI} {
			list, _, err := schema.Export([]schema.Tool{tt.tool}, f)
			if err != nil || !strings.Contains(string(list), tt.want) {
				t.Errorf("%s: %s, %v; want %s", f, list, err, tt.want)
			}
		}
		list, _, err := schema.Export([]schema.Tool{tt.tool}, schema.Platform)
		if err != nil || !strings.Contains(string(list), string(tt.tool.InputSchema)) {
			t.Errorf("platform: %s, %v", list, err)
		}
	}
}

func TestExportSaysWhatIsMissing(t *testing.T) {
	tools := []schema.Tool{{Name: "a", InputSchema: json.RawMessage(`{}`)}}
	for f, want := range map[schema.Format]string{
		schema.AgentCLI: "/0/command", schema.Bedrock: "/0/description,/0 handler or url", schema.Strands: "/0/description", schema.Anthropic: "",
	} {
		_, losses, err := schema.Export(tools, f)
		if err != nil {
			t.Fatal(err)
		}
		var members []string
		for _, l := range losses {
			members = append(members, strings.TrimSpace(l.Pointer+" "+l.Message[:strings.Index(l.Message, "is missing")]))
		}
		if got := strings.Join(members, ","); got != want {
			t.Errorf("%s: losses = %q, want %q", f, got, want)
		}
	}
	if _, _, err := schema.Export(tools, "yaml"); found(t, err) != "format_unknown " {
		t.Errorf("unknown format: %v", err)
	}
	for _, f := range []schema.Format{"", "openai"} {
		_, _, err := schema.Export(tools, f)
		if want := "; the formats are platform, openai_chat, openai_responses, anthropic, "; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", f, err, want)
		}
	}
	broken := []schema.Tool{{Name: "a", InputSchema: json.RawMessage(`{`)}}
	if _, _, err := schema.Export(broken, schema.MCP); found(t, err) != "not_json /0/input_schema" {
		t.Errorf("broken schema: %v", err)
	}
}

func TestImportReportsWhatItCannotRead(t *testing.T) {
	for _, test := range []struct {
		name string
		from schema.Format
		doc  string
		want string
	}{
		{"not JSON", schema.MCP, `{"tools":[`, "not_json /tools"},
		{"no list", schema.MCP, `{"tools":{}}`, "not_list "},
		{"no object", schema.OpenAIResponses, `[1,{"name":"a"},null]`, "not_object /0\nnot_object /2"},
		{"built-in of OpenAI", schema.OpenAIResponses, `[{"type":"web_search"},{"type":"function","name":"a"}]`, "built_in /0/type"},
		{"built-in of Anthropic", schema.Anthropic, `[{"type":"web_search_20250305","name":"web_search"}]`, "built_in /0/type"},
		{"name no string", schema.OpenAIResponses, `[{"type":"function","function":{"name":1,"description":[]}}]`,
			"wrong_type /0/function/name\nwrong_type /0/function/description"},
		{"function no object", schema.OpenAIResponses, `[{"type":"function","function":"x"}]`, "wrong_type /0/function"},
		{"inputSchema without json", schema.Strands, `[{"name":"a","inputSchema":{"type":"object"}},{"name":"b","inputSchema":{"json":{},"x":1}}]`, ""},
		{"strict outside and inside", schema.OpenAIResponses, `[{"type":"function","strict":true,"function":{"name":"a","strict":false}}]`,
			"member_clash /0/function/strict"},
		{"strict under two names", schema.OpenAIResponses, `[{"type":"function","name":"a","strict":false,"strict_json_schema":true}]`,
			"member_clash /0/strict_json_schema"},
		{"the same name outside", schema.OpenAIResponses, `[{"type":"function","name":"a","function":{"name":"a"}}]`, ""},
		{"name outside", schema.OpenAIResponses, `[{"type":"function","name":"b","function":{"name":"a"}}]`, "member_clash /0/name"},
		{"two output schemas", schema.MCP, `[{"name":"a","inputSchema":{},"outputSchema":{},"output_schema":{}}]`, "member_clash /0/output_schema"},
		{"schema under the platform's name", schema.MCP, `[{"name":"a","inputSchema":{},"input_schema":{"type":"object"}}]`,
			"member_clash /0/input_schema"},
		{"registration members", schema.Anthropic, `[{"name":"a","input_schema":{},"default_execution_mode":"passthrough","ledger_adapter":{}}]`,
			"member_clash /0/default_execution_mode\nmember_clash /0/ledger_adapter"},
		{"two schemas of LangChain", schema.LangChain, `[{"name":"a","args_schema":{"title":"A"},"parameters":{"title":"P"}}]`,
			"member_clash /0/parameters"},
		{"two schemas of OpenAI", schema.OpenAIResponses, `[{"name":"a","params_json_schema":{},"parameters":{}}]`, "member_clash /0/parameters"},
		{"a schema and a null", schema.OpenAIResponses, `[{"name":"a","parameters":{},"params_json_schema":null}]`, ""},
		{"custom of OpenAI", schema.OpenAIResponses, `[{"type":"custom","name":"code","format":{"type":"grammar"}}]`, "built_in /0/type"},
		{"custom of OpenAI's Chat Completions", schema.OpenAIResponses, `[{"type":"custom","custom":{"name":"code"}}]`, "built_in /0/type"},
		{"custom of Anthropic", schema.Anthropic, `[{"type":"custom","name":"a","input_schema":{}}]`, ""},
		{"custom of Anthropic without schema", schema.Anthropic, `[{"type":"custom","name":"a"}]`, ""},
		{"page of several", schema.MCP, `{"tools":[],"nextCursor":"abc"}`, "list_incomplete /nextCursor"},
		{"last page", schema.MCP, `{"tools":[],"nextCursor":""}`, ""},
	} {
		_, _, err := schema.Import([]byte(test.doc), test.from)
		if got := found(t, err); got != test.want {
			t.Errorf("%s: problems = %q, want %q", test.name, got, test.want)
		}
	}
}

func TestImportReadsWhatLangChainConvertsTo(t *testing.T) {
	for _, doc := range []string{
		`[{"name":"a","description":"d","args_schema":{"type":"object"}}]`,
		`[{"name":"a","description":"d","parameters":{"type":"object"}}]`,
		`[{"name":"a","description":"d","schema":{"type":"object"}}]`,
		`[{"type":"function","function":{"name":"a","description":"d","parameters":{"type":"object"}}}]`,
	} {
		tools, _, err := schema.Import([]byte(doc), schema.LangChain)
		if err != nil || len(tools) != 1 || tools[0].Name != "a" || tools[0].Description != "d" || string(tools[0].InputSchema) != `{"type":"object"}` {
			t.Errorf("%s: %+v, %v", doc, tools, err)
		}
	}
}

// An output schema under the platform's name is read in each format.
func TestImportReadsOutputSchemas(t *testing.T) {
	for _, doc := range []string{
		`[{"type":"function","name":"a","parameters":{},"output_schema":{"type":"object"}}]`,
		`[{"type":"function","function":{"name":"a","parameters":{},"output_schema":{"type":"object"}}}]`,
		`[{"name":"a","cache_control":{},"input_schema":{},"output_schema":{"type":"object"}}]`,
		`[{"name":"a","inputSchema":{},"output_schema":{"type":"object"}}]`,
		`[{"name":"a","args_schema":{},"output_schema":{"type":"object"}}]`,
	} {
		tools, _, err := schema.Import([]byte(doc), "")
		if err != nil || len(tools) != 1 || string(tools[0].OutputSchema) != `{"type":"object"}` {
			t.Errorf("%s: %+v, %v", doc, tools, err)
		}
	}
}

// Each name under which an SDK prints a schema is recognized, and Validate names Import for it.
func TestSchemaMembers(t *testing.T) {
	for member, want := range map[string]schema.Format{
		"parameters": schema.OpenAIResponses, "params_json_schema": schema.OpenAIResponses, "parametersJsonSchema": schema.OpenAIResponses,
		"parameters_json_schema": schema.OpenAIResponses, "inputSchema": schema.MCP, "args_schema": schema.LangChain, "schema": schema.LangChain,
		"function": schema.OpenAIChat, "toolSpec": schema.Strands, "input_schema": schema.Platform,
	} {
		value, entry := `{"type":"object"}`, `{"name":"a","description":"d","`+member+`":`
		if member == "function" || member == "toolSpec" {
			value, entry = `{"name":"a","description":"d"}`, `{"`+member+`":`
		}
		doc := []byte("[" + entry + value + "}]")
		if tools, f, _ := schema.Import(doc, ""); f != want || member != "toolSpec" && (len(tools) != 1 || string(tools[0].InputSchema) == "") {
			t.Errorf("%s: format %q and %+v", member, f, tools)
		}
		tools, _, _ := schema.Import(doc, schema.Platform)
		if _, err := schema.Validate(t.Context(), tools, nil); member != "input_schema" && !strings.Contains(fmt.Sprint(err), "with Import and the format "+string(want)) {
			t.Errorf("%s: %v", member, err)
		}
	}
}

// Tools that a provider runs, and marks in a list, cost themselves.
func TestImportReadsPieceByPiece(t *testing.T) {
	const anthropic, chat = `{"name":"a","input_schema":{"type":"object"}}`, `{"type":"function","function":{"name":"a"}}`
	for _, test := range []struct{ doc, want, problems string }{
		{`[` + anthropic + `,{"type":"web_search_20250305","name":"web_search","max_uses":5}]`, "anthropic a", "built_in /1/type"},
		{`[` + anthropic + `,{"type":"mcp_toolset","mcp_server_name":"x"},{"type":"bash_20250124","name":"bash"}]`, "anthropic a",
			"built_in /1/type\nbuilt_in /2/type"},
		{`[{"type":"web_search_20250305","name":"web_search"}]`, "anthropic", "built_in /0/type"},
		{`[{"type":"mcp_toolset","mcp_server_name":"x"}]`, "anthropic", "built_in /0/type"},
		{`[{"type":"file_search","vector_store_ids":["x"]}]`, "openai_responses", "built_in /0/type"},
		{`[{"type":"web_search"},{"name":"a","parameters":{}}]`, "openai_responses a", "built_in /0/type"},
		{`[{"type":"web_search"},` + chat + `,{"cache_control":{"type":"ephemeral"}}]`, "openai_chat a", "built_in /0/type\nname_missing /2/name"},
		{`{"toolConfig":{"tools":[{"toolSpec":{"name":"a","description":"d","inputSchema":{"json":{}}}},{"cachePoint":{"type":"default"}}]}}`,
			"strands a", "name_missing /1/name"},
		{`[{"functionDeclarations":[{"name":"a","parameters":{"type":"OBJECT"}}]},{"googleSearch":{}}]`, "openai_responses a", "name_missing /1/name"},
		{`[{"type":"tool_search","execution":"client","parameters":{"type":"object"}},{"type":"function","name":"a"}]`, "openai_responses a", "built_in /0/type"},
		{`[{"type":"tool_search","parameters":{"type":"object"}}]`, "openai_responses", "built_in /0/type"},
		{`[{"type":"custom","name":"sql","format":{"type":"grammar"}}]`, "openai_responses", "built_in /0/type"},
		{`[{"type":"custom","name":"sql","input_schema":{}}]`, "anthropic sql", ""},
		{`[{"type":"web_search_20250305","name":"web_search"},{"type":"mcp_toolset"}]`, "anthropic", "built_in /0/type\nbuilt_in /1/type"},
		// A name that occurs twice, and half of a surrogate pair, cost the tool that has it.
		{`{"tools":[{"name":"a","inputSchema":{}},{"name":"b","inputSchema":{"type":"object","type":"object"}},{"name":"c","description":"cut \ud83d","inputSchema":{}}]}`,
			"mcp a", "not_json /1/inputSchema/type\nnot_json /2/description"},
		{"[{\"name\":\"b\",\"description\":\"caf\xe9\",\"parameters\":{}},{\"name\":\"a\",\"parameters\":{\"\xff\":1}},{\"name\":\"c\",\"parameters\":{}}]",
			"openai_responses c", "not_json /0/description\nnot_json /1/parameters"},
		{"{\"note\":\"\xff\",\"tools\":[{\"name\":\"a\",\"inputSchema\":{}}]}", "mcp a", ""}, // it is not read
		{"[{\"name\":\"a\",\"inputSchema\":{}},\xff]", "", "not_json /1"},
		{"\ufeff" + `[{"name":"a","inputSchema":{}}]`, "mcp a", ""},
		{`[{"name":"b","name":"b","parameters":{}},{"name":"a","parameters":{}}]`, "openai_responses a", "not_json /0/name"},
		{`[{"functionDeclarations":[{"name":"a","parameters":{}},{"name":"b","parameters":{"x":1,"x":2}}]}]`, "openai_responses a", "not_json /1/parameters/x"},
		{`[{"functionDeclarations":[{"name":"a"}],"functionDeclarations":[{"name":"b"}]},{"name":"c","parameters":{}}]`, "openai_responses c", "not_json /0/functionDeclarations"},
		{`[{"x":{"name":"a","parameters":{}},"x":{"name":"b","parameters":{}}},{"name":"c","parameters":{}}]`, "openai_responses c", "not_json /0/x"},
		{`[{"x":1,"x":{"name":"a","parameters":{}}},{"name":"c","parameters":{}}]`, "openai_responses c", "not_json /0/x"},
		{`{"id":1,"id":2,"result":{"tools":[{"name":"a","inputSchema":{}}]}}`, "", "not_json /id"},
		{`{"a":{"parameters":{}},"b":{"parameters":{"x":1,"x":2}}}`, "openai_responses a", "not_json /1/parameters/x"},
		{`{"a":{"parameters":{}},"a":{"parameters":{}}}`, "", "not_json /a"},
		{`{"tools":{"a":{"parameters":{}},"a":{"parameters":{}}}}`, "", "not_json /tools/a"},
		{`{"tools":[{"name":"a","parameters":{}}],"tools":[]}`, "", "not_json /tools"},
		{`[{"name":"a","name":"b"}]`, "", "not_json /0/name"},
		{`{"tool":[{"name":"a","name":"b","parameters":{}}]}`, "", "not_json /tool/0/name"},
		{`{"result":{"tools":[{"name":"a","inputSchema":{}}],"tools":[]}}`, "", "not_json /result/tools"},
		{`{"tools":[{"name":"a","inputSchema":{}}],"usage":{"n":1,"n":2}}`, "mcp a", ""}, // it is not read
		{`{"tools_schema":[{"name":"a","input_schema":{}},{"name":"b","name":"b"}]}`, "platform a", "not_json /1/name"},
		// Tools in a namespace, and the tools of several servers.
		{`[{"type":"namespace","name":"x","tools":[{"type":"function","name":"a","parameters":{}},{"type":"function","name":"b"}]},{"type":"web_search"}]`,
			"openai_responses a b", "built_in /2/type"},
		{`[{"name":"x","tools":[{"name":"a","inputSchema":{}}]},{"name":"y","tools":[{"name":"b","inputSchema":{}},{"inputSchema":{}}]},{"name":"z","tools":[]}]`,
			"mcp a b", "name_missing /2/name"},
		{`[{"name":"x","tools":[5,{"name":"a","inputSchema":{}},null]}]`, "mcp a", "not_object /0\nnot_object /2"},
		{`[{"type":"additional_tools","tools":[{"type":"namespace","name":"x","tools":[{"type":"function","name":"a"},7]},{"type":"function","name":"b"}]}]`,
			"openai_responses a b", "not_object /1"},
		{`[{"tools":[{"tools":[{"type":"x","tools":[{"type":"function","name":"a"}]}]}]}]`, "openai_responses", "built_in /0/type"},
		{`[{"name":"a","parameters":{},"tools":[{"name":"x"}]}]`, "openai_responses a", ""},
		{`[{"name":"a","tools":["x"]},{"name":"b","parameters":{}}]`, "openai_responses a b", ""},
		// A tool takes no arguments only if nothing in its entry can be their schema.
		{`[{"name":"a","parameters":{}},{"name":"b","arg_defs":{"x":{"type":"str"}}},{"name":"c","args":[{"name":"x"}]}]`, "openai_responses a",
			"input_schema_missing /1/arg_defs\ninput_schema_missing /2/args"},
		{`[{"type":"function","function":{"name":"a","parameters":null},"parameters":{"type":"object"}}]`, "openai_chat",
			"input_schema_missing /0/parameters"},
		{`[{"id":"c1","type":"function","function":{"name":"a","arguments":"{}"}},{"type":"function","function":{"name":"b","note":"{"}}]`,
			"openai_chat b", "input_schema_missing /0/function/arguments"},
		{`[{"name":"a","parameters":{}},{"name":"b","input":{"properties":{"x":{}}}},{"name":"c","input":{"type":"object"}},{"name":"d","input":[1,{"name":"x"}]}]`,
			"openai_responses a", "input_schema_missing /1/input\ninput_schema_missing /2/input\ninput_schema_missing /3/input"},
		{`[{"type":"function","function":{"name":"a"},"server":{"url":"u","auth":{"type":"x"}},"messages":[{"type":"start"}]},` +
			`{"type":"function","function":{"name":"b","states":{"x":{"description":"d"}},"input":{}}}]`, "openai_chat a b", ""},
		{`[{"type":"function","function":{"name":"a"},"cache_control":{"type":"ephemeral"}},{"type":"function","function":{"name":"b","tags":["x"]}}]`,
			"openai_chat a b", ""},
		{`[{"functionDeclarations":[{"name":"a","response":{"type":"OBJECT"}},{"name":"b","parameters":{}}]}]`, "openai_responses a b", ""},
		{`[{"type":"function","function":{"name":"a","outputSchema":{"type":"object"}}}]`, "openai_chat a", ""},
		// Lists under several names are one list.
		{`{"functions":[{"name":"b","parameters":{}}],"tools":[{"type":"function","name":"a"}],"results":[{"score":1}]}`, "openai_responses a b", ""},
		{`{"functions":[{"name":"b","parameters":{}}],"tools":[{"name":"a","inputSchema":{}}]}`, "", "format_mixed "},
		{`{"tools_schema":[{"name":"b","input_schema":{}}],"tools":[{"type":"function","function":{"name":"a"}}]}`, "", "format_mixed "},
		{`{"tools_schema":[{"name":"b","input_schema":{}}],"tools":[{"name":"a","input_schema":{}}]}`, "platform b a", ""},
		{`{"results":[{"name":"b","parameters":{},"url":"u"}],"tools":[{"name":"a","input_schema":{}}]}`, "", "format_mixed "},
		// What SDKs print of their own objects.
		{`[{"name":"a","description":"d","schema":{"type":"object"}},{"name":"b","description":"d","args_schema":{}}]`, "langchain a b", ""},
		{`[{"name":"a","schema":{}},{"name":"b","schema":{}}]`, "langchain a b", ""},
		{`[{"name":"a","schema":{}},{"name":"b","schema":{},"command":["x"]}]`, "agentcli a b", ""},
		{`[{"name":"a","schema":{}},{"name":"b","inputSchema":{}}]`, "", "format_mixed "},
		{`[{"lc":1,"type":"not_implemented","id":["langchain","tools","DynamicTool"]}]`, "", "format_unknown "},
		{`[{"_tool":{"name":"a","toolSpec":{"name":"a","description":"d","inputSchema":{"type":"object"}}},"_input":{"def":{"type":"object"}}},` +
			`{"name":"b","description":"d","toolSpec":{"name":"b","description":"d","inputSchema":{"type":"object"}}}]`, "strands a b", ""},
		{`[{"one":{"name":"a","parameters":{}},"two":{"name":"b","parameters":{}}},{"name":"c","parameters":{}}]`, "openai_responses c", "name_missing /0/name"},
		{`{"tools":[{"name":"b","inputSchema":7},{"name":"a","inputSchema":{}},{"description":"d","inputSchema":{}}]}`, "mcp b a", "name_missing /2/name"},
	} {
		tools, f, err := schema.Import([]byte(test.doc), "")
		got := string(f)
		for _, tool := range tools {
			got += " " + tool.Name
		}
		if got != test.want || found(t, err) != test.problems {
			t.Errorf("%s: %s, %s; want %s, %s", test.doc, got, found(t, err), test.want, test.problems)
		}
	}
}

// Lists come in requests, by name, and as lists of declarations.
func TestImportFindsLists(t *testing.T) {
	for _, doc := range []string{
		`{"model":"m","functions":[{"name":"a","description":"d","parameters":{"type":"object"}},{"name":"b","parameters":{}}]}`,
		`{"functionDeclarations":[{"name":"a","description":"d","parameters":{"type":"object"}},{"name":"b","parameters":{}}]}`,
		`{"contents":[],"tools":[{"function_declarations":[{"name":"a","description":"d","parameters":{"type":"object"}}]},{"functionDeclarations":[{"name":"b"}]}]}`,
		`{"tool_config":{"tools":[{"toolSpec":{"name":"a","description":"d","inputSchema":{"json":{"type":"object"}}}},{"toolSpec":{"name":"b"}}]}}`,
		`{"a":{"description":"d","parameters":{"type":"object"}},"b":{"description":""}}`,
		`{"tools":{"a":{"description":"d","inputSchema":{"type":"object"}},"b":{"inputSchema":{}}},"model":"m"}`,
		`{"one":{"type":"function","function":{"name":"a","description":"d","parameters":{"type":"object"}}},"two":{"function":{"name":"b"}}}`,
		`{"x":{"name":"a","description":"d","input_schema":{"type":"object"}},"b":{"input_schema":{}}}`,
	} {
		tools, _, err := schema.Import([]byte(doc), "")
		if err != nil || len(tools) != 2 || tools[0].Name != "a" || tools[0].Description != "d" || tools[1].Name != "b" ||
			string(tools[0].InputSchema) != `{"type":"object"}` {
			t.Errorf("%s: %+v, %v", doc, tools, err)
		}
	}
	for _, doc := range []string{`{}`, `{"type":"object","properties":{"parameters":{}}}`, `{"properties":{"a":{"type":"string"}}}`,
		`{"name":"a","input_schema":{}}`, `{"a":{"description":"d"}}`, `{"mcpServers":{"x":{"command":"y"}},"n":1}`, `"tools"`} {
		if tools, _, err := schema.Import([]byte(doc), ""); len(tools) > 0 || found(t, err) != "not_list " {
			t.Errorf("%s: %+v, %v", doc, tools, err)
		}
	}
}

// The problem of an entry that is not strict JSON names its tool.
func TestImportNamesTheTool(t *testing.T) {
	for _, doc := range []string{
		"[{\"name\":\"bad\",\"description\":\"\xff\",\"parameters\":{}},{\"name\":\"a\",\"parameters\":{}}]",
		`[{"type":"function","function":{"name":"bad","parameters":{"x":1,"x":2}}},{"type":"function","function":{"name":"a"}}]`,
		`[{"toolSpec":{"description":"\ud83d","name":"bad"}},{"toolSpec":{"name":"a","description":"d","inputSchema":{}}}]`,
	} {
		tools, _, err := schema.Import([]byte(doc), "")
		if e, ok := errors.AsType[*toolwire.Error](err); !ok || len(tools) != 1 || len(e.Problems) != 1 || e.Problems[0].Tool != "bad" {
			t.Errorf("%q: %+v, %v", doc, tools, err)
		}
	}
}

// A text that was never meant as JSON is told from JSON with a fault.
func TestImportOfAnotherLanguage(t *testing.T) {
	const advice = "convert a document in another form, such as YAML, TOML or JavaScript"
	for doc, foreign := range map[string]bool{
		"[[tools]]\nname = \"a\"\n": true, "[tools.search]\n": true, "title = \"a\"\n": true, "tools:\n  - name: \"a\"\n": true, "- name: a\n": true, "---\n[]": true,
		"export const tools = []": true, "[{name: \"a\"}]": true, "{'name': 'a'}": true, "<tools/>": true, "# \"a\"\n[]": true, "\xff\xfe[\x00]\x00": true,
		"": false, "[": false, `[{"name":"a",}]`: false, `[{"name":"a"} {"name":"b"}]`: false, `[{"name":"a`: false, "{}{}": false, strings.Repeat("[", 300): false,
	} {
		if _, _, err := schema.Import([]byte(doc), ""); err == nil || strings.Contains(err.Error(), advice) != foreign {
			t.Errorf("%q: %v", doc, err)
		}
	}
}

func TestImportReadsTypesOfGemini(t *testing.T) {
	for _, root := range []string{`"type":"OBJECT",`, `"type":"object",`, `"type":"Object",`, ""} {
		doc := `{` + root + `"properties":{"type":{"type":"STRING","enum":["STRING"],"default":"STRING","x-type":{"type":"STRING"}},` +
			`"list":{"type":"ARRAY","items":{"type":"INTEGER"}},"pair":{"prefixItems":[{"type":"NUMBER"}]},"either":{"anyOf":[{"type":"NUMBER"},` +
			`{"oneOf":[{"type":["BOOLEAN","NULL"]}]}]},"ref":{"$ref":"#/$defs/STRING"},"map":{"additionalProperties":{"allOf":[{"type":"String"}]}}},` +
			`"$defs":{"STRING":{"type":"STRING"}},"required":["type"]}`
		want := strings.NewReplacer(`"type":"STRING"`, `"type":"string"`, `"ARRAY"`, `"array"`, `"INTEGER"`, `"integer"`, `"NUMBER"`, `"number"`,
			`"BOOLEAN","NULL"`, `"boolean","null"`, `"String"`, `"string"`, `"OBJECT"`, `"object"`, `"Object"`, `"object"`,
			`"x-type":{"type":"STRING"}`, `"x-type":{"type":"STRING"}`).Replace(doc)
		list := `[{"name":"a","description":"d","parameters":` + doc + `}]`
		data := []byte(list)
		tools, _, err := schema.Import(data, "")
		if err != nil || string(tools[0].InputSchema) != want || string(data) != list {
			t.Errorf("%+v, %v, want\n%s", tools, err, want)
		}
		if _, err := schema.Validate(t.Context(), tools, nil); err != nil {
			t.Error(err)
		}
	}
	const other = `{"type":"TYPE_UNSPECIFIED","const":{"type":"STRING"},"properties":{"a":{"type":"DICT"},"b":{"type":["any","\u0053tring","İnteger"]}}}`
	if tools, _, err := schema.Import([]byte(`[{"name":"a","parameters":`+other+`}]`), ""); err != nil || string(tools[0].InputSchema) != other {
		t.Errorf("%+v, %v", tools, err)
	}
}

// The advice for a list of another SDK names the format.
func TestAdviceNamesTheFormat(t *testing.T) {
	for entry, format := range map[string]string{
		`{"type":"function","function":{"name":"a"}}`: "openai_chat", `{"name":"a","inputSchema":{}}`: "mcp",
		`{"name":"a","parameters":{}}`: "openai_responses", `{"toolSpec":{}}`: "strands", `{"name":"a","args_schema":{}}`: "langchain",
	} {
		tools, _, err := schema.Import([]byte(`{"tools_schema":[`+entry+`]}`), "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := schema.Validate(t.Context(), tools, nil); err == nil || !strings.Contains(err.Error(), "and the format "+format) {
			t.Errorf("%s: %v", entry, err)
		}
	}
}

func TestRecognize(t *testing.T) {
	for _, test := range []struct {
		doc  string
		want string
	}{
		{`[]`, "platform"},
		{`[{"name":"a","input_schema":{}}]`, "platform"},
		{`[{"name":"a","input_schema":{}},{"name":"b","input_schema":{},"cache_control":{}}]`, "anthropic"},
		{`[{"name":"a","input_schema":{},"output_schema":{}},{"name":"b","input_schema":{}}]`, "platform"},
		{`[{"name":"a","parameters":{}}]`, "openai_responses"},
		{`[{"name":"a","parameters":{}},{"name":"b","parameters":{},"handler":"x.y"}]`, "bedrock"},
		{`[{"name":"a","parameters":{}},{"name":"b","args_schema":{}}]`, "langchain"},
		{`{"model":"m","messages":[],"tools":[{"type":"function","function":{"name":"a"}}]}`, "openai_chat"},
		{`{"tools":[{"name":"a","inputSchema":{"json":{}}}],"toolChoice":{}}`, "strands"},
		{`{"tools":[{"name":"a","inputSchema":{"type":"object","json":1}}]}`, "mcp"},
		{`{"tools":[{"name":"a","command":["x"]}]}`, "agentcli"},
		{`[{"name":"a"}]`, "format_unknown "},
		{`[1]`, "format_unknown "},
		{`[{"name":"a","inputSchema":{}},{"name":"b","args_schema":{}}]`, "format_mixed "},
		{`[{"name":"a","input_schema":{}},{"name":"b","parameters":{}}]`, "format_mixed "},
		{`[{"name":"a","input_schema":{}},{"name":"b","inputSchema":{}}]`, "format_mixed "},
	} {
		_, f, err := schema.Import([]byte(test.doc), "")
		if got := fmt.Sprint(f) + found(t, err); got != test.want {
			t.Errorf("%s: %q, want %q", test.doc, got, test.want)
		}
	}
}
