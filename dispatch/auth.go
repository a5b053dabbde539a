package dispatch

import (
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"

	"github.com/toolwire/toolwire/internal/secret"
)

// authenticator decides whether a request is from the platform, before its body is read.
type authenticator struct {
	header string // canonical
	tokens secret.Set
	verify func(*http.Request) bool
	open   bool
}

func newAuthenticator(o *Options) (authenticator, []error) {
	a := authenticator{
		header: http.CanonicalHeaderKey(o.AuthHeader), tokens: secret.NewSet(o.Tokens, o.TokenFunc),
		verify: o.Verify, open: o.InsecureNoAuth,
	}
	var problems []error
	if o.AuthHeader == "" {
		a.header = "Authorization"
	} else if strings.ContainsFunc(o.AuthHeader, notTokenChar) {
		problems = append(problems, errors.New("Options.AuthHeader is not a header name"))
	}
	byToken := len(o.Tokens) > 0 || o.TokenFunc != nil
	switch {
	case a.open && (byToken || a.verify != nil):
		problems = append(problems, errors.New("Options.InsecureNoAuth contradicts Tokens, TokenFunc and Verify: choose one way"))
	case a.verify != nil && byToken:
		problems = append(problems, errors.New("Options.Verify replaces Tokens and TokenFunc: choose one way"))
	case !a.open && !byToken && a.verify == nil:
		problems = append(problems, errors.New("Options.Tokens is empty: set the token of the agent's registration, or spell out InsecureNoAuth"))
	}
	for _, token := range o.Tokens {
		if !secret.Usable(token) {
			problems = append(problems, errors.New("Options.Tokens has a token that is empty, has white space around it or control characters in it; is its environment variable set?"))
		}
		if _, bearer := cutBearer(token); bearer {
			problems = append(problems, errors.New(`Options.Tokens has a token that begins with "Bearer ": leave the scheme out, it belongs to the header`))
		}
	}
	return a, problems
}

// notTokenChar is true for what RFC 9110 does not allow in a header name.
func notTokenChar(c rune) bool {
	return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("!#$%&'*+-.^_`|~", c))
}

// admits lets nobody in when a function of the options panics. What it panics with may be a secret, and is not logged.
func (h *Handler) admits(r *http.Request) (ok bool) {
	defer func() {
		if p := recover(); p != nil {
			ok = false
			h.opts.Logger.ErrorContext(r.Context(), "TokenFunc or Verify panicked", "panic", fmt.Sprintf("%T", p), "stack", string(debug.Stack()))
		}
	}()
	return h.auth.allows(r)
}

// allows takes the same time whatever the tokens are; see package secret.
func (a *authenticator) allows(r *http.Request) bool {
	if a.open {
		return true
	}
	if a.verify != nil {
		return a.verify(r)
	}
	values := r.Header[a.header]
	if len(values) != 1 {
		return false
	}
	token, bearer := cutBearer(values[0])
	if !bearer && a.header == "Authorization" || token == "" {
		return false
	}
	return a.tokens.Has(token)
}

// cutBearer strips the authentication scheme, which is case-insensitive.
func cutBearer(value string) (token string, bearer bool) {
	const scheme = "bearer "
	if len(value) >= len(scheme) && strings.EqualFold(value[:len(scheme)], scheme) {
		return strings.TrimLeft(value[len(scheme):], " "), true
	}
	return value, false
}
