package cassette

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/text"
)

// Limits of a tape: the bytes of the file and of one line, and the number of interactions.
const (
	maxTapeBytes    = 64 << 20
	maxLineBytes    = 16 << 20
	maxInteractions = 100_000
)

// Load reads a tape of at most 64 MiB, with lines of at most 16 MiB, at most 100,000 interactions and as
// many messages of requests to models. Names must match exactly and must not repeat, unknown members are not allowed, and
// the numbers of the interactions must be in sequence.
//
// The error is an [*Error] with all problems and their lines. A tape that ends early, because the
// process that recorded it died, has the error code truncated_tape. With this code and with invalid_tape, Load
// also returns a tape, unless it has read nothing: the lines that are whole, numbered anew. A message that
// cannot be read is null there. To replay it, write [Tape.Encode] to a file.
func Load(path string) (*Tape, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, newError(codeMissing, ruleFile, path, err,
			"the tape does not exist; record one with the mode Record")
	}
	if err != nil {
		return nil, newError(toolwire.CodeUnreadable, ruleFile, path, err, "the tape cannot be opened: %s", cause(err))
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, maxTapeBytes+1))
	if err != nil {
		return nil, newError(toolwire.CodeUnreadable, ruleFile, path, err, "the tape cannot be read: %s", cause(err))
	}
	if len(text) > maxTapeBytes {
		return nil, newError(toolwire.CodeLimit, ruleLimit, path, nil, "the tape has more than %d bytes", maxTapeBytes)
	}
	r := &reading{tape: &Tape{}, seen: map[int]bool{}, ends: map[string]int{}, forked: map[string]bool{}, code: codeTape}
	r.lines(bytes.TrimPrefix(text, []byte("\uFEFF")))
	return r.result(path)
}

// cause returns the error of the system, without the path.
func cause(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	if link, ok := errors.AsType[*os.LinkError](err); ok {
		return link.Err
	}
	return err
}

// tapeLimits are the limits of one line. A line has two bodies within the limits of package proxy.
var tapeLimits = rawjson.Limits{Depth: 260}

const maxProblems = 100

// reading is the state of [Load].
type reading struct {
	tape     *Tape
	line     int
	last     int          // number of an interaction
	seen     map[int]bool // numbers of interactions
	unread   int          // lines that were not read, and whose numbers are not missed yet
	linked   int          // parts before the lines of the next request
	ends     map[string]int
	forked   map[string]bool // lists that do not all continue the one before
	repeated int             // bytes of parts, see maxRepeated
	problems problem.Bounded[Problem]
	code     toolwire.Code // of the error, if there are problems
	headless bool          // the first line is not a header, so the file may not be a tape
	stop     bool          // the lines that follow cannot be understood
	ended    bool
	torn     bool // the last line is not complete
}

// lines reads the lines. The tape keeps parts of the text.
func (r *reading) lines(text []byte) {
	for len(text) > 0 && !r.stop {
		line, rest, complete := bytes.Cut(text, []byte("\n"))
		r.line++
		r.one(bytes.TrimSuffix(line, []byte("\r")), complete)
		text = rest
	}
}

// result returns the tape, or what is wrong with it.
func (r *reading) result(path string) (*Tape, error) {
	early := ""
	switch {
	case r.stop || r.ended:
	case r.line == 0:
		r.headless = true
		r.problem(ruleHeader, "the tape is empty")
	case r.torn:
		early = "the tape breaks off in the middle of this line"
	default:
		early = fmt.Sprintf("the tape ends after line %d without a line {\"end\":true,…}", r.line)
		r.line = 0 // the problem is not about a line
	}
	if early != "" && r.problems.Len() == 0 {
		r.code = codeTruncated
		early += fmt.Sprintf("; Load returns the %s before that",
			text.Plural(len(r.tape.Interactions), "complete interaction"))
	}
	if early != "" {
		r.problem(ruleTruncated, "%s", early)
	}
	if r.headless && len(r.tape.Interactions) == 0 { // what else is wrong with the file does not help
		return nil, &Error{Code: r.code, Path: path, Problems: r.problems.Found[:1]}
	}
	if r.problems.Len() > 0 {
		r.number()
		return r.tape, &Error{Code: r.code, Path: path, Problems: r.problems.Found, More: r.problems.More}
	}
	return r.tape, nil
}

// number numbers the interactions anew, without those that were not read.
func (r *reading) number() {
	numbers := make([]int, len(r.tape.Interactions))
	for n := range r.tape.Interactions {
		numbers[n] = r.tape.Interactions[n].Number
	}
	slices.Sort(numbers)
	for n := range r.tape.Interactions {
		i := &r.tape.Interactions[n]
		before, _ := slices.BinarySearch(numbers, i.After+1)
		i.Number, i.After = n+1, min(before, n)
	}
}

