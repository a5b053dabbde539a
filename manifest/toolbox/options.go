package toolbox

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/httpserve"
	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/redact"
	"github.com/toolwire/toolwire/internal/text"
)

// Options configures a [Toolbox]. The zero value of every field means its default. [Parse] copies
// the options.
type Options struct {
	// Handlers are the functions of internal tools by their dotted names. It must contain every
	// handler that the document names, and may contain more.
	Handlers map[string]Handler

	// Agent is the agent that the tools run for. [Toolbox.For] replaces it.
	Agent Agent

	// Secret is the tool call secret, sent to every webhook as X-Agent-Secret. It is required if
	// the document has an external tool. To change it, let the webhooks accept both secrets, Parse
	// the document again with the new one, and use the new Toolbox from then on.
	Secret string `json:"-"`

	// Transport sends the calls of external tools. If InsecurePrivateDetails is set, it also sends
	// the requests for details. Defaults to a transport of the toolbox that reads no proxy settings
	// from the environment and closes connections that are idle for 4 s.
	Transport http.RoundTripper

	// Timeout is the time limit of one call. The context of the tool ends at the limit, and the
	// call returns at most 500 ms later, even if the tool still runs. Defaults to 60 s.
	Timeout time.Duration

	// MaxParallel is the number of tools that run at the same time, internal and external ones. A
	// handler that does not return has its place until it does. Further calls wait for a place, as
	// long as Timeout, and then fail with [toolwire.CodeBusy]. Defaults to 64.
	MaxParallel int

	// InsecurePrivateDetails allows a detail_url that leads to a private, loopback or other address
	// that is not public. By default a transport of the toolbox checks each address right before it
	// connects; Transport is not used, because it may connect anywhere.
	InsecurePrivateDetails bool

	// AllowUnchecked accepts tools whose parameters this library can check only in part, such as a
	// pattern with look-behind. Such a tool receives arguments that only the unchecked part would
	// reject; see [schema.Validator.Unchecked]. It also accepts tools with a default that its own schema
	// rejects, which is left out. By default [Parse] rejects such tools.
	AllowUnchecked bool

	// OnCall, if not nil, receives every call of a known tool when it has ended. It runs on its own
	// goroutine, concurrently for concurrent calls. The call waits for it for at most 500 ms. A
	// panic of OnCall is logged and does not change the result.
	OnCall func(ctx context.Context, end CallEnd)

	// Logger receives a record for each failed request for details, with the attributes tool and
	// error (an [*Error]), and for each panic of a handler, of OnCall or of Transport. If nil,
	// nothing is logged.
	Logger *slog.Logger
}

// Format implements [fmt.Formatter]. It prints "[redacted]" for Secret.
func (o Options) Format(f fmt.State, verb rune) {
	type plain Options
	o.Secret = redact.Field(o.Secret)
	redact.Format(f, verb, plain(o))
}

// CallEnd describes a call that has ended. It contains neither arguments nor the result.
type CallEnd struct {
	Tool      string
	CallID    string // the model's id of the call, from proxy.WithCallID; "" if the context has none
	Adapter   string
	AgentID   string
	External  bool
	Reasoning string // of the model; "" if the tool declares reasoning itself
	Err       error  // an [*Error]; nil for success
	Duration  time.Duration
}

var dottedName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$`)

// withDefaults returns a copy of o with all defaults, and every problem.
func (o *Options) withDefaults() (c Options, problems problem.List[toolwire.Problem]) {
	if o != nil {
		c = *o
	}
	reject := func(format string, args ...any) {
		problems.Add("invalid_option", "", "Options."+format, args...)
	}
	handlers := make(map[string]Handler, len(c.Handlers))
	for name, handler := range c.Handlers {
		handlers[name] = handler
		if !dottedName.MatchString(name) {
			reject("Handlers has the key %q; use a dotted name such as contacts.create_contact", text.Cut(name, 128))
		} else if handler == nil {
			reject("Handlers has no function for %s", text.Cut(name, 128))
		}
	}
	c.Handlers = handlers
	if rule := c.Agent.problem(); rule != "" {
		reject("Agent %s", rule)
	}
	c.Agent.Context = slices.Clone(c.Agent.Context)
	if c.Secret != "" && !httpserve.UsableSecret(c.Secret) {
		reject("Secret has white space around it or contains control characters; a header cannot carry it")
	}
	problem.Limit(func(name, rule string) { reject("%s %s", name, rule) }, "Timeout", &c.Timeout, 60*time.Second)
	problem.Limit(func(name, rule string) { reject("%s %s", name, rule) }, "MaxParallel", &c.MaxParallel, 64)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	// Handlers is a map, which has no order.
	slices.SortFunc(problems.Found, func(a, b toolwire.Problem) int { return strings.Compare(a.Message, b.Message) })
	return c, problems
}

// Agent identifies the agent that a tool runs for.
type Agent struct {
	ID      string          // a UUID, also without hyphens; external tools need it
	Context json.RawMessage // a JSON object for the tools, also sent to webhooks; nil if there is none
}

// problem says why the agent is not valid, or returns "".
func (a Agent) problem() string {
	if _, ok := text.CanonicalUUID(a.ID); a.ID != "" && !ok {
		return "has an ID that is not a UUID"
	}
	if a.Context != nil && rawjson.CheckArguments(a.Context, rawjson.Limits{}) != nil {
		return "has a Context that is not one strict JSON object"
	}
	return ""
}
