package proxy

import (
	"context"
	"encoding/json"

	"github.com/toolwire/toolwire/internal/toolresult"
)

// CallForModel calls a tool for a model and returns what the model should read. failed reports that
// the call failed. The result is then that of the tool, if [Result.Failed] returns true, or else
// [Error.ToolResult].
//
// args is the model's text: a JSON object as string, []byte or json.RawMessage. If the text is
// malformed, nothing is sent, and the result tells the model what to correct. args may also be any
// Go value that [Client.Call] accepts.
//
// An error means that the agent should stop. It is an [*Error]: the run is over (see [IsRunOver]),
// ctx has ended, or the program has a mistake. The code of a mistake is [CodeActor], or
// [CodeArguments] for a Go value that JSON cannot represent.
func (c *Client) CallForModel(
	ctx context.Context, tool string, args any,
) (result json.RawMessage, failed bool, err error) {
	text, ok := toolresult.Text(args)
	if !ok {
		if text, err = marshalObject(args); err != nil {
			return nil, false, &Error{Code: CodeArguments, Delivery: NotSent, Tool: tool, Err: err}
		}
	}
	r, err := c.Do(ctx, tool, text)
	if err == nil {
		return r.Response, r.Failed(), nil
	}
	switch code := CodeOf(err); {
	case code == CodeRunOver, code == CodeCanceled, code == CodeActor, IsRunOver(err), ctx.Err() != nil:
		return nil, false, err
	}
	return ToolResult(err), true, nil
}
