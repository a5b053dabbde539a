package proxytest

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/schema"
)

// ParseWorld reads a world from JSON, for programs that get theirs from a file. It is an object
// with these members, all optional:
//
//	{
//	  "tools_schema":  […],                                             as it is registered
//	  "ledger_schema": {…},                                             likewise
//	  "initial_state": {"order": {"4521": {"status": "shipped"}}},
//	  "failure_rules": […],                                             see FailureRule
//	  "seed":          7,
//	  "behaviors": {
//	    "get_order":     {"get": "order", "id": "order_id", "fields": ["status"], "not_found": …},
//	    "order_status":  {"from_ledger": "order"},
//	    "list_orders":   {"list": "order", "where": {"customer_id": "customer"}, "order_by": "-total", "limit": 5,
//	                      "wrap": "orders"},
//	    "create_order":  {"add": "order", "id": "order_id", "copy": ["total"], "set": {"status": "new"}, "result": …},
//	    "refund_order":  {"update": "order", "id": "order_id", "set": {"status": "refunded"}, "result": …},
//	    "delete_order":  {"remove": "order", "id": "order_id", "not_found": …, "result": …},
//	    "get_weather":   {"canned": {"celsius": 21}},
//	    "get_country":   {"lookup": "city", "answers": {"Paris": "FR", "*": null}},
//	    "search_flights": {"forward": "http://127.0.0.1:9000/search", "timeout_ms": 5000}
//	  }
//	}
//
// The first member of a behavior names its function, and the others are options. The functions are
// [Get], [FromLedger], [List], [Add], [Update], [Remove], [Canned], [Lookup] and [Forward]. A list
// may set an order and a limit, because the file contains no code: order_by is a field, limit a
// number of entities. Numbers come first, by their values, and entities without the field last;
// "-total" is descending.
//
// Names must match exactly, and unknown members are not allowed. An [*Error] with [CodeWorld]
// reports all mistakes, including the mistakes that [New] would report.
func ParseWorld(data []byte) (World, error) {
	var w World
	problems := problems{code: CodeWorld}
	part := func(name string, err error) {
		if err == nil {
			return
		}
		code, known := map[string]string{
			"tools_schema": problemTools, "ledger_schema": problemLedger, "initial_state": problemLedger, "seed": problemSeed,
		}[name]
		if !known {
			code = problemJSON
		}
		problems.add(err, code, rawjson.Token(name), "%v", err)
	}
	whole := true // tools and behaviors have been understood, so that what refers to them can be looked at
	err := rawjson.Read(data, rawjson.Limits{}, func(r *rawjson.Reader) error {
		return r.Object(worldMembers, func(name string) error {
			raw, err := r.Value()
			if err != nil {
				return err
			}
			switch name {
			case "tools_schema":
				w.Tools, _, err = schema.Import(raw, schema.Platform)
				whole = whole && err == nil
			case "ledger_schema":
				w.LedgerSchema = &ledger.Schema{}
				if err = w.LedgerSchema.UnmarshalJSON(raw); err != nil {
					w.LedgerSchema = nil
				}
			case "initial_state":
				if w.InitialState = string(raw); rawjson.Kind(raw) == 'n' {
					err = errors.New("must be an object, not null")
				}
			case "failure_rules":
				if w.FailureRules, err = ParseRules(raw); err != nil {
					problems.nest("/failure_rules", err)
					return nil
				}
			case "behaviors":
				if w.Behaviors, err = parseBehaviors(raw); err != nil {
					whole = false
					problems.nest("", err)
					return nil
				}
			case "seed":
				if w.Seed, err = strconv.ParseUint(string(raw), 10, 64); err != nil {
					err = errors.New("must be an integer of at least 0 and at most 64 bits")
				}
			default:
				err = fmt.Errorf("is not a member of a world; those are %q", worldMembers)
			}
			part(name, err)
			return nil
		})
	})
	if err != nil {
		problems.add(err, problemJSON, "", "%v", err)
	} else {
		sound := w
		if !whole {
			sound = World{LedgerSchema: w.LedgerSchema, InitialState: w.InitialState}
		}
		_, err = compile(sound)
		problems.nest("", err)
	}
	if err := problems.err(); err != nil {
		return World{}, err
	}
	return w, nil
}

var worldMembers = []string{"tools_schema", "ledger_schema", "initial_state", "failure_rules", "behaviors", "seed"}

func parseBehaviors(raw json.RawMessage) (map[string]Behavior, error) {
	behaviors := map[string]Behavior{}
	problems := problems{code: CodeWorld}
	err := rawjson.Read(raw, rawjson.Limits{}, func(r *rawjson.Reader) error {
		if r.Kind() != '{' {
			return errors.New("must be an object, with a member per tool")
		}
		return r.Object(nil, func(tool string) error {
			raw, err := r.Value()
			if err != nil {
				return err
			}
			behavior, mistakes, err := parseBehavior(raw)
			for _, mistake := range mistakes {
				problems.behavior(tool, "the behavior %s", mistake)
			}
			behaviors[tool] = behavior
			return err
		})
	})
	if err != nil {
		problems.add(err, problemBehavior, "/behaviors", "%v", err)
	}
	return behaviors, problems.err()
}

// verbs are the functions that make behaviors, with the members that each takes beside its own.
var verbs = map[string][]string{
	"canned":      {},
	"lookup":      {"answers"},
	"get":         {"id", "fields", "not_found"},
	"from_ledger": {},
	"list":        {"fields", "where", "order_by", "limit", "wrap"},
	"add":         {"id", "copy", "set", "result"},
	"update":      {"id", "copy", "set", "result", "not_found"},
	"remove":      {"id", "result", "not_found"},
	"forward":     {"timeout_ms"},
}

