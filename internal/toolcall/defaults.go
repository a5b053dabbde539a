package toolcall

import (
	"encoding/json"
	"slices"

	"github.com/toolwire/toolwire/internal/jsonschema"
	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/internal/rawjson"
)

// An object is what a schema says about the defaults of one object. The page Bedrock tools describes
// them: a model may leave out a property, and the tool then works with the default. The nil object has
// none.
type object struct {
	properties []*property // in the order of the schema
	byName     map[string]*property
}

// A property has a default, or its values have some.
type property struct {
	name  string
	value json.RawMessage // the default; nil if there is none
	inner *object
}

// objectOf returns the defaults in "properties" of a schema, which must be valid, and in the properties of
// these. It does not follow other keywords. A default of null is ignored, because it means the same as an
// absent property.
func objectOf(schema json.RawMessage) *object {
	o := &object{byName: map[string]*property{}}
	for name, inner := range rawjson.Members(rawjson.Member(schema, "properties")) {
		p := &property{name: name, inner: objectOf(inner)}
		if value := rawjson.Member(inner, "default"); !rawjson.IsNull(value) {
			p.value = value
		}
		if p.value != nil || p.inner != nil {
			o.properties = append(o.properties, p)
			o.byName[name] = p
		}
	}
	if len(o.properties) == 0 {
		return nil
	}
	return o
}

// mostTried is how many defaults are tried one by one if the arguments are not valid with all of them.
const mostTried = 100

// fill adds the defaults to arguments that match the schema, as [Arguments.Filled] says.
func (o *object) fill(arguments json.RawMessage, matches func(arguments []byte) error) json.RawMessage {
	all := filling{chosen: func(int) bool { return true }}
	filled, changed := all.object(o, arguments)
	if !changed || matches(filled) == nil {
		return filled
	}
	filled = arguments
	chosen := make([]bool, min(all.absent, mostTried))
	for i := range chosen {
		chosen[i] = true
		some := filling{chosen: func(n int) bool { return n < len(chosen) && chosen[n] }}
		tried, _ := some.object(o, arguments)
		if chosen[i] = matches(tried) == nil; chosen[i] {
			filled = tried
		}
	}
	return filled
}

// A filling adds those defaults that are chosen by their number among the absent ones.
type filling struct {
	chosen func(n int) bool
	absent int // defaults of absent properties that were met
}

func (f *filling) object(o *object, value json.RawMessage) (filled json.RawMessage, changed bool) {
	if o == nil || rawjson.Kind(value) != '{' {
		return value, false
	}
	var w rawjson.Object
	present := map[string]bool{}
	for name, v := range rawjson.Members(value) {
		if p := o.byName[name]; p != nil {
			inner, other := f.object(p.inner, v)
			v, present[name], changed = inner, true, changed || other
		}
		w.Put(name, v)
	}
	for _, p := range o.properties {
		if p.value == nil || present[p.name] {
			continue
		}
		if f.chosen(f.absent) {
			w.Put(p.name, p.value)
			changed = true
		}
		f.absent++
	}
	if !changed {
		return value, false
	}
	return w.Bytes(), true
}

// Refused returns the warnings of [schema.Lint] for which a package that runs functions refuses a tool:
// parts of its schema that would let wrong arguments through, and defaults that their own schemas
// reject.
func Refused[P problem.Common](warnings []P) []P {
	return slices.DeleteFunc(warnings, func(p P) bool {
		code := problem.Problem(p).Code
		return code != "default_invalid" && !jsonschema.LetsThrough(code)
	})
}
