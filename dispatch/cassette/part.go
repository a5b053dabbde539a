package cassette

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/toolwire/toolwire/internal/rawjson"
)

// A part is a message of requests to models, or another long value of theirs. A request of a
// conversation repeats all messages before it, so each is on a line of its own, once, and a request
// names the last of its messages.
type part struct {
	Number int             `json:"part"`            // from 1, in the order of the lines
	After  int             `json:"after,omitempty"` // the part before it in its list; 0 if it is the first
	As     int             `json:"as,omitempty"`    // an earlier part with the same value
	Value  json.RawMessage `json:"value,omitempty"` // nil if As is set

	lost bool // its line was not read
}

// partBytes is the length from which a member of a request that is not a list of objects is a part.
const partBytes = 100

// maxRepeated is the most bytes of all values that parts of a tape repeat, so that reading it takes time in
// proportion to its length. A part that would repeat more has its value again.
const maxRepeated = maxTapeBytes

// asked is the body of a request to a model, taken apart. Its members are also on the tape.
type asked struct {
	rest   json.RawMessage              // an object of the members that are not parts
	values map[string]json.RawMessage   // by their names
	lists  map[string][]json.RawMessage // likewise, of objects: messages, tools
}

// refs names the parts of a request on a tape.
type refs struct {
	Values map[string]int `json:"values,omitempty"`
	Lists  map[string]int `json:"lists,omitempty"` // the last part of each list
}

// last returns the highest number of a part.
func (r *refs) last() (number int) {
	for _, parts := range []map[string]int{r.Values, r.Lists} {
		for _, n := range parts {
			number = max(number, n)
		}
	}
	return number
}

// names reports whether a part is a value, or the last of a list.
func (r *refs) names(number int) bool {
	for _, parts := range []map[string]int{r.Values, r.Lists} {
		for _, n := range parts {
			if n == number {
				return true
			}
		}
	}
	return false
}

// takeApart returns the members of a body, or nil if it is not an object.
func takeApart(body *rawjson.Node) *asked {
	if body == nil || rawjson.Kind(body.Text) != '{' {
		return nil
	}
	a := &asked{values: map[string]json.RawMessage{}, lists: map[string][]json.RawMessage{}}
	var rest rawjson.Object
	for _, member := range body.Nodes {
		value := json.RawMessage(member.Append(nil))
		isList := rawjson.Kind(value) == '[' &&
			slices.ContainsFunc(member.Nodes, func(n *rawjson.Node) bool { return rawjson.Kind(n.Text) == '{' })
		switch {
		case isList:
			for _, element := range member.Nodes {
				a.lists[member.Name] = append(a.lists[member.Name], element.Append(nil))
			}
		case len(value) >= partBytes:
			a.values[member.Name] = value
		default:
			rest.Put(member.Name, value)
		}
	}
	a.rest = rest.Bytes()
	return a
}

type digest [sha256.Size]byte

// index finds the parts of a tape that is written.
type index struct {
	count    int
	repeated int            // bytes, see maxRepeated
	at       map[place]int  // parts by their place
	same     map[digest]int // the first part with a value
}

// place is where a value stands in the lists of a tape.
type place struct {
	after int
	value digest
}

func newIndex(parts []part) *index {
	x := &index{at: map[place]int{}, same: map[digest]int{}}
	for _, p := range parts {
		value := valueOf(parts, p.Number)
		x.put(p.After, sha256.Sum256(value))
		if p.As != 0 {
			x.repeated += len(value)
		}
	}
	return x
}

func (x *index) put(after int, value digest) {
	x.count++
	if x.at[place{after, value}] == 0 {
		x.at[place{after, value}] = x.count
	}
	if x.same[value] == 0 {
		x.same[value] = x.count
	}
}

// add returns the numbers of the parts of a request, and the parts that are new.
func (x *index) add(a *asked) (r refs, added []part) {
	one := func(after int, value json.RawMessage) int {
		sum := sha256.Sum256(value)
		if n := x.at[place{after, sum}]; n > 0 {
			return n
		}
		p := part{Number: x.count + 1, After: after, Value: value}
		if first := x.same[sum]; first > 0 && x.repeated+len(value) <= maxRepeated {
			p.As, p.Value = first, nil
			x.repeated += len(value)
		}
		x.put(after, sum)
		added = append(added, p)
		return p.Number
	}
	r = refs{map[string]int{}, map[string]int{}}
	for _, name := range slices.Sorted(maps.Keys(a.values)) {
		r.Values[name] = one(0, a.values[name])
	}
	for _, name := range slices.Sorted(maps.Keys(a.lists)) {
		for _, element := range a.lists[name] {
			r.Lists[name] = one(r.Lists[name], element)
		}
	}
	return r, added
}

// valueOf returns the value of part n.
func valueOf(parts []part, n int) json.RawMessage {
	return parts[cmp.Or(parts[n-1].As, n)-1].Value
}

// together returns the request with these parts.
func together(parts []part, rest json.RawMessage, r *refs) *asked {
	a := &asked{rest: rest, values: map[string]json.RawMessage{}, lists: map[string][]json.RawMessage{}}
	for name, n := range r.Values {
		a.values[name] = valueOf(parts, n)
	}
	for name, n := range r.Lists {
		var list []json.RawMessage
		for ; n > 0; n = parts[n-1].After {
			list = append(list, valueOf(parts, n))
		}
		slices.Reverse(list)
		a.lists[name] = list
	}
	return a
}

