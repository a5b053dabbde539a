package dispatch_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/dispatch"
	"github.com/toolwire/toolwire/internal/testkit"
	"github.com/toolwire/toolwire/schema"
)

// One value of each kind that a member of a response may have, right or wrong.
var anyKind = []string{`null`, `true`, `5`, `1.5`, `""`, `"x"`, `[]`, `[5]`, `["x"]`, `[{}]`, `[null]`, `[["x"]]`, `{}`, `{"a":1}`}

// responses is a corpus that varies each member of a response alone.
func responses() (bodies []string) {
	row := func(members string) string { return `{"final_response":"x","messages":[` + members + `]}` }
	toolCall := func(members string) string { return row(`{"role":"assistant","tool_calls":[{` + members + `}]}`) }
	for _, v := range append([]string{`"system"`, `"user"`, `"assistant"`, `"tool"`, `"Assistant"`}, anyKind...) {
		bodies = append(
			bodies, v, `{"final_response":`+v+`}`, `{"final_response":"x","metadata":`+v+`}`, `{"final_response":"x","messages":`+v+`}`,
			`{"final_response":"x","other":`+v+`}`, row(v), row(`{"role":`+v+`}`), row(`{"content":`+v+`}`),
			row(`{"role":"user","content":`+v+`}`), row(`{"role":"user","tool_call_id":`+v+`}`), row(`{"role":"user","tool_calls":`+v+`}`),
			row(`{"role":"assistant","tool_calls":`+v+`}`),
			row(`{"role":`+v+`,"tool_calls":[{"id":"1","name":"f"}]}`), row(`{"role":"assistant","thinking":`+v+`}`), row(`{"role":"user","name":`+v+`}`),
			toolCall(`"id":`+v+`,"name":"f"`), toolCall(`"id":"1","name":`+v), toolCall(`"name":`+v), toolCall(`"id":"1","name":"f","arguments":`+v),
			toolCall(`"id":"1","function":`+v), toolCall(`"id":"1","name":"f","function":`+v), toolCall(`"id":"1","type":`+v+`,"name":"f"`),
			toolCall(`"id":"1","function":{"name":`+v+`}`), toolCall(`"id":"1","function":{"name":"f","arguments":`+v+`}`),
			toolCall(`"id":"1","name":`+v+`,"function":{"name":"f"}`), toolCall(`"id":"1","arguments":`+v+`,"function":{"name":"f"}`),
			toolCall(`"id":"1","arguments":`+v+`,"function":{"name":"f","arguments":{}}`),
		)
		if !strings.HasPrefix(v, `"`) { // an id that no call has is not for a schema
			bodies = append(bodies, row(`{"role":"tool","tool_call_id":`+v+`}`))
		}
	}
	return append(bodies, `{}`, row(`{"role":"tool"}`), row(`{"role":"tool","tool_call_id":""}`))
}

// generated returns a response of random members. Its tool messages answer calls of its first row.
func generated(random *rand.Rand) string {
	pick := func(values ...string) string { return values[random.IntN(len(values))] }
	wild := func(values ...string) string { // mostly one of values
		if random.IntN(12) == 0 {
			return pick(anyKind...)
		}
		return pick(values...)
	}
	object := func(members map[string]string, most int) string {
		names := slices.Sorted(maps.Keys(members))
		random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		var b bytes.Buffer
		for i, name := range names[:min(len(names), len(names)-random.IntN(2), most)] {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, "%q:%s", name, members[name])
		}
		return "{" + b.String() + "}"
	}
	arguments := func() string { return wild(`{}`, `{"order_id":"4521"}`, `"{\"a\":1}"`, `""`) }
	call := func() string {
		return wild(
			object(map[string]string{"id": wild(`"c1"`, `"c2"`), "name": wild(`"f"`), "arguments": arguments()}, 3),
			object(map[string]string{"id": wild(`"c1"`), "type": `"function"`, "function": wild(
				object(map[string]string{"name": wild(`"f"`), "arguments": arguments()}, 2),
			)}, 3),
		)
	}
	row := func() string {
		return wild(
			object(map[string]string{"role": wild(`"user"`, `"system"`), "content": wild(`"x"`, `[{"type":"text","text":"x"}]`), "thinking": `[]`}, 3),
			object(map[string]string{"role": `"assistant"`, "content": wild(`null`, `"x"`), "tool_calls": wild(`[`+call()+`]`, `[`+call()+`,`+call()+`]`)}, 3),
			object(map[string]string{"role": `"tool"`, "tool_call_id": pick(`"c1"`, `"c2"`, `""`, `5`, `null`), "content": wild(`"x"`)}, 3),
		)
	}
	const first = `{"role":"assistant","tool_calls":[{"id":"c1","name":"f"},{"id":"c2","name":"f"}]}`
	return object(map[string]string{
		"final_response": wild(`"x"`, `"The refund has been issued."`),
		"messages":       wild(`[`+first+`]`, `[`+first+`,`+row()+`]`, `[`+first+`,`+row()+`,`+row()+`]`, `null`),
		"metadata":       wild(`{"model":"m"}`, `null`),
	}, 3)
}

// CheckResponse and the schema reject the same members of the same responses.
func TestResponseSchemaAgreesWithCheckResponse(t *testing.T) {
	validator, err := schema.Compile(dispatch.ResponseSchema(), nil)
	if err != nil {
		t.Fatal(err)
	}
	corpus := responses()
	random := rand.New(rand.NewPCG(1, 2))
	for range testkit.Size(4_000, 20_000) {
		corpus = append(corpus, generated(random))
	}
	accepted, rejected := 0, map[string]int{}
	for _, body := range corpus {
		code, published := map[string]bool{}, map[string]bool{}
		for _, p := range dispatch.CheckResponse([]byte(body)).Problems {
			code[member(p.Pointer)] = true
		}
		if err := validator.Validate([]byte(body)); err != nil {
			mismatch, ok := errors.AsType[*toolwire.Error](err)
			if !ok || mismatch.Code != toolwire.CodeMismatch || mismatch.More > 0 {
				t.Fatalf("%s: %v", body, err)
			}
			for _, p := range mismatch.Problems {
				pointer := p.Pointer
				if pointer == "" && body[0] == '{' {
					pointer = "/final_response" // is missing
				}
				published[member(pointer)] = true
			}
		}
		if !maps.Equal(code, published) {
			t.Errorf("%s\nCheckResponse rejects %v, the schema %v", body, code, published)
		}
		for name := range code {
			rejected[name]++
		}
		if len(code) == 0 {
			accepted++
		}
	}
	// Both verdicts are frequent for every member, so that neither side agrees by rejecting everything.
	for _, name := range []string{"final_response", "messages", "metadata"} {
		if rejected[name] < len(corpus)/100 {
			t.Errorf("only %d of %d responses are wrong at %s", rejected[name], len(corpus), name)
		}
	}
	if accepted < len(corpus)/4 {
		t.Errorf("only %d of %d responses are accepted", accepted, len(corpus))
	}
}

// member returns the member of the response that a pointer leads to.
func member(pointer string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(pointer, "/"), "/")
	return name
}

func TestResponseSchemaIsACopy(t *testing.T) {
	got := dispatch.ResponseSchema()
	clear(got)
	if !json.Valid(dispatch.ResponseSchema()) {
		t.Error("the caller changed the schema")
	}
}
