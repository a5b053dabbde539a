package eval

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolwire/toolwire/dispatch/dispatchtest"
	"github.com/toolwire/toolwire/internal/hook"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/runctx"
	"github.com/toolwire/toolwire/internal/text"
	"github.com/toolwire/toolwire/ledger"
	"github.com/toolwire/toolwire/proxy/proxytest"
)

// EndState returns a grader that accepts a run if it leaves the ledger as the calls of a reference
// do, whatever calls the agent made. The calls are made in the world of the case, without its
// failure rules. reference returns the calls of a case, for example with [ParseTrajectory] from a
// column of its row. If it returns an error, if a call of the reference has no result, or if there
// are more calls than a run may make in a minute, the trial is not graded: see [ErrNotGraded].
func EndState(reference func(Case) (Trajectory, error)) Grader {
	return func(ctx context.Context, c Case, result *dispatchtest.Result) error {
		calls, err := reference(c)
		var want ledger.Snapshot
		if err == nil {
			want, _, err = c.replay(ctx, calls)
		}
		if err != nil {
			return fmt.Errorf("%w: the reference: %w", ErrNotGraded, err)
		}
		return endsAs("after the reference", want, result.State)
	}
}

// endsAs compares the ledger at the end of a run with the wanted one.
func endsAs(what string, want, got ledger.Snapshot) error {
	changes := ledger.Diff(want, got)
	if len(changes) == 0 {
		return nil
	}
	var wrong, expected, actual []string
	for _, change := range changes {
		place, before, after := change.Pointer, orNothing(change.Before), orNothing(change.After)
		if change.Flag != "" {
			place, before, after = "the flag "+change.Flag, fmt.Sprint(change.Kind == "removed"), fmt.Sprint(change.Kind == "added")
		}
		wrong = append(wrong, place+map[string]string{"removed": " is missing", "added": " is not wanted", "changed": " is not " + text.Line(before, 40)}[change.Kind])
		expected, actual = append(expected, place+": "+before), append(actual, place+": "+after)
	}
	return &mismatch{"the ledger is not as " + what + ": " + listed(wrong, maxListed), strings.Join(expected, "\n"), strings.Join(actual, "\n")}
}

// platform returns the platform of the case, which may be the caller's.
func (c *Case) platform() (*proxytest.Platform, error) {
	if c.Task.Platform != nil {
		return c.Task.Platform, nil
	}
	return proxytest.New(c.Task.World, nil)
}

// variant returns a platform without runs, whose generated results and chances differ by the key.
func variant(platform *proxytest.Platform, key string) *proxytest.Platform {
	return hook.Of[func(key string) *proxytest.Platform](platform)(key)
}

// begin returns the ledger at the start of a run. The run belongs to a platform of its own.
func begin(platform *proxytest.Platform) ledger.Snapshot {
	return variant(platform, "").NewRun().Ledger().Snapshot()
}

// replay makes the calls in the world of the case. It returns the ledger, and the calls that failed.
func (c *Case) replay(ctx context.Context, calls Trajectory) (end ledger.Snapshot, failed []string, err error) {
	platform, err := c.platform()
	if err != nil {
		return end, nil, err
	}
	if most := int(hook.Of[runctx.Rate](platform)); most > 0 && len(calls) > most {
		return end, nil, fmt.Errorf("it has %d calls, and a run makes at most %d in a minute", len(calls), most)
	}
	initial, err := rawjson.Encode(begin(platform).Entities)
	if err != nil {
		return end, nil, err
	}
	if platform, err = platform.With(string(initial), nil, ""); err != nil {
		return end, nil, err
	}
	run := platform.NewRun()
	client := run.Client(nil)
	for i, call := range calls {
		result, err := client.Do(ctx, call.Tool, call.Arguments)
		if err != nil {
			return end, nil, fmt.Errorf("call %d, %s: %w", i+1, call.Tool, err)
		}
		if result.Failed() {
			failed = append(failed, fmt.Sprintf("call %d, %s: %s", i+1, call.Tool, text.Line(string(result.Response), maxShown)))
		}
	}
	return run.Log().State, failed, nil
}

// readEndState reads the column end_state: calls, after which the ledger is as wanted, or entities.
func readEndState(c *Case, in *expectedCell) Grader {
	kind := in.json(`a list of calls, or an object such as {"order":{"4521":{"status":"refunded"}}}`)
	if kind == 0 {
		return nil
	}
	platform, err := c.platform()
	if err != nil {
		in.wrong("%v", err)
		return nil
	}
	if kind == '{' {
		want := in.end(platform)
		return func(_ context.Context, c Case, result *dispatchtest.Result) error {
			platform, err := c.platform()
			if err != nil {
				return fmt.Errorf("%w: %w", ErrNotGraded, err)
			}
			got := want.withIDs(result.State)
			return endsAs("expected", want.from(want.withIDs(begin(platform)), got), got)
		}
	}
	before := in.problems.Len()
	calls := in.trajectory(platform, json.RawMessage(in.text))
	if in.problems.Len() == before {
		_, failed, err := c.replay(context.Background(), calls)
		if err != nil {
			in.wrong("%v", err)
		}
		for _, call := range failed {
			in.wrong("the tool fails, and nothing would be expected of it: %s", call)
		}
	}
	return EndState(func(Case) (Trajectory, error) { return calls, nil })
}

