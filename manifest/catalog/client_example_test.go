package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http/httptest"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/manifest/catalog"
)

// exampleCatalog starts the server of a catalog.
func exampleCatalog() *httptest.Server {
	handler, err := catalog.NewHandler(catalog.NewMemoryStore(), &catalog.HandlerOptions{
		InsecureAccount: "6f9619ff-8b86-4011-b42d-00c04fc964ff",
	})
	if err != nil {
		log.Fatal(err)
	}
	return httptest.NewServer(handler)
}

func Example() {
	server := exampleCatalog() // in production https://aip.example.com
	defer server.Close()
	ctx := context.Background()

	client, err := catalog.NewClient(server.URL, "api-key", nil)
	if err != nil {
		log.Fatal(err)
	}
	tool, err := client.Create(ctx, catalog.Tool{Name: "basic-calculator", Framework: catalog.LangChain,
		Type: catalog.Custom})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(tool.Name, tool.Version)

	tool, err = client.Patch(ctx, tool.ID, catalog.Patch{Description: new("Adds and subtracts.")})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(tool.Name, "-", tool.Description)

	if err := client.Delete(ctx, tool.ID); err != nil {
		log.Fatal(err)
	}
	_, err = client.Get(ctx, tool.ID)
	fmt.Println(toolwire.CodeOf(err))
	// Output:
	// basic-calculator 1.0.0
	// basic-calculator - Adds and subtracts.
	// not_found
}

func ExampleClient_Upload() {
	server := exampleCatalog()
	defer server.Close()
	ctx := context.Background()
	client, err := catalog.NewClient(server.URL, "api-key", nil)
	if err != nil {
		log.Fatal(err)
	}

	source := []byte(`
from langchain_core.tools import BaseTool

class Greeter(BaseTool):
    name: str = "greeter"
    description: str = "Greets."

    def _run(self, who: str) -> str:
        return "Hello, " + who
`)
	tool, err := client.Upload(ctx, catalog.Tool{Framework: catalog.LangChain}, "greeter.py", source)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(tool.Name, tool.Type, tool.PluginClassName)

	script, err := client.Script(ctx, tool.ID)
	fmt.Println(script == string(source), err)
	// Output:
	// greeter custom Greeter
	// true <nil>
}

// The client finds all problems of a record before it sends anything. Problems that a server
// reports have the same type.
func ExampleError_problems() {
	client, err := catalog.NewClient("https://aip.example.com", "api-key", nil)
	if err != nil {
		log.Fatal(err)
	}
	_, err = client.Create(context.Background(), catalog.Tool{Name: "basic-calculator", Framework: "crewai"})
	if e, ok := errors.AsType[*toolwire.Error](err); ok && e.Code == "invalid_tool" {
		for _, p := range e.Problems {
			fmt.Println(p)
		}
	}
	// Output:
	// /framework must be langchain, langgraph or google_adk [enum]
	// /tool_type is required: native or custom [missing]
}

func ExampleClient_Find() {
	server := exampleCatalog()
	defer server.Close()
	ctx := context.Background()
	client, err := catalog.NewClient(server.URL, "api-key", nil)
	if err != nil {
		log.Fatal(err)
	}
	clock := catalog.Tool{Name: "time_tool", Framework: catalog.LangChain, Type: catalog.Native}
	if _, err := client.Create(ctx, clock); err != nil {
		log.Fatal(err)
	}
	tool, err := client.Find(ctx, "Time_Tool")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(tool.Name)
	_, err = client.Find(ctx, "clock")
	fmt.Println(err)
	// Output:
	// time_tool
	// catalog: tool "clock": not_found: no tool has this name
}

func ExampleNewClient() {
	_, err := catalog.NewClient("http://aip.example.com/tools", "", nil)
	fmt.Println(err)
	// Output:
	// catalog: invalid_options: the client cannot be created: 3 problems:
	//   - /baseURL must begin with https://, to protect the API key [url]
	//   - /baseURL must not end in /tools; the client adds it [url]
	//   - /apiKey must be visible ASCII; check that its environment variable is set [header]
}

func ExampleCodeOf() {
	server := exampleCatalog()
	defer server.Close()
	ctx := context.Background()
	client, err := catalog.NewClient(server.URL, "api-key", nil)
	if err != nil {
		log.Fatal(err)
	}
	clock := catalog.Tool{Name: "clock", Framework: catalog.LangChain, Type: catalog.Native}
	for range 2 {
		_, err := client.Create(ctx, clock)
		if toolwire.CodeOf(err) == toolwire.CodeConflict {
			fmt.Println("the name is taken")
		}
	}
	// Output: the name is taken
}
