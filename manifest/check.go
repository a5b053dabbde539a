package manifest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/text"
	"github.com/toolwire/toolwire/internal/toolresult"
)

// checker checks the declarations in order and collects the problems of all tools.
type checker struct {
	options  *Options
	names    map[string]bool
	problems problem.List[Problem]
	lint     problem.List[Problem]

	index int    // of the current tool
	name  string // of the current tool
}

// check returns the tool, which is usable only if there is no problem. It checks the documented
// rules first, in the documented order.
func (c *checker) check(index int, d *declaration) *tool {
	c.index, c.name = index, ""
	t := &tool{timeout: c.options.Timeout}
	if d.kind != '{' && d.kind != 'n' {
		c.reject("", "wrong_type", "must be an object, not %s", rawjson.KindName(d.kind))
		return t
	}
	for _, pair := range d.cased {
		c.reject(rawjson.Token(pair[0]), "wrong_case", "member %q must be spelled %q", pair[0], pair[1])
	}
	t.name = c.toolName(d)
	c.name = t.name
	if t.name != "" {
		if c.names[t.name] {
			c.reject("/name", "duplicate_name", "duplicate name")
		}
		c.names[t.name] = true
	}
	command := c.command(d)
	t.passthrough = c.envPassthrough(d.members["envPassthrough"])
	c.lintNames(d.members["envPassthrough"])
	if len(command) > 0 {
		t.argv = append([]string{c.program(command[0])}, command[1:]...)
	}
	t.description = c.stringMember(d, "description")
	t.timeout = c.timeout(d.members["timeoutSec"])
	t.parameters = slices.Clone(d.members["schema"])
	c.schema(t)

	for _, name := range d.unknown {
		addUnknown(&c.lint, index, t.name, name, memberNames[:])
	}
	if t.name != "" && !toolresult.ModelName(t.name) {
		c.lint.AddTool(t.name, "name_refused_by_models", pointer(index, "/name"), "%sthe APIs of models reject this name: "+
			"they accept 1 to 64 letters, digits, underscores and hyphens", at(index, t.name))
	}
	return t
}

// reject adds a problem of the current tool. place is a JSON Pointer into the tool.
func (c *checker) reject(place, code, format string, args ...any) {
	c.problems.AddTool(c.name, code, pointer(c.index, place), "%s"+format, slices.Insert(args, 0, any(at(c.index, c.name)))...)
}

func pointer(index int, place string) string { return "/tools/" + strconv.Itoa(index) + place }

// at is the beginning of a message, as documented.
func at(index int, name string) string {
	if name == "" {
		return fmt.Sprintf("tool[%d]: ", index)
	}
	return fmt.Sprintf("tool[%d] %s: ", index, quoteName(name))
}

func quoteName(name string) string { return strconv.Quote(text.Cut(name, 200)) }

// stringMember reads a string. Null and a missing member mean "".
func (c *checker) stringMember(d *declaration, member string) string {
	v := d.members[member]
	switch rawjson.Kind(v) {
	case '"', 0, 'n':
	default:
		c.reject("/"+member, "wrong_type", "%s must be a string, not %s", member, rawjson.KindName(rawjson.Kind(v)))
	}
	return rawjson.Unquote(v)
}

func (c *checker) toolName(d *declaration) string {
	before := c.problems.Len()
	name := c.stringMember(d, "name")
	if name == "" && c.problems.Len() == before {
		c.reject("/name", "name_required", "name is required")
	}
	return name
}

// command returns nil unless every element is a usable string.
func (c *checker) command(d *declaration) (argv []string) {
	n := c.strings("command", d.members["command"], func(k int, s string) {
		if strings.ContainsRune(s, 0) {
			c.reject(fmt.Sprintf("/command/%d", k), "command_nul_byte", "command[%d] must not contain a NUL byte", k)
		} else if len(argv) == k {
			argv = append(argv, s)
		}
	})
	if n == 0 {
		c.reject("/command", "command_required", "command must have at least program name")
	}
	if len(argv) != n {
		return nil
	}
	return argv
}

// strings calls each for every string of an array, rejects the other elements, and returns the
// number of elements. Null and a missing member have none. It returns -1 if v is not an array.
func (c *checker) strings(member string, v json.RawMessage, each func(k int, s string)) (n int) {
	switch rawjson.Kind(v) {
	case 0, 'n':
		return 0
	case '[':
	default:
		c.reject("/"+member, "wrong_type", "%s must be an array of strings, not %s", member, rawjson.KindName(rawjson.Kind(v)))
		return -1
	}
	for e := range rawjson.Elements(v) {
		if rawjson.Kind(e) == '"' {
			each(n, rawjson.Unquote(e))
		} else {
			c.reject(fmt.Sprintf("/%s/%d", member, n), "wrong_type",
				"%s[%d] must be a string, not %s", member, n, rawjson.KindName(rawjson.Kind(e)))
		}
		n++
	}
	return n
}

// program checks and resolves command[0].
func (c *checker) program(declared string) string {
	clean, code, message := programPath(declared, onWindows)
	if code != "" {
		c.reject("/command/0", code, "%s", message)
		return ""
	}
	abs, err := resolveProgram(c.options.Dir, clean)
	if err != nil {
		c.reject("/command/0", "program_not_resolvable", "resolve command[0]: %v", err)
	}
	return abs
}

func (c *checker) timeout(v json.RawMessage) time.Duration {
	reject := func(format string, args ...any) { c.reject("/timeoutSec", "invalid_timeout", format, args...) }
	switch rawjson.Kind(v) {
	case 0, 'n':
		return c.options.Timeout
	case '0':
	default:
		reject("timeoutSec must be a whole number of seconds, not %s", rawjson.KindName(rawjson.Kind(v)))
		return 0
	}
	sec, err := strconv.ParseInt(string(v), 10, 64)
	switch {
	case err != nil && strings.ContainsAny(string(v), ".eE"):
		reject("timeoutSec must be a whole number of seconds, without fraction or exponent")
	case sec < 0:
		reject("timeoutSec must not be negative; leave it out, or write 0, for the default")
	case err != nil || sec > maxTimeoutSec:
		reject("timeoutSec must be at most %d", maxTimeoutSec)
	case sec == 0:
		return c.options.Timeout
	}
	return time.Duration(sec) * time.Second
}
