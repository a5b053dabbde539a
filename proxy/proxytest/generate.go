package proxytest

import (
	"encoding/json"
	"hash/fnv"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolwire/toolwire/internal/rawjson"
)

// generator makes results that fit an output_schema, as the platform's simulator would, without a
// model: the same for the same seed, tool and arguments. A member of the result that has the name
// of an argument takes its value, so that get_order answers with the order that was asked for. What
// it makes is validated like any result.
type generator struct {
	schema any // decoded, numbers as json.Number; nil if there is none
	seed   uint64
}

func newGenerator(schema json.RawMessage, seed uint64) *generator {
	return &generator{schema: decoded(schema), seed: seed}
}

// answer is the generator's [Behavior]. A tool without an output_schema answers {}.
func (g *generator) answer(r *Request) (any, error) {
	if g.schema == nil {
		return json.RawMessage(`{}`), nil
	}
	arguments := decoded(r.Arguments)
	h := fnv.New64a()
	h.Write([]byte(r.Tool))
	h.Write(marshal(arguments)) // in the order of the names
	s := &sample{root: g.schema, random: rand.New(rand.NewPCG(g.seed, h.Sum64()+uint64(r.Attempt)))}
	if r.Attempt < maxAttempts { // the last attempt does without the arguments, in case they are what did not fit
		s.echo, _ = arguments.(map[string]any)
	}
	s.first = r.Attempt < 2
	return s.value(g.schema, 0), nil
}

// sample is one result in the making.
type sample struct {
	root   any
	random *rand.Rand
	echo   map[string]any // the arguments
	first  bool           // of several alternatives take the first rather than any
	made   int            // values so far
}

// plainDepth is how deep a result gets before it leaves out everything that is optional; maxDepth
// ends recursive schemas. So does a result of too many values.
const (
	plainDepth = 6
	maxDepth   = 24
	maxValues  = 10_000
)

func (s *sample) value(schema any, depth int) any {
	object, ok := schema.(map[string]any)
	if s.made++; !ok || depth > maxDepth || s.made > maxValues {
		return map[string]any{} // true, or something recursive without end
	}
	object = s.resolve(object)
	if value, ok := object["const"]; ok {
		return value
	}
	for _, name := range []string{"enum", "examples"} {
		if list, ok := object[name].([]any); ok && len(list) > 0 {
			return list[s.random.IntN(len(list))]
		}
	}
	for _, name := range []string{"oneOf", "anyOf"} {
		if list, ok := object[name].([]any); ok && len(list) > 0 {
			return s.value(merge(without(object, name), s.choose(list, depth)), depth+1)
		}
	}
	switch s.typeOf(object, depth) {
	case "object":
		return s.object(object, depth)
	case "array":
		return s.array(object, depth)
	case "string":
		return s.text(object)
	case "integer":
		return s.number(object, true)
	case "number":
		return s.number(object, false)
	case "boolean":
		return s.random.IntN(2) == 0
	case "null":
		return nil
	}
	return map[string]any{}
}

// resolve follows references inside the schema and joins allOf.
func (s *sample) resolve(object map[string]any) map[string]any {
	for range maxDepth {
		ref, ok := object["$ref"].(string)
		if !ok {
			break
		}
		target, _ := s.find(ref).(map[string]any)
		object = merge(without(object, "$ref"), target)
	}
	if list, ok := object["allOf"].([]any); ok {
		object = without(object, "allOf")
		for _, part := range list {
			if part, ok := part.(map[string]any); ok {
				object = merge(object, s.resolve(part))
			}
		}
	}
	return object
}

// find returns what a reference such as #/$defs/order leads to; nil for any other.
func (s *sample) find(ref string) any {
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	at := s.root
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if token == "" {
			continue
		}
		token = rawjson.Name(token)
		switch here := at.(type) {
		case map[string]any:
			at = here[token]
		case []any:
			n, err := strconv.Atoi(token)
			if err != nil || n < 0 || n >= len(here) {
				return nil
			}
			at = here[n]
		default:
			return nil
		}
	}
	return at
}

// merge lays b over a: properties and required are joined, the rest of b wins.
func merge(a map[string]any, b any) map[string]any {
	over, ok := b.(map[string]any)
	if !ok {
		return a
	}
	joined := maps.Clone(a)
	for name, value := range over {
		switch old := joined[name].(type) {
		case map[string]any:
			if value, ok := value.(map[string]any); ok && name == "properties" {
				both := maps.Clone(old)
				maps.Copy(both, value)
				joined[name] = both
				continue
			}
		case []any:
			if value, ok := value.([]any); ok && name == "required" {
				joined[name] = append(slices.Clone(old), value...)
				continue
			}
		}
		joined[name] = value
	}
	return joined
}

