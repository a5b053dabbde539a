package proxy

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/toolresult"
)

// ModelResult is what a model reads about a call of a tool.
//
// Give Text to SDKs that take text, such as OpenAI's and Anthropic's, and JSON to SDKs that take
// values, such as Google's. A blank string is `""` in Text too, because some models' APIs reject a
// blank text. Packages manifest and toolbox return the same type.
type ModelResult = struct {
	Text   string          // a JSON string as its text, any other value as JSON
	JSON   json.RawMessage // the value as it came
	Failed bool            // the call failed
}

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
func (c *Client) CallForModel(ctx context.Context, tool string, args any) (ModelResult, error) {
	text, ok := toolresult.Arguments(args)
	if !ok {
		var err error
		if text, err = marshalObject(args); err != nil {
			return ModelResult{}, localError(toolwire.CodeInvalidArguments, tool, err)
		}
	}
	result, err := c.Do(ctx, tool, text)
	if err == nil {
		return toolresult.ForModel(result.Response, result.Failed()), nil
	}
	e, _ := errors.AsType[*Error](err)
	switch code := toolwire.CodeOf(err); {
	case code == toolwire.CodeRunOver, code == toolwire.CodeCanceled, code == codeActor, IsRunOver(err), ctx.Err() != nil,
		code == toolwire.CodeDeadline && !e.early(): // without time for a wait, the model can still answer
		return ModelResult{}, err
	}
	return toolresult.ForModel(ToolResult(err), true), nil
}
