package proxy

import (
	"context"
	"errors"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/toolresult"
)

// CallForModel calls a tool for a model. If the call failed, the result is the tool's own if
// [Result.Failed] returns true, and [Error.ToolResult] otherwise.
//
// args is the model's text: a JSON object as string, []byte or json.RawMessage. If the text is
// malformed, nothing is sent, and the result tells the model what to correct. args may also be any
// Go value that [Client.Do] accepts.
//
// An error means that the agent should stop. It is an [*Error]: the run is over (see [IsRunOver]),
// ctx has ended, or the program contains a mistake. The code of a mistake is actor_id_invalid, or
// [toolwire.CodeInvalidArguments] for a Go value that JSON cannot represent.
func (c *Client) CallForModel(ctx context.Context, name string, args any) (toolwire.ModelResult, error) {
	text, ok := toolresult.Arguments(args)
	if !ok {
		var err error
		if text, err = marshalObject(args); err != nil {
			return toolwire.ModelResult{}, localError(toolwire.CodeInvalidArguments, name, err)
		}
	}
	result, err := c.Do(ctx, name, text)
	if err == nil {
		return toolresult.ForModel(result.Response, result.Failed()), nil
	}
	e, _ := errors.AsType[*Error](err)
	switch code := toolwire.CodeOf(err); {
	case code == toolwire.CodeRunOver, code == toolwire.CodeCanceled, code == codeActor, IsRunOver(err), ctx.Err() != nil,
		code == toolwire.CodeDeadline && !e.early(): // without time for a wait, the model can still answer
		return toolwire.ModelResult{}, err
	}
	return toolresult.ForModel(ToolResult(err), true), nil
}