func without(object map[string]any, name string) map[string]any {
	rest := maps.Clone(object)
	delete(rest, name)
	return rest
}

func (s *sample) choose(list []any, depth int) any {
	if depth > plainDepth { // a null ends a recursion
		for _, alternative := range list {
			if object, ok := alternative.(map[string]any); ok && object["type"] == "null" {
				return alternative
			}
		}
	}
	if s.first {
		return list[0]
	}
	return list[s.random.IntN(len(list))]
}

func (s *sample) typeOf(object map[string]any, depth int) string {
	switch t := object["type"].(type) {
	case string:
		return t
	case []any:
		if depth > plainDepth && slices.Contains(t, any("null")) {
			return "null"
		}
		for _, name := range t {
			if name, ok := name.(string); ok && name != "null" {
				return name
			}
		}
		return "null"
	}
	has := func(keyword string) bool { _, ok := object[keyword]; return ok }
	switch {
	case has("properties"), has("required"), has("additionalProperties"):
		return "object"
	case has("items"), has("prefixItems"), has("minItems"):
		return "array"
	case has("pattern"), has("format"), has("minLength"):
		return "string"
	case has("minimum"), has("maximum"), has("multipleOf"):
		return "number"
	}
	return ""
}

func (s *sample) object(object map[string]any, depth int) any {
	properties, _ := object["properties"].(map[string]any)
	required, _ := object["required"].([]any)
	result := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if depth > plainDepth && !slices.Contains(required, any(name)) {
			continue
		}
		if name == "error" && !slices.Contains(required, any(name)) {
			continue // a result that goes well has none
		}
		if value, ok := s.echo[name]; ok {
			result[name] = value
			continue
		}
		result[name] = s.value(properties[name], depth+1)
	}
	for _, name := range required {
		if name, ok := name.(string); ok && properties[name] == nil {
			result[name] = s.value(object["additionalProperties"], depth+1)
		}
	}
	s.fill(result, object, depth)
	return result
}

// fill adds members of any name up to minProperties, if there may be such members.
func (s *sample) fill(result, object map[string]any, depth int) {
	least := min(bound(object, "minProperties", 0), maxFill)
	for range 2 * maxFill {
		if len(result) >= least || object["additionalProperties"] == false {
			return
		}
		name := words[s.random.IntN(len(words))] + "_" + strconv.Itoa(len(result))
		if names, ok := object["propertyNames"].(map[string]any); ok {
			name = s.text(names)
		}
		if _, there := result[name]; !there {
			result[name] = s.value(object["additionalProperties"], depth+1)
		}
	}
}

// maxFill is how many members, or elements of an array, are made for a bound's sake.
const maxFill = 1000

func (s *sample) array(object map[string]any, depth int) any {
	prefix, _ := object["prefixItems"].([]any)
	least, most := bound(object, "minItems", 0), bound(object, "maxItems", math.MaxInt32)
	n := max(least, min(most, 1+s.random.IntN(3)))
	if depth > plainDepth {
		n = least
	}
	list := make([]any, 0, min(n, maxFill))
	for i := range min(n, maxFill) {
		item := object["items"]
		if i < len(prefix) {
			item = prefix[i]
		}
		if i >= len(prefix) && item == false {
			break
		}
		value := s.value(item, depth+1)
		for range maxUnique {
			if object["uniqueItems"] != true || !slices.ContainsFunc(list, func(v any) bool {
				return reflect.DeepEqual(v, value)
			}) {
				break
			}
			value = s.value(item, depth+1)
		}
		list = append(list, value)
	}
	return list
}

// maxUnique is how often an element is made anew that equals one before.
const maxUnique = 20

var words = []string{"amber", "birch", "cedar", "delta", "ember", "flint", "grove", "heron", "indigo", "juniper",
	"kelp", "linden"}

