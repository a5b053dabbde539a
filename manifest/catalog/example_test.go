package catalog_test

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/manifest/catalog"
	"github.com/toolwire/toolwire/schema"
)

func ExampleTool_Validate() {
	err := catalog.Tool{Name: "basic-calculator", Framework: "crewai"}.Validate()
	fmt.Println(err)
	// Output:
	// catalog: tool "basic-calculator": invalid_tool: the record is not valid: 2 problems:
	//   - /framework must be langchain, langgraph or google_adk [enum]
	//   - /tool_type is required: native or custom [missing]
}

func ExampleTool_UnmarshalJSON() {
	const record = `{"name":"time_tool","framework":"langchain","type":"native","tags":"clock, time"}`
	var tool catalog.Tool
	if err := json.Unmarshal([]byte(record), &tool); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s %s %q %v\n", tool.Name, tool.Type, tool.Tags, tool.Validate())
	// Output: time_tool native ["clock" "time"] <nil>
}

func ExamplePatch() {
	patch := catalog.Patch{Version: new("2.1.0"), Description: new("")} // "" clears
	if err := patch.Validate(); err != nil {
		log.Fatal(err)
	}
	written, err := json.Marshal(patch)
	fmt.Println(string(written), err)
	// Output: {"description":"","version":"2.1.0"} <nil>
}

func ExampleCheckPlugin() {
	source := `
from langchain_core.tools import BaseTool

class Weather(BaseTool):
    name: str = "weather"
    description: str = "Tells the weather of a city."
`
	plugin, err := catalog.CheckPlugin("weather.py", []byte(source), nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(plugin.ClassName, plugin.Name, plugin.Description)

	_, err = catalog.CheckPlugin("weather.py", []byte(source), &catalog.PluginOptions{ServerVersion: "v0.1.84"})
	fmt.Println(err)
	_, err = catalog.CheckPlugin("weather.py", []byte(source+"    tags = ['a', 'b'\n"), nil)
	fmt.Println(err)
	// Output:
	// Weather weather Tells the weather of a city.
	// catalog: invalid_plugin: invalid plugin file: /file has no entry point, which servers before v0.1.85 need: a function tool_plugin, or @tool_plugin on the class [entry_point]
	// catalog: invalid_plugin: invalid plugin file: /file is not Python: line 7: this '[' is not closed [syntax]
}

func ExampleNewHandler() {
	const key, account = "example-key", "6f9619ff-8b86-4011-b42d-00c04fc964ff"
	h, err := catalog.NewHandler(catalog.NewMemoryStore(), &catalog.HandlerOptions{
		Authenticate: func(_ *http.Request, presented string) (string, error) {
			if subtle.ConstantTimeCompare([]byte(presented), []byte(key)) == 0 {
				return "", &toolwire.Error{Code: toolwire.CodeUnauthorized}
			}
			return account, nil // a UUID
		},
		Register: func(_ context.Context, tool catalog.ListItem) error { return nil }, // make the tool runnable
	})
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/tools/", h)

	for range 2 {
		r := httptest.NewRequest("POST", "/tools/",
			strings.NewReader(`{"name":"basic-calculator","framework":"langchain","tool_type":"custom"}`))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-API-Key", key)
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		var answer struct{ Message string }
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
			log.Fatal(err)
		}
		fmt.Println(w.Code, answer.Message)
	}
	// Output:
	// 200 Tool created successfully
	// 409 Tool with name already exists
}

func ExampleDeclarations() {
	items := []catalog.ListItem{{Tool: catalog.Tool{Name: "weather", Framework: catalog.LangChain, Type: catalog.Custom},
		ScriptContent: "class …"}}
	tools, losses := catalog.Declarations(items)
	fmt.Println(tools[0].Name)
	for _, l := range losses {
		fmt.Println(l)
	}
	// Output:
	// weather
	// tool "weather": /0/input_schema is absent from records: the declaration accepts any object until it has a schema [left_out]
	// tool "weather": /0/script_content belongs to the catalog; left out [left_out]
}

func ExampleFromDeclarations() {
	tools := []schema.Tool{{Name: "weather", Description: "Returns the weather of a city.",
		InputSchema: json.RawMessage(`{"type":"object"}`)}}
	base := catalog.Tool{Framework: catalog.LangChain, Type: catalog.Custom}
	records, losses := catalog.FromDeclarations(tools, base)
	fmt.Println(records[0].Name, records[0].Framework, records[0].Validate())
	for _, l := range losses {
		fmt.Println(l.Code, l.Pointer)
	}
	// Output:
	// weather langchain <nil>
	// left_out /0/input_schema
}

func ExampleNewMemoryStore() {
	const account = "6f9619ff-8b86-4011-b42d-00c04fc964ff"
	store := catalog.NewMemoryStore()
	ctx := context.Background()
	err := store.Create(ctx, catalog.StoredTool{ListItem: catalog.ListItem{
		ID:   "0d3c24ab-6f1e-4a11-9c55-7d2a3b0f8e10",
		Tool: catalog.Tool{Name: "clock", Framework: catalog.LangChain, Type: catalog.Native, AccountID: account},
	}})
	if err != nil {
		log.Fatal(err)
	}
	list, err := store.List(ctx, account, catalog.Native)
	fmt.Println(len(list), list[0].Name, err)
	// Output: 1 clock <nil>
}
