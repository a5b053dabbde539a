package catalog

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/toolwire/toolwire/internal/httpserve"
	"github.com/toolwire/toolwire/internal/rawjson"
)

const (
	textServer  = "Internal server error"
	textPlugin  = "Invalid plugin file"
	textInvalid = "Validation error"
)

// errBody reports a body that ended early.
var errBody = errors.New("the body could not be read")

// answer is a successful response.
type answer struct {
	data    any
	message string
}

// failure is a failed response.
type failure struct {
	code     Code
	status   int
	message  string
	problems []Problem
	location string // of the problems: body, query or path

	// For the log.
	reason, panic, stack string
	cause                error // from a store; its text quotes no tools
}

func (f *failure) Error() string { return f.message }

// invalid returns a 422.
func invalid(location string, ps ...Problem) *failure {
	return &failure{code: CodeRejected, status: http.StatusUnprocessableEntity, message: textInvalid, problems: ps,
		location: location}
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
	Code     Code             `json:"code"`
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

func (h *Handler) refuse(c *call, f *failure) {
	body := envelope{Message: f.message, Error: &errorPayload{Code: f.code, Message: f.message}}
	for _, p := range f.problems {
		if f.code != CodeRejected {
			body.Error.Problems = append(body.Error.Problems, problemPayload{Field: p.field(), Type: p.Code, Message: p.Message})
			continue
		}
		d := detail{Loc: []string{f.location}, Msg: p.Message, Type: p.Code}
		if p.Pointer != "" {
			d.Loc = append(d.Loc, p.field())
		}
		body.Detail = append(body.Detail, d)
	}
	if f.status == http.StatusUnauthorized {
		c.w.Header().Set("WWW-Authenticate", "Bearer")
	}
	h.write(c, f.status, body)
}

func (h *Handler) write(c *call, status int, body envelope) {
	body.Timestamp = time.Now().UTC().Format(time.RFC3339Nano)
	text, err := rawjson.Encode(body)
	if err != nil { // cannot happen: it contains strings and lists only
		panic(err)
	}
	text = append(text, '\n')
	if !c.read {
		httpserve.LeaveBody(c.w, c.r)
	}
	header := c.w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Content-Length", strconv.Itoa(len(text)))
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	c.w.WriteHeader(status)
	_, _ = c.w.Write(text) // fails only if the client has gone
}
