package webhook

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"

	"github.com/toolwire/toolwire/internal/httpserve"
)

// DetailOptions configures [Detail]. Nil means all defaults.
type DetailOptions struct {
	// Logger hears of errors and panics of the function. Default: silence.
	Logger *slog.Logger
}

// Detail serves {"detail": text} for a tool's detail_url, which a platform appends to the tool's description. describe is
// called for every GET, with the request's context; it should be fast, since descriptions are fetched while an agent
// waits. Platforms do not document how long a text they take; package toolbox takes 64 KiB of JSON.
//
// Nothing is documented about authentication, and no header is looked at: the text is public, and it goes into the prompt
// of a model, so it must not hold what other people wrote. An error or a panic of describe is logged and answered with
// 500 without its text; the platform goes on without the detail. Options may be nil.
func Detail(describe func(ctx context.Context) (string, error), opts *DetailOptions) http.Handler {
	logger := discardLogger
	if opts != nil && opts.Logger != nil {
		logger = opts.Logger
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		httpserve.LeaveBody(w, r)
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			writeJSON(w, http.StatusMethodNotAllowed, errorf(CodeMethod, "use GET").encode(PlainJSON))
			return
		}
		text, err := contained(r.Context(), describe, logger)
		if err != nil {
			logger.ErrorContext(r.Context(), "tool detail failed", "error", err)
			writeJSON(w, http.StatusInternalServerError, errorf(CodeInternal, "there is no detail at the moment").encode(PlainJSON))
			return
		}
		body, _ := encodeJSON(struct { // a string: cannot fail
			Detail string `json:"detail"`
		}{text})
		w.Header()["Cache-Control"] = []string{"no-store"}
		writeJSON(w, http.StatusOK, body)
	})
}

func contained(
	ctx context.Context, describe func(context.Context) (string, error), logger *slog.Logger,
) (text string, err error) {
	defer func() {
		if p := recover(); p != nil {
			if p == http.ErrAbortHandler {
				panic(p)
			}
			err = fmt.Errorf("panic: %v", p)
			logger.ErrorContext(ctx, "tool detail panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		}
	}()
	return describe(ctx)
}
