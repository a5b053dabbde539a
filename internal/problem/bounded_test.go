package problem_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/dispatch/cassette"
	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/eval"
	"github.com/toolwire/toolwire/dispatch/registration"
	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/manifest"
	"github.com/toolwire/toolwire/manifest/catalog"
	"github.com/toolwire/toolwire/manifest/toolbox"
	"github.com/toolwire/toolwire/manifest/webhook"
	"github.com/toolwire/toolwire/proxy/proxytest"
	"github.com/toolwire/toolwire/schema"
)

// repeated returns n pieces between open and end.
func repeated(open, piece, end string, n int) []byte {
	return []byte(open + strings.TrimSuffix(strings.Repeat(piece+",", n), ",") + end)
}

// numbered returns n pieces with their numbers between open and end.
func numbered(open, piece, end string, n int) []byte {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, piece+",", i)
	}
	return []byte(open + strings.TrimSuffix(b.String(), ",") + end)
}

// Every list of problems, in an error or alone, has at most 100 of them, and says how many it lacks.
func TestEveryListIsBounded(t *testing.T) {
	const n = 5000
	platform := func(doc []byte) []schema.Tool {
		tools, _, err := schema.Import(doc, schema.Platform)
		if err != nil {
			t.Fatal(err)
		}
		return tools
	}
	ledgerOf := func(doc []byte) *ledger.Schema {
		var s ledger.Schema
		if err := json.Unmarshal(doc, &s); err != nil {
			t.Fatal(err)
		}
		return &s
	}
	adapter := func(doc []byte) (a ledger.Adapter) {
		if err := json.Unmarshal(doc, &a); err != nil {
			t.Fatal(err)
		}
		return a
	}
	valid := platform(numbered("[", `{"name":"t%d","input_schema":{"type":"object"}}`, "]", n))
	for name, read := range map[string]func() (list any, err error){
		"schema.Import": func() (any, error) {
			_, _, err := schema.Import(repeated("[", `{"name":1,"inputSchema":{}}`, "]", n), schema.MCP)
			return nil, err
		},
		"schema.Validate": func() (any, error) {
			_, err := schema.Validate(t.Context(), platform(repeated("[", "{}", "]", n)), nil)
			return nil, err
		},
		"schema.Validate, unchecked": func() (any, error) {
			list, _ := schema.Validate(t.Context(), platform(repeated("[", `{"Name":"a"}`, "]", n)), nil)
			return list, nil
		},
		"schema.Validate, one tool": func() (any, error) {
			list, _ := schema.Validate(t.Context(), platform(repeated(`[{"ledger_adapter":{"flags":[`, "1", "]}}]", n)), nil)
			return list, nil
		},
		"schema.Lint": func() (any, error) { return schema.Lint(valid, nil), nil },
		"schema.Export": func() (any, error) {
			_, losses, err := schema.Export(withExtra(valid), schema.OpenAIChat)
			return losses, err
		},
		"ledger.Schema, entities": func() (any, error) { return nil, ledgerOf(repeated(`{"entities":[`, "1", "]}", 900)).Validate() },
		"ledger.Schema, values": func() (any, error) {
			return nil, ledgerOf(repeated(`{"entities":[],"flags":{"policy":"open","values":[`, "1", "]}}", n)).Validate()
		},
		"ledger.NewState": func() (any, error) {
			_, err := ledger.NewState(numbered("{", `"t%d":1`, "}", n), nil)
			return nil, err
		},
		"ledger.Adapter": func() (any, error) {
			a := adapter(numbered(`{"entity_type":"a","id_from":"$.id","field_map":{`, `"f%d":"$.["`, "}}", n))
			list, err := a.Validate(nil)
			return list, err
		},
		"ledger.Compile": func() (any, error) {
			a := adapter(repeated(`{"op":"set_flag","flags":[`, `"{"`, "]}", n))
			_, err := ledger.Compile(&a)
			return nil, err
		},
		"ledger.State.Apply": func() (any, error) {
			s, err := ledger.NewState(nil, ledgerOf([]byte(`{"field_policy":"closed","entities":[{"type":"a","id_field":"id"}]}`)))
			fields := map[string]json.RawMessage{}
			for i := range n {
				fields[fmt.Sprint("f", i)] = json.RawMessage("1")
			}
			return s.Apply(ledger.Update{Op: ledger.OpUpdate, EntityType: "a", ID: "1", Fields: fields})[0].Violations, err
		},
		"manifest.Parse": func() (any, error) {
			_, err := manifest.Parse(repeated(`{"tools":[`, "{}", "]}", n), nil)
			return nil, err
		},
		"manifest.Manifest.Lint": func() (any, error) {
			m, err := manifest.Parse(numbered("{", `"x%d":1`, "}", n), nil)
			return m.Lint(), err
		},
		"toolbox.Parse": func() (any, error) {
			_, err := toolbox.Parse(repeated(`{"tools":[`, "1", "]}", n), nil)
			return nil, err
		},
		"toolbox.Parse, names": func() (any, error) {
			_, err := toolbox.Parse(repeated(`{"adapters":[`, "{}", "]}", n), nil)
			return nil, err
		},
		"webhook.New": func() (any, error) {
			_, err := webhook.New(make([]webhook.Tool, n), &webhook.Options{Secrets: []string{"a-secret"}})
			return nil, err
		},
		"registration.Validate": func() (any, error) {
			r := registration.Registration{SubAgents: make([]registration.SubAgent, n)}
			_, err := r.Validate(t.Context(), nil)
			return nil, err
		},
		"registration.Validate, unchecked": func() (any, error) {
			r := registration.Registration{Tools: platform(repeated("[", `{"Name":"a"}`, "]", n))}
			list, _ := r.Validate(t.Context(), nil)
			return list, nil
		},
		"catalog.Declarations": func() (any, error) {
			_, list := catalog.Declarations(make([]catalog.ListItem, 500))
			return list, nil
		},
		"catalog.FromDeclarations": func() (any, error) {
			_, list := catalog.FromDeclarations(valid, catalog.Tool{})
			return list, nil
		},
		"proxytest.ParseWorld": func() (any, error) {
			_, err := proxytest.ParseWorld(numbered(`{"behaviors":{`, `"t%d":1`, "}}", n))
			return nil, err
		},
		"proxytest.ParseWorld, names": func() (any, error) {
			_, err := proxytest.ParseWorld(numbered("{", `"t%d":1`, "}", n))
			return nil, err
		},
		"proxytest.ParseRules": func() (any, error) {
			_, err := proxytest.ParseRules(repeated("[", "1", "]", n))
			return nil, err
		},
		"cassette.Load": func() (any, error) {
			path := filepath.Join(t.TempDir(), "tape")
			head := `{"cassette":1,"created":"2026-11-21T20:15:00Z"}` + "\n"
			if err := os.WriteFile(path, []byte(head+strings.Repeat("{}\n", n)), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := cassette.Load(path)
			return nil, err
		},
		"eval.Read": func() (any, error) {
			_, err := eval.Read(strings.NewReader("user,state\n" + strings.Repeat("a,{\n", n)))
			return nil, err
		},
		"dispatch.CheckResponse": func() (any, error) {
			return dispatch.CheckResponse(repeated(`{"final_response":"a","messages":[`, "1", "]}", n)).Problems, nil
		},
		"dispatch.Handler, repairs": func() (any, error) {
			messages := slices.Repeat([]dispatch.Message{{Role: "robot", Content: dispatch.Text("a")}}, n)
			result, err := dispatchtest.Dispatch(t.Context(), dispatchtest.Target{Agent: func(context.Context, *dispatch.Run) (*dispatch.Response, error) {
				return &dispatch.Response{FinalResponse: "a", Messages: messages}, nil
			}}, dispatchtest.Task{Instruction: "a"})
			return result.Problems, err
		},
		"dispatch.CheckResponse, metadata": func() (any, error) {
			return dispatch.CheckResponse(repeated(`{"final_response":"a","metadata":{`, `"model":1`, "}}", n)).Problems, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			list, err := read()
			found := reflect.ValueOf(list)
			said := fmt.Sprint(list)
			if list == nil {
				e := reflect.Indirect(reflect.ValueOf(err))
				if err == nil || e.Kind() != reflect.Struct {
					t.Fatalf("%v", err)
				}
				found, said = e.FieldByName("Problems"), err.Error()
			}
			if found.Len() > 101 || found.Len() < 1 || !strings.Contains(said, " more") {
				t.Errorf("%d problems: …%s", found.Len(), said[max(0, len(said)-200):])
			}
		})
	}
}

