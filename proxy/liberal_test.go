package proxy_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/proxy"
)

// TestResultsOfLiveTools calls tools whose results are JSON that careful writers avoid. The agent
// gets their bytes.
func TestResultsOfLiveTools(t *testing.T) {
	digits := strings.Repeat("1234567890", 10)
	for name, response := range map[string]string{
		"many small numbers":        "[" + strings.Repeat("1,", 1<<19-512) + "1]",
		"an integer of 100 digits":  `{"n":` + digits + `}`,
		"a long fraction":           `{"n":0.` + digits + `e-10}`,
		"half of a surrogate pair":  `{"text":"cut \ud83d","other":"\ude00"}`,
		"a repeated name":           `{"a":1,"b":{"c":1,"c":2},"a":3}`,
		"names that differ by case": `{"response":1,"Response":2,"ERROR":null}`,
	} {
		more := ""
		if name == "names that differ by case" {
			more = `"Tool_name":"y","Response":0,"new":1,"new":2,`
		}
		c, _ := scripted(t, answer(200, `{"tool_name":"x",`+more+`"response":`+response+`,"source":"passthrough"}`))
		got, err := c.Do(background, "x", nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if string(got.Response) != response || got.Failed() {
			t.Errorf("%s: got %.100s, failed %t", name, got.Response, got.Failed())
		}
		if name == "half of a surrogate pair" {
			c, _ := scripted(t, answer(200, `{"response":`+response+`,"source":"passthrough"}`))
			typed, err := proxy.Call[struct{ Text, Other string }](background, c, "x", nil)
			if err != nil || typed.Text != "cut \ufffd" || typed.Other != "\ufffd" {
				t.Errorf("%s: decoded %q, %v", name, typed, err)
			}
		}
	}
}

// The client does not act on the time and the rule of a result, so it returns the result without them.
func TestOddMetadataCostsNoResult(t *testing.T) {
	three := int64(3)
	for members, want := range map[string]proxy.Result{
		`"latency_ms":412.5,"matched_rule_index":3.0`:         {LatencyMS: 412.5, MatchedRule: &three},
		`"latency_ms":"412","matched_rule_index":"3"`:         {},
		`"latency_ms":1e400,"matched_rule_index":1e400`:       {},
		`"latency_ms":null,"matched_rule_index":null`:         {},
		`"latency_ms":{"total":1},"matched_rule_index":[2,3]`: {},
	} {
		c, _ := scripted(t, answer(200, `{`+members+`,"response":[1],"source":"odyssey"}`))
		got, err := c.Do(background, "x", nil)
		if err != nil {
			t.Errorf("%s: %v", members, err)
			continue
		}
		want.Response, want.Source, want.Tool, want.Attempts = json.RawMessage(`[1]`), proxy.SourceOdyssey, "x", 1
		if !reflect.DeepEqual(*got, want) {
			t.Errorf("%s: %+v", members, got)
		}
	}
}

func TestAmbiguousEnvelopesAreRefused(t *testing.T) {
	for _, body := range []string{
		`{"response":1,"response":2}`, `{"response":1,"r\u0065sponse":2}`,
		`{"response":1,"source":"error","source":"odyssey"}`,
	} {
		c, _ := scripted(t, answer(200, body))
		if _, err := c.Do(background, "x", nil); toolwire.CodeOf(err) != toolwire.CodeBadResponse ||
			!strings.Contains(err.Error(), "occurs twice") {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// TestAmbiguousArgumentsAreNotSent gives a model's arguments that name a member twice.
func TestAmbiguousArgumentsAreNotSent(t *testing.T) {
	for _, args := range []string{`{"order_id":"1","order_id":"2"}`, `{"a":[{"order_id":1,"order\u005fid":2}]}`} {
		c, s := scripted(t, answer(200, seedAnswer))
		_, err := c.Do(background, "get_order", json.RawMessage(args))
		e, ok := errors.AsType[*proxy.Error](err)
		if !ok || e.Code != toolwire.CodeInvalidArguments || e.Delivery != proxy.NotSent || len(s.requests()) != 0 {
			t.Fatalf("%s: %v, %d requests", args, err, len(s.requests()))
		}
		result := string(proxy.ToolResult(err))
		for _, part := range []string{"order_id", "twice", "name each member once"} {
			if !strings.Contains(result, part) {
				t.Errorf("the model is shown %s, want %q in it", result, part)
			}
		}
	}
}

// A model's arguments are sent byte for byte, even if a careful writer would avoid them.
func TestUnusualArgumentsAreSent(t *testing.T) {
	for _, args := range []string{
		`{"id":1,"ID":2,"Id":3}`, `{"n":` + strings.Repeat("1234567890", 10) + `}`, `{"x":1e400,"y":-0.0,"z":10.0}`,
		`{"":{"":[]}}`, "{\"text\":\"caf\\u00e9 \u2028 <&>\"}", `{"a":null}`, `{ "a" : [ 1 , 2 ] }`,
	} {
		c, s := scripted(t, answer(200, seedAnswer))
		if _, err := c.Do(background, "get_order", json.RawMessage(args)); err != nil ||
			s.requests()[0].body != args {
			t.Errorf("%s: sent %+v, %v", args, s.requests(), err)
		}
	}
}
