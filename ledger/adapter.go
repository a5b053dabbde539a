package ledger

import (
	"errors"
	"slices"
	"strconv"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/jsonpath"
	"github.com/toolwire/toolwire/internal/members"
	"github.com/toolwire/toolwire/internal/text"
)

// An Op is what an adapter does with an entity.
type Op string

// The ops of the Tools schema. [State.Apply] documents what each does to existing and missing
// entities.
const (
	OpAdd     Op = "add"
	OpUpdate  Op = "update" // the default
	OpRemove  Op = "remove"
	OpSetFlag Op = "set_flag" // writes flags only, no entity
)

// maxFields is how many fields an entity, and entries a field_map, may have.
const maxFields = 100

// An Adapter is a tool's ledger_adapter, as the Tools schema documents it. The platform uses it to
// turn the tool's live response into ledger updates. It is plain data; [Compile] makes a [Rule] of
// it.
//
// Unmarshalling an Adapter fails only if the text is not strict JSON. A member of the wrong JSON
// type leaves its field zero. Validate reports it, and marshalling writes it back. A member that is
// null or "" counts as absent; marshalling writes it back too.
type Adapter struct {
	// Op is add, update, remove or set_flag. Defaults to update.
	Op Op
	// EntityType is a type that the ledger schema declares. Required unless Op is set_flag.
	EntityType string
	// IDFrom is the path of the entity's id in the response. Required unless Op is set_flag. A path that
	// can match several values must match one.
	IDFrom string
	// FieldMap maps declared fields to the paths of their values in the response; at most 100
	// entries.
	FieldMap map[string]string
	// Flags are templates such as "fetched_order:{order_id}". {name} stands for the argument of
	// that name, {id} for the entity's id. Required if Op is set_flag.
	Flags []string
	// Extra contains unknown members, in order. Members of a later release are among them: effects,
	// list_append, list_remove and when. They are kept and not evaluated.
	Extra []Member

	kept members.Kept
}

// laterMembers change what an adapter does in later releases of the platform. A rule that ignored
// one would not write what the platform writes, so a rule with such a member writes nothing.
var laterMembers = []string{"effects", "list_append", "list_remove", "when"}

func (a *Adapter) set() members.Set[Member] {
	return members.Set[Member]{Kept: &a.kept, Extra: &a.Extra, Fields: []members.Field{
		members.String("op", &a.Op),
		members.String("entity_type", &a.EntityType),
		members.String("id_from", &a.IDFrom),
		members.StringMap("field_map", &a.FieldMap),
		members.Strings("flags", &a.Flags),
	}}
}

// UnmarshalJSON reads an adapter. See [Adapter] for what is an error.
func (a *Adapter) UnmarshalJSON(data []byte) error {
	return unmarshal(data, codeAdapter, a, (*Adapter).set)
}

// MarshalJSON writes the members that are set or were read, in the documented order, then Extra.
func (a Adapter) MarshalJSON() ([]byte, error) { return marshal(codeAdapter, a.set()) }

// op returns Op, or OpUpdate if it is empty.
func (a *Adapter) op() Op {
	if a.Op == "" {
		return OpUpdate
	}
	return a.Op
}

// Validate reports why the platform would reject the adapter, as a [*toolwire.Error] with invalid_adapter: the
// schema does not declare the entity type. If schema is nil, entity types, fields and flags need not
// be declared.
//
// The list unchecked contains everything else that is wrong. The platform accepts such an adapter.
// The code unsupported marks what the platform may evaluate and this package does not: some paths,
// and members and ops of later releases. Other codes mark mistakes. A mistake in a path of FieldMap
// leaves out that field, and a mistake in a flag leaves out that flag. With any other mistake the
// adapter writes nothing. The list may be non-empty with and without an error.
//
// All pointers start at the adapter. An adapter with effects may omit the other members.
func (a *Adapter) Validate(schema *Schema) (unchecked []toolwire.Problem, err error) {
	var rejected problems
	found := a.problems()
	if schema != nil && a.EntityType != "" && schema.entity(a.EntityType) == nil {
		rejected.Add("undeclared", "/entity_type", "%q is not an entity type of the ledger schema", text.Cut(a.EntityType, maxShown))
	}
	if schema != nil {
		a.schemaProblems(&found, schema)
	}
	return found.All(), errorOf(codeAdapter, rejected)
}

