package proxytest

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

func (s *draft) object(object map[string]any, depth int) any {
	properties, _ := object["properties"].(map[string]any)
	required := texts(object["required"])
	outer := s.scope
	defer func() { s.scope = outer }()
	s.about = s.about.in(s.request, properties)
	s.describes = false
	for _, name := range slices.AppendSeq(slices.Clone(required), maps.Keys(properties)) {
		s.describes = s.describes || s.about.of(name) != nil
	}
	result := map[string]any{}
	add := func(name string) {
		if _, there := result[name]; !there {
			result[name] = s.in(name, func() any { return s.member(name, s.schemaOf(object, name), depth) })
		}
	}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		// A result that goes well has no error.
		if slices.Contains(required, name) || depth <= plainDepth && name != "error" {
			add(name)
		}
	}
	for _, name := range required {
		add(name)
	}
	for before := -1; before < len(result); { // members that other members require
		before = len(result)
		for _, keyword := range []string{"dependentRequired", "dependencies"} { // the second is of draft 7
			dependents, _ := object[keyword].(map[string]any)
			for _, name := range slices.Sorted(maps.Keys(dependents)) {
				if _, there := result[name]; there {
					for _, other := range texts(dependents[name]) {
						add(other)
					}
				}
			}
		}
	}
	least := min(bound(object, "minProperties", 0), maxFill)
	for range 2 * maxFill {
		if len(result) >= least {
			break
		}
		if name, ok := s.newName(object, len(result)); ok {
			add(name)
		}
	}
	return result
}

// schemaOf returns the schema of a member: its schema in properties, joined with the schemas of
// patternProperties, or else additionalProperties.
func (s *draft) schemaOf(object map[string]any, name string) any {
	properties, _ := object["properties"].(map[string]any)
	patterns, _ := object["patternProperties"].(map[string]any)
	schema, declared := properties[name]
	for _, pattern := range slices.Sorted(maps.Keys(patterns)) {
		if s.matches(pattern, name) {
			schema, declared = s.both(schema, patterns[pattern]), true
		}
	}
	if !declared {
		return object["additionalProperties"]
	}
	return schema
}

// both returns a schema that matches what both match, as far as merging them does.
func (s *draft) both(a, b any) any {
	object, ok := a.(map[string]any)
	if !ok {
		return b
	}
	if other, ok := b.(map[string]any); ok {
		return merge(s.resolve(object), s.resolve(other))
	}
	return a
}

// newName makes a name for a member that the schema does not name. ok is false if there may not be such a
// member.
func (s *draft) newName(object map[string]any, n int) (name string, ok bool) {
	const maxName = 64
	rule, _ := object["propertyNames"].(map[string]any)
	pattern, hasRule := rule["pattern"].(string)
	patterns, _ := object["patternProperties"].(map[string]any)
	closed := object["additionalProperties"] == false
	if closed && len(patterns) == 0 {
		return "", false
	}
	if closed {
		names := slices.Sorted(maps.Keys(patterns))
		pattern = names[s.random.IntN(len(names))]
	}
	fits := func(name string) bool {
		return (!hasRule || s.matches(rule["pattern"].(string), name)) && (!closed || s.matches(pattern, name))
	}
	word := words[s.random.IntN(len(words))] + "_" + strconv.Itoa(n)
	if pattern == "" && rule != nil {
		return s.text(rule), true
	} else if pattern == "" {
		return word, true
	}
	name = s.match(pattern, 1, maxName)
	if longer := name + word; fits(longer) { // a pattern such as ^x_ has one short name only
		return longer, true
	}
	return name, fits(name)
}

func (s *draft) array(object map[string]any, depth int) any {
	if list, ok := s.entities(object, depth); ok {
		return list
	}
	outer := s.scope
	defer func() { s.scope = outer }()
	s.about = nil
	prefix, _ := object["prefixItems"].([]any)
	least, most := bound(object, "minItems", 0), bound(object, "maxItems", math.MaxInt32)
	n := max(least, min(most, 1+s.random.IntN(3)))
	if depth > plainDepth {
		n = least
	}
	n = min(n, maxFill)
	contained := 0 // how many of the last elements match contains
	if _, ok := object["contains"]; ok {
		contained = bound(object, "minContains", 1)
		n = max(n, min(len(prefix)+contained, most, maxFill))
	}
	if object["items"] == false {
		n = min(n, len(prefix))
	}
	list := []any{}
	for i := range n {
		item := object["items"]
		if i < len(prefix) {
			item = prefix[i]
		}
		if i >= n-contained {
			item = s.both(item, object["contains"])
		}
		var value any
		again := true // whether the list must not have the value and does
		for try := 0; again && try < maxTries; try++ {
			value = s.in(strconv.Itoa(i), func() any { return s.value(item, depth+1) })
			again = object["uniqueItems"] == true &&
				slices.ContainsFunc(list, func(other any) bool { return reflect.DeepEqual(value, other) })
		}
		if !again || len(list) < least { // otherwise there may be fewer
			list = append(list, value)
		}
	}
	return list
}

