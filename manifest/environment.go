package manifest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolwire/toolwire/internal/rawjson"
)

// baseEnvironment lists the variables that every tool gets if they are set and not empty. Without
// the further ones, programs on Windows do not find system libraries, the user's profile and the
// folder for temporary files.
func baseEnvironment(windows bool) []string {
	if windows {
		return []string{"PATH", "HOME", "PATHEXT", "SYSTEMROOT", "SYSTEMDRIVE", "USERPROFILE", "TEMP", "TMP"}
	}
	return []string{"PATH", "HOME"}
}

// envPassthrough reads the allowlist. It converts ASCII letters of the names to upper case, as the document
// demands, and removes duplicates. A conversion of other letters could make a valid name of an invalid one.
func (c *checker) envPassthrough(v json.RawMessage) []string {
	var d distinct
	c.strings("envPassthrough", v, func(j int, written string) {
		name, place := upper(written), fmt.Sprintf("/envPassthrough/%d", j)
		if envName(name) {
			d.add(name)
			return
		}
		if strings.TrimSpace(name) == "" {
			c.reject(place, "env_name_empty", "envPassthrough[%d]: empty name", j)
		} else {
			c.reject(place, "env_name_invalid", "envPassthrough[%d]: invalid name %q (must match [A-Z_][A-Z0-9_]*)", j, written)
		}
	})
	return d.names
}

// lintNames warns of names in lower case, such as http_proxy, if only the variable of that name is set.
func (c *checker) lintNames(v json.RawMessage) {
	j := -1
	for e := range rawjson.Elements(v) {
		j++
		written := rawjson.Unquote(e)
		name := upper(written)
		if _, set := c.options.LookupEnv(name); set || written == name || !envName(name) {
			continue
		}
		if _, set := c.options.LookupEnv(written); set {
			c.lint.AddTool(c.name, "env_name_case", pointer(c.index, fmt.Sprintf("/envPassthrough/%d", j)),
				"%senvPassthrough[%d] means %s, as the document demands, and only %s is set; set %s too",
				at(c.index, c.name), j, name, written, name)
		}
	}
}

// distinct keeps the first of equal names.
type distinct struct {
	names []string
	known map[string]bool
}

func (d *distinct) add(name string) {
	if d.known[name] {
		return
	}
	if d.known == nil {
		d.known = map[string]bool{}
	}
	d.known[name] = true
	d.names = append(d.names, name)
}

func upper(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return r - 'a' + 'A'
		}
		return r
	}, s)
}

func envName(s string) bool {
	for i, b := range []byte(s) {
		if !(b >= 'A' && b <= 'Z' || b == '_' || i > 0 && b >= '0' && b <= '9') {
			return false
		}
	}
	return s != ""
}

// environment returns the current environment for the tool's program, and the allowlisted names
// that it contains. Allowlisted variables come last.
func (m *Manifest) environment(t *tool) (env, passed []string) {
	base := baseEnvironment(onWindows)
	env = make([]string, 0, len(base)+len(t.passthrough))
	for _, name := range base {
		if slices.Contains(t.passthrough, name) {
			continue // the allowlist adds it, even with an empty value
		}
		if value, ok := m.options.LookupEnv(name); ok && value != "" {
			env = append(env, name+"="+value)
		}
	}
	for _, name := range t.passthrough {
		if value, ok := m.options.LookupEnv(name); ok {
			env = append(env, name+"="+value)
			passed = append(passed, name)
		}
	}
	return env, passed
}
