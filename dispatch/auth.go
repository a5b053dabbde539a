package dispatch

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/toolwire/toolwire/internal/httpserve"
)

// authenticator decides whether a request is from the platform, before its body is read.
type authenticator struct {
	guard httpserve.Guard
	open  bool
}

func newAuthenticator(o *Options) (authenticator, []error) {
	a := authenticator{
		guard: httpserve.Guard{
			Header: http.CanonicalHeaderKey(o.AuthHeader), Secrets: httpserve.NewSecrets(o.Tokens, o.TokenFunc),
			OptionalBearer: true,
		},
		open: o.InsecureNoAuth,
	}
	var problems []error
	if o.AuthHeader == "" {
		a.guard.Header = "Authorization"
	} else if !httpserve.ValidHeaderName(o.AuthHeader) {
		problems = append(problems, errors.New("Options.AuthHeader is not a header name; give one such as X-Api-Key"))
	} else if httpserve.ReservedHeader(o.AuthHeader) {
		problems = append(problems, errors.New(
			"Options.AuthHeader is a header that a dispatch sets itself; give another, such as Authorization or X-Api-Key"))
	}
	byToken := len(o.Tokens) > 0 || o.TokenFunc != nil
	switch {
	case a.open && byToken:
		problems = append(problems, errors.New("Options.InsecureNoAuth contradicts Tokens and TokenFunc; choose one"))
	case !a.open && !byToken:
		problems = append(problems, errors.New(
			"Options.Tokens is empty; add the token of the agent's registration, or set InsecureNoAuth"))
	}
	for i, token := range o.Tokens {
		if text := a.guard.Unusable(token); text != "" {
			problems = append(problems, fmt.Errorf("Options.Tokens[%d] %s", i, text))
		}
	}
	return a, problems
}

// check returns the reason for rejecting a request, for the log. It returns "" if the request is
// accepted.
func (a *authenticator) check(r *http.Request) (reason string) {
	if a.open {
		return ""
	}
	return a.guard.Check(r)
}
