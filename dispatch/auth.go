package dispatch

import (
	"errors"
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
		problems = append(problems, errors.New("Options.AuthHeader is not a header name"))
	}
	byToken := len(o.Tokens) > 0 || o.TokenFunc != nil
	switch {
	case a.open && byToken:
		problems = append(problems, errors.New("Options.InsecureNoAuth contradicts Tokens and TokenFunc: choose one"))
	case !a.open && !byToken:
		problems = append(problems, errors.New(
			"Options.Tokens is empty: set the token of the agent's registration, or InsecureNoAuth"))
	}
	for _, token := range o.Tokens {
		if !httpserve.UsableSecret(token) {
			problems = append(problems, errors.New(
				"Options.Tokens has a token that is empty, has white space around it or control characters in it; "+
					"is its environment variable set?"))
		}
		if _, bearer := httpserve.CutBearer(token); bearer {
			problems = append(problems, errors.New(
				`Options.Tokens has a token that begins with "Bearer ": remove the scheme, which belongs to the header`))
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
