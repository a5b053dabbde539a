package llm

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/toolwire/toolwire/internal/rawjson"
)

// tokens says where a format reports tokens, and under which names. Capitals and underscores of names do not
// count: a server may write the names of the API or of its protocol buffers.
type tokens struct {
	// places are the paths of the reports in a body or an event. The first place with a report counts. An
	// asterisk stands for every element of a list, or member of an object.
	places [][]string

	// input and output are the names of the counters. The tokens of a cache, read or written, are input.
	// Names of another format count only if a report has none of these, because a gateway may add them for
	// the same tokens.
	input, output []string

	// total is the name of the sum of both. What it has more is thinking, and so output, unless the report
	// names what it is: see isInput.
	total    string
	thinking string // the name of the counter of thinking, if output has it
}

// elsewhere are where servers report tokens that do not report them at a place of the format.
var elsewhere = [][]string{
	{"usage", "usageMetadata"}, {"*/usage", "*/usageMetadata"}, {"*/*/usage", "*/*/usageMetadata"}, {"*/*/*/usage", "*/*/*/usageMetadata"},
}

// tables are the tokens of all formats, in a fixed order.
var tables = sync.OnceValue(func() (all []*tokens) {
	for _, f := range slices.Sorted(maps.Keys(dialects)) {
		all = append(all, &dialects[f].tokens)
	}
	return all
})

// maxTokens is more than a response can have.
const maxTokens = 1 << 40

// usage is what one response reports.
type usage struct {
	reports map[int]*report // by place
	wrong   bool            // a counter is not a number of tokens
	numbers bool            // a report has numbers, under whatever names
}

// A report has what was reported at one place, under the names of any format. A later report replaces the
// counters that it names. If all of its input is 0, or all of its output, it replaces none of them: some
// servers count in their first event only, others in their last.
type report struct {
	counters      map[string]int64
	audio         bool  // the report names audio of the prompt
	cached        int64 // tokens of the prompt that the report names as read from a cache
	input, output int64 // of all iterations, which replace the counters; 0 if the server names none
}

// read reads the reports of a body or an event.
func (u *usage) read(doc json.RawMessage, t *tokens) {
	if t.places[0][0] != "" && !bytes.Contains(doc, []byte("usage")) && !bytes.Contains(doc, []byte("Usage")) { // most events have none
		return
	}
	found := false
	for place, paths := range slices.Concat(t.places, elsewhere) {
		if found && place >= len(t.places) {
			return
		}
		for _, path := range paths {
			eachAt(doc, path, func(object json.RawMessage) {
				if u.reports == nil {
					u.reports = map[int]*report{}
				}
				if u.reports[place] == nil {
					u.reports[place] = &report{counters: map[string]int64{}}
				}
				u.report(u.reports[place], object, t)
				found = true
			})
		}
	}
}

// eachAt calls f for the objects at a path. Arguments of calls are the model's.
func eachAt(value json.RawMessage, path string, f func(object json.RawMessage)) {
	name, rest, _ := strings.Cut(path, "/")
	if path == "" {
		if rawjson.Kind(value) == '{' {
			f(value)
		}
		return
	}
	if name == "*" {
		for element := range rawjson.Elements(value) {
			eachAt(element, rest, f)
		}
	}
	for key, inner := range rawjson.Members(value) {
		if name == "*" && key != "input" && key != "arguments" || plainName(key) == plainName(name) {
			eachAt(inner, rest, f)
		}
	}
}

// plainName returns a name without what its spellings differ in.
func plainName(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

func (u *usage) report(r *report, object json.RawMessage, t *tokens) {
	found := map[string]int64{}
	for name, value := range rawjson.Members(object) {
		name = plainName(name)
		if n, ok := count(value); ok {
			found[name] = n
			u.numbers = u.numbers || n > 0
		} else if isSet(value) && slices.ContainsFunc(slices.Concat(t.input, t.output, []string{t.total}), func(own string) bool { return plainName(own) == name }) {
			u.wrong = true
		}
		r.audio = r.audio || strings.HasPrefix(name, "promptaudio") && isSet(value)
	}
	for _, of := range tables() {
		for _, names := range [][]string{of.input, of.output, {of.total}} {
			if sum(found, names) == 0 {
				continue
			}
			for _, name := range names {
				if n, ok := found[plainName(name)]; ok {
					r.counters[plainName(name)] = n
				}
			}
		}
	}
	if n, ok := count(member(member(object, "prompt_tokens_details"), "cached_tokens")); ok {
		r.cached = n
	}
	var all report
	for iteration := range rawjson.Elements(member(object, "iterations")) {
		one := report{counters: map[string]int64{}}
		u.report(&one, iteration, t)
		all.input, all.output = all.input+sum(one.counters, t.input), all.output+sum(one.counters, t.output)
	}
	if all.input+all.output > 0 {
		r.input, r.output = all.input, all.output
	}
}

// sum returns the sum of the counters of these names.
func sum(counters map[string]int64, names []string) (n int64) {
	for _, name := range names {
		n += counters[plainName(name)]
	}
	return n
}

// count returns a number of tokens.
func count(value json.RawMessage) (n int64, ok bool) {
	text := plain(value)
	if text == "" || !strings.Contains("-0123456789", text[:1]) || !json.Valid([]byte(text)) {
		return 0, false
	}
	digits, ok := rawjson.ParseNumber(text).Plain(20)
	return n, ok && json.Unmarshal([]byte(digits), &n) == nil && n >= 0 && n <= maxTokens
}

// isInput reports whether tokens that the total has more than the parts are input. Some servers do not
// count audio, documents or what was read from a cache in the prompt.
func (r *report) isInput(more, input int64, t *tokens) bool {
	return r.audio || input == 0 || more == r.cached || r.counters[plainName(t.thinking)] > 0
}

// total returns the tokens of the input and of the output. In a response that is not known to be of the API only its
// own places and names count.
func (u *usage) total(t *tokens, known bool) (input, output int64) {
	places, names := len(t.places), []*tokens{t}
	if known {
		places, names = places+len(elsewhere), append(names, tables()...)
	}
	for place := range places {
		r := u.reports[place]
		switch {
		case r == nil || len(r.counters) == 0 && r.input+r.output == 0:
			continue
		case r.input+r.output > 0:
			return r.input, r.output
		}
		for _, of := range names {
			if input == 0 {
				input = sum(r.counters, of.input)
			}
			if output == 0 {
				output = sum(r.counters, of.output)
			}
		}
		more := max(r.counters[plainName(t.total)]-input-output, 0)
		if r.isInput(more, input, t) {
			return input + more, output
		}
		return input, output + more
	}
	return 0, 0
}
