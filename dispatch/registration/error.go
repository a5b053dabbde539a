package registration

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/problem"
)

// message returns what the text of an error says beside the code and the problems.
func message(e *toolwire.Error, unsure bool) string {
	var parts []string
	if e.Response != nil && e.Response.Detail != "" && len(e.Problems) == 0 {
		parts = append(parts, fmt.Sprintf("the platform says %q", e.Response.Detail))
	}
	if e.Err != nil && len(e.Problems) == 0 {
		parts = append(parts, e.Err.Error())
	}
	if advice := whatToDo(e); advice != "" {
		parts = append(parts, advice)
	}
	if unsure {
		parts = append(parts, "the agent may have been registered: check before you repeat the call")
	}
	return strings.Join(parts, "; ")
}

func whatToDo(e *toolwire.Error) string {
	switch e.Code {
	case toolwire.CodeUnauthorized:
		return "check the API key"
	case toolwire.CodeForbidden:
		return "only organisation admins and project admin owners can register agents; " +
			"a key has the rights of its creator"
	case toolwire.CodeRejected:
		return "correct what the platform names; " +
			"if it does not know a member, rename or remove it with Registration.Extra"
	case toolwire.CodeNotFound:
		return "check the agent's id and the base URL"
	case toolwire.CodeRateLimited:
		if e.Response.RetryAfter > 0 {
			return fmt.Sprintf("try again in %s", e.Response.RetryAfter.Round(time.Second))
		}
	case toolwire.CodeUnexpectedStatus:
		return "check the base URL; redirects are not followed, to keep the API key on its host"
	}
	return ""
}

// invalid returns the error for the problems, or nil if there are none. It unwraps to the causes.
func invalid(ps problems, causes ...error) error {
	if ps.Len() == 0 {
		return nil
	}
	return &toolwire.Error{Package: "registration", Code: codeInvalid, Problems: ps.Found, More: ps.More,
		Err: errors.Join(causes...)}
}

// codeInvalid is the code of a registration that is not valid.
const codeInvalid toolwire.Code = "invalid_registration"

// problems are the problems of the members that are sent.
type problems struct {
	problem.List[toolwire.Problem]
	others replacements
}

// Add adds a problem, unless another member replaces the one that it is about.
func (ps *problems) Add(code, pointer, format string, args ...any) {
	if !ps.others.include(pointer) {
		ps.List.Add(code, pointer, format, args...)
	}
}
