package httpserve

import (
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"

	"github.com/toolwire/toolwire/internal/runctx"
)

// A Guard admits requests that present an accepted secret in one header. In Authorization the
// secret follows "Bearer ". It is immutable and safe for concurrent use.
type Guard struct {
	Header  string // canonical name
	Secrets Secrets

	// OptionalBearer allows "Bearer " before the secret in any other header.
	OptionalBearer bool
}

// Check returns why a request is not admitted, and "" if it is. The reason is logged and sent: it says
// nothing of the secrets.
func (g *Guard) Check(r *http.Request) (reason string) {
	values := r.Header[g.Header]
	switch len(values) {
	case 0:
		return "the header " + g.Header + " is missing"
	case 1:
	default:
		return fmt.Sprintf("the header %s is given %d times", g.Header, len(values))
	}
	token := values[0]
	if g.takesBearer() {
		var bearer bool
		if token, bearer = CutBearer(token); !bearer && g.Header == "Authorization" {
			return `the header Authorization does not begin with "Bearer "`
		}
	}
	if token == "" {
		return "the header " + g.Header + " has no secret"
	}
	if !g.Secrets.Has(token) {
		return "the secret in the header " + g.Header + " is not accepted"
	}
	return ""
}

// Unusable says why no request can present a secret that the options name, and what to do. It returns
// "" if a request can.
func (g *Guard) Unusable(secret string) string {
	if secret == "" {
		return "is empty; is its environment variable set?"
	}
	if !UsableSecret(secret) {
		return "contains control characters, or white space at an end, such as the newline of a file"
	}
	if _, bearer := CutBearer(secret); bearer && g.takesBearer() {
		return `begins with "Bearer "; leave the scheme out, which belongs to the header`
	}
	return ""
}

func (g *Guard) takesBearer() bool { return g.OptionalBearer || g.Header == "Authorization" }

// CheckRecovered calls check. If it panics, CheckRecovered logs that and returns a reason that the peer
// may read. The value of the panic may be a secret and is not logged. what names the functions of the
// caller that check calls.
func CheckRecovered(r *http.Request, logger *slog.Logger, what string, check func(*http.Request) string) (reason string) {
	defer func() {
		if p := recover(); p != nil {
			kind, stack := fmt.Sprintf("%T", p), string(debug.Stack())
			reason = "the secret cannot be checked"
			runctx.Fault{Function: what, Problem: "panicked", Detail: kind, Stack: stack}.Report(r.Context())
			logger.ErrorContext(r.Context(), what+" panicked", "panic", kind, "stack", stack)
		}
	}()
	return check(r)
}

// LogRefusal writes the record of a refused request, with the address of the peer.
func LogRefusal(r *http.Request, logger *slog.Logger, message, problem string) {
	if logger.Enabled(r.Context(), slog.LevelWarn) {
		logger.LogAttrs(r.Context(), slog.LevelWarn, message,
			slog.String("error", problem), slog.String("remote", r.RemoteAddr))
	}
}
