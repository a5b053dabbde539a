package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolwire/toolwire/internal/jsonpath"
	"github.com/toolwire/toolwire/internal/rawjson"
)

// Eval evaluates the rule for one call, given its arguments object and the tool's response as JSON.
// It never fails; the Steps of the [Outcome] explain its decisions. Equal input gives an equal
// outcome. Eval does not modify or keep args and response. The rules are from the Tools schema:
//
//   - If id_from matches nothing, an object or array, null or an empty string, nothing is written,
//     not even a flag.
//   - A field_map path that matches nothing omits that field. Null is a match: the field becomes
//     null.
//   - A path that can match several values selects the array of all its matches, even of one. They
//     are in the order of RFC 9535; the comment of the package says how members are sorted. Without
//     a match the path matches nothing.
//   - A field_map path that is malformed or not supported omits its field.
//   - A flag with a placeholder that cannot be resolved is dropped; the others stay. {id} is the
//     entity's id, or with set_flag the argument of that name. Any other {name} is the argument of
//     that name, which must be a string, number or boolean. {a.b} is the argument "a.b", not a
//     member of an argument.
//   - Numbers in ids and flags are written in plain decimal digits, exact and without exponent:
//     4521, 4521.0 and 4.521e3 are the id "4521". A number of more than 64 characters cannot be
//     used.
//
// Numbers in fields keep their digits. Members of objects are sorted by name. Strings are written
// without unnecessary escapes; half of a surrogate pair becomes U+FFFD.
//
// A response cannot be used if it is not one JSON value, if it repeats a member name anywhere, or
// if it exceeds a limit: 1 MiB, 64 levels of nesting. The same holds for arguments. The paths of a
// rule together take at most 2,000,000 steps in each and write at most 1 MiB. The steps of a path
// that can match several values are known before it is evaluated, and a path that would exceed the
// remaining steps is left out. Its steps are the values down to its length, five times with *, and
// with .. all values by the square of their depth. Each name and index of a list counts again. An
// id or a flag has at most 1,024 bytes. Only what the adapter refers to is read: a set_flag rule
// does not read the response.
func (r *Rule) Eval(args, response json.RawMessage) Outcome {
	switch {
	case r == nil || r.op == "" && len(r.refused) == 0:
		return Outcome{Steps: []Step{newStep("no_adapter", "", "", "")}}
	case len(r.refused) > 0:
		return Outcome{Steps: slices.Clone(r.refused)}
	}
	e := evaluation{rule: r, bytesLeft: maxBytes}
	e.out.Steps = make([]Step, 0, 2+len(r.fields)+len(r.flags)+len(r.ignored))
	if r.readsResponse {
		doc, problem := readText(response)
		if problem != "" {
			e.step("response_unusable", "", "", problem)
			return e.out
		}
		e.response = doc
	}
	if r.readsArgs {
		e.readArgs(args)
	}
	if r.op != OpSetFlag {
		if !e.findID() {
			return e.out
		}
		update := Update{Op: r.op, EntityType: r.entityType, ID: e.id, Fields: e.findFields()}
		e.out.Updates = append(make([]Update, 0, 1+len(r.flags)), update)
	}
	e.out.Steps = append(e.out.Steps, r.ignored...)
	for i := range r.flags {
		e.fillFlag(&r.flags[i])
	}
	return e.out
}

// readText validates text. problem is why it cannot be used, or "".
func readText(text json.RawMessage) (doc *jsonpath.Document, problem string) {
	if len(text) > maxBytes {
		return nil, fmt.Sprintf("more than %d bytes", maxBytes)
	}
	limits := rawjson.Limits{Depth: maxDepth, Mode: rawjson.Unique}
	var value json.RawMessage
	err := rawjson.Read(text, limits, func(reader *rawjson.Reader) (err error) {
		value, err = reader.Value()
		return err
	})
	if e, ok := errors.AsType[*rawjson.Error](err); ok && e.Ambiguous {
		return nil, fmt.Sprintf("ambiguous: %s %s", e.Pointer, e.Problem)
	}
	if err != nil {
		return nil, err.Error()
	}
	return jsonpath.NewDocument(value, maxSteps), ""
}

// evaluation is one run of a rule.
type evaluation struct {
	rule           *Rule
	response, args *jsonpath.Document // nil if not read or not usable
	id             string
	bytesLeft      int
	out            Outcome
}

func (e *evaluation) step(code, pointer, where, detail string) {
	e.out.Steps = append(e.out.Steps, newStep(code, pointer, where, detail))
}

func (e *evaluation) readArgs(args json.RawMessage) {
	if text := bytes.TrimSpace(args); len(text) == 0 || string(text) == "null" {
		return // a call without arguments
	}
	doc, problem := readText(args)
	if problem == "" && !doc.IsObject() {
		problem = "not a JSON object"
	}
	if problem != "" {
		e.step("args_unusable", "", "", problem)
		return
	}
	e.args = doc
}

