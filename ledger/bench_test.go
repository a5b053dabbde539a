package ledger_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/toolwire/toolwire/ledger"
)

// orderResponse is an answer of a get_order tool of about size bytes. The members that the adapter reads stand first,
// in the middle and last, so nothing can be left unread.
func orderResponse(size int) []byte {
	line := func(i int) string {
		return fmt.Sprintf(`{"sku":"SKU-%05d","title":"A thing, \"boxed\"","qty":%d,"price":{"amount":%d.25,"currency":"EUR"},"tags":["new","blue"]}`, i, i%7, i)
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

// BenchmarkEval puts the documented get_order adapter beside what an author would write by hand: decode the response
// with encoding/json, into a map or into a struct of the three members, decode the argument, and make the two updates
// without checking or explaining anything. The third floor uses the published form of encoding/json/v2.
func BenchmarkEval(b *testing.B) {
	rule, err := ledger.Compile(mustAdapter(b, getOrder), nil)
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
			{Op: ledger.OpUpdate, EntityType: "order", ID: id, Fields: map[string]json.RawMessage{"status": status, "total": total}},
			{Op: ledger.OpSetFlag, Flag: "fetched_order:" + argument},
		}
	}
	for _, size := range []int{1 << 10, 64 << 10, 1 << 20} {
		response := orderResponse(size)
		b.Run(fmt.Sprintf("%d/eval", size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if len(rule.Eval(args, response).Updates) != 2 {
					b.Fatal("no updates")
				}
			}
		})
		b.Run(fmt.Sprintf("%d/floor-map", size), func(b *testing.B) {
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
		b.Run(fmt.Sprintf("%d/floor-struct", size), func(b *testing.B) {
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
		b.Run(fmt.Sprintf("%d/floor-struct-v2", size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var doc fields
				var a arguments
				if jsonv2.Unmarshal(response, &doc) != nil || jsonv2.Unmarshal(args, &a) != nil {
					b.Fatal("not decoded")
				}
				if len(updates(doc.OrderID, doc.Status, doc.Amount, a.OrderID)) != 2 {
					b.Fatal("no updates")
				}
			}
		})
	}
}

// BenchmarkEvalHostile bounds the worst answers of 1 MiB against decoding them.
func BenchmarkEvalHostile(b *testing.B) {
	const size = 1 << 20
	fill := func(unit string) string {
		return strings.TrimSuffix(strings.Repeat(unit+",", size/(len(unit)+1)-10), ",")
	}
	docs := map[string]string{
		"wide":     `{"order_id":"1","x":[` + fill(`{"id":1}`) + `]}`,
		"deep":     `{"order_id":"1","x":[` + fill(strings.Repeat(`{"id":`, 60)+"1"+strings.Repeat("}", 60)) + `]}`,
		"brackets": `{"order_id":"1","x":[` + fill(strings.Repeat(`[`, 60)+strings.Repeat("]", 60)) + `]}`,
		"numbers":  `{"order_id":"1","x":[` + fill(`1234`) + `]}`,
		"escapes":  `{"order_id":"1","x":[` + fill(`{"\u0069d":"\\\""}`) + `]}`,
	}
	rule, err := ledger.Compile(mustAdapter(b, order(`,"field_map":{"ids":"$..id"}`)), nil)
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range []string{"wide", "deep", "brackets", "numbers", "escapes"} {
		doc := []byte(docs[name])
		b.Run(name+"/eval", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				rule.Eval(nil, doc)
			}
		})
		b.Run(name+"/decode", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var v any
				if err := json.Unmarshal(doc, &v); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
