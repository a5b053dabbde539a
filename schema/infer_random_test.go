package schema

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"testing"
	"time"
)

type (
	plainInt   int
	namedBytes []byte
	textInt    int
	jsonList   []int
	ptrText    struct{ A int }
	RandomLeaf struct {
		Leaf  string         `json:"RandomLeaf"`
		Count *uint8         `json:"count,omitempty"`
		Any   map[string]any `json:"any,omitzero"`
	}
)

func (i textInt) MarshalText() ([]byte, error)  { return fmt.Appendf(nil, "t%d", int(i)), nil }
func (l jsonList) MarshalJSON() ([]byte, error) { return fmt.Appendf(nil, "%d", len(l)), nil }
func (p *ptrText) MarshalText() ([]byte, error) { return []byte("p"), nil }

// randomType returns a type of up to so many levels.
func randomType(r *rand.Rand, depth int) reflect.Type {
	scalars := []reflect.Type{
		reflect.TypeFor[string](), reflect.TypeFor[bool](), reflect.TypeFor[int8](), reflect.TypeFor[uint16](), reflect.TypeFor[uintptr](),
		reflect.TypeFor[float32](), reflect.TypeFor[plainInt](), reflect.TypeFor[textInt](), reflect.TypeFor[time.Duration](),
		reflect.TypeFor[any](), reflect.TypeFor[json.RawMessage](), reflect.TypeFor[json.Number](), reflect.TypeFor[[]byte](),
		reflect.TypeFor[namedBytes](), reflect.TypeFor[jsonList](), reflect.TypeFor[ptrText](), reflect.TypeFor[RandomLeaf](),
		reflect.TypeFor[netip.Addr](), reflect.TypeFor[OrFailure[*RandomLeaf]](), reflect.TypeFor[OrFailure[[]int]](),
	}
	keys := []reflect.Type{
		reflect.TypeFor[string](), reflect.TypeFor[int8](), reflect.TypeFor[uint64](), reflect.TypeFor[textInt](), reflect.TypeFor[plainInt](),
	}
	if depth == 0 {
		return scalars[r.IntN(len(scalars))]
	}
	switch r.IntN(6) {
	case 0:
		return reflect.PointerTo(randomType(r, depth-1))
	case 1:
		return reflect.SliceOf(randomType(r, depth-1))
	case 2:
		return reflect.ArrayOf(r.IntN(3), randomType(r, depth-1))
	case 3:
		return reflect.MapOf(keys[r.IntN(len(keys))], randomType(r, depth-1))
	case 4:
		return scalars[r.IntN(len(scalars))]
	}
	var fields []reflect.StructField
	for i := range r.IntN(5) {
		f := reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: randomType(r, depth-1)}
		tag := []string{``, `f%d`, `f%d,omitempty`, `,omitzero`, `f%d,omitempty,omitzero`, `-`, `f %d,string`}[r.IntN(7)]
		if tag == `f %d,string` && !isScalar(f.Type) {
			tag = `f %d`
		}
		if tag != `` {
			f.Tag = reflect.StructTag(fmt.Sprintf(`json:"`+tag+`" jsonschema:"nullable"`, i))
			if tag == `,omitzero` || tag == `-` {
				f.Tag = reflect.StructTag(fmt.Sprintf(`json:%q`, tag))
			}
		}
		fields = append(fields, f)
	}
	if r.IntN(3) == 0 {
		embedded := []reflect.Type{reflect.TypeFor[RandomLeaf](), reflect.TypeFor[*RandomLeaf]()}[r.IntN(2)]
		fields = append(fields, reflect.StructField{Name: "RandomLeaf", Type: embedded, Anonymous: true})
	}
	return reflect.StructOf(fields)
}

// What encoding/json writes for a random value of a random type matches the type's schema.
func TestRandomTypes(t *testing.T) {
	for seed := range uint64(1500) {
		randomTypeValidates(t, seed)
	}
}

func FuzzRandomTypes(f *testing.F) {
	f.Add(uint64(1 << 40))
	f.Fuzz(func(t *testing.T, seed uint64) { randomTypeValidates(t, seed) })
}

func randomTypeValidates(t *testing.T, seed uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	typ := randomType(r, 3)
	raw, found := infer(typ, nil)
	if found.Len() > 0 {
		t.Fatalf("%d: %s: %v", seed, typ, found)
	}
	v, err := Compile(raw, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		value := reflect.New(typ)
		randomValue(r, value.Elem())
		for _, value := range []any{value.Interface(), value.Elem().Interface()} {
			text, err := json.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			if err := v.Validate(text); err != nil && string(text) != "null" {
				t.Fatalf("%d: %s: %v\n%s\n%s", seed, typ, err, text, raw)
			}
		}
	}
}

func randomValue(r *rand.Rand, v reflect.Value) {
	switch v.Interface().(type) {
	case json.RawMessage:
		v.SetBytes([]byte(`[null]`))
		return
	case json.Number:
		v.SetString([]string{"", "0", "-1.5e9"}[r.IntN(3)])
		return
	case netip.Addr:
		v.Set(reflect.ValueOf(netip.AddrFrom4([4]byte{1, 2, 3, 4})))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString([]string{"", "a", "é\"<\n"}[r.IntN(3)])
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(r.Int64() >> r.IntN(64))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		v.SetUint(r.Uint64() >> r.IntN(64))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(float64(r.IntN(5)) / 4)
	case reflect.Pointer:
		if r.IntN(3) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			randomValue(r, v.Elem())
		}
	case reflect.Slice:
		if r.IntN(3) > 0 {
			v.Set(reflect.MakeSlice(v.Type(), r.IntN(3), 3))
		}
		fallthrough
	case reflect.Array:
		for i := range v.Len() {
			randomValue(r, v.Index(i))
		}
	case reflect.Map:
		if r.IntN(3) == 0 {
			return
		}
		v.Set(reflect.MakeMap(v.Type()))
		for range r.IntN(3) {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			randomValue(r, key)
			randomValue(r, value)
			v.SetMapIndex(key, value)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				randomValue(r, v.Field(i))
			}
		}
	case reflect.Interface:
		v.Set(reflect.ValueOf([]any{1, "x", []any{nil}}[r.IntN(3)]))
	}
}

// The library reads the option inline of fields that are not exported. go vet allows no such type here.
func TestInlineInFieldsThatAreNotExported(t *testing.T) {
	typ := reflect.StructOf([]reflect.StructField{
		{Name: "Leaf", Type: reflect.TypeFor[int]()},
		{Name: "next", Type: reflect.TypeFor[struct{ Leaf string }](), PkgPath: "schema", Tag: `json:",inline"`},
	})
	raw, found := infer(typ, nil)
	if found.Len() != 1 || found.Found[0].Code != "tag_invalid" || found.Found[0].Pointer != "/next" {
		t.Errorf("%s, %v", raw, found)
	}
}