func (r *reading) problem(rule, format string, args ...any) {
	r.problems.Put(Problem{r.line, rule, fmt.Sprintf(format, args...)})
}

// one reads one line. Only the last one of a tape may not be complete.
func (r *reading) one(text []byte, complete bool) {
	blank := len(bytes.TrimSpace(text)) == 0
	err := rawjson.Check(text, tapeLimits)
	switch {
	case r.line == 1:
		r.header(text, err)
	case r.ended && !blank:
		r.problem(ruleSequence, "a line follows the end of the tape; remove it")
	case r.ended:
	case len(text) > maxLineBytes:
		r.unread++
		r.problem(ruleLimit, "the line has more than %d bytes", maxLineBytes)
	case blank:
		r.unread++
		r.problem(ruleLine, "the line is empty")
	case err != nil && !complete:
		r.torn = true
	case err != nil:
		r.unread++
		r.problem(ruleLine, "%s", err)
	case rawjson.Member(text, "end") != nil:
		r.end(text)
	case rawjson.Member(text, "part") != nil:
		r.part(text)
	default:
		r.interaction(text)
	}
}

// header reads the first line.
func (r *reading) header(text []byte, err error) {
	var h header
	wrong := []error{err}
	if err == nil {
		wrong = rawjson.ReadFields(text, map[string]any{
			"cassette": &h.Version, "created": &h.Created, "name": &h.Name, "instruction": &h.Instruction,
			"input": &h.Input, "tools": &h.Tools,
		})
		if h.Version > version { // whose members this release may not know
			r.stop, r.headless, r.code = true, true, codeVersion
			r.problem(ruleVersion,
				"the tape has version %d, and this release reads versions up to %d; use a later release", h.Version, version)
			return
		}
		if h.Version < 1 {
			wrong = append(wrong, errors.New(`the member "cassette" with the version of the format is missing`))
		}
	}
	if len(wrong) > 0 {
		r.headless = true
		r.problem(ruleHeader, "this is not the header of a tape: %s", joined(wrong))
	}
	r.tape.Created, r.tape.Task = h.Created, h.Task
}

func (r *reading) end(text []byte) {
	r.ended = true
	var last end
	wrong := rawjson.ReadFields(text, map[string]any{"end": &last.End, "count": &last.Count})
	switch n := len(r.tape.Interactions); {
	case len(wrong) > 0:
		r.problem(ruleLine, "%s", joined(wrong))
	case last.Count != n && r.problems.Len() == 0:
		r.problem(ruleSequence, "the tape ends with the count %d and has %d interactions", last.Count, n)
	}
}

// part reads a line with a part of requests to models.
func (r *reading) part(text []byte) {
	var p part
	wrong := mistakes(rawjson.ReadFields(text, map[string]any{
		"part": &p.Number, "after": &p.After, "as": &p.As, "value": &p.Value,
	}))
	r.fill(p.Number - 1)
	have := len(r.tape.parts)
	wrong.must(p.Number == have+1, "/part must be %d, the number of the part: lines are missing or out of order", have+1)
	wrong.must(p.After >= 0 && p.After <= have, "/after must be from 0 to %d, the number of a part before this one", have)
	wrong.must(p.As >= 0 && p.As <= have && (p.As == 0 || r.tape.parts[p.As-1].As == 0),
		"/as must be the number of a part with a value before this one")
	wrong.must((p.As == 0) == (p.Value != nil), "one of /value and /as is necessary, and not both")
	if len(wrong) == 0 && p.As > 0 {
		r.repeated += len(r.tape.parts[p.As-1].Value)
	}
	if r.repeated > maxRepeated {
		r.stop = true
		r.problem(ruleLimit, "the parts with /as repeat more than %d bytes", maxRepeated)
		return
	}
	if have == maxInteractions {
		r.stop = true
		r.problem(ruleLimit, "the tape has more than %d parts", maxInteractions)
		return
	}
	if len(wrong) > 0 {
		r.unread++
		r.problem(ruleLine, "%s", joined(wrong))
		return
	}
	r.tape.parts = append(r.tape.parts, p)
}

// fill adds parts up to a number for lines that were not read or are missing, since the lines that follow name them.
func (r *reading) fill(last int) {
	missing := last - len(r.tape.parts)
	if missing <= 0 || last > min(4*r.line, maxInteractions) { // the number is not a size
		return
	}
	if missing > r.unread {
		r.problem(ruleSequence, "the tape lacks %s before this line", text.Plural(missing-r.unread, "part"))
	}
	r.unread = max(0, r.unread-missing)
	for n := range missing {
		r.tape.parts = append(r.tape.parts, part{Number: last - missing + n + 1, Value: json.RawMessage("null"), lost: true})
	}
}

