package toolwire_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/dispatch/cassette"
	"github.com/toolwire/toolwire/dispatch/eval"
	"github.com/toolwire/toolwire/manifest"
	"github.com/toolwire/toolwire/manifest/toolbox"
	"github.com/toolwire/toolwire/proxy"
)

func TestErrorText(t *testing.T) {
	cause := errors.New("the cause")
	one := []toolwire.Problem{{Tool: "t", Code: "missing", Pointer: "/a", Message: "is required"}}
	two := append(one, toolwire.Problem{Message: "is odd"})
	for want, e := range map[string]*toolwire.Error{
		"timeout":              {Code: toolwire.CodeTimeout},
		"schema: mismatch: no": {Package: "schema", Code: toolwire.CodeMismatch, Message: "no"},
		"toolbox: bad_response: no": {Package: "toolbox", Code: toolwire.CodeBadResponse, Message: "no",
			Response: &toolwire.Response{Detail: "quoted"}},
		`registration: tool "t": refused (HTTP 400, odd): no (request r-1)`: {Package: "registration", Tool: "t", Code: toolwire.CodeRefused,
			Message: "no", Err: cause, Response: &toolwire.Response{Status: 400, Class: "odd", Detail: "quoted", RetryAfter: time.Second, RequestID: "r-1"}},
		"llm: run_over: the cause":                {Package: "llm", Code: toolwire.CodeRunOver, Err: cause},
		"x: agent_failed: see the log: the cause": {Package: "x", Code: toolwire.CodeAgentFailed, Message: "see the log", Err: cause},
		"x: deadline: before the cause":           {Package: "x", Code: toolwire.CodeDeadline, Message: "before the cause", Err: cause},
		"x: deadline: too late: the cause":        {Package: "x", Code: toolwire.CodeDeadline, Message: "too late", Err: cause},
		"x: agent_failed: see the log": {Package: "x", Code: toolwire.CodeAgentFailed, Message: "see the log",
			Err: &toolwire.Error{Code: toolwire.CodeAgentFailed, Message: "secret"}},
		"ledger: invalid: 3 problems:\n  - tool \"t\": /a is required [missing]\n  - and 2 more": {Package: "ledger", Code: toolwire.CodeInvalid,
			Problems: one, More: 2},
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
	for _, code := range []toolwire.Code{toolwire.CodeMismatch, toolwire.CodeLimit, toolwire.CodeInvalidJSON, toolwire.CodeUnknownTool} {
		if e := (&toolwire.Error{Package: "schema", Code: code, Problems: one}); e.Error() != `tool "t": /a is required` {
			t.Errorf("a model reads %s", e)
		}
	}
	if e := (&toolwire.Error{Code: toolwire.CodeCanceled, Err: context.Canceled}); !errors.Is(e, context.Canceled) {
		t.Error("the cause is lost")
	}
}

// The cause of an error may have fields with a URL or arguments, so its JSON leaves the cause out.
func TestErrorJSON(t *testing.T) {
	cause := &url.Error{Op: "Get", URL: "https://user:secret@example.com", Err: errors.New("x")}
	for _, err := range []error{&toolwire.Error{Err: cause}, &proxy.Error{Err: cause}, &manifest.Error{Err: cause}, &toolbox.Error{Err: cause},
		&cassette.Error{Err: cause}, &eval.Error{Err: cause}} {
		if text, failed := json.Marshal(err); failed != nil || strings.Contains(string(text), "secret") {
			t.Errorf("%T: %s, %v", err, text, failed)
		}
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