func (e *evaluation) find(path *jsonpath.Path) (json.RawMessage, error) {
	doc := e.response
	if path.Root == jsonpath.Args {
		doc = e.args
	}
	if doc == nil {
		return nil, jsonpath.ErrNotFound
	}
	return path.Find(doc, e.bytesLeft)
}

func (e *evaluation) findID() bool {
	path := e.rule.idPath
	value, err := e.find(path)
	switch {
	case errors.Is(err, jsonpath.ErrNotFound):
		e.step("id_not_found", "/id_from", e.rule.idWhere, "")
		return false
	case err != nil:
		e.step("id_unusable", "/id_from", e.rule.idWhere, err.Error())
		return false
	}
	if path.Many() { // one scalar is that scalar, whatever selects it
		if matches := slices.Collect(rawjson.Elements(value)); len(matches) == 1 {
			value = matches[0]
		}
	}
	id, scalar := scalarText(value)
	switch {
	case value[0] == '{' || value[0] == '[':
		e.step("id_not_scalar", "/id_from", e.rule.idWhere, rawjson.KindName(rawjson.Kind(value)))
	case string(value) == "null":
		e.step("id_empty", "/id_from", e.rule.idWhere, rawjson.KindName(rawjson.Kind(value)))
	case !scalar:
		e.step("id_unusable", "/id_from", e.rule.idWhere, "matched too large a number")
	case id == "":
		e.step("id_empty", "/id_from", e.rule.idWhere, "an empty string")
	case len(id) > maxKey:
		e.step("id_unusable", "/id_from", e.rule.idWhere, fmt.Sprintf("matched a string of more than %d bytes", maxKey))
	default:
		e.id = id
		e.step("id_found", "/id_from", e.rule.idWhere, rawjson.KindName(rawjson.Kind(value)))
		return true
	}
	return false
}

func (e *evaluation) findFields() map[string]json.RawMessage {
	if len(e.rule.fields) == 0 {
		return nil
	}
	fields := make(map[string]json.RawMessage, len(e.rule.fields))
	for i := range e.rule.fields {
		f := &e.rule.fields[i]
		if f.skipped != nil {
			e.out.Steps = append(e.out.Steps, *f.skipped)
			continue
		}
		value, err := e.find(f.path)
		switch {
		case err == nil:
			e.bytesLeft -= len(value)
			fields[f.name] = value
			e.step("field_set", f.pointer, f.where, rawjson.KindName(rawjson.Kind(value)))
		case errors.Is(err, jsonpath.ErrNotFound):
			e.step("field_not_found", f.pointer, f.where, "")
		default:
			e.step("field_unusable", f.pointer, f.where, err.Error())
		}
	}
	return fields
}

// fillFlag adds the update for a flag, unless its template cannot be filled. Whether the ledger schema
// allows the flag is decided by [State.Apply].
func (e *evaluation) fillFlag(f *flagTemplate) {
	if f.problem != "" {
		e.step("flag_malformed", f.pointer, f.where, f.problem)
		return
	}
	values := make([]string, len(f.Names))
	for i, name := range f.Names {
		value, problem := e.placeholder(name)
		if problem != "" {
			e.step("flag_unresolved", f.pointer, f.where, problem)
			return
		}
		values[i] = value
	}
	flag, ok := f.Fill(values, maxKey)
	switch {
	case !ok:
		e.step("flag_unusable", f.pointer, f.where, fmt.Sprintf("would be longer than %d bytes", maxKey))
	case strings.TrimSpace(flag) == "":
		e.step("flag_unusable", f.pointer, f.where, "comes out empty")
	default:
		e.out.Updates = append(e.out.Updates, Update{Op: OpSetFlag, Flag: flag})
		e.step("flag_set", f.pointer, f.where, "")
	}
}

// placeholder returns the text for {name}. problem is why there is none, or "".
func (e *evaluation) placeholder(name string) (text, problem string) {
	if name == "id" && e.id != "" {
		return e.id, ""
	}
	var value json.RawMessage
	found := false
	if e.args != nil {
		value, found = e.args.Member(name)
	}
	if !found && name == "id" {
		return "", "has no argument for {id}, and set_flag has no entity with an id"
	}
	if !found {
		return "", "has no argument for {" + name + "}"
	}
	text, ok := scalarText(value)
	if !ok {
		return "", "needs a string, number or boolean for {" + name + "}, and the argument is " + unusable(value)
	}
	return text, ""
}

func unusable(value json.RawMessage) string {
	if rawjson.Kind(value) == '0' {
		return "too large a number"
	}
	return rawjson.KindName(rawjson.Kind(value))
}

// scalarText returns a string, number or boolean as ids and flags contain it.
func scalarText(value json.RawMessage) (text string, ok bool) {
	switch rawjson.Kind(value) {
	case '"':
		return rawjson.Unquote(value), true
	case '0':
		return rawjson.ParseNumber(string(value)).Plain(maxNumber)
	case 't', 'f':
		return string(value), true
	}
	return "", false
}