// body returns the request as JSON, with its members in the order of their names.
func (a *asked) body() json.RawMessage {
	members := maps.Clone(a.values)
	for name, list := range a.lists {
		members[name] = rawjson.Array(list)
	}
	for name, value := range rawjson.Members(a.rest) {
		members[name] = value
	}
	var o rawjson.Object
	for _, name := range slices.Sorted(maps.Keys(members)) {
		o.Put(name, members[name])
	}
	return o.Bytes()
}

// A norm writes the values of requests as they are compared: with ids of calls as numbers in their
// order, and without what the masks match.
type norm struct {
	masks []*regexp.Regexp
	ids   map[string]int
}

// masked stands for what a mask matches.
const masked = "[masked]"

func mask(s string, masks []*regexp.Regexp) string {
	for _, m := range masks {
		s = m.ReplaceAllLiteralString(s, masked)
	}
	return s
}

// maskAll masks all strings of a value.
func maskAll(v *rawjson.Node, masks []*regexp.Regexp) {
	if len(masks) == 0 {
		return
	}
	if rawjson.Kind(v.Text) == '"' {
		v.Text = rawjson.Quote(mask(rawjson.Unquote(v.Text), masks))
	}
	for _, inner := range v.Nodes {
		maskAll(inner, masks)
	}
}

// value returns a value as it is compared, and the ids of the calls that it makes, which are kept for
// the values after it.
func (n *norm) value(value json.RawMessage) (normal json.RawMessage, made []string) {
	v := rawjson.Parse(rawjson.Tidy(value))
	made = n.define(v, nil)
	n.replace(v)
	maskAll(v, n.masks)
	return json.RawMessage(rawjson.Key(v.Append(nil))), made
}

var separators = strings.NewReplacer("_", "", "-", "")

// isID reports whether a member may have the id of a call: id, tool_call_id, callId, tool_use_id.
func isID(m *rawjson.Node) bool {
	if rawjson.Kind(m.Text) != '"' {
		return false
	}
	name := strings.ToLower(separators.Replace(m.Name))
	return name == "id" || strings.HasSuffix(name, "callid") || strings.HasSuffix(name, "useid")
}

// define numbers the ids of the calls in v. An object with an id and a name is a call.
func (n *norm) define(v *rawjson.Node, made []string) []string {
	named := slices.ContainsFunc(v.Nodes, func(m *rawjson.Node) bool { return m.Name == "name" || m.Name == "function" })
	for _, m := range v.Nodes {
		if named && isID(m) {
			if id := rawjson.Unquote(m.Text); n.ids[id] == 0 {
				n.ids[id] = len(n.ids) + 1
				made = append(made, id)
			}
		}
		made = n.define(m, made)
	}
	return made
}

// replace replaces the ids of calls by their numbers.
func (n *norm) replace(v *rawjson.Node) {
	for _, m := range v.Nodes {
		if isID(m) {
			if number := n.ids[rawjson.Unquote(m.Text)]; number > 0 {
				m.Text = rawjson.Quote(fmt.Sprintf("call %d", number))
			}
		}
		n.replace(m)
	}
}

// list returns the values of a list as they are compared.
func (n *norm) list(values []json.RawMessage) []json.RawMessage {
	n.ids = map[string]int{}
	list := make([]json.RawMessage, len(values))
	for i, value := range values {
		list[i], _ = n.value(value)
	}
	return list
}

// keys are digests of the parts of a tape: of each alone, and with the parts before it in its list.
type keys struct{ alone, whole []digest }

func chained(before, alone digest) digest { return sha256.Sum256(append(before[:], alone[:]...)) }

// keysOf returns the keys of the parts, in time in proportion to their length: it goes through the
// lists as through a tree, and forgets the ids of calls on the way back.
func keysOf(parts []part, masks []*regexp.Regexp) *keys {
	n := norm{masks, map[string]int{}}
	k := &keys{make([]digest, len(parts)), make([]digest, len(parts))}
	next := make([][]int, len(parts)+1) // the parts after each
	for _, p := range parts {
		next[p.After] = append(next[p.After], p.Number)
	}
	var visit func(at int, before digest)
	visit = func(at int, before digest) {
		for _, number := range next[at] {
			normal, made := n.value(valueOf(parts, number))
			k.alone[number-1] = sha256.Sum256(normal)
			k.whole[number-1] = chained(before, k.alone[number-1])
			visit(number, k.whole[number-1])
			for _, id := range made {
				delete(n.ids, id)
			}
		}
	}
	visit(0, digest{})
	return k
}

// identifyModel returns the identity of a request to a model whose parts have these keys.
func (i *Interaction) identifyModel(masks []*regexp.Regexp, k *keys) identity {
	members := map[string]digest{}
	single := func(name string, value json.RawMessage) {
		normal, _ := (&norm{masks, map[string]int{}}).value(value)
		members[name] = sha256.Sum256(normal)
	}
	if i.Arguments != nil && rawjson.Kind(i.Arguments) != '{' {
		single("", i.Arguments)
	}
	for name, value := range rawjson.Members(i.Arguments) {
		single(name, value)
	}
	for name, n := range i.parts.Values {
		members[name] = k.alone[n-1]
	}
	for name, n := range i.parts.Lists {
		members[name] = k.whole[n-1]
	}
	var all []byte
	for _, name := range slices.Sorted(maps.Keys(members)) {
		d := members[name]
		all = append(rawjson.AppendQuote(all, name), d[:]...)
	}
	parts := []string{i.Kind, i.method(), mask(i.Name, masks), mask(i.ArgumentsText, masks), fmt.Sprintf("%x", sha256.Sum256(all))}
	return identity{key: strings.Join(parts, "\x00")}
}
