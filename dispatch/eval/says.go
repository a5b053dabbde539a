package eval

import (
	"cmp"
	"context"
	"encoding/json"
	"math/big"
	"regexp"
	"strings"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/text"
)

// readSays reads the column says: a text, or JSON.
func readSays(_ *Case, in *expectedCell) Grader {
	switch in.text[0] {
	case '[', '{':
		if in.json("") == 0 {
			return nil
		}
		return in.says(json.RawMessage(in.text), true)
	}
	return saysText(in.text)
}

// saysText accepts a run whose final response contains the text, in letters of either case.
func saysText(says string) Grader {
	return func(_ context.Context, _ Case, result *dispatchtest.Result) error {
		if strings.Contains(strings.ToLower(result.FinalResponse), strings.ToLower(says)) {
			return nil
		}
		return wrongResponse(result, says, "the final response does not say %q: %s", says, result.FinalResponse)
	}
}

// says reads what a final response must say: a text, a list of which it says all, or an object that names a
// grader. A list has no list in it.
func (in *expectedCell) says(value json.RawMessage, list bool) Grader {
	switch kind := rawjson.Kind(value); {
	case kind == '"':
		return saysText(in.said(value))
	case kind == '{':
		return in.saysAs(value)
	case kind == '[' && list:
		return All(in.saysEach(value)...)
	case kind == '0':
		in.wrong(bareNumber, text.Line(string(value), 40))
	default:
		in.wrong("%s is %s and not a text or an object", shown(string(value)), rawjson.KindName(kind))
	}
	return nil
}

// saysEach reads the elements of a list.
func (in *expectedCell) saysEach(value json.RawMessage) (graders []Grader) {
	for element := range rawjson.Elements(value) {
		graders = append(graders, in.says(element, false))
	}
	if len(graders) == 0 {
		in.wrong("the list is empty, so it expects nothing")
	}
	return graders
}

// said returns a text that is not blank, with the white space around it: "not" as a word is " not ".
func (in *expectedCell) said(value json.RawMessage) string {
	text := rawjson.Unquote(value)
	if strings.TrimSpace(text) == "" {
		in.wrong("%s is not a text that a response contains", shown(string(value)))
	}
	return text
}

// saysAs reads an object that names a grader.
func (in *expectedCell) saysAs(value json.RawMessage) Grader {
	var exactly, match, number, tolerance, schema, not json.RawMessage
	members := map[string]any{"exactly": &exactly, "match": &match, "number": &number, "tolerance": &tolerance, "json": &schema, "not": &not}
	before := in.problems.Len()
	for _, err := range rawjson.ReadFields(value, members) {
		in.wrong("%v", err)
	}
	n := 0
	for _, member := range []json.RawMessage{exactly, match, number, schema, not} {
		if member != nil {
			n++
		}
	}
	if n != 1 && in.problems.Len() == before {
		in.wrong("an object has one of exactly, match, number, json and not, and this one has %d: put several objects into a list", n)
	}
	switch {
	case in.problems.Len() > before:
		return nil
	case tolerance != nil && number == nil:
		in.wrong("tolerance belongs to number")
		return nil
	case exactly != nil:
		return SaysExactly(in.said(exactly))
	case match != nil:
		pattern, err := regexp.Compile(in.said(match))
		if err != nil {
			in.wrong("match: %v", err)
			return nil
		}
		return SaysMatch(pattern)
	case number != nil:
		center, most := in.number("number", number), in.number("tolerance", tolerance)
		if center == nil || most == nil {
			return nil
		}
		if most.Sign() < 0 {
			in.wrong("tolerance is less than 0")
		}
		return saysNumber(within(center, most), string(number), cmp.Or(string(tolerance), "0"))
	case schema != nil:
		grade, err := SaysJSON(schema)
		if err != nil {
			in.wrong("json: %v", err)
		}
		return grade
	}
	list := not
	if rawjson.Kind(not) != '[' {
		list = rawjson.Array([]json.RawMessage{not})
	}
	graders := in.saysEach(list)
	return func(ctx context.Context, c Case, result *dispatchtest.Result) error {
		i := 0
		for element := range rawjson.Elements(list) {
			if graders[i](ctx, c, result) == nil {
				return wrongResponse(result, "not "+string(element), "the final response is as it must not be, %s: %s", element, result.FinalResponse)
			}
			i++
		}
		return nil
	}
}

// number reads a number with all its digits; nil is 0.
func (in *expectedCell) number(member string, value json.RawMessage) *big.Rat {
	if value == nil {
		return new(big.Rat)
	}
	if rawjson.Kind(value) != '0' {
		in.wrong("%s is %s and not a number", member, rawjson.KindName(rawjson.Kind(value)))
		return nil
	}
	if err := rawjson.BoundNumbers(value, maxDigits, maxDigits); err != nil {
		in.wrong("%s: %v", member, err)
		return nil
	}
	n, _ := decimal(string(value))
	return n
}
