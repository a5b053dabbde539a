package llm

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/toolwire/toolwire/internal/rawjson"
)

// tokens says where a format reports tokens, and under which names.
type tokens struct {
	// places are the paths of the reports in a body or an event. The first place with a report counts. An
	// asterisk stands for every element of a list.
	places [][]string

	// input and output are the names of the counters. The tokens of a cache, read or written, are input.
	// A format has only its own names, because a gateway may add the names of another format for the same
	// tokens.
	input, output []string

	// total is the name of the sum of both. What it has more is thinking, and so output, unless the report
	// names what it is: see isInput.
	total    string
	thinking string // the name of the counter of thinking, if output has it
}

// maxTokens is more than a response can have.
const maxTokens = 1 << 40

// usage is what one response reports.
type usage struct {
	reports map[int]*report // by place
	wrong   bool            // a counter is not a number of tokens
}

// A report has what was reported at one place. A later report replaces the counters that it names. If all
// of its input is 0, or all of its output, it replaces none of them: some servers count in their first
// event only, others in their last.
type report struct {
	counters      map[string]int64
	audio         bool  // the report names audio of the prompt
	cached        int64 // tokens of the prompt that the report names as read from a cache
	input, output int64 // of all iterations, which replace the counters; 0 if the server names none
}

// read reads the reports of a body or an event.
func (u *usage) read(doc json.RawMessage, t *tokens) {
	if !bytes.Contains(doc, []byte("sage")) { // most events have none
		return
	}
	for place, paths := range t.places {
		for _, path := range paths {
			eachAt(doc, path, func(object json.RawMessage) {
				if u.reports[place] == nil {
					if u.reports == nil {
						u.reports = map[int]*report{}
					}
					u.reports[place] = &report{counters: map[string]int64{}}
				}
				u.reports[place].read(object, t, &u.wrong)
			})
		}
	}
}

// eachAt calls f for the objects at a path.
func eachAt(value json.RawMessage, path string, f func(object json.RawMessage)) {
	name, rest, _ := strings.Cut(path, "/")
	switch {
	case path == "":
		if rawjson.Kind(value) == '{' {
			f(value)
		}
		return
	case name == "*":
		for element := range rawjson.Elements(value) {
			eachAt(element, rest, f)
		}
		return
	}
	if value = member(value, name); value != nil {
		eachAt(value, rest, f)
	}
}

func (r *report) read(object json.RawMessage, t *tokens, wrong *bool) {
	for _, names := range [][]string{t.input, t.output, {t.total}} {
		if found := counters(object, names, wrong); sum(found) > 0 {
			maps.Copy(r.counters, found)
		}
	}
	if n, ok := count(member(member(object, "prompt_tokens_details"), "cached_tokens")); ok {
		r.cached = n
	}
	var input, output int64
	for iteration := range rawjson.Elements(member(object, "iterations")) {
		input += sum(counters(iteration, t.input, wrong))
		output += sum(counters(iteration, t.output, wrong))
	}
	if input+output > 0 {
		r.input, r.output = input, output
	}
	for name, value := range rawjson.Members(object) {
		if strings.HasPrefix(name, "prompt_audio") && isSet(value) {
			r.audio = true
		}
	}
}

// counters returns the counters of these names.
func counters(object json.RawMessage, names []string, wrong *bool) (found map[string]int64) {
	for name, value := range rawjson.Members(object) {
		if !slices.Contains(names, name) || !isSet(value) {
			continue
		}
		n, ok := count(value)
		if !ok {
			*wrong = true
			continue
		}
		if found == nil {
			found = map[string]int64{}
		}
		found[name] = n
	}
	return found
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
	return r.audio || input == 0 || more == r.cached || r.counters[t.thinking] > 0
}

func sum(counters map[string]int64) (n int64) {
	for _, more := range counters {
		n += more
	}
	return n
}

// total returns the tokens of the input and of the output.
func (u *usage) total(t *tokens) (input, output int64) {
	for place := range t.places {
		r := u.reports[place]
		if r == nil || len(r.counters) == 0 && r.input+r.output == 0 {
			continue
		}
		if r.input+r.output > 0 {
			return r.input, r.output
		}
		for _, name := range t.input {
			input += r.counters[name]
		}
		for _, name := range t.output {
			output += r.counters[name]
		}
		more := max(r.counters[t.total]-input-output, 0)
		if r.isInput(more, input, t) {
			return input + more, output
		}
		return input, output + more
	}
	return 0, 0
}
