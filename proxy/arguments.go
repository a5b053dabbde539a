package proxy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/text"
)

// checkBody returns the request body for arguments, which are a JSON object: within the limits, and
// without what is not sent.
func (r *run) checkBody(tool string, body json.RawMessage) (json.RawMessage, *Error) {
	if r.dropNulls {
		body = dropNulls(body)
	}
	if err := checkSize(tool, "the arguments have", body); err != nil {
		return nil, err
	}
	if r.checkArguments != nil {
		if err := r.checkArguments(tool, body); err != nil {
			e := localError(toolwire.CodeInvalidArguments, tool, problem.Quiet("the arguments do not match the tool's schema", err))
			e.Detail = text.Cut(err.Error(), maxDetail)
			return nil, e
		}
	}
	return body, nil
}

// checkSize reports a body that the proxy does not take. has begins the message, such as "the body has".
func checkSize(name, has string, body []byte) *Error {
	if len(body) <= httpcall.BodyBytes {
		return nil
	}
	return localError(toolwire.CodeRequestTooLarge, name, fmt.Errorf("%s %d bytes; the limit is %d", has, len(body), httpcall.BodyBytes))
}

// marshalObject writes args as a JSON object of its own: a transport may still read it when the
// call has been given up.
func marshalObject(args any) (json.RawMessage, error) {
	body, err := rawjson.EncodeArguments(args, rawjson.Limits{})
	switch args.(type) {
	case json.RawMessage, []byte:
		body = bytes.Clone(body)
	}
	return body, err
}

// dropNulls copies a valid JSON object without its null members. Numbers keep their digits.
func dropNulls(body json.RawMessage) json.RawMessage {
	if !bytes.Contains(body, []byte("null")) {
		return body
	}
	tree := rawjson.Parse(body)
	prune(tree)
	return tree.Append(nil)
}

// prune removes null members. The depth is bounded by the limits that the body has passed.
func prune(n *rawjson.Node) {
	if rawjson.Kind(n.Text) == '{' {
		n.Nodes = slices.DeleteFunc(n.Nodes, func(member *rawjson.Node) bool { return rawjson.IsNull(member.Text) })
	}
	for _, inner := range n.Nodes {
		prune(inner)
	}
}
