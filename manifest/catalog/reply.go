package catalog

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/httpserve"
	"github.com/toolwire/toolwire/internal/rawjson"
)

const textServer = "Internal server error"

// errBody reports a body that ended early.
var errBody = errors.New("the body could not be read")

// answer is a successful response.
type answer struct {
	data    any
	message string
}

// failure is a failed response.
type failure struct {
	status   int
	code     toolwire.Code
	message  string
	problems []toolwire.Problem
	location string      // of the problems of a 422: body, query or path
	log      []slog.Attr // more for the log
}

func (f *failure) Error() string { return f.message }

func refusal(status int, code toolwire.Code, message string, problems ...toolwire.Problem) *failure {
	return &failure{status: status, code: code, message: message, problems: problems}
}

// invalid returns a 422.
func invalid(location string, ps ...toolwire.Problem) *failure {
	f := refusal(http.StatusUnprocessableEntity, toolwire.CodeRejected, "Validation error", ps...)
	f.location = location
	return f
}

// serverError returns a 500. The reasons for the log contain nothing from outside.
func serverError(message string, reasons ...slog.Attr) *failure {
	return &failure{status: http.StatusInternalServerError, code: toolwire.CodeServerError, message: message, log: reasons}
}

// envelope is the body of every response.
type envelope struct {
	Success   bool          `json:"success"`
	Data      any           `json:"data,omitempty"`
	Message   string        `json:"message"`
	Error     *errorPayload `json:"error,omitempty"`
	Detail    []detail      `json:"detail,omitempty"` // of a 422 (HTTPValidationError)
	Timestamp string        `json:"timestamp"`
}

type errorPayload struct {
	Code     toolwire.Code    `json:"code"`
	Message  string           `json:"message"`
	Problems []problemPayload `json:"problems,omitempty"`
}

type problemPayload struct {
	Field   string `json:"field"`
	Type    string `json:"type"`
	Message string `json:"message"`
}

type detail struct {
	Loc  []string `json:"loc"`
	Msg  string   `json:"msg"`
	Type string   `json:"type"`
}

func (h *handler) refuse(c *call, f *failure) {
	body := envelope{Message: f.message, Error: &errorPayload{Code: f.code, Message: f.message}}
	for _, p := range f.problems {
		switch field := fieldOf(p); {
		case f.code != toolwire.CodeRejected:
			body.Error.Problems = append(body.Error.Problems, problemPayload{field, p.Code, p.Message})
		case field == "":
			body.Detail = append(body.Detail, detail{[]string{f.location}, p.Message, p.Code})
		default:
			body.Detail = append(body.Detail, detail{[]string{f.location, field}, p.Message, p.Code})
		}
	}
	switch f.status {
	case http.StatusUnauthorized:
		c.w.Header().Set("WWW-Authenticate", "Bearer")
	case http.StatusServiceUnavailable:
		c.w.Header().Set("Retry-After", "1")
	}
	h.write(c, f.status, body)
}

func (h *handler) write(c *call, status int, body envelope) {
	body.Timestamp = time.Now().UTC().Format(time.RFC3339Nano)
	if !c.read {
		httpserve.LeaveBody(c.w, c.r)
	}
	header := c.w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	if records, ok := body.Data.([]StoredTool); ok {
		h.writeList(c, status, body, records)
		return
	}
	text := append(encode(body), '\n')
	header.Set("Content-Length", strconv.Itoa(len(text)))
	httpserve.Send(c.ctx(), c.w, status, text, func() {})
}

// writeList writes a list in pieces, because it has no limit. No more than one piece of it is in memory.
func (h *handler) writeList(c *call, status int, body envelope, records []StoredTool) {
	body.Data = []string{} // the empty list that the pieces fill
	before, after, _ := bytes.Cut(encode(body), []byte("[]"))
	pieces := func(yield func([]byte) bool) {
		piece := append(make([]byte, 0, httpserve.PieceSize), before...)
		piece = append(piece, '[')
		for i, r := range records {
			if i > 0 {
				piece = append(piece, ',')
			}
			if piece = append(piece, encode(r.public())...); len(piece) >= httpserve.PieceSize {
				if !yield(piece) {
					return
				}
				piece = piece[:0]
			}
		}
		yield(append(append(append(piece, ']'), after...), '\n'))
	}
	httpserve.Stream(c.ctx(), c.w, status, pieces, func() {})
}

func encode(v any) []byte {
	text, err := rawjson.Encode(v)
	if err != nil { // cannot happen: it contains strings and lists only
		panic(err)
	}
	return text
}
