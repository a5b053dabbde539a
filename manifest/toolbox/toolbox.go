package toolbox

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/redact"
	"github.com/toolwire/toolwire/internal/toolcall"
)

// Toolbox runs the tools of one document for one agent. It is immutable and safe for concurrent
// use.
type Toolbox struct {
	*shared
	agent Agent
}

// shared is what the toolboxes of all agents have in common.
type shared struct {
	options  Options // with defaults
	secret   redact.Hidden[string]
	tools    []*tool // in the order of the document
	byName   map[string]*tool
	adapters []Adapter
	caller   httpcall.Client // for external tools
	details  *details
	loop     *toolcall.Loop
}

// tool is a [Tool] that is ready to run.
type tool struct {
	Tool
	adapter  int             // the index of its adapter, or -1
	forModel json.RawMessage // the parameters with reasoning
	reasoned json.RawMessage // the definition for a webhook beside arguments with reasoning
	bare     json.RawMessage // the definition for a webhook beside other arguments
	called   *toolcall.Tool
	run      Handler // nil for external tools
}

const maxDocument = 4 << 20 // bytes

// Parse reads a document of at most 4 MiB in one of the forms of the package comment. It does not
// keep data. If options is nil, all options have their defaults; a document with tools needs Handlers
// or a Secret.
//
// The error is an [*Error]: toolwire.CodeInvalidJSON with the place in the document, invalid_toolbox with the problems
// of adapters, tools and options, or toolwire.CodeInvalidOptions if only options are not valid.
func Parse(data []byte, options *Options) (*Toolbox, error) {
	if len(data) > maxDocument {
		return nil, errorf(toolwire.CodeLimit, "", "the document has more than %d bytes", maxDocument)
	}
	o, problems := options.withDefaults()
	doc, err := decode(data)
	if err != nil {
		return nil, err
	}
	c := newChecker(&o, doc, problems)
	c.adapters()
	tools := c.tools()
	if found := c.problems; found.Len() > 0 {
		e := &Error{Code: toolwire.CodeInvalidOptions, Message: "the options are not valid", Problems: found.Found, More: found.More}
		if slices.ContainsFunc(found.Found, func(p toolwire.Problem) bool { return p.Code != "invalid_option" }) {
			e.Code, e.Message = codeInvalid, "the toolbox is not valid"
		}
		return nil, e
	}
	s := &shared{options: o, secret: redact.Hide(o.Secret), tools: tools, byName: make(map[string]*tool, len(tools))}
	s.options.Secret = "" // printing a Toolbox would show it
	for _, entry := range doc.adapters {
		s.adapters = append(s.adapters, entry.Adapter)
	}
	for _, t := range tools {
		s.byName[t.Name] = t
	}
	s.loop = toolcall.NewLoop(o.Timeout, o.MaxParallel, o.Logger)
	s.connect()
	return &Toolbox{shared: s, agent: o.Agent}, nil
}

// For returns the same toolbox for another agent. Both share connections and details. The error is
// an [*Error] with no_agent if the ID is not a UUID or the Context is not a JSON object.
func (b *Toolbox) For(agent Agent) (*Toolbox, error) {
	if problem := agent.problem(); problem != "" {
		return nil, errorf(codeAgent, "", "the agent %s", problem)
	}
	agent.Context = slices.Clone(agent.Context)
	return &Toolbox{shared: b.shared, agent: agent}, nil
}

// Tools lists the tools as the document defines them, in its order. If adapters are given, by name
// or id, it lists only their tools; an unknown adapter has none. Do not change the schemas in the
// list.
func (b *Toolbox) Tools(adapters ...string) []Tool {
	list := make([]Tool, 0, len(b.tools))
	for _, t := range b.tools {
		if b.of(t, adapters) {
			list = append(list, t.Tool)
		}
	}
	return list
}

// of reports whether a tool belongs to one of the adapters. If none is given, it returns true.
func (s *shared) of(t *tool, adapters []string) bool {
	if len(adapters) == 0 {
		return true
	}
	return t.adapter >= 0 && slices.ContainsFunc(adapters, s.adapters[t.adapter].is)
}

// Handler runs an internal tool. It is the Go form of the documented signature (args, agent, tool)
// -> text. args is a JSON object that matches the parameters of the tool, without reasoning. If the
// model left a property out, args contains its "default" from the "properties" of the parameters, at the
// root and in objects that are there. A default with which args would not match the parameters is left
// out.
//
// An error means that the tool failed. The model reads the text of an error that [Errorf] made. The
// text of any other error stays in the error, because it may contain anything.
//
// Each call runs on its own goroutine. ctx ends when the caller's context ends or when
// [Options.Timeout] has passed. If the handler does not return within another 500 ms, the call
// fails and the later result is dropped. A panic or runtime.Goexit fails the call.
type Handler func(ctx context.Context, args json.RawMessage, agent Agent, tool Tool) (string, error)

// Typed makes a [Handler] from a function with a Go type. It decodes arguments as encoding/json
// does. If In does not accept arguments that match the schema, the call fails with toolwire.CodeInvalidArguments.
func Typed[In any](f func(ctx context.Context, args In, agent Agent, tool Tool) (string, error)) Handler {
	return func(ctx context.Context, raw json.RawMessage, agent Agent, tool Tool) (string, error) {
		in, err := toolcall.Decode[In](raw)
		if err != nil {
			return "", err
		}
		return f(ctx, in, agent, tool)
	}
}

// Tool is the definition of a tool in the document. Its JSON is the same definition, so [Parse]
// reads a list of tools. Do not change its slices.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"` // nil if there are none
	// Adapter is the name of the tool's adapter, or its id if no name is known. It is "" if there
	// is none.
	Adapter   string `json:"adapter,omitempty"`
	Handler   string `json:"handler,omitempty"` // the dotted name of an internal tool's function
	URL       string `json:"url,omitempty"`     // of an external tool
	DetailURL string `json:"detail_url,omitempty"`
}

// Adapter is a group of tools.
type Adapter struct {
	ID           string          `json:"id,omitempty"`
	Name         string          `json:"name"`
	Description  string          `json:"description,omitempty"`
	ConfigSchema json.RawMessage `json:"config_schema,omitempty"` // of its configuration; nil if it has none
}

func (a Adapter) is(name string) bool { return name != "" && (name == a.Name || name == a.ID) }
