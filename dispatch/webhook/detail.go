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

// Detail returns a handler that serves {"detail": text} for the detail_url of a tool. A platform
// appends the text to the description of the tool.
//
// The handler calls describe for every GET, concurrently. The context of describe ends with the
// request, or after 10 seconds. describe should be fast, because agents wait for descriptions.
// Platforms do not document the maximum length of the text. Package toolbox accepts 64 KiB of JSON.
//
// The text is public: Bedrock tools documents no authentication for detail_url, and Detail does not
// check any header. The text becomes part of a prompt, so it must not contain text that
// others wrote.
//
// If describe fails, panics or does not return in time, the handler logs that and responds with
// 500, without the reason. The platform then continues without the detail. If logger is nil,
// nothing is logged.
func Detail(describe func(ctx context.Context) (string, error), logger *slog.Logger) http.Handler {
	if logger == nil {
		logger = discardLogger
	}
	call := contain(describe, logger)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		httpserve.LeaveBody(w, r)
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			httpserve.WriteError(w, http.StatusMethodNotAllowed, errorf(CodeMethod, "use GET").encode(false))
			return
		}
		text, err := call(r.Context())
		if err != nil {
			logger.ErrorContext(r.Context(), "tool detail failed", "error", err)
			e := errorf(CodeInternal, "there is no detail at the moment")
			httpserve.WriteError(w, http.StatusInternalServerError, e.encode(false))
			return
		}
		body, _ := rawjson.Encode(struct { // a string cannot fail
			Detail string `json:"detail"`
		}{text})
		w.Header()["Cache-Control"] = []string{"no-store"}
		httpserve.WriteJSON(w, http.StatusOK, body)
	})
}

// detailTimeout bounds the function of [Detail].
const detailTimeout = 10 * time.Second

var errDetailTimeout = errors.New("the function did not return within 10s")

type describeFunc = func(context.Context) (string, error)

// contain returns describe with a deadline and without panics.
func contain(describe describeFunc, logger *slog.Logger) describeFunc {
	type result struct {
		text string
		err  error
	}
	r := &runner.Runner{What: "tool detail", Logger: logger, Cause: errDetailTimeout, Grace: runner.Grace}
	return func(ctx context.Context) (string, error) {
		out := runner.Run(ctx, r, time.Now().Add(detailTimeout), "", func(ctx context.Context) result {
			text, err := describe(ctx)
			if err != nil {
				err = errors.New(err.Error()) // here, because Error may panic
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
