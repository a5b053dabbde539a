package webhook

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/toolwire/toolwire/internal/httpserve"
	"github.com/toolwire/toolwire/internal/rawjson"
)

// An ImageResult is the result of a tool that returns a text and images. It is sent as
// {"text":"…","images":[…]}.
type ImageResult struct {
	Text   string   `json:"text"`
	Images [][]byte `json:"images,omitempty"` // PNG, JPEG, GIF or WEBP; base64 on the wire
}

// encodeResult returns the response body for the result of a tool.
func encodeResult(result any, harness bool) ([]byte, error) {
	if raw, ok := result.(json.RawMessage); ok && raw != nil { // nil is null
		if err := rawjson.Check(raw, rawjson.Limits{}); err != nil {
			return nil, errors.New("the raw result of the tool is not one strict JSON value")
		}
	}
	if p, ok := result.(*ImageResult); ok && p != nil {
		result = *p
	}
	if _, ok := result.(ImageResult); !ok && harness {
		text, isString := result.(string)
		if !isString {
			raw, err := rawjson.Encode(result)
			if err != nil {
				return nil, err
			}
			if text = string(raw); raw[0] == '"' {
				_ = json.Unmarshal(raw, &text) // cannot fail: Encode wrote it
			}
		}
		result = ImageResult{Text: text}
	}
	return rawjson.Encode(result)
}

func (h *Handler) writeError(w http.ResponseWriter, e *Error) {
	httpserve.WriteError(w, e.status(), e.encode(h.opts.StandaloneHarness))
}
