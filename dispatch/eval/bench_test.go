package eval_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/dispatch/eval"
	"github.com/toolwire/toolwire/proxy/proxytest"
	"github.com/toolwire/toolwire/schema"
)

// aThousandRows is a dataset with worlds of its own in every row, or with one world for all.
func aThousandRows(own bool) []byte {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	_ = w.Write([]string{"user", "state", "failure_rules", "expected_outcome"})
	for i := range 1000 {
		id := 4521
		if own {
			id = i
		}
		orders := make([]string, 20)
		for n := range orders {
			orders[n] = fmt.Sprintf(`"%d":{"status":"shipped","amount":%d}`, id+n*1000, n)
		}
		_ = w.Write([]string{fmt.Sprintf("call get_order %d", i), `{"order":{` + strings.Join(orders, ",") + `}}`, `[{"tool":"get_order","nth":2,"status":503}]`, "refusal"})
	}
	w.Flush()
	return b.Bytes()
}

func benchmarkWorld(b *testing.B) proxytest.World {
	get, err := schema.Define[struct {
		OrderID string `json:"order_id"`
	}, any]("get_order", "Look up an order.", nil)
	if err != nil {
		b.Fatal(err)
	}
	return proxytest.World{Tools: []schema.Tool{get}, Behaviors: map[string]proxytest.Behavior{"get_order": proxytest.Get("order", "order_id", nil)}}
}

// BenchmarkRead reads a dataset of 1,000 rows of 1 KiB. The floor is encoding/csv and encoding/json
// alone.
func BenchmarkRead(b *testing.B) {
	data := aThousandRows(true)
	b.Run("toolwire", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			if _, err := eval.Read(bytes.NewReader(data)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("floor", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			r := csv.NewReader(bytes.NewReader(data))
			for {
				record, err := r.Read()
				if err == io.EOF {
					break
				}
				if err != nil {
					b.Fatal(err)
				}
				var state map[string]map[string]map[string]any
				var rules []map[string]any
				if record[0] != "user" && (json.Unmarshal([]byte(record[1]), &state) != nil || json.Unmarshal([]byte(record[2]), &rules) != nil) {
					b.Fatal(record)
				}
			}
		}
	})
}

// BenchmarkRun runs 1,000 rows, from the dataset to the verdicts, with one world and with one per row.
func BenchmarkRun(b *testing.B) {
	for _, world := range []struct {
		name string
		own  bool
	}{{"one_world", false}, {"own_worlds", true}} {
		b.Run(world.name+"/toolwire", func(b *testing.B) {
			rows, err := eval.Read(bytes.NewReader(aThousandRows(world.own)))
			if err != nil {
				b.Fatal(err)
			}
			base := dispatchtest.Task{World: benchmarkWorld(b)}
			b.ReportAllocs()
			for b.Loop() {
				cases, err := rows.Cases(base, nil)
				if err != nil {
					b.Fatal(err)
				}
				set, err := eval.Run(b.Context(), dispatchtest.Target{Agent: obedient}, cases, nil)
				if err != nil || !set.OK() {
					b.Fatal(err, verdicts(set))
				}
			}
		})
	}
}
