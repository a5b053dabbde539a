package webhook

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/toolwire/toolwire/internal/httpserve"
	"github.com/toolwire/toolwire/internal/rawjson"
	"github.com/toolwire/toolwire/internal/runner"
)

// DetailOptions configures [Detail]. Nil means all defaults.
type DetailOptions struct {
	// Logger receives errors and panics of the function. If nil, nothing is logged.
	Logger *slog.Logger
}

// Detail serves {"detail": text} for a tool's detail_url, which a platform appends to the tool's description. describe is
// called for every GET, on a goroutine of its own, with a context that ends with the request's or after 10 seconds. It
// should be fast, because an agent waits while descriptions are fetched. Platforms do not document how long a text they
// accept; package toolbox accepts 64 KiB of JSON.
//
// The page documents no authentication, and Detail reads no header: the text is public. It goes into the prompt of a
// model, so it must not contain what other people wrote. If describe fails, panics or does not return in time, that is
// logged and the answer is 500 without the reason; the platform goes on without the detail. If opts is nil, the defaults
// hold.
func Detail(describe func(ctx context.Context) (string, error), opts *DetailOptions) http.Handler {
	logger := discardLogger
	if opts != nil && opts.Logger != nil {
		logger = opts.Logger
	}
	call := contain(describe, logger)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		httpserve.LeaveBody(w, r)
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			writeJSON(w, http.StatusMethodNotAllowed, errorf(CodeMethod, "use GET").encode(PlainJSON))
			return
		}
		text, err := call(r.Context())
		if err != nil {
			logger.ErrorContext(r.Context(), "tool detail failed", "error", err)
			writeJSON(w, http.StatusInternalServerError, errorf(CodeInternal, "there is no detail at the moment").encode(PlainJSON))
			return
		}
		body, _ := rawjson.Encode(struct { // a string: cannot fail
			Detail string `json:"detail"`
		}{text})
		w.Header()["Cache-Control"] = []string{"no-store"}
		writeJSON(w, http.StatusOK, body)
	})
}

// detailTimeout bounds the function of [Detail].
const detailTimeout = 10 * time.Second

var errDetailTimeout = errors.New("the time for the detail is over")

// contain makes describe safe to call on the goroutine of a request.
func contain(describe func(context.Context) (string, error), logger *slog.Logger) func(context.Context) (string, error) {
	type result struct {
		text string
		err  error
	}
	r := &runner.Runner{What: "tool detail", Logger: logger, Cause: errDetailTimeout, Grace: runner.Grace}
	return func(ctx context.Context) (string, error) {
		out := runner.Run(ctx, r, time.Now().Add(detailTimeout), "", func(ctx context.Context) result {
			text, err := describe(ctx)
			if err != nil {
				err = errors.New(err.Error()) // here, because the method may panic
			}
			return result{text, err}
		})
		switch {
		case out.Panic.Aborts():
			panic(http.ErrAbortHandler)
		case out.Panic != nil:
			return "", errors.New("the function panicked")
		case out.Left && out.Stop == runner.TimedOut:
			return "", errDetailTimeout
		case out.Left:
			return "", ctx.Err()
		}
		return out.Value.text, out.Value.err
	}
}
