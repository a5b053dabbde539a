//lint:file-ignore SA5008 the tags that encoding/json takes in its own way are what is tested here

package schema_test

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/big"
	"math/rand/v2"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	invopop "github.com/invopop/jsonschema"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/schema"
)

var update = flag.Bool("update", false, "write the golden files anew")

type (
	Scalars struct {
		String string  `json:"string"`
		Int    int     `json:"int"`
		Int8   int8    `json:"int8"`
		Uint   uint    `json:"uint"`
		Byte   byte    `json:"byte"`
		Float  float64 `json:"float"`
		Small  float32 `json:"small"`
		Bool   bool    `json:"bool"`
		Any    any     `json:"any"`
	}
	Status string
	Names  struct {
		Plain  string
		Tagged string `json:"tagged"`
		Hidden string `json:"-"`
		Comma  string `json:",omitempty"`
		Inline Inner
		//lint:ignore U1000 a field that must not show up
		private string
		Quoted  int   `json:"quoted,string"`
		QuotedP *bool `json:"quoted_p,string"`
	}
	Inner    struct{ A, B int }
	Optional struct {
		Required string         `json:"required"`
		Omitted  string         `json:"omitted,omitempty"`
		Zero     time.Time      `json:"zero,omitzero"`
		Pointer  *string        `json:"pointer"`
		OmittedP *string        `json:"omitted_p,omitempty"`
		Slice    []string       `json:"slice"`
		OmittedS []string       `json:"omitted_s,omitempty"`
		Map      map[string]int `json:"map"`
		OmittedM map[string]int `json:"omitted_m,omitempty"`
		Elements []*int         `json:"elements"`
		Nested   [][]string     `json:"nested"`
		Struct   *Inner         `json:"struct"`
		PointerP **int          `json:"pointer_p"`
	}
	Tagged struct {
		ID       string   `json:"id" jsonschema:"title=Order id,description=As shown\\, on the invoice,pattern=^[0-9]{1\\,8}$,example=4521,minLength=1,maxLength=8"`
		Status   Status   `json:"status,omitempty" jsonschema:"enum=open,enum=closed,default=open,required"`
		Amount   float64  `json:"amount" jsonschema:"minimum=0,exclusiveMaximum=1e6,multipleOf=0.01" jsonschema_description:"In the order's currency, with cents."`
		Count    int      `json:"count" jsonschema:"enum=1,enum=2,enum=3"`
		Level    uint     `json:"level" jsonschema:"minimum=1,maximum=9"`
		Notify   bool     `json:"notify" jsonschema:"default=true"`
		Labels   []string `json:"labels" jsonschema:"minItems=1,maxItems=5,uniqueItems=true,enum=a,enum=b"`
		When     *string  `json:"when,omitempty" jsonschema:"nullable,format=date-time" jsonschema_description:"Null is never."`
		Deadline *string  `json:"deadline" jsonschema_description:"The last moment."`
	}
	Base struct {
		ID   string `json:"id"`
		Kind string `json:"kind"`
	}
	Maybe struct {
		Note string `json:"note"`
	}
	unexportd struct {
		Secret string `json:"promoted"`
	}
	Word     string
	word     string
	Embedded struct {
		Base
		*Maybe
		unexportd
		Word
		Named `json:"named"`
		Grade int `json:"grade"`
	}
	Named struct {
		X int `json:"x"`
	}
	Left  struct{ Same, OnlyLeft int }
	Right struct{ Same, OnlyRight int }
	Clash struct {
		Left
		Right
	}
	Page[T any] struct {
		Items []T    `json:"items"`
		Next  string `json:"next,omitempty"`
	}
	Maps struct {
		Strings  map[string]string    `json:"strings,omitzero"`
		Ints     map[int]string       `json:"ints,omitzero"`
		Uints    map[uint8]bool       `json:"uints,omitzero"`
		Addrs    map[netip.Addr]Inner `json:"addrs,omitzero"`
		Any      map[string]any       `json:"any,omitzero"`
		Statuses map[Status]*Inner    `json:"statuses,omitzero"`
	}
	Standard struct {
		Time     time.Time       `json:"time"`
		Duration time.Duration   `json:"duration"`
		Raw      json.RawMessage `json:"raw"`
		Number   json.Number     `json:"number"`
		Bytes    []byte          `json:"bytes,omitempty"`
		Octets   []Octet         `json:"octets,omitempty"`
		Array    [3]int          `json:"array"`
		Hash     [4]byte         `json:"hash"`
		Addr     netip.Addr      `json:"addr"`
		Prefix   *netip.Prefix   `json:"prefix"`
		IP       net.IP          `json:"ip"`
		Big      *big.Int        `json:"big"`
		Rat      *big.Rat        `json:"rat"`
		Stringer fmt.Stringer    `json:"stringer"`
		Text     Color           `json:"text"`
	}
	Octet byte
	Color int

	NeverZero     []int
	SometimesZero map[string]int
	OftenZero     struct{ N int }
	Empty         struct{}
)

