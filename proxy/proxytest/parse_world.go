package proxytest

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/toolwire/toolwire/internal/strictjson"
	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/schema"
)

// ParseWorld reads a world from JSON, for programs that get theirs from a file. It is an object with these members, all
// optional:
//
//	{
//	  "tools_schema":  […],                                             as it is registered
//	  "ledger_schema": {…},                                             likewise
//	  "initial_state": {"order": {"4521": {"status": "shipped"}}},
//	  "failure_rules": […],                                             see FailureRule
//	  "seed":          7,
//	  "behaviors": {
//	    "get_order":     {"get": "order", "id": "order_id", "fields": ["status"], "not_found": …},
//	    "list_orders":   {"list": "order", "where": {"customer_id": "customer"}, "order_by": "-total", "limit": 5, "wrap": "orders"},
//	    "create_order":  {"add": "order", "id": "order_id", "copy": ["total"], "set": {"status": "new"}, "exists": …, "result": …},
//	    "refund_order":  {"update": "order", "id": "order_id", "set": {"status": "refunded"}, "not_found": …, "result": …},
//	    "delete_order":  {"remove": "order", "id": "order_id", "not_found": …, "result": …},
//	    "get_weather":   {"canned": {"celsius": 21}},
//	    "get_country":   {"lookup": "city", "answers": {"Paris": "FR", "*": null}},
//	    "search_flights": {"forward": "http://127.0.0.1:9000/search", "timeout_ms": 5000}
//	  }
//	}
//
// A behavior is the function of its first member's name with the options of the others: [Get], [List], [Add], [Update],
// [Remove], [Canned], [Lookup], [Forward]. Names are exact and nothing unknown is passed over. Everything wrong is
// reported together in an [*Error] with [CodeWorld], also what [New] would refuse.
func ParseWorld(data []byte) (World, error) {
	var w World
	problems := problems{code: CodeWorld}
	part := func(name string, err error) {
		if err != nil {
			problems.add(err, "%s: %v", name, err)
		}
	}
	err := strictjson.Read(data, strictjson.Limits{}, func(r *strictjson.Reader) error {
		return r.Object(worldMembers, func(name string) error {
			if name == "seed" {
				n, err := r.Int()
				if err != nil || n == nil || *n < 0 {
					return r.Errorf("seed must be an integer of at least 0")
				}
				w.Seed = uint64(*n)
				return nil
			}
			raw, err := r.Value()
			if err != nil {
				return err
			}
			switch name {
			case "tools_schema":
				w.Tools, err = schema.Parse(raw)
			case "ledger_schema":
				w.LedgerSchema = &ledger.Schema{}
				err = w.LedgerSchema.UnmarshalJSON(raw)
			case "initial_state":
				w.InitialState = string(raw)
			case "failure_rules":
				if w.FailureRules, err = ParseRules(raw); err != nil {
					problems.nest(err)
					return nil
				}
			case "behaviors":
				if w.Behaviors, err = parseBehaviors(raw); err != nil {
					problems.nest(err)
					return nil
				}
			default:
				err = fmt.Errorf("is no member of a world; those are %q", worldMembers)
			}
			part(name, err)
			return nil
		})
	})
	part("the world", err)
	if problems.err() == nil {
		_, err = compile(w)
		problems.nest(err)
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
	err := strictjson.Read(raw, strictjson.Limits{}, func(r *strictjson.Reader) error {
		if r.Kind() != '{' {
			return errors.New("must be an object, with a member per tool")
		}
		return r.Object(nil, func(tool string) error {
			raw, err := r.Value()
			if err != nil {
				return err
			}
			behavior, err := parseBehavior(raw)
			if err != nil {
				problems.add(nil, "behaviors: %q %v", tool, err)
			}
			behaviors[tool] = behavior
			return nil
		})
	})
	if err != nil {
		problems.add(err, "behaviors: %v", err)
	}
	return behaviors, problems.err()
}

// verbs are the functions that make behaviors, with the members that each takes beside its own.
var verbs = map[string][]string{
	"canned":  {},
	"lookup":  {"answers"},
	"get":     {"id", "fields", "not_found"},
	"list":    {"fields", "where", "order_by", "limit", "wrap"},
	"add":     {"id", "copy", "set", "result", "exists"},
	"update":  {"id", "copy", "set", "result", "not_found"},
	"remove":  {"id", "result", "not_found"},
	"forward": {"timeout_ms"},
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
	write   WriteOptions
}

func parseBehavior(raw json.RawMessage) (Behavior, error) {
	var d declaration
	err := strictjson.Read(raw, strictjson.Limits{}, func(r *strictjson.Reader) error {
		if r.Kind() != '{' {
			return errors.New("is no object")
		}
		return r.Object(behaviorMembers, func(name string) error { return d.member(r, name) })
	})
	switch {
	case err != nil:
		return nil, err
	case len(d.verbs) != 1:
		return nil, fmt.Errorf("must say one of canned, lookup, get, list, add, update, remove and forward, and says %q", d.verbs)
	}
	verb := d.verbs[0]
	for _, name := range d.others {
		if !slices.Contains(verbs[verb], name) {
			return nil, fmt.Errorf("has the member %q, which is not for %q", name, verb)
		}
	}
	if slices.Contains([]string{"get", "update", "remove"}, verb) && d.id == "" {
		return nil, fmt.Errorf("must name in %q the argument that has the id of the %s", "id", d.subject)
	}
	if verb != "canned" && d.subject == "" {
		return nil, fmt.Errorf("has an empty %q", verb)
	}
	return d.behavior(verb)
}

// member reads a member of a declaration.
func (d *declaration) member(r *strictjson.Reader, name string) (err error) {
	_, isVerb := verbs[name]
	if isVerb {
		d.verbs = append(d.verbs, name)
	} else {
		d.others = append(d.others, name)
	}
	switch name {
	case "canned":
		d.value, err = r.Value()
	case "result":
		d.write.Result, err = text(r)
	case "not_found":
		d.write.NotFound, err = text(r)
		d.read.NotFound = d.write.NotFound
	case "exists":
		d.write.Exists, err = text(r)
	case "set":
		if r.Kind() != '{' {
			return r.Errorf("must be an object")
		}
		d.write.Set, err = text(r)
	case "id":
		d.id, err = word(r)
	case "order_by":
		d.read.OrderBy, err = word(r)
	case "wrap":
		d.read.Wrap, err = word(r)
	case "limit":
		var n *int64
		if n, err = r.Int(); err == nil && (n == nil || *n < 1 || *n > math.MaxInt32) {
			err = r.Errorf("must be at least 1")
		} else if err == nil {
			d.read.Limit = int(*n)
		}
	case "timeout_ms":
		var n *int64
		if n, err = r.Int(); err == nil && (n == nil || *n < 1 || *n > math.MaxInt32) {
			err = r.Errorf("must be a number of milliseconds")
		} else if err == nil {
			d.timeout = time.Duration(*n) * time.Millisecond
		}
	case "fields":
		d.read.Fields, err = into[[]string](r, "a list of strings")
	case "copy":
		d.write.Copy, err = into[[]string](r, "a list of strings")
	case "where":
		d.read.Where, err = into[map[string]string](r, "an object of strings")
	case "answers":
		d.answers, err = into[map[string]json.RawMessage](r, "an object")
	default:
		if !isVerb {
			return r.Errorf("is unknown in a behavior")
		}
		d.subject, err = word(r)
	}
	return err
}

func (d *declaration) behavior(verb string) (b Behavior, err error) {
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
	case "list":
		b = List(d.subject, &d.read)
	case "add":
		b = Add(d.subject, d.id, &d.write)
	case "update":
		b = Update(d.subject, d.id, &d.write)
	case "remove":
		b = Remove(d.subject, d.id, &d.write)
	case "forward":
		if !forwardable(d.subject) {
			return nil, errors.New("must forward to an http or https URL")
		}
		b = Forward(d.subject, &ForwardOptions{Timeout: d.timeout})
	}
	return b, nil
}

func text(r *strictjson.Reader) (string, error) {
	raw, err := r.Value()
	return string(raw), err
}

// word reads a string that must be one.
func word(r *strictjson.Reader) (string, error) {
	if r.Kind() != '"' {
		return "", r.Errorf("must be a string")
	}
	return r.String()
}

func into[T any](r *strictjson.Reader, what string) (v T, err error) {
	raw, err := r.Value()
	if err == nil && (kindOf(raw) == 'n' || json.Unmarshal(raw, &v) != nil) {
		err = r.Errorf("must be %s", what)
	}
	return v, err
}
