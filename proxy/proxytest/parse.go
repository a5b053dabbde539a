package proxytest

import (
	"cmp"
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

	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/schema"
)

// ParseRules reads failure rules from JSON: a list in the format that [FailureRule] shows. Names
// must match exactly, and unknown members are not allowed. A [*toolwire.Error] with invalid_rules reports all
// mistakes.
func ParseRules(data []byte) ([]FailureRule, error) {
	problems := problems{code: codeRules}
	err := rawjson.Check(data, rawjson.Limits{})
	if err == nil && rawjson.Kind(data) != '[' {
		err = errors.New("failure rules must be a list")
	}
	if err != nil {
		problems.add(err, problemRule, "", "%v", err)
		return nil, problems.err()
	}
	rules, i := []FailureRule{}, 0
	for raw := range rawjson.Elements(data) {
		pointer := fmt.Sprintf("/%d", i)
		i++
		add := func(format string, args ...any) { problems.add(nil, problemRule, pointer, format, args...) }
		rule, wrong := parseRule(raw)
		for _, err := range wrong {
			add("%v", err)
		}
		if len(wrong) == 0 {
			rule.validate(add)
		}
		if problems.found.Len() == 0 {
			rules = append(rules, rule)
		}
	}
	if err := problems.err(); err != nil {
		return nil, err
	}
	return rules, nil
}

func parseRule(raw json.RawMessage) (f FailureRule, wrong []error) {
	var nth json.RawMessage
	var delay float64
	wrong = rawjson.ReadFields(raw, map[string]any{
		"tool": &f.Tool, "trace": &f.Trace, "arguments": &f.Arguments, "nth": &nth, "every": &f.Every,
		"probability": &f.Probability, "response": &f.Response, "status": &f.Status, "error_class": &f.ErrorClass,
		"retry_after": &f.RetryAfter, "break": &f.Break, "delay_ms": &delay,
	})
	if nth != nil && rawjson.Kind(nth) != '[' {
		nth = rawjson.Array([]json.RawMessage{nth}) // one integer
	}
	if nth != nil && (json.Unmarshal(nth, &f.Nth) != nil || len(f.Nth) == 0) {
		wrong = append(wrong, errors.New("/nth must be an integer or a list of integers"))
	}
	if math.Abs(delay) > 1e12 {
		wrong = append(wrong, errors.New("/delay_ms is too long"))
	}
	f.Delay = time.Duration(delay * float64(time.Millisecond))
	return f, wrong
}

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
// Names must match exactly, and unknown members are not allowed. A [*toolwire.Error] with invalid_world
// reports all mistakes, including the mistakes that [New] would report.
func ParseWorld(data []byte) (World, error) {
	var w World
	problems := problems{code: codeWorld}
	if err := rawjson.Check(data, rawjson.Limits{}); err != nil {
		problems.add(err, problemJSON, "", "%v", err)
		return World{}, problems.err()
	}
	var tools, ledgerSchema, state, rules, behaviors, seed json.RawMessage
	for _, err := range rawjson.ReadFields(data, map[string]any{
		"tools_schema": &tools, "ledger_schema": &ledgerSchema, "initial_state": &state, "failure_rules": &rules,
		"behaviors": &behaviors, "seed": &seed,
	}) {
		problems.add(nil, problemJSON, "", "%v", err)
	}
	whole := true // tools and behaviors have been understood, so that what refers to them can be checked
	if tools != nil {
		var err error
		if w.Tools, _, err = schema.Import(tools, schema.Platform); err != nil {
			problems.add(err, problemTools, "/tools_schema", "%v", err)
			whole = false
		}
	}
	if ledgerSchema != nil {
		w.LedgerSchema = &ledger.Schema{}
		if err := w.LedgerSchema.UnmarshalJSON(ledgerSchema); err != nil {
			problems.add(err, problemLedger, "/ledger_schema", "%v", err)
			w.LedgerSchema = nil
		}
	}
	if w.InitialState = string(state); state != nil && rawjson.Kind(state) == 'n' {
		problems.add(nil, problemLedger, "/initial_state", "must be an object, not null")
	}
	if seed != nil {
		var err error
		if w.Seed, err = strconv.ParseUint(string(seed), 10, 64); err != nil {
			problems.add(nil, problemSeed, "/seed", "must be an integer of at least 0 and at most 64 bits")
		}
	}
	if rules != nil {
		var err error
		w.FailureRules, err = ParseRules(rules)
		problems.nest("/failure_rules", err)
	}
	if behaviors != nil {
		before := problems.found.Len()
		w.Behaviors = parseBehaviors(behaviors, &problems)
		whole = whole && problems.found.Len() == before
	}
	sound := w
	if !whole {
		sound = World{LedgerSchema: w.LedgerSchema, InitialState: w.InitialState}
	}
	_, err := compile(sound)
	problems.nest("", err)
	if err := problems.err(); err != nil {
		return World{}, err
	}
	return w, nil
}

