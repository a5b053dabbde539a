package proxytest

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/text"
)

// AssertCalled fails the test unless a call of the tool with these arguments has a result.
// arguments is a JSON object; the call's arguments may have more members. "" matches any arguments.
func (r *Log) AssertCalled(t testing.TB, tool, arguments string) {
	t.Helper()
	if !r.wantJSON(t, "AssertCalled", arguments) || !r.wantTools(t, tool) {
		return
	}
	if !slices.ContainsFunc(r.Calls, matching(tool, arguments)) {
		t.Errorf("%s was not called%s\n%s", tool, with(arguments), r.happened())
	}
}

// AssertNotCalled fails the test if the agent requested the tool with these arguments, with or
// without a result. The arguments match as in [Log.AssertCalled].
func (r *Log) AssertNotCalled(t testing.TB, tool, arguments string) {
	t.Helper()
	if !r.wantJSON(t, "AssertNotCalled", arguments) || !r.wantTools(t, tool) {
		return
	}
	match := matching(tool, arguments)
	if slices.ContainsFunc(r.Calls, match) || slices.ContainsFunc(r.Refused, match) {
		t.Errorf("%s was called%s\n%s", tool, with(arguments), r.happened())
	}
}

// AssertCalledTimes fails the test unless n calls of the tool have a result. Attempts that the
// client repeated do not count.
func (r *Log) AssertCalledTimes(t testing.TB, tool string, n int) {
	t.Helper()
	if !r.wantTools(t, tool) {
		return
	}
	if got := len(keep(r.Calls, matching(tool, ""))); got != n {
		t.Errorf("%s was called %s, want %d\n%s", tool, text.Plural(got, "time"), n, r.happened())
	}
}

// AssertOrder fails the test unless these tools were called in this order, with results. Other
// calls may come between them.
func (r *Log) AssertOrder(t testing.TB, tools ...string) {
	t.Helper()
	if !r.wantTools(t, tools...) {
		return
	}
	next := 0
	for _, c := range r.Calls {
		if next < len(tools) && c.Tool == tools[next] {
			next++
		}
	}
	if next < len(tools) {
		after := "at all"
		if next > 0 {
			after = "after " + strings.Join(tools[:next], ", ")
		}
		t.Errorf("want the calls %s in this order, but %s was not called %s\n%s",
			strings.Join(tools, ", "), tools[next], after, r.happened())
	}
}

// AssertState fails the test unless the ledger contains the entity, such as "order/4521", with
// these fields. fields is a JSON object; the entity may have more members.
func (r *Log) AssertState(t testing.TB, entity, fields string) {
	t.Helper()
	entityType, id, ok := r.wantEntity(t, "AssertState", entity)
	if !ok || !r.wantJSON(t, "AssertState", fields) {
		return
	}
	got, ok := r.State.Entities[entityType][id]
	if field := r.declared.IDFields[entityType]; ok && field != "" {
		got = rawjson.With(got, field, rawjson.Quote(id))
	}
	switch {
	case !ok:
		t.Errorf("the ledger has no %s; it has %s\n%s", entity, r.entities(entityType), r.changed())
	case fields != "" && !rawjson.Contains(got, json.RawMessage(fields)):
		t.Errorf("%s is %s\nwant it to contain %s\n%s", entity, text.Line(string(got), maxValue), fields, r.changed())
	}
}

// AssertNoEntity fails the test if the ledger contains the entity, such as "order/4521".
func (r *Log) AssertNoEntity(t testing.TB, entity string) {
	t.Helper()
	entityType, id, ok := r.wantEntity(t, "AssertNoEntity", entity)
	if !ok {
		return
	}
	if got, ok := r.State.Entities[entityType][id]; ok {
		t.Errorf("the ledger has %s: %s\n%s", entity, text.Line(string(got), maxValue), r.changed())
	}
}

// AssertFlag fails the test unless the flag is set in the ledger.
func (r *Log) AssertFlag(t testing.TB, flag string) {
	t.Helper()
	if slices.Contains(r.State.Flags, flag) {
		return
	} else if wrong := text.Undeclared(flag, r.declared.Flags); wrong != "" {
		t.Errorf("the flag %s", wrong)
		return
	}
	t.Errorf("the flag %s is not set; flags that are set: %s\n%s", text.Name(flag), text.List(r.State.Flags), r.changed())
}

// AssertOnlyChanged fails the test if the run changed something in the ledger that no path covers,
// or changed nothing under a path. A path names an entity, "order/4521", or a field of it,
// "order/4521/status", and covers everything below. It is written as a JSON Pointer: the id a/b is
// "order/a~1b". A flag is "flag:" and its name. Without paths the run must not have changed
// anything.
func (r *Log) AssertOnlyChanged(t testing.TB, paths ...string) {
	t.Helper()
	used := make([]bool, len(paths))
	var wrong []string
	for _, change := range r.Changes {
		at := strings.TrimPrefix(change.Pointer, "/")
		if change.Flag != "" {
			at = "flag:" + change.Flag
		}
		allowed := false
		for i, path := range paths {
			path = strings.Trim(path, "/")
			if at == path || change.Flag == "" && strings.HasPrefix(at, path+"/") {
				allowed, used[i] = true, true
			}
		}
		if !allowed {
			wrong = append(wrong, "changed, but should not have: "+text.Line(change.String(), maxReason))
		}
	}
	for i, path := range paths {
		if !used[i] {
			wrong = append(wrong, "did not change: "+path)
		}
	}
	if len(wrong) > 0 {
		t.Errorf("the ledger changed otherwise than it should\n  %s\n%s", strings.Join(wrong, "\n  "), r.happened())
	}
}

