package manifest

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/toolwire/toolwire/internal/strictjson"
)

// checker goes through the declarations in order and collects every problem of every tool.
type checker struct {
	options  *Options
	names    map[string]bool
	problems []Problem
	lint     []Problem

	index int    // of the tool at hand
	name  string // of the tool at hand
}

// check returns the tool, which is of use only if no problem was found. The documented rules come first, in their
// documented order; then those that the document leaves open.
func (c *checker) check(index int, d *declaration) *tool {
	c.index, c.name = index, ""
	t := &tool{timeout: c.options.Timeout}
	if d.kind != '{' && d.kind != 'n' {
		c.refuse("", RuleType, "must be an object, not %s", strictjson.KindName(d.kind))
		return t
	}
	for _, pair := range d.cased {
		c.refuse(pair[0], RuleSpelling, "member %q must be spelled %q", pair[0], pair[1])
	}
	t.name = c.toolName(d)
	c.name = t.name
	if t.name != "" {
		if c.names[t.name] {
			c.refuse("name", RuleDuplicateName, "duplicate name")
		}
		c.names[t.name] = true
	}
	command := c.command(d)
	t.passthrough = c.envPassthrough(d.members["envPassthrough"])
	if len(command) > 0 {
		t.argv = append([]string{c.program(command[0])}, command[1:]...)
	}
	t.description = c.text(d, "description")
	t.timeout = c.timeout(d.members["timeoutSec"])
	t.parameters = d.members["schema"]
	c.schema(t)

	for _, name := range d.unknown {
		c.lint = append(c.lint, unknownMember(index, t.name, name, memberNames[:]))
	}
	if t.name != "" && !modelName(t.name) {
		c.lint = append(c.lint, Problem{Index: index, Name: t.name, Field: "name", Rule: LintModelName, Message: at(index, t.name) +
			"model APIs refuse this name: they accept 1 to 64 letters, digits, underscores and hyphens"})
	}
	return t
}

func (c *checker) refuse(field string, rule Rule, format string, args ...any) {
	c.problems = append(c.problems, Problem{Index: c.index, Name: c.name, Field: field, Rule: rule,
		Message: at(c.index, c.name) + fmt.Sprintf(format, args...)})
}

// at is how the document begins its messages.
func at(index int, name string) string {
	switch {
	case index < 0:
		return ""
	case name == "":
		return fmt.Sprintf("tool[%d]: ", index)
	}
	return fmt.Sprintf("tool[%d] %s: ", index, quoteName(name))
}

// text reads a member that is a string; null and absent read as "".
func (c *checker) text(d *declaration, member string) string {
	v := d.members[member]
	switch kind := kindOf(v); kind {
	case '"':
		return unquote(v)
	case 0, 'n':
	default:
		c.refuse(member, RuleType, "%s must be a string, not %s", member, strictjson.KindName(kind))
	}
	return ""
}

func (c *checker) toolName(d *declaration) string {
	before := len(c.problems)
	name := c.text(d, "name")
	if name == "" && len(c.problems) == before {
		c.refuse("name", RuleNameRequired, "name is required")
	}
	return name
}

// command returns nil unless every element is there and is a usable string.
func (c *checker) command(d *declaration) (argv []string) {
	n := c.strings("command", d.members["command"], func(k int, s string) {
		if strings.ContainsRune(s, 0) {
			field := fmt.Sprintf("command[%d]", k)
			c.refuse(field, RuleCommandNUL, "%s must not contain a NUL byte", field)
		} else if len(argv) == k {
			argv = append(argv, s)
		}
	})
	if n == 0 {
		c.refuse("command", RuleCommandRequired, "command must have at least program name")
	}
	if len(argv) != n {
		return nil
	}
	return argv
}

// strings hands out the elements of an array of strings in order, refuses those that are none, and returns how many
// elements there are; null and absent have none. It returns -1 for a member that is no array.
func (c *checker) strings(member string, v json.RawMessage, each func(k int, s string)) int {
	switch kind := kindOf(v); kind {
	case 0, 'n':
		return 0
	case '[':
	default:
		c.refuse(member, RuleType, "%s must be an array of strings, not %s", member, strictjson.KindName(kind))
		return -1
	}
	var elements []json.RawMessage
	_ = json.Unmarshal(v, &elements) // known to be valid
	for k, e := range elements {
		if kind := kindOf(e); kind != '"' {
			field := fmt.Sprintf("%s[%d]", member, k)
			c.refuse(field, RuleType, "%s must be a string, not %s", field, strictjson.KindName(kind))
		} else {
			each(k, unquote(e))
		}
	}
	return len(elements)
}

// program checks and resolves command[0].
func (c *checker) program(declared string) string {
	clean, rule, problem := programPath(declared, onWindows)
	if rule != "" {
		c.refuse("command[0]", rule, "%s", problem)
		return ""
	}
	abs, err := resolveProgram(c.options.Dir, clean)
	if err != nil {
		c.refuse("command[0]", RuleProgramResolve, "resolve command[0]: %v", err)
	}
	return abs
}

func (c *checker) timeout(v json.RawMessage) time.Duration {
	switch kindOf(v) {
	case 0, 'n':
		return c.options.Timeout
	case '0':
	default:
		c.refuse("timeoutSec", RuleTimeout, "timeoutSec must be a whole number of seconds, not %s", strictjson.KindName(kindOf(v)))
		return 0
	}
	sec, err := strconv.ParseInt(string(v), 10, 64)
	switch {
	case err != nil && strings.ContainsAny(string(v), ".eE"):
		c.refuse("timeoutSec", RuleTimeout, "timeoutSec must be a whole number of seconds, without fraction or exponent")
	case sec < 0:
		c.refuse("timeoutSec", RuleTimeout, "timeoutSec must not be negative; leave it out, or write 0, for the default")
	case err != nil || sec > maxTimeoutSec:
		c.refuse("timeoutSec", RuleTimeout, "timeoutSec must be at most %d", maxTimeoutSec)
	case sec == 0:
		return c.options.Timeout
	}
	return time.Duration(sec) * time.Second
}

// unquote reads a JSON string that is known to be valid.
func unquote(v json.RawMessage) (s string) {
	_ = json.Unmarshal(v, &s)
	return s
}

// modelName reports whether OpenAI and Anthropic accept a function of this name.
func modelName(name string) bool {
	if len(name) > 64 {
		return false
	}
	for _, b := range []byte(name) {
		if !(b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '_' || b == '-') {
			return false
		}
	}
	return true
}