// withExtra adds a member that no format has to each tool.
func withExtra(tools []schema.Tool) []schema.Tool {
	list := make([]schema.Tool, len(tools))
	for i, tool := range tools {
		list[i] = tool
		list[i].LedgerWritePolicy = schema.PolicyNone
	}
	return list
}

// What decides beside a list is decided by what is found, not by what is listed.
func TestWhatIsNotListedStillCounts(t *testing.T) {
	var a ledger.Adapter
	doc := numbered(`{"entity_type":"unknown","id_from":"$.id","flags":["{"],"field_map":{`, `"f%d":"$.["`, "}}", 300)
	if err := json.Unmarshal(doc, &a); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Validate(&ledger.Schema{Entities: []ledger.Entity{}}); toolwire.CodeOf(err) != "invalid_adapter" {
		t.Errorf("an entity type that is not declared is accepted beside 300 paths: %v", err)
	}
	tools := numbered("[", `{"name":"t%d","handler":"a","parameters":{"type":"object"}}`, `,{"name":"last","handler":"a",`+
		`"parameters":{"type":"object","properties":{"a":{"type":"string","pattern":"(?!a)(?<=b)"},"b":{"type":"string","default":1}}}}]`, 300)
	handler := func(context.Context, json.RawMessage, toolbox.Agent, toolbox.Tool) (string, error) { return "", nil }
	_, err := toolbox.Parse(tools, &toolbox.Options{Handlers: map[string]toolbox.Handler{"a": handler}})
	if e, ok := errors.AsType[*toolbox.Error](err); !ok || len(e.Problems) != 2 {
		t.Errorf("a schema that cannot be checked, or whose default is wrong, is accepted after 300 warnings: %v", err)
	}
}
