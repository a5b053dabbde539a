package proxytest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/toolwire/toolwire/internal/rawjson"
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
	names        Declared
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
	policy   schema.WritePolicy
	adapter  *ledger.Rule
}

// compile checks a world and reports all mistakes.
func compile(w World) (*world, error) {
	c := &world{
		tools: map[string]*tool{}, ledgerSchema: w.LedgerSchema, initial: w.InitialState,
		rules: slices.Clone(w.FailureRules), seed: w.Seed, instructions: w.BehaviorInstructions,
	}
	if w.LedgerSchema != nil {
		for i := range w.LedgerSchema.Entities {
			c.types = append(c.types, &w.LedgerSchema.Entities[i])
		}
	}
	problems := problems{code: CodeWorld}
	c.begin(&problems)
	if len(w.Tools) == 0 && w.Simulator != nil {
		problems.add(nil, problemBehavior, "", "Simulator answers declared tools: set Tools")
	}
	if len(w.Tools) == 0 {
		for name, behavior := range w.Behaviors {
			c.tools[name] = &tool{declared: schema.Tool{Name: name}, behavior: behavior, own: true, policy: schema.PolicyRecordOnly}
		}
	} else {
		w.Tools = known(w.Tools)
		set, err := schema.NewSet(context.Background(), w.Tools,
			&schema.ValidateOptions{LedgerSchema: w.LedgerSchema})
		if err != nil {
			problems.add(err, problemTools, "/tools_schema", "%v", err)
		}
		var notes map[int][]string
		if c.set = set; set != nil {
			c.remarks, notes = remarks(set, w.Tools)
		}
		c.declare(w, notes)
	}
	for _, name := range slices.Sorted(maps.Keys(w.Behaviors)) {
		if c.tools[name] == nil {
			problems.behavior(name,
				"the tool %q is not declared: add it to the tools, or remove the behavior", name)
		}
		if t := c.tools[name]; t != nil && t.executed {
			problems.behavior(name,
				"the tool %q executes where the agent runs, so its calls are refused: remove the behavior", name)
		}
		if w.Behaviors[name] == nil {
			problems.behavior(name, "the behavior of %q is nil", name)
		}
	}
	c.checkRules(&problems)
	if err := problems.err(); err != nil {
		return nil, err
	}
	c.names = c.declared()
	return c, nil
}

// declared returns the names of the world.
func (c *world) declared() Declared {
	names := Declared{Tools: slices.Sorted(maps.Keys(c.tools))}
	for _, of := range c.types {
		names.Entities = append(names.Entities, of.Type)
	}
	if s := c.ledgerSchema; s != nil && s.Flags != nil && s.Flags.Policy == "closed" {
		names.Flags = s.Flags.Values
	}
	return names
}

// begin checks the initial state.
func (c *world) begin(problems *problems) {
	state, err := ledger.NewState(json.RawMessage(c.initial), c.ledgerSchema)
	if err != nil {
		problems.add(err, problemLedger, "/initial_state", "%v", err)
		return
	}
	c.before = state.Snapshot()
}

// checkRules checks the failure rules. The tools must be known.
func (c *world) checkRules(problems *problems) {
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
	other.initial, other.rules, other.before = initial, slices.Clone(rules), ledger.Snapshot{}
	other.instructions = instructions
	problems := problems{code: CodeWorld}
	other.begin(&problems)
	other.checkRules(&problems)
	if err := problems.err(); err != nil {
		return nil, err
	}
	return &other, nil
}

func (c *world) declare(w World, notes map[int][]string) {
	for i := range w.Tools {
		declared := &w.Tools[i]
		t := &tool{
			declared: *declared, live: declared.Mode() == schema.Passthrough, behavior: w.Behaviors[declared.Name],
			policy: declared.WritePolicy(), executed: declared.Mode() == schema.Executed, notes: notes[i],
		}
		if t.live && t.policy == schema.PolicyAdapter && declared.LedgerAdapter != nil {
			// a rule that cannot be evaluated writes nothing and explains why
			t.adapter, _ = ledger.Compile(declared.LedgerAdapter)
		}
		if !t.live && c.set != nil { // without a set, a schema may not even be JSON
			t.output = rawjson.Any(declared.OutputSchema)
		}
		switch {
		case t.behavior != nil || t.live:
			t.own = t.behavior != nil
		case w.Simulator != nil:
			t.behavior = simulated(w.Simulator)
		default:
			t.behavior = simulate
		}
		c.tools[declared.Name] = t
	}
}