// behaviorMembers are all names in verbs.
var behaviorMembers = func() (names []string) {
	for verb, more := range verbs {
		names = append(append(names, verb), more...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}()

// declaration is a behavior as it is declared.
type declaration struct {
	verbs   []string // one, if it is right
	others  []string
	subject string // the verb's value: an entity type, argument or address
	id      string
	value   json.RawMessage // of canned
	answers map[string]json.RawMessage
	timeout time.Duration
	read    ReadOptions
	order   ordering // of list
	write   WriteOptions

	mistakes []string
}

// parseBehavior makes a behavior and says what is wrong with it. The error is one of JSON.
func parseBehavior(raw json.RawMessage) (b Behavior, mistakes []string, err error) {
	d := declaration{}
	err = rawjson.Read(raw, rawjson.Limits{}, func(r *rawjson.Reader) error {
		if r.Kind() != '{' {
			d.mistake("must be an object")
			_, err := r.Value()
			return err
		}
		return r.Object(behaviorMembers, func(name string) error {
			raw, err := r.Value()
			if err == nil {
				d.member(name, raw)
			}
			return err
		})
	})
	if err == nil && len(d.mistakes) == 0 {
		d.complete()
	}
	if err != nil || len(d.mistakes) > 0 {
		return nil, d.mistakes, err
	}
	return d.behavior(d.verbs[0]), nil, nil
}

// complete says what is missing, or too much, in a declaration whose members are right.
func (d *declaration) complete() {
	if len(d.verbs) != 1 {
		d.mistake("must say one of canned, lookup, get, from_ledger, list, add, update, remove and forward, and says %q",
			d.verbs)
		return
	}
	verb := d.verbs[0]
	for _, name := range d.others {
		if !slices.Contains(verbs[verb], name) {
			d.mistake("has the member %q, which is not for %q", name, verb)
		}
	}
	if slices.Contains([]string{"get", "update", "remove"}, verb) && d.id == "" {
		d.mistake("must name in %q the argument that has the id of the %s", "id", d.subject)
	}
	switch {
	case verb != "canned" && d.subject == "":
		d.mistake("has an empty %q", verb)
	case verb == "lookup" && len(d.answers) == 0:
		d.mistake("must have %q, by the values of %q", "answers", d.subject)
	case verb == "forward" && !forwardable(d.subject):
		d.mistake("must forward to an http or https URL")
	}
}

func (d *declaration) mistake(format string, args ...any) {
	d.mistakes = append(d.mistakes, fmt.Sprintf(format, args...))
}

// member reads a member of a declaration.
func (d *declaration) member(name string, raw json.RawMessage) {
	_, isVerb := verbs[name]
	if isVerb {
		d.verbs = append(d.verbs, name)
	} else {
		d.others = append(d.others, name)
	}
	must := func(is bool, what string) {
		if !is {
			d.mistake("has %q, which must be %s", name, what)
		}
	}
	switch name {
	case "canned":
		d.value = raw
	case "result":
		d.write.Result = string(raw)
	case "not_found":
		d.write.NotFound, d.read.NotFound = string(raw), string(raw)
	case "set":
		d.write.Set = string(raw)
		must(rawjson.Kind(raw) == '{', "an object")
	case "id":
		must(into(&d.id, raw), "a string")
	case "wrap":
		must(into(&d.read.Wrap, raw), "a string")
	case "timeout_ms":
		var n int64
		must(into(&n, raw) && n >= 1 && n <= math.MaxInt32, "a number of milliseconds, at least 1")
		d.timeout = time.Duration(n) * time.Millisecond
	case "fields":
		must(into(&d.read.Fields, raw) && !slices.Contains(d.read.Fields, ""), "a list of strings")
	case "order_by":
		must(into(&d.order.by, raw) && strings.TrimPrefix(d.order.by, "-") != "",
			`a string with the name of a field, such as "total" or "-total"`)
	case "limit":
		must(into(&d.order.limit, raw) && d.order.limit >= 1, "an integer of at least 1")
	case "copy":
		must(into(&d.write.Copy, raw) && !slices.Contains(d.write.Copy, ""), "a list of strings")
	case "where":
		must(into(&d.read.Where, raw) && !slices.Contains(slices.Collect(maps.Values(d.read.Where)), ""),
			"an object of strings")
	case "answers":
		must(into(&d.answers, raw), "an object")
	default:
		if !isVerb {
			d.mistake("has the member %q, which is unknown in a behavior", name)
			return
		}
		must(into(&d.subject, raw), "a string")
	}
}

func (d *declaration) behavior(verb string) (b Behavior) {
	switch verb {
	case "canned":
		b = Canned(string(d.value))
	case "lookup":
		answers := make(map[string]string, len(d.answers))
		for key, answer := range d.answers {
			answers[key] = string(answer)
		}
		b = Lookup(d.subject, answers)
	case "get":
		b = Get(d.subject, d.id, &d.read)
	case "from_ledger":
		b = FromLedger(d.subject)
	case "list":
		b = list(d.subject, d.read, d.order)
	case "add":
		b = Add(d.subject, d.id, &d.write)
	case "update":
		b = Update(d.subject, d.id, &d.write)
	case "remove":
		b = Remove(d.subject, d.id, &d.write)
	case "forward":
		b = Forward(d.subject, &http.Client{Timeout: d.timeout})
	}
	return b
}

// into reads a value that is not null; false if it is of another kind.
func into[T any](v *T, raw json.RawMessage) bool {
	return rawjson.Kind(raw) != 'n' && json.Unmarshal(raw, v) == nil
}
