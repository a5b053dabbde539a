package schema

import (
	"slices"
	"strings"

	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/ledger"
)

// recognize returns the format of a list. Entries that several formats share, such as one with
// name, description and parameters only, take the format of the others. A list of nothing else is
// Platform if it has input_schema, and OpenAIResponses if it has parameters.
func recognize(list toolList) (Format, error) {
	switch {
	case slices.Equal(list.names, []string{"tools_schema"}):
		return Platform, nil
	case member(list.holder, "jsonrpc") != nil:
		return MCP, nil
	case slices.Equal(list.names, []string{"results"}):
		return Bedrock, nil
	}
	var sure, likely []Format
	var builtIn Format // of a tool of the provider
	for _, entry := range list.entries {
		members := membersOf(entry)
		f, isSure := recognizeEntry(members)
		switch {
		case f == "":
			if isBuiltIn(members) && builtIn != Anthropic {
				builtIn = OpenAIResponses
				isCustom := rawjson.Unquote(member(members, "type")) == "custom" // Anthropic's have a schema
				if member(members, "name") != nil && !isCustom || member(members, "mcp_server_name") != nil {
					builtIn = Anthropic
				}
			}
		case isSure && !slices.Contains(sure, f):
			sure = append(sure, f)
		case !isSure && !slices.Contains(likely, f):
			likely = append(likely, f)
		}
	}
	switch {
	case len(sure) > 1 || len(sure) == 0 && len(likely) > 1:
		return "", oneProblem("format_mixed", "", "mixes the formats "+
			joinFormats(append(sure, likely...))+"; split the list")
	case len(sure) == 1:
		for _, f := range likely {
			if !sameSchemaMember(sure[0], f) {
				return "", oneProblem("format_mixed", "", "mixes the formats "+joinFormats(append(sure, f))+"; split the list")
			}
		}
		return sure[0], nil
	case len(likely) == 1 && likely[0] == Platform && builtIn != "":
		return Anthropic, nil // the platform has no tools without a schema
	case len(likely) == 1:
		return likely[0], nil
	case builtIn != "":
		return builtIn, nil
	case len(list.entries) == 0:
		return Platform, nil
	}
	return "", oneProblem("format_unknown", "", "has no entry with a schema under a known name: input_schema, "+
		strings.Join(schemaMembers, ", ")+"; let the SDK convert its tools before you print them, as "+
		"LangChain's convertToOpenAITool does")
}

// recognizeEntry returns the format of one entry. sure is true if no other format has such members.
func recognizeEntry(list []ledger.Member) (f Format, sure bool) {
	has := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return member(list, name) != nil })
	}
	switch {
	case has("function"):
		return OpenAIChat, true
	case has("toolSpec"):
		return Strands, true
	case has("inputSchema"):
		if inner := membersOf(member(list, "inputSchema")); len(inner) == 1 && inner[0].Name == "json" {
			return Strands, true
		}
		return MCP, true
	case has("args_schema"):
		return LangChain, true
	case has("input_schema"):
		if has(toolMembers[3:]...) {
			return Platform, true
		}
		if has("cache_control", "type", "input_examples", "defer_loading") {
			return Anthropic, true
		}
		return Platform, false
	case has("command"):
		return AgentCLI, true
	case has("schema"):
		return LangChain, false
	case has("handler", "url", "detail_url"):
		return Bedrock, true
	case has("params_json_schema", "parametersJsonSchema", "parameters_json_schema"), rawjson.Unquote(member(list, "type")) == "function":
		return OpenAIResponses, true
	case has("parameters"):
		return OpenAIResponses, false
	}
	return "", false
}

// isBuiltIn reports whether an entry without a schema is a tool that a provider has built in or that
// takes free text.
func isBuiltIn(list []ledger.Member) bool {
	kind := rawjson.Unquote(member(list, "type"))
	return kind != "" && kind != "function" && member(list, "lc") == nil // LangChain's mark of what it does not write
}

// sameSchemaMember reports whether an entry that is likely of one format can be of another.
func sameSchemaMember(sure, likely Format) bool {
	if sure == Platform {
		return likely == Platform
	}
	d, _ := dialectOf(sure)
	shared := map[Format]string{Platform: "input_schema", OpenAIResponses: "parameters", LangChain: "schema"}
	return d.wrapper == "" && slices.Contains(d.schema, shared[likely])
}

func joinFormats(formats []Format) string {
	names := make([]string, len(formats))
	for i, f := range formats {
		names[i] = string(f)
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}
