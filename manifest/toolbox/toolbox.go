package toolbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/toolwire/toolwire/internal/clip"
	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/runner"
	"github.com/toolwire/toolwire/internal/strictjson"
	"github.com/toolwire/toolwire/schema"
)

// Toolbox holds adapters and tools. It is immutable and safe for concurrent use.
type Toolbox struct {
	*shared
	agent Agent
}

// shared is what the toolboxes of all agents have in common.
type shared struct {
	options  Options // with defaults
	tools    []*tool // in the order of the document
	byName   map[string]*tool
	adapters []adapter
	limits   strictjson.Limits // of arguments
	caller   httpcall.Client   // of external tools
	details  *details
	runner   runner.Runner
	hooks    runner.Runner // for Options.OnCall
}

// tool is a [Tool] that is ready to run.
type tool struct {
	Tool
	forModel  json.RawMessage // the parameters with reasoning
	forPeer   json.RawMessage // the definition that a webhook gets
	validate  func(document []byte) error
	reasoning bool    // an argument of its own
	run       Handler // nil for external tools
}

type adapter struct {
	Adapter
	validate func(document []byte) error // nil without a schema
}

const maxDocument = 4 << 20

// Load reads a document of at most 4 MiB from a file. The error is an [*Error]: CodeRead, CodeJSON with the place in the
// document, or CodeInvalid with everything that is wrong with adapters, tools and options. Options may be nil if there
// are no tools that need some.
func Load(name string, opts *Options) (*Toolbox, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, &Error{Code: CodeRead, Message: err.Error(), Err: err}
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxDocument+1))
	if err != nil {
		return nil, &Error{Code: CodeRead, Message: err.Error(), Err: err}
	}
	return Parse(data, opts)
}

// Parse is [Load] for a document that is in memory already. It keeps nothing of data.
func Parse(data []byte, opts *Options) (*Toolbox, error) {
	if len(data) > maxDocument {
		return nil, errorf(CodeJSON, "", "the document has more than %d bytes", maxDocument)
	}
	options, problems := opts.withDefaults()
	doc, err := decode(data)
	if err != nil {
		return nil, err
	}
	c := &checker{options: &options, doc: doc, problems: append(problems, doc.problems...)}
	adapters := c.adapters()
	tools := c.tools()
	if len(c.problems) > 0 {
		return nil, &Error{Code: CodeInvalid, Message: "the toolbox cannot be used", Problems: c.problems}
	}
	s := &shared{
		options: options, adapters: adapters, tools: tools, byName: make(map[string]*tool, len(tools)),
		limits: strictjson.Limits{Depth: options.Limits.Depth},
	}
	if s.limits.Depth == 0 {
		s.limits.Depth = 64
	}
	for _, t := range tools {
		s.byName[t.Name] = t
	}
	s.runner = runner.Runner{What: "tool", Key: "tool", Logger: options.Logger, Cause: errTimeout, Grace: runner.Grace}
	s.hooks = runner.Runner{What: "OnCall", Key: "tool", Logger: options.Logger, Grace: runner.Grace}
	s.connect()
	return &Toolbox{shared: s, agent: options.Agent}, nil
}

// For returns the same toolbox for another agent. They share connections, details and everything else. The error is an
// [*Error] with CodeAgent if the agent's ID is no UUID or its context no object.
func (b *Toolbox) For(agent Agent) (*Toolbox, error) {
	if problem := agent.problem(); problem != "" {
		return nil, errorf(CodeAgent, "", "the agent %s", problem)
	}
	agent.Context = slices.Clone(agent.Context)
	return &Toolbox{shared: b.shared, agent: agent}, nil
}

// Adapters lists the adapters in the order of the document. The slice is the caller's own, but for the schemas.
func (b *Toolbox) Adapters() []Adapter {
	list := make([]Adapter, len(b.adapters))
	for i, a := range b.adapters {
		list[i] = a.Adapter
	}
	return list
}

// Tools lists the tools of the adapters, given by name or id, or all tools if none is given, in the order of the
// document. An adapter that there is not has no tools. The slice is the caller's own, but for the schemas.
func (b *Toolbox) Tools(adapters ...string) []Tool {
	list := make([]Tool, 0, len(b.tools))
	for _, t := range b.tools {
		if b.of(t, adapters) {
			list = append(list, t.Tool)
		}
	}
	return list
}

// of reports whether a tool belongs to one of the adapters; it does if none is given.
func (s *shared) of(t *tool, adapters []string) bool {
	if len(adapters) == 0 {
		return true
	}
	i := slices.IndexFunc(s.adapters, func(a adapter) bool { return a.Name == t.Adapter })
	return i >= 0 && slices.ContainsFunc(adapters, s.adapters[i].is)
}

func (a *adapter) is(name string) bool { return name != "" && (name == a.Name || name == a.ID) }

// ValidateConfig checks a configuration, a JSON document, against the config_schema of an adapter, given by name or id.
// Without a schema anything that is JSON will do. The error is an [*Error] with CodeUnknownAdapter or CodeConfig, which
// unwraps to a [*schema.Error].
func (b *Toolbox) ValidateConfig(adapterName string, config []byte) error {
	i := slices.IndexFunc(b.adapters, func(a adapter) bool { return a.is(adapterName) })
	if i < 0 {
		return errorf(CodeUnknownAdapter, "", "there is no adapter %q", clip.Text(adapterName, 128))
	}
	if err := b.adapters[i].validate(config); err != nil {
		return &Error{Code: CodeConfig, Err: err,
			Message: fmt.Sprintf("the configuration of the adapter %q: %s", clip.Text(adapterName, 128), err)}
	}
	return nil
}

// compile prepares a schema that has been found valid.
func compile(raw json.RawMessage, limits schema.Limits) (func([]byte) error, []schema.Problem) {
	if len(raw) == 0 {
		raw = json.RawMessage("true")
	}
	v, err := schema.Compile(raw, &schema.CompileOptions{Limits: limits})
	if err == nil {
		return v.Validate, nil
	}
	if invalid, ok := errors.AsType[*schema.Error](err); ok {
		return nil, invalid.Problems
	}
	return nil, []schema.Problem{{Code: "schema_invalid", Message: "cannot be compiled"}}
}
