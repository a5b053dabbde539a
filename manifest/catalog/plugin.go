package catalog

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/manifest/catalog/internal/python"
)

// PluginOptions selects the rules for an uploaded file. The zero value of every field selects its
// default.
type PluginOptions struct {
	// MaxBytes bounds the file. Defaults to 1 MiB; the documents leave the limit to the backend.
	MaxBytes int

	// ServerVersion is the version of the server that will run the plugin, such as "v0.1.84".
	// Before v0.1.85 a file must have an entry point; since then a tool class is sufficient. If it
	// is "", the newest server is assumed.
	ServerVersion string
}

// Plugin describes a file that [CheckPlugin] read without running it.
type Plugin struct {
	ClassName   string // of the tool class; "" if the file has only an entry point
	ModuleName  string // the file's name without .py, as an identifier: "_" replaces each other character
	Name        string // the class's attribute name if it is a literal, else ""
	Description string // the class's attribute description if it is a literal, else ""

	// EntryPoint reports whether the file has an entry point, which servers before v0.1.85 require:
	// a function tool_plugin that returns the tool, or @tool_plugin(…) of gllm_plugin on the class.
	EntryPoint bool
}

const defaultMaxPlugin = 1 << 20

// The rules of files, in [toolwire.Problem.Code].
const (
	ruleFilename   = "filename"
	ruleTooLarge   = "too_large"
	ruleEncoding   = "encoding"
	ruleSyntax     = "syntax"
	ruleEntryPoint = "entry_point"
	ruleToolClass  = "tool_class"
)

