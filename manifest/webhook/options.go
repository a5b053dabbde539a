package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/httpserve"
	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/redact"
	"github.com/toolwire/toolwire/internal/text"
	"github.com/toolwire/toolwire/internal/toolcall"
	"github.com/toolwire/toolwire/schema"
)

// Options configures a handler. Secrets or SecretFunc is required. The zero value of every other
// field is its default. [New] copies the options.
type Options struct {
	// Secrets are the accepted tool call secrets. More than one allows rotation.
	Secrets []string `json:"-"`

	// SecretFunc returns more accepted secrets. It is called for every request, so secrets can
	// change without a restart. It must be fast and safe for concurrent use. Empty secrets are
	// ignored. If it panics, the request is rejected, and the panic is logged without its value.
	SecretFunc func() []string

	// StandaloneHarness serves the standalone harness in place of the platform. The harness sends
	// the secret as "Authorization: Bearer" in place of X-Agent-Secret. It sends the agent's id as
	// agent_id in the body in place of X-Agent-Identity: a string of at most 256 bytes, or nothing.
	//
	// The handler then sends every result as {"text":"…"}, with images if the result is an
	// [ImageResult]. The text is a string result as it is, or the JSON of any other result.
	// Failures have a text beside error and message.
	StandaloneHarness bool

	// ArgumentKeys are the names of members that can contain the arguments. The first one that is
	// present applies. Defaults to arguments, args, input, params.
	ArgumentKeys []string

	// Timeout is the time limit of a tool. The context of the tool ends then. A tool that does not
	// return within another 500 ms is abandoned, and the response is a timeout. Defaults to 30 s,
	// because known callers wait for 60 s.
	Timeout time.Duration

	// MaxParallel is the number of tools of this handler that run at the same time. A tool that does
	// not return has its place until it does. Further calls wait for a place, as long as Timeout, and
	// are then refused with 503. Defaults to 64.
	MaxParallel int

	// MaxBodyBytes is the maximum size of a request body in bytes. Defaults to 1 MiB.
	MaxBodyBytes int64

	// BodyTimeout is the time limit for the arrival of the body. Defaults to 30 s. It replaces the
	// ReadTimeout of the [http.Server]. It needs a ResponseWriter that supports read deadlines. The
	// ResponseWriter of [http.TimeoutHandler] does not; set ReadTimeout in that case.
	BodyTimeout time.Duration

	// AllowUnchecked accepts tools whose Parameters this library can check only in part, such as a
	// pattern with look-behind. Func then receives arguments that only the unchecked part would reject;
	// see [schema.Validator.Unchecked]. It also accepts tools with a default that its own schema
	// rejects, which is left out. By default [New] rejects such tools.
	AllowUnchecked bool

	// OnCall, if not nil, receives every call of a known tool when it has ended. It runs on its own
	// goroutine, concurrently for concurrent calls. The response waits for it for at most 500 ms. A
	// panic of OnCall is logged and does not change the response.
	OnCall func(ctx context.Context, end CallEnd)

	// Logger receives a record for every call, every rejected request and every panic. The record
	// of a rejected request contains the address of the peer and the reason. Records contain no
	// bodies, results, secrets or reasoning. They contain the texts of errors and panics of tools,
	// and of panics of OnCall. If Logger is nil, nothing is logged.
	Logger *slog.Logger
}

// Format implements [fmt.Formatter]. It replaces each of Secrets with "[redacted]".
func (o Options) Format(f fmt.State, verb rune) {
	type plain Options
	o.Secrets = slices.Clone(o.Secrets)
	for i, secret := range o.Secrets {
		o.Secrets[i] = redact.Field(secret)
	}
	redact.Format(f, verb, plain(o))
}

const maxParallel = 64 // by default

// tool is a [Tool] that is ready to run.
type tool struct {
	*toolcall.Tool
	name string
	run  func(ctx context.Context, arguments json.RawMessage) (any, error)
}

// configure checks the tools and the options, and fills in the defaults.
func (h *handler) configure(tools []Tool, opts *Options) error {
	if opts != nil {
		h.opts = *opts
	}
	o := &h.opts
	var ps problems
	reject := func(name, rule string) { checkOption(&ps, true, "%s %s", name, rule) }
	problem.Limit(reject, "Timeout", &o.Timeout, 30*time.Second)
	problem.Limit(reject, "MaxParallel", &o.MaxParallel, maxParallel)
	problem.Limit(reject, "MaxBodyBytes", &o.MaxBodyBytes, 1<<20)
	problem.Limit(reject, "BodyTimeout", &o.BodyTimeout, 30*time.Second)
	if o.Logger == nil {
		o.Logger = discardLogger
	}
	h.loop = toolcall.NewLoop(o.Timeout, o.MaxParallel, o.Logger)
	h.json = rawjson.Limits{Mode: rawjson.Liberal}
	h.configureSecrets(&ps)
	if len(o.ArgumentKeys) == 0 {
		o.ArgumentKeys = []string{"arguments", "args", "input", "params"}
	}
	o.ArgumentKeys = slices.Clone(o.ArgumentKeys)
	for i, key := range o.ArgumentKeys {
		checkOption(&ps, key == "", "ArgumentKeys has an empty name")
		checkOption(&ps, slices.Contains(o.ArgumentKeys[:i], key), "ArgumentKeys has %q twice", key)
		checkOption(&ps, slices.Contains(bodyMembers, key), "ArgumentKeys has %q, which has another meaning", key)
	}
	h.known = append(slices.Clone(o.ArgumentKeys), bodyMembers...)
	h.compile(&ps, tools)
	if ps.Len() > 0 {
		return &toolwire.Error{Package: "webhook", Code: toolwire.CodeInvalidOptions, Problems: ps.Found, More: ps.More}
	}
	return nil
}