func (c Color) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "#%06x", int(c)), nil }

func (NeverZero) IsZero() bool        { return false }
func (s *SometimesZero) IsZero() bool { return len(*s) == 1 }
func (o OftenZero) IsZero() bool      { return o.N > 0 }

// TestInfer compares schemas with golden files: one per Go construct.
func TestInfer(t *testing.T) {
	golden(t, "scalars", infer[Scalars])
	golden(t, "names", infer[Names])
	golden(t, "optional", infer[Optional])
	golden(t, "tags", infer[Tagged])
	golden(t, "embedded", infer[Embedded])
	golden(t, "generic", infer[Page[Page[Status]]])
	golden(t, "maps", infer[Maps])
	golden(t, "standard", infer[Standard])
	golden(t, "empty", infer[Empty])
	golden(t, "pointer", infer[*Inner])
	golden(t, "list", infer[[]Inner])
	golden(t, "map", infer[map[string]float64])
	golden(t, "any", infer[any])
	golden(t, "by_hand", func() (json.RawMessage, error) {
		return schema.For[struct {
			Tree  Tree  `json:"tree" jsonschema_description:"The whole tree."`
			Other *Tree `json:"other"`
			Loose Loose `json:"loose"`
		}](&schema.InferOptions{Types: map[reflect.Type]json.RawMessage{
			reflect.TypeFor[Tree]():  json.RawMessage(`{"type":"object","description":"A tree.","x-kept":[1]}`),
			reflect.TypeFor[Loose](): json.RawMessage(`{"type":["string","number"]}`),
		}})
	})
}

func infer[T any]() (json.RawMessage, error) { return schema.For[T](nil) }

