package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/runctx"
	"github.com/toolwire/toolwire/internal/toolresult"
)

// A Client calls tools for one run. It is immutable and safe for concurrent use. Create one Client
// per run. Clients share connections and do not need to be closed.
type Client struct {
	run       *run
	actor     string
	labelled  bool // by As, so that a context's label does not count
	actorErr  error
	observers []*Observer
}

// New returns a client for the run whose proxy is at baseURL and whose bearer token is runToken.
//
// baseURL must be an absolute http or https URL without user info, query or fragment. It may end in
// a slash. runToken must be visible ASCII. All mistakes are reported together in one [*Error] with
// [toolwire.CodeInvalidOptions], which contains neither the URL nor the token.
func New(baseURL, runToken string, opts *Options) (*Client, error) {
	r, err := newRun(baseURL, runToken, opts)
	if err != nil {
		return nil, err
	}
	return &Client{run: r, observers: r.observers}, nil
}

// Call calls the tool and decodes its result into a T with encoding/json. Go integers also take
// whole numbers in other spellings, such as 3.0 and 1e1. If T is json.RawMessage, the result is
// unchanged. See [Client.Do] for args.
//
// Every error is an [*Error]. The code is [toolwire.CodeToolFailed] if the tool failed; see [Result.Failed].
// The code is [toolwire.CodeResultType] if the result cannot be decoded into T. In both cases the tool has run, and
// [Error].Result contains the whole Result. Do not repeat the call.
func Call[T any](ctx context.Context, c *Client, tool string, args any) (T, error) {
	var v T
	result, err := c.Do(ctx, tool, args)
	if err != nil {
		return v, err
	}
	if result.Failed() {
		return v, result.unusable(toolwire.CodeToolFailed,
			errors.New("the tool answered with a failure; show ToolResult to the model"))
	}
	if v, err = rawjson.Decode[T](result.Response, "the result"); err != nil {
		return v, result.unusable(toolwire.CodeResultType, err)
	}
	return v, nil
}

// Do calls the tool and returns everything that the proxy sent about the call. Its Response is any
// JSON value, unchanged: numbers keep their digits, and JSON text inside a string stays a string.
//
// args is any value that encoding/json writes as an object, or raw JSON as json.RawMessage or
// []byte. If args is nil, the arguments are {}.
//
// Do returns a Result whenever the proxy sent one, and reports a failure of the tool by
// [Result.Failed] only. Every error is an [*Error].
func (c *Client) Do(ctx context.Context, tool string, args any) (*Result, error) {
	body, argumentsErr := marshalObject(args)
	info := CallInfo{Tool: tool, Actor: c.actorFor(ctx), CallID: runctx.CallID(ctx), Arguments: body}
	if argumentsErr != nil && len(c.observers) > 0 {
		text, _ := toolresult.Arguments(args)
		info.Arguments = bytes.Clone(text)
	}
	ctx = c.startCall(ctx, info)
	var start time.Time
	if len(c.observers) > 0 {
		start = time.Now()
	}
	var result *Result
	failure := c.check(info)
	switch {
	case failure != nil:
	case argumentsErr != nil:
		failure = localError(toolwire.CodeInvalidArguments, tool, argumentsErr)
	default:
		result, failure = c.call(ctx, info, body)
	}
	if len(c.observers) > 0 {
		c.endCall(ctx, info, result, failure, time.Since(start))
	}
	if failure != nil {
		return nil, failure // a nil *Error must not become an error that is not nil
	}
	return result, nil
}

// check reports what is wrong with the tool or the label of a call.
func (c *Client) check(info CallInfo) *Error {
	tools := c.run.tools
	var e *Error
	switch {
	case toolresult.NameFault(info.Tool) >= 0:
		e = localError(codeToolName, "", errors.New("the name of a tool "+toolresult.NameRule))
	case len(tools) > 0 && !slices.Contains(tools, info.Tool):
		e = localError(toolwire.CodeUnknownTool, info.Tool,
			errors.New("the agent declares no tool of this name; names are case-sensitive"))
	default:
		return c.checkActor(info)
	}
	e.tools = tools
	return e
}

// call sends a call that was checked.
func (c *Client) call(ctx context.Context, info CallInfo, body json.RawMessage) (*Result, *Error) {
	r := c.run
	body, err := r.checkBody(info.Tool, body)
	if err != nil {
		return nil, err
	}
	ans, err := r.send(ctx, &request{
		plane: "/tools/", name: info.Tool, actor: info.Actor, body: body, repeatable: r.repeatable[info.Tool],
		observers: c.observers,
	})
	if err != nil {
		return nil, err
	}
	return r.decodeResult(info.Tool, ans)
}

// As returns a client that attributes its calls and trace events to the sub-agent actorID, a call
// path such as "supervisor/refunds", through the header X-Pipelines-Actor-Id. The run, its pacing
// and its limits stay shared. If actorID is "", requests have no label.
//
// The platform does not document the pattern of a label. A call with a label that it refuses fails
// with actor_id_invalid. The client refuses only what a header cannot carry unchanged: labels that are
// not valid UTF-8, contain control characters, or begin or end with a space. With such a label
// every call fails with actor_id_invalid before anything is sent.
//
// A label must match a declared one byte for byte. The platform shows any other as undeclared.
func (c *Client) As(actorID string) *Client {
	derived := *c
	derived.actor, derived.labelled = actorID, true
	derived.actorErr = nil
	if actorID != "" {
		derived.actorErr = runctx.CheckActor(actorID)
	}
	return &derived
}

// Observe returns a copy of the client with o as a further observer. The functions of o are called
// after the functions of c's observers. If o is nil, the copy has only c's observers.
func (c *Client) Observe(o *Observer) *Client {
	derived := *c
	if o == nil {
		return &derived
	}
	derived.observers = append(derived.observers[:len(derived.observers):len(derived.observers)], o)
	return &derived
}
