package schema_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/schema"
)

func TestLint(t *testing.T) {
	with := func(members string) string {
		return `[{"name":"t","description":"d","input_schema":{"type":"object","properties":{"a":{"type":"string","description":"d"}}}` + members + `}]`
	}
	input := func(s string) string { return `[{"name":"t","description":"d","input_schema":` + s + `}]` }
	output := func(s string) string { return with(`,"output_schema":` + s) }
	misspelt := func(places string) (lines string) {
		for place := range strings.FieldsSeq(places) {
			lines += "\nkeyword_misspelt /0/input_schema" + place + "/minlength"
		}
		return lines
	}
	pass := `,"default_execution_mode":"passthrough","passthrough_binding":{"endpoint_name":"e","tool_name":"t"}`
	adapter := `,"ledger_adapter":{"op":"set_flag","flags":["f"]}`
	for _, test := range []struct{ name, tools, want string }{
		{"nothing", with(``), ``},
		{"no description", `[{"name":"t","description":" ","input_schema":{"type":"object","additionalProperties":false}}]`, "no_description /0/description"},
		{"long description", `[{"name":"t","description":"` + strings.Repeat("d", 1025) + `","input_schema":{"type":"object","additionalProperties":false}}]`,
			"description_long /0/description"},
		{"the longest name", `[{"name":"` + strings.Repeat("t", 64) + `","description":"d","input_schema":{"type":"object","additionalProperties":false}}]`, ``},
		{"long name", `[{"name":"` + strings.Repeat("t", 65) + `","description":"d","input_schema":{"type":"object","additionalProperties":false}}]`,
			"name_long /0/name"},
		{"empty object", input(`{"type":"object"}`), "empty_object /0/input_schema"},
		{"as the advice says", input(`{"type":"object","properties":{},"additionalProperties":false}`), ``},
		{"wrong defaults", input(`{"type":"object","properties":{"a":{"description":"d","minimum":1,"default":0},"b":{"description":"d","default":null},
			"c":{"description":"d","type":"array","items":{"enum":["x"],"default":"y"},"default":["x"]},"d":{"description":"d","$ref":"#/$defs/d"}},
			"$defs":{"d":{"type":"string","default":1}}}`), "default_invalid /0/input_schema/$defs/d/default\n" +
			"default_invalid /0/input_schema/properties/a/default\ndefault_invalid /0/input_schema/properties/c/items/default"},
		{"no type", input(`{"additionalProperties":false}`), "no_type /0/input_schema"},
		{"alternatives at the root", input(`{"type":"object","anyOf":[{"required":["a"]}],"properties":{"a":{"description":"d"}}}`),
			"root_keyword /0/input_schema/anyOf"},
		{"list of types", input(`{"type":"object","properties":{"a":{"type":["string","null"],"description":"d"}}}`),
			"type_list /0/input_schema/properties/a/type"},
		{"required names nothing", input(`{"type":"object","properties":{"a":{"description":"d"}},"required":["a","b"]}`),
			"required_unknown /0/input_schema/required/1"},
		{"required in a nested object", input(`{"type":"object","properties":{"a":{"type":"array","description":"d","items":{"type":"object","required":["x"]}}}}`),
			"required_unknown /0/input_schema/properties/a/items/required/0"},
		{"required in an alternative", input(`{"type":"object","properties":{"a":{"description":"d"},"b":{"description":"d","anyOf":[{"required":["x"]}]}}}`), ``},
		{"misspelt keywords", input(`{"type":"object","requried":["a"],"properties":{"a":{"type":"string","description":"d","minlength":1,"max_length":2,
			"enums":["x"],"patern":"x"},"format":{"description":"d","example":1,"x-minLength":1,"nullables":1,"order":1}}}`),
			"keyword_misspelt /0/input_schema/requried\nkeyword_misspelt /0/input_schema/properties/a/minlength\n" +
				"keyword_misspelt /0/input_schema/properties/a/max_length\nkeyword_misspelt /0/input_schema/properties/a/enums\n" +
				"keyword_misspelt /0/input_schema/properties/a/patern"},
		{"contradictions", input(`{"type":"object","minProperties":2,"maxProperties":1,"properties":{"a":{"description":"d","type":"integer","minimum":2,"maximum":1.5},
			"b":{"description":"d","minLength":3,"maxLength":3,"type":"string","enum":["x",1,null]},"c":{"description":"d","exclusiveMinimum":1,"maximum":1.0},
			"d":{"description":"d","type":["integer","null"],"enum":[1,2.0,2.5,null],"const":"x"},"e":{"description":"d","minItems":1e2,"maxItems":99}}}`),
			"contradiction /0/input_schema/minProperties\ncontradiction /0/input_schema/properties/a/minimum\n" +
				"contradiction /0/input_schema/properties/b/enum/1\ncontradiction /0/input_schema/properties/b/enum/2\n" +
				"contradiction /0/input_schema/properties/c/exclusiveMinimum\ncontradiction /0/input_schema/properties/d/enum/2\n" +
				"contradiction /0/input_schema/properties/d/const\ntype_list /0/input_schema/properties/d/type\n" +
				"contradiction /0/input_schema/properties/e/minItems"},
		{"keywords of another type", input(`{"type":"object","minLength":1,"properties":{"a":{"description":"d","type":"array","minLength":1,"items":{"type":"string"}},
			"b":{"description":"d","type":"integer","maximum":1,"pattern":"x"},"c":{"description":"d","pattern":"x","minimum":1}}}`),
			"keyword_unused /0/input_schema/minLength\nkeyword_unused /0/input_schema/properties/a/minLength\n" +
				"keyword_unused /0/input_schema/properties/b/pattern"},
		{"everywhere a schema may be", input(`{"type":"object","additionalProperties":{"minlength":1},"properties":{"a":{"description":"d","$schema":"http://json-schema.org/draft-07/schema#","items":[{"minlength":1}],
			"additionalItems":{"minlength":1},"contains":{"minlength":1},"dependencies":{"x":{"minlength":1},"y":["z"]}},"b":{"description":"d","propertyNames":{"minlength":1},
			"unevaluatedProperties":{"minlength":1},"unevaluatedItems":{"minlength":1},"dependentSchemas":{"x":{"minlength":1}},"contentSchema":{"minlength":1},
			"prefixItems":[true,{"minlength":1}],"if":{"minlength":1},"oneOf":[{"minlength":1}],"const":{"minlength":1},"examples":[{"minlength":1}]}},"definitions":{"d/e":{"minlength":1}}}`),
			"schema_old_form /0/input_schema/properties/a/items" + misspelt(`/additionalProperties /properties/a/items/0 /properties/a/additionalItems /properties/a/contains
				/properties/a/dependencies/x /properties/b/propertyNames /properties/b/unevaluatedProperties /properties/b/unevaluatedItems /properties/b/dependentSchemas/x
				/properties/b/contentSchema /properties/b/prefixItems/1 /properties/b/if /properties/b/oneOf/0 /definitions/d~1e`)},
		{"an enum without a value", input(`{"type":"object","properties":{"a":{"description":"d","type":"string","enum":[]}}}`), "contradiction /0/input_schema/properties/a/enum"},
		{"undescribed property", input(`{"type":"object","properties":{"a/b":{"type":"string"}}}`),
			"property_undescribed /0/input_schema/properties/a~1b"},
		{"output", output(`{"type":"object","properties":{"ok":{"type":"boolean"}}}`), ``},
		{"output that cannot fail", output(`{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}`), "output_no_failure /0/output_schema"},
		{"output of a string", output(`{"type":"string"}`), "output_no_failure /0/output_schema"},
		{"output that can fail", output(`{"anyOf":[{"type":"string"},{"type":"object","required":["error"]}]}`), ``},
		{"output of another draft that cannot fail", output(`{"type":"object","properties":{"at":{"items":[{}]}},"required":["at"]}`),
			"schema_old_form /0/output_schema/properties/at/items\noutput_no_failure /0/output_schema"},
		{"output 24 levels deep", output(strings.Repeat(`{"not":`, 23) + `{}` + strings.Repeat(`}`, 23)), "output_no_failure /0/output_schema"},
		{"output 25 levels deep", output(strings.Repeat(`{"not":`, 24) + `{}` + strings.Repeat(`}`, 24)), "output_deep /0/output_schema"},
		{"binding in the sandbox", with(`,"passthrough_binding":{"endpoint_name":"e","tool_name":"t"}`), "binding_unused /0/passthrough_binding"},
		{"policy in the sandbox", with(`,"ledger_write_policy":"none"`), "policy_unused /0/ledger_write_policy"},
		{"adapter in the sandbox", with(adapter), "adapter_unused /0/ledger_adapter"},
		{"adapter without policy", with(pass + adapter), "adapter_unused /0/ledger_adapter"},
		{"adapter with policy", with(pass + adapter + `,"ledger_write_policy":"adapter"`), ``},
		{"secret", with(`,"auth":{"kind":"bearer_literal","token":"x"}`), "secret /0/auth"},
		{"names by case", `[{"name":"get","description":"d","input_schema":{"type":"object","additionalProperties":false}},
			{"name":"Get","description":"d","input_schema":{"type":"object","additionalProperties":false}}]`, "name_case /1/name"},
		{"what is not readable", `[{"name":"t","description":"d","input_schema":"x","output_schema":[1]}]`, ``},
	} {
		t.Run(test.name, func(t *testing.T) {
			var lines []string
			for _, w := range schema.Lint(parse(t, test.tools), nil) {
				lines = append(lines, fmt.Sprintf("%s %s", w.Code, w.Pointer))
				if strings.Contains(w.String(), "%!") || !strings.HasPrefix(w.String(), "tool \"") {
					t.Errorf("warning reads %q", w)
				}
			}
			if got := strings.Join(lines, "\n"); got != test.want {
				t.Errorf("warnings:\n%s\nwant:\n%s", got, test.want)
			}
		})
	}
}