func golden(t *testing.T, name string, infer func() (json.RawMessage, error)) {
	t.Run(name, func(t *testing.T) {
		raw, err := infer()
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := json.Indent(&b, raw, "", "  "); err != nil {
			t.Fatal(err)
		}
		b.WriteByte('\n')
		file := filepath.Join("testdata", "infer", name+".json")
		if *update {
			if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(b.Bytes(), want) {
			t.Errorf("schema:\n%s\nwant:\n%s", b.Bytes(), want)
		}
		for _, noise := range []string{`"$schema"`, `"$id"`, `"$ref"`, `"$defs"`} {
			if bytes.Contains(raw, []byte(noise)) {
				t.Errorf("the schema has %s", noise)
			}
		}
		if name != "by_hand" && bytes.Contains(raw, []byte(`"type":[`)) {
			t.Error("the schema has a list of types, which providers reject")
		}
	})
}

type (
	Tree  struct{ Children []Tree }
	Loose struct{ v any }

	Direct     struct{ Next *Direct }
	Mutual     struct{ Other *Other }
	Other      struct{ Back []Mutual }
	InMap      struct{ Kids map[string]InMap }
	List       []List
	Dict       map[string]Dict
	Box[T any] struct {
		In *Box[T]
		V  T
	}
	Growing[T any] struct{ V T }
	SelfEmbed      struct {
		*SelfEmbed
		X int
	}
	EmbedA struct{ *EmbedB }
	EmbedB struct {
		*EmbedA
		Y int
	}
	InArray     struct{ A [2]*InArray }
	ViaAny      struct{ P **ViaAny }
	PointerText struct{ A int }
	StampedTime struct{ time.Time }
)

func (l Loose) MarshalJSON() ([]byte, error)      { return json.Marshal(l.v) }
func (*PointerText) MarshalText() ([]byte, error) { return []byte("x"), nil }

var _ encoding.TextMarshaler = (*PointerText)(nil)

type (
	Aliased struct{ A int }
	Panics  struct{ A int }
	Said    struct{ A int }
	Silent  struct{ Next *Silent }
	Choosy  struct{ A int }

	Letter    byte
	Letters   []Letter
	Tally     int
	Described struct{ A int }
	Shared    []string

	Extended struct{ A int }
	callback func()
	//lint:ignore U1000 it is embedded
	ListEmbed  struct{ listEmbeds }
	listEmbeds []ListEmbed
)

func (Aliased) JSONSchemaAlias() any                { return "" }
func (Choosy) JSONSchemaProperty(string) any        { return nil }
func (Extended) JSONSchemaExtend(s *invopop.Schema) { s.Properties.Delete("A") }
func (Letter) MarshalText() ([]byte, error)         { return []byte("a"), nil }
func (Tally) MarshalJSON() ([]byte, error)          { return []byte("[]"), nil }
func (Described) JSONSchema() *invopop.Schema {
	return &invopop.Schema{Type: "object", MinProperties: new(uint64(1))}
}
func (Shared) JSONSchema() *invopop.Schema { return sharedSchema }
func (Panics) JSONSchema() *invopop.Schema { panic("no schema") }
func (Silent) JSONSchema() *invopop.Schema { return nil }
func (Said) MarshalJSON() ([]byte, error)  { return []byte(`"said"`), nil }
func (Said) JSONSchema() *invopop.Schema   { return &invopop.Schema{Type: "string", Enum: []any{"said"}} }

func problemsOf[T any]() error {
	_, err := schema.For[T](nil)
	return err
}

var sharedSchema = &invopop.Schema{Type: "array", Items: &invopop.Schema{Type: "string"}}

// Each of these types ends the process, panics or is wrong in the library.
type (
	Shadowed struct {
		ID   int `json:"id" jsonschema:"the inner one"`
		Kind string
		Next *Shadowed `json:"next"`
	}
	Untagged struct{ Kind bool }
	WithTag  struct {
		Kind []int `json:"Kind"`
	}
	Deeper1  struct{ Shadowed }
	shadowed struct {
		ID bool `json:"id"`
	}
	words []string
)

// Of fields with one name, encoding/json decides which one counts: properties and types are those that it writes.
func TestFieldsOfOneName(t *testing.T) {
	type outer struct {
		Shadowed
		ID   string `json:"id" jsonschema:"the outer one"`
		Next int    `json:"next,omitempty"`
	}
	type before struct {
		ID   string `json:"id"`
		Next int    `json:"next"`
		Shadowed
	}
	type deeper struct {
		Deeper1
		ID   *string `json:"id,omitempty"`
		Kind int
		Next int `json:"next"`
	}
	type byTag struct {
		Untagged
		WithTag
	}
	type none struct {
		Untagged
		Third struct{ Kind string } `json:"third"`
		*Embedded4
		A int
	}
	type unexported struct {
		shadowed
		ID string `json:"id"`
	}
	type list struct {
		Words string `json:"words"`
		words
	}
	type hidden struct {
		Shadowed
		ID   *struct{} `json:"id,omitempty"`
		Next *struct{} `json:"next,omitempty"`
	}
	for _, tt := range []struct {
		of   func(*schema.InferOptions) (json.RawMessage, error)
		zero any
	}{
		{schema.For[outer], outer{}}, {schema.For[before], before{}}, {schema.For[deeper], deeper{}}, {schema.For[byTag], byTag{}},
		{schema.For[none], none{Embedded4: &Embedded4{}}}, {schema.For[unexported], unexported{shadowed: shadowed{}}}, {schema.For[list], list{words: words{}}}, {schema.For[hidden], hidden{}},
		{schema.For[[]outer], []outer{{}}}, {schema.For[Clash], Clash{}},
	} {
		raw, err := tt.of(nil)
		if err != nil {
			t.Errorf("%T: %v", tt.zero, err)
			continue
		}
		text, err := json.Marshal(tt.zero)
		if err != nil {
			t.Fatal(err)
		}
		v, err := schema.Compile(raw, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := v.Validate(text); err != nil {
			t.Errorf("%T: %v\n%s\n%s", tt.zero, err, text, raw)
		}
	}
	raw, _ := schema.For[outer](nil)
	const want = `{"properties":{"Kind":{"type":"string"},"id":{"type":"string","description":"the outer one"},"next":{"type":"integer"}},` +
		`"additionalProperties":false,"type":"object","required":["Kind","id"]}`
	if string(raw) != want {
		t.Errorf("%s, want %s", raw, want)
	}
}

type Embedded4 struct{ Kind float64 }

func TestInferRefuses(t *testing.T) {
	type wide struct{ A, B, C, D, E, F, G, H, I, J int }
	type w2 struct{ A, B, C, D, E, F, G, H, I, J wide }
	type w3 struct{ A, B, C, D, E, F, G, H, I, J w2 }
	type w4 struct{ A, B, C, D, E, F, G, H, I, J w3 }
	for _, test := range []struct {
		name string
		err  error
		want string
	}{
		{"direct", problemsOf[Direct](), "type_recursive /Direct/Next"},
		{"direct by pointer", problemsOf[*Direct](), "type_recursive /Direct/Next"},
		{"mutual", problemsOf[Mutual](), "type_recursive /Mutual/Other/Back"},
		{"through a slice", problemsOf[Tree](), "type_recursive /Tree/Children"},
		{"through a map", problemsOf[InMap](), "type_recursive /InMap/Kids"},
		{"through an array", problemsOf[InArray](), "type_recursive /InArray/A"},
		{"through pointers", problemsOf[ViaAny](), "type_recursive /ViaAny/P"},
		{"slice of itself", problemsOf[List](), "type_recursive "},
		{"map of itself", problemsOf[Dict](), "type_recursive "},
		{"generic", problemsOf[Box[int]](), "type_recursive /Box/In"},
		{"generic in generic", problemsOf[Growing[Box[string]]](), "type_recursive /Growing/V/In"},
		{"embedding itself", problemsOf[SelfEmbed](), "type_recursive /SelfEmbed"},
		{"embedding each other", problemsOf[EmbedA](), "type_recursive /EmbedA"},
		{"channel", problemsOf[struct{ C chan int }](), "type_unsupported /C"},
		{"function", problemsOf[struct{ F func() }](), "type_unsupported /F"},
		{"complex", problemsOf[struct{ Z complex128 }](), "type_unsupported /Z"},
		{"complex in a slice", problemsOf[struct{ Z []complex64 }](), "type_unsupported /Z"},
		{"channel at the root", problemsOf[chan int](), "type_unsupported "},
		{"map with struct keys", problemsOf[map[Inner]int](), "type_unsupported "},
		{"map with bool keys", problemsOf[struct{ M map[bool]int }](), "type_unsupported /M"},
		{"url", problemsOf[struct{ U url.URL }](), "type_unsupported /U"},
		{"string on a list", problemsOf[struct {
			A []int `json:"a,string"`
		}](), "tag_invalid /A"},
		{"string on a pointer to a pointer", problemsOf[struct {
			A **int `json:"a,string"`
		}](), "tag_invalid /A"},
		{"the name - and inline", problemsOf[struct {
			A    int   `json:"-,"`
			B    Inner `json:",inline"`
			Base `jsonschema:"-"`
		}](), "tag_invalid /A\ntag_invalid /B\ntag_invalid /Base"},
		{"embedding a list of itself", problemsOf[ListEmbed](), "type_recursive /ListEmbed/listEmbeds"},
		{"embedding a function", problemsOf[struct{ callback }](), "type_unsupported /callback"},
		{"a method that deletes a property", problemsOf[Extended](), "type_unsupported /Extended/A"},
		{"another type for the schema", problemsOf[struct{ A Aliased }](), "type_unsupported /A"},
		{"other types for properties", problemsOf[Choosy](), "type_unsupported "},
		{"a method for the schema that panics", problemsOf[struct{ A Panics }](), "type_unsupported "},
		{"too large", problemsOf[w4](), "type_too_large /w4/E/E/J/J"},
		{"several", problemsOf[struct {
			A chan int
			B struct{ C func() }
			D Direct
		}](), "type_unsupported /A\ntype_unsupported /B/C\ntype_recursive /D/Next"},

		{"unknown key", problemsOf[struct {
			A string `jsonschema:"minlength=1"`
		}](), "tag_invalid /A"},
		{"unknown word", problemsOf[struct {
			A string `jsonschema:"optional"`
		}](), "tag_invalid /A"},
		{"a description beside a keyword", problemsOf[struct {
			A string `jsonschema:"two words,required"`
		}](), "tag_invalid /A"},
		{"key of another type", problemsOf[struct {
			A int `jsonschema:"minLength=1"`
		}](), "tag_invalid /A"},
		{"key on a struct", problemsOf[struct {
			A Inner `jsonschema:"minimum=1"`
		}](), "tag_invalid /A"},
		{"number", problemsOf[struct {
			A int `jsonschema:"minimum=abc"`
		}](), "tag_invalid /A"},
		{"infinite number", problemsOf[struct {
			A float64 `jsonschema:"maximum=Inf"`
		}](), "tag_invalid /A"},
		{"hexadecimal number", problemsOf[struct {
			A int `jsonschema:"maximum=0x10"`
		}](), "tag_invalid /A"},
		{"fraction for an integer", problemsOf[struct {
			A int `jsonschema:"enum=1.5"`
		}](), "tag_invalid /A"},
		{"multiple of 0", problemsOf[struct {
			A int `jsonschema:"multipleOf=0"`
		}](), "tag_invalid /A"},
		{"count", problemsOf[struct {
			A string `jsonschema:"maxLength=-1"`
		}](), "tag_invalid /A"},
		{"pattern", problemsOf[struct {
			A string `jsonschema:"pattern=("`
		}](), "tag_invalid /A"},
		{"boolean", problemsOf[struct {
			A bool `jsonschema:"default=yes"`
		}](), "tag_invalid /A"},
		{"uniqueItems", problemsOf[struct {
			A []int `jsonschema:"uniqueItems=yes"`
		}](), "tag_invalid /A"},
		{"default of a list", problemsOf[struct {
			A []int `jsonschema:"default=1"`
		}](), "tag_invalid /A"},
		{"hidden from the schema only", problemsOf[struct {
			A int `jsonschema:"-"`
		}](), "tag_invalid /A"},
		{"name that releases of encoding/json read differently", problemsOf[struct {
			A int `json:"in\\valid"`
			B int `json:"in\"valid,omitempty"`
			C int `json:"in valid"`
		}](), "tag_invalid /A\ntag_invalid /B"},
		{"extras", problemsOf[struct {
			A int `jsonschema_extras:"x=y"`
		}](), "tag_invalid /A"},
	} {
		t.Run(test.name, func(t *testing.T) {
			e, ok := errors.AsType[*toolwire.Error](test.err)
			if !ok {
				t.Fatalf("error = %v, want a *toolwire.Error", test.err)
			}
			var lines []string
			for _, p := range e.Problems {
				lines = append(lines, fmt.Sprintf("%s %s", p.Code, p.Pointer))
			}
			got := strings.Join(lines, "\n")
			if got != test.want {
				t.Errorf("problems:\n%s\nwant:\n%s", got, test.want)
			}
		})
	}
}

// What encoding/json writes for a value of a type matches the type's schema.
func TestMarshalledValuesValidate(t *testing.T) {
	property[Scalars](t)
	property[Names](t)
	property[Optional](t)
	property[Embedded](t)
	property[Page[Page[Status]]](t)
	property[Maps](t)
	property[Standard](t)
	property[Empty](t)
	property[map[string]float64](t)
	property[[3][]map[int8]*Inner](t)
	property[struct {
		A *[]*map[string]**time.Time
		B []Color
		C *Color `json:",omitzero"`
		D map[Color]json.Number
	}](t)
	property[struct {
		A **int           `json:"a,omitempty"`
		B ***string       `json:"b,omitzero"`
		C *[]int          `json:"c,omitempty"`
		D *map[string]int `json:"d,omitzero"`
		E **[]byte        `json:"e,omitempty,omitzero"`
		F *int            `json:",omitempty,string"`
	}](t)
	property[struct {
		A Loose
		B StampedTime
		C PointerText
		D *PointerText
		E big.Int
		F []*big.Int
		G map[string]Said
		H []PointerText
		K Silent
		I *json.RawMessage
		J struct {
			Sized uint `json:",string"`
			Word  *Word
			word
		}
	}](t)
	property[struct {
		A NeverZero     `json:"a,omitzero"`
		B SometimesZero `json:"b,omitzero"`
		C NeverZero     `json:"c,omitzero,omitempty"`
		D *NeverZero    `json:"d,omitzero"`
		E OftenZero     `json:"e,omitzero"`
	}](t)
	property[struct {
		A Letters
		B *Letter
		C Tally `json:",string"`
		D Described
	}](t)
}

// A method JSONSchema holds for values and pointers, with or without a method that marshals.
func TestOwnSchema(t *testing.T) {
	const want = `{"properties":{"A":{"type":"object","minProperties":1},"B":{"anyOf":[{"type":"object","minProperties":1},` +
		`{"type":"null"}]}},"additionalProperties":false,"type":"object","required":["A","B"]}`
	raw, err := infer[struct {
		A Described
		B *Described
	}]()
	if err != nil || string(raw) != want {
		t.Errorf("%s, %v, want %s", raw, err, want)
	}
}

// What describes a value that may be null stands beside "anyOf", and only there.
func TestDescriptionsOfWhatMayBeNull(t *testing.T) {
	const want = `{"properties":{"A":{"anyOf":[{"type":"string"},{"type":"null"}],"title":"t","description":"d","default":"x",` +
		`"examples":["y"]}},"additionalProperties":false,"type":"object","required":["A"]}`
	raw, err := infer[struct {
		A *string `jsonschema:"title=t,description=d,default=x,example=y"`
	}]()
	if err != nil || string(raw) != want {
		t.Errorf("%s, %v, want %s", raw, err, want)
	}
}

func TestDescriptionOfWhatMayFail(t *testing.T) {
	raw, err := infer[struct {
		A schema.OrFailure[int] `jsonschema:"title=t,description=d"`
	}]()
	if err != nil || !bytes.Contains(raw, []byte(`,"title":"t","description":"d"}`)) {
		t.Errorf("%s, %v", raw, err)
	}
}

// A tag does not change the schema that a method returns, so that other fields keep it.
func TestOwnSchemaIsKept(t *testing.T) {
	const want = `{"properties":{"A":{"items":{"type":"string","pattern":"x"},"type":"array"},` +
		`"B":{"items":{"type":"string"},"type":"array"}},"additionalProperties":false,"type":"object","required":["A","B"]}`
	raw, err := infer[struct {
		A Shared `jsonschema:"pattern=x"`
		B Shared
	}]()
	if err != nil || string(raw) != want {
		t.Errorf("%s, %v, want %s", raw, err, want)
	}
}

// A property that is omitted when it is nil must not allow null.
func TestNullOnlyWhereItIsWritten(t *testing.T) {
	for _, raw := range []func() (json.RawMessage, error){
		infer[struct {
			A NeverZero `json:"a,omitzero,omitempty"`
		}], infer[struct {
			A NeverZero `json:"a,omitempty,omitzero"`
		}], infer[struct {
			A *OftenZero `json:"a,omitzero"`
		}], infer[struct {
			A []int `json:"a,omitzero"`
		}], infer[struct {
			A *int `json:"a,omitempty"`
		}],
	} {
		if got, err := raw(); err != nil || bytes.Contains(got, []byte("null")) {
			t.Errorf("%s, %v", got, err)
		}
	}
}

func property[T any](t *testing.T) {
	t.Helper()
	raw, err := schema.For[T](nil)
	if err != nil {
		t.Errorf("%v: %v", reflect.TypeFor[T](), err)
		return
	}
	v, err := schema.Compile(raw, &schema.CompileOptions{AssertFormats: true})
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var value T
		fill(random, reflect.ValueOf(&value).Elem())
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if err := v.Validate(text); err != nil && !(string(text) == "null") {
			t.Errorf("%v\n%s\n%s", err, text, raw)
			return
		}
	}
}

// fill sets a random value, including nil pointers, slices and maps.
func fill(r *rand.Rand, v reflect.Value) {
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Unix(r.Int64N(4e9), r.Int64N(1e9)).UTC()))
		return
	case json.RawMessage:
		v.SetBytes([]byte([]string{`null`, `[1,{"a":"b"}]`, `3`}[r.IntN(3)]))
		return
	case json.Number:
		v.SetString([]string{"", "0", "-1.5", "1e3", "12345678901234567890"}[r.IntN(5)])
		return
	case netip.Addr:
		v.Set(reflect.ValueOf(netip.AddrFrom4([4]byte{byte(r.Uint32()), 2, 3, 4})))
		return
	case *netip.Prefix:
		p := netip.PrefixFrom(netip.AddrFrom4([4]byte{10}), 8)
		v.Set(reflect.ValueOf([]*netip.Prefix{nil, &p}[r.IntN(2)]))
		return
	case net.IP:
		v.Set(reflect.ValueOf([]net.IP{nil, net.IPv4(1, 2, 3, 4), net.IPv6loopback}[r.IntN(3)]))
		return
	case *big.Int:
		v.Set(reflect.ValueOf([]*big.Int{nil, big.NewInt(r.Int64()), new(big.Int).Lsh(big.NewInt(1), 90)}[r.IntN(3)]))
		return
	case *big.Rat:
		v.Set(reflect.ValueOf([]*big.Rat{nil, big.NewRat(1, 3)}[r.IntN(2)]))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString([]string{"", "a", "é\"<\n", strings.Repeat("x", 50)}[r.IntN(4)])
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(r.Int64() >> r.IntN(64) * int64(1-2*r.IntN(2)))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(r.Uint64() >> r.IntN(64))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(float64(float32(r.NormFloat64() * []float64{0, 1, 1e9, 1e-9}[r.IntN(4)])))
	case reflect.Pointer:
		if r.IntN(3) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(r, v.Elem())
		}
	case reflect.Slice:
		if r.IntN(3) > 0 {
			v.Set(reflect.MakeSlice(v.Type(), r.IntN(3), 3))
			for i := range v.Len() {
				fill(r, v.Index(i))
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(r, v.Index(i))
		}
	case reflect.Map:
		if r.IntN(3) > 0 {
			v.Set(reflect.MakeMap(v.Type()))
			for range r.IntN(3) {
				key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
				fill(r, key)
				fill(r, value)
				v.SetMapIndex(key, value)
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() {
				fill(r, f)
			}
		}
	case reflect.Interface:
		if v.NumMethod() == 0 {
			if pick := []any{nil, 1, "x", []int{1}}[r.IntN(4)]; pick != nil {
				v.Set(reflect.ValueOf(pick))
			}
		}
	}
}

