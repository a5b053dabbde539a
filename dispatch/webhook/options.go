package webhook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/toolwire/toolwire/internal/clip"
	"github.com/toolwire/toolwire/internal/httpserve"
	"github.com/toolwire/toolwire/internal/reasoning"
	"github.com/toolwire/toolwire/internal/runner"
	"github.com/toolwire/toolwire/internal/strictjson"
	"github.com/toolwire/toolwire/schema"
)

// Options configures a [Handler]. The zero value of every field is its default; a secret is required. Options are copied
// by [New].
type Options struct {
	// Secrets are the tool call secrets that are accepted; more than one for rotation. None may be empty.
	Secrets []string `json:"-"`

	// SecretFunc is asked for the accepted secrets at every request, for rotation without a restart. It must be fast and
	// safe for concurrent use. If it returns none, or an empty one, that accepts no request. Secrets are accepted beside
	// it. A panic is logged without its value, and the request is refused, whatever its secret.
	SecretFunc func() []string

	// SecretHeader is the header that carries the secret. Default "X-Agent-Secret". In "Authorization" it must follow
	// "Bearer ".
	SecretHeader string

	// IdentityFromBody takes the agent's id from the body's agent_id instead of the header X-Agent-Identity: any string
	// of at most 256 bytes, which may be missing.
	IdentityFromBody bool

	// ArgumentKeys are the members that may hold the arguments, the first one preferred. Default "arguments", "args",
	// "input", "params".
	ArgumentKeys []string

	// Answer is the shape in which results are sent. Default [PlainJSON].
	Answer Shape

	// Timeout is how long a tool may run. Its context ends then; one that does not return within another 500 ms is left
	// behind, and a timeout is answered. Default 30 s, as callers are known to wait for 60 s.
	Timeout time.Duration

	// MaxBodyBytes bounds the request body. Default 1 MiB.
	MaxBodyBytes int64

	// BodyTimeout bounds the time in which the body arrives. Defaults to 30 s. It replaces the ReadTimeout of the
	// [http.Server]. It needs a ResponseWriter that supports read deadlines. The one of [http.TimeoutHandler] does not:
	// then set ReadTimeout.
	BodyTimeout time.Duration

	// MaxDepth bounds the nesting of a body's JSON. Defaults to 256 levels.
	MaxDepth int

	// Limits bounds the tools' schemas, and the arguments when they are validated.
	Limits schema.Limits

	// OnCall receives every call of a known tool once its outcome is clear. It is called concurrently, on a goroutine of
	// its own. The answer waits for it, for at most 500 ms. If it panics, the panic is logged and the answer is sent.
	OnCall func(ctx context.Context, record Record)

	// Logger receives a record per call, per refused request and per panic, without bodies, results, secrets or reasoning,
	// except for the texts of errors and panics of tools, and of panics of OnCall. The record of a refused request has the
	// address of the peer and the reason. If nil, nothing is logged.
	Logger *slog.Logger
}

const (
	defaultTimeout     = 30 * time.Second
	defaultMaxBody     = 1 << 20
	defaultBodyTimeout = 30 * time.Second
)

// tool is a [Tool] that is ready to run.
type tool struct {
	name      string
	validate  func(document []byte) error
	reasoning bool // an argument of its own
	run       Func
}

// configure checks the tools and options once and fills the defaults in.
func (h *Handler) configure(tools []Tool, opts *Options) error {
	if opts != nil {
		h.opts = *opts
	}
	o := &h.opts
	var problems []error
	bad := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }

	for name, value := range map[string]int64{
		"Timeout": int64(o.Timeout), "MaxBodyBytes": o.MaxBodyBytes, "BodyTimeout": int64(o.BodyTimeout),
		"MaxDepth": int64(o.MaxDepth),
	} {
		if value < 0 {
			bad("Options.%s must not be negative", name)
		}
	}
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	if o.MaxBodyBytes == 0 {
		o.MaxBodyBytes = defaultMaxBody
	}
	if o.BodyTimeout == 0 {
		o.BodyTimeout = defaultBodyTimeout
	}
	if o.Logger == nil {
		o.Logger = discardLogger
	}
	h.runner = runner.Runner{What: "tool", Key: "tool", Logger: o.Logger, Cause: errTimeout, Grace: runner.Grace}
	h.hooks = runner.Runner{What: "OnCall", Key: "tool", Logger: o.Logger, Grace: runner.Grace}
	h.json = strictjson.Limits{Depth: o.MaxDepth, Mode: strictjson.Liberal}
	if o.Answer != PlainJSON && o.Answer != TextImages {
		bad("Options.Answer must be PlainJSON or TextImages")
	}
	problems = append(problems, h.secretOptions()...)
	if len(o.ArgumentKeys) == 0 {
		o.ArgumentKeys = []string{"arguments", "args", "input", "params"}
	}
	o.ArgumentKeys = slices.Clone(o.ArgumentKeys)
	for i, key := range o.ArgumentKeys {
		switch {
		case key == "" || slices.Contains(o.ArgumentKeys[:i], key):
			bad("Options.ArgumentKeys has %q empty or twice", key)
		case slices.Contains(bodyMembers, key):
			bad("Options.ArgumentKeys: %q has a meaning of its own", key)
		}
	}
	h.known = append(slices.Clone(o.ArgumentKeys), bodyMembers...)
	problems = append(problems, h.compile(tools)...)
	if len(problems) > 0 {
		return &Error{Code: CodeOptions, Err: sortedJoin(problems)}
	}
	return nil
}

