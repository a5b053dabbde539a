package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/toolwire/toolwire/internal/clip"
	"github.com/toolwire/toolwire/internal/strictjson"
)

// declaration is one element of "tools" as it is written: nothing is checked yet but that it is JSON.
type declaration struct {
	kind    byte // of the element itself, as strictjson.Reader.Kind
	members map[string]json.RawMessage
	unknown []string    // names, in order
	cased   [][2]string // a name that differs from a known one by case only, and the known one
}

var memberNames = [...]string{"name", "description", "schema", "command", "timeoutSec", "envPassthrough"}

// decode splits a document into its declarations. Its errors are about the document as a whole.
func decode(data []byte) (tools []declaration, lint []Problem, err error) {
	if len(data) > maxManifest {
		return nil, nil, &Error{Code: CodeParse,
			Message: fmt.Sprintf("parse manifest: the document is larger than %d bytes", maxManifest)}
	}
	if bytes.HasPrefix(data, []byte("\ufeff")) {
		return nil, nil, &Error{Code: CodeParse,
			Message: "parse manifest: line 1, column 1: the document starts with a byte order mark; save it as UTF-8 without one"}
	}
	err = strictjson.Read(data, strictjson.Limits{}, func(r *strictjson.Reader) error {
		if r.Kind() == 'n' { // as in the original: null is a manifest without tools
			_, err := r.Value()
			return err
		}
		return r.Object([]string{"tools"}, func(member string) error {
			if member != "tools" {
				lint = append(lint, unknownMember(-1, "", member, []string{"tools"}))
				_, err := r.Value()
				return err
			}
			kind := r.Kind()
			v, err := r.Value()
			if err != nil || kind == 'n' {
				return err
			}
			if kind != '[' {
				return r.Errorf("must be an array of tools, not %s", strictjson.KindName(kind))
			}
			tools, err = declarations(v)
			return err
		})
	})
	if err != nil {
		return nil, nil, parseError(data, err)
	}
	if len(tools) == 0 {
		lint = append(lint, Problem{Index: -1, Field: "tools", Rule: LintNoTools, Message: "the manifest declares no tools"})
	}
	return tools, lint, nil
}

// declarations splits the value of "tools", which is known to be valid. It copies, so nothing refers to the document.
func declarations(array json.RawMessage) ([]declaration, error) {
	var elements []json.RawMessage
	if err := json.Unmarshal(array, &elements); err != nil {
		return nil, err
	}
	tools := make([]declaration, len(elements))
	for i, element := range elements {
		d := &tools[i]
		if d.kind = kindOf(element); d.kind != '{' {
			continue
		}
		d.members = make(map[string]json.RawMessage, len(memberNames))
		err := strictjson.Read(element, strictjson.Limits{}, func(r *strictjson.Reader) error {
			return r.Object(nil, func(name string) error {
				v, err := r.Value()
				if known, exact := memberNamed(name); exact {
					d.members[name] = v
				} else if known != "" {
					d.cased = append(d.cased, [2]string{name, known})
				} else {
					d.unknown = append(d.unknown, name)
				}
				return err
			})
		})
		if err != nil {
			return nil, err
		}
	}
	return tools, nil
}

func memberNamed(name string) (known string, exact bool) {
	for _, k := range memberNames {
		if k == name {
			return k, true
		}
		if strings.EqualFold(k, name) {
			known = k
		}
	}
	return known, false
}

func unknownMember(index int, name, member string, known []string) Problem {
	return Problem{Index: index, Name: name, Field: member, Rule: LintUnknownMember, Message: fmt.Sprintf(
		"%sunknown member %q is ignored (known: %s)", at(index, name), clip.Text(member, 100), strings.Join(known, ", "))}
}

func parseError(data []byte, err error) *Error {
	e := &Error{Code: CodeParse, err: err}
	if s, ok := errors.AsType[*strictjson.Error](err); ok {
		before := data[:min(max(int(s.Offset), 0), len(data))]
		line := 1 + bytes.Count(before, []byte{'\n'})
		column := len(before) - bytes.LastIndexByte(before, '\n')
		e.Message = fmt.Sprintf("parse manifest: line %d, column %d: %s", line, column, strings.TrimSpace(s.Pointer+" "+s.Problem))
	} else {
		e.Message = "parse manifest: " + err.Error()
	}
	return e
}

// kindOf is the kind of a valid JSON value, as strictjson.Reader.Kind; 0 for none.
func kindOf(v json.RawMessage) byte {
	v = bytes.TrimLeft(v, " \t\r\n")
	if len(v) == 0 {
		return 0
	}
	if c := v[0]; c == '-' || c >= '0' && c <= '9' {
		return '0'
	}
	return v[0]
}