type Order struct {
	ID     string  `json:"id"`
	Status string  `json:"status"`
	Total  float64 `json:"total"`
}

type GetOrder struct {
	OrderID string `json:"order_id" jsonschema_description:"The order's number."`
}

func TestDefine(t *testing.T) {
	tool, err := schema.Define[GetOrder, Order]("get_order", "Look an order up.", nil)
	if err != nil {
		t.Fatal(err)
	}
	const input = `{"properties":{"order_id":{"type":"string","description":"The order's number."}},` +
		`"additionalProperties":false,"type":"object","required":["order_id"]}`
	if tool.Name != "get_order" || tool.Description != "Look an order up." || string(tool.InputSchema) != input || tool.OutputSchema == nil {
		t.Errorf("tool = %+v, input schema %s", tool, tool.InputSchema)
	}
	if _, err := schema.Validate(t.Context(), []schema.Tool{tool}, nil); err != nil {
		t.Error(err)
	}
	open, err := schema.Define[struct{}, any]("ping", "", nil)
	if err != nil || open.OutputSchema != nil {
		t.Errorf("output schema of any = %s, %v", open.OutputSchema, err)
	}
	_, err = schema.Define[Direct, chan int]("1", "", nil)
	if got, want := found(t, err), "type_recursive /input_schema/Direct/Next\ntype_unsupported /output_schema\nname_invalid /name"; got != want {
		t.Errorf("problems:\n%s\nwant:\n%s", got, want)
	}
	_, err = schema.Define[[]string, any]("list", "", nil)
	if got, want := found(t, err), "schema_not_object /input_schema"; got != want || !strings.Contains(err.Error(), "use a struct or a map for the arguments, not []string") {
		t.Errorf("problems = %q, want %q: %v", got, want, err)
	}
	// A list with one type says the same as the type. A pointer into a schema stays where the checks find it.
	for given, want := range map[string]string{
		`{"type":["object"]}`:                                    "",
		`{"type":["object","null"]}`:                             "schema_not_object /input_schema",
		`{"type":"object","allOf":[{"type":"array"}]}`:           "schema_not_object /input_schema/allOf/0/type",
		`{"type":"object","properties":{"a":{"type":"orderd"}}}`: "schema_invalid ",
	} {
		_, err := schema.Define[Loose, any]("loose", "", &schema.InferOptions{Types: map[reflect.Type]json.RawMessage{
			reflect.TypeFor[Loose](): json.RawMessage(given)}})
		if err == nil && want == "" {
			continue
		}
		if got := found(t, err); !strings.HasPrefix(got, want) || want == "" {
			t.Errorf("%s: problems = %q, want %q", given, got, want)
		}
	}
	_, err = schema.Define[any, any]("anything", "", nil)
	if got, want := found(t, err), "schema_not_object /input_schema"; got != want {
		t.Errorf("problems = %q, want %q", got, want)
	}
}

