package ledger

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// An Update is one change that an adapter makes: to one entity, or one flag. [State.Apply] applies it.
type Update struct {
	Op         Op                         `json:"op"`
	EntityType string                     `json:"entity_type,omitempty"` // "" with set_flag
	ID         string                     `json:"id,omitempty"`          // "" with set_flag
	Fields     map[string]json.RawMessage `json:"fields,omitempty"`      // values as the response has them
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

// An Outcome is what an adapter makes of one call: the updates, and a step for every decision on the way.
// The zero value writes nothing.
type Outcome struct {
	Updates []Update `json:"updates,omitempty"`
	Steps   []Step   `json:"steps"`
}

// Explain returns a report for people: the updates, then one line per step. It shows the entity's id and the flags,
// which hold data of the call, but no field values. Its wording may change between releases; programs use the codes.
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
		b.WriteString("  " + s.String() + "\n")
	}
	return b.String()
}

// A StepCode says what an adapter decided in one step. Codes are stable.
type StepCode string

// Steps that lead to an update.
const (
	StepIDFound  StepCode = "id_found"  // id_from matched a string, number or boolean
	StepFieldSet StepCode = "field_set" // a field_map path matched; null is a match
	StepFlagSet  StepCode = "flag_set"  // all placeholders of a flag were resolved
)

// Steps that leave out one field or one flag.
const (
	StepFieldNotFound  StepCode = "field_not_found" // a field_map path matched nothing
	StepFieldUnusable  StepCode = "field_unusable"  // what the path matched, or visits, exceeds the limits
	StepFieldsIgnored  StepCode = "fields_ignored"  // op remove writes no fields
	StepFlagUnresolved StepCode = "flag_unresolved" // a placeholder names no argument with a scalar value
	StepFlagMalformed  StepCode = "flag_malformed"  // a template has a stray brace or is empty
	StepFlagUnusable   StepCode = "flag_unusable"   // the flag came out empty or too long
	StepArgsUnusable   StepCode = "args_unusable"   // the arguments are not a JSON object within the limits: they count as none
)

// Steps after which nothing is written.
const (
	StepIDNotFound         StepCode = "id_not_found"        // id_from matched nothing
	StepIDNotScalar        StepCode = "id_not_scalar"       // id_from matched an object or an array
	StepIDEmpty            StepCode = "id_empty"            // id_from matched null or an empty string
	StepIDUnusable         StepCode = "id_unusable"         // the id is too long, or too large a number
	StepResponseUnusable   StepCode = "response_unusable"   // the response is not JSON within the limits
	StepAdapterMalformed   StepCode = "adapter_malformed"   // the declaration has the problem that the step tells
	StepAdapterUnsupported StepCode = "adapter_unsupported" // the declaration has a member of a later release
	StepNoAdapter          StepCode = "no_adapter"          // there is no adapter: the rule is nil or zero
)

// A Step is one decision of an adapter, in words and as a code. It never holds a value of the call.
type Step struct {
	Code    StepCode
	Pointer string // JSON Pointer of the member of the adapter that decided, such as /field_map/status
	Source  string // that member as written: a path or a flag template
	Detail  string // what it met, in words, such as "an object"; "" where the code says all
}

// String returns the step as a sentence.
func (s Step) String() string {
	where := strings.TrimPrefix(s.Pointer, "/")
	if s.Source != "" {
		where += " " + strconv.Quote(s.Source)
	}
	switch s.Code {
	case StepIDFound:
		return where + " matched " + s.Detail + ": this is the entity's id"
	case StepIDNotFound:
		return where + " matched nothing, so there is no id: nothing is written"
	case StepIDNotScalar, StepIDEmpty:
		return where + " matched " + s.Detail + ", so there is no id: nothing is written"
	case StepIDUnusable:
		return where + " " + s.Detail + ", so there is no id: nothing is written"
	case StepFieldSet:
		return where + " matched " + s.Detail + ": the field is written"
	case StepFieldNotFound:
		return where + " matched nothing: the field is left out"
	case StepFieldUnusable:
		return where + " " + s.Detail + ": the field is left out"
	case StepFieldsIgnored:
		return where + " is ignored: remove writes no fields"
	case StepFlagSet:
		return where + " is complete: the flag is set"
	case StepFlagUnresolved:
		return where + " " + s.Detail + ": the flag is dropped"
	case StepFlagMalformed, StepFlagUnusable:
		return where + " " + s.Detail + ": the flag is dropped"
	case StepArgsUnusable:
		return "the arguments cannot be used (" + s.Detail + "): they count as none"
	case StepResponseUnusable:
		return "the response cannot be used (" + s.Detail + "): nothing is written"
	case StepAdapterMalformed:
		if where == "" {
			where = "the adapter"
		}
		return where + " " + s.Detail + ": the adapter is malformed and nothing is written"
	case StepAdapterUnsupported:
		return where + " belongs to a later release and is not evaluated here: nothing is written"
	case StepNoAdapter:
		return "there is no adapter: nothing is written"
	}
	return where + " " + string(s.Code)
}

// MarshalJSON writes the code, the pointer and the sentence.
func (s Step) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Code    StepCode `json:"code"`
		Pointer string   `json:"pointer"`
		Text    string   `json:"text"`
	}{s.Code, s.Pointer, s.String()})
}

// printable quotes a text that would not stay on its line.
func printable(s string) string {
	if quoted := strconv.Quote(s); len(quoted) != len(s)+2 || s == "" {
		return quoted
	}
	return s
}