func (r *reading) interaction(text []byte) {
	i := Interaction{Line: r.line}
	wrong := rawjson.ReadFields(text, map[string]any{
		"n": &i.Number, "after": &i.After, "kind": &i.Kind, "name": &i.Name, "method": &i.Method, "actor": &i.Actor,
		"arguments": &i.Arguments, "arguments_text": &i.ArgumentsText, "status": &i.Status, "broken": &i.Broken,
		"content_type": &i.ContentType, "retry_after": &i.RetryAfter, "headers": &i.Headers, "answer": &i.Answer,
		"answer_text": &i.AnswerText, "answer_base64": &i.AnswerBytes, "at_ms": &i.AtMS, "latency_ms": &i.LatencyMS,
		"values": &i.parts.Values, "lists": &i.parts.Lists,
	})
	if rawjson.Member(text, "after") == nil {
		i.After = min(r.last, max(i.Number-1, 0))
	}
	if len(wrong) == 0 {
		r.fill(i.parts.last())
		wrong = i.check(len(r.tape.parts))
	}
	if len(wrong) > 0 {
		r.unread++
		r.problem(ruleLine, "%s", joined(wrong))
		return
	}
	next := r.last + 1
	switch {
	case len(r.tape.Interactions) == maxInteractions:
		r.stop = true
		r.problem(ruleLimit, "the tape has more than %d interactions", maxInteractions)
		return
	case r.seen[i.Number] || i.Number < r.last:
		r.problem(ruleSequence, "/n is %d after %d: the interaction repeats, or the lines are out of order", i.Number, r.last)
	case i.Number > next+r.unread:
		r.problem(ruleSequence, "/n is %d after %d: lines are missing", i.Number, r.last)
	default:
		r.unread -= i.Number - next
	}
	if !r.seen[i.Number] {
		r.link(&i.parts)
		r.seen[i.Number], r.last = true, i.Number
		r.tape.Interactions = append(r.tape.Interactions, i)
	}
}

// link finds what comes before the parts of a request that were not read. The new parts of a list follow each other, and
// the first of them follows the list of the request before, if there has been one such list only.
func (r *reading) link(of *refs) {
	if of.last() == 0 {
		return
	}
	for name, end := range of.Lists {
		n := end
		for n > r.linked {
			p := &r.tape.parts[n-1]
			switch {
			case !p.lost:
			case n-1 > r.linked && !of.names(n-1):
				p.After = n - 1
			case !r.forked[name]:
				p.After = r.ends[name]
			}
			n = p.After
		}
		r.forked[name] = r.forked[name] || n != r.ends[name]
		r.ends[name] = end
	}
	r.linked = len(r.tape.parts)
}

// check returns all values of an interaction that are not valid.
func (i *Interaction) check(parts int) (wrong mistakes) {
	wrong.must(i.Number > 0, "/n must be the number of the interaction, from 1")
	wrong.must(i.After >= 0 && i.After < max(i.Number, 1), "/after must be from 0 to %d, the number of an interaction before this one",
		i.Number-1)
	wrong.must(slices.Contains([]string{kindTool, kindTrace, kindOther, kindModel}, i.Kind), "/kind must be tool, trace, other or model")
	wrong.must(i.Kind == kindModel || i.parts.Values == nil && i.parts.Lists == nil, "only a request to a model has /values and /lists")
	wrong.must(i.Kind == kindModel || i.Headers == nil, "only a response of a model has /headers")
	for _, numbers := range []map[string]int{i.parts.Values, i.parts.Lists} {
		for _, n := range numbers {
			wrong.must(n > 0 && n <= parts, "/values and /lists must have numbers from 1 to %d, of parts before this line", parts)
		}
	}
	wrong.must(i.Name != "", "/name is missing")
	wrong.must(slices.Contains([]string{"", brokenReset, brokenAbandoned, brokenTruncate, brokenOversize}, i.Broken),
		"/broken must be reset, truncate, oversize or abandoned")
	unanswered := i.Broken == brokenReset || i.Broken == brokenAbandoned
	wrong.must(unanswered || i.Status >= 200 && i.Status <= 999, "/status must be from 200 to 999")
	wrong.must(i.RetryAfter == nil || *i.RetryAfter >= 0, "/retry_after must not be negative")
	bodies := 0
	for _, is := range []bool{i.Answer != nil, i.AnswerText != "", i.AnswerBytes != nil} {
		if is {
			bodies++
		}
	}
	wrong.must(bodies <= 1, "only one of /answer, /answer_text and /answer_base64 is allowed")
	wrong.must(i.Arguments == nil || i.ArgumentsText == "", "only one of /arguments and /arguments_text is allowed")
	return wrong
}

// mistakes are what is wrong with a line.
type mistakes []error

func (m *mistakes) must(is bool, format string, args ...any) {
	if !is {
		*m = append(*m, fmt.Errorf(format, args...))
	}
}

// joined returns the texts of all errors on one line.
func joined(errs []error) string {
	texts := make([]string, len(errs))
	for i, err := range errs {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}