// AssertNoCallAfterEnd fails the test if the agent sent a request after the proxy had answered one
// with a 401 that ends the run. Requests that were sent before that answer are allowed.
func (r *Log) AssertNoCallAfterEnd(t testing.TB) {
	t.Helper()
	told := 0
	for _, c := range r.Refused {
		if c.Status == http.StatusUnauthorized && httpcall.RunOver(c.ErrorClass) && (told == 0 || c.answered < told) {
			told = c.answered
		}
	}
	what := ""
	for _, e := range slices.Concat(r.Traces, r.Telemetry) {
		if e.Order > told && what == "" {
			what = "sent the trace event " + string(e.Event)
		}
	}
	for _, c := range r.Requests() {
		if c.Order > told && what == "" {
			what = "called " + c.Tool
		}
	}
	if told > 0 && what != "" {
		t.Errorf("the agent was told that the run is over and %s\n%s", text.Line(what, maxShown), r.happened())
	}
}

// AssertWithinRate fails the test if the platform refused a request because of the limit of the run
// token: see [Options].RatePerMinute.
func (r *Log) AssertWithinRate(t testing.TB) {
	t.Helper()
	over := func(c Call) bool { return c.Status == http.StatusTooManyRequests && c.Rule == nil }
	if i := slices.IndexFunc(r.Refused, over); i >= 0 {
		c := r.Refused[i]
		t.Errorf("the agent went over the rate limit with %s at %s\n%s", text.Line(c.Tool, maxShown), c.At.Format("15:04:05.000"), r.happened())
	}
}

func matching(tool, arguments string) func(Call) bool {
	return func(c Call) bool {
		return c.Tool == tool && !c.Trace && (arguments == "" || rawjson.Contains(c.Arguments, json.RawMessage(arguments)))
	}
}

func with(arguments string) string {
	if arguments == "" {
		return ""
	}
	return " with " + arguments
}

func (r *Log) wantJSON(t testing.TB, who, text string) bool {
	t.Helper()
	if text != "" && (rawjson.Kind(json.RawMessage(text)) != '{' || !json.Valid([]byte(text))) {
		t.Errorf("%s: the expected value is not a JSON object: %s", who, text)
		return false
	}
	return true
}

// wantTools fails the test if the world does not declare one of the tools, and the agent did not
// request it.
func (r *Log) wantTools(t testing.TB, tools ...string) bool {
	t.Helper()
	for _, tool := range tools {
		wrong, requested := text.Undeclared(tool, r.declared.Tools), matching(tool, "")
		if wrong != "" && !slices.ContainsFunc(r.Calls, requested) && !slices.ContainsFunc(r.Refused, requested) {
			t.Errorf("%s", wrong)
			return false
		}
	}
	return true
}

// wantEntity splits the name of an entity. It fails the test if the name has another form, or if the
// ledger schema does not declare the type.
func (r *Log) wantEntity(t testing.TB, who, entity string) (entityType, id string, ok bool) {
	t.Helper()
	entityType, id, ok = strings.Cut(strings.TrimPrefix(entity, "/"), "/")
	if !ok {
		t.Errorf("%s: %q is not an entity, such as \"order/4521\"", who, entity)
	} else if wrong := text.Undeclared(entityType, r.declared.Entities); wrong != "" {
		ok = false
		t.Errorf("the entity type %s", wrong)
	}
	return entityType, id, ok
}

// entities lists the entities of a type, or all if the ledger has none of the type.
func (r *Log) entities(entityType string) string {
	types := []string{entityType}
	if len(r.State.Entities[entityType]) == 0 {
		types = slices.Sorted(maps.Keys(r.State.Entities))
	}
	var names []string
	for _, each := range types {
		for _, id := range slices.Sorted(maps.Keys(r.State.Entities[each])) {
			names = append(names, each+"/"+id)
		}
	}
	return text.List(names)
}

// happened returns the events of the run, for the text of a failure.
func (r *Log) happened() string {
	if text := r.String(); text != "" {
		return "what happened:\n  " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  ")
	}
	return "no tool was called"
}

func (r *Log) changed() string {
	if len(r.Changes) == 0 {
		return "the run changed nothing in the ledger"
	}
	lines := make([]string, len(r.Changes))
	for i, change := range r.Changes {
		lines[i] = "  " + text.Line(change.String(), maxReason)
	}
	return "what the run changed:\n" + strings.Join(lines, "\n")
}
