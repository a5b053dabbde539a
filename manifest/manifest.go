package manifest

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/toolresult"
	"github.com/toolwire/toolwire/schema"
)

// Manifest is a loaded tools.json. It is immutable and safe for concurrent use. All its calls
// share the limit [Options.MaxParallel].
type Manifest struct {
	options  Options // with defaults
	pipeWait time.Duration
	tools    []*tool // in the order of the document
	byName   map[string]*tool
	lint     []Problem
	places   chan struct{} // holds one value per running program
}

// tool is one checked and resolved entry.
type tool struct {
	name, description string
	parameters        json.RawMessage // as written; nil without a schema
	argv              []string        // argv[0] is absolute
	passthrough       []string        // normalized names of environment variables
	timeout           time.Duration
	validate          func(arguments []byte) error // nil without a schema
}

// pipeWait is how long a call waits for stdout and stderr to close after the program has exited.
const pipeWait = 2 * time.Second

// Load reads a manifest from a file of at most 4 MiB. Relative programs resolve against the folder
// of the file, unless [Options.Dir] is set; a later change of the working directory has no effect.
// A manifest without tools is valid.
//
// The error is an [*Error]: toolwire.CodeUnreadable, toolwire.CodeInvalidJSON with line and column,
// invalid_manifest with the problems of all tools, or toolwire.CodeInvalidOptions.
func Load(name string, options *Options) (*Manifest, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, readError(err)
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxManifest+1))
	if err != nil {
		return nil, readError(err)
	}
	var o Options
	if options != nil {
		o = *options
	}
	if o.Dir == "" {
		o.Dir = filepath.Dir(name)
	}
	m, err := Parse(data, &o)
	if e, ok := errors.AsType[*Error](err); ok && e.Code != toolwire.CodeInvalidOptions {
		e.file = name
	}
	return m, err
}

func readError(err error) *Error {
	return &Error{Code: toolwire.CodeUnreadable, Message: "read manifest: " + err.Error(), Err: err}
}

// Parse loads a manifest from memory, for example an embedded file. It is like [Load], except that
// relative programs resolve against [Options.Dir] only. It does not keep data.
func Parse(data []byte, options *Options) (*Manifest, error) {
	o, problems := options.withDefaults()
	if problems.Len() > 0 {
		return nil, &Error{Code: toolwire.CodeInvalidOptions, Message: "the options of the manifest are not valid",
			Problems: problems.Found}
	}
	declared, lint, err := decode(data)
	if err != nil {
		return nil, err
	}
	m := &Manifest{
		options:  o,
		pipeWait: pipeWait,
		byName:   make(map[string]*tool, len(declared)),
		places:   make(chan struct{}, o.MaxParallel),
	}
	c := checker{options: &m.options, names: make(map[string]bool, len(declared))}
	for i := range declared {
		t := c.check(i, &declared[i])
		m.tools = append(m.tools, t)
		m.byName[t.name] = t
	}
	if c.problems.Len() > 0 {
		for _, p := range c.lint.Found {
			if p.Code == "unknown_member" { // perhaps the name of what is missing is misspelled
				c.problems.Put(p)
			}
		}
		slices.SortStableFunc(c.problems.Found, func(a, b Problem) int { return index(a) - index(b) })
		return nil, &Error{Code: codeInvalid, Message: "the manifest is not valid", Problems: c.problems.Found, More: c.problems.More}
	}
	lint.Join(c.lint)
	m.lint = lint.All()
	return m, nil
}

// index returns the place of the tool that a problem is about.
func index(p Problem) int {
	token, _, _ := strings.Cut(strings.TrimPrefix(p.Pointer, "/tools/"), "/")
	i, _ := strconv.Atoi(token) // pointer made it
	return i
}

// Tools lists the tools in the order of the manifest, in the form of package schema. An agent can
// register the list, and [schema.Export] writes it for the API of a model. Schemas are copied byte
// for byte; a tool without a schema accepts any object. The list does not contain command,
// timeoutSec and envPassthrough. It is never nil.
func (m *Manifest) Tools() []schema.Tool {
	list := make([]schema.Tool, len(m.tools))
	for i, t := range m.tools {
		list[i] = schema.Tool{Name: t.name, Description: t.description, InputSchema: slices.Clone(t.parameters)}
		if t.parameters == nil {
			list[i].InputSchema = json.RawMessage(toolresult.NoArguments)
		}
	}
	return list
}

// Lint lists what is valid but probably not intended: members that the document does not define,
// names that the APIs of models reject, a manifest without tools, and what [schema.Lint] reports of
// the schemas. Unknown members, such as a misspelled timeoutSec, are ignored.
func (m *Manifest) Lint() []Problem {
	list := slices.Clone(m.lint)
	for i, t := range m.tools {
		if t.parameters == nil {
			continue
		}
		for _, p := range schema.Lint([]schema.Tool{{Name: t.name, InputSchema: t.parameters}}, nil) {
			if place, ok := strings.CutPrefix(p.Pointer, "/0/input_schema"); ok {
				list = append(list, Problem{Tool: t.name, Code: p.Code, Pointer: pointer(i, "/schema"+place),
					Message: at(i, t.name) + "schema" + place + " " + p.Message})
			}
		}
	}
	return list
}