func TestInferChecksWhatIsGivenByHand(t *testing.T) {
	tree, loose := reflect.TypeFor[Tree](), reflect.TypeFor[Loose]()
	_, err := schema.For[Tree](&schema.InferOptions{Types: map[reflect.Type]json.RawMessage{tree: json.RawMessage(`{`), loose: json.RawMessage(`1`)}})
	if got, want := found(t, err), "schema_invalid \nschema_invalid "; got != want {
		t.Errorf("problems = %q, want %q", got, want)
	}
	_, err = schema.For[Tree](&schema.InferOptions{Types: map[reflect.Type]json.RawMessage{tree: json.RawMessage(`{"type":"tree"}`)}})
	if got, want := found(t, err), "schema_invalid /type"; got != want {
		t.Errorf("problems = %q, want %q", got, want)
	}
	raw, err := schema.For[Tree](&schema.InferOptions{Types: map[reflect.Type]json.RawMessage{tree: json.RawMessage(" {\"type\":\"object\"}")}})
	if err != nil || string(raw) != `{"type":"object"}` {
		t.Errorf("schema = %s, %v", raw, err)
	}
	raw, err = schema.For[Choosy](&schema.InferOptions{Types: map[reflect.Type]json.RawMessage{
		reflect.TypeFor[Choosy](): json.RawMessage(`{"type":"object"}`),
	}})
	if err != nil || string(raw) != `{"type":"object"}` {
		t.Errorf("schema = %s, %v", raw, err)
	}
}

func TestForReturnsItsOwnCopy(t *testing.T) {
	first, err := schema.For[Order](nil)
	if err != nil {
		t.Fatal(err)
	}
	clear(first)
	second, err := schema.For[Order](nil)
	if err != nil || !json.Valid(second) {
		t.Errorf("writing into one result changed the next: %s, %v", second, err)
	}
}