func (a *Adapter) problems() (ps problems) {
	if !addKept(&ps, a.set()) {
		return ps
	}
	hasEffects := slices.ContainsFunc(a.Extra, func(m Member) bool { return m.Name == "effects" })
	op := a.op()
	switch op {
	case OpAdd, OpUpdate, OpRemove:
		if !hasEffects {
			a.entityProblems(&ps)
		}
	case OpSetFlag:
		a.flagOnlyProblems(&ps)
	default:
		ps.Add("unsupported", "/op", "must be add, update, remove or set_flag; ops of later releases are not evaluated here")
	}
	for _, m := range a.Extra {
		if slices.Contains(laterMembers, m.Name) {
			ps.Add("unsupported", token(m.Name), "belongs to a later release and is not evaluated here")
		}
	}
	a.pathProblems(&ps)
	for i, flag := range a.Flags {
		if _, err := jsonpath.ParseTemplate(flag); err != nil {
			ps.Add("invalid_template", "/flags"+indexToken(i), "%v", err)
		}
	}
	return ps
}

func (a *Adapter) entityProblems(ps *problems) {
	if a.EntityType == "" && !a.kept.Wrong("entity_type") {
		ps.Add("missing", "/entity_type", "is required with op %s; name an entity type of the ledger schema", a.op())
	}
	if a.IDFrom == "" && !a.kept.Wrong("id_from") {
		ps.Add("missing", "/id_from", "is required with op %s; give the path of the id, such as $.order_id", a.op())
	}
}

func (a *Adapter) flagOnlyProblems(ps *problems) {
	for _, m := range []struct {
		name string
		set  bool
	}{{"entity_type", a.EntityType != ""}, {"id_from", a.IDFrom != ""}, {"field_map", a.FieldMap != nil}} {
		if m.set {
			ps.Add("forbidden", "/"+m.name, "must be left out: set_flag writes no entity")
		}
	}
	if len(a.Flags) == 0 && !a.kept.Wrong("flags") {
		ps.Add("missing", "/flags", "is required with op set_flag; list at least one flag template")
	}
}

func (a *Adapter) pathProblems(ps *problems) {
	if a.IDFrom != "" {
		addPath(ps, "/id_from", a.IDFrom)
	}
	if len(a.FieldMap) > maxFields {
		ps.Add("too_many", "/field_map", "has %d entries; at most %d are allowed", len(a.FieldMap), maxFields)
	}
	for _, field := range sortedKeys(a.FieldMap) {
		if field == "" {
			ps.Add("missing", "/field_map/", "has an entry without a field name")
		}
		addPath(ps, "/field_map"+token(field), a.FieldMap[field])
	}
}

// addPath adds a problem if a path cannot be compiled.
func addPath(ps *problems, pointer, text string) {
	if _, err := jsonpath.Compile(text); err != nil {
		ps.Add(pathCode(err), pointer, "%v", err)
	}
}

// pathCode returns the code for the error of a path.
func pathCode(err error) string {
	if e, ok := errors.AsType[*jsonpath.Error](err); ok && e.Unsupported {
		return "unsupported"
	}
	return "invalid_path"
}

// schemaProblems adds the fields and flags that a schema does not declare.
func (a *Adapter) schemaProblems(ps *problems, schema *Schema) {
	if entity := schema.entity(a.EntityType); a.EntityType != "" && entity != nil && len(a.FieldMap) > 0 {
		fields := schema.allowedFields(entity)
		for _, field := range sortedKeys(a.FieldMap) {
			if !fields.allows(field) {
				ps.Add("undeclared", "/field_map"+token(field), "is not a field that the ledger schema declares for %s", entity.Type)
			}
		}
	}
	if schema.Flags == nil || schema.Flags.Policy != policyClosed {
		return
	}
	allows := func(flag string) bool { return slices.Contains(schema.Flags.Values, flag) }
	if len(a.Flags) > 8 { // a set for each of many adapters with one flag would cost more than it saves
		allows = schema.allowedFlags().allows
	}
	for i, flag := range a.Flags {
		if t, err := jsonpath.ParseTemplate(flag); err == nil && len(t.Names) == 0 && !allows(flag) {
			ps.Add("undeclared", "/flags"+indexToken(i), "is not among the values of the ledger schema's closed flags")
		}
	}
}

func indexToken(i int) string { return "/" + strconv.Itoa(i) }