func parseBehaviors(raw json.RawMessage, problems *problems) map[string]Behavior {
	if rawjson.Kind(raw) != '{' {
		problems.add(nil, problemBehavior, "/behaviors", "must be an object, with a member per tool")
	}
	behaviors := map[string]Behavior{}
	for tool, raw := range rawjson.Members(raw) {
		behavior, wrong := parseBehavior(raw)
		for _, err := range wrong {
			problems.behavior(tool, "%v", err)
		}
		behaviors[tool] = behavior
	}
	return behaviors
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

// verbOf returns the one function that a declaration names.
func verbOf(declaration json.RawMessage) (string, error) {
	if rawjson.Kind(declaration) != '{' {
		return "", errors.New("must be an object")
	}
	var said []string
	for name := range rawjson.Members(declaration) {
		if _, ok := verbs[name]; ok {
			said = append(said, name)
		}
	}
	if len(said) != 1 {
		return "", fmt.Errorf("must have one of %s, and has %s", strings.Join(slices.Sorted(maps.Keys(verbs)), ", "),
			cmp.Or(strings.Join(said, ", "), "none of them"))
	}
	return said[0], nil
}

// parseBehavior makes a behavior, or says what is wrong with its declaration.
func parseBehavior(raw json.RawMessage) (b Behavior, wrong []error) {
	verb, err := verbOf(raw)
	if err != nil {
		return nil, []error{err}
	}
	var (
		subject, id, by  string // subject is an entity type, an argument or an address
		canned, set      json.RawMessage
		result, notFound json.RawMessage
		answers          map[string]json.RawMessage
		read             ReadOptions
		write            WriteOptions
		limit, timeout   = math.MaxInt, 120_000
	)
	all := map[string]any{
		"id": &id, "fields": &read.Fields, "not_found": &notFound, "where": &read.Where, "order_by": &by, "limit": &limit,
		"wrap": &read.Wrap, "copy": &write.Copy, "set": &set, "result": &result, "answers": &answers, "timeout_ms": &timeout,
	}
	fields := map[string]any{verb: &subject}
	if verb == "canned" {
		fields[verb] = &canned
	}
	for _, name := range verbs[verb] {
		fields[name] = all[name]
	}
	wrong = rawjson.ReadFields(raw, fields)
	must := func(is bool, format string, args ...any) {
		if !is {
			wrong = append(wrong, fmt.Errorf(format, args...))
		}
	}
	if _, isLink := httpcall.ParseLink(subject); len(wrong) == 0 {
		must(verb == "canned" || subject != "", "has an empty %q", verb)
		must(verb != "forward" || isLink, "must forward to an http or https URL")
		must(verb != "lookup" || len(answers) > 0, "must have \"answers\", by the values of %q", subject)
		must(rawjson.Member(raw, "order_by") == nil || strings.Trim(by, "-") != "",
			`/order_by must be the name of a field, such as "total" or "-total"`)
		must(limit >= 1, "/limit must be at least 1")
		must(timeout >= 1 && timeout <= math.MaxInt32, "/timeout_ms must be a number of milliseconds, at least 1")
		must(set == nil || rawjson.Kind(set) == '{', "/set must be an object")
		must(!slices.Contains(slices.Concat(read.Fields, write.Copy), ""), "a list must have strings that are not empty")
		must(!slices.Contains(slices.Collect(maps.Values(read.Where)), ""),
			"/where must be an object of strings that are not empty")
	}
	must(id != "" || verb == "add" || !slices.Contains(verbs[verb], "id"),
		"must name in \"id\" the argument that has the id of the %s", subject)
	if len(wrong) > 0 {
		return nil, wrong
	}
	read.NotFound, write.NotFound, write.Set, write.Result = string(notFound), string(notFound), string(set), string(result)
	switch verb {
	case "canned":
		return Canned(string(canned)), nil
	case "lookup":
		return lookup(subject, answers), nil
	case "get":
		return Get(subject, id, &read), nil
	case "from_ledger":
		return FromLedger(subject), nil
	case "list":
		return list(subject, read, by, limit), nil
	case "add":
		return Add(subject, id, &write), nil
	case "update":
		return Update(subject, id, &write), nil
	case "remove":
		return Remove(subject, id, &write), nil
	}
	return Forward(subject, &http.Client{Timeout: time.Duration(timeout) * time.Millisecond}), nil
}
