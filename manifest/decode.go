package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/text"
)

// declaration is one element of "tools", split into members but not checked. Its values are parts
// of the document.
type declaration struct {
	kind    byte // of the element, as rawjson.Kind
	members map[string]json.RawMessage
	unknown []string    // names, in order
	cased   [][2]string // a name in the wrong case, and the documented one
}

var memberNames = [...]string{"name", "description", "schema", "command", "timeoutSec", "envPassthrough"}

// decode splits a document into declarations. Its errors are about the document as a whole.
func decode(data []byte) (tools []declaration, lint problem.List[Problem], err error) {
	if len(data) > maxManifest {
		return nil, lint, &Error{Code: toolwire.CodeLimit,
			Message: fmt.Sprintf("parse manifest: the document is larger than %d bytes", maxManifest)}
	}
	if bytes.HasPrefix(data, []byte("\ufeff")) {
		return nil, lint, &Error{Code: toolwire.CodeInvalidJSON, Message: "parse manifest: line 1, column 1: " +
			"the document starts with a byte order mark; save it as UTF-8 without one"}
	}
	err = rawjson.Read(data, rawjson.Limits{}, func(r *rawjson.Reader) error {
		if r.Kind() == 'n' { // as in the original: null is a manifest without tools
			_, err := r.Value()
			return err
		}
		return r.Object([]string{"tools"}, func(member string) error {
			if member != "tools" {
				addUnknown(&lint, -1, "", member, []string{"tools"})
				_, err := r.Value()
				return err
			}
			kind := r.Kind()
			v, err := r.Value()
			if err != nil || kind == 'n' {
				return err
			}
			if kind != '[' {
				return r.Errorf("must be an array of tools, not %s", rawjson.KindName(kind))
			}
			for element := range rawjson.Elements(v) {
				if len(tools) == maxTools {
					return r.Errorf("has more than %d tools", maxTools)
				}
				tools = append(tools, declare(element))
			}
			return nil
		})
	})
	if err != nil {
		return nil, lint, parseError(data, err)
	}
	if len(tools) == 0 {
		lint.Add("no_tools", "/tools", "the manifest declares no tools")
	}
	return tools, lint, nil
}

// declare splits an element of "tools", which is valid JSON without duplicate names.
func declare(element json.RawMessage) declaration {
	d := declaration{kind: rawjson.Kind(element)}
	if d.kind == '{' {
		d.members = make(map[string]json.RawMessage, len(memberNames))
	}
	for name, value := range rawjson.Members(element) {
		if known, exact := memberNamed(name); exact {
			d.members[name] = value
		} else if known != "" {
			d.cased = append(d.cased, [2]string{name, known})
		} else {
			d.unknown = append(d.unknown, name)
		}
	}
	return d
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

// addUnknown adds a member of a tool, or of the document if index is -1.
func addUnknown(to *problem.List[Problem], index int, tool, member string, known []string) {
	place, prefix := rawjson.Token(member), ""
	if index >= 0 {
		place, prefix = pointer(index, place), at(index, tool)
	}
	to.AddTool(tool, "unknown_member", place, "%sunknown member %q is ignored (known: %s)",
		prefix, text.Cut(member, 100), strings.Join(known, ", "))
}

func parseError(data []byte, err error) *Error {
	e := &Error{Code: toolwire.CodeInvalidJSON, Err: err, Message: "parse manifest: " + err.Error()}
	if s, ok := errors.AsType[*rawjson.Error](err); ok {
		before := data[:min(max(int(s.Offset), 0), len(data))]
		line := 1 + bytes.Count(before, []byte{'\n'})
		column := len(before) - bytes.LastIndexByte(before, '\n')
		e.Message = fmt.Sprintf("parse manifest: line %d, column %d: %s",
			line, column, strings.TrimSpace(s.Pointer+" "+s.Problem))
	}
	if rawjson.IsForeign(data) {
		e.Message += rawjson.Convert
	}
	return e
}