// CheckPlugin checks a Python file as a catalog does at its upload, without running it. Only the
// last element of filename counts; it must end in ".py" and contain no control characters. The
// source must be UTF-8, with or without a byte order mark, contain no NUL, and not exceed the size
// limit. Its tokens must be Python. CheckPlugin accepts every source that CPython 3.10 or a later
// version accepts, and some malformed ones.
//
// A file needs a tool class: a class of the module with a base class. A few base classes of the
// standard library and pydantic do not count. An entry point replaces the class; older servers
// require one anyway. Of several classes CheckPlugin prefers one that is decorated, derives from
// BaseTool, derives from a class whose name ends in Tool, or has a literal name. Of equals it takes
// the last.
//
// The error is a [*toolwire.Error]. With invalid_plugin it lists all problems, at the pointer "/file". With
// [toolwire.CodeRequestTooLarge] the file was not examined. With [toolwire.CodeInvalidOptions] the options are not valid.
func CheckPlugin(filename string, source []byte, opts *PluginOptions) (*Plugin, error) {
	if opts == nil {
		opts = &PluginOptions{}
	}
	if ps := opts.problems(""); len(ps) > 0 {
		return nil, &toolwire.Error{Package: "catalog", Code: toolwire.CodeInvalidOptions, Message: "the options of plugins are not valid", Problems: ps}
	}
	if most := opts.limit(); len(source) > most {
		return nil, &toolwire.Error{Package: "catalog", Code: toolwire.CodeRequestTooLarge, Message: "the plugin file is too large",
			Problems: []toolwire.Problem{tooLarge("file", most)}}
	}
	var found []toolwire.Problem
	bad := func(rule, message string) { found = append(found, at("file", rule, message)) }
	base := path.Base(strings.ReplaceAll(filename, `\`, "/"))
	module, isPython := strings.CutSuffix(base, ".py")
	switch {
	case !isPython || module == "" || !utf8.ValidString(module):
		bad(ruleFilename, `needs a name that ends in ".py"`)
	case strings.ContainsFunc(module, unicode.IsControl):
		bad(ruleFilename, "needs a name without control characters")
	}
	p := &Plugin{ModuleName: identifier(module)}
	source = bytes.TrimPrefix(source, []byte("\ufeff"))
	switch {
	case !utf8.Valid(source):
		bad(ruleEncoding, fmt.Sprintf("is not UTF-8: see line %d", invalidLine(source)))
	case bytes.IndexByte(source, 0) >= 0:
		bad(ruleEncoding, "contains a NUL, so it is not text")
	default:
		m, err := python.Read(source)
		if err != nil {
			bad(ruleSyntax, "is not Python: "+err.Error())
			break
		}
		p.examine(m)
		switch needs, _ := opts.needsEntryPoint(); {
		case needs && !p.EntryPoint:
			bad(ruleEntryPoint, "has no entry point, which servers before v0.1.85 need: a function tool_plugin, "+
				"or @tool_plugin on the class")
		case p.ClassName == "" && !p.EntryPoint:
			bad(ruleToolClass,
				"has no tool class: a class of the module that derives from the framework's base class, such as BaseTool")
		}
	}
	if len(found) > 0 {
		return nil, &toolwire.Error{Package: "catalog", Code: codePlugin, Message: "invalid plugin file", Problems: found}
	}
	return p, nil
}

// identifier returns a file's name as a Python identifier, so that no character of it has a meaning
// in a path, a shell or an import.
func identifier(name string) string {
	name = strings.Map(func(r rune) rune {
		if r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return '_'
	}, name)
	if first, _ := utf8.DecodeRuneInString(name); unicode.IsDigit(first) {
		name = "_" + name
	}
	return name
}

func tooLarge(field string, most int) toolwire.Problem {
	return at(field, ruleTooLarge, fmt.Sprintf("has more than %d bytes", most))
}

// invalidLine returns the line where a text stops being UTF-8.
func invalidLine(source []byte) int {
	line := 1
	for text := range bytes.Lines(source) {
		if !utf8.Valid(text) {
			break
		}
		line++
	}
	return line
}

// limit returns the most bytes of a file.
func (o *PluginOptions) limit() int { return min(cmp.Or(o.MaxBytes, defaultMaxPlugin), mostBytes) }

// needsEntryPoint reports whether a file needs an entry point. ok is false if the version is not one.
func (o *PluginOptions) needsEntryPoint() (needs, ok bool) {
	if o.ServerVersion == "" {
		return false, true
	}
	return isBefore(o.ServerVersion, [3]int{0, 1, 85})
}

// problems returns the mistakes in the options, at pointers below the pointer of o.
func (o *PluginOptions) problems(pointer string) []toolwire.Problem {
	var ps []toolwire.Problem
	most := o.MaxBytes // see limit for the default
	problem.Limit(limitIn(&ps), "MaxBytes", &most, defaultMaxPlugin)
	if _, ok := o.needsEntryPoint(); !ok {
		ps = append(ps, at("ServerVersion", "version", `must be a version such as "v0.1.84"`))
	}
	for i := range ps {
		ps[i].Pointer = pointer + ps[i].Pointer
	}
	return ps
}

// isBefore compares a version such as v0.1.85, 0.2, 0.1.85-rc.1 or 0.1.85rc1. A pre-release is
// before its version. ok is false if version is not a version.
func isBefore(version string, than [3]int) (before, ok bool) {
	rest := strings.TrimPrefix(version, "v")
	var is [3]int
	for i := range is {
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		n, err := strconv.Atoi(rest[:digits])
		if err != nil {
			return false, false
		}
		is[i], rest = n, rest[digits:]
		if !strings.HasPrefix(rest, ".") || len(rest) < 2 || rest[1] < '0' || rest[1] > '9' {
			break
		}
		rest = rest[1:]
	}
	if c := slices.Compare(is[:], than[:]); c != 0 {
		return c < 0, true
	}
	rest = strings.ToLower(strings.TrimLeft(rest, "-._"))
	// alpha, beta, candidate, dev, rc; not post and +build
	return rest != "" && strings.ContainsAny(rest[:1], "abcdr"), true
}

// notTools are bases that a tool class never has alone.
var notTools = []string{"object", "BaseModel", "BaseSettings", "Exception", "BaseException", "Enum", "IntEnum",
	"StrEnum", "TypedDict", "NamedTuple", "Protocol", "ABC", "TestCase"}

// examine finds the entry point and the tool class.
func (p *Plugin) examine(m *python.Module) {
	decorators := map[string]bool{"tool_plugin": true} // and its names in imports
	derived := map[string]bool{}                       // names of BaseTool, and classes of this module that derive from it
	for _, i := range m.Imports {
		switch {
		case i.Name == "BaseTool":
			derived[i.As] = true
		case i.Name == "tool_plugin" && strings.HasPrefix(i.Module, "gllm_plugin"):
			decorators[i.As] = true
		}
	}
	decorated := func(names []string) bool {
		return slices.ContainsFunc(names, func(n string) bool {
			return decorators[n] || strings.HasSuffix(n, ".tool_plugin")
		})
	}
	p.EntryPoint = slices.Contains(m.Assigned, "tool_plugin")
	for _, f := range m.Functions {
		p.EntryPoint = p.EntryPoint || f.Name == "tool_plugin" && !f.Async || decorated(f.Decorators)
	}
	best := -1
	for _, c := range m.Classes {
		isDecorated := decorated(c.Decorators)
		p.EntryPoint = p.EntryPoint || isDecorated
		if r := rank(c, isDecorated, derived); r >= 0 && r >= best {
			best = r
			p.ClassName, p.Name, p.Description = c.Name, c.Texts["name"], c.Texts["description"]
		}
	}
}

// rank rates how likely a class is the tool. It returns -1 if the class is not a tool.
func rank(c python.Class, decorated bool, derived map[string]bool) int {
	r, tool := -1, false
	for _, base := range c.Bases {
		last := base[strings.LastIndexByte(base, '.')+1:]
		switch {
		case last == "BaseTool" || derived[base]:
			tool = true
			r = max(r, 4)
		case strings.HasSuffix(last, "Tool"):
			r = max(r, 2)
		case !slices.Contains(notTools, last):
			r = max(r, 0)
		}
	}
	derived[c.Name] = tool
	if decorated {
		r = 6
	}
	if _, named := c.Texts["name"]; named && r >= 0 {
		r++
	}
	return r
}

// AddEntryPoint adds an entry point to a source that [CheckPlugin] accepts. Servers before v0.1.85
// require one. It is a function tool_plugin at the end of the module, which returns a new instance
// of the tool class. If the source has an entry point, AddEntryPoint returns it unchanged.
// AddEntryPoint returns the errors of CheckPlugin, but has no size limit.
//
// ToolBase records lets the platform's own SDK do this before it uploads to older servers. Here the
// caller decides, because the upload then differs from the file.
func AddEntryPoint(source []byte) ([]byte, error) {
	const file = "plugin.py" // no rule depends on the name
	unbounded := PluginOptions{MaxBytes: len(source) + 1}
	plugin, err := CheckPlugin(file, source, &unbounded)
	if err != nil {
		return nil, err
	}
	if plugin.EntryPoint {
		return source, nil
	}
	end := "\n"
	if bytes.Contains(source, []byte("\r\n")) {
		end = "\r\n"
	}
	added := slices.Clone(source)
	if !bytes.HasSuffix(added, []byte("\n")) {
		added = append(added, end...)
	}
	added = append(added, end+end+"def tool_plugin():"+end+"    return "+plugin.ClassName+"()"+end...)
	older := PluginOptions{MaxBytes: len(added), ServerVersion: "v0.1.84"}
	if _, err := CheckPlugin(file, added, &older); err != nil {
		return nil, err
	}
	return added, nil
}
