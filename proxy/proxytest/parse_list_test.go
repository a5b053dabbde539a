package proxytest_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/proxy/proxytest"
)

// A list of a world file has an order and a limit, since the file has no code.
func TestOrderAndLimitOfLists(t *testing.T) {
	world := func(list string) []byte {
		return []byte(`{"initial_state":{"order":{
			"a":{"total":10,"name":"x","id":5},"b":{"total":9.5,"name":"y","id":4},"c":{"name":"w","id":3},
			"d":{"total":1e2,"name":"z","id":2},"e":{"total":"n","name":"v","id":1}
		}},"behaviors":{"list":{"list":"order","fields":["name"],` + list + `}}}`)
	}
	for list, want := range map[string]string{
		`"wrap":""`:                      "x y w z v",
		`"order_by":"total"`:             "y x z v w",
		`"order_by":"-total"`:            "v z x y w",
		`"order_by":"name"`:              "v w x y z",
		`"limit":2`:                      "x y",
		`"order_by":"-total","limit":2`:  "v z",
		`"order_by":"total","limit":100`: "y x z v w",
	} {
		w, err := proxytest.ParseWorld(world(list))
		if err != nil {
			t.Fatal(list, err)
		}
		var got []struct{ Name string }
		if err := json.Unmarshal(call(t, proxytest.NewPlatform(t, w, nil).NewRun(), "list", `{}`).Response,
			&got); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, o := range got {
			names = append(names, o.Name)
		}
		if strings.Join(names, " ") != want {
			t.Errorf("%s: %q, want %s", list, names, want)
		}
	}
	for list, want := range map[string]string{
		`"limit":0`: "at least 1", `"limit":1.5`: "an integer", `"limit":"2"`: "an integer", `"order_by":1`: "a string",
		`"order_by":""`:  "name of a field",
		`"order_by":"-"`: "name of a field",
	} {
		if _, err := proxytest.ParseWorld(world(list)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", list, err)
		}
	}
}
