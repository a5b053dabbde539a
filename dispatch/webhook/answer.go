package webhook

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/strictjson"
)

// A Shape is the form in which a result is sent.
type Shape int

const (
	// PlainJSON sends the result as it is: "Your endpoint returns JSON, which becomes the tool result the agent sees".
	PlainJSON Shape = iota

	// TextImages sends {"text":"…"}, and "images" when there are any, as the standalone harness reads it: a string is the
	// text, any other result its compact JSON. Failures have a text beside error and message.
	TextImages
)

// A Result is a text with images. With [PlainJSON] it is sent as {"text":"…","images":[…]} all the same.
type Result struct {
	Text   string   `json:"text"`
	Images [][]byte `json:"images,omitempty"` // PNG, JPEG, GIF or WEBP; base64 on the wire
}

// encodeResult writes the answer of a tool.
func encodeResult(result any, shape Shape) ([]byte, error) {
	if raw, ok := result.(json.RawMessage); ok && raw != nil { // nil is null
		if err := strictjson.Read(raw, strictjson.Limits{}, func(*strictjson.Reader) error { return nil }); err != nil {
			return nil, errors.New("the tool's raw result is not one strict JSON value")
		}
	}
	if p, ok := result.(*Result); ok && p != nil {
		result = *p
	}
	if _, ok := result.(Result); !ok && shape == TextImages {
		text, isString := result.(string)
		if !isString {
			raw, err := rawjson.Encode(result)
			if err != nil {
				return nil, err
			}
			if text = string(raw); raw[0] == '"' {
				_ = json.Unmarshal(raw, &text) // was just written
			}
		}
		result = Result{Text: text}
	}
	return rawjson.Encode(result)
}

func (h *Handler) writeError(w http.ResponseWriter, e *Error) {
	if e.Code == CodeUnauthorized {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	writeJSON(w, e.Status(), e.encode(h.opts.Answer))
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header()["Content-Type"] = []string{"application/json"}
	w.WriteHeader(status)
	_, _ = w.Write(body) // the caller is gone if this fails; there is nobody to tell
}