// An end is what a row expects of the ledger after a run: named entities and flags. All others are as
// they were.
type end struct {
	entities map[string]map[string]json.RawMessage // by type and id: the fields that it has, null if it is removed
	flags    []string                              // that are set; nil if the row names none
	idFields map[string]string                     // by type: the field with the id, which an entity may lack
}

// newEntity is the id that stands for one new entity.
const newEntity = "*"

// end reads an object of entities, with what the world does not allow.
func (in *expectedCell) end(platform *proxytest.Platform) *end {
	e := &end{entities: map[string]map[string]json.RawMessage{}, idFields: hook.Of[text.Declared](platform).IDFields}
	named := new(rawjson.Object) // as a state has them
	var removed [][2]string
	for entityType, ids := range rawjson.Members(json.RawMessage(in.text)) {
		if entityType == "flags" && rawjson.Kind(ids) == '[' {
			e.flags = []string{}
			for flag := range rawjson.Elements(ids) {
				name := rawjson.Unquote(flag)
				if name == "" {
					in.wrong("/flags: a flag is a text that is not empty")
				} else if undeclared := text.Undeclared(name, hook.Of[text.Declared](platform).Flags); undeclared != "" {
					in.wrong("/flags: %s", undeclared)
				}
				e.flags = append(e.flags, name)
			}
			continue
		}
		if rawjson.Kind(ids) != '{' {
			in.wrong(`%s must be an object such as {"4521":{"status":"refunded"}}, not %s`, rawjson.Token(entityType), rawjson.KindName(rawjson.Kind(ids)))
			continue
		}
		e.entities[entityType] = map[string]json.RawMessage{}
		kept := new(rawjson.Object)
		for id, fields := range rawjson.Members(ids) {
			e.entities[entityType][id] = fields
			switch {
			case !rawjson.IsNull(fields):
				kept.Put(id, fields)
			case id == newEntity:
				in.wrong("%s/*: * stands for a new entity, which cannot be removed", rawjson.Token(entityType))
			default:
				removed = append(removed, [2]string{entityType, id})
			}
		}
		named.Put(entityType, kept.Bytes())
	}
	_, err := platform.With(string(named.Bytes()), nil, "")
	for _, text := range problemsOf(err) {
		in.wrong("%s", text)
	}
	if len(removed) > 0 && err == nil {
		entities := begin(platform).Entities
		for _, at := range removed {
			if entities[at[0]][at[1]] == nil {
				in.wrong("%s%s is null, which means removed, and the ledger does not have it at the start", rawjson.Token(at[0]), rawjson.Token(at[1]))
			}
		}
	}
	return e
}

// withIDs returns a ledger in which each entity has its id in the field that the ledger schema names.
func (e *end) withIDs(s ledger.Snapshot) ledger.Snapshot {
	s.Entities = maps.Clone(s.Entities)
	for entityType, field := range e.idFields {
		byID := maps.Clone(s.Entities[entityType])
		for id, entity := range byID {
			byID[id] = rawjson.With(entity, field, rawjson.Quote(id))
		}
		if byID != nil {
			s.Entities[entityType] = byID
		}
	}
	return s
}

// from returns the wanted ledger of a run that began with one ledger and ended with another. What is free
// in a named entity is as it is at the end.
func (e *end) from(before, after ledger.Snapshot) ledger.Snapshot {
	want := ledger.Snapshot{Entities: maps.Clone(before.Entities), Flags: before.Flags}
	if e.flags != nil {
		want.Flags = e.flags
	}
	for entityType, ids := range e.entities {
		was, is := before.Entities[entityType], after.Entities[entityType]
		wanted := maps.Clone(was)
		if wanted == nil {
			wanted = map[string]json.RawMessage{}
		}
		for id, fields := range ids {
			if id == newEntity {
				for _, other := range slices.Sorted(maps.Keys(is)) { // the first that fits, else the first, else none
					_, old := was[other]
					_, named := ids[other]
					fits := rawjson.Equal(is[other], overlaid(is[other], fields))
					if !old && !named && (id == newEntity || fits) {
						id = other
						if fits {
							break
						}
					}
				}
			}
			if rawjson.IsNull(fields) {
				delete(wanted, id)
			} else {
				wanted[id] = overlaid(is[id], fields)
			}
		}
		want.Entities[entityType] = wanted
	}
	return want
}

// overlaid returns a value with all that is wanted of it. Objects keep their other members, and a member that
// is wanted as null may be absent.
func overlaid(got, want json.RawMessage) json.RawMessage {
	if rawjson.Kind(want) != '{' {
		return want
	}
	members := maps.Collect(rawjson.Members(want))
	w := new(rawjson.Object)
	for name, value := range rawjson.Members(got) {
		if wanted, is := members[name]; is {
			value = overlaid(value, wanted)
		}
		delete(members, name)
		w.Put(name, value)
	}
	for name, value := range rawjson.Members(want) {
		if _, missing := members[name]; missing && !rawjson.IsNull(value) {
			w.Put(name, overlaid(nil, value))
		}
	}
	return w.Bytes()
}
