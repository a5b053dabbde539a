package toolwire_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/proxy"
)

func TestErrorText(t *testing.T) {
	cause := errors.New("the cause")
	one := []toolwire.Problem{{Tool: "t", Code: "missing", Pointer: "/a", Message: "is required"}}
	two := append(one, toolwire.Problem{Message: "is odd"})
	for want, e := range map[string]*toolwire.Error{
		"timeout": {Code: toolwire.CodeTimeout},
		`registration: tool "t": refused (HTTP 400, odd): no (request r-1)`: {Package: "registration", Tool: "t", Code: toolwire.CodeRefused,
			Message: "no", Err: cause, Response: &toolwire.Response{Status: 400, Class: "odd", Detail: "quoted", RetryAfter: time.Second, RequestID: "r-1"}},
		"llm: run_over: the cause":                            {Package: "llm", Code: toolwire.CodeRunOver, Err: cause},
		"x: agent_failed: see the log: the cause":             {Package: "x", Code: toolwire.CodeAgentFailed, Message: "see the log", Err: cause},
		"x: deadline: before the cause":                       {Package: "x", Code: toolwire.CodeDeadline, Message: "before the cause", Err: cause},
		`ledger: invalid: tool "t": /a is required [missing]`: {Package: "ledger", Code: toolwire.CodeInvalid, Problems: one, Err: cause},
		"ledger: invalid: odd: 5 problems:\n  - tool \"t\": /a is required [missing]\n  - is odd\n  - and 3 more": {Package: "ledger",
			Code: toolwire.CodeInvalid, Message: "odd", Problems: two, More: 3},
		`tool "u": arguments: tool "t": /a is required; is odd; and 3 more`: {Package: "schema", Tool: "u", Code: toolwire.CodeMismatch,
			Message: "arguments", Problems: two, More: 3},
	} {
		if e.Error() != want {
			t.Errorf("got  %s\nwant %s", e, want)
		}
	}
	if e := (&toolwire.Error{Code: toolwire.CodeCanceled, Err: context.Canceled}); !errors.Is(e, context.Canceled) {
		t.Error("the cause is lost")
	}
}

// The code of an error is the code of the first error in its tree that has one, of whatever package.
func TestCodeOf(t *testing.T) {
	call := &proxy.Error{Code: toolwire.CodeUnavailable, Err: errors.New("x")}
	for _, tt := range []struct {
		err  error
		want toolwire.Code
	}{
		{nil, ""}, {errors.New("x"), ""}, {call, "unavailable"}, {fmt.Errorf("a: %w", call), "unavailable"},
		{&toolwire.Error{Code: toolwire.CodeAgentFailed, Err: call}, "agent_failed"},
		{errors.Join(errors.New("x"), call, &toolwire.Error{Code: "other"}), "unavailable"},
	} {
		if got := toolwire.CodeOf(tt.err); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.err, got, tt.want)
		}
	}
}
