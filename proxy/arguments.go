package proxy

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/toolwire/toolwire/internal/httpcall"
	"github.com/toolwire/toolwire/internal/rawjson"
)

// checkBody returns the request body for arguments, which are a JSON object: within the limits, and
// without what is not sent.
func (r *run) checkBody(tool string, body json.RawMessage) (json.RawMessage, *Error) {
	if r.dropNulls {
		body = dropNulls(body)
	}
	if len(body) > maxBody {
		return nil, localError(CodeTooLarge, tool,
			fmt.Errorf("the arguments have %d bytes, the limit is %d", len(body), maxBody))
	}
	if r.checkArguments != nil {
		if err := r.checkArguments(tool, body); err != nil {
			e := localError(CodeArguments, tool, httpcall.Quiet("the arguments do not fit the tool's schema", err))
			e.Detail = cutDetail(err.Error())
			return nil, e
		}
	}
	return body, nil
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
	var out bytes.Buffer
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	if err := copyWithoutNulls(dec, &out); err != nil {
		return body // unreachable: body was checked, or written by encoding/json
	}
	return out.Bytes()
}

// copyWithoutNulls copies one value. The depth is bounded by the limits that the body has passed.
func copyWithoutNulls(dec *json.Decoder, out *bytes.Buffer) error {
	token, err := dec.Token()
	if err != nil {
		return err
	}
	switch token {
	case json.Delim('{'):
		out.WriteByte('{')
		for first := true; dec.More(); {
			name, err := dec.Token()
			if err != nil {
				return err
			}
			mark := out.Len()
			if !first {
				out.WriteByte(',')
			}
			writeToken(out, name)
			out.WriteByte(':')
			start := out.Len()
			if err := copyWithoutNulls(dec, out); err != nil {
				return err
			}
			if string(out.Bytes()[start:]) == "null" {
				out.Truncate(mark)
				continue
			}
			first = false
		}
		out.WriteByte('}')
	case json.Delim('['):
		out.WriteByte('[')
		for first := true; dec.More(); first = false {
			if !first {
				out.WriteByte(',')
			}
			if err := copyWithoutNulls(dec, out); err != nil {
				return err
			}
		}
		out.WriteByte(']')
	default:
		writeToken(out, token)
		return nil
	}
	_, err = dec.Token() // the closing bracket
	return err
}

func writeToken(out *bytes.Buffer, token json.Token) {
	b, _ := json.Marshal(token) // a string, json.Number, bool or nil: cannot fail
	out.Write(b)
}