func (h *handler) configureSecrets(ps *problems) {
	o := &h.opts
	h.guard = httpserve.Guard{Header: "X-Agent-Secret", Secrets: httpserve.NewSecrets(o.Secrets, o.SecretFunc)}
	if o.StandaloneHarness {
		h.guard.Header = "Authorization"
	}
	checkOption(ps, len(o.Secrets) == 0 && o.SecretFunc == nil, "Secrets is empty; add the tool call secret of the template")
	for i, secret := range o.Secrets {
		text := h.guard.Unusable(secret)
		checkOption(ps, text != "", "Secrets[%d] %s", i, text)
	}
	o.Secrets = nil // the guard has their digests
}

// compile checks all tools and prepares them for calls.
func (h *handler) compile(ps *problems, tools []Tool) {
	if len(tools) == 0 {
		ps.Add("tools_missing", "", "no tools; pass at least one")
	}
	list := make([]schema.Tool, len(tools))
	first := make(map[string]int, len(tools))
	for i, t := range tools {
		name := text.Cut(t.Name, 128)
		wrong := func(when bool, code, pointer, format string, args ...any) {
			if when {
				ps.AddTool(name, code, fmt.Sprintf("/%d%s", i, pointer), format, args...)
			}
		}
		list[i] = schema.Tool{Name: t.Name, Description: t.Description, InputSchema: anyObject}
		if len(t.Parameters) > 0 && string(t.Parameters) != "null" {
			list[i].InputSchema = slices.Clone(t.Parameters)
		} else if invalid, ok := errors.AsType[*toolwire.Error](t.problem); ok {
			for _, p := range invalid.Problems {
				wrong(p.Pointer != "/name", p.Code, pointerIn(p.Pointer), "%s", p.Message) // Validate finds the name again
			}
			ps.More += invalid.More
		}
		wrong(t.URL != "" && !httpcall.IsLink(t.URL), "url_invalid", "/url", httpcall.LinkRule)
		wrong(t.DetailURL != "" && !httpcall.IsLink(t.DetailURL), "url_invalid", "/detail_url", httpcall.LinkRule)
		wrong(t.Func == nil, "func_missing", "", "Func is nil")
		if !h.opts.AllowUnchecked {
			for _, p := range toolcall.Refused(schema.Lint(list[i:i+1], nil)) {
				_, at := problem.Element(p.Pointer)
				wrong(true, p.Code, pointerIn(at), "%s; Options.AllowUnchecked accepts the tool without this check", p.Message)
			}
		}
		_, err := schema.Validate(context.Background(), list[i:i+1], nil)
		if invalid, ok := errors.AsType[*toolwire.Error](err); ok {
			for _, p := range invalid.Problems {
				_, at := problem.Element(p.Pointer)
				wrong(true, p.Code, pointerIn(at), "%s", p.Message)
			}
			ps.More += invalid.More
		}
		before, taken := first[t.Name]
		wrong(taken && t.Name != "", "name_duplicate", "/name", "is taken by tool[%d] already; names must be unique per agent", before)
		if !taken {
			first[t.Name] = i
		}
	}
	if ps.Len() > 0 {
		return
	}
	h.tools = make(map[string]*tool, len(tools))
	options := &schema.CompileOptions{AllowUnchecked: h.opts.AllowUnchecked}
	for i, t := range list {
		validator, err := schema.Compile(t.InputSchema, options)
		if err != nil { // Validate has compiled it
			ps.AddTool(t.Name, "schema_invalid", fmt.Sprintf("/%d/parameters", i), "%v", err)
			return
		}
		h.only = &tool{toolcall.New(t.Name, t.InputSchema, validator.Validate), t.Name, tools[i].Func}
		h.tools[t.Name] = h.only
	}
	if len(tools) > 1 {
		h.only = nil
	}
}

var anyObject = []byte(`{"type":"object"}`)

type problems = problem.List[toolwire.Problem]

// checkOption adds a problem of the options if wrong is true.
func checkOption(ps *problems, wrong bool, format string, args ...any) {
	if wrong {
		ps.Add("invalid_option", "", "Options."+format, args...)
	}
}

// pointerIn returns a pointer into a tool, with the name that Parameters has in this package.
func pointerIn(at string) string {
	if rest, ok := strings.CutPrefix(at, "/input_schema"); ok {
		return "/parameters" + rest
	}
	return at
}

var discardLogger = slog.New(slog.DiscardHandler)
