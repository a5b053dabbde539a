package proxytest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/text"
	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/proxy"
	"github.com/toolwire/toolwire/schema"
)

// world is a compiled [World]. It is immutable.
type world struct {
	tools        map[string]*tool
	set          *schema.Set // nil when no tools are declared with schemas
	ledgerSchema *ledger.Schema
	types        []*ledger.Entity // of ledgerSchema
	initial      string
	before       ledger.Snapshot
	rules        []FailureRule
	seed         uint64
	instructions string
	remarks      []string // for the output of a test
	names        text.Declared
}

// tool is one declared tool.
type tool struct {
	declared schema.Tool
	live     bool     // in passthrough mode
	executed bool     // where the agent runs
	notes    []string // for each call
	behavior Behavior
	own      bool // the behavior is one of World.Behaviors
	output   any  // the output_schema of a tool in sandbox mode, decoded; nil if there is none
	adapter  *ledger.Rule
}

// compile checks a world and reports all mistakes.
func compile(w World) (*world, error) {
	c := &world{
		tools: map[string]*tool{}, ledgerSchema: w.LedgerSchema, initial: w.InitialState,
		rules: slices.Clone(w.FailureRules), seed: w.Seed, instructions: w.BehaviorInstructions,
	}
	problems := problems{code: codeWorld}
	c.declare(w, &problems)
	for _, name := range slices.Sorted(maps.Keys(w.Behaviors)) {
		if t := c.tools[name]; t == nil {
			problems.behavior(name, "the tool %q is not declared: add it to the tools, or remove the behavior", name)
		} else if t.executed {
			problems.behavior(name,
				"the tool %q executes where the agent runs, so its calls are refused: remove the behavior", name)
		}
		if w.Behaviors[name] == nil {
			problems.behavior(name, "the behavior of %q is nil", name)
		}
	}
	c.begin(&problems)
	return c, problems.err()
}

// declare adds the tools, and the names of the world.
func (c *world) declare(w World, problems *problems) {
	tools, notes := known(w.Tools), map[int][]string{}
	c.names.Arguments, c.names.IDFields = map[string][]string{}, map[string]string{}
	if len(tools) == 0 {
		if w.Simulator != nil {
			problems.add(nil, problemBehavior, "", "Simulator answers declared tools: set Tools")
		}
		for name := range w.Behaviors {
			tools = append(tools, schema.Tool{Name: name})
		}
	} else {
		var err error
		c.set, err = schema.NewSet(context.Background(), tools, &schema.ValidateOptions{LedgerSchema: w.LedgerSchema})
		if err != nil {
			problems.add(err, problemTools, "/tools_schema", "%v", err)
		} else {
			c.remarks, notes = remarks(c.set, tools)
		}
	}
	for i := range tools {
		declared := &tools[i]
		t := &tool{
			declared: *declared, live: declared.Mode() == schema.Passthrough, executed: declared.Mode() == executed,
			notes: notes[i], behavior: w.Behaviors[declared.Name], own: w.Behaviors[declared.Name] != nil,
		}
		if t.live && declared.WritePolicy() == schema.PolicyAdapter && declared.LedgerAdapter != nil {
			// a rule that cannot be evaluated writes nothing and explains why
			t.adapter, _ = ledger.Compile(declared.LedgerAdapter)
		}
		if !t.live && c.set != nil { // without a set, a schema may not even be JSON
			t.output = rawjson.Any(declared.OutputSchema)
		}
		switch {
		case t.own || t.live:
		case w.Simulator != nil:
			t.behavior = simulated(w.Simulator)
		default:
			t.behavior = simulate
		}
		c.tools[declared.Name] = t
		if names := argumentsOf(declared.InputSchema); names != nil {
			c.names.Arguments[declared.Name] = names
		}
	}
	c.names.Tools = slices.Sorted(maps.Keys(c.tools))
	for _, name := range c.names.Tools {
		if c.tools[name].executed {
			c.names.Executed = append(c.names.Executed, name)
		}
	}
	if s := c.ledgerSchema; s != nil {
		for i := range s.Entities {
			c.types = append(c.types, &s.Entities[i])
			c.names.Entities = append(c.names.Entities, s.Entities[i].Type)
			c.names.IDFields[s.Entities[i].Type] = s.Entities[i].IDField
		}
		if s.Flags != nil && s.Flags.Policy == "closed" {
			c.names.Flags = s.Flags.Values
		}
	}
}

// argumentsOf returns the names under "properties"; nil if there are none, or if the schema may name others.
func argumentsOf(input json.RawMessage) (names []string) {
	for member, value := range rawjson.Members(input) {
		switch {
		case member == "properties":
			for name := range rawjson.Members(value) {
				names = append(names, name)
			}
		case slices.Contains([]string{"$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "dependentSchemas", "patternProperties"}, member),
			member == "additionalProperties" && rawjson.Kind(value) == '{':
			return nil
		}
	}
	return names
}

// begin checks the initial state and the failure rules. The tools must be known.
func (c *world) begin(problems *problems) {
	state, err := ledger.NewState(json.RawMessage(c.initial), c.ledgerSchema)
	if err != nil {
		problems.add(err, problemLedger, "/initial_state", "%v", err)
	} else {
		c.before = state.Snapshot()
	}
	for i := range c.rules {
		rule := &c.rules[i]
		add := func(format string, args ...any) {
			problems.add(nil, problemRule, fmt.Sprintf("/failure_rules/%d", i), format, args...)
		}
		rule.validate(add)
		t := c.tools[rule.Tool]
		if rule.Tool != "" && t == nil {
			add("the tool %q is not declared", rule.Tool)
		}
		if t != nil && t.live && rule.Response != nil {
			add("%q is in passthrough mode, where a rule cannot set a response: use status, break or delay_ms", rule.Tool)
		}
		if rule.Trace != "" && rule.Trace != "*" && !proxy.Event(rule.Trace).Reserved() {
			add("%q is not a type of trace events", rule.Trace)
		}
	}
}

// with returns the world with another state and other rules.
func (c *world) with(initial string, rules []FailureRule, instructions string) (*world, error) {
	other := *c
	other.initial, other.rules, other.instructions = initial, slices.Clone(rules), instructions
	problems := problems{code: codeWorld}
	other.begin(&problems)
	return &other, problems.err()
}