func (h *Handler) secretOptions() (problems []error) {
	o := &h.opts
	h.guard = httpserve.Guard{
		Header: http.CanonicalHeaderKey(o.SecretHeader), Secrets: httpserve.NewSecrets(o.Secrets, o.SecretFunc),
	}
	if o.SecretHeader == "" {
		h.guard.Header = "X-Agent-Secret"
	} else if !httpserve.ValidHeaderName(o.SecretHeader) {
		problems = append(problems, errors.New("Options.SecretHeader is not a header name"))
	}
	if len(o.Secrets) == 0 && o.SecretFunc == nil {
		problems = append(problems, errors.New("Options.Secrets is empty: set the template's tool call secret"))
	}
	if slices.ContainsFunc(o.Secrets, func(s string) bool { return !httpserve.UsableSecret(s) }) {
		problems = append(problems, errors.New("Options.Secrets has a secret that is empty, or has white space around it or control "+
			"characters in it; is its environment variable set?"))
	}
	hasScheme := func(s string) bool { _, ok := httpserve.CutBearer(s); return ok }
	if h.guard.Header == "Authorization" && slices.ContainsFunc(o.Secrets, hasScheme) {
		problems = append(problems, errors.New(`Options.Secrets has a secret that begins with "Bearer ": leave the scheme out, it `+
			"belongs to the header"))
	}
	o.Secrets = nil // the guard has their digests
	return problems
}

// compile checks all tools and prepares them for calls.
func (h *Handler) compile(tools []Tool) (problems []error) {
	if len(tools) == 0 {
		problems = append(problems, errors.New("there are no tools"))
	}
	list := make([]schema.Tool, len(tools))
	for i, t := range tools {
		list[i] = schema.Tool{Name: t.Name, Description: t.Description, InputSchema: anyObject}
		if hasSchema := len(t.Parameters) > 0 && string(t.Parameters) != "null"; hasSchema {
			list[i].InputSchema = slices.Clone(t.Parameters)
		}
		if t.problem != nil {
			list[i].InputSchema = anyObject
			if invalid, ok := errors.AsType[*schema.Error](t.problem); ok {
				for _, p := range invalid.Problems {
					if p.Pointer != "/name" { // found again below
						p.Index = i
						problems = append(problems, ofTool(p))
					}
				}
			}
		}
		if t.Func == nil {
			problems = append(problems, fmt.Errorf("tool[%d] %q: Func is nil", i, clip.Text(t.Name, 128)))
		}
	}
	if err := schema.Validate(context.Background(), list, &schema.ValidateOptions{Limits: h.opts.Limits}); err != nil {
		if invalid, ok := errors.AsType[*schema.Error](err); ok {
			for _, p := range invalid.Problems {
				problems = append(problems, ofTool(p))
			}
		}
	}
	if len(problems) > 0 {
		return problems
	}
	h.tools = make(map[string]*tool, len(tools))
	for i, t := range list {
		validator, err := schema.Compile(t.InputSchema, &schema.CompileOptions{Limits: h.opts.Limits})
		if err != nil {
			return []error{fmt.Errorf("tool[%d] %q: %w", i, t.Name, err)}
		}
		h.tools[t.Name] = &tool{t.Name, validator.Validate, reasoning.Declared(t.InputSchema), tools[i].Func}
		h.only = h.tools[t.Name]
	}
	if len(tools) > 1 {
		h.only = nil
	}
	return nil
}

var anyObject = []byte(`{"type":"object"}`)

// ofTool words a problem of a tool list with the names of this package.
func ofTool(p schema.Problem) error {
	if rest, ok := strings.CutPrefix(p.Pointer, "/input_schema"); ok {
		p.Pointer = "/parameters" + rest
	}
	return errors.New(p.String())
}

var discardLogger = slog.New(slog.DiscardHandler)