func (s *sample) text(object map[string]any) string {
	least, most := bound(object, "minLength", 0), bound(object, "maxLength", math.MaxInt32)
	if pattern, ok := object["pattern"].(string); ok {
		return s.match(pattern, least, most)
	}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(s.random.IntN(365*24*60)) * time.Minute)
	word := words[s.random.IntN(len(words))]
	switch object["format"] {
	case "date-time":
		return at.Format(time.RFC3339)
	case "date":
		return at.Format(time.DateOnly)
	case "time":
		return at.Format("15:04:05Z")
	case "duration":
		return "PT" + strconv.Itoa(1+s.random.IntN(48)) + "H"
	case "email":
		return s.fit(word, "@example.com", "a", "@b.co", least, most)
	case "hostname":
		return s.fit(word, ".example.com", "a", ".co", least, most)
	case "uri", "url", "iri":
		return s.fit("https://example.com/"+word, "", "https:/", "/a", least, most)
	case "ipv4":
		return "192.0.2." + strconv.Itoa(1+s.random.IntN(254))
	case "ipv6":
		return "2001:db8::" + strconv.FormatInt(int64(1+s.random.IntN(0xffff)), 16)
	case "uuid":
		return s.match(`[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`, 0, most)
	}
	text := word + "-" + strconv.Itoa(100+s.random.IntN(900))
	for len(text) < min(least, 1<<16) {
		text += "-" + words[s.random.IntN(len(words))]
	}
	return text[:min(len(text), most)]
}

// fit is head and tail, the short ones if those are too long, with as much more in the head as the
// text is too short.
func (s *sample) fit(head, tail, shortHead, shortTail string, least, most int) string {
	if len(head)+len(tail) > most {
		head, tail = shortHead, shortTail
	}
	if missing := min(least, most, 1<<16) - len(head) - len(tail); missing > 0 {
		head += strings.Repeat("x", missing)
	}
	return head + tail
}

func bound(object map[string]any, name string, otherwise int) int {
	number, ok := object[name].(json.Number)
	if !ok {
		return otherwise
	}
	f, err := number.Float64()
	if err != nil || f < 0 || f > math.MaxInt32 {
		return otherwise
	}
	return int(f)
}

// number picks one between the bounds, 1 to 1000 where there are none, with two decimals or none.
func (s *sample) number(object map[string]any, integer bool) any {
	step, fixed := 0.01, integer
	if integer {
		step = 1
	}
	if multiple, ok := limit(object, "multipleOf"); ok && multiple > 0 && (!integer || multiple == math.Trunc(multiple)) {
		step, fixed = multiple, true
	}
	low, first, last := steps(object, step)
	for range 12 { // a number between 0.001 and 0.002 needs more decimals
		if last >= first || fixed {
			break
		}
		step /= 10
		low, first, last = steps(object, step)
	}
	if last < first {
		return rounded(low, integer)
	}
	return rounded((first+math.Floor(s.random.Float64()*(last-first+1)))*step, integer)
}

// steps returns the lowest number that is allowed, and the first and last multiple of step within
// the bounds.
func steps(object map[string]any, step float64) (low, first, last float64) {
	low, hasLow := limit(object, "minimum")
	if above, ok := limit(object, "exclusiveMinimum"); ok && (!hasLow || above >= low) {
		low, hasLow = math.Floor(above/step)*step+step, true
	}
	high, hasHigh := limit(object, "maximum")
	if below, ok := limit(object, "exclusiveMaximum"); ok && (!hasHigh || below <= high) {
		high, hasHigh = math.Ceil(below/step)*step-step, true
	}
	switch {
	case !hasLow && !hasHigh:
		low, high = step, max(1000, step)
	case !hasLow:
		low = high - max(1000, step)
	case !hasHigh:
		high = low + max(1000, step)
	}
	// the bounds of the type, as some tools declare them
	if span := high/step - low/step; math.IsInf(span, 0) || math.IsNaN(span) {
		low, high = max(low, -1e6), min(high, 1e6)
	}
	return low, math.Ceil(low / step), math.Floor(high / step)
}

func limit(object map[string]any, name string) (float64, bool) {
	number, ok := object[name].(json.Number)
	if !ok {
		return 0, false
	}
	f, err := number.Float64()
	return f, err == nil
}

// rounded takes away what floating point adds: 12.340000000000002 is 12.34.
func rounded(f float64, integer bool) json.Number {
	if integer {
		return json.Number(big.NewFloat(math.Round(f)).Text('f', 0))
	}
	short, _ := strconv.ParseFloat(strconv.FormatFloat(f, 'g', 12, 64), 64)
	return json.Number(strconv.FormatFloat(short, 'f', -1, 64))
}
