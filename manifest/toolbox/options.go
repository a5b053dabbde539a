package toolbox

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/toolwire/toolwire/internal/clip"
	"github.com/toolwire/toolwire/internal/httpserve"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/strictjson"
	"github.com/toolwire/toolwire/internal/uuid"
	"github.com/toolwire/toolwire/schema"
)

// Options configures a [Toolbox]. The zero value of every field is its default. Options are copied when it is loaded.
type Options struct {
	// Handlers are the internal tools' functions by their dotted names. Every handler that a tool names must be here;
	// more may be.
	Handlers map[string]Handler

	// Agent is on whose behalf tools run; see [Toolbox.For] for more than one.
	Agent Agent

	// Secret is the template's tool call secret, sent to every webhook. It or SecretFunc is required when there is an
	// external tool.
	Secret string `json:"-"`

	// SecretFunc is asked for the secret at every call, for rotation without a restart. It must be fast and safe for
	// concurrent use. It contradicts Secret.
	SecretFunc func() string

	// Transport sends the calls of external tools and, with InsecurePrivateDetails, the requests for details. Defaults to a
	// transport of this toolbox that reads no proxy settings from the environment and closes connections that are idle for 4 s.
	Transport http.RoundTripper

	// Timeout bounds one call. The tool's context ends then; a tool that does not return within another 500 ms is left
	// behind. Defaults to 60 s.
	Timeout time.Duration

	// MaxRequestBytes and MaxAnswerBytes bound the bodies of external calls. Default 1 MiB.
	MaxRequestBytes int64
	MaxAnswerBytes  int64

	// DetailTimeout, MaxDetailBytes and DetailTTL bound a request for details, its answer, and how long a detail is used
	// before it is fetched again. Defaults 3 s, 64 KiB, 60 s.
	DetailTimeout  time.Duration
	MaxDetailBytes int64
	DetailTTL      time.Duration

	// InsecurePrivateDetails lets a detail_url lead to private, loopback and other addresses that are not public. Then,
	// and only then, Transport is used for details, since nobody knows where a transport of one's own connects to.
	InsecurePrivateDetails bool

	// OnDetailError hears of every request for details that failed, with an [*Error] that names a tool. It is called
	// concurrently, on a goroutine of its own, once nobody waits for the detail any more: maybe after
	// [Toolbox.Definitions] has returned. A panic is logged.
	OnDetailError func(err error)

	// OnCall receives every call of a known tool when it has ended. It is called concurrently, on a goroutine of its own.
	// The call waits for it, for at most 500 ms. If it panics, the panic is logged and the result is returned.
	OnCall func(ctx context.Context, record Record)

	// Limits bounds the schemas and the arguments of calls.
	Limits schema.Limits

	// Logger receives a record per failed detail and per panic of a handler, a hook, SecretFunc or Transport. If nil,
	// nothing is logged.
	Logger *slog.Logger
}

// A Record tells of one call. It holds no arguments and no result.
type Record struct {
	Tool      string
	Adapter   string
	AgentID   string
	External  bool
	Reasoning string // why the model called, as it says itself; "" when the tool declares it as an argument of its own
	Code      Code   // of the failure; "" for success
	Err       error  // an [*Error]; nil for success
	Duration  time.Duration
}

var dottedName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$`)

// withDefaults returns a copy of o with every default filled in, and all its mistakes.
func (o *Options) withDefaults() (c Options, problems []Problem) {
	if o != nil {
		c = *o
	}
	bad := func(field, format string, args ...any) {
		message := fmt.Sprintf(format, args...)
		problems = append(problems, Problem{Place: "options", Field: field, Rule: "option_invalid", Message: message})
	}
	handlers := make(map[string]Handler, len(c.Handlers))
	for name, handler := range c.Handlers {
		handlers[name] = handler
		if !dottedName.MatchString(name) {
			bad("Handlers", "has the key %q, which is no dotted name such as contacts.create_contact", clip.Text(name, 128))
		} else if handler == nil {
			bad("Handlers", "has nil for %s", clip.Text(name, 128))
		}
	}
	c.Handlers = handlers
	if problem := c.Agent.problem(); problem != "" {
		bad("Agent", "%s", problem)
	}
	c.Agent.Context = slices.Clone(c.Agent.Context)
	switch {
	case c.Secret != "" && c.SecretFunc != nil:
		bad("Secret", "contradicts SecretFunc: choose one")
	case c.Secret != "" && !httpserve.UsableSecret(c.Secret):
		bad("Secret", "has white space around it or control characters in it, so no header can carry it")
	}
	if key := c.Secret; key != "" && c.SecretFunc == nil {
		c.SecretFunc = func() string { return key }
	}
	c.Secret = "" // where printing a Toolbox would show it
	positive(bad, "Timeout", &c.Timeout, 60*time.Second)
	positive(bad, "MaxRequestBytes", &c.MaxRequestBytes, 1<<20)
	positive(bad, "MaxAnswerBytes", &c.MaxAnswerBytes, 1<<20)
	positive(bad, "DetailTimeout", &c.DetailTimeout, 3*time.Second)
	positive(bad, "MaxDetailBytes", &c.MaxDetailBytes, 64<<10)
	positive(bad, "DetailTTL", &c.DetailTTL, 60*time.Second)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.OnDetailError == nil {
		c.OnDetailError = func(error) {}
	}
	slices.SortFunc(problems, func(a, b Problem) int { return strings.Compare(a.String(), b.String()) }) // maps have no order
	return c, problems
}

func positive[T int64 | time.Duration](bad func(string, string, ...any), field string, v *T, def T) {
	if *v < 0 {
		bad(field, "must not be negative; leave it 0 for the default")
	} else if *v == 0 {
		*v = def
	}
}

// problem says why an agent cannot be used, "" if it can.
func (a Agent) problem() string {
	if a.ID != "" && !uuid.Valid(a.ID) {
		return "has an ID that is no UUID"
	}
	if a.Context != nil && rawjson.CheckArguments(a.Context, strictjson.Limits{}) != nil {
		return "has a Context that is not one strict JSON object"
	}
	return ""
}
