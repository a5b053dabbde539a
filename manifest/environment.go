package manifest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// baseEnvironment are the variables that every tool gets when they are set and not empty. Without the Windows ones,
// programs there fail to find system libraries, the user's profile and a folder for temporary files.
func baseEnvironment(windows bool) []string {
	if windows {
		return []string{"PATH", "HOME", "PATHEXT", "SYSTEMROOT", "SYSTEMDRIVE", "USERPROFILE", "TEMP", "TMP"}
	}
	return []string{"PATH", "HOME"}
}

// envPassthrough reads and normalizes the allowlist: upper case (ASCII letters only: others would pass as a name that
// they are not), no space around, no duplicates.
func (c *checker) envPassthrough(v json.RawMessage) []string {
	var d distinct
	c.strings("envPassthrough", v, func(j int, written string) {
		name := upper(strings.Trim(written, " \t\r\n\v\f"))
		if envName(name) {
			d.add(name)
			return
		}
		field := fmt.Sprintf("envPassthrough[%d]", j)
		if name == "" {
			c.refuse(field, RuleEnvEmpty, "%s: empty name", field)
		} else {
			c.refuse(field, RuleEnvInvalid, "%s: invalid name %q (must match [A-Z_][A-Z0-9_]*)", field, written)
		}
	})
	return d.names
}

// distinct keeps each name once, in the order in which the names came.
type distinct struct {
	names   []string
	known   map[string]bool
	lookups int // tests read it: one for each name, however many names there are
}

func (d *distinct) add(name string) {
	d.lookups++
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

// environment is what the tool's program gets now, and the allowlisted names that are among it.
func (m *Manifest) environment(t *tool) (env, passed []string) {
	base := baseEnvironment(onWindows)
	env = make([]string, 0, len(base)+len(t.passthrough))
	for _, name := range base {
		if slices.Contains(t.passthrough, name) {
			continue // once is enough, and the allowlist also passes an empty value
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
