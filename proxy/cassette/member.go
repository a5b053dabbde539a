package cassette

import (
	"encoding/json"
	"slices"

	"github.com/toolwire/toolwire/internal/rawjson"
)

// object has, for each member that an object on a tape may have, the function that reads it.
type object map[string]func(*rawjson.Reader) error

func (o object) read(text []byte) error {
	names := make([]string, 0, len(o))
	for name := range o {
		names = append(names, name)
	}
	slices.Sort(names)
	return rawjson.Read(text, tapeLimits, func(read *rawjson.Reader) error {
		return read.Object(names, func(name string) error {
			member, ok := o[name]
			if !ok {
				return read.Errorf("is not a member of a tape of version %d", version)
			}
			return member(read)
		})
	})
}

func readString(to *string) func(*rawjson.Reader) error {
	return func(read *rawjson.Reader) (err error) { *to, err = read.String(); return err }
}

func readRaw(to *json.RawMessage) func(*rawjson.Reader) error {
	return func(read *rawjson.Reader) (err error) { *to, err = read.Value(); return err }
}

func readFloat(to *float64) func(*rawjson.Reader) error {
	return func(read *rawjson.Reader) (err error) { *to, err = read.Float(); return err }
}

func readInt(to *int) func(*rawjson.Reader) error {
	return func(read *rawjson.Reader) error {
		n, err := read.Int()
		if err == nil && n != nil {
			if *n < 0 || *n > 1<<31-1 {
				return read.Errorf("must be from 0 to %d", 1<<31-1)
			}
			*to = int(*n)
		}
		return err
	}
}
