package ledger

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// An Update is one change that an adapter makes: to one entity, or one flag. [State.Apply] applies
// it.
type Update struct {
	Op         Op                         `json:"op"`
	EntityType string                     `json:"entity_type,omitempty"` // "" with set_flag
	ID         string                     `json:"id,omitempty"`          // "" with set_flag
	Fields     map[string]json.RawMessage `json:"fields,omitempty"`      // values as in the response
	Flag       string                     `json:"flag,omitempty"`        // set_flag only
}

// String returns the update without field values, such as "update order/4521: status, total".
func (u Update) String() string {
	if u.Op == OpSetFlag {
		return "set_flag " + printable(u.Flag)
	}
	text := string(u.Op) + " " + printable(u.EntityType) + "/" + printable(u.ID)
	if len(u.Fields) > 0 {
		text += ": " + strings.Join(sortedKeys(u.Fields), ", ")
	}
	return text
}

// An Outcome is the result of a rule for one call: the updates, and a step for every decision. The
// zero value writes nothing.
type Outcome struct {
	Updates []Update `json:"updates,omitempty"`
	Steps   []Step   `json:"steps"`
}

// Explain returns a report for people: the updates, then one line per step. It shows the entity's
// id and the flags, which contain data of the call, but no field values. Its wording may change
// between releases; programs use the codes.
func (o Outcome) Explain() string {
	var b strings.Builder
	switch len(o.Updates) {
	case 0:
		b.WriteString("nothing written\n")
	case 1:
		b.WriteString("1 update\n")
	default:
		fmt.Fprintf(&b, "%d updates\n", len(o.Updates))
	}
	for _, u := range o.Updates {
		b.WriteString("  " + u.String() + "\n")
	}
	if len(o.Steps) > 0 {
		b.WriteString("because\n")
	}
	for _, s := range o.Steps {
		b.WriteString("  " + s.Message + "\n")
	}
	return b.String()
}

// A Step is one decision of an adapter, in words and as a code. It contains no value of the call.
//
// Code is one of these stable words. These lead to an update:
//
//	id_found             id_from matched a string, number or boolean
//	field_set            a path of field_map matched; null is a match
//	flag_set             all placeholders of a flag were resolved
//
// These leave out one field or one flag:
//
//	field_not_found      a path of field_map matched nothing
//	field_unusable       what the path matched or visits exceeds the limits
//	field_malformed      a path of field_map is not a JSONPath
//	field_unsupported    a path of field_map is not evaluated here, such as one with several ..
//	fields_ignored       op remove does not write fields
//	flag_unresolved      a placeholder does not name an argument with a scalar value
//	flag_malformed       a template has a stray brace or is empty
//	flag_unusable        the flag is empty or too long
//	args_unusable        the arguments are not a JSON object within the limits; they count as none
//
// After these nothing is written:
//
//	id_not_found         id_from matched nothing
//	id_not_scalar        id_from matched an object or an array
//	id_empty             id_from matched null or an empty string
//	id_unusable          the id is too long, or too large a number
//	response_unusable    the response is not JSON within the limits
//	adapter_malformed    the declaration has the problem that the step describes
//	adapter_unsupported  the declaration uses what is not evaluated here: a path, a member or an op
//	no_adapter           there is no adapter: the rule is nil or zero
type Step struct {
	Code    string `json:"code"`
	Pointer string `json:"pointer"` // JSON Pointer of the member of the adapter that decided, such as /field_map/status
	Message string `json:"message"` // one sentence
}

// newStep makes a step. where is the subject of its sentence. detail is what it met, in words, such
// as "an object"; "" if the code says it all.
func newStep(code, pointer, where, detail string) Step {
	return Step{code, pointer, sentence(code, where, detail)}
}

// describeMember names a member of the adapter. source is the member as written: a path or a flag template.
func describeMember(pointer, source string) string {
	where := strings.TrimPrefix(pointer, "/")
	if source != "" {
		where += " " + strconv.Quote(source)
	}
	return where
}

func sentence(code, where, detail string) string {
	switch code {
	case "id_found":
		return where + " matched " + detail + ": this is the entity's id"
	case "id_not_found":
		return where + " matched nothing, so there is no id: nothing is written"
	case "id_not_scalar", "id_empty":
		return where + " matched " + detail + ", so there is no id: nothing is written"
	case "id_unusable":
		return where + " " + detail + ", so there is no id: nothing is written"
	case "field_set":
		return where + " matched " + detail + ": the field is written"
	case "field_not_found":
		return where + " matched nothing: the field is left out"
	case "field_unusable", "field_malformed", "field_unsupported":
		return where + " " + detail + ": the field is left out"
	case "fields_ignored":
		return where + " is ignored: remove writes no fields"
	case "flag_set":
		return where + " is complete: the flag is set"
	case "flag_unresolved", "flag_malformed", "flag_unusable":
		return where + " " + detail + ": the flag is dropped"
	case "args_unusable":
		return "the arguments cannot be used (" + detail + "): they count as none"
	case "response_unusable":
		return "the response cannot be used (" + detail + "): nothing is written"
	case "adapter_malformed":
		if where == "" {
			where = "the adapter"
		}
		return where + " " + detail + ": the adapter is malformed and nothing is written"
	case "adapter_unsupported":
		return where + " " + detail + ": nothing is written"
	}
	return "there is no adapter: nothing is written"
}

// printable quotes a text that would not stay on one line.
func printable(s string) string {
	if quoted := strconv.Quote(s); len(quoted) != len(s)+2 || s == "" {
		return quoted
	}
	return s
}
