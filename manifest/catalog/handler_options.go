package catalog

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/toolwire/toolwire"
	"github.com/toolwire/toolwire/internal/problem"
	"github.com/toolwire/toolwire/internal/runner"
	"github.com/toolwire/toolwire/internal/text"
)

// HandlerOptions configures [NewHandler]. The zero value of every field selects its default. Exactly
// one of Authenticate and InsecureAccount is required. The options are copied.
//
// A JSON body may have 1 MiB, an uploaded file Plugin.MaxBytes, a form 256 KiB more than its file,
// 16 parts, and 64 KiB in a field. A description may have 65,536 characters.
type HandlerOptions struct {
	// Authenticate returns the account, a UUID, that a key belongs to. The key comes from
	// "Authorization: Bearer …" or from "X-API-Key". A request without a key, or with several
	// different ones, is rejected with 401 before Authenticate is called. A [*toolwire.Error] with
	// [toolwire.CodeUnauthorized] becomes 401, one with [toolwire.CodeForbidden] 403; any other error, and a panic,
	// becomes 500. Authenticate is called before the body is read and must not read it. It should
	// compare keys in constant time. The log contains only the type of its errors.
	Authenticate func(r *http.Request, key string) (account string, err error)

	// InsecureAccount disables authentication: every request acts for this account, a UUID.
	InsecureAccount string

	// Plugin holds the rules for uploaded files. Defaults to the rules of the newest server, up to
	// 1 MiB.
	Plugin PluginOptions

	// Register makes an uploaded tool runnable. It is called with every valid upload before the
	// tool is stored. ScriptContent of the tool is the source. An id that Register already knows
	// gets a new source. If nil, uploads are stored only.
	//
	// A [*toolwire.Error] with invalid_plugin becomes 400 "Invalid plugin file"; any other error becomes 500
	// "Failed to register plugin" or "Failed to update plugin". The log contains only the error's
	// type, because its text may quote code. Storing may fail afterwards if another request takes
	// the name at the same moment: register tools by their id.
	Register func(ctx context.Context, tool ListItem) error

	// BodyTimeout bounds the time in which a body arrives. Defaults to 30 s. It needs a server with
	// read deadlines, such as net/http's.
	BodyTimeout time.Duration

	// OnRequest, if not nil, receives every request before it is answered. It runs on its own
	// goroutine, concurrently for concurrent requests. The response waits for it for at most 500 ms. A
	// panic of OnRequest is logged and does not change the response.
	OnRequest func(ctx context.Context, end RequestEnd)

	// Logger receives one record per request, with the address of the peer: Debug, Info for
	// refusals, Warn for 401 and 403, Error for failures of the server. A record never contains
	// keys, bodies, source code or values of panics. If nil, nothing is logged.
	Logger *slog.Logger
}

// RequestEnd describes a request that a handler answers.
type RequestEnd struct {
	Method   string // as the client sent it
	Route    string // the path with {id} for the id of a tool, such as /tools/{id}; "unknown" for any other path
	Status   int
	Code     toolwire.Code // of the failure; "" for success
	Account  string        // of the key; "" if the request was rejected before
	Tool     string        // the id in the path, a UUID; "" if there is none
	Duration time.Duration
}

const (
	maxBody      = 1 << 20   // of a JSON body, in bytes
	maxField     = 64 << 10  // of a form field, in bytes, and of a description, in characters
	maxFormParts = 16        // of a form
	formRoom     = 256 << 10 // of a form beside its file, in bytes

	// mostBytes bounds a file so that its form and one more byte can still be counted.
	mostBytes = math.MaxInt - requestRoom - 1
)

// configure reports all mistakes in the options and fills the defaults in.
func (h *handler) configure() error {
	o := &h.opts
	var mistakes []toolwire.Problem
	mistake := func(field, rule, text string) { mistakes = append(mistakes, at(field, rule, text)) }

	if h.store == nil {
		mistake("store", ruleMissing, "is required; NewMemoryStore returns one")
	}
	switch {
	case o.Authenticate == nil && o.InsecureAccount == "":
		mistake("Authenticate", ruleMissing, "is required; InsecureAccount disables authentication")
	case o.Authenticate != nil && o.InsecureAccount != "":
		mistake("Authenticate", ruleClash, "must be nil if InsecureAccount is set")
	case o.InsecureAccount != "" && !text.ValidUUID(o.InsecureAccount):
		mistake("InsecureAccount", ruleUUID, textUUID)
	}
	problem.Limit(limitIn(&mistakes), "BodyTimeout", &o.BodyTimeout, 30*time.Second)
	mistakes = append(mistakes, o.Plugin.problems("/Plugin")...)
	if len(mistakes) > 0 {
		return &toolwire.Error{Package: "catalog", Code: toolwire.CodeInvalidOptions, Message: "the handler cannot be created", Problems: mistakes}
	}
	o.InsecureAccount = strings.ToLower(o.InsecureAccount)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	h.hooks = runner.Runner{What: "OnRequest", Key: "route", Logger: o.Logger, Grace: runner.Grace}
	return nil
}

// newID returns a random UUID (version 4), in lower case.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