// maxTries is how often an element is made until it is unique.
const maxTries = 400

// entities makes an array of the ledger's entities of a type, if the elements describe one.
func (s *draft) entities(object map[string]any, depth int) (list []any, ok bool) {
	item, _ := object["items"].(map[string]any)
	item = s.resolve(item)
	if kind := s.typeOf(item, depth); kind != "object" && kind != "" {
		return nil, false
	}
	name := s.request.Tool
	if len(s.path) > 0 {
		name = s.path[len(s.path)-1]
	}
	properties, _ := item["properties"].(map[string]any)
	of := s.request.listed(name, properties)
	if of == nil {
		return nil, false
	}
	outer := s.scope
	defer func() { s.scope = outer }()
	s.taken++
	var about []*subject
	if s.about != nil {
		about = s.about.main
	} else if s.around != nil {
		about = s.around.main
	}
	found := s.request.list(of, about, s.around != nil)
	if len(found) == 0 {
		what := "the result"
		if len(s.path) > 0 {
			what = s.pointer()
		}
		s.notes = append(s.notes, fmt.Sprintf("the ledger has no %s that matches the arguments: %s is empty", of.Type, what))
	}
	list = []any{}
	for i, e := range found {
		list = append(list, s.in(strconv.Itoa(i), func() any {
			if s.about = s.request.describe([]*subject{e}); properties != nil {
				return s.value(item, depth+1)
			}
			s.take(e, of.Type)
			return s.request.present(of.Type, e.id, marshal(e.fields), nil)
		}))
	}
	return list, true
}

// number returns a number within the bounds, which default to 1 and 1000. Numbers that are not
// integers have two decimals.
func (s *draft) number(object map[string]any, integer bool) any {
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
	f := low
	if last >= first {
		f = (first + math.Floor(s.random.Float64()*(last-first+1))) * step
	}
	if integer {
		return json.Number(strconv.FormatFloat(math.Round(f), 'f', 0, 64))
	}
	short, _ := strconv.ParseFloat(strconv.FormatFloat(f, 'g', 12, 64), 64) // 12.340000000000002 is 12.34
	return json.Number(strconv.FormatFloat(short, 'f', -1, 64))
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
	// Some tools declare the bounds of the type.
	if span := high/step - low/step; math.IsInf(span, 0) || math.IsNaN(span) {
		low, high = max(low, -1e6), min(high, 1e6)
	}
	return low, math.Ceil(low / step), math.Floor(high / step)
}

var words = []string{"amber", "birch", "cedar", "delta", "ember", "flint", "grove", "heron", "indigo", "juniper",
	"kelp", "linden"}

func (s *draft) text(object map[string]any) string {
	least, most := bound(object, "minLength", 0), bound(object, "maxLength", math.MaxInt32)
	if pattern, ok := object["pattern"].(string); ok && s.regexp(pattern) != nil { // otherwise it is not checked
		return s.match(pattern, least, most)
	}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(s.random.IntN(365*24*60)) * time.Minute)
	word := words[s.random.IntN(len(words))]
	text := ""
	switch object["format"] {
	case "date-time":
		text = at.Format(time.RFC3339)
	case "date":
		text = at.Format(time.DateOnly)
	case "time":
		text = at.Format("15:04:05Z")
	case "duration":
		text = "PT" + strconv.Itoa(1+s.random.IntN(48)) + "H"
	case "email":
		text = word + "@example.com"
	case "hostname":
		text = word + ".example.com"
	case "uri", "url", "iri":
		text = "https://example.com/" + word
	case "ipv4":
		text = "192.0.2." + strconv.Itoa(1+s.random.IntN(254))
	case "ipv6":
		text = "2001:db8::" + strconv.FormatInt(int64(1+s.random.IntN(0xffff)), 16)
	case "uuid":
		text = s.match(`[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`, 0, most)
	default:
		text = word + "-" + strconv.Itoa(100+s.random.IntN(900))
	}
	if missing := min(least, maxText) - len(text); missing > 0 {
		text += strings.Repeat("x", missing)
	}
	return text[:min(len(text), most)]
}

// maxText is how many bytes a text has at most to reach minLength.
const maxText = 1 << 16
