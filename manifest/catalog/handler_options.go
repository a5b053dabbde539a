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

	"github.com/toolwire/toolwire/internal/uuid"
)

// HandlerOptions configures a [Handler]. The zero value of every field is its default; one of Authenticate and
// InsecureAccount is required. Options are copied by [NewHandler].
type HandlerOptions struct {
	// Authenticate tells whose key a request has: the account's UUID. The key comes from "Authorization: Bearer …" or from
	// "X-API-Key"; a request without one, or with several that differ, is answered 401 unasked. An [*Error] with
	// [CodeUnauthorized] is answered 401, one with [CodeForbidden] 403; any other error, and a panic, is a 500. It is called
	// before the body is read, must not read it, and should compare keys in constant time. Its errors are logged by their
	// type only.
	Authenticate func(r *http.Request, key string) (account string, err error)

	// InsecureAccount serves whoever asks as this account, a UUID, without any key.
	InsecureAccount string

	// Put says what PUT /tools/{id} does, for which the documents have two readings. Default [PutByBody].
	Put PutMode

	// Plugin holds the rules for uploaded files. Its size limit is 1 MiB if it says none.
	Plugin PluginOptions

	// Register is called with every upload that is good so far, before it is stored, to make the tool runnable. Its error is
	// answered 500 "Failed to register plugin" or "Failed to update plugin", or 400 "Invalid plugin file" if it is an
	// [*Error] with [CodePlugin]. It is logged by its type only, since texts about code quote it. Storing may still fail
	// afterwards, when the name is taken at the same moment: what is registered should go by the tool's id.
	Register func(ctx context.Context, u Upload) error

	// MaxDescription bounds a description, in characters. Default: no bound but that of the body.
	MaxDescription int

	MaxBodyBytes   int64         // of a JSON body; default 1 MiB
	MaxUploadBytes int64         // of a whole multipart body; default that of the file and 256 KiB
	MaxFieldBytes  int64         // of a form field other than the file; default 64 KiB
	MaxParts       int           // of a multipart body; default 16
	BodyTimeout    time.Duration // for the body to arrive; default 30 s; needs read deadlines, as net/http has

	Now   func() time.Time // the clock; default time.Now
	NewID func() string    // makes the id of a new tool, a UUID; default random

	// Logger receives a record per request, with the address of the peer: at level Debug, Info for refusals, Warn for 401
	// and 403, Error for failures of the server. Keys, bodies and source code are never in one, nor are values of panics. Default: nothing is logged.
	Logger *slog.Logger
}

// PutMode is a reading of PUT /tools/{id}, which ToolBase records describes both as full replacement and as a metadata
// update.
type PutMode int

const (
	// PutByBody goes by the body: with all required fields it replaces the record, so that absent optional fields become
	// their defaults; otherwise it updates the fields that are there. Every known client gets what it means.
	PutByBody PutMode = iota

	// PutReplace replaces the record, and refuses a body without all required fields.
	PutReplace

	// PutMerge updates the fields that are there, whichever these are.
	PutMerge
)

// Upload is what [HandlerOptions.Register] is given.
type Upload struct {
	Tool   ListItem // as it is about to be stored, with the source in ScriptContent
	Plugin Plugin   // what the source was found to hold
	Update bool     // the tool exists, and gets this source
}

const (
	defaultMaxBody     = 1 << 20
	defaultMaxField    = 64 << 10
	defaultMaxParts    = 16
	defaultFormRoom    = 256 << 10
	defaultBodyTimeout = 30 * time.Second

	// No limit is greater, so that a file has room in its form, and one byte too many can be counted.
	mostBytes = math.MaxInt - defaultFormRoom - 1
)

// configure checks the options once and fills the defaults in.
func (h *Handler) configure(store Store, opts *HandlerOptions) error {
	if opts != nil {
		h.opts = *opts
	}
	o := &h.opts
	var mistakes []Problem
	mistake := func(field, rule, text string) { mistakes = append(mistakes, Problem{field, rule, text}) }

	if store == nil {
		mistake("store", ruleMissing, "is required; NewMemoryStore makes one")
	}
	switch {
	case o.Authenticate == nil && o.InsecureAccount == "":
		mistake("Authenticate", ruleMissing, "is required; InsecureAccount serves without keys")
	case o.Authenticate != nil && o.InsecureAccount != "":
		mistake("Authenticate", ruleClash, "and InsecureAccount exclude each other")
	case o.InsecureAccount != "" && !uuid.Valid(o.InsecureAccount):
		mistake("InsecureAccount", ruleUUID, textUUID)
	}
	if o.Put < PutByBody || o.Put > PutMerge {
		mistake("Put", ruleEnum, "must be PutByBody, PutReplace or PutMerge")
	}
	for _, limit := range []struct {
		name  string
		value int64
	}{
		{"MaxDescription", int64(o.MaxDescription)}, {"MaxBodyBytes", o.MaxBodyBytes}, {"MaxUploadBytes", o.MaxUploadBytes},
		{"MaxFieldBytes", o.MaxFieldBytes}, {"MaxParts", int64(o.MaxParts)}, {"BodyTimeout", int64(o.BodyTimeout)},
	} {
		if limit.value < 0 {
			mistake(limit.name, ruleNegative, textNegative)
		}
	}
	mistakes = append(mistakes, o.Plugin.mistakes()...)
	if len(mistakes) > 0 {
		return &Error{Code: CodeOptions, Message: "the handler cannot be made", Problems: mistakes}
	}
	o.InsecureAccount = strings.ToLower(o.InsecureAccount)
	o.Plugin.MaxBytes = min(or(o.Plugin.MaxBytes, defaultMaxPlugin), mostBytes)
	o.MaxBodyBytes = or(o.MaxBodyBytes, defaultMaxBody)
	o.MaxFieldBytes = min(or(o.MaxFieldBytes, defaultMaxField), mostBytes)
	o.MaxParts = or(o.MaxParts, defaultMaxParts)
	o.MaxUploadBytes = min(or(o.MaxUploadBytes, int64(o.Plugin.MaxBytes)+defaultFormRoom), mostBytes)
	o.BodyTimeout = or(o.BodyTimeout, defaultBodyTimeout)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = newID
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return nil
}

func or[T comparable](value, def T) T {
	var zero T
	if value == zero {
		return def
	}
	return value
}

// newID makes a random UUID (version 4).
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
