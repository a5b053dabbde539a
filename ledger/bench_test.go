package ledger_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/internal/testkit"
	"github.com/toolwire/toolwire/ledger"
)

// orderResponse returns a response of a get_order tool of about size bytes. The members that the
// adapter reads are first, in the middle and last, so the whole text must be read.
func orderResponse(size int) []byte {
	line := func(i int) string {
		return fmt.Sprintf(`{"sku":"SKU-%05d","title":"A thing, \"boxed\"","qty":%d,`+
			`"price":{"amount":%d.25,"currency":"EUR"},"tags":["new","blue"]}`, i, i%7, i)
	}
	var b strings.Builder
	b.WriteString(`{"order_id":"4521","customer":{"name":"Ada","email":"ada@example.com"},"lines":[`)
	for i := 0; b.Len() < size/2; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(line(i))
	}
	b.WriteString(`],"status":"paid","history":[`)
	for i := 0; b.Len() < size-150; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(line(i))
	}
	b.WriteString(`],"amount":42.50}`)
	return []byte(b.String())
}

// BenchmarkEval evaluates the documented get_order adapter for responses of several sizes. The floors
// decode the response into a map, or into a struct of the three members, decode the argument, and
// make the two updates without checks.
func BenchmarkEval(b *testing.B) {
	rule, err := ledger.Compile(mustAdapter(b, getOrder))
	if err != nil {
		b.Fatal(err)
	}
	args := json.RawMessage(`{"order_id":"4521"}`)
	type fields struct {
		OrderID string          `json:"order_id"`
		Status  json.RawMessage `json:"status"`
		Amount  json.RawMessage `json:"amount"`
	}
	type arguments struct {
		OrderID string `json:"order_id"`
	}
	updates := func(id string, status, total json.RawMessage, argument string) []ledger.Update {
		return []ledger.Update{
			{Op: ledger.OpUpdate, EntityType: "order", ID: id,
				Fields: map[string]json.RawMessage{"status": status, "total": total}},
			{Op: ledger.OpSetFlag, Flag: "fetched_order:" + argument},
		}
	}
	for _, size := range testkit.Sizes {
		response := orderResponse(size.Bytes)
		b.Run(size.Name+"/toolwire", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if len(rule.Eval(args, response).Updates) != 2 {
					b.Fatal("no updates")
				}
			}
		})
		b.Run(size.Name+"/floor-map", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var doc map[string]any
				var a arguments
				if json.Unmarshal(response, &doc) != nil || json.Unmarshal(args, &a) != nil {
					b.Fatal("not decoded")
				}
				status, _ := json.Marshal(doc["status"])
				total, _ := json.Marshal(doc["amount"])
				if len(updates(doc["order_id"].(string), status, total, a.OrderID)) != 2 {
					b.Fatal("no updates")
				}
			}
		})
		b.Run(size.Name+"/floor-struct", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var doc fields
				var a arguments
				if json.Unmarshal(response, &doc) != nil || json.Unmarshal(args, &a) != nil {
					b.Fatal("not decoded")
				}
				if len(updates(doc.OrderID, doc.Status, doc.Amount, a.OrderID)) != 2 {
					b.Fatal("no updates")
				}
			}
		})
	}
}

// hostileResponses are responses of about 1 MiB, each the worst case of some part of the
// evaluation.
func hostileResponses() map[string][]byte {
	fill := func(unit string) []byte {
		units := strings.Repeat(unit+",", (1<<20-100)/(len(unit)+1))
		return []byte(`{"order_id":"1","x":[` + strings.TrimSuffix(units, ",") + `]}`)
	}
	return map[string][]byte{
		"wide":     fill(`{"id":1}`),
		"deep":     fill(strings.Repeat(`{"id":`, 60) + "1" + strings.Repeat("}", 60)),
		"brackets": fill(strings.Repeat(`[`, 60) + strings.Repeat("]", 60)),
		"numbers":  fill(`1234`),
		"escapes":  fill(`{"\u0069d":"\\\""}`),
		"unsorted": fill(`{"z":{"id":1},"y":{"id":2},"x":{"id":3}}`),
		"string":   fill(`"` + strings.Repeat(`\"`, 500_000) + `"`),
	}
}

var hostileNames = []string{"wide", "deep", "brackets", "numbers", "escapes", "unsorted", "string"}

// BenchmarkEvalHostile descends through the worst responses of 1 MiB. The floor decodes them.
func BenchmarkEvalHostile(b *testing.B) {
	rule, err := ledger.Compile(mustAdapter(b, order(`,"field_map":{"ids":"$..id"}`)))
	if err != nil {
		b.Fatal(err)
	}
	docs := hostileResponses()
	for _, name := range hostileNames {
		b.Run(name+"/toolwire", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				rule.Eval(nil, docs[name])
			}
		})
		b.Run(name+"/floor", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var v any
				if err := json.Unmarshal(docs[name], &v); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
