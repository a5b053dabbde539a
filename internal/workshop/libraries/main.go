// The program shows what the libraries do that were named for this project: what paths of adapters
// select, by PaesslerAG/jsonpath, and what is inferred from a Go type, by invopop/jsonschema. Its test
// runs it with stubs in place of the libraries.
package main

import (
	"fmt"
	"time"

	"github.com/toolwire/toolwire/internal/jsonpath"
	"github.com/toolwire/toolwire/schema"
)

type order struct {
	ID    string            `json:"id" jsonschema:"pattern=^[0-9]+$,description=The order."`
	Lines []line            `json:"lines,omitempty" jsonschema:"minItems=1"`
	Notes map[string]string `json:"notes"`
	Due   *time.Time        `json:"due"`
}

type line struct {
	SKU   string  `json:"sku"`
	Count uint    `json:"count"`
	Price float64 `json:"price" jsonschema:"exclusiveMinimum=0"`
}

func main() {
	const document = `{"id":"4521","lines":[{"sku":"A","count":1},{"sku":"B","count":2.50}],"to":{"b":{"sku":"C"}},"x-y":null}`
	for _, text := range []string{
		"$", "$.id", "id", "$.x-y", "$['id']", "$.lines[0].sku", "$.lines[-1].sku", "$.lines[*].sku", "$.to.*", "$..sku", "$..*",
		"$.lines[0:1]", "$.lines[:-1]", "$.lines[::-1].count", "$['id','x-y']", "$.lines[1,0].sku", "$..[0]", "$.lines[?@.count > 1].sku",
	} {
		path, err := jsonpath.Compile(text)
		if err != nil {
			panic(err)
		}
		value, err := path.Find(jsonpath.NewDocument([]byte(document), 1000), 1000)
		fmt.Println("path", text, string(value), err)
	}
	inferred, err := schema.For[order](nil)
	fmt.Println("schema", string(inferred), err)
}
